"""Reads the golden cases with each supported release of PySpark, and compares the rows with those from one process without Spark.

    python -m campaigns.spark_releases                              the newest patch of 3.5 to 4.3; some ten minutes
    python -m campaigns.spark_releases --release 4.0.5 DIR...       one release, and files of your own

Each release gets an environment of its own in `$KDUMP_SPARK_RELEASES` (by default `~/.cache/kdump-spark-releases`), where pip
installs it once. The steps of a release: a scan with `--engine spark`; scans into one directory after changes; tables through
`kdump.spark.read`, by rows and by checksums; questions of `kdump.spark.checks`; and from 4.0 on `format("kdump")`, views, what
cannot work, streams, and a session of Spark Connect.
"""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns import scan_changes, scanned_tables
from campaigns.spark_tables import CASES, NOW, read_here
from kdump.output.arrow.rows import TABLES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

ROOT = Path(__file__).parent.parent
RELEASES = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")
HOME = "KDUMP_SPARK_RELEASES"
TIME_ZONE = "Pacific/Chatham"
"""Of sessions, so that what depends on it differs: it is 12:45 or 13:45 ahead of UTC."""

Rows = Counter[str]
Step = Callable[[str, Sequence[str]], str]
"""Does a step for a release and paths. Returns what is wrong; empty if nothing is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps with each release; return the exit code: 1 if something is wrong."""
    parser = argparse.ArgumentParser(
        prog="campaigns.spark_releases", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", default=[str(CASES)], metavar="DIR", help="by default those of the golden cases")
    parser.add_argument("--release", action="append", metavar="4.0.5", help=f"by default {', '.join(RELEASES)}; may be repeated")
    parser.add_argument("--step", action="append", choices=list(STEPS), help="only this one; may be repeated")
    parser.add_argument("--here", metavar="RELEASE", help=argparse.SUPPRESS)  # in the environment of a release
    options = parser.parse_args(arguments)
    steps = options.step or list(STEPS)
    if options.here:
        return _here(options.here, steps[0], options.paths)
    failed = 0
    for release in options.release or RELEASES:
        for step in steps:
            if step == "connect" and release.startswith("3."):
                print(f"{release}  {step:<10}  not tried: the package of this release has no server", flush=True)
                continue
            failed += _run(release, step, options.paths)
    return 1 if failed else 0


def environment(release: str) -> Path:
    """The Python of an environment with a release of PySpark and all that kdump needs; it is made if there is none."""
    home = Path(os.environ.get(HOME) or Path.home() / ".cache" / "kdump-spark-releases") / release
    python = home / "bin" / "python"
    if not python.exists():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        needed = [*project["dependencies"], *project["optional-dependencies"]["arrow"], "pandas<3"]
        if release.startswith("3."):
            needed.append("pyarrow<22")  # newer ones need NumPy 2, and Spark Connect of 3.5 an older one
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        command = [str(python), "-m", "pip", "install", "--quiet", f"pyspark[connect]=={release}", *needed]
        if subprocess.run(command, check=False).returncode:
            python.unlink()
            raise SystemExit(f"{release}: cannot be installed")
    return python


def run(release: str, module: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run a module of this checkout in the environment of a release. Its stderr is with its stdout."""
    python = environment(release)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    variables |= {"PYTHONPATH": str(ROOT), "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(python), "-W", "ignore", "-m", module, *arguments]
    pipe = subprocess.PIPE
    return subprocess.run(command, env=variables, stdout=pipe, stderr=subprocess.STDOUT, text=True, check=False)


def in_releases(releases: Sequence[str], module: str, given: Sequence[str]) -> int:
    """Run another campaign, which has the option `--release`, once in the environment of each release, with all else given.

    Prints what it prints. Returns 1 if one failed.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--release", action="append")
    _, arguments = parser.parse_known_args(given)
    failed = False
    for release in releases:
        done = run(release, module, arguments)
        print("\n".join(f"{release}  {line}" for line in done.stdout.splitlines()), flush=True)
        failed |= bool(done.returncode)
    return int(failed)


def _run(release: str, step: str, paths: Sequence[str]) -> bool:
    """Do a step in the environment of a release, and print the result. Returns whether it failed."""
    started = time.monotonic()
    done = run(release, "campaigns.spark_releases", ["--here", release, "--step", step, *paths])
    seconds = time.monotonic() - started
    print(f"{release}  {step:<10}  {seconds:6.1f} s  {'as it should be' if not done.returncode else 'WRONG'}", flush=True)
    if done.returncode:
        print("\n".join(f"    {line}" for line in done.stdout.splitlines()[-30:]), flush=True)
    return bool(done.returncode)


def _here(release: str, step: str, paths: Sequence[str]) -> int:
    try:
        wrong = STEPS[step](release, paths)
    except Exception:
        wrong = traceback.format_exc()
    print(wrong)
    return 1 if wrong else 0


# --- Steps


def _scan(_release: str, paths: Sequence[str]) -> str:
    """Compare the tables that both engines write."""
    with tempfile.TemporaryDirectory() as name:
        return _differing_scans(paths, Path(name) / "spark", Path(name) / "local")


def _differing_scans(paths: Sequence[str], by_spark: Path, here: Path, unchanged: bool = False) -> str:
    """Compare the tables of a scan by Spark with those of a scan without it. The former may continue an earlier scan.

    In this case, files that are `unchanged` must be left out.
    """
    (code, summary), (code_here, summary_here) = _scanned(paths, "spark", by_spark), _scanned(paths, "local", here)
    differing = scanned_tables.differing(by_spark, here)
    if code != code_here:
        differing.append(f"exit codes {code} and {code_here}")
    if bool(summary["unchangedFiles"]) != unchanged:
        differing.append(f"{summary['unchangedFiles']} files left out as unchanged")
    differing += [name for name in summary.keys() - _OF_ONE_SCAN if summary[name] != summary_here.get(name)]
    return ", ".join(differing)


def _scanned(paths: Sequence[str], engine: str, out: Path) -> tuple[int, dict[str, object]]:
    """Scan, and return the exit code and the summary."""
    from kdump.cli.commands import main as kdump

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = kdump(["scan", *paths, "--records", "--engine", engine, "--tables-to", str(out), "--output", "json"])
    summary: dict[str, object] = json.loads(printed.getvalue())
    return code, summary


_OF_ONE_SCAN = {"out", "engine", "seconds", "unchangedFiles"}
"""What differs between the summaries of two scans of the same files."""


def _again(_release: str, _paths: Sequence[str]) -> str:
    """Scan into the same directory after each of several changes, and compare with a new scan without Spark."""
    from kdump.spark.session import embedded

    wrong = []
    with tempfile.TemporaryDirectory() as name, embedded(master="local[2]"):  # one session for all scans
        folder = Path(name)
        for change in scan_changes.make(folder / "data"):
            is_first = change == scan_changes.NEW
            differing = _differing_scans([str(folder / "data")], folder / "out", folder / change, unchanged=not is_first)
            wrong += [f"{change}: {differing}"] if differing else []
    return "; ".join(wrong)


def _rows_of(rows: Sequence[object]) -> Rows:
    return Counter(map(repr, rows))


def _collected(frame: "DataFrame") -> Rows:
    from kdump.spark.releases import to_arrow

    return _rows_of(to_arrow(frame).to_pylist())


def _read(_release: str, paths: Sequence[str]) -> str:
    """Compare tables of `kdump.spark.read` with those read without Spark."""
    from kdump.spark.session import embedded

    with embedded(master="local[2]", conf={"spark.sql.session.timeZone": TIME_ZONE}) as session:
        return _differing_tables(session, paths)


def _differing_tables(session: "SparkSession", paths: Sequence[str]) -> str:
    from kdump.spark import read

    given = {"batches": {"uncompressed": "true"}}
    differing = []
    for table in TABLES:
        frame = read(session, list(paths), table=table, now=NOW, targetBytes="16m", **given.get(table, {}))
        if frame.schema != _expected_schema(table):
            differing.append(f"columns of {table}")
        if _collected(frame) != read_here(table, paths):
            differing.append(table)
    return ", ".join(differing)


def _expected_schema(table: str) -> "StructType":
    """The columns of a table with their types, and whether they may be null, as tables of a scan have them."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from kdump.pipeline.options import Options

    return from_arrow_schema(Options({"table": table, "path": str(CASES)}).schema)


def _sums(_release: str, paths: Sequence[str]) -> str:
    """Compare the number of rows and checksums of all columns with those of a scan without Spark, for tables of any size."""
    from kdump.spark import read
    from kdump.spark.session import embedded

    with tempfile.TemporaryDirectory() as name:
        _scanned(paths, "local", Path(name) / "local")
        with embedded(master="local[2]", conf={"spark.sql.session.timeZone": TIME_ZONE}) as session:
            differing = []
            for table in sorted(TABLES.keys() - {"findings"}):  # of which a scan has more
                frame = read(session, list(paths), table=table, **({"uncompressed": "sample"} if table == "batches" else {}))
                if _sum(frame) != _sum(session.read.parquet(str(Path(name) / "local" / table))):
                    differing.append(table)
    return ", ".join(differing)


def _sum(frame: "DataFrame") -> tuple[object, ...]:
    """The number of rows, and of values and the sum of their hashes for each column and for all: alike for any order."""
    from pyspark.sql import functions

    def total(*columns: str) -> "Column":
        return functions.sum(functions.xxhash64(*columns).cast("decimal(38, 0)"))

    sums = [aggregate for column in frame.columns for aggregate in (functions.count(column), total(column))]
    return tuple(frame.agg(functions.count("*"), total(*frame.columns), *sums).collect()[0])


def _checks(_release: str, _paths: Sequence[str]) -> str:
    """Compare the findings about a small fleet with those of DuckDB."""
    from kdump.pipeline.fleet import questions
    from kdump.spark import checks, read
    from kdump.spark.session import embedded
    from tests.cookbook_fleet import write_cookbook_fleet
    from tests.fleets import ask_tables, tables_of

    with tempfile.TemporaryDirectory() as folder:
        brokers = write_cookbook_fleet(Path(folder) / "brokers")
        expected: Rows = Counter()
        for answer in ask_tables(questions.of_scan(int(NOW), reads_records=True), tables_of(brokers)):
            expected += _rows_of(answer.to_pylist())
        with embedded(master="local[2]") as session:
            names = ("batches", "segments", "checkpoints", "records")
            frames = {name: read(session, str(brokers), table=name).cache() for name in names}
            found = _collected(checks.fleet(frames, int(NOW)))
            topics = checks.sizes(frames["segments"]).count()
    if found != expected or not found.total():
        return f"findings: {found - expected} only by Spark, {expected - found} only by DuckDB"
    return "" if topics == 4 else f"{topics} topics"


def _own_session(release: str, paths: Sequence[str]) -> str:
    """The format and views in a session of a user, without registration; from 4.0 on."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    expected = read_here("batches", paths).total()
    if release.startswith("3."):
        return _is_refused(lambda: session.read.format("kdump").load(paths[0]).count(), "kdump")
    if session.read.format("kdump").load(list(paths)).count() != expected:
        return "format"
    options = f"OPTIONS (path '{paths[0]}', table 'batches')"
    session.sql(f"CREATE TEMPORARY VIEW some USING kdump {options}")
    if session.sql("SELECT * FROM some").count() != read_here("batches", paths[:1]).total():
        return "view"
    return (
        _is_refused(lambda: _table(session, options), "CREATE TEMPORARY VIEW")
        or _is_refused(lambda: session.range(3).write.format("kdump").mode("append").save("/tmp/no"), "kdump only reads")
        or _is_refused(lambda: session.read.format("kdump").load("/nowhere"), "no such file")
    )


def _table(session: "SparkSession", options: str) -> None:
    session.sql(f"CREATE TABLE one USING kdump {options}")
    session.sql("SELECT * FROM one").count()


def _is_refused(action: Callable[[], object], words: str) -> str:
    try:
        action()
    except Exception as error:
        return "" if words in str(error) else f"without {words!r}: {error}"
    return f"was not refused: {words}"


def _stream(release: str, _paths: Sequence[str]) -> str:
    """A stream of a log that grows, across a restart; from 4.0 on."""
    from pyspark.sql import SparkSession

    from kdump.spark import register
    from tests.builders.records import batch, record

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    if release.startswith("3."):
        session.sparkContext.setLogLevel("ERROR")
        return _is_refused(lambda: session.readStream.format("kdump").load(str(CASES)), "kdump") or _is_refused(
            lambda: register(session), "PySpark 3.5 has no data sources in Python"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data" / "a-0" / "00000000000000000000.log"
        path.parent.mkdir(parents=True)
        for base_offset in (0, 2, 4):
            with path.open("ab") as file:
                file.write(batch(records=[record()] * 2, base_offset=base_offset))
            for _ in range(5):
                try:
                    _stream_once(session, folder)
                    break
                except Exception as error:  # Spark waits ten seconds for the process that plans a stream
                    if "failed to connect back" not in str(error):
                        raise
        offsets = sorted(row.offset for row in session.read.parquet(f"{folder}/out").select("offset").collect())
    return "" if offsets == list(range(6)) else f"offsets {offsets}"


def _stream_once(session: "SparkSession", folder: str) -> None:
    """Stream what is new below a folder, into another one."""
    frame = session.readStream.format("kdump").option("table", "records").load(f"{folder}/data")
    query = frame.writeStream.option("checkpointLocation", f"{folder}/checkpoint").start(f"{folder}/out")
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def _connect(_release: str, paths: Sequence[str]) -> str:
    """Tables and a question in a session of Spark Connect, whose server this process starts."""
    from pyspark.sql import SparkSession

    from kdump.spark import checks, read

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.remote("local[2]").getOrCreate()
    try:
        wrong = _differing_tables(session, paths)
        segments = read(session, list(paths), table="segments")
        return wrong or ("" if checks.sizes(segments).count() else "sizes")
    finally:
        session.stop()


STEPS: dict[str, Step] = {
    "scan": _scan,
    "again": _again,
    "read": _read,
    "sums": _sums,
    "checks": _checks,
    "session": _own_session,
    "stream": _stream,
    "connect": _connect,
}

if __name__ == "__main__":
    sys.exit(main())
