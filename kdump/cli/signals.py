"""Ends a command at SIGTERM and SIGHUP as Ctrl-C does: its worker processes and its unfinished output go with it."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # the module around it takes a third of our start

_TOGETHER = 1.0  # seconds in which signals are one request
_SOON = 0.02  # seconds, after which a signal comes again that was lost
_NAMES: dict[int, str] = {_signal.SIGHUP: "SIGHUP", _signal.SIGTERM: "SIGTERM"}


class EndingSignals:
    """Raises KeyboardInterrupt for a signal that asks the process to end.

    Further ones of the next second change nothing: `timeout` sends two, and the first has everything cleaned up. A signal that
    is ignored stays so, as `nohup` wants it. Python drops what is raised while it runs a destructor or a callback of a weak
    reference, as imports have them: the signal is then sent again.
    """

    def __init__(self) -> None:
        self._number = 0
        self._since = 0.0

    def catch(self) -> None:
        """From now on, raise."""
        for number in _NAMES:
            if _signal.getsignal(number) == _signal.SIG_DFL:
                _signal.signal(number, self._end)
        sys.unraisablehook = self._unraisable

    def ignore(self) -> None:
        """From now on, let no signal disturb the end of the process."""
        for number in (_signal.SIGINT, *_NAMES):
            _signal.signal(number, _signal.SIG_IGN)

    def exit_code(self, of_interrupt: int) -> int:
        """The exit code of an interrupted process: `of_interrupt` unless another signal came."""
        return 128 + self._number if self._number else of_interrupt

    def _end(self, number: int, _frame: object) -> None:
        now = time.monotonic()
        if not self._number or now - self._since > _TOGETHER:
            self._number, self._since = number, now
            raise KeyboardInterrupt(f"interrupted by {_NAMES[number]}")

    def _unraisable(self, dropped: sys.UnraisableHookArgs) -> None:
        """Handle an exception that Python dropped."""
        if not isinstance(dropped.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(dropped)
            return
        import _thread

        number, self._number = self._number or _signal.SIGINT, 0
        _thread.start_new_thread(_send_again, (number,))


def _send_again(number: int) -> None:
    """Send a signal to this process, once what dropped it may be over."""
    time.sleep(_SOON)
    os.kill(os.getpid(), number)
