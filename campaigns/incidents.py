"""Writes sound partitions, and does to them what disks, crashes and people do.

Partitions have several segments with transactions, leader epochs, gaps of compaction, and old messages. Pages and sectors are
lost, swapped or stale; batches are written twice; segments overlap, are missing or misnamed; companions are those of other times.
"""

import dataclasses
import itertools
import os
import random
import shutil
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import kdump
from campaigns import damage, redactions
from kdump.errors import CorruptData
from tests.builders.compression import Codec
from tests.builders.files import checkpoint, write_partition
from tests.builders.records import (
    TIMESTAMP,
    Record,
    abort_record,
    batch,
    commit_record,
    control_record,
    message,
    message_set,
    record,
    wrapper,
)
from tests.oracle import batches

PAGE, SECTOR = 4096, 512
LOG_STARTS = "log-start-offset-checkpoint"
CODECS: tuple[Codec, ...] = ("none", "none", "none", "gzip", "snappy", "lz4", "zstd")
OLD_CODECS: tuple[Codec, ...] = ("gzip", "snappy", "lz4")
LEFT_OVER = ((".log", ".index", ".timeindex", ".txnindex"), (".log",), (".index", ".timeindex"), (".log", ".index"))
REMOVED = (".log", ".index", ".index", ".timeindex", ".txnindex", ".snapshot", "checkpoint")
EPOCHS = (
    *("0\n1\n0 0\n", "0\n2\n0 0\n3 5\n", "0\n1\n7 100\n", "0\n1\n 0 0\n", "0\n0\n", "0\n"),
    *("0\n1\n0 0\n\n", "0\n1\n0  0\n", "1\n"),
)
Incident = Callable[[Path, random.Random], str]


def write(chance: random.Random, folder: Path) -> tuple[Path, list[bytes]]:
    """Write a sound partition `orders-0` with its companions. Returns it, and the contents of its records."""
    contents: list[bytes] = []
    segments: dict[int, list[bytes]] = {}
    offset, epoch, is_compacted = chance.choice((0, 0, 1000)), 0, chance.random() < 0.3
    sequences: Counter[int] = Counter()
    open_transactions: set[int] = set()
    has_old = chance.random() < 0.2
    for number in range(chance.randint(1, 4)):
        appends: list[bytes] = []
        base = offset
        for _ in range(chance.randint(1, 25)):
            records = _records(chance, contents, offset)
            epoch += chance.random() < 0.05
            times = {"partition_leader_epoch": epoch, "base_offset": offset}
            if has_old and not number:
                messages = [message(key=one.key, value=one.value, timestamp=one.timestamp) for one in records]  # type: ignore[arg-type]
                if chance.random() < 0.5:
                    appends.append(wrapper(messages=messages, base_offset=offset, codec=chance.choice(("gzip", "snappy", "lz4"))))
                else:
                    appends.append(message_set(messages=messages, base_offset=offset))
                offset += len(records)
                continue
            if open_transactions and chance.random() < 0.3:
                producer = chance.choice(sorted(open_transactions))
                open_transactions.remove(producer)
                marker = dataclasses.replace(chance.choice((abort_record, commit_record))(), timestamp=TIMESTAMP + offset)
                of_marker = {"producer_id": producer, "producer_epoch": 0, "is_transactional": True, "is_control": True}
                appends.append(batch(records=[marker], **of_marker, **times))  # type: ignore[arg-type]
                offset += 1
                continue
            producer = chance.choice((-1, 5, 6, 7, 8))
            is_transactional = producer >= 7
            if is_transactional:
                open_transactions.add(producer)
            fields = {
                "producer_id": producer,
                "producer_epoch": -1 if producer < 0 else 0,
                "base_sequence": -1 if producer < 0 else sequences[producer],
                "is_transactional": is_transactional,
                "codec": chance.choice(CODECS),
            }
            sequences[producer] += len(records)
            if not (is_compacted and chance.random() < 0.3):
                appends.append(batch(records=records, **fields, **times))  # type: ignore[arg-type]
            offset += len(records)
        if appends:
            segments[base] = appends
    sound = folder / "sound"
    write_partition(sound, topic="orders", segments=segments)
    try:
        kdump.reindex(sound / "orders-0", folder / "orders-0")
    except CorruptData as error:
        if error.code != "segment-missing" or not is_compacted:  # the only gap is at the end of a segment
            raise
        shutil.rmtree(sound)
        return write(chance, folder)
    shutil.rmtree(sound)
    return folder / "orders-0", contents


def _records(chance: random.Random, contents: list[bytes], offset: int) -> list[Record]:
    found = []
    for row in range(chance.randint(1, 6)):
        key, value = (redactions.content(chance, chance.choice(sizes)) for sizes in ((0, 8, 20), (5, 100, 700, 3000)))
        name, of = (redactions.content(chance, size) for size in (chance.choice((1, 8)), chance.choice((0, 1, 20))))
        contents += [key, value, name, of]
        headers = [(name, of)] if chance.random() < 0.3 else []
        found.append(record(key=key, value=value, headers=headers, timestamp=TIMESTAMP + offset + row))
    return found


# --- incidents


def intact_logs(directory: Path) -> list[Path]:
    """The logs in which something is left."""
    logs = [log for log in sorted(directory.glob("*.log")) if len(log.stem) == 20 and log.stem.isdigit()]
    return [log for log in logs if any(True for _ in batches.intact(log.read_bytes()))]


def _blocks(log: Path, size: int) -> int:
    return -(-log.stat().st_size // size)


def _overwritten(log: Path, at: int, data: bytes) -> None:
    old = log.read_bytes()
    log.write_bytes((old[:at] + data + old[at + len(data) :])[: len(old)])


def sectors_swapped(directory: Path, chance: random.Random) -> str:
    log = chance.choice(intact_logs(directory))
    size = chance.choice((SECTOR, PAGE))
    one, other = (chance.randrange(_blocks(log, size)) * size for _ in range(2))
    data = log.read_bytes()
    _overwritten(log, one, data[other : other + size])
    _overwritten(log, other, data[one : one + size])
    return f"{log.name} blocks of {size} at {one} and {other}"


def pages_zero(directory: Path, chance: random.Random) -> str:
    log = chance.choice(intact_logs(directory))
    size, first = chance.choice((SECTOR, PAGE, PAGE)), chance.randrange(_blocks(log, SECTOR))
    at = first * SECTOR // size * size
    _overwritten(log, at, bytes(size * chance.choice((1, 1, 2, 5))))
    return f"{log.name} at {at}"


def stale_blocks(directory: Path, chance: random.Random) -> str:
    """Blocks of another segment, or of another place of this one."""
    log, other = (chance.choice(intact_logs(directory)) for _ in range(2))
    size = chance.choice((SECTOR, PAGE))
    data = other.read_bytes()
    start, at = chance.randrange(_blocks(other, size)) * size, chance.randrange(_blocks(log, size)) * size
    _overwritten(log, at, data[start : start + size * chance.choice((1, 2, 3))])
    return f"{log.name} at {at} has {other.name} of {start}"


def stretch_doubled(directory: Path, chance: random.Random) -> str:
    log = chance.choice(intact_logs(directory))
    found = [one.content for one in batches.intact(log.read_bytes())]
    start, end = sorted((chance.randrange(len(found)), chance.randrange(len(found))))
    at = chance.choice((end + 1, len(found), 0))
    log.write_bytes(b"".join([*found[:at], *found[start : end + 1], *found[at:]]))
    return f"{log.name} batches {start} to {end} again at {at}"


def written_again(directory: Path, chance: random.Random) -> str:
    """A batch with other contents at the same offsets, as an unclean election leaves it."""
    log = chance.choice(intact_logs(directory))
    found = [one.content for one in batches.intact(log.read_bytes())]
    row = chance.randrange(len(found))
    old = found[row]
    if old[16] != 2:
        return "nothing"
    epoch = struct.unpack_from(">i", old, 12)[0] + chance.choice((0, 0, 1, -1))
    count = struct.unpack_from(">i", old, 23)[0] + 1
    rows = [Record(value=redactions.content(chance, 50), timestamp=TIMESTAMP) for _ in range(max(1, min(count, 6)))]
    new = batch(records=rows, base_offset=struct.unpack_from(">q", old)[0], partition_leader_epoch=epoch)
    found.insert(row + chance.choice((0, 1)), new)
    log.write_bytes(b"".join(found))
    return f"{log.name} batch {row}, epoch {epoch}"


def offsets_back(directory: Path, chance: random.Random) -> str:
    """From one batch on all offsets are lower, or higher; no checksum covers them."""
    log = chance.choice(intact_logs(directory))
    found = [one.content for one in batches.intact(log.read_bytes())]
    row, step = chance.randrange(len(found)), chance.choice((-1, -3, -20, 7, 1 << 31, 1 << 40))
    end = chance.choice((row + 1, len(found)))
    moved = [max(0, int.from_bytes(one[:8], "big") + step).to_bytes(8, "big") + one[8:] for one in found[row:end]]
    log.write_bytes(b"".join([*found[:row], *moved, *found[end:]]))
    return f"{log.name} batches {row} to {end} by {step}"


def epochs_back(directory: Path, chance: random.Random) -> str:
    log = chance.choice(intact_logs(directory))
    found = [one.content for one in batches.intact(log.read_bytes())]
    row, epoch = chance.randrange(len(found)), chance.choice((-1, 0, 1, 9, 1 << 30))
    end = chance.choice((row + 1, len(found)))
    moved = [one if one[16] < 2 else one[:12] + epoch.to_bytes(4, "big", signed=True) + one[16:] for one in found[row:end]]
    log.write_bytes(b"".join([*found[:row], *moved, *found[end:]]))
    return f"{log.name} batches {row} to {end} of epoch {epoch}"


def misnamed(directory: Path, chance: random.Random) -> str:
    log = chance.choice(intact_logs(directory))
    base = max(0, int(log.stem) + chance.choice((-1, 1, 5, -30, 100_000)))
    for path in directory.glob(f"{log.stem}.*") if chance.random() < 0.5 else (log,):
        if not path.with_name(f"{base:020}{path.suffix}").exists():
            path.rename(path.with_name(f"{base:020}{path.suffix}"))
    return f"{log.stem} to {base}"


def overlapping(directory: Path, chance: random.Random) -> str:
    """A segment also has the first batches of the next one, or all of another one."""
    logs = intact_logs(directory)
    row = chance.randrange(len(logs))
    other = logs[min(row + 1, len(logs) - 1)]
    found = [one.content for one in batches.intact(other.read_bytes())]
    some = found[: chance.randint(1, len(found))]
    logs[row].write_bytes(logs[row].read_bytes() + b"".join(some))
    if chance.random() < 0.3:
        other.write_bytes(b"".join(found[len(some) :]))
    return f"{logs[row].name} has {len(some)} batches of {other.name}"


def empty_segment(directory: Path, chance: random.Random) -> str:
    bases = [int(log.stem) for log in sorted(directory.glob("*.log"))]
    base = chance.choice((chance.choice(bases) + 1, bases[-1] + 1000, 0))
    path = directory / f"{base:020}.log"
    if path.exists():
        return "nothing"
    path.write_bytes(chance.choice((b"", bytes(PAGE), bytes(13))))
    return path.name


def foreign_indexes(directory: Path, chance: random.Random) -> str:
    suffix = chance.choice((".index", ".timeindex", ".txnindex", ".snapshot"))
    paths = sorted(directory.glob(f"*{suffix}"))
    if not paths:
        return "nothing"
    one, other = chance.choice(paths), chance.choice(paths)
    one_data, other_data = one.read_bytes(), other.read_bytes()
    one.write_bytes(other_data)
    other.write_bytes(one_data + bytes(chance.choice((0, 0, 120, 3))))
    return f"{one.name} and {other.name}"


def snapshot_after_the_end(directory: Path, chance: random.Random) -> str:
    paths = sorted(directory.glob("*.snapshot"))
    if not paths:
        return "nothing"
    path = directory / f"{int(paths[-1].stem) + chance.choice((1, 50, 1 << 33)):020}.snapshot"
    path.write_bytes(paths[-1].read_bytes())
    return path.name


def marker_moved(directory: Path, chance: random.Random) -> str:
    """A transaction marker is missing, or stands at another place of its segment."""
    log = chance.choice(intact_logs(directory))
    found = [one.content for one in batches.intact(log.read_bytes())]
    markers = [row for row, one in enumerate(found) if one[16] == 2 and one[22] & 0x20]
    if not markers:
        return "nothing"
    row = chance.choice(markers)
    marker = found.pop(row)
    if chance.random() < 0.5:
        found.insert(chance.randrange(len(found) + 1), marker)
    log.write_bytes(b"".join(found))
    return f"{log.name} marker {row}"


def preallocated(directory: Path, chance: random.Random) -> str:
    log = chance.choice((intact_logs(directory)[-1], chance.choice(intact_logs(directory))))
    size = chance.choice((1, 7, 60, PAGE, 50_000))
    log.write_bytes(log.read_bytes() + bytes(size))
    return f"{log.name} {size} bytes"


def joined(directory: Path, chance: random.Random) -> str:
    """One file has what two had."""
    logs = intact_logs(directory)
    if len(logs) < 2:
        return "nothing"
    row = chance.randrange(len(logs) - 1)
    logs[row].write_bytes(logs[row].read_bytes() + bytes(chance.choice((0, 0, PAGE))) + logs[row + 1].read_bytes())
    logs[row + 1].unlink()
    return f"{logs[row].name} and {logs[row + 1].name}"


def odd_batch(directory: Path, chance: random.Random) -> str:
    """A batch that no producer writes, with a right CRC, in the place of another."""
    log = chance.choice(intact_logs(directory))
    intact = list(batches.intact(log.read_bytes()))
    found = [one.content for one in intact]
    row = chance.randrange(len(found))
    first, last = intact[row].first_offset, intact[row].last_offset
    epoch = struct.unpack_from(">i", found[row], 12)[0] if found[row][16] == 2 else 0
    name, odd = chance.choice(_odd_batches(chance, first, last - first, max(0, epoch)))
    found[row] = odd
    log.write_bytes(b"".join(found))
    return f"{name} as batch {row} of {log.name}"


def _odd_batches(chance: random.Random, first: int, delta: int, epoch: int) -> list[tuple[str, bytes]]:
    """Batches from an offset on that end `delta` after it, as far as they may."""
    rows = [Record(key=b"k", value=b"v" * 50, timestamp=TIMESTAMP) for _ in range(min(delta + 1, 6))]
    place: dict[str, object] = {"base_offset": first, "partition_leader_epoch": epoch, "last_offset_delta": delta}
    of_producer = {"producer_id": chance.choice((5, 7)), "producer_epoch": chance.choice((0, 0, 1, -1, 32767))}
    marker = {**place, **of_producer, "is_transactional": True, "is_control": True, "last_offset_delta": delta}
    disordered = [dataclasses.replace(one, offset_delta=chance.randrange(delta + 3)) for one in rows]
    times = [dataclasses.replace(one, timestamp=chance.choice((-1, 0, 1 << 62, TIMESTAMP))) for one in rows]
    old = [message(key=b"k", value=b"v" * 30, timestamp=TIMESTAMP, magic=chance.choice((0, 1))) for _ in rows]
    new = [message(key=b"k", value=b"v" * 30, timestamp=TIMESTAMP) for _ in rows]
    count = len(rows)
    inner = chance.choice(([0] * count, [5] * count, list(range(count))[::-1], [7 + 2 * one for one in range(count)]))
    controls = [
        abort_record(key_size=chance.choice((0, 2, 3))),
        commit_record(coordinator_epoch=chance.choice((-1, 3, 1 << 30)), version=chance.choice((0, 1, 9))),
        control_record(control_type=chance.choice((-1, 2, 5, 300)), value=chance.choice((None, b"", bytes(6)))),
    ]
    made: Sequence[tuple[str, Mapping[str, object]]] = [
        ("empty", {**place, **of_producer, "base_sequence": chance.choice((0, 9))}),
        ("empty transactional", {**place, **of_producer, "base_sequence": 4, "is_transactional": True}),
        ("control", {**marker, "records": [chance.choice(controls)]}),
        ("two controls", {**marker, "records": [chance.choice(controls), chance.choice(controls)]}),
        ("empty control", marker),
        ("control without producer", {**place, "is_control": True, "records": [chance.choice(controls)]}),
        ("control with data", {**marker, "records": rows}),
        ("transactional without producer", {**place, "is_transactional": True, "records": rows}),
        ("last sequence", {**place, **of_producer, "base_sequence": (1 << 31) - 1, "records": rows}),
        ("no sequence", {**place, **of_producer, "base_sequence": -1, "records": rows}),
        ("wrong count", {**place, "records": rows, "records_count": chance.choice((0, -1, len(rows) + 1, 1 << 30))}),
        ("disordered", {**place, "records": disordered}),
        ("odd times", {**place, "records": times, "max_timestamp": chance.choice((None, -1, TIMESTAMP, 1 << 62))}),
        ("trailing bytes", {**place, "records": rows, "trailing": bytes(9)}),
        ("append time", {**place, "records": rows, "timestamp_type": "LogAppendTime"}),
        ("horizon", {**place, "records": rows, "delete_horizon_ms": TIMESTAMP}),
        (
            "no payload",
            {**place, "codec": chance.choice(CODECS[3:]), "payload": chance.choice((b"", b"x" * 40)), "records_count": 1},
        ),
    ]
    codec: Codec = chance.choice(OLD_CODECS)
    return [(name, batch(**fields)) for name, fields in made] + [  # type: ignore[arg-type]
        ("old messages", message_set(messages=old, base_offset=first)),
        ("old wrapper", wrapper(messages=new, base_offset=first, codec=codec)),
        ("odd wrapper", wrapper(messages=new, base_offset=first, codec=codec, inner_offsets=inner, offset=first + delta)),
        ("absolute wrapper", wrapper(messages=new, base_offset=first, codec=codec, inner_offsets="absolute")),
        ("wrapper without value", wrapper(messages=new, base_offset=first, codec=codec, has_null_value=True)),
        ("wrapper without messages", wrapper(messages=[], base_offset=first, codec=codec, offset=first + delta)),
    ]


def of_another_partition(directory: Path, chance: random.Random) -> str:
    """Files of another partition, under their names, or under the names of files that are here."""
    with tempfile.TemporaryDirectory(prefix="kdump-incidents-") as folder:
        other, _ = write(chance, Path(folder))
        path = chance.choice(sorted(other.iterdir()))
        same = [one for one in sorted(directory.iterdir()) if one.suffix == path.suffix]
        name = chance.choice(same).name if same and chance.random() < 0.6 else path.name
        (directory / name).write_bytes(path.read_bytes())
        return f"{name}, of {path.name}"


def cleaning_unfinished(directory: Path, chance: random.Random) -> str:
    """Segments that the cleaner has put into one, or a split into two, with their names half changed."""
    logs = intact_logs(directory)
    row = chance.randrange(len(logs))
    group = logs[row : row + chance.choice((1, 2, 3))]
    found = [one for log in group for one in batches.intact(log.read_bytes())]
    kept = [one for one in found if one.content[16] < 2 or chance.random() < 0.8] or found
    at = chance.randrange(len(kept)) if chance.random() < 0.3 else 0
    mark = chance.choice((".swap", ".swap", ".swap", ".cleaned"))
    for part in filter(None, (kept[:at], kept[at:])):
        base = int(group[0].stem) if part[0] is kept[0] else part[0].first_offset
        path = directory / f"{base:020}.log{mark}"
        path.write_bytes(b"".join(one.content for one in part))
        for suffix in (".index", ".timeindex", ".txnindex"):
            if chance.random() < 0.5:
                path.with_name(f"{base:020}{suffix}{mark}").write_bytes(b"")
    for log in group:
        for path in sorted(directory.glob(f"{log.stem}.*")):
            gone = chance.random()
            if path.suffix in (".log", ".index", ".timeindex", ".txnindex") and gone < 0.5:
                path.rename(path.with_name(f"{path.name}.deleted")) if gone < 0.25 else path.unlink()
    return f"{len(group)} logs from {group[0].name} with {mark}"


def copied(directory: Path, chance: random.Random) -> str:
    """A log is there twice, under another base offset."""
    log = chance.choice(intact_logs(directory))
    ends = [one.last_offset + 1 for one in batches.intact(log.read_bytes())]
    base = max(0, chance.choice((int(log.stem) + 1, int(log.stem) - 1, ends[0], ends[-1], 0)))
    other = log.with_name(f"{base:020}.log")
    if other.exists():
        return "nothing"
    other.write_bytes(log.read_bytes())
    return f"{log.name} as {other.name}"


def interleaved(directory: Path, chance: random.Random) -> str:
    """The batches of two logs are in both, in turn."""
    logs = intact_logs(directory)
    one, other = chance.choice(logs), chance.choice(logs)
    of_one, of_other = ([found.content for found in batches.intact(log.read_bytes())] for log in (one, other))
    mixed = [found for pair in itertools.zip_longest(of_one, of_other, fillvalue=b"") for found in pair]
    half = len(mixed) // 2
    one.write_bytes(b"".join(mixed[:half]))
    if one != other:
        other.write_bytes(b"".join(mixed[half:]))
    return f"{one.name} and {other.name}"


def bytes_shifted(directory: Path, chance: random.Random) -> str:
    """Bytes are missing, or too many, in the middle of a log: often in a control batch."""
    log = chance.choice(intact_logs(directory))
    data = log.read_bytes()
    at = chance.randrange(len(data))
    markers = [one.content for one in batches.intact(data) if one.content[16] == 2 and one.content[22] & 0x20]
    if markers and chance.random() < 0.5:
        at = data.index(chance.choice(markers)) + chance.randrange(61)
    size = chance.choice((1, 4, 12, 61, 78, 500))
    more = b"" if chance.random() < 0.5 else chance.randbytes(size)
    log.write_bytes(data[:at] + more + data[at + (0 if more else size) :])
    return f"{log.name} {len(more) or -size} bytes at {at}"


def sparse(directory: Path, chance: random.Random) -> str:
    """A file goes on as a hole."""
    path = chance.choice([path for path in sorted(directory.iterdir()) if path.suffix in (".log", ".index", ".timeindex")])
    size = path.stat().st_size + chance.choice((1, PAGE, 1 << 20))
    os.truncate(path, size)
    return f"{path.name} of {size} bytes"


def at_random(directory: Path, chance: random.Random) -> str:
    """Any damage of a file, mostly of a log, also inside of batches whose checksums then fit."""
    file = _one(directory, chance.choice((*[".log"] * 5, ".index", ".timeindex", ".txnindex", ".snapshot", "checkpoint")), chance)
    if file is None:
        return "nothing"
    other = _one(directory, file.suffix, chance) or file
    damaged = damage.damage(file.suffix, file.read_bytes(), other.read_bytes(), chance)
    file.write_bytes(damaged.data)
    return f"{file.name} {damaged.what}"


def log_at_random(directory: Path, chance: random.Random) -> str:
    """Damage of the bytes of a log that moves nothing to another place."""
    log = chance.choice(intact_logs(directory))
    damaged = chance.choice((damage.bits_flipped, damage.byte_set, damage.cut))(log.read_bytes(), b"", chance)
    log.write_bytes(damaged.data)
    return f"{log.name} {damaged.what}"


def _one(directory: Path, suffix: str, chance: random.Random) -> Path | None:
    """One of the files, the last more often than others."""
    files = sorted(file for file in directory.iterdir() if file.name.endswith(suffix) and file.is_file())
    return chance.choice([*files, files[-1]]) if files else None


def remove(directory: Path, chance: random.Random) -> str:
    file = _one(directory, chance.choice(REMOVED), chance)
    if file is None:
        return "nothing"
    file.unlink()
    return file.name


def leave_over(directory: Path, chance: random.Random) -> str:
    """Renamed or copied files of a segment."""
    log = _one(directory, ".log", chance)
    if log is None:
        return "nothing"
    mark = chance.choice((".swap", ".swap", ".cleaned", ".deleted"))
    is_copy = chance.random() < 0.6
    suffixes = chance.choice(LEFT_OVER)
    for suffix in suffixes:
        file = log.with_suffix(suffix)
        if file.exists():
            data = file.read_bytes()
            if suffix == ".log" and is_copy and chance.random() < 0.5:
                data = b"".join(one.content for one in batches.intact(data) if chance.random() < 0.7)
            file.with_name(file.name + mark).write_bytes(data)
            if not is_copy:
                file.unlink()
    return f"{log.name} {mark} {'copied' if is_copy else 'renamed'} {len(suffixes)}"


def rename(directory: Path, chance: random.Random) -> str:
    file = _one(directory, chance.choice((".log", ".index", ".snapshot")), chance)
    if file is None or not file.name[:20].isdigit():
        return "nothing"
    number = int(file.name[:20])
    stem = chance.choice((str(number), f"{number + 5:020}", f"{number // 2:020}", "x", f"-{number:019}", f"{number:021}"))
    file.rename(file.with_name(stem + file.suffix))
    return f"{file.name} to {stem}"


def leave_checkpoint(directory: Path, chance: random.Random) -> str:
    """A snapshot of KRaft, mostly marked as deleted or cut short."""
    name = f"{chance.randrange(200):020}-0000000001.checkpoint{chance.choice(('', '.deleted', '.deleted', '.part'))}"
    (directory / name).write_bytes(b"")
    return name


def write_epochs(directory: Path, chance: random.Random) -> str:
    text = chance.choice(EPOCHS)
    (directory / "leader-epoch-checkpoint").write_text(text)
    return repr(text)


def rolled_elsewhere(directory: Path, chance: random.Random) -> str:
    """The same batches in other segments, often without the first or the last of them."""
    found = [one for log in sorted(directory.glob("*.log")) for one in batches.intact(log.read_bytes())]
    if not found:
        return ""
    for path in sorted(directory.glob("0*")):
        path.unlink()
    start = chance.randrange(1 + len(found) // 2) if chance.random() < 0.25 else 0
    end = chance.randrange(start, len(found)) + 1 if chance.random() < 0.25 else len(found)
    cuts = sorted({start, *(chance.randrange(start, end) for _ in range(chance.randrange(4))), end})
    for low, high in itertools.pairwise(cuts):
        path = directory / f"{found[low].first_offset:020}.log"
        path.write_bytes(b"".join(one.content for one in found[low:high]))
    return f"rolled at {cuts}; "


BLOCKS: tuple[Incident, ...] = (pages_zero, stale_blocks, log_at_random, log_at_random, remove, preallocated)
"""What happens to one replica and not to another, and leaves all intact batches among their neighbours."""
INCIDENTS: tuple[Incident, ...] = (
    *BLOCKS,
    *(at_random,) * 12,
    *(sectors_swapped, stretch_doubled, written_again, offsets_back, epochs_back, misnamed, overlapping, empty_segment),
    *(foreign_indexes, snapshot_after_the_end, marker_moved, joined, odd_batch, of_another_partition, cleaning_unfinished),
    *(copied, interleaved, bytes_shifted, sparse, leave_over, rename, write_epochs),
)
CHANGES: tuple[Incident, ...] = (*(at_random,) * 11, remove, remove, leave_over, leave_checkpoint, rename, write_epochs)
"""What may happen to any directory, even one without an intact batch."""


def changed_copy(source: Path, root: Path, directory: Path, chance: random.Random, counts: Sequence[int]) -> str:
    """Copy the files of a directory below `root`, and change the copy so often. Returns what was done."""
    directory.mkdir(parents=True)
    for file in sorted(file for file in source.iterdir() if file.is_file()):
        (directory / file.name).write_bytes(file.read_bytes())
    about = [source.relative_to(root).as_posix()]
    for _ in range(chance.choice(counts)):
        change = chance.choice(CHANGES)
        about.append(f"{change.__name__}: {change(directory, chance)}")
    return "; ".join(about)


def befall(directory: Path, chance: random.Random, incidents: Sequence[Incident] = INCIDENTS) -> str:
    """Let one to three incidents befall a directory. Returns which."""
    about = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if intact_logs(directory):
            incident = chance.choice(incidents)
            about.append(f"{incident.__name__}: {incident(directory, chance)}")
    if chance.random() < 0.1:  # beside it
        (directory.parent / LOG_STARTS).write_bytes(
            checkpoint(entries=[("orders", 0, chance.choice((chance.randrange(60), 1200, 1 << 40)))])
        )
        about.append("log start")
    return "; ".join(about)
