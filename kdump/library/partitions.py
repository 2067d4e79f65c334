"""`kdump.partitions`: the partition directories of log directories."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.errors import Unreadable
from kdump.formats import tree
from kdump.formats.selection import Selection, partitions_below
from kdump.tables import Int32, Row, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class Partition(Row):
    """A partition directory: its path, which `kdump.open` and others take, its topic and its number.

    `state` is `delete`, `stray` or `future` where the name of the directory says so, and None for what brokers serve.
    """

    path: Text
    topic: Text
    partition: Int32
    state: Text | None

    def __fspath__(self) -> str:
        return self.path


def partitions(
    path: str | os.PathLike[str], *, topics: Sequence[str] = (), partitions: Collection[int] | None = None
) -> list[Partition]:
    """The partitions of a log directory, or of several below a directory, in the order of their paths.

    `topics` are globs, `partitions` numbers. What is no partition, such as `lost+found`, is left out. Raises Unreadable if there
    is no such path.
    """
    given = os.fspath(path)
    if not system.has_name(given):
        raise Unreadable("file-missing", "no such file or directory", path=given)
    selection = Selection(topics, partitions)
    found = []
    for directory in partitions_below(given):
        name = tree.directory_name(directory)
        if name is not None and system.is_directory(directory) and selection.has(name.topic, name.partition):
            found.append(Partition(directory, name.topic, name.partition, name.state or None))
    return found
