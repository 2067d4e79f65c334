"""Reads all tables of the golden cases with Spark, in tasks of several sizes, and compares the rows with those from one process.

    python -m campaigns.spark_tables                                    all tables, sizes and cores; some ten minutes
    python -m campaigns.spark_tables --table records --size 1k DIR...   files of your own

In one process, no other process reads for it.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kdump.output.arrow.rows import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = Path(__file__).parent.parent / "golden_outputs" / "cases"
SIZES = ("1k", "64k", "1m", "64m")
MASTERS = ("local[1]", "local[2]")
NOW = "1800000000000"  # keeps future timestamps in the future during the run
SHOWN = 5

Rows = Counter[str]


class Comparison(NamedTuple):
    """The number of rows of a table, and the rows that only Spark or only this process returned."""

    rows: int
    only_spark: Rows
    only_here: Rows

    @property
    def is_same(self) -> bool:
        return not self.only_spark and not self.only_here


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; return the exit code: 1 if rows differ."""
    parser = argparse.ArgumentParser(
        prog="campaigns.spark_tables", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", default=[str(CASES)], metavar="DIR", help="by default those of the golden cases")
    parser.add_argument("--table", action="append", choices=list(TABLES), help="only this one; may be repeated")
    parser.add_argument("--size", action="append", metavar="SIZE", help=f"by default {', '.join(SIZES)}; may be repeated")
    parser.add_argument("--master", action="append", metavar="URL", help=f"by default {', '.join(MASTERS)}; may be repeated")
    options = parser.parse_args(arguments)
    from kdump.spark.session import embedded

    expected = {table: read_here(table, options.paths) for table in options.table or TABLES}
    differing = 0
    for master in options.master or MASTERS:
        with embedded(master=master) as session:
            for table, rows in expected.items():
                for size in options.size or SIZES:
                    started = time.monotonic()
                    found = compare(session, table, options.paths, size, rows)
                    differing += not found.is_same
                    seconds = time.monotonic() - started
                    print("\n".join(_told(found, f"{master} {size:>4} {table:<11}", seconds)), flush=True)
    return 1 if differing else 0


def read_here(table: str, paths: Sequence[str]) -> Rows:
    """The rows of a table, read by this process."""
    from kdump.pipeline import planning, reading
    from kdump.pipeline.options import Options

    given = {"table": table, "paths": json.dumps(list(paths)), "isolated": "false", "now": NOW}
    options = Options({**given, **_OPTIONS.get(table, {})})
    return Counter(
        repr(row) for task in planning.plan(options) for batch in reading.read(task, options) for row in batch.to_pylist()
    )


_OPTIONS = {"batches": {"uncompressed": "true"}}


def compare(session: "SparkSession", table: str, paths: Sequence[str], size: str, expected: Rows) -> Comparison:
    """Compare the rows that Spark reads in tasks of this size with these."""
    from kdump.spark import read

    frame = read(session, list(paths), table=table, targetBytes=size, now=NOW, **_OPTIONS.get(table, {}))
    rows: Rows = Counter(map(repr, frame.toArrow().to_pylist()))
    return Comparison(rows.total(), rows - expected, expected - rows)


def _told(found: Comparison, what: str, seconds: float) -> Iterator[str]:
    yield f"{what}  {found.rows:>9,} rows  {seconds:6.1f} s  {'the same' if found.is_same else 'DIFFERENT'}"
    for whose, rows in (("only by Spark", found.only_spark), ("only here", found.only_here)):
        if rows:
            yield f"  {rows.total():,} {whose}:"
            yield from (f"    {row}" for row in list(rows)[:SHOWN])


if __name__ == "__main__":
    sys.exit(main())
