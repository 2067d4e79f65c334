"""A log directory as a whole: names of directories, partitions of one topic side by side."""

from __future__ import annotations

from kdump.binary.source import NoSource
from kdump.checks.context import FileContext
from kdump.checks.finding import WARNING
from kdump.checks.rules import names, partition_metadata
from kdump.formats import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.checks.check import Emit
    from kdump.checks.settings import Settings


def check(path: str, settings: Settings, emit: Emit) -> None:
    """Check what no file and no partition shows alone. The files of the directory itself have been checked by now."""
    names.check_directories(path, settings, emit)
    if settings.checks_crcs:
        _check_topic_ids(path, settings, emit)


def _check_topic_ids(path: str, settings: Settings, emit: Emit) -> None:
    """All partitions of a topic that a broker serves carry one topic id."""
    ids: dict[str, tuple[bytes, str]] = {}
    for directory in tree.partitions(path):
        name = tree.directory_name(directory)
        topic_id = partition_metadata.topic_id_of(directory) if name is not None and not name.is_going else None
        if name is None or topic_id is None:
            continue
        first_id, first = ids.setdefault(name.topic, (topic_id, directory))
        if topic_id != first_id:
            file = f"{directory}/{tree.PARTITION_METADATA}"
            message = (
                f"The topic id is not that of {first.rpartition('/')[2]}. One of the two is from another topic of this name."
            )
            context = FileContext(NoSource(file), file, "metadata", settings, emit)
            context.report("partition-metadata-bad", 0, 0, message, severity=WARNING)
