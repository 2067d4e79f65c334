"""Compiles a message schema at a version into a layout: what is read, in the order of the bytes, and what is shown.

Versions, tags and nulls are decided here, once. `output/kafka/topics/native_messages.py` gives layouts to the kernel in C as
numbers.
"""

from __future__ import annotations

from kdump.messages.schema import default_of
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.messages.schema import Field, Message, Value


class FieldLayout:
    """A field of a message at one version.

    `kind` is the type of the field, or of its elements if `is_array`; `struct` has the layout of structs. `tag` is None for
    fields without. `default` is what an absent tag stands for. `value_names` are those of the schema.
    """

    def __init__(self, field: Field, version: int, *, is_flexible: bool) -> None:
        self.name = field.name
        self.kind = field.type
        self.is_array = field.is_array
        self.is_nullable = field.is_nullable_in(version)
        self.tag = field.tag if field.is_tagged_in(version) else None
        self.default: Value = default_of(field)
        self.value_names = field.value_names
        self.struct: StructLayout | None = None
        if field.fields:
            self.struct = _struct(field.fields, version, is_flexible=is_flexible)


class StructLayout(Declared):
    """A struct at one version: a message, or a struct in it.

    `fields` are read first, in this order. If `is_flexible`, tagged fields follow, those of `tagged` in any order; bytes with
    `later_tags` are invalid in this version, and other tags are skipped. `shown` are the fields that JSON has, in its order; a
    tagged field is left out if it has its default.
    """

    fields: tuple[FieldLayout, ...]
    tagged: tuple[FieldLayout, ...]
    shown: tuple[FieldLayout, ...]
    later_tags: tuple[int, ...]
    is_flexible: bool


def layout_of(message: Message, version: int) -> StructLayout | None:
    """The layout of a message at a version, or None if the schema does not declare the version."""
    if not 0 <= version <= message.last_version:
        return None
    return _struct(message.fields, version, is_flexible=version >= message.flexible_since)


def _struct(fields: tuple[Field, ...], version: int, *, is_flexible: bool) -> StructLayout:
    read, tagged, shown, later_tags = [], [], [], []
    for field in fields:
        layout = FieldLayout(field, version, is_flexible=is_flexible)
        if field.is_tagged_in(version):
            tagged.append(layout)
        else:
            if field.tag is not None:
                later_tags.append(field.tag)
            if field.is_in(version):
                read.append(layout)
        if field.is_in(version):
            shown.append(layout)
    if not is_flexible:  # then no tag is read, and all tagged fields have their defaults
        shown, tagged, later_tags = [layout for layout in shown if layout.tag is None], [], []
    return StructLayout(tuple(read), tuple(tagged), tuple(shown), tuple(later_tags), is_flexible=is_flexible)
