"""What a scan has found, in numbers, read from its tables."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kdump.checks import catalogue
from kdump.checks.finding import ERROR, SEVERITIES
from kdump.checks.wording import counted
from kdump.cli.checking.run import CLEAN, FINDINGS, NOT_EXAMINED
from kdump.output.findings.sizes import size_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

_CODES_SHOWN = 20


class ScanSummary:
    """The sums of a scan, from the tables in a folder. `exit_code` is that which `kdump check` would end with."""

    def __init__(self, folder: str, tables: Sequence[str], failing: Sequence[str]) -> None:
        self.rows = {table: _row_count(os.path.join(folder, table)) for table in tables}
        files = _columns(folder, "files", ["size"])
        segments = _columns(folder, "segments", ["batches", "records", "minTimestamp", "maxTimestamp"])
        findings = _columns(folder, "findings", ["code", "severity"])
        self.files = files.num_rows
        self.bytes = _sum(files["size"])
        self.batches = _sum(segments["batches"])
        self.records = _sum(segments["records"])
        self.oldest = pc.min(segments["minTimestamp"]).as_py()
        self.newest = pc.max(segments["maxTimestamp"]).as_py()
        found = Counter(zip(findings["code"].to_pylist(), findings["severity"].to_pylist(), strict=True))
        self.severities = {severity: sum(n for (_, of), n in found.items() if of == severity) for severity in SEVERITIES}
        self.codes = sorted(found.items(), key=lambda item: (SEVERITIES.index(item[0][1]), -item[1], item[0][0]))
        is_incomplete = any(severity == ERROR and catalogue.FAULTS[code].leaves_unexamined for code, severity in found)
        is_incomplete = is_incomplete or not self.files and not found  # a path that is mistaken is not clean
        fails = any(self.severities[severity] for severity in failing)
        self.exit_code = NOT_EXAMINED if is_incomplete else FINDINGS if fails else CLEAN

    def json(self, out: str, engine: str, seconds: float) -> dict[str, Any]:
        """All of it as one object."""
        return {
            "out": out,
            "engine": engine,
            "seconds": round(seconds, 3),
            "files": self.files,
            "bytes": self.bytes,
            "batches": self.batches,
            "records": self.records,
            "oldestTimestamp": self.oldest,
            "newestTimestamp": self.newest,
            "errors": self.severities["error"],
            "warnings": self.severities["warning"],
            "infos": self.severities["info"],
            "findings": [{"code": code, "severity": severity, "count": count} for (code, severity), count in self.codes],
            "tables": self.rows,
            "exitCode": self.exit_code,
        }

    def text(self, out: str, seconds: float) -> str:
        """All of it for people."""
        what = (
            f"{counted(self.files, 'file')}, {size_text(self.bytes)}, {counted(self.batches, 'batch', 'batches')},"
            f" {counted(self.records, 'record')} in {seconds:.1f} s"
        )
        lines = [what, ""]
        if self.codes:
            width = max(len(code) for (code, _), _ in self.codes[:_CODES_SHOWN])
            lines += [f"{severity:<8}{code:<{width}}  {count:>9,}" for (code, severity), count in self.codes[:_CODES_SHOWN]]
            if len(self.codes) > _CODES_SHOWN:
                lines.append(f"and {len(self.codes) - _CODES_SHOWN} more codes")
        else:
            lines.append("No findings.")
        width = max(map(len, self.rows))
        lines += ["", *(f"{table:<{width}}  {rows:>13,} rows" for table, rows in self.rows.items()), "", f"Tables are in {out}"]
        return "\n".join(lines) + "\n"


def _row_count(directory: str) -> int:
    parts = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".parquet")]
    return sum(pq.ParquetFile(part).metadata.num_rows for part in parts)


def _columns(folder: str, table: str, columns: list[str]) -> pa.Table:
    return pq.read_table(os.path.join(folder, table), columns=columns)


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
