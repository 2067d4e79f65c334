"""Nothing is left of a run whose input changes meanwhile or that is killed, and its input stays as it is."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kdump.errors import Unreadable
from kdump.formats.ranges import Range
from kdump.mending.progress import Progress
from kdump.mending.recover import recover
from kdump.mending.redact import redact
from kdump.mending.reindex import reindex
from kdump.mending.slice import slice
from kdump.mending.slice.slicing import Wanted
from tests.builders.files import file_name, write_partition
from tests.builders.records import batch, record
from tests.loops import each
from tests.support import with_interrupts

Run = Callable[[str, str, Progress], object]

RUNS: dict[str, Run] = {
    "recover": lambda path, out, progress: recover.run([path], out, config={}, progress=progress),
    "redact": lambda path, out, progress: redact.run(path, out, Range(), progress=progress),
    "reindex": lambda path, out, progress: reindex.run(path, out, config={}, progress=progress),
    "slice": lambda path, out, progress: slice.run(path, out, Wanted(Range(0, 3)), config={}, progress=progress),
    "excerpt": lambda path, out, progress: slice.run(
        path, out, Wanted(Range(0, 3)), with_damage=True, config={}, progress=progress
    ),
}


@each("run", RUNS.values(), ids=RUNS)
@each("base_offset", [0, 9], ids=["grows", "has a new log"])
@each("is_once", [False, True])
def test_an_input_that_changes_meanwhile_is_refused(base_offset: int, is_once: bool, run: Run, tmp_path: Path) -> None:
    path = write_partition(tmp_path, topic="orders", segments={0: [batch(records=[record()] * 4)]})

    size = 0 if base_offset else (path / file_name(0, ".log")).stat().st_size

    def append(_done: int, _total: int) -> None:
        with (path / file_name(base_offset, ".log")).open("ab") as file:
            if file.tell() == size or not is_once:
                file.write(batch(base_offset=9, records=[record()]))

    with pytest.raises(Unreadable, match="was changed"):
        run(str(path), str(tmp_path / "out"), Progress(append))
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


STATUSES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}


@pytest.mark.parametrize("words", [["recover"], ["reindex"], ["reindex", "--without-logs"]])
def test_a_killed_run_leaves_the_input_and_no_directory_of_that_name(words: list[str], tmp_path: Path) -> None:
    """Only SIGKILL leaves the incomplete one."""
    batches = [batch(base_offset=offset, records=[record(value=b"v" * 500_000)]) for offset in range(60)]
    path = write_partition(tmp_path, topic="orders", segments={0: batches})
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    out, incomplete = tmp_path / "out", tmp_path / "out.incomplete"
    command = [sys.executable, "-m", "kdump", *words, str(path), "-o", str(out), "--rate", "20MB/s"]
    for number, ending in enumerate(STATUSES):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=with_interrupts)
        while not incomplete.exists():
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.1 * number)
        process.send_signal(ending)
        assert process.wait() == STATUSES[ending]
        assert not out.exists()
        assert incomplete.exists() == (ending == signal.SIGKILL)
        shutil.rmtree(incomplete, ignore_errors=True)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
