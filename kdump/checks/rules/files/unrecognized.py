"""Files that are not Kafka's by name: they are not examined, and a finding says so."""

from __future__ import annotations

import os
import re
from shlex import quote

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.binary.java_strings import escaped
from kdump.checks.finding import INFO
from kdump.checks.rules.framing.file_kinds import kind_of_file
from kdump.checks.wording import counted
from kdump.errors import Unreadable
from kdump.formats import file_name, tree
from kdump.reading.plausible import is_plausible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.source import Source
    from kdump.checks.context import FileContext

_OF_SEGMENTS = re.compile(r"\d{20}\.(?!tierstate)")  # Confluent's brokers write .tierstate files beside segments in good order
_UNPACK = {"gzip": "gunzip -c", "zstd": "zstd -dc", "lz4": "lz4 -dc", "bzip2": "bunzip2 -c", "xz": "xz -dc"}
_TAR = re.compile(r"\.(?:tar\.\w+|t[a-z]*gz)$")  # compressed
_MAX_SHOWN_NAMES = 3  # names in a message


def is_of_program(source: Source, path: str) -> bool:
    """Whether a file that is called as those of segments is another program's, such as a server.log, or one in a log directory:
    a broker leaves it there.
    """
    name = os.path.basename(path)
    try:
        if is_like_log(source):
            return False
        is_odd_log = name.endswith(file_name.LOG) and tree.base_offset_of(name) is None
        is_other = name in tree.PROGRAM_LOGS or tree.is_other_file(path)
        return is_other or is_odd_log and tree.is_log_directory(tree.parent(path))
    except Unreadable:
        return False


def may_be_log(source: Source, name: str) -> bool:
    """Whether a file with a name that is not Kafka's may hold a log: its name or its content starts like that of one."""
    return bool(_OF_SEGMENTS.match(name)) or is_like_log(source)


def is_like_log(source: Source) -> bool:
    """Whether a file starts with what may be the header of a batch."""
    return is_plausible(source.read(0, BATCH_HEADER_SIZE), source.size)


def check(context: FileContext, *, is_named: bool) -> bool:
    """Report a file that was not examined, if it was named itself or seems to be Kafka's; False if not."""
    source = context.source
    name = os.path.basename(context.path)
    head = source.read(0, 512)
    kind = kind_of_file(head)
    is_log = is_like_log(source)
    if not (is_named or is_log or _OF_SEGMENTS.match(name)):
        return False
    if kind:
        unpack = f": `{_UNPACK[kind]} {quote(context.path)} | kdump check -` examines its contents" if kind in _UNPACK else ""
        extract = "unzip" if kind == "zip" else "tar -xf" if kind == "tar" or _TAR.search(name) else ""
        unpack = f": `{extract} {quote(context.path)}`, and check the extracted files" if extract else unpack
        advice = f"It starts like a file of type {kind}{unpack}."
    elif is_log and (log := tree.missing_log(context.path)) is not None:
        advice = f"It starts like a log, and there is no {os.path.basename(log)}: it may be that segment under another name."
    elif is_log:
        advice = "It starts like a log: name it *.log, or check it as one: `kdump check --as log`."
    else:
        advice = "If it is Kafka's, give it a broker's file name (*.log, *.index), or state its type: `kdump check --as TYPE`."
    message = f"Not examined: its name is not one of Kafka's. {advice}"
    context.report("file-not-recognized", 0, source.size, message, found="log" if is_log else kind or None)
    return True


def report_others(context: FileContext, others: Sequence[tuple[str, int]]) -> None:
    """Report the files of a directory, with their sizes, that do not seem to be Kafka's."""
    names = ", ".join(escaped(name) for name, _ in others[:_MAX_SHOWN_NAMES]) + (
        ", ..." if len(others) > _MAX_SHOWN_NAMES else ""
    )
    size = sum(size for _, size in others)
    verb, whose = ("is", "was") if len(others) == 1 else ("are", "were")
    files = f"{counted(len(others), 'file')} ({names}; {size:,} bytes)"
    message = f"{files} {verb} not Kafka's by name and content, and {whose} not examined."
    context.report("file-not-recognized", 0, 0, message, severity=INFO)
