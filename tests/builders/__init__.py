"""Kafka's on-disk bytes, written for tests; nothing in here imports kdump."""
