"""Faults of files."""

from .case import FaultCase

CASES: tuple[FaultCase, ...] = ()
