"""Counts work instead of seconds: what it counts is the same on every machine, however fast and busy."""

import contextlib
import io
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from tests.support import bytes_read


class Work(NamedTuple):
    """What a piece of work came to: lines of Python that were executed, and bytes that were read."""

    lines: int
    bytes_read: int

    @property
    def nanoseconds(self) -> int:
        """About what that takes, so that there is one number to compare; made of the counts alone."""
        return 25 * self.lines + self.bytes_read // 8


def work_of(work: Callable[[], object]) -> Work:
    """The work of this process for a piece of work that prints."""
    lines = 0

    def in_frame(frame: FrameType, event: str, argument: Any) -> Any:  # as sys.settrace has it
        nonlocal lines
        lines += event == "line"
        return in_frame

    before = sys.gettrace()
    with bytes_read() as read, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.settrace(in_frame)
        try:
            work()
        finally:
            sys.settrace(before)
        return Work(lines, read())


def assert_linear(steps: Callable[[int], int], few: int, more: int, many: int) -> None:
    """Assert that what is added from the second count to the third costs little more, for each, than from the first."""
    steps(5)  # what is done once
    of_few, of_more, of_many = steps(few), steps(more), steps(many)
    assert of_many - of_more < 2.2 * (of_more - of_few), (of_few, of_more, of_many)
