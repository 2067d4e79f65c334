"""The command `kdump releases`: which releases there are, and what they changed."""

from __future__ import annotations

import os

from kdump.errors import UsageError
from kdump.output.blocks import Blocks
from kdump.output.rows.releases import changes_ndjson, groups_ndjson
from kdump.output.text.releases import changes_text, groups_text
from kdump.releases import changes
from kdump.releases.known import RELEASES, unknown_release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.cli.screens.options import ReleasesOptions

_RANGE = ".."
_WIDTH = 100  # of lines that go to no terminal


def list_releases(options: ReleasesOptions) -> int:
    """Write to stdout, without a release, all; with one, its changes; with two, their differences. Returns the exit code.

    Raises UsageError.
    """
    releases = [release for word in options.releases for release in word.split(_RANGE)]
    if len(releases) > 2:
        raise UsageError("kdump releases takes one release, or two")
    for release in releases:
        if release not in RELEASES:
            raise unknown_release(release, "release ")
    with open(1, "wb", buffering=0, closefd=False) as stdout:
        out = Blocks(stdout)
        _list(releases, out, os.get_terminal_size(1).columns if stdout.isatty() else _WIDTH, is_text=options.output == "text")
        out.flush()
    return 0


def _list(releases: list[str], out: Blocks, width: int, *, is_text: bool) -> None:
    groups = changes.groups()
    if not releases:
        if is_text:
            out.write(groups_text(groups, width))
        else:
            groups_ndjson(groups, out.write)
        return
    *before, new = releases
    old = before[0] if before else RELEASES[max(RELEASES.index(new) - 1, 0)]
    changed = changes.changes(old, new)
    if is_text:
        alike = next(group for group in groups if new in group.releases)
        out.write(changes_text(old, new, changed, alike, width))
    else:
        changes_ndjson(old, new, changed, out.write)
