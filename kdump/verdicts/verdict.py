"""The verdict on files: one word or several, the worst first, each with its reasons, and the exit code that follows."""

from __future__ import annotations

import os

from kdump import exit_codes
from kdump.binary.paths import absolute
from kdump.checks import catalogue
from kdump.checks.catalogue.fault_kind import DIE, OFFLINE, STRAY
from kdump.checks.finding import ERROR, SEVERITIES, FileReport, Finding, Start
from kdump.checks.settings import DEEP, FULL, HEADERS, QUICK
from kdump.checks.wording import counted
from kdump.formats import file_name, tree
from kdump.verdicts.unreadable import FLOOD, UnreadableOffsets, keeps_from_reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kdump.forecasts.row import Forecast
    from kdump.tables import Row

DOES_NOT_START, LOSES_AT_START, STUCK = "does not start", "loses at start", "stuck"
UNREADABLE, DAMAGED, NOT_EXAMINED, FINE = "unreadable", "damaged", "not examined", "fine"
WORDS = (DOES_NOT_START, LOSES_AT_START, UNREADABLE, DAMAGED, STUCK, NOT_EXAMINED, FINE)
"""The worst first. Nothing is lost while a broker `does not start`; `unreadable` are records, `damaged` is what keeps nobody
from reading; `stuck` are readers, at what is not damaged. Several may apply at once; `fine` only alone, and only to what was
read to the last record."""

INTACT = {
    HEADERS: "nothing wrong in the headers that were read",
    QUICK: "headers intact",
    FULL: "headers and CRCs intact",
    DEEP: FINE,
}
"""The word instead of `fine`, by the level of the check, where records were not read."""

NOTHING_LOST = "nothing lost at start"
"""The word of a forecast instead of `fine`: it is about the start alone."""

NOT_READ, NOT_REPLAYED = "records not read", "records not replayed"
"""What a verdict leaves open besides; the second of a metadata log, whose records a node replays when it starts."""

START_LOSES, START_LEAVES_DAMAGE = "start-loses", "start-leaves-damage"
"""The faults reported for an unsafe start if no other finding fails."""

_FAILS = "fails"
LOSING = (_FAILS, "loss", "trap", "unsure")
"""The verdicts on a start that lose records, or have them overwritten, or serve none; or may, where it depends."""

_END_STARTS = (
    *("checkpoint-bad-batch", "checkpoint-no-header", "log-dir-file-bad", "dir-odd", "partition-metadata-bad"),
    *("quorum-state-bad", "snapshot-gap-metadata"),
)
"""Faults of single files and names that end each start in the same way, whatever the logs contain."""

_NOT_COMPARED = {QUICK: "indexes not compared with logs, ", HEADERS: "checksums not verified, "}
"""What a check of these levels leaves out, besides records."""

_OPEN_TRANSACTION, _NOT_RECOGNIZED = "txn-open", "file-not-recognized"
_ORPHANED = "index-orphan"
_NO_CLUSTER = "cluster-id-missing"
_NOT_KAFKAS = "files that are not Kafka's"
NO_PROPERTIES, NO_PARTITION = "meta-properties-missing", "partition-missing"
_EXCEPTIONS = {
    NO_PROPERTIES: "a log directory without meta.properties",
    _ORPHANED: "segments of which only indexes are left",
    _NO_CLUSTER: "a broker with KRaft, which does not start without a cluster.id",
    NO_PARTITION: "partitions that only checkpoints name",
    _NOT_RECOGNIZED: _NOT_KAFKAS,
}
"""What a verdict says of codes of which nothing is known to be wrong."""

_DIRECTORY = "directory"  # the type of a finding that is about one
_STUCK = ("txn-hanging", "txn-marker-missing")
_MAX_REASONS = 20
_WITH_RECORDS = ("log", "checkpoint")  # types of files; checkpoints are the snapshots of metadata


class Verdict:
    """Collects findings, reports and starts, and sums them up.

    `failing` are the severities that count: a finding of these is a reason. `level` is that of the check,
    None for forecasts.
    """

    def __init__(self, failing: Sequence[str] = (ERROR,), *, level: str | None = DEEP) -> None:
        self._level = level
        self._unread = 0  # records
        self._verb = "read"
        self._is_more_unread = False
        self._unreplayed: dict[str, None] = {}  # the names of directories
        self._failing = frozenset(failing)
        self._found: dict[str, dict[tuple[str, str], int]] = {word: {} for word in WORDS}  # how often, by word, place and reason
        self._others = dict.fromkeys(SEVERITIES, 0)  # findings that do not count
        self._known = self._left_out = 0
        self._starts_left_out = False
        self._starts_not_forecast = 0
        self._is_anything = False
        self._open_transactions = 0  # that may end by themselves
        self._exceptions: set[str] = set()  # codes
        self._naming: set[str] = set()  # log directories whose checkpoints name partitions that are missing
        self._with_partitions: set[str] = set()  # directories with directories of files
        self._unreadable: dict[str, UnreadableOffsets] = {}  # by directory
        self._lost: dict[str, int] = {}  # records, by the reason that names the start
        self._unreadable_besides = 0  # records
        self._is_more_unreadable = False
        self._files_left = self._bytes_left = 0  # that were not examined
        self._marked_left = 0  # of these: brokers are about to delete them; all others are not Kafka's

    def add(self, row: Row) -> None:
        """Add a row of a check: a finding, the report of a file, or a start."""
        if isinstance(row, Finding):
            self.add_finding(row)
        elif isinstance(row, FileReport):
            self.add_file(row)
        elif isinstance(row, Start):
            self.add_start(row)

    def add_finding(self, finding: Finding, *, is_known: bool = False) -> None:
        """Add a finding. One that `is_known` from the baseline is counted, but is not a reason."""
        self._is_anything |= is_of_kafka(finding)
        if finding.code == FLOOD and (unreadable := self.unreadable_in(os.path.dirname(finding.path))):
            unreadable.add(finding)
        if is_known:
            self._known += 1
        elif finding.severity == ERROR and catalogue.FAULTS[finding.code].leaves_unexamined:
            self._add_reason(NOT_EXAMINED, finding.code, place=finding.path)
        elif finding.severity not in self._failing:
            self._others[finding.severity] += 1
            self._open_transactions += finding.code == _OPEN_TRANSACTION
            self.make_exception(finding.code)
            if finding.code == NO_PARTITION:
                self._naming.add(os.path.dirname(finding.path))
        elif finding.code == START_LOSES or ends_all_starts(finding):
            word = DOES_NOT_START if fails_to_start(finding.broker_forecast) else LOSES_AT_START
            self._add_reason(word, f"{finding.path}: {finding.message}")
        elif keeps_from_reading(finding):
            place = os.path.dirname(finding.path)
            self._add_reason(UNREADABLE, finding.code, place=place or finding.path)
            self._unreadable.setdefault(place, UnreadableOffsets()).add(finding)
        else:
            place = finding.path if finding.file_type == _DIRECTORY else os.path.dirname(finding.path) or finding.path
            self._add_reason(_word_of(finding.code), finding.code, place=place)

    def make_exception(self, code: str) -> None:
        """Let the verdict, if nothing is wrong, except what a finding of this code is about, if it is such a code."""
        if code in _EXCEPTIONS:
            self._exceptions.add(code)

    def leave_out(self) -> None:
        """Count a finding that --select or --ignore leaves out."""
        self._is_anything = True
        self._left_out += 1

    def leave_out_start(self, start: Start) -> None:
        """Note a start that loses, but is no reason: the words say so."""
        self._starts_left_out |= start.verdict in LOSING

    def add_findings(self, code: str, severity: str, count: int, *, fails: int = 0, unreadable: int = 0) -> None:
        """Add a number of findings of one code. With `fails` of them a broker does not start, `unreadable` of them keep consumers
        from records."""
        self._is_anything |= code != _NOT_RECOGNIZED
        self._is_more_unreadable |= code == FLOOD
        if severity == ERROR and catalogue.FAULTS[code].leaves_unexamined:
            self._add_reason(NOT_EXAMINED, code, count)
        elif severity in self._failing:
            if fails:
                self._add_reason(DOES_NOT_START, code, fails)
            if unreadable:
                self._add_reason(UNREADABLE, code, unreadable)
            if count > fails + unreadable:
                self._add_reason(_word_of(code), code, count - fails - unreadable)
        else:
            self._others[severity] += count
            self.make_exception(code)

    def add_file(self, report: FileReport) -> None:
        """Add the report of a file."""
        self._is_anything |= is_of_kafka(report)
        self._with_partitions.add(os.path.dirname(os.path.dirname(report.path)))
        self.leave_unread(report.records_not_read, is_least=report.are_more_not_read)
        unreplayed = unreplayed_in(report)
        if unreplayed is not None:
            self.leave_unreplayed(unreplayed)
        name = os.path.basename(report.path)
        if report.bytes_not_examined and name not in file_name.UNCHECKED:
            self._files_left += 1
            self._marked_left += file_name.is_going(name)
            self._bytes_left += report.bytes_not_examined

    def leave_unread(self, records: int, *, is_least: bool = False, verb: str = "read") -> None:
        """Count records that were not read; if it `is_least`, there are more. `verb` is what was not done with them."""
        self._unread += records
        self._verb = verb
        self._is_more_unread |= is_least

    def count_unreadable(self, records: int, *, is_least: bool) -> None:
        """Count records that consumers cannot read, of findings that are only counted."""
        self._unreadable_besides += records
        self._is_more_unreadable |= is_least

    def leave_unreplayed(self, name: str) -> None:
        """Note a metadata log: its records were not replayed."""
        self._unreplayed[name] = None

    def leave_starts(self, count: int) -> None:
        """Count directories whose starts were not forecast, because that takes too long."""
        self._starts_not_forecast += count

    def add_files(self, count: int) -> None:
        """Add a number of files without reports."""
        self._is_anything = self._is_anything or count > 0

    def add_start(self, start: Start) -> None:
        """Add a possible next start of a directory with findings: it may be worse than those."""
        if start.verdict in LOSING:
            from kdump.forecasts.sentences import one_stop  # slow to load

            word = DOES_NOT_START if start.verdict == _FAILS else LOSES_AT_START
            reason = f"{start.path}, after {one_stop(start)}: {start.message}"
            self._lost[reason] = start.lost_records
            self._add_reason(word, reason)

    def add_forecasts(self, rows: Iterable[Forecast]) -> None:
        """Add forecasts of a directory: what starts lose, and damage that they cut off or leave."""
        from kdump.checks.rules.directories.offset_checkpoints import LACKS_PROPERTIES, OF_ZOOKEEPER  # slow to load
        from kdump.forecasts.sentences import stop, summary, verdict

        for row in rows:
            self._is_anything = True
            for condition, code in ((LACKS_PROPERTIES, NO_PROPERTIES), (OF_ZOOKEEPER, _NO_CLUSTER)):
                if condition in row.conditions:
                    self.make_exception(code)
            if row.is_missing and row.is_doubtful:
                self.fail_to_examine(f"{row.path}: {row.conditions[0]}")
                continue
            for holds, code in ((row.is_missing, NO_PARTITION), (row.orphans, _ORPHANED)):
                if holds:
                    self.make_exception(code)
            if row.is_of_metadata:
                self.leave_unreplayed(os.path.basename(absolute(row.path)))
            if not row.is_sound:
                of_start = verdict(row)
                fails = of_start == _FAILS or row.is_denied
                word = DOES_NOT_START if fails else LOSES_AT_START if of_start in LOSING else UNREADABLE
                self._add_reason(word, f"after {stop([row])}: {summary(row)}")

    def fail_to_examine(self, reason: str) -> None:
        """Record that something could not be examined."""
        self._add_reason(NOT_EXAMINED, reason)

    def __repr__(self) -> str:
        return f"<kdump.Verdict: {self.text}; exit code {self.exit_code}>"

    @property
    def words(self) -> list[str]:
        """All words that apply, the worst first, and last what is left open; `not examined` if there was nothing to examine."""
        return self._results + [word for word, holds in ((NOT_READ, self._has_unread), (NOT_REPLAYED, self._unreplayed)) if holds]

    @property
    def records_unreadable(self) -> int:
        """How many records consumers cannot read, one for each offset; there may be more (`text` says so)."""
        return self._unreadable_besides + sum(found.total for found in self._unreadable.values())

    @property
    def _results(self) -> list[str]:
        held = [word for word in WORDS if self._found[word] or word == NOT_EXAMINED and self.without_partitions]
        return held or [self._best if self._is_anything else NOT_EXAMINED]

    @property
    def without_partitions(self) -> list[str]:
        """Log directories that have none of the partitions that their checkpoints name."""
        return sorted(self._naming - self._with_partitions)

    @property
    def _best(self) -> str:
        """The word where nothing is wrong."""
        return NOTHING_LOST if self._level is None else sound_word(self._level, self._unread)

    @property
    def _has_unread(self) -> bool:
        return bool(self._unread) or self._results == [NOTHING_LOST]

    @property
    def text(self) -> str:
        """The words in one line, with what is left open; if nothing is wrong, what does not count is named."""
        words = self._results
        text = ", ".join(map(self._counted, words))
        left = {
            "known findings": self._known,
            "findings that were left out": self._left_out,
            "a start that fails or loses records": self._starts_left_out,
            _NOT_KAFKAS: self._files_left - self._marked_left,
            "files that brokers are about to delete or rename": self._marked_left,
            "an open transaction, at which read-committed consumers wait": self._open_transactions,
        }
        left |= {words: left.get(words) or code in self._exceptions for code, words in _EXCEPTIONS.items()}
        but = " and ".join(what for what, count in left.items() if count)
        if words == [self._best] and but:
            text += f", except for {but}"
        return "; ".join([text, *self._left_open])

    def _counted(self, word: str) -> str:
        """A word, with how many records if it is about some, as far as that is known."""
        records = self.records_unreadable
        if word != UNREADABLE or not records:
            return word
        is_least = self._is_more_unreadable or any(found.is_least for found in self._unreadable.values())
        return f"{word} ({'at least ' if is_least else ''}{counted(records, 'record')})"

    @property
    def _left_open(self) -> list[str]:
        """What was not read, and what reads it; what was not replayed."""
        parts = []
        if self._results == [NOTHING_LOST]:
            parts.append(f"{NOT_READ} (kdump check)")
        elif self._unread:
            least = "at least " if self._is_more_unread else ""
            indexes = _NOT_COMPARED.get(self._level or "", "")
            parts.append(f"{indexes}{least}{counted(self._unread, 'record')} not {self._verb} (--level {DEEP})")
        if self._starts_not_forecast:
            parts.append(f"starts of {counted(self._starts_not_forecast, 'partition')} not forecast (--level {QUICK})")
        if self._unreplayed:
            parts.append(f"records of {', '.join(self._unreplayed)} not replayed")
        return parts

    @property
    def reasons(self) -> list[str]:
        """The reasons, the worst first: `loses at start: ...`."""
        found = [(word, *reason, count) for word in WORDS for reason, count in self._worst_first(word)]
        reasons = [] if self._is_anything or found else [f"{NOT_EXAMINED}: there is no Kafka file"]
        reasons += [f"{NOT_EXAMINED}: {place}: it has none of its partitions" for place in self.without_partitions]
        reasons += [
            f"{word}: {f'{place}: ' if place else ''}{f'{count:,} x ' if count > 1 else ''}{reason}"
            for word, place, reason, count in found[:_MAX_REASONS]
        ]
        if len(found) > _MAX_REASONS:
            reasons.append(f"{len(found) - _MAX_REASONS:,} more reasons")
        reasons += self._left_open
        if self._files_left:
            reasons.append(f"not examined: {counted(self._bytes_left, 'byte')} in {counted(self._files_left, 'file')}")
        others = ", ".join(counted(count, severity) for severity, count in self._others.items() if count)
        if others:
            reasons.append(f"not counted: {others}")
        if self._known:
            reasons.append(f"known from the baseline: {counted(self._known, 'finding')}")
        if self._left_out:
            reasons.append(f"left out by --select or --ignore: {counted(self._left_out, 'finding')}")
        return reasons

    @property
    def is_complete(self) -> bool:
        """Whether everything was examined, and there was something."""
        return self._is_anything and not self._found[NOT_EXAMINED] and not self.without_partitions

    @property
    def exit_code(self) -> int:
        """The exit code of a command. What was not examined comes first: it may be arbitrarily bad."""
        if not self.is_complete:
            return exit_codes.NOT_EXAMINED
        return exit_codes.FINDINGS if any(self._found.values()) else exit_codes.CLEAN

    def unreadable_in(self, directory: str) -> UnreadableOffsets | None:
        """The offsets of a partition that consumers do not get; None if no finding says that there are some."""
        return self._unreadable.get(directory)

    def _worst_first(self, word: str) -> list[tuple[tuple[str, str], int]]:
        """The reasons for a word; those of the partition with most records that cannot be read, or are lost, first."""
        found = list(self._found[word].items())
        if word == LOSES_AT_START:
            found.sort(key=lambda item: -self._lost.get(item[0][1], 0))
        elif word == UNREADABLE:
            totals = {place: held.total for place, held in self._unreadable.items()}
            found.sort(key=lambda item: -totals.get(item[0][0], 0))
        return found

    def _add_reason(self, word: str, reason: str, count: int = 1, *, place: str = "") -> None:
        reasons = self._found[word]
        reasons[place, reason] = reasons.get((place, reason), 0) + count


def _word_of(code: str) -> str:
    """The word for findings of this code, which are not about records that consumers cannot read."""
    if code in _STUCK:
        return STUCK
    return {START_LOSES: LOSES_AT_START, START_LEAVES_DAMAGE: UNREADABLE}.get(code, DAMAGED)


def is_of_kafka(row: Row) -> bool:
    """Whether a row of a check is about something of Kafka's. A file of which nothing was examined is not, or about to go."""
    if isinstance(row, FileReport):
        return row.bytes_not_examined < max(row.size, 1) or file_name.is_going(os.path.basename(row.path))
    return isinstance(row, Finding) and row.code != _NOT_RECOGNIZED


def sound_word(level: str, records_not_read: int) -> str:
    """The word of a check where nothing is wrong."""
    return INTACT[level] if records_not_read or level in _NOT_COMPARED else FINE


def unreplayed_in(report: FileReport) -> str | None:
    """The name of the metadata log whose records a file has; None for any other file."""
    if not report.size or report.file_type not in _WITH_RECORDS:
        return None
    directory = tree.parent(absolute(report.path))
    return os.path.basename(directory) if tree.is_metadata_log(directory) else None


def ends_all_starts(finding: Finding) -> bool:
    """Whether a file or a name, of a log directory or a partition, keeps the broker from serving it after any stop."""
    return finding.code in _END_STARTS and finding.broker_forecast.partition(" ")[0] in (DIE, OFFLINE, STRAY)


def fails_to_start(broker_forecast: str) -> bool:
    """Whether a broker does not start, or takes the log directory offline, by the forecast of a finding."""
    return broker_forecast.partition(" ")[0] in (DIE, OFFLINE)


def may_fail_to_start(code: str) -> bool:
    """Whether findings of this code are about starts, so that their forecasts say whether a broker starts."""
    return code == START_LOSES or code in _END_STARTS
