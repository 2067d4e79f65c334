"""The leader epochs of a partition, as a broker reads them and adds those of recovered batches.

Kafka: LeaderEpochFileCache, LeaderEpochCheckpointFile.
"""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.forecasts.exceptions import ILLEGAL_ARGUMENT, NUMBER_FORMAT, BrokerException, StorageFailure
from kdump.formats import file_name, text_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.directory import Directory
    from kdump.releases.broker_startup import StartRules

_MAX_SIZE = 64 << 20
_VERSION = 0


class LeaderEpochs:
    """Epochs and their start offsets, ascending. Raises StorageFailure or BrokerException for a malformed file."""

    def __init__(self, directory: Directory, rules: StartRules) -> None:
        self._entries: list[tuple[int, int]] = []
        name = text_checkpoint.LEADER_EPOCHS
        file = directory.create(name)
        for epoch, start_offset in _entries(directory.read(file, 0, _MAX_SIZE), rules):
            self.assign(epoch, start_offset)

    def note(self, epoch: int, first_offset: int) -> None:
        """Add the epoch of a batch if it is later than all others."""
        last_epoch, _ = self._entries[-1] if self._entries else (-1, 0)
        if epoch > last_epoch:
            self.assign(epoch, first_offset)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Add an epoch, and remove the epochs that contradict it."""
        if epoch < 0 or start_offset < 0:
            raise BrokerException(f"leader epoch {epoch} that starts at offset {start_offset:,} is impossible", ILLEGAL_ARGUMENT)
        if self._entries:
            last_epoch, last_start = self._entries[-1]
            if epoch == last_epoch and start_offset >= last_start:
                return
        while self._entries and (self._entries[-1][0] >= epoch or self._entries[-1][1] >= start_offset):
            self._entries.pop()
        self._entries.append((epoch, start_offset))


def _entries(data: bytes, rules: StartRules) -> list[tuple[int, int]]:
    """All entries. A file that ends before the count has none."""
    lines = _lines(data)
    if not lines:
        return []
    if _header(lines[0]) != _VERSION:
        raise StorageFailure(f"{text_checkpoint.LEADER_EPOCHS} has version {lines[0][:20]}")
    if len(lines) == 1:
        return []
    count = _header(lines[1])
    if count < 0 and not rules.bad_numbers_of_epochs_are_lines:
        raise BrokerException(f"{text_checkpoint.LEADER_EPOCHS} says that it has {count} epochs", ILLEGAL_ARGUMENT)
    entries = [_entry(line, number, rules) for number, line in enumerate(lines[2:], start=3)]
    if len(entries) != count:
        raise StorageFailure(f"{text_checkpoint.LEADER_EPOCHS} says that it has {count:,} epochs, but has {len(entries):,}")
    return entries


def _lines(data: bytes) -> list[str]:
    """The lines of a text as Java reads them: each ends with a carriage return, a line feed or both."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise StorageFailure(f"{text_checkpoint.LEADER_EPOCHS} contains bytes that are not text") from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines


def _header(line: str) -> int:
    try:
        return file_name.parse_number(line, 32)
    except CorruptData:
        raise StorageFailure(f"a line of {text_checkpoint.LEADER_EPOCHS} is not a number") from None


def _entry(line: str, number: int, rules: StartRules) -> tuple[int, int]:
    words = text_checkpoint.words(line)
    if len(words) != len(text_checkpoint.EPOCH_FIELDS):
        raise StorageFailure(f"line {number} of {text_checkpoint.LEADER_EPOCHS} has {len(words)} words, not two")
    try:
        return file_name.parse_number(words[0], 32), file_name.parse_number(words[1], 64)
    except CorruptData:
        reason = f"line {number} of {text_checkpoint.LEADER_EPOCHS} does not contain two numbers"
        if rules.bad_numbers_of_epochs_are_lines:
            raise StorageFailure(reason) from None
        raise BrokerException(reason, NUMBER_FORMAT) from None
