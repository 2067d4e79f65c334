"""Finds out what lines of a log mean: as they are pasted, with times, loggers, and stack traces."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from kdump.checks.catalogue.lines import (
    applications,
    clients,
    companions,
    controllers,
    coordinators,
    directories,
    quorum,
    replication,
    segments,
)
from kdump.checks.catalogue.lines.exceptions import EXCEPTIONS, SILENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.checks.catalogue.lines.phrase import Phrase

PHRASES: tuple[Phrase, ...] = (
    *applications.PHRASES,
    *companions.PHRASES,
    *segments.PHRASES,
    *quorum.PHRASES,
    *replication.PHRASES,
    *coordinators.PHRASES,
    *controllers.PHRASES,
    *clients.PHRASES,
    *directories.PHRASES,
)
"""All phrases; of two with the same words of a line, the first is meant."""

_EVENT = re.compile(r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d[:.]\d\d|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b|\{\"|%\d\|\d+)")
"""The start of a line that is not a continuation of the one before."""
_PREFIX = re.compile(
    r"[\w.-]+\s*\|\s+|[A-Z][a-z]{2}\s+\d+ \d\d:\d\d:\d\d \S+ \S+: |│\s*|\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP] "
)
"""What Docker Compose, syslog, terminals and Kubernetes put before a line."""
_LEVEL = re.compile(r"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b")
_FRAME = re.compile(r"(?:\s|#011)*(?:at [\w.$<>/@-]+\(|\.\.\. \d+ more)")
_CAUSE = "Caused by:"
_GAPS = {"{}": ".{0,400}?", "{n}": r"-?\d[\d,.]*"}
_GAP = re.compile(r"(\{n?\})")
_BESIDE_GAP = re.compile(r"\w*(?:\{n?\}\w*)+")
_WORD = re.compile(r"[a-z]+")
_CLASS = re.compile(r"(?<!\w)[A-Z]\w*(?:Exception|Error)\b")
_A_CLASS = re.compile(r"(?:\w+[.$])+[A-Z]\w*(?:Exception|Error)")
_BARE = re.compile(r"[\w.$]+:?")
_A_LINE = re.compile(r"[:/()\[\]=\"'`,\n]|\d{3}")
_MOST_WORDS = 4


class Answer(NamedTuple):
    """Words of a line, or the class of an exception; what they mean; and the faults that they come from."""

    words: str
    meaning: str
    codes: Sequence[str]


class Explanation(NamedTuple):
    """What was found in a text; `unknown` is how many of its warnings, errors and exceptions are not known."""

    answers: Sequence[Answer]
    classes: Sequence[Answer]
    unknown: int


def explain(text: str) -> Explanation:
    """What the lines of a text mean: of each event, its most specific lines, the deepest cause first."""
    answers: dict[str, Answer] = {}
    classes: dict[str, Answer] = {}
    unknown = 0
    events = list(_events(text))
    for event in events:
        found = _found(event)
        specific = [one for one in found if not one[0].is_general]
        if not specific and len(event) > 1:  # a terminal or a mail may have divided a line
            joined = _found([" ".join(event)])
            specific = [one for one in joined if not one[0].is_general]
            found = found or joined
        for phrase, words in specific or found:
            answers.setdefault(phrase.words, Answer(f'"{words}"', phrase.meaning, phrase.codes))
        if not specific and not any(phrase.codes for phrase, _ in found):
            for name in classes_in("\n".join(reversed(event)))[:1]:
                classes.setdefault(name, Answer(name, *EXCEPTIONS[name]))
        unknown += not found and (len(events) == 1 or bool(re.search(r"\b(?:WARN|ERROR|FATAL)|Exception\b", event[0])))
    return Explanation(list(answers.values()), list(classes.values()), unknown)


def class_named(text: str) -> str | None:
    """The class of an exception that a text consists of, with or without package and "Exception"; None if it is anything else."""
    if not _BARE.fullmatch(text.strip()):
        return None
    word = text.strip().rstrip(":").rpartition(".")[2].lower()
    return next((name for name in (*EXCEPTIONS, *SILENT) if name.lower() in (word, f"{word}exception")), None)


def classes_in(text: str) -> list[str]:
    """The exceptions named in a text whose meaning is known, in its order."""
    return list(dict.fromkeys(name for name in _CLASS.findall(text) if name in EXCEPTIONS))


def is_line(text: str) -> bool:
    """Whether a text looks like a line of a log or an exception, rather than like a code or a few words about one."""
    return bool(_A_LINE.search(text.strip()) or _A_CLASS.fullmatch(text.strip())) or len(text.split()) > _MOST_WORDS


def _events(text: str) -> Iterator[list[str]]:
    """The lines of each event, without stack frames, with single spaces."""
    event: list[str] = []
    for whole in text.replace("\\n\\tat ", "\n\tat ").replace("\\nCaused by", "\nCaused by").splitlines():
        line = _PREFIX.sub("", whole, count=1) if _PREFIX.match(whole) else whole
        if _EVENT.match(line) and event:
            yield event
            event = []
        if line.strip() and not _FRAME.match(line):
            event.append(" ".join(line.split()))
    if event:
        yield event


def _found(lines: Sequence[str]) -> list[tuple[Phrase, str]]:
    """The phrases in lines, with the words that matched: those of the deepest cause first, else in the order of the lines."""
    found = [_phrases_in(line) for line in lines]
    if any(line.startswith(_CAUSE) for line in lines):
        found.reverse()
    return [one for several in found for one in several]


def _phrases_in(line: str) -> list[tuple[Phrase, str]]:
    """The phrases in a line, with the words that matched; of phrases that share words, the first of the tables."""
    lowered = _LEVEL.sub(lambda level: "*" * len(level[0]), line, count=1).lower()  # "ERROR Replaying" is no "error replaying"
    by_word = _phrases_by_word()
    likely = {one for word in {"", *_WORD.findall(lowered)} for one in by_word.get(word, ())}
    found: list[tuple[Phrase, str]] = []
    spans: list[tuple[int, int]] = []
    for number, words in sorted(likely, key=lambda one: (one[0], -len(one[1]))):
        match = _pattern(words).search(lowered)
        if match and not any(match.start() < end and start < match.end() for start, end in spans):
            spans.append(match.span())
            found.append((PHRASES[number], line[slice(*match.span())] if len(lowered) == len(line) else match[0]))
    return found


@functools.cache
def _phrases_by_word() -> dict[str, list[tuple[int, str]]]:
    """All alternatives in small letters, each with the number of its phrase, by its longest word that stands alone."""
    found: dict[str, list[tuple[int, str]]] = {}
    for number, phrase in enumerate(PHRASES):
        for words in phrase.words.lower().split("|"):
            alone = _WORD.findall(_BESIDE_GAP.sub(" ", words))
            found.setdefault(max(alone, key=len, default=""), []).append((number, words))
    return found


@functools.cache
def _pattern(words: str) -> re.Pattern[str]:
    """A phrase as a regular expression; its words are not parts of others."""
    text = "".join(_GAPS.get(part) or re.escape(part) for part in _GAP.split(words))
    before = r"(?<!\w)" if re.match(r"\w", words) else ""
    after = r"(?!\w)" if re.search(r"\w$", words) else ""
    return re.compile(before + text + after)
