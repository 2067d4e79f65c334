"""Faults of timestamps."""

from .case import FaultCase

CASES: tuple[FaultCase, ...] = ()
