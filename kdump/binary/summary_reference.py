"""Summaries of consecutive batches in plain Python, which define the behaviour of those in C."""

from __future__ import annotations

from operator import add, lt
from struct import Struct

from kdump.binary.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_OVERHEAD,
    MIN_BATCH_LENGTH,
    TRANSACTIONAL_BIT,
)
from kdump.binary.producer_streak import (
    BASE_OFFSET,
    COMMIT_OFFSET,
    COMMITS,
    COORDINATOR_EPOCH,
    EMPTY_TRANSACTIONAL,
    END,
    EPOCH,
    FIRST_COORDINATOR_EPOCH,
    IS_OPEN,
    KIND,
    LAST_BASE_OFFSET,
    LAST_OFFSET,
    LAST_SEQUENCE,
    MARKER,
    PLAIN,
    POSITION,
    TRANSACTIONAL,
)
from kdump.binary.reference import walk_batches, walk_messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kdump.binary.checksums import Checksum

    # a number for each name of SUMMARY; positions, first offsets, last offsets and timestamps as 64-bit numbers of this machine
    Summarized = tuple[tuple[int, ...], bytes, bytes, bytes, bytes]

_MARKER_BITS = TRANSACTIONAL_BIT | CONTROL_BIT
_MARKER_MASK = _MARKER_BITS | COMPRESSION_MASK

SUMMARY = (
    *("count", "end", "last_position", "highest_size", "lowest_magic", "highest_magic"),
    *("any_attributes", "all_attributes", "codecs"),
    *("first_offset", "last_offset"),
    *("gaps", "missing", "before_first_gap", "after_first_gap", "before_last_gap", "after_last_gap"),
    *("first_timestamp", "last_timestamp", "lowest_timestamp", "highest_timestamp", "timestamps_back"),
    *("first_leader_epoch", "last_leader_epoch", "lowest_leader_epoch", "highest_leader_epoch", "leader_epochs_back"),
    *("lowest_count", "empty", "first_empty", "last_empty", "hollow", "bare"),
    *("sparse", "first_sparse", "last_sparse", "overfull"),
    *("horizons", "lowest_horizon", "highest_horizon", "early_horizons"),
    *("lowest_producer_id", "highest_producer_id", "lowest_producer_epoch", "highest_producer_epoch"),
    *("highest_base_sequence", "orphans", "records"),
)
"""The fields of a summary; kdump/formats/summary.py says what each one is."""


def summarize_batches(window: bytes, start: int, window_position: int, max_codec: int, crc32c: Checksum) -> Summarized | None:
    """Walk as `walk_batches`, and summarize the batches.

    Returns a number for each name of SUMMARY and, as 64-bit numbers, where each batch starts in the file, its first and last
    offset, and its timestamp. Returns None without batches, or if a batch is not of magic 2, its checksum does not fit, or its
    offsets do not follow those before (or are below 0, or beyond 64 bits).
    """
    headers, starts, valid, end = walk_batches(window, start, max_codec, crc32c)
    if not headers or False in valid:
        return None
    (
        first_offsets,
        lengths,
        leader_epochs,
        magics,
        _,
        attributes,
        deltas,
        base_timestamps,
        timestamps,
        producer_ids,
        producer_epochs,
        base_sequences,
        counts,
    ) = zip(*headers, strict=True)
    last_offsets = tuple(map(add, first_offsets, deltas))
    if max(magics) > 2 or min(deltas) < 0:
        return None
    positions = [window_position + start for start in starts]
    summary = _summary_of_any(
        positions, window_position + end, lengths, magics, attributes, first_offsets, last_offsets, timestamps
    )
    if summary is None:
        return None
    empty, sparse = [], []
    for row, (count, delta) in enumerate(zip(counts, deltas, strict=True)):
        if not count:
            empty.append(positions[row])
        elif 0 < count <= delta:
            sparse.append(positions[row])
    horizons = [row for row, bits in enumerate(attributes) if bits & DELETE_HORIZON_BIT]
    summary.update(
        first_leader_epoch=leader_epochs[0],
        last_leader_epoch=leader_epochs[-1],
        lowest_leader_epoch=min(leader_epochs),
        highest_leader_epoch=max(leader_epochs),
        leader_epochs_back=sum(map(lt, leader_epochs[1:], leader_epochs)),
        lowest_count=min(counts),
        empty=len(empty),
        first_empty=empty[0] if empty else 0,
        last_empty=empty[-1] if empty else 0,
        hollow=sum(count <= 0 and length > MIN_BATCH_LENGTH for count, length in zip(counts, lengths, strict=True)),
        bare=sum(count > 0 and length == MIN_BATCH_LENGTH for count, length in zip(counts, lengths, strict=True)),
        sparse=len(sparse),
        first_sparse=sparse[0] if sparse else 0,
        last_sparse=sparse[-1] if sparse else 0,
        overfull=sum(count > delta + 1 for count, delta in zip(counts, deltas, strict=True)),
        horizons=len(horizons),
        lowest_horizon=min((base_timestamps[row] for row in horizons), default=0),
        highest_horizon=max((base_timestamps[row] for row in horizons), default=0),
        early_horizons=sum(base_timestamps[row] < timestamps[row] for row in horizons),
        lowest_producer_id=min(producer_ids),
        highest_producer_id=max(producer_ids),
        lowest_producer_epoch=min(producer_epochs),
        highest_producer_epoch=max(producer_epochs),
        highest_base_sequence=max(base_sequences),
        orphans=sum(
            bits & _MARKER_BITS == TRANSACTIONAL_BIT and producer == -1
            for bits, producer in zip(attributes, producer_ids, strict=True)
        ),
        records=sum(max(count, 0) for count in counts),
    )
    return _with_columns(summary, positions, first_offsets, last_offsets, timestamps)


def summarize_messages(window: bytes, start: int, window_position: int, min_magic: int, max_codec: int) -> Summarized | None:
    """The same for messages, as `walk_messages` finds them. Fields they lack are 0, and first offsets are last offsets."""
    headers, starts, valid, end = walk_messages(window, start, min_magic, max_codec)
    if not headers or False in valid:
        return None
    offsets, lengths, _, magics, attributes, timestamps = zip(*headers, strict=True)
    attributes = tuple(bits & 0xFF for bits in attributes)
    positions = [window_position + start for start in starts]
    summary = _summary_of_any(positions, window_position + end, lengths, magics, attributes, offsets, offsets, timestamps)
    return None if summary is None else _with_columns(summary, positions, offsets, offsets, timestamps)


def _summary_of_any(
    positions: list[int],
    end: int,
    lengths: Sequence[int],
    magics: Sequence[int],
    attributes: Sequence[int],
    first_offsets: Sequence[int],
    last_offsets: Sequence[int],
    timestamps: Sequence[int],
) -> dict[str, int] | None:
    """The part of a summary that batches and messages share, or None if offsets are impossible or not in order."""
    if first_offsets[0] < 0 or last_offsets[-1] > 0x7FFFFFFFFFFFFFFF or not all(map(lt, last_offsets, first_offsets[1:])):
        return None
    gaps = [row for row, (last, first) in enumerate(zip(last_offsets, first_offsets[1:], strict=False)) if first != last + 1]
    first_gap, last_gap = (gaps[0], gaps[-1]) if gaps else (0, 0)
    some = any_attributes = all_attributes = attributes[0] & 0xFFFF
    codecs = 1 << (some & COMPRESSION_MASK)
    for bits in set(attributes):
        any_attributes |= bits & 0xFFFF
        all_attributes &= bits
        codecs |= 1 << (bits & COMPRESSION_MASK)
    return {
        "count": len(positions),
        "end": end,
        "last_position": positions[-1],
        "highest_size": max(lengths) + LOG_OVERHEAD,
        "lowest_magic": min(magics),
        "highest_magic": max(magics),
        "any_attributes": any_attributes,
        "all_attributes": all_attributes,
        "codecs": codecs,
        "first_offset": first_offsets[0],
        "last_offset": last_offsets[-1],
        "gaps": len(gaps),
        "missing": sum(first_offsets[row + 1] - last_offsets[row] - 1 for row in gaps),
        "before_first_gap": positions[first_gap] if gaps else 0,
        "after_first_gap": positions[first_gap + 1] if gaps else 0,
        "before_last_gap": positions[last_gap] if gaps else 0,
        "after_last_gap": positions[last_gap + 1] if gaps else 0,
        "first_timestamp": timestamps[0],
        "last_timestamp": timestamps[-1],
        "lowest_timestamp": min(timestamps),
        "highest_timestamp": max(timestamps),
        "timestamps_back": sum(map(lt, timestamps[1:], timestamps)),
    }


def _with_columns(
    summary: dict[str, int],
    positions: Sequence[int],
    first_offsets: Sequence[int],
    last_offsets: Sequence[int],
    timestamps: Sequence[int],
) -> Summarized:
    pack = Struct(f"={len(positions)}q").pack
    numbers = tuple(summary.get(name, 0) for name in SUMMARY)
    return numbers, pack(*positions), pack(*first_offsets), pack(*last_offsets), pack(*timestamps)


_MARKER = Struct(">8sb3si")  # up to the third byte of its key, type, value size and version, epoch of the coordinator
_MARKER_SIZE = BATCH_HEADER_SIZE + 17
_COMMIT = 1
_MARKER_START = b"\x20\0\0\0\x08\0\0\0"  # length, attributes, deltas, key size, first three bytes of the key
_MARKER_MIDDLE = b"\x0c\0\0"  # value size, version


def producer_streaks(window: bytes, start: int, count: int, window_position: int) -> bytes | None:
    """The streaks of `count` batches of magic 2, by their first batches, as 64-bit numbers; producer_streak.STREAK names them.

    A streak is data of one producer, kind and epoch, in which each sequence follows the one before, or it is a marker. Batches
    of other producers may stand in between. A marker that commits a streak belongs to it. Batches without a producer are left
    out. None if a batch is irregular: a control batch without the usual marker, or a producer without valid sequences.
    """
    streaks: list[list[int]] = []
    last_streaks: dict[int, list[int]] = {}
    for _ in range(count):
        header = BATCH_HEADER.unpack_from(window, start)
        base_offset, length, _, _, _, attributes, delta, _, _, producer_id, epoch, base, records = header
        position, size = window_position + start, length + LOG_OVERHEAD
        start += size
        last, last_offset, control_type, coordinator_epoch = base + delta, base_offset + delta, 0, 0
        kind = PLAIN if not attributes & TRANSACTIONAL_BIT else TRANSACTIONAL if records else EMPTY_TRANSACTIONAL
        if attributes & CONTROL_BIT:
            kind = MARKER
            if producer_id < 0 or size != _MARKER_SIZE or records != 1 or attributes & _MARKER_MASK != _MARKER_BITS:
                return None
            head, control_type, middle, coordinator_epoch = _MARKER.unpack_from(window, start - size + BATCH_HEADER_SIZE)
            if head != _MARKER_START or not 0 <= control_type <= 1 or middle != _MARKER_MIDDLE:
                return None
            last = base
        elif producer_id == -1:
            continue
        elif producer_id < 0 or base < 0 or delta < 0 or last > 0x7FFFFFFF:
            return None
        streak = last_streaks.get(producer_id)
        if streak is not None and streak[EPOCH] != epoch:
            streak = None  # it does not go on
        if streak is not None and kind != MARKER and streak[KIND] == kind and streak[LAST_SEQUENCE] + 1 == base:
            if not streak[IS_OPEN]:
                streak[BASE_OFFSET], streak[POSITION], streak[END] = base_offset, position, position + size
            streak[LAST_SEQUENCE], streak[LAST_BASE_OFFSET], streak[LAST_OFFSET], streak[IS_OPEN] = (
                last,
                base_offset,
                last_offset,
                1,
            )
            continue
        is_commit = kind == MARKER and control_type == _COMMIT
        if streak is not None and is_commit and streak[KIND] == TRANSACTIONAL and streak[IS_OPEN]:
            if not streak[COMMITS]:
                streak[FIRST_COORDINATOR_EPOCH] = coordinator_epoch
            if not streak[COMMITS] or coordinator_epoch >= streak[COORDINATOR_EPOCH]:
                streak[COORDINATOR_EPOCH], streak[COMMIT_OFFSET], streak[IS_OPEN] = coordinator_epoch, last_offset, 0
                streak[COMMITS] += 1
                continue
        streak = [producer_id, epoch, kind, base, last, base_offset, position, position + size, base_offset, last_offset]
        streak += [control_type, coordinator_epoch, 0, 0, 0, int(kind != MARKER)]
        last_streaks[producer_id] = streak
        streaks.append(streak)
    numbers = [number for streak in streaks for number in streak]
    return Struct(f"={len(numbers)}q").pack(*numbers)
