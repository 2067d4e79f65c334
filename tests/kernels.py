"""Both kernels side by side in one process, and sizes so small that small files meet every seam of the work."""

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from kdump.binary import checksums, kernel, source
from kdump.cli import commands, dropin
from kdump.cli.listing import lister
from kdump.dropin import logs, parallel_text
from kdump.formats import log
from kdump.output.kafka import native_lines
from kdump.reading import read_ahead, salvage, search, zeros

KERNELS = (kernel.PYTHON, kernel.C)


def why_no_c() -> str | None:
    """Why the kernel in C cannot be used, None if it can."""
    try:
        from kdump.binary import _kernel  # noqa: F401  # only whether it is there
    except ImportError as error:
        return f"the kernel in C was not built: {error}"
    return None


@contextlib.contextmanager
def using(name: str) -> Iterator[None]:
    """This kernel for a while, then the one that was in use before."""
    before = kernel.name
    kernel.use(name)
    try:
        yield
    finally:
        kernel.use(before)


class Sizes(NamedTuple):
    """Sizes that decide where work is cut into parts; small ones make small files meet all the seams.

    `window` is what is read at once, `out` the room for text, `gaps` that for pairs of offsets, `payload` what is decompressed
    in one go, and `piece` what a process takes at a time; None is for one process.
    """

    window: int = 1 << 20
    out: int = 1 << 20
    gaps: int = 1024
    payload: int = 4 << 20
    piece: int | None = None

    @property
    def options(self) -> list[str]:
        """The options of kdump that go with them."""
        return ["--jobs", "1" if self.piece is None else "3"]


@contextlib.contextmanager
def sizes(given: Sizes) -> Iterator[None]:
    """These sizes for a while."""
    with contextlib.ExitStack() as stack:

        def put(module: object, **values: object) -> None:
            for name, value in values.items():
                stack.enter_context(mock.patch.object(module, name, value))

        put(log, WINDOW_SIZE=given.window)
        if given.window < source.WINDOW_SIZE:
            window = max(given.window, 62)  # at least a header and a byte
            put(salvage, WINDOW_SIZE=window)
            put(search, WINDOW_SIZE=window, NEAR=window)
            put(zeros, WINDOW_SIZE=window)
            put(checksums, WINDOW_SIZE=window)
            put(read_ahead, _UNIT=given.window)
        stack.enter_context(mock.patch.dict(log.Log.__init__.__kwdefaults__, window_size=given.window))
        put(
            native_lines,
            OUT_SIZE=given.out,
            _GAPS=given.gaps,
            _MAX_PAYLOAD=given.payload,
            _WINDOW_SIZE=given.window,
            _PAUSE=given.window,
        )
        if given.piece is not None:
            put(logs, _WORTH_JOBS=1)
            stack.enter_context(mock.patch.dict(parallel_text._LEAST, dict.fromkeys(parallel_text._LEAST, 1)))
            put(
                parallel_text,
                _UNIT=given.piece,
                _LEAST_UNITS=1,
                _TEXT_SIZE=given.piece,
                _SLOT_SIZE=2 * given.out,
                _PAUSE=2 * given.piece,
            )
            put(search, _FIRST_WINDOW=max(given.piece // 8, 1))
        yield


WAYS = {"all at once": None, "in small windows": 100, "in windows of two": 200, "batch by batch": 0}
"""How a check comes upon the batches of a log; what it finds does not depend on it. Batches of tests have some 70 bytes."""


@contextlib.contextmanager
def coming_upon_batches(way: str) -> Iterator[None]:
    """Batches come in one of WAYS for a while; batch by batch, nobody sums them up."""
    window = WAYS[way]
    with contextlib.ExitStack() as stack:
        if window:
            stack.enter_context(sizes(Sizes(window=window)))
        elif window == 0:
            stack.enter_context(mock.patch.object(log.Log, "_summarized_chunk", log.Log._regular_chunk))
            stack.enter_context(mock.patch.object(read_ahead, "summarize_piece", lambda *_: None))
        yield


class Printed(NamedTuple):
    """What a run of kdump gave."""

    exit_code: int
    stdout: bytes
    stderr: bytes


def printed(arguments: Sequence[str | Path], given: Sizes = Sizes()) -> Printed:  # noqa: B008  # it does not change
    """What the drop-in form prints in this process, with these sizes."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    with sizes(given):
        exit_code = dropin.main([*given.options, *map(str, arguments)], stdout, stderr)
    return Printed(exit_code, stdout.getvalue(), stderr.getvalue())


def listed(arguments: Sequence[str | Path]) -> Printed:
    """What a command of kdump prints in this process."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    with (
        mock.patch.object(lister, "open", lambda *_, **__: contextlib.nullcontext(stdout), create=True),
        mock.patch.object(lister, "stderr_bytes", lambda: contextlib.nullcontext(stderr)),
    ):
        exit_code = commands.main([*map(str, arguments)])
    return Printed(exit_code, stdout.getvalue(), stderr.getvalue())
