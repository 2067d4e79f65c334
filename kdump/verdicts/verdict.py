"""The verdict on files: one word or several, the worst first, each with its reasons, and the exit code that follows."""

from __future__ import annotations

from kdump import exit_codes
from kdump.checks import catalogue
from kdump.checks.finding import ERROR, SEVERITIES, FileReport, Finding, Start
from kdump.checks.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kdump.forecasts.row import Forecast
    from kdump.tables import Row

LOSES_AT_START, DAMAGED, NOT_EXAMINED, CLEAN = "loses at start", "damaged", "not examined", "clean"
WORDS = (LOSES_AT_START, DAMAGED, NOT_EXAMINED, CLEAN)
"""The worst first. Several may apply at once; `clean` only alone, and only to what was examined."""

START_LOSES, START_LEAVES_DAMAGE = "start-loses", "start-leaves-damage"
"""The faults reported for an unsafe start if no other finding fails."""

LOSING = ("fails", "loss", "trap", "unsure")
"""The verdicts on a start that lose records, or have them overwritten, or serve none; or may, where it depends."""

_MAX_REASONS = 20


class Verdict:
    """Collects findings, reports and starts, and sums them up.

    `failing` are the severities that count: any finding of these makes the verdict `damaged`.
    """

    def __init__(self, failing: Sequence[str] = (ERROR,)) -> None:
        self._failing = frozenset(failing)
        self._found: dict[str, dict[str, int]] = {word: {} for word in WORDS}  # how often, by word and reason
        self._others = dict.fromkeys(SEVERITIES, 0)  # findings that do not count
        self._known = self._left_out = 0
        self._is_anything = False
        self._files_left = self._bytes_left = 0  # that are not Kafka's, and were not examined

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
        self._is_anything = True
        if is_known:
            self._known += 1
        elif finding.severity == ERROR and catalogue.FAULTS[finding.code].leaves_unexamined:
            self._add_reason(NOT_EXAMINED, finding.code)
        elif finding.severity not in self._failing:
            self._others[finding.severity] += 1
        elif finding.code == START_LOSES:
            self._add_reason(LOSES_AT_START, f"{finding.path}: {finding.message}")
        else:
            self._add_reason(DAMAGED, finding.code)

    def leave_out(self) -> None:
        """Count a finding that --select or --ignore leaves out."""
        self._is_anything = True
        self._left_out += 1

    def add_findings(self, code: str, severity: str, count: int) -> None:
        """Add a number of findings of one code."""
        self._is_anything = True
        if severity == ERROR and catalogue.FAULTS[code].leaves_unexamined:
            self._add_reason(NOT_EXAMINED, code, count)
        elif severity in self._failing:
            self._add_reason(LOSES_AT_START if code == START_LOSES else DAMAGED, code, count)
        else:
            self._others[severity] += count

    def add_file(self, report: FileReport) -> None:
        """Add the report of a file."""
        self._is_anything = True
        if report.bytes_not_examined:
            self._files_left += 1
            self._bytes_left += report.bytes_not_examined

    def add_files(self, count: int) -> None:
        """Add a number of files without reports."""
        self._is_anything = self._is_anything or count > 0

    def add_start(self, start: Start) -> None:
        """Add a possible next start of a directory with findings: it may be worse than those."""
        if start.verdict in LOSING:
            self._add_reason(LOSES_AT_START, f"{start.path}, {start.after} stop: {start.message}")

    def add_forecasts(self, rows: Iterable[Forecast]) -> None:
        """Add forecasts of a directory: what starts lose, and damage that they cut off or leave."""
        from kdump.forecasts.sentences import stop, summary, verdict  # slow to load

        for row in rows:
            self._is_anything = True
            if not row.is_sound:
                word = LOSES_AT_START if verdict(row) in LOSING else DAMAGED
                self._add_reason(word, f"after {stop([row])}: {summary(row)}")

    def fail_to_examine(self, reason: str) -> None:
        """Record that something could not be examined."""
        self._is_anything = True
        self._add_reason(NOT_EXAMINED, reason)

    @property
    def words(self) -> list[str]:
        """All words that apply, the worst first; `not examined` if there was nothing to examine."""
        held = [word for word in WORDS if self._found[word]]
        return held or [CLEAN if self._is_anything else NOT_EXAMINED]

    @property
    def text(self) -> str:
        """The words in one line; after `clean`, what does not count is named."""
        text = ", ".join(self.words)
        left = {
            "known findings": self._known,
            "findings that were left out": self._left_out,
            "files that are not Kafka's": self._files_left,
        }
        but = " and ".join(what for what, count in left.items() if count)
        return f"{text}, except for {but}" if text == CLEAN and but else text

    @property
    def reasons(self) -> list[str]:
        """The reasons, the worst first: `loses at start: ...`."""
        found = [(word, reason, count) for word in WORDS for reason, count in self._found[word].items()]
        reasons = [f"{word}: {_times(reason, count)}" for word, reason, count in found[:_MAX_REASONS]]
        if len(found) > _MAX_REASONS:
            reasons.append(f"{len(found) - _MAX_REASONS:,} more reasons")
        if self._files_left:
            reasons.append(f"not examined: {counted(self._bytes_left, 'byte')} in {counted(self._files_left, 'file')}")
        others = ", ".join(counted(count, severity) for severity, count in self._others.items() if count)
        if others:
            reasons.append(f"not counted: {others}")
        if self._known:
            reasons.append(f"known from the baseline: {counted(self._known, 'finding')}")
        if self._left_out:
            reasons.append(f"left out by --select or --ignore: {counted(self._left_out, 'finding')}")
        if not self._is_anything:
            reasons.append(f"{NOT_EXAMINED}: there is no Kafka file")
        return reasons

    @property
    def is_complete(self) -> bool:
        """Whether everything was examined, and there was something."""
        return self._is_anything and not self._found[NOT_EXAMINED]

    @property
    def exit_code(self) -> int:
        """The exit code of a command. What was not examined comes first: it may be arbitrarily bad."""
        if not self.is_complete:
            return exit_codes.NOT_EXAMINED
        return exit_codes.CLEAN if self.words == [CLEAN] else exit_codes.FINDINGS

    def _add_reason(self, word: str, reason: str, count: int = 1) -> None:
        reasons = self._found[word]
        reasons[reason] = reasons.get(reason, 0) + count


def _times(reason: str, count: int) -> str:
    return f"{count:,} x {reason}" if count > 1 else reason
