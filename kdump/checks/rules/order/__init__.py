"""Faults of the order of offsets and leader epochs, and of what batch headers count."""
