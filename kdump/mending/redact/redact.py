"""`kdump.redact`: a copy of a partition without the contents of its records, with everything else, damage included."""

from __future__ import annotations

import os
import re
import secrets
from array import array
from bisect import bisect_right
from collections import Counter
from contextlib import contextmanager
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from kdump.binary import system
from kdump.binary.source import WINDOW_SIZE, Source
from kdump.checks.catalogue import FAULTS
from kdump.checks.finding import Finding
from kdump.checks.jobs import Job
from kdump.checks.settings import DEEP, Settings, current_time
from kdump.errors import CorruptData, Unreadable, UsageError
from kdump.forecasts import places
from kdump.formats import entries, file_name, foreign, offset_index, partition_metadata, quorum_state, time_index, tree
from kdump.formats.ranges import Range
from kdump.formats.record import bytes_of
from kdump.mending.inputs import Inputs
from kdump.mending.new.new_directory import NewDirectory
from kdump.mending.progress import Progress
from kdump.mending.redact.contents import PARTS, Contents
from kdump.mending.redact.redacting import Redacting, without_contents
from kdump.mending.row import CLONED, INPUT, OUTPUT, REDACTED, REMAPPED, RedactDifference, RedactedFile
from kdump.mending.slice import slice
from kdump.mending.slice.slicing import Wanted
from kdump.reading import salvage
from kdump.reading.items import ZERO, Damage
from kdump.verdicts import check
from kdump.workers.unfinished import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from kdump.mending.new.new_directory import NewFile
    from kdump.reading.items import Section
    from kdump.tables import Row

    Findings = Counter[tuple[str, str, int | None]]

_STATES = (file_name.DELETED, file_name.CLEANED, file_name.SWAP)
_COMPANIONS = (file_name.TIME_INDEX, file_name.TRANSACTION_INDEX, file_name.PRODUCER_SNAPSHOT)
_LOGS = (file_name.LOG, file_name.CHECKPOINT)
_TEXTS = (tree.LEADER_EPOCHS, tree.PARTITION_METADATA, tree.QUORUM_STATE)
_READERS = {
    tree.PARTITION_METADATA: (partition_metadata.read, partition_metadata.MAX_SIZE),
    tree.QUORUM_STATE: (quorum_state.read, quorum_state.MAX_SIZE),
}
_ANYTHING = re.compile(rb".+", re.DOTALL)
_READABLE = re.compile(rb"[ -~]{6,}")  # no entry of a sound companion has so many in a row
_UNKNOWN_WORD = re.compile(rb"(?!version\b|topic_id\b)[^\s:\d-]{4,}")
_WORDS_OF_METADATA = re.compile(rb"version:\s+\S+\s+topic_id:\s+\S+\s*")
_AROUND = 16  # bytes around a window; at least what the shortest match lacks there, and the longest word that is known
_HIGHEST_POSITION = 0x7FFFFFFF
_MOST_TIMES = 1 << 17
_OF_CONTENTS = ("header-bytes-odd", "metadata-record-undecodable")  # headers become text, and no value stays one of metadata
_OF_MACHINE = ("io-error", "permission-denied", "file-shrank", "file-vanished", "check-crashed")
"""Findings that say nothing of the contents of files."""
_TOO_LARGE = "decompression-limit"  # what a record or a payload says of itself: such a batch is filled up


class Result:
    """What was made: a row for each file, and how the findings of a check differ."""

    def __init__(self) -> None:
        self.files: list[RedactedFile] = []
        self.differences: list[RedactDifference] = []
        self.findings = 0


def redact(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    parts: Collection[str] = PARTS,
    keep_fields: Iterable[str] = (),
    seed: str | None = None,
    from_offset: int | None = None,
    to_offset: int | None = None,
    from_time: int | None = None,
    to_time: int | None = None,
) -> list[RedactedFile | RedactDifference]:
    """Make a copy of a partition directory whose records have other contents: letters and digits of the same length.

    `parts` are words of `values`, `keys` and `headers`. Equal contents become equal ones. By what they are replaced depends on
    `seed`, or on chance. `keep_fields` are paths in JSON values, such as `order.id`, that stay readable. `output` is as
    `kdump.reindex` says. A batch that is damaged inside becomes its header and filler. Returns a row for each file, and one for
    each finding of a check that the copy has not, or that only the copy has.

    With ranges, the copy is of what `kdump.slice` makes of them: of offsets, with their damage; of times (milliseconds since
    1970), without any. The slice lies where temporary files go, for its owner alone, and is removed.

    Raises CorruptData for a batch that is too large to read, and for damage in a range of times; Unreadable if a file cannot be
    read or changes meanwhile; UsageError for an output that cannot be made, and unknown words; OSError if the output cannot be
    written.
    """
    wanted = Range(from_offset, to_offset, from_time, to_time)
    result = run(os.fspath(path), os.fspath(output), wanted, parts=parts, keep_fields=keep_fields, seed=seed)
    return [*result.files, *result.differences]


def run(
    path: str,
    output: str,
    wanted: Range,
    *,
    parts: Collection[str] = PARTS,
    keep_fields: Iterable[str] = (),
    seed: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """As `redact`, of what is `wanted`, with the progress reported."""
    for word in parts:
        if word not in PARTS:
            raise UsageError(f"records have no {word!r}", remedy=f"there are {', '.join(PARTS)}")
    fields = [tuple(field.split(".")) for field in keep_fields]
    contents = Contents(secrets.token_bytes() if seed is None else seed.encode("utf-8", "surrogateescape"), parts, fields)
    system.entries(path)  # says why it cannot be listed
    if places.kind_of(path) != places.PARTITION:
        raise UsageError(f"{path} is not a partition directory", remedy="name one that holds segments")
    if tree.is_metadata_log(path):
        raise UsageError(f"{path} holds the metadata of a cluster", remedy="redact takes the partitions of topics")
    foreign.require_kafka_directory(path)
    with NewDirectory(output, [path]) as directory, _sliced(path, wanted) as source:
        return _Run(source, directory, contents, progress or Progress()).to_end()


@contextmanager
def _sliced(path: str, wanted: Range) -> Iterator[str]:
    """A partition directory of what is wanted of a path: the path itself if that is all."""
    if wanted.is_open:
        yield path
        return
    with temporary_folder("kdump-slice-") as folder:
        made = os.path.join(folder, os.path.basename(os.path.abspath(path)))
        slice.run(path, made, Wanted(wanted), with_damage=not wanted.has_times, config={})
        yield made


class _Run:
    def __init__(self, path: str, directory: NewDirectory, contents: Contents, progress: Progress) -> None:
        self._path = path
        self._files = tree.PartitionFiles(path)
        self._directory = directory
        self._contents = contents
        self._progress = progress
        self._inputs = Inputs()
        self._moved: dict[str, _Positions] = {}  # by the names of logs
        self._result = Result()

    def to_end(self) -> Result:
        self._inputs.note_directory(self._path)
        names = sorted(entry.name for entry in system.entries(self._path) if not entry.is_directory)
        self._progress.start(sum(system.size(os.path.join(self._path, name)) for name in names if _suffix(name) in _LOGS))
        for name in sorted(names, key=lambda name: _suffix(name) not in _LOGS):  # logs first
            self._result.files.append(self._file(name))
        self._directory.sync()
        self._compare()
        self._inputs.require_unchanged()
        self._directory.place()
        return self._result

    def _file(self, name: str) -> RedactedFile:
        suffix = _suffix(name)
        with Source(os.path.join(self._path, name)) as source:
            self._inputs.note(source)
            with self._directory.create(name) as out:
                if suffix in _LOGS:
                    return self._log(name, source, out)
                positions = self._moved.get(self._log_of(name))
                if suffix == file_name.OFFSET_INDEX and positions is not None:
                    filled = _remap(source, out, positions)
                    return RedactedFile(name, REMAPPED, out.size, source.size, 0, 0, filled)
                if suffix not in (file_name.OFFSET_INDEX, *_COMPANIONS) and name not in _TEXTS:
                    filled = _clone(source, out, _ANYTHING)
                    return RedactedFile(name, REDACTED, out.size, source.size, 0, 0, filled)
                filled = _clone(source, out, None if _is_sound(name, source) else _UNKNOWN_WORD if name in _TEXTS else _READABLE)
                return RedactedFile(name, CLONED, out.size, source.size, 0, 0, filled)

    # --- logs

    def _log(self, name: str, source: Source, out: NewFile) -> RedactedFile:
        base = tree.base_offset_of(name)
        redacting, batches = Redacting(self._contents, base, cache(partial(_times_in, self._time_index_of(base)))), 0
        moved = _Positions()
        for item in salvage.walk(source, base_offset=base, next_base_offset=self._next_base(name)):
            if isinstance(item, Damage):
                moved.add(item.start, out.size)
                for data in _redacted_damage(source, item, redacting):
                    out.write(data)
                self._progress.advance(item.end - item.start)
                continue
            batches += len(item.chunk)
            for position, data in _redacted_batches(source, item, redacting):
                moved.add(position, out.size)
                out.write(data)
            self._progress.advance(sum(item.chunk.batches["size"]))
        moved.add(source.size, out.size)
        if not moved.is_same:
            self._moved[name] = moved
        return RedactedFile(name, REDACTED, out.size, source.size, batches, redacting.records, redacting.filled)

    def _log_of(self, name: str) -> str:
        """The name of the log to which a companion belongs: that of the segment, or of the same leftover."""
        base = tree.base_offset_of(name)
        segment = {} if base is None else self._files.segments.get(base, {})
        same = name.replace(file_name.OFFSET_INDEX, file_name.LOG)
        return segment.get(file_name.LOG, same) if segment.get(file_name.OFFSET_INDEX) == name else same

    def _time_index_of(self, base: int | None) -> str | None:
        """The path of the time index of a segment."""
        name = None if base is None else self._files.segments.get(base, {}).get(file_name.TIME_INDEX)
        return None if name is None else os.path.join(self._path, name)

    def _next_base(self, name: str) -> int | None:
        """The base offset of the segment after that of a log, if it is not a leftover."""
        base = tree.base_offset_of(name)
        return self._files.next_log(base) if base is not None and name.endswith(file_name.LOG) else None

    # --- what a check finds

    def _compare(self) -> None:
        """Note the findings that only the input has, or only the output. Raises Unreadable if one could not be examined."""
        now = current_time()
        before = _findings(self._path, now)
        after = _findings(os.path.normpath(self._directory.built), now)
        self._result.findings = sum(before.values())
        for path, code, _ in after:
            if code in _OF_MACHINE:  # that the input has the same proves nothing
                raise Unreadable(code, "could not be examined", path=os.path.join(self._directory.path, path))
        for findings, side in ((before - after, INPUT), (after - before, OUTPUT)):
            for path, code, offset in sorted(findings.elements(), key=str):
                if FAULTS[code].leaves_unexamined and code != _TOO_LARGE:
                    folder = self._path if side == INPUT else self._directory.path
                    raise Unreadable(code, "could not be examined", path=os.path.join(folder, path))
                self._result.differences.append(RedactDifference(path, code, offset, side))


def _times_in(path: str | None) -> Sequence[int]:
    """The timestamps in a time index, ascending; none of a very large one, which are left alone."""
    if path is None:
        return ()
    with Source(path) as source:
        count = entries.used_entries(source, time_index.ENTRY_SIZE)
        if count > _MOST_TIMES:
            return ()
        times = (timestamp for table in time_index.read(source, 0) for timestamp in table["timestamp"])
        return sorted(islice(times, count))


class _Positions:
    """Where batches were in a log, and where they are now; only from the first one on whose end is elsewhere."""

    def __init__(self) -> None:
        self._before = array("q")
        self._after = array("q")
        self._last_same = 0  # where the last batch starts that is where it was
        self.is_same = True
        """Whether all are where they were."""

    def add(self, before: int, after: int) -> None:
        """Note the next batch, or the end of the log."""
        if self.is_same and before == after:
            self._last_same = before
            return
        if self.is_same:
            self.is_same = False
            self._before.append(self._last_same)
            self._after.append(self._last_same)
        self._before.append(before)
        self._after.append(after)

    def moved(self, position: int) -> int:
        """Where this position is now: as far into the same batch, in proportion if that is shorter now, or as far after the end.

        Positions in ascending order stay so.
        """
        row = bisect_right(self._before, position) - 1
        if row < 0:
            return position
        inside = position - self._before[row]
        if inside and row + 1 < len(self._after):
            size, now = self._span(self._before, row), self._span(self._after, row)
            if now < size:
                inside = min(max(inside * now // size, 1), now - 1)
        return min(self._after[row] + inside, _HIGHEST_POSITION)

    @staticmethod
    def _span(positions: array[int], row: int) -> int:
        return positions[row + 1] - positions[row]


def _redacted_batches(source: Source, section: Section, redacting: Redacting) -> Iterator[tuple[int, bytes]]:
    """The batches of a section, with their positions in the input."""
    batches = section.chunk.batches
    for row, (position, size, is_valid) in enumerate(zip(batches["position"], batches["size"], batches["isvalid"], strict=True)):
        has_wrong_length = section.claimed_length is not None
        data = source.read_exactly(position, size) if has_wrong_length else bytes_of(source, section.chunk, row)
        yield position, redacting.batch(data, is_valid=is_valid, keeps_length=has_wrong_length)


def _redacted_damage(source: Source, damage: Damage, redacting: Redacting) -> Iterator[bytes]:
    """A damaged range: the header of the batch at its start stays, if there is one, and zeros do."""
    position = damage.start
    if damage.status != ZERO:
        head = source.read_exactly(position, min(WINDOW_SIZE, damage.end - position))
        yield redacting.damaged(head) if damage.is_batch else redacting.garbage(head)
        position += len(head)
    while position < damage.end:
        count = min(WINDOW_SIZE, damage.end - position)
        yield bytes(count) if damage.status == ZERO else redacting.filler(count)
        position += count


def _remap(source: Source, out: NewFile, positions: _Positions) -> int:
    """Write an offset index with the positions that batches have now. Returns how many bytes were filled up."""
    filled = 0
    for data, count in _without(source, _READABLE):
        end = len(data) - len(data) % offset_index.ENTRY_SIZE
        fields = array("i", data[:end])
        fields.byteswap()
        fields[1::2] = array("i", [positions.moved(position) if position else 0 for position in fields[1::2]])
        fields.byteswap()
        filled += count
        out.write(fields.tobytes() + data[end:])
    return filled


def _is_sound(name: str, source: Source) -> bool:
    """Whether a file holds the id of the topic, or the vote of a node, and nothing else."""
    if name not in _READERS:
        return False
    read, max_size = _READERS[name]
    data = source.read(0, max_size)
    try:
        read(data)
    except CorruptData:
        return False
    is_known = name != tree.PARTITION_METADATA or _WORDS_OF_METADATA.fullmatch(data)  # a broker reads on after these
    return bool(is_known) and source.size <= max_size


def _clone(source: Source, out: NewFile, foreign: re.Pattern[bytes] | None) -> int:
    """Write a companion as it is, except for what does not look like its format. Returns how many bytes were filled up."""
    filled = 0
    for data, count in _without(source, foreign):
        filled += count
        out.write(data)
    return filled


def _without(source: Source, foreign: re.Pattern[bytes] | None) -> Iterator[tuple[bytes, int]]:
    """All bytes of a file in windows, in which what matches is filled up, and how many that are in each.

    Some bytes around each window are looked at as well: what matches may reach across its edges.
    """
    for position in range(0, source.size, WINDOW_SIZE):
        size = min(WINDOW_SIZE, source.size - position)
        before = min(_AROUND, position)
        data = source.read_exactly(position - before, min(before + size + _AROUND, source.size - position + before))
        window = data[before : before + size]
        if foreign is None or not foreign.search(data):
            yield window, 0
            continue
        places = [range(max(one.start(), before), min(one.end(), before + size)) for one in foreign.finditer(data)]
        yield foreign.sub(lambda match: b"x" * len(match[0]), data)[before : before + size], sum(map(len, places))


def _suffix(name: str) -> str:
    """What a file is by its name, whatever a broker is about to do with it."""
    for state in _STATES:
        name = name.removesuffix(state)
    return file_name.suffix(name)


def _findings(path: str, now: int) -> Findings:
    """What a deep check finds in a partition: file, code and first offset. What depends on contents is left out.

    Negative offsets count as the same: an impossible field of a header becomes another impossible one.
    """
    found: Findings = Counter()
    first = min(tree.PartitionFiles(path).logs, default=None)

    def emit(row: Row) -> None:
        if isinstance(row, Finding) and row.code not in _OF_CONTENTS:
            name = os.path.relpath(row.path, path)
            base = tree.base_offset_of(name)
            offset = row.offset_first
            if offset is not None:
                offset = max(without_contents(offset, first if base is None else base), -1)
            found[name, row.code, offset] += 1

    check.run(Job(Job.PARTITION, path, path), Settings(now=now, level=DEEP), emit)
    return found
