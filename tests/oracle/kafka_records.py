"""Reads logs, and filters batches as the log cleaner does, with Kafka's own record classes.

python -m tests.oracle.kafka_records --remake     records again what the cleaner of 4.3.1 makes of small batches
"""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.builders.records import TIMESTAMP, batch, record, transaction_marker
from tests.oracle import kafka_tool
from tests.oracle.jvm import Jvm, NoAnswer

JAVA_SOURCE = Path(__file__).with_name("records") / "KafkaRecords.java"
RECORDED = Path(__file__).with_name("records") / "retained.jsonl"
RELEASE = "4.3.1"
SECONDS_PER_LINE = 120


class KafkaRecord(NamedTuple):
    """A record as Kafka reads it; headers are text."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: str
    sequence: int
    producer_id: int
    producer_epoch: int
    leader_epoch: int
    flags: str
    timestamp_type: str
    codec: str

    @property
    def is_control(self) -> bool:
        return "c" in self.flags


class KafkaRecords(contextlib.AbstractContextManager["KafkaRecords"]):
    """A JVM with the record classes of a release."""

    def __init__(self, release: str = RELEASE) -> None:
        class_path = os.pathsep.join([str(kafka_tool.fetch(release))])
        classes = compiled(class_path)
        command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{classes}{os.pathsep}{class_path}", JAVA_SOURCE.stem]
        self._jvm = Jvm(command, kafka_tool.environment(), errors=None)

    def __exit__(self, *exception: object) -> None:
        self._jvm.end()

    def filtered(self, batches: bytes, kept: Collection[int]) -> bytes:
        self._send(f"filter {batches.hex()} {','.join(map(str, kept))}")
        return bytes.fromhex(self._line())

    def read(self, log: Path) -> Iterator[KafkaRecord]:
        """The records of a log. Raises OracleError if Kafka cannot read it."""
        self._send(f"read {log}")
        while (line := self._line()) != ".":
            offset, timestamp, key, value, headers, sequence, producer_id, epoch, leader_epoch, *words = line.split(" ")
            numbers = (int(sequence), int(producer_id), int(epoch), int(leader_epoch))
            flags, timestamp_type, codec = words
            yield KafkaRecord(
                int(offset), int(timestamp), _bytes(key), _bytes(value), headers, *numbers, flags, timestamp_type, codec
            )

    def _send(self, request: str) -> None:
        try:
            self._jvm.send(f"{request}\n".encode())
        except NoAnswer as error:
            raise kafka_tool.OracleError(f"Kafka's record classes: {error}") from error

    def _line(self) -> str:
        try:
            return self._jvm.read_line(SECONDS_PER_LINE)
        except NoAnswer as error:
            raise kafka_tool.OracleError(f"Kafka's record classes: {error}") from error


def compiled(class_path: str) -> Path:
    """Compile the source, which needs Kafka's classes."""
    return kafka_tool.compiled(JAVA_SOURCE, class_path)


def why_not_available(release: str = RELEASE) -> str | None:
    """What is missing to read with this release; None if nothing is."""
    return kafka_tool.why_not_available(release) or kafka_tool.why_not(lambda: compiled(kafka_tool.fetch(release)))


def cases() -> Iterator[tuple[str, bytes, list[int]]]:
    """Name, a batch, and the offsets of the records that are kept.

    None has a tombstone, for which the cleaner would set a delete horizon. All have magic 2: the cleaner of 4.3.1 turns older
    messages into such batches.
    """
    records = [
        record(key=b"a", value=b"1", timestamp=TIMESTAMP + 5),
        record(key=b"b", value=b"2", timestamp=TIMESTAMP + 90_000, headers=[("h", b"x"), ("empty", b""), ("null", None)]),
        record(key=None, value=b"", timestamp=TIMESTAMP - 3),
        record(key=b"", value=b"4" * 200, timestamp=TIMESTAMP + 7),
    ]
    keeping = {"first": [10], "last": [13], "middle": [11, 12], "ends": [10, 13], "none": [], "all": [10, 11, 12, 13]}
    for name, kept in keeping.items():
        yield f"plain-{name}", batch(records=records, base_offset=10, partition_leader_epoch=3), kept
        yield f"appended-{name}", batch(records=records, base_offset=10, timestamp_type="LogAppendTime"), kept
        producer = {"producer_id": 77, "producer_epoch": 2, "base_sequence": 0x7FFFFFFE}
        yield f"transactional-{name}", batch(records=records, base_offset=10, is_transactional=True, **producer), kept  # type: ignore[arg-type]  # numbers
        yield f"horizon-{name}", batch(records=records, base_offset=10, delete_horizon_ms=TIMESTAMP + 1_000), kept
        yield f"sparse-{name}", batch(records=records, base_offset=10, last_offset_delta=20), kept
        yield f"no-times-{name}", batch(records=[record(value=b"v", timestamp=-1)] * 4, base_offset=10, base_timestamp=-1), kept
    yield "marker-none", transaction_marker(base_offset=10, producer_id=77, producer_epoch=2), []
    yield "marker-all", transaction_marker(base_offset=10, producer_id=77, producer_epoch=2, is_commit=False), [10]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.kafka_records", description=__doc__)
    parser.add_argument("--remake", action="store_true", required=True)
    parser.parse_args(arguments)
    if missing := why_not_available():
        print(missing, file=sys.stderr)
        return 2
    with KafkaRecords() as kafka:
        lines = [
            json.dumps({"name": name, "batches": data.hex(), "kept": kept, "filtered": kafka.filtered(data, kept).hex()})
            for name, data, kept in cases()
        ]
    RECORDED.write_text("\n".join(lines) + "\n")
    return 0


def recorded() -> list[dict[str, object]]:
    """What the cleaner made: name, batches, offsets that were kept, and the batches then."""
    return [json.loads(line) for line in RECORDED.read_text().splitlines()]


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else bytes.fromhex(text[1:])


if __name__ == "__main__":
    sys.exit(main())
