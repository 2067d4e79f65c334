"""Tells messages of magic 0 and 1 that a search finds in the payload of a damaged wrapper from messages of the log."""

from __future__ import annotations

from kdump.binary.batch_header import (
    BATCH_HEADER_SIZE,
    HEADER_UP_TO_MAGIC,
    MAGIC_AT,
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_HEADER_SIZE,
    MESSAGE_TIMESTAMP_AT,
    batch_size,
    codec_id,
    is_wrapper,
)
from kdump.reading.plausible import is_header_but_for, may_be_header
from kdump.reading.trust import extent_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.reading.search import Search
    from kdump.reading.trust import Order

_LARGEST_PAYLOAD = 1 << 20
"""Bytes; Kafka's default limit for a wrapper. More messages one after the other than that are none of its contents."""

_MOST_PER_BYTE = 8
"""Messages of magic 1, of 34 bytes or more, in a byte of a payload: lz4 makes 255 bytes of one at most, snappy fewer."""

_MOST_SHIFTED = 3
"""Bytes that may have been lost or inserted in a header. Its lack of a key, four bytes of ones, still says what it was."""

_NO_KEY = b"\xff\xff\xff\xff"  # its size, -1
_MOST_RUNS = 64  # of messages in one payload


class WrapperContents:
    """The messages that lz4 and snappy leave as they are in a payload, checksum and all, where nothing repeats.

    Where the header of their wrapper is destroyed, a search finds them. They stand in a log of wrappers, are not compressed
    themselves, and either their offsets are out of line, as those are that count from 0 in each wrapper of magic 1, or nothing
    that continues a log comes after the last of them: no batch, no header, no zeros and no end. Offsets in order and near those
    of the sound batch are of the log, whatever comes after them; in magic 1, if they are too high to count messages in a payload
    that starts after that. In magic 0, contents have such offsets, too: they are the records that they say.
    """

    def __init__(self, search: Search, order: Order, start: int) -> None:
        """Prepare a walk from `start` on."""
        self._search = search
        self._order = order
        self.sound_batch: int | None = 0 if start else None
        """Where a batch before the damage is: the last one beyond doubt, or one of the last; None before the first."""
        self._looked_at: int | None = None
        self._is_after_wrapper = False  # whether the sound batch that was looked at is a wrapper
        self._is_before_wrapper: bool | None = None  # whether a wrapper follows the first damage

    def end_at(self, position: int, damaged: bytes) -> int:
        """Where the messages end that start at this position, which a search found, if they are contents; 0 if they are none.

        The damage that they may belong to starts with the header `damaged`.
        """
        header_bytes = self._search.source.read(position, BATCH_HEADER_SIZE)
        if not _is_plain(header_bytes) or not self._stands_among_wrappers(position, damaged):
            return 0
        end = self._end_of_run(position)
        if end == position or end - position > _LARGEST_PAYLOAD:
            return 0
        extent = extent_of(header_bytes)
        most = (position - self._sound_end()) * _MOST_PER_BYTE
        is_absolute = (header_bytes[MAGIC_AT] == 0 or extent[0] > most) and self._order.is_near(extent, most)
        return 0 if self._order.fits(extent) and (is_absolute or self._continues(end)) else end

    def _sound_end(self) -> int:
        """Where the sound batch before the damage ends; no wrapper whose payload is searched starts before that."""
        if self.sound_batch is None:
            return 0
        return self.sound_batch + batch_size(self._search.source.read(self.sound_batch, BATCH_HEADER_SIZE))

    def _end_of_run(self, position: int) -> int:
        """Where the intact messages without compression end that start here one after the other, if they are not too many."""
        read, end = self._search.source.read, position
        header_bytes = read(end, BATCH_HEADER_SIZE)
        while _is_plain(header_bytes) and end - position <= _LARGEST_PAYLOAD and self._is_intact(end, header_bytes):
            end += batch_size(header_bytes)
            header_bytes = read(end, BATCH_HEADER_SIZE)
        return end

    def _continues(self, position: int) -> bool:
        """Whether what stands here may come after a message of the log."""
        source = self._search.source
        header_bytes = source.read(position, BATCH_HEADER_SIZE)
        if len(header_bytes) < HEADER_UP_TO_MAGIC or not any(header_bytes):
            return True  # the end, a header that it cuts off, or zeros
        if self.sound_batch is not None and is_header_but_for(header_bytes, source.size - position):
            return True  # offsets are in order, which says nothing where no batch came before
        return self._is_intact(position, header_bytes)

    def _stands_among_wrappers(self, position: int, damaged: bytes) -> bool:
        """Whether the damaged batch or a sound one before it is a wrapper; if there is none, whether the first one after."""
        if _NO_KEY in damaged and any(is_wrapper(one) and _has_no_key(one) for one in _shifted(damaged)):
            return True
        if self.sound_batch is not None:
            if self._looked_at != self.sound_batch:
                self._looked_at = self.sound_batch
                self._is_after_wrapper = is_wrapper(self._search.source.read(self.sound_batch, BATCH_HEADER_SIZE))
            return self._is_after_wrapper
        if self._is_before_wrapper is None:
            self._is_before_wrapper = self._wrapper_follows(position)
        return self._is_before_wrapper

    def _wrapper_follows(self, position: int) -> bool:
        """Whether the next batch that is no message without compression is a wrapper, and is near."""
        source, at = self._search.source, position
        for _ in range(_MOST_RUNS):
            if at >= source.size:
                break
            header_bytes = source.read(at, BATCH_HEADER_SIZE)
            if not _is_plain(header_bytes):
                return is_wrapper(header_bytes)
            at = self._search.next_intact(max(at + 1, self._end_of_run(at)))
        return False

    def _is_intact(self, position: int, header_bytes: bytes) -> bool:
        return may_be_header(header_bytes, self._search.source.size - position) and self._search.is_intact(position, header_bytes)


def _shifted(header_bytes: bytes) -> Iterator[bytes]:
    """A header as it is, and as it would be with a few bytes more or less before its magic."""
    yield header_bytes
    for count in range(1, _MOST_SHIFTED + 1):
        yield header_bytes[count:]
        yield bytes(count) + header_bytes


def _has_no_key(header_bytes: bytes) -> bool:
    """Whether a message has no key, as every wrapper that was ever written."""
    key_at = MESSAGE_HEADER_SIZE if header_bytes[MAGIC_AT] else MESSAGE_TIMESTAMP_AT
    return header_bytes[key_at : key_at + len(_NO_KEY)] == _NO_KEY


def _is_plain(header_bytes: bytes) -> bool:
    """Whether this may be the header of a message of magic 0 or 1 without compression."""
    return len(header_bytes) > MESSAGE_ATTRIBUTES_AT and header_bytes[MAGIC_AT] < 2 and not codec_id(header_bytes)
