"""The report of `kdump check` for people."""
