"""What campaigns share that run whole commands and disturb them: data, command lines, and how a command ended."""

import os
import random
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests import registries
from tests.builders import files
from tests.builders.compression import CODEC_IDS
from tests.builders.files import producer_entry, write_partition
from tests.builders.records import Record, batch, record
from tests.support import HANG, with_interrupts

ROOT = Path(__file__).parent.parent

_SCAN = "scan --engine local --jobs 2"
_CERTIFICATE = "grep --prove-absent --certificate OUT/certificate 'no such key' PARTITION"
_BY_COMMAND = '--decoder-cmd \'/bin/sed -u "s/.*/{\\"value\\": 1}/"\''

COMMANDS = {
    "check": "check PARTITION",
    "check deep": "check --level deep PARTITION",
    "check full": "check --level full PARTITION",
    "check jobs": "check --jobs 2 --level deep PARTITION",
    "check ndjson": "check --output ndjson PARTITION",
    "check csv": "check --output csv PARTITION",
    "check table": "check --all --output table PARTITION",
    "check sarif": "check --output sarif -o OUT/report.sarif PARTITION",
    "check junit": "check --output junit PARTITION",
    "check baseline": "check --baseline OUT/baseline PARTITION",
    "check log directory": "check DIRECTORY",
    "check pattern": "check DIRECTORY/*/*.log",
    "check gently": "check --nice --rate 1G PARTITION",
    "check stdin": "check -",
    "check to file": "check --output json -o OUT/report.json PARTITION",
    "forecast": "forecast PARTITION",
    "forecast ndjson": "forecast --output ndjson PARTITION",
    "forecast log directory": "forecast --after unclean --output json DIRECTORY",
    "log": "log PARTITION",
    "log jobs": "log --deep --output ndjson --jobs 3 LARGE",
    "log arrow": "log --output arrow -o OUT/batches.arrow PARTITION",
    "log gently": "log --deep --print-data-log --nice PARTITION",
    "log pattern": "log DIRECTORY/*/*.log",
    "log stdin": "log --deep -",
    "log stop": "log --fail-fast --from-offset 100 --limit 60 PARTITION",
    "log deep": "log --deep PARTITION",
    "log table": "log --deep --output table PARTITION",
    "log csv": "log --deep --output csv PARTITION",
    "log tail": "log --deep --tail 5 PARTITION",
    "log offset": "log --offset 500 PARTITION",
    "log to file": "log --deep --output ndjson -o OUT/records.ndjson PARTITION",
    "log parquet": "log --deep --output parquet -o OUT/records.parquet PARTITION",
    "index": "index PARTITION",
    "timeindex": "timeindex PARTITION",
    "snapshot": "snapshot PARTITION",
    "checkpoint": "checkpoint PARTITION",
    "checkpoint text": "checkpoint --output ndjson DIRECTORY",
    "index to file": "index --output ndjson -o OUT/entries PARTITION",
    "timeindex csv": "timeindex --output csv PARTITION",
    "txnindex": "txnindex TRANSACTIONS",
    "check transactions": "check --level deep TRANSACTIONS",
    "log transactions": "log --deep --output ndjson TRANSACTIONS",
    "scan": f"{_SCAN} PARTITION",
    "scan tables": f"{_SCAN} --records --tables-to OUT/tables PARTITION",
    "scan log directory": f"{_SCAN} --savings all --tables-to OUT/tables DIRECTORY",
    "scan json": f"{_SCAN} --level deep --output json -o OUT/summary DIRECTORY",
    "scan pieces": f"{_SCAN} --target-bytes 20000 --tables records,files --records --tables-to OUT/tables PARTITION",
    "scan again": f"{_SCAN} --tables-to OUT/tables PARTITION",
    "scan of more": "scan --engine local --jobs 1 --records --tables-to OUT/tables GROWING",
    "scan decoded": f"{_SCAN} --tables records --records --decode auto --tables-to OUT/tables REGISTRY/jade-both-0",
    "log decoded": "log --deep --output ndjson REGISTRY/jade-both-0",
    "log by schema": "log --deep --output csv --value-decoder avro --schemas REGISTRY/files REGISTRY/iris-bare-0",
    "log by command": f"log --deep --output ndjson {_BY_COMMAND} PARTITION",
    "check compressed": "check --level deep COMPRESSED",
    "log compressed": "log --deep COMPRESSED",
    "grep compressed": "grep --output ndjson 'key 7' COMPRESSED",
    "slice compressed": "slice --drop-key 'key 7' COMPRESSED -o OUT/new",
    "redact compressed": "redact --seed once COMPRESSED -o OUT/new",
    "recover compressed": "recover --output ndjson COMPRESSED -o OUT/new",
    "drop-in compressed": "--print-data-log --files COMPRESSED/00000000000000000000.log",
    "grep": "grep --output ndjson 'key 7' PARTITION",
    "grep files": "grep -l 'key 7' DIRECTORY",
    "grep first": "grep --limit 3 --context 2 --output table 'key 7' DIRECTORY",
    "grep expression": "grep -E 'key [67]' --in key --output csv -o OUT/hits PARTITION",
    "grep stdin": "grep --output ndjson 'key 7' -",
    "grep gently": "grep --nice --rate 1G 'key 7' PARTITION",
    "grep parquet": "grep --output parquet -o OUT/hits.parquet 'key 7' PARTITION",
    "grep jobs": "grep --jobs 2 --output ndjson 'key 7' PARTITION",
    "grep jobs absent": "grep --jobs 2 --prove-absent --certificate OUT/certificate 'no such key' PARTITION",
    "grep count": "grep --jobs 1 --count 'key 7' PARTITION",
    "grep verify": "grep --output ndjson --verify OUT/certificate",
    "grep by schema": "grep --output ndjson --where suit=SPADES --value-decoder avro --schemas REGISTRY/files/cedar.avsc"
    " REGISTRY/iris-bare-0",
    "grep by command": f"grep {_BY_COMMAND} --in decoded --prove-absent --certificate OUT/certificate 'no such value' PARTITION",
    "grep decoded": "grep --in decoded --prove-absent --certificate OUT/certificate 'no such value' REGISTRY/jade-both-0",
    "grep misplaced": "grep --partition-count 3 --output ndjson PARTITION",
    "grep absent": "grep --output ndjson 'no such key' PARTITION",
    "grep certificate": _CERTIFICATE,
    "where": "where --key 'key 7' --output ndjson PARTITION",
    "where text": "where topic-0@477 DIRECTORY",
    "where table": "where --key 'key 7' --output table -o OUT/fates DIRECTORY",
    "where offset": "where --output ndjson topic-0@477 PARTITION SOUND",
    "recover": "recover --output ndjson PARTITION -o OUT/new",
    "recover merge": "recover --output ndjson PARTITION --merge SOUND -o OUT/new",
    "recover log directory": "recover --output ndjson DIRECTORY -o OUT/new",
    "recover text": "recover --nice PARTITION -o OUT/new",
    "reindex": "reindex PARTITION -o OUT/new",
    "reindex only": "reindex --only timeindex PARTITION -o OUT/new",
    "reindex ndjson": "reindex --output ndjson PARTITION -o OUT/new",
    "slice": "slice --from-offset 45 --to-offset 77 --drop-key 'key 7' PARTITION -o OUT/new",
    "slice exact": "slice --exact --from-offset 45 --to-offset 77 --output csv PARTITION -o OUT/new",
    "slice transactions": "slice --from-offset 5 TRANSACTIONS -o OUT/new",
    "redact": "redact --seed once PARTITION -o OUT/new",
    "redact values": "redact --values --seed once --output json PARTITION -o OUT/new",
    "drop-in": "--files LOGS",
    "drop-in old": "--release 0.10.2.2 --files LOGS --deep-iteration",
    "drop-in snapshots": "--files SNAPSHOTS",
    "drop-in transactions": "--files TRANSACTIONS/00000000000000000000.txnindex",
    "drop-in deep": "--files LOGS --print-data-log",
    "drop-in jobs": "--files LOGS --print-data-log --jobs 2",
    "drop-in workers": "--files LARGE/00000000000000000000.log --print-data-log --jobs 3",
    "drop-in index": "--files INDEXES --index-sanity-check",
    "drop-in indexes": "--files INDEXES",
    "explain": "explain crc-mismatch",
    "explain to file": "explain -o OUT/text",
    "schema": "schema finding -o OUT/schema",
    "releases": "releases --output ndjson -o OUT/releases",
    "completions": "completions bash -o OUT/completions",
    "help": "--help",
}
"""Command lines by name; words in capitals, up to a slash, stand for paths (`Bench.paths`)."""

BEFORE = {
    "check baseline": "check --output ndjson -o OUT/baseline PARTITION",
    "grep verify": _CERTIFICATE,
    "scan again": COMMANDS["scan again"],
    "scan of more": COMMANDS["scan of more"],
}
"""Commands that run before those of the same name, and are not disturbed; then GROWING gets another segment."""

_OF_ONE_RUN = re.compile(
    rb'"seconds": ?[0-9.]+|\b[0-9]+[.][0-9]+\s+s\b|"(start|end)TimeUtc":"[^"]*"|"(made|certificateSha256)": "[^"]*"'
    rb'|"unchangedFiles": \d+'
    rb"|No file has changed since the scan of [^\n]*\n|\d+ files? of these (is|are) as [^\n]*\n"  # what is in doubt is read again
)
LONG_AGO = 1_700_000_000


class Outcome(NamedTuple):
    """How a run ended: its exit code (None if it hung), what it printed, and the files of its output, by name.

    `earlier` are the files that an earlier command left, `temporary` temporary files, `leftover` processes. `calls` and `failed`
    are counted by `failing_calls.c`.
    """

    exit: int | None
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, bytes] = {}
    leftover: tuple[int, ...] = ()
    temporary: tuple[str, ...] = ()
    earlier: Mapping[str, bytes] = {}
    calls: int = 0
    failed: int = 0

    @property
    def said(self) -> str:
        return self.stdout + self.stderr


class Run(NamedTuple):
    """A command under way: its process, which leads a session, and its folders for outputs and temporary files."""

    process: "subprocess.Popen[bytes]"
    out: Path
    tmp: Path


class Bench:
    """Data for commands, sound and damaged, and a folder in which one command runs after the other."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "run"
        sound = small_partition(root / "sound")
        damaged = small_partition(root / "damaged")
        log = damaged / f"{400:020d}.log"
        data = bytearray(log.read_bytes())
        data[len(data) // 2] ^= 0x10
        log.write_bytes(data)
        for place in (sound.parent, damaged.parent):
            for checkpoint, offset in (("recovery-point-offset", 800), ("log-start-offset", 0), ("replication-offset", 1200)):
                (place / f"{checkpoint}-checkpoint").write_bytes(files.checkpoint(entries=[("topic", 0, offset)]))
            (place / "meta.properties").write_text("version=1\nnode.id=1\nbroker.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n")
            (place / ".lock").touch()
            for path in place.rglob("*"):
                os.utime(path, (LONG_AGO, LONG_AGO))  # what was just written is read again by the next scan
        records = [Record(key=b"key %d" % row, value=bytes(200)) for row in range(10)]
        segment = [batch(records=records, base_offset=10 * number, codec=codec) for codec, number in CODEC_IDS.items()]
        write_partition(root / "compressed", segments={0: segment})
        one: dict[str, Any] = {"records": [record(value=bytes(9))], "producer_id": 7, "is_transactional": True}
        aborted = [files.aborted_transaction(producer_id=7, last_offset=4, last_stable_offset=5)]
        segment = [batch(base_offset=number, **one) for number in range(9)]
        write_partition(root / "transactions", segments={0: segment}, aborted_transactions={0: aborted})
        noise = random.Random(1)
        values = [noise.randbytes(1 << 17) for _ in range(20)]
        large = [batch(records=[record(value=one)], base_offset=number, codec="gzip") for number, one in enumerate(values)]
        write_partition(root / "large", segments={0: large})  # of which the drop-in form reads parts in worker processes
        registries.unpack(root / "registries")
        self.partitions = {"sound": sound, "damaged": damaged}

    def paths(self, partition: Path) -> dict[str, str]:
        """What stands for the words in capitals of a command over a partition."""
        places = {name.upper(): self.root / name / "topic-0" for name in ("sound", "compressed", "large", "transactions")}
        places |= {"REGISTRY": self.root / "registries" / "schemas-a", "GROWING": self.folder / "growing" / "topic-0"}
        places |= {"PARTITION": partition, "DIRECTORY": partition.parent, "OUT": self.folder / "out"}
        lists = {"LOGS": "*.log", "SNAPSHOTS": "*.snapshot", "INDEXES": "*index"}
        return {name: str(place) for name, place in places.items()} | {
            name: ",".join(sorted(map(str, partition.glob(pattern)))) for name, pattern in lists.items()
        }

    def run(
        self,
        name: str,
        kind: str = "sound",
        *,
        partition: Path | None = None,
        command: str = "",
        environment: Mapping[str, str] = {},
        script: str = "",
        program: Sequence[str] = ("-m", "kdump"),
        prepare: Callable[[], object] = lambda: None,
        meanwhile: Callable[[Run], object] | None = None,
        hang: float = HANG,
    ) -> Outcome:
        """Run a command to its end, over a partition of this kind, or over this partition, in a session of its own.

        A shell script prepares its surroundings; `prepare` is done just before it starts, `meanwhile` as soon as it has started.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        out, tmp, counters = (self.folder / part for part in ("out", "tmp", "counters"))
        out.mkdir(parents=True)
        tmp.mkdir()
        counters.write_bytes(bytes(32))
        partition = partition or self.partitions[kind]
        paths = self.paths(partition)

        def words(text: str) -> list[str]:
            parts = (word.partition("/") for word in shlex.split(text))
            return [paths.get(first, first) + slash + rest for first, slash, rest in parts]

        usual = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "COLUMNS": "100", "TMPDIR": str(tmp)}
        if before := BEFORE.get(name) if not command else None:
            shutil.copytree(partition, paths["GROWING"])
            subprocess.run([sys.executable, "-m", "kdump", *words(before)], env=usual, capture_output=True, check=False)
            Path(paths["GROWING"], f"{1200:020d}.log").write_bytes(batch(base_offset=1200, records=[record(value=b"new")]))
        earlier = _contents(out)
        arguments = [sys.executable, *program, *words(command or COMMANDS[name])]
        printed = [self.folder / stream for stream in ("stdout", "stderr")]
        with min(partition.glob("*.log")).open("rb") as stdin, printed[0].open("wb") as stdout, printed[1].open("wb") as stderr:
            prepare()
            process = subprocess.Popen(
                ["sh", "-c", script, "sh", *arguments] if script else arguments,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=self.folder,
                env={**usual, **environment},
                start_new_session=True,
                preexec_fn=with_interrupts,
            )
        try:
            if meanwhile is not None:
                meanwhile(Run(process, out, tmp))
            status: int | None = process.wait(hang)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            leftover = left_of(process.pid) if process.poll() is not None else set()
            end_session(process.pid)
            process.wait()
        calls, failed = struct.unpack_from("=QQ", counters.read_bytes())
        said, complained = (_of_any_run(path.read_bytes()).decode(errors="replace") for path in printed)
        temporary = tuple(sorted(os.listdir(tmp))) if tmp.is_dir() else ()
        return Outcome(status, said, complained, _contents(out), tuple(sorted(leftover)), temporary, earlier, calls, failed)


def small_partition(folder: Path) -> Path:
    """A sound partition of three segments."""

    def made(base_offset: int) -> bytes:
        records = [Record(key=b"key %d" % row, value=bytes(200)) for row in range(10)]
        return batch(records=records, base_offset=base_offset, producer_id=7, producer_epoch=0, base_sequence=base_offset)

    segments = {first: [made(offset) for offset in range(first, first + 400, 10)] for first in (0, 400, 800)}
    ends = (400, 800, 1200)
    entries = {n: [producer_entry(producer_id=7, last_sequence=n - 1, last_offset=n - 1, offset_delta=9)] for n in ends}
    return write_partition(folder, segments=segments, producer_snapshots=entries)


def _contents(folder: Path) -> dict[str, bytes]:
    """What is in the files of a folder, by their names; of an empty directory nothing, under its name with a slash."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file():
            data = path.read_bytes()
            found[name] = data if name.endswith((".parquet", ".arrow")) else _of_any_run(data)
        elif not any(path.iterdir()):
            found[f"{name}/"] = b""
    return found


def _of_any_run(data: bytes) -> bytes:
    return _OF_ONE_RUN.sub(b"SECONDS", data)


def is_partial(name: str) -> bool:
    """Whether the name of a file says that it is not whole."""
    return any("incomplete" in part or part.startswith((".", "_")) for part in Path(name).parts)


def slip(outcome: Outcome, said: str) -> str | None:
    """What no command may do whatever happens, None if it did not."""
    if outcome.exit is None:
        return "hangs"
    if outcome.leftover:
        return "leaves a process"
    if outcome.exit < 0:
        return f"killed by signal {-outcome.exit}"
    words = ("Traceback", "internal error", "Exception ignored", "Fatal Python error")
    return next((f"shows {word!r}" for word in words if word in said), None)


# --- sessions

MOMENT = 5.0
"""Seconds that a process may outlive the command that started it, even if it sleeps."""

WORK = 1.0
"""CPU seconds that a process may use after the command has ended."""

_IS_EXITING = 0x4  # PF_EXITING, of the flags of a process
_KILL = 1 << signal.SIGKILL - 1


class _Process(NamedTuple):
    """A process that has not ended: whether it waits for something that nothing ends, and the CPU seconds that it has used."""

    number: int
    sleeps: bool
    cpu_seconds: float


def processes_of(session: int) -> set[int]:
    return {process.number for process in _processes(session)}


def left_of(session: int) -> set[int]:
    """The processes that are left of a session whose command has ended: they outlive it visibly.

    A process that is about to end may take its time on a loaded machine, so it is waited for. It is left if all that remain
    sleep a moment after the command ended, if it has worked since, or if it is still there much later.
    """
    ended = time.monotonic()
    before = {process.number: process.cpu_seconds for process in _processes(session)}
    while found := list(_processes(session)):
        seconds = time.monotonic() - ended
        work = max(process.cpu_seconds - before.get(process.number, 0.0) for process in found)
        if work > WORK or seconds > HANG or seconds > MOMENT and all(process.sleeps for process in found):
            break
        time.sleep(0.01)
    return {process.number for process in found}


def end_session(session: int) -> None:
    """End whatever is left of a session that a campaign started."""
    for process in processes_of(session):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _processes(session: int) -> Iterator[_Process]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                state, *numbers = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
                if int(numbers[2]) != session or state == "Z":
                    continue
                status = Path("/proc", entry, "status").read_text()
            except OSError:  # it has just ended
                continue
            is_ending = int(numbers[5]) & _IS_EXITING or any(
                int(line.split()[1], 16) & _KILL for line in status.splitlines() if line.startswith(("SigPnd:", "ShdPnd:"))
            )
            ticks = int(numbers[10]) + int(numbers[11])
            yield _Process(int(entry), state == "S" and not is_ending, ticks / os.sysconf("SC_CLK_TCK"))


def scratch() -> "tempfile.TemporaryDirectory[str]":
    """A folder for a bench, into which another user may look."""
    folder = tempfile.TemporaryDirectory(prefix="kdump-campaign-")
    Path(folder.name).chmod(0o755)
    return folder
