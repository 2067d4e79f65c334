"""Records of so many headers that the heap of Kafka's tool (256 MiB) matters.

The expected outputs are of the real tool, run by its launcher's options on these files; they are too long to be goldens.
"""

import contextlib
import hashlib
import io
from pathlib import Path

from kdump.cli import dropin
from kdump.formats.long_headers import headers_at
from tests.builders.hostile_contents import long_record
from tests.builders.records import Record, encode_record
from tests.loops import each

LOG = "00000000000000000000.log"


@each("release, digest, size", [("4.3.1", "0e1006e16c72d7c5", 2_200_460), ("1.0.1", "9873261244878209", 2_200_250)])
def test_more_than_a_million_headers_are_printed(tmp_path: Path, release: str, digest: str, size: int) -> None:
    exit_code, printed, stderr = _dumped(tmp_path, 1_100_000, release)
    assert (exit_code, hashlib.sha256(printed).hexdigest()[:16], len(printed), stderr) == (0, digest, size, b"")


@each("release, digest, size", [("4.3.1", "b7af6018491268ba", 372), ("1.0.1", "ca556fe51b10e53b", 52)])
def test_five_million_headers_are_too_many_for_the_heap(tmp_path: Path, release: str, digest: str, size: int) -> None:
    exit_code, printed, stderr = _dumped(tmp_path, 5_000_000, release)
    assert (exit_code, hashlib.sha256(printed).hexdigest()[:16], len(printed)) == (1, digest, size)
    assert stderr.startswith(b'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n')


def test_long_headers_give_their_keys_again_and_again() -> None:
    pairs = [(b"", b"value"), (b"a" * 100, None), (b"k", b""), (b"z", b"x" * 200)]
    data = encode_record(Record(key=b"key" * 50, value=None, headers=pairs))
    headers = headers_at(b"--" + data + data, 2)
    assert len(headers) == 4
    assert [list(headers), list(headers)] == [[(key, None) for key, _ in pairs]] * 2


def test_the_heap_counts_buffers_of_values() -> None:
    for value, needed in ((None, 92 + 3), (b"", 148 + 3), (b"v", 148 + 4)):
        data = encode_record(Record(headers=[(b"k", value)] * 1000))
        headers = headers_at(data, 0)
        assert [headers.needs_more_heap_than(1000 * needed - less) for less in (0, 1)] == [False, True]


def _dumped(folder: Path, headers: int, release: str) -> tuple[int, bytes, bytes]:
    (folder / LOG).write_bytes(long_record("none", header=b"\2k\1", headers=headers))
    stdout, stderr = io.BytesIO(), io.BytesIO()
    with contextlib.chdir(folder):
        arguments = ["--release", release, "--deep-iteration", "--files", LOG]
        return dropin.main(arguments, stdout, stderr, is_terminal=False), stdout.getvalue(), stderr.getvalue()
