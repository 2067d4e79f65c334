"""Segments of other brokers: known by a checksum, by how they start, or by what is beside them."""

from pathlib import Path

import pytest

from kdump.binary.source import Source
from kdump.errors import Unreadable
from kdump.formats import foreign
from tests.builders.files import file_name
from tests.builders.records import batch, record
from tests.builders.redpanda import CONFIGURATION, NAME, redpanda_batch
from tests.loops import each

BATCHES = [batch(base_offset=offset, records=[record(key=b"k", value=b"value")]) for offset in range(4)]
FOREIGN = [redpanda_batch(BATCHES[0], CONFIGURATION), *map(redpanda_batch, BATCHES[1:])]
DAMAGED = b"\xff" + FOREIGN[0][1:]  # its header's checksum does not match
KAFKAS = file_name(0, ".log")
BOOKKEEPERS, ACTIVEMQS = b"BKLO".ljust(61, b"\0"), b"\0\0\0\0\1WRITE BATCH".ljust(61, b"\0")
SEGMENTS = [
    *((NAME, b"".join(FOREIGN), "Redpanda"), ("4711-12-v2.log", FOREIGN[0], "Redpanda")),
    *((KAFKAS, FOREIGN[0], "Redpanda"), (KAFKAS, FOREIGN[0][:61], "Redpanda")),  # renamed
    *((NAME, DAMAGED + FOREIGN[1], "Redpanda"), (NAME, bytes(4096) + FOREIGN[1][:61], "Redpanda")),
    (KAFKAS, DAMAGED + FOREIGN[1], ""),  # nothing but the name would say so
    *((NAME, FOREIGN[0][:60], ""), (NAME, DAMAGED, ""), (NAME, DAMAGED + FOREIGN[1][:60], ""), (NAME, bytes(4096), "")),
    *((NAME, b"", ""), (NAME, b"".join(BATCHES), ""), (KAFKAS, b"".join(BATCHES), "")),
    *(("0.log", BOOKKEEPERS, "BookKeeper"), ("0.log", BOOKKEEPERS[:60], ""), ("0.log", b"\0" + BOOKKEEPERS, "")),
    *(("db-1.log", ACTIVEMQS, "ActiveMQ"), ("db-1.log", ACTIVEMQS[1:] + b"\0", ""), ("000004.log", bytes(61), "")),
]


@each("name, data, broker", SEGMENTS)
def test_a_segment_is_known_by_the_checksum_of_a_header_or_by_its_start(
    tmp_path: Path, name: str, data: bytes, broker: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with Source(str(path)) as source:
        assert foreign.broker_of(source, name) == broker
        required = [(foreign.require_kafka, source), (foreign.require_kafka_path, str(path))]
        for require, given in required:
            if broker:
                with pytest.raises(Unreadable, match=f"a segment of {broker}, not of Kafka") as caught:
                    require(given)  # type: ignore[operator]
                assert (caught.value.code, caught.value.path) == ("foreign-segment", str(path))
            else:
                require(given)  # type: ignore[operator]
    foreign.require_kafka_path(str(tmp_path / "missing"))


_REDPANDAS, _KAFKAS = b"".join(FOREIGN), b"".join(BATCHES)


@each(
    ("files", "found", "is_by_name"),
    [
        ({}, "", False),
        ({NAME: _REDPANDAS, "5-1-v1.log": DAMAGED}, NAME, True),  # one that is not recognized does not hide it
        ({"0-1-v1.log": DAMAGED, "5-1-v1.log": _REDPANDAS}, "5-1-v1.log", True),
        ({NAME: DAMAGED}, "", False),
        ({NAME: _REDPANDAS, KAFKAS: _KAFKAS}, "", False),  # the log may be Kafka's
        ({KAFKAS: _REDPANDAS}, KAFKAS, False),
        ({"0.log": BOOKKEEPERS, "1.log": BOOKKEEPERS, "lastId": b""}, "0.log", True),
        ({"000004.log": b"", "CURRENT": b""}, "000004.log", True),
        *(({name: b"", "CURRENT": b""}, "", False) for name in ("00004.log", "x000004.log", "12345678901234567890.log")),
        ({f"{number}-1-v1.log": DAMAGED for number in range(8)} | {"9-1-v1.log": _REDPANDAS}, "", False),  # not among the first
        ({f"{number}-1-v1.log": DAMAGED for number in range(7)} | {"9-1-v1.log": _REDPANDAS}, "9-1-v1.log", True),
    ],
)
def test_a_directory_is_of_another_broker_where_no_log_may_be_kafkas(
    tmp_path: Path, files: dict[str, bytes], found: str, is_by_name: bool
) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    assert (foreign.in_directory(str(tmp_path)) or ("", ""))[0] == found
    assert (foreign.in_directory(str(tmp_path), is_by_name=True) is not None) is is_by_name
    if found:
        with pytest.raises(Unreadable, match="not of Kafka") as caught:
            foreign.require_kafka_directory(str(tmp_path))
        assert caught.value.path == str(tmp_path / found)
    else:
        foreign.require_kafka_directory(str(tmp_path))
