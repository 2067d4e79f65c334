"""Faults of directories."""

from __future__ import annotations

from kdump.checks.catalogue.entry import FaultKind

FAULTS: tuple[FaultKind, ...] = ()
