"""Kafka's structures on disk, one module each: bytes become tables."""
