"""The words of readers, as findings repeat them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.errors import CorruptData


def words_of(fault: CorruptData) -> str:
    """The message of a reader's fault, with thousands separators."""
    import re  # slow to load, and most logs are sound

    return re.sub(r"\d{4,}", lambda number: f"{int(number[0]):,}", fault.message.rstrip(": "))
