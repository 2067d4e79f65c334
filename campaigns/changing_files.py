"""Changes a file between two calls of a command: it answers as before or as after that, or says that a file changed.

    python -m campaigns.changing_files --count 20 --seed 1

The preloaded library of `failing_calls` holds a command at one of its calls. Then a file of the partition is cut, grown,
replaced, renamed, removed, or becomes a directory, a pipe or a link to itself; or the whole directory goes. A run is bad if it
ends well with an answer that is neither that before nor that after the change and does not speak of it, shows a traceback or an
internal error, hangs, or leaves a process or an output that looks whole and is not.
"""

import argparse
import mmap
import os
import random
import re
import select
import shutil
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from campaigns.commands import filled, small_partition
from campaigns.failing_calls import COMMANDS, build
from campaigns.forked_runs import Server
from campaigns.sessions import HANG, end_session, left_of
from tests.builders.records import batch, record

NAMES = (
    "check,check ndjson,check jobs,check log directory,forecast ndjson,log,log csv,log tail,log offset,log parquet,index"
    ",timeindex,snapshot,scan,scan log directory,grep,grep jobs,grep certificate,where,where text,recover text"
    ",recover log directory,reindex,slice,redact,drop-in,drop-in deep,drop-in index"
)
"""Of the commands of `failing_calls`."""

CALLS = ("open", "pread", "stat", "fstat", "opendir", "readdir")

Change = Callable[[Path, random.Random], None]


def _cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.choice((0, chance.randrange(path.stat().st_size + 1))))


def _grown(path: Path, _: random.Random) -> None:
    with path.open("ab") as file:
        file.write(batch(base_offset=1200, records=[record(key=b"key 7", value=b"new")]))


def _replaced(path: Path, chance: random.Random) -> None:
    """By another file of the same size."""
    other = path.with_suffix(".other")
    data = bytearray(path.read_bytes())
    if data:
        data[chance.randrange(len(data))] ^= 0x20
    other.write_bytes(data)
    other.replace(path)


def _changed_in_place(path: Path, chance: random.Random) -> None:
    size = path.stat().st_size
    if size:
        with path.open("r+b") as file:
            file.seek(chance.randrange(size))
            file.write(b"\xa5")


def _about_to_be_deleted(path: Path, _: random.Random) -> None:
    path.rename(f"{path}.deleted")


def _gone(path: Path, _: random.Random) -> None:
    path.unlink()


def _a_directory(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _a_pipe(path: Path, _: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _a_link_to_itself(path: Path, _: random.Random) -> None:
    path.unlink()
    path.symlink_to(path)


def _directory_gone(path: Path, _: random.Random) -> None:
    shutil.rmtree(path.parent)


def _directory_renamed(path: Path, _: random.Random) -> None:
    path.parent.rename(path.parent.with_name("topic-0.0123456789abcdef0123456789abcdef-delete"))


CHANGES: tuple[Change, ...] = (
    _cut,
    _grown,
    _replaced,
    _changed_in_place,
    _about_to_be_deleted,
    _gone,
    _a_directory,
    _a_pipe,
    _a_link_to_itself,
    _directory_gone,
    _directory_renamed,
)


class Hold(NamedTuple):
    """A call at which a command is held, and what is changed then."""

    call: str
    number: int
    change: Change
    file: str
    seed: int

    def __str__(self) -> str:
        return f"{self.call} {self.number}, {self.file} is {self.change.__name__[1:].replace('_', ' ')}"

    def make(self, partition: Path) -> None:
        self.change(partition / self.file, random.Random(self.seed))


class Outcome(NamedTuple):
    """How a run ended: its exit code (None if it hung), what it printed and left, and how many calls there were."""

    exit: int | None
    said: str
    files: Mapping[str, bytes]
    leftover: tuple[int, ...] = ()
    calls: int = 0
    was_held: bool = False

    @property
    def answer(self) -> object:
        """What two runs that give the same answer have in common; bytes of tables and certificates depend on the run."""
        return self.exit, self.said, {name.partition("/")[0] for name in self.files}


_OF_ONE_RUN = re.compile(
    r'"seconds": ?[0-9.]+|\b[0-9]+[.][0-9]+\s+s\b|"(start|end)TimeUtc":"[^"]*"|"(made|certificateSha256)": "[^"]*"'
)


class Runs:
    """Runs of one command over copies of a partition, in forks of one process that has loaded what it needs."""

    def __init__(self, command: Sequence[str], folder: Path, library: Path) -> None:
        self._command, self._folder, self._library = command, folder, library
        self._server = Server(library, os.environ | {"COLUMNS": "100"})
        self.before = self.run()
        self.files = sorted(path.name for path in (folder / "run" / "in" / "topic-0").iterdir())

    def close(self) -> None:
        """End the process."""
        self._server.close()

    def after(self, hold: Hold) -> Outcome:
        """The outcome if all has changed before the start."""
        return self.run(hold, is_before=True)

    def run(self, hold: Hold | None = None, *, call: str = "", is_before: bool = False) -> Outcome:
        """Run the command once, and change something at a call, or before. Without that, count the calls of one kind."""
        run = self._folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        partition = small_partition(run / "in")
        for path in partition.iterdir():
            os.utime(path, (1_700_000_000, 1_700_000_000))
        (run / "out").mkdir()
        logs, indexes = (",".join(map(str, sorted(partition.glob(kind)))) for kind in ("*.log", "*index"))
        values = {"PARTITION": str(partition), "DIRECTORY": str(partition.parent), "OUT": str(run / "out")}
        values |= {"LOGS": logs, "INDEXES": indexes}
        arguments = [filled(word, values) for word in self._command]
        if not self._server.has_loaded:
            self._server.load(arguments)
            return self.run()
        counters = run / "counters"
        counters.write_bytes(bytes(32))
        environment = {"FAILING_COUNT": str(counters), "FAILING_UNDER": str(run / "in"), "FAILING_CALL": call}
        if hold is not None and is_before:
            hold.make(partition)
        elif hold is not None:
            environment |= {"FAILING_CALL": hold.call, "FAILING_AT": str(hold.number), "FAILING_HOW": "wait"}
        session = self._server.start(arguments, environment, run / "stdout", run / "stderr")
        was_held = hold is not None and not is_before and self._held(counters, hold, partition)
        hangs = not select.select([self._server.descriptor], [], [], HANG)[0]
        leftover = () if hangs else tuple(sorted(left_of(session)))
        end_session(session)
        status = self._server.wait()
        said = b"".join((run / name).read_bytes() for name in ("stdout", "stderr")).decode(errors="replace")
        files = {
            str(path.relative_to(run / "out")): path.read_bytes() for path in sorted((run / "out").rglob("*")) if path.is_file()
        }
        (calls,) = struct.unpack_from("=Q", counters.read_bytes())
        return Outcome(None if hangs else status, _OF_ONE_RUN.sub("SECONDS", said), files, leftover, calls, was_held)

    def _held(self, counters: Path, hold: Hold, partition: Path) -> bool:
        """Wait until the command is held at its call, make the change, and let it go on; False if it ended before."""
        with counters.open("r+b") as file, mmap.mmap(file.fileno(), 32) as shared:
            deadline = time.monotonic() + HANG
            while not shared[8] and time.monotonic() < deadline:
                if select.select([self._server.descriptor], [], [], 0.001)[0]:
                    return False
            hold.make(partition)
            shared[24] = 1
        return True


_SPEAKS_OF_IT = re.compile(
    r"was cut|file-shrank|shrank|truncated while|grew from|file-grew|file-changed|changed while|was replaced|vanished|no longer"
    r"|no such file|no such directory|cannot be (read|opened|listed)|is a directory|not a regular file|not a file"
    r"|too many levels|loop|directory-changed|was deleted|disappear|has changed|have changed|active|Exception in thread",
    re.IGNORECASE,
)
_PARTIAL = re.compile(r"incomplete|(^|/)[._]")


def fault(hold: Hold, before: Outcome, after: Outcome, outcome: Outcome) -> str | None:
    """What is wrong with the outcome of a run during which something changed; None if nothing is."""
    if outcome.exit is None:
        return "hangs"
    if outcome.leftover:
        return "leaves a process"
    if outcome.exit < 0:
        return f"killed by signal {-outcome.exit}"
    for words in ("Traceback", "internal error", "Exception ignored", "Fatal Python error"):
        if words in outcome.said:
            return f"shows {words!r}"
    if outcome.answer in (before.answer, after.answer):
        return None
    if outcome.exit == 2 and after.exit != 2:
        return "exit 2"
    is_found = outcome.exit == after.exit == 1 and after.exit != before.exit  # some of what changed
    if (
        outcome.exit in (0, 1)
        and not is_found
        and not _SPEAKS_OF_IT.search(outcome.said)
        and hold.change is not _changed_in_place
    ):
        return f"another answer with exit {outcome.exit} (before: {before.exit}, after: {after.exit})"
    whole = [name for name in outcome.files if not _PARTIAL.search(name)]
    if outcome.exit == 4 and whole:
        return f"leaves {', '.join(whole)}, which looks whole"
    if outcome.exit not in (0, 1, 2, 3, 4):
        return f"exit {outcome.exit}"
    return None if outcome.said.strip() else "says nothing"


def holds(runs: Runs, count: int, chance: random.Random) -> list[Hold]:
    """Random calls of a command, each with a random change."""
    counted = {call: runs.run(call=call).calls for call in CALLS}
    files = runs.files
    found = []
    for _ in range(count):
        call = chance.choice([call for call in CALLS if counted[call]])
        number, file = (
            chance.randint(1, counted[call]),
            chance.choice([*files, *(name for name in files if name.endswith(".log"))]),
        )
        found.append(Hold(call, number, chance.choice(CHANGES), file, chance.randrange(1 << 30)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="changes during each command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", default=NAMES, help="names of commands, with commas")
    parser.add_argument("--verbose", action="store_true", help="show what a bad run printed")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    names = options.commands.split(",")
    done, bad = 0, Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        library = build(Path(name))
        for command in names:
            runs = Runs(COMMANDS[command], Path(name), library)
            for hold in holds(runs, options.count, chance):
                outcome = runs.run(hold)
                if not outcome.was_held:
                    continue
                done += 1
                wrong = fault(hold, runs.before, runs.after(hold), outcome)
                if wrong is not None:
                    print(f"{command}: {hold}: {wrong}", flush=True)
                    bad[f"{command}: {wrong}"] += 1
                    if options.verbose:
                        print("".join(f"    | {line[:200]}\n" for line in outcome.said.splitlines()[-12:]), end="", flush=True)
            runs.close()
    print(f"{done} runs, {sum(bad.values())} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
