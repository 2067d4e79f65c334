"""What `kdump scan` does."""
