"""What is true about a damaged log: which offsets are there, and what a start leaves; shares no code with kdump."""

from __future__ import annotations

import functools
import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import crc32c

from campaigns.boring_damage import Damaged, Found, Piece, found_in
from campaigns.boring_logs import INDEX_INTERVAL, Batch, key_of

Range = tuple[int, int]
"""First and last of some offsets."""

HEADER_SIZE = 17  # up to the magic
MESSAGE_KEY_AT = 22
_KEY = key_of(0)[:4]
LARGEST_OFFSET_IN_SEGMENT = (1 << 31) - 1


class Truth:
    """A damaged partition, and what is known about it because it is known how it was made."""

    def __init__(self, damaged: Damaged) -> None:
        self.damaged = damaged
        self.data = {base: b"".join(piece.data for piece in pieces) for base, pieces in damaged.logs.items()}
        self.found = found_in(damaged)
        self.batches = [batch for segment in damaged.segments for batch in segment.batches]
        self.exact = {one.batch.first: one.batch for one in self.found if one.is_exact and not one.is_foreign}
        """The batches that are still there byte for byte, by their first offset."""
        self.changed = {
            one.batch.first: one.batch
            for one in self.found
            if not one.is_exact and not one.is_foreign and one.batch.first not in self.exact
        }
        """Those of which only bytes have changed that no checksum covers."""
        self.end_offset = damaged.segments[-1].end_offset
        self.inner = {place: data for base in self.data for place, data in self._inner_of(base)}
        """Messages of magic 0 that lie in destroyed wrappers, by log and position.

        snappy and lz4 leave messages as they are where nothing repeats, and the offsets inside of these wrappers are absolute.
        Where the header of a wrapper is destroyed, such a message is the record that it says, and may be listed and kept.
        """
        self.inner_offsets = joined(
            (offset, offset) for offset in {int.from_bytes(data[:8], "big") for data in self.inner.values()}
        )

    @functools.cached_property
    def gone(self) -> list[Range]:
        """The offsets of which nothing is left."""
        return joined(
            (one.first, one.last) for one in self.batches if one.first not in self.exact and one.first not in self.changed
        )

    @functools.cached_property
    def gone_or_changed(self) -> list[Range]:
        """The offsets of which nothing is left that is as it was and can be told from the payload of a damaged batch."""
        own = (one for one in self.found if one.is_exact and not one.is_foreign)
        told = {one.batch.first for one in own if (one.base, one.position) not in self.nested}
        return joined((one.first, one.last) for one in self.batches if one.first not in told)

    @functools.cached_property
    def passing_offsets(self) -> list[Range]:
        """Those of messages in wrappers, and of batches of another partition: in a gap, they pass for those that are gone."""
        foreign = [(one.batch.first, one.batch.last) for one in self.found if one.is_foreign and one.is_exact]
        return joined([*self.inner_offsets, *foreign])

    @functools.cached_property
    def last_kept(self) -> int:
        """The last offset that is still there; -1 if there is none."""
        return max((one.last for one in self.exact.values()), default=-1)

    def _inner_of(self, base: int) -> Iterator[tuple[tuple[int, int], bytes]]:
        data = self.data[base]
        exact = [(one.position, one.position + len(one.batch.data)) for one in self.found if one.base == base and one.is_exact]
        at = data.find(_KEY)
        while at >= 0:
            start = at - MESSAGE_KEY_AT
            row = bisect_right(exact, (start, len(data))) - 1
            if start >= 0 and not (row >= 0 and start < exact[row][1]) and data[start + 16 : start + 18] == b"\0\0":
                end = start + 12 + int.from_bytes(data[start + 8 : start + 12], "big")
                if zlib.crc32(data[start + 16 : end]) == int.from_bytes(data[start + 12 : start + 16], "big") and end <= len(
                    data
                ):
                    yield (base, start), data[start:end]
            at = data.find(_KEY, at + 1)

    @functools.cached_property
    def inside(self) -> set[int]:
        """First offsets of batches of which there is a copy in a damaged one."""
        return {one.batch.first for one in self.found if (one.base, one.position) in self.nested}

    @functools.cached_property
    def nested(self) -> set[tuple[int, int]]:
        """Log and position of batches inside of the bytes of a damaged one whose length leads to a header, or to the end.

        Nothing tells them from its payload.
        """
        nested: set[tuple[int, int]] = set()
        for base, pieces in self.damaged.logs.items():
            positions = [one.position for one in self.found if one.base == base]
            damaged = []
            at = 0
            for piece in pieces:
                for batch in _last_batches(piece):
                    start = at + batch.position - piece.origin
                    if batch.position + HEADER_SIZE <= piece.origin + len(piece.data):
                        damaged.append((start, start + len(batch.data)))
                at += len(piece.data)
            ends = {*positions, len(self.data[base]), *(start for start, _ in damaged)}
            for start, end in damaged:
                if end in ends:
                    low, high = bisect_right(positions, start), bisect_left(positions, end)
                    nested |= {(base, place) for place in positions[low:high]}
        return nested


def _last_batches(piece: Piece) -> list[Batch]:
    if piece.segment is None:
        return []
    end = piece.origin + len(piece.data)
    row = bisect_left(piece.segment.batches, end, key=lambda batch: batch.position) - 1
    batch = piece.segment.batches[row]
    return [batch] if row >= 0 and piece.origin <= batch.position and batch.end > end else []


def joined(ranges: Iterable[Range]) -> list[Range]:
    """Ranges in ascending order, without overlaps; adjacent ones become one."""
    result: list[Range] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        else:
            result.append((first, last))
    return result


def without(ranges: Iterable[Range], others: Iterable[Range]) -> list[Range]:
    left = joined(ranges)
    taken = joined(others)
    result: list[Range] = []
    row = 0
    for first, last in left:
        while row < len(taken) and taken[row][1] < first:
            row += 1
        at, look = first, row
        while look < len(taken) and taken[look][0] <= last:
            if taken[look][0] > at:
                result.append((at, taken[look][0] - 1))
            at = max(at, taken[look][1] + 1)
            look += 1
        if at <= last:
            result.append((at, last))
    return result


def count_of(ranges: Iterable[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


class Walked(NamedTuple):
    """A batch as a start reads it."""

    position: int
    end: int
    last_offset: int


@dataclass
class Start:
    """What a start after an unclean stop leaves: the size of each log, and the batches that are gone, also copies of others.

    `is_known` is false where this model says nothing: offsets that do not fit into their segment, or go back.
    """

    sizes: dict[int, int] = field(default_factory=dict)
    log_end: int = 0
    lost: list[Found] = field(default_factory=list)
    lost_offsets: list[Range] = field(default_factory=list)
    lost_records: int = 0
    unseen_records: int = 0
    """Of those lost, in batches that bytes before them have given a negative offset: no search finds them."""
    is_known: bool = True


def start(truth: Truth, recovery_point: int) -> Start:
    """A start that scans from the segment of this offset on, and cuts at the first batch that is not valid.

    Kafka: LogLoader.recoverLog, LogSegment.recover.
    """
    result = Start()
    bases = sorted(truth.data)
    scanned_from = max((base for base in bases if base <= recovery_point), default=bases[0])
    cut_in: int | None = None
    for base in bases:
        data = truth.data[base]
        if cut_in is not None:
            continue
        result.sizes[base] = len(data)
        if base < scanned_from:
            continue
        position, indexed, last_indexed = 0, 0, -1
        result.log_end = base
        for batch in walk(data):
            if not 0 <= batch.last_offset - base <= LARGEST_OFFSET_IN_SEGMENT:
                result.is_known = False
                return result
            if batch.position - indexed > INDEX_INTERVAL:
                if batch.last_offset <= last_indexed:
                    result.is_known = False
                    return result
                indexed, last_indexed = batch.position, batch.last_offset
            position = batch.end
            result.is_known &= batch.last_offset >= result.log_end
            result.log_end = batch.last_offset + 1
        result.sizes[base] = position
        if position < len(data):
            cut_in = base
    if truth.damaged.logs and not result.is_known:
        return result
    found = [one for one in truth.found if one.has_length and (one.base, one.position) not in truth.nested]
    left = [one for one in found if one.position < result.sizes.get(one.base, 0)]
    result.lost = [one for one in found if one.position >= result.sizes.get(one.base, 0)]
    result.lost_records = sum(one.batch.records for one in result.lost)
    result.unseen_records = sum(
        one.batch.records for one in result.lost if not one.is_exact and truth.data[one.base][one.position] >= 0x80
    )
    result.lost_offsets = without(
        ((one.batch.first, one.batch.last) for one in result.lost), ((one.batch.first, one.batch.last) for one in left)
    )
    return result


def walk(data: bytes) -> Iterator[Walked]:
    """The batches from the start of a log on, up to the first that is not valid. Kafka: FileLogInputStream, ensureValid."""
    position, size_of_log = 0, len(data)
    while position + 17 <= size_of_log:
        offset, length, _, magic = struct.unpack_from(">qiib", data, position)
        end = position + 12 + length
        if length < 14 or end > size_of_log:
            return
        if magic < 2:
            if length < (22 if magic == 1 else 14) or zlib.crc32(data[position + 16 : end]) != int.from_bytes(
                data[position + 12 : position + 16], "big"
            ):
                return
            last = offset
        else:
            if length < 49:
                return
            crc, _, delta = struct.unpack_from(">Ihi", data, position + 17)
            if crc32c.crc32c(data[position + 21 : end]) != crc:
                return
            last = offset + delta
        yield Walked(position, end, last)
        position = end
