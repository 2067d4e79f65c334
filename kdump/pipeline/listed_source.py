"""A log up to its size when it was listed, so that all tables of a scan agree while a broker appends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdump.binary.source import Source
from kdump.binary.tolerant_source import TolerantSource
from kdump.errors import KdumpError, Unreadable
from kdump.pipeline.discovery import LINK_OUTSIDE

if TYPE_CHECKING:
    from kdump.pipeline.discovery import FileItem

_LOGS = ("log", "checkpoint")


class Replaced(KdumpError):
    """What is at a path is not the file that was listed: a broker renamed, compacted or deleted it meanwhile."""


class ListedSource(TolerantSource):
    """A file that is read only up to its size when it was listed, past blocks that the device cannot read.

    Raises Unreadable (`file-shrank`) where there is less than that, when it is opened or later; Replaced if `inode` is not the
    file's.
    """

    def __init__(self, path: str, size: int, inode: int | None = None) -> None:
        super().__init__(path)
        if inode is not None and self.status().st_ino != inode:
            self.close()
            raise Replaced("it is another file than the one that was listed", path=path)
        if self.size < size:
            found = self.size
            self.close()
            raise Unreadable("file-shrank", f"it has {found:,} bytes, but had {size:,} when it was listed", path=path)
        self.size = size


def opened(item: FileItem) -> Source:
    """The file of an item; a log ends where it ended when it was listed. Indexes may shrink: brokers preallocate them.

    Raises Unreadable as Source does, and for a link that is not to be followed (`link-outside`); Replaced where an item with an
    inode has no such file any more.
    """
    if item.state == LINK_OUTSIDE:
        message = "it is a symbolic link that leads out of the given paths; name its target as well, or follow links"
        raise Unreadable("link-outside", message, path=item.path)
    if item.kind in _LOGS and item.modified_ms is not None:
        try:
            return ListedSource(item.path, item.size, item.inode)
        except Unreadable as error:
            if item.inode is None or error.code != "file-missing":
                raise
            raise Replaced("it is gone since it was listed", path=item.path) from error
    return Source(item.path)
