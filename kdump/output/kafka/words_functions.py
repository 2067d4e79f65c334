"""Functions from bytes to text that is not JSON, one for each message and version: generated from its layout and words.

They print what the reference (`remote_log_metadata`) makes of what `schema.read` reads, several times as fast, and raise one of
IRREGULAR where bytes are not as the layout expects, or Kafka may not accept them. They know the operations that the records of
tiered storage need; the kernel in C knows all.
"""

from __future__ import annotations

from functools import lru_cache

from kdump.binary.java_strings import text_of
from kdump.messages import kafka_json
from kdump.messages.generated import STRUCT_CODES, FunctionSource, Irregular, joined_texts
from kdump.messages.layout import layout_of
from kdump.messages.schema import MAX_STRING
from kdump.output.kafka.message_words import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kdump.messages.generated import TextFunction
    from kdump.messages.layout import FieldLayout, StructLayout
    from kdump.messages.schema import Message
    from kdump.output.kafka.message_words import Piece

_CACHED_TEXTS = 4096
_CACHED_SIZE = 64  # bytes; longer strings are unlikely to return soon
_BOOLEANS = ("false", "true")


def words_function(message: Message, version: int, words: Words) -> TextFunction:
    """The function for a message with these words. Raises Irregular if its schema does not declare the version."""
    layout = layout_of(message, version)
    if layout is None:
        raise Irregular
    return _Source(is_flexible=layout.is_flexible).function(layout, words)


_short = lru_cache(_CACHED_TEXTS)(text_of)
_uuid = lru_cache(_CACHED_TEXTS)(kafka_json.uuid_text)

_NAMES: dict[str, object] = {
    "BOOLEANS": _BOOLEANS,
    "long_string": text_of,
    "short_string": _short,
    "joined_texts": joined_texts,
    "uuid": _uuid,
}
"""What generated functions call."""


_VALUES = {"bool": "{{BOOLEANS[{}]}}", "uuid": "{{uuid({})}}", "struct": "{}"}
"""What stands for a value in an f-string, by its kind; for others it is the value itself."""


def _size_text(texts: Sequence[str]) -> Callable[[int], str]:
    _, before, after = texts
    return lambda size: f"{before}{size}{after}"


def _literal(text: str) -> str:
    """Text as a part of an f-string in single quotes."""
    return repr(f'"{text}')[2:-1].replace("{", "{{").replace("}", "}}")  # a double quote in it has repr take single ones


class _Source(FunctionSource):
    """The source of a function from bytes to text. Structs are read in place: a call would take as long as their fields."""

    def __init__(self, *, is_flexible: bool) -> None:
        super().__init__(_NAMES, is_flexible=is_flexible)

    def function(self, layout: StructLayout, words: Words) -> TextFunction:
        function: TextFunction = self._compiled(f"f'{self._text(layout, words)}'")
        return function

    def numbers_function(self, layout: StructLayout, names: Sequence[str]) -> Callable[[bytes, int], tuple[tuple[int, ...], int]]:
        """A function to the numbers in these fields."""
        values = self._read(layout, Words(()))
        numbers = ", ".join(values[name] for name in names)
        function: Callable[[bytes, int], tuple[tuple[int, ...], int]] = self._compiled(f"({numbers},)")
        return function

    def _text(self, layout: StructLayout, words: Words) -> str:
        """Read a struct. Returns the part of an f-string that shows it."""
        values = self._read(layout, words)
        return "".join(self._part(layout, piece, values) for piece in words.pieces)

    def _read(self, layout: StructLayout, words: Words) -> dict[str, str]:
        """Read the fields of a struct. Returns the expression for each: a number, the size of bytes, a text, or its part."""
        values = {field.name: self._field(field, words) for field in layout.fields}
        if layout.is_flexible:
            count, tags = self._byte(), self._variable()
            functions: dict[int, TextFunction | None] = dict.fromkeys(layout.later_tags)
            default = ""
            for field in layout.tagged:
                if functions or field.tag is None:
                    raise Irregular
                functions[field.tag] = _tagged_function(field)
                values[field.name] = tags
                default = _text_of_number(field.kind, field.default)
            by_tag = f"{self._refer(functions)}, {tuple(functions)}"
            self._lines += [
                f"if not {count}: {tags} = {default!r}",
                f"else: {tags}, at = joined_texts(data, at - 1, {by_tag}); {tags} = {tags} or {default!r}",
            ]
        self._unpack()
        return values

    def _field(self, field: FieldLayout, words: Words) -> str:
        if field.is_array:
            return self._epochs(field, words)
        if field.kind in STRUCT_CODES:
            variable = self._variable()
            self._fixed.append((variable, STRUCT_CODES[field.kind]))
            return variable
        if field.struct is not None:
            if field.is_nullable:
                raise Irregular
            return self._text(field.struct, words.inner.get(field.name) or Words(()))
        return self._sized(field)

    def _sized(self, field: FieldLayout) -> str:
        size = self._length("h" if field.kind == "string" else "i")
        if field.kind == "bytes":
            self._lines += [f"if {size} >= 0: at += {size}", *([] if field.is_nullable else ["else: raise Irregular"])]
            return size
        text, data = self._variable(), f"data[at : at + {size}]"
        self._lines += [f"if {size} < 0:", f"    {text} = 'null'" if field.is_nullable else "    raise Irregular"]
        self._lines += [
            f"elif {size} <= {_CACHED_SIZE}: {text} = short_string({data}); at += {size}",
            f"elif {size} > {MAX_STRING}: raise Irregular",
            f"else: {text} = long_string({data}); at += {size}",
        ]
        return text

    def _epochs(self, field: FieldLayout, words: Words) -> str:
        """A map of numbers, as text."""
        piece = next((piece for piece in words.pieces if piece.field == field.name), None)
        if piece is None or piece.operation != "SHOW_EPOCHS" or field.struct is None:
            raise Irregular
        count, text = self._length("i"), self._variable()
        function = self._refer(_epochs_function(field.struct, piece.element))
        self._lines.append(f"{text}, at = {function}(data, at, {count})")
        return text

    def _part(self, layout: StructLayout, piece: Piece, values: Mapping[str, str]) -> str:
        """The part of an f-string that shows a piece, empty if it only says what Kafka expects, or its field is missing."""
        if piece.field and piece.field not in values:
            return ""
        return _literal(piece.literal) + self._shown_value(layout, piece, values)

    def _shown_value(self, layout: StructLayout, piece: Piece, values: Mapping[str, str]) -> str:
        if piece.operation == "SHOW_NOTHING":
            return ""
        value = values[piece.field]
        if piece.operation == "EXPECT_LEAST":
            self._lines.append(f"if {value} < {piece.number}: raise Irregular")
            return ""
        if piece.operation == "EXPECT_ORDER":
            self._lines.append(f"if {value} < {values[piece.other]}: raise Irregular")
            return ""
        if piece.operation == "SHOW_NAME":
            self._lines.append(f"if not 0 <= {value} < {len(piece.texts)}: raise Irregular")
            return f"{{{self._refer(tuple(piece.texts))}[{value}]}}"
        if piece.operation == "SHOW_SIZE":
            null = self._refer(piece.texts[0])
            return f"{{{null} if {value} < 0 else {self._refer(_size_text(piece.texts))}({value})}}"
        if piece.operation == "SHOW_EPOCHS":
            return f"{{{value}}}"
        if piece.operation != "SHOW_VALUE":
            raise Irregular
        kind = next((field.kind for field in layout.fields if field.name == piece.field), "tagged")
        return _VALUES.get(kind, "{{{}}}").format(value)


def _tagged_function(field: FieldLayout) -> TextFunction:
    """The function of a tagged field, which has to be a number."""
    if field.is_array or field.kind not in STRUCT_CODES:
        raise Irregular
    source = FunctionSource(_NAMES, is_flexible=True)
    return source.number_function(STRUCT_CODES[field.kind], "BOOLEANS[{}]" if field.kind == "bool" else "str({})")


def _text_of_number(kind: str, number: object) -> str:
    return _BOOLEANS[bool(number)] if kind == "bool" else str(number)


def _epochs_function(layout: StructLayout, names: Sequence[str]) -> Callable[[bytes, int, int], tuple[str, int]]:
    """A function from the bytes, the position and the count of entries to their text, and where they end.

    A map that is empty, or whose keys do not ascend, is irregular.
    """
    entry = _Source(is_flexible=layout.is_flexible).numbers_function(layout, names)

    def text(data: bytes, at: int, count: int) -> tuple[str, int]:
        (epoch, offset), at = entry(data, at)
        texts = [f"{epoch}={offset}"]
        if not 0 < count <= len(data):
            raise Irregular
        for _ in range(count - 1):
            before = epoch
            (epoch, offset), at = entry(data, at)
            if epoch <= before:
                raise Irregular
            texts.append(f"{epoch}={offset}")
        return f"{{{', '.join(texts)}}}", at

    return text
