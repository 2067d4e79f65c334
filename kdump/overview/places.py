"""What a place is: whose log directory, how its broker stopped, and, as a guess, which releases wrote it."""

from __future__ import annotations

import os

from kdump.binary import system
from kdump.decoders.metadata_beside import properties_of
from kdump.formats import tree
from kdump.overview.row import CLEAN, RUNNING, UNCLEAN, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kdump.formats.meta_properties import MetaProperties
    from kdump.overview.row import PartitionSum

_KRAFT, _ZOOKEEPER = "KRaft", "ZooKeeper"


def place_of(path: str, what: str, log_directory: str, sums: Iterable[PartitionSum]) -> Place:
    """A place in this log directory, with these partitions. What its files do not say is None."""
    meta = properties_of(log_directory)
    magics = {magic for one in sums for magic in one.magics}
    mode = broker = cluster = stop = None
    if meta is not None and meta.node_id is not None:  # an empty file says nothing of either
        mode = _KRAFT if meta.version else _ZOOKEEPER
        broker, cluster = str(meta.node_id), meta.cluster_id
    if tree.is_log_directory(log_directory):
        is_clean = system.exists(os.path.join(log_directory, tree.CLEAN_SHUTDOWN))
        is_running = system.is_locked(os.path.join(log_directory, tree.LOCK))
        stop = RUNNING if is_running else CLEAN if is_clean else UNCLEAN
    return Place(path, what, broker, cluster, mode, _written_by(meta, magics), stop)


def _written_by(meta: MetaProperties | None, magics: set[int]) -> str | None:
    """The releases that write such files."""
    if meta is not None and meta.directory_id is not None:
        return "3.7 or later"
    if meta is not None and meta.version:
        return "2.8 or later"
    if not magics:
        return None
    newest = {0: "0.8 or later", 1: "0.10 or later"}.get(max(magics), "0.11 or later")
    return newest if len(magics) == 1 else f"{newest}; the oldest logs by earlier releases"
