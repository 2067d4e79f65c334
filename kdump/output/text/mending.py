"""The commands that mend, as a report names them: with their arguments, quoted for a shell."""

from __future__ import annotations

import os

from kdump.binary.paths import absolute, is_url

COPY_FIRST = "copy {} from its store to a disk: what follows is for the copy"
"""The first step where others need files of this machine."""


def command_to_recover(path: str) -> str:
    """The command that copies what is whole of a damaged partition."""
    return f"kdump recover {_arguments(path)}   # a copy with all that is whole, and what could not be saved"


def command_to_reindex(path: str) -> str:
    """The command that copies a partition whose logs are sound, with new companions."""
    return f"kdump reindex {_arguments(path)}   # or a copy: its logs are sound, its indexes and snapshots are rebuilt"


def _arguments(path: str) -> str:
    import shlex

    name = os.path.basename(absolute(path))
    start = os.path.join(".", path) if path.startswith("-") else path
    if is_url(path):
        start = name  # of the copy
    return f"{shlex.quote(start)} -o {shlex.quote(os.path.join('ELSEWHERE', name))}"
