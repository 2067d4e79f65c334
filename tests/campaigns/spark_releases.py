"""Reads the golden cases with each supported release of PySpark, and compares the rows with those from one process without Spark.

    python -m tests.campaigns.spark_releases                              the newest patch of 3.5 to 4.3; some ten minutes
    python -m tests.campaigns.spark_releases --release 4.0.5 DIR...       one release, and files of your own

Each release gets an environment of its own in `$KDUMP_SPARK_RELEASES` (by default `~/.cache/kdump-spark-releases`), where pip
installs it once. The steps of a release: a scan with `--engine spark`, tables through `kdump.spark.read`, questions of
`kdump.spark.checks`, and from 4.0 on `format("kdump")`, views, what cannot work, and a session of Spark Connect.
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

from tests.campaigns.spark_slices import CASES, NOW, read_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parent.parent.parent
RELEASES = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")
HOME = "KDUMP_SPARK_RELEASES"
TABLES = ("files", "batches", "records", "index", "timeindex", "txn_index", "producers", "segments", "checkpoints", "findings")

Rows = Counter[str]
Step = Callable[[str, Sequence[str]], str]
"""Does a step for a release and paths. Returns what is wrong; empty if nothing is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps with each release; return the exit code: 1 if something is wrong."""
    parser = argparse.ArgumentParser(
        prog="tests.campaigns.spark_releases", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
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
        python = _environment(release)
        for step in steps:
            if step == "connect" and release.startswith("3."):
                print(f"{release}  {step:<10}  not tried: the package of this release has no server", flush=True)
                continue
            failed += _run(python, release, step, options.paths)
    return 1 if failed else 0


def _environment(release: str) -> Path:
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


def _run(python: Path, release: str, step: str, paths: Sequence[str]) -> bool:
    """Do a step in the environment of a release, and print the result. Returns whether it failed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment |= {"PYTHONPATH": str(ROOT), "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(python), "-W", "ignore", "-m", "tests.campaigns.spark_releases", "--here", release, "--step", step, *paths]
    started = time.monotonic()
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    print(f"{release}  {step:<10}  {seconds:6.1f} s  {'as it should be' if not done.returncode else 'WRONG'}", flush=True)
    if done.returncode:
        print("\n".join(f"    {line}" for line in (done.stdout.splitlines() + done.stderr.splitlines())[-30:]), flush=True)
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
    import pyarrow.parquet as pq

    from kdump.cli.commands import main as kdump

    differing = []
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        codes = []
        for engine in ("local", "spark"):
            out = str(Path(folder) / engine)
            codes.append(kdump(["scan", *paths, "--records", "--engine", engine, "--out", out, "--output", "json"]))
        if codes[0] != codes[1]:
            differing.append(f"exit codes {codes}")
        summaries = [json.loads((Path(folder) / engine / "kdump.json").read_text()) for engine in ("local", "spark")]
        for name in ("out", "engine", "seconds"):
            for summary in summaries:
                del summary[name]
        differing += [] if summaries[0] == summaries[1] else ["the summaries"]
        for table in TABLES:
            local, spark = (pq.read_table(Path(folder) / engine / table) for engine in ("local", "spark"))
            if local.schema != spark.schema or _rows_of(local.to_pylist()) != _rows_of(spark.to_pylist()):
                differing.append(table)
    return ", ".join(differing)


def _rows_of(rows: Sequence[object]) -> Rows:
    return Counter(map(repr, rows))


def _collected(frame: "DataFrame") -> Rows:
    from kdump.spark.releases import to_arrow

    return _rows_of(to_arrow(frame).to_pylist())


def _read(_release: str, paths: Sequence[str]) -> str:
    """Compare tables of `kdump.spark.read` with those read without Spark."""
    from kdump.spark.session import embedded

    with embedded(master="local[2]") as session:
        return _differing_tables(session, paths)


def _differing_tables(session: "SparkSession", paths: Sequence[str]) -> str:
    from kdump.spark import read

    given = {"batches": {"uncompressed": "true"}}
    differing = [
        table
        for table in TABLES
        if _collected(read(session, list(paths), table=table, now=NOW, targetBytes="16m", **given.get(table, {})))
        != read_here(table, paths)
    ]
    return ", ".join(differing)


def _checks(_release: str, _paths: Sequence[str]) -> str:
    """Compare the findings about a small fleet with those of SQLite."""
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
        return f"findings: {found - expected} only by Spark, {expected - found} only by SQLite"
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

    from tests.builders.records import batch, record

    if release.startswith("3."):
        return ""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
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
    "read": _read,
    "checks": _checks,
    "session": _own_session,
    "stream": _stream,
    "connect": _connect,
}

if __name__ == "__main__":
    sys.exit(main())
