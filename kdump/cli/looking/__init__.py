"""What `kdump info` and `kdump triage` do."""
