"""What a check hands to the forecasts of the same partition, so that they need not walk its logs again."""

import os
import random
from pathlib import Path

import pytest

from campaigns import mutants
from kdump.checks import segment
from kdump.checks.finding import Start
from kdump.checks.jobs import Job
from kdump.checks.settings import Settings
from kdump.forecasts import damage
from kdump.reading import damaged_offsets
from kdump.reading.damaged_offsets import DamagedRange, WalkedLogs
from kdump.verdicts import check
from tests.builders.hostile import HOSTILE
from tests.builders.records import batch, record

LOG = "0" * 20 + ".log"
NEXT = f"{500:020}.log"


class Reads:
    """The logs that forecasts walked, and what was found in all of them."""

    def __init__(self) -> None:
        self.walked: list[str] = []


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    found, walk = Reads(), damage._ranges_of

    def counted(path: str) -> list[DamagedRange]:
        found.walked.append(os.path.basename(path))
        return walk(path)

    monkeypatch.setattr(damage, "_ranges_of", counted)
    return found


def _batch(offset: int) -> bytes:
    return batch(records=[record(key=b"k", value=b"v")], base_offset=offset)


def _partition(folder: Path, data: bytes) -> Path:
    folder.mkdir()
    (folder / LOG).write_bytes(data)
    return folder


def _starts(folder: Path) -> list[Start]:
    rows: list[object] = []
    check.run(Job(Job.PARTITION, str(folder), str(folder)), Settings(now=1_700_000_500_000), rows.append)
    return [row for row in rows if isinstance(row, Start)]


def _fields(one: DamagedRange) -> list[object]:
    return [getattr(one, name) for name in DamagedRange.__slots__]


DAMAGED = _batch(0) + b"\xff" * 90 + _batch(1) + _batch(2)[:-1] + b"?" + _batch(3)


def test_the_log_of_a_partition_is_walked_once(reads: Reads, tmp_path: Path) -> None:
    starts = _starts(_partition(tmp_path / "t-0", DAMAGED))
    assert [start.verdict for start in starts].count("safe") < len(starts)
    assert reads.walked == []


def test_a_segment_that_others_follow_is_walked_again(reads: Reads, tmp_path: Path) -> None:
    folder = _partition(tmp_path / "t-0", DAMAGED)
    (folder / NEXT).write_bytes(_batch(500) + _batch(501)[:-1] + b"?" + _batch(502))
    assert _starts(folder)
    assert reads.walked == [LOG]


def test_a_log_with_very_many_damaged_ranges_is_walked_again(
    reads: Reads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damaged_offsets, "_MAX_KEPT", 1)
    assert _starts(_partition(tmp_path / "t-0", DAMAGED))
    assert reads.walked == [LOG]


def test_a_log_that_changes_after_its_walk_is_walked_again(reads: Reads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, walk = _partition(tmp_path / "t-0", DAMAGED), segment._check

    def written_after(*arguments: object) -> None:
        walk(*arguments)  # type: ignore[arg-type]  # passed on
        os.utime(folder / LOG, ns=(0, 1))

    monkeypatch.setattr(segment, "_check", written_after)
    assert _starts(folder)
    assert reads.walked == [LOG]


def test_a_log_that_changes_during_its_walk_is_walked_again(
    reads: Reads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, count = _partition(tmp_path / "t-0", DAMAGED), segment._count

    def written_before(*arguments: object) -> None:
        os.utime(folder / LOG, ns=(0, 1))
        count(*arguments)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(segment, "_count", written_before)
    assert _starts(folder)
    assert reads.walked == [LOG]


def test_what_a_check_hands_over_is_what_a_forecast_would_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, kept = random.Random(28), 0
    take = WalkedLogs.of

    def compared(walked: WalkedLogs, path: str) -> list[DamagedRange] | None:
        nonlocal kept
        known = take(walked, path)
        if known is not None:
            kept += 1
            assert list(map(_fields, known)) == list(map(_fields, damage._ranges_of(path)))
        return known

    monkeypatch.setattr(WalkedLogs, "of", compared)
    logs = [mutants.mutant(number, chance.randrange(1 << 30)).data for number in range(60)]
    logs += [one.build(60)[".log"] for one in HOSTILE if one.suffix == ".log"]
    for number, data in enumerate(logs):
        _starts(_partition(tmp_path / f"t-{number}", data))
    assert kept > 30
