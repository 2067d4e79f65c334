"""Records of internal topics, decoded by the kernel in C and by the one in Python: the output is the same."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from unittest import mock

from kdump.binary import kernel
from kdump.decoders import consumer_offsets
from kdump.dropin import logs
from kdump.output.kafka.topics import topic_records
from kdump.output.kafka.topics.regular_records import RegularRecords
from kdump.releases.profile import profile_of
from tests import kernels
from tests.any_message import any_message, damaged
from tests.builders.compression import Codec
from tests.builders.messages import int16, int32, sized, string
from tests.builders.records import (
    abort_record,
    batch,
    commit_record,
    control_record,
    kraft_version_record,
    kraft_voters_record,
    leader_change_record,
    record,
    snapshot_footer_record,
    snapshot_header_record,
    unsigned_varint,
)
from tests.kernels import Sizes
from tests.loops import each
from tests.support import skip_if

DECODERS = ("offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder", "share-group-state-decoder")
RELEASES = ("2.8.2", "3.2.0", "3.9.1", "4.0.1", "4.3.1")
SIZES = (
    Sizes(),
    Sizes(out=300, decoded=100_000),
    Sizes(window=400, out=1000, decoded=900),
    Sizes(window=3000, out=5000, gaps=1),
    Sizes(stretch=2000, out=1500),
)
RECORDS = 12  # in a batch


def _records(release: str, decoder: str) -> RegularRecords | None:
    return topic_records.decoder_of(profile_of(release), decoder).regular


def _any_record(known: RegularRecords, chance: random.Random) -> tuple[bytes, bytes | None]:
    number, kind = chance.choice(list(known.records.items()))
    version = chance.choice(range(kind.value.last_version + 1))
    value = any_message(kind.value, version, chance, kind.contained)
    if kind.contained and chance.random() < 0.7:
        value = value.replace(b"\x00\x02g1", b"\x00\x08" + consumer_offsets.CONSUMERS.encode(), 1)
    if kind.key is None:
        return b"ignored", bytes([known.frame_version or 0]) + unsigned_varint(number) + unsigned_varint(version) + value
    key = int16(number) + any_message(kind.key, 0, chance)
    return key, None if chance.random() < 0.1 else int16(version) + value


def _log(known: RegularRecords, chance: random.Random, *, batches: int, damage: float = 0.0) -> bytes:
    log = b""
    for number in range(batches):
        records = [_any_record(known, chance) for _ in range(RECORDS)]
        if chance.random() < damage:
            at = chance.randrange(RECORDS)
            key, value = records[at]
            records[at] = (damaged(key, chance), value) if chance.random() < 0.4 else (key, damaged(value or b"", chance))
        codec: Codec = chance.choice(("none", "none", "gzip"))
        log += batch(records=[record(key=key, value=value) for key, value in records], base_offset=number * RECORDS, codec=codec)
    return log


def _cases() -> list[tuple[str, str]]:
    """The decoders of releases that have them."""
    pairs = [(release, decoder) for decoder in DECODERS for release in RELEASES if decoder in profile_of(release).options]
    return [(release, decoder) for release, decoder in pairs if _records(release, decoder) is not None]


def _printed(name: str, path: Path, release: str, decoder: str, sizes: Sizes) -> kernels.Printed:
    with kernels.using(name):
        return kernels.printed(["--release", release, f"--{decoder}", "--print-data-log", "--files", path], sizes)


@each(("release", "decoder"), _cases())
@each("damage", [0.0, 0.5], ids=["sound", "damaged"])
def test_both_kernels_print_the_same_of_any_records(release: str, decoder: str, damage: float, tmp_path: Path) -> None:
    skip_if(kernels.why_no_c())
    known = _records(release, decoder)
    assert known is not None
    chance = random.Random(f"{release} {decoder} {damage}")
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(_log(known, chance, batches=40, damage=damage))
    wanted = _printed(kernel.PYTHON, path, release, decoder, Sizes())
    for sizes in SIZES:
        assert _printed(kernel.C, path, release, decoder, sizes) == wanted


_EPOCH = int32(0) + struct.pack(">q", 5) + b"\0"


@each(
    ("decoder", "value", "shown"),
    [
        ("cluster-metadata-decoder", b"\1\x14\0\0zz", b"Found 2 byte(s) of garbage after 20"),
        (
            "cluster-metadata-decoder",
            b"\1\5\0" + bytes(20) + b"\1\x08\1\1",
            b"Failed to deserialize record with type 5",
        ),  # a later tag
        ("remote-log-metadata-decoder", b"\1\3\0" + bytes(52) + b"\3" + _EPOCH * 2 + int32(100) + b"\0\1\0", b"={0=5}"),
    ],
)
def test_what_is_odd_about_a_record_of_metadata_is_so_with_both_kernels(
    decoder: str, value: bytes, shown: bytes, tmp_path: Path
) -> None:
    skip_if(kernels.why_no_c())
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(value=value)]))
    for name in kernels.KERNELS:
        assert shown in _printed(name, path, "4.3.1", decoder, Sizes()).stdout, name


def test_a_record_with_more_text_than_there_is_room_for_is_left_to_python(tmp_path: Path) -> None:
    skip_if(kernels.why_no_c())
    path = tmp_path / "00000000000000000000.log"
    key = int16(1) + int16(3) + b"a\x01b" + int16(1) + b"t" + bytes(4)
    value = int16(3) + bytes(12) + int16(30000) + b"\x01" * 30000 + bytes(8)
    path.write_bytes(batch(records=[record(key=key, value=value) for _ in range(20)]))
    wanted = _printed(kernel.PYTHON, path, "4.3.1", "offsets-decoder", Sizes())
    assert wanted.stdout.count(b"\\u0001") == 20 * 30001
    for most in (100, 200_000, 10_000_000):
        assert _printed(kernel.C, path, "4.3.1", "offsets-decoder", Sizes(decoded=most, out=5000)) == wanted


CONTROL_RECORDS = (
    *(commit_record(coordinator_epoch=7), abort_record(coordinator_epoch=-1), leader_change_record()),
    *(leader_change_record(version=1), snapshot_header_record(), snapshot_footer_record(), snapshot_footer_record(version=1)),
    *(kraft_version_record(), kraft_voters_record(), control_record(control_type=9)),
    *(control_record(control_type=1, value=value) for value in (b"\0\0\0\0\0", b"\xff\xff\0\0\0\1")),
    *(control_record(control_type=3, value=None), control_record(control_type=0, value=bytes(9))),
    *(control_record(control_type=0, value=bytes(6), key_version=-1), control_record(control_type=2, key_size=3)),
)


@each("options", [["--deep-iteration"], ["--print-data-log"], ["--print-data-log", "--skip-record-metadata"]])
@each("release", ["0.11.0.0", "2.8.2", "3.9.1", "4.3.1"])
def test_both_kernels_print_the_same_of_control_records(release: str, options: list[str], tmp_path: Path) -> None:
    skip_if(kernels.why_no_c())
    path = tmp_path / "00000000000000000000.log"
    data = batch(records=[record(key=b"k", value=b"v")])
    for control in CONTROL_RECORDS:  # each by itself: with some of them, the tool ends
        path.write_bytes(data + batch(records=[control], is_control=True, base_offset=1) + data)
        for decoder in ([], ["--offsets-decoder"]):
            with kernels.using(kernel.PYTHON):
                wanted = kernels.printed(["--release", release, *options, *decoder, "--files", path])
            with kernels.using(kernel.C):
                for sizes in (Sizes(), Sizes(out=200, window=300)):
                    assert kernels.printed(["--release", release, *options, *decoder, "--files", path], sizes) == wanted


@each("option", ["--deep-iteration", "--print-data-log", "--offsets-decoder"])
def test_the_kernel_in_c_prints_transaction_markers(option: str, tmp_path: Path) -> None:
    skip_if(kernels.why_no_c())
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[abort_record(coordinator_epoch=-3)], is_control=True))
    with mock.patch.object(logs._RecordText, "show", side_effect=AssertionError), kernels.using(kernel.C):
        printed = kernels.printed([option, "--print-data-log", "--files", path])
    assert b" endTxnMarker: ABORT coordinatorEpoch: -3\n" in printed.stdout


def test_members_of_a_consumer_group_are_decoded_in_c(tmp_path: Path) -> None:
    skip_if(kernels.why_no_c())
    subscription = int16(0) + int32(1) + string("topic") + int32(-1)
    members = [
        string("m") + string("c") + string("/h") + int32(9) + sized(data) + sized(b"")
        for data in (subscription, subscription + b"more", subscription[:-1], b"", b"\0")
    ]
    group = int16(0) + string("consumer") + int32(4) + string("range") + string("m") + int32(len(members)) + b"".join(members)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=int16(2) + string("g"), value=group)]))
    with mock.patch.object(logs._RecordText, "show", side_effect=AssertionError):
        printed = _printed(kernel.C, path, "4.3.1", "offsets-decoder", Sizes())
    assert printed == _printed(kernel.PYTHON, path, "4.3.1", "offsets-decoder", Sizes())
    assert printed.stdout.count(b'"subscription":{"topics":["topic"],"userData":null},"assignment":""}') == 2
    assert b'"subscription":"AAAAAAABAAV0b3BpY////w==","assignment":""' in printed.stdout
    later = group.replace(sized(subscription) + sized(b""), sized(subscription) + sized(int16(9) + int32(0) + int32(-1)), 1)
    path.write_bytes(batch(records=[record(key=int16(2) + string("g"), value=later)]))
    in_c, in_python = (_printed(name, path, "4.3.1", "offsets-decoder", Sizes()) for name in (kernel.C, kernel.PYTHON))
    assert in_c == in_python


@each(
    ("value", "shown"),
    [
        *((0.0, "0.0"), (-0.0, "-0.0"), (-17.0, "-17.0"), (9999999.0, "9999999.0"), (1e7, "1.0E7")),
        *((-1048576000.0, "-1.048576E9"), (123456789012345.0, "1.23456789012345E14"), (1e15, "1.0E15"), (0.1, "0.1")),
        *((-12.5, "-12.5"), (0.001, "0.001"), (0.00099, "9.9E-4"), (0.1 + 0.2, "0.30000000000000004")),
        *((1234567.000001, "1234567.000001"), (12345678.5, "1.23456785E7"), (0.05, "0.05")),
        (float("inf"), '"Infinity"'),
    ],
)
def test_a_quota_is_shown_as_java_shows_a_double(value: float, shown: str, tmp_path: Path) -> None:
    data = b"\1\x0e\0" + b"\1" + b"\2k" + struct.pack(">d", value) + b"\0" + b"\0"
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(value=data)]))
    for name in kernels.KERNELS:
        printed = _printed(name, path, "4.3.1", "cluster-metadata-decoder", Sizes())
        assert f'"key":"k","value":{shown},"remove":false' in printed.stdout.decode()


def test_the_kernel_in_c_escapes_the_same_signs_in_json(tmp_path: Path) -> None:
    skip_if(kernels.why_no_c())
    path = tmp_path / "00000000000000000000.log"
    names = ["".join(map(chr, range(start, start + 8))) for start in range(0, 136, 8)]
    keys = [int16(1) + string("g") + string(name) + int32(0) for name in names]
    path.write_bytes(batch(records=[record(key=key, value=int16(1) + bytes(26)) for key in keys]))
    wanted = _printed(kernel.PYTHON, path, "4.3.1", "offsets-decoder", Sizes())
    assert b"\\u001F" in wanted.stdout
    assert _printed(kernel.C, path, "4.3.1", "offsets-decoder", Sizes()) == wanted
