"""Tells whether a new log has what may have been in damaged bytes of the logs that it was made from."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from itertools import accumulate
from operator import attrgetter

from kdump.formats import tree
from kdump.mending.recover import resolving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.mending.recover.damaged_partition import DamagedPartition
    from kdump.mending.recover.pieces import Headers, LeftOut, Log, Piece

    Offsets = tuple[int, int]
    """From an offset up to another one, which is not among them."""


class Filling:
    """One new log, the `chain`, and where the bytes that were left out lay between `pieces` of the logs of its directories."""

    def __init__(
        self, chain: Sequence[Piece], headers: Headers, parts: Sequence[DamagedPartition], pieces: Sequence[Piece]
    ) -> None:
        self._chain = chain
        self._parts = parts
        self._sizes = _SizesByOffset(chain, headers)
        self._logs = {log.path: log for part in parts for log in part.logs}
        self._bases: dict[str, list[int]] = {}  # of the logs of a folder
        for part in parts:
            for log in part.logs:
                if log.base_offset is not None:
                    self._bases.setdefault(os.path.dirname(log.path), []).append(log.base_offset)
        for bases in self._bases.values():
            bases.sort()
        self._sure: dict[str, list[Piece]] = {}
        for piece in pieces:
            if piece.is_sure:
                self._sure.setdefault(piece.log.path, []).append(piece)
        self._gap_starts: list[int] = []
        self._gap_ends: list[int] = []
        for before, after in resolving.gaps(chain):
            self._gap_starts.append(before.last + 1)
            self._gap_ends.append(after.first)
        self._bytes_at_end: dict[tuple[int, int], int] = {}  # of the new log from an offset on, by rank of the replica and offset

    def has_all(self, start: int, end: int) -> bool:
        """Whether no offset is missing from `start` to before `end`."""
        if not self._chain:
            return False
        if start < end and not self._chain[0].first <= start < end <= self._chain[-1].last + 1:
            return False
        row = bisect_right(self._gap_ends, start)
        return row == len(self._gap_ends) or self._gap_starts[row] >= end

    def offsets_of(self, left: LeftOut) -> Offsets | None:
        """The offsets that may have been there: those between the batches beyond doubt before and after it in its log.

        At the end of the newest log, they are those up to the end of the new one. None if nothing says where they start.
        """
        log = self._logs.get(left.path)
        if log is None:
            return self._of_segment(left.path) if left.code == "segment-missing" else None
        return self._between(log, *self._around(left))

    def _between(self, log: Log, before: Piece | None, after: Piece | None) -> Offsets | None:
        """The offsets between two batches of a log, or its ends."""
        start = log.base_offset if before is None else before.last + 1
        end = log.next_base_offset if after is None else after.first
        if start is not None and end is None and self._chain:
            end = self._next_base(os.path.dirname(log.path), start)
        return None if start is None or end is None else (start, end)

    def holds(self, left: LeftOut) -> bool:
        """Whether the new log holds all batches that may have been there.

        It does if it has all offsets, or as many bytes as lie between two batches beyond doubt: replicas have the same bytes.
        At the end of the newest log it needs the bytes in any case: with fewer, that log had more batches.
        """
        log = self._logs.get(left.path)
        before, after = self._around(left)
        offsets = self.offsets_of(left) if log is None else self._between(log, before, after)
        if offsets is None or not self._chain:
            return False
        start, end = offsets
        if log is None:
            return start < end and self.has_all(start, end)
        begin = 0 if before is None else before.end
        if after is not None:
            return self.has_all(start, end) or start < end and self._sizes.between(start, end) >= after.start - begin
        has_all = self.has_all(start, end)
        if log.next_base_offset is not None or end <= self._chain[-1].last:
            return has_all or start < end and self._sizes.between(start, end) >= log.size - begin
        is_inside = left.last is None or left.last < end
        return is_inside and start < end and self._has_bytes(start, log, left.start if has_all else begin)

    def _around(self, left: LeftOut) -> tuple[Piece | None, Piece | None]:
        """The pieces beyond doubt before and after bytes of a log."""
        sure = self._sure.get(left.path, [])
        before = bisect_right(sure, left.start, key=attrgetter("end"))
        after = bisect_left(sure, left.end, key=attrgetter("start"))
        return sure[before - 1] if before else None, sure[after] if after < len(sure) else None

    def _of_segment(self, index: str) -> Offsets | None:
        """The offsets of a segment of which only an index is left."""
        folder, base = os.path.dirname(index), tree.base_offset_of(os.path.basename(index))
        return None if base is None or not self._chain else (base, self._next_base(folder, base))

    def _next_base(self, folder: str, offset: int) -> int:
        """The base offset of the first log above an offset; the end of the new log if there is none."""
        bases = self._bases.get(folder, [])
        row = bisect_right(bases, offset)
        return bases[row] if row < len(bases) else self._chain[-1].last + 1

    def _has_bytes(self, start: int, log: Log, position: int) -> bool:
        """Whether the new log has as many bytes from an offset on as a log has from a position on, but for zeros."""
        if (log.rank, start) not in self._bytes_at_end:
            zeros = [one for one in self._parts[log.rank].left_out if one.path == log.path and one.code == "zero-tail"]
            size = self._sizes.between(start, self._chain[-1].last + 1) + sum(one.end - one.start for one in zeros)
            self._bytes_at_end[log.rank, start] = size
        return self._bytes_at_end[log.rank, start] >= log.size - position


class _SizesByOffset:
    """How many bytes the batches of a log between two offsets have."""

    def __init__(self, chain: Sequence[Piece], headers: Headers) -> None:
        self._chain = chain
        self._last_offsets = [piece.last for piece in chain]
        self._sizes = list(accumulate((piece.size for piece in chain), initial=0))  # of the pieces before each
        self._starts, self._ends = _Batches(headers), _Batches(headers)

    def between(self, start: int, end: int) -> int:
        """The bytes of the batches that start at one of the offsets from `start` to before `end`."""
        return self._up_to(end, self._ends) - self._up_to(start, self._starts)

    def _up_to(self, offset: int, batches: _Batches) -> int:
        """The bytes of all batches that start below an offset."""
        row = bisect_left(self._last_offsets, offset)
        if row == len(self._chain):
            return self._sizes[-1]
        piece = self._chain[row]
        return self._sizes[row] + (batches.size_up_to(piece, offset) if piece.first < offset else 0)


class _Batches:
    """Walks over the batches of one piece. Asked for ascending offsets, it reads their headers once."""

    def __init__(self, headers: Headers) -> None:
        self._headers = headers
        self._piece: Piece | None = None
        self._last_asked = 0
        self._following: Iterator[tuple[int, int]] = iter(())  # first offset of each, and the bytes up to its end
        self._next: tuple[int, int] | None = None
        self._bytes = 0  # of those before that

    def size_up_to(self, piece: Piece, offset: int) -> int:
        """The bytes of its batches that start below an offset."""
        if piece.batches == 1:
            return piece.size
        if piece is not self._piece or offset < self._last_asked:
            self._piece, self._bytes = piece, 0
            self._following = ((extent[0], end - piece.start) for _, end, extent, _, _ in self._headers.of(piece))
            self._next = next(self._following, None)
        self._last_asked = offset
        while self._next is not None and self._next[0] < offset:
            self._bytes = self._next[1]
            self._next = next(self._following, None)
        return self._bytes
