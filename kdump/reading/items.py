"""What a walk through a log yields: sections of batches, and the damaged ranges between them."""

from __future__ import annotations

from collections import deque
from itertools import compress

from kdump.tables import Declared, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kdump.formats.log import Chunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Row

INTACT = "intact"
SALVAGED = "salvaged"
DAMAGED = "damaged"
ZERO = "zero"
NOT_EXAMINED = "not_examined"

BY_LENGTH, BY_REPAIRED_LENGTH, BY_SCAN, END = "by-length", "by-repaired-length", "by-scan", "end"
"""How the walk continued after damage; `end` means to the end of the file."""


class Section:
    """Neighbouring batches with the status of each.

    A batch is intact, salvaged (complete, but doubtful: found after damage and not yet confirmed by the next offsets, or out of
    line with the batches around it), or damaged (its CRC does not match, or its magic does not exist).

    `nested` says of each batch whether it lies inside the span that a damaged batch claims, and may be its payload; it is empty
    where none does.
    `claimed_lengths` are the wrong lengths in the headers of batches, by their rows; these batches are otherwise shown corrected,
    and stand alone outside of Patches. `summary` summarizes batches that are all intact. Rules look there first, because columns
    are made on demand.
    `lowest_offsets` are the first offsets of batches with compressed messages of magic 0 or 1 among them, whose headers do not
    say them, if somebody looked for them: of messages that were not opened the lowest that they may have, or None.
    """

    __slots__ = ("_sound", "_statuses", "chunk", "claimed_lengths", "is_intact", "lowest_offsets", "nested", "summary")

    def __init__(
        self,
        chunk: Chunk,
        statuses: list[str] | None,
        nested: Sequence[bool] = (),
        claimed_lengths: Mapping[int, int] | None = None,
    ) -> None:
        """Without statuses, all batches are intact."""
        self._statuses = statuses
        self._sound: Table[RecordBatch] | None = None
        self.chunk = chunk
        self.is_intact = statuses is None or statuses.count(INTACT) == len(statuses)
        self.summary = chunk.summary if self.is_intact else None
        self.lowest_offsets: Sequence[int | None] | None = None
        self.nested = nested
        self.claimed_lengths = claimed_lengths or {}

    @property
    def sound(self) -> Table[RecordBatch]:
        """The batches that are not damaged."""
        if DAMAGED not in self.statuses:
            return self.chunk.batches
        if self._sound is None:
            batches, are_sound = self.chunk.batches, [status != DAMAGED for status in self.statuses]
            columns = {name: list(compress(values, are_sound)) for name, values in batches.columns.items()}
            self._sound = Table(batches.row_class, columns)
        return self._sound

    @property
    def claimed_length(self) -> int | None:
        """The wrong length in the header of the only batch, if it is wrong."""
        return self.claimed_lengths.get(0)

    def run(self, start: int, end: int) -> Section:
        """The batches in the rows from `start` up to but not including `end`."""
        if end - start == len(self.statuses):
            return self
        lengths = self.claimed_lengths
        rows = range(start, end) if end - start < len(lengths) else lengths
        claimed = {row - start: lengths[row] for row in rows if start <= row < end and row in lengths}
        part = Section(self.chunk.slice(start, end), self.statuses[start:end], self.nested[start:end], claimed)
        part.lowest_offsets = None if self.lowest_offsets is None else self.lowest_offsets[start:end]
        return part

    def is_nested(self, row: int) -> bool:
        """Whether the batch in this row lies inside the span that a damaged batch claims."""
        return bool(self.nested) and self.nested[row]

    @property
    def kept(self) -> memoryview | None:
        """The bytes of the batches, if they are in memory; valid until the walk goes on."""
        return self.chunk.kept if self.summary is not None else None

    @property
    def header_columns(self) -> dict[str, bytes] | None:
        """The columns of BATCH_COLUMNS of the batches, if they came with the summary."""
        return self.chunk.header_columns if self.summary is not None else None

    @property
    def statuses(self) -> list[str]:
        """The status of each batch."""
        if self._statuses is None:
            self._statuses = [INTACT] * len(self.chunk)
        return self._statuses


class Damage:
    """A range of bytes, `end` exclusive, without a readable batch; `code` is one of the catalogue's.

    `status` is damaged, zero, or not_examined if the search for batches was given up. `resync` says how the walk continued.
    `row` holds the fields of the batch at its start, if there are any, valid up to the field `through`. `is_batch` says that a
    batch was probably lost here.
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

    @property
    def claimed_offset(self) -> int | None:
        """The first offset that a batch at its start claims, None for none."""
        return getattr(self.row, "base_offset", None) if self.is_batch else None


class Damages:
    """Damaged ranges in order, with columns of what is asked of many of them at once."""

    __slots__ = ("_damages", "are_batches", "codes", "ends", "starts", "statuses")

    def __init__(self, damages: Sequence[Damage]) -> None:
        self._damages = damages
        self.codes = [damage.code for damage in damages]
        self.statuses = [damage.status for damage in damages]
        self.starts = [damage.start for damage in damages]
        self.ends = [damage.end for damage in damages]
        self.are_batches = [damage.is_batch for damage in damages]

    def __len__(self) -> int:
        return len(self._damages)

    def __iter__(self) -> Iterator[Damage]:
        return iter(self._damages)


class Patches(Declared):
    """Batches and damaged ranges in turn: what would else be many short items of a walk.

    `section` has the batches, which are of one family. `damages` are in order; `counts` says how many of the batches stand
    before each. There is at least one batch.
    """

    section: Section
    damages: Damages
    counts: Sequence[int]

    @property
    def start(self) -> int:
        """The position of the first batch or damaged range."""
        first: int = self.section.chunk.batches["position"][0]
        return min([first, *self.damages.starts[:1]])

    @property
    def end(self) -> int:
        """The position after the last batch or damaged range."""
        batches = self.section.chunk.batches
        last: int = batches["position"][-1] + batches["size"][-1]
        return max([last, *self.damages.ends[-1:]])

    def steps(self) -> Iterator[tuple[range, Damage | None]]:
        """The rows of batches in order, each with the damage after them; None after the last."""
        first = 0
        for count, damage in zip(self.counts, self.damages, strict=True):
            yield range(first, count), damage
            first = count
        yield range(first, len(self.section.statuses)), None

    def items(self) -> Iterator[Section | Damage]:
        """The batches and what stands between them as they would come one by one."""
        section = self.section
        alone = deque(sorted(section.claimed_lengths))
        for rows, damage in self.steps():
            start = rows.start
            while alone and alone[0] in rows:
                row = alone.popleft()
                if start < row:
                    yield section.run(start, row)
                yield section.run(row, row + 1)
                start = row + 1
            if start < rows.stop:
                yield section.run(start, rows.stop)
            if damage is not None:
                yield damage
