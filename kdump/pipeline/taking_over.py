"""Takes over parts of the tables of an earlier scan, and writes down what the next scan needs to do so."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kdump.checks.catalogue import FAULTS
from kdump.output.arrow.files import TableFile
from kdump.pipeline.earlier_scan import VERSION
from kdump.pipeline.fleet import written
from kdump.pipeline.kept import FINDINGS
from kdump.pipeline.scan_files import FLEET_FILE, MANIFEST, TABLES_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kdump.pipeline.earlier_scan import EarlierScan, Found
    from kdump.pipeline.kept import Kept
    from kdump.pipeline.reconciliation import Reconciliation

_SEGMENTS = "segments"


def take_over(earlier: EarlierScan, kept: Kept, reconciliation: Reconciliation, folder: str) -> None:
    """Put the rows of what is kept into the tables in `folder`: whole parts as links, others without the rows of the rest."""
    for part in earlier.parts:
        table, sources = part["table"], frozenset(part["sources"])
        still = sources & kept.of(table)
        if not still:
            continue
        path = os.path.join(earlier.folder, table, part["file"])
        name = reconciliation.next_part(table)
        target = os.path.join(folder, table, name)
        rows = part["rows"]
        if still == sources:
            _link(path, target)
        else:
            rows = _copy_some(path, target, _is_in_partition(still) if table == FINDINGS else still.__contains__)
        reconciliation.add_part(table, name, rows, sorted(still))


def write(
    folder: str, request: Mapping[str, Any], found: Found, reconciliation: Reconciliation, summary: Mapping[str, Any]
) -> None:
    """Write what the next scan needs into the folder of the tables, with the summary that was made of them.

    It reads again what is `incomplete`, to report it again, and what is `doubtful`, even if nothing has changed.
    """
    doubtful = _with_future(folder, found.began_ns // 1_000_000) | _unexamined(folder) | reconciliation.unread_paths()
    parts = reconciliation.parts
    told = [_told(folder, part.table, part.file) | {"rows": part.rows, "sources": part.sources} for part in parts]
    present = [name for name in (FLEET_FILE, TABLES_FILE) if os.path.exists(os.path.join(folder, FINDINGS, name))]
    values = {
        "version": VERSION,
        "beganNs": found.began_ns,
        "request": request,
        "files": found.files,
        "partitions": found.partitions,
        "incomplete": sorted(reconciliation.incomplete_paths()),
        "doubtful": sorted(doubtful),
        "parts": told,
        "answers": [_told(folder, FINDINGS, name) for name in present],
        "summary": summary,
    }
    with open(os.path.join(folder, MANIFEST), "w", encoding="utf-8") as file:
        json.dump(values, file)


def _told(folder: str, table: str, file: str) -> dict[str, Any]:
    """What shows whether a part is still as it is now."""
    status = os.stat(os.path.join(folder, table, file))
    return {"table": table, "file": file, "size": status.st_size, "mtimeNs": status.st_mtime_ns}


def _with_future(folder: str, now: int) -> set[str]:
    """The partitions that hold timestamps after `now`."""
    table = written.table(folder, _SEGMENTS, ["path", "maxTimestamp"])
    ahead = table.filter(pc.greater(table["maxTimestamp"], now))
    return {os.path.dirname(path) for path in ahead["path"].to_pylist()}


def _unexamined(folder: str) -> set[str]:
    """The paths of findings that say that something was not examined, and the directories of these."""
    table = written.table(folder, FINDINGS, ["path", "code"])
    codes = [code for code in pc.unique(table["code"]).to_pylist() if FAULTS[code].leaves_unexamined]
    paths = table.filter(pc.is_in(table["code"], pa.array(codes, pa.string())))["path"].to_pylist()
    return {*paths, *map(os.path.dirname, paths)}


def _link(path: str, target: str) -> None:
    try:
        os.link(path, target)
    except OSError:  # a file system without links
        shutil.copy2(path, target)


def _is_in_partition(partitions: Collection[str]) -> Callable[[str], bool]:
    return lambda path: path in partitions or os.path.dirname(path) in partitions


def _copy_some(path: str, target: str, is_wanted: Callable[[str], bool]) -> int:
    """Copy the rows of some paths. Returns their number."""
    with pq.ParquetFile(path) as file, TableFile(target, file.schema_arrow) as new:
        for batch in file.iter_batches():
            wanted = {one: is_wanted(one) for one in pc.unique(batch["path"]).to_pylist()}
            rows = batch if all(wanted.values()) else batch.filter(pa.array([wanted[one] for one in batch["path"].to_pylist()]))
            new.write(rows)
        return new.rows
