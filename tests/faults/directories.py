"""Faults of directories."""

from .case import FaultCase

CASES: tuple[FaultCase, ...] = ()
