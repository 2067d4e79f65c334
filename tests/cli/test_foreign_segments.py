"""Segments of Redpanda: all commands say what they are, and none examines, mends or advises."""

from pathlib import Path

import pytest

import kdump
from kdump.cli.commands import main
from kdump.errors import Unreadable
from kdump.formats import foreign
from tests.builders.files import file_name, write_partition
from tests.builders.records import batch, record
from tests.builders.redpanda import CONFIGURATION, NAME, redpanda_batch
from tests.loops import each

SENTENCE = "a segment of Redpanda, not of Kafka: not examined"
BATCHES = [batch(base_offset=offset, records=[record(key=b"k", value=b"value")]) for offset in range(4)]
FOREIGN = [redpanda_batch(BATCHES[0], CONFIGURATION), *map(redpanda_batch, BATCHES[1:])]
DAMAGED = b"\xff" + FOREIGN[0][1:]  # its header's checksum does not match


@pytest.fixture(params=["0_42", "orders-3"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "kafka/orders" / str(request.param)
    path.mkdir(parents=True)
    (path / NAME).write_bytes(b"".join(FOREIGN))
    (path / "5-1-v1.log").write_bytes(DAMAGED)
    (path / "0-1-v1.base_index").write_bytes(b"index")
    (path / "tx.snapshot").write_bytes(b"snapshot")
    return path


def _run(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    status = main(list(map(str, arguments)))
    shown = capfd.readouterr()
    return status, " ".join((shown.out + shown.err).split())


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_a_check_says_it_once_and_advises_nothing(directory: Path, levels: int, capfd: pytest.CaptureFixture[str]) -> None:
    path = directory.parents[levels - 1] if levels else directory
    status, shown = _run(capfd, "check", path)
    assert (status, shown.count(SENTENCE)) == (3, 1)
    assert "4 files" in shown or "3 more files" in shown
    assert not any(word in shown for word in ("kdump recover", "delete", "rm ", "damaged", "cp -a", "kdump log", "restart"))
    status, shown = _run(capfd, "check", directory / NAME)
    assert (status, shown.count(SENTENCE), "recover" in shown) == (3, 1, False)


def test_nothing_is_made_of_it(directory: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    new = tmp_path / "new"
    for command, path in (
        *((name, directory) for name in ("recover", "reindex", "slice", "redact")),
        ("recover", directory / NAME),
    ):
        status, shown = _run(capfd, command, path, "-o", new)
        assert (status, SENTENCE in shown, new.exists()) == (3, True, False), command


@each("line", ["log", "log --tail 1", "log --offset 1", "forecast", "grep value"])
def test_no_other_command_examines_it(directory: Path, line: str, capfd: pytest.CaptureFixture[str]) -> None:
    for path in (directory, *([] if line == "forecast" else [directory / NAME])):
        status, shown = _run(capfd, *line.split(), path)
        assert (status, SENTENCE in shown) == (3, True)


def test_one_among_segments_of_kafka_does_not_hide_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    directory = write_partition(tmp_path, segments={0: BATCHES}, topic="orders", partition=3)
    (directory / NAME).write_bytes(b"".join(FOREIGN))
    log = directory / file_name(0, ".log")
    log.write_bytes(log.read_bytes()[:-1] + b"X")
    status, shown = _run(capfd, "check", directory)
    assert (status, SENTENCE in shown, "crc-mismatch" in shown) == (3, True, True)


def test_the_library_refuses_it(directory: Path) -> None:
    for path in (directory, directory / NAME):
        with pytest.raises(Unreadable, match=SENTENCE) as raised:
            kdump.open(path)
        assert raised.value.code == foreign.CODE
