"""What a check found in one directory: its files, its findings, what consumers cannot read, what a restart would do."""

from __future__ import annotations

from kdump.checks.catalogue import fault_kind
from kdump.checks.finding import INFO, NO_OFFSET, SEVERITIES
from kdump.checks.wording import counted, offset_range
from kdump.formats import file_name
from kdump.output.text.sizes import size_text
from kdump.verdicts.unreadable import UnreadableOffsets
from kdump.verdicts.verdict import NOT_REPLAYED, START_LEAVES_DAMAGE, START_LOSES, sound_word, unreplayed_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdump.checks.finding import FileReport, Finding, Start

_LOG = "log"
_MAPS = 20  # files of one directory that are drawn
_SAY_IT_THEMSELVES = (START_LOSES, START_LEAVES_DAMAGE, "dir-odd", "leftover-swap", "partition-metadata-bad")
"""Findings whose message is what a start does."""
_MAX_LOST_RANGES = 6  # of offsets that consumers cannot read


class Directory:
    """What is known of one directory."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.files = self.segments = self.batches = self.size = self.records_not_read = 0
        self._is_replayed = True
        self.first_offset = self.last_offset = NO_OFFSET
        self.counts: dict[str, int] = {}
        self.restarts: dict[str, list[Finding]] = {}
        self.starts: list[Start] = []
        self._unreadable = UnreadableOffsets()
        self._log_names: list[str] = []
        self._drawn: list[FileReport] = []

    @property
    def rank(self) -> tuple[int, ...]:
        """The larger, the worse."""
        return tuple(self.counts.get(severity, 0) for severity in SEVERITIES)

    def add_finding(self, finding: Finding) -> None:
        severity = finding.severity
        self.counts[severity] = self.counts.get(severity, 0) + 1
        self._unreadable.add(finding)
        if severity != INFO and finding.code not in _SAY_IT_THEMSELVES:
            word = finding.broker_forecast.partition(" ")[0].rstrip(":,;")
            kept = self.restarts.setdefault(word, [])
            if len(kept) < _MAPS and not any(known.path == finding.path for known in kept):
                kept.append(finding)

    @property
    def unreadable(self) -> int:
        """How many offsets consumers cannot read."""
        return self._unreadable.total

    def unreadable_text(self) -> str:
        """How many offsets consumers cannot read, and which."""
        found = self._unreadable.ranges
        ranges, of_all, count = found.merged(), "", found.total
        if self.first_offset != NO_OFFSET:
            first, last = min(self.first_offset, ranges[0][0]), max(self.last_offset, ranges[-1][1])
            count = last - first + 1
            of_all = f" of {count:,}"
        least = "at least " if self._unreadable.is_least else ""
        offsets = found.text("offset", _MAX_LOST_RANGES).partition(" ")[2]
        noun = "offset" if count == 1 else "offsets"
        where = f"{', among' if self._unreadable.among else ':'} {offsets}"
        return f"consumers cannot read {least}{self._unreadable.total:,}{of_all} {noun}{where}."

    def add_file(self, report: FileReport) -> None:
        self.files += 1
        self.size += report.size
        self.records_not_read += report.records_not_read
        self._is_replayed = self._is_replayed and unreplayed_in(report) is None
        if report.file_type == _LOG:
            self.segments += 1
            self.batches += report.batches_intact + report.batches_salvaged + report.batches_lost
            self._log_names.append(report.path.rpartition("/")[2])
            if report.first_offset != NO_OFFSET:
                is_first = self.first_offset == NO_OFFSET or report.first_offset < self.first_offset
                self.first_offset = report.first_offset if is_first else self.first_offset
                self.last_offset = max(self.last_offset, report.last_offset)
        hurts = report.bytes_damaged or report.bytes_zero or report.bytes_salvaged
        if (hurts or report.file_type == _LOG and report.bytes_not_examined) and len(self._drawn) < _MAPS:
            self._drawn.append(report)

    def drawn(self) -> list[FileReport]:
        """The files to draw, in the order of their names: those that are not intact."""
        return sorted(self._drawn, key=lambda report: report.path)

    def about(self) -> str:
        """What the directory holds, in a line."""
        if not self.files:
            return "not examined"
        parts = [
            counted(self.segments, "segment") if self.segments else counted(self.files, "file"),
            size_text(self.size),
        ]
        if self.first_offset != NO_OFFSET:
            parts.append(offset_range(self.first_offset, self.last_offset))
        return ", ".join(parts)

    def verdict(self, level: str) -> str:
        """How many findings of each severity, the worst first; without findings, what a check at this level says."""
        found = ", ".join(counted(self.counts[word], word) for word in SEVERITIES if word in self.counts)
        if found:
            return found
        word = sound_word(level, self.records_not_read)
        return word if self._is_replayed else f"{word}; {NOT_REPLAYED}"

    def restart(self, word: str) -> str:
        """Where a restart would do what this word says, and what that would cost if it is known."""
        findings = sorted(self.restarts[word], key=lambda finding: finding.path)
        first = findings[0]
        name = first.path.rpartition("/")[2]
        if word != fault_kind.CUT or not first.path.endswith(file_name.LOG):
            more = f" and {counted(len(findings) - 1, 'more file')}" if len(findings) > 1 else ""
            return first.path + more
        text = f"{first.path} at byte {first.start:,}"
        if first.offset_first is not None:
            text += f", offset {first.offset_first:,}"
            if self.last_offset >= first.offset_first:
                text += f"; {counted(self.last_offset - first.offset_first + 1, 'offset')} from there on"
        later = sum(other > name for other in self._log_names)
        if later:
            text += f"; {counted(later, 'later segment')}"
        return text


def worst_first(directories: Iterable[Directory]) -> list[Directory]:
    """Directories by their findings, those with most of the worst severity first."""
    return sorted(directories, key=lambda directory: directory.rank, reverse=True)
