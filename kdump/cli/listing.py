"""What the commands do: find the files, list them past any damage, count what is wrong."""

from __future__ import annotations

import glob
import os
from datetime import UTC, datetime
from itertools import islice

from kdump.binary.java_text import escaped, text_of
from kdump.binary.source import WINDOW_SIZE, Source
from kdump.checks import offset_index as index_check
from kdump.checks import salvage
from kdump.checks import time_index as time_check
from kdump.decoders import plain
from kdump.decoders.contents import contents
from kdump.errors import CorruptData, Fault, KdumpError, UsageError
from kdump.formats import file_name, offset_index, producer_snapshot, records, time_index, transaction_index
from kdump.formats.log import Log
from kdump.formats.record import Record, RecordChunk
from kdump.output import listing
from kdump.output.blocks import Blocks
from kdump.output.formats import OUTPUTS
from kdump.output.kafka_text import KafkaText, Template, interleaved
from kdump.releases.profile import profile_of
from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from kdump.formats.log import Chunk
    from kdump.output.formats import Output
    from kdump.tables import Row

CLEAN, FINDINGS, USAGE, NOT_EXAMINED = range(4)

_NEAR = 16 << 10  # bytes that mostly hold the batch an index points to


class Request:
    """What a command line asks for: files of one suffix, a form of output, ranges and limits."""

    def __init__(
        self,
        suffix: str,
        *,
        paths: Sequence[str],
        output: str = "kafka",
        release: str,
        limit: int | None = None,
        strict_stderr: bool = False,
        from_offset: int | None = None,
        to_offset: int | None = None,
        from_time: str | None = None,
        to_time: str | None = None,
        from_position: int | None = None,
        is_deep: bool = False,
        prints_data: bool = False,
        skips_metadata: bool = False,
        key_decoder: str = "string",
        value_decoder: str = "string",
        keep_going: bool = True,
    ) -> None:
        self.suffix = suffix
        self.paths = paths
        self.output = output
        self.profile = profile_of(release)
        self.limit = limit
        self.is_strict = strict_stderr
        self.from_offset = from_offset
        self.to_offset = to_offset
        self.from_time = None if from_time is None else _milliseconds(from_time, is_end=False)
        self.to_time = None if to_time is None else _milliseconds(to_time, is_end=True)
        self.from_position = from_position
        self.is_deep = is_deep or prints_data
        self.prints_data = prints_data
        self.skips_metadata = skips_metadata
        self.decoders = (key_decoder, value_decoder)
        self.keep_going = keep_going

    def holds(self, first_offset: int | None, last_offset: int, first_time: int | None, last_time: int | None) -> bool:
        """Whether something with these offsets and times may hold what is asked for; None is not known."""
        return (
            (self.from_offset is None or last_offset >= self.from_offset)
            and (self.to_offset is None or first_offset is None or first_offset <= self.to_offset)
            and (self.from_time is None or last_time is None or last_time >= self.from_time)
            and (self.to_time is None or first_time is None or first_time <= self.to_time)
        )

    @property
    def has_range(self) -> bool:
        """Whether only a part is asked for."""
        return any(bound is not None for bound in (self.from_offset, self.to_offset, self.from_time, self.to_time))


class _Enough(Exception):
    """The limit of rows is reached."""


def list_files(request: Request) -> int:
    """List all files of a request on stdout. Returns the exit code: clean, findings, or files that could not be examined."""
    with open(1, "wb", buffering=0, closefd=False) as stdout, open(2, "wb", buffering=0, closefd=False) as stderr:
        lister = Lister(request, Blocks(stdout), Blocks(stderr), is_terminal=stdout.isatty())
        try:
            return lister.run()
        finally:
            lister.out.flush()
            lister.err.flush()


class Lister:
    """Lists the files of one request, and counts findings."""

    def __init__(self, request: Request, out: Blocks, err: Blocks, *, is_terminal: bool) -> None:
        self.request = request
        self.out = out
        self.err = err
        self._text_of = (lambda data: escaped(text_of(data))) if is_terminal else text_of
        self._text = KafkaText(request.profile, self._text_of)
        self._left = request.limit
        self._finding_count = 0
        self._output: Output | None = None
        if request.output == "table":
            from kdump.output.terminal import TerminalOutput

            width = os.get_terminal_size(1).columns if is_terminal else None
            self._output = TerminalOutput(out.write, is_terminal=is_terminal and "NO_COLOR" not in os.environ, width=width)
        elif request.output != "kafka":
            self._output = OUTPUTS[request.output](out.write)
        decoders = tuple(self._text_of if name == "string" else plain.DECODERS[name] for name in request.decoders)
        self._contents = contents(
            request.profile,
            (decoders[0], decoders[1]) if request.prints_data else None,
            skips_metadata=request.skips_metadata,
        )

    def run(self) -> int:
        """List file after file. Returns the exit code."""
        list_file, row_class = _LISTERS[self.request.suffix]
        if self.request.suffix in (file_name.LOG, file_name.CHECKPOINT) and self.request.is_deep:
            row_class = listing.ListedRecord
        if self._output is not None:
            self._output.start(row_class)
        is_unexamined = False
        try:
            for path in _files(self.request.paths, self.request.suffix):
                try:
                    list_file(self, path)
                except UsageError:
                    raise
                except KdumpError as error:
                    self._say(str(error))
                    is_unexamined = is_unexamined or not isinstance(error, CorruptData)
                    self._finding_count += isinstance(error, CorruptData)
        except _Enough:
            pass
        if self._output is not None:
            self._output.end()
        if is_unexamined:
            return NOT_EXAMINED
        return FINDINGS if self._finding_count else CLEAN

    # Logs and KRaft snapshots

    def list_log(self, path: str) -> None:
        """List a log from where the range begins, past any damage."""
        with Source(path) as source:
            self._head(path)
            start = self.request.from_position or 0
            if self.request.from_position is None and self.request.has_range:
                start = start_position(source, path, self.request.from_offset, self.request.from_time)
            for item in salvage.walk(source, start):
                if isinstance(item, salvage.Damage):
                    self._list_damage(source, item)
                else:
                    self._list_section(source, item)
                    self._end_at(item, source)

    def _head(self, path: str) -> None:
        if self._output is None:
            self.out.write(f"Dumping {path}\n")
            name = os.path.basename(path)
            if name.endswith(file_name.LOG):
                self.out.write(self.request.profile.log_heading.format(offset=file_name.base_offset(name)) + "\n")

    def _list_section(self, source: Source, section: salvage.Section) -> None:
        damaged = section.statuses.count(salvage.DAMAGED)
        self._finding_count += damaged
        for start, end in self._runs_in_range(section.chunk):
            part = section.chunk
            statuses = section.statuses
            if end - start < len(statuses):
                part, statuses = part.slice(start, end), statuses[start:end]
            if self.request.is_deep:
                self._list_records(source, part, statuses)
            else:
                part, statuses = self._limited(part, statuses)
                if self._output is None:
                    self.out.write("".join(self._text.batch_lines(part.batches)))
                else:
                    self._output.write(listing.batches(part.batches, statuses, source.path))
                self._count(len(statuses))

    def _end_at(self, section: salvage.Section, source: Source) -> None:
        """Raise where damage is to end the listing."""
        if not self.request.keep_going and salvage.DAMAGED in section.statuses:
            row = section.statuses.index(salvage.DAMAGED)
            position = section.chunk.batches["position"][row]
            raise CorruptData("crc-mismatch", "the CRC of a record batch does not fit", path=source.path, position=position)

    def _runs_in_range(self, chunk: Chunk) -> Iterator[tuple[int, int]]:
        """Where runs of batches that may hold what is asked for start and end."""
        count = len(chunk.batches)
        if not self.request.has_range:
            yield 0, count
            return
        run_start = None
        for row, header in enumerate(chunk.headers):
            first_offset, last_offset = chunk.batches["base_offset"][row], chunk.batches["last_offset"][row]
            last_time = chunk.batches["timestamp"][row]
            first_time = min(header[7], last_time) if not chunk.is_legacy else None
            if self.request.holds(first_offset, last_offset, first_time, last_time):
                run_start = row if run_start is None else run_start
            elif run_start is not None:
                yield run_start, row
                run_start = None
        if run_start is not None:
            yield run_start, count

    def _limited(self, chunk: Chunk, statuses: list[str]) -> tuple[Chunk, list[str]]:
        if self._left is not None and len(statuses) > self._left:
            return chunk.slice(0, self._left), statuses[: self._left]
        return chunk, statuses

    def _count(self, rows: int) -> None:
        """Take note of rows listed. Raises _Enough when the limit is reached."""
        if self._left is not None:
            self._left -= rows
            if self._left <= 0:
                raise _Enough

    def _list_records(self, source: Source, chunk: Chunk, statuses: list[str]) -> None:
        """List the records of batches; those of a batch that cannot be read are one damaged row."""
        status_at = dict(zip(chunk.batches["position"], statuses, strict=True))
        first = 0
        while first < len(chunk.batches):
            done = first
            try:
                for part in records.read(source, chunk.slice(first, len(chunk.batches)) if first else chunk):
                    done = first + chunk.batches["position"][first:].index(part.batches["position"][-1])
                    self._list_record_chunk(source, part, [status_at[position] for position in part.batches["position"]])
                return
            except Fault as fault:
                position = chunk.batches["position"][done]
                self._list_damage_of_records(source, position, fault)
                first = done + 1

    def _list_record_chunk(self, source: Source, part: RecordChunk, statuses: list[str]) -> None:
        rows = [row for row, count in enumerate(part.counts) for _ in range(count)]
        kept = self._rows_in_range(part.records)
        table = part.records
        if len(kept) < len(rows):
            table = Table(Record, {name: [column[row] for row in kept] for name, column in table.columns.items()})
            rows = [rows[row] for row in kept]
            counts = [rows.count(row) for row in range(len(part.counts))]
            part = RecordChunk(part.batches, counts, table, part.continues)
        if self._output is None:
            self._write_record_lines(part)
        elif rows:
            positions = [part.batches["position"][row] for row in rows]
            self._output.write(listing.records(table, [statuses[row] for row in rows], positions, source.path))
        if rows:
            self._count(len(rows))

    def _write_record_lines(self, part: RecordChunk) -> None:
        lines: list[str] = []
        fault: Fault | None = None
        try:
            self._text.record_lines(part, self._contents, self.request.skips_metadata, lines)
        except Fault as problem:
            fault = problem
        if self.request.profile.deep_shows_batches:
            lines = interleaved(self._text.batch_lines(part.batches), part, lines, is_whole=fault is None)
        self.out.write("".join(lines))
        if fault is not None:
            self.out.write("\n")
            raise fault

    def _rows_in_range(self, table: Table[Record]) -> list[int]:
        request = self.request
        rows = range(len(table))
        if request.has_range:
            pairs = zip(table["offset"], table["timestamp"], strict=True)
            kept = [row for row, (offset, time) in enumerate(pairs) if request.holds(offset, offset, time, time)]
        else:
            kept = list(rows)
        return kept if self._left is None else kept[: self._left]

    def _list_damage(self, source: Source, damage: salvage.Damage) -> None:
        """A range without any batch that could be read: a row in our outputs, a line on stderr."""
        self._finding_count += 1
        size = damage.end - damage.start
        self._say(f"{source.path}, bytes {damage.start} to {damage.end - 1}: {damage.message} ({damage.code}, {size} bytes)")
        if not self.request.keep_going:
            raise CorruptData(damage.code, "the listing ends at damage", path=source.path, position=damage.start)
        if self._output is not None:
            if self.request.is_deep:
                self._output.write(listing.damaged_record(damage.start, source.path))
            else:
                table = listing.damaged_batch(damage.row, damage.through, damage.start, damage.end, source.path)
                self._output.write(table)
            self._count(1)

    def _list_damage_of_records(self, source: Source, position: int, fault: Fault) -> None:
        self._finding_count += 1
        self._say(f"{source.path}, byte {position}: {fault.message} ({fault.code})")
        if not self.request.keep_going:
            raise CorruptData(fault.code, "the listing ends at damage", path=source.path, position=position)
        if self._output is not None:
            self._output.write(listing.damaged_record(position, source.path))
            self._count(1)

    # The other files

    def list_index(self, path: str) -> None:
        """List an offset index without its zero tail, each entry compared with the log."""
        base_offset = file_name.base_offset(os.path.basename(path))
        with Source(path) as index, self._log_of(path) as log:
            self._head(path)
            line = Template.parse(self.request.profile.index_line)
            used = _used_entries(index, offset_index.ENTRY_SIZE)
            for table in offset_index.read(index, base_offset):
                rows = []
                for offset, position in islice(zip(table["offset"], table["position"], strict=True), used):
                    if not self.request.holds(offset, offset, None, None):
                        continue
                    last, problem = _index_problem(log, offset, position)
                    rows.append([offset, position, last, "damaged" if problem else "intact", path])
                    if problem:
                        self._find(path, f"entry for offset {offset} points to byte {position}: {problem}")
                used -= min(used, len(table))
                self._list_rows(listing.ListedIndexEntry, rows, line)
            self._check_size(index, offset_index.ENTRY_SIZE)

    def list_time_index(self, path: str) -> None:
        """List a time index without its zero tail, each entry compared with the log."""
        base_offset = file_name.base_offset(os.path.basename(path))
        with Source(path) as index, self._log_of(path) as log:
            self._head(path)
            line = Template.parse(self.request.profile.time_index_line)
            timestamps: list[int] = []
            offsets: list[int] = []
            for table in time_index.read(index, base_offset):
                timestamps += table["timestamp"]
                offsets += table["offset"]
            used = _used_entries(index, time_index.ENTRY_SIZE)
            del timestamps[used:], offsets[used:]
            starts = [0] * len(offsets)
            landings = time_check.Landings(log, offsets, starts, reads_to_end=False, may_start_past_end=True)
            rows = []
            previous = -1
            for row, (timestamp, offset) in enumerate(zip(timestamps, offsets, strict=True)):
                if not self.request.holds(offset, offset, timestamp, timestamp):
                    continue
                latest, problem = self._time_at(log, landings, row, timestamp)
                if timestamp <= previous and not problem:
                    problem = f"comes behind an entry of {previous}"
                if problem:
                    self._find(path, f"entry for offset {offset}, timestamp {timestamp}: {problem}")
                rows.append([timestamp, offset, latest, "damaged" if problem else "intact", path])
                previous = max(previous, timestamp)
            self._list_rows(listing.ListedTimeIndexEntry, rows, line)
            self._check_size(index, time_index.ENTRY_SIZE)

    def _time_at(self, log: Source, landings: time_check.Landings, row: int, timestamp: int) -> tuple[int | None, str]:
        """The largest timestamp of the batch that an entry is about, and what is wrong with the entry, if anything."""
        try:
            landing = landings.landing(row)
            if landing.position is None:
                return None, "no batch holds that offset"
            latest = time_check.max_timestamp_at(log, landing.position)
        except CorruptData as fault:
            return None, fault.message
        return latest, "" if latest == timestamp else f"the largest timestamp of its batch is {latest}"

    def list_transaction_index(self, path: str) -> None:
        """List a transaction index; a version that is not 0 is damage."""
        with Source(path) as source:
            self._head(path)
            line = Template.parse("".join(self.request.profile.transaction_line))
            for table in transaction_index.read(source):
                rows = []
                for entry in table:
                    if not self.request.holds(entry.first_offset, entry.last_offset, None, None):
                        continue
                    if entry.version:
                        self._find(path, f"entry of producer {entry.producer_id} has version {entry.version}, only 0 is known")
                    values = [getattr(entry, column.name) for column in entry.schema]
                    rows.append([*values, "damaged" if entry.version else "intact", path])
                self._list_rows(listing.ListedTransaction, rows, line)
            self._check_size(source, transaction_index.ENTRY_SIZE)

    def list_producer_snapshot(self, path: str) -> None:
        """List a producer snapshot. Raises CorruptData if it is damaged."""
        with Source(path) as source:
            self._head(path)
            producers = producer_snapshot.read(source)
        if self._output is None:
            for state in producers:
                self.out.write(self._text.producer_line(state))
                self._count(1)
        else:
            self._list_rows(listing.ListedProducer, [listing.producer(state, path) for state in producers], None)

    def _log_of(self, path: str) -> Source:
        """The log beside an index. Raises Unreadable."""
        folder, name = os.path.split(path)
        return Source(os.path.join(folder, file_name.stem(name) + file_name.LOG))

    def _check_size(self, source: Source, entry_size: int) -> None:
        if source.size % entry_size:
            self._find(source.path, f"{source.size} bytes are no multiple of {entry_size}: the last entry is cut off")

    def _list_rows(self, row_class: type[Row], rows: list[list[Any]], line: Template | None) -> None:
        rows = rows if self._left is None else rows[: self._left]
        if not rows:
            return
        table = Table.of(row_class, rows)
        if self._output is None and line is not None:
            self.out.write("".join(line.lines(table.__getitem__, len(table))))
        elif self._output is not None:
            self._output.write(table)
        self._count(len(rows))

    def _find(self, path: str, message: str) -> None:
        self._finding_count += 1
        self._say(f"{path}: {message}")

    def _say(self, message: str) -> None:
        if not self.request.is_strict:
            self.out.flush()
            self.err.write(f"kdump: {message}\n")


_LISTERS: dict[str, tuple[Callable[[Lister, str], None], type[Row]]] = {
    file_name.LOG: (Lister.list_log, listing.ListedBatch),
    file_name.CHECKPOINT: (Lister.list_log, listing.ListedBatch),
    file_name.OFFSET_INDEX: (Lister.list_index, listing.ListedIndexEntry),
    file_name.TIME_INDEX: (Lister.list_time_index, listing.ListedTimeIndexEntry),
    file_name.TRANSACTION_INDEX: (Lister.list_transaction_index, listing.ListedTransaction),
    file_name.PRODUCER_SNAPSHOT: (Lister.list_producer_snapshot, listing.ListedProducer),
}
"""How files are listed, by suffix, and the rows they are listed as."""


def start_position(source: Source, path: str, from_offset: int | None, from_time: int | None) -> int:
    """Where to start for a range: a position from the indexes if it proves sound, otherwise the start of the log.

    An entry is sound when a batch with a CRC that fits stands where it points, and holds the entry's offset.
    """
    folder, name = os.path.split(path)
    stem = os.path.join(folder, file_name.stem(name))
    try:
        base_offset = file_name.base_offset(name)
        if from_offset is None and from_time is not None:
            with Source(stem + file_name.TIME_INDEX) as index:
                timestamps, offsets = time_check.entries(index, base_offset)
            earlier = [offset for timestamp, offset in zip(timestamps, offsets, strict=True) if timestamp < from_time]
            from_offset = max(earlier, default=None)
        if from_offset is None:
            return 0
        with Source(stem + file_name.OFFSET_INDEX) as index:
            position = index_check.Lookup(index, base_offset, tries_end_first=False).position_of(from_offset)
    except KdumpError:
        return 0  # without indexes, or with broken ones, the log is read from its start
    if not 0 < position < source.size:
        return 0
    try:
        chunk = next(Log(source, position, window_size=_NEAR).chunks())
    except (CorruptData, StopIteration):
        return 0
    first = chunk.batches["last_offset" if chunk.is_legacy else "base_offset"][0]
    return position if chunk.batches["isvalid"][0] and first <= from_offset else 0


def _index_problem(log: Source, offset: int, position: int) -> tuple[int | None, str]:
    """The last offset of the batch that an index entry points to, and what is wrong with the entry, if anything.

    Brokers differ in which offset of a batch they write, so any will do; messages of magic 0 and 1 do not tell their first.
    """
    try:
        chunk = next(index_check.open_slice(log, position, log.size).chunks())
    except StopIteration:
        return None, "no batch is there"
    except CorruptData as fault:
        return None, fault.message
    last: int = chunk.batches["last_offset"][0]
    is_sound = chunk.is_legacy or chunk.batches["base_offset"][0] <= offset <= last
    return last, "" if is_sound else f"the batch there ends at offset {last}"


def _used_entries(index: Source, entry_size: int) -> int:
    """How many entries there are in front of the zero tail."""
    end = index.size - index.size % entry_size
    while end > 0:
        start = max(0, end - WINDOW_SIZE)
        used = index.read(start, end - start).rstrip(b"\0")
        if used:
            return -(-(start + len(used)) // entry_size)
        end = start
    return 0


def _files(paths: Sequence[str], suffix: str) -> Iterator[str]:
    """The files that paths name: files as they are, of directories those with the suffix, patterns as the shell has them."""
    for path in paths:
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name.endswith(suffix))
            if not names:
                raise UsageError(f"{path}: no file ends in {suffix}")
            yield from (os.path.join(path, name) for name in names)
        elif not os.path.exists(path) and glob.has_magic(path):
            found = sorted(glob.glob(path))
            if not found:
                raise UsageError(f"{path}: no file fits this pattern")
            yield from _files(found, suffix)
        else:
            yield path


def _milliseconds(text: str, *, is_end: bool) -> int:
    """A time as milliseconds since 1970; a date alone means its start, or its end."""
    if text.lstrip("-").isdecimal() and len(text) > 8:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"'{text}' is no time; write 2026-11-20, 2026-11-20T13:45:00 or milliseconds since 1970")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    milliseconds = int(moment.timestamp() * 1000)
    return milliseconds + 86_400_000 - 1 if is_end and len(text) == 10 else milliseconds
