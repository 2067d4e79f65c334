"""JSON documents as values, and values as JSON."""

from __future__ import annotations

import json

from kdump.errors import CorruptData
from kdump.messages.kafka_json import Json
from kdump.schemas.avro import json_float
from kdump.schemas.bounds import MAX_JSON, TOO_LARGE, undecodable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_SAFE_DEPTH = 400  # levels that can be written in any case


def decode(data: bytes) -> Any:
    """The document in these bytes. Numbers that JSON cannot write, such as NaN, become text.

    Raises CorruptData (`schema-undecodable`, `schema-value-too-large`).
    """
    if len(data) > MAX_JSON:
        raise CorruptData(TOO_LARGE, f"a document of more than {MAX_JSON >> 20} MiB is not read")
    try:
        value = json.loads(data, parse_constant=str, parse_float=_number)
        if data.count(b"[") + data.count(b"{") > _SAFE_DEPTH:
            encode(value)  # what can be read may still be nested too deeply to be written
        return value
    except RecursionError:
        raise undecodable("the document is nested too deeply")
    except ValueError as error:  # also of bytes that are no text
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)[:100]
        raise undecodable(f"it is no JSON document: {reason}")


def encode(value: Any) -> Json:
    """A value as JSON on one line. Raises CorruptData (`schema-undecodable`) if it is nested too deeply."""
    try:
        return Json(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    except RecursionError:
        raise undecodable("it is nested too deeply")
    except ValueError as error:  # a number of thousands of digits
        raise undecodable(str(error))


def _number(digits: str) -> float | str:
    return json_float(float(digits))
