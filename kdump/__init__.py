"""Reads the files that Apache Kafka keeps on disk.

`info` says what is there, `triage` what is wrong first, `report` both on a page; `open` reads batches, records and
entries; `check` finds damage, `forecast` predicts what a broker will do at its next start, and `verdict` sums both up; `grep`
finds records, `where` says what became of one. `recover` copies what is whole of damaged logs, `reindex` makes new indexes,
`slice` cuts out a part, `redact` takes out the contents. See docs/library.md.
"""

__version__ = "1.0.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Finding as Finding
    from kdump.cli.scanning.library import Scan as Scan
    from kdump.cli.scanning.library import scan as scan
    from kdump.cli.screens.explain import explain as explain
    from kdump.errors import CorruptData as CorruptData
    from kdump.errors import KdumpError as KdumpError
    from kdump.errors import MissingPackage as MissingPackage
    from kdump.errors import Unreadable as Unreadable
    from kdump.errors import UsageError as UsageError
    from kdump.forecasts.forecast import forecast as forecast
    from kdump.forecasts.row import Forecast as Forecast
    from kdump.formats.offset_index import OffsetIndexEntry as OffsetIndexEntry
    from kdump.formats.producer_snapshot import ProducerState as ProducerState
    from kdump.formats.record_batch import RecordBatch as RecordBatch
    from kdump.formats.time_index import TimeIndexEntry as TimeIndexEntry
    from kdump.formats.transaction_index import AbortedTransaction as AbortedTransaction
    from kdump.library.arrow_stream import Tables as Tables
    from kdump.library.entry_files import LeaderEpochCheckpoint as LeaderEpochCheckpoint
    from kdump.library.entry_files import OffsetCheckpoint as OffsetCheckpoint
    from kdump.library.entry_files import OffsetIndex as OffsetIndex
    from kdump.library.entry_files import ProducerSnapshot as ProducerSnapshot
    from kdump.library.entry_files import TimeIndex as TimeIndex
    from kdump.library.entry_files import TransactionIndex as TransactionIndex
    from kdump.library.log import Log as Log
    from kdump.library.opening import open as open
    from kdump.library.partitions import Partition as Partition
    from kdump.library.partitions import partitions as partitions
    from kdump.library.reporting import picture as picture
    from kdump.library.reporting import report as report
    from kdump.library.rows import CheckpointOffset as CheckpointOffset
    from kdump.library.rows import Damage as Damage
    from kdump.library.rows import DecodedRecord as DecodedRecord
    from kdump.library.rows import LeaderEpoch as LeaderEpoch
    from kdump.library.rows import Record as Record
    from kdump.library.rows import SalvagedBatch as SalvagedBatch
    from kdump.library.rows import SalvagedRecord as SalvagedRecord
    from kdump.library.triaging import triage as triage
    from kdump.mending.recover.recover import recover as recover
    from kdump.mending.redact.redact import redact as redact
    from kdump.mending.reindex.reindex import reindex as reindex
    from kdump.mending.row import Companion as Companion
    from kdump.mending.row import Dropped as Dropped
    from kdump.mending.row import Hole as Hole
    from kdump.mending.row import LostRecord as LostRecord
    from kdump.mending.row import Recovered as Recovered
    from kdump.mending.row import RedactDifference as RedactDifference
    from kdump.mending.row import RedactedFile as RedactedFile
    from kdump.mending.row import Rewritten as Rewritten
    from kdump.mending.row import SlicedSegment as SlicedSegment
    from kdump.mending.slice.slice import slice as slice
    from kdump.output.rows.fates import Fate as Fate
    from kdump.output.rows.hits import Hit as Hit
    from kdump.overview.overview import Overview as Overview
    from kdump.overview.overview import info as info
    from kdump.overview.partition_map import PartitionMap as PartitionMap
    from kdump.overview.partition_map import partition_map as partition_map
    from kdump.overview.triage import Triage as Triage
    from kdump.searching.grep import grep as grep
    from kdump.searching.where import where as where
    from kdump.tables import Row as Row
    from kdump.tables import Table as Table
    from kdump.verdicts.check import check as check
    from kdump.verdicts.check import verdict as verdict
    from kdump.verdicts.report import Report as Report
    from kdump.verdicts.verdict import Verdict as Verdict

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


__all__: list[str]

if not TYPE_CHECKING:  # otherwise type checkers would accept any name
    __all__ = sorted(name for names in _NAMES.values() for name in names)

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
