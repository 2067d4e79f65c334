"""Batches and records from the library equal those that Kafka's own tool (4.3.1) printed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import kdump
from golden_outputs import stored
from golden_outputs.runs import CASES
from golden_outputs.stored import Golden

pytestmark = pytest.mark.both_kernels

RELEASE = "4.3.1"
BATCH_LINE = re.compile(r"^(?:baseOffset|offset): .*$", re.MULTILINE)
RECORD_LINE = re.compile(r"^\| (offset: -?\d+ .*)$", re.MULTILINE)


def _word(value: bool | None) -> str:
    return str(value).lower()


def _batch_line(batch: kdump.RecordBatch) -> str:
    """What Kafka's tool prints of a batch, or of a message of magic 0 or 1."""
    tail = f"size: {batch.size} magic: {batch.magic} compresscodec: {batch.compresscodec} crc: {batch.crc} "
    tail += f"isvalid: {_word(batch.isvalid)}"
    place = f"position: {batch.position} {batch.timestamp_type}: {batch.timestamp} "
    if batch.base_offset is None:
        return f"offset: {batch.last_offset} {place}{tail}"
    horizon = ".empty" if batch.delete_horizon_ms is None else f"[{batch.delete_horizon_ms}]"
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.count} "
        f"baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} "
        f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} "
        f"partitionLeaderEpoch: {batch.partition_leader_epoch} isTransactional: {_word(batch.is_transactional)} "
        f"isControl: {_word(batch.is_control)} deleteHorizonMs: OptionalLong{horizon} {place}{tail}"
    )


def _record_line(record: kdump.Record) -> str:
    """What Kafka's tool prints of a record, up to the key."""
    start = f"offset: {record.offset} {record.timestamp_type}: {record.timestamp} "
    start += f"keySize: {record.key_size} valueSize: {record.value_size}"
    if record.headers is None:
        return f"{start} isValid: {_word(record.isvalid)} crc: {record.crc}"
    keys = ",".join(key.decode("utf-8", "replace") for key, _ in record.headers)
    return f"{start} sequence: {record.sequence} headerKeys: [{keys}]"


def _contents(record: kdump.Record) -> str:
    """What Kafka's tool prints after that, with the end of the line; empty if the contents are not one line of ASCII."""
    if record.is_control:
        return f" endTxnMarker: {record.control_type} " if record.control_type in ("COMMIT", "ABORT") else " "
    contents = b"".join(data for data in (record.key, record.value) if data is not None)
    if not contents.isascii() or not contents.decode().isprintable():
        return ""
    key = "" if record.key is None else f" key: {record.key.decode()}"
    return f"{key}\n" if record.value is None else f"{key} payload: {record.value.decode()}\n"


class Part(NamedTuple):
    """What the tool printed for one log, and whether it reached the end."""

    path: Path
    text: str
    is_whole: bool


def _parts(golden: Golden) -> Iterator[Part]:
    text = golden.stdout.decode("utf-8", "replace")
    pieces = re.split(r"^Dumping (.*)\n", text, flags=re.MULTILINE)[1:]
    pairs = list(zip(pieces[::2], pieces[1::2], strict=True))
    for number, (name, printed) in enumerate(pairs):
        path = CASES / golden.case / name
        if path.suffix in (".log", ".checkpoint") and path.is_file():
            yield Part(path, printed, is_whole=number + 1 < len(pairs) or not golden.stderr)


def _goldens(*modes: tuple[str, ...]) -> list[Golden]:
    return [
        golden
        for golden in stored.read(RELEASE)
        if golden.arguments[-2:-1] == ("--files",) and golden.arguments[:-2] in modes and golden.exit_code == 0
    ]


def _same(ours: list[str], printed: list[str], *, is_damaged: bool, is_whole: bool) -> bool:
    """Whether two lists agree up to the place where one of them ends at damage."""
    if len(ours) < len(printed) and not is_damaged or len(ours) > len(printed) and is_whole:
        return False
    first_lines = ("".join(line.partition("\n")[:2]) for line in ours)  # a header key may hold an end of line
    return all(f"{line}\n".startswith(start) for start, line in zip(first_lines, printed, strict=False))


@pytest.mark.slow
def test_batches_are_those_that_kafka_prints() -> None:
    wrong, count = [], 0
    for golden in _goldens(()):
        for part in _parts(golden):
            lines, damage = [], None
            try:
                for batch in kdump.open(part.path):
                    lines.append(_batch_line(batch) + "\n")
            except kdump.CorruptData as error:
                damage = error
            printed = BATCH_LINE.findall(part.text)
            count += len(lines)
            if not _same(lines, printed, is_damaged=damage is not None, is_whole=part.is_whole):
                wrong.append((golden.case, part.path.name, damage))
            elif damage is not None and len(printed) > len(lines):
                following = printed[len(lines)]
                if f"position: {damage.position} " not in following and "isvalid: false" not in following:
                    wrong.append((golden.case, part.path.name, damage))
    assert wrong == []
    assert count > 5000


def test_records_are_those_that_kafka_prints() -> None:
    wrong, count, with_contents = [], 0, 0
    for golden in _goldens(("--print-data-log",)):
        for part in _parts(golden):
            lines, is_damaged = [], False
            try:
                for record in kdump.open(part.path).records():
                    lines.append(_record_line(record) + _contents(record))
                    with_contents += record.key is not None or record.value is not None
            except kdump.CorruptData:
                is_damaged = True
            printed = RECORD_LINE.findall(part.text)
            count += len(lines)
            if not _same(lines, printed, is_damaged=is_damaged, is_whole=part.is_whole):
                wrong.append((golden.case, part.path.name, len(lines), len(printed)))
    assert wrong == []
    assert count > 5000
    assert with_contents > count // 2
