"""Faults of files as objects, and the limits of a run."""
