"""`kdump.scan`: the scan of a fleet as a function."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from kdump.checks.finding import ERROR
from kdump.checks.settings import SCAN_LEVEL, UNKNOWN
from kdump.cli.scanning.options import ScanOptions
from kdump.cli.scanning.request import ScanRequest
from kdump.cli.scanning.run import scanned
from kdump.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import pyarrow as pa


class Scan:
    """What a scan found: true where something is wrong, as where `kdump scan` ends with another exit code than 0.

    `summary` is what `kdump scan --output json` prints.
    """

    def __init__(self, summary: dict[str, Any], tables_to: str | None) -> None:
        self.summary = summary
        self.tables_to = tables_to

    @property
    def exit_code(self) -> int:
        """That of `kdump scan`."""
        code: int = self.summary["exitCode"]
        return code

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        words: str = self.summary["verdict"]
        return words

    def table(self, name: str) -> pa.Table:
        """One of the tables, such as `segments`, as a whole. Raises UsageError if it was not written."""
        import pyarrow.parquet

        if self.tables_to is None:
            raise UsageError("the tables were not kept", remedy="scan(..., tables_to=DIR) keeps them")
        folder = os.path.join(self.tables_to, name)
        if name not in self.summary["tables"]:
            raise UsageError(
                f"there is no table {name!r} in {self.tables_to}", remedy=f"it has {', '.join(self.summary['tables'])}"
            )
        return pyarrow.parquet.read_table(folder)

    def __bool__(self) -> bool:
        return self.exit_code != 0

    def __repr__(self) -> str:
        return f"<kdump.Scan: {self.verdict}>"


def scan(
    *paths: str | os.PathLike[str],
    tables_to: str | os.PathLike[str] | None = None,
    tables: Iterable[str] | None = None,
    records: bool = False,
    topics: Iterable[str] = (),
    partitions: Iterable[int] = (),
    level: str = SCAN_LEVEL,
    cleanup_policy: str = UNKNOWN,
    fail_on: str = ERROR,
    engine: str | None = None,
    jobs: int = 0,
) -> Scan:
    """What is in brokers' directories, and what is wrong: the options are those of `kdump scan`, `topics` are globs.

    Nothing is printed. With `tables_to`, a new directory, or that of an earlier scan of the same, the tables are kept there as
    Parquet. Raises UsageError for what does not exist, and KdumpError where the scan cannot be carried out.
    """
    if not paths:
        raise UsageError("scan needs a path")
    options = ScanOptions(
        paths=tuple(map(os.fspath, paths)),
        tables_to=None if tables_to is None else os.fspath(tables_to),
        tables=None if tables is None else ",".join(tables),
        with_records=records,
        topics=",".join(topics) or None,
        partitions=",".join(map(str, partitions)) or None,
        level=level,
        cleanup_policy=cleanup_policy,
        fail_on=fail_on,
        engine=engine,
        jobs=jobs,
    )
    request = ScanRequest(options)
    _, summary = scanned(request, time.monotonic())
    return Scan(summary, request.tables_to)
