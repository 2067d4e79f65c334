"""Listings by several processes are those of one, whatever the contents, and whatever happens to the processes."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdump.binary import kernel
from kdump.cli.listing.several import ParallelListing
from kdump.dropin import parallel_text
from kdump.reading.tuning import ReadTuning
from tests import kernels
from tests.builders.records import Record, batch, commit_record
from tests.cli.test_intact_listing import BOUNDS, WAYS, as_option, logs
from tests.kernels import Sizes
from tests.lost_workers import lose_a_worker

pytestmark = pytest.mark.skipif(kernels.why_no_c() is not None, reason="the kernel in C was not built")

NAME = f"{0:020d}.log"
FORMS = ("ndjson", "csv", "kafka")
SIZES = (Sizes(stretch=100, out=5000), Sizes(stretch=1000, out=5000), Sizes(stretch=400, out=300, window=200))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_several_processes_list_what_one_lists(tmp_path: Path, form: str, data: st.DataObject) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"".join(data.draw(st.lists(logs(), min_size=1, max_size=3))))
    bounds = data.draw(st.just({}) | BOUNDS)
    options = [text for option, value in bounds.items() for text in (option, as_option(option, value))]
    arguments = ["log", *data.draw(st.sampled_from(WAYS)), *options, "--output", form, str(path)]
    with kernels.using(kernel.C):
        assert kernels.listed(arguments, data.draw(st.sampled_from(SIZES))) == kernels.listed(arguments)


def _log(count: int) -> list[bytes]:
    """Batches of two records, and here and there a marker, which the kernel leaves in other forms than Kafka's lines."""
    found, offset = [], 0
    for number in range(count):
        epoch = number // 100
        if number % 40 == 17:
            marker = batch(
                base_offset=offset,
                records=[commit_record()],
                is_control=True,
                is_transactional=True,
                producer_id=7,
                partition_leader_epoch=epoch,
            )
            found.append(marker)
            offset += 1
            continue
        records = [Record(key=b"k", value=b"v%d" % number)] * 2
        found.append(batch(base_offset=offset, records=records, partition_leader_epoch=epoch))
        offset += 2
    return found


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Where the stretches end that were listed."""
    ends: list[int] = []
    take_over = ParallelListing.take_over

    def noting(listing: ParallelListing, stretch: parallel_text.Stretch) -> None:
        ends.append(stretch.reached)
        take_over(listing, stretch)

    monkeypatch.setattr(ParallelListing, "take_over", noting)
    return ends


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", [[], ["--deep"], ["--from-offset", "101", "--deep"], ["--from-time", "2000-01-01"]], ids=" ".join)
def test_stretches_are_written_in_order(tmp_path: Path, taken: list[int], form: str, way: list[str]) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"".join(_log(300)))
    arguments: list[str | Path] = ["log", *way, "--output", form, path]
    wanted = kernels.listed(arguments)
    assert not taken
    assert kernels.listed(arguments, SIZES[1]) == wanted
    assert len(taken) > 3 and taken[-1] == path.stat().st_size


@pytest.mark.parametrize("what", ["crc", "offset", "epoch", "hole"])
def test_processes_go_on_after_damage(tmp_path: Path, taken: list[int], what: str) -> None:
    batches = _log(300)
    damaged = bytearray(batches[99])
    if what == "hole":
        damaged[:] = bytes(len(damaged))
    else:
        damaged[{"crc": 70, "offset": 3, "epoch": 14}[what]] ^= 0x40
    path = tmp_path / NAME
    path.write_bytes(b"".join([*batches[:99], damaged, *batches[100:]]))
    for way in ([], ["--deep"], ["--no-keep-going"]):
        arguments: list[str | Path] = ["log", *way, "--output", "ndjson", path]
        taken.clear()
        with kernels.reading_with(ReadTuning(window_bytes=300, near_bytes=300, stretch_bytes=1000, pause_bytes=300)):
            wanted = kernels.listed(arguments)
            assert kernels.listed(arguments, SIZES[1]) == wanted
        assert len(taken) > 3
        assert (taken[-1] == path.stat().st_size) == ("--no-keep-going" not in way or what in ("offset", "epoch"))


@pytest.mark.slow
@pytest.mark.parametrize("message", [1, 2, 5])
def test_nothing_is_lost_or_doubled_where_a_process_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: int) -> None:
    """The process that writes takes one stretch, so that the others have enough to say."""
    path = tmp_path / NAME
    path.write_bytes(b"".join(_log(300)))
    arguments: list[str | Path] = ["log", "--deep", "--output", "csv", path]
    wanted = kernels.listed(arguments)
    lost = lose_a_worker(monkeypatch, after=message)
    assert kernels.listed(arguments, SIZES[1]) == wanted
    assert True in lost


def test_processes_end_where_nobody_reads(tmp_path: Path) -> None:
    path = tmp_path / NAME
    one = batch(records=[Record(value=b"v" * 20)] * 1000)
    path.write_bytes(b"".join(struct.pack(">q", 1000 * number) + one[8:] for number in range(1400)))
    command = [sys.executable, "-m", "kdump", "log", "--deep", "--output", "ndjson", "--jobs", "3", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(10_000).startswith(b'{"offset":0,')
        process.stdout.close()
        assert process.stderr.read() == b""  # at its end no worker holds it
    assert process.returncode == 0
