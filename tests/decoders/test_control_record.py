"""Control records: the types in their keys, the meaning of their values, and the output of a release."""

import pytest

from kdump.decoders import control_record
from kdump.errors import CorruptData
from kdump.output.kafka import record_contents
from kdump.releases.profile import profile_of
from tests.builders.records import (
    Record,
    abort_record,
    commit_record,
    encode_record,
    leader_change_record,
)
from tests.builders.records import control_record as build
from tests.loops import each

pytestmark = pytest.mark.both_kernels


def _text(record: Record, release: str = "4.3.1") -> str:
    return record_contents.control_text(record.key, record.value, profile_of(release))


def _code(record: Record, release: str = "4.3.1") -> str:
    with pytest.raises(CorruptData) as caught:
        _text(record, release)
    return caught.value.code


@each(
    ("key", "code", "values"),
    [
        *((None, "control-key-null", {}), (b"", "control-key-short", {"size": 0}), (b"\0\0\0", "control-key-short", {"size": 3})),
        (b"\xff\xff\0\0", "control-version-negative", {"version": -1}),
        (b"\xff\xff\0", "control-key-short", {"size": 3}),
    ],
)
def test_a_key_that_is_none_is_a_fault(key: bytes | None, code: str, values: dict[str, int]) -> None:
    with pytest.raises(CorruptData) as caught:
        control_record.type_of(key)
    assert (caught.value.code, caught.value.values) == (code, values)


def test_a_type_has_a_sign_and_whatever_follows_it_counts_for_nothing() -> None:
    assert [control_record.type_of(key) for key in (b"\0\0\xff\xfe", b"\x7f\xff\0\2more")] == [-2, 2]


@each(
    ("marker", "row", "found"),
    [
        *((commit_record(coordinator_epoch=42), 0, (1, 42)), (abort_record(coordinator_epoch=-7), 0, (0, -7))),
        *((build(control_type=kind, value=bytes(6)), 0, None) for kind in (2, 256)),
        *((build(control_type=1, value=value), 0, None) for value in (b"\0\1" + bytes(4), bytes(5), bytes(7), None)),
        *((build(control_type=1, value=bytes(6), key_version=1), 0, None), (commit_record(), 1, None)),
    ],
)
def test_a_marker_as_brokers_write_it_is_known_by_its_bytes(marker: Record, row: int, found: tuple[int, int] | None) -> None:
    assert control_record.usual_marker(encode_record(marker, row=row)) == found
    assert control_record.usual_marker(encode_record(marker, row=row) + b"\0") is None
    if found is not None:
        value = marker.value or b""
        assert [control_record.coordinator_epoch_of(data) for data in (value, value + b"more")] == [found[1]] * 2


COMMITTED = " endTxnMarker: COMMIT coordinatorEpoch: 42"


@each(
    ("value", "code", "old_code"),
    [
        (None, "control-value-null", "control-value-null"),
        (b"", "marker-value-short", "marker-value-short"),
        (b"\0\0\0\0\0", "marker-value-short", "marker-value-short"),
        (b"\xff\xff\0\0\0\0", "marker-version-negative", "marker-version-negative"),
        (b"\xff\xff\0\0", "marker-version-negative", "marker-value-short"),
    ],
)
def test_a_marker_that_is_none_is_a_fault(value: bytes | None, code: str, old_code: str) -> None:
    assert _code(build(control_type=1, value=value)) == code
    assert _code(build(control_type=1, value=value), "1.0.1") == old_code


def test_the_fields_shown_are_those_of_the_version_that_a_record_claims() -> None:
    voters = '[{"voterId":1,"voterDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA"}]'  # which version 0 does not hold
    shown = f' LeaderChange: {{"version":1,"leaderId":1,"voters":{voters},"grantingVoters":{voters}}}'
    assert _text(leader_change_record(version=1, message_version=0)) == shown


@each("bounds_counts", [False, True])
def test_a_large_message_is_the_same_text(monkeypatch: pytest.MonkeyPatch, bounds_counts: bool) -> None:
    value = leader_change_record().value or b""
    texts = []
    for most in (len(value), len(value) - 1):
        monkeypatch.setattr(control_record, "LARGE_MESSAGE", most)
        texts.append(control_record.message_of(2, value, bounds_counts=bounds_counts))
    assert texts[0] == texts[1] and '"leaderId":1' in texts[0]


def test_a_message_that_is_cut_is_a_fault() -> None:
    assert _code(build(control_type=3, value=b"\0\0\0")) == "message-underflow"
    assert _code(build(control_type=4, value=None)) == "control-message-null"


@each("control_type, release", [(7, "4.3.1"), (-1, "4.3.1"), (2, "1.0.1"), (3, "1.0.1"), (6, "1.0.1")], quick=5)
def test_types_that_a_release_does_not_have_are_unknown(control_type: int, release: str) -> None:
    """1.0.1 has only markers."""
    assert _text(build(control_type=control_type), release) == f" controlType: UNKNOWN({control_type})"
    assert _text(build(control_type=-1, value=None)) == " controlType: UNKNOWN(-1)"
    assert _text(commit_record(coordinator_epoch=42), "1.0.1") == COMMITTED
