"""A broker with eight kinds of faults at once: what is wrong and what to type fit on two screens."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdump.cli.commands import main
from tests.builders.brokers import EIGHT_KINDS, write_broken_broker

_TWO_SCREENS = 48
_OF_KIND = (
    "kafka/lost+found",
    "kafka/recovery-point-offset-checkpoint",
    "kafka/alpha-0/partition.metadata",
    "kafka/orders-3/00000000000000000000.log, bytes 6,396 to 11,725",
    "kafka/orders-1/00000000000000000100.log, bytes 20,254 to 21,319",
    "kafka/orders-2/00000000000000000000.index, bytes 0 to 7",
    "kafka/payments-0/00000000000000000000.log",
    "kafka/clicks-0/00000000000000000000.log",
)
_CHECKPOINT = "kafka/recovery-point-offset-checkpoint"
_DO = f"Do: mkdir -p KEEP && mv {_CHECKPOINT} KEEP/recovery-point-offset-checkpoint"


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    write_broken_broker(tmp_path / "kafka")
    return "kafka"


def test_a_check_of_eight_kinds_of_faults_fits_on_two_screens(broker: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", broker]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) <= _TWO_SCREENS
    assert lines[0] == "15 directories, 465 KiB: 6 with errors, 2 with warnings, 1 with infos, 6 fine"
    assert len(EIGHT_KINDS) == len(_OF_KIND)
    for place in _OF_KIND:
        assert sum(line.split(maxsplit=1)[-1].startswith(place) for line in lines if line.startswith(("error", "warning"))) == 1
    assert "If this broker restarts" not in lines  # it does not, and the findings say why
    answer = " ".join(lines[-4:-1])
    assert f"Verdict: does not start: {_CHECKPOINT}: Line 2 says that 9 entries follow, but 1 does. Also " in answer
    assert answer.endswith("Also unreadable (at least 30 records), damaged, stuck. Exit status 1.")
    assert lines[-1] == _DO


def test_a_forecast_of_them_says_a_fault_of_the_log_directory_once(broker: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["forecast", broker]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) <= _TWO_SCREENS
    answer = f"Verdict: does not start: {_CHECKPOINT} is malformed: line 2 says that 9 entries follow, but 1 does."
    text = " ".join(" ".join(lines).split())
    assert text.count("recovery-point-offset-checkpoint is malformed") == 2  # of the log directory, and in the answer
    assert "Lost for good: 145 intact records, offsets 55 to 199" in text
    assert "# last resort, with the broker stopped: " in text
    assert answer in text and lines[-1] == _DO
