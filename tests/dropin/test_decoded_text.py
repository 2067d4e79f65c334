"""Records of internal topics that are shown as text, not as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdump.binary import kernel
from tests import kernels
from tests.builders.messages import int16, int32, sized, string
from tests.builders.records import batch, message, message_set, record

OFFSETS, REMOTE = "offsets-decoder", "remote-log-metadata-decoder"


def _printed(name: str, path: Path, release: str, decoder: str) -> kernels.Printed:
    with kernels.using(name):
        return kernels.printed(["--release", release, f"--{decoder}", "--print-data-log", "--deep-iteration", "--files", path])


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
