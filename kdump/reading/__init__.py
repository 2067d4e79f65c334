"""Reads logs from end to end, past whatever is damaged in them."""
