"""Numbers for people."""

from __future__ import annotations


def size_text(size: int) -> str:
    """A number of bytes."""
    if size < 1024:
        return number_text(size, "byte")
    value = float(size)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1000 or unit == "TiB":
            break
    return f"{value:.2f} {unit}" if value < 10 else f"{value:.1f} {unit}" if value < 100 else f"{value:,.0f} {unit}"


def number_text(count: int, word: str, plural: str = "") -> str:
    """So many of these."""
    return f"{count:,} {word if count == 1 else plural or word + 's'}"
