"""The section of a check's report that says what a restart of the broker would do."""

from __future__ import annotations

from kdump.checks import catalogue
from kdump.checks.catalogue import fault_kind
from kdump.checks.wording import counted
from kdump.forecasts.sentences import LOADS, SAFE
from kdump.forecasts.settings import CLEAN
from kdump.output.text.check.directory import worst_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from kdump.output.text.check.directory import Directory
    from kdump.output.text.writer import ReportWriter

_DIRECTORIES = 3  # whose restart is shown
_ORDER = (
    fault_kind.DIE,
    fault_kind.OFFLINE,
    fault_kind.STRAY,
    fault_kind.WIPE,
    fault_kind.CUT,
    fault_kind.RESCAN,
    fault_kind.SPLIT,
    fault_kind.DELETE,
    fault_kind.BLIND,
)


def write_restarts(out: ReportWriter, directories: Collection[Directory]) -> None:
    """The forecast starts of the worst directories; of all others, what each finding makes likely."""
    ranked = worst_first(filter(_is_told, directories))
    if not ranked:
        return
    names_directories = len(directories) > 1
    out.line()
    out.line("If this broker restarts")
    forecast = [directory for directory in ranked if directory.starts][:_DIRECTORIES]
    for directory in forecast:
        _write_starts(out, directory, f"{directory.path}: " if names_directories else "")
    for word in _ORDER:
        found = [
            directory
            for directory in ranked
            if word in directory.restarts and (word == fault_kind.BLIND or directory not in forecast)
        ]
        if found:
            _write_likely(out, word, found)


def _is_told(directory: Directory) -> bool:
    """Whether a start does something to a directory: by a finding, or by a forecast."""
    return any(word in directory.restarts for word in _ORDER) or any(
        start.verdict not in (LOADS, SAFE) for start in directory.starts
    )


def _write_starts(out: ReportWriter, directory: Directory, name: str) -> None:
    """Each start of a directory in a line, the worst first; `kdump forecast` says more."""
    points_of: dict[tuple[str, str], list[int]] = {}  # recovery points for which the text is the same
    for start in directory.starts:
        points_of.setdefault((start.after, start.message), []).append(start.recovery_point)
    for (after, text), points in points_of.items():
        label = "clean" if after == CLEAN else "unclean" if any(points) else "from 0"
        out.labelled(label, out.shown(name + text))


def _write_likely(out: ReportWriter, word: str, directories: list[Directory]) -> None:
    out.labelled(word, catalogue.FORECASTS[word])
    for directory in directories[:_DIRECTORIES]:
        out.labelled("", f"here: {out.shown(directory.restart(word))}")
    if len(directories) > _DIRECTORIES:
        out.labelled("", f"and in {counted(len(directories) - _DIRECTORIES, 'more directory', 'more directories')}")
