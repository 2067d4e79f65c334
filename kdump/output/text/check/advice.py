"""Commands that repair what was found, with their arguments, quoted for a shell: given only where they help."""

from __future__ import annotations

import os

from kdump.checks import catalogue
from kdump.checks.catalogue import fault_kind
from kdump.checks.finding import INFO
from kdump.formats import file_name, tree
from kdump.output.text.mending import command_to_reindex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kdump.checks.finding import FileReport, Finding

_MAX_COMMANDS = 5  # of a kind
_LOG = "log"
_WITNESSES = ("index-position-past-log", "timeindex-offset-not-found", "index-orphan", "offset-gap")
"""Findings that suggest that the log lacks batches: its indexes are evidence of these, and must stay."""


class Advice:
    """Collects the findings and files of a check, then says what to type."""

    def __init__(self, *, proves_logs: bool = True) -> None:
        """`proves_logs` says that the check reads all bytes of logs, so that a log without findings is sound."""
        self._proves_logs = proves_logs
        self._with_findings: set[str] = set()  # paths of segments, without a suffix, whose log has findings
        self._lacking: set[str] = set()  # segments whose log may lack batches
        self._whole: dict[str, bool] = {}  # whether all bytes of a log are intact
        self._indexes: dict[str, str] = {}  # by segment: its offset index, which has to be rebuilt
        self._transactions: dict[tuple[str, int, int], None] = {}  # topic, partition, first offset
        self._path = ""  # of the last finding, and the kinds of findings that this file has
        self._kinds: set[tuple[str, str, bool]] = set()

    def finding(self, finding: Finding, *, is_known: bool = False) -> None:
        action = catalogue.FAULTS[finding.code].action
        if action != fault_kind.ABORT:  # one of its kind in the file says all
            kind = (finding.code, finding.severity, is_known)
            if finding.path != self._path:
                self._path, self._kinds = finding.path, set()
            if kind in self._kinds:
                return
            self._kinds.add(kind)
        if finding.code in _WITNESSES:
            self._lacking.add(_segment(finding.path))
            return
        if finding.severity == INFO or file_name.suffix(finding.path) not in file_name.SEGMENT_SUFFIXES:
            return
        if finding.file_type == _LOG and not action:
            self._with_findings.add(_segment(finding.path))
        index = _segment(finding.path) + file_name.OFFSET_INDEX
        if action == fault_kind.REBUILD and not is_known and os.path.lexists(index):
            self._indexes[_segment(finding.path)] = index
        elif action == fault_kind.ABORT and finding.offset_first is not None and not is_known:
            name = tree.directory_name(os.path.dirname(finding.path) or ".")
            if name is not None and not name.is_going:
                self._transactions[name.topic, name.partition, finding.offset_first] = None

    def file(self, report: FileReport) -> None:
        if report.file_type == _LOG:
            self._whole[_segment(report.path)] = report.bytes_intact == report.size

    def steps(self) -> Iterator[str]:
        """Commands, one a line, each with a comment on what it does."""
        import shlex

        whole = [segment for segment in self._indexes if self._is_sound(segment)]
        for segment in whole[:_MAX_COMMANDS]:
            index = shlex.quote(os.path.join(".", self._indexes[segment]) if segment.startswith("-") else self._indexes[segment])
            yield f"rm {index}   # with the broker stopped; the log is sound, the next start rebuilds its indexes"
        yield from _more(whole, "index", "indexes")
        for path in list(dict.fromkeys(os.path.dirname(segment) for segment in whole))[:_MAX_COMMANDS]:
            if tree.directory_name(path or ".") is not None and all(map(self._is_sound_in(path), self._whole)):
                yield command_to_reindex(path)
        for topic, partition, offset in list(self._transactions)[:_MAX_COMMANDS]:
            tool = "kafka-transactions.sh --bootstrap-server HOST:9092"
            where = f"--topic {shlex.quote(topic)} --partition {partition}"
            yield f"{tool} find-hanging {where}   # if it lists the transaction that starts at {offset}, then"
            yield f"{tool} abort {where} --start-offset {offset}   # brokers from 3.0 on"
        yield from _more(list(self._transactions), "transaction", "transactions")

    def rebuild(self) -> str:
        """What to do about indexes, if it is the same for all that were found; empty if it differs."""
        if not self._indexes:
            return ""
        if all(map(self._is_sound, self._indexes)):
            return (
                "stop the broker and delete the segment's .index, as below: its log is sound, the next start rebuilds all its "
                "indexes from it"
            )
        if all(map(self._is_damaged, self._indexes)):
            return (
                "leave the .index for now: the segment's log is not sound, and a start without the index scans it and cuts "
                "it at its damage. Take care of the log first"
            )
        return ""

    def _is_sound(self, segment: str) -> bool:
        is_whole = self._whole.get(segment, False) and segment not in self._with_findings
        return self._proves_logs and is_whole and segment not in self._lacking

    def _is_sound_in(self, path: str) -> Callable[[str], bool]:
        """What says of a segment that it is sound, or in another directory."""
        return lambda segment: os.path.dirname(segment) != path or self._is_sound(segment)

    def _is_damaged(self, segment: str) -> bool:
        return segment in self._with_findings or not self._whole.get(segment, True)


def _segment(path: str) -> str:
    """The path of a file without its suffix: what the files of one segment have in common."""
    return path.removesuffix(file_name.suffix(path))


def _more(found: Sequence[object], one: str, several: str) -> Iterator[str]:
    more = len(found) - _MAX_COMMANDS
    if more > 0:
        yield f"# and {more:,} more {one if more == 1 else several} like this; --all lists each"
