"""Disturbs commands, and looks at their answers: each stays the same, or says clearly what is wrong, and nothing is left over.

    python -m campaigns.disturbed calls --count 40         fails the n-th open, pread, malloc, ... of each command
    python -m campaigns.disturbed changes --count 20       changes a file between two calls of each command
    python -m campaigns.disturbed signals --count 20       sends signals to each command at random moments
    python -m campaigns.disturbed surroundings             few descriptors, little memory, a full disk, closed streams, ...
    python -m campaigns.disturbed calls --command 'recover*' --only 'pread*' --seed 7 --verbose

No run may show a traceback or an internal error, hang, leave a process, or leave an output that looks whole and is not.

calls: a library that is preloaded (`failing_calls.c`) counts the calls that a command makes for the files of a partition, and
fails one of them, or all from one on. A run is good if it ends as without a fault, or says what failed and ends with exit 3
or 4; also with 1 if the drop-in form throws or the partition is damaged. It is bad if it ends well with another answer, or
blames the data for the machine.

changes: the library holds a command at one of its calls. Then a file is cut, grown, replaced, renamed, removed, or becomes a
directory, a pipe or a link to itself; or the whole directory goes. The answer is that before or after, or speaks of the
change.

signals: a command that SIGINT, SIGTERM or SIGHUP ends, ends its worker processes, removes its unfinished output, prints one
line on stderr, and ends with 128 and the number of the signal. After SIGKILL no worker process goes on, and what is left of
the output says by its name that it is incomplete. A signal may also come before Python can handle it, or when all is done.

surroundings: a shell prepares them and becomes kdump. The exit code is the usual one, or 3 or 4 (1 for the drop-in form, 2
where a package is missing) with a message.
"""

import argparse
import errno
import fnmatch
import functools
import io
import itertools
import mmap
import os
import random
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from campaigns.commands import COMMANDS, LONG_AGO, Bench, Outcome, Run, is_partial, scratch, slip, small_partition
from tests.builders.compression import Codec
from tests.builders.files import write_partition
from tests.builders.records import Record, batch, record
from tests.support import HANG, wait_until

# --- calls that fail

_BYTE_CODE = Path(tempfile.gettempdir()) / "kdump-campaign-byte-code"
SECTORS = 24
"""Blocks of 4 KiB in the largest file of a partition, and one more."""


class Failure(NamedTuple):
    """How a call fails: its name in `failing_calls.c`, an errno or a word, and whether all calls fail from then on."""

    call: str
    how: str
    all_from_there: bool = False

    def __str__(self) -> str:
        how = errno.errorcode[int(self.how)] if self.how.isdigit() else self.how
        return f"{self.call} {how}{' from there on' if self.all_from_there else ''}"


def _of(call: str, *numbers: int) -> list[Failure]:
    return [Failure(call, str(number), always) for number in numbers for always in (False, True)]


FAILURES = (
    *(Failure(call, str(errno.EINTR)) for call in ("open", "pread", "read", "write", "poll")),
    *_of("open", errno.EIO, errno.EACCES, errno.EMFILE),
    *_of("pread", errno.EIO, errno.ENOMEM),
    *(Failure("pread", how, always) for how in ("short", "end") for always in (False, True)),
    *(Failure(call, "short", all_from_there=True) for call in ("read", "write", "copy")),
    *(Failure("copy", "end"), Failure("sector", str(errno.EIO))),
    *_of("stat", errno.EIO, errno.EACCES),
    *_of("opendir", errno.EIO, errno.EMFILE),
    *_of("write", errno.EIO, errno.ENOSPC, errno.EPIPE),
    *_of("copy", errno.EXDEV, errno.EIO),
    *(one for call in ("read", "fstat", "readdir", "rename", "fsync", "mkdir") for one in _of(call, errno.EIO)),
    *(one for call in ("unlink", "lseek", "readlink") for one in _of(call, errno.EIO)),
    *(one for call in ("mmap", "malloc", "poll") for one in _of(call, errno.ENOMEM)),
    *(one for call in ("pipe", "dup") for one in _of(call, errno.EMFILE)),
    *(*_of("fork", errno.EAGAIN), *_of("close", errno.ENOSPC), *_of("ask", errno.EPERM)),
)


def build(folder: Path) -> Path:
    library = folder / "failing_calls.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    source = Path(__file__).with_name("failing_calls.c")
    subprocess.run([compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def failing(bench: Bench, library: Path, name: str, kind: str, failure: Failure | None = None, number: int = 0) -> Outcome:
    """Run a command in which this call fails; with number 0 none does, and they are counted."""
    environment = {"PYTHONPYCACHEPREFIX": str(_BYTE_CODE), "PYTHONDONTWRITEBYTECODE": "", "PYTHONFAULTHANDLER": "1"}
    environment |= _counted(library, bench, bench.root)
    if failure is not None:
        environment |= {"FAILING_CALL": failure.call, "FAILING_HOW": failure.how, "FAILING_AT": str(number)}
        if failure.all_from_there:
            environment["FAILING_ALL"] = "1"
    return bench.run(name, kind, environment=environment)


def _counted(library: Path, bench: Bench, under: Path) -> dict[str, str]:
    """The environment of a command whose calls for files under a directory are counted."""
    return {"LD_PRELOAD": str(library), "FAILING_COUNT": str(bench.folder / "counters"), "FAILING_UNDER": str(under)}


_NOT_OURS = (
    *("std::bad_alloc", "<jemalloc>"),  # Arrow
    *("<frozen importli", "cannot allocate memory for thread-local data: ABORT"),  # the interpreter, the C library
    "memory allocation of ",  # cramjam, whose Rust ends the process
)
"""In the last words of a process that one of these ended because memory was short."""

_ABORTED = "Fatal Python error: Aborted"
"""What `PYTHONFAULTHANDLER` prints after that."""

_NO_THREAD = re.compile(
    r"Exception ignored in( thread started by| sys\.unraisablehook|(?=: (<bound method Thread|<object repr)))(: [^\n]*)?(\n|$)"
    r"(MemoryError(: )?\n)?"
)
"""What the interpreter prints where a thread has no memory to begin, even without the words or the last line that need memory."""

_BY_C_LIBRARY = 127
"""The exit code of a process that the C library ends."""


def fault_of_call(command: str, reference: Outcome, outcome: Outcome, failure: Failure) -> str | None:
    """What is wrong with the outcome of a run in which a call failed; None if nothing is."""
    said = outcome.said
    if outcome.exit is None or outcome.leftover:
        return slip(outcome, said)
    if outcome.temporary and not failure.all_from_there and failure.call not in ("unlink", "opendir", "readdir"):
        return f"leaves {', '.join(outcome.temporary)} among temporary files"
    if outcome.exit < 0 or outcome.exit == _BY_C_LIBRARY:
        is_not_ours = failure.call in ("malloc", "mmap") and any(words in outcome.stderr for words in _NOT_OURS)
        if is_not_ours and (_is_as_before(outcome) or all(map(is_partial, outcome.files))):
            return None
        return slip(outcome, "") or f"exit {outcome.exit}"
    if failure.call in ("malloc", "mmap"):
        said = _NO_THREAD.sub("", said)  # the command has to go on without it, or without a worker process
        if any(words in outcome.stderr for words in _NOT_OURS):
            said = said.replace(_ABORTED, "")
    if slipped := slip(outcome, said):
        return slipped
    is_same = _rows(command, outcome) == _rows(command, reference) and _tables(outcome) == _tables(reference)
    if outcome.exit == reference.exit and is_same:
        return None
    if outcome.exit in (0, reference.exit) and failure.call == "write" and failure.how == str(errno.EPIPE):
        return None if reference.exit == outcome.exit else "the verdict is lost with the pipe"
    if outcome.exit == 0:
        return "another answer with exit 0"
    leaves_out = command.startswith("recover") and failure.call == "sector"  # and says so: what cannot be read is lost
    if outcome.exit == 1 and reference.exit == 0 and "--files" not in command and not leaves_out:
        return "blames the data"
    if outcome.exit == 1 and command.startswith(_SEARCHES):
        return "another answer with exit 1"
    if outcome.exit not in (1, 3, 4):
        return f"exit {outcome.exit}"
    if not outcome.stderr.strip() and is_same:
        return "says nothing"
    has_all_rows = _tables(outcome) == _tables(reference)  # the bytes of tables also depend on the paths in them
    looks_whole = [
        name
        for name, data in outcome.files.items()
        if not is_partial(name) and not name.endswith(_OF_ONE_RUN) and reference.files.get(name) != data
        if not (has_all_rows and name.endswith(".parquet"))
    ]
    if _is_as_before(outcome):
        looks_whole = []
    if outcome.exit == 4 and looks_whole:
        return f"leaves {', '.join(looks_whole)}, which is not whole"
    return None


_OF_ONE_RUN = ("manifest.json",)
"""Files that have times and inodes of the run that wrote them."""

_SEARCHES = ("grep", "where")
"""Commands whose exit code 1 is an answer: it is absent."""


def _rows(command: str, outcome: Outcome) -> list[str]:
    """What was printed; the rows of a recovery in any order, which depends on how often it reads the logs."""
    lines = outcome.stdout.splitlines(keepends=True)
    return sorted(lines) if command.startswith("recover --output ndjson") else lines


def _is_as_before(outcome: Outcome) -> bool:
    """Whether what an earlier command made is still there, and no more."""
    return {name: data for name, data in outcome.files.items() if not is_partial(name)} == outcome.earlier


def _tables(outcome: Outcome) -> object:
    """The files of an outcome; those of Parquet and Arrow by their rows, however many files or batches these are in."""
    rows, others = Counter[str](), {}
    is_left = "cannot remove" in outcome.stderr  # what was made before, and has another name now
    for name, data in outcome.files.items():
        if is_left and is_partial(name):
            continue
        if name.endswith(".parquet") and data:
            rows[str(Path(name).parent)] += parquet.read_metadata(io.BytesIO(data)).num_rows
        elif name.endswith(".arrow") and data.endswith(b"ARROW1"):
            rows[name] = pa.ipc.open_file(data).read_all().num_rows
        elif not name.endswith(_OF_ONE_RUN):
            others[name] = data
    return rows, others


def _calls(options: argparse.Namespace) -> "Iterator[Tried]":
    chance = random.Random(options.seed)
    with scratch() as folder:
        bench, library = Bench(Path(folder)), build(Path(folder))
        for name, kind in itertools.product(_chosen(options, COMMANDS), bench.partitions):
            reference = failing(bench, library, name, kind)
            counted: dict[str, int] = {}
            for failure in (one for one in FAILURES if fnmatch.fnmatch(str(one), options.only)):
                if failure.call not in counted:
                    counted[failure.call] = failing(bench, library, name, kind, failure).calls
                count = counted[failure.call] if failure.call != "sector" else SECTORS
                numbers = list(range(1, count + 1))
                if count > options.count:  # half of them are random
                    first = options.count // 2
                    numbers = [*numbers[:first], *sorted(chance.sample(numbers[first:], options.count - first))]
                for number in numbers:
                    outcome = failing(bench, library, name, kind, failure, number)
                    fault = fault_of_call(COMMANDS[name], reference, outcome, failure) if outcome.failed else None
                    yield f"{name}, {kind}: {failure}", f"call {number} of {count}", outcome, fault


# --- files that change

CALLS = ("open", "pread", "stat", "fstat", "opendir", "readdir")

Change = Callable[[Path, random.Random], object]


def _grow(path: Path, _: random.Random) -> None:
    with path.open("ab") as file:
        file.write(batch(base_offset=1200, records=[record(key=b"key 7", value=b"new")]))


def _replace(path: Path, chance: random.Random) -> None:
    """By another file of the same size."""
    other = path.with_suffix(".other")
    data = bytearray(path.read_bytes())
    if data:
        data[chance.randrange(len(data))] ^= 0x20
    other.write_bytes(data)
    other.replace(path)


def _change_in_place(path: Path, chance: random.Random) -> None:
    size = path.stat().st_size
    if size:
        with path.open("r+b") as file:
            file.seek(chance.randrange(size))
            file.write(b"\xa5")


def _turned(make: Callable[[Path], object]) -> Change:
    """Something else is made in its place."""

    def change(path: Path, _: random.Random) -> None:
        path.unlink()
        make(path)

    return change


_DELETED_DIRECTORY = "topic-0.0123456789abcdef0123456789abcdef-delete"
CHANGES: dict[str, Change] = {
    "cut": lambda path, chance: os.truncate(path, chance.choice((0, chance.randrange(path.stat().st_size + 1)))),
    "grown": _grow,
    "replaced": _replace,
    "changed in place": _change_in_place,
    "about to be deleted": lambda path, _: path.rename(f"{path}.deleted"),
    "gone": lambda path, _: path.unlink(),
    "a directory": _turned(Path.mkdir),
    "a pipe": _turned(os.mkfifo),
    "a link to itself": _turned(lambda path: path.symlink_to(path)),
    "directory gone": lambda path, _: shutil.rmtree(path.parent),
    "directory renamed": lambda path, _: path.parent.rename(path.parent.with_name(_DELETED_DIRECTORY)),
}
"""What may become of a file, or of its directory."""


class Hold(NamedTuple):
    """A call at which a command is held, and what is changed then."""

    call: str
    number: int
    change: str
    file: str
    seed: int

    def __str__(self) -> str:
        return f"{self.call} {self.number}, {self.file} is {self.change}"

    def make(self, partition: Path) -> None:
        CHANGES[self.change](partition / self.file, random.Random(self.seed))


class Runs:
    """Runs of one command over copies of a partition."""

    def __init__(self, bench: Bench, name: str, library: Path) -> None:
        self._bench, self._name, self._library = bench, name, library
        self.before = self.run()

    def after(self, hold: Hold) -> Outcome:
        return self.run(hold, is_before=True)

    def run(self, hold: Hold | None = None, *, call: str = "", is_before: bool = False) -> Outcome:
        """Run the command once, and change something at a call, or before. Without that, count the calls of one kind."""
        shutil.rmtree(self._bench.root / "in", ignore_errors=True)
        partition = small_partition(self._bench.root / "in")
        for path in partition.iterdir():
            os.utime(path, (LONG_AGO, LONG_AGO))
        environment = _counted(self._library, self._bench, partition.parent) | {"FAILING_CALL": call}
        if hold is None or is_before:
            prepare = (lambda: None) if hold is None else (lambda: hold.make(partition))
            return self._bench.run(self._name, partition=partition, environment=environment, prepare=prepare)
        environment |= {"FAILING_CALL": hold.call, "FAILING_AT": str(hold.number), "FAILING_HOW": "wait"}

        def meanwhile(run: Run) -> None:
            """Wait until the command is held at its call, make the change, and let it go on; nothing if it ends before."""
            with (self._bench.folder / "counters").open("r+b") as file, mmap.mmap(file.fileno(), 32) as shared:
                deadline = time.monotonic() + HANG
                while not shared[8] and run.process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.001)
                hold.make(partition)
                shared[24] = 1

        return self._bench.run(self._name, partition=partition, environment=environment, meanwhile=meanwhile)


_SPEAKS_OF_IT = re.compile(
    r"was cut|file-shrank|shrank|truncated while|grew from|file-grew|file-changed|changed while|was replaced|vanished|no longer"
    r"|no such file|no such directory|cannot be (read|opened|listed)|is a directory|not a regular file|not a file"
    r"|too many levels|loop|directory-changed|was deleted|disappear|has changed|have changed|active|Exception in thread",
    re.IGNORECASE,
)


def fault_of_change(hold: Hold, before: Outcome, after: Outcome, outcome: Outcome) -> str | None:
    """What is wrong with the outcome of a run during which something changed; None if nothing is."""
    if slipped := slip(outcome, outcome.said):
        return slipped
    if _answer(outcome) in (_answer(before), _answer(after)):
        return None
    if outcome.exit == 2 and after.exit != 2:
        return "exit 2"
    is_found = outcome.exit == after.exit == 1 and after.exit != before.exit  # some of what changed
    is_silent = not is_found and not _SPEAKS_OF_IT.search(outcome.said)
    if outcome.exit in (0, 1) and is_silent and hold.change != "changed in place":
        return f"another answer with exit {outcome.exit} (before: {before.exit}, after: {after.exit})"
    whole = [name for name in outcome.files if not is_partial(name)]
    if outcome.exit == 4 and whole:
        return f"leaves {', '.join(whole)}, which looks whole"
    if outcome.exit not in (0, 1, 2, 3, 4):
        return f"exit {outcome.exit}"
    return None if outcome.said.strip() else "says nothing"


def _answer(outcome: Outcome) -> object:
    """What two runs that give the same answer have in common; bytes of tables and certificates depend on the run."""
    return outcome.exit, outcome.said, {name.partition("/")[0] for name in outcome.files}


def holds(runs: Runs, count: int, chance: random.Random) -> Iterator[Hold]:
    """Random calls of a command, each with a random change."""
    counted = functools.cache(lambda call: runs.run(call=call).calls)
    names = [f"{base:020}{suffix}" for base in (0, 400, 800) for suffix in (".log", ".log", ".index", ".timeindex")]
    for _ in range(count):
        while not counted(call := chance.choice(CALLS)):
            pass  # the command does not make it
        number = chance.randint(1, counted(call))
        yield Hold(call, number, chance.choice([*CHANGES]), chance.choice(names), chance.randrange(1 << 30))


def _changes(options: argparse.Namespace) -> "Iterator[Tried]":
    chance = random.Random(options.seed)
    with scratch() as folder:
        bench, library = Bench(Path(folder)), build(Path(folder))
        for name in _chosen(options, [name for name, words in COMMANDS.items() if "PARTITION" in words or "LOGS" in words]):
            runs = Runs(bench, name, library)
            for hold in holds(runs, options.count, chance):
                outcome = runs.run(hold)
                fault = fault_of_change(hold, runs.before, runs.after(hold), outcome) if outcome.failed else None
                yield name, str(hold), outcome, fault


# --- signals

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def fault_of_signal(number: signal.Signals, reference: Outcome, outcome: Outcome) -> str | None:
    """What is wrong with the outcome of a command that was sent a signal, beside that without one; None if nothing is."""
    if outcome.exit is None:
        return "goes on"
    if outcome.leftover:
        return "leaves a process"
    left, usual = _entries(outcome), _entries(reference)
    incomplete = [name for name in left if "incomplete" in name]
    looks_whole = [name for name in left if name not in incomplete and left[name] != usual.get(name)]
    if looks_whole:
        return f"leaves {', '.join(looks_whole)}, which looks whole"
    if number == signal.SIGKILL:
        return None if outcome.exit in (-number, reference.exit) else f"exit {outcome.exit}"
    came_before = _came_before_kdump(number, outcome)
    if outcome.exit == reference.exit and not came_before:  # it was through
        return None if (outcome.stderr, left) == (reference.stderr, usual) else "ends well, and differs"
    if incomplete or outcome.temporary:
        return f"leaves {', '.join((*incomplete, *outcome.temporary))}"
    if came_before:
        return None
    if outcome.exit != 128 + number:
        return f"exit {outcome.exit}"
    name = "" if number == signal.SIGINT else f" by {number.name}"
    # where the signal comes while Click reads the command line, Click prints an empty line
    if re.fullmatch(f"\\n?kdump: interrupted{name}( after [^\n]*)?\n", outcome.stderr) is None:
        return "says something else"
    return None


def _entries(outcome: Outcome) -> Mapping[str, int]:
    """What is in the folder for the output, with sizes of files and counts of files in folders."""
    folders = Counter(name.partition("/")[0] for name in outcome.files if "/" in name)
    return {**folders, **{name: len(data) for name, data in outcome.files.items() if "/" not in name}}


def _came_before_kdump(number: signal.Signals, outcome: Outcome) -> bool:
    """Whether Python had not yet come to kdump: it dies, or prints where it was."""
    if outcome.exit == -number and not outcome.stderr:
        return True
    return number == signal.SIGINT and "Traceback" in outcome.stderr and ", in run\n" not in outcome.stderr


def large_partition(folder: Path) -> Path:
    """A partition of two segments: one of 36 MB, which the drop-in form reads with several processes, and a compressed one."""
    segments = {0: _appends(0, "none", 350), 35_000: _appends(35_000, "gzip", 100)}
    return write_partition(folder, segments=segments)


def _appends(base_offset: int, codec: Codec, count: int) -> list[bytes]:
    """Batches of 100 records each; their CRC does not cover the offset."""
    records = [Record(key=b"key %d" % row, value=bytes(range(256)) * 4) for row in range(100)]
    one = batch(records=records, codec=codec)
    return [struct.pack(">q", base_offset + 100 * number) + one[8:] for number in range(count)]


def _signals(options: argparse.Namespace) -> "Iterator[Tried]":
    chance = random.Random(options.seed)
    with scratch() as folder:
        bench = Bench(Path(folder))
        partition = large_partition(Path(folder) / "long")
        for name in _chosen(options, [name for name in COMMANDS if "compressed" not in name]):
            started = time.monotonic()
            reference = bench.run(name, partition=partition, hang=10 * HANG)
            seconds = time.monotonic() - started
            for number, _ in itertools.product((*HANDLED, signal.SIGKILL), range(options.count)):
                after, to_all = chance.uniform(0, 1.1 * seconds), number != signal.SIGKILL and chance.random() < 0.5
                outcome = bench.run(name, partition=partition, meanwhile=sender(number, after=after, to_all=to_all))
                what = f"{after:.3f} s of {seconds:.3f}, to {'all' if to_all else 'one'}"
                yield f"{name}, {number.name}", what, outcome, fault_of_signal(number, reference, outcome)


def sender(
    number: signal.Signals, *, after: float = 0, to_all: bool = False, when: Callable[[Run], object] | None = None
) -> Callable[[Run], None]:
    """What sends a signal to a command, alone or with its workers: after so many seconds, or as soon as something is so."""

    def send(run: Run) -> None:
        if when is not None:
            wait_until(lambda: when(run) or run.process.poll() is not None)
        try:
            run.process.wait(after)
        except subprocess.TimeoutExpired:
            (os.killpg if to_all else os.kill)(run.process.pid, number)

    return send


# --- surroundings

_RUN = '"$@"'
_USER = 54321  # that runs nothing else: the limit counts the processes of a user, and root has none
_MAY = "-all,+dac_override"  # reads and writes the campaign's folders, which belong to another
_UNPRIVILEGED = f"setpriv --reuid {_USER} --regid {_USER} --clear-groups --inh-caps={_MAY} --ambient-caps={_MAY}"
_SMALL_DISK = (
    'mount -t tmpfs -o size=16k tmpfs out || exit 99; "$@"; status=$?; '
    "test $status = 0 || find out -mindepth 1 ! -path '*incomplete*' -printf 'Left over: %p\\n' >&2; exit $status"
)
_FULL_TMP = 'mount -t tmpfs -o size=4k tmpfs tmp && head -c 4096 /dev/zero >tmp/full; exec "$@"'


def _broken(*descriptors: int) -> str:
    """A script that leads these descriptors into a pipe that nobody reads."""
    to_pipe = "".join(f"os.dup2(w, {descriptor}); " for descriptor in descriptors)
    code = "import os, signal, sys; signal.signal(signal.SIGPIPE, signal.SIG_DFL); r, w = os.pipe(); os.close(r); "
    return f"exec {shlex.quote(sys.executable)} -c {shlex.quote(f'{code}{to_pipe}os.execv(sys.argv[1], sys.argv[1:])')} {_RUN}"


_FILL_SHM = "mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero >/dev/shm/full"

_VARIABLES = (
    *(("language C", "LANG=C LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0"), ("encoding latin-1", "PYTHONIOENCODING=latin-1")),
    *(("encoding ascii:strict", "PYTHONIOENCODING=ascii:strict"), ("no such terminal", "TERM=nonsense"), ("no path", "PATH=")),
    *(("dumb terminal", "TERM=dumb"), ("1 column", "COLUMNS=1"), ("10,000 columns", "COLUMNS=10000")),
    *(("columns that are none", "COLUMNS=-5"), ("unbuffered", "PYTHONUNBUFFERED=1"), ("developer mode", "PYTHONDEVMODE=1")),
    *(("warnings are errors", "PYTHONWARNINGS=error"), ("optimized", "PYTHONOPTIMIZE=2")),
)
SURROUNDINGS = {
    **{f"{count} descriptors": f"ulimit -n {count}; exec {_RUN}" for count in (64, 16, 11, 8, 6)},
    **{f"{mib} MiB of addresses": f"ulimit -v {mib << 10}; exec {_RUN}" for mib in (512, 130, 64)},
    "no writable temporary directory": f'PYTHONPATH="$PATCHES/no_temporary_directory:$PYTHONPATH" exec {_RUN}',
    "no fork": f'PYTHONPATH="$PATCHES/no_fork:$PYTHONPATH" exec {_RUN}',
    "no process more": f"exec {_UNPRIVILEGED} prlimit --nproc=1 {_RUN}",
    "full /dev/shm": f"exec unshare --mount sh -c '{_FILL_SHM}; exec {_RUN}' sh {_RUN}",
    "full temporary directory": f"exec unshare --mount sh -c {shlex.quote(_FULL_TMP)} sh {_RUN}",
    "full disk for outputs": f"exec unshare --mount sh -c {shlex.quote(_SMALL_DISK)} sh {_RUN}",
    "no optional packages": f'PYTHONPATH="$PATCHES/no_optional_packages:$PYTHONPATH" exec {_RUN}',
    "no packages": f'PYTHONPATH="$PATCHES/no_packages:$PYTHONPATH" exec {_RUN}',
    **{what: f"{variables} exec {_RUN}" for what, variables in _VARIABLES},
    "no environment": f'exec env -i PYTHONPATH="$PYTHONPATH" {_RUN}',
    "stdin closed": f"exec {_RUN} <&-",
    "stdout closed": f"exec {_RUN} >&-",
    "stderr closed": f"exec {_RUN} 2>&-",
    "all streams closed": f"exec {_RUN} <&- >&- 2>&-",
    "stdout full": f"exec {_RUN} >/dev/full",
    "stderr full": f"exec {_RUN} 2>/dev/full",
    "stdout a broken pipe": _broken(1),
    "stderr a broken pipe": _broken(2),
    "stdout and stderr broken pipes": _broken(1, 2),
    "clock that jumps": f'PYTHONPATH="$PATCHES/clock_that_jumps:$PYTHONPATH" exec {_RUN}',
    "home unset": f"unset HOME; exec {_RUN}",
    "working directory gone": f"mkdir gone; cd gone; rmdir ../gone; exec {_RUN}",
    "files of 4 KiB": f"ulimit -f 4; exec {_RUN}",
}

_WITHOUT = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name in {0} or name.partition(".")[0] in {0}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Without())
"""

_JUMPING_CLOCK = """
import itertools, time
jumps = itertools.cycle((1_600_000_000, 0, 1_900_000_000, 1_700_000_000, 5))
time.time = lambda: float(next(jumps))
time.time_ns = lambda: next(jumps) * 1_000_000_000
"""

_OPTIONAL = ("lz4", "snappy", "cramjam", "zstandard", "backports", "compression.zstd", "rich", "pyarrow", "pyspark", "crc32c")
_PATCHES = {
    "clock_that_jumps": _JUMPING_CLOCK,
    "no_temporary_directory": "import tempfile\ntempfile._candidate_tempdir_list = lambda: ['/proc/nowhere']\n",
    "no_optional_packages": _WITHOUT.format(_OPTIONAL),
    "no_packages": _WITHOUT.format((*_OPTIONAL, "click")),
    "no_fork": "import os\ndef fork():\n    raise BlockingIOError(11, 'no process')\nos.fork = fork\n",
}
"""Code that Python runs at its start, by the name of a folder that is in its path."""

_CLOSED = {
    *("stdout closed", "all streams closed", "stdout full", "stderr closed", "stderr full"),
    *("stdout a broken pipe", "stderr a broken pipe", "stdout and stderr broken pipes"),
}
"""Where the output or the message does not come."""


_SAME_ANSWER = {"no fork", "no process more", "full /dev/shm", "no writable temporary directory", "full temporary directory"}
"""Where a command that works prints what it usually prints; without rich, tables look different."""


_LACK_PACKAGES = {"no optional packages", "no packages"}
"""Where a command may say that it needs a package."""


def can_be_made(surroundings: str) -> bool:
    """Whether this user may make these surroundings on this machine."""
    wanted = {
        "no process more": f"{_UNPRIVILEGED} prlimit --nproc=1 true",
        "full /dev/shm": f"unshare --mount sh -c '{_FILL_SHM}'",
        "full temporary directory": "unshare --mount sh -c 'mount -t tmpfs -o size=4k tmpfs /mnt'",
        "full disk for outputs": "unshare --mount sh -c 'mount -t tmpfs -o size=4k tmpfs /mnt'",
    }
    if surroundings == "full /dev/shm" and Path(tempfile.gettempdir()).is_relative_to("/dev/shm"):
        return False  # where the files of the campaign are
    script = wanted.get(surroundings, "true")
    return subprocess.run(["sh", "-c", script], capture_output=True, check=False).returncode == 0


def in_surroundings(bench: Bench, name: str, surroundings: str, partition: Path | None = None) -> Outcome:
    """Run a command in surroundings that a shell script prepares."""
    patches = bench.root / "patches"
    for patch, code in _PATCHES.items():
        (patches / patch).mkdir(parents=True, exist_ok=True)
        (patches / patch / "sitecustomize.py").write_text(code)
    return bench.run(name, partition=partition, script=SURROUNDINGS[surroundings], environment={"PATCHES": str(patches)})


def fault_of_surroundings(command: str, surroundings: str, outcome: Outcome, usual: Outcome) -> str | None:
    said = outcome.said
    if slipped := slip(outcome, said):
        return slipped
    for words in ("Warning", "Left over"):
        if words in said:
            return f"shows {words!r}"
    if outcome.exit == usual.exit:
        shows_stdout = surroundings not in _CLOSED
        if shows_stdout and bool(outcome.stdout) != bool(usual.stdout):
            return "prints nothing"
        if surroundings in _SAME_ANSWER and outcome.stdout != usual.stdout:
            return "gives another answer"
        return None
    if outcome.exit == 2 and surroundings in _LACK_PACKAGES:
        return None if re.fullmatch(r'kdump: .* needs? the package "[^\n]*\n', outcome.stderr) else "does not say what it lacks"
    if outcome.exit not in (3, 4) and not (outcome.exit == 1 and "--files" in command):
        return f"exit {outcome.exit}"
    if "stderr" in surroundings or surroundings == "all streams closed":
        return None  # nobody can be told
    lines = outcome.stderr.splitlines()
    return "says nothing, or much" if not said or outcome.exit == 4 and len(lines) != 1 else None


def _surroundings(options: argparse.Namespace) -> "Iterator[Tried]":
    names = [name for name in SURROUNDINGS if fnmatch.fnmatch(name, options.only) and can_be_made(name)]
    with scratch() as folder:
        bench = Bench(Path(folder))
        for name in _chosen(options, COMMANDS):
            usual = bench.run(name)
            for surroundings in names:
                outcome = in_surroundings(bench, name, surroundings)
                yield name, surroundings, outcome, fault_of_surroundings(COMMANDS[name], surroundings, outcome, usual)


# --- the campaign

Tried = tuple[str, str, Outcome, str | None]
"""A run: the command and the kind of disturbance, what exactly was done, how it ended, and what is wrong with that."""

DISTURBANCES: dict[str, Callable[[argparse.Namespace], Iterator[Tried]]] = {
    "calls": _calls,
    "changes": _changes,
    "signals": _signals,
    "surroundings": _surroundings,
}


def _chosen(options: argparse.Namespace, names: Iterable[str]) -> list[str]:
    return fnmatch.filter(names, options.command)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("disturbance", choices=DISTURBANCES)
    parser.add_argument("--count", type=int, default=20, help="calls of a kind, changes of a command, or moments for a signal")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default="*", metavar="GLOB", help="commands of these names")
    parser.add_argument("--only", default="*", metavar="GLOB", help="only these calls or surroundings")
    parser.add_argument("--verbose", action="store_true", help="show what the first bad run of a kind printed")
    options = parser.parse_args()
    runs, bad = 0, Counter[str]()
    for about, what, outcome, fault in DISTURBANCES[options.disturbance](options):
        runs += 1
        if fault is not None:
            kind = f"{about}: {fault}"
            if not bad[kind]:
                print(f"{kind} ({what})", flush=True)
                if options.verbose:
                    print("".join(f"    | {line[:200]}\n" for line in outcome.said.splitlines()[-12:]), end="", flush=True)
            bad[kind] += 1
    print(f"{runs} runs, {sum(bad.values())} bad, of {len(bad)} kinds")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
