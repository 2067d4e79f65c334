"""Checkpoints in lines of text: leader epochs of a partition, offsets of all partitions of a log directory.

    0                    the version
    2                    how many entries follow
    orders 3 1200        an entry a line, its fields apart by white space
    orders 4 80

Kafka: CheckpointFileWithFailureHandler, since 3.8.0 CheckpointFile.
"""

from __future__ import annotations

from functools import cache
from itertools import chain

from kdump.errors import CorruptData
from kdump.formats import file_name
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from kdump.binary.source import Source

    Values = tuple[int | str, ...]
    Fields = tuple[tuple[str, int], ...]

VERSION = 0

LEADER_EPOCHS = "leader-epoch-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
OFFSET_CHECKPOINTS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_START_OFFSETS, CLEANER_OFFSETS)

EPOCH_FIELDS = (("epoch", 32), ("start offset", 64))
"""The fields of an entry by name, and how many bits each number has; 0 for text."""

OFFSET_FIELDS = (("topic", 0), ("partition", 32), ("offset", 64))

_WINDOW_SIZE = 1 << 16
_MAX_LINE_SIZE = 1 << 12
_MAX_BAD_LINES = 1024
_MOST_SEARCHED = 64 << 20  # bytes, for one entry
_SHORT = 10  # digits, so that any number fits
_BLANK, _NUMBERS = rb"[\t\x0b\f ]+", rb"([+-]?[0-9]{1,9})[\t\x0b\f ]+([+-]?[0-9]{1,18})[\t\x0b\f ]*"
_ASCII = rb"(?:([!-~]+)" + _BLANK + rb")?" + _NUMBERS
"""An entry in ASCII with short numbers, with a topic or without; also with more blanks than a broker writes."""
_ASCII_LINES = {
    False: rb"(?:" + _NUMBERS + rb"\n)+",
    True: rb"(?:[!-~]+" + _BLANK + _NUMBERS + rb"\n)+",
}
"""Lines of such entries, one after the other, with a topic or without."""
_BLANKS = str.maketrans("\t\x0b\f", "   ")


@cache
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    import re  # as slow to load as a tenth of kdump, and most runs read no checkpoint

    return re.compile(pattern)


class Line(Declared):
    """A line: its number, counted from 1, where it starts and ends, and its entry or fault.

    `values` are those of an entry, or empty; then `fault` says what is wrong with the line, or with all lines:
    `checkpoint-version-unknown`, `checkpoint-line-malformed`, `checkpoint-count-mismatch` or `checkpoint-cut` (after the
    version). `is_number_wanted` is true if the line has as many fields as an entry, but a number is missing.
    """

    number: int
    start: int
    end: int
    values: Values = ()
    fault: CorruptData | None = None
    is_number_wanted: bool = False

    @property
    def is_reset(self) -> bool:
        """Whether a start of newer releases takes a checkpoint of offsets with this line for one without entries.

        Seen from 3.6.1 on; 3.0.0 takes the log directory offline. Kafka: LogManager.loadLogs resets all offsets after a
        NumberFormatException or an IllegalArgumentException (a negative count), but not after an IOException.
        """
        return self.is_number_wanted or (self.fault is not None and self.fault.values.get("expected", 0) < 0)

    def entries(self) -> Iterator[Values]:
        """The values of the entry, if it is one."""
        return iter((self.values,) if self.values else ())


class PlainLines(Declared):
    """Entries in ASCII with short numbers, one after the other: the number of the first line, and a list for each field."""

    first: int
    columns: Sequence[Sequence[int | str]]

    @classmethod
    def parse(cls, first: int, data: bytes, fields: Fields) -> PlainLines:
        """Those of some text."""
        words = data.decode().split()
        columns = (words[row :: len(fields)] for row in range(len(fields)))
        return cls(first, [list(map(int, column)) if bits else column for column, (_, bits) in zip(columns, fields, strict=True)])

    def entries(self) -> Iterator[Values]:
        """The values of each entry."""
        return zip(*self.columns, strict=True)

    def __len__(self) -> int:
        return len(self.columns[0])


class TextCheckpoint:
    """A checkpoint up to byte `end`; an empty file has no entries. `position` is how far it has been read."""

    def __init__(self, source: Source, fields: Fields, *, end: int | None = None) -> None:
        self.position = 0
        self._source = source
        self._fields = fields
        self._end = source.size if end is None else min(end, source.size)

    def lines(self) -> Iterator[Line]:
        """All entries and faults, in the order of the lines. Reading stops after very many bad lines."""
        return self._read(None)  # type: ignore[return-value]  # without a pattern, all come one by one

    def stretches(self) -> Iterator[Line | PlainLines]:
        """As `lines`, but entries in ASCII with short numbers, which is all that brokers write, come many at once."""
        return self._read(_compiled(_ASCII_LINES[len(self._fields) == len(OFFSET_FIELDS)]))

    def entries(self) -> Iterator[Values]:
        """The values of all entries; lines that are none are left out."""
        return chain.from_iterable(found.entries() for found in self.stretches())

    def _read(self, plain: re.Pattern[bytes] | None) -> Iterator[Line | PlainLines]:
        version: int | None = None
        expected: int | None = None
        found = bad = number = start = stop = 0
        for number, start, stop, data in _lines(self._source, self._end, plain):
            self.position = stop
            if number == 1:
                version = _number(data)
                if version is None:
                    yield _malformed(number, start, stop, "line 1 should be the version, but is not a number")
                elif version != VERSION:
                    message = f"version {version}; only {VERSION} is known"
                    yield Line(number, start, stop, fault=CorruptData("checkpoint-version-unknown", message, version=version))
            elif number == 2:
                expected = _number(data)
                if expected is None:
                    yield _malformed(number, start, stop, "line 2 should be the number of entries, but is not a number")
            elif data.endswith(b"\n"):
                several = PlainLines.parse(number, data, self._fields)
                found += len(several)
                yield several
            else:
                found += 1
                line = _entry(number, start, stop, data, self._fields)
                yield line
                bad += line.fault is not None
                if bad >= _MAX_BAD_LINES:
                    return
        if number == 1 and version is not None:
            yield Line(1, start, stop, fault=CorruptData("checkpoint-cut", "the file ends after the version, without a count"))
        if expected is not None and found != expected and self._end == self._source.size:
            follow = "entry follows" if expected == 1 else "entries follow"
            message = f"line 2 says that {expected:,} {follow}, but {found:,} {'does' if found == 1 else 'do'}"
            yield Line(2, 0, stop, fault=CorruptData("checkpoint-count-mismatch", message, expected=expected, found=found))


def packed(entries: Sequence[Values]) -> bytes:
    """The bytes of a checkpoint with these entries, each a line of values that are separated by a space."""
    lines = [str(VERSION), str(len(entries)), *(" ".join(map(str, values)) for values in entries)]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def last_entry(source: Source, fields: Fields) -> Values:
    """The values of the last line; none if it is no entry."""
    data = source.read(max(source.size - _MAX_LINE_SIZE, 0), _MAX_LINE_SIZE).rstrip(b"\n\r")
    return _entry(0, 0, 0, data[data.rfind(b"\n") + 1 :], fields).values


def fault_of(source: Source, fields: Fields) -> CorruptData | None:
    """The first thing that is wrong with a checkpoint; None if all of it can be read."""
    found = TextCheckpoint(source, fields).stretches()
    return next((line.fault for line in found if isinstance(line, Line) and line.fault is not None), None)


def entry_of(source: Source, topic: str, partition: int) -> Line | None:
    """The entry of one partition, found without parsing all others; None if it is missing or malformed."""
    wanted = f"\n{topic} {partition} ".encode("utf-8", "surrogateescape")
    position, rest = 0, b""
    while position < min(source.size, _MOST_SEARCHED):
        data = rest + source.read(position, 1 << 20)
        base = position - len(rest)
        if len(data) == len(rest):
            return None
        at = data.find(wanted)
        if at >= 0:
            start = base + at + 1
            raw = source.read(start, _MAX_LINE_SIZE)
            end = raw.find(b"\n")
            raw = raw[: end if end >= 0 else len(raw)]
            entry = _entry(0, start, start + len(raw), raw.rstrip(b"\r"), OFFSET_FIELDS)
            return entry if entry.values else None
        position = base + len(data)
        rest = data[-len(wanted) :]
    return None


def _number(data: bytes) -> int | None:
    try:
        return file_name.parse_number(_text(data), 32)
    except CorruptData:
        return None


def _malformed(number: int, start: int, end: int, message: str, *, is_number_wanted: bool = False) -> Line:
    fault = CorruptData("checkpoint-line-malformed", message)
    return Line(number, start, end, fault=fault, is_number_wanted=is_number_wanted)


def _entry(number: int, start: int, end: int, data: bytes, fields: Fields) -> Line:
    entry = _compiled(_ASCII).fullmatch(data)
    if entry is not None:
        topic, first, second = entry.groups()
        if topic is None and len(fields) == len(EPOCH_FIELDS):
            return Line(number, start, end, (int(first), int(second)))
        if topic is not None and len(fields) == len(OFFSET_FIELDS):
            return Line(number, start, end, (topic.decode(), int(first), int(second)))
    return _any_entry(number, start, end, data, fields)


def _any_entry(number: int, start: int, end: int, data: bytes, fields: Fields) -> Line:
    try:
        found = words(_text(data))
    except CorruptData as fault:
        return _malformed(number, start, end, f"line {number}: {fault.message}")
    if len(found) != len(fields):
        return _malformed(number, start, end, f"line {number} has {len(found)} word{'s' * (len(found) != 1)}, not {len(fields)}")
    values: list[int | str] = []
    for word, (name, bits) in zip(found, fields, strict=True):
        try:
            values.append(parsed(word, bits) if bits else word)
        except CorruptData:
            message = f"the {name} in line {number} is not a number of {bits} bits"
            return _malformed(number, start, end, message, is_number_wanted=True)
    return Line(number, start, end, tuple(values))


def parsed(word: str, bits: int) -> int:
    """The number that a word is. Raises CorruptData where it is none, or does not fit into these bits."""
    if len(word) < _SHORT and word.isascii() and word.isdecimal():
        return int(word)
    return file_name.parse_number(word, bits)


def _text(data: bytes) -> str:
    if b"\0" in data:
        raise CorruptData("checkpoint-line-malformed", "there are zero bytes in place of text")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CorruptData("checkpoint-line-malformed", "there are bytes that are not text") from None


def words(text: str) -> list[str]:
    """The words of a line as Java splits them: after a leading blank, the first word is the second."""
    found = text.translate(_BLANKS).split(" ") if text else []
    return found if all(found) else [found[0], *filter(None, found[1:])]


def _lines(source: Source, size: int, plain: re.Pattern[bytes] | None) -> Iterator[tuple[int, int, int, bytes]]:
    """The number, start, end (after its line end) and text of each line. Very long lines are cut.

    Lines after the second that the pattern matches come together, as they are: with the end of the last.
    """
    number, start, data = 0, 0, b""
    position = 0
    while position < size or data:
        end = data.find(b"\n")
        if end < 0 and position < size and len(data) < _MAX_LINE_SIZE:
            more = source.read(position, min(_WINDOW_SIZE, size - position))
            if not more:
                size = position  # the file was cut off meanwhile
                continue
            position += len(more)
            data += more
            continue
        taken = 0
        while end >= 0 or len(data) - taken >= _MAX_LINE_SIZE or position >= size and taken < len(data):
            if plain is not None and number >= 2 and (several := plain.match(data, taken)) is not None:
                yield number + 1, start + taken, start + several.end(), several[0]
                number += several[0].count(b"\n")
                taken = several.end()
                end = data.find(b"\n", taken)
                continue
            stop = end + 1 if end >= 0 else min(taken + _MAX_LINE_SIZE, len(data))
            number += 1
            line = data[taken:stop]
            yield number, start + taken, start + stop, line.rstrip(b"\r\n")
            taken = stop
            end = data.find(b"\n", taken)
        start += taken
        data = data[taken:]
