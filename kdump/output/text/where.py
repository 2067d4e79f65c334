"""What became of records, as text for people, and the commands that show them."""

from __future__ import annotations

from kdump.checks.wording import counted, number_range
from kdump.formats import file_name, tree
from kdump.output.rows import fates
from kdump.output.text.answer import write_answer
from kdump.output.text.steps import Steps, shell_word
from kdump.output.text.writer import ReportWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kdump.output.rows.fates import Fate
    from kdump.output.text.style import ReportStyle


_HEADLINES = {fates.NOT_WRITTEN: f"beyond the end ({fates.NOT_WRITTEN})"}
_DELETED = "now: brokers delete it after a minute (file.delete.delay.ms)"
_FATES = {file_name.SWAP: "a start puts it in place", file_name.CLEANED: "before a start, which deletes it"}
_MOST_PLACES = 3  # that have a command
_MAY_BE_DAMAGED = (fates.DAMAGED, fates.NOT_FOUND)


class WhereReport:
    """Writes a line for each answer, then what is known about it, what shows the records, and last the answer in short."""

    def __init__(self, write: Callable[[str], None], style: ReportStyle) -> None:
        self._out = ReportWriter(write, style)
        self._steps = Steps()
        self._places = 0
        self._counts: dict[str, int] = {}
        self._first = ""

    def answer(self, fate: Fate) -> None:
        """Write one answer."""
        where = "?" if fate.topic is None else f"{fate.topic}-{fate.partition}"
        offset = "" if fate.offset is None else f"@{fate.offset}"
        key = "" if fate.key is None else f"   key {fate.key}"
        headline = _HEADLINES.get(fate.answer, fate.answer)
        self._first = self._first or f"{where}{offset}"
        self._counts[headline] = self._counts.get(headline, 0) + 1
        self._out.line(self._out.shown(f"{where}{offset}   {headline}{key}"))
        for label, text in _details(fate):
            self._out.labelled(label, self._out.shown(text))
        self._add_steps(fate)

    def _add_steps(self, fate: Fate) -> None:
        for place in fate.places:
            if place.is_going and not tree.is_set_aside(place.path):
                self._steps.keep(place.path, _FATES.get(file_name.suffix(place.path), _DELETED))
            if self._places < _MOST_PLACES:
                self._places += 1
                here = f"--offset {fate.offset}" if place.is_found_by_offset else f"--from-position {place.position} --limit 1"
                self._steps.look(f"kdump log --deep --output table {here} {shell_word(place.path)}", "shows the record")
        if fate.answer in _MAY_BE_DAMAGED:
            for path in fate.damaged_in[:_MOST_PLACES]:
                self._steps.look(f"kdump check {shell_word(path)}", "what is damaged, and what to do")

    def end(self, exit_code: int) -> None:
        """Write the commands, then the answer."""
        if self._steps:
            self._out.line("Next")
            self._steps.write(self._out)
        if not self._counts:
            return
        self._out.line()
        count = sum(self._counts.values())
        words = ", ".join(f"{times:,} {word}" if len(self._counts) > 1 else word for word, times in self._counts.items())
        what = counted(count, "record") if count > 1 else self._first
        write_answer(self._out, f"Answer: {what}: {words}. Exit status {exit_code}.", self._steps.main())


def _details(fate: Fate) -> Iterator[tuple[str, str]]:
    if fate.copies:
        yield "on", ", ".join(fate.copies)
    if fate.damaged_on:
        yield "damaged", ", ".join(fate.damaged_on)
    facts = []
    if fate.superseded_by is not None:
        facts.append(f"superseded at offset {fate.superseded_by:,}")
    if fate.tombstone:
        facts.append("a tombstone")
    if fate.leader_epoch is not None and fate.leader_epoch >= 0:
        facts.append(f"leader epoch {fate.leader_epoch}")
    if fate.bytes is not None:
        facts.append("its bytes are still in the segment" if fate.bytes else "its bytes are gone")
    if fate.log_start is not None and fate.log_end is not None:
        is_beyond = bool(fate.copies) and fate.offset is not None and fate.offset >= fate.log_end
        by_headers = ", by the headers of its batches" if is_beyond else ""
        has = f"has offsets {fate.log_start:,} to {fate.log_end - 1:,}"
        facts.append(f"the log {has if fate.log_start < fate.log_end else f'is empty from {fate.log_start:,} on'}{by_headers}")
    if facts:
        yield "facts", "; ".join(facts)
    for missing in fate.missing_sequences:
        numbers = number_range("sequence", missing["first"], missing["last"])
        count = counted(missing["last"] - missing["first"] + 1, "record")
        yield "missing", f"{numbers} of producer {missing['producerId']}, epoch {missing['producerEpoch']}: {count} missing"
    for other in fate.also:
        copies = other["copies"]
        names = ", ".join(copies) if isinstance(copies, list) else str(copies)
        yield "also", f"{other['answer']}: a record of leader epoch {other['leaderEpoch']} on {names}"
    if fate.evidence:
        yield "because", fate.evidence
