"""Which questions a scan asks of its tables."""

from __future__ import annotations

from kdump.pipeline.fleet import compaction, replicas, retention, transactions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kdump.pipeline.fleet.query import Query


def of_scan(
    now: int,
    *,
    retention_ms: int | None = None,
    compacted: Sequence[str] = replicas.COMPACTED,
    without: Sequence[str] = (),
    reads_records: bool = False,
) -> list[Query]:
    """The questions whose answers are findings of a fleet: codes of `catalogue.FLEET`, none of which `kdump check` reports.

    `now` is in milliseconds. Nothing is compared with the replicas in `without`, each as BROKER:TOPIC-PARTITION. With
    `reads_records`, questions to the table of records are included, which must have offsets and keys.
    """
    found = [
        replicas.divergence(compacted, without),
        replicas.behind(now, without=without),
        transactions.missing_markers(),
        retention.blocked(now, retention_ms, compacted),
        compaction.stalled(without),
        compaction.overdue(now),
    ]
    return [*found, compaction.duplicates()] if reads_records else found


def answerable(queries: Iterable[Query], tables: Sequence[str]) -> list[Query]:
    """The questions whose tables all exist."""
    return [query for query in queries if query.columns.keys() <= set(tables)]
