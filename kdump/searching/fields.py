"""The words of a query: kinds of patterns, and the fields of a record."""

FIXED, REGEX, HEX = "fixed", "regex", "hex"
KINDS = (FIXED, REGEX, HEX)
"""Patterns are bytes as they are, a regular expression, or bytes in hexadecimal."""

KEY, VALUE, HEADER, HEADER_NAME = "key", "value", "header", "header-name"
FIELDS = (KEY, VALUE, HEADER, HEADER_NAME)
DEFAULT_FIELDS = (KEY, VALUE, HEADER)
"""The fields of a record in which a pattern is looked for."""
