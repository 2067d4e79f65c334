"""Findings that are alike: one of them is shown, and the places of all."""

from __future__ import annotations

from kdump.checks.finding import SEVERITIES
from kdump.output.text.check.ranges import Ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Finding

_FILES_PER_CODE = 5  # whose findings are shown; those of other files are counted
_MAX_RANGES = 24  # of findings that are alike


class Fold:
    """Findings of one code in one file. The first is shown; `group` is its directory."""

    __slots__ = ("_bytes", "_offsets", "count", "finding", "group")

    def __init__(self, finding: Finding, group: str) -> None:
        self.finding = finding
        self.group = group
        self.count = 0
        self._offsets = Ranges()
        self._bytes = Ranges()  # of findings without known offsets
        self.add(finding)

    def add(self, finding: Finding) -> None:
        self.count += 1
        if finding.offset_first is not None and finding.offset_last is not None:
            self._offsets.add(finding.offset_first, finding.offset_last)
        elif finding.end > finding.start:
            self._bytes.add(finding.start, finding.end - 1)

    def text(self) -> str:
        """How many findings there are, and at which offsets; empty for a single one."""
        if self.count == 1:
            return ""
        places = [ranges.text(what, _MAX_RANGES) for what, ranges in (("offset", self._offsets), ("byte", self._bytes)) if ranges]
        is_cut = max(len(self._offsets), len(self._bytes)) > _MAX_RANGES
        all_of_them = "; --all shows each" if is_cut else ""
        where = f", at {'; '.join(places)}{all_of_them}" if places else "; --all shows each"
        return f" {self.count:,} findings like this{where}."


class Folds:
    """All findings of a report, folded by code and file. `shows_all` folds nothing."""

    def __init__(self, *, shows_all: bool) -> None:
        self._shows_all = shows_all
        self._folds: dict[tuple[str, str, str, int], Fold] = {}
        self._files_of_code: dict[tuple[str, str], int] = {}
        self.in_other_files: dict[tuple[str, str], OtherFiles] = {}
        """By severity and code: the findings in files beyond those that are shown."""

    def __len__(self) -> int:
        return len(self._folds)

    def add(self, finding: Finding, group: str) -> None:
        number = len(self._folds) if self._shows_all else 0
        key = (finding.severity, finding.code, finding.path, number)
        fold = self._folds.get(key)
        if fold is not None:
            fold.add(finding)
            return
        kind = key[:2]
        if not self._shows_all and self._files_of_code.get(kind, 0) >= _FILES_PER_CODE:
            self.in_other_files.setdefault(kind, OtherFiles()).count(finding.path)
            return
        self._files_of_code[kind] = self._files_of_code.get(kind, 0) + 1
        self._folds[key] = Fold(finding, group)

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

    __slots__ = ("_path", "files", "findings")

    def __init__(self) -> None:
        self.findings = self.files = 0
        self._path = ""

    def count(self, path: str) -> None:
        self.findings += 1
        self.files += path != self._path
        self._path = path
