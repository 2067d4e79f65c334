"""Rows of the records that `kdump recover` lost."""

from __future__ import annotations

from kdump.output.rows.listing import text_or_base64
from kdump.tables import Int64, Row, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.mending.row import LostRecord


class ListedLostRecord(Row, kind="lost-record"):
    """A record of a batch that `kdump recover` left out and that is lost, as far as it still decodes.

    A key that is not UTF-8 is in `key_base64`.
    """

    source: Text
    start: Int64
    offset: Int64
    timestamp: Int64
    key: Text | None
    key_base64: Text | None


def listed(record: LostRecord) -> ListedLostRecord:
    """The row of a lost record."""
    return ListedLostRecord(record.source, record.start, record.offset, record.timestamp, *text_or_base64(record.key))
