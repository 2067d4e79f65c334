"""Says what is wrong with what `kdump recover` made of a damaged directory.

Whatever the damage, the input stays as it is; each log of the result consists of intact batches in ascending order; each intact
batch of the input is in the result, or a row of the report says why it is not; and a log manager keeps all of it, after a clean
stop and after an unclean one with recovery point 0. Where a recovery refuses, nothing is left behind.
"""

import shutil
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import kdump
from kdump.checks.finding import ERROR
from kdump.errors import CorruptData, Unreadable
from kdump.mending.recover import recover
from kdump.mending.recover.pieces import NESTED
from kdump.mending.row import Dropped, Rewritten
from tests.oracle import batches
from tests.oracle.restarts import LogManager, Request, Start

RELEASES = ("2.8.2", "3.9.1", "4.3.1")
STARTS = (Start("clean", 0), Start("unclean", 0))
UNFIT = ("codec-unknown", "bad-magic")
LOG_STARTS = "log-start-offset-checkpoint"
LOGS = (".log", ".log.swap")
LOSING = ("truncated-at-boundary", "segment-missing", "segments-gap", "epochs-beyond-log", "crc-mismatch", "garbage-region")
OF_ENDS = ("segment-missing", "epochs-beyond-log")
"""These know only where logs begin and end, and batches before the last one in the file may end after it."""


class Judged:
    """What was seen: how often a recovery was whole, partial or refused, and what the last one was like."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.codes: set[str] = set()
        """Of what was dropped."""
        self.unfit: set[int] = set()
        """Offsets of batches that no broker could load or no consumer could read, in the last result."""
        self.doubtful: set[int] = set()
        """Offsets of those inside of damaged batches, which the last report calls lost."""
        self.is_whole = False
        """Whether the last result is called whole."""


def judge(directory: Path, replicas: Sequence[Path], managers: Sequence[LogManager], judged: Judged) -> list[str]:
    """Recover one directory. Returns what is wrong with the result."""
    out = directory.parents[1] / "out" / "orders-0" if replicas else directory.parent / "out" / "orders-0"
    shutil.rmtree(out.parent, ignore_errors=True)
    out.parent.mkdir()
    before = [_contents(path) for path in (directory, *replicas)]
    try:
        result = recover.run([str(directory)], str(out), merge=[str(path) for path in replicas], config={})
    except (CorruptData, Unreadable) as error:
        judged.seen["refused"] += 1
        judged.seen[f"refused: {error.code}"] += 1
        failures = [] if not list(out.parent.iterdir()) else ["something is left of a refused recovery"]
        return failures + [f"refused: {error}"] * (error.code not in ("replica-divergence", "file-not-regular"))
    except Exception:
        return [traceback.format_exc()]
    log_starts = directory.parent / LOG_STARTS
    if log_starts.exists() and int(log_starts.read_text().split()[-1]) <= end_of(out):  # a start looks for it beside the result
        shutil.copyfile(log_starts, out.parent / LOG_STARTS)
    judged.seen["whole" if result.is_whole else "partial"] += 1
    failures = [] if before == [_contents(path) for path in (directory, *replicas)] else ["the input has changed"]
    failures += _wrong_in(out)
    judged.codes |= {row.code for row in result.rows if isinstance(row, Dropped)}
    judged.unfit = {
        row.offset_first
        for row in result.rows
        if isinstance(row, Dropped) and row.offset_first is not None and (row.code in UNFIT or "a start fails" in row.reason)
    }
    judged.doubtful = {
        row.offset_first or 0 for row in result.rows if isinstance(row, Dropped) and row.is_lost and row.code == NESTED
    }
    judged.is_whole = result.is_whole
    if not replicas:
        failures += _unexplained(directory, out, result)
    for manager in managers:
        for start in STARTS:
            failures += not_kept(manager, start, out)
    return failures


def _wrong_in(out: Path) -> list[str]:
    """What is wrong with the logs of a result, as far as bytes and offsets say."""
    failures, last = [], -1
    for log in sorted(out.glob("*.log")):
        data = log.read_bytes()
        found = list(batches.intact(data))
        if sum(len(batch.content) for batch in found) != len(data):
            failures.append(f"{log.name} does not consist of intact batches")
        base = int(log.stem)
        for batch in found:
            if batch.first_offset <= last or batch.first_offset < base or batch.last_offset - base > 0x7FFFFFFF:
                failures.append(f"{log.name}: offset {batch.first_offset} comes after {last}, in the segment of {base}")
            last = batch.last_offset
    return failures


def _unexplained(directory: Path, out: Path, result: recover.Result) -> list[str]:
    """Intact batches of the input that are not in the result, though no row says why."""
    made = Counter(batch.content for log in out.glob("*.log") for batch in batches.intact(log.read_bytes()))
    failures = []
    for log in sorted(path for path in directory.iterdir() if path.name.endswith(LOGS) and path.is_file()):
        data, position = log.read_bytes(), 0
        for batch in batches.intact(data):
            position = data.index(batch.content, position)
            if not made[batch.content] and not _is_explained(str(log), position, position + len(batch.content), result):
                failures.append(f"the batch of offset {batch.first_offset} at byte {position} of {log.name} is missing")
            position += len(batch.content)
    if result.is_whole and any(isinstance(row, Dropped) and row.is_lost for row in result.rows):
        failures.append("bytes are lost, and the result is called whole")
    return failures + (_known_to_be_lost(directory, out) if result.is_whole else [])


def _known_to_be_lost(directory: Path, out: Path) -> list[str]:
    """What a check of the input calls lost, though the result has not all of these offsets, and is called whole."""
    logs = [list(batches.intact(log.read_bytes())) for log in out.glob("*.log")]
    in_batches = [(batch.first_offset, batch.last_offset) for log in logs for batch in log]
    in_logs = [(log[0].first_offset, log[-1].last_offset) for log in logs if log]  # which a leftover may have filled
    swaps = [list(batches.intact(path.read_bytes())) for path in directory.glob("*.log.swap") if path.is_file()]
    in_swaps = [(log[0].first_offset, log[-1].last_offset) for log in swaps if log]  # which is what the cleaner has left
    failures = []
    for finding in kdump.check(directory):
        is_of_snapshot = finding.path.endswith(".checkpoint")  # of KRaft, which is taken over only with the metadata
        first, last = finding.offset_first, finding.offset_last
        if is_of_snapshot or finding.severity != ERROR or finding.code not in LOSING or first is None or last is None:
            continue
        extents = [*(in_logs if finding.code in OF_ENDS else in_batches), *in_swaps]
        if not any(low <= first <= high for low, high in extents) or not any(low <= last <= high for low, high in extents):
            failures.append(f"{finding.code} says that offsets {first} to {last} are lost, and the result is called whole")
    return failures


def _is_explained(path: str, start: int, end: int, result: recover.Result) -> bool:
    for row in result.rows:
        if isinstance(row, Dropped) and row.source == path and row.start < end and start < row.end and row.reason:
            return True
        if isinstance(row, Rewritten) and row.source == path and row.start <= start < row.start + row.bytes:
            return True
    return False


def unmerged(source: Path, replicas: Sequence[Path], judged: Judged) -> list[str]:
    """Batches of the undamaged log that a replica holds intact, and that are missing or changed in the merged one."""
    out = replicas[0].parents[1] / "out" / "orders-0"
    if not out.exists():
        return []
    all_batches = [batch for log in sorted(source.glob("*.log")) for batch in batches.intact(log.read_bytes())]
    whole = [batch.content for batch in all_batches]
    held = {batch.content for path in replicas for log in path.glob("*.log") for batch in batches.intact(log.read_bytes())}
    unfit = judged.unfit | judged.doubtful
    wanted = [batch.content for batch in all_batches if batch.content in held and batch.first_offset not in unfit]
    made = [batch.content for log in sorted(out.glob("*.log")) for batch in batches.intact(log.read_bytes())]
    judged.seen["merged whole"] += made == whole
    missing = Counter(wanted) - Counter(made)
    known = {_covered(batch.content) for batch in all_batches if batch.content not in held}
    more = Counter(content for content in made if content not in whole and _covered(content) not in known)
    failures = []
    if missing or more:
        failures.append(f"{missing.total()} batches of {len(wanted)} are missing, {more.total()} are not of the undamaged log")
    covered = set(map(_covered, made))
    gone = [batch for batch in all_batches if _covered(batch.content) not in covered and _left_traces(batch, source, replicas)]
    if judged.is_whole and gone:
        failures.append(f"{len(gone)} batches that were damaged in all replicas are not there, and the result is called whole")
    return failures


def _left_traces(batch: batches.Batch, source: Path, replicas: Sequence[Path]) -> bool:
    """Whether a replica still has bytes where a batch was, other than zeros, in a log that goes on after it."""
    for log in source.glob("*.log"):
        start = log.read_bytes().find(batch.content)
        for path in (replica / log.name for replica in replicas if start >= 0):
            data = path.read_bytes() if path.exists() else b""
            if len(data) > start + len(batch.content) and data[start : start + len(batch.content)].strip(b"\0"):
                return True
    return False


def _covered(content: bytes) -> bytes:
    """What the checksum covers."""
    return content[21:] if content[16] == 2 else content[16:]


def not_kept(manager: LogManager, start: Start, out: Path) -> list[str]:
    """What a log manager does at a start that changes something, or does not end where the batches do."""
    record = manager.record(Request(out), start)
    about = f"{record['release']}, {start.stop}"
    if record["result"] != "loaded":
        return [f"{about}: {record['result']} {record.get('exception')} {record.get('message')}"]
    failures = []
    if record["outcome"] != "keep" or record.get("also"):
        failures.append(f"{about}: {record['outcome']} {record.get('also')} {record.get('log')}")
    after = manager.files(Request(out))
    changed = [file for file in record.get("files", ()) if not _is_new_snapshot(file) and not _is_reordered(file, out, after)]
    if changed:
        failures.append(f"{about}: changed {changed}")
    if record["log_end"] != end_of(out):
        failures.append(f"{about}: the log ends at {record['log_end']}, not {end_of(out)}")
    return failures


def _is_new_snapshot(file: Sequence[Any]) -> bool:
    """Whether a file is a snapshot that a start adds: of an empty log, or before old messages at the end of the log."""
    name, change, *_ = file
    return bool(change == "created" and name.endswith(".snapshot"))


def _is_reordered(file: Sequence[Any], out: Path, after: Mapping[str, bytes]) -> bool:
    """Whether a file is a snapshot with the same producers in another order, which depends on the release before 3.6."""
    name, change, *_ = file
    if change != "rewritten" or not name.endswith(".snapshot"):
        return False
    return _producers((out / name).read_bytes()) == _producers(after[name])


def _producers(snapshot: bytes) -> list[bytes]:
    """The entries of a snapshot of version 1, in order of their bytes."""
    return sorted(snapshot[at : at + 46] for at in range(10, len(snapshot), 46))


def end_of(out: Path) -> int:
    """Where the logs of a directory end."""
    newest = max(out.glob("*.log"), default=None)
    if newest is None:
        return 0
    return max((batch.last_offset + 1 for batch in batches.intact(newest.read_bytes())), default=int(newest.stem))


def _contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}
