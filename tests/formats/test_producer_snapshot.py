"""Producer snapshots: what the broker knows of every producer, and every way in which the file can be wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdump.errors import CorruptData
from kdump.formats import producer_snapshot
from tests.builders.checksums import crc32c
from tests.builders.files import producer_entry
from tests.builders.files import producer_snapshot as build
from tests.support import INT16, INT32, INT64, Values, opened, values_of

T = 1_700_000_000_000
ONE = producer_entry(
    producer_id=1,
    producer_epoch=2,
    last_sequence=10,
    last_offset=100,
    offset_delta=3,
    timestamp=T,
    coordinator_epoch=5,
    current_txn_first_offset=-1,
)
_FIELDS = ("producer_id", "epoch", "last_sequence", "last_offset", "offset_delta", "timestamp")
ENTRY_FIELDS = dict(zip((*_FIELDS, "coordinator_epoch", "current_txn_first_offset"), (8, 2, 4, 8, 4, 8, 4, 8), strict=True))


def _read(data: bytes) -> list[Values]:
    with opened(data) as source:
        return [values_of(row) for table in producer_snapshot.read(source) for row in table]


def _fault(data: bytes) -> CorruptData:
    with pytest.raises(CorruptData) as caught:
        _read(data)
    assert caught.value.path is not None
    return caught.value


def test_bytes_after_the_entries_are_covered_by_the_checksum_but_not_read() -> None:
    assert len(_read(build(entries=[ONE], trailing=b"more"))) == 1
    assert len(_read(build(entries=[ONE], trailing=bytes(1 << 20)))) == 1, "more than is read at once"
    assert len(_read(build(entries=[ONE, ONE], entry_count=1))) == 1
    fault = _fault(build(entries=[ONE], crc=7))
    assert (fault.code, fault.values) == ("snapshot-crc-mismatch", {"stored": 7, "computed": 1097471697})
    assert _fault(build(entries=[ONE]) + b"more").code == "snapshot-crc-mismatch"


@pytest.mark.parametrize("version", [0, 2, -1, 0x7FFF])
def test_another_version_is_not_read(version: int) -> None:
    fault = _fault(build(entries=[ONE], version=version))
    assert (fault.code, fault.values) == ("snapshot-version-unknown", {"version": version})


@pytest.mark.parametrize(
    ("size", "field"), [(0, "version"), (1, "version"), (2, "crc"), (5, "crc"), (6, "producer_entries"), (9, "producer_entries")]
)
def test_a_header_that_is_cut_names_its_field(size: int, field: str) -> None:
    fault = _fault(build(entries=[ONE])[:size])
    assert (fault.code, fault.values) == ("snapshot-truncated", {"field": field})


def test_an_entry_that_is_cut_names_its_field() -> None:
    data = build(entries=[ONE, ONE])
    size = 10 + 46
    for field, field_size in ENTRY_FIELDS.items():
        for cut in range(size, size + field_size):
            fault = _fault(data[:cut])
            assert (fault.code, fault.values) == ("snapshot-entry-truncated", {"field": field}), cut
        size += field_size
    assert size == len(data)


PRODUCERS = st.fixed_dictionaries(
    {
        "producer_id": INT64,
        "producer_epoch": INT16,
        "last_sequence": INT32,
        "last_offset": INT64,
        "offset_delta": INT32,
        "timestamp": INT64,
        "coordinator_epoch": INT32,
        "current_txn_first_offset": INT64,
    }
)


@given(st.lists(PRODUCERS, max_size=5), st.binary(max_size=20))
def test_producers_are_read_as_they_were_built(producers: list[dict[str, int]], trailing: bytes) -> None:
    assert _read(build(entries=[producer_entry(**producer) for producer in producers], trailing=trailing)) == producers


def _expected_code(data: bytes) -> str:
    """The code of the fault of a snapshot, empty where there is none, by the layout: version, CRC, count, entries of 46 bytes."""
    if len(data) < 2:
        return "snapshot-truncated"
    if data[:2] != b"\0\1":
        return "snapshot-version-unknown"
    if len(data) < 10:
        return "snapshot-truncated"
    count = int.from_bytes(data[6:10], "big", signed=True)
    if count < 0:
        return "snapshot-count-null" if count == -1 else "snapshot-count-negative"
    if count > len(data) - 10:
        return "snapshot-count-too-high"
    if count * 46 > len(data) - 10:
        return "snapshot-entry-truncated"
    return "" if int.from_bytes(data[2:6], "big") == crc32c(data[6:]) else "snapshot-crc-mismatch"


COUNTED = st.builds(
    lambda count, rest, is_sound: b"\0\1" + (crc32c(count + rest) if is_sound else 7).to_bytes(4, "big") + count + rest,
    st.integers(-2, 60).map(lambda count: count.to_bytes(4, "big", signed=True)),
    st.binary(max_size=150),
    st.booleans(),
)


@given(st.binary(max_size=80) | st.binary(max_size=80).map(lambda data: b"\0\1" + data) | COUNTED)
def test_any_bytes_are_a_snapshot_or_the_fault_that_their_layout_shows(data: bytes) -> None:
    try:
        states = _read(data)
    except CorruptData as fault:
        assert fault.code == _expected_code(data)
    else:
        assert _expected_code(data) == ""
        assert len(states) == int.from_bytes(data[6:10], "big")
