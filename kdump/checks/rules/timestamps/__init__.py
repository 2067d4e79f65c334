"""Faults of timestamps."""
