"""Findings that are alike: one of them is shown, and the places of all."""

from __future__ import annotations

from kdump.checks.finding import SEVERITIES
from kdump.output.text.check.events import Events
from kdump.verdicts.ranges import Ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.checks.finding import Finding

_FILES_PER_CODE = 5  # whose findings are shown; those of other files are counted
_MAX_RANGES = 24  # of findings that are alike


class Fold:
    """Findings of one code in one file, or of one message in several. The first is shown; `group` is its directory."""

    def __init__(self, finding: Finding, group: str) -> None:
        self.finding = finding
        self.group = group
        self.count = 0
        self.files = 1
        self._last = finding.path
        self._offsets = Ranges()
        self._bytes = Ranges()  # of findings without known offsets
        self.add(finding)

    @property
    def paths(self) -> Sequence[str]:
        """The first file, and the last one if there are several."""
        return list(dict.fromkeys((self.finding.path, self._last)))

    def add(self, finding: Finding) -> None:
        if finding.path != self._last:
            self.files += 1
            self._last = finding.path
        self.count += 1
        if finding.path != self.finding.path:
            return
        if finding.offset_first is not None and finding.offset_last is not None:
            self._offsets.add(finding.offset_first, finding.offset_last)
        elif finding.end > finding.start:
            self._bytes.add(finding.start, finding.end - 1)

    def text(self) -> str:
        """How many findings there are, and at which offsets; empty for a single one."""
        if self.count == 1:
            return ""
        if self.files > 1:
            others = self._last if self.files == 2 else f"{self.files - 1:,} more, such as {self._last}; --all shows each"
            return f" The same of {others}."
        places = [ranges.text(what, _MAX_RANGES) for what, ranges in (("offset", self._offsets), ("byte", self._bytes)) if ranges]
        is_cut = max(len(self._offsets), len(self._bytes)) > _MAX_RANGES
        all_of_them = "; --all shows each" if is_cut else ""
        where = f", at {'; '.join(places)}{all_of_them}" if places else "; --all shows each"
        return f" {self.count:,} findings like this{where}."


class Folds:
    """All findings of a report, folded by code and file. `shows_all` folds nothing."""

    def __init__(self, *, shows_all: bool) -> None:
        self.shows_all = shows_all
        self._folds: dict[tuple[str, str, str, int], Fold] = {}
        self._of_message: dict[tuple[str, str, str], Fold] = {}
        self._events = Events()
        self._is_anything = False
        self._files_of_code: dict[tuple[str, str], int] = {}
        self.in_other_files: dict[tuple[str, str], OtherFiles] = {}
        """By severity and code: the findings in files beyond those that are shown."""

    def __bool__(self) -> bool:
        return self._is_anything

    def add(self, finding: Finding, group: str) -> None:
        self._is_anything = True
        if self.shows_all:
            self._add(finding, group)
            return
        for event, of_group in self._events.add(finding, group):
            self._add(event, of_group)

    def end(self) -> None:
        """Take what is kept to be put together."""
        for event, group in self._events.end():
            self._add(event, group)

    def _add(self, finding: Finding, group: str) -> None:
        number = len(self._folds) if self.shows_all else 0
        key = (finding.severity, finding.code, finding.path, number)
        fold = self._folds.get(key)
        if fold is not None:
            fold.add(finding)
            return
        kind = key[:2]
        alike = (*kind, finding.message)
        is_about_a_part = finding.end > finding.start or finding.start
        if not self.shows_all and not is_about_a_part and alike in self._of_message:
            self._of_message[alike].add(finding)
            return
        if not self.shows_all and self._files_of_code.get(kind, 0) >= _FILES_PER_CODE:
            self.in_other_files.setdefault(kind, OtherFiles()).count(finding.path)
            return
        self._files_of_code[kind] = self._files_of_code.get(kind, 0) + 1
        self._folds[key] = self._of_message[alike] = Fold(finding, group)

    def worst_first(self) -> list[Fold]:
        """The folds by severity, those of one code together."""
        first_seen: dict[str, int] = {}
        for fold in self._folds.values():
            first_seen.setdefault(fold.finding.code, len(first_seen))
        return sorted(
            self._folds.values(),
            key=lambda fold: (SEVERITIES.index(fold.finding.severity), first_seen[fold.finding.code]),
        )


class OtherFiles:
    """Findings of one code that are only counted; those of a file come one after another."""

    def __init__(self) -> None:
        self.findings = self.files = 0
        self._path = ""

    def count(self, path: str) -> None:
        self.findings += 1
        self.files += path != self._path
        self._path = path
