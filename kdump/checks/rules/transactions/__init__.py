"""Faults of control batches, transactions and producers."""
