"""Whether a record can be read is said without reading it, of the same records that are read."""

import random
import struct
from collections.abc import Callable
from types import ModuleType

import pytest

from kdump.decoders import coordinator, metadata
from kdump.errors import CorruptData
from kdump.messages import cluster_metadata, consumer_offsets, remote_log_metadata, share_group_state, transaction_state
from tests.any_message import any_message, damaged, versions
from tests.builders.records import unsigned_varint

SAMPLES = 2000


def _is_read(read: Callable[..., object], *arguments: object) -> bool:
    try:
        read(*arguments)
    except CorruptData:
        return False
    return True


def _changed(data: bytes, chance: random.Random) -> bytes:
    return damaged(data, chance) if chance.random() < 0.3 else data


@pytest.mark.parametrize("topic", [consumer_offsets, transaction_state, share_group_state], ids=lambda topic: topic.__name__)
def test_records_of_coordinators(topic: ModuleType) -> None:
    chance = random.Random(1)
    seen = set()
    for _ in range(SAMPLES):
        record_type = chance.choice(list(topic.RECORDS))
        key_message, value_message = topic.RECORDS[record_type]
        version = chance.choice((*versions(value_message), -1, value_message.last_version + 1))
        key = _changed(struct.pack(">h", record_type) + any_message(key_message, 0, chance), chance)
        value = _changed(struct.pack(">h", version) + any_message(value_message, max(version, 0), chance), chance)
        for one in (value, None):
            is_read = _is_read(coordinator.read, topic.RECORDS, key, one)
            assert coordinator.is_readable(topic.RECORDS, key, one) == is_read, (key.hex(), value.hex())
            seen.add((one is None, is_read))
    assert len(seen) == 4


@pytest.mark.parametrize("topic", [cluster_metadata, remote_log_metadata], ids=lambda topic: topic.__name__)
def test_records_of_metadata(topic: ModuleType) -> None:
    chance = random.Random(2)
    seen = set()
    for _ in range(SAMPLES):
        record_id = chance.choice(list(topic.RECORDS))
        message = topic.RECORDS[record_id]
        version = chance.choice((*versions(message), message.last_version + 1, 40_000))
        frame = b"".join(map(unsigned_varint, (chance.choice((1, 1, 1, 0, 0x10001)), record_id, version)))
        value = _changed(frame + any_message(message, version, chance) + chance.choice((b"", b"", b"\0")), chance)
        is_read = _is_read(metadata.read, topic.RECORDS, value)
        assert metadata.is_readable(topic.RECORDS, value) == is_read, value.hex()
        seen.add(is_read)
    assert len(seen) == 2
    assert not metadata.is_readable(topic.RECORDS, None)
