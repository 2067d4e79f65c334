"""The leader epochs of a partition, as a broker reads them and adds those of recovered batches.

Kafka: LeaderEpochFileCache, LeaderEpochCheckpointFile.
"""

from __future__ import annotations

import codecs
import re
from io import IncrementalNewlineDecoder
from itertools import chain

from kdump.errors import CorruptData
from kdump.forecasts.exceptions import ILLEGAL_ARGUMENT, NUMBER_FORMAT, BrokerException, StorageFailure
from kdump.formats import file_name, text_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.forecasts.directory import Directory, File
    from kdump.releases.broker_startup import StartRules

_VERSION = 0
_HEADER_LINES = 2
_WINDOW_SIZE = 16 << 10
_LONG_LINE = 1 << 16  # characters
_PLAIN = re.compile(r"(?:[0-9]{1,9}+ [0-9]{1,18}+\n)++")  # all that brokers write
_BLANKS = re.compile(r"[ \t\x0b\x0c]+")
_ZEROS = re.compile(r"((?:^| )[+-]?)0+")
_LONG_WORD = re.compile(r"([^ ]{1024})[^ ]+")  # no number, where it has no leading zeros
_THREE_WORDS = re.compile(r"[ \t\x0b\x0c]*(?:[^ \t\x0b\x0c]+[ \t\x0b\x0c]+){3}")


class LeaderEpochs:
    """The last epoch of a partition. Raises StorageFailure or BrokerException for a malformed file.

    A broker keeps all epochs, but what it adds depends on `last_epoch` only; -1 if there is none.
    """

    def __init__(self, directory: Directory, rules: StartRules) -> None:
        self.last_epoch = -1
        self._read(directory, directory.create(text_checkpoint.LEADER_EPOCHS), rules)

    def note(self, epoch: int, first_offset: int) -> None:
        """Add the epoch of a batch if it is later than all others."""
        if epoch > self.last_epoch:
            self._assign(epoch, first_offset)

    def _assign(self, epoch: int, start_offset: int) -> None:
        if epoch < 0 or start_offset < 0:
            raise BrokerException(f"leader epoch {epoch} that starts at offset {start_offset:,} is impossible", ILLEGAL_ARGUMENT)
        self.last_epoch = epoch

    def _read(self, directory: Directory, file: File, rules: StartRules) -> None:
        """Read all entries. A file that ends before the count has none. All lines are read before an entry is looked at."""
        _check_text(directory, file)
        stretches = _stretches(directory, file)
        first: list[str] = []
        for lines in stretches:
            first += lines
            if len(first) >= _HEADER_LINES:
                break
        if first and _header(first[0]) != _VERSION:
            raise StorageFailure(f"{text_checkpoint.LEADER_EPOCHS} has version {first[0][:20]}")
        if len(first) < _HEADER_LINES:
            return
        count = _header(first[1])
        if count < 0 and not rules.bad_numbers_of_epochs_are_lines:
            raise BrokerException(f"{text_checkpoint.LEADER_EPOCHS} says that it has {count} epochs", ILLEGAL_ARGUMENT)
        impossible: BrokerException | None = None
        found = 0
        for lines in chain((first[_HEADER_LINES:],), stretches):
            if _PLAIN.fullmatch("\n".join(lines) + "\n"):
                found += len(lines)
                self.last_epoch = int(lines[-1].partition(" ")[0])
                continue
            for line in lines:
                found += 1
                entry = _entry(line, found + _HEADER_LINES, rules)
                try:
                    self._assign(*entry)
                except BrokerException as error:
                    impossible = impossible or error
        if found != count:
            raise StorageFailure(f"{text_checkpoint.LEADER_EPOCHS} says that it has {count:,} epochs, but has {found:,}")
        if impossible is not None:
            raise impossible


def _check_text(directory: Directory, file: File) -> None:
    decoder = codecs.getincrementaldecoder("utf_8")()
    try:
        for window in _windows(directory, file):
            decoder.decode(window)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise StorageFailure(f"{text_checkpoint.LEADER_EPOCHS} contains bytes that are not text") from None


def _windows(directory: Directory, file: File) -> Iterator[bytes]:
    position = 0
    while window := directory.read(file, position, _WINDOW_SIZE):
        yield window
        position += len(window)


def _stretches(directory: Directory, file: File) -> Iterator[list[str]]:
    """The lines of a text as Java reads them, many at a time: each ends with a carriage return, a line feed or both."""
    decoder = IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf_8")(), translate=True)
    rest = ""
    for window in _windows(directory, file):
        *lines, rest = (rest + decoder.decode(window)).split("\n")
        yield lines
        if len(rest) > _LONG_LINE:
            rest = _shortened(rest)
    *lines, rest = (rest + decoder.decode(b"", final=True)).split("\n")
    yield [*lines, rest] if rest else lines


def _shortened(line: str) -> str:
    """A line without blanks, zeros and words that do not matter: its numbers, or why it has none, stay the same."""
    three_words = _THREE_WORDS.match(line)
    if three_words is not None:
        line = three_words[0]
    return _LONG_WORD.sub(r"\1", _ZEROS.sub(r"\g<1>0", _BLANKS.sub(" ", line)))


def _header(line: str) -> int:
    try:
        return file_name.parse_number(line, 32)
    except CorruptData:
        raise StorageFailure(f"a line of {text_checkpoint.LEADER_EPOCHS} is not a number") from None


def _entry(line: str, number: int, rules: StartRules) -> tuple[int, int]:
    words = text_checkpoint.words(line)
    if len(words) != len(text_checkpoint.EPOCH_FIELDS):
        count = f"{len(words)} words, not two" if len(words) < len(text_checkpoint.EPOCH_FIELDS) else "more than two words"
        raise StorageFailure(f"line {number} of {text_checkpoint.LEADER_EPOCHS} has {count}")
    try:
        return text_checkpoint.parsed(words[0], 32), text_checkpoint.parsed(words[1], 64)
    except CorruptData:
        reason = f"line {number} of {text_checkpoint.LEADER_EPOCHS} does not contain two numbers"
        if rules.bad_numbers_of_epochs_are_lines:
            raise StorageFailure(reason) from None
        raise BrokerException(reason, NUMBER_FORMAT) from None
