"""Faults of indexes."""

from .case import FaultCase

CASES: tuple[FaultCase, ...] = ()
