"""Functions from the bytes of a message to Kafka's JSON, one for each message and version: generated from its layout.

They print what `kafka_json.dumps` makes of what `schema.read` reads, ten times as fast, and raise one of IRREGULAR where bytes
are not as the layout expects. They do not say why: `schema.read` does.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from kdump.binary.java_strings import text_of
from kdump.messages import kafka_json
from kdump.messages.generated import STRUCT_CODES, FunctionSource, Irregular, joined_texts, tagged_texts
from kdump.messages.layout import layout_of
from kdump.messages.schema import MAX_STRING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kdump.messages.generated import TextFunction
    from kdump.messages.layout import Contained, FieldLayout, StructLayout
    from kdump.messages.schema import Message


class JsonFunctions:
    """The functions of a message, by version; each is generated when it is first asked for."""

    __slots__ = ("_contained", "_functions", "_message")

    def __init__(self, message: Message, contained: Contained | None = None) -> None:
        self._message = message
        self._contained = contained
        self._functions: dict[int, TextFunction] = {}

    def at(self, version: int) -> TextFunction:
        """The function for a version. Raises Irregular if the schema does not declare the version."""
        function = self._functions.get(version)
        if function is None:
            layout = layout_of(self._message, version, self._contained)
            if layout is None:
                raise Irregular
            function = self._functions[version] = function_of(layout)
        return function

    def text(self, data: bytes, at: int, version: int) -> str:
        """The JSON of the message that starts at this position; bytes may follow it. Raises one of IRREGULAR."""
        function = self._functions.get(version) or self.at(version)
        text, end = function(data, at)
        if end > len(data):
            raise Irregular
        return text


def function_of(layout: StructLayout) -> TextFunction:
    """Generate the function of a layout."""
    return _Source(layout).function()


_VERSION_SIZE = 2
_KNOWN_COUNT = 64  # numbers of an array
_CACHED_STRINGS = 4096
_CACHED_SIZE = 64  # bytes; longer strings are unlikely to return soon


@lru_cache(_CACHED_STRINGS)
def _short(data: bytes) -> str:
    return kafka_json.text(text_of(data))


def _long(data: bytes) -> str:
    return kafka_json.text(text_of(data))


@lru_cache(_CACHED_STRINGS)
def _uuid(data: bytes) -> str:
    return f'"{kafka_json.uuid_text(data)}"'


def _numbers_function(code: str) -> Callable[[bytes, int, int], tuple[str, int]]:
    """A function from the bytes, the position and the count of numbers to their array, and where they end."""
    size = struct.calcsize(f">{code}")
    known: dict[int, tuple[Callable[[bytes, int], tuple[int, ...]], str, int]] = {}

    def text(data: bytes, at: int, count: int) -> tuple[str, int]:
        found = known.get(count)
        if found is None:
            if count > _KNOWN_COUNT:
                return f"[{','.join(map(str, struct.unpack_from(f'>{count}{code}', data, at)))}]", at + count * size
            layout = struct.Struct(f">{count}{code}")
            found = known[count] = layout.unpack_from, f"[{','.join(['%d'] * count)}]", layout.size
        unpack, template, length = found
        return template % unpack(data, at), at + length

    return text


def _message(functions: JsonFunctions) -> Callable[[bytes], str]:
    """A function for bytes that contain a message after its version. Too few bytes for a version are shown as they are."""

    def text(data: bytes) -> str:
        if len(data) < _VERSION_SIZE:
            return kafka_json.bytes_text(data)
        return functions.text(data, _VERSION_SIZE, int.from_bytes(data[:_VERSION_SIZE], "big", signed=True))

    return text


def _default_text(field: FieldLayout) -> str:
    """The JSON of what a field has if it is absent."""
    default = field.default
    if default is None:
        return "null"
    if field.is_array:
        return "[]"
    if field.struct is not None:
        members = [f'"{inner.name}":{_default_text(inner)}' for inner in field.struct.shown if inner.tag is None]
        return "{" + ",".join(members) + "}"
    return kafka_json.value_text(field.kind, default)


_TEXTS = {"bool": "BOOLEANS[{}]", "float64": "double({})", "uuid": "uuid({})"}
_NAMES: dict[str, object] = {
    "BOOLEANS": ("false", "true"),
    "as_bytes": kafka_json.bytes_text,
    "double": kafka_json.java_double,
    "joined_texts": joined_texts,
    "long_string": _long,
    "short_string": _short,
    "tagged_texts": tagged_texts,
    "uuid": _uuid,
}
"""What generated functions call."""


class _Source(FunctionSource):
    """The source of a function from bytes to JSON."""

    def __init__(self, layout: StructLayout) -> None:
        super().__init__(_NAMES, is_flexible=layout.is_flexible)
        self._layout = layout

    def function(self) -> TextFunction:
        texts = {field: self._field(field) for field in self._layout.fields}
        members = [self._member(field, texts) for field in self._layout.shown if field.tag is None]
        if self._is_flexible:
            self._tagged(texts)
        self._unpack()
        return self._json(f"f'{{{{{','.join(members)}}}}}'")

    def _member(self, field: FieldLayout, texts: Mapping[FieldLayout, str]) -> str:
        """The part of an f-string that shows a field without a tag, given the expressions of those that are read."""
        return f'"{field.name}":{{{texts[field] if field in texts else self._refer(_default_text(field))}}}'

    def _json(self, text: str) -> TextFunction:
        """The function, given the expression of its text."""
        function: TextFunction = self._compiled(text)
        return function

    def tagged_function(self, field: FieldLayout) -> TextFunction:
        """The function of a tagged field: a comma and its member of the object, or empty text if it has its default."""
        text = self._field(field)
        self._unpack()
        default = _default_text(field)
        self._lines.append(f"text = f'{{{text}}}'")
        return self._json(f"'' if text == {default!r} else f',\"{field.name}\":{{text}}'")

    def _tagged(self, texts: Mapping[FieldLayout, str]) -> None:
        """Tagged fields. Most messages have none, and then it is known which members are shown."""
        functions: dict[int, TextFunction | None] = dict.fromkeys(self._layout.later_tags)
        for field in self._layout.tagged:
            assert field.tag is not None
            functions[field.tag] = _Source(self._layout).tagged_function(field)
        by_tag = self._refer(functions)
        parts = ["" if field.tag is not None else f",{self._member(field, texts)}" for field in self._layout.shown]
        places = [place for place, field in enumerate(self._layout.shown) if field.tag is not None]
        tags = tuple(self._layout.shown[place].tag for place in places)
        self._lines.append(f"if {self._byte()}:")
        if places and places[-1] - places[0] == len(places) - 1:  # next to each other
            parts[places[0]] = "{found}"
            self._lines.append(f"    found, at = joined_texts(data, at - 1, {by_tag}, {tags})")
        else:
            for place, tag in zip(places, tags, strict=True):
                parts[place] = f'{{found.get({tag}, "")}}'
            self._lines.append(f"    found, at = tagged_texts(data, at - 1, {by_tag})")
        self._lines += [f"    text = f'{''.join(parts)}'", "    return f'{{{text[1:]}}}', at"]

    def _field(self, field: FieldLayout) -> str:
        """Read a field. Returns the expression for its JSON."""
        if field.is_array:
            return self._array(field)
        if field.kind in STRUCT_CODES:
            variable = self._variable()
            self._fixed.append((variable, STRUCT_CODES[field.kind]))
            return _TEXTS.get(field.kind, "{}").format(variable)
        if field.kind == "struct":
            return self._struct(field)
        return self._sized(field)

    def _array(self, field: FieldLayout) -> str:
        count, text = self._length("i"), self._variable()
        self._null(field, count, text)
        code = STRUCT_CODES.get(field.kind)
        if code is not None and field.kind not in _TEXTS:
            self._lines.append(f"    {text}, at = {self._refer(_numbers_function(code))}(data, at, {count})")
        else:
            element = self._refer(_Source(self._layout).element_function(field))
            self._lines += [
                f"    if {count} > len(data) - at: raise Irregular",
                "    texts = []",
                f"    for _ in range({count}):",
                f"        {text}, at = {element}(data, at)",
                f"        texts.append({text})",
                f"    {text} = f\"[{{','.join(texts)}}]\"",
            ]
        return text

    def element_function(self, field: FieldLayout) -> TextFunction:
        """The function of an element of an array."""
        if field.struct is not None:
            return function_of(field.struct)
        if field.kind in STRUCT_CODES:
            variable = self._variable()
            text = _TEXTS[field.kind].format(variable)
            self._fixed.append((variable, STRUCT_CODES[field.kind]))
        else:
            text = self._sized(field, is_element=True)
        self._unpack()
        return self._json(text)

    def _struct(self, field: FieldLayout) -> str:
        assert field.struct is not None
        text, function = self._variable(), self._refer(function_of(field.struct))
        if field.is_nullable:
            is_null = self._null_marker(is_tagged=field.tag is not None)
            self._lines += [f"if {is_null}: {text} = 'null'", f"else: {text}, at = {function}(data, at)"]
        else:
            self._unpack()
            self._lines.append(f"{text}, at = {function}(data, at)")
        return text

    def _sized(self, field: FieldLayout, *, is_element: bool = False) -> str:
        size, text = self._length("h" if field.kind == "string" else "i"), self._variable()
        self._null(field, size, text, may_be_null=not is_element)
        data = f"data[at : at + {size}]"
        shown = f"as_bytes({data})"
        if field.kind == "string":
            shown = f"short_string({data}) if {size} <= {_CACHED_SIZE} else long_string({data})"
        elif field.message is not None:
            shown = f"{self._refer(_message(JsonFunctions(field.message)))}({data})"
        if field.kind == "string" and self._is_flexible:
            self._lines.append(f"    if {size} > {MAX_STRING}: raise Irregular")
        if field.message is not None:
            self._lines.append(f"    if {size} > len(data) - at: raise Irregular")
        self._lines += [f"    {text} = {shown}", f"    at += {size}"]
        return text

    def _null(self, field: FieldLayout, size: str, text: str, *, may_be_null: bool = True) -> None:
        self._lines.append(f"if {size} < 0:")
        is_valid = field.is_nullable and may_be_null
        self._lines += [f"    {text} = 'null'" if is_valid else "    raise Irregular", "else:"]
