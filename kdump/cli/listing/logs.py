"""Lists the batches or records of a log, section by section, past any damage."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right

from kdump.binary.batch_header import BASE_TIMESTAMP
from kdump.cli.listing.one_offset import Around, may_hold, section_with
from kdump.cli.listing.run import Enough
from kdump.cli.listing.seek import start_position
from kdump.cli.shared_options import STDIN
from kdump.errors import CorruptData, Fault
from kdump.formats import file_name, record_selection
from kdump.formats.record import RecordChunk
from kdump.formats.record_batch import LOG_APPEND_TIME, NO_TIMESTAMP, RecordBatch
from kdump.output.kafka.lines import interleaved
from kdump.output.rows import listing
from kdump.reading import batch_faults, salvage
from kdump.reading.records import UnreadableBatch, past_bad_batches
from kdump.tables import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kdump.binary.source import Source
    from kdump.cli.listing.decoding import Decoding
    from kdump.cli.listing.intact import IntactText
    from kdump.cli.listing.run import Run
    from kdump.cli.listing.tail import ListingStart
    from kdump.formats.log import Chunk
    from kdump.formats.record import Record
    from kdump.formats.summary import BatchSummary
    from kdump.output.kafka.lines import ContentsColumn


def _has_ascending_times(summary: BatchSummary) -> bool:
    """Whether each batch has a timestamp, and none an earlier one than the batch before."""
    return not summary.timestamps_back and summary.first_timestamp > NO_TIMESTAMP


class LogLister:
    """Lists one log, section by section, on stdout.

    A damaged range is listed unless the offsets of the batches around it show that it cannot contain requested rows.
    Findings and messages do not depend on the output format: only the four methods `write_...` do.
    """

    packed: Collection[str] | None = None
    """The columns of records that are made as records.read says, None for none."""

    def __init__(self, run: Run, source: Source, begin: ListingStart | None = None) -> None:
        self._run = run
        self._request = run.request
        self._source = source
        self._folder_and_name = os.path.split(source.path)
        self._decoding: Decoding | None = None
        self._contents: ContentsColumn | None = None
        if run.request.is_deep:
            from kdump.cli.listing.decoding import Decoding  # batches are listed without it

            self._decoding = Decoding(run, source.path)
            self._contents = self._decoding.contents() if run.output is None else None
        self._held: list[salvage.Damage] = []  # until the offset after them is known
        self._last_offset = -1  # of the last batch that is not damaged
        self._shown_position = -1  # of the last batch some of whose records are listed
        self._begin = begin
        self._from_position = self._request.from_position if self._begin is None else self._begin.position
        self._left_out = 0 if self._begin is None else self._begin.skipped  # records before those that are listed
        self._around = None if self._request.offset is None else Around(self._request.offset)
        self.intact_text: IntactText | None = None
        """What writes intact stretches at once; None to list all from tables."""

    def list_all(self) -> None:
        """List all that is asked for. Raises Enough."""
        findings = self._run.finding_count
        try:
            start = start_position(self._source, self._request) if self._begin is None else self._begin.start
            for item in salvage.walk(self._source, start):
                if isinstance(item, salvage.Damage):
                    self._take_damage(item)
                    continue
                self.list_section(item)
                if self._around is not None and self._around.note(item.chunk, item.status):
                    break
            self._list_held_damages()
            if self._around is not None:
                if self._around.is_found or self._list_outside(self._around):
                    self._run.explanation = ""
                else:
                    self._explain(self._around, findings)
        except (Enough, BrokenPipeError):  # what was found by then counts
            self._report()
            raise
        self._report()

    def _report(self) -> None:
        """Say which records could not be decoded."""
        if self._decoding is not None:
            self._decoding.report()

    @property
    def is_plain(self) -> bool:
        """Whether nothing is decoded."""
        return self._decoding is None or self._decoding.is_plain

    @property
    def decoding(self) -> Decoding:
        """What decodes the records, where records are listed."""
        assert self._decoding is not None
        return self._decoding

    def _list_outside(self, around: Around) -> bool:
        """List a record with the offset, or its batch, whose header does not claim it. Returns whether there is one."""
        for position in around.candidates:
            section = section_with(self._source, position, around.offset)
            if section is not None:
                claim = f"the header of the batch at byte {position} does not claim offset {around.offset}"
                self._run.say(f"{self._source.path}: {claim}, but a record in it has this offset")
                self.list_batches(section.chunk, section.status)
                return True
        return False

    def _explain(self, around: Around, findings: int) -> None:
        """Explain why no batch has the offset; `findings` were counted before this log."""
        path, position = self._source.path, around.damaged_position
        if position is not None:  # even its offsets may be wrong
            self._run.find(f"{path}, byte {position}", f"{batch_faults.WRONG_CRC} (crc-mismatch)")
        text = around.explanation(path, is_damaged=self._run.finding_count > findings)
        self._run.explanation = self._run.explanation or f"{path}: {text}"

    # What a form does

    def write_damage(self, damage: salvage.Damage) -> None:
        """List a range without readable batches: a row in kdump's own output formats, nothing in Kafka's lines."""
        run, path = self._run, self._source.path
        if run.output is not None:
            if self._request.is_deep:
                run.output.write(listing.damaged_record(damage.start, path))
            else:
                run.output.write(listing.damaged_batch(damage.row, damage.through, damage.start, damage.end, path))
            run.count(1)

    def write_batches(self, chunk: Chunk, status: str) -> None:
        """List batches, which all have this status."""
        if self._run.output is None:
            self._run.out.write("".join(self._run.text.batch_lines(chunk.batches)))
        else:
            self._run.output.write(listing.batches(chunk.batches, status, self._source.path))

    def write_records(self, part: RecordChunk, kept: Sequence[int], status: str) -> None:
        """List the records whose rows are kept, of batches with this status."""
        if len(kept) < len(part.records) or self._request.has_range and 0 in part.counts:
            part = self.selected(part, kept)
        if self._run.output is None:
            self._write_lines(part)
        else:
            spread = part.statuses(status, salvage.DAMAGED)
            positions = part.spread(part.batches["position"])
            for first, end, decoded in self.decoding.pieces(part):
                records = part.records.slice(first, end)
                rows = slice(first, end)
                table = listing.records(records, spread[rows], positions[rows], self._source.path, decoded)
                self._run.output.write(table)
        if len(part.batches):
            self._shown_position = part.batches["position"][-1]

    def write_damaged_record(self, position: int) -> None:
        """List one row for the records of a batch that cannot be read; nothing in Kafka's lines."""
        if self._run.output is not None:
            self._run.output.write(listing.damaged_record(position, self._source.path))
            self._run.count(1)

    # Damaged ranges

    def _take_damage(self, damage: salvage.Damage) -> None:
        """List a damaged range, now or once it is known whether it may contain requested rows."""
        request = self._request
        is_before_range = self._from_position is not None and damage.end <= self._from_position
        is_after_range = request.range.to_offset is not None and self._last_offset >= request.range.to_offset
        if is_before_range or is_after_range:
            return
        if request.range.from_offset is None:
            self._list_damage(damage)
        else:
            self._held.append(damage)

    def _list_held_damages(self) -> None:
        """List the damaged ranges that may still contain requested rows."""
        held, self._held = self._held, []
        for damage in held:
            self._list_damage(damage)

    def _list_damage(self, damage: salvage.Damage) -> None:
        size = damage.end - damage.start
        where = f"bytes {damage.start} to {damage.end - 1}" if size > 1 else f"byte {damage.start}"
        message = f"{where}: {damage.message} ({damage.code}, {size} {'byte' if size == 1 else 'bytes'})"
        self._run.find(self._source.path, message)
        self.write_damage(damage)
        self._end_at_damage()

    def _end_at_damage(self) -> None:
        if not self._request.keep_going:
            self._run.say(f"{self._source.path}: the listing ends at damage")
            raise Enough

    # Batches

    def list_section(self, section: salvage.Section) -> None:
        """List those batches of a section, or of their records, that are asked for."""
        if self._held:
            self._settle(section)
        if self.intact_text is not None and section.summary is not None and self.may_list_at_once(section.summary):
            self._list_stretch(self.intact_text, section.summary, section.chunk)
            return
        chunk, is_damaged = section.chunk, section.status == salvage.DAMAGED
        self._find_wrong_length(section)
        for start, end in self._runs_in_range(chunk):
            part = chunk.slice(start, end) if end - start < len(chunk) else chunk
            self.list_batches(part, section.status)
            if is_damaged:
                self._end_at_damage()
        if not is_damaged:
            self._note_last(chunk)

    def _note_last(self, chunk: Chunk) -> None:
        """Take note of the offsets of batches that were listed."""
        is_first = self._last_offset < 0
        self._last_offset = chunk.batches["last_offset"][-1]
        if self._request.range.has_offsets:
            self._note_offsets(chunk, is_first=is_first)

    def may_list_at_once(self, summary: BatchSummary) -> bool:
        """Whether the summary says which batches of a section are asked for."""
        has_wrappers = summary.lowest_magic < 2 and summary.codecs != 1  # they say neither their first offset nor a count
        return not self._held and not self._left_out and not (has_wrappers and self._request.has_range)

    def _list_stretch(self, text: IntactText, summary: BatchSummary, chunk: Chunk) -> None:
        """List a section of intact batches: at once those of which all is asked for."""
        asked = self._rows_asked_for(summary)
        whole = self._rows_asked_for_as_a_whole(text, summary, asked)
        self._list_intact(chunk, range(asked.start, whole.start))
        if whole:
            whole = whole[: self._run.room(len(whole))]
            counted = 0

            def list_chunk(left: Chunk) -> None:
                nonlocal counted
                counted += len(left)
                self._list_intact(left, range(len(left)))

            text.write(summary, whole, list_chunk)
            self._run.count(len(whole) - counted)  # records are not limited here
        self._list_intact(chunk, range(whole.stop, asked.stop))
        is_first = self._last_offset < 0
        self._last_offset = summary.last_offset
        if self._request.range.has_offsets:
            self._hold(summary.first_offsets[0], summary.last_offset, summary.positions[0], is_first=is_first)

    def _rows_asked_for(self, summary: BatchSummary) -> range:
        """The batches of a section outside of which nothing is asked for, by their positions and offsets."""
        request, start, end = self._request, 0, summary.count
        if self._from_position is not None:
            start = bisect_left(summary.positions, self._from_position)
        if request.range.from_offset is not None:
            start = max(start, bisect_left(summary.last_offsets, request.range.from_offset))
        if request.range.to_offset is not None:
            end = bisect_right(summary.first_offsets, request.range.to_offset)
        if request.range.from_time is not None and _has_ascending_times(summary):
            start = max(start, bisect_left(summary.timestamps, request.range.from_time))
        return range(start, max(start, end))

    def _rows_asked_for_as_a_whole(self, text: IntactText, summary: BatchSummary, asked: range) -> range:
        """Those of which all is asked for."""
        request, nothing = self._request, range(asked.stop, asked.stop)
        if request.range.has_times:
            if not _has_ascending_times(summary) or request.is_deep and not text.has_times:
                return nothing
            if request.is_deep:
                return asked
            end = summary.count if request.range.to_time is None else bisect_right(summary.timestamps, request.range.to_time)
            return range(asked.start, max(asked.start, min(asked.stop, end)))
        if not request.is_deep or not request.has_range or not asked:
            return asked
        if summary.codecs != 1 or summary.empty:  # an empty batch has no record in the range
            return nothing
        start, end = asked.start, asked.stop
        if request.range.from_offset is not None:
            start = max(start, bisect_left(summary.first_offsets, request.range.from_offset))
        if request.range.to_offset is not None:
            end = min(end, bisect_right(summary.last_offsets, request.range.to_offset))
        return range(start, text.first_odd(summary, range(start, end))) if start < end else nothing

    def _list_intact(self, chunk: Chunk, rows: range) -> None:
        """List what is asked for of these intact batches, from tables."""
        if not rows:
            return
        asked = chunk.slice(rows.start, rows.stop)
        for start, end in self._runs_in_range(asked):
            self.list_batches(asked.slice(start, end), salvage.INTACT)

    def _note_offsets(self, chunk: Chunk, *, is_first: bool) -> None:
        """Note which offsets the log has; if the index led past the first batches, the file name gives the first offset."""
        firsts, lasts = (chunk.batches[name] for name in ("last_offset" if chunk.is_legacy else "base_offset", "last_offset"))
        # offsets are not ascending if one of them is damaged
        self._hold(min(firsts), max(lasts), chunk.batches["position"][0], is_first=is_first)

    def _hold(self, first: int, last: int, position: int, *, is_first: bool) -> None:
        folder, name = self._folder_and_name
        try:
            if is_first and position:
                first = min(first, file_name.base_offset(name))
        except CorruptData:
            pass  # a copy under another name
        self._run.hold(folder or (STDIN if name == STDIN else "."), first, last)

    def _find_wrong_length(self, section: salvage.Section) -> None:
        """Report that a batch is listed with the length that it should have, not the one in the file."""
        batches, claimed_length = section.chunk.batches, section.claimed_length
        if claimed_length is None or not any(True for _ in self._runs_in_range(section.chunk)):
            return
        position, size = batches["position"][0], batches["size"][0]
        fault = batch_faults.of_length(batches, 0, claimed_length)
        where = f"bytes {position} to {position + size - 1}"
        self._run.find(self._source.path, f"{where}: {fault.message} ({fault.code}, {size} bytes)")

    def _settle(self, section: salvage.Section) -> None:
        """Drop the held ranges if a batch after them starts at or before what is asked for, or else list them."""
        if section.summary is not None:
            first = section.summary.first_offset
        elif section.status == salvage.DAMAGED:
            return
        else:
            first = section.chunk.batches["last_offset" if section.chunk.is_legacy else "base_offset"][0]
        if self._request.range.from_offset is not None and first <= self._request.range.from_offset:
            self._held.clear()
        self._list_held_damages()

    def _runs_in_range(self, chunk: Chunk) -> Iterator[tuple[int, int]]:
        """The start and end of each run of batches that may contain requested rows."""
        if not self._request.has_range and self._from_position is None:
            yield 0, len(chunk.batches)
            return
        start: int | None = None
        for row in range(len(chunk.batches)):
            if self._is_in_range(chunk, row):
                start = row if start is None else start
            elif start is not None:
                yield start, row
                start = None
        if start is not None:
            yield start, len(chunk.batches)

    def _is_in_range(self, chunk: Chunk, row: int) -> bool:
        """Whether a batch may contain requested rows, by its header and the batch before it.

        A wrapper that may have the one offset that is asked for is opened: no checksum covers its own offset.
        """
        request, batches, header = self._request, chunk.batches, chunk.headers[row]
        if self._from_position is not None and batches["position"][row] < self._from_position:
            return False
        first_offset, last_offset = batches["base_offset"][row], batches["last_offset"][row]
        last_time: int = batches["timestamp"][row]
        first_time: int | None = last_time
        if not chunk.is_legacy:
            base_time = header[BASE_TIMESTAMP]
            # the first record need not be the earliest one
            first_time = None if request.is_deep and request.has_range else min(base_time, last_time)
            if batches["timestamp_type"][row] == LOG_APPEND_TIME or last_time == NO_TIMESTAMP:
                first_time = last_time
        elif batches["compresscodec"][row] == "none":
            first_offset = last_offset
        else:
            before = batches["last_offset"][row - 1] if row else self._last_offset
            first_offset = before + 1 if 0 <= before < last_offset else None
            first_time = last_time if batches["timestamp_type"][row] == LOG_APPEND_TIME else None
            if request.offset is not None and batches["isvalid"][row] and request.range.holds_offsets(first_offset, last_offset):
                return may_hold(self._source, chunk.slice(row, row + 1), request.offset)
        return request.range.holds_offsets(first_offset, last_offset) and request.range.holds_times(first_time, last_time)

    def list_batches(self, chunk: Chunk, status: str) -> None:
        """List these batches, which all have this status, or their records."""
        if self._request.is_deep:
            self._list_records(chunk, status)
            return
        room = self._run.room(len(chunk))
        if room < len(chunk):
            chunk = chunk.slice(0, room)
        if status == salvage.DAMAGED:
            self._find_damaged_batches(chunk.batches)
        self._note_found()
        self.write_batches(chunk, status)
        self._run.count(len(chunk))

    def _note_found(self) -> None:
        if self._around is not None:
            self._around.is_found = True

    def _find_damaged_batches(self, batches: Table[RecordBatch]) -> None:
        for row in range(len(batches)):
            fault = batch_faults.of_batch(batches, row)
            self._run.find(f"{self._source.path}, byte {fault.position}", f"{fault.message} ({fault.code})")

    # Records

    def _list_records(self, chunk: Chunk, status: str) -> None:
        """List the records of batches; a batch whose records cannot be read is one damaged row."""
        for part in past_bad_batches(self._source, chunk, columns=self.packed):
            if isinstance(part, UnreadableBatch):
                self._find_in_batch(part.position, part.fault)  # before its row, which may be the last within the limit
                self.write_damaged_record(part.position)
                self._end_at_damage()
            else:
                self._list_part(part, status)

    def _list_part(self, part: RecordChunk, status: str) -> None:
        rows = self._rows_in_range(part.records)
        left_out = min(self._left_out, len(rows))
        self._left_out -= left_out
        rows = rows[left_out:]
        if rows:
            self._note_found()
        kept = rows[: self._run.room(len(rows))]
        is_enough = self._run.room(len(rows) + 1) <= len(rows)
        if status == salvage.DAMAGED:  # the limit keeps what follows it from being looked at
            end = record_selection.owners(part)[kept[-1]] + 1 if is_enough else len(part.batches)
            self._find_damaged_batches(part.batches.slice(int(part.continues), end))
        is_damaged = status != salvage.DAMAGED and self._find_damaged_messages(part, kept)
        self.write_records(part, kept, status)
        if kept:
            self._run.count(len(kept))
        if is_damaged:
            self._end_at_damage()

    def _find_damaged_messages(self, part: RecordChunk, kept: Sequence[int]) -> bool:
        """Find what is wrong with single messages in sound batches; records of magic 2 have no separate CRC."""
        faults = batch_faults.of_messages(part)
        if not faults:
            return False
        owners, found = record_selection.owners(part), False
        for row in kept:
            if row in faults:
                where = f"{self._source.path}, byte {part.batches['position'][owners[row]]}"
                self._run.find(where, f"{faults[row].message} ({faults[row].code})")
                found = True
        return found

    def _rows_in_range(self, table: Table[Record]) -> Sequence[int]:
        request = self._request
        rows: Sequence[int] = range(len(table))
        if request.has_range:
            pairs = zip(table["offset"], table["timestamp"], strict=True)
            rows = [row for row, (offset, time) in enumerate(pairs) if request.range.holds(offset, time)]
        return rows

    def selected(self, part: RecordChunk, kept: Sequence[int]) -> RecordChunk:
        """These records with their batches, without batches of which no record is kept."""
        return record_selection.selected(part, kept, self._shown_position)[0]

    def _write_lines(self, part: RecordChunk) -> None:
        """Write Kafka's lines. Contents that cannot be shown are a finding after the record's fields; the listing continues."""
        run = self._run
        assert self._contents is not None
        rest = record_selection.Rest(part)
        count = len(part.records)  # after a record that cannot be shown one is tried, and twice as many each time until the next
        while not rest.is_empty:
            piece = rest.first(count)
            lines: list[str] = []
            fault: Fault | None = None
            try:
                run.text.record_lines(piece, self._contents, self._request.skips_metadata, lines)
            except Fault as problem:
                fault = problem
            shown = len(lines)
            if self._request.profile.deep_shows_batches:
                lines = interleaved(run.text.batch_lines(piece.batches), piece, lines, is_whole=fault is None)
            self.decoding.stand_ins.write("".join(lines), run.out.write)
            if fault is None:
                rest.drop(piece)
                count *= 2
                continue
            run.out.write("\n")
            position = rest.drop_first(shown)
            count = 1
            if not any(fault is one for faults in piece.faults.values() for one in faults.values()):  # reported already
                self._find_in_batch(position, fault)
                self._end_at_damage()

    def _find_in_batch(self, position: int, fault: Fault) -> None:
        self._run.find(f"{self._source.path}, byte {position}", f"{fault.message} ({fault.code})")
