"""A worker process that dies while several print one log."""

import os
import signal

import pytest

from kdump.dropin import parallel_text


def lose_a_worker(monkeypatch: pytest.MonkeyPatch, *, after: int) -> list[bool]:
    """Let each worker be killed as soon as it has said so many messages; all stretches but one go to workers.

    The result grows by whether a worker was lost, at the end of each dump.
    """
    writer, said = os.getpid(), 0
    lost: list[bool] = []
    to_end, say, take_stretch = (
        parallel_text.SharedDump.to_end,
        parallel_text._SharedOutlet._say,
        parallel_text.Worker.take_stretch,
    )

    def take_one_here(worker: parallel_text.Worker) -> bool:
        return take_stretch(worker) and os.getpid() != writer

    def noting_to_end(run: parallel_text.SharedDump) -> None:
        to_end(run)
        lost.append(run.is_lost)

    def saying_for_a_while(outlet: parallel_text._SharedOutlet, *what: int) -> None:
        nonlocal said
        said += 1
        say(outlet, *what)
        if said == after:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(parallel_text.Worker, "take_stretch", take_one_here)
    monkeypatch.setattr(parallel_text.SharedDump, "to_end", noting_to_end)
    monkeypatch.setattr(parallel_text._SharedOutlet, "_say", saying_for_a_while)
    return lost
