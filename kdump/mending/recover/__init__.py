"""Recovers damaged partitions."""
