"""Writes the tables of a scan, and the findings about them."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from kdump.cli.scanning.engine import LOCAL
from kdump.cli.scanning.progress import ScanProgress
from kdump.cli.scanning.request import BATCHES, RECORDS
from kdump.errors import KdumpError, MissingPackage, UsageError
from kdump.pipeline import decoded_tables, discovery, other_topics
from kdump.pipeline.fleet import written
from kdump.pipeline.options import Options
from kdump.pipeline.reconciliation import Reconciliation
from kdump.pipeline.scan_files import TABLES_FILE
from kdump.pipeline.taking_over import take_over
from kdump.pipeline.tasks import ATTEMPTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow

    from kdump.cli.scanning.request import ScanRequest
    from kdump.cli.scanning.seen import Seen
    from kdump.pipeline.fleet.query import Query
    from kdump.pipeline.kept import Kept


def write(request: ScanRequest, folder: str, seen: Seen) -> Reconciliation:
    """Write all tables, and the findings about them. Returns what was counted.

    One list of files serves all but the findings, which look into directories themselves.
    """
    kept = seen.kept
    file_list = os.path.join(folder, "_files.jsonl")
    discovery.write_list(seen.items, file_list)
    given = []
    for table in request.tables:
        options = {**seen.common, "table": table}
        if table == BATCHES:
            options["uncompressed"] = request.savings
        if table == RECORDS:
            options |= request.decoding
        if table != "findings":
            options["filelist"] = file_list
        given.append(options)
    reconciliation = Reconciliation(folder)
    reconciliation.others = other_topics.find(seen.items)
    questions = request.questions_without([other.replica for other in reconciliation.others])
    for fault in seen.unlisted:
        reconciliation.miss([table for table in request.tables if table != "findings"], fault)
    is_local = request.engine.name == LOCAL

    def take_over_kept() -> None:
        if seen.earlier is not None:
            take_over(seen.earlier, kept, reconciliation, folder)

    with ScanProgress(len(given) if is_local else 1, shows=sys.stderr is not None and os.isatty(2)) as progress:
        if is_local:
            from kdump.pipeline.local import write_tables

            all_options = [Options({**options, "parallelism": str(request.cores)}) for options in given]
            write_tables(all_options, folder, request.cores, reconciliation, progress.show, kept)
            take_over_kept()
            answers = written.ask(folder, questions, request.cores)
        else:
            answers = _write_with_spark(request, given, questions, folder, reconciliation, progress, kept, take_over_kept)
    reconciliation.finish()
    decoded_tables.write(folder, reconciliation.shapes)
    written.add_findings(folder, answers)
    written.add_findings(folder, list(reconciliation.findings()), TABLES_FILE)
    os.unlink(file_list)
    shutil.rmtree(os.path.join(folder, ATTEMPTS))
    return reconciliation


def _write_with_spark(
    request: ScanRequest,
    given: list[dict[str, str]],
    questions: Sequence[Query],
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
                return ask_tables(session, questions, folder)
            except KdumpError:
                raise
            except Exception as error:
                if "KDUMP_DEBUG" in os.environ:
                    raise
                raise as_raised_here(error) from error
    except MissingPackage as error:
        raise UsageError(str(error) + ", or use --engine local") from error
    except SessionFailed as error:
        sys.stderr.write(error.log)
        raise
