"""Faults of producer snapshots, leader epochs, partition metadata, and KRaft's snapshots and records."""

from . import metadata_files, producer_snapshots

CASES = (*producer_snapshots.CASES, *metadata_files.CASES)
