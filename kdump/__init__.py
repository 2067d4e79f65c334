"""Reads the files that Apache Kafka keeps on disk."""

__version__ = "0.1.0"
