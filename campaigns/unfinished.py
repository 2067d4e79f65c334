"""Kills the commands that mend at random moments, and gives them disks that fill up.

    python -m campaigns.unfinished --count 100 --seed 1

The input stays as it is, with its times. A directory that looks finished is finished: it has the same files as that of a run
which nothing disturbed. After SIGKILL nothing else may be left than what is called incomplete; after a full disk, nothing at all,
and the exit code is 4. Disks are file systems in memory, in a name space of the command's own (`unshare` of util-linux).
"""

import argparse
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.builders.files import write_partition
from tests.builders.records import Record, batch

COMMANDS = {
    "recover": ("recover", "DAMAGED"),
    "recover --merge": ("recover", "DAMAGED", "--merge", "REPLICA"),
    "reindex": ("reindex", "SOUND"),
    "slice": ("slice", "SOUND", "--exact", "--from-offset", "55", "--to-offset", "5555", "--drop-key", "key 7"),
    "redact": ("redact", "DAMAGED", "--seed", "1"),
}
OUTPUT_FAILED = 4
_SEGMENTS, _BATCHES = 3, 200
_ON_SMALL_DISK = 'mount -t tmpfs -o size="$1"k tmpfs "$2" || exit 99; shift 2; "$@" >&2; status=$?; ls "$LEFT"; exit $status'


class Case:
    """A command, its inputs, and what it makes if nothing disturbs it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.inputs = {kind: folder / kind / "orders-0" for kind in ("SOUND", "DAMAGED", "REPLICA")}
        words = COMMANDS[name]
        self._words = [str(self.inputs.get(word, word)) for word in words]
        self._before = self._state()
        self.place = folder / "place"
        self.place.mkdir(exist_ok=True)
        process = self._started()
        started = time.monotonic()
        process.wait()
        self.seconds = time.monotonic() - started
        """How long it takes from the moment at which the incomplete directory is there."""
        self.whole = _contents(self.place / "out")
        self.size = sum(path.stat().st_size for path in (self.place / "out").iterdir())
        shutil.rmtree(self.place / "out")

    def command(self, out: Path) -> list[str]:
        return [sys.executable, "-m", "kdump", *self._words, "-o", str(out)]

    def _started(self) -> subprocess.Popen[bytes]:
        """Start the command, and wait until it has something to leave."""
        process = subprocess.Popen(self.command(self.place / "out"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (self.place / "out.incomplete").exists():
            time.sleep(0.001)
        return process

    def _state(self) -> dict[str, tuple[int, str]]:
        """Each file of the inputs with its time of change and its contents."""
        return {
            str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
            for folder in self.inputs.values()
            for path in [folder, *folder.iterdir()]
            if path.is_file()
        }

    def killed(self, seconds: float) -> tuple[str, list[str]]:
        """Kill the command so long after it began to write. Returns how far it was, and what is wrong."""
        process = self._started()
        time.sleep(seconds)
        process.kill()
        process.wait()
        left = sorted(os.listdir(self.place))
        failures = []
        if "out" in left and _contents(self.place / "out") != self.whole:
            failures.append("a directory looks finished, and is not")
        if not set(left) <= {"out", "out.incomplete"} or len(left) > 1:
            failures.append(f"left: {left}")
        for name in left:
            shutil.rmtree(self.place / name)
        return (left or ["nothing"])[0], failures + self._changed()

    def with_full_disk(self, kibibytes: int) -> tuple[str, list[str]]:
        """Let the command write to a disk of this size. Returns its exit code, and what is wrong."""
        words = ["unshare", "-rm", "sh", "-c", _ON_SMALL_DISK, "sh", str(kibibytes), str(self.place)]
        answer = subprocess.run(
            [*words, *self.command(self.place / "out")],
            env={**os.environ, "LEFT": str(self.place)},
            capture_output=True,
            text=True,
            check=False,
        )
        failures = [] if answer.returncode == OUTPUT_FAILED else [f"exit {answer.returncode}: {answer.stderr[-300:]}"]
        failures += [f"left: {answer.stdout}"] if answer.stdout else []
        failures += [f"stderr: {answer.stderr}"] if "Traceback" in answer.stderr else []
        return f"exit {answer.returncode}", failures + self._changed()

    def _changed(self) -> list[str]:
        return [] if self._state() == self._before else ["an input has changed"]


def write_inputs(folder: Path) -> None:
    """A sound partition, one with damage, and a replica that is damaged elsewhere."""
    records = [Record(key=b"key %d" % row, value=bytes(range(256)) * 4) for row in range(10)]
    one = batch(records=records)
    step = len(records)

    def made(offset: int) -> bytes:
        return offset.to_bytes(8, "big") + one[8:]  # which the CRC does not cover

    bases = [row * _BATCHES * step for row in range(_SEGMENTS)]
    segments = {base: [made(base + row * step) for row in range(_BATCHES)] for base in bases}
    for kind, position in (("SOUND", None), ("DAMAGED", 50_000), ("REPLICA", 900_000)):
        partition = write_partition(folder / kind, topic="orders", segments=segments)
        if position is not None:
            log = partition / f"{bases[1]:020}.log"
            data = bytearray(log.read_bytes())
            data[position : position + 3000] = bytes(3000)
            log.write_bytes(data)


def measure(names: Sequence[str], count: int, seed: int) -> list[str]:
    """Kill each command, and fill its disk, so many times. Returns the failures."""
    failures = []
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="kdump-unfinished-") as temporary:
        folder = Path(temporary)
        write_inputs(folder)
        for name in names:
            case = Case(name, folder)
            seen: Counter[str] = Counter()
            for number in range(2 * count):
                if number % 2:
                    seconds = chance.uniform(0, 1.1 * case.seconds)
                    how, found = case.killed(seconds)
                    about = f"killed after {seconds:.3f} s"
                else:
                    kibibytes = chance.randrange(4, case.size >> 10)
                    how, found = case.with_full_disk(kibibytes)
                    about = f"disk of {kibibytes} KiB"
                seen[f"{'killed' if number % 2 else 'full'}: {how}"] += 1
                for failure in found:
                    failures.append(f"{name}, {about}: {failure}")
                    print(failures[-1], flush=True)
            print(f"{name}: {dict(sorted(seen.items()))}", flush=True)
    return failures


def _contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="kills, and full disks, for each command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", choices=COMMANDS, action="append", help="only this one")
    arguments = parser.parse_args()
    failures = measure(arguments.command or list(COMMANDS), arguments.count, arguments.seed)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
