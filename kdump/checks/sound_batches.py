"""The batches of a section that are not damaged."""

from __future__ import annotations

from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.formats.record_batch import RecordBatch
    from kdump.reading.items import Section
    from kdump.tables import Table


def sound_batches(section: Section) -> Table[RecordBatch]:
    """The batches of a section that are not damaged."""
    batches = section.chunk.batches
    if salvage.DAMAGED not in section.statuses:
        return batches
    rows = [row for row, status in enumerate(section.statuses) if status != salvage.DAMAGED]
    return type(batches)(batches.row_class, {name: [values[row] for row in rows] for name, values in batches.columns.items()})
