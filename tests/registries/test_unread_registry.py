"""A registry's topic that the system does not give: what was not decoded says nothing of the data, and the exit code is 3."""

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kdump.binary.tolerant_source import TolerantSource
from kdump.cli.commands import main
from kdump.errors import Unreadable
from kdump.schemas import topic
from tests.registries import unpack

NOT_EXAMINED = 3
Capture = pytest.CaptureFixture[str]
ERROR = os.strerror(errno.EIO)


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition with keys and values by schemas, beside the registry."""
    folder = tmp_path_factory.mktemp("registries")
    unpack(folder)
    for path in (folder / "schemas-a").iterdir():
        if path.name not in ("jade-both-0", "_schemas-0"):
            shutil.rmtree(path)
    return folder / "schemas-a" / "jade-both-0"


def _fails(path: Any) -> Any:
    raise Unreadable("file-io-error", ERROR, path=str(path))


UNREAD = [mock.patch.object(topic, "TolerantSource", _fails), mock.patch.object(topic, "files_in", _fails)]


@pytest.mark.parametrize("unread", UNREAD, ids=["segment", "directory"])
def test_a_listing_does_not_blame_the_data(unread: Any, partition: Path, capfd: Capture) -> None:
    with unread:
        assert main(["log", "--deep", "--output", "ndjson", str(partition / f"{0:020d}.log")]) == NOT_EXAMINED
    out, err = capfd.readouterr()
    assert "schemas may be missing: " in err and ERROR in err
    assert all(json.loads(line)["decodeError"].startswith("schema-id-unknown") for line in out.splitlines())
    assert "no _schemas-0 is beside the data" not in out


def test_a_listing_says_that_no_registry_is_beside_the_data(partition: Path, tmp_path: Path, capfd: Capture) -> None:
    log = partition / f"{0:020d}.log"
    copied = shutil.copytree(partition, tmp_path / partition.name) / log.name
    assert main(["log", "--deep", "--output", "ndjson", "--value-decoder", "avro", str(log), str(copied)]) == 1
    why = "because no _schemas-0 is beside the data; --schemas DIR says where one is"
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert len(rows) == 14
    assert all(
        (row["decodedValue"] is None, why in (row["decodeError"] or "")) == (row["file"] == str(copied),) * 2 for row in rows
    )


def test_a_scan_says_that_schemas_may_be_missing(partition: Path, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    words = ["scan", "--engine", "local", "--jobs", "1", "--tables", "records,findings", "--records", "--decode", "auto"]
    with UNREAD[0]:
        assert main([*words, "--tables-to", str(tmp_path / "out"), str(partition)]) == NOT_EXAMINED
    (finding,) = (row for row in pq.read_table(tmp_path / "out" / "findings").to_pylist() if row["code"] == "scan-rows-missing")
    missing = "Decoded keys and values of this file may be missing in the table records: schemas may be missing"
    assert finding["message"].startswith(f"{missing}: {partition.parent / '_schemas-0'}: ")
    assert pq.read_table(tmp_path / "out" / "records").num_rows == 7
    assert not (tmp_path / "out" / "manifest.json").exists(), "schemas may change while files do not"


def test_a_registry_with_blocks_that_the_device_does_not_give_is_not_read(partition: Path) -> None:
    source = TolerantSource(str(partition.parent / topic.NAME / f"{0:020}.log"))
    source.bad_ranges.append((0, 4096))
    with mock.patch.object(topic, "TolerantSource", return_value=source):
        registry = topic.read(str(partition.parent / topic.NAME))
    assert (registry.is_read, registry.problems) == (False, [f"{0:020}.log cannot be read completely from the device"])


def test_a_search_in_decoded_values_proves_nothing(partition: Path, capfd: Capture) -> None:
    with UNREAD[0]:
        assert main(["grep", "--in", "decoded", "nothing of this", str(partition)]) == NOT_EXAMINED
    assert "not proven" in capfd.readouterr().err
