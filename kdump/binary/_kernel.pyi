"""The kernel in C; see c/_kernel.c."""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from kdump.binary.batch_header import BatchHeader, MessageHeader
from kdump.binary.columns_reference import PlainBatch, RecordBuffers
from kdump.binary.new_entries import NewEntries, State
from kdump.binary.reference import Buffer, MessageTuple, RecordTuple
from kdump.binary.summary_reference import Summarized

Packed = tuple[Any, Any, Any]  # directory, data and tail of a column: buffers

SUMMARY: tuple[str, ...]
STREAK: tuple[str, ...]
COLUMNS: tuple[str, ...]
RECORD_COLUMNS: tuple[str, ...]
CRC32C: tuple[str, ...]
SOURCES: str
"""The SHA-256 of the sources that it was built from; empty if setup.py did not build it."""

NOTHING: int
NUMBER: int
CHOICE: int
OPTIONAL: int
HEADERS: int
CONTENTS: int
JSON_HEADERS: int
CSV_HEADERS: int
JSON_BYTES: int
CSV_BYTES: int
NEEDS_VALUE: int

PLAN_FLAGS: int
PLAN_MAX_CODEC: int
PLAN_FROM_TIME: int
PLAN_TO_TIME: int
PLAN_NUMBERS: int
SHOWS_BATCHES: int
SHOWS_RECORDS: int
CHECKS_FIRST_OFFSET: int
HAS_TIMES: int

BATCH_PROGRAM: int
BATCH_RECORD_PROGRAM: int
MESSAGE_PROGRAM: int
MESSAGE_RECORD_PROGRAM: int
PROGRAM_COUNT: int

PREVIOUS_OFFSET: int
RECORD_START: int
RECORDS_LEFT: int
GAP_COUNT: int
GAPS: int

STOPPED: int
FULL: int
COMPRESSED: int
PAUSED: int

NONE_INTACT: int
INTACT: int
LEFT_TO_CALLER: int
UNDECIDED: int

NOT_FOUND: int
TIMESTAMP_MISMATCH: int
OUT_OF_ORDER: int
LOG_WALKS: int

def walk_batches(
    window: Buffer, start: int, max_codec: int, checksum: object, /
) -> tuple[list[BatchHeader], list[int], list[bool], int]: ...
def walk_messages(
    window: Buffer, start: int, min_magic: int, max_codec: int, /
) -> tuple[list[MessageHeader], list[int], list[bool], int]: ...
def walk_extents(window: Buffer, start: int, window_position: int, /) -> tuple[list[int], list[int], int]: ...
def walk_records(
    data: Buffer, position: int, end: int, count: int, pause: int, rows: list[RecordTuple], /
) -> tuple[int, int]: ...
def walk_contents(
    data: Buffer, start: int, end: int, base_offset: int, timestamp: int | None, max_count: int, rows: list[MessageTuple], /
) -> tuple[int, int]: ...
def new_entries(
    positions: Buffer | array[int],
    last_offsets: Buffer | array[int],
    timestamps: Buffer | array[int],
    interval: int,
    state: State,
    /,
) -> NewEntries: ...
def record_columns(batches: Sequence[PlainBatch], wanted: int, max_headers: int, /) -> tuple[int, int, RecordBuffers]: ...
def compile_plan(data: bytes, /) -> Any: ...  # an object that only `dump` understands
def dump(
    plan: Any,
    window: Buffer,
    start: int,
    window_position: int,
    payload: Buffer | None,
    out: bytearray,
    filled: int,
    state: Any,
    /,
) -> tuple[int, int, int]: ...
def dump_index(
    program: bytes,
    entries: Buffer,
    start: int,
    base_offset: int,
    is_first: bool,
    descriptor: int,
    log_size: int,
    slice_size: int,
    out: bytearray,
    filled: int,
    mismatches: Any,
    mismatch_count: int,
    /,
) -> tuple[int, int, int, int]: ...
def dump_log(
    plan: Any,
    descriptor: int,
    position: int,
    stop: int,
    end: int,
    window: bytearray,
    start: int,
    held: int,
    out: bytearray,
    filled: int,
    state: Any,
    /,
) -> tuple[int, int, int, int, int]: ...
def end_with_parent() -> bool: ...
def threads_can_end() -> bool: ...
def crc32c(data: Buffer | memoryview, crc: int = 0, way: int = -1, /) -> int: ...
def dump_time_index(
    program: bytes,
    entries: Buffer,
    start: int,
    base_offset: int,
    previous: int,
    offset_index: Buffer,
    tries_end_first: bool,
    walks: Any,
    descriptor: int,
    log_size: int,
    out: bytearray,
    filled: int,
    complaints: Any,
    /,
) -> tuple[int, int, int, int, int]: ...
def walk_log(descriptor: int, position: int, end: int, /) -> int: ...
def find(window: Buffer, start: int, is_legacy: bool, /) -> int: ...
def next_intact(
    window: Buffer,
    start: int,
    stop: int,
    left: int,
    is_any_whole: bool,
    tries: int,
    crc_bytes: int,
    kept_crc_bytes: int,
    /,
) -> tuple[int, int, int, int, bool]: ...
def next_header(
    window: Buffer, start: int, stop: int, left: int, is_any_whole: bool, batches_only: bool, tries: int, /
) -> tuple[int, int, bool]: ...
def summarize_batches(
    window: Buffer, start: int, window_position: int, max_codec: int, checksum: object, /
) -> Summarized | None: ...
def summarize_messages(
    window: Buffer, start: int, window_position: int, min_magic: int, max_codec: int, /
) -> Summarized | None: ...
def count_odd_fields(
    data: Buffer, position: int, end: int, rows: list[RecordTuple], number: int, skipped: int, counted: int, /
) -> tuple[int, int, int, int, int, int, int, int, int, int]: ...
def skip_ordinary(
    data: Buffer,
    start: int,
    end: int,
    needs_keys: bool,
    may_have_fewer: bool = False,
    may_have_more: bool = False,
    most_together: int = 0,
    /,
) -> tuple[int, bytes, tuple[int, int, int], tuple[int, int, int]]: ...
def skip_compressed(
    data: memoryview, start: int, end: int, needs_keys: bool, codec: int, decompress: Callable[[memoryview], Buffer | None], /
) -> tuple[int, bytes, Buffer | None]: ...
def skip_messages(
    data: memoryview,
    start: int,
    end: int,
    needs_keys: bool,
    max_messages: int,
    codec: int,
    decompress: Callable[[memoryview], Buffer | None] | None,
    /,
) -> int: ...
def ordinary_records(header: Buffer, start: int, records: Buffer, needs_keys: bool, /) -> bytes | None: ...
def pack(numbers: Any, start: int, /) -> tuple[bytes, bytes]: ...
def numbers_of(column: Packed, start: int, end: int, /) -> bytes: ...
def numbers_at(column: Packed, rows: Any, /) -> bytes: ...
def rows_of(column: Packed, numbers: Any, /) -> bytes: ...
def producer_streaks(window: Buffer, start: int, count: int, window_position: int, /) -> bytes | None: ...
def summarize_log(
    descriptor: int,
    position: int,
    stop: int,
    end: int,
    most: int,
    max_codec: int,
    window: bytearray,
    fills_headers: bool = False,
    /,
) -> tuple[tuple[int, ...], bytes | None, bool, tuple[bytes, ...] | None, bytes, bytes, bytes, bytes] | None: ...
