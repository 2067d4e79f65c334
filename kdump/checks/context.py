"""Takes what rules report, and makes findings of it, with evidence and within limits."""

from __future__ import annotations

import functools
import os

from kdump.binary.source import NoSource
from kdump.checks import catalogue
from kdump.checks.catalogue.fault_kind import CUT, IGNORE, RESCAN, SPLIT, WIPE
from kdump.checks.finding import AMONG, ESTIMATED, EXACT, INFO, MAX_EVIDENCE, NONE, SEVERITIES, ByteCoverage, Finding
from kdump.checks.live_source import LiveSource
from kdump.checks.missing_offsets import MissingOffsets
from kdump.checks.topic_policy import policy_of
from kdump.formats import file_name, tree
from kdump.reading.items import BY_LENGTH, BY_REPAIRED_LENGTH
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from kdump.binary.source import Source
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.checks.settings import Settings
    from kdump.checks.topic_policy import TopicPolicy
    from kdump.formats.record_batch import RecordBatch

    Words = Callable[[tuple[int, int] | None, bool], str]
    """Makes a message, given the offsets that are missing, None if these are not known, and whether they are those claimed."""

    class Details(TypedDict, total=False):
        """Details of a finding that are passed on to `FileContext.report` as they are given."""

        severity: str | None
        expected: object
        found: object
        forecast: str | None


_PAGE, _SECTOR = 4096, 512
_MIN_OFFSET, _MAX_OFFSET = -(1 << 63), (1 << 63) - 1  # sums of damaged numbers may lie beyond
_SNAPSHOT, _OF_SEGMENTS = "checkpoint", (CUT, RESCAN, SPLIT, WIPE)  # a start does nothing of that to a snapshot of KRaft
_TAILS = ("torn-tail", "torn-header", "zero-tail")  # what the end of a file looks like while a broker writes to it


class FileContext:
    """One file under check: its bytes and their coverage. Its findings go to `emit`.

    `is_newest` is True for the last segment of a partition, to which a broker may still append; None where the
    neighbours are not known. `segment` is what the log beside this file says, where it was read; `partition` what is known of
    the directory, where it is checked as one.
    """

    def __init__(
        self,
        source: Source,
        path: str,
        file_type: str,
        settings: Settings,
        emit: Callable[[Finding], None],
        *,
        base_offset: int | None = None,
        is_newest: bool | None = None,
        segment: SegmentFacts | None = None,
        partition: PartitionFacts | None = None,
    ) -> None:
        self.segment = segment
        self.partition = partition
        self.source = source
        self.path = path
        self.file_type = file_type
        self.settings = settings
        self.base_offset = base_offset
        self.is_newest = is_newest
        self.coverage = ByteCoverage(source.size)
        self._emit = emit
        self._counts: dict[str, int] = {}
        self._worst: dict[str, str] = {}
        self._suppressed: dict[str, Further] = {}
        self._segment_read: SegmentFacts | None = None  # while findings about it may wait for its end
        self._held: list[_Held] = []

    @functools.cached_property
    def topic_policy(self) -> TopicPolicy:
        """What is known of the configuration of its topic. Takes its time: the metadata log beside it is read."""
        return self.partition.topic_policy if self.partition is not None else policy_of(tree.parent(self.path), self.settings)

    @property
    def next_base_offset(self) -> int | None:
        """The base offset of the next segment, if the neighbours are known."""
        base_offset, partition = self.base_offset, self.partition
        if partition is None or base_offset is None or self.file_type != "log":
            return None
        return partition.files.next_log(base_offset)

    @property
    def is_part_of_log(self) -> bool:
        """Whether this is a segment of a partition, and no log that was named itself or has an unusual name."""
        if self.partition is None or self.base_offset is None:
            return False
        names = self.partition.files.segments.get(self.base_offset, {})
        return names.get(file_name.LOG) == os.path.basename(self.path)

    def report(
        self,
        code: str,
        start: int,
        end: int,
        message: str,
        *,
        severity: str | None = None,
        offsets: tuple[int, int] | None = None,
        is_estimated: bool = False,
        expected: object = None,
        found: object = None,
        resync: str = NONE,
        skipped: int = 0,
        forecast: str | None = None,
        words: Words | None = None,
        header: RecordBatch | None = None,
    ) -> None:
        """Report the fault `code` in these bytes. Severity and forecast are those of the catalogue unless given.

        If `words` are given, `offsets` are those that the bytes claim: what is reported are those that are missing there
        according to the batches around (`hold`), and the words make the message. `header` is what claims them.

        Pedantic findings, and those beyond `max_findings` of one code, are not reported: `finish` counts the latter.
        """
        fault, size = catalogue.FAULTS[code], self.source.size
        severity = severity or fault.severity
        start, end = max(0, min(start, size)), max(0, min(end, size))
        if code in _TAILS and end >= size and self._is_active():
            severity = INFO
        if code != "finding-flood" and self.counts_only(code, start, end, severity):
            return
        self._counts[code] = self._counts.get(code, 0) + 1
        if _is_worse(severity, self._worst.get(code, INFO)):
            self._worst[code] = severity
        offset_first, offset_last = (None, None) if offsets is None else offsets
        if offsets is not None and not _MIN_OFFSET <= min(offsets) <= max(offsets) <= _MAX_OFFSET:
            offset_first, offset_last = map(_bounded, offsets)
        alignment = next(size for size in (_PAGE, _SECTOR, 1) if not (start | end) % size)
        finding = Finding(
            code,
            severity,
            self.path,
            self.file_type,
            start,
            end,
            offset_first,
            offset_last,
            None if offsets is None else ESTIMATED if is_estimated else EXACT,
            None if expected is None else str(expected),
            None if found is None else str(found),
            self.source.read(start, min(end - start, MAX_EVIDENCE)).hex() or None,
            alignment,
            resync,
            skipped,
            forecast or (IGNORE if self.file_type == _SNAPSHOT and fault.forecast in _OF_SEGMENTS else fault.forecast),
            message,
        )
        if self._segment_read is not None and (words is not None or is_estimated and skipped or self._held):
            self._held.append(_Held(finding, offsets, header, words))
        else:
            self._emit(finding)

    def hold(self, facts: SegmentFacts) -> None:
        """Let findings about skipped bytes wait, and all after them, until it is known which offsets are missing (`release`)."""
        self._segment_read = facts

    def release(self) -> None:
        """Report what waits: the segment was read, or no more of it can be."""
        facts, self._segment_read = self._segment_read, None
        held, self._held = self._held, []
        if facts is None or not held:
            return
        damaged = [one for one in held if one.words and one.claimed and one.finding.resync == BY_LENGTH]
        damaged.sort(key=lambda one: one.finding.start)
        claims = [(one.finding.start, one.finding.end, one.claimed) for one in damaged if one.claimed]
        missing = MissingOffsets(facts, self.next_base_offset, claims)
        for one, claimed in zip(damaged, missing.settled(), strict=True):
            one.claimed = claimed
        for one in held:
            finding = one.finding
            if one.words is not None:
                is_one_batch = finding.resync in (BY_LENGTH, BY_REPAIRED_LENGTH)
                offsets, is_claimed, is_least = missing.of(
                    finding.start, finding.end, one.claimed, one.header, is_one_batch=is_one_batch
                )
                finding.offset_first, finding.offset_last = (None, None) if offsets is None else offsets
                if not is_claimed:
                    finding.offset_certainty = None if offsets is None else self._certainty(finding, missing)
                elif is_least:
                    finding.offset_certainty = AMONG
                finding.message = one.words(offsets, is_claimed)
            elif finding.offset_certainty == ESTIMATED and finding.skipped:
                finding.offset_certainty = self._certainty(finding, missing)
            self._emit(finding)

    def _certainty(self, finding: Finding, missing: MissingOffsets) -> str:
        """Whether all offsets that are missing at a place may have been there, or compaction removed some."""
        if finding.offset_first == finding.offset_last:
            return ESTIMATED  # whatever is there has it
        policy = self.topic_policy
        return AMONG if policy.is_compacted or policy.may_be_compacted and missing.has_gaps else ESTIMATED

    def tick(self, position: int) -> None:
        """Record the position of the check. Raises CheckAborted when the time for this file is over."""
        if isinstance(self.source, LiveSource):
            self.source.tick(position)

    def is_unreadable(self, start: int, end: int) -> bool:
        """Whether some of these bytes, or those next to them, cannot be read from the device."""
        source = self.source
        return isinstance(source, LiveSource) and any(first <= end and start <= last for first, last in source.bad_ranges)

    @property
    def has_flood(self) -> bool:
        """Whether findings of some code are only counted."""
        return bool(self._suppressed)

    def _is_active(self) -> bool:
        """Whether a broker is appending to this file."""
        return self.is_newest is not False and isinstance(self.source, LiveSource) and self.source.is_growing()

    def is_full(self, code: str, severity: str | None = None) -> bool:
        """Whether further findings of this code are only counted, and need no message: those of its severity in the catalogue.

        The same for another severity, if it is given.
        """
        severity = severity or catalogue.FAULTS[code].severity
        if self._is_unwanted(code, severity):
            return True
        if self._counts.get(code, 0) < self.settings.max_findings:
            return False
        return not _is_worse(severity, self._worst.get(code, INFO))

    def counts_only(self, code: str, start: int, end: int, severity: str | None = None) -> bool:
        """Whether a finding of this code needs no message; if so, it is counted here. Its severity is as `is_full` says."""
        severity, further = severity or catalogue.FAULTS[code].severity, self._suppressed.get(code)
        if further is not None and self._worst.get(code, INFO) == severity:  # as often before
            further.add(1, start, end)
            return True
        is_full = self.is_full(code, severity)
        if is_full and not self._is_unwanted(code, severity):
            self.count_further(code, 1, start, end)
        return is_full

    def _is_unwanted(self, code: str, severity: str) -> bool:
        """Whether a finding is not even counted."""
        return severity == INFO and catalogue.FAULTS[code].is_pedantic and not self.settings.is_pedantic

    def count_further(self, code: str, count: int, start: int, end: int) -> None:
        """Count findings of a code that `is_full`: the first starts at `start`, the last ends at `end`."""
        if code not in self._suppressed:
            self._suppressed[code] = Further(start, end)
        self._suppressed[code].add(count, start, end)

    def finish(self) -> None:
        """Report the number of findings that were too many to be reported one by one."""
        suppressed, self._suppressed = self._suppressed, {}
        for code, further in suppressed.items():
            count, first, last = further.count, further.first, further.last
            findings = "finding" if count == 1 else "findings"
            where = f"between bytes {first:,} and {last:,}" if last > first else f"at byte {first:,}"
            message = f"{count:,} more {findings} of {code} in this file, {where}."
            self.report("finding-flood", first, last, message, found=count)


class _Held(Declared):
    """A finding that waits. If it has `words`, its offsets are still claims."""

    finding: Finding
    claimed: tuple[int, int] | None
    header: RecordBatch | None
    words: Words | None


class Further(Declared):
    """Findings of one code that are only counted, and where the first of them starts and the last ends."""

    first: int
    last: int
    count: int = 0

    def add(self, count: int, start: int, end: int) -> None:
        """Count more of them: the first starts at `start`, the last ends at `end`."""
        self.count += count
        if start < self.first:
            self.first = start
        if end > self.last:
            self.last = end


def _is_worse(severity: str, than: str) -> bool:
    return SEVERITIES.index(severity) < SEVERITIES.index(than)


def _bounded(offset: int) -> int:
    """The nearest offset that 64 bits hold."""
    return max(_MIN_OFFSET, min(offset, _MAX_OFFSET))


def context_in(partition: PartitionFacts, name: str = "") -> FileContext:
    """The context for findings about a file that is not open or does not exist; without a name, about the directory."""
    path = os.path.join(partition.path, name) if name else partition.path
    file_type = os.path.splitext(name)[1].removeprefix(".") or name or "directory"
    return FileContext(NoSource(path), path, file_type, partition.settings, partition.emit, partition=partition)
