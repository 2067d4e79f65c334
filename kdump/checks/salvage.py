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

_KNOWN_MAGIC = 2  # the highest
_NEAR = 16 << 10  # bytes to read first where the next damage may be close

_TORN_MESSAGES = {
    "torn-header": "the file ends inside a batch: too few bytes for its header",
    "torn-batch": "a record batch reaches past the end of the file; the file may be cut off",
}


class Section:
    """Neighbouring batches with the status of each.

    A batch is intact, salvaged (found behind damage, and not yet confirmed by offsets that go on), or damaged (its CRC does not
    fit, or its magic does not exist).
    """

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
    scan = _Scan(source, start)
    order = _Order()
    position, window_size = start, WINDOW_SIZE
    while position < source.size:
        log = Log(source, position, window_size=window_size)
        window_size = _NEAR
        damage: Damage | None = None
        claimed_size = 0
        try:
            for chunk in log.chunks():
                count = _rows_in_step(source, chunk)
                if count:
                    part = chunk.slice(0, count) if count < len(chunk.batches) else chunk
                    yield Section(part, order.statuses(part))
                if count < len(chunk.batches):
                    damage, claimed_size = _derailed(chunk, count)
                    break
            else:
                if log.position >= source.size:
                    return
                damage = Damage(log.position, source.size, log.trailing, _TORN_MESSAGES[log.trailing])
        except CorruptData as fault:
            damage = Damage(log.position, source.size, fault.code, fault.message, fault.row, fault.through)
            claimed_size = fault.values.get("batch_size", 0)
            damage.end = damage.start + claimed_size
            if claimed_size and _leads_on(source, damage.end):
                yield damage
                position = damage.end
                continue
        damage.end = scan.next_intact(damage.start + 1)
        order.doubt(damage.start + claimed_size)
        yield damage
        position = damage.end


def _derailed(chunk: Chunk, row: int) -> tuple[Damage, int]:
    """The damage that begins with the batch in this row, and the size that the batch claims."""
    batch = chunk.batches.row(row)
    message = f"the CRC of a record batch does not fit, and its length of {batch.size} bytes leads to no batch"
    return Damage(batch.position, batch.position, "batch-length-mismatch", message, batch, "isvalid"), batch.size


def _rows_in_step(source: Source, chunk: Chunk) -> int:
    """How many of the batches are sound, or lead to a batch or the end of the file in spite of their damage."""
    valid = chunk.batches["isvalid"]
    if False not in valid:
        return len(valid)
    positions, sizes = chunk.batches["position"], chunk.batches["size"]
    for row, is_valid in enumerate(valid):
        if is_valid or row + 1 < len(valid) and valid[row + 1]:
            continue
        if not _leads_on(source, positions[row] + sizes[row]):
            return row
    return len(valid)


def _leads_on(source: Source, position: int) -> bool:
    """Whether a batch may start here, or the file ends."""
    return position == source.size or is_plausible(source.read(position, kernel.BATCH_HEADER_SIZE), source.size - position)


class _Order:
    """Tells batches that are beyond doubt from those that were found by scan.

    A batch found by scan is confirmed by the next one, if that goes on with the offsets; whatever stands inside the claimed
    span of a damaged batch may be its payload, and is never beyond doubt.
    """

    def __init__(self) -> None:
        self._last_offset = -1  # of the last batch beyond doubt
        self._found_offset: int | None = None  # of the last batch in doubt
        self._is_in_doubt = False
        self._claimed_end = 0

    def doubt(self, claimed_end: int) -> None:
        """Take note of a scan: what follows is in doubt."""
        self._is_in_doubt = True
        self._found_offset = None
        self._claimed_end = max(self._claimed_end, claimed_end)

    def statuses(self, chunk: Chunk) -> list[str]:
        """The status of each batch of the next chunk."""
        valid, magic = chunk.batches["isvalid"], chunk.batches["magic"]
        if False not in valid and (chunk.is_legacy or max(magic) <= _KNOWN_MAGIC):
            statuses = [INTACT] * len(valid)
        else:
            pairs = zip(valid, magic, strict=True)
            statuses = [INTACT if is_valid and number <= _KNOWN_MAGIC else DAMAGED for is_valid, number in pairs]
        offsets = chunk.batches["last_offset"]
        row = 0
        while self._is_in_doubt and row < len(statuses):
            if statuses[row] == INTACT:
                self._judge(statuses, row, offsets[row], chunk.batches["position"][row])
            row += 1
        if INTACT in statuses:
            last_row = len(statuses) - 1 - statuses[::-1].index(INTACT)
            self._last_offset = offsets[last_row]
        return statuses

    def _judge(self, statuses: list[str], row: int, offset: int, position: int) -> None:
        found = self._found_offset
        if found is not None and self._last_offset < found < offset and position >= self._claimed_end:
            self._is_in_doubt = False
        else:
            statuses[row] = SALVAGED
            self._found_offset = offset


_CANDIDATE = re.compile(
    # offset >= 0, length > 0, then at byte 16 the magic: 2 with a CRC and attributes, or 0 and 1 with attributes
    rb"(?s)[\x00-\x7f](?=.{7}(?!\x00{4})[\x00-\x7f].{7}(?:\x02.{4}\x00[\x00-\x7f]|[\x00\x01][\x00-\x0b]))"
)
_ZEROS = bytes(WINDOW_SIZE)
_CRC_BYTES = 4  # fed to checksums for each byte scanned
_BYTES_PER_TRY = 4  # scanned for each header looked at
_FIRST_TRIES = 1 << 20


class _Scan:
    """Looks for intact batches byte by byte, within a budget that is linear in what is scanned.

    The budget is that of a whole walk: hostile bytes full of headers use it up, whatever they lead to.
    """

    def __init__(self, source: Source, start: int) -> None:
        self._source = source
        self._crc32c = crc32c_for(source.size - start)
        self._crc_bytes = source.size - start + WINDOW_SIZE
        self._tries = _FIRST_TRIES

    def next_intact(self, start: int) -> int:
        """The position of the next batch whose CRC fits, from `start` on; the size of the file if there is none."""
        source = self._source
        position = start
        size = _NEAR
        while position < source.size:
            window = source.read(position, size)
            if len(window) < kernel.MESSAGE_HEADER.size:
                break
            found = self._find(window, position)
            # candidates need their first bytes in one window
            step = max(len(window) - kernel.BATCH_HEADER_SIZE, 1) if found is None else found - position
            self._crc_bytes += step * _CRC_BYTES
            self._tries += step // _BYTES_PER_TRY
            position += step
            if found is not None:
                return found
            size = min(2 * size, WINDOW_SIZE)
        return source.size

    def _find(self, window: bytes, position: int) -> int | None:
        """The position of the first intact batch that starts in this window."""
        if window == _ZEROS:
            return None
        rest = self._source.size - position
        for match in _CANDIDATE.finditer(window):
            if self._tries <= 0:
                return None
            self._tries -= 1
            start = match.start()
            length = int.from_bytes(window[start + 8 : start + kernel.LOG_OVERHEAD], "big")
            if length > rest - start - kernel.LOG_OVERHEAD:
                continue
            header = window[start : start + kernel.BATCH_HEADER_SIZE]
            if len(header) < kernel.BATCH_HEADER_SIZE:
                header = self._source.read(position + start, kernel.BATCH_HEADER_SIZE)
            if is_plausible(header, rest - start) and self._is_intact(position + start, header, kernel.LOG_OVERHEAD + length):
                return position + start
        return None

    def _is_intact(self, position: int, header: bytes, size: int) -> bool:
        """Whether the CRC of the batch here fits, as far as the budget goes."""
        if size > self._crc_bytes:
            return False
        self._crc_bytes -= size
        is_legacy = header[16] < 2
        checksum, covers_from = (crc32, 16) if is_legacy else (self._crc32c, kernel.CRC_COVERS_FROM)
        stored = int.from_bytes(header[12:16] if is_legacy else header[17:21], "big")
        crc = 0
        for start in range(position + covers_from, position + size, WINDOW_SIZE):
            crc = checksum(self._source.read(start, min(WINDOW_SIZE, position + size - start)), crc)
        return crc == stored


def is_plausible(header: bytes, rest: int) -> bool:
    """Whether this may be the header of a batch; `rest` bytes are left in the file."""
    if len(header) < 26:
        return False
    offset, length, _, magic = kernel.MESSAGE_HEADER.unpack_from(header)[:4]
    if offset < 0 or length > rest - kernel.LOG_OVERHEAD:
        return False
    if magic in (0, 1):
        return _is_plausible_message(header, length)
    if magic != 2 or len(header) < kernel.BATCH_HEADER_SIZE or length < kernel.MIN_BATCH_LENGTH:
        return False
    _, _, leader_epoch, _, _, attributes, last_delta, _, _, _, _, _, count = kernel.BATCH_HEADER.unpack(header)
    if not 0 <= attributes < 0x80 or attributes & 7 > 4 or last_delta < 0 or leader_epoch < -1 or count < 0:
        return False
    return bool(attributes & 7) or count <= (length - kernel.MIN_BATCH_LENGTH) // 7


def _is_plausible_message(header: bytes, length: int) -> bool:
    key_at = 26 if header[16] else 18  # magic 1 has a timestamp in front of the key
    fixed_size = key_at + 8 - kernel.LOG_OVERHEAD  # with the sizes of key and value
    if length < fixed_size or header[17] & 7 > 3:
        return False
    key_size = int.from_bytes(header[key_at : key_at + 4], "big", signed=True)
    return -1 <= key_size <= length - fixed_size
