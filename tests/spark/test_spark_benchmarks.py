"""The benchmark of Spark measures what it says."""

from pathlib import Path

import pytest

from benchmarks import spark as measuring
from benchmarks.segments import Segment
from tests.sessions import why_no_spark

pytestmark = [pytest.mark.spark, pytest.mark.skipif(bool(why_no_spark()), reason=why_no_spark())]

SMALL = 20_000  # bytes


def test_spark_is_measured_beside_this_process(
    spark: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KDUMP_BENCHMARK_HOME", str(tmp_path))
    monkeypatch.setattr(measuring, "SEGMENTS", (Segment(SMALL), Segment(SMALL, codec="lz4")))
    assert measuring.main(["--rounds", "1"]) in (0, 1)  # so few bytes say nothing of time
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[1:3] for line in lines if line.startswith(("| records |", "| batches |"))] == [
        ["640", "1"],
        ["4", "1"],
    ]
    assert "| tasks for records: at most total / 64 MiB + 4 x cores | 1 of 4.0 | yes |" in lines
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("spark-")] == []
