"""The benchmarks measure what they say: their segments are sound, who takes part prints the same, the tables tell it."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import contenders, segments
from benchmarks.segments import Segment
from tests.loops import each
from tests.oracle import kafka_tool
from tests.support import skip_if

ROOT = Path(__file__).parent.parent
SMALL = 20_000  # bytes
RELEASE = "4.3.1"
SUFFIXES = (".log", ".index", ".timeindex")
KINDS = {
    "batches": Segment(SMALL),
    "one record a batch": Segment(SMALL, 1),
    "mixed text": Segment(SMALL, text="mixed"),
    "headers": Segment(SMALL, has_headers=True),
    "gzip": Segment(SMALL, codec="gzip"),
    "snappy": Segment(SMALL, codec="snappy"),
    "lz4": Segment(SMALL, codec="lz4"),
    "zstd": Segment(SMALL, codec="zstd"),
    "magic 1": Segment(SMALL, 1, magic=1),
    "wrappers": Segment(SMALL, 20, magic=1, codec="gzip"),
    "an entry a batch": Segment(SMALL, 1, index_interval=0),
}


def dump(*arguments: str | Path) -> tuple[list[str], str]:
    """The lines that kdump prints, and its complaints."""
    command = [sys.executable, "-m", "kdump", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines(), done.stderr


@pytest.mark.slow
@each("kind", KINDS)
def test_a_segment_and_its_indexes_are_sound(kind: str, tmp_path: Path) -> None:
    log = segments.made(KINDS[kind], tmp_path)
    for suffix in SUFFIXES:
        lines, complaints = dump("--deep-iteration", "--files", log.with_suffix(suffix))
        assert lines[0] == f"Dumping {log.with_suffix(suffix)}"
        assert len(lines) >= 2
        assert complaints == ""
        assert not [line for line in lines if "isvalid: false" in line]


@pytest.mark.oracle
def test_the_real_tool_reads_them_without_complaint(tmp_path: Path) -> None:
    skip_if(kafka_tool.why_not_available(RELEASE))
    logs = [segments.made(segment, tmp_path) for segment in KINDS.values()]
    names = [f"{segments.NAME}{suffix}" for suffix in SUFFIXES]
    runs = [kafka_tool.Run(log.parent, ["--deep-iteration", "--files", name]) for log in logs for name in names]
    for answer in kafka_tool.run_many(RELEASE, runs):
        assert (answer.exit_code, answer.stderr) == (0, b"")
        assert answer.stdout.count(b"\n") >= 2
        assert b"isvalid: false" not in answer.stdout


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["batches", "records", "data"])
def test_the_c_program_prints_what_kdump_prints(mode: str, tmp_path: Path) -> None:
    options = {"batches": [], "records": ["--deep-iteration"], "data": ["--print-data-log"]}[mode]
    for kind in ("batches", "one record a batch", "mixed text", "headers"):
        log = segments.made(KINDS[kind], tmp_path)
        program = contenders.limit(tmp_path, mode, log)
        if program is None:
            pytest.skip("there is no C compiler")
        printed = subprocess.run(program.command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert printed == dump(*options, "--files", log)[0]
