"""What `kdump check` and `kdump explain` advise: commands that work as printed, and only where they help."""

import gzip
from pathlib import Path

import pytest

from kdump.checks import catalogue
from kdump.checks.finding import Finding
from kdump.cli.commands import main
from tests.builders.files import file_name, write_partition
from tests.builders.records import TIMESTAMP, batch, record

LOG, INDEX = file_name(0, ".log"), file_name(0, ".index")
MINUTE = 60_000


def _batches(*, damaged: int | None = None, count: int = 8) -> list[bytes]:
    batches = [
        batch(records=[record(value=b"v" * 50, timestamp=TIMESTAMP + offset)], base_offset=offset) for offset in range(count)
    ]
    if damaged is not None:
        batches[damaged] = batches[damaged][:-3] + b"\xff" + batches[damaged][-2:]
    return batches


def _with_bad_index(folder: Path, *, damaged: int | None = None, topic: str = "topic") -> Path:
    directory = write_partition(folder, segments={0: _batches(damaged=damaged)}, topic=topic, index_interval_bytes=0)
    index = directory / INDEX
    data = bytearray(index.read_bytes())
    data[15] ^= 1  # a position: no batch starts there
    index.write_bytes(data)
    return directory


def _said(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    main(["check", *map(str, arguments)])
    return capfd.readouterr().out


def _commands(text: str) -> list[str]:
    return [line.strip() for line in text.partition("\nNext\n")[2].splitlines()]


def _without_rm(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a check says, that no index is to be deleted among it."""
    out = _said(capfd, *arguments)
    assert not any(line.startswith("rm ") for line in _commands(out))
    return out


def test_the_index_of_a_log_that_is_not_sound_is_to_be_left(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = _without_rm(capfd, _with_bad_index(tmp_path, damaged=4))
    assert "index-position-not-boundary" in out and "crc-mismatch" in out
    assert "leave the .index for now: the segment's log is not sound" in " ".join(out.split())


def test_a_hanging_transaction_is_aborted_by_a_command_to_fill_in(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pieces = [
        batch(records=[record(timestamp=TIMESTAMP)], producer_id=7, producer_epoch=3, base_sequence=0, is_transactional=True),
        batch(records=[record(timestamp=TIMESTAMP + 90 * MINUTE)], base_offset=1),
    ]
    out = _said(capfd, write_partition(tmp_path, segments={0: pieces}, topic="pay-ments", partition=3))
    assert "txn-hanging" in out
    tool = "# kafka-transactions.sh --bootstrap-server HOST:9092"  # a comment, since HOST is to be filled in
    assert [line.partition("   #")[0] for line in _commands(out) if "kafka-" in line] == [
        f"{tool} find-hanging --topic pay-ments --partition 3",
        f"{tool} abort --topic pay-ments --partition 3 --start-offset 0",
        f"Do: {tool.removeprefix('# ')} find-hanging --topic pay-ments --partition 3",
    ]
    assert not any(line.startswith("kdump recover ") for line in _commands(out))
    assert "running  read-committed consumers stop at the last stable offset" in out


def _found(path: Path, code: str, severity: str = "error") -> Finding:
    kind = path.suffix.removeprefix(".")
    return Finding(code, severity, str(path), kind, 0, 9, None, None, None, None, None, None, 1, "none", 0, "keep", "Wrong.")


def test_commands_for_many_segments_are_few_and_the_rest_is_counted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for number in range(8):
        _with_bad_index(tmp_path, topic=f"t{number}")
    commands = _commands(_said(capfd, tmp_path))
    assert sum(line.startswith("kdump reindex ") for line in commands) == 5 and not any(
        line.startswith("rm ") for line in commands
    )
    assert "# and 3 more partitions like this; --all lists each" in commands
    commands = _commands(_said(capfd, "--all", tmp_path))
    assert sum(line.startswith("rm ") for line in commands) == 5
    assert "# and 3 more indexes like this; --all lists each" in commands


@pytest.mark.parametrize("name", [f"{LOG}.1", f"{LOG}.bak", f"{LOG[:-4]}.LOG", f"{LOG}.gz"])
def test_a_log_under_another_name_is_to_get_its_name_back(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    segments = {0: _batches(), 8: [batch(base_offset=8, records=[record()])]}
    path = write_partition(tmp_path, segments=segments, index_interval_bytes=0)
    other = path / name
    (path / LOG).rename(other)
    if name.endswith(".gz"):
        other.write_bytes(gzip.compress(other.read_bytes()))
    out = _said(capfd, path)
    assert "kdump reindex" not in out
    start = "mkdir -p NEW && gzip -dc " if name.endswith(".gz") else "kdump check --as log "
    assert any(line.startswith(f"{start}{other} ") for line in _commands(out))
    main(["recover", str(path), "-o", str(tmp_path / "new")])
    assert f"lost        {other}" in capfd.readouterr().out
    main(["where", "topic-0@3", str(tmp_path)])
    assert f"{other} may be a log under another name" in " ".join(capfd.readouterr().out.split())


def test_no_advice_runs_the_check_again_or_uses_an_option_that_the_transactions_tool_has_not() -> None:
    assert not any("--find-hanging" in fault.remedy for fault in catalogue.FAULTS.values())
    for section, faults in catalogue.SECTIONS.items():
        if section not in ("Tables of a scan", "Files, and limits of a run"):
            for fault in faults:
                assert "kdump check" not in fault.remedy, fault.code


def test_what_a_running_broker_meets_is_reported_of_known_faults_in_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    assert set(catalogue.RUNNING) <= set(catalogue.FAULTS)
    main(["explain", "crc-mismatch"])
    out = " ".join(capfd.readouterr().out.split())
    assert "On a running broker consumers that reach this batch fail ('Record batch ... is invalid')" in out
