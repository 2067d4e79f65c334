"""The losses of a start: intact batches that no log contains any more, and the end of the remaining data."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from kdump.binary.arithmetic import as_int64
from kdump.forecasts.batches import MAX_LOG_SIZE, LogReader
from kdump.forecasts.directory import File, has_offset, is_canonical, is_log, is_read_log, offset_of
from kdump.forecasts.exceptions import InvalidBatch
from kdump.forecasts.wrappers import Wrappers
from kdump.formats import file_name, tree
from kdump.reading.salvage import walk
from kdump.reading.walked_log import STRETCH, UNEXAMINED, UNOPENED, found_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kdump.forecasts.damage import WalkedLogs
    from kdump.forecasts.directory import Directory
    from kdump.reading.walked_log import Found

    Range = tuple[int, int]
    Intact = tuple[int, int, int, int, int]
    _Logs = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, str, int, int], ...]]

_ANY = (-(1 << 63), (1 << 63) - 1)
_MAX_RANGES = 1000  # of offsets in what is lost, with the narrowest gaps closed
_MAX_LEFT = 8000  # of them without the offsets that other batches have
_MAX_COVERED = 4096  # ranges of such offsets that are taken from them at once
_MAX_GAINED = 1 << 20
_MAX_KEPT = 1 << 18  # batches that are kept for the next start
_FIELDS = 5  # of each


class Losses(NamedTuple):
    """The records in lost intact batches, and the offsets of these that no other batch covers.

    `may_be_more` if the search for them was cut short: too many bytes look like headers of batches and are none.
    """

    records: int = 0
    offsets: Sequence[Range] = ()
    may_be_more: bool = False


class DataEnd(NamedTuple):
    """The offset after the last intact batch of the newest segment, or its base offset; None if there is no segment.

    `may_be_later` if the search for the last batch was cut short.
    """

    offset: int | None
    may_be_later: bool = False


class IntactBatches:
    """The intact batches in byte ranges of the logs of one directory, by what was found when these were walked.

    Each range is searched once for all starts.
    """

    def __init__(self, walked: WalkedLogs) -> None:
        self._walked = walked
        self._known: dict[tuple[str, int, int], tuple[array[int], bool]] = {}
        self._room = _MAX_KEPT * _FIELDS
        self.wrappers = Wrappers()
        self.lost: dict[_Logs, Losses] = {}
        """What is lost between two states of the logs, by these."""

    def within(self, directory: Directory, file: File, cut_short: list[File]) -> Iterator[Intact]:
        """First and last offset, records, size and CRC of each batch with a correct CRC, including batches after damage.

        If the search for them is cut short, the file is added to `cut_short`.
        """
        key = file.path, file.start, file.size
        if key in self._known:
            numbers, is_cut_short = self._known[key]
            fields = iter(numbers)
            yield from zip(fields, fields, fields, fields, fields, strict=True)
        else:
            is_cut_short, kept = False, array("q")
            end = file.start + min(file.size, MAX_LOG_SIZE)
            log = LogReader(directory, File(file.path, end))
            found = self._walked.found(file.path, file.start, end)
            for batch in _opened(log, _found_in(log, file.start) if found is None else found, file.start, self.wrappers):
                if batch is None:
                    is_cut_short = True
                    continue
                if len(kept) <= self._room:
                    kept.extend(batch)
                yield batch
            if len(kept) <= self._room:
                self._room -= len(kept)
                self._known[key] = kept, is_cut_short
        if is_cut_short:
            cut_short.append(file)

    def extent_of(self, file: File) -> Range:
        """The lowest and the highest offset that batches in a file may have: any, where nothing is known of some of them."""
        found = self._walked.found(file.path, file.start, file.start + min(file.size, MAX_LOG_SIZE))
        lowest, highest = _ANY
        if found is not None:
            batches = list(found)
            if all(one.records != UNOPENED for one in batches):
                lowest = min((one.first_offset for one in batches), default=highest)
                highest = max((one.last_offset for one in batches), default=lowest - 1)
        return lowest, highest


class ReadLogs:
    """The logs that a broker reads, by the offsets that batches in them may have, whatever their names say."""

    def __init__(self, directory: Directory, intact: IntactBatches) -> None:
        read = (file for name, file in directory.files.items() if is_read_log(name) and file.path)
        extents = sorted(((*intact.extent_of(file), file) for file in read), key=itemgetter(0))
        self._files = [file for _, _, file in extents]
        self._lowest, self._highest = [lowest for lowest, _, _ in extents], [highest for _, highest, _ in extents]
        self._highest_so_far = list(accumulate(self._highest, max))

    def with_offsets(self, first: int, last: int) -> Iterator[File]:
        """Those that may have some of these offsets."""
        for row in reversed(range(bisect_right(self._lowest, last))):
            if self._highest_so_far[row] < first:
                return
            if self._highest[row] >= first:
                yield self._files[row]


def of(directory: Directory, intact: IntactBatches) -> Losses:
    """The losses between the directory as it was listed and as it is now.

    Reads only removed bytes, the bytes that replace them, and the headers of logs that may contain the same offsets.
    No broker reads a log whose name does not have twenty digits: what other logs also contain is not lost with it.
    Starts that leave the same logs lose the same.
    """
    odd, gone = _gone(directory)
    if not odd and not gone:
        return Losses()
    logs = _logs(directory)
    if logs not in intact.lost:
        intact.lost[logs] = _lost(directory, intact, odd, gone)
    return intact.lost[logs]


def _logs(directory: Directory) -> _Logs:
    """The logs before and now: the names and sizes, and what bytes they have now."""
    before = sorted((name, size) for name, size in directory.before.items() if is_log(name))
    now = sorted((name, file.path, file.start, file.size) for name, file in directory.files.items() if is_log(name))
    return tuple(before), tuple(now)


def _lost(directory: Directory, intact: IntactBatches, odd: list[File], gone: list[File]) -> Losses:
    records = 0
    cut_short: list[File] = []
    came: dict[tuple[int, ...], int] = {}
    if gone:
        for file in _came(directory):
            for batch in intact.within(directory, file, []):
                if len(came) < _MAX_GAINED:
                    came[_identity(batch)] = came.get(_identity(batch), 0) + 1
    ranges: list[Range] = []
    for file in gone:
        for batch in intact.within(directory, file, cut_short):
            if came.get(_identity(batch), 0):
                came[_identity(batch)] -= 1
            else:
                records += batch[2]
                _add(ranges, batch[:2])
    read = ReadLogs(directory, intact)
    lost = _not_covered(directory, _merged(ranges), intact, read)
    for file in odd:
        held: list[Range] = []
        for batch in intact.within(directory, file, cut_short):
            _add(held, batch[:2])
        left = _not_covered(directory, _merged(held), intact, read)
        for batch in intact.within(directory, file, []) if left else ():
            row = bisect_left(left, batch[0], key=itemgetter(1))  # of the first range that does not end before the batch
            if row < len(left) and left[row][0] <= batch[1]:
                records += batch[2]
        lost += left
    return Losses(records, _merged(lost), bool(cut_short))


def data_end(directory: Directory, intact: IntactBatches, read_from: int = 0) -> DataEnd:
    """Where the data of the newest segment ends.

    Headers are read from the position where the broker starts; the whole segment is read only if they do not lead to an
    intact batch at the end of the log.
    """
    logs = [(number, name) for name in directory.files if (number := _number(name)) is not None]
    if not logs:
        return DataEnd(None)
    base_offset, newest = max(logs)
    file = directory.files[newest]
    try:
        last = LogReader(directory, file).last_batch(read_from)
    except InvalidBatch:
        last = None
    if last is not None and last.position + last.size == file.size:
        bytes_of_last = File(file.path, last.size, file.start + last.position)
        found = [batch for batch in intact.within(directory, bytes_of_last, []) if batch[3] == last.size]
        if found:
            return DataEnd(as_int64(found[0][1] + 1))
    end = base_offset
    cut_short: list[File] = []
    for batch in intact.within(directory, file, cut_short):
        end = as_int64(batch[1] + 1)
    return DataEnd(end, may_be_later=bool(cut_short))


def _number(name: str) -> int | None:
    """The number in the name of a log, even if it is too large for a broker; None if there is none."""
    if not name.endswith(file_name.LOG):
        return None
    return int(file_name.stem(name)) if is_canonical(name) else offset_of(name) if has_offset(name) else None


def _gone(directory: Directory) -> tuple[list[File], list[File]]:
    """The byte ranges that no log with a twenty-digit name contains any more: of logs with other names, and of all others."""
    odd: list[File] = []
    gone: list[File] = []
    kept: dict[str, list[File]] = {}
    for file in _kept(directory):
        kept.setdefault(file.path, []).append(file)
    for name in sorted(directory.before):
        if not is_log(name):
            continue
        path, end = directory.path_of(name), 0
        pieces = gone if is_canonical(name) else odd
        for file in sorted(kept.get(path, ()), key=lambda file: file.start):
            if file.start > end:
                pieces.append(File(path, file.start - end, end))
            end = max(end, file.start + file.size)
        if end < directory.before[name]:
            pieces.append(File(path, directory.before[name] - end, end))
    return odd, gone


def _came(directory: Directory) -> list[File]:
    """The byte ranges that logs contain now but did not contain before."""
    before = {directory.path_of(name) for name in directory.before if is_log(name)}
    return [file for file in _kept(directory) if file.path not in before]


def _kept(directory: Directory) -> list[File]:
    return [file for name, file in directory.files.items() if is_read_log(name) and file.path]


def _opened(log: LogReader, items: Iterable[Found], start: int, wrappers: Wrappers) -> Iterator[Intact | None]:
    """The batches in what was found from `start` on; None where the search for them was cut short."""
    before: int | None = None  # the last offset of the batch before
    end = 0  # where that ends
    for found in _each_batch(log, items, start):
        if found.records == UNEXAMINED:
            yield None
            continue
        first, count = found.first_offset, found.records
        if count == UNOPENED:
            beside = before if found.position == end else None
            first, count = wrappers.contents(log.read, found.position, found.size, found.last_offset, beside)
        before, end = found.last_offset, found.position + found.size
        yield first, before, count, found.size, found.crc


def _each_batch(log: LogReader, items: Iterable[Found], start: int) -> Iterator[Found]:
    """The same with the batches of sound stretches, which are read again."""
    for found in items:
        end = found.position + found.size
        if found.records == STRETCH:
            part = LogReader(log.directory, File(log.path, min(end, log.size)))
            yield from _found_in(part, max(found.position, start))
        elif found.records == UNEXAMINED or found.position >= start and end <= log.size:
            yield found


def _found_in(log: LogReader, start: int) -> Iterator[Found]:
    """Each batch from this position on, whose length and CRC are right, also past damage, and where the search was cut short."""
    base_offset = tree.base_offset_of(os.path.basename(log.path))
    for item in walk(log, start, base_offset=base_offset):  # type: ignore[arg-type]  # needs only path, size and read of a source
        yield from found_in(item, is_each=True)


def _identity(batch: Intact) -> tuple[int, ...]:
    """What copies of a batch have in common: its last offset, size and CRC."""
    return batch[1], *batch[3:]


# --- ranges of offsets


def _add(ranges: list[Range], new: Range) -> None:
    """Add a range to the earlier ones, which are mostly in ascending order."""
    if ranges and ranges[-1][0] <= new[0] <= ranges[-1][1] + 1:
        ranges[-1] = (ranges[-1][0], max(ranges[-1][1], new[1]))
    else:
        ranges.append(new)
        if len(ranges) > 2 * _MAX_RANGES:
            ranges[:] = _fewer(_merged(ranges), _MAX_RANGES)


def _fewer(ranges: list[Range], most: int) -> list[Range]:
    """The same with the narrowest gaps closed, if these are too many."""
    gaps = sorted(range(1, len(ranges)), key=lambda row: ranges[row][0] - ranges[row - 1][1])
    closed = set(gaps[: max(0, len(ranges) - most)])
    fewer: list[Range] = []
    for row, (first, last) in enumerate(ranges):
        if row in closed:
            fewer[-1] = fewer[-1][0], last
        else:
            fewer.append((first, last))
    return fewer


def _merged(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        elif last >= first:
            merged.append((first, last))
    return merged


def _not_covered(directory: Directory, ranges: list[Range], intact: IntactBatches, read: ReadLogs) -> list[Range]:
    """The ranges without the offsets of intact batches in the logs that a broker reads."""
    for file in read.with_offsets(ranges[0][0], ranges[-1][1]) if ranges else ():
        if not ranges:
            break
        covered: list[Range] = []
        for batch in intact.within(directory, file, []):
            if batch[1] >= ranges[0][0] and batch[0] <= ranges[-1][1]:
                covered.append(batch[:2])
                if len(covered) == _MAX_COVERED:
                    ranges = _less(ranges, _merged(covered))
                    covered.clear()
                    if not ranges:
                        break
        ranges = _less(ranges, _merged(covered))
    return ranges


def _less(ranges: list[Range], covered: list[Range]) -> list[Range]:
    """The ranges without those that are covered; both ascend without overlaps. If too many are left, the narrowest gaps close."""
    left: list[Range] = []
    row = 0
    for first, last in ranges:
        while row < len(covered) and covered[row][1] < first:
            row += 1
        while row < len(covered) and covered[row][0] <= last:
            if first < covered[row][0]:
                left.append((first, covered[row][0] - 1))
            first = covered[row][1] + 1
            if first > last:
                break  # the next range may begin in it
            row += 1
        if first <= last:
            left.append((first, last))
    return _fewer(left, _MAX_LEFT) if len(left) > 2 * _MAX_LEFT else left
