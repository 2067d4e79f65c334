"""Faults of order."""

from .case import FaultCase

CASES: tuple[FaultCase, ...] = ()
