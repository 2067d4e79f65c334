"""Numbers and times in the words of findings."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.decoders.cluster_topics import Topics
    from kdump.errors import CorruptData

_OPENING = frozenset(
    (
        *("a", "after", "all", "an", "and", "another", "any", "at", "because", "before", "bytes", "codec"),
        *("consumers", "damage", "each", "entry", "even", "every", "from", "if", "in", "invalid", "it", "its"),
        *("line", "magic", "message", "neither", "no", "none", "nothing", "of", "offset", "offsets", "one", "only"),
        *("other", "record", "records", "several", "some", "somebody", "that", "the", "their", "there", "these"),
        *("they", "this", "those", "to", "two", "under", "unknown", "version", "was", "what", "when", "where", "whether"),
        *("which", "while", "with", "without"),
    )
)
"""Words of prose that a sentence may begin with. Everything else there may be a name, which is written as it is."""


def capitalized(text: str) -> str:
    """A text with a capital letter if it begins with a word of prose; a name or value that it begins with stays as it is."""
    return text[0].upper() + text[1:] if text.partition(" ")[0] in _OPENING else text


def as_sentence(text: str) -> str:
    """A text as a sentence: capitalized, with a full stop."""
    text = capitalized(text)
    return text if text.endswith((".", "!", "?")) else text + "."


def words_of(fault: CorruptData) -> str:
    """The message of a reader's fault, with thousands separators."""
    import re  # slow to load, and most logs are sound

    return re.sub(r"\d{4,}", lambda number: f"{int(number[0]):,}", fault.message.rstrip(": "))


def counted(count: int, singular: str, plural: str = "") -> str:
    """A number with its noun: `1 entry`, `1,200 entries`."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def offset_range(first: int, last: int) -> str:
    """One offset, or several: `offset 5`, `offsets 5 to 1,200`."""
    return number_range("offset", first, last)


def byte_range(start: int, end: int) -> str:
    """Bytes of a file, `end` exclusive: `byte 5`, `bytes 5 to 1,200`, or where they would be if there are none."""
    return number_range("byte", start, max(start, end - 1))


def number_range(what: str, first: int, last: int) -> str:
    """One number of a kind, or several: `sequence 5`, `sequences 5 to 1,200`."""
    return f"{what}{'' if first == last else 's'} {span(first, last)}"


def span(first: int, last: int) -> str:
    """One number, or several: `5`, `5 to 1,200`; `5 down to 3`, if a header says so."""
    if first == last:
        return f"{first:,}"
    return f"{first:,} {'to' if first < last else 'down to'} {last:,}"


def ranges_text(what: str, ranges: Sequence[Sequence[int]], most: int) -> str:
    """Such as `offsets 3, 11 to 1,200 and 4 more ranges`; at most `most` are named."""
    named = ", ".join(span(first, last) for first, last in ranges[:most])
    more = f" and {counted(len(ranges) - most, 'more range')}" if len(ranges) > most else ""
    is_one = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return f"{what}{'' if is_one else 's'} {named}{more}"


def time(milliseconds: int) -> str:
    """A timestamp in UTC; a number if no calendar has a date for it."""
    from datetime import UTC, datetime  # slow to load, and rarely wanted

    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03} UTC"


def moment(milliseconds: int) -> str:
    """A timestamp in UTC with its number; only the number where no calendar has a date for it, or it means none."""
    if milliseconds < 0:
        return str(milliseconds)
    from datetime import UTC, datetime, timedelta  # slow to load, and rarely wanted

    try:
        date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(milliseconds)
    fraction = f".{milliseconds % 1000:03}" if milliseconds % 1000 else ""
    return f"{date:%Y-%m-%d %H:%M:%S}{fraction} UTC ({milliseconds})"


def duration(milliseconds: int) -> str:
    """A span of time in the largest unit of which it has two or more."""
    for unit, size in (("day", 24 * 3600 * 1000), ("hour", 3600 * 1000), ("minute", 60 * 1000), ("second", 1000)):
        if milliseconds >= 2 * size:
            return counted(milliseconds // size, unit)
    return f"{milliseconds:,} ms"


def metadata_words(topics: Topics) -> str:
    """Which metadata says something, and how far it reaches: `by d1/__cluster_metadata-0, up to offset 4, 2026-...`."""
    when = f", {time(topics.timestamp)}" if topics.timestamp >= 0 else ""
    return f"by {topics.path}, up to offset {topics.last_offset:,}{when}"
