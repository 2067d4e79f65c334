"""Answers a first word that is not a command."""

from __future__ import annotations

import os
import shlex

from kdump.cli.command_names import near_commands
from kdump.cli.listing.paths import COMMANDS
from kdump.formats import file_name


def unknown_command(word: str) -> str:
    """The message for a word that is not a command: what may have been meant, or what to type for a path."""
    quoted = shlex.quote(word)
    if os.path.isdir(word):
        return f"{word} is a directory; to check it: `kdump check {quoted}`; to list its logs: `kdump log {quoted}`"
    if os.path.exists(word):
        command = COMMANDS.get(file_name.suffix(os.path.basename(word)), "log")
        return f"{word} is a file; try `kdump {command} {quoted}`, `kdump check {quoted}` or `kdump --files {quoted}`"
    near = near_commands(word)
    if near:
        return f"there is no command {word}; did you mean {near[0]}?"
    return f"there is no command or file {word}; `kdump help` lists the commands"
