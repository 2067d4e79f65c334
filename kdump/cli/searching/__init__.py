"""What `kdump grep` and `kdump where` do."""
