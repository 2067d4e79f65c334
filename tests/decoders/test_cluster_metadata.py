"""Metadata records of KRaft and tiered storage in their decoders; the expected values are the output of Kafka's tools."""

import pytest

from kdump.output.kafka.topics import topic_records
from kdump.releases.profile import profile_of
from tests.builders.messages import UUID, compact_string, int8, int16, int32, int64, sized, string, tagged
from tests.loops import each

SEGMENT_ID = compact_string("t") + UUID + int32(3) + tagged() + UUID + tagged()
EPOCHS = b"\3" + int32(3) + int64(7) + tagged() + int32(0) + int64(5) + tagged()
UPDATE = b"\1\1\0" + SEGMENT_ID + int32(1) + int64(9) + b"\4abc" + int8(1) + tagged()


def _payload(value: bytes | None, option: str = "cluster-metadata-decoder", release: str = "4.3.1") -> str:
    key, payload = topic_records.decoder_of(profile_of(release), option).decode(5, b"ignored", value)
    assert key is None and payload is not None
    return payload


def test_versions_above_the_known_are_read_where_no_struct_is_inside() -> None:
    assert _payload(b"\1\x14\7\0") == '{"type":"NO_OP_RECORD","version":7,"data":{}}'
    quota = b"\2" + compact_string("user") + b"\0" + tagged() + compact_string("k") + bytes(8) + b"\0" + tagged()
    assert '"value":0.0' in _payload(b"\1\x0e\0" + quota)
    assert _payload(b"\1\x0e\1" + quota) == "Error at 5, skipping. Failed to deserialize record with type 14"


@each(
    ("value", "message"),
    [
        *((None, "Error while reading frame version"), (b"\1", "Error while reading type")),
        *((b"\1\2", "Error while reading version"), (b"\1\xc0\xb8\2\0", "Value for type was too large.")),
        (
            b"\0",
            "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release of KRaft"
            " in 2.8 to newer versions are not supported.",
        ),
        (b"\2", "Could not deserialize metadata record due to unknown frame version 2(only frame version 1 is supported)"),
        (b"\1\x63\0", "org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id 99"),
        (b"\1\2\0", "Failed to deserialize record with type 2"),
        (b"\1\x14\0\0zz", "Found 2 byte(s) of garbage after 20"),
    ],
)
def test_what_cannot_be_read_is_reported_in_place_of_the_payload(value: bytes | None, message: str) -> None:
    assert _payload(value) == f"Error at 5, skipping. {message}"


def _metadata(value: bytes | None, release: str) -> str:
    return _payload(value, release=release)


def test_a_version_that_a_release_does_not_know_is_read_up_to_its_first_struct() -> None:
    head = b"\1\0\1" + int32(1) + UUID + int64(2)
    assert _metadata(head + b"\1\1\0\1" + tagged(), "3.2.3") == (
        '{"type":"REGISTER_BROKER_RECORD","version":1,"data":{"brokerId":1,"incarnationId":"AAAAAAAAAAEAAAAAAAAAAg",'
        '"brokerEpoch":2,"endPoints":[],"features":[],"rack":null,"fenced":true}}'
    )
    endpoint = compact_string("n") + compact_string("h") + int16(1) + int16(0) + tagged()
    unreadable = _metadata(head + b"\2" + endpoint + b"\1\0\1" + tagged(), "3.2.3")
    assert unreadable == "Error at 5, skipping. Failed to deserialize record with type 0"


@pytest.mark.parametrize(
    ("value", "payload"),
    [
        (
            b"\0\3\0" + int32(0) + UUID + 2 * (int32(1) + int32(1)) + int32(-1) + int32(-1) + int32(1) + int32(2) + int32(3),
            '{"type":"PARTITION_RECORD","version":0,"data":{"partitionId":0,"topicId":"AAAAAAAAAAEAAAAAAAAAAg","replicas":[1],'
            '"isr":[1],"removingReplicas":null,"addingReplicas":null,"leader":1,"leaderEpoch":2,"partitionEpoch":3}}',
        ),
        (
            b"\0\5\0" + int32(0) + UUID + tagged(_0=b"\3" + int32(2) + int32(3), _1=int32(2), _9=b"zz"),
            '{"type":"PARTITION_CHANGE_RECORD","version":0,"data":{"partitionId":0,"topicId":"AAAAAAAAAAEAAAAAAAAAAg",'
            '"isr":[2,3],"leader":2}}',
        ),
        (
            b"\0\6\0\2\0\3" + compact_string("User:a") + compact_string("*") + b"\2\3" + tagged(),
            '{"type":"ACCESS_CONTROL_RECORD","version":0,"data":{"resourceType":2,"resourceName":null,"patternType":3,'
            '"principal":"User:a","host":"*","operation":2,"permissionType":3}}',
        ),
        (
            b"\0\x0b\0" + string("u") + int32(1) + int8(1) + sized(b"\7") + sized(b"") + int32(4096),
            '{"type":"USER_SCRAM_CREDENTIAL_RECORD","version":0,"data":{"name":"u","credentialInfos":'
            '[{"mechanism":1,"salt":"Bw==","saltedPassword":"","iterations":4096}]}}',
        ),
        (
            b"\0\x0e\0" + int32(1) + string("user") + int16(-1) + string("k") + bytes(9),
            '{"type":"QUOTA_RECORD","version":0,"data":{"entity":[{"entityType":"user","entityName":null}],"key":"k",'
            '"value":0.0,"remove":false}}',
        ),
        (
            b"\0\2\7" + string("t") + UUID + b"zz",
            '{"type":"TOPIC_RECORD","version":7,"data":{"name":"t","topicId":"AAAAAAAAAAEAAAAAAAAAAg"}}',
        ),
    ],
)
def test_the_preview_of_2_8_has_its_own_records(value: bytes, payload: str) -> None:
    assert _metadata(value, "2.8.1") == payload


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, 'Cannot invoke "java.nio.ByteBuffer.get()" because "buffer" is null'),
        (b"", "null"),
        (b"\0\2", "null"),
        (b"\1\2\0", "Could not deserialize metadata record due to unknown frame version 1(only frame version 0 is supported)"),
        (b"\0\x10\0" + string("f"), "Unknown metadata id 16"),
        (b"\0\2\0" + int16(-1) + UUID, "non-nullable field name was serialized as null"),
        (b"\0\x0e\1" + int32(1) + string("user") + int16(-1) + string("k") + bytes(9), "Can't read version 1 of EntityData"),
    ],
)
def test_what_the_preview_cannot_read_is_reported_in_place_of_the_payload(value: bytes | None, message: str) -> None:
    assert _metadata(value, "2.8.1") == f"Error at 5, skipping. {message}"


@pytest.mark.parametrize(
    ("size", "message_before"), [(9, "null"), (1 << 28, "Java heap space"), (0x7FFFFFFF, "Requested array size exceeds VM limit")]
)
def test_room_was_made_for_arrays_of_any_size_before_2_8_2(size: int, message_before: str) -> None:
    value = b"\0\3\0" + int32(0) + UUID + int32(size)
    message = f"Tried to allocate a collection of size {size}, but there are only 0 bytes remaining."
    assert _metadata(value, "2.8.1") == f"Error at 5, skipping. {message_before}"
    assert _metadata(value, "2.8.2") == f"Error at 5, skipping. {message}"


def test_an_array_that_is_too_large_is_a_separate_error_before_3_0_2() -> None:
    value = b"\1\3\0" + int32(0) + UUID + b"\xff\xff\xff\xff\7"
    assert _metadata(value, "3.0.1") == "Error at 5, skipping. Requested array size exceeds VM limit"
    assert _metadata(value, "3.0.2") == "Error at 5, skipping. Failed to deserialize record with type 3"


def test_a_segment_has_no_word_of_transactions_before_4_0() -> None:
    head = b"\1\0\0" + SEGMENT_ID + int64(5) + int64(9) + int32(1) + int64(7) + int64(8) + EPOCHS + int32(100) + b"\0\1"
    expected = (
        "RemoteLogSegmentMetadata{remoteLogSegmentId=RemoteLogSegmentId{topicIdPartition=AAAAAAAAAAEAAAAAAAAAAg:t-3,"
        " id=AAAAAAAAAAEAAAAAAAAAAg}, startOffset=5, endOffset=9, brokerId=1, maxTimestampMs=7, eventTimestampMs=8,"
        " segmentLeaderEpochs={0=5, 3=7}, segmentSizeInBytes=100, customMetadata=Optional.empty, state=COPY_SEGMENT_FINISHED"
    )
    option = "remote-log-metadata-decoder"
    assert _payload(head + tagged(_0=b"\1"), option, "3.9.1") == expected + "}"
    assert _payload(head + tagged(_0=b"\1"), option, "4.0.1") == expected + ", txnIdxEmpty=true}"
    assert _payload(head + tagged(_0=b"zz"), option, "3.9.1") == expected + "}"
    garbage = "Error at offset 5, skipping. Found 1 byte(s) of garbage after 0"
    assert _payload(head + tagged(_0=b"zz"), option, "4.0.1") == garbage


@each("start, end, is_accepted", [(5, 9, True), (5, 5, True), (0, 0, True), (5, 4, False), (-1, 4, False)])
def test_a_remote_segment_has_a_record_and_no_negative_offset(start: int, end: int, is_accepted: bool) -> None:
    head = b"\1\0\0" + SEGMENT_ID + int64(start) + int64(end) + int32(1) + int64(7) + int64(8) + EPOCHS + int32(100) + b"\0\1"
    shown = _payload(head + tagged(), "remote-log-metadata-decoder")
    assert f"startOffset={start}, endOffset={end}," in shown if is_accepted else shown.startswith("Error at offset 5, skipping.")


@each("count", [0, 1, 2])
def test_a_remote_segment_and_its_snapshot_have_leader_epochs(count: int) -> None:
    epochs = bytes([count + 1]) + (int32(0) + int64(5) + tagged()) * count
    segment = int64(5) + int64(9) + int32(1) + int64(7) + int64(8) + epochs + int32(100) + b"\0\1" + tagged()
    for head in (b"\1\0\0" + compact_string("t") + UUID + int32(3) + tagged() + UUID + tagged(), b"\1\3\0" + UUID):
        assert _payload(head + segment, "remote-log-metadata-decoder").startswith("Error at offset 5, skipping.") == (not count)


def test_a_remote_record_without_value_or_with_a_state_that_is_none_is_not_accepted() -> None:
    value = UPDATE[:-2] + int8(4) + tagged()
    assert _payload(value, "remote-log-metadata-decoder") == "Error at offset 5, skipping. state can not be null"
    assert _payload(None, "remote-log-metadata-decoder") == (
        'Error at offset 5, skipping. Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of'
        ' "org.apache.kafka.common.record.internal.Record.value()" is null'
    )
