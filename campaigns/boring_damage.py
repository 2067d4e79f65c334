"""Damages logs as disks, file systems and people do, and keeps a list of where each byte comes from."""

from __future__ import annotations

import random
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from campaigns.boring_logs import Batch, Segment, written
from tests.builders.files import file_name

SECTOR, PAGE, LARGE_PAGE = 512, 4096, 65536
FOREIGN_BYTES = 1 << 20
FOREIGN_NUMBERS = 10_000_000_000
MILLION = 1_000_000


class Piece(NamedTuple):
    """Bytes of a damaged log; those that were written have the segment and the position where they were."""

    data: bytes
    segment: Segment | None = None
    origin: int = 0


class Edit(NamedTuple):
    """What stands in a log instead of its bytes from `start` up to `end`."""

    start: int
    end: int
    pieces: tuple[Piece, ...]


@dataclass
class Damaged:
    """A damaged partition: the pieces of each log, the files beside them, and what was done."""

    segments: tuple[Segment, ...]
    logs: dict[int, list[Piece]]
    files: dict[str, bytes]
    what: str = ""


class Source(NamedTuple):
    """A sound log, and how it was made."""

    shape: str
    seed: int
    segments: tuple[Segment, ...]
    files: dict[str, bytes]
    chance: random.Random

    def hurt(self) -> Segment:
        """The segment that is damaged: the middle one, with data before and after it where there are several."""
        return self.segments[len(self.segments) // 2]


Kind = Callable[[Source, Damaged], str]
"""Damages a partition, and returns what was done."""


def damage(shape: str, kind: str, segments: tuple[Segment, ...], files: dict[str, bytes], seed: int) -> Damaged:
    """A damaged copy of a sound log; it depends only on the arguments."""
    damaged = Damaged(segments, {one.base: [kept(one, 0, len(one.data))] for one in segments}, dict(files))
    chance = random.Random(f"{shape} {kind} {seed}")
    damaged.what = KINDS[kind](Source(shape, seed, segments, files, chance), damaged)
    return damaged


def kept(segment: Segment, start: int, end: int) -> Piece:
    return Piece(segment.data[start:end], segment, start)


def _apply(damaged: Damaged, segment: Segment, edits: Sequence[Edit]) -> str:
    pieces: list[Piece] = []
    at = 0
    for edit in sorted(edits):
        if edit.start < at:
            continue  # what overlaps was not done
        pieces += (kept(segment, at, edit.start), *edit.pieces)
        at = edit.end
    pieces.append(kept(segment, at, len(segment.data)))
    damaged.logs[segment.base] = [piece for piece in pieces if piece.data]
    places = ", ".join(f"{edit.start:,} to {edit.end:,}" for edit in sorted(edits)[:3])
    return f"log {segment.base}, bytes {places}{' ...' if len(edits) > 3 else ''}"


def _written_over(segment: Segment, start: int, data: bytes) -> Edit:
    return Edit(start, start + len(data), (Piece(data),))


def _flipped(segment: Segment, position: int, bit: int) -> Edit:
    return _written_over(segment, position, bytes([segment.data[position] ^ 1 << bit]))


def _pages(source: Source, segment: Segment, size: int, count: int) -> list[int]:
    """Starts of different pages between a tenth of the segment and its end; none is adjacent to another."""
    last = len(segment.data) // size - 1
    first = max(1, last // 10)
    found: list[int] = []
    for page in source.chance.sample(range(first, last), min(last - first, 4 * count)):
        if all(abs(page - other) > 1 for other in found) and len(found) < count:
            found.append(page)
    return [page * size for page in sorted(found)]


def _some(source: Source, segment: Segment, count: int, room: int = 0) -> list[Batch]:
    """Different batches, neither the first nor the last ones, with `room` batches after each."""
    rows = range(1, len(segment.batches) - 2 - room)
    return [segment.batches[row] for row in sorted(source.chance.sample(rows, min(count, len(rows))))]


def _of(way: Callable[..., Iterable[Edit]], *arguments: object) -> Kind:
    """The segment in the middle is changed in this way."""

    def kind(source: Source, damaged: Damaged) -> str:
        segment = source.hurt()
        return _apply(damaged, segment, list(way(source, segment, *arguments)))

    return kind


def _flips(source: Source, segment: Segment, count: int) -> Iterator[Edit]:
    places = source.chance.sample(range(len(segment.data) // 10, len(segment.data)), count)
    return (_flipped(segment, place, source.chance.randrange(8)) for place in places)


def _zeros(source: Source, segment: Segment, size: int, count: int) -> Iterator[Edit]:
    return (_written_over(segment, at, bytes(size)) for at in _pages(source, segment, size, count))


def _stale(source: Source, segment: Segment, size: int, count: int) -> Iterator[Edit]:
    for at in _pages(source, segment, size, count):
        old = source.chance.randrange(at // size) * size
        yield Edit(at, at + size, (kept(segment, old, old + size),))


def _foreign(source: Source, segment: Segment, size: int, offset: int | None) -> Iterator[Edit]:
    """A page of another partition: with offsets from `offset` on, or with some that are below those around it."""
    first = segment.base if offset is None else offset
    (other,) = written(source.shape, FOREIGN_BYTES, 1, source.seed + 1, first, FOREIGN_NUMBERS)
    (at,) = _pages(source, segment, size, 1)
    start = source.chance.randrange(len(other.data) // size) * size
    yield Edit(at, at + size, (kept(other, start, start + size),))


def _swapped(source: Source, segment: Segment, size: int) -> Iterator[Edit]:
    a, b = _pages(source, segment, size, 2)
    yield Edit(a, a + size, (kept(segment, b, b + size),))
    yield Edit(b, b + size, (kept(segment, a, a + size),))


def _headers(source: Source, segment: Segment, count: int, is_random: bool) -> Iterator[Edit]:
    for batch in _some(source, segment, count):
        size = min(61, len(batch.data))
        yield _written_over(segment, batch.position, source.chance.randbytes(size) if is_random else bytes(size))


def _field(source: Source, segment: Segment, place: int, bits: Sequence[int], count: int = 1) -> Iterator[Edit]:
    """A bit of the field of four bytes that starts at `place` in the header, or of the byte there for bits below 8."""
    for batch in _some(source, segment, count):
        bit = source.chance.choice(bits)
        yield _flipped(segment, batch.position + place - bit // 8, bit % 8)


def _torn(zeros: int) -> Kind:
    """The newest log ends inside of its last batches, maybe with a tail of zeros."""

    def kind(source: Source, damaged: Damaged) -> str:
        segment = source.segments[-1]
        last = source.chance.choice(segment.batches[-5:])
        at = source.chance.randrange(last.position + 1, last.end)
        return _apply(damaged, segment, [Edit(at, len(segment.data), (Piece(bytes(zeros)),))])

    return kind


def _preallocated(source: Source, damaged: Damaged) -> str:
    segment = source.segments[-1]
    damaged.logs[segment.base].append(Piece(bytes(source.chance.randrange(100, 1 << 20))))
    return "zeros at the end of the newest log"


def _inside(source: Source, segment: Segment) -> int:
    (batch,) = _some(source, segment, 1)
    return source.chance.randrange(batch.position + 1, batch.end)


def _missing_bytes(source: Source, segment: Segment) -> Iterator[Edit]:
    at = _inside(source, segment)
    yield Edit(at, min(at + source.chance.randrange(1, 8 << 10), len(segment.data)), ())


def _inserted_bytes(source: Source, segment: Segment) -> Iterator[Edit]:
    at = _inside(source, segment)
    yield Edit(at, at, (Piece(source.chance.randbytes(source.chance.randrange(1, 8 << 10))),))


def _missing_batches(source: Source, segment: Segment) -> Iterator[Edit]:
    """Whole batches are gone, more than the index has between two of its entries."""
    rows = len(segment.batches)
    first = min(source.chance.randrange(1, max(2, rows // 2)), rows - 1)  # of large batches, there may be one
    end = min(first + 1, rows - 1)
    while end < rows - 2 and segment.batches[end].position - segment.batches[first].position < 3 * 4096 + rows:
        end += 1
    yield Edit(segment.batches[first].position, segment.batches[end].position, ())


def _shifted_offsets(source: Source, segment: Segment, count: int) -> Iterator[Edit]:
    """Base offsets that are too high by a million, in batches one after the other."""
    first, *_ = _some(source, segment, 1, room=count) or segment.batches[1:]  # of large batches, there may be few
    row = segment.batches.index(first)
    for one in segment.batches[row : row + count]:
        yield _written_over(segment, one.position, struct.pack(">q", struct.unpack_from(">q", one.data)[0] + MILLION))


def _crlf(source: Source, segment: Segment) -> Iterator[Edit]:
    return (Edit(found.start(), found.start(), (Piece(b"\r"),)) for found in re.finditer(b"\n", segment.data))


def _index(suffix: str, change: Callable[[Source, bytes], bytes | None]) -> Kind:
    def kind(source: Source, damaged: Damaged) -> str:
        name = file_name(source.hurt().base, suffix)
        new = change(source, damaged.files.pop(name))
        if new is not None:
            damaged.files[name] = new
        return name

    return kind


def _wrong(source: Source, data: bytes) -> bytes:
    """An entry in the middle with another position."""
    at = len(data) // 16 * 8 + 4
    return data[:at] + (int.from_bytes(data[at : at + 4], "big") + 1).to_bytes(4, "big") + data[at + 4 :]


def _of_another(source: Source, data: bytes) -> bytes:
    return b"".join(
        int.to_bytes(3 * row + 1, 4, "big") + int.to_bytes(4000 * row + 77, 4, "big") for row in range(len(data) // 8)
    )


def _missing_segment(source: Source, damaged: Damaged) -> str:
    segment = source.hurt()
    del damaged.logs[segment.base]
    for suffix in (".index", ".timeindex"):
        del damaged.files[file_name(segment.base, suffix)]
    return f"log {segment.base} is gone"


def _joined(source: Source, damaged: Damaged) -> str:
    """Two copies of a log, one after the other."""
    segment = source.segments[-1]
    damaged.logs[segment.base] *= 2
    return f"log {segment.base} twice"


KINDS: dict[str, Kind] = {
    "sound": lambda source, damaged: "nothing",
    "flip-1": _of(_flips, 1),
    "flip-20": _of(_flips, 20),
    "flip-1000": _of(_flips, 1000),
    "zeros-512": _of(_zeros, SECTOR, 20),
    "zeros-4k": _of(_zeros, PAGE, 5),
    "zeros-64k": _of(_zeros, LARGE_PAGE, 5),
    "stale-4k": _of(_stale, PAGE, 5),
    "stale-64k": _of(_stale, LARGE_PAGE, 1),
    "stale-64k-5": _of(_stale, LARGE_PAGE, 5),
    "foreign-higher": _of(_foreign, LARGE_PAGE, 5_000_000),
    "foreign-lower": _of(_foreign, LARGE_PAGE, None),
    "swapped-4k": _of(_swapped, PAGE),
    "swapped-64k": _of(_swapped, LARGE_PAGE),
    "headers-zeroed": _of(_headers, 20, False),
    "headers-random": _of(_headers, 20, True),
    "flipped-delta": _of(_field, 26, range(32)),
    "flipped-high-delta": _of(_field, 26, (28, 29, 30, 31)),
    "flipped-length": _of(_field, 11, range(32)),
    "flipped-magic": _of(_field, 16, range(8)),
    "flipped-offset": _of(_field, 7, range(64)),
    "flipped-offsets": _of(_field, 7, range(64), 20),
    "torn": _torn(0),
    "torn-zeros": _torn(300_000),
    "preallocated": _preallocated,
    "missing-bytes": _of(_missing_bytes),
    "inserted-bytes": _of(_inserted_bytes),
    "missing-batches": _of(_missing_batches),
    "offset-shifted-1": _of(_shifted_offsets, 1),
    "offset-shifted-2": _of(_shifted_offsets, 2),
    "offset-shifted-3": _of(_shifted_offsets, 3),
    "crlf": _of(_crlf),
    "index-wrong": _index(".index", _wrong),
    "index-stale": _index(".index", lambda _, data: data[: len(data) // 16 * 8]),
    "index-zeroed": _index(".index", lambda _, data: bytes(len(data))),
    "index-of-another": _index(".index", _of_another),
    "index-gone": _index(".index", lambda *_: None),
    "timeindex-zeroed": _index(".timeindex", lambda _, data: bytes(len(data))),
    "missing-segment": _missing_segment,
    "joined": _joined,
}

NEEDS_SEGMENTS = ("missing-segment",)
"""Kinds that only logs of several segments can have."""

FOR_MAGIC_2 = ("flipped-delta", "flipped-high-delta")
"""Kinds that damage fields which messages do not have."""

NOTHING_LOST = (
    *("sound", "preallocated", "joined"),
    *("index-wrong", "index-stale", "index-zeroed", "index-of-another", "index-gone", "timeindex-zeroed"),
)
"""Kinds after which each batch is still there, and nothing else that may have been one."""


class Found(NamedTuple):
    """A batch that is in a damaged log, at this position. Where `is_exact` is not so, only what no CRC covers has changed."""

    base: int
    position: int
    batch: Batch
    is_exact: bool
    is_foreign: bool
    has_length: bool = True


def found_in(damaged: Damaged) -> list[Found]:
    """All batches that are still there, by log and position."""
    found: dict[tuple[int, int], Found] = {}
    for base, pieces in damaged.logs.items():
        data = b"".join(piece.data for piece in pieces)
        at = 0
        for piece in pieces:
            for one in _of_piece(base, data, at, piece, damaged.segments) if piece.segment is not None else ():
                known = found.get((base, one.position))
                if known is None or (one.is_exact and not known.is_exact):
                    found[base, one.position] = one
            at += len(piece.data)
    return _without_overlaps([found[key] for key in sorted(found)])


def _without_overlaps(found: Sequence[Found]) -> list[Found]:
    """The same without batches whose first bytes are the last of an intact one before them, as zeros may be.

    A reader comes to the end of the one before, and not to their start.
    """
    kept: list[Found] = []
    ends: dict[int, int] = {}  # of the last intact batch of each log
    for one in found:
        if one.position < ends.get(one.base, 0):
            continue
        if one.is_exact:
            ends[one.base] = one.position + len(one.batch.data)
        kept.append(one)
    return kept


def _of_piece(base: int, data: bytes, at: int, piece: Piece, own: Sequence[Segment]) -> list[Found]:
    assert piece.segment is not None
    batches, end, is_foreign = piece.segment.batches, piece.origin + len(piece.data), piece.segment not in own
    row = max(bisect_right(batches, piece.origin, key=lambda batch: batch.position) - 1, 0)
    found = []
    for batch in batches[row:]:
        if batch.position >= end:
            break
        position = at + batch.position - piece.origin
        if batch.position >= piece.origin and batch.end <= end:
            found.append(Found(base, position, batch, True, is_foreign))
        elif position >= 0:
            here = data[position : position + len(batch.data)]
            covered = 17 if batch.magic == 2 else 12
            if here == batch.data:
                found.append(Found(base, position, batch, True, is_foreign))
            elif here[covered:] == batch.data[covered:] and len(here) == len(batch.data):
                has_header = here[8:12] == batch.data[8:12] and here[16:17] == batch.data[16:17]
                found.append(Found(base, position, batch, False, is_foreign, has_header))
    return found
