"""Reading beside a broker that is at work."""

import os
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from kdump.binary.source import Source
from kdump.binary.throttle import Throttle, rate_of
from kdump.cli import dropin
from kdump.errors import UsageError
from tests.builders.records import batch, record


@pytest.fixture(autouse=True)
def _without_throttle() -> Iterator[None]:
    yield
    Source.throttle = None


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(batch(base_offset=n, records=[record(value=bytes(1000))]) for n in range(3000)))
    return path


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        *(("50MB/s", 50_000_000), ("50M", 50_000_000), ("1.5GiB/s", 3 << 29)),
        *(("64KiB", 64 << 10), ("4096", 4096), ("10 kb/s", 10_000)),
    ],
)
def test_a_rate_is_read_in_the_usual_units(text: str, rate: int) -> None:
    assert rate_of(text) == rate


@pytest.mark.parametrize("text", ["", "fast", "0", "-5MB/s", "5TB/s", "1.2.3M"])
def test_a_rate_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="--rate takes a rate, such as 50MB/s"):
        rate_of(text)


def test_a_file_is_read_no_faster_than_its_rate(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(time, "sleep", slept.append)
    Source.throttle = Throttle(10_000_000, drops_pages=False)
    with Source(str(log)) as source:
        assert not source.is_direct, "nothing reads past the throttle"
    with Source(str(log)) as source:
        for _ in range(3):
            assert source.read(0, source.size) == log.read_bytes()
        # all but the last piece, which nothing waits for
        assert sum(slept) >= (3 * source.size - (1 << 20)) / 10_000_000


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system has no such advice")
def test_only_pages_that_were_not_cached_are_dropped(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda _descriptor, start, size, _advice: dropped.append((start, size)))
    cached = 1 << 20
    preadv = os.preadv

    def preadv_of_half_cached(descriptor: int, buffers: list[memoryview], position: int, flags: int = 0) -> int:
        if flags and position >= cached:
            raise BlockingIOError
        return preadv(descriptor, buffers, position)

    monkeypatch.setattr(os, "preadv", preadv_of_half_cached)
    Source.throttle = Throttle(None, drops_pages=True)
    with Source(str(log)) as source:
        assert source.read(0, source.size) == log.read_bytes()
        assert dropped[0][0] == cached
        assert sum(size for _, size in dropped) == source.size - cached


@pytest.mark.parametrize("arguments", [["--jobs", "two"], ["--jobs"], ["--jobs=-1"], ["--rate"]])
def test_a_value_that_is_none_is_a_usage_error(arguments: list[str]) -> None:
    stderr = BytesIO()
    assert dropin.main(["--files", "x.log", *arguments], BytesIO(), stderr) == 2
    assert stderr.getvalue().startswith(b"kdump: --")
