"""Faults of segments' framing and of batch headers."""

from tests.builders.files import file_name
from tests.builders.records import batch, record

from .case import FaultCase

_LOG = file_name(0, ".log")
_BATCH = batch(records=[record(key=b"key", value=b"value")])
_NEXT = batch(records=[record(key=b"key", value=b"value")], base_offset=1)

CASES = (
    FaultCase("torn-tail", shown={_LOG: _BATCH + _NEXT[:-5]}, near_miss={_LOG: _BATCH + _NEXT}),
    FaultCase("torn-header", shown={_LOG: _BATCH + _NEXT[:17]}, near_miss={_LOG: _BATCH}),
    FaultCase(
        "crc-mismatch",
        shown={_LOG: _BATCH[:-1] + b"X" + _NEXT},
        near_miss={_LOG: _BATCH + _NEXT},
    ),
)
