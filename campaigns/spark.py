"""Reads the golden cases with Spark, and compares the rows with those that one process reads without it.

    python -m campaigns.spark                                            all steps, some twenty minutes
    python -m campaigns.spark --release 3.5.9 --release 4.0.5            with these releases of PySpark
    python -m campaigns.spark --step tables --table records --size 1k DIR...     files of your own

Steps: `tables` reads each table through `kdump.spark.read`, in tasks of several sizes; `connect` does so in a session of Spark
Connect (from 4.0 on); `scan` compares what `kdump scan` writes with both engines; `archive` and `zip` scan on a cluster
of this machine, whose workers have a Python without kdump, as docs/spark-sessions.md says. Each release gets an environment in
`$KDUMP_SPARK_RELEASES` (by default `~/.cache/kdump-spark-releases`), where pip installs it once.
"""

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kdump.output.arrow.rows import TABLES
from tests.sessions import ROOT, cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = ROOT / "golden_outputs" / "cases"
SIZES = ("1k", "64k", "1m", "64m")
NOW = "1800000000000"  # keeps future timestamps in the future during the run
SHOWN = 5
TIME_ZONE = "Pacific/Chatham"
"""Of sessions, so that what depends on it differs: it is 12:45 or 13:45 ahead of UTC."""

LOOPBACK = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.executor.memory=512m")
_OPTIONS = {"batches": {"uncompressed": "true"}}

Rows = Counter[str]
Step = Callable[[argparse.Namespace], Iterator[str]]
"""Yields what is wrong."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the steps; return the exit code: 1 if something is wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=[str(CASES)], metavar="DIR", help="by default those of the golden cases")
    parser.add_argument("--step", action="append", choices=list(STEPS), help="only this one; may be repeated")
    parser.add_argument("--table", action="append", choices=list(TABLES), help="of `tables`, only this one; may be repeated")
    parser.add_argument("--size", action="append", metavar="SIZE", help=f"of tasks, by default {', '.join(SIZES)}; repeatable")
    parser.add_argument("--release", action="append", metavar="4.0.5", help="of PySpark; by default the one installed here")
    options = parser.parse_args(given)
    options.paths = [str(Path(path).resolve()) for path in options.paths]  # as a scan on a cluster names them
    if options.release:
        return max(_in_release(release, given) for release in options.release)
    wrong = 0
    for step in options.step or STEPS:
        started = time.monotonic()
        found = list(STEPS[step](options))
        wrong += len(found)
        print(f"{step:<8} {time.monotonic() - started:6.1f} s  {'DIFFERENT' if found else 'the same'}", flush=True)
        print(*(f"  {line}" for line in found), sep="\n", end="\n" if found else "", flush=True)
    return 1 if wrong else 0


def _in_release(release: str, given: Sequence[str]) -> int:
    """Do the same in the environment of a release, which is made if there is none."""
    home = Path(os.environ.get("KDUMP_SPARK_RELEASES") or Path.home() / ".cache" / "kdump-spark-releases")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [f"pyspark[connect]=={release}", *project["dependencies"], *project["optional-dependencies"]["arrow"], "pandas<3"]
    if release.startswith("3."):
        needed.append("pyarrow<22")  # newer ones need NumPy 2, and Spark Connect of 3.5 an older one
    python = _python(home / release, needed)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    variables |= {"PYTHONPATH": str(ROOT), "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"}
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--release", action="append")
    _, others = parser.parse_known_args(given)
    print(f"PySpark {release}", flush=True)
    return subprocess.run([python, "-W", "ignore", "-m", "campaigns.spark", *others], env=variables, check=False).returncode


def _python(home: Path, needed: Sequence[str]) -> str:
    """The Python of an environment with these packages; it is made if there is none."""
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        if needed and subprocess.run([str(python), "-m", "pip", "install", "--quiet", *needed], check=False).returncode:
            python.unlink()
            raise SystemExit(f"{', '.join(needed)}: cannot be installed")
    return str(python)


def _tables(options: argparse.Namespace) -> Iterator[str]:
    from kdump.spark.session import embedded

    with embedded(master="local[2]", conf={"spark.sql.session.timeZone": TIME_ZONE}) as session:
        yield from _differing(session, options, options.size or SIZES)


def _connect(options: argparse.Namespace) -> Iterator[str]:
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        if pyspark.__version__.startswith("3."):
            raise ImportError("the package of this release has no server")
        session = SparkSession.builder.remote("local[2]").getOrCreate()
    except ImportError as error:
        print(f"connect  not tried: {error}", flush=True)
        return
    try:
        yield from _differing(session, options, ["16m"])
    finally:
        session.stop()


def _differing(session: "SparkSession", options: argparse.Namespace, sizes: Sequence[str]) -> Iterator[str]:
    """Compare the columns and the rows of each table, read in tasks of these sizes."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from kdump.pipeline.options import Options
    from kdump.spark import read
    from kdump.spark.releases import to_arrow

    for table in options.table or TABLES:
        rows = read_here(table, options.paths)
        schema = from_arrow_schema(Options({"table": table, "path": options.paths[0]}).schema)
        for size in sizes:
            frame = read(session, options.paths, table=table, targetBytes=size, now=NOW, **_OPTIONS.get(table, {}))
            if frame.schema != schema:
                yield f"{table}: columns, types or what may be null"
            yield from _differing_rows(f"{table} in tasks of {size}", _counted(to_arrow(frame).to_pylist()), rows)


def read_here(table: str, paths: Sequence[str]) -> Rows:
    from kdump.pipeline import planning, reading
    from kdump.pipeline.options import Options

    given = {"table": table, "paths": json.dumps(list(paths)), "isolated": "false", "now": NOW}
    options = Options({**given, **_OPTIONS.get(table, {})})
    return _counted(row for task in planning.plan(options) for batch in reading.read(task, options) for row in batch.to_pylist())


def _counted(rows: "Iterator[object] | Sequence[object]") -> Rows:
    return Counter(map(repr, rows))


def _differing_rows(what: str, found: Rows, expected: Rows) -> Iterator[str]:
    for whose, rows in (("only by Spark", found - expected), ("only here", expected - found)):
        if rows:
            yield f"{what}: {rows.total():,} {whose}:"
            yield from (f"  {row}" for row in list(rows)[:SHOWN])


def _differing_scan(paths: Sequence[str], *arguments: str, **variables: str) -> Iterator[str]:
    """Compare what a scan by Spark writes, and its exit code, with what one without Spark does."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory(prefix="kdump-spark-") as name:
        outs = [Path(name) / engine for engine in ("spark", "local")]
        ran = [
            subprocess.run(
                [sys.executable, "-m", "kdump", "scan", *paths, "--records", "--output", "json", "--tables-to", out, *options],
                cwd=ROOT,
                env=os.environ | given,
                capture_output=True,
                text=True,
                check=False,
            )
            for out, options, given in zip(outs, (arguments, ("--engine", "local")), (variables, {}), strict=True)
        ]
        if ran[0].returncode != ran[1].returncode:
            yield f"exit codes {ran[0].returncode} and {ran[1].returncode}: {ran[0].stderr.strip()[-600:]}"
        for table in (table for table in TABLES if (outs[1] / table).is_dir()):
            if not (outs[0] / table).is_dir():
                yield f"no table {table}"
                continue
            found, expected = (pq.read_table(out / table) for out in outs)
            if not found.schema.remove_metadata().equals(expected.schema.remove_metadata()):
                yield f"{table}: columns, types or what may be null"
            yield from _differing_rows(table, _counted(found.to_pylist()), _counted(expected.to_pylist()))


def _on_cluster(options: argparse.Namespace, way: str) -> Iterator[str]:
    """Scan on workers without kdump, which is sent: all that it needs in an archive, or a zip of its modules alone."""
    with tempfile.TemporaryDirectory(prefix="kdump-cluster-") as name:
        folder = Path(name)
        if way == "archive":
            target, python = folder / "packages", _python(folder / "python", ())
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), f"{ROOT}[arrow]"]
            subprocess.run(command, check=True)
            sent = [f"spark.archives={shutil.make_archive(str(target), 'zip', target)}#packages"]
            sent.append("spark.executorEnv.PYTHONPATH=./packages")
        else:
            needed = ["pyarrow>=20", "click", "cramjam", "crc32c", "lz4", "python-snappy", "rich", "zstandard"]
            target, python = folder / "modules", _python(folder / "python", needed)
            shutil.copytree(ROOT / "kdump", target / "kdump", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
            sent = [f"spark.submit.pyFiles={shutil.make_archive(str(folder / 'kdump'), 'zip', target)}"]
        (folder / "cluster").mkdir()
        variables = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}
        with cluster(folder / "cluster", python=python) as url:
            settings = [argument for setting in (*LOOPBACK, *sent) for argument in ("--conf", setting)]
            yield from _differing_scan(options.paths, "--master", url, *settings, **variables)


STEPS: dict[str, Step] = {
    "tables": _tables,
    "connect": _connect,
    "scan": lambda options: _differing_scan(options.paths, "--engine", "spark"),
    "archive": functools.partial(_on_cluster, way="archive"),
    "zip": functools.partial(_on_cluster, way="zip"),
}


if __name__ == "__main__":
    sys.exit(main())
