"""The changes from one release of Kafka's tool to another, derived from the history itself; there is no second list.

Everything that the history declares by release is a fact: each line, option, text, exception and behaviour, under the name
it has there. The docstring after a fact says what it means.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from itertools import pairwise

from kdump.releases import decoder_words, exception_texts, history, schemas
from kdump.releases.exception_texts import Words
from kdump.releases.history import ControlType, Option
from kdump.releases.known import RELEASES
from kdump.releases.timeline import History, Part, version_of
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    Plain = None | bool | int | str | list["Plain"] | dict[str, "Plain"]

KINDS = LINE, OPTION, TEXT, BEHAVIOUR, EXCEPTION = ("line", "option", "text", "behaviour", "exception")

_NOT_KAFKAS = ("COMMITS",)  # each release has its own
_RELEASE = re.compile(r"\d+(\.\d+){2,3}\Z")
_LABEL = re.compile(r"(\w+)\}?: ?\{")
_SHORT = 40


class Change:
    """A fact that differs between two releases; None if one of them does not have it.

    `what` describes the fact, and `summary` how it changed.
    """

    def __init__(self, fact: Fact, old: Plain, new: Plain) -> None:
        self.kind = fact.kind
        self.name = fact.name
        self.what = fact.what
        self.old = old
        self.new = new
        self.summary = fact.summary(old, new)


class Fact:
    """A property in which releases may differ."""

    def __init__(self, kind: str, name: str, what: str, at: Callable[[History], object]) -> None:
        self.kind = kind
        self.name = name
        self.what = what
        self._at = at

    def in_release(self, then: History) -> Plain:
        return _plain(self._at(then))

    def summary(self, old: Plain, new: Plain) -> str:
        """How it changed, in a phrase."""
        if self.kind == LINE and isinstance(old, str) and isinstance(new, str):
            return f"{self.name}: {_line_summary(old, new)}"
        if isinstance(old, bool) and isinstance(new, bool) and self.what:
            first_sentence = re.split(r"[.;] |\.\Z", self.what, maxsplit=1)[0]
            what = first_sentence.removeprefix("Whether ")
            return what if new else f"no longer: {what}"
        if old is None or new is None:
            return f"{self.name} {'removed' if new is None else 'added'}"
        if isinstance(old, dict) and isinstance(new, dict):
            return f"{self.name}: {_keys_summary(old, new)}"
        if isinstance(old, list) and isinstance(new, list) and len(old) != len(new):
            return f"{self.name}: {_entries_summary(old, new)}"
        shown = [text_of(value) for value in (old, new)]
        return f"{self.name}: {' → '.join(shown)}" if max(map(len, shown)) <= _SHORT else f"{self.name} reworded"


class Group(Declared):
    """Neighbouring releases with the same output, and the changes in the first of them."""

    releases: list[str]
    changes: list[Change]


def changes(old: str, new: str) -> list[Change]:
    """The differences between two releases: lines first, exceptions last."""
    known = list(facts())
    return _changes(known, *([fact.in_release(then) for fact in known] for then in (History(old), History(new))))


def groups() -> list[Group]:
    """All releases in ascending order, grouped by equal output."""
    known = list(facts())
    found: list[Group] = []
    before: list[Plain] = []
    for release in RELEASES:
        then = History(release)
        values = [fact.in_release(then) for fact in known]
        if not found or values != before:
            found.append(Group([release], _changes(known, before, values) if found else []))
        else:
            found[-1].releases.append(release)
        before = values
    return found


def _changes(known: list[Fact], old: list[Plain], new: list[Plain]) -> list[Change]:
    triples = zip(known, old, new, strict=True)
    found = [Change(fact, before, after) for fact, before, after in triples if before != after]
    return sorted(found, key=lambda change: KINDS.index(change.kind))


def facts() -> Iterator[Fact]:
    """Everything that the history declares by release."""
    for module in (history, decoder_words, schemas, exception_texts):
        docstrings = _docstrings(module)
        for name, value in vars(module).items():
            if name.isupper() and not name.startswith("_") and name not in _NOT_KAFKAS:
                yield from _facts_of(name.lower().replace("_", " "), value, docstrings.get(name, ""))


def text_of(value: Plain) -> str:
    """A value for people."""
    if isinstance(value, list):
        return ", ".join(map(text_of, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text_of(item)}" for key, item in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value) or "nothing"


def _facts_of(name: str, value: object, what: str) -> Iterator[Fact]:
    """The facts in one declaration, recognized by its shape."""
    if isinstance(value, tuple) and value and all(isinstance(entry, Part) for entry in value):
        yield Fact(LINE, name, what, lambda then: "".join(then.line(value)))
    elif isinstance(value, tuple) and value and all(isinstance(entry, Option) for entry in value):
        yield from (_fact_of_option(option) for option in value)
    elif not isinstance(value, dict) or not value:
        return
    elif _is_timeline(value):
        yield _fact_of_timeline(name, value, what)
    elif _are_releases(value):
        known = _known(value)
        yield Fact(BEHAVIOUR, name, what, _others(value, known) if name.endswith(" until") else known)
    elif all(isinstance(entry, dict) and _is_timeline(entry) for entry in value.values()):
        for key, timeline in value.items():
            yield _fact_of_timeline(key if name == "words" else f"{name} of {key}", timeline, what)
    else:
        for key, entry in value.items():
            yield from _facts_of_entry(name, key, entry, what)


def _facts_of_entry(name: str, key: object, entry: object, what: str) -> Iterator[Fact]:
    if isinstance(entry, dict) and all(isinstance(timeline, dict) for timeline in entry.values()):
        for part, timeline in entry.items():
            yield _fact_of_timeline(f"{name}: {part} of {key}", timeline, what)
    elif isinstance(entry, dict) and _are_releases(entry):
        yield Fact(BEHAVIOUR, f"{name} of {key}", what, _known(entry))


def _are_releases(since: dict[str, object]) -> bool:
    return all(isinstance(entry, str) and _RELEASE.match(entry) for entry in since.values())


def _fact_of_timeline(name: str, timeline: dict[str, object], what: str) -> Fact:
    value = next(iter(timeline.values()))
    kind = TEXT if isinstance(value, str) else EXCEPTION if isinstance(value, Words) else BEHAVIOUR
    return Fact(kind, name, what, lambda then: then.find(timeline))


def _fact_of_option(option: Option) -> Fact:
    def help_text(then: History) -> str | None:
        text = then.find(option.texts)
        return f"{text} (default: {then.at(option.defaults)})" if text is not None and option.defaults else text

    return Fact(OPTION, f"--{option.name}", "What the help screen says of it.", help_text)


def _known(since: dict[str, str]) -> Callable[[History], object]:
    """The names that a release knows, from names with the release that introduced them."""
    return lambda then: [name for name, release in since.items() if version_of(release) <= version_of(then.release)]


def _others(until: dict[str, str], known: Callable[[History], object]) -> Callable[[History], object]:
    """The names that are not yet removed in a release."""

    def others(then: History) -> object:
        ended = known(then)
        assert isinstance(ended, list)
        return [name for name in until if name not in ended]

    return others


def _is_timeline(value: dict[object, object]) -> bool:
    return bool(value) and all(isinstance(key, str) and _RELEASE.match(key) for key in value)


def _plain(value: object) -> Plain:
    """A value that equals another if both look the same."""
    if isinstance(value, Words):
        return value.exception + (": " if value.exception and value.message is not None else "") + (value.message or "")
    if isinstance(value, ControlType):
        return (
            f"{value.name} (marker)" if value.is_marker else f"{value.name} as {value.heading}" if value.heading else value.name
        )
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    assert value is None or isinstance(value, bool | int | str)
    return value


def _line_summary(old: str, new: str) -> str:
    """The fields that were added, removed, renamed or moved in a line, or that it was reworded."""
    before, after = _LABEL.findall(old), _LABEL.findall(new)
    removed = [label for label in before if label not in after]
    added = [label for label in after if label not in before]
    renamed = [(label, other) for label in removed for other in added if label.lower() == other.lower()]
    phrases = [f"{label} → {other}" for label, other in renamed]
    names = {name for pair in renamed for name in pair}
    phrases += _phrase([label for label in added if label not in names], "added")
    phrases += _phrase([label for label in removed if label not in names], "removed")
    if not phrases:
        phrases += _phrase(_moved(before, after), "moved")
    return "; ".join(phrases) or _literal_summary(old, new)


def _literal_summary(old: str, new: str) -> str:
    """The text that was added or removed between the same fields."""
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    edits = [(old[start:end], new[other:last]) for tag, start, end, other, last in opcodes if tag != "equal"]
    if len(edits) == 1:
        gone, come = edits[0]
        return f'"{come}" added' if not gone else f'"{gone}" removed' if not come else f'"{gone}" → "{come}"'
    return "reworded"


def _moved(before: Sequence[str], after: Sequence[str]) -> list[str]:
    opcodes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [label for tag, start, end, _, _ in opcodes if tag in ("delete", "replace") for label in before[start:end]]


def _keys_summary(old: dict[str, Plain], new: dict[str, Plain]) -> str:
    phrases = _phrase([key for key in new if key not in old], "added") + _phrase(
        [key for key in old if key not in new], "removed"
    )
    changed = [key for key in new if key in old and old[key] != new[key]]
    shown = [f"{text_of(old[key])} → {text_of(new[key])}" for key in changed]
    short = bool(shown) and len(", ".join(shown)) <= 2 * _SHORT
    return "; ".join(phrases + (shown if short else _phrase(changed, "reworded")))


def _entries_summary(old: list[Plain], new: list[Plain]) -> str:
    added = _phrase([text_of(entry) for entry in new if entry not in old], "added")
    removed = _phrase([text_of(entry) for entry in old if entry not in new], "removed")
    return "; ".join(added + removed)


def _phrase(names: list[str], verb: str) -> list[str]:
    return [f"{', '.join(names)} {verb}"] if names else []


def _docstrings(module: ModuleType) -> dict[str, str]:
    """The docstrings after the assignments of a module, by name; none if its source is missing."""
    try:
        body = ast.parse(inspect.getsource(module)).body
    except OSError:
        return {}
    found: dict[str, str] = {}
    for statement, following in pairwise(body):
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) and isinstance(following, ast.Expr):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            text = following.value
            if isinstance(target, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[target.id] = text.value
    return found
