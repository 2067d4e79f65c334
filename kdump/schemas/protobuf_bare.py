"""Decodes Protobuf without a schema: fields by their numbers, and what their bytes may be."""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.schemas.avro import base64_text
from kdump.schemas.bounds import CONTAINER_COST, VALUE_COST, Budget
from kdump.schemas.protobuf import tagged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_GROUP = 3


def decode(data: bytes) -> dict[str, Any]:
    """The fields by number: numbers as they are stored, bytes as a message if they can be one, else as text or Base64.

    A number of variable length is shown unsigned and one of fixed length as well, because only a schema says more.
    Raises CorruptData (`schema-undecodable`, `schema-value-too-large`).
    """
    return _fields(memoryview(data), Budget(len(data)))


def _fields(data: memoryview, budget: Budget) -> dict[str, Any]:
    budget.spend(CONTAINER_COST)
    budget.enter()
    found: dict[str, list[Any]] = {}
    for number, wire_type, value in tagged(data):
        budget.spend(VALUE_COST)
        found.setdefault(str(number), []).append(_value(value, wire_type, budget))
    budget.leave()
    return {number: values[0] if len(values) == 1 else values for number, values in found.items()}


def _value(value: Any, wire_type: int, budget: Budget) -> Any:
    if isinstance(value, int):
        return value
    if wire_type == _GROUP:
        return _fields(value, budget)
    if wire_type != 2:
        return int.from_bytes(value, "little")
    budget.spend(len(value))
    text = _text(bytes(value))
    if text is not None:
        return text
    depth = budget.depth
    try:
        if len(value):
            return _fields(value, budget)
    except CorruptData as fault:
        if budget.left < 0:
            raise fault
        budget.depth = depth
    return base64_text(value)


def _text(data: bytes) -> str | None:
    """Bytes that are text, without control characters."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() else None
