"""Commands that repair what was found, with their arguments, quoted for a shell: given only where they help."""

from __future__ import annotations

import os

from kdump.checks import catalogue
from kdump.checks.catalogue import fault_kind
from kdump.checks.finding import ERROR, INFO
from kdump.formats import file_name, tree
from kdump.output.text.steps import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kdump.checks.finding import FileReport, Finding
    from kdump.output.text.steps import Steps

_MAX_COMMANDS = 5  # of a kind
NOT_RECOGNIZED = "file-not-recognized"
_LOG, _UNFINISHED = "log", "leftover-swap"
OPEN_TRANSACTION = "txn-open"
_MISSING = ("index-missing", "timeindex-missing")
"""Findings of a log that say nothing against it."""

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
        self._partitions: dict[str, None] = {}  # directories with companions to rebuild
        self._refused: set[str] = set()  # directories that `kdump reindex` does not take
        self._transactions: dict[tuple[str, int, int], None] = {}  # topic, partition, first offset
        self._open: dict[tuple[str, int, int], None] = {}  # that may end by themselves
        self._path = ""  # of the last finding, and the kinds of findings that this file has
        self._kinds: set[tuple[str, str, bool]] = set()

    def finding(self, finding: Finding, *, is_known: bool = False) -> None:
        action = fault_kind.ABORT if finding.code == OPEN_TRANSACTION else catalogue.FAULTS[finding.code].action
        if action != fault_kind.ABORT and self._is_told(finding, is_known=is_known):
            return
        if finding.code in _WITNESSES:
            self._lacking.add(_segment(finding.path))
            return
        directory = os.path.dirname(finding.path)
        if _is_refused_by_reindex(finding, action):
            self._refused.add(directory)
        if finding.severity != INFO and not is_known and is_mended_by_reindex(finding):
            self._partitions[directory] = None
        is_shown = finding.severity != INFO or finding.code == OPEN_TRANSACTION
        if is_shown and file_name.suffix(finding.path) in file_name.SEGMENT_SUFFIXES:
            self._take_action(finding, action, is_known=is_known)

    def _is_told(self, finding: Finding, *, is_known: bool) -> bool:
        """Whether a finding of this kind in its file has said it already; noted for the next one."""
        if finding.path != self._path:
            self._path, self._kinds = finding.path, set()
        kind = (finding.code, finding.severity, is_known)
        is_told = kind in self._kinds
        self._kinds.add(kind)
        return is_told

    def _take_action(self, finding: Finding, action: str, *, is_known: bool) -> None:
        """Note what is to be done about the segment of a finding."""
        segment = _segment(finding.path)
        if finding.file_type == _LOG and not action and finding.code not in _MISSING:
            self._with_findings.add(segment)
        index = segment + file_name.OFFSET_INDEX
        if action == fault_kind.REBUILD and not is_known and os.path.lexists(index):
            self._indexes[segment] = index
        elif action == fault_kind.ABORT and finding.offset_first is not None and not is_known:
            name = tree.directory_name(os.path.dirname(finding.path) or ".")
            if name is not None and not name.is_going:
                found = self._open if finding.code == OPEN_TRANSACTION else self._transactions
                found[name.topic, name.partition, finding.offset_first] = None

    def file(self, report: FileReport) -> None:
        if report.file_type == _LOG:
            self._whole[_segment(report.path)] = report.bytes_intact == report.size

    def add_steps(self, steps: Steps, recovered: Collection[str], *, is_sound: bool, is_brief: bool = False) -> None:
        """Add commands, each with a comment on what it does. Partitions that are `recovered` get new companions, too.

        If it `is_brief`, one command for each thing.

        Open transactions are a matter only where all else `is_sound`: those of a running broker mostly end by themselves.
        """
        sound = [path for path in self._partitions if path and path not in recovered and self._is_sound_partition(path)]
        for path in sound[:_MAX_COMMANDS]:
            steps.reindex(path)
        if is_brief:
            _add_more(steps, sound, "partition", "partitions")
        made_anew = set(sound if is_brief else ())
        whole = [one for one in self._indexes if self._is_sound(one) and os.path.dirname(one) not in made_anew]
        for segment in whole[:_MAX_COMMANDS]:
            steps.remove(self._indexes[segment], "the log is sound, the next start rebuilds its indexes")
        _add_more(steps, whole, "index", "indexes")
        transactions = list(self._open if is_sound else self._transactions)
        for topic, partition, offset in transactions[:_MAX_COMMANDS]:
            tool = "kafka-transactions.sh --bootstrap-server HOST:9092"
            where = f"--topic {shell_word(topic)} --partition {partition}"
            steps.fill_in(f"{tool} find-hanging {where}", f"does it list the transaction that starts at offset {offset:,}?")
            if is_brief:
                continue
            steps.fill_in(f"{tool} abort {where} --start-offset {offset}", "if it does; brokers from 3.0 on")
        _add_more(steps, transactions, "transaction", "transactions")

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

    def _is_sound_partition(self, path: str) -> bool:
        """Whether all logs of a directory are sound, and none has an error that new companions do not mend."""
        segments = [segment for segment in self._whole if os.path.dirname(segment) == path]
        return path not in self._refused and bool(segments) and all(map(self._is_sound, segments))

    def _is_damaged(self, segment: str) -> bool:
        return segment in self._with_findings or not self._whole.get(segment, True)


def _is_refused_by_reindex(finding: Finding, action: str) -> bool:
    """Whether `kdump reindex` does not take a partition with this finding: its log is damaged, or goes by another name."""
    is_of_log = finding.severity == ERROR and finding.file_type == _LOG and action != fault_kind.REBUILD
    is_renamed = finding.code == NOT_RECOGNIZED and bool(finding.found) and tree.missing_log(finding.path) is not None
    return is_of_log or is_renamed or finding.code == _UNFINISHED


def is_mended_by_reindex(finding: Finding) -> bool:
    """Whether a finding is about a companion that is wrong or missing, beside a log that may be sound."""
    if finding.code in _MISSING:
        return True
    name = os.path.basename(finding.path)
    is_of_segment = file_name.suffix(name) in file_name.SEGMENT_SUFFIXES and finding.file_type != _LOG
    is_companion = is_of_segment or name == tree.LEADER_EPOCHS
    is_rebuilt = is_companion or catalogue.FAULTS[finding.code].action == fault_kind.REBUILD
    return is_rebuilt and finding.severity != INFO


def _segment(path: str) -> str:
    """The path of a file without its suffix: what the files of one segment have in common."""
    return path.removesuffix(file_name.suffix(path))


def _add_more(steps: Steps, found: Sequence[object], one: str, several: str) -> None:
    more = len(found) - _MAX_COMMANDS
    if more > 0:
        steps.count_more(f"and {more:,} more {one if more == 1 else several} like this; --all lists each")
