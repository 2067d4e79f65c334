"""Transactions and share groups in their decoders; the expected values are the output of Kafka's tools."""

import pytest

from kdump.errors import CorruptData
from kdump.output.kafka.topics import topic_records
from kdump.releases.profile import profile_of
from tests.builders.messages import compact_string, int8, int16, int32, int64, string, tagged
from tests.loops import each

KEY = int16(0) + string("tx")


def _value(state: int = 1, partitions: int = 2) -> bytes:
    topic = string("t") + int32(partitions) + b"".join(int32(partition) for partition in range(partitions))
    return int16(0) + int64(10) + int16(2) + int32(60000) + int8(state) + int32(1) + topic + int64(7) + int64(6)


def _decoded(key: bytes | None, value: bytes | None, release: str = "4.3.1") -> tuple[str | None, str | None]:
    return topic_records.decoder_of(profile_of(release), "transaction-log-decoder").decode(5, key, value)


STATES = {0: "Empty", 5: "CompleteAbort", 6: "Dead", 7: "PrepareEpochFence", 8: "8", 127: "127", -1: "-1", -128: "-128"}


@each("state, name", STATES.items())
def test_a_state_has_a_name_or_is_a_number_from_4_4_0_on(state: int, name: str) -> None:
    assert f'"transactionStatus":"{name}"' in str(_decoded(KEY, _value(state), "4.4.0")[1])


FLEXIBLE = int16(1) + int64(10) + int16(2) + int32(0) + int8(0) + b"\0" + int64(7) + int64(6)
EXCEEDS = "which exceeds the maximum allowed"
MANY = int16(0) + int64(10) + int16(2) + int32(0) + int8(0)


@each(
    ("value", "message"),
    [
        (FLEXIBLE + b"\xff\xff\xff\xff\x0f", "Invalid negative number of tagged fields -1."),
        (FLEXIBLE + b"\x05\0\0", "Tried to read 5 tagged fields, but there are only 2 bytes remaining.."),
        (FLEXIBLE + b"\x91\x4e" + b"\x09\0" * 10_001, f"Tried to read 10001 tagged fields, {EXCEEDS} count of 10000.."),
        (MANY + int32(1_000_001) + bytes(1_000_001), f"Tried to read a collection of size 1000001, {EXCEEDS} size of 1000000.."),
    ],
)
def test_counts_are_bounded_from_4_4_0_on(value: bytes, message: str) -> None:
    unread = f"Could not read record with version {value[1]} from value's buffer due to: {message}"
    assert _decoded(KEY, value, "4.4.0")[0] == f"Error at offset 5, skipping. {unread}"
    assert "Tried to read" not in str(_decoded(KEY, value, "4.3.1")[0])


def test_as_many_as_the_bounds_say_are_read() -> None:
    assert '"transactionStatus":"Empty"' in str(_decoded(KEY, FLEXIBLE + b"\x90\x4e" + b"\x09\0" * 10_000, "4.4.0")[1])
    assert "which exceeds" not in str(_decoded(KEY, MANY + int32(1_000_000) + bytes(1_000_000), "4.4.0")[0])


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        *((None, _value(), "transaction-log-key-null"), (KEY, None, "transaction-log-value-null")),
        *((int16(1), _value(), "transaction-log-key-version-unknown"), (KEY, int16(1), "transaction-log-version-unknown")),
        (KEY, _value(8), "transaction-log-state-unknown"),
    ],
)
def test_what_1_0_1_cannot_read_ends_its_run(key: bytes | None, value: bytes | None, code: str) -> None:
    with pytest.raises(CorruptData) as caught:
        _decoded(key, value, "1.0.1")
    assert caught.value.code == code


def test_transactions_are_fenced_in_a_separate_state_from_0_11_0_2_on() -> None:
    assert "state=PrepareEpochFence," in str(_decoded(KEY, _value(7), "0.11.0.2")[1])
    for release in ("0.11.0.0", "0.11.0.1"):
        with pytest.raises(CorruptData) as caught:
            _decoded(KEY, _value(7), release)
        assert (caught.value.code, caught.value.values["state"]) == ("transaction-log-state-unknown", 7)


def _flexible_value(**fields: bytes) -> bytes:
    partitions = b"\2" + compact_string("t") + b"\2" + int32(0) + tagged()
    return int16(1) + int64(10) + int16(2) + int32(60000) + int8(1) + partitions + int64(7) + int64(6) + tagged(**fields)


def test_a_release_reads_only_the_tags_that_it_knows() -> None:
    text = "producerId:10,producerEpoch:2,state=Ongoing,partitions=[t-0],txnLastUpdateTimestamp=7,txnTimeoutMs=60000"
    assert _decoded(KEY, _flexible_value(_2=int16(3)), "3.9.1")[1] == text
    assert _decoded(KEY, _flexible_value(_2=int16(2)), "4.0.1")[1] == text
    assert _decoded(KEY, _flexible_value(_3=b"z"), "4.0.1")[1] == text
    assert _decoded(KEY, _flexible_value(_3=b"z"), "4.1.1")[0] == (
        "Error at offset 5, skipping. Could not read record with version 1 from value's buffer due to: null."
    )


def test_a_feature_level_that_is_none_ends_the_run_of_4_0() -> None:
    with pytest.raises(CorruptData) as caught:
        _decoded(KEY, _flexible_value(_2=int16(3)), "4.0.1")
    words = profile_of("4.0.1").words(caught.value.code)
    assert words.exception == "java.lang.IllegalArgumentException"
    assert str(words.message).format(**caught.value.values) == "No feature:transaction.version with feature level 3"
