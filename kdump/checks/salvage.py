"""Goes on after damage: every intact batch of a log is listed, and every damaged range is named."""

from __future__ import annotations

import os

from kdump.binary import kernel
from kdump.binary.checksums import crc32, crc32c_for
from kdump.binary.source import WINDOW_SIZE
from kdump.checks.finding import BY_LENGTH, BY_SCAN, END
from kdump.errors import CorruptData
from kdump.formats import record_batch
from kdump.formats.log import HEADER_UP_TO_MAGIC, MIN_RECORD_OVERHEAD, Chunk, Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from kdump.binary.checksums import Checksum
    from kdump.binary.source import Source
    from kdump.formats.digest import Digest
    from kdump.formats.pieces import Pieces
    from kdump.tables import Row

    # first and last offset, leader epoch (None where the format has none)
    Extent = tuple[int, int, int | None]

INTACT = "intact"
SALVAGED = "salvaged"
DAMAGED = "damaged"
ZERO = "zero"
NOT_EXAMINED = "not_examined"

LONGEST_BATCH = 1 << 27
"""No batch is believed to be larger: Kafka's default limit is 1 MiB."""

_USUAL_SIZE = 1 << 20  # Kafka's default limit
_KNOWN_MAGIC = 2  # the highest
_NEAR = 16 << 10  # bytes to read first where the next damage may be close
_SECTOR = 512  # the shortest run of zeros that is told apart inside a damaged range


class Section:
    """Neighbouring batches with the status of each.

    A batch is intact, salvaged (whole, but not beyond doubt: found after damage and not yet confirmed by offsets that go on,
    or out of line with the batches around it), or damaged (its CRC does not fit, or its magic does not exist).

    Batches that start before `nested_end` stand inside the span that a damaged batch claims: they may be its payload.
    `claimed_length` is what the header of the only batch says where only that was wrong; the batch is shown as it should be.
    `digest` is what batches that are all intact have in common. Rules look there first: columns are made when they are asked for.
    """

    __slots__ = ("_statuses", "chunk", "claimed_length", "digest", "is_intact", "nested_end")

    def __init__(self, chunk: Chunk, statuses: list[str] | None, nested_end: int = 0, claimed_length: int | None = None) -> None:
        """Without statuses, all batches are intact."""
        self._statuses = statuses
        self.chunk = chunk
        self.is_intact = statuses is None or statuses.count(INTACT) == len(statuses)
        self.digest = chunk.digest if self.is_intact else None
        self.nested_end = nested_end
        self.claimed_length = claimed_length

    @property
    def statuses(self) -> list[str]:
        """The status of each batch."""
        if self._statuses is None:
            self._statuses = [INTACT] * len(self.chunk)
        return self._statuses


class Damage:
    """A range of bytes, `end` exclusive, that holds no batch that could be read; `code` is one of the catalogue.

    `status` is damaged, zero, or not_examined where the search for batches was given up. `resync` says how the walk went on.
    `row` is the batch it begins with as far as its header tells one, sound up to the field `through`; `is_batch` says that a
    batch was lost here, as far as can be told.
    """

    __slots__ = ("code", "end", "is_batch", "message", "resync", "row", "start", "status", "through")

    def __init__(
        self,
        start: int,
        end: int,
        code: str,
        message: str,
        row: Row | None = None,
        through: str = "",
        *,
        status: str = DAMAGED,
        resync: str = BY_SCAN,
        is_batch: bool = True,
    ) -> None:
        self.start = start
        self.end = end
        self.code = code
        self.message = message
        self.row = row
        self.through = through
        self.status = status
        self.resync = resync
        self.is_batch = is_batch


def walk(
    source: Source,
    start: int = 0,
    *,
    base_offset: int | None = None,
    next_base_offset: int | None = None,
    threads: int = 0,
) -> Generator[Section | Damage]:
    """All batches of a log from `start` on, and all that is damaged between them: together they cover every byte.

    A batch that is damaged inside is stepped over by its length if that leads to a batch or to the end of the file. If the
    stored CRC fits another end, only the length is wrong. Otherwise the next intact batch is looked for byte by byte. All
    offsets are to lie between the base offsets of the segment and of the next one, where these are known. `threads` digest a
    large log ahead of the walk.
    """
    items = _Walk(source, start, base_offset, next_base_offset)
    if kernel.native is None or source.throttle is not None:
        yield from items.by_windows(source.size)
        return
    from kdump.formats.pieces import Pieces

    with Pieces(source, start, threads) as pieces:
        yield from items.by_pieces(pieces)


class _Walk:
    """One walk through a log. Each step takes `position` on by at least one byte."""

    def __init__(self, source: Source, start: int, base_offset: int | None, next_base_offset: int | None) -> None:
        self._source = source
        self._position = start
        self._scan = _Scan(source, start)
        self._order = _Order(source, base_offset, next_base_offset)
        self._next_inside = 0  # where batches begin that the next damaged batch claims, and does not hold

    def by_pieces(self, pieces: Pieces) -> Iterator[Section | Damage]:
        """All to the end of the log: large pieces, and where something is off, windows."""
        size = self._source.size
        while self._position < size:
            chunk = pieces.at(self._position)
            if chunk is not None and self._order.takes(chunk.digest):
                yield Section(chunk, None, self._order.nested_end)
                self._position = chunk.digest.end
            else:
                pieces.rest(self._position)
                yield from self.by_windows(pieces.next_try)

    def by_windows(self, until: int) -> Iterator[Section | Damage]:
        """All to the end of the log, or after `until` to the next batch."""
        source, window_size = self._source, WINDOW_SIZE
        while self._position < min(until, source.size):
            log = Log(source, self._position, window_size=window_size)
            window_size = _NEAR
            fault: CorruptData | None = None
            try:
                for chunk in log.digested_chunks():
                    if chunk.digest is not None and self._order.takes(chunk.digest):
                        yield Section(chunk, None, self._order.nested_end)
                        self._position = chunk.digest.end
                        if self._position >= until:
                            return
                        continue
                    count = self._rows_in_step(chunk)
                    if count:
                        part = chunk.slice(0, count) if count < len(chunk) else chunk
                        yield Section(part, self._order.statuses(part), self._order.nested_end)
                        self._position = part.batches["position"][-1] + part.batches["size"][-1]
                    if count < len(chunk):
                        fault = _derailed(chunk, count)
                        break
            except CorruptData as found:
                fault = found
            if self._position < source.size:
                yield from self._go_on(fault)

    def _rows_in_step(self, chunk: Chunk) -> int:
        """How many of the batches are sound, or lead to a batch or the end of the file in spite of their damage."""
        valid = chunk.batches["isvalid"]
        if False not in valid:
            return len(valid)
        positions, sizes = chunk.batches["position"], chunk.batches["size"]
        row = -1
        while False in valid[row + 1 :]:
            row = list(valid).index(False, row + 1)
            end = positions[row] + sizes[row]
            goes_on = row + 1 < len(valid) and valid[row + 1]
            if not (goes_on or self._leads_on(end, chunk.is_legacy)) or self._order.distrusts(positions[row]):
                return row
            if self._repaired_size(positions[row], end):
                return row
            before = _extents(chunk.slice(row - 1, row))[0] if row and valid[row - 1] else None
            self._next_inside = self._first_inside(positions[row], end, before)
            if self._next_inside:
                return row
        return len(valid)

    def _first_inside(self, start: int, end: int, before: Extent | None) -> int:
        """Where batches begin that stand inside the span which a damaged batch claims, and are no payload of it; 0 for nowhere.

        They fill the span up to its end without a gap, and their offsets go on from the damaged batch, or up to the next one.
        Where the offsets of the damaged batch reach up to the next one, it holds what it claims to. Leader epochs go on from the
        batch `before`, where that is sound.
        """

        def fits(extent: Extent) -> bool:
            return extent[0] > own[0] and self._order.fits(extent) and not (before is not None and _is_lower(extent, before))

        header = self._source.read(start, kernel.BATCH_HEADER_SIZE)
        own, following = extent_of(header), self._order.header_at(end)
        if following is not None and own[1] + 1 == following[0]:
            return 0
        found = self._scan.run_up_to(end, start + HEADER_UP_TO_MAGIC, is_legacy=header[_MAGIC_AT] < 2, fits=fits)
        if found is None:
            return 0
        position, first, last = found
        if following is None:
            return position if first == own[1] + 1 else 0
        leads_to_next = last[1] < following[0] and not _is_lower(following, last)
        return position if leads_to_next and (first == own[1] + 1 or last[1] + 1 == following[0]) else 0

    def _leads_on(self, position: int, is_legacy: bool) -> bool:
        """Whether a batch may start here, or only zeros, or the file ends. Old messages follow only each other."""
        source = self._source
        if position == source.size:
            return True
        header = source.read(position, kernel.BATCH_HEADER_SIZE)
        if is_plausible(header, source.size - position):
            return is_legacy or header[_MAGIC_AT] >= 2
        return _is_zero(header) and self._scan.zeros_end(position) == source.size

    # Going on

    def _go_on(self, fault: CorruptData | None) -> Iterator[Section | Damage]:
        """Tell what is wrong at `position`, and move on to the next batch."""
        start, source = self._position, self._source
        inside, self._next_inside = self._next_inside, 0
        header = source.read(start, kernel.BATCH_HEADER_SIZE)
        if _is_zero(header[:HEADER_UP_TO_MAGIC]):
            yield from self._step_over_zeros()
            return
        if source.size - start <= HEADER_UP_TO_MAGIC:
            self._position = source.size
            yield Damage(
                start, source.size, "torn-header", "the file ends inside a batch: too few bytes for its header", resync=END
            )
            return
        damage, claimed_end = self._named(header, fault)
        is_stepped_over = fault is not None and fault.code in ("magic-negative", "codec-unknown")
        if (
            is_stepped_over
            and claimed_end
            and not self._order.distrusts(start)
            and self._leads_on(claimed_end, header[_MAGIC_AT] < 2)
        ):
            damage.end, damage.resync = claimed_end, BY_LENGTH
            self._position = claimed_end
            yield damage
            return
        size = self._repaired_size(start)
        if size:
            yield self._repaired(header, size)
            return
        if inside:
            damage.end = inside
            damage.message, claimed_end = LEADS_OVER_BATCHES, 0
        else:
            damage.end = self._scan.next_intact(start + 1)
        self._position = damage.end
        if damage.code == "torn-tail" and damage.end < source.size:
            damage.code = "batch-length-absurd"
            damage.message = f"{_claim(header)}, past the end of the file, though batches follow"
        damage.resync = END if damage.end >= source.size else BY_SCAN
        self._order.doubt(claimed_end if claimed_end - start <= LONGEST_BATCH else 0)
        yield from self._pieces(damage)

    def _step_over_zeros(self) -> Iterator[Damage]:
        start, source = self._position, self._source
        zeros_end = self._scan.zeros_end(start)
        # a batch may begin with zeros
        end = source.size if zeros_end == source.size else self._scan.next_intact(max(start + 1, zeros_end - kernel.LOG_OVERHEAD))
        self._position = end
        self._order.doubt(0)
        yield _zeros(start, min(zeros_end, end), source.size)
        if zeros_end < end:
            yield from self._pieces(
                Damage(zeros_end, end, "garbage-region", _GARBAGE, resync=END if end == source.size else BY_SCAN, is_batch=False)
            )

    def _named(self, header: bytes, fault: CorruptData | None) -> tuple[Damage, int]:
        """The damage that begins with this header, its end still open, and where the batch claims to end (0: nowhere)."""
        start = self._position
        rest = self._source.size - start
        length, magic = int.from_bytes(header[8:12], "big", signed=True), header[16]
        claimed_end = start + kernel.LOG_OVERHEAD + length if 0 < length <= rest - kernel.LOG_OVERHEAD else 0
        if fault is not None and fault.code in ("magic-negative", "codec-unknown"):
            code = "bad-magic" if fault.code == "magic-negative" else fault.code
            damage = Damage(start, start, code, fault.message, fault.row, fault.through)
            if code == "codec-unknown" and not fault.row.isvalid:
                damage.code = "crc-mismatch"
            if code == "bad-magic" and not _is_header_but_for(header, rest):
                return Damage(start, start, "garbage-region", _GARBAGE, fault.row, fault.through, is_batch=False), claimed_end
            return damage, claimed_end
        if not _is_header_but_for(header, rest):
            row, through = (fault.row, fault.through) if fault is not None else (None, "")
            return Damage(start, start, "garbage-region", _GARBAGE, row, through, is_batch=False), 0
        if length < 0:
            return Damage(start, start, "batch-length-negative", _claim(header)), 0
        if length < (kernel.MIN_BATCH_LENGTH if magic >= 2 else MIN_RECORD_OVERHEAD + 8 * magic):
            return Damage(start, start, "batch-length-too-small", f"{_claim(header)}, too few for its header"), 0
        if not claimed_end:
            claimed_end = start + kernel.LOG_OVERHEAD + length
            message = f"{_claim(header)}, of which {rest - kernel.LOG_OVERHEAD:,} are there: the file may be cut off"
            code = "torn-tail" if length <= LONGEST_BATCH else "batch-length-absurd"
            return Damage(start, start, code, message), claimed_end
        message = "the CRC of a record batch does not fit, and its length leads to no batch"
        if fault is not None and fault.row is not None:
            return Damage(start, start, "crc-mismatch", message, fault.row, fault.through), claimed_end
        return Damage(start, start, "crc-mismatch", message), claimed_end

    def _pieces(self, damage: Damage) -> Iterator[Damage]:
        """A damaged range, runs of zeros in it on their own; none of it examined where the search was given up."""
        if self._scan.take_gave_up():
            damage.code, damage.status = "resync-budget", NOT_EXAMINED
            damage.message = "too many bytes look like headers of batches and are none; batches among them are not looked for"
            yield damage
            return
        end, resync = damage.end, damage.resync
        for zeros_start, zeros_end in self._scan.zero_runs(damage.start, end):
            if zeros_start > damage.start:
                damage.end, damage.resync = zeros_start, BY_SCAN
                yield damage
            yield _zeros(zeros_start, zeros_end, self._source.size)
            damage = Damage(zeros_end, end, "garbage-region", _GARBAGE, resync=resync, is_batch=False)
        if damage.start < end:
            damage.end, damage.resync = end, resync
            yield damage

    # Wrong lengths

    def _repaired_size(self, position: int, claimed_end: int | None = None) -> int:
        """The size with which the CRC of this batch fits, 0 if there is none; below what it claims, where that leads on."""
        header = self._source.read(position, kernel.BATCH_HEADER_SIZE)
        if claimed_end is None and not _is_header_but_for(header, self._source.size - position):
            return 0
        end = self._scan.fitting_end(position, header, claimed_end)
        return end - position if end else 0

    def _repaired(self, header: bytes, size: int) -> Section:
        """The batch at `position` as it is but for its length."""
        start = self._position
        length = size - kernel.LOG_OVERHEAD
        patched = header[:8] + length.to_bytes(4, "big") + header[12:]
        window = b""
        if size <= WINDOW_SIZE:
            window = patched[:size] + self._source.read(start + len(patched), max(0, size - len(patched)))
        if header[16] >= 2:
            fields: tuple[int, ...] = kernel.BATCH_HEADER.unpack(patched)
            table = record_batch.table_of_batches([fields], [start], [True])  # type: ignore[list-item]  # 13 fields
        else:
            timestamp = int.from_bytes(patched[18:26], "big", signed=True) if header[16] else record_batch.NO_TIMESTAMP
            fields = (*kernel.MESSAGE_HEADER.unpack_from(patched), timestamp)
            table = record_batch.table_of_messages([fields], [start], [True])  # type: ignore[list-item]  # 6 fields
        chunk = Chunk(table, [fields], [0], window, header[16] < 2)
        self._order.take_salvaged(chunk)
        self._position = start + size
        claimed_length = int.from_bytes(header[8:12], "big", signed=True)
        return Section(chunk, [SALVAGED], self._order.nested_end, claimed_length)


_GARBAGE = "bytes that are no batch"
LEADS_OVER_BATCHES = "the CRC of a record batch does not fit, and its length leads over batches that go on with its offsets"


def _derailed(chunk: Chunk, row: int) -> CorruptData:
    """The fault of the batch in this row, whose CRC does not fit."""
    return CorruptData("crc-mismatch", "", row=chunk.batches.row(row), through="isvalid")


def _claim(header: bytes) -> str:
    return f"a record batch says it is {int.from_bytes(header[8:12], 'big', signed=True):,} bytes long"


def _zeros(start: int, end: int, file_size: int) -> Damage:
    if end == file_size:
        message = f"the last {end - start:,} bytes of the file are zero"
        return Damage(start, end, "zero-tail", message, status=ZERO, resync=END, is_batch=False)
    return Damage(start, end, "zero-hole", f"{end - start:,} bytes are zero", status=ZERO, is_batch=False)


def _is_zero(data: bytes) -> bool:
    return not data.strip(b"\x00")


# --- Order


class _Order:
    """Tells batches that are beyond doubt from those that were found by scan, or that are out of line.

    No checksum covers the offset and the leader epoch of a batch. One that its neighbours on both sides disagree with is
    salvaged, not intact, and the order is measured past it. Where offsets go back and then on, the first batch of the new run
    is out of line, the following ones are not.

    A batch found by scan is confirmed by the next one, if that goes on with the offsets; whatever stands inside the claimed
    span of a damaged batch may be its payload, and is never beyond doubt.
    """

    def __init__(self, source: Source, base_offset: int | None, next_base_offset: int | None) -> None:
        self._source = source
        self._floor = base_offset or 0
        self._ceiling = 1 << 63 if base_offset is None else base_offset + (1 << 31)  # as far as indexes reach
        if next_base_offset is not None:
            self._ceiling = min(self._ceiling, next_base_offset)
        self._last_offset = self._floor - 1  # of the last batch beyond doubt
        self._epoch = -1  # likewise
        self._stray: Extent | None = None  # the last batch, if it was out of line
        self._found: Extent | None = None  # the last batch in doubt
        self._undecided: Extent | None = None
        self._is_in_doubt = False
        self.nested_end = 0

    def doubt(self, claimed_end: int) -> None:
        """Take note of a scan: what follows is in doubt."""
        self._is_in_doubt = True
        self._found = None
        self.nested_end = max(self.nested_end, claimed_end)

    def distrusts(self, position: int) -> bool:
        """Whether a damaged batch at this position is not to be believed in its length."""
        return self._is_in_doubt or position < self.nested_end

    def take_salvaged(self, chunk: Chunk) -> None:
        """Take note of a batch that is whole but for its length: if it is in order, the order goes on after it."""
        extent = _extents(chunk)[0]
        if not self._is_in_doubt and self.fits(extent):
            self._move(extent)

    def takes(self, digest: Digest) -> bool:
        """Whether all batches of this digest follow the one before them and the one after them: then all are beyond doubt."""
        if self._is_in_doubt or self._stray is not None:
            return False
        if not self._last_offset < digest.first_offset or not digest.last_offset < self._ceiling:
            return False
        if not digest.is_legacy and (digest.first_leader_epoch < self._epoch or digest.leader_epochs_back):
            return False
        epoch = None if digest.is_legacy else digest.last_leader_epoch
        following = self.header_at(digest.end)
        if following is not None and (following[0] <= digest.last_offset or _is_lower(following, (0, 0, epoch))):
            return False
        self._move((digest.first_offset, digest.last_offset, epoch))
        return True

    def statuses(self, chunk: Chunk) -> list[str]:
        """The status of each batch of the next chunk."""
        valid, magic = chunk.batches["isvalid"], chunk.batches["magic"]
        statuses = [
            INTACT if is_valid and (chunk.is_legacy or number <= _KNOWN_MAGIC) else DAMAGED
            for is_valid, number in zip(valid, magic, strict=True)
        ]
        rows = [row for row, status in enumerate(statuses) if status == INTACT]
        extents, positions = _extents(chunk), chunk.batches["position"]
        ahead = [extents[row] for row in rows]
        ahead += self._next_extents(positions[-1] + chunk.batches["size"][-1])
        for number, row in enumerate(rows):
            if row and statuses[row - 1] == DAMAGED:
                damaged = extents[row - 1]
                if self.fits(damaged) and extents[row][0] <= damaged[0] and not self._is_in_doubt:
                    statuses[row] = SALVAGED  # one of the two headers is wrong
                    continue
            if self._is_in_doubt:
                statuses[row] = self._judge_found(extents[row], positions[row])
            else:
                statuses[row] = self._judge(extents[row], ahead[number + 1 : number + 3])
        return statuses

    def header_at(self, position: int) -> Extent | None:
        """What the header at this position says, if it looks like one; its CRC is not looked at."""
        header = self._source.read(position, kernel.BATCH_HEADER_SIZE)
        if len(header) < HEADER_UP_TO_MAGIC or header[0] > 0x7F or not _may_be_header(header, self._source.size - position):
            return None
        return extent_of(header)

    def _next_extents(self, position: int) -> list[Extent]:
        """Of the next two batches, as far as they are whole and stand here."""
        extents: list[Extent] = []
        try:
            for chunk in Log(self._source, position, window_size=_NEAR).chunks():
                for extent, is_valid in zip(_extents(chunk), chunk.batches["isvalid"], strict=True):
                    if not is_valid or len(extents) == 2:
                        return extents
                    extents.append(extent)
        except CorruptData:
            pass
        return extents

    def _judge(self, extent: Extent, following: list[Extent]) -> str:
        """The status of a whole batch between the last one beyond doubt and the ones that follow."""
        if not self.fits(extent):
            stray, self._stray = self._stray, extent
            if stray is None or not stray[1] < extent[0] or extent[0] < 0 or _is_lower(extent, stray):
                return SALVAGED
            if following and self.fits(following[0]):
                return SALVAGED
        elif self._is_outlier(extent, following):
            expected = self._last_offset + 1
            if len(following) == 1 and not following[0][0] == expected != extent[0]:
                self._undecided = following[0]  # either of the two last batches may be the wrong one
            return SALVAGED
        elif extent == self._undecided:
            return SALVAGED
        self._stray = None
        self._move(extent)
        return INTACT

    def fits(self, extent: Extent) -> bool:
        """Whether a batch goes on after the last one beyond doubt."""
        first, last, epoch = extent
        if not self._last_offset < first <= last < self._ceiling:
            return False
        return epoch is None or epoch >= self._epoch

    def _is_outlier(self, extent: Extent, following: list[Extent]) -> bool:
        """Whether this batch, which fits what is before it, is out of line with what follows, and not that with this."""
        if not following:
            return False
        first, last, _ = extent
        after = following[0]
        if after[0] > last and not _is_lower(after, extent):
            return False
        if not self.fits(after):
            return False  # what follows is out of line itself
        if len(following) > 1 and following[1][0] > last and not _is_lower(following[1], extent):
            # each of the two could stand here without the other: which of them has room where it should be?
            has_room = after[0] - self._last_offset > last - first + 1
            after_has_room = following[1][0] - last > after[1] - after[0] + 1
            if after[0] > last:  # leader epochs disagree, and two against one
                return False
            return has_room and not after_has_room
        return True

    def _judge_found(self, extent: Extent, position: int) -> str:
        found, self._found = self._found, extent
        if found is None or not self.fits(found) or not found[1] < extent[0] <= extent[1] < self._ceiling:
            return SALVAGED
        if _is_lower(extent, found) or position < self.nested_end:
            return SALVAGED
        self._is_in_doubt = False
        self._stray = None
        self._move(extent)
        return INTACT

    def _move(self, extent: Extent) -> None:
        self._last_offset = extent[1]
        if extent[2] is not None:
            self._epoch = extent[2]


def extent_of(header: bytes) -> Extent:
    """What a header says of its batch, whatever that is worth."""
    offset = int.from_bytes(header[:8], "big", signed=True)
    if header[_MAGIC_AT] < 2:
        return offset, offset, None
    return offset, offset + int.from_bytes(header[23:27], "big"), int.from_bytes(header[12:16], "big", signed=True)


def _is_lower(extent: Extent, other: Extent) -> bool:
    """Whether the leader epoch of one batch is lower than that of another."""
    return extent[2] is not None and other[2] is not None and extent[2] < other[2]


def _extents(chunk: Chunk) -> list[Extent]:
    batches = chunk.batches
    last_offsets = batches["last_offset"]
    if chunk.is_legacy:
        return [(offset, offset, None) for offset in last_offsets]
    return list(zip(batches["base_offset"], last_offsets, batches["partition_leader_epoch"], strict=True))


# --- Search

_CANDIDATE = (
    # the magic at byte 16, and before it an offset >= 0 and a length below LONGEST_BATCH;
    # after it of magic 2 a CRC and attributes, of 0 and 1 attributes
    rb"(?s)[\x00-\x02](?<=[\x00-\x7f].{7}[\x00-\x07].{7}.)"
    rb"(?:(?<=\x02)(?=.{4}\x00[\x00-\x7f])|(?<=[\x00\x01])(?=[\x00-\x0f]))"
)
_MAGIC_AT = 16
_ZEROS = bytes(WINDOW_SIZE)
_FIRST_CRC_BYTES = 64 << 20
_KEPT_CRC_BYTES = 16 << 20  # of these, for batches that are small: large ones cannot use up all
_SMALL = 16 << 10
_CRC_BYTES = 4  # fed to checksums for each byte scanned
_BYTES_PER_TRY = 8  # scanned for each header looked at
_FIRST_TRIES = 1 << 18
_ENDS_TRIED = 16  # of a batch whose length is wrong; all take one pass over its bytes
_ENDS_WITHIN = 16 << 20  # bytes


class _Scan:
    """Looks for intact batches byte by byte, within a budget that is linear in what is scanned.

    The budget is that of a whole walk: hostile bytes full of headers use it up, whatever they lead to. What is passed over
    for want of it is noted.
    """

    def __init__(self, source: Source, start: int) -> None:
        self._source = source
        self._crc32c = crc32c_for(source.size - start)
        self._crc_bytes = source.size - start + _FIRST_CRC_BYTES
        self._tries = _FIRST_TRIES
        self._gave_up = False

    def take_gave_up(self) -> bool:
        """Whether anything was passed over since this was last asked."""
        gave_up, self._gave_up = self._gave_up, False
        return gave_up

    def next_intact(self, start: int) -> int:
        """The position of the next batch whose CRC fits, from `start` on; the size of the file if there is none."""
        for position, header in self._candidates(start):
            size = kernel.LOG_OVERHEAD + int.from_bytes(header[8:12], "big")
            if self._is_intact(position, header, size):
                return position
        return self._source.size

    def fitting_end(self, position: int, header: bytes, claimed_end: int | None) -> int:
        """Where the batch here ends if its CRC is right: before one of the next headers, or with the file; 0 for nowhere.

        With a `claimed_end`, only ends before that are tried.
        """
        source = self._source
        limit = min(source.size if claimed_end is None else claimed_end, position + _ENDS_WITHIN)
        min_size = kernel.BATCH_HEADER_SIZE if header[16] >= 2 else 26
        checksum, at, stored = self._crc_of(position, header)
        gave_up, crc, found = self._gave_up, 0, 0
        # after a batch stands another; in payloads much looks like an old message, which has a short header
        ends = (end for end, other in self._candidates(position + min_size, limit) if header[16] < 2 or other[16] >= 2)
        for tried, end in enumerate(ends):
            if tried == _ENDS_TRIED or not self._spend(end - at):
                break
            crc, at = self._add(checksum, at, end, crc), end
            if crc == stored:
                found = end
                break
        else:
            if claimed_end is None and limit == source.size >= position + min_size and self._spend(limit - at):
                found = limit if self._add(checksum, at, limit, crc) == stored else 0
        self._gave_up = gave_up
        return found

    def run_up_to(
        self, end: int, start: int, *, is_legacy: bool, fits: Callable[[Extent], bool]
    ) -> tuple[int, int, Extent] | None:
        """The run of intact batches that ends at `end`: its position from `start` on, its first offset, and its last batch.

        Each begins where the one before ends, with a higher offset, and `fits`. All takes one pass over these bytes.
        """
        run_start = run_end = first_offset = 0
        last: Extent | None = None
        gave_up = self._gave_up
        for position, header in self._candidates(start, end):
            size = kernel.LOG_OVERHEAD + int.from_bytes(header[8:12], "big")
            if position < run_end or position + size > end or (header[_MAGIC_AT] < 2 and not is_legacy):
                continue
            extent = extent_of(header)
            if not fits(extent) or not self._is_intact(position, header, size):
                continue
            if last is None or position != run_end or extent[0] <= last[1] or _is_lower(extent, last):
                run_start, first_offset = position, extent[0]
            run_end, last = position + size, extent
        self._gave_up = gave_up
        return (run_start, first_offset, last) if last is not None and run_end == end else None

    def zeros_end(self, start: int) -> int:
        """Where a run of zeros ends that begins here; holes of the file are not read."""
        source = self._source
        position = start
        while position < source.size:
            position = max(position, self._data_from(position))
            window = source.read(position, WINDOW_SIZE)
            if not window:
                return source.size
            if window != _ZEROS[: len(window)]:
                return position + len(window) - len(window.lstrip(b"\x00"))
            position += len(window)
        return source.size

    def zero_runs(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Runs of at least a sector of zeros in a range, from the first to the last."""
        position = start
        needle = _ZEROS[:_SECTOR]
        while end - position >= _SECTOR:
            window = self._source.read(position, min(WINDOW_SIZE, end - position))
            at = window.find(needle)
            if at < 0:
                if len(window) < _SECTOR:
                    return
                position += len(window) - _SECTOR + 1
                continue
            run_end = min(self.zeros_end(position + at), end)
            yield position + at, run_end
            position = run_end

    def _data_from(self, position: int) -> int:
        """The next position that is not in a hole."""
        try:
            return os.lseek(self._source.fileno(), position, os.SEEK_DATA)
        except OSError as error:
            import errno

            return self._source.size if error.errno == errno.ENXIO else position

    def _candidates(self, start: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Where plausible headers stand, and they themselves."""
        import re  # slow to load, and most logs are sound

        source, candidates = self._source, re.compile(_CANDIDATE)
        position, size = start, _NEAR
        end = source.size if end is None else end
        while position < end:
            window = source.read(position, min(size, end - position + kernel.BATCH_HEADER_SIZE))
            if len(window) < 26:
                return
            if window == _ZEROS[: len(window)]:
                zeros_end = self.zeros_end(position)
                self._earn(min(zeros_end - position, WINDOW_SIZE))
                position = max(position + 1, zeros_end - kernel.LOG_OVERHEAD)
                size = _NEAR
                if zeros_end == source.size:
                    return
                continue
            # headers are to be whole in their window
            step = len(window) if position + len(window) >= source.size else len(window) - kernel.BATCH_HEADER_SIZE + 1
            rest = source.size - position - kernel.LOG_OVERHEAD
            for match in candidates.finditer(window):
                at = match.start() - _MAGIC_AT
                if at >= step or position + at >= end:
                    break
                if self._tries <= 0:
                    self._gave_up = True
                    break
                self._tries -= 1
                length = window[at + 8 : at + kernel.LOG_OVERHEAD]
                if int.from_bytes(length, "big") > rest - at:
                    continue
                header = window[at : at + kernel.BATCH_HEADER_SIZE]
                if _may_be_header(header, source.size - position - at):
                    yield position + at, header
            self._earn(step)
            position += step
            size = min(2 * size, WINDOW_SIZE)

    def _earn(self, scanned: int) -> None:
        self._crc_bytes += scanned * _CRC_BYTES
        self._tries += scanned // _BYTES_PER_TRY

    def _spend(self, size: int) -> bool:
        """Whether this many bytes may be fed to a checksum."""
        kept = _KEPT_CRC_BYTES if size > _SMALL else 0
        if size > self._crc_bytes - kept:
            self._gave_up = True
            return False
        self._crc_bytes -= size
        return True

    def _is_intact(self, position: int, header: bytes, size: int) -> bool:
        """Whether the CRC of the batch here fits, as far as the budget goes."""
        if not self._spend(size):
            return False
        checksum, at, stored = self._crc_of(position, header)
        return self._add(checksum, at, position + size, 0) == stored

    def _crc_of(self, position: int, header: bytes) -> tuple[Checksum, int, int]:
        """The checksum of the batch here, where it begins to count, and what is stored."""
        if header[16] < 2:
            return crc32, position + 16, int.from_bytes(header[12:16], "big")
        return self._crc32c, position + kernel.CRC_COVERS_FROM, int.from_bytes(header[17:21], "big")

    def _add(self, checksum: Checksum, start: int, end: int, crc: int) -> int:
        for at in range(start, end, WINDOW_SIZE):
            crc = checksum(self._source.read(at, min(WINDOW_SIZE, end - at)), crc)
        return crc


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


def _may_be_header(header: bytes, rest: int) -> bool:
    """Whether this may be the header of a batch, if only its CRC fits: as plausible, but for what a foreign writer may do.

    One that claims to be large has to be plausible in all: in random bytes every 12,000th position looks like one by length
    and magic alone, and each would cost the CRC of what it claims.
    """
    if len(header) < (kernel.BATCH_HEADER_SIZE if header[_MAGIC_AT] >= 2 else MIN_RECORD_OVERHEAD + kernel.LOG_OVERHEAD):
        return False
    length = int.from_bytes(header[8:12], "big")
    if not (kernel.MIN_BATCH_LENGTH if header[_MAGIC_AT] >= 2 else MIN_RECORD_OVERHEAD) <= length <= rest - kernel.LOG_OVERHEAD:
        return False
    return length <= _USUAL_SIZE or is_plausible(header, rest)


def _is_plausible_message(header: bytes, length: int) -> bool:
    key_at = 26 if header[16] else 18  # magic 1 has a timestamp before the key
    fixed_size = key_at + 8 - kernel.LOG_OVERHEAD  # with the sizes of key and value
    if length < fixed_size or header[17] & 7 > 4:
        return False
    key_size = int.from_bytes(header[key_at : key_at + 4], "big", signed=True)
    return -1 <= key_size <= length - fixed_size


def _is_header_but_for(header: bytes, rest: int) -> bool:
    """Whether this may be the header of a batch but for one field: its offset, its length, or its magic.

    `rest` bytes are left in the file; of a header that the file cuts off, what is there counts.
    """
    padded = header.ljust(kernel.BATCH_HEADER_SIZE, b"\x00")
    good_offset, good_length = bytes(8), (LONGEST_BATCH - 1).to_bytes(4, "big")
    for patched in (
        padded[:8] + good_length + padded[12:],
        good_offset + good_length + padded[12:16] + b"\x02" + padded[17:],
        good_offset + good_length + padded[12:],
    ):
        if is_plausible(patched, LONGEST_BATCH + kernel.LOG_OVERHEAD):
            return len(header) == len(padded) or header[16] < 2 or rest > HEADER_UP_TO_MAGIC
    return False
