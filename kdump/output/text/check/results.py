"""The first sections of a check's report: a line for each directory, what consumers cannot read, the findings."""

from __future__ import annotations

from kdump.checks.finding import ERROR, INFO, SEVERITIES, WARNING
from kdump.checks.wording import as_sentence, byte_range, counted
from kdump.output.rows.columns import padded, widest, width_of
from kdump.output.text.check.directory import worst_first
from kdump.output.text.sizes import size_text
from kdump.verdicts.verdict import CLEAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from kdump.checks.finding import Finding
    from kdump.output.text.check.directory import Directory
    from kdump.output.text.check.folding import Fold, Folds
    from kdump.output.text.writer import ReportWriter

_DIRECTORIES = 8  # directories with findings that get a line
_TELLING = ("txn-open", "file-not-recognized", "segments-not-local")
"""Infos that are shown although nothing is wrong: somebody waits, or something was not examined."""
_CLEAN_DIRECTORIES = 5
_UNREADABLE_DIRECTORIES = 5  # whose unreadable offsets are named; those of others are counted
_CODES_OF_INFOS = 4
_OF_A_CODE = 2  # errors that are shown if there is much
_INDENT = 9  # of the text of a finding, after its severity
_COLORS = {ERROR: "31", WARNING: "33", INFO: "36", CLEAN: "32"}


def write_directories(
    out: ReportWriter, directories: Collection[Directory], level: str, *, shows_all: bool, is_crowded: bool
) -> None:
    """A line for each directory, the worst first. Clean ones are only counted if there are many, or much else `is_crowded`."""
    examined = [directory for directory in directories if directory.files or directory.counts]
    clean = [directory for directory in examined if not directory.counts]
    others = worst_first(directory for directory in examined if directory.counts)
    most = len(others) if shows_all else _DIRECTORIES
    counts_clean = len(clean) > _CLEAN_DIRECTORIES or is_crowded
    shown = others[:most] + ([] if counts_clean else clean)
    name_width = widest([out.shown(directory.path) for directory in shown])
    for directory in shown:
        _write_directory(out, directory, name_width, level, is_brief=is_crowded)
    if len(others) > most:
        more = counted(len(others) - most, "more directory", "more directories")
        out.line(f"{more} with findings; --all shows each")
    if clean and counts_clean:
        more = "more " if others else ""
        by_verdict: dict[str, list[Directory]] = {}
        for directory in clean:
            by_verdict.setdefault(directory.verdict(level), []).append(directory)
        for verdict, alike in by_verdict.items():
            about = (
                f"{len(alike):,} {more}director{'y' if len(alike) == 1 else 'ies'}, {size_text(sum(one.size for one in alike))}"
            )
            out.line(f"{about}   " + out.colored(verdict, _color_of_sound(verdict)))


def _write_directory(out: ReportWriter, directory: Directory, name_width: int, level: str, *, is_brief: bool) -> None:
    """A line for a directory. If it `is_brief`, what does not fit beside the counts of findings is left out."""
    head = f"{padded(out.shown(directory.path), name_width)}   {directory.about()}"
    verdict = directory.verdict(level)
    color = _COLORS[min(directory.counts, key=SEVERITIES.index)] if directory.counts else _color_of_sound(verdict)
    gap = " " * max(3, out.width - width_of(head) - len(verdict)) if directory.counts else "   "
    if is_brief and width_of(head) + len(gap) + len(verdict) > out.width:
        head = out.shown(directory.path)
        gap = " " * max(3, out.width - width_of(head) - len(verdict))
    if width_of(head) > out.width:
        out.line(out.shown(directory.path))
        head, gap = f"   {directory.about()}", "   "
    if width_of(head) + len(gap) + len(verdict) > out.width:
        out.line(head)
        head, gap = "", "   "
    out.line(head + gap + out.colored(verdict, color))


def _color_of_sound(verdict: str) -> str:
    return _COLORS[CLEAN if verdict == CLEAN else INFO]


def write_unreadable(out: ReportWriter, directories: Collection[Directory]) -> None:
    """The offsets that consumers cannot read, of each directory of which they are known."""
    found = worst_first(directory for directory in directories if directory.unreadable)
    if found:
        out.line()
    for directory in found[:_UNREADABLE_DIRECTORIES]:
        text = directory.unreadable_text()
        out.wrapped(f"{out.shown(directory.path)}: {text}" if len(directories) > 1 else as_sentence(text))
    rest = found[_UNREADABLE_DIRECTORIES:]
    if rest:
        offsets = counted(sum(directory.unreadable for directory in rest), "offset")
        out.line(f"and {offsets} in {counted(len(rest), 'more directory', 'more directories')}")


def write_findings(out: ReportWriter, folds: Folds, *, is_crowded: bool) -> None:
    """Findings by severity, the worst first; after those of a code, how many more there are of it."""
    found = folds.worst_first()
    quiet: list[Fold] = []
    if not folds.shows_all:
        quiet = [fold for fold in found if fold.finding.severity == INFO and fold.finding.code not in _TELLING]
        found = [fold for fold in found if fold not in quiet]
    by_kind: dict[tuple[str, str], list[Fold]] = {}
    for fold in found:
        by_kind.setdefault((fold.finding.severity, fold.finding.code), []).append(fold)
    code_width = max((len(code) for _, code in by_kind), default=0)
    previous = ""
    for (severity, code), alike in by_kind.items():
        if severity != previous:
            out.line()
            previous = severity
        most = len(alike) if not is_crowded else _OF_A_CODE if severity == ERROR else 1
        for fold in alike[:most]:
            _write_finding(out, fold, code_width)
        others = folds.in_other_files.get((severity, code))
        findings = sum(fold.count for fold in alike[most:]) + (0 if others is None else others.findings)
        files = sum(fold.files for fold in alike[most:]) + (0 if others is None else others.files)
        if findings:
            more = f"{counted(findings, 'more finding')} of {code} in {counted(files, 'other file')}"
            out.wrapped(more + "; --all shows each.", _INDENT)
    if quiet:
        _write_quiet(out, folds, quiet)


def _write_quiet(out: ReportWriter, folds: Folds, quiet: list[Fold]) -> None:
    """The infos of normal life, in one line."""
    codes = list(dict.fromkeys(fold.finding.code for fold in quiet))
    others = (folds.in_other_files.get((INFO, code)) for code in codes)
    count = sum(fold.count for fold in quiet) + sum(other.findings for other in others if other is not None)
    more = f" and {len(codes) - _CODES_OF_INFOS} more" if len(codes) > _CODES_OF_INFOS else ""
    out.line()
    out.wrapped(f"{counted(count, 'info')}: {', '.join(codes[:_CODES_OF_INFOS])}{more}; --all shows each.")


def _write_finding(out: ReportWriter, fold: Fold, code_width: int) -> None:
    """A finding with its place and its message; the path is as it was given or found, to be copied."""
    finding = fold.finding
    name = out.shown(finding.path)
    where = name + _range(finding)
    severity = out.colored(finding.severity, _COLORS[finding.severity]) + " " * (_INDENT - len(finding.severity))
    if _INDENT + code_width + 2 + width_of(where) <= out.width:
        out.line(f"{severity}{finding.code:{code_width}}  {where}")
    else:
        out.line(severity + finding.code)
        lines = [where] if _INDENT + width_of(where) <= out.width else [name, _range(finding).removeprefix(", ")]
        for line in lines:
            out.line(" " * _INDENT + line)
    out.wrapped(as_sentence(out.shown(finding.message)) + fold.text(), _INDENT)


def _range(finding: Finding) -> str:
    """The bytes of a file that a finding is about; empty if it is about the whole file."""
    is_about_a_part = finding.end > finding.start or finding.start
    return f", {byte_range(finding.start, finding.end)}" if is_about_a_part else ""
