"""Runs all campaigns of Spark with each supported release of PySpark, and prints a table of what passed.

    python -m campaigns.spark_matrix DIR...                     the golden cases and files of your own; some hours
    python -m campaigns.spark_matrix --release 4.0.5 --column kills

Columns: `local` (campaigns.spark_releases), `archive` and `pyFiles` (campaigns.spark_cluster: bare workers of a
standalone cluster, to which kdump is sent), `kills` (the same in both ways, with speculation, while workers and executors are
killed), `gigabytes` (logs of more than 1 GiB, one of them damaged, with two cores and on the cluster with kills), and `streams`
(campaigns.spark_streams: queries that are killed and continue).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.__main__ import home
from benchmarks.segments import MIB, NAME, Segment, made
from campaigns.spark_releases import RELEASES, ROOT
from campaigns.spark_tables import CASES
from tests.builders.compression import Codec

CODECS: tuple[Codec, ...] = ("none", "none", "none", "none", "lz4", "zstd")
SIZE = 256 * MIB
DAMAGES = 5
NOT_TRIED = "-"

Command = tuple[str, Sequence[str]]
"""A campaign, and its arguments but for the release."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaigns; return the exit code: 1 if one failed."""
    parser = argparse.ArgumentParser(
        prog="campaigns.spark_matrix", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="DIR", help="read with the golden cases")
    parser.add_argument("--release", action="append", metavar="4.0.5", help=f"by default {', '.join(RELEASES)}; may be repeated")
    parser.add_argument("--column", action="append", choices=list(COLUMNS), help="only this one; may be repeated")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the packages for clusters here for the next run")
    options = parser.parse_args(arguments)
    releases, columns = options.release or RELEASES, options.column or list(COLUMNS)
    results: dict[tuple[str, str], str] = {}
    with tempfile.TemporaryDirectory(dir=home(), prefix="spark-matrix-") as name:  # beside the segments, for hard links
        keep = (options.keep or Path(name) / "packages").resolve()
        large = write_large_logs(Path(name) / "large") if "gigabytes" in columns else Path(name)
        paths = [str(path.resolve()) for path in (CASES, *options.paths)]
        for release in releases:
            for column in columns:
                results[release, column] = _result(release, column, COLUMNS[column](paths, str(large), str(keep)))
    width = max(map(len, columns))
    print("\n".join(" ".join(f"{cell:<{width}}" for cell in row).rstrip() for row in _rows(releases, columns, results)))
    return 1 if "FAILED" in results.values() else 0


def _rows(releases: Sequence[str], columns: Sequence[str], results: dict[tuple[str, str], str]) -> Iterator[Sequence[str]]:
    yield ["release", *columns]
    for release in releases:
        yield [release, *(results[release, column] for column in columns)]


def _result(release: str, column: str, commands: Sequence[Command]) -> str:
    """Run campaigns with a release, and print what they print. Returns `ok`, `FAILED`, or that it is not tried."""
    if column == "streams" and release.startswith("3."):
        return NOT_TRIED  # no data sources in Python: the column `local` has the error
    failed = False
    for module, arguments in commands:
        started = time.monotonic()
        command = [sys.executable, "-m", f"campaigns.{module}", *arguments, "--release", release]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        failed |= bool(done.returncode)
        print(f"{release}  {column}  {time.monotonic() - started:.0f} s  exit code {done.returncode}")
        print("\n".join(f"    {line}" for line in done.stdout.splitlines()[-30:]), flush=True)
    return "FAILED" if failed else "ok"


# --- Columns


def _local(paths: Sequence[str], _large: str, _keep: str) -> Sequence[Command]:
    return [("spark_releases", paths)]


def _way(way: str, paths: Sequence[str], keep: str) -> Command:
    return "spark_cluster", [*paths, "--keep", keep, "--way", way]


def _kills(paths: Sequence[str], _large: str, keep: str) -> Sequence[Command]:
    return [("spark_cluster", [*paths, "--keep", keep, "--kill", "10"])]


def _gigabytes(_paths: Sequence[str], large: str, keep: str) -> Sequence[Command]:
    steps = ["--step", "scan", "--step", "sums"]
    on_cluster = [large, "--keep", keep, "--kill", "20", "--target-bytes", "8m", "--way", "archive"]
    return [("spark_releases", [large, *steps]), ("spark_cluster", on_cluster)]


def _streams(_paths: Sequence[str], _large: str, _keep: str) -> Sequence[Command]:
    return [("spark_streams", ["--seconds", "100"])]


COLUMNS: dict[str, Callable[[Sequence[str], str, str], Sequence[Command]]] = {
    "local": _local,
    "archive": lambda paths, _, keep: [_way("archive", paths, keep)],
    "pyFiles": lambda paths, _, keep: [_way("pyFiles", paths, keep)],
    "kills": _kills,
    "gigabytes": _gigabytes,
    "streams": _streams,
}
"""What a column runs, by the paths of cases, the directory of large logs, and where packages for clusters are kept."""


# --- Large logs


def write_large_logs(folder: Path) -> Path:
    """A log directory with a few partitions, whose segments are created once, kept, and linked; one is copied and damaged."""
    for partition, codec in enumerate(CODECS):
        log = made(Segment(SIZE, codec=codec), home())
        directory = folder / f"large-{partition}"
        directory.mkdir(parents=True)
        for path in log.parent.iterdir():
            if path.is_file():  # benchmarks of scans leave directories there
                os.link(path, directory / path.name)
    copy = folder / "large-0" / f"{NAME}.log"
    copy.unlink()
    shutil.copy(made(Segment(SIZE, codec=CODECS[0]), home()), copy)
    size = copy.stat().st_size
    with copy.open("r+b") as file:
        for number in range(1, DAMAGES + 1):
            file.seek(size * number // (DAMAGES + 1))
            file.write(b"damaged")
    return folder


if __name__ == "__main__":
    sys.exit(main())
