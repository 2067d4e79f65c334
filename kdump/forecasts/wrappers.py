"""What is inside of wrappers, compressed messages of magic 0 and 1: their headers say neither a first offset nor a count."""

from __future__ import annotations

from kdump.binary.batch_header import LOG_OVERHEAD
from kdump.errors import CorruptData, MissingPackage
from kdump.formats import message_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_BYTES = 512 << 20  # that all payloads may have, decompressed
_KEPT_BYTES = 128 << 20  # of these, for wrappers that follow damage
_MAX_WRAPPER_BYTES = 16 << 20
_LIMITS = message_set.Limits(64 << 20, 1 << 20)
_LEAST_SPENT = 8 << 10  # bytes: opening a small one takes as long as decompressing so many


class Wrappers:
    """Opens wrappers, up to a number of bytes in all.

    What is not opened, or cannot be, is taken to have all offsets after the batch before it, as wrappers have in a log that was
    not compacted.
    """

    def __init__(self) -> None:
        self._left = _MAX_BYTES

    def contents(
        self, read: Callable[[int, int], bytes], position: int, size: int, offset: int, before: int | None
    ) -> tuple[int, int]:
        """The first offset in a wrapper, and how many messages it has.

        It stands at this position of what `read` reads, and has this offset. `before` is the last offset of an intact batch
        directly before it, None if there is none.
        """
        floor = None if before is None or before >= offset else before + 1
        first: int | None = None
        count = 0
        if size <= _MAX_WRAPPER_BYTES and self._left > (0 if floor is None else _KEPT_BYTES):
            try:
                unwrapped = message_set.unwrap(message_set.Message(offset, read(position, size)[LOG_OVERHEAD:]), _LIMITS)
                self._left -= max(unwrapped.size, _LEAST_SPENT)
                first, count = unwrapped.lowest_offset(), unwrapped.count
            except CorruptData as fault:
                self._left -= _LIMITS.max_payload if fault.code.endswith("decompression-limit") else max(size, _LEAST_SPENT)
            except MissingPackage:
                pass
        if first is None:
            first = offset if floor is None else floor
        first = first if floor is None else max(first, floor)
        return first, count or offset - first + 1
