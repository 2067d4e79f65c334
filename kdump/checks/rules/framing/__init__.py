"""Faults of framing and of single batch headers: where batches start and end, and whether their checksums fit."""
