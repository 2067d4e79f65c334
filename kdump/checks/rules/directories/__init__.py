"""Faults of directories: neighbouring segments, leftovers, names, and the files of a log directory."""
