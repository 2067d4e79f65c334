"""The files that a scan leaves in its directory, beside the folders of its tables."""

SUMMARY = "kdump.json"
"""What was found, and what was asked for."""

MANIFEST = "manifest.json"
"""What the parts of the tables were made of; with it, the scan can be repeated."""
