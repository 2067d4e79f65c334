"""Faults of snapshots."""

from .case import FaultCase

CASES: tuple[FaultCase, ...] = ()
