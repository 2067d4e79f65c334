"""What keys and values mean: text, numbers, control records, the records of internal topics."""
