"""Records of Kafka's internal topics: whether they can be read by their schemas."""

from __future__ import annotations

import os

from kdump.checks.rules.rule import SegmentRule
from kdump.decoders import coordinator, metadata
from kdump.errors import CorruptData
from kdump.formats import file_name, tree
from kdump.messages import cluster_metadata, consumer_offsets, remote_log_metadata, share_group_state, transaction_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.checks.context import FileContext
    from kdump.checks.segment import SegmentFacts
    from kdump.formats.record import RecordChunk

    Read = Callable[[bytes | None, bytes | None], object]


def _metadata(_key: bytes | None, value: bytes | None) -> object:
    return metadata.read(cluster_metadata.RECORDS, value)


def _remote_log_metadata(_key: bytes | None, value: bytes | None) -> object:
    return metadata.read(remote_log_metadata.RECORDS, value)


def _of_coordinator(records: coordinator.Records) -> Read:
    def read(key: bytes | None, value: bytes | None) -> object:
        if key is None:
            raise CorruptData("record-key-null", "the record has no key")
        return coordinator.read(records, key, value)

    return read


_READERS: dict[str, Read] = {
    tree.METADATA_TOPIC: _metadata,
    "__remote_log_metadata": _remote_log_metadata,
    "__consumer_offsets": _of_coordinator(consumer_offsets.RECORDS),
    "__transaction_state": _of_coordinator(transaction_state.RECORDS),
    "__share_group_state": _of_coordinator(share_group_state.RECORDS),
}


class InternalTopic(SegmentRule):
    """Each record is one that the newest release known here can read."""

    reads_records = True

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
                    message = f"The record at offset {offset:,} cannot be decoded: {fault.message}."
                    end = start + sizes[batch]
                    self.context.report("metadata-record-undecodable", start, end, message, offsets=(offset, offset))


RULES: tuple[type[SegmentRule], ...] = (InternalTopic,)


def _reader(context: FileContext) -> Read | None:
    """What reads the records of a file, by the directory it stands in; None for topics of users."""
    if context.file_type == file_name.CHECKPOINT.removeprefix("."):
        return _metadata
    name = tree.directory_name(os.path.dirname(os.path.abspath(context.path)))
    return None if name is None else _READERS.get(name.topic)
