"""Producer snapshots, on their own and compared with the log up to their offset."""

from __future__ import annotations

import os
from itertools import chain, islice

from kdump.binary.batch_header import BATCH_HEADER, BATCH_HEADER_SIZE, MAGIC, PRODUCER_ID
from kdump.binary.checksums import crc32c_for, of_range
from kdump.binary.source import Source
from kdump.checks.catalogue.fault_kind import IGNORE
from kdump.checks.finding import ERROR, ByteCoverage
from kdump.checks.rules.order.misplaced import batch_at, misplaced, report
from kdump.checks.wording import counted
from kdump.formats import file_name, producer_snapshot
from kdump.formats.producer_snapshot import CRC_COVERS_FROM, ENTRY, HEADER, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kdump.checks.context import FileContext
    from kdump.checks.producers import Producers, View
    from kdump.formats.producer_snapshot import ProducerState

_NONE = -1
_DISAGREES = "snapshot-disagrees"
_IDS_AT_ONCE = 1 << 18
"""Producers that are kept to notice one that comes twice. Of more, a part is kept in each pass over the file."""

_MAX_PASSES = 64
_SPREAD, _MAX_UINT64 = 0x9E3779B97F4A7C15, (1 << 64) - 1  # of ids over passes, whatever their step


def check(context: FileContext) -> None:
    """Check one file; each of its bytes is counted once."""
    if context.partition is not None:
        _check_name(context)
    count = _checked_count(context)
    if count is None:
        return
    entries_end = HEADER.size + count * ENTRY.size
    is_sound = _has_good_crc(context, entries_end)
    context.coverage.add(ByteCoverage.INTACT if is_sound else ByteCoverage.SALVAGED, entries_end, batches=count)
    context.coverage.add(ByteCoverage.DAMAGED, context.source.size)
    _check_duplicates(context, count)
    if is_sound and context.partition is not None and context.settings.checks_crcs:
        opened = (state.current_txn_first_offset for state in _states(context, count))
        context.partition.has_open_transactions |= any(first != _NONE for first in opened)
        _Comparison(context, count).run()


def _checked_count(context: FileContext) -> int | None:
    """The number of entries; None if some are missing, and then all bytes are counted."""
    size = context.source.size
    header = context.source.read(0, HEADER.size)
    if len(header) < HEADER.size:
        message = "The file is empty." if not size else f"The file ends inside its header, {size} of {HEADER.size} bytes."
        context.report("snapshot-truncated", 0, size, message, expected=HEADER.size, found=size)
        context.coverage.add(ByteCoverage.DAMAGED, size)
        return None
    version, _, count = HEADER.unpack(header)
    if version != VERSION:
        _check_unknown_version(context, version, count)
        return None
    room = size - HEADER.size
    if 0 <= count <= room // ENTRY.size:
        return int(count)
    whole = room // ENTRY.size
    if not 0 <= count <= room:
        message = f"The file says that it has {counted(count, 'entry', 'entries')}; there is room for {whole:,}."
        context.report("snapshot-count-absurd", CRC_COVERS_FROM, HEADER.size, message, expected=whole, found=count)
    else:
        message = f"The file ends after {whole:,} of {counted(count, 'entry', 'entries')}."
        start = HEADER.size + whole * ENTRY.size
        context.report("snapshot-truncated", start, size, message, expected=HEADER.size + count * ENTRY.size, found=size)
    context.coverage.add(ByteCoverage.SALVAGED, HEADER.size + whole * ENTRY.size, batches=whole)
    context.coverage.add(ByteCoverage.DAMAGED, size)
    return None


def _check_unknown_version(context: FileContext, version: int, count: int) -> None:
    """Report the version; the entries are salvaged where the checksum says that the file is like one of the known version."""
    source = context.source
    is_like_known = HEADER.size + count * ENTRY.size == source.size and _crc(context, source.size) == _stored_crc(context)
    rest = "read as version 1, all of it is sound" if is_like_known else "its entries were not checked"
    message = f"The file has version {version}; only {VERSION} is known; {rest}."
    context.report("snapshot-version-unknown", 0, 2, message, expected=VERSION, found=version)
    if is_like_known:
        context.coverage.add(ByteCoverage.SALVAGED, source.size, batches=count)
    context.coverage.add(ByteCoverage.DAMAGED, source.size)


def _has_good_crc(context: FileContext, entries_end: int) -> bool:
    """Whether the checksum fits the entries; reported if not, and so are bytes after the last of them."""
    source = context.source
    stored = _stored_crc(context)
    is_compared = context.settings.checks_crcs
    of_entries = _crc(context, entries_end) if is_compared else stored
    computed = of_entries
    if entries_end < source.size:
        if is_compared:
            computed = _crc(context, source.size)
        is_covered = stored == computed != of_entries
        message = f"{counted(source.size - entries_end, 'byte follows', 'bytes follow')} the last entry"
        if is_covered:
            message += "; the checksum covers them, so a broker accepts the file."
        elif is_compared and stored == of_entries:
            message += "; the checksum matches without them, but not with them, as a broker computes it."
        else:
            message += "."
        forecast = IGNORE if is_covered else None
        context.report("snapshot-trailing-bytes", entries_end, source.size, message, forecast=forecast)
    if stored in (computed, of_entries):
        return True
    message = f"Stored CRC 0x{stored:08x}, computed 0x{computed:08x}. The entries are shown as they are."
    context.report("snapshot-crc-mismatch", 0, source.size, message, expected=f"0x{computed:08x}", found=f"0x{stored:08x}")
    return False


def _stored_crc(context: FileContext) -> int:
    return int.from_bytes(context.source.read(2, 4), "big")


def _crc(context: FileContext, end: int) -> int:
    return of_range(context.source, CRC_COVERS_FROM, end, crc32c_for(end))


def _check_duplicates(context: FileContext, count: int) -> None:
    passes = max(1, min(_MAX_PASSES, -(-count // _IDS_AT_ONCE)))
    for number in range(passes):
        ids: Iterable[tuple[int, int]] = enumerate(islice(producer_snapshot.ids(context.source), count))
        if passes > 1:
            ids = ((row, one) for row, one in ids if (one * _SPREAD & _MAX_UINT64) * passes >> 64 == number)
        _check_duplicates_among(context, ids)


def _check_duplicates_among(context: FileContext, ids: Iterable[tuple[int, int]]) -> None:
    """Report producers that come twice, given rows and their producers."""
    seen: dict[int, int] = {}
    for row, producer_id in ids:
        if producer_id in seen:
            start = HEADER.size + row * ENTRY.size
            entries = f"entry {seen[producer_id]:,} and again in entry {row:,}"
            message = f"Producer {producer_id:,} is in {entries}; the last one is used."
            context.report("snapshot-duplicate-producer", start, start + ENTRY.size, message, found=producer_id)
        seen[producer_id] = row


def _states(context: FileContext, count: int) -> Iterator[ProducerState]:
    return chain.from_iterable(producer_snapshot.entries(context.source, count))


def _check_name(context: FileContext) -> None:
    """Report a snapshot of an offset at which no segment begins, unless it can be that of the last clean stop."""
    partition, offset = context.partition, context.base_offset
    if partition is None or offset is None or offset < 0:  # of a negative one, the name is reported
        return
    logs = partition.files.logs
    newest = partition.files.newest_snapshot
    if not logs or newest is None or file_name.LOG in partition.files.segments.get(offset, {}):
        return
    if offset > logs[-1] and offset == newest:
        return
    why = f"of an earlier clean stop than that of offset {newest:,}" if offset > logs[-1] else "left over"
    message = f"No segment starts at offset {offset:,}: the snapshot is {why}, and no longer of any use."
    context.report("snapshot-stray", 0, context.source.size, message, offsets=(offset, offset))


class _Comparison:
    """Compares a snapshot with the state of producers in the log up to its offset.

    Only where that log has no gap up to there: state may stem from batches that are not there any more.
    """

    def __init__(self, context: FileContext, count: int) -> None:
        self.context = context
        self.count = count
        self.offset = context.base_offset or 0
        self._moved = 0  # batches of which the offset is reported

    def run(self) -> None:
        partition = self.context.partition
        known = None if partition is None else partition.producers
        if known is None:
            return
        expected = known.state_at(self.offset, producer_snapshot.ids(self.context.source))
        later_id, later_view = known.later_views.pop(self.offset, (None, None))
        if expected is None or not self.count and not expected.missing:
            return  # there is nothing to compare
        start = _start_of_log(known, self.offset)
        is_whole = start == 0 and known.is_complete
        for row, state in enumerate(_states(self.context, self.count)):
            if self._has_moved(state, expected.views.get(state.producer_id), known) or start is None:
                continue
            differences = self._differences(state, expected.views.get(state.producer_id), start, is_whole)
            if differences and state.producer_id == later_id and not self._differences(state, later_view, start, is_whole):
                continue
            if differences:
                position = HEADER.size + row * ENTRY.size
                other = self._other_producer(known, state)
                self._report(state.producer_id, position, position + ENTRY.size, differences, other)
        if start is None:
            return
        for producer_id, first_offset in expected.missing:
            difference = (f"a transaction open since offset {first_offset:,}", "no such producer")
            self._report(producer_id, 0, self.context.source.size, [difference])
        if expected.more:
            what = f"{counted(expected.more, 'more producer')} with an open transaction"
            message = f"The log up to offset {self.offset:,} shows {what}; the snapshot has none of them."
            self.context.report(_DISAGREES, 0, self.context.source.size, message, expected=expected.more, found=0)

    def _has_moved(self, state: ProducerState, view: View | None, known: Producers) -> bool:
        """Whether the last batch of a producer has another offset in the log, where one bit may be wrong; reported if so."""
        _, last_batch, _ = view or (0, None, 0)
        if last_batch is None or last_batch[:2] != (state.producer_epoch, state.last_sequence) or state.last_offset == _NONE:
            return False
        _, _, first, last = last_batch
        is_asked = last != state.last_offset and self._moved < self.context.settings.max_findings
        batch = batch_at(known.continuity.segments, last) if is_asked else None
        right = first + state.last_offset - last
        found = [] if batch is None else misplaced(*batch, self.offset, range(right, right + 1))
        if found:
            self._moved += 1
            name = os.path.basename(self.context.path)
            report(self.context, found, f"{name} has {state.last_offset:,} as the last offset of its producer")
        return bool(found)

    def _differences(self, state: ProducerState, view: View | None, start: int, is_whole: bool) -> list[tuple[str, str]]:
        """The differences: what the log shows, and what the snapshot has instead."""
        if view is None:
            return [("no such producer", f"epoch {state.producer_epoch}")] if is_whole else []
        epoch, last_batch, first_offset = view
        if state.producer_epoch != epoch:
            return [(f"epoch {epoch}", f"epoch {state.producer_epoch}")]
        found = []
        if last_batch is not None and state.last_offset != _NONE:
            last_epoch, last_sequence, _, _ = last_batch
            if last_epoch == epoch and state.last_sequence != last_sequence:
                found.append((f"last sequence {last_sequence:,}", f"last sequence {state.last_sequence:,}"))
        opened = state.current_txn_first_offset
        if first_offset is None and opened != _NONE and opened >= start:
            found.append(("no open transaction", f"one open since offset {opened:,}"))
        elif first_offset is not None and opened == _NONE:
            found.append((f"a transaction open since offset {first_offset:,}", "none"))
        elif first_offset is not None and opened != first_offset and opened >= start:
            found.append((f"a transaction open since offset {first_offset:,}", f"since offset {opened:,}"))
        return found

    def _other_producer(self, known: Producers, state: ProducerState) -> str:
        """Whose batch has the offset of the last one of a producer, as a sentence; empty if it is its own, or not there."""
        batch = batch_at(known.continuity.segments, state.last_offset)
        if batch is None or state.last_offset < 0 or self.context.is_full(_DISAGREES, ERROR):
            return ""
        facts, row = batch
        with Source(facts.path) as source:
            data = source.read(facts.positions[row], BATCH_HEADER_SIZE)
        header = BATCH_HEADER.unpack(data) if len(data) == BATCH_HEADER_SIZE else None
        if header is None or header[MAGIC] != 2 or header[PRODUCER_ID] == state.producer_id:
            return ""
        whose = "no producer" if header[PRODUCER_ID] == _NONE else f"producer {header[PRODUCER_ID]:,}"
        name = os.path.basename(facts.path)
        return (
            f" The batch with its last offset, {state.last_offset:,}, is of {whose} in {name}: that log or the snapshot is of"
            " another partition, or of another time."
        )

    def _report(self, producer_id: int, start: int, end: int, differences: list[tuple[str, str]], other: str = "") -> None:
        expected = ", ".join(difference[0] for difference in differences)
        found = ", ".join(difference[1] for difference in differences)
        message = f"Producer {producer_id:,}: the log up to offset {self.offset:,} shows {expected}; the snapshot has {found}."
        severity = ERROR if other else None
        self.context.report(_DISAGREES, start, end, message + other, severity=severity, expected=expected, found=found)


def _start_of_log(known: Producers, offset: int) -> int | None:
    """The first offset of the log that was read, None where offsets are missing between it and the one given, or damaged."""
    offsets = known.continuity.offsets
    if known.damages or offsets is None:
        return None
    start, last_offset = offsets
    if last_offset + 1 < offset:
        return None
    return start if known.continuity.run_start(offset - 1) == start else None
