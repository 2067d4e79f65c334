"""The file as an object: whether it can be opened, what kind it is, and what happens to it while it is read."""

from __future__ import annotations

import stat

from kdump.binary import system
from kdump.binary.paths import is_url, real
from kdump.binary.source import NoSource
from kdump.checks.context import FileContext
from kdump.checks.finding import ERROR, INFO
from kdump.checks.live_source import LiveSource, Watch
from kdump.checks.wording import capitalized, counted
from kdump.errors import Unreadable
from kdump.formats import file_name
from kdump.formats.tree import SEGMENT_SUFFIXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.settings import Settings
    from kdump.tables import Row

_MIN_HOLE_BYTES = 1 << 20  # bytes; less is a matter of how file systems count
_MAX_HOLES = 10_000  # are counted
_PREALLOCATED = ("index", "timeindex")

_FAULT_OF = {
    "file-missing": "file-vanished",
    "file-permission": "permission-denied",
    "file-is-directory": "not-regular",
    "file-not-regular": "not-regular",
    "file-io-error": "io-error",
    "file-shrank": "file-shrank",
}
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def open_file(
    path: str, file_type: str, settings: Settings, emit: Callable[[Row], None], *, root: str | None, watch: Watch
) -> LiveSource | None:
    """Open a file to be checked. None, and a finding, if it cannot or must not be opened.

    `root` is the tree under check, which links may not leave; it is None for a file that was named itself.
    """
    report = _reporter(path, file_type, settings, emit)
    try:
        if system.is_link(path):
            if root is not None and not settings.follows_links and _leads_out(path, root):
                report("symlink-outside", f"Leads to {system.target_of(path)}, outside the checked directory. Not followed.")
                return None
            if not system.exists(path):
                report("symlink-loop", f"A symbolic link to {system.target_of(path)}, which is not a file.")
                return None
        return LiveSource(path, time_limit=settings.time_limit, watch=watch)
    except Unreadable as error:
        _report_unreadable(report, path, error, is_named=root is None)
    return None


def check_directory(path: str, settings: Settings, emit: Callable[[Row], None], *, root: str) -> bool:
    """Whether a directory can be listed; reported if not."""
    report = _reporter(path, "directory", settings, emit)
    try:
        if system.is_link(path):
            if not system.exists(path):
                report("symlink-loop", f"A symbolic link to {system.target_of(path)}, which does not exist.")
                return False
            if path != root and not settings.follows_links and _leads_out(path, root):
                report("symlink-outside", f"Leads to {system.target_of(path)}, outside the checked directory. Not followed.")
                return False
        system.names(path)
    except Unreadable as error:
        _report_unreadable(report, path, error, is_named=False, what="The directory cannot be listed")
        return False
    return True


def report_failure(context: FileContext, error: Unreadable) -> None:
    """Report what a failed system call kept from being examined, while a file or directory was compared with others."""
    other = "" if error.path in (None, context.path) else f"{error.path} "
    size = context.source.size
    context.report(_FAULT_OF[error.code], 0, size, f"Was not examined completely: {other}{error.message}.")


def check_before_reading(context: FileContext, source: LiveSource) -> None:
    """Report what the file's size and its disk usage show."""
    size = source.size
    is_preallocated = context.file_type in _PREALLOCATED and not context.settings.is_pedantic
    if not size and "." + context.file_type in SEGMENT_SUFFIXES:
        context.report("file-empty", 0, 0, "Is empty; valid for a new segment, and for the indexes of a small one.")
    elif size - source.allocated >= _MIN_HOLE_BYTES and not is_preallocated:
        count, hole_size = source.holes(_MAX_HOLES)
        if hole_size >= _MIN_HOLE_BYTES:
            number = f"{'at least ' if count == _MAX_HOLES else ''}{count:,} hole{'s' if count > 1 else ''}"
            message = f"{hole_size:,} of {size:,} bytes take up no disk space ({number}), and read as zeros."
            context.report("sparse-file", 0, size, message)


def check_after_reading(context: FileContext, source: LiveSource) -> None:
    """Report what happened to the file while it was read."""
    size = source.size
    position = context.coverage.position
    for start, stop in source.bad_ranges:
        message = f"{counted(stop - start, 'byte')} cannot be read from the device; the check continued as if they were zeros."
        context.report("io-error", start, stop, message, skipped=stop - start)
    if source.is_late:
        message = (
            f"The limit of {context.settings.time_limit:g} s is over; {size - position:,} of {size:,} bytes were not examined."
        )
        context.report("time-limit", position, size, message)
    if source.shrunk_to is not None:
        message = f"Had {size:,} bytes when it was opened, and {source.shrunk_to:,} when it was read."
        if source.replaced is not None:
            message = f"{capitalized(source.replaced.message)}: from byte {source.shrunk_to:,} on, what was opened is gone."
        context.report("file-shrank", source.shrunk_to, size, message, expected=size, found=source.shrunk_to)
    grown_to = source.grown_to()
    if grown_to > size:
        message = (
            f"Grew from {size:,} to {grown_to:,} bytes while it was being read: something is writing to it. "
            f"The first {size:,} were checked."
        )
        context.report("active-tail", size, size, message, expected=size, found=grown_to)
    try:
        is_there = source.is_at_its_path()
    except Unreadable as error:
        message = f"Was opened and read, but the status of its name cannot be determined: {error.message}."
        context.report(_FAULT_OF[error.code], 0, size, message)
        return
    if is_there is None:
        context.report(
            "file-vanished", 0, size, "Was removed while it was being read; the opened file was checked.", severity=INFO
        )
    elif not is_there:
        context.report("file-replaced", 0, size, "Was replaced while it was being read; the file that was opened was checked.")


def report_rewritten(context: FileContext, position: int) -> None:
    """Report a file that was truncated and written again while it was read: from this position on, its bytes have changed."""
    message = f"Was truncated and rewritten while it was being read: it changed from byte {position:,} on."
    context.report("file-shrank", position, context.source.size, message)


def _report_unreadable(
    report: Callable[..., None], path: str, error: Unreadable, *, is_named: bool, what: str = "Cannot be opened"
) -> None:
    code = _FAULT_OF[error.code]
    if code == "file-vanished":
        if is_named:
            report(code, "No such file.", ERROR)
        else:
            report(code, "Was there when the directory was listed, and is now gone.", INFO)
    elif code == "permission-denied":
        why = f": {error.message}." if is_url(path) else "; run as the broker's user, or copy it."
        report(code, f"{what}{why}")
    elif code == "not-regular":
        # a directory that is not named like a file of Kafka's does no harm
        is_harmless = error.code == "file-is-directory" and file_name.suffix(path) not in SEGMENT_SUFFIXES
        report(code, f"Is {_kind(path)}, not a file; never read.", INFO if is_harmless else ERROR)
    else:
        report(code, f"{what}: {error.message}.")


def _kind(path: str) -> str:
    try:
        found = system.status(path)
    except Unreadable:
        found = None
    return "no regular file" if found is None else _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")


def _leads_out(path: str, root: str) -> bool:
    """Whether this link leaves the tree."""
    if not system.exists(path):
        return False
    inside = real(root)
    target = real(path)
    return target != inside and not target.startswith(inside.rstrip("/") + "/")


def _reporter(path: str, file_type: str, settings: Settings, emit: Callable[[Row], None]) -> Callable[..., None]:
    """A function that reports findings about a file that is not open."""
    context = FileContext(NoSource(path), path, file_type, settings, emit)

    def report(code: str, message: str, severity: str | None = None) -> None:
        context.report(code, 0, 0, message, severity=severity)

    return report
