"""The transaction index (`.txnindex`): the aborted transactions of a segment."""

from __future__ import annotations

from struct import Struct

from kdump.formats import entries
from kdump.tables import Int16, Int64, Row, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.source import Source

VERSION = 0

ENTRY = Struct(">hqqqq")
ENTRY_SIZE = ENTRY.size


class AbortedTransaction(Row):
    """A transaction that was aborted: its producer, its offsets, and the last stable offset when it ended.

    Kafka: TransactionIndex, since 0.11.0 (KIP-98). The only version is 0.
    """

    version: Int16
    producer_id: Int64
    first_offset: Int64
    last_offset: Int64
    last_stable_offset: Int64


def read(source: Source) -> Iterator[Table[AbortedTransaction]]:
    """All whole entries, whatever version they say."""
    for window in entries.windows(source, ENTRY_SIZE):
        yield Table.of(AbortedTransaction, list(ENTRY.iter_unpack(window)))


def packed(producer_id: int, first_offset: int, last_offset: int, last_stable_offset: int) -> bytes:
    """The bytes of one entry."""
    return ENTRY.pack(VERSION, producer_id, first_offset, last_offset, last_stable_offset)
