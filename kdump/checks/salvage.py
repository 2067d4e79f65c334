"""Goes on behind damage: every intact batch of a log is listed, and every damaged range is named."""

from __future__ import annotations

import re

from kdump.binary import kernel
from kdump.binary.checksums import crc32, crc32c_for
from kdump.binary.source import WINDOW_SIZE
from kdump.errors import CorruptData
from kdump.formats.log import Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.source import Source
    from kdump.formats.log import Chunk
    from kdump.tables import Row

INTACT = "intact"
SALVAGED = "salvaged"
DAMAGED = "damaged"

_TORN_MESSAGES = {
    "torn-header": "the file ends inside a batch: too few bytes for its header",
    "torn-batch": "a record batch reaches past the end of the file; the file may be cut off",
}


class Section:
    """Neighbouring batches with the status of each: intact, salvaged (found behind damage), or damaged (the CRC does not fit)."""

    __slots__ = ("chunk", "statuses")

    def __init__(self, chunk: Chunk, statuses: list[str]) -> None:
        self.chunk = chunk
        self.statuses = statuses


class Damage:
    """A range of bytes, `end` exclusive, that holds no batch that could be read.

    `row` is the batch it begins with as far as its header tells one, sound up to the field `through`.
    """

    __slots__ = ("code", "end", "message", "row", "start", "through")

    def __init__(self, start: int, end: int, code: str, message: str, row: Row | None = None, through: str = "") -> None:
        self.start = start
        self.end = end
        self.code = code
        self.message = message
        self.row = row
        self.through = through


def walk(source: Source, start: int = 0) -> Iterator[Section | Damage]:
    """All batches of a log from `start` on, and all that is damaged between them: together they cover every byte.

    A batch that is damaged inside is stepped over by its length if that leads to a batch or to the end of the file; otherwise
    the next intact batch is looked for byte by byte.
    """
    position = start
    first_status = INTACT
    last_offset = -1
    while position < source.size:
        log = Log(source, position)
        found: Damage | None = None
        try:
            for chunk in log.chunks():
                good_rows = _rows_in_step(source, chunk)
                if good_rows:
                    part = chunk.slice(0, good_rows) if good_rows < len(chunk.batches) else chunk
                    statuses, last_offset = _statuses(part, first_status, last_offset)
                    first_status = INTACT
                    yield Section(part, statuses)
                if good_rows < len(chunk.batches):
                    row = chunk.batches.row(good_rows)
                    message = f"the CRC of a record batch does not fit, and its length of {row.size} bytes leads to no batch"
                    position = row.position
                    found = Damage(position, source.size, "batch-length-mismatch", message, row, "isvalid")
                    break
            else:
                position = log.position
                if position < source.size:
                    found = Damage(position, source.size, log.trailing, _TORN_MESSAGES[log.trailing])
        except CorruptData as fault:
            position = log.position
            found = Damage(position, source.size, fault.code, fault.message, fault.row, fault.through)
            size = fault.values.get("batch_size", 0)
            if size and (position + size == source.size or _is_plausible_at(source, position + size)):
                found.end = position + size
        if found is None:
            return
        if found.end == source.size:
            found.end = _next_intact(source, position + 1)
            first_status = SALVAGED
        yield found
        position = found.end


def _rows_in_step(source: Source, chunk: Chunk) -> int:
    """How many of the batches are sound, or lead to a batch or the end of the file in spite of their damage."""
    valid = chunk.batches["isvalid"]
    if False not in valid:
        return len(valid)
    positions, sizes = chunk.batches["position"], chunk.batches["size"]
    for row, is_valid in enumerate(valid):
        if is_valid or row + 1 < len(valid) and valid[row + 1]:
            continue
        end = positions[row] + sizes[row]
        if end != source.size and not _is_plausible_at(source, end):
            return row
    return len(valid)


def _statuses(chunk: Chunk, first_status: str, last_offset: int) -> tuple[list[str], int]:
    """The status of each batch, and the highest offset so far. What steps back behind damage stays in doubt."""
    statuses = [INTACT if is_valid else DAMAGED for is_valid in chunk.batches["isvalid"]]
    offsets = chunk.batches["last_offset"]
    if first_status == SALVAGED and statuses[0] == INTACT:
        statuses[0] = SALVAGED
        for row, offset in enumerate(offsets):
            if offset > last_offset and row:
                break
            if statuses[row] == INTACT:
                statuses[row] = SALVAGED
    return statuses, max(last_offset, *offsets)


_CANDIDATE = re.compile(
    # offset >= 0, length > 0, then at byte 16 the magic: 2 with a CRC and attributes, or 0 and 1 with attributes
    rb"(?s)(?=[\x00-\x7f].{7}(?!\x00{4})[\x00-\x7f].{7}(?:\x02.{4}\x00[\x00-\x7f]|[\x00\x01][\x00-\x0b]))"
)
_BUDGET = 4  # bytes fed to checksums for each byte scanned


def _next_intact(source: Source, start: int) -> int:
    """The position of the next batch whose CRC fits, from `start` on; the size of the file if there is none."""
    budget = _BUDGET * (source.size - start) + WINDOW_SIZE
    crc32c = crc32c_for(source.size - start)
    position = start
    while position < source.size - kernel.LOG_OVERHEAD:
        window = source.read(position, WINDOW_SIZE)
        if not window:
            break
        for match in _CANDIDATE.finditer(window):
            at = position + match.start()
            header = source.read(at, kernel.BATCH_HEADER_SIZE)
            size = _plausible_size(header, source.size - at)
            if not size or size > budget:
                continue
            budget -= size
            is_legacy = header[16] < 2
            checksum, covers_from = (crc32, 16) if is_legacy else (crc32c, kernel.CRC_COVERS_FROM)
            stored = int.from_bytes(header[12:16] if is_legacy else header[17:21], "big")
            crc = 0
            for piece_start in range(at + covers_from, at + size, WINDOW_SIZE):
                crc = checksum(source.read(piece_start, min(WINDOW_SIZE, at + size - piece_start)), crc)
            if crc == stored:
                return at
        # candidates need their first bytes in one window
        position += max(len(window) - kernel.BATCH_HEADER_SIZE, 1)
    return source.size


def _is_plausible_at(source: Source, position: int) -> bool:
    return bool(_plausible_size(source.read(position, kernel.BATCH_HEADER_SIZE), source.size - position))


def _plausible_size(header: bytes, rest: int) -> int:
    """The size of the batch with this header, 0 where it can be none; `rest` bytes are left in the file."""
    if len(header) < 26:
        return 0
    magic = header[16]
    offset, length = int.from_bytes(header[:8], "big", signed=True), int.from_bytes(header[8:12], "big", signed=True)
    if offset < 0 or length > rest - kernel.LOG_OVERHEAD:
        return 0
    if magic < 2:
        is_plausible = length >= (22 if magic else 14) and header[17] & 7 <= 3
    elif magic == 2 and len(header) == kernel.BATCH_HEADER_SIZE and length >= kernel.MIN_BATCH_LENGTH:
        _, _, leader_epoch, _, _, attributes, last_delta, _, _, _, _, _, count = kernel.BATCH_HEADER.unpack(header)
        is_plausible = 0 <= attributes < 0x80 and attributes & 7 <= 4 and last_delta >= 0 and leader_epoch >= -1 and count >= 0
        if not attributes & 7:
            is_plausible = is_plausible and count <= (length - kernel.MIN_BATCH_LENGTH) // 7
    else:
        is_plausible = False
    return kernel.LOG_OVERHEAD + length if is_plausible else 0
