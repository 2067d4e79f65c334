"""What a walk through a log yields: sections of batches, and the damaged ranges between them."""

from __future__ import annotations

from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.formats.log import Chunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.tables import Row, Table

INTACT = "intact"
SALVAGED = "salvaged"
DAMAGED = "damaged"
ZERO = "zero"
NOT_EXAMINED = "not_examined"

BY_LENGTH, BY_REPAIRED_LENGTH, BY_SCAN, END = "by-length", "by-repaired-length", "by-scan", "end"
"""How the walk continued after damage; `end` means to the end of the file."""


class Section:
    """Neighbouring batches that are all intact, or a single batch near damage, with its status.

    A batch is intact, salvaged (complete, but doubtful: found after damage and not yet confirmed by the next offsets, or out of
    line with the batches around it), or damaged (its CRC does not match, or its magic does not exist).

    `is_nested` says of a single batch that it lies inside the span that a damaged batch claims, and may be its payload.
    `claimed_length` is the wrong length in the header of one that is otherwise shown corrected.
    `summary` summarizes batches that are all intact. Rules look there first, because columns are made on demand.
    `lowest_offsets` are the first offsets of batches with compressed messages of magic 0 or 1 among them, whose headers do not
    say them, if somebody looked for them: of messages that were not opened the lowest that they may have, or None.
    """

    def __init__(self, chunk: Chunk, status: str = INTACT, *, is_nested: bool = False, claimed_length: int | None = None) -> None:
        self.chunk = chunk
        self.status = status
        self.summary = chunk.summary if status == INTACT else None
        self.lowest_offsets: Sequence[int | None] | None = None
        self.is_nested = is_nested
        self.claimed_length = claimed_length

    @property
    def is_intact(self) -> bool:
        """Whether its batches are beyond doubt."""
        return self.status == INTACT

    @property
    def sound(self) -> Table[RecordBatch]:
        """The batches, or none of one that is damaged."""
        batches = self.chunk.batches
        return batches if self.status != DAMAGED else batches.slice(0, 0)

    @property
    def kept(self) -> memoryview | None:
        """The bytes of the batches, if they are in memory; valid until the walk goes on."""
        return self.chunk.kept if self.summary is not None else None

    @property
    def header_columns(self) -> dict[str, bytes] | None:
        """The columns of BATCH_COLUMNS of the batches, if they came with the summary."""
        return self.chunk.header_columns if self.summary is not None else None


class Damage(Declared):
    """A range of bytes, `end` exclusive, without a readable batch; `code` is one of the catalogue's.

    `status` is damaged, zero, or not_examined if the search for batches was given up. `resync` says how the walk continued.
    `row` holds the fields of the batch at its start, if there are any, valid up to the field `through`. `is_batch` says that a
    batch was probably lost here.
    """

    start: int
    end: int
    code: str
    message: str
    row: Row | None = None
    through: str = ""
    status: str = DAMAGED
    resync: str = BY_SCAN
    is_batch: bool = True

    @property
    def claimed_offset(self) -> int | None:
        """The first offset that a batch at its start claims, None for none."""
        return getattr(self.row, "base_offset", None) if self.is_batch else None
