"""The topic id of a partition as a broker reads it when the log is loaded. Kafka: PartitionMetadataFile."""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.forecasts.exceptions import ILLEGAL_ARGUMENT, NULL_POINTER, BrokerException, StorageFailure
from kdump.formats import partition_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.forecasts.directory import Directory
    from kdump.releases.broker_startup import StartRules

_NAME = partition_metadata.NAME
_ENDING = {"metadata-empty": NULL_POINTER, "metadata-id-malformed": ILLEGAL_ARGUMENT}
"""The exceptions that end a start, by the code of the fault; all others take the log directory offline."""


def topic_id(directory: Directory, rules: StartRules) -> bytes | None:
    """The id, or None if there is no file. Raises StorageFailure or BrokerException if the file is malformed."""
    file = directory.files.get(_NAME)
    if file is None:
        return None
    try:
        lines = partition_metadata.lines_of(directory.read(file, 0, partition_metadata.MAX_SIZE))
        version = partition_metadata.version_in(lines)
        if version and not rules.takes_newer_metadata:
            raise StorageFailure(f"{_NAME} has version {version}")
        return partition_metadata.topic_id_in(lines)
    except CorruptData as fault:
        reason = fault.message.replace("the file", _NAME)
        if fault.code in _ENDING:
            raise BrokerException(reason, _ENDING[fault.code]) from None
        raise StorageFailure(reason) from None
