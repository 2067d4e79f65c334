"""The first sections of a check's report: a line for each directory, what consumers cannot read, the findings."""

from __future__ import annotations

import os
from itertools import islice

from kdump.checks.finding import ERROR, INFO, SEVERITIES, WARNING
from kdump.checks.wording import as_sentence, byte_range, counted
from kdump.formats import tree
from kdump.output.rows.columns import cut, padded, widest, width_of
from kdump.output.text.check.directory import worst_first
from kdump.output.text.sizes import size_text
from kdump.output.text.steps import shell_word
from kdump.output.text.writer import wrapped
from kdump.verdicts.verdict import FINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from kdump.checks.finding import Finding
    from kdump.output.text.check.directory import Directory
    from kdump.output.text.check.folding import Fold, Folds
    from kdump.output.text.writer import ReportWriter

_TELLING = ("txn-open", "file-not-recognized", "segments-not-local")
"""Infos that are shown although nothing is wrong: somebody waits, or something was not examined."""
_CLEAN_DIRECTORIES = 5
_UNREADABLE_DIRECTORIES = 5  # whose unreadable offsets are named; those of others are counted
_CODES_OF_INFOS = 4
_COPIES_SHOWN = 5
_OF_A_CODE, _CODES_IN_TWO = 2, 4  # files of each code that are shown if there is much, where there are few codes
_CODES_SHOWN = 10
_WITH = {f"with {severity}s": rank for rank, severity in enumerate(SEVERITIES)}
_LINES_OF_A_FINDING = 2
_INDENT = 9  # of the text of a finding, after its severity
_COLORS = {ERROR: "31", WARNING: "33", INFO: "36", FINE: "32"}


def write_directories(out: ReportWriter, directories: Collection[Directory], level: str) -> None:
    """A line for each directory, the worst first. Those without findings are only counted if they are many."""
    examined = [directory for directory in directories if directory.files or directory.counts]
    clean = [directory for directory in examined if not directory.counts]
    others = worst_first(directory for directory in examined if directory.counts)
    counts_clean = len(clean) > _CLEAN_DIRECTORIES
    shown = others + ([] if counts_clean else clean)
    name_width = widest([out.shown(directory.path) for directory in shown])
    for directory in shown:
        _write_directory(out, directory, name_width, level)
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


def _write_directory(out: ReportWriter, directory: Directory, name_width: int, level: str) -> None:
    """A line for a directory."""
    head = f"{padded(out.shown(directory.path), name_width)}   {directory.about()}"
    verdict = directory.verdict(level)
    color = _COLORS[min(directory.counts, key=SEVERITIES.index)] if directory.counts else _color_of_sound(verdict)
    gap = " " * max(3, out.width - width_of(head) - len(verdict)) if directory.counts else "   "
    if width_of(head) > out.width:
        out.line(out.shown(directory.path))
        head, gap = f"   {directory.about()}", "   "
    if width_of(head) + len(gap) + len(verdict) > out.width:
        out.line(head)
        head, gap = "", "   "
    out.line(head + gap + out.colored(verdict, color))


def _color_of_sound(verdict: str) -> str:
    return _COLORS[FINE if verdict == FINE else INFO]


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


def write_summary(out: ReportWriter, directories: Collection[Directory], level: str) -> None:
    """How many directories have findings, in a line: what is wrong where follows."""
    examined = [directory for directory in directories if directory.files or directory.counts]
    sizes = size_text(sum(directory.size for directory in examined))
    words: dict[str, int] = {}
    for directory in examined:
        word = f"with {min(directory.counts, key=SEVERITIES.index)}s" if directory.counts else directory.verdict(level)
        words[word] = words.get(word, 0) + 1
    parts = [f"{words[word]:,} {word}" for word in sorted(words, key=lambda word: _WITH.get(word, len(_WITH)))]
    out.wrapped(f"{counted(len(examined), 'directory', 'directories')}, {sizes}: {', '.join(parts)}")


def write_copies(out: ReportWriter, directories: Collection[Directory]) -> None:
    """Which partitions have copies that were not compared, and what compares them."""
    said = copies_not_compared(directories)
    if said is not None:
        sentence, command = said
        out.line()
        out.wrapped(out.shown(sentence))
        out.line(out.shown(f"  {command}"))


def copies_not_compared(directories: Collection[Directory]) -> tuple[str, str] | None:
    """A sentence about partitions in several log directories, and the command that compares them; None if there are none.

    A check only knows where they end.
    """
    by_name: dict[str, list[Directory]] = {}
    for directory in directories:
        if directory.segments and tree.directory_name(directory.path) is not None:
            by_name.setdefault(os.path.basename(os.path.abspath(directory.path)), []).append(directory)
    several = {name: copies for name, copies in by_name.items() if len(copies) > 1}
    if not several:
        return None
    unequal = [name for name, copies in several.items() if len({copy.last_offset for copy in copies}) > 1]
    text = f"Copies were not compared: {counted(len(several), 'partition')} in several log directories"
    if unequal:
        text += f", {len(unequal):,} with different ends"
        ends = (f"at {copy.last_offset + 1:,} in {tree.parent(copy.path)}" for copy in several[unequal[0]])
        text += f" ({unequal[0]} ends {', '.join(islice(ends, _COPIES_SHOWN))})"
    parents = dict.fromkeys(tree.parent(copy.path) for copies in several.values() for copy in copies)
    return f"{text}.", f"kdump scan {' '.join(map(shell_word, parents))}   # compares them"


def write_findings(out: ReportWriter, folds: Folds) -> None:
    """Findings by severity, the worst first; after those of a code, how many more there are of it."""
    by_kind, quiet = _by_kind(folds, _TELLING)
    code_width = max((len(code) for _, code in by_kind), default=0)
    previous = ""
    for (severity, code), alike in by_kind.items():
        if severity != previous:
            out.line()
            previous = severity
        for fold in alike:
            _write_finding(out, fold, code_width)
        others = folds.in_other_files.get((severity, code))
        if others is not None:
            more = f"{counted(others.findings, 'more finding')} of {code} in {counted(others.files, 'other file')}"
            out.wrapped(more + "; --all shows each.", _INDENT)
    if quiet:
        out.line()
        _write_quiet(out, folds, quiet)


def write_findings_briefly(out: ReportWriter, folds: Folds) -> None:
    """A few lines for each code, of its first file; others, and all infos, are counted."""
    by_kind, quiet = _by_kind(folds, ())
    kinds = list(by_kind.items())
    for (severity, code), alike in kinds[:_CODES_SHOWN]:
        others = folds.in_other_files.get((severity, code))
        most = _OF_A_CODE if len(kinds) <= _CODES_IN_TWO else 1
        findings = sum(fold.count for fold in alike[most:]) + (0 if others is None else others.findings)
        files = sum(fold.files for fold in alike[most:]) + (0 if others is None else others.files)
        for number, fold in enumerate(alike[:most], 1):
            is_last = number == len(alike[:most])
            more = f" And {findings:,} more in {counted(files, 'other file')}." if findings and is_last else fold.text()
            name = out.colored(severity, _COLORS[severity]) + " " * (_INDENT - len(severity))
            where = out.shown(fold.finding.path)
            whole = where + _range(fold.finding)
            out.line(name + (whole if _INDENT + width_of(whole) <= out.width else where))
            _write_message(out, out.shown(f"{code}: {fold.finding.message}"), out.shown(more))
    if len(kinds) > _CODES_SHOWN:
        out.line(
            f"and {counted(len(kinds) - _CODES_SHOWN, 'more code')}: {', '.join(code for (_, code), _ in kinds[_CODES_SHOWN:])}"
        )
    if quiet:
        _write_quiet(out, folds, quiet)
    elif kinds:
        out.line("--all shows each finding.")


def _write_message(out: ReportWriter, text: str, more: str) -> None:
    """The first sentence of a message, cut if it is long, others while they fit into as many lines, then how many `more`."""
    room = out.width - _INDENT
    kept, *sentences = (f"{sentence}." for sentence in text.removesuffix(".").split(". "))
    for sentence in sentences:
        if len(wrapped(f"{kept} {sentence}{more}", room)) > _LINES_OF_A_FINDING:
            break
        kept += f" {sentence}"
    lines = wrapped(kept + more, room)
    if len(lines) > _LINES_OF_A_FINDING:
        first, *rest = wrapped(kept, room)
        lines = [first, cut(" ".join(rest), room - width_of(more)) + more]
    for line in lines:
        out.line(" " * _INDENT + line)


def _by_kind(folds: Folds, telling: Collection[str]) -> tuple[dict[tuple[str, str], list[Fold]], list[Fold]]:
    """The findings to show by severity and code, the worst first, and the infos that are only counted."""
    found = folds.worst_first()
    quiet: list[Fold] = []
    if not folds.shows_all:
        quiet = [fold for fold in found if fold.finding.severity == INFO and fold.finding.code not in telling]
        found = [fold for fold in found if fold not in quiet]
    by_kind: dict[tuple[str, str], list[Fold]] = {}
    for fold in found:
        by_kind.setdefault((fold.finding.severity, fold.finding.code), []).append(fold)
    return by_kind, quiet


def _write_quiet(out: ReportWriter, folds: Folds, quiet: list[Fold]) -> None:
    """The infos of normal life, in one line."""
    codes = list(dict.fromkeys(fold.finding.code for fold in quiet))
    others = (folds.in_other_files.get((INFO, code)) for code in codes)
    count = sum(fold.count for fold in quiet) + sum(other.findings for other in others if other is not None)
    more = f" and {len(codes) - _CODES_OF_INFOS} more" if len(codes) > _CODES_OF_INFOS else ""
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
