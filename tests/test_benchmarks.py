"""The benchmarks measure what they say: their segments are sound, who takes part prints the same, the tables tell it."""

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from benchmarks import contenders, report, segments
from benchmarks import spark as measuring
from benchmarks.contenders import KDUMP, PYTHON_KERNEL, Contender, Measured
from benchmarks.segments import Segment
from benchmarks.workloads import JOBS_1, JOBS_2, ONE_BATCH, WORKLOADS, Results, Workload
from tests.loops import each
from tests.oracle import kafka_tool

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


def test_batches_of_an_internal_topic_are_repeated(tmp_path: Path) -> None:
    log = segments.made(Segment(SMALL, cases=("transaction-state-4.3.0",)), tmp_path)
    lines, complaints = dump("--transaction-log-decoder", "--print-data-log", "--files", log)
    assert complaints == ""
    assert not [line for line in lines if "isvalid: false" in line]
    assert sum('payload: {"version":"1","data":{"producerId":' in line for line in lines) > 100


@pytest.mark.oracle
def test_the_real_tool_reads_them_without_complaint(tmp_path: Path) -> None:
    missing = kafka_tool.why_not_available(RELEASE)
    if missing:
        pytest.skip(missing)
    logs = [segments.made(segment, tmp_path) for segment in KINDS.values()]
    names = [f"{segments.NAME}{suffix}" for suffix in SUFFIXES]
    runs = [kafka_tool.Run(log.parent, ["--deep-iteration", "--files", name]) for log in logs for name in names]
    for answer in kafka_tool.run_many(RELEASE, runs):
        assert (answer.exit_code, answer.stderr) == (0, b"")
        assert answer.stdout.count(b"\n") >= 2
        assert b"isvalid: false" not in answer.stdout


def test_a_repeated_batch_has_its_own_offsets_and_times(tmp_path: Path) -> None:
    log = segments.made(Segment(3 * segments.MIB, 1, batch_count=5000), tmp_path)  # there are 4096 different ones
    lines, _ = dump("--files", log)
    batches = lines[2:]
    assert len(batches) == 5000
    assert batches[4999].startswith("baseOffset: 4999 lastOffset: 4999 count: 1 ")
    assert " CreateTime: 1700000004999 " in batches[4999]
    assert batches[0].split(" crc: ")[1] != batches[4096].split(" crc: ")[1]


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


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_plain_decompression_reads_every_batch(codec: str, tmp_path: Path) -> None:
    log = segments.made(KINDS[codec], tmp_path)
    script = contenders.HERE / "decompress.py"
    subprocess.run([sys.executable, script, log], check=True)
    log.write_bytes(log.read_bytes()[:-1])
    assert subprocess.run([sys.executable, script, log], capture_output=True, check=False).returncode != 0


def test_a_run_takes_its_own_time_and_memory() -> None:
    measured = contenders.run(Contender("sleep", [sys.executable, "-c", "import time; time.sleep(0.2); bytearray(50_000_000)"]))
    assert measured.seconds > 0.2
    assert 50_000_000 < measured.memory < 150_000_000
    assert (measured.exit_code, measured.is_late) == (0, 0)


def test_a_run_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "SECONDS", 0.2)
    assert contenders.run(Contender("sleep", ["sleep", "60"], copies=2)).is_late == 1


@pytest.mark.skipif(shutil.which("false") is None, reason="there is no program that fails")
def test_a_run_that_fails_is_not_measured() -> None:
    with pytest.raises(contenders.MissingContender, match="broken ended with 1"):
        contenders.run(Contender("broken", ["false"]))


def took(*seconds: float, memory: int = 10 << 20, is_late: int = 0) -> list[Measured]:
    return [Measured(one, one, memory, 0, is_late) for one in seconds]


def workload(name: str) -> Workload:
    return next(workload for workload in WORKLOADS if workload.name == name)


def verdicts(name: str, series: dict[str, list[Measured]]) -> list[tuple[str, bool] | None]:
    results = Results(series, start=0.02)
    return [verdict and (verdict.measured, verdict.holds) for verdict in (bar.judge(results) for bar in workload(name).bars)]


def test_bars_compare_medians() -> None:
    series = {KDUMP: took(0.1, 0.1, 9), PYTHON_KERNEL: took(4, 4, 4), "Kafka 4.3.1": took(9, 3, 2.5)}
    assert verdicts("deep", series) == [("30x", True), ("0.75x", False)]


def test_a_bar_about_one_core_leaves_the_other_out() -> None:
    series = {KDUMP: took(0.05), JOBS_1: took(0.1), PYTHON_KERNEL: took(4), "Kafka 4.3.1": took(3)}
    assert workload("one-record").bars[0].words == "at least 30x Kafka 4.3.1, one core"
    assert verdicts("one-record", series) == [("30x", True), ("0.75x", False)]


def test_start_up_is_taken_off_where_a_bar_says_so() -> None:
    assert verdicts("shallow-1g", {KDUMP: took(0.17), "C program": took(0.1)}) == [("1.50x", True), None]
    assert verdicts("index", {KDUMP: took(0.3)}) == [("0.280 s", False), None, None]


def test_who_did_not_come_to_an_end_is_in_no_ratio() -> None:
    assert verdicts("deep", {KDUMP: took(1), "Kafka 4.3.1": took(100, is_late=1)}) == [None, None]


def test_two_jobs_have_to_gain_what_the_machine_gives() -> None:
    loops = {"busy loop": took(1), "two busy loops": took(1.25)}
    assert verdicts("jobs", {JOBS_1: took(1.6), JOBS_2: took(1), **loops}) == [("1.60x, loops 1.60x", True)]
    assert verdicts("jobs", {JOBS_1: took(1.4), JOBS_2: took(1), **loops}) == [("1.40x, loops 1.60x", False)]


def test_memory_is_judged_by_the_worst_run() -> None:
    runs = {JOBS_1: took(1), JOBS_2: [*took(1), *took(1, memory=33 << 20)]}
    assert verdicts("memory-4g", runs) == [("33.0 MiB", False)]


def test_cpu_time_is_compared_whatever_the_wall_time() -> None:
    parquet = [Measured(9, cpu, 190 << 20, 0, 0) for cpu in (0.7, 0.8, 5)]
    assert verdicts("parquet", {contenders.PARQUET: parquet, JOBS_1: took(0.1)}) == [("8.00x", True), ("190.0 MiB", True)]
    assert verdicts("parquet", {contenders.PARQUET: parquet, JOBS_1: took(0.09)}) == [("8.89x", False), ("190.0 MiB", True)]
    assert verdicts("parquet", {JOBS_1: took(0.1)}) == [None, None]


@pytest.mark.parametrize("name", ["parquet", "scan-records"])
def test_who_writes_files_writes_the_same_rows_each_time(name: str, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="tables need the package pyarrow")
    small = workload(name)._replace(segment=Segment(SMALL))
    for contender in small.contenders(tmp_path, []) * 2:
        contenders.run(contender)
    folder = small.path(tmp_path).parent
    written = [folder / f"{segments.NAME}{suffix}" for suffix in (".parquet", ".alone.parquet")]
    if name == "scan-records":
        written = [folder / f"{segments.NAME}.scan" / "records"]
    for path in written:
        assert pq.read_table(path)["offset"].to_pylist() == list(range(len(pq.read_table(path)))) != []


def test_listings_are_judged_by_their_cpu_time() -> None:
    runs = {JOBS_1: took(0.1), "kdump log, csv": took(0.5)}
    assert verdicts("listing", runs) == [None, None, ("5.00x", True), None, ("10.0 MiB", True)]
    runs["kdump log, csv"] = took(0.61)
    assert verdicts("listing", runs)[2] == ("6.10x", False)


MEASURED = {
    ONE_BATCH: {KDUMP: took(0.02), "Kafka 4.3.1": took(0.2)},
    "deep": {KDUMP: took(0.1, 0.3, 0.2), "C program": took(0.1), "Kafka 4.3.1": took(6), "cat": took(0.05)},
}


def test_the_tables_tell_bars_medians_and_ratios() -> None:
    text = report.markdown([workload(ONE_BATCH), workload("deep")], MEASURED, "Measured.")
    lines = text.splitlines()
    assert "| 256 MiB, records of 100 bytes, deep | at least 25x Kafka 4.3.1 | 30x | yes |" in lines
    assert "| 256 MiB, records of 100 bytes, deep | kdump | 0.200 | 0.100 | 0.200 | 30 | 2 | 10 | 3 |" in lines
    assert "|  | cat | 0.050 | 0.050 | 0.050 | 120 | 0.5 | 10 | 1 |" in lines


def test_the_tables_go_between_the_marks(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n")
    report.put("new\n", "<svg/>", file)
    drawn = "![seconds by workload, on a logarithmic scale](measured.svg)"
    assert file.read_text() == f"before\n<!-- measured: begin -->\n{drawn}\n\nnew\n<!-- measured: end -->\nafter\n"
    assert (tmp_path / "measured.svg").read_text() == "<svg/>"


def test_the_plot_has_a_row_a_workload_and_a_dot_a_contender() -> None:
    drawing = ElementTree.fromstring(report.plot([workload(ONE_BATCH), workload("deep")], MEASURED))
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    dots = list(drawing.iter("{http://www.w3.org/2000/svg}circle"))
    assert "256 MiB, records of 100 bytes, deep" in texts
    assert "10 s" in texts
    assert len(dots) == 5 + 2 + 3  # those of the legend first


def test_workloads_have_unique_names() -> None:
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)


# --- Spark


def test_the_bars_of_spark_are_judged_by_medians() -> None:
    records = measuring.Times([0.2], [0.3], [2.0, 1.0, 9.0], [2.7, 2.6, 9.0], 5, 1000)
    batches = measuring.Times([0.5], [0.5], [1.0], [1.3], 4, 10)
    scans = measuring.Scans([10.4, 3.0, 99.0], [0.4], [23.5], [10.0])
    found = measuring.verdicts({"records": records, "batches": batches}, scans, 64 << 20, 250 << 20)
    assert [(verdict.measured, verdict.holds) for verdict in found] == [
        ("1.35x", True),
        ("1.35x", True),
        ("0.80 s of 0.74 s", False),
        ("5 of 5.0", True),
        ("4 of 5.0", True),
        ("250 MiB", True),
    ]
    slow = records._replace(spark=[2.71])
    dear = scans._replace(spark=[23.6])
    found = measuring.verdicts({"records": slow, "batches": batches._replace(tasks=6)}, dear, 64 << 20, None)
    assert [verdict.holds for verdict in found] == [False, False, True, True, False]
