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
    data = build(entries=[ONE, ONE], entry_count=1)
    with opened(data) as source:
        assert (len(_read(data)), list(producer_snapshot.ids(source))) == (1, [1])
    fault = _fault(build(entries=[ONE], crc=7))
    assert (fault.code, fault.values) == ("snapshot-crc-mismatch", {"stored": 7, "computed": 1097471697})
    assert _fault(build(entries=[ONE]) + b"more").code == "snapshot-crc-mismatch"


def test_the_ids_in_a_cut_snapshot_are_those_of_its_whole_entries() -> None:
    data = build(entries=[producer_entry(producer_id=number) for number in (4, 5, 6)])
    for end in range(len(data) + 1):
        with opened(data[:end]) as source:
            assert list(producer_snapshot.ids(source)) == [4, 5, 6][: max(end - 10, 0) // 46]


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


@pytest.mark.parametrize(
    ("count", "rest", "code"),
    [
        *((-1, b"", "snapshot-count-null"), (-2, b"", "snapshot-count-negative"), (1, b"", "snapshot-count-too-high")),
        *((47, bytes(46), "snapshot-count-too-high"), (46, bytes(46), "snapshot-entry-truncated")),
        *((2, bytes(91), "snapshot-entry-truncated"), (0, b"", ""), (2, bytes(92), "")),
    ],
)
def test_a_count_is_compared_with_the_bytes_that_follow(count: int, rest: bytes, code: str) -> None:
    counted = count.to_bytes(4, "big", signed=True) + rest
    data = b"\0\1" + crc32c(counted).to_bytes(4, "big") + counted
    if code:
        assert _fault(data).code == code
    else:
        assert len(_read(data)) == count
