"""The signals that ask a process to end, and blocks in which none of them comes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # the module around it takes a third of our start

ENDING_SIGNALS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
"""By Ctrl-C, by `kill`, and when a terminal closes."""


def block() -> set[int]:
    """Block these signals, and return what was blocked before, for `unblock`."""
    return set(_signal.pthread_sigmask(_signal.SIG_BLOCK, ENDING_SIGNALS))


def unblock(before: set[int]) -> None:
    """Let the signals come again, those first that came meanwhile."""
    _signal.pthread_sigmask(_signal.SIG_SETMASK, before)


class Uninterrupted:
    """A block in which none of these signals comes; one that was sent comes at its end."""

    def __enter__(self) -> None:
        self._before = block()

    def __exit__(self, *_error: object) -> None:
        unblock(self._before)
