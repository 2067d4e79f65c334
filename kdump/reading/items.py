"""What a walk through a log yields: sections of batches, and the damaged ranges between them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdump.formats.log import Chunk
    from kdump.formats.mixed import MixedSummary
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

    Batches that start before `nested_end` lie inside the span that a damaged batch claims, and may be its payload.
    `claimed_length` is the wrong length in the header of a single batch, which is otherwise shown corrected. `summary`
    summarizes batches that are all intact. Rules look there first, because columns are made on demand.
    """

    __slots__ = ("_statuses", "chunk", "claimed_length", "is_intact", "nested_end", "summary")

    def __init__(self, chunk: Chunk, statuses: list[str] | None, nested_end: int = 0, claimed_length: int | None = None) -> None:
        """Without statuses, all batches are intact."""
        self._statuses = statuses
        self.chunk = chunk
        self.is_intact = statuses is None or statuses.count(INTACT) == len(statuses)
        self.summary = chunk.summary if self.is_intact else None
        self.nested_end = nested_end
        self.claimed_length = claimed_length

    @property
    def mixed(self) -> MixedSummary | None:
        """The summary, if it is one of runs of alternating magics. Such batches have no columns; `parts` have."""
        return self.summary if self.chunk.is_mixed else None  # type: ignore[return-value]  # as the chunk says

    def parts(self, first: int = 0) -> Iterator[Section]:
        """Runs of alternating magics, one by one, from the run with this number on."""
        for chunk in self.chunk.parts(first):  # type: ignore[attr-defined]  # it is mixed
            yield Section(chunk, None, self.nested_end)

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
    `row` holds the fields of the batch at its start, if there are any, valid up to the field `through`; `is_batch` says that a
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


class Shown:
    """Intact batches in order that the caller of a walk has shown by itself: where they `end`, and the extent of the `last` one.

    An extent is the first and last offset, and the leader epoch, None where the format has none.
    """

    __slots__ = ("end", "last")

    def __init__(self, end: int, last: tuple[int, int, int | None]) -> None:
        self.end = end
        self.last = last


class Damages:
    """Damaged ranges in order, as columns: what is asked of many of them at once. `make` makes the Damage in a row."""

    __slots__ = ("are_batches", "codes", "ends", "make", "starts", "statuses")

    def __init__(
        self,
        codes: Sequence[str],
        statuses: Sequence[str],
        starts: Sequence[int],
        ends: Sequence[int],
        are_batches: Sequence[bool],
        make: Callable[[int], Damage],
    ) -> None:
        self.codes = codes
        self.statuses = statuses
        self.starts = starts
        self.ends = ends
        self.are_batches = are_batches
        self.make = make

    @classmethod
    def of(cls, damages: Sequence[Damage]) -> Damages:
        """Columns of ranges that are there already."""
        return cls(
            [damage.code for damage in damages],
            [damage.status for damage in damages],
            [damage.start for damage in damages],
            [damage.end for damage in damages],
            [damage.is_batch for damage in damages],
            damages.__getitem__,
        )

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Damage]:
        return map(self.make, range(len(self.codes)))


class Patches:
    """Salvaged batches that stand alone, and the damaged ranges after each: what would else be many short items of a walk.

    `section` has the batches, with the bytes between them in its window. `damages` are in order, and have no `row`; `counts` says
    how many of the batches stand before each. The first item is a batch.
    """

    __slots__ = ("counts", "damages", "section")

    def __init__(self, section: Section, damages: Damages, counts: Sequence[int]) -> None:
        self.section = section
        self.damages = damages
        self.counts = counts

    def steps(self) -> Iterator[tuple[range, Damage | None]]:
        """The rows of batches in order, each with the damage after them; None after the last ones."""
        first = 0
        for count, damage in zip(self.counts, self.damages, strict=True):
            yield range(first, count), damage
            first = count
        yield range(first, len(self.section.statuses)), None

    def items(self) -> Iterator[Section | Damage]:
        """The batches and the damage between them as they would come one by one."""
        section = self.section
        for rows, damage in self.steps():
            if rows:
                chunk = section.chunk.slice(rows.start, rows.stop)
                yield Section(chunk, section.statuses[rows.start : rows.stop], section.nested_end)
            if damage is not None:
                yield damage
