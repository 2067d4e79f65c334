"""The command `kdump`: which door an invocation goes through, and how it ends."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

COMMANDS = ("log", "index", "timeindex", "txnindex", "snapshot", "checkpoint")

OUTPUT_FAILED = 4
INTERRUPTED = 130


def main() -> int:
    """Run the command line of this process."""
    arguments = sys.argv[1:]
    try:
        if is_dropin(arguments):
            from kdump.cli import dropin

            status = dropin.main(arguments, _binary(sys.stdout, 1), _binary(sys.stderr, 2), is_terminal=_is_terminal())
        else:
            from kdump.cli import commands

            status = commands.main(arguments)
        return status
    except BrokenPipeError:
        # whoever reads our output has seen enough, as `head` has
        _forget_stdout()
        return 0
    except KeyboardInterrupt:
        _forget_stdout()
        os.write(2, b"kdump: interrupted\n")
        return INTERRUPTED
    except OSError as error:
        # files that cannot be read are told apart below; what is left is the output
        _forget_stdout()
        os.write(2, f"kdump: cannot write the output: {error.strerror or error}\n".encode())
        return OUTPUT_FAILED


def is_dropin(arguments: list[str]) -> bool:
    """Whether these are the options of Kafka's tool; a command's name or a screen of our own comes first otherwise."""
    if not arguments or arguments[0] in ("--help", "-h", "--version"):
        return False
    return arguments[0] not in COMMANDS and any(argument.startswith("-") for argument in arguments)


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _binary(stream: object, descriptor: int) -> BinaryIO:
    """The bytes behind a text stream of this process."""
    if stream is None:
        raise OSError(9, f"file descriptor {descriptor} is closed")
    return open(descriptor, "wb", buffering=0, closefd=False)


def _forget_stdout() -> None:
    """Keep the interpreter from trying to write to a stdout that has failed when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError:
        pass
