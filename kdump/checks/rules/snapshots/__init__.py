"""Faults of producer snapshots, leader epochs, partition metadata, and KRaft's snapshots and records."""
