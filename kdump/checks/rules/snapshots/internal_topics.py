"""Records of Kafka's internal topics: whether they can be read by their schemas."""

from __future__ import annotations

from kdump.binary.paths import parent
from kdump.checks.finding import ERROR, WARNING
from kdump.checks.rules.rule import SegmentRule
from kdump.errors import CorruptData
from kdump.formats import file_name, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.record import RecordChunk

    FaultOf = Callable[[bytes | None, bytes | None], CorruptData | None]


_MESSAGES = {
    tree.METADATA_TOPIC: "cluster_metadata",
    "__remote_log_metadata": "remote_log_metadata",
    "__consumer_offsets": "consumer_offsets",
    "__transaction_state": "transaction_state",
    "__share_group_state": "share_group_state",
}
"""By topic, the module of `messages` that declares its records."""

_IN_FRAMES = ("cluster_metadata", "remote_log_metadata")
_CODE = "metadata-record-undecodable"
_STOPS_COORDINATOR = ("record-key-null", "record-version-short", "record-unreadable")
"""Faults of records that end the loading of a partition in each release; types and versions not known here are a newer one's."""


class InternalTopic(SegmentRule):
    """Reports records that the newest release known here cannot decode."""

    reads_records = True
    reads_contents = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._topic = _topic(context)

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return super().is_wanted(context) and _topic(context) is not None

    def records(self, part: RecordChunk, status: str) -> None:
        keys, values, offsets = part.records["key"], part.records["value"], part.records["offset"]
        is_control, positions, sizes = (part.batches[name] for name in ("is_control", "position", "size"))
        assert self._topic is not None
        end_row = 0
        for batch, count in enumerate(part.counts):
            start_row, end_row = end_row, end_row + count
            if is_control[batch]:
                continue
            rows = range(start_row, end_row)
            wrong = [(row, fault) for row in rows if (fault := self._topic(keys[row], values[row])) is not None]
            start = positions[batch]
            end = start + sizes[batch]
            for row, fault in wrong:
                stops_loading = fault.code in _STOPS_COORDINATOR
                severity = ERROR if stops_loading else WARNING
                if self.context.counts_only(_CODE, start, end, severity):
                    continue
                offset = offsets[row]
                message = f"The record at offset {offset:,} cannot be decoded: {fault.message}."
                message += " Coordinators do not load the partition." if stops_loading else ""
                self.context.report(_CODE, start, end, message, offsets=(offset, offset), severity=severity)


def _topic(context: FileContext) -> FaultOf | None:
    """What says of a record's key and value why they cannot be read, None if they can; None for topics of users."""
    module = _MESSAGES[tree.METADATA_TOPIC]
    if context.file_type != file_name.CHECKPOINT.removeprefix("."):
        name = tree.directory_name(parent(context.path))
        if name is None or name.topic not in _MESSAGES:
            return None
        module = _MESSAGES[name.topic]
    from kdump.decoders import coordinator, metadata  # most topics are users'

    records = __import__(f"kdump.messages.{module}", fromlist=["RECORDS"]).RECORDS
    keys = coordinator.Keys(records)

    def fault_of(key: bytes | None, value: bytes | None) -> CorruptData | None:
        try:
            if module in _IN_FRAMES:
                metadata.read(records, value, keeps_fields=False)
            elif key is None:
                return CorruptData("record-key-null", "the record has no key")
            else:
                record = keys.read(key)
                if value is not None:
                    coordinator.read_value(record, value, keeps_value=False)
        except CorruptData as fault:
            return fault
        return None

    return fault_of
