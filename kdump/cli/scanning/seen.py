"""Looks for the files of a scan, and for those that are as an earlier scan has seen them."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, NamedTuple

from kdump.binary.paths import absolute
from kdump.errors import Unreadable, UsageError
from kdump.formats import tree
from kdump.pipeline import discovery, earlier_scan
from kdump.pipeline.kept import NOTHING
from kdump.pipeline.options import Options

if TYPE_CHECKING:
    from kdump.cli.scanning.request import ScanRequest
    from kdump.pipeline.discovery import FileItem
    from kdump.pipeline.earlier_scan import EarlierScan, Found
    from kdump.pipeline.kept import Kept


class Seen(NamedTuple):
    """The files of a scan, and what is `kept` of an `earlier` one.

    `common` are the options of all tables. `found` is None where the scan cannot be repeated, because schemas may change while
    files do not. `is_unchanged` says that nothing has to be read. `unlisted` are directories that could not be listed.
    """

    items: list[FileItem]
    common: dict[str, str]
    found: Found | None
    earlier: EarlierScan | None
    kept: Kept
    is_unchanged: bool
    unlisted: list[Unreadable]


def look(request: ScanRequest) -> Seen:
    """Look for the files of a request. Raises UsageError if its directory holds a scan of something else."""
    earlier = _earlier_scan(request)
    paths = tree.matching(request.paths)
    if request.is_on_cluster:
        paths = [absolute(path) for path in paths]  # its processes work in separate directories
    common = {**request.given, "paths": json.dumps(paths), "unreadable": Options.SKIP}
    began_ns = time.time_ns()
    unlisted: list[Unreadable] = []
    items = discovery.with_copies_told_apart(discovery.files_of(Options({**common, "table": "files"}), unlisted))
    is_repeatable = request.tables_to is not None and not request.decoding
    found = earlier_scan.find(items, paths, began_ns) if is_repeatable else None
    kept, is_unchanged = NOTHING, False
    if earlier is not None and found is not None:
        kept = earlier.kept(found)
        is_unchanged = not unlisted and earlier.is_all(kept, found, items)
    return Seen(items, common, found, earlier, kept, is_unchanged, unlisted)


def _earlier_scan(request: ScanRequest) -> EarlierScan | None:
    """The scan that is repeated, if there is one. Raises UsageError if it was asked for something else."""
    if not request.is_repeated:
        return None
    earlier = earlier_scan.load(str(request.tables_to))
    if earlier is None:
        raise UsageError(
            f"--tables-to {request.tables_to} exists, and is not a scan of this release of kdump", remedy="name another directory"
        )
    earlier.require(request.identity)
    return earlier
