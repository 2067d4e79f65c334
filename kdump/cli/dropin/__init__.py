"""The drop-in form: Kafka's options, Kafka's output, Kafka's stopping, Kafka's exit codes."""

from __future__ import annotations

from kdump.cli.dropin.tool import USAGE, DumpTool
from kdump.errors import UsageError
from kdump.output.blocks import Blocks
from kdump.releases import history
from kdump.releases.profile import profile_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

_RELEASE_OPTION = "--release"
_STRICT_OPTION = "--strict-stderr"
_OPTIONS_WITH_VALUES = ("files", "max-bytes", "max-message-size")


def main(arguments: list[str], stdout: BinaryIO, stderr: BinaryIO, *, is_terminal: bool = False) -> int:
    """Do what Kafka's tool does with these arguments, and return its exit code.

    Of our own are only `--release`, for the release whose output is wanted, and `--strict-stderr`, for no word of ours on stderr.
    """
    try:
        words, release, is_strict = _own_options(arguments)
        profile = profile_of(release)
    except UsageError as error:
        stderr.write(f"kdump: {error}\n".encode("utf-8", "backslashreplace"))
        return USAGE
    tool = DumpTool(profile, Blocks(stdout), Blocks(stderr), is_strict=is_strict, is_terminal=is_terminal)
    try:
        return tool.run(words)
    finally:
        tool.out.close()
        tool.err.close()


def _own_options(arguments: list[str]) -> tuple[list[str], str, bool]:
    """Kafka's arguments, the release, and whether stderr is to be strict."""
    words: list[str] = []
    release, is_strict = history.RELEASES[-1], False
    remaining = iter(arguments)
    for word in remaining:
        if word == "--":
            words += [word, *remaining]
        elif word == _STRICT_OPTION:
            is_strict = True
        elif word == _RELEASE_OPTION:
            found = next(remaining, None)
            if found is None:
                raise UsageError(f"{_RELEASE_OPTION} takes a release, such as {history.RELEASES[-1]}")
            release = found
        elif word.startswith(_RELEASE_OPTION + "="):
            release = word.removeprefix(_RELEASE_OPTION + "=")
        else:
            words.append(word)
            if word.lstrip("-") in _OPTIONS_WITH_VALUES:
                words += [value for value in (next(remaining, None),) if value is not None]
    return words, release, is_strict
