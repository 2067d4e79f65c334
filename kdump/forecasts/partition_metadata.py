"""The topic id of a partition as a broker reads it when the log is loaded. Kafka: PartitionMetadataFile."""

from __future__ import annotations

import base64
import re

from kdump.errors import CorruptData
from kdump.forecasts.exceptions import ILLEGAL_ARGUMENT, NULL_POINTER, BrokerException, StorageFailure
from kdump.formats import file_name, partition_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.directory import Directory
    from kdump.releases.broker_startup import StartRules

_NAME = partition_metadata.NAME
_MAX_SIZE = 1 << 20
_ID_LENGTHS = (22, 24)  # without padding, and with all of it
_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def topic_id(directory: Directory, rules: StartRules) -> bytes | None:
    """The id, or None if there is no file. Raises StorageFailure or BrokerException if the file is malformed."""
    file = directory.files.get(_NAME)
    if file is None:
        return None
    try:
        lines = directory.read(file, 0, _MAX_SIZE).decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except UnicodeDecodeError:
        raise StorageFailure(f"{_NAME} contains bytes that are not text") from None
    if not lines[-1]:
        lines.pop()
    version = _value(lines, 0)
    try:
        number = file_name.parse_number(version, 32)
    except CorruptData:
        raise StorageFailure(f"the version in {_NAME} is not a number") from None
    if number < 0 or number and not rules.takes_newer_metadata:
        raise StorageFailure(f"{_NAME} has version {number}")
    found = _uuid(_value(lines, 1))
    if not any(found):
        raise StorageFailure(f"the topic id in {_NAME} is all zeros")
    return found


def _value(lines: list[str], row: int) -> str:
    """The part of a line after the colon."""
    if row >= len(lines):
        raise BrokerException(f"{_NAME} ends before line {row + 1}", NULL_POINTER)
    words = re.split(r":[ \t\n\x0b\f\r]+", lines[row])
    while len(words) > 1 and not words[-1]:
        words.pop()
    if len(words) != 2:
        raise StorageFailure(f"line {row + 1} of {_NAME} is not a name with a value")
    return words[1]


def _uuid(text: str) -> bytes:
    """The bytes of an id. Raises BrokerException if the text is not an id."""
    data = text.encode()
    digits = data.rstrip(b"=")
    if len(digits) == _ID_LENGTHS[0] and len(data) in _ID_LENGTHS and _ALPHABET.issuperset(digits):
        return base64.urlsafe_b64decode(digits + b"==")
    raise BrokerException(f"the topic id in {_NAME} is not a base64 UUID", ILLEGAL_ARGUMENT)
