"""Records of internal topics that are shown as text, not as JSON: both kernels print the same, in the words of each release."""

from __future__ import annotations

import random
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary import kernel
from kdump.dropin import logs
from kdump.messages import consumer_protocol
from kdump.messages.schema import Field
from kdump.output.kafka import reports, scala_order, topic_records
from kdump.output.kafka.regular_records import RegularRecords
from kdump.releases.profile import profile_of
from tests import kernels
from tests.any_message import MALFORMED, Writer, any_message, damaged
from tests.builders.compression import Codec
from tests.builders.messages import int8, int16, int32, int64, sized, string
from tests.builders.records import batch, message, message_set, record, unsigned_varint
from tests.kernels import Sizes
from tests.loops import each

OFFSETS, TRANSACTIONS, REMOTE = "offsets-decoder", "transaction-log-decoder", "remote-log-metadata-decoder"
BEFORE_JSON = ("0.11.0.0", "0.11.0.2", "1.0.0", "1.0.1", "2.1.0", "2.3.0", "2.4.1", "2.5.0", "2.7.0", "3.0.0", "3.4.1")
CASES = [
    *((release, OFFSETS) for release in (*BEFORE_JSON, "3.7.2")),
    *((release, TRANSACTIONS) for release in (*BEFORE_JSON, "4.0.2")),
    *((release, REMOTE) for release in ("3.9.1", "4.0.2", "4.3.1")),
]
SIZES = (Sizes(), Sizes(window=400, out=1000, decoded=1500), Sizes(out=300, decoded=100_000))
RECORDS = 8  # in a batch
NAMES = ("t", "Aa", "BB", "AaAa", "BBBB", "AaBB", "größe", "\U0001f9c0 käse", 'quotes " and \\', "a-topic-of-some-length", "")


class _Accepted(Writer):
    """Messages that Kafka's tool accepts: nothing comes twice, states are known, offsets and epochs ascend."""

    def field(self, field: Field, is_tagged: bool = False) -> bytes:
        chance, count = self.chance, None
        if field.name == "members":
            count = chance.choice((0, 1, 2, 3, 12, 40))
        elif field.name in ("transactionPartitions", "assignedPartitions"):
            count = chance.choice((1, 2, len(NAMES)))
        elif field.name in ("partitionIds", "partitions") and field.is_array:
            numbers = chance.sample(range(-2, 40), chance.choice((0, 1, 3, 30)))
            return self.length(len(numbers), "i") + b"".join(map(int32, numbers))
        elif field.name == "segmentLeaderEpochs":
            count = chance.choice((1, 2, 5))
        if count is None:
            return super().field(field, is_tagged)
        names = chance.sample(NAMES, count) if count <= len(NAMES) else [f"member {number}" for number in range(count)]
        return self.length(count, "i") + b"".join(self._element(field, number, name) for number, name in enumerate(names))

    def _element(self, field: Field, number: int, name: str) -> bytes:
        if field.name == "segmentLeaderEpochs":
            return int32(3 * number - 1) + int64(number * 100) + b"\0"
        text = name.encode()
        if field.name != "members":
            numbers = next(inner for inner in field.fields if inner.is_array)
            return self.length(len(text), "h") + text + self.field(numbers) + (b"\0" if self.is_flexible else b"")
        self.name = text
        return self.fields(field.fields)

    def value(self, field: Field, is_tagged: bool, is_null: bool, is_element: bool = False) -> bytes:
        chance = self.chance
        known = {
            "transactionStatus": lambda: int8(chance.choice((0, 1, 4, 6))),
            "clientTransactionVersion": lambda: int16(chance.randrange(3)),
            "remoteLogSegmentState": lambda: int8(chance.randrange(4)),
            "remotePartitionDeleteState": lambda: int8(chance.randrange(3)),
            "startOffset": lambda: int64(7),
            "endOffset": lambda: int64(chance.choice((7, 8, 1 << 40))),
            "memberId": lambda: self.length(len(self.name), "h") + self.name,
            "groupInstanceId": lambda: self.length(-1, "h") if is_null else self.length(len(self.name), "h") + self.name,
            "protocolType": lambda: self._text(chance.choice(("consumer", "consumer", "connect", ""))),
            "subscription": lambda: self._contained(b"\0\0" + any_message(consumer_protocol.SUBSCRIPTION, 0, chance)),
            "assignment": lambda: self._contained(self._assignment()),
        }
        return known[field.name]() if field.name in known else super().value(field, is_tagged, is_null, is_element)

    def _assignment(self) -> bytes:
        version = self.chance.choice((0, 1, 3))
        topics, _ = consumer_protocol.ASSIGNMENT.fields
        data = _Accepted(0, False, self.chance, {}).field(topics)
        users = self.chance.choice((int32(0), int32(0), sized(b"\0\x0f\xff")))
        return int16(version) + data + users + self.chance.choice((b"", b"more"))

    def _contained(self, data: bytes) -> bytes:
        return self.length(len(data), "i") + data

    def _text(self, text: str) -> bytes:
        return self.length(len(text), "h") + text.encode()


def _known(release: str, decoder: str) -> RegularRecords:
    known = topic_records.decoder_of(profile_of(release), decoder).regular
    assert known is not None and known.is_text
    return known


def _any_record(known: RegularRecords, chance: random.Random) -> tuple[bytes | None, bytes | None]:
    number, kind = chance.choice(list(known.records.items()))
    version = chance.randrange(kind.last_version + 1)
    value = _Accepted(version, version >= kind.value.flexible_since, chance, {}).fields(kind.value.fields)
    if kind.key is None:
        return None, b"\1" + unsigned_varint(number) + unsigned_varint(version) + value
    key = int16(number) + any_message(kind.key, 0, chance)
    return key, None if chance.random() < 0.1 and known.tombstones != "TOMBSTONES_LEFT" else int16(version) + value


def _printed(name: str, path: Path, release: str, decoder: str, sizes: Sizes = SIZES[0]) -> kernels.Printed:
    with kernels.using(name):
        return kernels.printed(
            ["--release", release, f"--{decoder}", "--print-data-log", "--deep-iteration", "--files", path], sizes
        )


@each(("release", "decoder"), CASES)
def test_both_kernels_print_the_same_text(release: str, decoder: str, tmp_path: Path) -> None:
    if missing := kernels.why_no_c():
        pytest.skip(missing)
    known, chance = _known(release, decoder), random.Random(f"{release} {decoder}")
    log = b""
    for number in range(8):
        records = [_any_record(known, chance) for _ in range(RECORDS)]
        codec: Codec = chance.choice(("none", "gzip"))
        log += batch(records=[record(key=key, value=value) for key, value in records], base_offset=number * RECORDS, codec=codec)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(log)
    wanted = _printed(kernel.PYTHON, path, release, decoder)
    for sizes in SIZES:
        assert _printed(kernel.C, path, release, decoder, sizes) == wanted


@each(("release", "decoder"), CASES)
def test_both_kernels_print_the_same_of_what_the_tool_does_not_accept(release: str, decoder: str, tmp_path: Path) -> None:
    """Each in a log by itself: with many of them, the tool ends."""
    if missing := kernels.why_no_c():
        pytest.skip(missing)
    known, chance = _known(release, decoder), random.Random(f"{release} {decoder}")
    path = tmp_path / "00000000000000000000.log"
    for _ in range(12):
        key, value = _any_record(known, chance)
        if key is not None and chance.random() < 0.4:
            key = damaged(key, chance)
        else:
            value = damaged(value or b"", chance)
        path.write_bytes(batch(records=[record(key=key, value=value), record(key=key, value=value)]))
        assert _printed(kernel.C, path, release, decoder) == _printed(kernel.PYTHON, path, release, decoder), (key, value)


@each(("release", "decoder"), CASES)
def test_the_kernel_in_c_leaves_no_accepted_record_to_python(release: str, decoder: str, tmp_path: Path) -> None:
    if missing := kernels.why_no_c():
        pytest.skip(missing)
    known, chance = _known(release, decoder), random.Random(f"{release} {decoder}")
    records = [_any_record(known, chance) for _ in range(40)]
    if release == "1.0.0" or release.startswith("0.11"):  # they derive the protocol type of a group from its members
        records = [(key, value) for key, value in records if (key or b"")[:2] != int16(2)]
    records = [(key, value) for key, value in records if not any(text in (key or b"") + (value or b"") for text in MALFORMED)]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=key, value=value) for key, value in records]))
    with mock.patch.object(logs._RecordText, "show", side_effect=AssertionError):
        printed = _printed(kernel.C, path, release, decoder, Sizes())
    assert printed.stdout.count(b" key: ") + printed.stdout.count(b" payload: ") >= len(records)


def _group(members: list[bytes], protocol_type: str = "connect") -> bytes:
    return int16(0) + string(protocol_type) + int32(1) + string("range") + string("m") + int32(len(members)) + b"".join(members)


def _member(name: bytes, assignment: bytes = b"") -> bytes:
    return int16(len(name)) + name + string("c") + string("/h") + int32(9) + sized(b"") + sized(assignment)


@each("release", ["1.0.1", "2.4.0", "2.5.0", "3.7.2"])
@each("count", [1, 11, 12, 13, 23, 25, 96, 97, 383, 385, 512, 513])
def test_members_come_in_the_order_of_scala_s_maps(release: str, count: int, tmp_path: Path) -> None:
    chance = random.Random(count)
    names = [f"{chance.choice(NAMES)}{chance.choice(('Aa', 'BB'))}{number % 97}-{number // 97}" for number in range(count)]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(
        batch(records=[record(key=int16(2) + string("g"), value=_group([_member(name.encode()) for name in names]))])
    )
    order = reports.ordered(profile_of(release).report_order, list(names))
    assert sorted(order) == sorted(names)
    wanted = ",".join(f"{name}=" for name in order).replace("\\", "\\\\").replace('"', '\\"')
    for name in kernels.KERNELS:
        if name == kernel.C and kernels.why_no_c():
            continue
        assert f'"assignment":"{{{wanted}}}"' in _printed(name, path, release, OFFSETS).stdout.decode(), name


@each("release", ["2.4.1", "2.5.0", "4.0.2"])
@each("count", [1, 2, 13, 14, 15, 28, 60, 250, 460, 461, 512, 513])
def test_partitions_come_in_the_order_of_scala_s_sets(release: str, count: int, tmp_path: Path) -> None:
    partitions = [(NAMES[number % len(NAMES)], number * 7 - 5) for number in range(count)]
    random.Random(count).shuffle(partitions)
    topics = b"".join(string(topic) + int32(1) + int32(number) for topic, number in partitions)
    value = int16(0) + int64(7) + int16(0) + int32(60000) + int8(1) + int32(count) + topics + int64(1) + int64(2)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=int16(0) + string("x"), value=value)]))
    order = scala_order.ORDERS[profile_of(release).report_order](partitions)
    start, separator, end = ("Set(", ", ", ")") if release == "2.4.1" else ("[", ",", "]")
    wanted = f"partitions={start}{separator.join(f'{topic}-{number}' for topic, number in order)}{end},"
    for name in kernels.KERNELS:
        if name == kernel.C and kernels.why_no_c():
            continue
        assert wanted in _printed(name, path, release, TRANSACTIONS).stdout.decode(), name


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([b"b", b"a", b"b"], "{a=,b=}"),
        ([b"a\xff", b"a\xfe"], "{a\ufffd=}"),
        ([b"a", b"\xed\xa0\x80"], "{a=,\ufffd=}"),
    ],
)
def test_members_with_equal_names_are_one(names: list[bytes], shown: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=int16(2) + string("g"), value=_group([_member(name) for name in names]))]))
    for name in kernels.KERNELS:
        if name == kernel.C and kernels.why_no_c():
            continue
        assert f'"assignment":"{shown}"' in _printed(name, path, "2.5.0", OFFSETS).stdout.decode(), name


@pytest.mark.parametrize(
    ("assignment", "shown"), [(b"", ""), (b"\0", "0"), (b"\0\0", "0"), (b"\0\x0f\xff", "FFF"), (b"\x10", "10"), (b"\0\xa0", "A0")]
)
def test_bytes_of_a_member_are_one_number(assignment: bytes, shown: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=int16(2) + string("g"), value=_group([_member(b"m", assignment)]))]))
    for name in kernels.KERNELS:
        if name == kernel.C and kernels.why_no_c():
            continue
        assert f'"assignment":"{{m={shown}}}"' in _printed(name, path, "2.5.0", OFFSETS).stdout.decode(), name


def test_a_topic_of_many_partitions_whose_text_is_too_long_is_left_to_python(tmp_path: Path) -> None:
    topic = string("t" * 30000) + int32(500) + b"".join(map(int32, range(500)))
    value = int16(0) + int64(7) + int16(0) + int32(60000) + int8(1) + int32(1) + topic + int64(1) + int64(2)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=int16(0) + string("x"), value=value)]))
    printed = _printed(kernel.PYTHON, path, "2.8.2", TRANSACTIONS)
    assert len(printed.stdout) > 500 * 30000
    if not kernels.why_no_c():
        assert _printed(kernel.C, path, "2.8.2", TRANSACTIONS) == printed


def test_values_of_the_tests_are_shown_as_they_are(tmp_path: Path) -> None:
    """What all tests above compare is text, not an error."""
    path = tmp_path / "00000000000000000000.log"
    for release, decoder in CASES:
        known, chance = _known(release, decoder), random.Random(f"{release} {decoder}")
        records = [_any_record(known, chance) for _ in range(30)]
        path.write_bytes(batch(records=[record(key=key, value=value) for key, value in records]))
        printed = _printed(kernel.PYTHON, path, release, decoder)
        assert printed.exit_code == 0 and b"Error at" not in printed.stdout and b"unknown" not in printed.stdout, release


@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_metadata_that_reaches_past_its_message_does_not_end_a_run(release: str, tmp_path: Path) -> None:
    """The real tools of both releases print this."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(message_set(messages=[message(value=b"abc", value_length=1000, magic=0)]))
    for name in kernels.KERNELS:
        if name == kernel.C and kernels.why_no_c():
            continue
        printed = _printed(name, path, release, REMOTE)
        assert printed.stdout.endswith(b" payload: Error at offset 0, skipping. newLimit > capacity: (1000 > 3)\n"), name
        assert printed.exit_code == 0
