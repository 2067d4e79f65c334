"""Sums up what a scan found, from its tables."""

from __future__ import annotations

import os
import sys
from collections import Counter
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kdump.checks import wording
from kdump.checks.finding import ERROR, SEVERITIES, WARNING
from kdump.checks.wording import counted
from kdump.output.text.scan import codec_lines, text_of_codecs, text_of_findings, text_of_time, text_of_topics, topic_lines
from kdump.output.text.sizes import size_text
from kdump.pipeline.fleet import written
from kdump.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from kdump.tables import Row

_WORST = 1000  # findings of a severity that are read for the text summary


class ScanSummary:
    """The summary of a scan, from the tables in a folder. `exit_code` is the one that `kdump check` would return."""

    def __init__(self, folder: str, tables: Sequence[str], failing: Sequence[str], incomplete: Sequence[str] = ()) -> None:
        self.incomplete = list(incomplete)
        self.unchanged_files = 0  # that were not read again
        self.decoded_topics: list[str] = []  # that have tables of decoded keys and values
        self.unchanged_since: int | None = None  # the time of the scan whose tables these are, in ms, if nothing changed
        self.rows = {table: _row_count(os.path.join(folder, table)) for table in tables}
        files = _columns(folder, "files", ["size"])
        segments = _columns(folder, "segments", ["batches", "records", "minTimestamp", "maxTimestamp"])
        findings = _columns(folder, "findings", ["topic", "code", "severity"])
        self.files = files.num_rows
        self.bytes = _sum(files["size"])
        self.batches = _sum(segments["batches"])
        self.records = _sum(segments["records"])
        self.oldest = pc.min(segments["minTimestamp"]).as_py()
        self.newest = pc.max(segments["maxTimestamp"]).as_py()
        found = Counter(zip(findings["code"].to_pylist(), findings["severity"].to_pylist(), strict=True))
        self.severities = {severity: sum(n for (_, of), n in found.items() if of == severity) for severity in SEVERITIES}
        by_topic = Counter(zip(findings["topic"].to_pylist(), findings["severity"].to_pylist(), strict=True))
        uses = written.codec_uses(folder) if "batches" in tables else []
        self.topics = topic_lines(written.topic_sizes(folder), uses, by_topic)
        self.codecs = codec_lines(uses)
        self.worst = _worst(folder)
        self.codes = sorted(found.items(), key=lambda item: (SEVERITIES.index(item[0][1]), -item[1], item[0][0]))
        self._verdict = Verdict(failing)
        for (code, severity), count in sorted(found.items()):
            self._verdict.add_findings(code, severity, count)
        self._verdict.add_files(self.files)
        self.exit_code = self._verdict.exit_code

    def json(self, out: str | None, engine: str, seconds: float) -> dict[str, Any]:
        """The summary as one object."""
        return {
            "out": out,
            "engine": engine,
            "seconds": round(seconds, 3),
            "files": self.files,
            "unchangedFiles": self.unchanged_files,
            "bytes": self.bytes,
            "batches": self.batches,
            "records": self.records,
            "oldestTimestamp": self.oldest,
            "newestTimestamp": self.newest,
            "errors": self.severities["error"],
            "warnings": self.severities["warning"],
            "infos": self.severities["info"],
            "findings": [{"code": code, "severity": severity, "count": count} for (code, severity), count in self.codes],
            "topics": [_object(line) for line in self.topics],
            "codecs": [_object(line) for line in self.codecs],
            "tables": self.rows,
            "incompleteTables": self.incomplete,
            **({"decodedTopics": self.decoded_topics} if self.decoded_topics else {}),
            "exitCode": self.exit_code,
            "verdict": self._verdict.text,
            "reasons": self._verdict.reasons,
        }

    @property
    def _unchanged(self) -> str:
        """What was not read again; empty if everything was read."""
        if self.unchanged_since is not None:
            time = wording.time(self.unchanged_since)
            return f"No file has changed since the scan of {time}: none was read again, and the findings are of that time."
        if not self.unchanged_files:
            return ""
        verb = "is as it was, and was" if self.unchanged_files == 1 else "are as they were, and were"
        return f"{counted(self.unchanged_files, 'file')} of these {verb} not read again."

    def text(self, out: str | None, seconds: float) -> str:
        """The summary for people."""
        what = (
            f"{counted(self.files, 'file')}, {size_text(self.bytes)}, {counted(self.batches, 'batch', 'batches')},"
            f" {counted(self.records, 'record')} in {seconds:.1f} s"
        )
        width, is_terminal = get_terminal_size((100, 24)).columns, sys.stdout is not None and sys.stdout.isatty()
        room = width if is_terminal else None  # in a pipe nothing is shortened
        period = text_of_time(self.topics)
        lines = [
            *_wrapped(what, room),
            *(_wrapped(self._unchanged, room) if self._unchanged else []),
            *([period] if period else []),
            "",
        ]
        lines += text_of_topics(self.topics, width=room)
        lines += ["", *codecs] if (codecs := text_of_codecs(self.codecs, width=room)) else []
        lines += ["", *text_of_findings(self.worst, dict(self.codes), width), ""]
        tables = " ".join(table for table, count in self.rows.items() if count and table not in self.incomplete)
        if out is None:
            lines.append("--out DIR keeps the tables (Parquet).")
        else:
            if self.incomplete:
                names = " ".join(f"{name}.incomplete" for name in self.incomplete)
                lines += _wrapped(f"Unreliable, because they do not add up: {names}.", room)
            lines += _wrapped(f"Tables in {out}: {tables} (Parquet).", room)
            if self.decoded_topics:
                what = counted(len(self.decoded_topics), "topic")
                lines += _wrapped(f"Decoded keys and values of {what}, with typed columns: {out}/decoded/topic=NAME.", room)
            lines.append(f'To query them: spark.read.parquet("{out}/findings")')  # a command stays on one line, to be copied
        lines += _wrapped(f"Verdict: {self._verdict.text}. Exit status {self.exit_code}.", room)
        return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int | None) -> list[str]:
    return [text] if width is None else wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _object(row: Row) -> dict[str, Any]:
    return {column.key: getattr(row, column.name) for column in row.schema}


def _row_count(directory: str) -> int:
    parts = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".parquet")]
    return sum(pq.ParquetFile(part).metadata.num_rows for part in parts)


def _columns(folder: str, table: str, columns: list[str]) -> pa.Table:
    return pq.read_table(os.path.join(folder, table), columns=columns)


def _worst(folder: str) -> list[dict[str, Any]]:
    """The findings for people: errors first, then warnings."""
    columns = ["broker", "topic", "partition", "path", "code", "severity", "offsetFirst", "offsetLast", "message"]
    found: dict[str, list[dict[str, Any]]] = {ERROR: [], WARNING: []}
    for batch in written.rows(folder, "findings", columns):
        for severity, rows in found.items():
            chosen = batch.filter(pc.equal(batch.column("severity"), severity))
            rows += chosen.slice(0, _WORST - len(rows)).to_pylist()
    return found[ERROR] + found[WARNING]


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
