"""Sizes for people."""

from __future__ import annotations

from kdump.checks.wording import counted


def size_text(size: int) -> str:
    """A number of bytes."""
    if size < 1024:
        return counted(size, "byte")
    value = float(size)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1000 or unit == "TiB":
            break
    return f"{value:.2f} {unit}" if value < 10 else f"{value:.1f} {unit}" if value < 100 else f"{value:,.0f} {unit}"
