"""Shows what a scan found, as text for people and as JSON."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kdump import exit_codes
from kdump.checks import wording
from kdump.checks.finding import ERROR, SEVERITIES
from kdump.checks.wording import counted
from kdump.formats import tree
from kdump.output.rows.fleet import CodecLine, TopicLine
from kdump.output.text.answer import write_verdict
from kdump.output.text.scan import text_of_codecs, text_of_findings, text_of_time, text_of_topics
from kdump.output.text.scan_steps import REPLICA_BEHIND, scan_steps
from kdump.output.text.sizes import size_text
from kdump.output.text.style import ReportStyle
from kdump.output.text.writer import ReportWriter, wrapped
from kdump.tables import Declared
from kdump.verdicts.verdict import DOES_NOT_START, LOSES_AT_START, NO_PARTITION, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kdump.tables import Row

_RECORDS = "records"  # the table
_BUT = {
    REPLICA_BEHIND: "replicas end at different offsets",  # one may be an older copy
    "scan-not-compared": "replicas of other topics were not compared",
}
_WIDTH = 100  # of findings in a pipe


class Unreadable(NamedTuple):
    """What consumers cannot read: how many findings of each code say so, and how many records they are about, at least."""

    codes: Mapping[str, int]
    records: int
    is_least: bool


class ScanSummary(Declared):
    """The summary of a scan. `exit_code` is the one that `kdump check` of the same `level` would return.

    `codes` are the codes of findings with their severity, and how many there are of each, the worst first; `worst` are some of
    the findings, as objects, and `failing_starts` how many of a code say that a broker does not start. `rows` says how many
    rows each table has. `records_not_read` are those that the check of this level left unread; `are_more_not_read` if some of
    them are compressed sets of old messages.
    """

    failing: Sequence[str]
    level: str
    files: int
    has_kafkas: bool
    bytes: int
    batches: int
    records: int
    records_not_read: int
    are_more_not_read: bool
    oldest: int | None
    newest: int | None
    topics: Sequence[TopicLine]
    codecs: Sequence[CodecLine]
    codes: Sequence[tuple[tuple[str, str], int]]
    failing_starts: Mapping[str, int]
    unreadable: Unreadable
    worst: Sequence[dict[str, Any]]
    rows: dict[str, int]
    incomplete: Sequence[str] = ()
    unchanged_files: int = 0  # that were not read again
    decoded_topics: Sequence[str] = ()  # that have tables of decoded keys and values
    unchanged_since: int | None = None  # the time of the scan whose tables these are, in ms, if nothing changed

    @cached_property
    def _verdict(self) -> Verdict:
        verdict = Verdict(self.failing, level=self.level)
        for (code, severity), count in sorted(self.codes):
            is_error = severity == ERROR
            fails, lost = (counts.get(code, 0) * is_error for counts in (self.failing_starts, self.unreadable.codes))
            verdict.add_findings(code, severity, count, fails=fails, unreadable=lost)
        verdict.count_unreadable(self.unreadable.records, is_least=self.unreadable.is_least)
        verdict.add_files(int(self.has_kafkas))
        if not self.topics and any(code == NO_PARTITION for (code, _), _ in self.codes):
            verdict.fail_to_examine("none of the partitions that checkpoints name is there")
        verb = "checked" if _RECORDS in self.rows else "read"
        verdict.leave_unread(self.records_not_read, is_least=self.are_more_not_read, verb=verb)
        for line in self.topics:
            if line.topic == tree.METADATA_TOPIC:
                verdict.leave_unreplayed(line.topic)
        return verdict

    @property
    def exit_code(self) -> int:
        return self._verdict.exit_code

    @property
    def severities(self) -> dict[str, int]:
        """How many findings there are of each severity."""
        return {severity: sum(count for (_, of), count in self.codes if of == severity) for severity in SEVERITIES}

    @property
    def _verdict_text(self) -> str:
        """The verdict. It is never the bare word `fine` if replicas end at different offsets, or were not compared."""
        text, codes = self._verdict.text, {code for (code, _), _ in self.codes}
        but = [words for code, words in _BUT.items() if code in codes and self.exit_code == exit_codes.CLEAN]
        return f"{text}, but {' and '.join(but)}" if but else text

    @classmethod
    def of_kept(cls, given: Mapping[str, Any], failing: Sequence[str]) -> ScanSummary:
        """The summary that `kept` made an object of."""
        return cls(
            failing,
            level=given["level"],
            files=given["files"],
            has_kafkas=given["hasKafkas"],
            bytes=given["bytes"],
            batches=given["batches"],
            records=given["records"],
            records_not_read=given["recordsNotRead"],
            are_more_not_read=given["areMoreNotRead"],
            oldest=given["oldestTimestamp"],
            newest=given["newestTimestamp"],
            topics=[TopicLine(*(line[column.key] for column in TopicLine.schema)) for line in given["topics"]],
            codecs=[CodecLine(*(line[column.key] for column in CodecLine.schema)) for line in given["codecs"]],
            codes=[((found["code"], found["severity"]), found["count"]) for found in given["findings"]],
            failing_starts=given["failingStarts"],
            unreadable=Unreadable(*given["unreadable"]),
            worst=given["worst"],
            rows=given["tables"],
            incomplete=given["incompleteTables"],
        )

    def json(self, out: str | None, engine: str, seconds: float) -> dict[str, Any]:
        """The summary as one object."""
        return {
            "tablesTo": out,
            "engine": engine,
            "level": self.level,
            "seconds": round(seconds, 3),
            "files": self.files,
            "unchangedFiles": self.unchanged_files,
            "bytes": self.bytes,
            "batches": self.batches,
            "records": self.records,
            "recordsNotRead": self.records_not_read,
            "recordsUnreadable": self.unreadable.records,
            "oldestTimestamp": self.oldest,
            "newestTimestamp": self.newest,
            "errors": self.severities["error"],
            "warnings": self.severities["warning"],
            "infos": self.severities["info"],
            "findings": [{"code": code, "severity": severity, "count": count} for (code, severity), count in self.codes],
            "topics": [_object(line) for line in self.topics],
            "codecs": [_object(line) for line in self.codecs],
            "tables": self.rows,
            "incompleteTables": list(self.incomplete),
            **({"decodedTopics": self.decoded_topics} if self.decoded_topics else {}),
            "exitCode": self.exit_code,
            "verdict": self._verdict_text,
            "reasons": self._verdict.reasons,
        }

    def kept(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Its JSON with what else it takes to show the summary again."""
        kept = {"areMoreNotRead": self.are_more_not_read, "worst": self.worst, "failingStarts": dict(self.failing_starts)}
        return {**result, **kept, "unreadable": list(self.unreadable), "hasKafkas": self.has_kafkas}

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

    def _end(self, paths: Sequence[str], width: int, *, is_terminal: bool) -> list[str]:
        """What to type next, if there is something, and the answer."""
        parts: list[str] = []
        out = ReportWriter(parts.append, ReportStyle(width=width, is_terminal=is_terminal))
        steps = scan_steps(self.worst, paths)
        if steps:
            out.line("Next")
            steps.write(out)
        write_verdict(out, self._verdict_text, self._reasons(), self.exit_code, steps)
        return "".join(parts).splitlines()

    def _reasons(self) -> list[str]:
        """The reasons of the verdict; if it is about starts, the first one is a finding with its path instead of a code."""
        reasons = self._verdict.reasons
        word, _, reason = reasons[0].partition(": ") if reasons else ("", "", "")
        code = reason.rpartition(" x ")[2]
        worst = next((finding for finding in self.worst if finding["code"] == code), None)
        if worst is None or word not in (DOES_NOT_START, LOSES_AT_START):
            return reasons
        return [f"{word}: {worst['path']}: {worst['message']}", *reasons[1:]]

    def text(self, out: str | None, seconds: float, paths: Sequence[str]) -> str:
        """The summary for people; `paths` are those that were scanned."""
        what = (
            f"{counted(self.files, 'file')}, {size_text(self.bytes)}, {counted(self.batches, 'batch', 'batches')},"
            f" {counted(self.records, 'record')} in {seconds:.1f} s"
        )
        width, is_terminal = _width(), sys.stdout is not None and sys.stdout.isatty()
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
            lines.append("--tables-to DIR keeps the tables (Parquet).")
        else:
            if self.incomplete:
                names = " ".join(f"{name}.incomplete" for name in self.incomplete)
                lines += _wrapped(f"Unreliable, because they do not add up: {names}.", room)
            lines += _wrapped(f"Tables in {out}: {tables} (Parquet).", room)
            if self.decoded_topics:
                what = counted(len(self.decoded_topics), "topic")
                lines += _wrapped(f"Decoded keys and values of {what}, with typed columns: {out}/decoded/topic=NAME.", room)
            lines.append(f'To query them: spark.read.parquet("{out}/findings")')  # a command stays on one line, to be copied
        lines += self._end(paths, width, is_terminal=is_terminal)
        return "\n".join(lines) + "\n"


def _width() -> int:
    """The width of the terminal, or as the environment says."""
    if "COLUMNS" not in os.environ and (sys.__stdout__ is None or not sys.__stdout__.isatty()):
        return _WIDTH
    from shutil import get_terminal_size  # slow to load

    return get_terminal_size((_WIDTH, 24)).columns


def _wrapped(text: str, width: int | None) -> Sequence[str]:
    return [text] if width is None else wrapped(text, width)


def _object(row: Row) -> dict[str, Any]:
    return {column.key: getattr(row, column.name) for column in row.schema}
