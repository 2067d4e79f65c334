"""All faults that a check can name: how bad each is, how it comes about, what Kafka does with it, what can be done.

A code is a promise: it never changes its meaning. Rules say when a fault is there, and where; what is said of it in general
stands here, a module for each part of a log directory.
"""

from __future__ import annotations

from kdump.checks.catalogue import directories, files, framing, indexes, order, records, snapshots, timestamps, transactions
from kdump.checks.catalogue.entry import FORECASTS, FaultKind

__all__ = ["FAULTS", "FORECASTS", "FaultKind"]

_SECTIONS = (framing, order, timestamps, transactions, records, indexes, snapshots, directories, files)

FAULTS: dict[str, FaultKind] = {fault.code: fault for section in _SECTIONS for fault in section.FAULTS}
