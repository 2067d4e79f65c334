"""The meaning of keys and values: text, numbers, control records, and records of internal topics."""
