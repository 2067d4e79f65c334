"""What releases changed, as text for people."""

from __future__ import annotations

import re
import textwrap

from kdump.releases.changes import EXCEPTION, LINE, OPTION, TEXT, text_of
from kdump.releases.known import RELEASES
from kdump.tables import camel_case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.releases.changes import Change, Group, Plain

_FIELD = re.compile(r"\{(\w+)\}")
_INDENT = 25
_MAX_LINES = 3  # of what a group changed; the rest is counted


def groups_text(groups: Sequence[Group], width: int) -> str:
    """All groups, a paragraph each."""
    lines = [f"{'releases':<19}{'':>4}  what the first of them changed"]
    for group in groups:
        lines += _group_lines(group, width)
    same = "releases that print alike are one row"
    lines.append(f"\n{len(RELEASES)} releases; {same}. The last is the default of --release.")
    lines.append("kdump releases 2.0.1          what a release changed, in full")
    lines.append("kdump releases 1.0.1 4.3.1    how two releases differ, in full")
    return "\n".join(lines) + "\n"


def _group_lines(group: Group, width: int) -> list[str]:
    phrases = _overview(group.changes) or ["the first release"]
    room = max(width - _INDENT, 30)

    def lines_of(kept: list[str]) -> list[str]:
        rest = [f"{len(phrases) - len(kept)} more"] if len(kept) < len(phrases) else []
        return textwrap.wrap("; ".join(kept + rest), room, break_long_words=False, break_on_hyphens=False)

    kept: list[str] = []
    for phrase in phrases:  # a long one does not keep out the short ones after it
        if not kept or len(lines_of([*kept, phrase])) <= _MAX_LINES:
            kept.append(phrase)
    first, *others = lines_of(kept)
    return [f"{_span(group):<19}{len(group.releases):>4}  {first}", *(" " * _INDENT + line for line in others)]


def _overview(changes: Sequence[Change]) -> list[str]:
    """The changes in phrases; exceptions, and options whose help only has other words, are counted."""
    is_minor = [change.kind == EXCEPTION or change.kind == OPTION and change.old is not None for change in changes]
    phrases = [change.summary for change, minor in zip(changes, is_minor, strict=True) if not minor]
    for kind, what in ((OPTION, "help of {} reworded"), (EXCEPTION, "{} changed")):
        count = sum(minor and change.kind == kind for change, minor in zip(changes, is_minor, strict=True))
        if count:
            things = "option" if kind == OPTION else "error message"
            phrases.append(what.format(f"{count} {things}{'' if count == 1 else 's'}"))
    return phrases


def changes_text(old: str, new: str, changes: Sequence[Change], alike: Group, width: int) -> str:
    """How two releases differ, in full: each change with its value in both."""
    count = "1 change" if len(changes) == 1 else f"{len(changes)} changes"
    lines = [f"{new} against {old}: {count if changes else 'prints the same'}"]
    if old == new:
        lines = [f"{new} is the first release" if new == RELEASES[0] else f"both are {new}"]
    if len(alike.releases) > 1:
        lines.append(f"{_span(alike)} print alike.")
    margin = max(len(old), len(new)) + 4
    for change in changes:
        lines += ["", *_wrapped(change.summary, width, "", "  ")]
        if change.what and change.kind != EXCEPTION and change.what.removeprefix("Whether ") != f"{change.summary}.":
            lines += _wrapped(change.what, width, "  ", "  ")
        for release, value in ((old, change.old), (new, change.new)):
            lines += _wrapped(_shown(value, change.kind), width, f"  {release:<{margin - 2}}", " " * margin)
    return "\n".join(lines) + "\n"


def _shown(value: Plain, kind: str) -> str:
    """A value on one line, with the names of fields as Kafka spells them; quoted if it begins or ends with a blank."""
    if not isinstance(value, str) or kind not in (LINE, TEXT):
        return text_of(value)
    text = _FIELD.sub(lambda field: "{" + camel_case(field[1]) + "}", value.removesuffix("\n")).replace("\n", "\\n")
    return f'"{text}"' if text != text.strip() else text or "nothing"


def _wrapped(text: str, width: int, first: str, others: str) -> list[str]:
    """A text in lines; words are never cut, and a blank at its start is kept."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    ) or [first.rstrip()]


def _span(group: Group) -> str:
    first, last = group.releases[0], group.releases[-1]
    return first if first == last else f"{first} - {last}"
