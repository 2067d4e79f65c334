"""Faults of records."""

from .case import FaultCase

CASES: tuple[FaultCase, ...] = ()
