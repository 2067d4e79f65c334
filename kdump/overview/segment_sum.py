"""Adds up the batches and the damage of one log, in a walk through it."""

from __future__ import annotations

import hashlib
from array import array

from kdump.binary.batch_header import BASE_TIMESTAMP, TIMESTAMP_TYPE_BIT
from kdump.checks.finding import ByteCoverage
from kdump.formats.record_batch import LOG_APPEND_TIME, NO_TIMESTAMP
from kdump.reading import items
from kdump.reading.windows import KeptBatches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kdump.reading.windows import Batches

_UNKNOWN_EPOCH = -1


class SegmentSum:
    """Adds up the batches and the damaged ranges of one log, in the order of a walk through all of it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.coverage = ByteCoverage(size)
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.batches = 0
        self.records: int | None = 0
        self.timestamps: list[int] = []  # the smallest and the largest, if there are any
        self.epochs: list[int] = []  # the first and the last, if there are any
        self.statuses = dict.fromkeys((items.INTACT, items.SALVAGED, items.DAMAGED), 0)
        self.crc_failures = 0
        self.damaged_ranges = 0
        self.valid_bytes: int | None = None  # up to the first thing that is not intact
        self._digests = [hashlib.blake2b(digest_size=8) for _ in range(5)]

    def take(self, item: Batches | items.Damage) -> None:
        """Add the next item of the walk."""
        if isinstance(item, items.Damage):
            self._add_damage(item)
        elif isinstance(item, KeptBatches):
            self._add_kept(item)
        else:
            self._add(item)

    def _add_kept(self, item: KeptBatches) -> None:
        """Add batches that are all intact, from their summary where it has what is needed."""
        summary, count = item.summary, len(item)
        self.coverage.add(items.INTACT, summary.end, batches=count)
        self.batches += count
        self.statuses[items.INTACT] += count
        self.records = None if self.records is None else self.records + item.records
        columns = [array("q", item.column(name)) for name in ("base_offset", "last_offset", "partition_leader_epoch", "crc")]
        for digest, column in zip(self._digests, [*columns, array("q", [True]) * count], strict=True):
            digest.update(column)
        if self.first_offset is None:
            self.first_offset = summary.first_offset
        self.last_offset = summary.last_offset
        is_known = summary.first_leader_epoch != _UNKNOWN_EPOCH
        self._add_epochs(
            [summary.first_leader_epoch, summary.last_leader_epoch] if is_known else item.column("partition_leader_epoch")
        )
        times = [summary.lowest_timestamp, summary.highest_timestamp]
        self._add_times(times if NO_TIMESTAMP not in times else summary.timestamps)
        base_times: Sequence[int] = item.column("base_timestamp")
        if summary.any_attributes & TIMESTAMP_TYPE_BIT:
            attributes = item.column("attributes")
            base_times = [time for time, bits in zip(base_times, attributes, strict=True) if not bits & TIMESTAMP_TYPE_BIT]
        self._add_times(base_times)

    def _add_damage(self, damage: items.Damage) -> None:
        self.coverage.add(damage.status, damage.end, batches=int(damage.is_batch))
        self.damaged_ranges += damage.status != items.ZERO
        self._end_valid(damage.start)

    def _add(self, item: Batches) -> None:
        count = len(item)
        self.coverage.add(item.status, item.end, batches=count)
        if item.status != items.INTACT:
            self._end_valid(item.start)
        self.batches += count
        self.crc_failures += list(item.chunk.batches["isvalid"]).count(False)
        self.statuses[item.status] += count
        self._digest(item)
        if item.status != items.DAMAGED:
            self._add_sound(item)

    def _end_valid(self, position: int) -> None:
        if self.valid_bytes is None:
            self.valid_bytes = position

    def _add_sound(self, item: Batches) -> None:
        """Add batches that are not damaged: what the headers of others claim is not believed."""
        said, table = item.records, item.chunk.batches
        self.records = None if self.records is None or said is None else self.records + said
        last_offsets, times, types = table["last_offset"], table["timestamp"], table["timestamp_type"]
        first_offsets = last_offsets if item.chunk.is_legacy else table["base_offset"]
        if self.first_offset is None:
            self.first_offset = first_offsets[0]
        self.last_offset = last_offsets[-1]
        known = list(times)
        if not item.chunk.is_legacy:
            headers = zip(item.chunk.headers, types, strict=True)
            known += [header[BASE_TIMESTAMP] for header, kind in headers if kind != LOG_APPEND_TIME]
            epochs = table["partition_leader_epoch"]
            self._add_epochs([epochs[0], epochs[-1]])
        self._add_times(known)

    def _add_epochs(self, epochs: Sequence[int]) -> None:
        found = [epoch for epoch in epochs if epoch != _UNKNOWN_EPOCH]
        self.epochs = [*self.epochs[:1], *found][:1] + ([*self.epochs, *found][-1:])

    def _add_times(self, times: Sequence[int]) -> None:
        known = [time for time in times if time != NO_TIMESTAMP] if NO_TIMESTAMP in times else times
        if known:
            bounds = [*self.timestamps, min(known), max(known)]
            self.timestamps = [min(bounds), max(bounds)]

    def _digest(self, item: Batches) -> None:
        """Hash the columns in which replicas must agree; each column separately, because chunks differ."""
        table = item.chunk.batches
        nothing = [0] * len(item)
        legacy = item.chunk.is_legacy
        columns: tuple[Sequence[Any], ...] = (
            nothing if legacy else table["base_offset"],
            table["last_offset"],
            nothing if legacy else table["partition_leader_epoch"],
            table["crc"],
            table["isvalid"],
        )
        for digest, column in zip(self._digests, columns, strict=True):
            digest.update(array("q", column))

    @property
    def digest(self) -> int:
        whole = hashlib.blake2b(b"".join(digest.digest() for digest in self._digests), digest_size=8)
        return int.from_bytes(whole.digest(), "big", signed=True)

    def columns(self) -> dict[str, list[Any]]:
        """The columns of the row for the log, those of the class Segment, once the walk is over."""
        self.coverage.add(ByteCoverage.NOT_EXAMINED, max(self._size, self.coverage.position))
        counted = self.coverage.bytes
        values = {
            "size": self._size,
            "first_offset": self.first_offset,
            "last_offset": self.last_offset,
            "batches": self.batches,
            "records": self.records,
            "min_timestamp": self.timestamps[0] if self.timestamps else None,
            "max_timestamp": self.timestamps[-1] if self.timestamps else None,
            "first_leader_epoch": self.epochs[0] if self.epochs else None,
            "last_leader_epoch": self.epochs[-1] if self.epochs else None,
            "batches_salvaged": self.statuses[items.SALVAGED],
            "batches_damaged": self.statuses[items.DAMAGED],
            "crc_failures": self.crc_failures,
            "damaged_ranges": self.damaged_ranges,
            "bytes_intact": counted[ByteCoverage.INTACT],
            "bytes_salvaged": counted[ByteCoverage.SALVAGED],
            "bytes_damaged": counted[ByteCoverage.DAMAGED],
            "bytes_zero": counted[ByteCoverage.ZERO],
            "bytes_not_examined": counted[ByteCoverage.NOT_EXAMINED],
            "valid_bytes": self._size if self.valid_bytes is None else self.valid_bytes,
            "digest": self.digest,
        }
        return {name: [value] for name, value in values.items()}
