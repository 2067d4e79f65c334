"""Names of files and directories that a broker or a terminal would misread."""

from __future__ import annotations

import os
from shlex import quote

from kdump.binary.java_strings import escaped
from kdump.binary.source import NoSource
from kdump.checks.catalogue.fault_kind import DELETE, DIE, IGNORE, RESCAN
from kdump.checks.context import FileContext, context_in
from kdump.checks.finding import ERROR, INFO
from kdump.errors import Unreadable
from kdump.formats import file_name, tree
from kdump.formats.file_name import CLEANED, SWAP, is_leftover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.finding import Emit
    from kdump.checks.partition_facts import PartitionFacts
    from kdump.checks.settings import Settings

_STATES = {
    tree.DELETE: "A deleted topic's partition; a broker removes it after a while.",
    tree.FUTURE: "A replica on its way here from another log directory of this broker.",
    tree.STRAY: "A partition that the cluster has not assigned to this broker; kept, but not served. 2.8 does not start with it.",
}


def check_files(partition: PartitionFacts) -> None:
    """Check the names of all files of a partition."""
    files = partition.files
    for name in files.others:
        _check_text(context_in(partition, name), name)
        if name in files.directories:
            continue
        if file_name.suffix(name) in tree.SEGMENT_SUFFIXES:
            _check_number(partition, name)
        elif any(is_leftover(name, suffix) for suffix in (CLEANED, SWAP)) and tree.base_offset_of(name) is None:
            _check_number(partition, name)  # a restart reads it, too
    for base_offset, names in files.segments.items():
        for name in names.values():
            if not tree.is_canonical(name):
                _report_width(partition, name, base_offset)
            _check_text(context_in(partition, name), name)
    is_partition = files.segments or tree.directory_name(partition.path) is not None  # else what is inside is checked by itself
    for name in sorted(files.directories) if is_partition else ():
        path = os.path.join(partition.path, name)
        if file_name.suffix(name) not in tree.SEGMENT_SUFFIXES and _may_have_segments(path):
            message = f"Not examined: no broker looks into a directory in that of a partition. `kdump check {quote(path)}` does."
            context_in(partition, name).report("file-not-recognized", 0, 0, message)


def _may_have_segments(path: str) -> bool:
    try:
        return bool(tree.PartitionFiles(path).segments)
    except Unreadable:
        return True


def _check_number(partition: PartitionFacts, name: str) -> None:
    """Report a name that has the suffix of a segment file, but is not one."""
    base_offset, context = tree.base_offset_of(name), context_in(partition, name)
    if base_offset is None:
        message = f"The part before the first dot of {escaped(name)} is not a number that Kafka can parse."
        is_of_broker = partition.files.segments or tree.directory_name(partition.path) is not None
        if is_of_broker:
            context.report("name-not-numeric", 0, 0, f"{message} No broker starts with it.", severity=ERROR, forecast=DIE)
        else:
            context.report("name-not-numeric", 0, 0, message, forecast=IGNORE)
    elif base_offset < 0:
        message = f"The number in {escaped(name)} is negative: a broker creates an empty segment for it, below all others."
        context.report("name-not-numeric", 0, 0, message, forecast=RESCAN)
    else:
        _report_width(partition, name, base_offset)


def _report_width(partition: PartitionFacts, name: str, base_offset: int) -> None:
    suffix = file_name.suffix(name)
    wanted = f"{base_offset:020d}{suffix}"
    if partition.files.segments[base_offset][suffix] == wanted:
        message = f"A broker reads {wanted} for this number, and never this file."
        severity, forecast = None, None
    else:
        message = f"A broker looks for {wanted}, creates it, empty, and never reads this file."
        severity, forecast = (ERROR, RESCAN) if suffix == file_name.LOG else (None, DELETE)
    context = context_in(partition, name)
    context.report("name-width-odd", 0, 0, message, severity=severity, expected=wanted, found=escaped(name), forecast=forecast)


def check_directories(path: str, settings: Settings, emit: Emit) -> None:
    """Check the names of all directories in a log directory."""
    is_of_broker = tree.is_log_directory(path)
    for directory in tree.partitions(path):
        base = os.path.basename(directory)
        context = FileContext(NoSource(directory), directory, "directory", settings, emit)
        _check_text(context, base)
        name = tree.directory_name(directory)
        if name is None and is_of_broker:
            message = f"{escaped(base)} is not of the form TOPIC-PARTITION. No broker starts with it in its log directory."
            context.report("dir-odd", 0, 0, message, severity=ERROR, forecast=DIE)
        elif name is not None and name.state:
            context.report("dir-odd", 0, 0, _STATES[name.state], severity=INFO)
    for other in tree.log_dir_files(path):
        file_path = os.path.join(path, other)
        _check_text(FileContext(NoSource(file_path), file_path, "file", settings, emit), other)


def _check_text(context: FileContext, name: str) -> None:
    """Report bytes that are not text, control characters, and commas, at which Kafka's tool splits names."""
    if "," in name:
        context.report("name-not-utf8", 0, 0, f"{escaped(name)} contains a comma, at which Kafka's tool splits file names.")
    elif not name.isprintable():
        is_text = not any("\udc80" <= character <= "\udcff" for character in name)
        what = "control characters or invisible ones" if is_text else "bytes that are not UTF-8"
        context.report("name-not-utf8", 0, 0, f"{escaped(name)} contains {what}.")
