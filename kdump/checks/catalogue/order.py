"""Faults of the order of offsets and leader epochs, and of what batch headers count."""

from __future__ import annotations

from kdump.checks.catalogue.entry import FaultKind

FAULTS: tuple[FaultKind, ...] = ()
