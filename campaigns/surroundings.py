"""Runs each command in small and odd surroundings: it works, or says in one line what it lacks and ends with exit code 3 or 4.

    python -m campaigns.surroundings

Surroundings are prepared by a shell that then becomes kdump: few descriptors, little memory, no fork, no temporary directory,
no environment, closed streams, a working directory that is gone. An answer is right if the exit code is the usual one, or 3 or
4 (1 for the drop-in form, 2 where a package is missing) with a message; wrong are tracebacks, internal errors, silence, other
exit codes and other answers.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from campaigns.commands import compressed_partition, filled, small_partition

ROOT = Path(__file__).parent.parent
HANG = 120.0
"""Seconds after which a command will never end."""

_DECODER = "/bin/sed -u 's/.*/{\"value\": 1}/'"

COMMANDS = {
    "check": ("check", "PARTITION"),
    "check, two jobs": ("check", "--jobs", "2", "--level", "deep", "PARTITION"),
    "check to a file": ("check", "--output", "json", "-o", "OUT/report", "PARTITION"),
    "check of stdin": ("check", "-"),
    "forecast": ("forecast", "PARTITION"),
    "log": ("log", "PARTITION"),
    "log as a table": ("log", "--deep", "--output", "table", "PARTITION"),
    "log as Parquet": ("log", "--output", "parquet", "-o", "OUT/batches", "PARTITION"),
    "log of stdin": ("log", "-"),
    "index": ("index", "PARTITION"),
    "timeindex": ("timeindex", "PARTITION"),
    "snapshot": ("snapshot", "PARTITION"),
    "scan": ("scan", "--engine", "local", "--jobs", "2", "PARTITION"),
    "scan to tables": ("scan", "--engine", "local", "--jobs", "2", "--tables-to", "OUT/tables", "PARTITION"),
    "grep": ("grep", "key 7", "PARTITION"),
    "grep, two jobs": ("grep", "--jobs", "2", "key 7", "PARTITION"),
    "grep with a certificate": ("grep", "--prove-absent", "--certificate", "OUT/certificate", "key 7", "PARTITION"),
    "grep as a table to a file": ("grep", "--output", "table", "-o", "OUT/hits", "key 7", "PARTITION"),
    "grep as Parquet": ("grep", "--output", "parquet", "-o", "OUT/hits", "key 7", "PARTITION"),
    "grep decoded by a command": ("grep", "--decoder-cmd", _DECODER, "--in", "decoded", "1", "PARTITION"),
    "grep of stdin": ("grep", "key 7", "-"),
    "where": ("where", "--key", "key 7", "PARTITION"),
    "recover": ("recover", "PARTITION", "-o", "OUT/new"),
    "reindex": ("reindex", "PARTITION", "-o", "OUT/new"),
    "slice": ("slice", "--drop-key", "key 7", "PARTITION", "-o", "OUT/new"),
    "redact": ("redact", "PARTITION", "-o", "OUT/new"),
    "drop-in": ("--files", "LOGS", "--print-data-log"),
    "drop-in, two jobs": ("--files", "LOGS", "--print-data-log", "--jobs", "2"),
    "check of compressed batches": ("check", "--level", "deep", "COMPRESSED"),
    "log of compressed batches": ("log", "--deep", "COMPRESSED"),
    "drop-in of compressed batches": ("--files", "COMPRESSED_LOGS", "--print-data-log"),
    "explain": ("explain", "crc-mismatch"),
    "releases": ("releases",),
    "help": ("--help",),
}

_RUN = '"$@"'
_USER = 54321  # that runs nothing else: the limit counts the processes of a user, and root has none
_MAY = "-all,+dac_override"  # reads and writes the campaign's folders, which belong to another
_UNPRIVILEGED = f"setpriv --reuid {_USER} --regid {_USER} --clear-groups --inh-caps={_MAY} --ambient-caps={_MAY}"
_SMALL_DISK = (
    'mount -t tmpfs -o size=16k tmpfs out || exit 99; "$@"; status=$?; '
    "test $status = 0 || find out -mindepth 1 ! -path '*incomplete*' -printf 'Left over: %p\\n' >&2; exit $status"
)
_FULL_TMP = 'mkdir tmp; mount -t tmpfs -o size=4k tmpfs tmp && head -c 4096 /dev/zero >tmp/full; TMPDIR="$PWD/tmp" exec "$@"'


def _broken(*descriptors: int) -> str:
    """A script that leads these descriptors into a pipe that nobody reads."""
    to_pipe = "".join(f"os.dup2(w, {descriptor}); " for descriptor in descriptors)
    code = "import os, signal, sys; signal.signal(signal.SIGPIPE, signal.SIG_DFL); r, w = os.pipe(); os.close(r); "
    return f"exec {shlex.quote(sys.executable)} -c {shlex.quote(f'{code}{to_pipe}os.execv(sys.argv[1], sys.argv[1:])')} {_RUN}"


_FILL_SHM = "mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero >/dev/shm/full"

SURROUNDINGS = {
    "64 descriptors": f"ulimit -n 64; exec {_RUN}",
    "32 descriptors": f"ulimit -n 32; exec {_RUN}",
    "16 descriptors": f"ulimit -n 16; exec {_RUN}",
    "11 descriptors": f"ulimit -n 11; exec {_RUN}",
    "8 descriptors": f"ulimit -n 8; exec {_RUN}",
    "7 descriptors": f"ulimit -n 7; exec {_RUN}",
    "6 descriptors": f"ulimit -n 6; exec {_RUN}",
    "512 MiB of addresses": f"ulimit -v 524288; exec {_RUN}",
    "300 MiB of addresses": f"ulimit -v 307200; exec {_RUN}",
    "130 MiB of addresses": f"ulimit -v 133120; exec {_RUN}",
    "64 MiB of addresses": f"ulimit -v 65536; exec {_RUN}",
    "no writable temporary directory": f'PYTHONPATH="$PWD/no_temporary_directory:$PYTHONPATH" exec {_RUN}',
    "no fork": f'PYTHONPATH="$PWD/no_fork:$PYTHONPATH" exec {_RUN}',
    "no process more": f"exec {_UNPRIVILEGED} prlimit --nproc=1 {_RUN}",
    "full /dev/shm": f"exec unshare --mount sh -c '{_FILL_SHM}; exec {_RUN}' sh {_RUN}",
    "full temporary directory": f"exec unshare --mount sh -c {shlex.quote(_FULL_TMP)} sh {_RUN}",
    "full disk for outputs": f"exec unshare --mount sh -c {shlex.quote(_SMALL_DISK)} sh {_RUN}",
    "no optional packages": f'PYTHONPATH="$PWD/no_optional_packages:$PYTHONPATH" exec {_RUN}',
    "no packages": f'PYTHONPATH="$PWD/no_packages:$PYTHONPATH" exec {_RUN}',
    "no environment": f'exec env -i PYTHONPATH="$PYTHONPATH" {_RUN}',
    "language C": f"LANG=C LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 exec {_RUN}",
    "encoding latin-1": f"PYTHONIOENCODING=latin-1 exec {_RUN}",
    "encoding ascii:strict": f"PYTHONIOENCODING=ascii:strict exec {_RUN}",
    "no such terminal": f"TERM=nonsense exec {_RUN}",
    "dumb terminal": f"TERM=dumb exec {_RUN}",
    "1 column": f"COLUMNS=1 exec {_RUN}",
    "10,000 columns": f"COLUMNS=10000 exec {_RUN}",
    "columns that are none": f"COLUMNS=-5 exec {_RUN}",
    "stdin closed": f"exec {_RUN} <&-",
    "stdout closed": f"exec {_RUN} >&-",
    "stderr closed": f"exec {_RUN} 2>&-",
    "all streams closed": f"exec {_RUN} <&- >&- 2>&-",
    "stdout full": f"exec {_RUN} >/dev/full",
    "stderr full": f"exec {_RUN} 2>/dev/full",
    "stdout a broken pipe": _broken(1),
    "stderr a broken pipe": _broken(2),
    "stdout and stderr broken pipes": _broken(1, 2),
    "clock that jumps": f'PYTHONPATH="$PWD/clock_that_jumps:$PYTHONPATH" exec {_RUN}',
    "home unset": f"unset HOME; exec {_RUN}",
    "working directory gone": f"mkdir gone; cd gone; rmdir ../gone; exec {_RUN}",
    "unbuffered": f"PYTHONUNBUFFERED=1 exec {_RUN}",
    "optimized": f"PYTHONOPTIMIZE=2 exec {_RUN}",
    "no path": f"PATH= exec {_RUN}",
    "files of 4 KiB": f"ulimit -f 4; exec {_RUN}",
    "warnings are errors": f"PYTHONWARNINGS=error exec {_RUN}",
    "developer mode": f"PYTHONDEVMODE=1 exec {_RUN}",
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


class Outcome(NamedTuple):
    """How a command ended."""

    status: int | None
    stdout: str
    stderr: str


def run(command: str, script: str, partition: Path, folder: Path) -> Outcome:
    """Run a command in surroundings that a shell script prepares."""
    out = folder / "out"
    out.mkdir(parents=True)
    for name, code in _PATCHES.items():
        (folder / name).mkdir()
        (folder / name / "sitecustomize.py").write_text(code)
    logs = sorted(map(str, partition.glob("*.log")))
    compressed = compressed_partition(folder / "compressed-0")
    compressed_logs = ",".join(sorted(map(str, compressed.glob("*.log"))))
    values = {
        "PARTITION": str(partition),
        "LOGS": ",".join(logs),
        "COMPRESSED": str(compressed),
        "COMPRESSED_LOGS": compressed_logs,
        "OUT": str(out),
    }
    words = [filled(word, values) for word in COMMANDS[command]]
    arguments = ["sh", "-c", script, "sh", sys.executable, "-m", "kdump", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("COLUMNS", None)
    with open(logs[0], "rb") as stdin:
        try:
            done = subprocess.run(
                arguments, stdin=stdin, capture_output=True, cwd=folder, env=environment, timeout=HANG, check=False
            )
        except subprocess.TimeoutExpired:
            return Outcome(None, "", "")
    return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def wrong(command: str, surroundings: str, outcome: Outcome, usual: Outcome) -> str | None:
    """What is wrong with an outcome; None if nothing is."""
    if outcome.status is None:
        return "hangs"
    said = outcome.stdout + outcome.stderr
    for words in ("Traceback", "internal error", "Exception ignored", "Warning", "Left over"):
        if words in said:
            return f"shows {words}"
    if outcome.status == usual.status:
        shows_stdout = surroundings not in _CLOSED
        if shows_stdout and bool(outcome.stdout) != bool(usual.stdout):
            return "prints nothing"
        if surroundings in _SAME_ANSWER and _answer(outcome) != _answer(usual):
            return "gives another answer"
        return None
    if outcome.status == 2 and surroundings in _LACK_PACKAGES:
        return None if re.fullmatch(r'kdump: .* needs? the package "[^\n]*\n', outcome.stderr) else "does not say what it lacks"
    if outcome.status not in (3, 4) and not (outcome.status == 1 and command.startswith("drop-in")):
        return f"exit {outcome.status}"
    if "stderr" in surroundings or surroundings == "all streams closed":
        return None  # nobody can be told
    lines = outcome.stderr.splitlines()
    return "says nothing, or much" if not said or outcome.status == 4 and len(lines) != 1 else None


def _answer(outcome: Outcome) -> str:
    """What a command printed on stdout, without the time that it took."""
    return re.sub(r"\d+\.\d+\s+s\b", "0.0 s", outcome.stdout)


def outcomes(names: list[str], commands: Iterable[str] = COMMANDS) -> Iterator[tuple[str, str, Outcome, Outcome]]:
    """Each command in each of these surroundings: its outcome, and the usual one."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # another user may look at what is in it
        partition = small_partition(Path(name, "data"))
        for command in commands:
            folder = Path(name, "run")
            usual = run(command, f"exec {_RUN}", partition, folder)
            shutil.rmtree(folder)
            for surroundings in names:
                outcome = run(command, SURROUNDINGS[surroundings], partition, folder)
                shutil.rmtree(folder)
                yield command, surroundings, outcome, usual


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", default="", help="names of commands, with semicolons; all if not given")
    parser.add_argument("--only", default="", help="names of surroundings, with semicolons; all if not given")
    parser.add_argument("--verbose", action="store_true", help="show every outcome that is not the usual one")
    options = parser.parse_args()
    bad = count = 0
    names = [name for name in (options.only.split(";") if options.only else SURROUNDINGS) if can_be_made(name)]
    for command, surroundings, outcome, usual in outcomes(names, options.commands.split(";") if options.commands else COMMANDS):
        fault = wrong(command, surroundings, outcome, usual)
        count += 1
        bad += fault is not None
        if fault is not None or options.verbose and outcome.status != usual.status:
            last = outcome.stderr.strip()[-300:]
            print(f"{command}, {surroundings}: {fault or 'fine'}: exit {outcome.status}: {last}", flush=True)
    left_out = "" if options.only else "".join(f"; cannot be made here: {name}" for name in SURROUNDINGS if name not in names)
    print(f"{count} runs, {bad} bad{left_out}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
