"""The words of a query: kinds of patterns, and the fields of a record."""

FIXED, REGEX, HEX = "fixed", "regex", "hex"
KINDS = (FIXED, REGEX, HEX)
"""Patterns are bytes as they are, a regular expression, or bytes in hexadecimal."""

KEY, VALUE, HEADER, HEADER_NAME = "key", "value", "header", "header-name"
DECODED_KEY, DECODED_VALUE, DECODED = "decoded-key", "decoded-value", "decoded"
FIELDS = (KEY, VALUE, HEADER, HEADER_NAME, DECODED_KEY, DECODED_VALUE, DECODED)
"""The fields of a record in which a pattern is looked for; `decoded` is the decoded key and the decoded value."""

DEFAULT_FIELDS = (KEY, VALUE, HEADER)
PROOF_FIELDS = (KEY, VALUE, HEADER, HEADER_NAME)
"""All that a record has, as it is: where a pattern is looked for to prove an absence."""

DECODED_FIELDS = {KEY: DECODED_KEY, VALUE: DECODED_VALUE}
"""The decoded field of each part of a record."""
