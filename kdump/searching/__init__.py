"""Finds records: by their bytes (`grep`), and what became of one (`where`). A verdict says how much of the files was read."""
