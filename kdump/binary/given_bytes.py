"""Bytes as people write them on a command line: as text, or in hexadecimal."""

from __future__ import annotations

from kdump.errors import UsageError


def given_bytes(text: str, *, is_hex: bool) -> bytes:
    """The bytes that a word stands for. Raises UsageError for hexadecimal that is none."""
    return of_hexadecimal(text) if is_hex else of_text(text)


def of_text(text: str) -> bytes:
    """Text as UTF-8; bytes of a command line that are not UTF-8 as they are."""
    return text.encode("utf-8", "surrogateescape")


def of_hexadecimal(text: str) -> bytes:
    """Bytes written in hexadecimal, with or without spaces and a leading 0x. Raises UsageError."""
    digits = text.strip()
    try:
        return bytes.fromhex(digits[2:] if digits[:2] in ("0x", "0X") else digits)
    except ValueError as error:
        raise UsageError(f"'{text}' is not hexadecimal: two digits (0-9, a-f) for each byte, such as 00ff12") from error
