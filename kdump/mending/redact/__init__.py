"""Copies partitions without the contents of their records."""
