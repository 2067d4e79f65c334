"""Sums up what a scan found, from its tables."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from kdump.checks.finding import ERROR, INFO, SEVERITIES, WARNING, Finding
from kdump.checks.settings import DEEP
from kdump.cli.scanning.summary import ScanSummary, Unreadable
from kdump.output.text.scan import codec_lines, topic_lines
from kdump.output.text.scan_steps import REPLICA_BEHIND
from kdump.overview.space import FOREIGN, kind_of
from kdump.pipeline.fleet import written
from kdump.verdicts.unreadable import UnreadableOffsets, keeps_from_reading
from kdump.verdicts.verdict import fails_to_start, may_fail_to_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

_OF_STARTS = ("code", "severity", "brokerForecast")
_OF_FINDINGS = [column.key for column in Finding.schema]
_WORST = 1000  # findings of a severity that are read for the text summary


def summary_of_tables(
    folder: str, tables: Sequence[str], failing: Sequence[str], level: str, incomplete: Sequence[str] = ()
) -> ScanSummary:
    """The summary of a scan of this level, from the tables in a folder."""
    files = written.table(folder, "files", ["size", "path"])
    segments = written.table(folder, "segments", ["batches", "records", "minTimestamp", "maxTimestamp"])
    findings = written.table(folder, "findings", ["topic", "code", "severity", "brokerForecast"])
    found = Counter(zip(findings["code"].to_pylist(), findings["severity"].to_pylist(), strict=True))
    failing_starts = Counter(
        code
        for code, severity, forecast in zip(*(findings[name].to_pylist() for name in _OF_STARTS), strict=True)
        if severity == ERROR and may_fail_to_start(code) and fails_to_start(forecast or "")
    )
    by_topic = Counter(zip(findings["topic"].to_pylist(), findings["severity"].to_pylist(), strict=True))
    uses = written.codec_uses(folder) if "batches" in tables else []
    return ScanSummary(
        failing,
        level=level,
        files=files.num_rows,
        has_kafkas=any(kind_of(os.path.basename(path)) != FOREIGN for path in files["path"].to_pylist()),
        bytes=_sum(files["size"]),
        batches=_sum(segments["batches"]),
        records=_sum(segments["records"]),
        records_not_read=0 if level == DEEP else _sum(pc.coalesce(segments["records"], segments["batches"])),
        are_more_not_read=level != DEEP and segments["records"].null_count > 0,
        oldest=pc.min(segments["minTimestamp"]).as_py(),
        newest=pc.max(segments["maxTimestamp"]).as_py(),
        topics=topic_lines(written.topic_sizes(folder), uses, by_topic),
        codecs=codec_lines(uses),
        codes=sorted(found.items(), key=lambda item: (SEVERITIES.index(item[0][1]), -item[1], item[0][0])),
        failing_starts=failing_starts,
        unreadable=_unreadable(folder),
        worst=_worst(folder),
        rows={table: written.row_count(folder, table) for table in tables},
        incomplete=incomplete,
    )


def _unreadable(folder: str) -> Unreadable:
    """What consumers cannot read, of all copies together."""
    codes: Counter[str] = Counter()
    found: dict[str, UnreadableOffsets] = {}
    for batch in written.rows(folder, "findings", _OF_FINDINGS):
        for row in batch.filter(pc.equal(batch.column("severity"), ERROR)).to_pylist():
            finding = Finding(*(row[key] for key in _OF_FINDINGS))
            if keeps_from_reading(finding):
                codes[finding.code] += 1
                found.setdefault(os.path.dirname(finding.path), UnreadableOffsets()).add(finding)
    records = sum(offsets.total for offsets in found.values())
    return Unreadable(dict(codes), records, any(offsets.is_least for offsets in found.values()))


def _worst(folder: str) -> list[dict[str, Any]]:
    """The findings for people: errors first, then warnings, then replicas that end a little before others."""
    columns = ["broker", "topic", "partition", "path", "code", "severity", "offsetFirst", "offsetLast", "message"]
    found: dict[str, list[dict[str, Any]]] = {ERROR: [], WARNING: [], INFO: []}
    for batch in written.rows(folder, "findings", columns):
        for severity, rows in found.items():
            chosen = batch.filter(pc.equal(batch.column("severity"), severity))
            if severity == INFO:
                chosen = chosen.filter(pc.equal(chosen.column("code"), REPLICA_BEHIND))
            rows += chosen.slice(0, _WORST - len(rows)).to_pylist()
    return found[ERROR] + found[WARNING] + found[INFO]


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
