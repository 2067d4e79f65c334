"""Faults of transactions."""

from .case import FaultCase

CASES: tuple[FaultCase, ...] = ()
