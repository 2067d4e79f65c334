"""Segments of other brokers and databases, which look like damaged ones of Kafka and must not be judged or mended as such.

Redpanda names a segment BASE-TERM-v1.log. Its batches are Kafka's but for the header, which is of 61 bytes, little-endian:

    header crc: 4, size in bytes: 4, base offset: 8, type: 1, crc: 4, attributes: 2, last offset delta: 4, first timestamp: 8,
    max timestamp: 8, producer id: 8, producer epoch: 2, base sequence: 4, record count: 4

The header crc is a CRC-32C of the 57 bytes after it. Redpanda: model::record_batch_header.

RocksDB, in which Kafka Streams keeps its state, names its log NUMBER.log, of six digits or more, beside a file CURRENT.
Logs of BookKeeper, where Pulsar has its messages (0.log), and of ActiveMQ (db-1.log) say at their start whose they are.
"""

from __future__ import annotations

import os
import re
from struct import Struct

from kdump.binary import system
from kdump.binary.checksums import crc32c_for
from kdump.binary.source import WINDOW_SIZE, Source
from kdump.errors import Unreadable
from kdump.formats import file_name

CODE = "foreign-segment"
REDPANDA, ROCKSDB = "Redpanda", "RocksDB"

_CRC = Struct("<I")
_HEADER_SIZE = 61
_REDPANDA_NAME = re.compile(r"\d+-\d+-v\d+\.log")
_KAFKAS_NAME = re.compile(r"\d{20}\.log")
_ROCKSDB_NAME = re.compile(r"\d{6,19}\.log")
_MAYBE_HEADER = re.compile(rb"(?=.{7}[\x00-\x07].{7}\x00[\x01-\x7f])", re.DOTALL)
"""A size below 128 MiB, an offset below 2^56, a type: what to compute checksums for. Most bytes are no such place."""
_STARTS = {"BookKeeper": (0, b"BKLO"), "ActiveMQ": (5, b"WRITE BATCH")}
_MAX_LOGS = 8  # of a directory, that are opened to find out whose it is


def broker_of(source: Source, name: str) -> str:
    """Whose segment a file is, if not Kafka's; empty if it may be Kafka's.

    A header at its start that its checksum confirms says so, whatever the name; with a name as Redpanda gives it, one anywhere
    in the first window. A log of RocksDB, which may be empty, is known by its name and by what is beside it.
    """
    if _ROCKSDB_NAME.fullmatch(name) and _is_of_rocksdb(os.path.dirname(source.path)):
        return ROCKSDB
    if source.size < _HEADER_SIZE:
        return ""
    head = source.read(0, _HEADER_SIZE)
    if _is_header(head, 0):
        return REDPANDA
    for broker, (at, start) in _STARTS.items():
        if head.startswith(start, at):
            return broker
    if not _REDPANDA_NAME.fullmatch(name):
        return ""
    window = source.read(0, WINDOW_SIZE)
    return REDPANDA if any(_is_header(window, found.start()) for found in _MAYBE_HEADER.finditer(window)) else ""


def sentence(broker: str) -> str:
    """What is said of such a file."""
    return f"a segment of {broker}, not of Kafka: not examined"


def require_kafka(source: Source) -> None:
    """Raises Unreadable for a segment of another broker."""
    broker = broker_of(source, os.path.basename(source.path))
    if broker:
        raise Unreadable(CODE, sentence(broker), path=source.path)


def require_kafka_directory(path: str) -> None:
    """Raises Unreadable, with the path of a segment, for a directory of another broker's segments."""
    found = in_directory(path)
    if found is not None:
        name, broker = found
        raise Unreadable(CODE, sentence(broker), path=os.path.join(path, name))


def require_kafka_path(path: str) -> None:
    """Raises Unreadable, like `require_kafka`, for a file that is a segment of another broker; anything else passes."""
    broker = "" if system.is_directory(path) else _broker_at(path, os.path.basename(path))
    if broker:
        raise Unreadable(CODE, sentence(broker), path=path)


def in_directory(path: str, *, is_by_name: bool = False) -> tuple[str, str] | None:
    """The first segment in a directory of another broker's, with that broker; None if a log may be Kafka's, or there is none.

    If `is_by_name`, at least one has to have a name that Kafka's brokers do not give. Raises Unreadable if the directory cannot
    be listed.
    """
    logs = sorted(
        (name for name in system.names(path) if name.endswith(file_name.LOG)), key=lambda name: not _REDPANDA_NAME.fullmatch(name)
    )
    if is_by_name and (not logs or _KAFKAS_NAME.fullmatch(logs[0])):
        return None
    first: tuple[str, str] | None = None
    for name in logs[:_MAX_LOGS]:
        broker = _broker_at(os.path.join(path, name), name)
        if broker:
            first = first or (name, broker)
        elif not _REDPANDA_NAME.fullmatch(name):
            return None
    return first


def _broker_at(path: str, name: str) -> str:
    try:
        with Source(path) as source:
            return broker_of(source, name)
    except Unreadable:
        return ""  # which is reported by those who read it


def _is_of_rocksdb(directory: str) -> bool:
    try:
        return system.has_name(os.path.join(directory, "CURRENT"))
    except Unreadable:
        return False


def _is_header(data: bytes, at: int) -> bool:
    crc: int = _CRC.unpack_from(data, at)[0]
    return crc32c_for(_HEADER_SIZE)(data[at + _CRC.size : at + _HEADER_SIZE]) == crc
