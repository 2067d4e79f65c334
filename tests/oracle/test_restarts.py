"""What the broker's own log manager does with three small directories, run with its real classes."""

import struct
from pathlib import Path
from typing import Any

import pytest

from tests.builders.records import batch, record
from tests.loops import of_all_cases
from tests.oracle import restarts
from tests.oracle.restarts import Request
from tests.support import skip_if

FIRST, SECOND = "00000000000000000000", "00000000000000000002"


@pytest.mark.oracle
@pytest.mark.parametrize("release", ["4.3.1", *map(of_all_cases, ["3.9.1", "2.8.2"])])
def test_the_log_manager_reports_what_it_keeps_cuts_and_overlooks(release: str, tmp_path: Path) -> None:
    skip_if(restarts.why_not_available(release))
    whole, damaged, misled = (_partition(tmp_path / name / "orders-0") for name in ("whole", "damaged", "misled"))
    log = (damaged / f"{FIRST}.log").read_bytes()
    (damaged / f"{FIRST}.log").write_bytes(log[:-1] + bytes([log[-1] ^ 1]))
    (misled / f"{SECOND}.index").write_bytes(struct.pack(">ii", 9, 4096))
    requests = [Request(whole, recovery_points=["end"]), Request(damaged, ["unclean"], ["zero"]), Request(misled, ["clean"])]
    kept, cut, overlooked = restarts.run_many(release, requests)

    assert [_in_short(row) for row in kept] == [("clean", "end", 4, "keep", 4, 0, []), ("unclean", "end", 4, "keep", 4, 0, [])]
    assert [_in_short(row) for row in cut] == [("unclean", "zero", 0, "cut", 1, 207, [[2, 3]])]
    assert cut[0]["also"] == ["delete"]
    assert cut[0]["segments_gone"] == [f"{SECOND}.log"]
    assert [f"{SECOND}.log", "renamed", f"{SECOND}.log.deleted", 138, 138, 138] in cut[0]["files"]
    # The last entry of the index points past the end of the log, and the log end drops to the base of the segment.
    assert [_in_short(row) for row in overlooked] == [("clean", "any", 2, "keep", 2, 0, [])]
    assert overlooked[0]["end_differs"] and overlooked[0]["data_end"] == 4


def test_starts_are_recorded_from_the_first_release_that_names_parameters() -> None:
    assert restarts.why_not_available("2.4.1") == "starts are recorded from 2.5.0 on, not with 2.4.1"


def _in_short(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ("stop", "recovery_point_is", "recovery_point", "outcome", "log_end", "bytes_lost")
    return (*(row[name] for name in names), row.get("lost_offsets", []))


def _partition(folder: Path) -> Path:
    """A partition of two segments, two batches of one record each."""
    folder.mkdir(parents=True)
    for base, name in ((0, FIRST), (2, SECOND)):
        batches = [batch(base_offset=base + row, records=[record(value=b"v", timestamp=1_700_000_000_000)]) for row in (0, 1)]
        (folder / f"{name}.log").write_bytes(b"".join(batches))
        (folder / f"{name}.index").touch()
        (folder / f"{name}.timeindex").touch()
    return folder
