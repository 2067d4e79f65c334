"""Records of Kafka's internal topics: whether they can be read by their schemas."""

from __future__ import annotations

from kdump.binary.paths import parent
from kdump.checks.rules.rule import SegmentRule
from kdump.errors import CorruptData
from kdump.formats import file_name, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.context import FileContext
    from kdump.checks.segment_facts import SegmentFacts
    from kdump.formats.record import RecordChunk

    Read = Callable[[bytes | None, bytes | None], object]


_MESSAGES = {
    tree.METADATA_TOPIC: "cluster_metadata",
    "__remote_log_metadata": "remote_log_metadata",
    "__consumer_offsets": "consumer_offsets",
    "__transaction_state": "transaction_state",
    "__share_group_state": "share_group_state",
}
"""By topic, the module of `messages` that declares its records."""

_IN_FRAMES = ("cluster_metadata", "remote_log_metadata")


class InternalTopic(SegmentRule):
    """Reports records that the newest release known here cannot decode."""

    reads_records = True
    reads_contents = True
    reads_damaged = True

    def __init__(self, context: FileContext, facts: SegmentFacts) -> None:
        super().__init__(context, facts)
        self._read = _reader(context)

    @classmethod
    def is_wanted(cls, context: FileContext) -> bool:
        return super().is_wanted(context) and _reader(context) is not None

    def records(self, part: RecordChunk, status: str) -> None:
        keys, values, offsets = part.records["key"], part.records["value"], part.records["offset"]
        is_control, positions, sizes = (part.batches[name] for name in ("is_control", "position", "size"))
        read = self._read
        assert read is not None
        end_row = 0
        for batch, count in enumerate(part.counts):
            start_row, end_row = end_row, end_row + count
            if is_control[batch]:
                continue
            for row in range(start_row, end_row):
                try:
                    read(keys[row], values[row])
                except CorruptData as fault:
                    start, offset = positions[batch], offsets[row]
                    end = start + sizes[batch]
                    if self.context.counts_only("metadata-record-undecodable", start, end):
                        continue
                    message = f"The record at offset {offset:,} cannot be decoded: {fault.message}."
                    self.context.report("metadata-record-undecodable", start, end, message, offsets=(offset, offset))


RULES: tuple[type[SegmentRule], ...] = (InternalTopic,)


def _reader(context: FileContext) -> Read | None:
    """The decoder of the records in a file, by the name of its directory; None for topics of users."""
    module = _MESSAGES[tree.METADATA_TOPIC]
    if context.file_type != file_name.CHECKPOINT.removeprefix("."):
        name = tree.directory_name(parent(context.path))
        if name is None or name.topic not in _MESSAGES:
            return None
        module = _MESSAGES[name.topic]
    from kdump.decoders import coordinator, metadata  # most topics are users'

    records = __import__(f"kdump.messages.{module}", fromlist=["RECORDS"]).RECORDS

    def read(key: bytes | None, value: bytes | None) -> object:
        if module in _IN_FRAMES:
            return metadata.read(records, value, keeps_fields=False)
        if key is None:
            raise CorruptData("record-key-null", "the record has no key")
        return coordinator.read(records, key, value, keeps_value=False)

    return read
