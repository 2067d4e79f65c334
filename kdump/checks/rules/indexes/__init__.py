"""Faults of indexes."""
