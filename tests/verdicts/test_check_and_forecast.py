"""A check is never better than the forecast of the next start: whatever the forecast fails on, the check fails on, too."""

import shutil
import zlib
from pathlib import Path

import pytest

import kdump
from campaigns import directories
from kdump.checks import check as checks
from kdump.checks.jobs import Job, jobs
from kdump.checks.settings import DEEP, FULL, QUICK, Settings
from kdump.cli.commands import main
from kdump.errors import KdumpError
from kdump.forecasts.forecast import Request, of_path
from kdump.forecasts.outcome import KEEP
from kdump.verdicts import kept, starts
from kdump.verdicts.verdict import DOES_NOT_START, LOSES_AT_START, Verdict
from tests import restarts
from tests.builders.compression import Codec
from tests.builders.files import file_name, write_partition
from tests.builders.records import batch, message, message_set, record, wrapper
from tests.checks.faults.case import NOW, PARTITION, FaultCase, write
from tests.checks.faults.test_faults import CASES
from tests.loops import each
from tests.support import flip_a_bit

STARTS = {DOES_NOT_START, LOSES_AT_START}
STARTS_FOR_ONE = 6
"""How many directories of recorded starts there are for one that is compared by default."""

OLD_CODECS: tuple[Codec, ...] = ("gzip", "snappy", "lz4")


def _forecast(path: Path) -> Verdict:
    verdict = Verdict(level=None)
    try:
        verdict.add_forecasts(of_path(str(path), Request()))
    except KdumpError as error:
        verdict.fail_to_examine(str(error))
    return verdict


def _worse(path: Path, level: str = DEEP) -> str:
    """How the forecast is worse than the check; empty if it is not."""
    check, forecast = kdump.verdict(path, level=level), _forecast(path)
    if forecast.exit_code == 1 and (check.exit_code == 0 or STARTS & (set(forecast.words) - set(check.words))):
        return f"{path.name}, {level}: {check.words} {check.reasons}, but {forecast.words} {forecast.reasons}"
    return "; ".join(filter(None, (_unlike_its_starts(job) for job in jobs(str(path)) if job.kind == Job.PARTITION)))


def _unlike_its_starts(job: Job) -> str:
    """What a check says of the starts of a partition by what it has read, and a simulation does not say; empty if nothing."""
    watcher = starts.Watcher(lambda _: None)
    facts = checks.run(job, Settings(now=NOW, level=FULL), watcher.emit)
    if facts is None:
        return ""
    rows = starts.forecasts_of(job.path, is_found=job.root != job.path)
    if starts.forecasts_of(job.path, facts, is_found=job.root != job.path) != rows:
        return f"{job.path} has other damage for its check"
    if not watcher.lacks_indexes_only or not kept.by_every_start(facts):
        return ""
    is_as_it_was = all(row.outcome == KEEP for row in rows) or not watcher.is_spotless
    is_kept = is_as_it_was and all(row.is_sound and row.log_end == facts.log_end for row in rows)
    return "" if is_kept else f"{job.path} is not kept"


@each("case", CASES, ids=str, share=4)
def test_no_case_of_a_fault_is_better_in_a_check(case: FaultCase, tmp_path: Path) -> None:
    for number, (files, arranged) in enumerate([(case.shown, case.arranged), (case.near_miss, case.near_arranged)]):
        root = tmp_path / str(number)
        arranged(write(files, root, case.scope))
        path = root / PARTITION if (root / PARTITION).is_dir() else root
        assert _worse(path, FULL) == ""


def test_no_directory_of_a_recorded_start_is_better_in_a_check(tmp_path: Path, all_cases: bool) -> None:
    restarts.unpack(tmp_path)
    directories = sorted({path.parent for path in tmp_path.rglob("*.log")})
    chosen = [
        path for path in directories if all_cases or zlib.crc32(str(path.relative_to(tmp_path)).encode()) % STARTS_FOR_ONE == 0
    ]
    assert len(chosen) > 20
    assert [worse for path in chosen if (worse := _worse(path))] == []


def test_no_damaged_directory_is_better_in_a_check(tmp_path: Path, all_cases: bool) -> None:
    found = []
    for number in range(400 if all_cases else 60):
        directory = tmp_path / f"orders-{number}"
        about = directories.make(directory, seed=59, number=number)
        worse = _worse(directory, (QUICK, FULL, DEEP)[number % 3])
        found += [f"{about}: {worse}"] if worse else []
        shutil.rmtree(directory)
    assert found == []


@each("codec", OLD_CODECS)
@each("level", [QUICK, FULL, DEEP])
def test_a_wrapper_that_no_start_can_open_fails_in_both(codec: Codec, level: str, tmp_path: Path) -> None:
    """A broker opens the last wrapper of a log to find its end; its CRC is right."""
    whole = wrapper(messages=[message(value=b"v" * 40, magic=1)] * 3, codec=codec, magic=1, offset=2)
    payload = whole[34:-9]  # the value, which is cut off
    cut = message_set(messages=[message(value=payload, magic=1, codec=codec)], base_offset=2)
    path = write_partition(tmp_path, topic="orders", segments={0: [cut]}, index_interval_bytes=0)
    check, forecast = kdump.verdict(path, level=level), _forecast(path)
    assert (check.exit_code, forecast.exit_code) == (1, 1)
    assert DOES_NOT_START in check.words and DOES_NOT_START in forecast.words
    for verdict in (check, forecast):
        assert f"{file_name(0, '.log')}: the message at byte 0 cannot be opened" in " ".join(verdict.reasons)


def _exit_codes(path: Path) -> tuple[int, int]:
    return kdump.verdict(path).exit_code, _forecast(path).exit_code


@each("name", ["copy", "orders-3.bak", "orders-3 (2)", "incident-a"])
def test_a_backup_folder_of_sound_partitions_is_no_error_in_either(name: str, tmp_path: Path) -> None:
    path = _sound(tmp_path).rename(tmp_path / name)
    _sound(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/readme.txt").write_text("x")
    assert _exit_codes(tmp_path) == (0, 0)
    rows = [row for row in of_path(str(tmp_path), Request()) if row.path.endswith(name)]
    assert rows and all(any("is not of the form TOPIC-PARTITION" in text for text in row.conditions) for row in rows)
    flip_a_bit(next(path.glob("*.log")), 80)
    assert _exit_codes(tmp_path) == (1, 1)


@each("name", ["copy", "orders-3.bak"])
@each("evidence", ["meta.properties", ".kafka_cleanshutdown", "recovery-point-offset-checkpoint"])
def test_a_misnamed_directory_in_a_log_directory_fails_in_both(name: str, evidence: str, tmp_path: Path) -> None:
    _sound(tmp_path).rename(tmp_path / name)
    text = {"meta.properties": "version=1\nnode.id=1\ncluster.id=c\n", "recovery-point-offset-checkpoint": "0\n0\n"}
    (tmp_path / evidence).write_text(text.get(evidence, ""))
    assert _exit_codes(tmp_path) == (1, 1)


def _sound(folder: Path) -> Path:
    batches = [batch(records=[record(value=b"v")], base_offset=offset) for offset in range(4)]
    return write_partition(folder, topic="orders", segments={0: batches}, index_interval_bytes=0)


def test_a_check_expects_no_start_to_destroy_what_none_destroys(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Offsets are only compared where an index gets an entry, so a short log with one twice is accepted (4.3.1)."""
    batches = [batch(base_offset=at, records=[record(value=value)]) for at, value in ((0, b"a"), (1, b"b"), (1, b"c"), (2, b"d"))]
    path = write_partition(tmp_path, topic="t", segments={0: batches})
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1\n")
    assert kdump.verdict(path).words == ["damaged"]
    assert _forecast(tmp_path).exit_code == 0
    assert main(["check", str(tmp_path)]) == 1
    out = capfd.readouterr().out
    assert "offset-duplicate" in out and "If this broker restarts" not in out
