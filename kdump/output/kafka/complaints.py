"""The mismatches for the reports at the end of a run: pairs of numbers, packed, and in a temporary file when they are many."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from operator import gt, lt

from kdump.errors import KdumpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

_BLOCK_PAIRS = 1 << 15  # pairs that are written together
_SAMPLE_STEP = 1 << 8  # of a sorted block, each such number is remembered
_PART_SAMPLES = 1 << 8  # which makes a part to be sorted at once of 64 Ki pairs or little more
_MAX_HELD = 8 << 20  # bytes in memory, before the file
_PAIR_SIZE = 16


class Complaints:
    """All pairs of a run by the kind of the report and the path of the file."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str], Pairs] = {}
        self._paths: dict[str, list[str]] = {}
        self._spool = _Spool()

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def close(self) -> None:
        """Give up what is held on disk."""
        self._spool.close()

    def add(self, kind: str, path: str, firsts: Sequence[int], seconds: Sequence[int]) -> None:
        """Record at least one pair."""
        paths = self._paths.setdefault(kind, [])
        for _ in range(min(len(firsts), 2)):
            if paths[-2:] != [path, path]:
                paths.append(path)
        pairs = self._pairs.get((kind, path))
        if pairs is None:
            pairs = self._pairs[kind, path] = Pairs(self._spool)
        pairs.extend(firsts, seconds)

    def paths(self, kind: str) -> list[str]:
        """The paths of a kind in order of discovery, each at most twice in a row.

        A second call for the same path may make Java's map grow; no map notices a third.
        """
        return self._paths.get(kind, [])

    def pairs(self, kind: str, path: str) -> Pairs:
        return self._pairs[kind, path]


class Pairs:
    """Pairs of 64-bit numbers in order of discovery; little of them is in memory, however many they are."""

    def __init__(self, spool: _Spool) -> None:
        self._spool = spool
        self._written: list[int] = []  # where full blocks are in the spool
        self._last = array("q")  # the block that is being filled
        self._latest: int | None = None
        self._is_ascending = self._is_descending = True

    def extend(self, firsts: Sequence[int], seconds: Sequence[int]) -> None:
        """Add pairs after the others: at least one, of a first and a second number."""
        following = firsts[1:] if self._latest is None else firsts
        before = firsts if self._latest is None else [self._latest, *firsts]
        self._is_ascending = self._is_ascending and all(map(gt, following, before))
        self._is_descending = self._is_descending and all(map(lt, following, before))
        self._latest = firsts[-1]
        start = 0
        while start < len(firsts):
            stop = start + _BLOCK_PAIRS - len(self._last) // 2
            numbers = array("q", firsts[start:stop])
            pairs = array("q", bytes(_PAIR_SIZE * len(numbers)))
            pairs[0::2], pairs[1::2] = numbers, array("q", seconds[start:stop])
            self._last.extend(pairs)
            if len(self._last) == 2 * _BLOCK_PAIRS:
                self._written.append(self._spool.write(self._last))
                self._last = array("q")
            start = stop

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for block in self._blocks(range(len(self._written) + 1)):
            yield from zip(block[0::2], block[1::2], strict=True)

    def __reversed__(self) -> Iterator[tuple[int, int]]:
        for block in self._blocks(range(len(self._written), -1, -1)):
            yield from zip(block[-2::-2], block[::-2], strict=True)

    def by_first(self, *, descending: bool) -> Iterator[tuple[int, int]]:
        """The last pair of each first number, in the order of these numbers."""
        if self._is_ascending or self._is_descending:
            return reversed(self) if self._is_ascending == descending else iter(self)
        if not self._written:
            latest = dict(zip(self._last[0::2], self._last[1::2], strict=True))
            return iter(sorted(latest.items(), reverse=descending))
        return self._sorted(descending=descending)

    def _blocks(self, numbers: range) -> Iterator[array[int]]:
        for number in numbers:
            yield self._last if number == len(self._written) else self._spool.read(self._written[number], _BLOCK_PAIRS)

    def _sorted(self, *, descending: bool) -> Iterator[tuple[int, int]]:
        """Sort each block, then part after part of all of them: in a part are the pairs between two numbers."""
        blocks: list[tuple[int, int]] = []  # where sorted blocks are in the spool, and how many pairs they hold
        samples: list[int] = []
        for block in self._blocks(range(len(self._written) + 1)):
            by_first = dict(zip(block[0::2], block[1::2], strict=True))
            firsts = array("q", sorted(by_first))
            samples += firsts[::_SAMPLE_STEP]
            seconds = array("q", map(by_first.__getitem__, firsts))
            blocks.append((self._spool.write(firsts + seconds), len(firsts)))
        samples.sort()
        bounds = samples[_PART_SAMPLES::_PART_SAMPLES]
        cuts: list[list[int]] = []  # by block, where the parts begin
        for position, count in blocks:
            firsts = self._spool.read(position, count)[:count]
            cuts.append([0, *(bisect_left(firsts, bound) for bound in bounds), count])
        parts = range(len(bounds), -1, -1) if descending else range(len(bounds) + 1)
        for part in parts:
            latest: dict[int, int] = {}
            for (position, count), cut in zip(blocks, cuts, strict=True):
                start, end = cut[part], cut[part + 1]
                if start < end:
                    firsts = self._spool.read_numbers(position + 8 * start, end - start)
                    seconds = self._spool.read_numbers(position + 8 * (count + start), end - start)
                    latest.update(zip(firsts, seconds, strict=True))
            yield from sorted(latest.items(), reverse=descending)


class _Spool:
    """Blocks of numbers, in memory while they are few, and then in a temporary file."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._size = 0

    def write(self, numbers: array[int]) -> int:
        """Keep these numbers; where they are."""
        if self._file is None:
            from tempfile import SpooledTemporaryFile  # few runs need it

            self._file = SpooledTemporaryFile(_MAX_HELD)  # noqa: SIM115  # it lives as long as the run
        position = self._size
        try:
            self._file.seek(position)
            self._file.write(numbers)
        except OSError as error:
            message = f"the mismatches for the report at the end do not fit into a temporary file: {error.strerror or error}"
            raise KdumpError(message, remedy="TMPDIR names another place") from error
        self._size += 8 * len(numbers)
        return position

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, position: int, pairs: int) -> array[int]:
        """So many pairs that were written there."""
        return self.read_numbers(position, 2 * pairs)

    def read_numbers(self, position: int, count: int) -> array[int]:
        """So many numbers that were written there."""
        assert self._file is not None
        self._file.seek(position)
        return array("q", self._file.read(8 * count))
