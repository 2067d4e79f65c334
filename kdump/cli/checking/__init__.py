"""What `kdump check` does."""
