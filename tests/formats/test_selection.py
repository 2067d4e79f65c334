"""`--topics` and `--partitions`: what they choose below the paths, in every command that takes a log directory."""

import json
from pathlib import Path

import pytest

from kdump.binary import system
from kdump.cli import commands
from kdump.errors import Unreadable, UsageError
from kdump.formats.selection import Selection, selected
from tests.builders.files import write_partition
from tests.builders.records import Record, batch

NAMES = ("orders-0", "orders-1", "orders.returns-1", "users-4", "old-0.9cd0d3d4c5a54cf584142148c65842e8-delete")

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def brokers(tmp_path: Path) -> Path:
    """A folder of two log directories, with the same partitions in each."""
    for broker in ("broker-1", "broker-2"):
        for name in NAMES:
            appends = [batch(records=[Record(key=b"k", value=name.encode())]), batch(base_offset=1, records=[Record()])]
            write_partition(tmp_path / broker, segments={0: appends}, index_interval_bytes=0).rename(tmp_path / broker / name)
        (tmp_path / broker / "meta.properties").write_text("version=1\nnode.id=1\n")
    return tmp_path


def _names(paths: list[str]) -> list[str]:
    return ["/".join(Path(path).parts[-2:]) for path in paths]


def test_topics_are_globs_and_partitions_are_numbers_below_each_path(brokers: Path) -> None:
    paths = [str(brokers)]
    assert selected(paths, None, None) == paths
    assert _names(selected(paths, "orders", None)) == [f"broker-{n}/orders-{p}" for n in (1, 2) for p in (0, 1)]
    chosen = _names(selected([str(brokers / "broker-2")], "orders*,users", "1-4"))
    assert chosen == ["broker-2/orders-1", "broker-2/orders.returns-1", "broker-2/users-4"]
    one = str(brokers / "broker-1" / "users-4")
    assert selected([one, f"{brokers}/*/users-4"], "users", None) == [one, str(brokers / "broker-2" / "users-4")]
    log = f"{one}/00000000000000000000.log"
    assert selected([log], "users", "4") == [log]


def test_partitions_about_to_be_deleted_can_be_left_out_unless_they_are_named(brokers: Path) -> None:
    folder = str(brokers / "broker-1")
    named = f"{folder}/{NAMES[-1]}"
    assert selected([folder], "*", "0") == [f"{folder}/{NAMES[-1]}", f"{folder}/orders-0"]
    assert selected([folder], "*", "0", has_going=False) == [f"{folder}/orders-0"]
    assert selected([named], "old", None, has_going=False) == [named]


@pytest.mark.parametrize("name", ["broker-1", "logs"])
def test_a_log_directory_that_cannot_be_listed_stays(
    name: str, brokers: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    closed = (brokers / "broker-1").rename(brokers / name)
    entries = system.entries

    def refused(path: str) -> list[system.Entry]:
        if path == str(closed):
            raise Unreadable("file-permission", "permission denied", path=path)
        return entries(path)

    monkeypatch.setattr(system, "entries", refused)
    paths = [str(closed), str(brokers / "broker-2")]
    assert selected(paths, "users", None) == [paths[0], f"{paths[1]}/users-4"]
    assert commands.main(["check", "--level", "quick", "--topics", "users", *paths]) == 3
    assert f"{closed}" in capfd.readouterr().out


@pytest.mark.parametrize(("topics", "partitions"), [("nosuch", None), ("orders", "7"), (None, "9-12")])
def test_what_chooses_nothing_is_refused(brokers: Path, topics: str | None, partitions: str | None) -> None:
    with pytest.raises(UsageError, match=r"no partition in .* fits"):
        selected([str(brokers)], topics, partitions)


def test_numbers_are_numbers_and_ranges_of_them() -> None:
    assert Selection.of_texts(None, "0, 4-6,4").numbers == frozenset((0, 4, 5, 6))
    assert Selection.of_texts(None, "").numbers is None
    for text in ("x", "3-1", "1-", "-1", "1..2"):
        with pytest.raises(UsageError, match="--partitions is like 0,4-7"):
            Selection.of_texts(None, text)
    assert Selection().is_all and Selection().has(None, None)
    assert not Selection(["a"]).has(None, 0) and not Selection(numbers=[0]).has("a", None)


@pytest.mark.parametrize("command", ["log", "index", "check", "forecast"])
def test_commands_examine_only_what_is_chosen(brokers: Path, capfd: Capture, command: str) -> None:
    commands.main([command, "--output", "ndjson", "--topics", "orders", "--partitions", "1", str(brokers)])
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    seen = {row.get("path") or row.get("file") or "" for row in rows} - {""}
    assert {f"{brokers}/broker-{n}/orders-1" for n in (1, 2)} <= {path.partition("/0000")[0] for path in seen}
    assert not any(name in path for path in seen for name in ("orders-0", "users", "returns", "old"))


def test_a_search_reads_only_what_is_chosen_and_a_proof_also_what_is_about_to_go(
    brokers: Path, tmp_path: Path, capfd: Capture
) -> None:
    def hits(*options: str) -> set[str]:
        commands.main(["grep", "--key", "k", "--output", "ndjson", *options, str(brokers)])
        rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        return {row["value"] for row in rows if row["kind"] == "hit"}

    assert hits("--partitions", "0") == {"orders-0"}
    assert hits("--topics", "o*", "--prove-absent", "--certificate", str(tmp_path / "c.json")) == {*NAMES} - {"users-4"}
    commands.main(["where", "--key", "k", "--topics", "users", "--output", "ndjson", str(brokers)])
    assert [json.loads(line)["topic"] for line in capfd.readouterr().out.splitlines()] == ["users"]
    assert commands.main(["where", "users-4@0", "--topics", "users", str(brokers)]) == 2
