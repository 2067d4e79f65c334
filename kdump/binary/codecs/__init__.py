"""The codecs of batches and messages, by their ids."""

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""Names by id, which stands in the lowest three bits of a batch's attributes; ids 5 to 7 are not taken."""
