"""Reads the text of .proto files: proto2, proto3 and editions, also as registries rewrite it.

Rewritten text may have names that start with a dot, proto2 without a `syntax` line, and the entries of maps as messages with
`option map_entry = true`. Options that do not concern decoding, services and reserved numbers are skipped.
Protobuf: language specification of proto2, proto3 and edition 2023.
"""

from __future__ import annotations

import re

from kdump.schemas.bounds import MAX_DEPTH, MAX_SCHEMA_SIZE, invalid
from kdump.schemas.proto_types import MAX_FIELD_NUMBER, Enum, Field, Message, Types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
    | (?P<token> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | \.?[A-Za-z_][\w.]* | [-+]?\.?\d[\w.+-]* | [{}\[\]()<>=;,:/+-] )""",
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"{": "}", "[": "]", "(": ")", "<": ">"}
_LABELS = ("optional", "required", "repeated")


class ProtoFile:
    """What a file declares at its top level."""

    def __init__(self) -> None:
        self.package = ""
        self.has_closed_enums = True  # as files without `syntax`, which are proto2
        self.has_explicit_presence = True
        self.messages: list[Message] = []


def parse(text: str, types: Types) -> ProtoFile:
    """Read a file, and add its types to `types`, which are then still to be linked.

    Raises CorruptData (`schema-invalid`).
    """
    if len(text) > MAX_SCHEMA_SIZE:
        raise invalid(f"a schema has {len(text):,} characters, more than the {MAX_SCHEMA_SIZE:,} that are read")
    return _Parser(_tokens(text), types).file()


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            line = text.count("\n", 0, position) + 1
            raise invalid(f"the .proto text has something unexpected in line {line}: {text[position : position + 20]!r}")
        if match["token"] is not None:
            tokens.append(match["token"])
        position = match.end()
    return tokens


class _Parser:
    """Goes through the tokens of a file."""

    def __init__(self, tokens: Sequence[str], types: Types) -> None:
        self._tokens = tokens
        self._at = 0
        self._types = types
        self._file = ProtoFile()

    # Tokens

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise invalid("the .proto text ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _expect(self, token: str) -> None:
        found = self._next()
        if found != token:
            raise invalid(f"the .proto text has {found[:50]!r} where {token!r} was expected")

    def _skip_statement(self) -> list[str]:
        """Skip up to the next semicolon or the end of a block, and return what was skipped."""
        start = self._at
        while (token := self._next()) != ";":
            if token in _CLOSING:
                self._skip_block(token)
                if token == "{":
                    break
        return list(self._tokens[start : self._at])

    def _skip_block(self, opening: str) -> None:
        closing = [_CLOSING[opening]]
        while closing:
            token = self._next()
            if token == closing[-1]:
                closing.pop()
            elif token in ("{", "[", "("):
                closing.append(_CLOSING[token])

    # Declarations

    def file(self) -> ProtoFile:
        file = self._file
        while self._at < len(self._tokens):
            token = self._next()
            if token in ("syntax", "edition"):
                self._expect("=")
                value = self._next().strip("\"'")
                file.has_closed_enums = value == "proto2"
                file.has_explicit_presence = value != "proto3"
                self._expect(";")
            elif token == "package":
                file.package = self._next()
                self._expect(";")
            elif token == "message":
                file.messages.append(self._message(self._next(), file.package, 0))
            elif token == "enum":
                self._enum(file.package)
            elif token == "extend":
                self._extend(file.package, 0)
            elif token == "option":
                words = self._skip_statement()
                file.has_explicit_presence = _has_presence(words, file.has_explicit_presence)
                file.has_closed_enums = _is_closed(words, file.has_closed_enums)
            elif token != ";":
                self._skip_statement()  # an import, a service
        return file

    def _message(self, name: str, scope: str, depth: int) -> Message:
        if depth > MAX_DEPTH:
            raise invalid(f"messages are nested more than {MAX_DEPTH} levels deep")
        message = Message(f"{scope}.{name}" if scope else name)
        self._types.add(message)
        self._expect("{")
        self._members(message, depth)
        return message

    def _members(self, message: Message, depth: int) -> None:
        oneofs = 0
        while (token := self._next()) != "}":
            if token == "message" and self._is_block_next():
                self._nest(message, self._message(self._next(), message.name, depth + 1))
            elif token == "enum" and self._is_block_next():
                self._enum(message.name)
            elif token == "extend" and self._is_block_next():
                self._extend(message.name, depth)
            elif token == "oneof" and self._is_block_next():
                self._oneof(message, oneofs, depth)
                oneofs += 1
            elif token == "option":
                words = self._skip_statement()
                if words[:3] == ["map_entry", "=", "true"]:
                    message.is_map_entry = True
            elif token in ("reserved", "extensions"):
                self._skip_statement()
            elif token == "map" and self._peek() == "<":
                self._map(message)
            elif token != ";":
                self._field(message, token, depth)

    def _is_block_next(self) -> bool:
        """Whether a name and a block follow; else the word before them is the type of a field."""
        return self._tokens[self._at + 1 : self._at + 2] == ["{"]

    @staticmethod
    def _nest(message: Message, nested: Message) -> None:
        message.nested.append(nested)
        message.counted.append(nested)

    def _oneof(self, message: Message, number: int, depth: int) -> None:
        self._next()  # its name
        self._expect("{")
        while (token := self._next()) != "}":
            if token == "option":
                self._skip_statement()
            elif token != ";":
                self._field(message, token, depth, oneof=number)

    def _extend(self, scope: str, depth: int) -> None:
        extended = self._next()
        self._expect("{")
        holder = Message(scope)
        while (token := self._next()) != "}":
            if token != ";":
                self._field(holder, token, depth)
        for field in holder.fields.values():
            self._types.extend(extended, scope, field)

    def _field(self, message: Message, token: str, depth: int, *, oneof: int = -1) -> None:
        label = ""
        if token in _LABELS:
            label, token = token, self._next()
        name = self._next()
        field = Field(
            name,
            self._number(),
            token,
            is_repeated=label == "repeated",
            has_presence=label in ("optional", "required") or oneof >= 0 or self._file.has_explicit_presence,
            oneof=oneof,
        )
        options = self._field_options()
        field.has_presence = _has_presence(options, field.has_presence)
        if token == "group" and self._peek() == "{":
            field.name = field.key = name.lower()
            field.type = name
            self._nest(message, self._message(name, message.name, depth + 1))
        else:
            self._expect(";")
        self._types.add_field(field, message.name)
        message.fields[field.number] = field

    def _map(self, message: Message) -> None:
        self._expect("<")
        key_type = self._next()
        self._expect(",")
        value_type = self._next()
        self._expect(">")
        name = self._next()
        field = Field(name, self._number(), "", is_repeated=True)
        self._field_options()
        self._expect(";")
        entry = Message(f"{message.name}.{''.join(word[:1].upper() + word[1:] for word in name.split('_'))}Entry")
        entry.is_map_entry = True
        for number, (part, type) in enumerate((("key", key_type), ("value", value_type)), 1):
            entry.fields[number] = Field(part, number, type)
            self._types.add_field(entry.fields[number], message.name)
        self._types.add(entry)
        message.counted.append(entry)
        field.message = entry
        message.fields[field.number] = field

    def _number(self) -> int:
        self._expect("=")
        number = _integer(self._next())
        if not 0 < number <= MAX_FIELD_NUMBER:
            raise invalid(f"a field has the number {number}")
        return number

    def _field_options(self) -> list[str]:
        if self._peek() != "[":
            return []
        start = self._at
        self._next()
        self._skip_block("[")
        return list(self._tokens[start : self._at])

    def _enum(self, scope: str) -> None:
        name = self._next()
        enum = Enum(f"{scope}.{name}" if scope else name, is_closed=self._file.has_closed_enums)
        self._expect("{")
        while (token := self._next()) != "}":
            if token == "option":
                enum.is_closed = _is_closed(self._skip_statement(), enum.is_closed)
            elif token == "reserved":
                self._skip_statement()
            elif token != ";":
                self._types.count()
                self._expect("=")
                number = self._next()
                enum.names.setdefault(_integer(number + self._next() if number == "-" else number), token)
                self._field_options()
                self._expect(";")
        self._types.add(enum)


def _has_presence(words: Sequence[str], otherwise: bool) -> bool:
    """Whether options say that fields have presence (editions)."""
    return "IMPLICIT" not in words if "features.field_presence" in words else otherwise


def _is_closed(words: Sequence[str], otherwise: bool) -> bool:
    """Whether options say that enums are closed (editions)."""
    return "CLOSED" in words if "features.enum_type" in words else otherwise


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    try:
        is_octal = digits.startswith("0") and digits.isdecimal() and len(digits) > 1
        number = int(digits, 8) if is_octal else int(digits, 0)
    except ValueError:
        raise invalid(f"the .proto text has {text[:50]!r} where a number was expected")
    return -number if text.startswith("-") else number
