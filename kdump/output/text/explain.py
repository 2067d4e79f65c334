"""Explains faults: cause, consequence, remedy; and finds the faults that a line of a broker's log points to."""

from __future__ import annotations

import os
import re
import shlex

from kdump.binary.java_strings import escaped
from kdump.checks import catalogue
from kdump.checks.catalogue import searches
from kdump.checks.catalogue.lines import matching
from kdump.checks.catalogue.lines.exceptions import EXCEPTIONS
from kdump.output.text.writer import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LABEL_WIDTH = 21
_FILE = re.compile(r"(?<![^\s'\"(\[=])(/\S*?)/(?:\d{20}\.\w+|leader-epoch-checkpoint|partition\.metadata)(?!\w)")
"""The path of a file of a partition in a log line."""
_LOG = re.compile(r"\bpartition=([\w.-]+-\d+), dir=(/[^\s,\]]+)")
"""A partition and its log directory, as the prefix of a line of its log has them."""
_DIRECTORY = re.compile(r"\b(?:dir|directory)[ =](/[^\s,:;)\]'\"]+)")
"""A log directory or the directory of a partition."""
_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_MOST_SHOWN = 100


def explanation(code: str, width: int) -> str:
    """The page about a fault of the catalogue."""
    fault = catalogue.FAULTS[code]
    rows = [
        ("How it comes about", fault.cause),
        ("What Kafka does", fault.kafka),
        ("On a running broker", catalogue.RUNNING.get(code, "")),
        ("At a restart", fault.at_restart),
        ("What is lost", fault.loss),
        ("What to do", fault.remedy),
        ("See also", ", ".join(fault.see)),
    ]
    lines = [f"{fault.code} ({fault.severity}): {fault.title}", ""]
    for label, text in rows:
        if text:
            lines += _labelled(label, text, width)
    return "\n".join(lines) + "\n"


def explanation_of_search(code: str, width: int) -> str:
    """The page about a code of searches, decoders or readers; empty if it is none."""
    found = searches.SEARCHES.get(code)
    if found is None:
        if not _CODE.fullmatch(code):
            return ""
        from kdump.checks.rules.records.reader_faults import code_in_catalogue  # lines, which most texts are, need it not

        same = searches.SAME_AS.get(code) or code_in_catalogue(code)
        if same not in catalogue.FAULTS:
            return ""
        return f"{code} is what searches and listings say for {same}.\n\n{explanation(same, width)}"
    lines = [f"{code}: {found.title}", ""]
    for label, text in (("How it comes about", found.cause), ("What to do", found.remedy), ("See also", ", ".join(found.see))):
        if text:
            lines += _labelled(label, text, width)
    return "\n".join(lines) + "\n"


def of_class(name: str, width: int) -> str:
    """What the class of an exception means; empty if it means nothing without its message."""
    if name not in EXCEPTIONS:
        return ""
    return _answered([matching.Answer(name, *EXCEPTIONS[name])], "", width)


def of_lines(text: str, width: int) -> tuple[str, bool]:
    """What lines of a broker's or client's log mean, with the faults that they come from; and whether any of them is known."""
    found = matching.explain(text)
    lines = []
    if found.unknown:
        count = f"{found.unknown} of these lines" if found.answers else "this line"
        lines += [*wrapped(f"kdump does not know {count}.", width), ""]
    if found.answers or found.classes:
        lines.append(_answered([*found.answers, *found.classes], text, width).rstrip("\n"))
    return "\n".join(lines).rstrip("\n") + "\n", bool(found.answers)


def _answered(answers: Sequence[matching.Answer], text: str, width: int) -> str:
    lines: list[str] = []
    for words, what, codes in answers:
        lines += [*([""] if lines else []), *wrapped(f"{_shown(words)}: {what}.", width)]
        lines += _listed((catalogue.FAULTS[code] for code in codes), max(map(len, codes), default=0) + 2, width)
    named = {code for _, _, codes in answers for code in codes}
    more = ["kdump explain CODE says more."] if len(named) > 1 else []
    if named - catalogue.FLEET:
        more.append(f"kdump check {_place(text)}   # which of them it is, and where")  # on one line, to be copied
    page = ["", explanation(named.copy().pop(), width).rstrip("\n")] if len(named) == 1 else []
    return "\n".join([*lines, *page, *([""] if more else []), *more]) + "\n"


def _place(text: str) -> str:
    """The directory that lines speak of, as an argument of a command; DIR if they name none."""
    if found := _FILE.search(text):
        return shlex.quote(escaped(found[1]))
    if found := _LOG.search(text):
        return shlex.quote(escaped(os.path.join(found[2], found[1])))
    found = _DIRECTORY.search(text)
    return shlex.quote(escaped(found[1].rstrip("."))) if found else "DIR"


def _shown(words: str) -> str:
    """Words of a line, in the width of a line."""
    return escaped(words if len(words) <= _MOST_SHOWN else f"{words[:60]} ... {words[-30:]}")


def contents(width: int) -> str:
    """All faults by section, a line each."""
    code_width = max(map(len, catalogue.FAULTS)) + 2
    lines: list[str] = []
    for title, faults in catalogue.SECTIONS.items():
        if faults:
            lines += [*([""] if lines else []), title]
        lines += _listed(faults, code_width, width)
    lines += ["", "Searches and decoders (what they could not read)"]
    for code, one in searches.SEARCHES.items():
        lines += _line("", code, one.title, code_width, width)
    more = "kdump explain CODE says more. It also accepts an exception or a line of server.log."
    return "\n".join([*lines, "", more]) + "\n"


def _listed(faults: Iterable[catalogue.FaultKind], code_width: int, width: int) -> list[str]:
    """Faults with their severities and titles, a line each."""
    lines = []
    for fault in faults:
        lines += _line(fault.severity, fault.code, fault.title, code_width, width)
    return lines


def _line(severity: str, code: str, title: str, code_width: int, width: int) -> list[str]:
    first, *others = wrapped(title, width - code_width - 11)
    return [f"  {severity:9}{code:{code_width}}{first}", *(" " * (code_width + 11) + line for line in others)]


def _labelled(label: str, text: str, width: int) -> list[str]:
    first, *others = wrapped(text, width - _LABEL_WIDTH)
    return [f"{label:{_LABEL_WIDTH}}{first}", *(" " * _LABEL_WIDTH + line for line in others)]
