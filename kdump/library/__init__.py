"""Kafka's files for Python programs: what `kdump.open` returns."""
