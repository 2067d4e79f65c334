"""Sends SIGINT, SIGTERM, SIGHUP and SIGKILL to each command at random moments, and looks at what it leaves.

    python -m campaigns.signals --count 20 --seed 1

A command that is ended by one of the first three ends its worker processes, removes its unfinished output, prints one line on
stderr, and ends with 128 and the number of the signal. After SIGKILL no worker process goes on, and what is left of the output
says by its name that it is incomplete. A signal may also come before Python can handle it, or when all is done.
"""

import argparse
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from campaigns.commands import filled
from campaigns.sessions import HANG, end_session, left_of, processes_of
from tests.builders.compression import Codec
from tests.builders.files import write_partition
from tests.builders.records import Record, batch
from tests.support import with_interrupts

ROOT = Path(__file__).parent.parent
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*HANDLED, signal.SIGKILL)
_KDUMP = ("-m", "kdump")
_MANY = 3  # times that the drop-in form is given each log

_SECONDS = re.compile(rb'"seconds":[0-9.]+')

COMMANDS = {
    "check": ("check", "--jobs", "1", "PARTITION"),
    "check, deep, two jobs": ("check", "--level", "deep", "--jobs", "2", "PARTITION"),
    "check to a file": ("check", "--output", "ndjson", "-o", "OUT/report.ndjson", "PARTITION"),
    "check of stdin": ("check", "-"),
    "forecast": ("forecast", "PARTITION"),
    "log": ("log", "PARTITION"),
    "log to a file": ("log", "--deep", "--output", "csv", "-o", "OUT/records.csv", "PARTITION"),
    "log as Parquet": ("log", "--deep", "--output", "parquet", "-o", "OUT/records.parquet", "PARTITION"),
    "log of stdin": ("log", "-"),
    "index": ("index", "PARTITION"),
    "timeindex to a file": ("timeindex", "-o", "OUT/entries", "PARTITION"),
    "scan": ("scan", "--engine", "local", "--jobs", "1", "PARTITION"),
    "scan to tables": ("scan", "--engine", "local", "--jobs", "2", "--records", "--tables-to", "OUT/tables", "PARTITION"),
    "scan to the same tables": ("scan", "--engine", "local", "--jobs", "2", "--tables-to", "OUT/tables", "PARTITION"),
    "grep": ("grep", "no such key", "PARTITION"),
    "grep with a certificate": ("grep", "--prove-absent", "--certificate", "OUT/certificate", "no such key", "PARTITION"),
    "grep, three jobs": ("grep", "--jobs", "3", "no such key", "PARTITION"),
    "grep decoded by a command": (
        *("grep", "--decoder-cmd", "sed -u 's/.*/{\"value\": 1}/'", "--in", "decoded", "--prove-absent"),
        *("--certificate", "OUT/certificate", "no such value", "PARTITION"),
    ),
    "grep to verify": ("grep", "--verify", "OUT/certificate"),
    "where": ("where", "--key", "key 7", "PARTITION"),
    "recover": ("recover", "PARTITION", "-o", "OUT/new"),
    "recover of a log directory": ("recover", "DIRECTORY", "-o", "OUT/new"),
    "reindex": ("reindex", "PARTITION", "-o", "OUT/new"),
    "slice": ("slice", "--drop-key", "key 7", "PARTITION", "-o", "OUT/new"),
    "redact": ("redact", "PARTITION", "-o", "OUT/new"),
    "drop-in": ("--files", "LOGS", "--print-data-log", "--jobs", "1"),
    "drop-in, three jobs": ("--files", "LOGS", "--print-data-log", "--jobs", "3"),
    "explain": ("explain", "crc-mismatch"),
}

BEFORE = {
    "grep to verify": ("grep", "--prove-absent", "--certificate", "OUT/certificate", "no such key", "PARTITION"),
    "scan to the same tables": COMMANDS["scan to the same tables"],
}
"""Commands that run before those of the same name, and get no signal."""


class Ending(NamedTuple):
    """How a command ended that was sent a signal.

    `status` is None if it did not end, `processes` counts those that it left, `left` are the names of what is in the folder for
    its output, with sizes of files and counts of files in folders.
    """

    number: signal.Signals
    status: int | None
    stderr: str
    processes: int
    left: tuple[tuple[str, int], ...]
    left_in_tmp: tuple[str, ...]


def wrong(ending: Ending, reference: Ending) -> str | None:
    """What is wrong with an ending, beside that of the command without a signal; None if nothing is."""
    number, status = ending.number, ending.status
    if status is None:
        return "goes on"
    if ending.processes:
        return "leaves a process"
    incomplete = [name for name, _ in ending.left if "incomplete" in name]
    looks_whole = [name for name, size in ending.left if name not in incomplete and (name, size) not in reference.left]
    if looks_whole:
        return f"leaves {', '.join(looks_whole)}, which looks whole"
    if number == signal.SIGKILL:
        return None if status in (-number, reference.status) else f"exit {status}"
    if status == reference.status and not _came_before_kdump(ending):  # it was through
        return None if (ending.stderr, ending.left) == (reference.stderr, reference.left) else "ends well, and differs"
    if incomplete or ending.left_in_tmp:
        return f"leaves {', '.join((*incomplete, *ending.left_in_tmp))}"
    if _came_before_kdump(ending):
        return None
    if status != 128 + number:
        return f"exit {status}"
    name = "" if number == signal.SIGINT else f" by {number.name}"
    # where the signal comes while Click reads the command line, Click prints an empty line
    if re.fullmatch(f"\\n?kdump: interrupted{name}( after [^\n]*)?\n", ending.stderr) is None:
        return "says something else"
    return None


def _came_before_kdump(ending: Ending) -> bool:
    """Whether Python had not yet come to kdump: it dies, or prints where it was."""
    if ending.status == -ending.number and not ending.stderr:
        return True
    return ending.number == signal.SIGINT and "Traceback" in ending.stderr and ", in run\n" not in ending.stderr


def large_partition(folder: Path) -> Path:
    """A partition of two segments: one of 36 MB, which the drop-in form reads with several processes, and a compressed one."""
    segments = {0: _appends(0, "none", 350), 35_000: _appends(35_000, "gzip", 100)}
    return write_partition(folder, segments=segments)


def _appends(base_offset: int, codec: Codec, count: int) -> list[bytes]:
    """Batches of 100 records each; their CRC does not cover the offset."""
    records = [Record(key=b"key %d" % row, value=bytes(range(256)) * 4) for row in range(100)]
    one = batch(records=records, codec=codec)
    return [struct.pack(">q", base_offset + 100 * number) + one[8:] for number in range(count)]


class Run:
    """A command in a session of its own, in folders of its own."""

    def __init__(
        self,
        command: Sequence[str],
        partition: Path,
        folder: Path,
        *,
        program: Sequence[str] = _KDUMP,
        before: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.out, self.tmp = folder / "out", folder / "tmp"
        for made in (self.out, self.tmp):
            made.mkdir(parents=True)
        logs = sorted(map(str, partition.glob("*.log")))
        values = {"PARTITION": str(partition), "DIRECTORY": str(partition.parent), "OUT": str(self.out)}
        values["LOGS"] = ",".join(logs * _MANY)
        words = [filled(word, values) for word in command]
        if before:
            words_before = [filled(word, values) for word in before]
            subprocess.run([sys.executable, *_KDUMP, *words_before], cwd=ROOT, capture_output=True, check=False)
        with open(logs[0], "rb") as stdin, (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, *program, *words],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.tmp)},
                start_new_session=True,
                preexec_fn=with_interrupts,
            )

    def ending(self, number: signal.Signals, hang: float = HANG) -> Ending:
        """How the command ends, of which nothing is left afterwards; it never will after so many seconds."""
        session = self.process.pid
        try:
            status: int | None = self.process.wait(hang)
        except subprocess.TimeoutExpired:
            status = None
        left = processes_of(session) if status is None else left_of(session)
        end_session(session)
        self.process.wait()
        return Ending(
            number,
            status,
            (self.folder / "stderr").read_text(errors="replace"),
            len(left),
            tuple(sorted((path.name, _size(path)) for path in self.out.iterdir())),
            tuple(sorted(str(path.relative_to(self.tmp)) for path in self.tmp.rglob("*"))),
        )


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(1 for _ in path.rglob("*"))
    return len(_SECONDS.sub(b"", path.read_bytes()))


def sent(name: str, partition: Path, folder: Path, number: signal.Signals, *, after: float, to_all: bool) -> Ending:
    """How a command ends that gets a signal after so many seconds, alone or with its worker processes."""
    run = Run(COMMANDS[name], partition, folder, before=BEFORE.get(name, ()))
    try:
        run.process.wait(after)
    except subprocess.TimeoutExpired:
        (os.killpg if to_all else os.kill)(run.process.pid, number)
    return run.ending(number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="moments for each command and signal")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", default="", help="names of commands, with semicolons; all if not given")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    names = options.commands.split(";") if options.commands else list(COMMANDS)
    bad = Counter[str]()
    runs = 0
    with tempfile.TemporaryDirectory() as name:
        partition = large_partition(Path(name, "data"))
        for command in names:
            folder = Path(name, "run")  # as of all others: what commands print and write names it
            run = Run(COMMANDS[command], partition, folder, before=BEFORE.get(command, ()))
            started = time.monotonic()
            reference = run.ending(signal.SIGKILL, 10 * HANG)  # it gets no signal
            seconds = time.monotonic() - started
            shutil.rmtree(folder)
            for number in SIGNALS:
                for _ in range(options.count):
                    after, to_all = chance.uniform(0, 1.1 * seconds), number != signal.SIGKILL and chance.random() < 0.5
                    folder = Path(name, "run")
                    ending = sent(command, partition, folder, number, after=after, to_all=to_all)
                    shutil.rmtree(folder)
                    runs += 1
                    fault = wrong(ending, reference)
                    if fault is not None:
                        kind = f"{command}, {number.name}: {fault}"
                        if not bad[kind]:
                            print(
                                f"{kind} ({after:.3f} s of {seconds:.3f}, to {'all' if to_all else 'one'}): {ending}", flush=True
                            )
                        bad[kind] += 1
    for kind, count in bad.items():
        print(f"{count:4} {kind}")
    print(f"{runs} runs, {sum(bad.values())} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
