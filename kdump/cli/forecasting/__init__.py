"""What `kdump forecast` does."""
