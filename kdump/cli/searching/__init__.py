"""What `kdump grep` does."""
