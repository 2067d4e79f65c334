"""Records of KRaft's and tiered storage's metadata as their decoders show them; what is expected is what Kafka's tools print."""

import pytest

from kdump.output import topics
from kdump.releases.profile import profile_of

from .builders.messages import UUID, compact_string, int8, int32, int64, tagged

UPDATE = (
    b"\1\1\0" + compact_string("t") + UUID + int32(3) + tagged() + UUID + tagged() + int32(1) + int64(9) + b"\4abc" + int8(1)
) + tagged()


def _payload(value: bytes | None, option: str = "cluster-metadata-decoder") -> str:
    key, payload = topics.decoder_of(profile_of("4.3.1"), option)(5, b"ignored", value)
    assert key is None and payload is not None
    return payload


def test_a_record_is_json_with_its_type_and_version() -> None:
    value = b"\1\5\0" + int32(0) + UUID + tagged(_0=b"\3" + int32(2) + int32(3), _1=int32(2))
    assert _payload(value) == (
        '{"type":"PARTITION_CHANGE_RECORD","version":0,"data":'
        '{"partitionId":0,"topicId":"AAAAAAAAAAEAAAAAAAAAAg","isr":[2,3],"leader":2}}'
    )


def test_versions_above_the_known_are_read_where_no_struct_is_inside() -> None:
    assert _payload(b"\1\x14\7\0") == '{"type":"NO_OP_RECORD","version":7,"data":{}}'
    quota = b"\2" + compact_string("user") + b"\0" + tagged() + compact_string("k") + bytes(8) + b"\0" + tagged()
    assert '"value":0.0' in _payload(b"\1\x0e\0" + quota)
    assert _payload(b"\1\x0e\1" + quota) == "Error at 5, skipping. Failed to deserialize record with type 14"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "Error while reading frame version"),
        (b"\1", "Error while reading type"),
        (b"\1\2", "Error while reading version"),
        (b"\1\xc0\xb8\2\0", "Value for type was too large."),
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
def test_what_cannot_be_read_is_said_in_place_of_the_payload(value: bytes | None, message: str) -> None:
    assert _payload(value) == f"Error at 5, skipping. {message}"


# --- remote log metadata


def test_an_update_of_a_remote_segment_is_as_java_prints_it() -> None:
    assert _payload(UPDATE, "remote-log-metadata-decoder") == (
        "RemoteLogSegmentMetadataUpdate{remoteLogSegmentId=RemoteLogSegmentId{topicIdPartition=AAAAAAAAAAEAAAAAAAAAAg:t-3,"
        " id=AAAAAAAAAAEAAAAAAAAAAg}, customMetadata=Optional[CustomMetadata{3 bytes}], state=COPY_SEGMENT_FINISHED,"
        " eventTimestampMs=9, brokerId=1}"
    )


def test_a_state_that_is_none_is_not_accepted() -> None:
    value = UPDATE[:-2] + int8(4) + tagged()
    assert _payload(value, "remote-log-metadata-decoder") == "Error at offset 5, skipping. state can not be null"


def test_a_remote_record_without_value_has_the_words_of_java() -> None:
    assert _payload(None, "remote-log-metadata-decoder") == (
        'Error at offset 5, skipping. Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of'
        ' "org.apache.kafka.common.record.internal.Record.value()" is null'
    )
