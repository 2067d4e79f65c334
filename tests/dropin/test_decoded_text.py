"""Records of internal topics that are shown as text, not as JSON: both kernels print the same; sets come in Scala's order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kdump.binary import kernel
from kdump.messages.schema import Field
from kdump.output.kafka import reports
from kdump.output.kafka.topics import scala_order, topic_records
from kdump.output.kafka.topics.regular_records import RegularRecords
from kdump.releases.profile import profile_of
from tests import kernels
from tests.any_message import Writer, damaged
from tests.builders.compression import Codec
from tests.builders.messages import int8, int16, int32, int64, sized, string
from tests.builders.records import batch, message, message_set, record, unsigned_varint
from tests.kernels import Sizes
from tests.loops import each
from tests.support import skip_if

OFFSETS, TRANSACTIONS, REMOTE = "offsets-decoder", "transaction-log-decoder", "remote-log-metadata-decoder"
RELEASES = ("3.9.1", "4.0.2", "4.3.1")
SIZES = (Sizes(), Sizes(window=400, out=1000, decoded=1500), Sizes(out=300, decoded=100_000))
RECORDS = 8  # in a batch
NAMES = ("t", "Aa", "BB", "AaAa", "BBBB", "AaBB", "größe", "\U0001f9c0 käse", 'quotes " and \\', "a-topic-of-some-length", "")


class _Accepted(Writer):
    """Messages that Kafka's tool accepts: states are known, offsets and epochs ascend."""

    def field(self, field: Field, is_tagged: bool = False) -> bytes:
        if field.name != "segmentLeaderEpochs":
            return super().field(field, is_tagged)
        count = self.chance.choice((1, 2, 5))
        return self.length(count, "i") + b"".join(int32(3 * row - 1) + int64(row * 100) + b"\0" for row in range(count))

    def value(self, field: Field, is_tagged: bool, is_null: bool, is_element: bool = False) -> bytes:
        chance = self.chance
        known = {
            "remoteLogSegmentState": lambda: int8(chance.randrange(4)),
            "remotePartitionDeleteState": lambda: int8(chance.randrange(3)),
            "startOffset": lambda: int64(7),
            "endOffset": lambda: int64(chance.choice((7, 8, 1 << 40))),
        }
        return known[field.name]() if field.name in known else super().value(field, is_tagged, is_null, is_element)


def _known(release: str) -> RegularRecords:
    known = topic_records.decoder_of(profile_of(release), REMOTE).regular
    assert known is not None and known.is_text
    return known


def _any_value(known: RegularRecords, chance: random.Random) -> bytes:
    number, kind = chance.choice(list(known.records.items()))
    version = chance.randrange(kind.value.last_version + 1)
    value = _Accepted(version, version >= kind.value.flexible_since, chance, {}).fields(kind.value.fields)
    return b"\1" + unsigned_varint(number) + unsigned_varint(version) + value


def _printed(name: str, path: Path, release: str, decoder: str, sizes: Sizes = SIZES[0]) -> kernels.Printed:
    with kernels.using(name):
        return kernels.printed(
            ["--release", release, f"--{decoder}", "--print-data-log", "--deep-iteration", "--files", path], sizes
        )


@each("release", RELEASES)
def test_both_kernels_print_the_same_text(release: str, tmp_path: Path) -> None:
    skip_if(kernels.why_no_c())
    known, chance = _known(release), random.Random(release)
    log = b""
    for number in range(8):
        values = [_any_value(known, chance) for _ in range(RECORDS)]
        codec: Codec = chance.choice(("none", "gzip"))
        log += batch(records=[record(value=value) for value in values], base_offset=number * RECORDS, codec=codec)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(log)
    wanted = _printed(kernel.PYTHON, path, release, REMOTE)
    for sizes in SIZES:
        assert _printed(kernel.C, path, release, REMOTE, sizes) == wanted


@each("release", RELEASES)
def test_both_kernels_print_the_same_of_what_the_tool_does_not_accept(release: str, tmp_path: Path) -> None:
    """Each in a log by itself: with many of them, the tool ends."""
    skip_if(kernels.why_no_c())
    known, chance = _known(release), random.Random(release)
    path = tmp_path / "00000000000000000000.log"
    for _ in range(12):
        value = damaged(_any_value(known, chance), chance)
        path.write_bytes(batch(records=[record(value=value), record(value=value)]))
        assert _printed(kernel.C, path, release, REMOTE) == _printed(kernel.PYTHON, path, release, REMOTE), value


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
    assert f'"assignment":"{{{wanted}}}"' in _printed(kernel.name, path, release, OFFSETS).stdout.decode()


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
    assert wanted in _printed(kernel.name, path, release, TRANSACTIONS).stdout.decode()


@pytest.mark.parametrize(
    ("names", "shown"),
    [([b"b", b"a", b"b"], "{a=,b=}"), ([b"a\xff", b"a\xfe"], "{a\ufffd=}"), ([b"a", b"\xed\xa0\x80"], "{a=,\ufffd=}")],
)
def test_members_with_equal_names_are_one(names: list[bytes], shown: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=int16(2) + string("g"), value=_group([_member(name) for name in names]))]))
    assert f'"assignment":"{shown}"' in _printed(kernel.name, path, "2.5.0", OFFSETS).stdout.decode()


@pytest.mark.parametrize(
    ("assignment", "shown"), [(b"", ""), (b"\0", "0"), (b"\0\0", "0"), (b"\0\x0f\xff", "FFF"), (b"\x10", "10"), (b"\0\xa0", "A0")]
)
def test_bytes_of_a_member_are_one_number(assignment: bytes, shown: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=int16(2) + string("g"), value=_group([_member(b"m", assignment)]))]))
    assert f'"assignment":"{{m={shown}}}"' in _printed(kernel.name, path, "2.5.0", OFFSETS).stdout.decode()


def test_values_of_the_tests_are_shown_as_they_are(tmp_path: Path) -> None:
    """What all tests above compare is text, not an error."""
    path = tmp_path / "00000000000000000000.log"
    for release in RELEASES:
        known, chance = _known(release), random.Random(release)
        path.write_bytes(batch(records=[record(value=_any_value(known, chance)) for _ in range(30)]))
        printed = _printed(kernel.PYTHON, path, release, REMOTE)
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
