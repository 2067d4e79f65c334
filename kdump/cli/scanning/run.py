"""Runs `kdump scan`: writes the tables, moves them to their place when all are complete, and sums them up."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from typing import TYPE_CHECKING

from kdump import __version__
from kdump.binary.exchange import exchange
from kdump.cli.scanning.engine import LOCAL
from kdump.cli.scanning.request import RECORDS
from kdump.cli.scanning.seen import look
from kdump.cli.scanning.summary import ScanSummary
from kdump.cli.shared_options import throttle_reading
from kdump.cli.streams import forget_stdout, say
from kdump.errors import KdumpError, OutOfMemory, UsageError
from kdump.exit_codes import NOT_EXAMINED
from kdump.pipeline.scan_files import SUMMARY

if TYPE_CHECKING:
    from typing import Any

    from kdump.cli.scanning.request import ScanRequest
    from kdump.cli.scanning.seen import Seen
    from kdump.pipeline.earlier_scan import EarlierScan

INCOMPLETE = ".incomplete"
"""The suffix of a table that does not add up, so that no one mistakes it for a complete one."""


def scan_paths(request: ScanRequest) -> int:
    """Write the tables of a request, and summarize them on stdout. Returns the exit code."""
    started = time.monotonic()
    if (request.is_nice or request.rate) and request.engine.name != LOCAL:
        raise UsageError("--nice and --rate are about processes of this machine, not of Spark", remedy="--engine local")
    throttle_reading(request.rate, is_nice=request.is_nice)
    if not request.is_repeated:
        _load_arrow()
    is_json = request.output == "json"
    if not is_json:
        _show(request.engine.line + "\n")
    try:
        summary, result = scanned(request, started)
    except UsageError:
        raise
    except KdumpError as error:
        say(str(error))
        return NOT_EXAMINED
    except ValueError as error:
        if not _is_arrows(error):
            raise
        say(f"the tables cannot be read back: {error}")
        return NOT_EXAMINED
    except MemoryError as error:
        if isinstance(error, OutOfMemory):
            raise
        say("out of memory: use fewer processes (--jobs) or smaller tasks (--target-bytes)")
        return NOT_EXAMINED
    _show(json.dumps(result) + "\n" if is_json else summary.text(request.tables_to, time.monotonic() - started, request.paths))
    return summary.exit_code


def scanned(request: ScanRequest, started: float) -> tuple[ScanSummary, dict[str, Any]]:
    """Write the tables of a request. Returns their summary, and its JSON."""
    folder = ""
    try:
        seen = look(request)
        if seen.is_unchanged and seen.earlier is not None:
            summary = _summary_of_earlier(request, seen, seen.earlier)
            return summary, summary.json(request.tables_to, request.engine.name, time.monotonic() - started)
        _load_arrow()
        if request.engine.name == LOCAL and request.asks:
            from kdump.pipeline.fleet.local import require_duckdb

            require_duckdb()
        folder = _new_folder(request.tables_to)
        return _scan_into(request, folder, seen, started)
    finally:
        if folder:
            _remove(folder)


def _summary_of_earlier(request: ScanRequest, seen: Seen, earlier: EarlierScan) -> ScanSummary:
    """The summary of the tables that are there, since nothing has changed."""
    made = earlier.summary()
    if made is not None:
        summary = ScanSummary.of_kept(made, request.failing)
    else:
        _load_arrow()
        from kdump.cli.scanning.sums import summary_of_tables

        summary = summary_of_tables(str(request.tables_to), request.tables, request.failing, request.level)
    summary.unchanged_files, summary.unchanged_since = len(seen.items), earlier.began_ns // 1_000_000
    return summary


def _scan_into(request: ScanRequest, folder: str, seen: Seen, started: float) -> tuple[ScanSummary, dict[str, Any]]:
    """Write the tables into a folder, and move it to its place. Returns their summary, and its JSON."""
    from kdump.cli.scanning.sums import summary_of_tables
    from kdump.cli.scanning.writing import write
    from kdump.pipeline import decoded_tables, taking_over

    reconciliation = write(request, folder, seen)
    incomplete = reconciliation.incomplete_tables()
    summary = summary_of_tables(folder, request.tables, request.failing, request.level, incomplete)
    summary.unchanged_files = len(seen.kept.files)
    summary.decoded_topics = decoded_tables.topics_in(folder)
    result = summary.json(request.tables_to, request.engine.name, time.monotonic() - started)
    if seen.found is not None and not incomplete:
        taking_over.write(folder, request.identity, seen.found, reconciliation, summary.kept(result))
    for table in incomplete:
        _mark_incomplete(folder, table)
        if table == RECORDS and summary.decoded_topics:
            _mark_incomplete(folder, decoded_tables.FOLDER)
    if request.tables_to is not None:
        with open(os.path.join(folder, SUMMARY), "w", encoding="utf-8") as file:
            json.dump(result | {"kdump": __version__, "paths": request.paths}, file, indent=2)
        if seen.earlier is None:
            os.rename(folder, request.tables_to)
        else:
            exchange(folder, request.tables_to)
    return summary, result


def _mark_incomplete(folder: str, table: str) -> None:
    os.rename(os.path.join(folder, table), os.path.join(folder, table + INCOMPLETE))


def _load_arrow() -> None:
    """Load Arrow, which takes longer than a look at a tree that has not changed. Raises UsageError if it is not installed."""
    from kdump.binary.arrow_loading import require_arrow

    require_arrow("Parquet tables")


def _is_arrows(error: ValueError) -> bool:
    """Whether an error says that Arrow cannot read something."""
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow is not None and isinstance(error, pyarrow.ArrowInvalid)


def _remove(folder: str) -> None:
    """Remove a folder for unfinished tables, or say that it is left."""
    from kdump.workers import unfinished

    if not unfinished.remove(folder):
        say(f"cannot remove {folder}, which holds tables that are not used: remove it by hand")


def _new_folder(out: str | None) -> str:
    """A new folder for unfinished tables: beside their place, or where temporary files go."""
    from kdump.workers import unfinished  # slow to load, and a scan without changes needs none

    if out is None:
        return unfinished.new_folder("kdump-scan-")
    parent = os.path.dirname(os.path.abspath(out))
    try:
        os.makedirs(parent, exist_ok=True)
        folder = unfinished.new_folder(f".{os.path.basename(out)}.incomplete-", parent)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), parent) from error
    except OSError as error:
        raise OSError(error.errno, error.strerror, parent) from error
    os.chmod(folder, 0o755)  # for processes of a cluster, which may be another user's
    return folder


def _show(text: str) -> None:
    """Write to stdout; if its reader has gone, the tables and the verdict remain valid."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_stdout()
