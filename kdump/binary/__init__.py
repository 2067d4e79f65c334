"""Bytes: files in windows, primitive types, checksums, decompression."""
