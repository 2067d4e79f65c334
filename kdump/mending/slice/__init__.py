"""Copies parts of partitions."""
