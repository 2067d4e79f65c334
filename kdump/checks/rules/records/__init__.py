"""Faults of records, and of compressed payloads."""
