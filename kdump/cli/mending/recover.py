"""Runs `kdump recover`."""

from __future__ import annotations

import os

from kdump.binary.paths import is_url
from kdump.cli.mending import command
from kdump.cli.shared_options import settings_of
from kdump.errors import UsageError
from kdump.formats import tree
from kdump.formats.selection import Selection
from kdump.mending.recover import recover
from kdump.output.mending import RECOVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.cli.mending.command import Made
    from kdump.cli.mending.options import RecoverOptions
    from kdump.mending.progress import Progress


def recover_paths(options: RecoverOptions) -> int:
    """Make the new directory, then report on stdout what is in it and what is not. Returns the exit code."""
    accept = [_offset(word) for word in options.accept]
    config = settings_of(options.config)
    selection = Selection.of_texts(options.topics, options.partitions)

    def make(out: str, progress: Progress) -> Made:
        result = recover.run(
            options.paths, out, merge=options.merge, accept=accept, config=config, selection=selection, progress=progress
        )
        summary = result.summary(out)
        summary.replaces = _replaced(options.paths)
        return result.rows, summary

    return command.run(RECOVER, options, [*options.paths, *options.merge], make)


def _replaced(paths: Sequence[str]) -> str:
    """The only partition directory that was read; empty if there is no such one, or none with a name of its own."""
    path = paths[0].rstrip("/")
    if len(paths) > 1 or is_url(path) or os.path.basename(path) in ("", os.curdir, os.pardir):
        return ""
    return path if tree.is_partition(path) else ""


def _offset(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 20):
        raise UsageError(f"--accept {word}: an offset is a number")
    return int(word)
