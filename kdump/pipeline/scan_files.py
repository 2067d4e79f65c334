"""The files that a scan leaves in its directory, beside the folders of its tables."""

SUMMARY = "kdump.json"
"""What was found, and what was asked for."""

MANIFEST = "manifest.json"
"""What the parts of the tables were made of; with it, the scan can be repeated."""

FLEET_FILE = "fleet.parquet"
"""The file in the table of findings that holds those which only a fleet shows."""

TABLES_FILE = "tables.parquet"
"""The file in the table of findings that holds those about the tables themselves."""
