"""Runs `kdump scan`: writes the tables, moves them to their place when all are complete, and sums them up."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from kdump import __version__
from kdump.cli.scanning.engine import LOCAL
from kdump.cli.scanning.progress import ScanProgress
from kdump.cli.scanning.request import BATCHES, RECORDS
from kdump.cli.streams import forget_stdout, say
from kdump.errors import KdumpError, MissingPackage, Unreadable, UsageError
from kdump.exit_codes import NOT_EXAMINED

try:
    import pyarrow
except ImportError as missing:
    raise UsageError('Parquet tables need the package "pyarrow"', remedy="pip install 'kdump[arrow]'") from missing

from kdump.binary.exchange import exchange
from kdump.cli.scanning.summary import ScanSummary
from kdump.formats import tree
from kdump.pipeline import decoded_tables, discovery, earlier_scan
from kdump.pipeline.fleet import written
from kdump.pipeline.fleet.written import TABLES_FILE
from kdump.pipeline.kept import NOTHING
from kdump.pipeline.options import Options
from kdump.pipeline.reconciliation import Reconciliation
from kdump.pipeline.scan_files import SUMMARY
from kdump.pipeline.tasks import ATTEMPTS
from kdump.workers import temporary_folders

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.cli.scanning.request import ScanRequest
    from kdump.pipeline.earlier_scan import EarlierScan
    from kdump.pipeline.kept import Kept

INCOMPLETE = ".incomplete"
"""The suffix of a table that does not add up, so that no one mistakes it for a complete one."""


def scan_paths(request: ScanRequest) -> int:
    """Write the tables of a request, and summarize them on stdout. Returns the exit code."""
    started = time.monotonic()
    _take_few_threads()
    is_json = request.output == "json"
    if not is_json:
        _show(request.engine.line + "\n")
    earlier = _earlier_scan(request)
    folder = _new_folder(request.out)
    try:
        written = _write(request, folder, earlier)
        is_new = written.unchanged_since is None
        summary = ScanSummary(folder if is_new else str(request.out), request.tables, request.failing, written.incomplete)
        summary.unchanged_files, summary.unchanged_since = written.unchanged_files, written.unchanged_since
        summary.decoded_topics = decoded_tables.topics_in(folder)
        for table in written.incomplete:
            _mark_incomplete(folder, table)
            if table == RECORDS and summary.decoded_topics:
                _mark_incomplete(folder, decoded_tables.FOLDER)
        seconds = time.monotonic() - started
        result = summary.json(request.out, request.engine.name, seconds)
        if request.out is not None and is_new:
            with open(os.path.join(folder, SUMMARY), "w", encoding="utf-8") as file:
                json.dump(result | {"kdump": __version__, "paths": request.paths}, file, indent=2)
            if earlier is None:
                os.rename(folder, request.out)
            else:
                exchange(folder, request.out)
    except UsageError:
        raise
    except Unreadable as error:
        if error.code == "file-missing":
            raise UsageError(str(error)) from error
        say(str(error))
        return NOT_EXAMINED
    except KdumpError as error:
        say(str(error))
        return NOT_EXAMINED
    except pyarrow.ArrowInvalid as error:
        say(f"the tables cannot be read back: {error}")
        return NOT_EXAMINED
    except MemoryError:
        say("out of memory: use fewer processes (--jobs) or smaller tasks (--target-bytes)")
        return NOT_EXAMINED
    finally:
        temporary_folders.remove(folder)
    _show(json.dumps(result) + "\n" if is_json else summary.text(request.out, seconds))
    return summary.exit_code


def _mark_incomplete(folder: str, table: str) -> None:
    os.rename(os.path.join(folder, table), os.path.join(folder, table + INCOMPLETE))


def _earlier_scan(request: ScanRequest) -> EarlierScan | None:
    """The scan that is repeated, if there is one. Raises UsageError if it was asked for something else."""
    if not request.is_repeated:
        return None
    earlier = earlier_scan.load(str(request.out))
    if earlier is None:
        raise UsageError(
            f"--out {request.out} exists, and is not a scan of this release of kdump", remedy="name another directory"
        )
    earlier.require(request.identity)
    return earlier


def _take_few_threads() -> None:
    """Give Arrow one thread of each kind if `ulimit -v` limits addresses: it aborts when there are none for a thread."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        pyarrow.set_cpu_count(1)
        pyarrow.set_io_thread_count(1)


def _new_folder(out: str | None) -> str:
    """A new folder for unfinished tables: beside their place, or where temporary files go."""
    if out is None:
        return temporary_folders.new_folder("kdump-scan-")
    parent = os.path.dirname(os.path.abspath(out))
    os.makedirs(parent, exist_ok=True)
    folder = temporary_folders.new_folder(f".{os.path.basename(out)}.incomplete-", parent)
    os.chmod(folder, 0o755)  # for processes of a cluster, which may be another user's
    return folder


def _show(text: str) -> None:
    """Write to stdout; if its reader has gone, the tables and the verdict remain valid."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_stdout()


class _Written(NamedTuple):
    """The tables that do not add up, and how many files did not have to be read again; if none had to, since when (in ms)."""

    incomplete: list[str]
    unchanged_files: int = 0
    unchanged_since: int | None = None


def _write(request: ScanRequest, folder: str, earlier: EarlierScan | None) -> _Written:
    """Write all tables, and the findings about them, unless an earlier scan has them.

    One list of files serves all but the findings, which look into directories themselves.
    """
    paths = tree.matching(request.paths)
    if request.is_on_cluster:
        paths = [os.path.abspath(path) for path in paths]  # its processes work in separate directories
    file_list = os.path.join(folder, "_files.jsonl")
    common = {**request.given, "paths": json.dumps(paths), "unreadable": Options.SKIP}
    began_ns = time.time_ns()
    items = discovery.files_of(Options({**common, "table": "files"}))
    is_repeatable = request.out is not None and not request.decoding  # schemas may change while files do not
    found = earlier_scan.find(items, paths, began_ns) if is_repeatable else None
    kept = NOTHING
    if earlier is not None and found is not None:
        kept = earlier.kept(found)
        if earlier.is_all(kept, found, items):
            return _Written([], len(items), earlier.began_ns // 1_000_000)
    discovery.write_list(items, file_list)
    given = []
    for table in request.tables:
        options = {**common, "table": table}
        if table == BATCHES:
            options["uncompressed"] = request.savings
        if table == RECORDS:
            options |= request.decoding
        if table != "findings":
            options["filelist"] = file_list
        given.append(options)
    reconciliation = Reconciliation(folder)
    is_local = request.engine.name == LOCAL

    def take_over() -> None:
        if earlier is not None:
            earlier.take_over(kept, reconciliation, folder)

    with ScanProgress(len(given) if is_local else 1, shows=sys.stderr is not None and os.isatty(2)) as progress:
        if is_local:
            from kdump.pipeline.local import write_tables

            all_options = [Options({**options, "parallelism": str(request.cores)}) for options in given]
            write_tables(all_options, folder, request.cores, reconciliation, progress.show, kept)
            take_over()
            answers = written.ask(folder, request.questions)
        else:
            answers = _write_with_spark(request, given, folder, reconciliation, progress, kept, take_over)
    reconciliation.finish()
    decoded_tables.write(folder, reconciliation.shapes)
    written.add_findings(folder, answers)
    written.add_findings(folder, list(reconciliation.findings()), TABLES_FILE)
    os.unlink(file_list)
    shutil.rmtree(os.path.join(folder, ATTEMPTS))
    incomplete = reconciliation.incomplete_tables()
    if found is not None and not incomplete:
        earlier_scan.write(folder, request.identity, found, reconciliation)
    return _Written(incomplete, len(kept.files))


def _write_with_spark(
    request: ScanRequest,
    given: list[dict[str, str]],
    folder: str,
    reconciliation: Reconciliation,
    progress: ScanProgress,
    kept: Kept,
    take_over: Callable[[], None],
) -> list[pyarrow.Table]:
    """The same with Spark; returns the findings that only a fleet shows. Raises UsageError if Spark is not available."""
    from kdump.spark.session import SessionFailed, as_raised_here, embedded

    try:
        with embedded(master=request.master, conf=request.conf, cores=request.cores) as session:
            from kdump.spark.writing import ask_tables, write_tables

            try:
                write_tables(session, given, folder, reconciliation, progress.show, kept)
                take_over()
                return ask_tables(session, request.questions, folder)
            except KdumpError:
                raise
            except Exception as error:
                if "KDUMP_DEBUG" in os.environ:
                    raise
                raise as_raised_here(error) from error
    except MissingPackage as error:
        raise UsageError(str(error) + ", or use --engine local") from error
    except SessionFailed as error:
        if "KDUMP_DEBUG" in os.environ:
            sys.stderr.write(error.log)
        raise
