"""Reads the files that Apache Kafka keeps on disk.

`info` says what is there, `triage` what is wrong first, `report` both on a page; `open` reads batches, records and
entries; `check` finds damage, `forecast` predicts what a broker will do at its next start, and `verdict` sums both up; `grep`
finds records, `where` says what became of one. `recover` copies what is whole of damaged logs, `reindex` makes new indexes,
`slice` cuts out a part, `redact` takes out the contents. See docs/library.md.
"""

__version__ = "1.0.0"

__all__ = [
    "AbortedTransaction",
    "CheckpointOffset",
    "Companion",
    "CorruptData",
    "Damage",
    "DecodedRecord",
    "Dropped",
    "Fate",
    "Finding",
    "Forecast",
    "Hit",
    "Hole",
    "KdumpError",
    "LeaderEpoch",
    "LeaderEpochCheckpoint",
    "Log",
    "LostRecord",
    "MissingPackage",
    "OffsetCheckpoint",
    "OffsetIndex",
    "OffsetIndexEntry",
    "Overview",
    "Partition",
    "PartitionMap",
    "ProducerSnapshot",
    "ProducerState",
    "Record",
    "RecordBatch",
    "Recovered",
    "RedactDifference",
    "RedactedFile",
    "Report",
    "Rewritten",
    "Row",
    "SalvagedBatch",
    "SalvagedRecord",
    "Scan",
    "SlicedSegment",
    "Table",
    "Tables",
    "TimeIndex",
    "TimeIndexEntry",
    "TransactionIndex",
    "Triage",
    "Unreadable",
    "UsageError",
    "Verdict",
    "check",
    "explain",
    "forecast",
    "grep",
    "info",
    "open",
    "partition_map",
    "partitions",
    "picture",
    "recover",
    "redact",
    "reindex",
    "report",
    "scan",
    "slice",
    "triage",
    "verdict",
    "where",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Finding
    from kdump.cli.scanning.library import Scan, scan
    from kdump.cli.screens.explain import explain
    from kdump.errors import CorruptData, KdumpError, MissingPackage, Unreadable, UsageError
    from kdump.forecasts.forecast import forecast
    from kdump.forecasts.row import Forecast
    from kdump.formats.offset_index import OffsetIndexEntry
    from kdump.formats.producer_snapshot import ProducerState
    from kdump.formats.record_batch import RecordBatch
    from kdump.formats.time_index import TimeIndexEntry
    from kdump.formats.transaction_index import AbortedTransaction
    from kdump.library.arrow_stream import Tables
    from kdump.library.entry_files import (
        LeaderEpochCheckpoint,
        OffsetCheckpoint,
        OffsetIndex,
        ProducerSnapshot,
        TimeIndex,
        TransactionIndex,
    )
    from kdump.library.log import Log
    from kdump.library.opening import open
    from kdump.library.partitions import Partition, partitions
    from kdump.library.reporting import picture, report
    from kdump.library.rows import (
        CheckpointOffset,
        Damage,
        DecodedRecord,
        LeaderEpoch,
        Record,
        SalvagedBatch,
        SalvagedRecord,
    )
    from kdump.library.triaging import triage
    from kdump.mending.recover.recover import recover
    from kdump.mending.redact.redact import redact
    from kdump.mending.reindex.reindex import reindex
    from kdump.mending.row import (
        Companion,
        Dropped,
        Hole,
        LostRecord,
        Recovered,
        RedactDifference,
        RedactedFile,
        Rewritten,
        SlicedSegment,
    )
    from kdump.mending.slice.slice import slice
    from kdump.output.rows.fates import Fate
    from kdump.output.rows.hits import Hit
    from kdump.overview.overview import Overview, info
    from kdump.overview.partition_map import PartitionMap, partition_map
    from kdump.overview.triage import Triage
    from kdump.searching.grep import grep
    from kdump.searching.where import where
    from kdump.tables import Row, Table
    from kdump.verdicts.check import check, verdict
    from kdump.verdicts.report import Report
    from kdump.verdicts.verdict import Verdict

_NAMES = {
    "checks.finding": ("Finding",),
    "cli.scanning.library": ("Scan", "scan"),
    "cli.screens.explain": ("explain",),
    "errors": ("CorruptData", "KdumpError", "MissingPackage", "Unreadable", "UsageError"),
    "forecasts.forecast": ("Forecast", "forecast"),
    "formats.offset_index": ("OffsetIndexEntry",),
    "formats.producer_snapshot": ("ProducerState",),
    "formats.record_batch": ("RecordBatch",),
    "formats.time_index": ("TimeIndexEntry",),
    "formats.transaction_index": ("AbortedTransaction",),
    "library.arrow_stream": ("Tables",),
    "library.entry_files": (
        "LeaderEpochCheckpoint",
        "OffsetCheckpoint",
        "OffsetIndex",
        "ProducerSnapshot",
        "TimeIndex",
        "TransactionIndex",
    ),
    "library.log": ("Log",),
    "library.opening": ("open",),
    "library.partitions": ("Partition", "partitions"),
    "library.reporting": ("picture", "report"),
    "library.rows": ("CheckpointOffset", "Damage", "DecodedRecord", "LeaderEpoch", "Record", "SalvagedBatch", "SalvagedRecord"),
    "mending.recover.recover": ("recover",),
    "mending.reindex.reindex": ("reindex",),
    "mending.redact.redact": ("redact",),
    "mending.row": (
        "Companion",
        "Dropped",
        "Hole",
        "LostRecord",
        "Recovered",
        "RedactDifference",
        "RedactedFile",
        "Rewritten",
        "SlicedSegment",
    ),
    "mending.slice.slice": ("slice",),
    "output.rows.hits": ("Hit",),
    "output.rows.fates": ("Fate",),
    "library.triaging": ("triage",),
    "overview.overview": ("Overview", "info"),
    "overview.triage": ("Triage",),
    "overview.partition_map": ("PartitionMap", "partition_map"),
    "searching.grep": ("grep",),
    "searching.where": ("where",),
    "tables": ("Row", "Table"),
    "verdicts.check": ("check", "verdict"),
    "verdicts.report": ("Report",),
    "verdicts.verdict": ("Verdict",),
}
"""The module that defines each name."""


if not TYPE_CHECKING:  # otherwise type checkers would accept any name

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        for home, names in _NAMES.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(f"kdump.{home}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, and those that Python adds to a module."""
    return sorted({*globals(), *__all__})
