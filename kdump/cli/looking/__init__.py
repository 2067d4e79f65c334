"""What `kdump info`, `kdump triage`, `kdump map` and `kdump report` do."""
