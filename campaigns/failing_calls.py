"""Fails the n-th call of the system in each command: the answer stays the same, or says clearly that it is not whole.

    python -m campaigns.failing_calls --limit 40 --seed 1
    python -m campaigns.failing_calls --limit 40 --seed 1 --forked

A library that is preloaded (`failing_calls.c`) counts the calls that a command makes for the files of a partition, and fails one
of them, or all from one on. A run is good if it ends as without a fault, or says what failed and ends with exit 3 or 4; also with
1 if the drop-in form throws or the partition is damaged. It is bad if it ends well with another answer, blames the data for the
machine, shows a traceback or an internal error, hangs, leaves a worker process, or leaves an output that looks whole and is not.
"""

import argparse
import errno
import io
import os
import random
import re
import select
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from campaigns.commands import compressed_partition, filled, small_partition
from campaigns.forked_runs import Server
from campaigns.sessions import HANG, end_session, left_of
from tests import registries
from tests.builders import files
from tests.builders.files import write_partition
from tests.builders.records import batch, record

_BYTE_CODE = Path(tempfile.gettempdir()) / "kdump-campaign-byte-code"


_SECONDS = re.compile(
    rb'"seconds": ?[0-9.]+|\b[0-9]+[.][0-9]+\s+s\b|"(start|end)TimeUtc":"[^"]*"|"(made|certificateSha256)": "[^"]*"'
    rb'|"unchangedFiles": \d+'
    rb"|No file has changed since the scan of [^\n]*\n|\d+ files? of these (is|are) as [^\n]*\n"  # what is in doubt is read again
)


_LONG_AGO = 1_700_000_000

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
    *(Failure(call, str(errno.EINTR)) for call in ("open", "pread", "read", "write")),
    *_of("open", errno.EIO, errno.EACCES, errno.EMFILE),
    *_of("pread", errno.EIO, errno.ENOMEM),
    *_of("read", errno.EIO),
    Failure("pread", "short"),
    Failure("pread", "short", all_from_there=True),
    Failure("pread", "end"),
    Failure("pread", "end", all_from_there=True),
    Failure("read", "short", all_from_there=True),
    Failure("sector", str(errno.EIO)),
    *_of("stat", errno.EIO, errno.EACCES),
    *_of("fstat", errno.EIO),
    *_of("opendir", errno.EIO, errno.EMFILE),
    *_of("readdir", errno.EIO),
    *_of("fork", errno.EAGAIN),
    *_of("mmap", errno.ENOMEM),
    *_of("malloc", errno.ENOMEM),
    *_of("write", errno.EIO, errno.ENOSPC, errno.EPIPE),
    Failure("write", "short", all_from_there=True),
    *_of("rename", errno.EIO),
    *_of("fsync", errno.EIO),
    *_of("close", errno.ENOSPC),
    *_of("copy", errno.EXDEV, errno.EIO),
    Failure("copy", "short", all_from_there=True),
    Failure("copy", "end"),
    *_of("mkdir", errno.EIO),
    *_of("unlink", errno.EIO),
    *_of("lseek", errno.EIO),
    *_of("readlink", errno.EIO),
    *_of("pipe", errno.EMFILE),
    *_of("dup", errno.EMFILE),
    Failure("poll", str(errno.EINTR)),
    *_of("poll", errno.ENOMEM),
    *_of("ask", errno.EPERM),
)

COMMANDS = {
    "check": ("check", "PARTITION"),
    "check deep": ("check", "--level", "deep", "PARTITION"),
    "check full": ("check", "--level", "full", "PARTITION"),
    "check jobs": ("check", "--jobs", "2", "PARTITION"),
    "check ndjson": ("check", "--output", "ndjson", "PARTITION"),
    "check csv": ("check", "--output", "csv", "PARTITION"),
    "check table": ("check", "--all", "--output", "table", "PARTITION"),
    "check sarif": ("check", "--output", "sarif", "-o", "OUT/report.sarif", "PARTITION"),
    "check junit": ("check", "--output", "junit", "PARTITION"),
    "check baseline": ("check", "--baseline", "OUT/baseline", "PARTITION"),
    "check log directory": ("check", "DIRECTORY"),
    "check pattern": ("check", "DIRECTORY/*/*.log"),
    "check gently": ("check", "--nice", "--rate", "1G", "PARTITION"),
    "check stdin": ("check", "-"),
    "check to file": ("check", "--output", "json", "-o", "OUT/report.json", "PARTITION"),
    "forecast": ("forecast", "PARTITION"),
    "forecast ndjson": ("forecast", "--output", "ndjson", "PARTITION"),
    "forecast log directory": ("forecast", "--after", "unclean", "--output", "json", "DIRECTORY"),
    "log": ("log", "PARTITION"),
    "log jobs": ("log", "--deep", "--output", "ndjson", "--jobs", "3", "LARGE"),
    "log arrow": ("log", "--output", "arrow", "-o", "OUT/batches.arrow", "PARTITION"),
    "log gently": ("log", "--deep", "--print-data-log", "--nice", "PARTITION"),
    "log pattern": ("log", "DIRECTORY/*/*.log"),
    "log stdin": ("log", "--deep", "-"),
    "log stop": ("log", "--fail-fast", "--from-offset", "100", "--limit", "60", "PARTITION"),
    "log deep": ("log", "--deep", "PARTITION"),
    "log table": ("log", "--output", "table", "PARTITION"),
    "log csv": ("log", "--deep", "--output", "csv", "PARTITION"),
    "log tail": ("log", "--deep", "--tail", "5", "PARTITION"),
    "log offset": ("log", "--offset", "500", "PARTITION"),
    "log to file": ("log", "--deep", "--output", "ndjson", "-o", "OUT/records.ndjson", "PARTITION"),
    "log parquet": ("log", "--deep", "--output", "parquet", "-o", "OUT/records.parquet", "PARTITION"),
    "index": ("index", "PARTITION"),
    "timeindex": ("timeindex", "PARTITION"),
    "snapshot": ("snapshot", "PARTITION"),
    "checkpoint": ("checkpoint", "PARTITION"),
    "checkpoint text": ("checkpoint", "--output", "ndjson", "DIRECTORY"),
    "index to file": ("index", "--output", "ndjson", "-o", "OUT/entries", "PARTITION"),
    "timeindex csv": ("timeindex", "--output", "csv", "PARTITION"),
    "txnindex": ("txnindex", "TRANSACTIONS"),
    "check transactions": ("check", "--level", "deep", "TRANSACTIONS"),
    "log transactions": ("log", "--deep", "--output", "ndjson", "TRANSACTIONS"),
    "scan": ("scan", "--engine", "local", "--jobs", "2", "PARTITION"),
    "scan tables": ("scan", "--engine", "local", "--jobs", "2", "--records", "--tables-to", "OUT/tables", "PARTITION"),
    "scan log directory": (
        "scan",
        "--engine",
        "local",
        "--jobs",
        "2",
        "--savings",
        "all",
        "--tables-to",
        "OUT/tables",
        "DIRECTORY",
    ),
    "scan json": (
        "scan",
        "--engine",
        "local",
        "--jobs",
        "2",
        "--level",
        "deep",
        "--output",
        "json",
        "-o",
        "OUT/summary",
        "DIRECTORY",
    ),
    "scan pieces": (
        *("scan", "--engine", "local", "--jobs", "2", "--target-bytes", "20000", "--tables", "records,files", "--records"),
        *("--tables-to", "OUT/tables", "PARTITION"),
    ),
    "scan again": ("scan", "--engine", "local", "--jobs", "2", "--tables-to", "OUT/tables", "PARTITION"),
    "scan of more": ("scan", "--engine", "local", "--jobs", "1", "--records", "--tables-to", "OUT/tables", "GROWING"),
    "scan decoded": (
        *("scan", "--engine", "local", "--jobs", "1", "--tables", "records", "--records", "--decode", "auto"),
        *("--tables-to", "OUT/tables", "REGISTRY/jade-both-0"),
    ),
    "log decoded": ("log", "--deep", "--output", "ndjson", "REGISTRY/jade-both-0"),
    "log by schema": (
        *("log", "--deep", "--output", "csv", "--value-decoder", "avro", "--schemas", "REGISTRY/files", "REGISTRY/iris-bare-0"),
    ),
    "log by command": ("log", "--deep", "--output", "ndjson", "--decoder-cmd", "sed -u 's/.*/{\"value\": 1}/'", "PARTITION"),
    "check compressed": ("check", "--level", "deep", "COMPRESSED"),
    "log compressed": ("log", "--deep", "COMPRESSED"),
    "grep compressed": ("grep", "--output", "ndjson", "key 7", "COMPRESSED"),
    "slice compressed": ("slice", "--drop-key", "key 7", "COMPRESSED", "-o", "OUT/new"),
    "redact compressed": ("redact", "--seed", "once", "COMPRESSED", "-o", "OUT/new"),
    "recover compressed": ("recover", "--output", "ndjson", "COMPRESSED", "-o", "OUT/new"),
    "drop-in compressed": ("--print-data-log", "--files", "COMPRESSED/00000000000000000000.log"),
    "grep": ("grep", "--output", "ndjson", "key 7", "PARTITION"),
    "grep files": ("grep", "-l", "key 7", "DIRECTORY"),
    "grep first": ("grep", "--limit", "3", "--context", "2", "--output", "table", "key 7", "DIRECTORY"),
    "grep expression": ("grep", "-E", "key [67]", "--in", "key", "--output", "csv", "-o", "OUT/hits", "PARTITION"),
    "grep stdin": ("grep", "--output", "ndjson", "key 7", "-"),
    "grep gently": ("grep", "--nice", "--rate", "1G", "key 7", "PARTITION"),
    "grep parquet": ("grep", "--output", "parquet", "-o", "OUT/hits.parquet", "key 7", "PARTITION"),
    "grep jobs": ("grep", "--jobs", "2", "--output", "ndjson", "key 7", "PARTITION"),
    "grep jobs absent": ("grep", "--jobs", "2", "--prove-absent", "--certificate", "OUT/certificate", "no such key", "PARTITION"),
    "grep count": ("grep", "--jobs", "1", "--count", "key 7", "PARTITION"),
    "grep verify": ("grep", "--output", "ndjson", "--verify", "OUT/certificate"),
    "grep by schema": (
        *("grep", "--output", "ndjson", "--where", "suit=SPADES", "--value-decoder", "avro"),
        *("--schemas", "REGISTRY/files/cedar.avsc", "REGISTRY/iris-bare-0"),
    ),
    "grep decoded": (
        *("grep", "--in", "decoded", "--prove-absent", "--certificate", "OUT/certificate", "no such value"),
        "REGISTRY/jade-both-0",
    ),
    "grep misplaced": ("grep", "--partition-count", "3", "--output", "ndjson", "PARTITION"),
    "grep absent": ("grep", "--output", "ndjson", "no such key", "PARTITION"),
    "grep certificate": ("grep", "--prove-absent", "--certificate", "OUT/certificate", "--count", "no such key", "PARTITION"),
    "where": ("where", "--key", "key 7", "--output", "ndjson", "PARTITION"),
    "where text": ("where", "topic-0@477", "DIRECTORY"),
    "where table": ("where", "--key", "key 7", "--output", "table", "-o", "OUT/fates", "DIRECTORY"),
    "where offset": ("where", "--output", "ndjson", "topic-0@477", "PARTITION", "SOUND"),
    "recover": ("recover", "--output", "ndjson", "PARTITION", "-o", "OUT/new"),
    "recover merge": ("recover", "--output", "ndjson", "PARTITION", "--merge", "SOUND", "-o", "OUT/new"),
    "recover log directory": ("recover", "--output", "ndjson", "DIRECTORY", "-o", "OUT/new"),
    "reindex": ("reindex", "PARTITION", "-o", "OUT/new"),
    "reindex only": ("reindex", "--only", "timeindex", "PARTITION", "-o", "OUT/new"),
    "recover text": ("recover", "--nice", "PARTITION", "-o", "OUT/new"),
    "slice exact": (
        "slice",
        "--exact",
        "--from-offset",
        "45",
        "--to-offset",
        "77",
        "--output",
        "csv",
        "PARTITION",
        "-o",
        "OUT/new",
    ),
    "slice transactions": ("slice", "--from-offset", "5", "TRANSACTIONS", "-o", "OUT/new"),
    "redact values": ("redact", "--values", "--seed", "once", "--output", "json", "PARTITION", "-o", "OUT/new"),
    "reindex ndjson": ("reindex", "--output", "ndjson", "PARTITION", "-o", "OUT/new"),
    "slice": ("slice", "--from-offset", "45", "--to-offset", "77", "--drop-key", "key 7", "PARTITION", "-o", "OUT/new"),
    "redact": ("redact", "--seed", "once", "PARTITION", "-o", "OUT/new"),
    "drop-in": ("--files", "LOGS"),
    "drop-in old": ("--release", "0.10.2.2", "--files", "LOGS", "--deep-iteration"),
    "drop-in snapshots": ("--files", "SNAPSHOTS"),
    "drop-in transactions": ("--files", "TRANSACTIONS/00000000000000000000.txnindex"),
    "explain": ("explain", "crc-mismatch"),
    "explain to file": ("explain", "-o", "OUT/text"),
    "schema": ("schema", "finding", "-o", "OUT/schema"),
    "releases": ("releases", "--output", "ndjson", "-o", "OUT/releases"),
    "completions": ("completions", "bash", "-o", "OUT/completions"),
    "drop-in deep": ("--files", "LOGS", "--print-data-log"),
    "drop-in jobs": ("--files", "LOGS", "--jobs", "2"),
    "drop-in workers": ("--files", "LARGE/00000000000000000000.log", "--print-data-log", "--jobs", "3"),
    "drop-in index": ("--files", "INDEXES", "--index-sanity-check"),
    "drop-in indexes": ("--files", "INDEXES"),
}

BEFORE = {
    "check baseline": ("check", "--output", "ndjson", "-o", "OUT/baseline", "PARTITION"),
    "grep verify": ("grep", "--prove-absent", "--certificate", "OUT/certificate", "no such key", "PARTITION"),
    "scan again": COMMANDS["scan again"],
    "scan of more": COMMANDS["scan of more"],
}
"""Commands that run before those of the same name, and do not fail; then GROWING gets another segment."""


class Case(NamedTuple):
    """A command over a partition, and one that runs before it."""

    name: str
    command: tuple[str, ...]
    partition: Path
    before: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """How a run ended: its exit code (None if it hung), what it printed and left, how many calls there were and failed.

    `earlier` are the files that were there before, of an earlier command; `temporary` are temporary files that it left.
    """

    exit: int | None
    stdout: bytes
    stderr: bytes
    files: dict[str, bytes]
    leftover: tuple[int, ...]
    calls: int = 0
    failed: int = 0
    earlier: Mapping[str, bytes] = {}
    temporary: tuple[str, ...] = ()


def build(folder: Path) -> Path:
    """The library to preload."""
    library = folder / "failing_calls.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    source = Path(__file__).with_suffix(".c")
    subprocess.run([compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def partitions(folder: Path) -> dict[str, Path]:
    """Three segments, sound; the same with a flipped byte in the second."""
    sound = small_partition(folder / "sound")
    damaged = small_partition(folder / "damaged")
    log = damaged / f"{400:020d}.log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0x10
    log.write_bytes(data)
    for name in ("sound", "damaged"):
        for checkpoint, offset in (("recovery-point-offset", 800), ("log-start-offset", 0), ("replication-offset", 1200)):
            text = files.checkpoint(entries=[("topic", 0, offset)])
            (folder / name / f"{checkpoint}-checkpoint").write_bytes(text)
        (folder / name / "meta.properties").write_text("version=1\nnode.id=1\nbroker.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n")
        (folder / name / ".lock").touch()
    compressed_partition(folder / "compressed")
    one: dict[str, Any] = {"records": [record(value=bytes(9))], "producer_id": 7, "is_transactional": True}
    of_transaction = [batch(base_offset=number, **one) for number in range(9)]
    aborted = [files.aborted_transaction(producer_id=7, last_offset=4, last_stable_offset=5)]
    write_partition(folder / "transactions", segments={0: of_transaction}, aborted_transactions={0: aborted})
    noise = random.Random(1)
    large = [batch(records=[record(value=noise.randbytes(1 << 17))], base_offset=number, codec="gzip") for number in range(20)]
    write_partition(folder / "large", segments={0: large})  # of which the drop-in form reads parts in worker processes
    for path in (*_files(sound), *_files(damaged)):
        os.utime(path, (_LONG_AGO, _LONG_AGO))  # what was just written is read again by the next scan
    registries.unpack(folder / "registries")
    return {"sound": sound, "damaged": damaged}


def cases(folder: Path, *, names: Sequence[str] = ()) -> Iterator[Case]:
    """Each command over each partition."""
    for kind, partition in partitions(folder).items():
        for name, command in COMMANDS.items():
            if not names or name in names:
                yield Case(f"{name}, {kind}", command, partition, BEFORE.get(name, ()))


def run(case: Case, library: Path, failure: Failure | None = None, number: int = 0, server: Server | None = None) -> Outcome:
    """Run a command in which this call fails; with number 0 none does, and they are counted.

    With a server, the command runs in a fork that has loaded all modules, and their imports do not fail.
    """
    with tempfile.TemporaryDirectory(dir=case.partition.parent.parent) as name:
        folder = Path(name)

        def of_any_run(data: bytes) -> bytes:
            return _SECONDS.sub(b"SECONDS", data.replace(str(folder).encode(), b"RUN"))

        (folder / "out").mkdir()
        (folder / "tmp").mkdir()
        counters = folder / "counters"
        counters.write_bytes(bytes(32))
        root = case.partition.parent.parent
        values = {
            "PARTITION": str(case.partition),
            "DIRECTORY": str(case.partition.parent),
            "SOUND": str(root / "sound" / case.partition.name),
            "COMPRESSED": str(root / "compressed" / case.partition.name),
            "LARGE": str(root / "large" / case.partition.name),
            "REGISTRY": str(root / "registries" / "schemas-a"),
            "GROWING": str(folder / "growing" / case.partition.name),
            "OUT": str(folder / "out"),
            "LOGS": ",".join(map(str, sorted(case.partition.glob("*.log")))),
            "TRANSACTIONS": str(root / "transactions" / case.partition.name),
            "SNAPSHOTS": ",".join(map(str, sorted(case.partition.glob("*.snapshot")))),
            "INDEXES": ",".join(map(str, sorted(case.partition.glob("*index")))),
        }
        environment = {**os.environ, "COLUMNS": "100"}
        environment |= {"PYTHONPYCACHEPREFIX": str(_BYTE_CODE), "PYTHONDONTWRITEBYTECODE": "", "PYTHONFAULTHANDLER": "1"}
        environment["TMPDIR"] = str(folder / "tmp")
        program = [sys.executable, "-m", "kdump"]
        if case.before:
            shutil.copytree(case.partition, values["GROWING"])
            before = [filled(argument, values) for argument in case.before]
            subprocess.run([*program, *before], env=environment, capture_output=True, check=False)
            Path(values["GROWING"], f"{1200:020d}.log").write_bytes(batch(base_offset=1200, records=[record(value=b"new")]))
        earlier = _contents(folder / "out", of_any_run)
        arguments = [filled(argument, values) for argument in case.command]
        environment |= {"LD_PRELOAD": str(library), "FAILING_COUNT": str(counters)}
        environment["FAILING_UNDER"] = str(root)
        if failure is not None:
            environment |= {"FAILING_CALL": failure.call, "FAILING_HOW": failure.how, "FAILING_AT": str(number)}
            if failure.all_from_there:
                environment["FAILING_ALL"] = "1"
        command = [*program, *arguments]
        run_one = _in_new_process if server is None else partial(_in_fork, server)
        stdin = min(case.partition.glob("*.log"))
        status, leftover = run_one(command, environment, stdin, folder)
        calls, failed, _ = struct.unpack_from("=QQQ", counters.read_bytes())
        return Outcome(
            status,
            of_any_run((folder / "stdout").read_bytes()),
            of_any_run((folder / "stderr").read_bytes()),
            _contents(folder / "out", of_any_run),
            leftover,
            calls,
            failed,
            earlier,
            tuple(sorted(os.listdir(folder / "tmp"))),
        )


Ended = tuple[int | None, tuple[int, ...]]
"""How a command ended: its exit code, None if it hung, and the processes that it left."""


def _in_new_process(command: list[str], environment: Mapping[str, str], stdin: Path, folder: Path) -> Ended:
    """Run a command in a process of its own; its output is in the folder."""
    with stdin.open("rb") as given, (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        process = subprocess.Popen(command, stdin=given, stdout=stdout, stderr=stderr, env=environment, start_new_session=True)
        try:
            status: int | None = process.wait(HANG)
        except subprocess.TimeoutExpired:
            status = None
    leftover = () if status is None else tuple(sorted(left_of(process.pid)))
    end_session(process.pid)
    process.wait()
    return status, leftover


def _in_fork(server: Server, command: list[str], environment: Mapping[str, str], stdin: Path, folder: Path) -> Ended:
    """The same in a fork of a server; in the server itself the first time, which loads what the command needs."""
    if not server.has_loaded:
        for stream in ("stdout", "stderr"):
            (folder / stream).touch()
        return server.load(command[3:]), ()
    added = {name: value for name, value in environment.items() if name.startswith(("FAILING_", "TMPDIR"))}
    session = server.start(command[3:], added, folder / "stdout", folder / "stderr", str(stdin))
    hangs = not select.select([server.descriptor], [], [], HANG)[0]
    leftover = () if hangs else tuple(sorted(left_of(session)))
    end_session(session)
    status = server.wait()
    return None if hangs else status, leftover


def _contents(folder: Path, of_any_run: Callable[[bytes], bytes]) -> dict[str, bytes]:
    """What is in the files of a folder, by their names."""
    data = {str(path.relative_to(folder)): path.read_bytes() for path in _files(folder)}
    return {name: data[name] if name.endswith((".parquet", ".arrow")) else of_any_run(data[name]) for name in data}


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


_NOT_OURS = (
    *(b"std::bad_alloc", b"<jemalloc>"),  # Arrow
    *(b"<frozen importlib", b"cannot allocate memory for thread-local data: ABORT"),  # the interpreter, the C library
    b"memory allocation of ",  # cramjam, whose Rust ends the process
)
"""In the last words of a process that one of these ended because memory was short."""

_ABORTED = b"Fatal Python error: Aborted"
"""What `PYTHONFAULTHANDLER` prints after that."""

_NO_THREAD = re.compile(
    rb"Exception ignored in( thread started by| sys\.unraisablehook|(?=: (<bound method Thread|<object repr)))(: [^\n]*)?(\n|$)"
    rb"(MemoryError(: )?\n)?"
)
"""What the interpreter prints where a thread has no memory to begin, even without the words or the last line that need memory."""

_BY_C_LIBRARY = 127
"""The exit code of a process that the C library ends."""


def fault(case: Case, reference: Outcome, outcome: Outcome, failure: Failure) -> str | None:
    """What is wrong with the outcome of a run in which a call failed; None if nothing is."""
    said = outcome.stdout + outcome.stderr
    if outcome.exit is None:
        return "hangs"
    if outcome.leftover:
        return "leaves a process"
    if outcome.temporary and not failure.all_from_there and failure.call not in ("unlink", "opendir", "readdir"):
        return f"leaves {', '.join(outcome.temporary)} among temporary files"
    if outcome.exit < 0 or outcome.exit == _BY_C_LIBRARY:
        is_not_ours = failure.call in ("malloc", "mmap") and any(words in outcome.stderr for words in _NOT_OURS)
        if is_not_ours and (_is_as_before(outcome) or all(map(_is_partial, outcome.files))):
            return None
        return f"killed by signal {-outcome.exit}" if outcome.exit < 0 else f"exit {outcome.exit}"
    if failure.call in ("malloc", "mmap"):
        said = _NO_THREAD.sub(b"", said)  # the command has to go on without it, or without a worker process
        if any(words in outcome.stderr for words in _NOT_OURS):
            said = said.replace(_ABORTED, b"")
    for words in (b"Traceback", b"internal error", b"Exception ignored", b"Fatal Python error"):
        if words in said:
            return f"shows {words.decode()!r}"
    is_same = _rows(case, outcome) == _rows(case, reference) and _tables(outcome) == _tables(reference)
    if outcome.exit == reference.exit and is_same:
        return None
    if outcome.exit in (0, reference.exit) and failure.call == "write" and failure.how == str(errno.EPIPE):
        return None if reference.exit == outcome.exit else "the verdict is lost with the pipe"
    if outcome.exit == 0:
        return "another answer with exit 0"
    leaves_out = case.command[0] == "recover" and failure.call == "sector"  # and says so: what cannot be read is lost
    if outcome.exit == 1 and reference.exit == 0 and "--files" not in case.command and not leaves_out:
        return "blames the data"
    if outcome.exit == 1 and case.command[0] in _SEARCHES:
        return "another answer with exit 1"
    if outcome.exit not in (1, 3, 4):
        return f"exit {outcome.exit}"
    if not outcome.stderr.strip() and is_same:
        return "says nothing"
    has_all_rows = _tables(outcome) == _tables(reference)  # the bytes of tables also depend on the paths in them
    looks_whole = [
        name
        for name, data in outcome.files.items()
        if not _is_partial(name) and not name.endswith(_OF_ONE_RUN) and reference.files.get(name) != data
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


def _rows(case: Case, outcome: Outcome) -> list[bytes]:
    """What was printed; the rows of a recovery in any order, which depends on how often it reads the logs."""
    lines = outcome.stdout.splitlines(keepends=True)
    return sorted(lines) if case.command[:3] == ("recover", "--output", "ndjson") else lines


def _is_as_before(outcome: Outcome) -> bool:
    """Whether what an earlier command made is still there, and no more."""
    return {name: data for name, data in outcome.files.items() if not _is_partial(name)} == outcome.earlier


def _is_partial(name: str) -> bool:
    return any("incomplete" in part or part.startswith((".", "_")) for part in Path(name).parts)


def _tables(outcome: Outcome) -> object:
    """The files of an outcome; those of Parquet and Arrow by their rows, however many files or batches these are in."""
    rows, others = Counter[str](), {}
    is_left = b"cannot remove" in outcome.stderr  # what was made before, and has another name now
    for name, data in outcome.files.items():
        if is_left and _is_partial(name):
            continue
        if name.endswith(".parquet") and data:
            rows[str(Path(name).parent)] += parquet.read_metadata(io.BytesIO(data)).num_rows
        elif name.endswith(".arrow") and data.endswith(b"ARROW1"):
            rows[name] = pa.ipc.open_file(data).read_all().num_rows
        elif not name.endswith(_OF_ONE_RUN):
            others[name] = data
    return rows, others


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=40, help="calls of a kind that fail; if there are more, half are random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", default="", help="names of commands, with commas; all if not given")
    parser.add_argument("--partition", choices=("sound", "damaged"), help="only over this one")
    parser.add_argument("--calls", default="", help="names of calls, with commas; all if not given")
    parser.add_argument("--forked", action="store_true", help="run commands in forks of one process: faster; no import fails")
    parser.add_argument("--verbose", action="store_true", help="show what the first bad run of a kind printed")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    names = [name for name in options.commands.split(",") if name]
    calls = [name for name in options.calls.split(",") if name]
    runs, bad, by_command = 0, Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = build(folder)
        for case in cases(folder, names=names):
            if options.partition and not case.name.endswith(options.partition):
                continue
            server = loaded(case, library) if options.forked else None
            reference = run(case, library, server=server)
            counted: dict[str, int] = {}
            for failure in FAILURES:
                if calls and failure.call not in calls:
                    continue
                if failure.call not in counted:
                    counted[failure.call] = run(case, library, failure, server=server).calls
                count = counted[failure.call] if failure.call != "sector" else SECTORS
                numbers = list(range(1, count + 1))
                if count > options.limit:
                    first = options.limit // 2
                    numbers = [*numbers[:first], *sorted(chance.sample(numbers[first:], options.limit - first))]
                for number in numbers:
                    outcome = run(case, library, failure, number, server)
                    runs += 1
                    by_command[case.name] += bool(outcome.failed)
                    wrong = fault(case, reference, outcome, failure) if outcome.failed else None
                    if wrong is not None:
                        kind = f"{case.name}: {failure}: {wrong}"
                        if not bad[kind]:
                            print(f"{case.name}: call {number} of {count}, {failure}: {wrong}", flush=True)
                            if options.verbose:
                                _show(outcome)
                        bad[kind] += 1
            if server is not None:
                server.close()
    print(", ".join(f"{name}: {count}" for name, count in by_command.items()))
    print(f"{runs} runs, a call failed in {sum(by_command.values())}, {sum(bad.values())} bad, of {len(bad)} kinds")
    return 1 if bad else 0


def loaded(case: Case, library: Path) -> Server:
    """A server that has loaded what the command of a case needs."""
    server = Server(library, os.environ | {"COLUMNS": "100"})
    run(case, library, server=server)
    return server


def _show(outcome: Outcome) -> None:
    print(f"    exit {outcome.exit}")
    for stream in (outcome.stdout[-600:], outcome.stderr[-900:]):
        print("".join(f"    | {line}\n" for line in stream.decode(errors="replace").splitlines()[-8:]), end="")


if __name__ == "__main__":
    sys.exit(main())
