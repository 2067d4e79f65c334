"""The command `kdump`: chooses the drop-in form or a command, and ends with its exit code."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

from kdump.binary.placing import require_written
from kdump.cli.command_names import is_dropin
from kdump.cli.signals import EndingSignals
from kdump.cli.streams import buffer_stdout, forget_stdout, out_of_memory, say
from kdump.errors import Unreadable, UsageError
from kdump.exit_codes import CLEAN, FINDINGS, INTERRUPTED, NOT_EXAMINED, OUTPUT_FAILED, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, NoReturn


_SCREENS = ("explain", "schema", "releases", "completions")  # commands that print what is known, and examine nothing


_DEBUG = "KDUMP_DEBUG"
_LAST_WORDS = b"kdump: out of memory\n"
_SLOW_SECONDS = 3.0  # of processor time
_NEW_OBJECTS = 20_000  # before Python looks for cycles among them: of what modules and tables are made, none is garbage


def run() -> NoReturn:
    """Run the command line of this process, and end it with the exit code.

    Without Click, everything has been written by then, and Python's own clean-up would take a tenth of its start-up time.
    """
    gc.set_threshold(_NEW_OBJECTS)
    signals = EndingSignals()
    try:
        signals.catch()
        status = _delivered(main())
    except KeyboardInterrupt as interrupt:  # in the last moment
        status = _interrupted(interrupt)
    except MemoryError:  # while a message was made
        if sys.stderr is not None:
            os.write(2, _LAST_WORDS)
        status = NOT_EXAMINED
    _say_why_slow()
    signals.ignore()
    if status == INTERRUPTED:
        status = signals.exit_code(INTERRUPTED)
        # A KeyboardInterrupt that escaped from the text of a class, as of a named tuple, has `python -m` end by SIGINT, even
        # if it was handled later; it forgets that when the next text runs.
        eval("None")
    if "click" not in sys.modules:
        unfinished = sys.modules.get("kdump.workers.unfinished")
        if unfinished is not None:  # an interrupt may have left some
            unfinished.remove_all()
        os._exit(status)
    if status == NOT_EXAMINED and "pyspark" not in sys.modules:
        _end_briefly(status)
    sys.exit(status)


def _say_why_slow() -> None:
    """Say on a terminal, after what took long, that the kernel in C is missing, which would have been much faster."""
    kernel = sys.modules.get("kdump.binary.kernel")
    if kernel is None or not kernel.reason.startswith(kernel.NOT_BUILT) or not os.isatty(2):
        return
    if sum(os.times()[:4]) >= _SLOW_SECONDS:  # of this process and those that it has started
        fraction = "with it, kdump takes a fraction of the time: docs/install.md says how to get it"
        say(f"this took long, for {kernel.reason}; {fraction}")


def _end_briefly(status: int) -> NoReturn:
    """End the process without Python's own clean-up, which prints lines of errors if memory is short."""
    try:
        with suppress(MemoryError, OSError):
            import atexit

            atexit._run_exitfuncs()
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
    finally:
        os._exit(status)


def main() -> int:
    """Run the command line of this process. Returns the exit code."""
    arguments = sys.argv[1:]
    try:
        if is_dropin(arguments):
            from kdump.cli import dropin

            return dropin.main(arguments, _binary(1), _binary(2, or_nowhere=True), is_terminal=os.isatty(1))
        buffer_stdout()
        from kdump.cli import commands

        return commands.main(arguments)
    except BrokenPipeError as error:
        forget_stdout()
        if is_dropin(arguments) or arguments[:1] and arguments[0] in _SCREENS:
            return 0  # the reader of the output has seen enough, as `head` has
        say(f"internal error: {error} between processes; please report it")  # commands that judge handle this themselves
        return NOT_EXAMINED
    except KeyboardInterrupt as interrupt:
        return _interrupted(interrupt)
    except ModuleNotFoundError as error:
        if error.name != "click":
            return _internal_error(error)
        from kdump.binary.installing import how_to_install

        say(f'this command needs the package "click"; {how_to_install("click")}. The drop-in form (--files) works without it')
        return USAGE
    except UsageError as error:  # about the environment: those about arguments were caught before
        say(str(error))
        return USAGE
    except Unreadable as error:
        say(str(error))
        return NOT_EXAMINED
    except MemoryError as error:
        say(out_of_memory(error))
        return NOT_EXAMINED
    except OSError as error:
        if _is_of_import(error):
            say(f"a part of kdump cannot be loaded: {error.filename}: {error.strerror}")
            return NOT_EXAMINED
        # files that cannot be read raise Unreadable; what is left is the output
        forget_stdout()
        where = f"{error.filename.partition('.incomplete-')[0]}: " if isinstance(error.filename, str) else ""
        say(f"cannot write the output: {where}{error.strerror or error}")
        return OUTPUT_FAILED
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps what is raised while a class is made
            return _interrupted(error.__cause__)
        from kdump.binary.loading import lacks_memory

        if lacks_memory(error):  # as the dynamic linker says it of a module
            say(out_of_memory(error))
            return NOT_EXAMINED
        return _internal_error(error)


def _is_of_import(error: OSError) -> bool:
    """Whether it was the interpreter that failed to read a module, as where no descriptor is left."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename.startswith("<frozen importlib")


def _delivered(status: int) -> int:
    """The exit code; OUTPUT_FAILED if a file server did not take all that was written to stdout."""
    if status in (CLEAN, FINDINGS) and sys.stdout is not None:
        try:
            require_written(1)
        except OSError as error:
            say(f"cannot write the output: {error.strerror or error}")
            return OUTPUT_FAILED
    return status


def _internal_error(error: Exception) -> int:
    if _DEBUG in os.environ:
        raise error
    say(f"internal error: {type(error).__name__}: {error}; please report it, with what {_DEBUG}=1 shows")
    return NOT_EXAMINED


def _interrupted(interrupt: KeyboardInterrupt) -> int:
    forget_stdout()
    say(str(interrupt) or "interrupted")
    return INTERRUPTED


def _binary(descriptor: int, *, or_nowhere: bool = False) -> BinaryIO:
    """A standard stream of this process as bytes; if it is closed, an error, or a stream that discards everything."""
    try:
        os.fstat(descriptor)
    except OSError:
        if not or_nowhere:
            raise
        return open(os.devnull, "wb", buffering=0)
    return open(descriptor, "wb", buffering=0, closefd=False)
