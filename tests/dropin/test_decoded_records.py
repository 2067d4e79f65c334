"""Records of internal topics, decoded by the kernel in C and by the one in Python: the output is the same."""

from __future__ import annotations

import struct
from pathlib import Path
from unittest import mock

import pytest

from kdump.binary import kernel
from kdump.dropin import logs
from tests import kernels
from tests.builders.messages import int16, int32, sized, string
from tests.builders.records import abort_record, batch, message, message_set, record
from tests.kernels import Sizes
from tests.loops import each
from tests.support import skip_if


def _printed(name: str, path: Path, release: str, decoder: str, sizes: Sizes) -> kernels.Printed:
    with kernels.using(name):
        return kernels.printed(["--release", release, f"--{decoder}", "--print-data-log", "--files", path], sizes)


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
def test_an_odd_record_of_metadata_is_so_with_both_kernels(decoder: str, value: bytes, shown: bytes, tmp_path: Path) -> None:
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


OFFSETS, REMOTE = "offsets-decoder", "remote-log-metadata-decoder"


def _group(members: list[bytes], protocol_type: str = "connect") -> bytes:
    return int16(0) + string(protocol_type) + int32(1) + string("range") + string("m") + int32(len(members)) + b"".join(members)


def _member(name: bytes, assignment: bytes = b"") -> bytes:
    return int16(len(name)) + name + string("c") + string("/h") + int32(9) + sized(b"") + sized(assignment)


@pytest.mark.parametrize(
    ("names", "shown"),
    [([b"b", b"a", b"b"], "{a=,b=}"), ([b"a\xff", b"a\xfe"], "{a\ufffd=}"), ([b"a", b"\xed\xa0\x80"], "{a=,\ufffd=}")],
)
def test_members_with_equal_names_are_one(names: list[bytes], shown: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=int16(2) + string("g"), value=_group([_member(name) for name in names]))]))
    assert f'"assignment":"{shown}"' in _printed(kernel.name, path, "2.5.0", OFFSETS, Sizes()).stdout.decode()


@pytest.mark.parametrize(
    ("assignment", "shown"), [(b"", ""), (b"\0", "0"), (b"\0\0", "0"), (b"\0\x0f\xff", "FFF"), (b"\x10", "10"), (b"\0\xa0", "A0")]
)
def test_bytes_of_a_member_are_one_number(assignment: bytes, shown: str, tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(records=[record(key=int16(2) + string("g"), value=_group([_member(b"m", assignment)]))]))
    assert f'"assignment":"{{m={shown}}}"' in _printed(kernel.name, path, "2.5.0", OFFSETS, Sizes()).stdout.decode()


@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_metadata_that_reaches_past_its_message_does_not_end_a_run(release: str, tmp_path: Path) -> None:
    """The real tools of both releases print this."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(message_set(messages=[message(value=b"abc", value_length=1000, magic=0)]))
    for name in kernels.KERNELS:
        if name == kernel.C and kernels.why_no_c():
            continue
        printed = _printed(name, path, release, REMOTE, Sizes())
        assert printed.stdout.endswith(b" payload: Error at offset 0, skipping. newLimit > capacity: (1000 > 3)\n"), name
        assert printed.exit_code == 0
