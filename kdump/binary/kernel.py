"""The inner loops over windows of bytes: in C if the extension was built, in Python otherwise.

`reference` defines all behaviour. The kernel in C handles what is regular in the same way, and leaves the rest to the
reference.
KDUMP_KERNEL=python or =c chooses one; `name` is which is in use, and `reason` why.
"""

from __future__ import annotations

import os

from kdump.binary import reference
from kdump.binary.reference import (
    CONTENTS_OFFSET,
    HEADERS,
    HEADERS_NOT_HELD,
    MAX_HEADERS,
    OFFSET_DELTA,
    TIMESTAMP_DELTA,
    VarintTooLong,
    extent_at,
    fault_of_headers,
    read_varint,
    walk_starts,
)
from kdump.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from kdump.binary.reference import Buffer, Headers, MessageTuple, RecordTuple

__all__ = [
    "CONTENTS_OFFSET",
    "HEADERS",
    "HEADERS_NOT_HELD",
    "MAX_HEADERS",
    "OFFSET_DELTA",
    "TIMESTAMP_DELTA",
    "Buffer",
    "Headers",
    "MessageTuple",
    "RecordTuple",
    "VarintTooLong",
    "extent_at",
    "fault_of_headers",
    "read_varint",
    "walk_starts",
]

VARIABLE = "KDUMP_KERNEL"
PYTHON, C = "python", "c"

NOT_BUILT = "the kernel in C was not built"

name = PYTHON
reason = ""
native: ModuleType | None = None
"""The kernel in C, if it is in use; what it has beyond the functions below, others may only speed up with."""

walk_batches = reference.walk_batches
walk_messages = reference.walk_messages
walk_extents = reference.walk_extents
walk_records = reference.walk_records
walk_contents = reference.walk_contents


def use(choice: str = "") -> None:
    """Use the kernel of this name from now on; without a name, C if it is there.

    Raises UsageError for another name, and where C is asked for by name but was not built.
    """
    global name, reason, native, walk_batches, walk_messages, walk_extents, walk_records, walk_contents
    if choice not in ("", PYTHON, C):
        raise UsageError(f"{VARIABLE} is {choice!r}; it can be {PYTHON!r} or {C!r}")
    name, reason, native = PYTHON, f"{VARIABLE} says so", None
    if choice != PYTHON:
        try:
            from kdump.binary import _kernel
        except ImportError as error:
            if choice == C:
                raise UsageError(f"{VARIABLE} asks for the kernel in C, which was not built ({error})") from error
            reason = f"{NOT_BUILT} ({_why_missing(error)})"
        else:
            name, native = C, _kernel
            reason = f"it was built; CRC-32C by {_kernel.CRC32C[-1]}"
    if native is None:
        walk_batches, walk_messages = reference.walk_batches, reference.walk_messages
        walk_extents, walk_records = reference.walk_extents, reference.walk_records
        walk_contents = reference.walk_contents
    else:
        walk_batches, walk_messages, walk_extents = native.walk_batches, native.walk_messages, native.walk_extents
        walk_records, walk_contents = _walk_records, native.walk_contents


def _why_missing(error: ImportError) -> str:
    """What setup.py has left of why it was not built."""
    try:
        reasons = __import__("kdump.binary._kernel_missing", fromlist=["REASON"])
    except ImportError:
        return str(error)
    return str(reasons.REASON)


def _walk_records(
    data: Buffer,
    position: int,
    end: int,
    count: int,
    pause: int,
    limits_records: bool,
    rows: list[RecordTuple],
    with_data: bool = True,
    max_headers: int = MAX_HEADERS,
) -> tuple[int, str, dict[str, int]]:
    """As the reference: C walks the regular records, the reference takes over at the first irregular one."""
    assert native is not None
    walked = 0
    if position <= end <= len(data):
        position, walked = native.walk_records(data, position, end, count, pause, rows, with_data, max_headers)
    if walked == count or walked and position >= pause:
        return position, "", {}
    left = max_headers
    if walked and max_headers >= 0:
        left -= sum([len(headers) for _, _, _, _, headers, _, _ in rows[-walked:]])
    return reference.walk_records(data, position, end, count - walked, pause, limits_records, rows, with_data, left)


use(os.environ.get(VARIABLE, ""))
