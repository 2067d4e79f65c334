"""Records of internal topics that are shown as text, not as JSON: sets come in Scala's order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kdump.binary import kernel
from kdump.output.kafka import reports
from kdump.output.kafka.topics import scala_order
from kdump.releases.profile import profile_of
from tests import kernels
from tests.builders.messages import int8, int16, int32, int64, sized, string
from tests.builders.records import batch, message, message_set, record
from tests.loops import each

OFFSETS, TRANSACTIONS, REMOTE = "offsets-decoder", "transaction-log-decoder", "remote-log-metadata-decoder"
NAMES = ("t", "Aa", "BB", "AaAa", "BBBB", "AaBB", "größe", "\U0001f9c0 käse", 'quotes " and \\', "a-topic-of-some-length", "")


def _printed(name: str, path: Path, release: str, decoder: str) -> kernels.Printed:
    with kernels.using(name):
        return kernels.printed(["--release", release, f"--{decoder}", "--print-data-log", "--deep-iteration", "--files", path])


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
