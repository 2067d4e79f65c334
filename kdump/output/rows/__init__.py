"""Rows of any class in each format: NDJSON, JSON, CSV, aligned columns; and the row classes that commands list."""
