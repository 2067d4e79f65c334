"""What is said of a fault in general: cause, consequence, remedy."""

from __future__ import annotations

from textwrap import wrap

from kdump.checks import catalogue

_LABEL_WIDTH = 21


def explanation(code: str, width: int) -> str:
    """The page about a fault of the catalogue."""
    fault = catalogue.FAULTS[code]
    rows = [
        ("How it comes about", fault.cause),
        ("What Kafka does", fault.kafka),
        ("On a running broker", catalogue.RUNNING.get(code, "")),
        ("At a restart", catalogue.FORECASTS[fault.forecast]),
        ("What is lost", fault.loss),
        ("What to do", fault.remedy),
        ("See also", ", ".join(fault.see)),
    ]
    lines = [f"{fault.code} ({fault.severity}): {fault.title}", ""]
    for label, text in rows:
        if text:
            lines += _labelled(label, text, width)
    return "\n".join(lines) + "\n"


def contents(width: int) -> str:
    """All faults by section, a line each."""
    code_width = max(map(len, catalogue.FAULTS)) + 2
    lines: list[str] = []
    for title, faults in catalogue.SECTIONS.items():
        if faults:
            lines += [*([""] if lines else []), title]
        for fault in faults:
            first, *others = _wrapped(fault.title, width - code_width - 11)
            lines.append(f"  {fault.severity:9}{fault.code:{code_width}}{first}")
            lines += [" " * (code_width + 11) + line for line in others]
    return "\n".join([*lines, "", "kdump explain CODE tells more."]) + "\n"


def _labelled(label: str, text: str, width: int) -> list[str]:
    first, *others = _wrapped(text, width - _LABEL_WIDTH)
    return [f"{label:{_LABEL_WIDTH}}{first}", *(" " * _LABEL_WIDTH + line for line in others)]


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False)
