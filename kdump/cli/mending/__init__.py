"""What `kdump reindex` does."""
