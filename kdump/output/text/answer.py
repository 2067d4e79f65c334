"""How a report ends: the answer, with its worst reason in the same line, and below it the one command to type."""

from __future__ import annotations

from kdump.verdicts.verdict import DOES_NOT_START, FINE, LOSES_AT_START, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.output.text.steps import Steps
    from kdump.output.text.writer import ReportWriter

_OF_STARTS = (DOES_NOT_START, LOSES_AT_START)


def write_answer(out: ReportWriter, text: str, command: str = "") -> None:
    """Write the last lines of a report."""
    out.wrapped(out.shown(text))
    if command:
        out.line(f"Do: {out.shown(command)}")


def write_verdict(out: ReportWriter, text: str, reasons: Sequence[str], exit_code: int, steps: Steps | None = None) -> None:
    """Write a verdict as the answer: `text` has its words, `reasons` begin with one of them each."""
    word, _, reason = reasons[0].partition(": ") if reasons else ("", "", "")
    if word not in WORDS or word == FINE or not text.startswith(word):
        reason = ""
    if word in _OF_STARTS:
        count, times, rest = reason.partition(" x ")
        reason = rest if times and count.isdecimal() else reason
    said, _, left_open = text.partition("; ")
    worst, _, others = said.partition(", ") if reason else (said, "", "")
    answer = f"Verdict: {worst}"
    answer += f": {reason.removesuffix('.')}" if reason else ""
    answer += f". Also {others}" if others else ""
    answer += f"; {left_open}" if left_open else ""
    command = steps.main(reason) if steps and exit_code else ""
    write_answer(out, f"{answer}. Exit status {exit_code}.", command)
