"""All faults that a check can name: how bad each is, how it comes about, what Kafka does with it, what can be done.

A code is a promise: it never changes its meaning. Rules say when a fault is there, and where; what is said of it in general
stands here, a module for each part of a log directory.
"""

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
from kdump.checks.catalogue.fault_kind import FORECASTS, FaultKind
from kdump.checks.catalogue.running import RUNNING

__all__ = ["FAULTS", "FLEET", "FORECASTS", "RUNNING", "SCAN", "SECTIONS", "STARTS", "FaultKind"]

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
"""All faults, by the part of a log directory that they are faults of."""

FLEET = frozenset(fault.code for fault in fleet.FAULTS)
"""What `kdump scan` adds to the findings of `kdump check`: a finding is of a fleet where its code is one of these."""

SCAN = frozenset(fault.code for fault in scans.FAULTS)
"""What `kdump scan` reports of the tables that it wrote, not of Kafka's files."""

STARTS = frozenset(fault.code for fault in starts.FAULTS)
"""What `kdump.verdicts` adds to the findings about files: what the next start does, where nothing else fails."""

FAULTS: dict[str, FaultKind] = {fault.code: fault for section in SECTIONS.values() for fault in section}
