"""The sections of the catalogue put together, and the codes of some of them."""

from __future__ import annotations

from kdump.checks.catalogue import (
    directories,
    files,
    fleet,
    framing,
    indexes,
    order,
    records,
    scans,
    snapshots,
    starts,
    timestamps,
    transactions,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.catalogue.fault_kind import FaultKind

SECTIONS: dict[str, tuple[FaultKind, ...]] = {
    "Framing and batch headers": framing.FAULTS,
    "Offsets, sequences and epochs": order.FAULTS,
    "Timestamps": timestamps.FAULTS,
    "Transactions and producers": transactions.FAULTS,
    "Records and compression": records.FAULTS,
    "Indexes": indexes.FAULTS,
    "Snapshots and checkpoints": snapshots.FAULTS,
    "Partition and log directories": directories.FAULTS,
    "Starts of a broker": starts.FAULTS,
    "Files, and limits of a run": files.FAULTS,
    "Several brokers": fleet.FAULTS,
    "Tables of a scan": scans.FAULTS,
}
"""All faults, by the part of a log directory that they affect."""

FLEET = frozenset(fault.code for fault in fleet.FAULTS)
"""Codes that only `kdump scan` reports, about a fleet."""

SCAN = frozenset(fault.code for fault in scans.FAULTS)
"""Codes that `kdump scan` reports about the tables that it wrote, not about Kafka's files."""

STARTS = frozenset(fault.code for fault in starts.FAULTS)
"""Codes that `kdump.verdicts` adds: harm by the next start that no other error reports."""

FAULTS: dict[str, FaultKind] = {fault.code: fault for section in SECTIONS.values() for fault in section}
