"""The results of a scan as lines for people: topics by size, then findings, the worst first."""

from __future__ import annotations

import os

from kdump.binary.codecs import CODECS, NONE
from kdump.binary.java_strings import escaped
from kdump.checks.finding import ERROR, INFO, SEVERITIES, WARNING
from kdump.checks.wording import counted, time
from kdump.output.rows.columns import TextColumn, cut, fitted, lines_of, total_width, width_of
from kdump.output.rows.fleet import CodecLine, TopicLine, uncompressed_of_all
from kdump.output.text.scan_steps import BETWEEN_REPLICAS, REPLICA_BEHIND
from kdump.output.text.sizes import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from kdump.output.rows.fleet import CodecUse, TopicSize

_MAX_TOPICS = 20  # that get a line each
_MAX_FINDINGS = 10  # that are shown; all are counted by code
_MAX_INFOS = 3  # codes that are named
_MAX_OF_A_CODE = 3  # of these; of infos, only replicas that end earlier are shown
_BLOCKED, _FUTURE = "retention-blocked", "timestamp-future"
_MAX_CODES = 20  # that get a line each
_MIN_NAME = 16  # cells; the name of a topic is not shortened to fewer
_GAP = 2
_INDENT = 9
_HEADINGS = ("topic", "partitions", "segments", "size", "records", "codec", "findings")
_RIGHT = (1, 2, 3, 4)
_CODEC_HEADINGS = ("codec", "batches", "size", "uncompressed", "saved")


def topic_lines(
    sizes: Sequence[TopicSize], codecs: Sequence[CodecUse], findings: Mapping[tuple[str | None, str], int]
) -> list[TopicLine]:
    """A row for each topic, the largest first. `findings` are counted by topic and severity."""
    uses: dict[str | None, list[CodecUse]] = {}
    for use in codecs:
        uses.setdefault(use.topic, []).append(use)
    lines = []
    for topic in sizes:
        of_topic = uses.get(topic.topic, [])
        whole = sum(use.size for use in of_topic)
        main = max(of_topic, key=lambda use: (use.size, use.codec), default=None)
        measured = [use.uncompressed for use in of_topic if use.uncompressed is not None]
        is_measured = bool(whole) and len(measured) == len(of_topic)
        lines.append(
            TopicLine.like(
                topic,
                codec=None if main is None else main.codec,
                codec_share=None if main is None else main.size / whole,
                saving=sum(measured) / whole if is_measured else None,
                **{f"{severity}s": findings.get((topic.topic, severity), 0) for severity in SEVERITIES},
            )
        )
    return sorted(lines, key=lambda line: (-line.size, line.topic or ""))


def codec_lines(codecs: Sequence[CodecUse]) -> list[CodecLine]:
    """A row for each codec, the one that holds most first. If a topic was not measured, the savings of the others are assumed."""
    uses: dict[str, list[CodecUse]] = {}
    for use in codecs:
        uses.setdefault(use.codec, []).append(use)
    lines = []
    for codec, of_codec in uses.items():
        size = sum(use.size for use in of_codec)
        known = [(use.size, use.uncompressed) for use in of_codec if use.uncompressed is not None]
        whole = uncompressed_of_all(sum(one for _, one in known), sum(one for one, _ in known), size)
        saved = None if not whole else 1 - size / whole
        lines.append(
            CodecLine(codec, sum(use.batches for use in of_codec), size, sum(use.measured for use in of_codec), whole, saved)
        )
    return sorted(lines, key=lambda line: (-line.size, line.codec))


def text_of_codecs(lines: Sequence[CodecLine], *, width: int | None = None) -> list[str]:
    """Codecs as aligned lines with their savings; empty if nothing is compressed."""
    packed = [line for line in lines if line.codec != CODECS[NONE]]
    if not packed:
        return []
    found = _aligned(_CODEC_HEADINGS, [_codec_cells(line) for line in lines], range(1, len(_CODEC_HEADINGS)), width=width)
    measured = sum(line.measured for line in packed)
    if measured and measured < sum(line.size for line in packed):
        found.append(f"The size of compressed batches was measured for {size_text(measured)} of them.")
    return found


def _codec_cells(line: CodecLine) -> tuple[str, ...]:
    is_packed = line.codec != CODECS[NONE]
    whole = line.uncompressed if is_packed else line.size
    saved = "-" if not is_packed or line.saved is None else f"{line.saved * 100:.0f} %"
    return line.codec, f"{line.batches:,}", size_text(line.size), "-" if whole is None else size_text(whole), saved


def _aligned(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int], *, width: int | None = None
) -> list[str]:
    """Rows of cells as lines under their headings; the columns in `right` are aligned to the right.

    If a width is given, names in the first column are shortened to fit it. If that is not enough, each row becomes several
    lines, indented after the first.
    """
    columns = [
        TextColumn(heading, cells, is_right=number in right, is_text=number == 0)
        for number, (heading, cells) in enumerate(zip(headings, zip(*rows, strict=True), strict=True))
    ]
    if width is None or total_width(columns, _GAP) <= width:
        return list(lines_of(columns, _GAP))
    found = fitted(columns, _GAP, width, _MIN_NAME)
    if found is not None:
        return list(lines_of(found, _GAP))
    return [line for row in rows for line in _in_lines(headings, row, width)]


def _in_lines(headings: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """A row as its name, and below it all other cells, each with its heading."""
    lines = [cut(row[0], width)]
    for heading, cell in zip(headings[1:], row[1:], strict=True):
        text = f"{heading} {cell}"
        is_first = len(lines) == 1
        if is_first or width_of(f"{lines[-1]}, {text}") > width:
            lines.append(f"{' ' * _GAP}{text}")
        else:
            lines[-1] += f", {text}"
    return lines


def text_of_topics(lines: Sequence[TopicLine], *, width: int | None = None) -> list[str]:
    """Topics as aligned lines, the largest first; further ones are counted. Without `width` nothing is shortened."""
    shown = [_cells(line) for line in lines[:_MAX_TOPICS]]
    if not shown:
        return []
    found = _aligned(_HEADINGS, shown, _RIGHT, width=width)
    if len(lines) > _MAX_TOPICS:
        rest = lines[_MAX_TOPICS:]
        found.append(f"and {counted(len(rest), 'more topic')}, {size_text(sum(line.size for line in rest))}")
    return found


def text_of_time(lines: Sequence[TopicLine]) -> str:
    """The span of time of the batches; empty if none has a timestamp."""
    oldest = [line.oldest for line in lines if line.oldest is not None]
    newest = [line.newest for line in lines if line.newest is not None]
    return f"Batches from {time(min(oldest))} to {time(max(newest))}." if oldest and newest else ""


def text_of_findings(findings: Iterable[Mapping[str, Any]], counts: Mapping[tuple[str, str], int], width: int) -> list[str]:
    """The worst of some findings, one for each code of a partition, and how many there are in all, by code and severity.

    A finding is a row of the table `findings`: its values by the names of the columns.
    """
    if not counts:
        return ["No findings."]
    only_ends = not any(code in BETWEEN_REPLICAS and code != REPLICA_BEHIND for code, _ in counts)
    code_width = max(len(code) for code, _ in counts)
    lines = [line for finding in _worst(findings) for line in _finding_lines(finding, code_width, width, only_ends=only_ends)]
    return [*lines, *([""] if lines else []), *_count_lines(counts, code_width, width)]


def _worst(findings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """A few findings of each code, one of a partition, the worst first."""
    folded: dict[tuple[object, ...], Mapping[str, Any]] = {}
    for finding in findings:
        if finding["severity"] != INFO or finding["code"] == REPLICA_BEHIND:
            folded.setdefault(
                (finding["severity"], finding["code"], finding["broker"], os.path.dirname(finding["path"])), finding
            )
    blocked = {finding["path"] for finding in folded.values() if finding["code"] == _BLOCKED}
    shown: dict[tuple[str, str], int] = {}
    worst: list[Mapping[str, Any]] = []
    for finding in sorted(folded.values(), key=lambda finding: SEVERITIES.index(finding["severity"])):
        if finding["code"] == _FUTURE and finding["path"] in blocked:
            continue  # its consequence is reported
        kind = finding["code"], finding["severity"]
        shown[kind] = shown.get(kind, 0) + 1
        if shown[kind] <= _MAX_OF_A_CODE and len(worst) < _MAX_FINDINGS:
            worst.append(finding)
    return worst


def _finding_lines(finding: Mapping[str, Any], code_width: int, width: int, *, only_ends: bool) -> Iterator[str]:
    from textwrap import wrap  # slow to load

    where = escaped(_where(finding))
    head = f"{finding['severity']:<{_INDENT}}{finding['code']:<{code_width}}"
    if width_of(head) + _GAP + width_of(where) <= width:
        yield f"{head}  {where}"
    else:
        yield head.rstrip()
        yield from (" " * _INDENT + line for line in wrap(where, max(width - _INDENT, 40)))
    if finding["topic"] is not None:
        yield " " * _INDENT + escaped(str(finding["path"]))  # in one piece, to be copied
    message = escaped(finding["message"])
    if finding["code"] == REPLICA_BEHIND and only_ends:
        message += " No difference was found in what both have."
    yield from (" " * _INDENT + line for line in wrap(message, max(width - _INDENT, 40), break_on_hyphens=False))


def _count_lines(counts: Mapping[tuple[str, str], int], code_width: int, width: int) -> list[str]:
    """How many findings there are of each code, and the codes of infos on one line."""
    from textwrap import wrap

    ordered = sorted(counts.items(), key=lambda item: (SEVERITIES.index(item[0][1]), -item[1], item[0][0]))
    told = [(kind, count) for kind, count in ordered if kind[1] != INFO]
    table = [f"{severity:<{_INDENT}}{code:<{code_width}}  {count:>9,}" for (code, severity), count in told[:_MAX_CODES]]
    table += [f"and {counted(len(told) - _MAX_CODES, 'more code')}"] if len(told) > _MAX_CODES else []
    infos = [code for (code, severity), _ in ordered if severity == INFO]
    if infos:
        more = f" and {len(infos) - _MAX_INFOS} more" if len(infos) > _MAX_INFOS else ""
        count = counted(sum(counts[code, INFO] for code in infos), "info")
        text = f"{count}: {', '.join(infos[:_MAX_INFOS])}{more}; --tables-to DIR lists each."
        table += wrap(text, max(width, 40), break_on_hyphens=False)
    return table


def _cells(line: TopicLine) -> tuple[str, ...]:
    name = "(no topic)" if line.topic is None else escaped(line.topic)
    counts = {ERROR: line.errors, WARNING: line.warnings, INFO: line.infos}
    findings = ", ".join(counted(counts[severity], severity) for severity in (ERROR, WARNING) if counts[severity])
    return (
        name,
        f"{line.partitions:,}",
        f"{line.segments:,}",
        size_text(line.size),
        "-" if line.records is None else _count_text(line.records),
        _codec_text(line),
        findings or "-",
    )


def _codec_text(line: TopicLine) -> str:
    if line.codec is None or line.codec_share is None:
        return "-"
    share = "" if line.codec_share > 0.995 else f" {line.codec_share * 100:.0f} %"
    saving = "" if line.saving is None or line.saving < 1.05 else f" {line.saving:.1f}x"
    return f"{line.codec}{share}{saving}"


def _count_text(count: int) -> str:
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count:,}"


def _where(finding: Mapping[str, Any]) -> str:
    if finding["topic"] is None:
        return str(finding["path"])
    broker = "" if finding["broker"] is None else str(finding["broker"])
    on = f" on {'' if broker.startswith('broker') else 'broker '}{broker}" if broker else ""
    first, last = finding["offsetFirst"], finding["offsetLast"]
    offsets = "" if first is None else f", offset {first:,}" if last in (None, first) else f", offsets {first:,} to {last:,}"
    partition = f"{finding['topic']}-{finding['partition']}"
    return f"{partition}{on}{offsets}"
