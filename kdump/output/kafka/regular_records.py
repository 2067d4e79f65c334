"""The JSON of regular records of internal topics: what it consists of, and functions that print it.

The functions are generated for each message and version. They print what the decoders in `topic_records` print, and raise one of
IRREGULAR for records that have to be left to those. The kernel in C gets layouts made of the same descriptions
(`native_messages`).
"""

from __future__ import annotations

from kdump.decoders import consumer_offsets, metadata
from kdump.messages import kafka_json
from kdump.messages.json_functions import IRREGULAR, Irregular, JsonFunctions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kdump.decoders.coordinator import Records
    from kdump.messages.layout import Contained
    from kdump.messages.schema import Message

__all__ = ["IRREGULAR", "TOMBSTONE", "RegularRecord", "RegularRecords", "coordinator_text", "metadata_text"]

TOMBSTONE = "<DELETE>"

_VERSION_SIZE = 2
_FRAME_SIZE = 3


class RegularRecord:
    """The messages of records of one type, and the texts before the key's message and before the version of the value.

    `key` is None if the key is not shown. `contained` are the messages in the values of consumer groups.
    """

    __slots__ = ("contained", "key", "key_start", "value", "value_start")

    def __init__(
        self,
        value: Message,
        value_start: str,
        *,
        key: Message | None = None,
        key_start: str = "",
        contained: Contained | None = None,
    ) -> None:
        self.key = key
        self.key_start = key_start
        self.value = value
        self.value_start = value_start
        self.contained = contained


class RegularRecords:
    """The records of a topic, by type, and the text between the version of a value and its message.

    `frame_version` is that of metadata records, None for records of coordinators.
    """

    __slots__ = ("after_version", "frame_version", "records")

    def __init__(self, records: dict[int, RegularRecord], after_version: str, frame_version: int | None = None) -> None:
        self.records = records
        self.after_version = after_version
        self.frame_version = frame_version

    @classmethod
    def of_coordinator(cls, records: Records, version_name: str, contained: Mapping[int, Contained]) -> RegularRecords:
        """The records of a coordinator; `contained` are messages in values, by the type of records."""
        return cls(
            {
                number: RegularRecord(
                    value,
                    f'{{"{version_name}":"',
                    key=key,
                    key_start=f'{{"type":"{number}","data":',
                    contained=contained.get(number),
                )
                for number, (key, value) in records.items()
            },
            '","data":',
        )

    @classmethod
    def of_metadata(cls, records: Mapping[int, Message], *, is_preview: bool) -> RegularRecords:
        """Metadata records."""
        return cls(
            {
                number: RegularRecord(message, f'{{"type":"{kafka_json.type_name(message)}","version":')
                for number, message in records.items()
            },
            ',"data":',
            metadata.PREVIEW_FRAME_VERSION if is_preview else metadata.FRAME_VERSION,
        )


def coordinator_text(known: RegularRecords) -> Callable[[bytes, bytes | None], tuple[str, str]]:
    """A function from the key and value of a record of a coordinator to their texts."""
    functions = {
        number: (record.key_start, JsonFunctions(record.key), record.value_start, _value_function(record))
        for number, record in known.records.items()
        if record.key is not None
    }
    after_version = known.after_version

    def texts(key: bytes, value: bytes | None) -> tuple[str, str]:
        key = bytes(key)  # it may be a bytearray, which is not hashable
        found = functions.get(key[0] << 8 | key[1])
        if found is None:
            raise Irregular
        key_start, key_json, value_start, value_json = found
        key_text = f"{key_start}{key_json.text(key, _VERSION_SIZE, 0)}}}"
        if value is None:
            return key_text, TOMBSTONE
        value = bytes(value)
        version = value[0] << 8 | value[1]
        return key_text, f"{value_start}{version}{after_version}{value_json(value, _VERSION_SIZE, version)}}}"

    return texts


def _value_function(record: RegularRecord) -> Callable[[bytes, int, int], str]:
    json = JsonFunctions(record.value)
    if record.contained is None:
        return json.text
    of_consumers = JsonFunctions(record.value, record.contained)

    def text(value: bytes, at: int, version: int) -> str:
        group = json.text(value, at, version)
        return of_consumers.text(value, at, version) if group.startswith(_CONSUMERS) else group

    return text


_CONSUMERS = f'{{"protocolType":{kafka_json.text(consumer_offsets.CONSUMERS)},'


def metadata_text(known: RegularRecords) -> Callable[[bytes], str]:
    """A function from the value of a metadata record to its text."""
    functions = {number: (record.value_start, JsonFunctions(record.value)) for number, record in known.records.items()}
    frame_version, after_version = known.frame_version, known.after_version
    may_have_more = frame_version == metadata.PREVIEW_FRAME_VERSION

    def text(value: bytes) -> str:
        value = bytes(value)  # it may be a bytearray, which is not hashable
        frame, number, version = value[0], value[1], value[2]  # larger numbers than one byte holds are not known
        found = functions.get(number)
        if frame != frame_version or found is None:
            raise Irregular
        start, json = found
        data, end = json.at(version)(value, _FRAME_SIZE)
        if end > len(value) or end < len(value) and not may_have_more:
            raise Irregular
        return f"{start}{version}{after_version}{data}}}"

    return text
