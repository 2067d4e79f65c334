"""Tables of a fleet in Spark: the rows are those that are read without it, whatever the slices, the cores and the cluster."""

import contextlib
import functools
import importlib
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from kdump.checks.catalogue import SCAN
from kdump.checks.finding import Finding
from kdump.cli.commands import main
from kdump.errors import MissingPackage, Unreadable, UsageError
from kdump.output.arrow.rows import TABLES
from kdump.pipeline.fleet import statistics
from kdump.pipeline.options import Options
from kdump.spark import read, register, session
from kdump.spark.brief_errors import BriefRefusal, brief_errors, with_brief_errors
from kdump.spark.session import embedded, last_line, settings
from tests.builders.files import file_name
from tests.builders.records import batch, record
from tests.sessions import ROOT, why_no_spark
from tests.support import HANG, Capture, Patch, wait_until, with_interrupts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.skipif(bool(why_no_spark()), reason=why_no_spark())]

CORPUS = ROOT / "golden_outputs" / "cases"
SHARE = tuple(map(str, sorted(CORPUS.iterdir())[::6]))
"""Some of all kinds of cases, where the rest would show no more; among them is what cannot be examined."""
NOW = "1800000000000"

Rows = Counter[str]


@functools.cache
def _in_process(table: str, *paths: str, **given: str) -> Rows:
    from kdump.pipeline import planning, reading

    values = {"table": table, "paths": json.dumps(paths), "isolated": "false", "now": NOW, **given}
    options = Options(values)
    tasks = planning.plan(options)
    return Counter(repr(row) for task in tasks for read in reading.read(task, options) for row in read.to_pylist())


def _rows(frame: "DataFrame") -> Rows:
    return Counter(map(repr, frame.toArrow().to_pylist()))


def _written(out: Path, table: str) -> Rows:
    import pyarrow.parquet as pq

    return Counter(map(repr, pq.read_table(out / table).to_pylist()))


def _scan(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kdump", "scan", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=1200, check=False)


def _write_log(partition: Path, data: bytes, base_offset: int = 0) -> Path:
    partition.mkdir(parents=True)
    path = partition / file_name(base_offset, ".log")
    path.write_bytes(data)
    return path


def _program(path: Path, text: str) -> Path:
    """A file that can be run."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log directory with one partition and three batches."""
    batches = [batch(records=[record(key=b"k", value=b"v")] * 2, base_offset=2 * row) for row in range(3)]
    _write_log(tmp_path / "data" / "a-0", b"".join(batches))
    return tmp_path / "data"


# --- The same rows


@pytest.mark.parametrize(
    ("target", "table"),
    [
        *[("64m", table) for table in ("files", "batches", "records", "index", "timeindex")],
        *[("64m", table) for table in ("txn_index", "producers", "segments", "findings")],
        *[("64k", table) for table in ("records", "findings")],
    ],
)
def test_rows_of_the_corpus_are_those_read_in_process(spark: "SparkSession", target: str, table: str, all_cases: bool) -> None:
    is_share = target == "64m" and not all_cases
    paths = [str(CORPUS)] if target == "64m" and all_cases else SHARE
    rows = _rows(read(spark, list(paths), table=table, targetBytes=target, now=NOW))
    assert rows == _in_process(table, *paths)
    assert rows.total() > (10 if is_share else 50)


@pytest.mark.all_cases  # a session of its own
def test_a_scan_on_one_core_is_quiet_and_writes_the_same_rows_and_the_findings_of_check(tmp_path: Path) -> None:
    some = SHARE[::2]
    options = ["--records", "--target-bytes", "256k", "--output", "json"]
    of_others = {"SPARK_REMOTE": "sc://nowhere", "SPARK_API_MODE": "connect", "PYSPARK_PYTHON": "/nowhere/python3"}
    done = _scan(*some, "--tables-to", "out", "--master", "local[1]", *options, cwd=tmp_path, **of_others)
    assert (done.returncode, done.stderr) == (3, "")
    for table in ("records", "batches", "files"):
        assert _written(tmp_path / "out", table) == _in_process(table, *some, uncompressed="sample")
    command = [sys.executable, "-m", "kdump", "check", "--level", "full", *some, "--output", "ndjson"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    keys = [column.key for column in Finding.schema]
    rows = [json.loads(line) for line in checked.stdout.splitlines()]
    expected = Counter(repr([row[key] for key in keys]) for row in rows if row["kind"] == "finding")
    import pyarrow.parquet as pq

    found = [row for row in pq.read_table(tmp_path / "out" / "findings").to_pylist() if row["code"] not in SCAN]
    assert Counter(repr([row[key] for key in keys]) for row in found) == expected
    assert expected
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# --- The data source


def test_workers_without_a_codec_fail_scans(spark: "SparkSession", tmp_path: Path, monkeypatch: Patch, capfd: Capture) -> None:
    _write_log(tmp_path / "data" / "a-0", batch(records=[record(value=b"v")], codec="lz4"))
    (tmp_path / "without").mkdir()
    for package in ("lz4", "cramjam"):  # which serves where lz4 is missing
        (tmp_path / "without" / f"{package}.py").write_text("raise ModuleNotFoundError('not here')\n")
    of_workers = f"{tmp_path / 'without'}{os.pathsep}{ROOT}"
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", of_workers)  # as spark.executorEnv.PYTHONPATH sets it
    monkeypatch.chdir(tmp_path)
    at_cluster = ["--master", "spark://127.0.0.1:1"]  # what is active is used, but the scan takes it for a cluster
    assert main(["scan", "data", "--tables-to", "out", "--records", *at_cluster]) == 3
    assert 'lz4 payloads need the package "lz4"; pip install lz4 on every worker: this one is ' in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "without"]


def test_the_format_is_found_without_ceremony(spark: "SparkSession", log: Path) -> None:
    assert spark.read.format("kdump").option("table", "records").load(str(log)).count() == 6
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW segments USING kdump OPTIONS (path '{log}', table 'segments')")
    assert spark.sql("SELECT topic, records FROM segments").collect() == [("a", 6)]
    assert spark.read.format("kdump").load([str(log), str(log / "a-0")]).count() == 6
    assert spark.read.format("kdump").load(f"file://{log}").count() == 3


def test_the_schema_is_that_of_arrow(spark: "SparkSession", log: Path) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    from kdump.output.arrow.schemas import table_schema

    for table in TABLES:
        assert to_arrow_schema(read(spark, str(log), table=table).schema) == table_schema(table)


def test_a_schema_of_some_columns_is_honoured(spark: "SparkSession", log: Path) -> None:
    import pyarrow as pa

    from kdump.spark.columns import as_spark_has_it

    frame = spark.read.format("kdump").option("table", "records").schema("OFFSET bigint, key binary").load(str(log))
    assert frame.columns == ["OFFSET", "key"]
    assert frame.collect()[:2] == [(0, b"k"), (1, b"k")]
    fields = [("OFFSET", True), ("key", False)]  # whatever the table says of them
    (asked,) = as_spark_has_it(iter([pa.record_batch([[1], [b"k"]], ["offset", "key"])]), fields)
    assert [(field.name, field.nullable) for field in asked.schema] == fields


def test_columns_are_nullable_where_row_classes_say_so_and_no_schema_takes_that_back(spark: "SparkSession", log: Path) -> None:
    frame = spark.read.format("kdump").option("table", "records").load(str(log))
    nullable = {field.name: field.nullable for field in frame.schema.fields}
    assert (nullable["offset"], nullable["path"], nullable["key"], nullable["valueSize"]) == (False, False, True, True)
    wanted = spark.read.format("kdump").option("table", "records").schema("offset bigint not null, key binary not null")
    with pytest.raises(Exception, match="the column key may be null"):
        wanted.load(str(log)).collect()


@pytest.mark.parametrize(
    ("column", "conversion"),
    [("timestamp timestamp", "timestamp_millis(timestamp) converts it"), ("key string", "cast(key AS string) converts it")],
)
def test_other_types_are_refused_with_the_conversion(spark: "SparkSession", log: Path, column: str, conversion: str) -> None:
    with pytest.raises(Exception, match=re.escape(conversion)):
        spark.read.format("kdump").option("table", "records").schema(column).load(str(log)).collect()
    assert read(spark, log, table="records").selectExpr(conversion.removesuffix(" converts it")).count() == 6


def test_read_takes_paths_lists_and_times_of_python(spark: "SparkSession", log: Path) -> None:
    records = [record(), record(timestamp_delta=5)]
    _write_log(log / "b-7", batch(records=records, base_offset=5, base_timestamp=1_700_000_000_000), 5)
    given: dict[str, Any] = {"table": "records", "columns": ["topic", "offset"], "topics": ["b", "c*"], "partitions": range(8)}
    given["toOffset"] = None  # as if it were not given
    since = datetime.fromtimestamp(1_700_000_000.005, UTC)
    assert read(spark, log, **given).collect() == [("b", 5), ("b", 6)]
    assert read(spark, [log / "a-0", log / "b-7"], **given, fromTimestamp=since).collect() == [("b", 6)]


@pytest.mark.parametrize("allows", ["true", "false"])
def test_filters_choose_files_where_the_session_allows_that(spark: "SparkSession", log: Path, allows: str) -> None:
    _write_log(log / "b-7", batch(records=[record()], base_offset=5), 5)
    with _pushdown(spark, allows):
        frame = read(spark, str(log)).where("topic = 'b' AND partition IN (7, 8) AND baseOffset >= 5")
        assert frame.select("topic", "baseOffset").collect() == [("b", 5)]


@contextlib.contextmanager
def _pushdown(spark: "SparkSession", allows: str) -> Iterator[None]:
    """A session that pushes filters down, or not."""
    name = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, allows)
    try:
        yield
    finally:
        spark.conf.set(name, before or "false")


def test_a_session_that_pushes_no_filters_down_is_said_to_need_that(spark: "SparkSession", log: Path) -> None:
    register(spark)
    said = r'this session pushes no filters down; spark\.conf\.set\("spark\.sql\..*", "true"\) lets it'
    with _pushdown(spark, "false"):
        with pytest.raises(UsageError, match=said):
            read(spark, str(log), pushdown=True)
        with pytest.raises(Exception, match="filterPushdown\\.enabled' is false") as refused:
            spark.read.format("kdump").option("pushdown", "true").load(str(log)).count()
        assert "Traceback" not in str(refused.value)
    with _pushdown(spark, "true"):
        assert spark.read.format("kdump").option("pushdown", "true").load(str(log)).count()


def test_a_frame_is_planned_as_an_rdd_too(spark: "SparkSession", log: Path) -> None:
    assert read(spark, str(log), table="records").rdd.getNumPartitions() == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"table": "batch"}, "there is no table 'batch'"),
        ({"topic": "a"}, "there is no option 'topic'"),
        ({"path": "/nowhere"}, "/nowhere: no such file"),
    ],
)
def test_what_is_impossible_is_reported_in_one_line(spark: "SparkSession", log: Path, given: dict[str, str], words: str) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match=words) as caught:
        spark.read.format("kdump").options(**{"path": str(log), **given}).load()
    message, state = str(caught.value).splitlines()
    assert message.startswith("[PYTHON_DATA_SOURCE_ERROR] Failed to create Python data source instance: kdump.errors.")
    assert state == " SQLSTATE: 38000"
    with pytest.raises((UsageError, Unreadable), match=words):  # before Spark is asked
        read(spark, **{"path": str(log), **given})


def test_a_traceback_is_left_out_only_of_errors_on_purpose(monkeypatch: Patch) -> None:
    for error, debugs, hides in ((UsageError("a"), False, True), (UsageError("a"), True, False), (KeyError("a"), False, False)):
        with monkeypatch.context() as patch:
            patch.setenv("SPARK_HIDE_TRACEBACK", "")
            patch.setenv("KDUMP_DEBUG", "1") if debugs else patch.delenv("KDUMP_DEBUG", raising=False)
            with pytest.raises(type(error)), brief_errors():
                raise error
            assert bool(os.environ["SPARK_HIDE_TRACEBACK"]) is hides
    for name, kind in (("pyspark", MissingPackage), ("other", ModuleNotFoundError)):
        with pytest.raises(kind):
            with_brief_errors(mock.Mock(side_effect=ModuleNotFoundError("it is missing", name=name)))()
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "1")  # by whoever started this process
    BriefRefusal().end()
    assert os.environ["SPARK_HIDE_TRACEBACK"] == "1"


def test_a_python_without_kdump_reads_with_ours(spark: "SparkSession", log: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    from kdump.spark import frames

    python = _program(tmp_path / "python3", "#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    with pytest.raises(Exception, match=r"pyspark\.daemon"):
        spark.range(1).rdd.map(abs).count()
    session = spark.newSession()
    assert read(session, str(log)).count() == 3
    assert frames._python_of_format(session) == sys.executable
    monkeypatch.setattr(frames, "has_data_sources", lambda: False)  # as before 4.0
    monkeypatch.setattr(frames, "_mapped", lambda session, _: session.sparkContext.pythonExec)
    assert str(read(session, str(log))) == sys.executable
    assert spark.sparkContext.pythonExec == str(python)
    monkeypatch.undo()
    session = spark.newSession()
    register(session)
    assert session.read.format("kdump").load(str(log)).count() == 3


def test_on_a_cluster_the_python_of_workers_plans(spark: "SparkSession", log: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    """PySpark itself takes that of the driver, PYSPARK_DRIVER_PYTHON, where it finds the format."""
    from kdump.spark import frames

    session = spark.newSession()
    register(session)
    assert frames._python_of_format(session) == spark.sparkContext.pythonExec
    of_workers = _program(tmp_path / "python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(of_workers))
    monkeypatch.setattr(spark.sparkContext, "master", "spark://127.0.0.1:7077")
    register(session)
    assert frames._python_of_format(session) == str(of_workers)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python3")
    with pytest.raises(UsageError, match="/nowhere/python3, where kdump and pyarrow cannot be imported; Spark plans with it"):
        read(session, str(log))


def test_a_connect_server_without_kdump_is_refused(spark: "SparkSession", log: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    from kdump.spark import frames

    python = _program(tmp_path / "python3", "#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    monkeypatch.setattr(frames, "_is_remote", lambda _: True)
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    with pytest.raises(UsageError, match=f"Spark starts its workers with {python}.*PYSPARK_PYTHON"):
        read(spark, str(log))
    with pytest.raises(Unreadable, match="/nowhere: no such file"):
        read(spark, "/nowhere")


def _frames(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_an_error_of_read_is_raised_one_line_below_its_caller(spark: "SparkSession", log: Path, monkeypatch: Patch) -> None:
    from kdump.spark import checks

    here = "test_an_error_of_read_is_raised_one_line_below_its_caller"
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: read(spark, log, fromTimestamp="yesterday"), "'yesterday' is not a time"),
        (lambda: read(str(log)), "the first argument is a SparkSession, not str"),  # type: ignore[arg-type]  # a mistake
        (lambda: read(spark), "no path was given"),
        (lambda: checks.ask(statistics.sizes(), {"segments": read(spark, log)}), "without the column"),
    ]
    for call, words in calls:
        with pytest.raises(UsageError, match=words) as caught:
            call()
        assert _frames(caught.value) == [here, "<lambda>", "called"]
        assert "During handling" not in "".join(traceback.format_exception(caught.value))
    monkeypatch.setenv("KDUMP_DEBUG", "1")
    with pytest.raises(UsageError) as caught:
        read(spark, log, fromTimestamp="yesterday")
    assert len(_frames(caught.value)) > 3


def test_a_python_without_arrow_has_no_format_and_says_what_read_needs() -> None:
    script = """if True:
        import sys
        sys.modules["pyarrow"] = None
        import pyspark_kdump
        from kdump.spark import read
        assert not hasattr(pyspark_kdump, "DefaultSource")
        read(None, "/data")
        """
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=HANG, check=False)
    last_line = done.stderr.splitlines()[-1]
    remedy = "pip install pyarrow (it is in kafka-kdump[spark])"
    assert last_line == f'kdump.errors.MissingPackage: Spark needs the package "pyarrow"; {remedy}'


def test_tables_of_the_catalog_and_writers_are_refused_with_what_works(spark: "SparkSession", log: Path) -> None:
    with pytest.raises(Exception, match="use CREATE TEMPORARY VIEW name USING kdump"):
        spark.sql(f"CREATE TABLE one USING kdump OPTIONS (path '{log}', table 'batches')")
    spark.sql("CREATE TABLE two (offset bigint) USING kdump")
    try:
        with pytest.raises(Exception, match="use CREATE TEMPORARY VIEW name USING kdump"):
            spark.sql("SELECT * FROM two").collect()
    finally:
        spark.sql("DROP TABLE two")
    with pytest.raises(Exception, match="kdump only reads"):
        spark.range(3).write.format("kdump").mode("append").save(str(log / "new"))
    assert not (log / "new").exists()


def test_before_spark_4_read_needs_pandas_and_the_format_is_refused(spark: "SparkSession", log: Path, monkeypatch: Patch) -> None:
    from kdump.spark import frames

    monkeypatch.setattr(frames, "has_data_sources", lambda: False)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackage, match="pip install 'pandas<3'"):
        read(spark, str(log))
    with pytest.raises(UsageError, match=r"kdump\.spark\.read"):
        register(spark)


def test_rows_before_spark_4_come_by_way_of_python(spark: "SparkSession") -> None:
    from kdump.spark import releases

    class Frame:
        """A DataFrame without the method that came with 4.0."""

        def __init__(self, frame: "DataFrame") -> None:
            self.schema, self.collect = frame.schema, frame.collect

    headers = "array(named_struct('key', 'h', 'value', null)) AS headers"
    frame = spark.sql(f"SELECT 5L AS offset, cast('k' AS binary) AS key, {headers}")
    without: Any = Frame(frame)
    assert releases.to_arrow(without) == frame.toArrow()
    assert releases.collected(spark, without).collect() == frame.collect()


def test_damage_ends_a_query_only_where_it_is_to(spark: "SparkSession", log: Path) -> None:
    path = log / "a-0" / file_name(0, ".log")
    path.write_bytes(path.read_bytes()[:-2] + b"xx")
    assert [row.status for row in read(spark, str(log)).select("status").collect()] == ["intact", "intact", "damaged"]
    with pytest.raises(Exception, match="CRC of a record batch does not match") as caught:
        read(spark, str(log), mode="FAILFAST").collect()
    assert "does not match" in last_line(caught.value)
    assert "Traceback" not in str(caught.value)


def test_a_stream_has_each_record_once_across_a_restart(spark: "SparkSession", log: Path, tmp_path: Path) -> None:
    def run(attempts: int = 5) -> None:
        try:
            run_once()
        except Exception as error:  # Spark waits ten seconds for the process that plans a stream, however busy the machine is
            if "failed to connect back" not in str(error) or not attempts:
                raise
            run(attempts - 1)

    def run_once() -> None:
        frame = spark.readStream.format("kdump").option("table", "records").schema("topic string, offset bigint").load(str(log))
        query = frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).start(str(tmp_path / "out"))
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    run()
    with (log / "a-0" / file_name(0, ".log")).open("ab") as file:
        file.write(batch(records=[record(key=b"k")] * 2, base_offset=6))
    run()
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(row.offset for row in rows) == list(range(8))


# --- What goes wrong


def _children(process: int) -> list[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            name, fields = (path / "stat").read_text().rpartition(")")[::2]
        except OSError:
            continue
        parents[int(name.split(" ", 1)[0])] = int(fields.split()[1])
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


_DAEMON = "pyspark.daemon\0pyspark.worker\0"


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("which", ["worker", "reader"])
def test_a_process_that_is_killed_changes_nothing(spark: "SparkSession", tmp_path: Path, which: str) -> None:
    """A worker of Spark's, or the process below it that reads records: the task is tried again."""
    batches = b"".join(batch(records=[record(value=b"v" * 20)] * 500, base_offset=500 * row) for row in range(100))
    for number in range(4):
        _write_log(tmp_path / f"a-{number}", batches)
    frame = read(spark, str(tmp_path), table="records", targetBytes="1m")
    frame = frame.selectExpr("count(*)", "sum(offset)", "count(DISTINCT path)")
    results: list[Any] = []
    query = threading.Thread(target=lambda: results.extend(frame.collect()))
    query.start()
    killed = 0
    while query.is_alive() and not killed:
        below = {process: _children(process) for process in _children(os.getpid()) if _command(process).endswith(_DAEMON)}
        workers = {worker for process in below for worker in below[process]}
        busy = [worker for worker in workers if len(below.get(worker, ())) == 1]  # it has forked the process that reads
        for worker in busy[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker if which == "worker" else below[worker][0], signal.SIGKILL)
                killed += 1
        time.sleep(0.01)
    query.join(HANG)
    assert killed
    assert results == [(200_000, 4 * sum(range(50_000)), 4)]


# --- The session


def _has_java(scan: int, _: Path) -> bool:
    return any("java" in _command(process) for process in _children(scan))


def _has_written(_: int, folder: Path) -> bool:
    return any(path.stat().st_size for path in folder.glob(".out.incomplete-*/**/*.parquet"))


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes in /proc")
@pytest.mark.all_cases  # sessions of their own
@pytest.mark.parametrize("has_come_so_far", [_has_java, _has_written])
def test_an_interrupt_of_a_scan_at_any_time_leaves_nothing(tmp_path: Path, has_come_so_far: Callable[[int, Path], bool]) -> None:
    _write_log(tmp_path / "data" / "a-0", batch(records=[record(value=b"v" * 20)] * 1000) * 1500)
    command = [sys.executable, "-m", "kdump", "scan", "data", "--tables-to", "out", "--records", "--engine", "spark"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, preexec_fn=with_interrupts) as scan:
        wait_until(lambda: scan.poll() is not None or has_come_so_far(scan.pid, tmp_path))
        began = [process for process in _children(scan.pid) if "java" in _command(process)]
        scan.send_signal(signal.SIGINT)
        _, err = scan.communicate(timeout=HANG)
    assert (scan.returncode, err) == (130, b"kdump: interrupted\n")
    assert began
    wait_until(lambda: not any("java" in _command(process) for process in began))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "tmp"]
    assert list((tmp_path / "tmp").glob("kdump-spark-*")) == []


@pytest.mark.all_cases  # a session of its own
def test_a_session_that_does_not_stop_is_ended_silently() -> None:
    """As where an interrupt comes on a busy machine; PySpark's thread for accumulators is still connected to Java."""
    script = """if True:
        import time
        import warnings
        from pyspark.sql import SparkSession
        from kdump.spark.session import embedded

        def stop(session):
            warnings.warn("Unable to cleanly shutdown Spark JVM process. It is possible that it crashed.", RuntimeWarning)
            time.sleep(1000)

        try:
            with embedded(master="local[1]") as session:
                session.sparkContext.parallelize([1]).map(lambda one: one).count()
                SparkSession.stop = stop
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            time.sleep(2)
        """
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=HANG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_session_keeps_py4j_from_logging_calls_that_the_end_of_java_interrupts(spark: "SparkSession") -> None:
    """Its threads may wait for Java when an interrupt ends the session. They log to the root logger."""
    root = logging.getLogger()
    of_py4j = importlib.import_module("py4j.java_gateway").__file__
    records = [logging.LogRecord("root", logging.ERROR, path or "", 1, "Exception", (), None) for path in (of_py4j, __file__)]
    assert [bool(root.filter(record)) for record in records] == [False, True]


def test_a_jvm_that_was_killed_is_named() -> None:
    from pyspark import SparkContext

    error = ConnectionRefusedError(111, "Connection refused")
    machine = mock.Mock()
    with mock.patch.object(SparkContext, "_gateway", mock.Mock(proc=machine)):
        machine.wait.side_effect = subprocess.TimeoutExpired("java", 1)
        assert str(session.as_raised_here(error)) == "Spark failed: [Errno 111] Connection refused; KDUMP_DEBUG=1 shows all"
        machine.wait.side_effect = [-signal.SIGKILL, 3]
        words = "its JVM was ended by SIGKILL, as where memory is short; --engine local needs less"
        assert str(session.as_raised_here(error)) == f"Spark failed: {words}; KDUMP_DEBUG=1 shows all"
        assert "its JVM ended with exit code 3;" in str(session.as_raised_here(error))
        assert "no number" in str(session.as_raised_here(ValueError("no number")))


def test_what_a_jvm_printed_that_did_not_start_is_shown(tmp_path: Path) -> None:
    _program(tmp_path / "bin" / "java", "#!/bin/sh\necho Invalid maximum heap size: -Xmxlots >&2\nexit 1\n")
    (tmp_path / "data").mkdir()
    done = _scan("--engine", "spark", "data", "--tables-to", "out", cwd=tmp_path, JAVA_HOME=str(tmp_path))
    lines = done.stderr.splitlines()
    assert (done.returncode, "Invalid maximum heap size: -Xmxlots" in lines) == (2, True)
    assert lines[-1].startswith("kdump: Spark did not start: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.all_cases  # a session of its own
def test_a_scan_by_spark_submit_runs_where_that_says(log: Path, tmp_path: Path) -> None:
    import pyspark

    job = tmp_path / "job.py"
    job.write_text("from kdump.cli.main import run\nrun()\n")
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    command = [submit, "--master", "local[1]", "--conf", "spark.ui.enabled=false", str(job), "scan", str(log)]
    command += ["--tables", "batches", "--tables-to", str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG, check=False)
    assert done.stdout.startswith("Scanning with Spark where spark-submit says; --engine local does not use Spark.\n")
    assert "Running Spark" in done.stderr  # in the JVM of spark-submit
    assert (done.returncode, _written(tmp_path / "out", "batches").total()) == (0, 3)


def test_settings_leave_to_spark_submit_where_it_runs(monkeypatch: Patch) -> None:
    names = {"spark.master", "spark.driver.memory", "spark.driver.host"}
    assert names <= settings(None, {}, 2, "folder").keys()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert not names & settings(None, {}, 2, "folder").keys()
    for master, made in (("local[3]", "local[3,4]"), ("local", "local[1,4]"), ("local[3,5]",) * 2, ("spark://a:7077",) * 2):
        assert settings(master, {}, 2, "folder")["spark.master"] == made


def test_what_is_given_counts_more_than_our_settings() -> None:
    given = {"spark.ui.enabled": "true", "spark.master": "local[7]", "spark.x": "y"}
    assert settings(None, given, 2, "folder") == {**settings(None, {}, 2, "folder"), **given}


def test_a_session_that_is_active_is_used_and_left_alone(spark: "SparkSession") -> None:
    with embedded(master="local[7]") as session:
        assert session.sparkContext.applicationId == spark.sparkContext.applicationId
    assert spark.range(3).count() == 3
