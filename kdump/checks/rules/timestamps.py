"""Whether timestamps are what they can be."""

from __future__ import annotations

from kdump.binary.batch_header import ATTRIBUTES, BASE_OFFSET, BASE_TIMESTAMP, DELETE_HORIZON_BIT, TIMESTAMP_TYPE_BIT
from kdump.binary.kernel import OFFSET_DELTA, TIMESTAMP_DELTA
from kdump.checks.rules.rule import SegmentRule
from kdump.checks.rules.tally import Tally
from kdump.checks.settings import DELETE
from kdump.checks.wording import counted
from kdump.formats.record_batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP, NO_TIMESTAMP_TYPE, as_int64
from kdump.reading import salvage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar

    from kdump.checks.content import Content
    from kdump.checks.context import FileContext
    from kdump.checks.facts import SegmentFacts
    from kdump.errors import CorruptData
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk
    from kdump.formats.record_batch import RecordBatch
    from kdump.formats.summary import BatchSummary
    from kdump.reading.items import Damage, Section
    from kdump.tables import Table

_DAY = 24 * 3600 * 1000
_TEN_YEARS = 3653 * _DAY
_END_OF_JANUARY = 31 * _DAY  # 1970; what is earlier may be seconds
_YEAR_5000 = 95_617_584_000_000  # what is later may be microseconds or nanoseconds
_PLAUSIBLE = 946_684_800, 4_102_444_800  # seconds from 1970 to the years 2000 and 2100: what a unit is guessed from
_UNITS = (("seconds", 1), ("microseconds", 10**6), ("nanoseconds", 10**9))
_INT64 = range(-(1 << 63), 1 << 63)
_FAR = 1 << 62  # below this, a base and a delta do not overflow


def moment(milliseconds: int) -> str:
    """A timestamp for people, with the number; only the number where no calendar has a date for it, or it means none."""
    if milliseconds < 0:
        return str(milliseconds)
    from datetime import UTC, datetime, timedelta  # slow to load, and rarely wanted

    try:
        date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(milliseconds)
    fraction = f".{milliseconds % 1000:03}" if milliseconds % 1000 else ""
    return f"{date:%Y-%m-%d %H:%M:%S}{fraction} UTC ({milliseconds})"


def duration(milliseconds: int) -> str:
    """A span of time in the largest unit that says something."""
    for unit, size in (("day", _DAY), ("hour", 3600 * 1000), ("minute", 60 * 1000), ("second", 1000)):
        if milliseconds >= 2 * size:
            return counted(milliseconds // size, unit)
    return f"{milliseconds:,} ms"


def _sound(section: Section) -> Table[RecordBatch]:
    """The batches of a section that are not damaged."""
    batches = section.chunk.batches
    if salvage.DAMAGED not in section.statuses:
        return batches
    rows = [row for row, status in enumerate(section.statuses) if status != salvage.DAMAGED]
    return type(batches)(batches.row_class, {name: [values[row] for row in rows] for name, values in batches.columns.items()})


def _offsets(batch: RecordBatch) -> tuple[int, int]:
    return batch.first_offset, batch.last_offset


class Headers(SegmentRule):
    """Timestamps of batches, each for itself."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        written = context.source.status().st_mtime_ns // 1_000_000
        self._latest = max(written, context.settings.now) + _DAY
        self._future = Tally()
        self._latest_seen = self._latest
        self._units: dict[str, Tally] = {}

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return context.settings.checks_crcs

    def batches(self, section: Section) -> None:
        summary = section.summary
        if summary is not None:
            lowest, highest = summary.lowest_timestamp, summary.highest_timestamp
        else:
            timestamps: Sequence[int] = section.chunk.batches["timestamp"]
            lowest, highest = min(timestamps), max(timestamps)
        if lowest >= _END_OF_JANUARY and highest <= min(self._latest, _YEAR_5000) or lowest == highest == NO_TIMESTAMP:
            return
        batches = _sound(section)
        for row, timestamp in enumerate(batches["timestamp"]):
            if timestamp == NO_TIMESTAMP or _END_OF_JANUARY <= timestamp <= min(self._latest, _YEAR_5000):
                continue
            batch = batches.row(row)
            if timestamp < NO_TIMESTAMP:
                self._negative(batch)
                continue
            if timestamp > self._latest:
                self._in_future(batch)
            if not _END_OF_JANUARY <= timestamp <= _YEAR_5000 and batch.count != 0:
                self._unit(batch)

    def end(self) -> None:
        message = (
            "maxTimestamp lies in the future in {count}; the latest, here, is {note}. "
            "Until then, retention by time does not delete this segment."
        )
        self._future.report(self.context, "timestamp-future", message)
        for suspicion, tally in self._units.items():
            message = f"maxTimestamp of {{count}} {suspicion}; the first is {{note}}."
            tally.report(self.context, "timestamp-unit-suspect", message)

    def _negative(self, batch: RecordBatch) -> None:
        message = f"maxTimestamp is {batch.timestamp}; below zero, there is only -1, for none."
        end = batch.position + batch.size
        self.context.report(
            "timestamp-negative", batch.position, end, message, offsets=_offsets(batch), expected=-1, found=batch.timestamp
        )

    def _in_future(self, batch: RecordBatch) -> None:
        count = self._future.count
        if not count or batch.timestamp > self._latest_seen:
            self._latest_seen = batch.timestamp
            self._future = Tally()
            self._future.add(
                batch.position, batch.position + batch.size, _offsets(batch), moment(batch.timestamp), count=count + 1
            )
        else:
            self._future.count += 1

    def _unit(self, batch: RecordBatch) -> None:
        timestamp = batch.timestamp
        low, high = _PLAUSIBLE
        unit = next((unit for unit, second in _UNITS if low * second <= timestamp <= high * second), None)
        suspicion = f"looks like {unit} instead of milliseconds" if unit else "is hardly that of an event"
        if timestamp == 0:
            suspicion = "looks like one that was never set"
        elif timestamp < _END_OF_JANUARY:
            suspicion += ": retention by time deletes such a segment at once"
        elif unit is None:
            return  # told as one in the future
        tally = self._units.setdefault(suspicion, Tally())
        tally.add(batch.position, batch.position + batch.size, _offsets(batch), moment(timestamp))


class Order(SegmentRule):
    """Timestamps of batches against those before them."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._previous = NO_TIMESTAMP
        self._steps = Tally()
        self._worst = 0

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return context.settings.checks_crcs and context.settings.is_pedantic

    def batches(self, section: Section) -> None:
        summary = section.summary
        if summary is not None and summary.first_timestamp >= self._previous and not summary.timestamps_back:
            self._previous = summary.last_timestamp
            return
        batches = _sound(section)
        for row, timestamp in enumerate(batches["timestamp"]):
            if timestamp < 0:
                continue
            if timestamp < self._previous:
                batch = batches.row(row)
                self._steps.add(batch.position, batch.position + batch.size, _offsets(batch))
                self._worst = max(self._worst, self._previous - timestamp)
            self._previous = timestamp

    def end(self) -> None:
        message = f"maxTimestamp goes back in {{count}}, at worst by {duration(self._worst)}; the first is here."
        self._steps.report(self.context, "timestamp-out-of-order", message)


class Types(SegmentRule):
    """What the attributes say of timestamps: who set them, and until when tombstones are kept."""

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._type: str | None = None
        self._changes = Tally("time", "times")
        self._unset = Tally()
        self._horizons: dict[str, Tally] = {}

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return context.settings.checks_crcs

    def batches(self, section: Section) -> None:
        summary = section.summary
        if summary is None or not self._has_one_type(summary):
            self._look_at_types(_sound(section))
        if summary is None or summary.horizons and not self._has_ordinary_horizons(summary):
            self._look_at_horizons(_sound(section))

    def end(self) -> None:
        message = "It changes {count} from CreateTime to LogAppendTime or back; the first change, here, is to {note}."
        self._changes.report(self.context, "log-append-time-odd", message)
        message = "LogAppendTime, but no time, in {count}; the first is here."
        self._unset.report(self.context, "log-append-time-odd", message)
        for what, tally in self._horizons.items():
            tally.report(self.context, "delete-horizon-odd", f"The delete horizon of {{count}} {what}; the first is {{note}}.")

    def _has_one_type(self, summary: BatchSummary) -> bool:
        """Whether all batches have the type of those before, and a time where that is LogAppendTime."""
        if summary.highest_magic == 0:
            return True
        if summary.lowest_magic == 0 or (summary.any_attributes ^ summary.all_attributes) & TIMESTAMP_TYPE_BIT:
            return False
        kind = LOG_APPEND_TIME if summary.all_attributes & TIMESTAMP_TYPE_BIT else CREATE_TIME
        if kind == LOG_APPEND_TIME and summary.lowest_timestamp <= NO_TIMESTAMP:
            return False
        is_known = self._type in (None, kind)
        self._type = self._type or kind
        return is_known

    def _has_ordinary_horizons(self, summary: BatchSummary) -> bool:
        latest = self.context.settings.now + _TEN_YEARS
        is_ahead = summary.lowest_horizon >= 0 and not summary.early_horizons and summary.highest_horizon <= latest
        return is_ahead and self.context.settings.cleanup_policy != DELETE

    def _look_at_types(self, batches: Table[RecordBatch]) -> None:
        for row, kind in enumerate(batches["timestamp_type"]):
            if kind == NO_TIMESTAMP_TYPE:
                continue
            batch: RecordBatch | None = None
            if kind != self._type:
                if self._type is not None:
                    batch = batches.row(row)
                    self._changes.add(batch.position, batch.position + batch.size, _offsets(batch), kind)
                self._type = kind
            if kind == LOG_APPEND_TIME and batches["timestamp"][row] == NO_TIMESTAMP:
                batch = batches.row(row)
                self._unset.add(batch.position, batch.position + batch.size, _offsets(batch))

    def _look_at_horizons(self, batches: Table[RecordBatch]) -> None:
        now = self.context.settings.now
        for row, horizon in enumerate(batches["delete_horizon_ms"]):
            if horizon is None:
                continue
            if self.context.settings.cleanup_policy == DELETE:
                what = "is set, though the topic is not compacted"
            elif horizon > now + _TEN_YEARS:
                what = "lies more than ten years ahead"
            elif horizon < 0 or horizon < batches["timestamp"][row] <= now:
                what = "lies before the batch was written"
            else:
                continue
            batch = batches.row(row)
            tally = self._horizons.setdefault(what, Tally())
            tally.add(batch.position, batch.position + batch.size, _offsets(batch), moment(horizon))


class Records(SegmentRule):
    """Timestamps of records against the headers of their batches."""

    reads_records: ClassVar[bool] = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._odd_bases = Tally()
        self._open: tuple[RecordBatch, int] | None = None  # the last batch, and the highest timestamp in it so far

    def content(self, content: Content, status: str) -> None:
        if status == salvage.DAMAGED:
            return
        header, rows = content.header, content.rows
        attributes, base = header[ATTRIBUTES], header[BASE_TIMESTAMP]
        if attributes & TIMESTAMP_TYPE_BIT:
            return
        if rows[0][TIMESTAMP_DELTA] and not attributes & DELETE_HORIZON_BIT and base != NO_TIMESTAMP:
            self._odd_bases.add(content.position, content.position + content.size, content.offsets)
        is_near = -_FAR < base < _FAR
        if is_near and (
            len(rows) == 1 and -_FAR < rows[0][TIMESTAMP_DELTA] < _FAR or all(-_FAR < row[TIMESTAMP_DELTA] < _FAR for row in rows)
        ):
            return
        for row in rows:
            delta = row[TIMESTAMP_DELTA]
            if base + delta not in _INT64:
                offset = header[BASE_OFFSET] + row[OFFSET_DELTA]
                message = (
                    f"The timestamp of the record with offset {offset:,} is {base} + {delta} = {base + delta}, "
                    f"more than 64 bits hold; Kafka shows {as_int64(base + delta)}."
                )
                self.context.report(
                    "timestamp-overflow",
                    content.position,
                    content.position + content.size,
                    message,
                    offsets=(offset, offset),
                    expected=base + delta,
                    found=as_int64(base + delta),
                )

    def records(self, part: RecordChunk, status: str) -> None:
        if not part.continues:
            self._close()
        if status == salvage.DAMAGED:
            self._open = None
            return
        timestamps: Sequence[int] = part.records["timestamp"]
        if timestamps and min(timestamps) < NO_TIMESTAMP:
            self._look_at_negative(part)
        if 0 in part.magics:
            return  # messages without time, perhaps in a wrapper with one
        headers: Sequence[int] = part.batches["timestamp"]
        if not part.continues and part.counts.count(1) == len(part.counts):
            if list(timestamps) != list(headers):
                for row, (found, said) in enumerate(zip(timestamps, headers, strict=True)):
                    if found != said:
                        self._compare(part.batches.row(row), found)
            return
        first = 0
        for row, count in enumerate(part.counts):
            here, first = first, first + count
            if not count:
                continue
            highest = max(timestamps[here:first])
            if part.continues and self._open is not None:
                highest = max(highest, self._open[1])
            if row == len(part.counts) - 1:
                self._open = (part.batches.row(row), highest)
            elif highest != headers[row]:
                self._compare(part.batches.row(row), highest)

    def unreadable(self, chunk: Chunk, fault: CorruptData, status: str) -> None:
        self._open = None  # the highest may stand in what cannot be read

    def batches(self, section: Section) -> None:
        self._close()

    def damage(self, damage: Damage) -> None:
        self._close()

    def end(self) -> None:
        self._close()
        message = "The first record is not from baseTimestamp in {count}, as after compaction; the first is here."
        self._odd_bases.report(self.context, "base-timestamp-odd", message)

    def _close(self) -> None:
        """The last batch is through."""
        if self._open is not None:
            batch, highest = self._open
            self._open = None
            if highest != batch.timestamp:
                self._compare(batch, highest)

    def _look_at_negative(self, part: RecordChunk) -> None:
        """Tell of batches with negative timestamps, of which the header does not say so."""
        timestamps = part.records["timestamp"]
        first = 0
        for row, count in enumerate(part.counts):
            here, first = first, first + count
            negative = [number for number in range(here, first) if timestamps[number] < NO_TIMESTAMP]
            batch = part.batches.row(row)
            if negative and batch.timestamp >= NO_TIMESTAMP:
                timestamp, offset = timestamps[negative[0]], part.records["offset"][negative[0]]
                where = f"of {counted(len(negative), 'record')}, from offset {offset:,} on"
                message = f"The timestamp {where}, is {timestamp}; below zero, there is only -1, for none."
                end = batch.position + batch.size
                self.context.report(
                    "timestamp-negative", batch.position, end, message, offsets=(offset, offset), expected=-1, found=timestamp
                )

    def _compare(self, batch: RecordBatch, highest: int) -> None:
        if batch.magic == 0 or batch.timestamp_type == LOG_APPEND_TIME or highest < NO_TIMESTAMP:
            return
        message = f"maxTimestamp is {moment(batch.timestamp)}, but the highest of its records is {moment(highest)}."
        end = batch.position + batch.size
        self.context.report(
            "max-timestamp-mismatch",
            batch.position,
            end,
            message,
            offsets=_offsets(batch),
            expected=highest,
            found=batch.timestamp,
        )


RULES: tuple[type[SegmentRule], ...] = (Headers, Order, Types, Records)
