"""Finds out what lines of a log mean: as they are pasted, with times, loggers, and stack traces."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from kdump.checks.catalogue.lines import clients, companions, directories, quorum, replication, segments
from kdump.checks.catalogue.lines.exceptions import EXCEPTIONS, SILENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kdump.checks.catalogue.lines.phrase import Phrase

PHRASES: tuple[Phrase, ...] = (
    *companions.PHRASES,
    *segments.PHRASES,
    *quorum.PHRASES,
    *replication.PHRASES,
    *clients.PHRASES,
    *directories.PHRASES,
)
"""All phrases; of two with the same words of a line, the first is meant."""

_EVENT = re.compile(r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d[:.]\d\d|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b|\{\"|%\d\|\d+)")
"""The start of a line that is not a continuation of the one before."""
_FRAME = re.compile(r"\s*(?:at [\w.$<>/@-]+\(|\.\.\. \d+ more)")
_CAUSE = "Caused by:"
_GAPS = {"{}": ".{0,400}?", "{n}": r"-?\d[\d,.]*"}
_GAP = re.compile(r"(\{n?\})")
_CLASS = re.compile(r"(?<!\w)[A-Z]\w*(?:Exception|Error)\b")
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
        if not found and len(event) > 1:
            found = _found([" ".join(event)])  # a line that a terminal or a mail divided
        specific = [one for one in found if not one[0].is_general]
        for phrase, words in specific or found:
            answers.setdefault(phrase.words, Answer(f'"{words}"', phrase.meaning, phrase.codes))
        if not specific:
            for name in classes_in("\n".join(reversed(event)))[:1]:
                classes.setdefault(name, Answer(name, *EXCEPTIONS[name]))
        unknown += not found and (len(events) == 1 or bool(re.search(r"\b(?:WARN|ERROR|FATAL)|Exception\b", event[0])))
    return Explanation(list(answers.values()), list(classes.values()), unknown)


def class_named(text: str) -> str | None:
    """The class of an exception that a text consists of, with or without its package; None if it is anything else."""
    if not _BARE.fullmatch(text.strip()):
        return None
    word = text.strip().rstrip(":").rpartition(".")[2].lower()
    return next((name for name in (*EXCEPTIONS, *SILENT) if name.lower() == word), None)


def classes_in(text: str) -> list[str]:
    """The exceptions named in a text whose meaning is known, in its order."""
    return list(dict.fromkeys(name for name in _CLASS.findall(text) if name in EXCEPTIONS))


def is_wrapped(text: str) -> bool:
    """Whether a text is an exception, or several lines: something else may have caused it."""
    return _CAUSE in text or "\n" in text.strip()


def is_line(text: str) -> bool:
    """Whether a text looks like a line of a log, rather than like a code or a few words about one."""
    return bool(_A_LINE.search(text.strip())) or len(text.split()) > _MOST_WORDS


def _events(text: str) -> Iterator[list[str]]:
    """The lines of each event, without stack frames, with single spaces."""
    event: list[str] = []
    for line in text.replace("\\n\\tat ", "\n\tat ").replace("\\nCaused by", "\nCaused by").splitlines():
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
    lowered = line.lower()
    found: list[tuple[Phrase, str]] = []
    spans: list[tuple[int, int]] = []
    for phrase in PHRASES:
        span = next(filter(None, (_span(words, texts, lowered) for words, texts in _alternatives(phrase.words))), None)
        if span and not any(span[0] < end and start < span[1] for start, end in spans):
            spans.append(span)
            found.append((phrase, line[span[0] : span[1]] if len(lowered) == len(line) else phrase.words))
    return found


@functools.cache
def _alternatives(words: str) -> list[tuple[str, list[str]]]:
    """The alternatives of a phrase in small letters, each with the texts between its gaps."""
    return [(one, _GAP.split(one)[::2]) for one in words.lower().split("|")]


def _span(words: str, texts: Sequence[str], line: str) -> tuple[int, int] | None:
    """Where words are in a line in small letters."""
    if not all(text in line for text in texts):  # nearly always, and much cheaper than the pattern
        return None
    found = _pattern(words).search(line)
    return found.span() if found else None


@functools.cache
def _pattern(words: str) -> re.Pattern[str]:
    """A phrase as a regular expression; its words are not parts of others."""
    text = "".join(_GAPS.get(part) or re.escape(part) for part in _GAP.split(words))
    before = r"(?<!\w)" if re.match(r"\w", words) else ""
    after = r"(?!\w)" if re.search(r"\w$", words) else ""
    return re.compile(before + text + after)
