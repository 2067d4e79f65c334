"""Both kernels side by side in one process, and sizes so small that small files meet every seam of the work."""

import contextlib
import functools
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from unittest import mock

from kdump.binary import kernel
from kdump.cli import commands, dropin
from kdump.cli.listing import lister
from kdump.cli.listing.tuning import ListTuning
from kdump.dropin.parallel_text import ParallelTuning
from kdump.dropin.tuning import Tuning
from kdump.formats import log
from kdump.output.kafka.native_lines import TextTuning
from kdump.reading import salvage, stretches
from kdump.reading.tuning import ReadTuning
from tools import kernel as tools_kernel

KERNELS = (kernel.PYTHON, kernel.C)


def why_no_c() -> str | None:
    """Why the kernel in C cannot be used, None if it can."""
    try:
        from kdump.binary import _kernel  # noqa: F401  # only whether it is there
    except ImportError as error:
        return f"the kernel in C was not built: {error}"
    return None


def why_stale() -> str | None:
    """Why tests would say nothing of the sources of the kernel in C, None if they do, or it was not built."""
    if why_no_c():
        return None
    return tools_kernel.why_stale(getattr(native(), "SOURCES", "unknown"))


def native() -> ModuleType:
    """The kernel in C, where it was built."""
    from kdump.binary import _kernel

    return _kernel


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
    in one go, `decoded` the most text of a decoded record, and `stretch` what a process takes at a time; None is for one process.
    """

    window: int = 1 << 20
    out: int = 1 << 20
    gaps: int = 1024
    payload: int = 4 << 20
    decoded: int = 2 << 20
    stretch: int | None = None

    @property
    def options(self) -> list[str]:
        """The options of kdump that go with them."""
        return ["--jobs", "1" if self.stretch is None else "3"]

    @property
    def tuning(self) -> Tuning:
        """What a dump is given for them."""
        parallel = None
        if self.stretch is not None:
            parallel = ParallelTuning(
                min_bytes=dict.fromkeys(ParallelTuning().min_bytes, 1),
                unit_bytes=self.stretch,
                min_units=1,
                text_bytes=self.stretch,
                slot_bytes=2 * self.out,
                pause_bytes=2 * self.stretch,
                search_bytes=max(self.stretch // 8, 1),
            )
        text = TextTuning(
            window_bytes=self.window,
            out_bytes=self.out,
            gap_count=self.gaps,
            max_payload_bytes=self.payload,
            pause_bytes=self.window,
            max_decoded_bytes=self.decoded,
        )
        ordinary = Tuning()
        least = ordinary.min_jobs_bytes if self.stretch is None else 1
        return Tuning(window_bytes=self.window, min_jobs_bytes=least, text=text, parallel=parallel)


def in_windows(size: int) -> ReadTuning:
    """To read a log in windows and stretches of this size, but for a header and a byte at least."""
    window = max(size, 62)
    return ReadTuning(window_bytes=window, near_bytes=window, stretch_bytes=size) if size < 1 << 20 else ReadTuning()


@contextlib.contextmanager
def reading_with(tuning: ReadTuning) -> Iterator[None]:
    """Logs are read with these sizes for a while, by whoever reads them."""
    with mock.patch.dict(salvage.walk.__kwdefaults__, tuning=tuning):
        yield


WAYS = {"all at once": None, "in small windows": 100, "in windows of two": 200, "batch by batch": 0}
"""How a check comes upon the batches of a log; what it finds does not depend on it. Batches of tests have some 70 bytes."""


@contextlib.contextmanager
def coming_upon_batches(way: str) -> Iterator[None]:
    """Batches come in one of WAYS for a while; batch by batch, nobody sums them up."""
    window = WAYS[way]
    with contextlib.ExitStack() as stack:
        if window:
            stack.enter_context(reading_with(in_windows(window)))
        elif window == 0:
            stack.enter_context(mock.patch.object(log.Log, "_summarized_chunk", log.Log._regular_chunk))
            stack.enter_context(mock.patch.object(stretches, "summarize_stretch", lambda *_: (None, False, None)))
        yield


class Printed(NamedTuple):
    """What a run of kdump gave."""

    exit_code: int
    stdout: bytes
    stderr: bytes


def printed(arguments: Sequence[str | Path], given: Sizes = Sizes()) -> Printed:  # noqa: B008  # it does not change
    """What the drop-in form prints in this process, with these sizes."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    exit_code = dropin.main([*given.options, *map(str, arguments)], stdout, stderr, tuning=given.tuning)
    return Printed(exit_code, stdout.getvalue(), stderr.getvalue())


def listed(arguments: Sequence[str | Path], given: Sizes = Sizes()) -> Printed:  # noqa: B008  # it does not change
    """What a command of kdump prints in this process, with these sizes."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    tuning = ListTuning(window_bytes=given.window, text=given.tuning.text)
    with (
        mock.patch.object(lister, "list_files", functools.partial(lister.list_files, tuning=tuning)),
        mock.patch.object(lister, "open", lambda *_, **__: contextlib.nullcontext(stdout), create=True),
        mock.patch.object(lister, "stderr_bytes", lambda: contextlib.nullcontext(stderr)),
    ):
        exit_code = commands.main([*map(str, arguments)])
    return Printed(exit_code, stdout.getvalue(), stderr.getvalue())
