"""What counts as a process that a command leaves behind."""

import subprocess
import sys

import pytest

from campaigns.sessions import end_session, left_of, processes_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


def _session_of(script: str) -> int:
    """The session of a shell that has run a script and ended."""
    shell = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    assert shell.wait() == 0
    return shell.pid


@pytest.mark.parametrize("script", ["sleep 1000 & exit 0", "while :; do :; done & exit 0"], ids=["sleeps", "works"])
def test_a_process_that_goes_on_after_its_command_is_left(script: str) -> None:
    session = _session_of(script)
    left = left_of(session, moment=0.2)
    end_session(session)
    assert len(left) == 1


@pytest.mark.parametrize("script", ["exit 0", "sleep 0.1 & exit 0", "sleep 1000 & kill -9 $!"])
def test_a_process_that_ends_with_its_command_or_soon_after_is_not_left(script: str) -> None:
    session = _session_of(script)
    assert left_of(session) == processes_of(session) == set()
