"""The validation of remote log segment metadata by tiered storage.

Kafka: RemoteLogSegmentMetadata, RemoteLogSegmentMetadataUpdate, RemotePartitionDeleteMetadata (KIP-405).
"""

from __future__ import annotations

from kdump.errors import CorruptData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.decoders.metadata import MetadataRecord
    from kdump.messages.schema import Value

SEGMENT, SEGMENT_UPDATE, PARTITION_DELETE, SEGMENT_SNAPSHOT = range(4)

SEGMENT_STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
PARTITION_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


def check(record: MetadataRecord) -> None:
    """Raise CorruptData if Kafka does not accept the record.

    Codes: `remote-start-offset-negative`, `remote-end-offset-too-small`, `remote-epochs-empty`, `remote-state-unknown`,
    `remote-partition-state-unknown`.
    """
    fields = record.fields
    if record.id == SEGMENT:  # Kafka creates the segment first, and then updates its state
        _check_offsets(fields)
        _check_epochs(fields)
    name, states = state_of(record.id)
    state = fields[name]
    assert isinstance(state, int)
    if not 0 <= state < len(states):
        code = "remote-partition-state-unknown" if record.id == PARTITION_DELETE else "remote-state-unknown"
        raise CorruptData(code, f"{name} is {state}", state=state)
    if record.id == SEGMENT_SNAPSHOT:
        _check_epochs(fields)


def state_of(record_id: int) -> tuple[str, tuple[str, ...]]:
    """The field that holds the state in records with this id, and the names of the states."""
    if record_id == PARTITION_DELETE:
        return "remotePartitionDeleteState", PARTITION_STATES
    return "remoteLogSegmentState", SEGMENT_STATES


def _check_offsets(fields: dict[str, Value]) -> None:
    start, end = fields["startOffset"], fields["endOffset"]
    assert isinstance(start, int) and isinstance(end, int)
    if start < 0:
        raise CorruptData("remote-start-offset-negative", f"the segment starts at offset {start}", start_offset=start)
    if end < start:
        text = f"the segment ends at offset {end}, before it starts, at {start}"
        raise CorruptData("remote-end-offset-too-small", text, start_offset=start, end_offset=end)


def _check_epochs(fields: dict[str, Value]) -> None:
    if not fields["segmentLeaderEpochs"]:
        raise CorruptData("remote-epochs-empty", "the segment has no leader epochs")
