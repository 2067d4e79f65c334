"""Offsets and group metadata in the offsets decoder; the expected values are the output of Kafka's tools."""

import contextlib
import io
from pathlib import Path

import pytest

from kdump.cli import dropin
from kdump.decoders import coordinator
from kdump.errors import CorruptData
from kdump.messages.consumer_offsets import RECORDS
from kdump.output.kafka.topics import topic_records
from kdump.releases.profile import profile_of
from tests.builders.messages import UUID, int16, int32, int64, sized, string, tagged
from tests.builders.records import message, message_set
from tests.loops import each

LOG = "00000000000000000000.log"

OFFSET_KEY = int16(1) + string("g1") + string('t"1') + int32(3)
OFFSET_KEY_JSON = '{"type":"1","data":{"group":"g1","topic":"t\\"1","partition":3}}'
SCHEMA, KAFKA = "org.apache.kafka.common.protocol.types.SchemaException", "kafka.common.KafkaException"
SKIPPED, UNDERFLOW = "Error at offset 5, skipping. ", "java.nio.BufferUnderflowException"
UNREAD = SKIPPED + "Could not read record with version {} from {}'s buffer due to: {}."
NULL_METADATA = "non-nullable field metadata was serialized as null"
NO_BUFFER = 'Cannot invoke "java.nio.ByteBuffer.limit()" because "buffer" is null'
NO_KEY = "Failed to decode message using offset topic decoder (message had a missing key)"
IN_GROUP, IN_ASSIGNMENT = "Error reading field 'group': ", "Error reading field 'members': Error reading field 'assignment': "
GROUP_KEY = int16(2) + string("g1")
ASSIGNMENT = int16(0) + int32(1) + string("foo") + int32(2) + int32(0) + int32(1) + sized(b"\x0a\xff")


def _decoded(key: bytes | None, value: bytes | None, release: str = "4.3.1") -> tuple[str | None, str | None]:
    return topic_records.decoder_of(profile_of(release), "offsets-decoder").decode(5, key, value)


def _thrown(key: bytes | None, value: bytes | None, release: str = "1.0.1") -> tuple[str, str]:
    profile = profile_of(release)
    with pytest.raises(CorruptData) as caught:
        _decoded(key, value, release)
    words = profile.words(caught.value.code)
    return words.exception, (words.message or "").format(**caught.value.values)


def _group(assignment: bytes, protocol_type: str = "consumer") -> bytes:
    member = string("m1") + string("c") + string("/1.2.3.4") + int32(2000) + sized(b"") + sized(assignment)
    return int16(0) + string(protocol_type) + int32(9) + string("range") + string("m1") + int32(1) + member


def test_a_null_value_is_a_tombstone_and_a_missing_key_ends_the_run() -> None:
    assert _decoded(OFFSET_KEY, None) == (OFFSET_KEY_JSON, "<DELETE>")
    assert _thrown(None, b"", "4.3.1") == (
        "java.lang.RuntimeException",
        "Failed to decode message at offset 5 using the specified decoder (message had a missing key)",
    )


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        (int16(77), b"", "Unknown record type 77 at offset 5, skipping."),
        (b"\0", b"", SKIPPED + "Could not read version from key's buffer."),
        (OFFSET_KEY, b"", SKIPPED + "Could not read version from value's buffer."),
        (OFFSET_KEY, int16(5), SKIPPED + "Found an unknown record version 5 for 1 type"),
        (OFFSET_KEY, int16(-1), SKIPPED + "Found an unknown record version -1 for 1 type"),
        (OFFSET_KEY, int16(0) + int64(1) + b"\0", UNREAD.format(0, "value", "null")),
        (OFFSET_KEY, int16(0) + int64(1) + int16(-1), UNREAD.format(0, "value", NULL_METADATA)),
        (
            int16(2) + int16(9) + b"g",
            b"",
            UNREAD.format(2, "key", "Error reading byte array of 9 byte(s): only 1 byte(s) available"),
        ),
    ],
)
def test_what_cannot_be_read_is_reported_in_place_of_the_key(key: bytes, value: bytes, text: str) -> None:
    assert _decoded(key, value) == (text, None)


def test_an_assignment_is_shown_as_what_it_says() -> None:
    assert _decoded(GROUP_KEY, _group(ASSIGNMENT)) == (
        '{"type":"2","data":{"group":"g1"}}',
        '{"version":"0","data":{"protocolType":"consumer","generation":9,"protocol":"range","leader":"m1","members":'
        '[{"memberId":"m1","clientId":"c","clientHost":"/1.2.3.4","sessionTimeout":2000,"subscription":"",'
        '"assignment":{"assignedPartitions":[{"topic":"foo","partitions":[0,1]}],"userData":"Cv8="}}]}}',
    )


@pytest.mark.parametrize(("assignment", "protocol_type"), [(ASSIGNMENT[:-3], "consumer"), (ASSIGNMENT, "connect")])
def test_an_assignment_that_is_none_is_shown_as_bytes(assignment: bytes, protocol_type: str) -> None:
    assert '"assignment":"AAAAAAABAANmb28AAAAC' in str(_decoded(GROUP_KEY, _group(assignment, protocol_type))[1])


def test_offsets_of_1_0_1_are_text() -> None:
    assert _decoded(OFFSET_KEY, int16(0) + int64(42) + string("m") + int64(7), "1.0.1") == ('offset::g1:t"1:3', "42:m")
    assert _decoded(OFFSET_KEY, int16(0) + int64(42) + string("") + int64(7), "1.0.1") == ('offset::g1:t"1:3', "42")
    assert _decoded(OFFSET_KEY, None, "1.0.1") == (None, None)


@pytest.mark.parametrize(
    ("key", "value", "exception", "message"),
    [
        (int16(77), b"", KAFKA, "Unknown offset schema version 77"),
        (OFFSET_KEY, int16(2), KAFKA, "Unknown offset schema version 2"),
        (GROUP_KEY, int16(2), KAFKA, "Unknown group metadata version 2"),
        (OFFSET_KEY, int16(0) + b"\0", SCHEMA, "Error reading field 'offset': " + UNDERFLOW),
        (OFFSET_KEY, int16(0) + int64(0) + string("") + b"\0", SCHEMA, "Error reading field 'timestamp': " + UNDERFLOW),
        (GROUP_KEY, _group(b"abc")[:-1], SCHEMA, IN_ASSIGNMENT + "Error reading bytes of size 3, only 2 bytes available"),
    ],
)
def test_what_1_0_1_cannot_read_ends_its_run(key: bytes, value: bytes, exception: str, message: str) -> None:
    assert _thrown(key, value) == (exception, message)


def _group_of(*members: tuple[str, bytes], protocol_type: str = "consumer", protocol: bytes = string("range")) -> bytes:
    rows = [string(name) + string("c") + string("/1.2.3.4") + int32(2000) + sized(b"") + sized(data) for name, data in members]
    return int16(0) + string(protocol_type) + int32(9) + protocol + string("m1") + int32(len(rows)) + b"".join(rows)


def _assigned(topic: str, partition: int, user_data: bytes = sized(b"")) -> bytes:
    return int16(0) + int32(1) + string(topic) + int32(1) + int32(partition) + user_data


def test_members_before_0_11_come_in_the_order_of_a_hash_map() -> None:
    names = [f"consumer-{number}-{7919 * number}" for number in range(5)]
    value = _group_of(*((name, _assigned("t", number)) for number, name in enumerate(names)))
    assert _decoded(GROUP_KEY, value, "0.9.0.1") == (
        "metadata::g1",
        "consumer:range:9:{consumer-1-7919=[t-1],consumer-0-0=[t-0],consumer-3-23757=[t-3],consumer-4-31676=[t-4],"
        "consumer-2-15838=[t-2]}",
    )


def test_bytes_before_0_10_1_end_the_run() -> None:
    failure = ("java.util.IllegalFormatConversionException", "x != scala.math.BigInt")
    assert _thrown(GROUP_KEY, _group(ASSIGNMENT), "0.9.0.1") == failure
    assert _thrown(GROUP_KEY, _group(b"\0", "connect"), "0.10.0.1") == failure
    assert _decoded(GROUP_KEY, _group(b"", "connect"), "0.10.0.1")[1] == "connect:range:9:{m1=}"
    assert _decoded(GROUP_KEY, _group(ASSIGNMENT), "0.10.1.0")[1] == "consumer:range:9:{m1=[foo-0, foo-1]:AFF}"


def test_a_group_may_have_no_protocol_from_0_10_1_on() -> None:
    value = _group_of(protocol=int16(-1))
    assert _thrown(GROUP_KEY, value, "0.9.0.1") == (SCHEMA, "Error reading field 'protocol': -1")
    negative = "Error reading field 'protocol': String length -1 cannot be negative"
    assert _thrown(GROUP_KEY, value, "0.10.0.1") == (SCHEMA, negative)
    assert _decoded(GROUP_KEY, value, "0.10.1.0")[1] == ":null:9:{}"


@each(
    ("key", "value", "release", "exception", "message"),
    [
        (None, b"", "0.10.2.2", "org.apache.kafka.common.KafkaException", NO_KEY),
        (int16(-1), b"", "0.9.0.1", KAFKA, "Unknown offset schema version -1"),
        (OFFSET_KEY, int16(2), "0.10.2.2", KAFKA, "Unknown offset schema version 2"),
        (OFFSET_KEY, int16(-1) + bytes(40), "0.10.2.2", KAFKA, "Unknown offset schema version -1"),
        (GROUP_KEY, int16(1), "0.10.0.1", KAFKA, "Unknown group metadata version 1"),
        (GROUP_KEY, int16(1), "0.10.1.0", SCHEMA, "Error reading field 'protocol_type': " + UNDERFLOW),
        (OFFSET_KEY[:5], b"", "0.9.0.1", SCHEMA, IN_GROUP + UNDERFLOW),
        (OFFSET_KEY[:5], b"", "0.10.0.0", SCHEMA, IN_GROUP + "Error reading string of length 2, only 1 bytes available"),
        (GROUP_KEY, _group(b"abc")[:-1], "0.9.0.1", SCHEMA, IN_ASSIGNMENT + "newLimit > capacity: (3 > 2)"),
        (GROUP_KEY, _group(b"")[:-4] + int32(-2), "0.9.0.1", SCHEMA, IN_ASSIGNMENT + "newLimit < 0: (-2 < 0)"),
        (GROUP_KEY, _group(int16(0) + int32(-1)), "0.9.0.1", SCHEMA, "Error reading field 'topic_partitions': -1"),
        (GROUP_KEY, _group(int16(-5)), "0.10.2.2", SCHEMA, "Unsupported subscription version: -5"),
        (GROUP_KEY, _group(_assigned("t", 1, int32(-1))), "0.10.2.2", "java.lang.NullPointerException", NO_BUFFER),
    ],
    ids=range(13),
)
def test_what_cannot_be_read_ends_a_run_before_0_11(
    key: bytes | None, value: bytes, release: str, exception: str, message: str
) -> None:
    assert _thrown(key, value, release) == (exception, message)


def _printed(folder: Path, release: str, key: bytes | None) -> tuple[str, str]:
    (folder / LOG).write_bytes(message_set(messages=[message(key=key, value=b"abc", value_length=1000, magic=0)]))
    arguments = ["--release", release, "--offsets-decoder", "--print-data-log", "--deep-iteration", "--files", LOG]
    stdout, stderr = io.BytesIO(), io.BytesIO()
    with contextlib.chdir(folder):
        dropin.main(["--strict-stderr", *arguments], stdout, stderr)
    return stdout.getvalue().decode().partition("\n")[2], stderr.getvalue().decode()


def test_a_key_is_read_before_its_value(tmp_path: Path) -> None:
    assert _printed(tmp_path, "0.10.2.2", int16(9)) == (
        "Starting offset: 0\noffset: 0 position: 0 NoTimestampType: -1 isvalid: true payloadsize: 1000 magic: 0 "
        "compresscodec: NONE crc: 1382499110 keysize: 2",
        'Exception in thread "main" kafka.common.KafkaException: Unknown offset schema version 9\n',
    )
    too_long = 'Exception in thread "main" java.lang.IllegalArgumentException: newLimit > capacity: (1000 > 3)\n'
    assert _printed(tmp_path, "0.10.2.2", OFFSET_KEY)[1] == too_long
    assert _printed(tmp_path, "1.0.1", OFFSET_KEY)[1] == too_long
    unknown = 'Exception in thread "main" kafka.common.KafkaException: Unknown offset schema version 9\n'
    assert _printed(tmp_path, "1.0.1", int16(9))[1] == unknown


def test_a_value_that_reaches_past_its_message_does_not_end_a_run_with_json(tmp_path: Path) -> None:
    stdout, stderr = _printed(tmp_path, "4.3.1", int16(9))
    assert stdout.endswith("key: Error at offset 0, skipping. newLimit > capacity: (1000 > 3)\n")
    assert stderr == ""


def test_versions_of_offsets_of_the_oldest_type_are_not_limited_before_4_1() -> None:
    key, value = int16(0) + string("g") + string("t") + int32(1), int16(3) + int64(5) + int32(6) + string("") + int64(7)
    payload = '{"version":"3","data":{"offset":5,"leaderEpoch":6,"metadata":"","commitTimestamp":7}}'
    assert _decoded(key, value, "4.0.1")[1] == payload
    assert _decoded(key, value, "4.1.1")[0] == SKIPPED + "Found an unknown record version 3 for 0 type"


def test_common_structs_are_read_in_any_version_where_versions_are_not_checked() -> None:
    key = int16(8) + string("g") + string("m")
    value = int16(2) + int32(1) + int32(2) + b"\3\2" + UUID + b"\1" + tagged() + b"\1" + tagged()
    assert _decoded(key, value, "3.9.1")[1] == (
        '{"version":"2","data":{"memberEpoch":1,"previousMemberEpoch":2,"state":3,"assignedPartitions":'
        '[{"topicId":"AAAAAAAAAAEAAAAAAAAAAg","partitions":[]}],"partitionsPendingRevocation":[]}}'
    )
    assert _decoded(key, value, "4.0.1")[0] == SKIPPED + "Found an unknown record version 2 for 8 type"


def _members(*members: tuple[str, str | None, bytes], protocol_type: str = "connect") -> bytes:
    texts = b""
    for member_id, instance, subscription in members:
        texts += string(member_id) + (int16(-1) if instance is None else string(instance)) + string("c") + string("h")
        texts += int32(7) + int32(9) + sized(subscription) + sized(b"")
    head = int16(3) + string(protocol_type) + int32(3) + string("range") + string("L") + int64(5)
    return head + int32(len(members)) + texts


def test_a_group_that_goes_on_after_a_repeated_member_ends_the_run() -> None:
    repeated = _members(("A", None, b""), ("A", None, b""), ("B", None, b""))
    assert _thrown(GROUP_KEY, repeated, "3.7.2") == ("java.lang.AssertionError", "assertion failed")
    last = _members(("A", None, b""), ("B", None, b""), ("A", None, b""))
    assert str(_decoded(GROUP_KEY, last, "3.7.2")[1]).endswith('"assignment":"{A=,B=}"}')


def test_a_group_with_one_instance_twice_ends_the_run_from_3_0_on() -> None:
    value = _members(("A", "i", b""), ("B", "i", b""))
    assert str(_decoded(GROUP_KEY, value, "2.8.1")[1]).endswith('"assignment":"{A=,B=}"}')
    assert _thrown(GROUP_KEY, value, "3.0.1") == (
        "java.lang.IllegalStateException",
        "Static member with groupInstanceId=i cannot be added to group g1 since it is already a member",
    )


@pytest.mark.parametrize(
    ("release", "subscription", "exception", "message"),
    [
        ("2.7.2", int16(0) + int32(-1), "java.lang.RuntimeException", "non-nullable field topics was serialized as null"),
        ("3.7.2", int16(0) + int32(0) + int32(5) + b"ab", "java.lang.IllegalArgumentException", "newLimit > capacity: (5 > 2)"),
        # the subscription is not the problem: the tool continues with the assignment, which is empty
        ("3.7.2", int16(0), SCHEMA, "Buffer underflow while parsing consumer protocol's header"),
    ],
)
def test_subscriptions_are_read_though_not_shown(release: str, subscription: bytes, exception: str, message: str) -> None:
    value = _members(("A", None, subscription), protocol_type="consumer")
    assert _thrown(GROUP_KEY, value, release) == (exception, message)


def test_a_known_key_is_what_it_was_whatever_was_read_since() -> None:
    keys = coordinator.Keys(RECORDS)
    for _ in range(2):
        for name in ("g1", "g2", "g" * 300):
            assert keys.read(int16(2) + string(name)).key == {"group": name}
        assert keys.read(OFFSET_KEY).key == {"group": "g1", "topic": 't"1', "partition": 3}
        with pytest.raises(CorruptData):
            keys.read(OFFSET_KEY[:-1])
