"""The text of regular records of internal topics: what it consists of, and functions that print it.

The functions are generated for each message and version. They print what the decoders in `topic_records` print, and raise one of
IRREGULAR for records that have to be left to those. The kernel in C gets layouts made of the same descriptions
(`native_messages`).
"""

from __future__ import annotations

from functools import lru_cache

from kdump.decoders import consumer_offsets, metadata
from kdump.messages import kafka_json
from kdump.messages.generated import IRREGULAR, Irregular
from kdump.messages.json_functions import JsonFunctions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kdump.decoders.coordinator import Records
    from kdump.messages.generated import TextFunction
    from kdump.messages.layout import Contained
    from kdump.messages.schema import Message
    from kdump.output.kafka.message_words import Words

__all__ = ["IRREGULAR", "TOMBSTONE", "RegularRecord", "RegularRecords", "coordinator_text", "metadata_text"]

TOMBSTONE = "<DELETE>"

_VERSION_SIZE = 2
_FRAME_SIZE = 3
_CACHED_KEYS = 4096  # those of a coordinator return with each new value
_CACHED_KEY_SIZE = 128  # bytes


class RegularRecord:
    """The messages of records of one type, and the texts before the key's message and before the version of the value.

    `key` is None if the key is not shown. `contained` are the messages in the values of consumer groups. Where messages are not
    shown as JSON, `key_words` and `value_words` say how. Values of versions after `last_version` are not regular.
    """

    __slots__ = ("contained", "key", "key_start", "key_words", "last_version", "value", "value_start", "value_words")

    def __init__(
        self,
        value: Message,
        value_start: str,
        *,
        key: Message | None = None,
        key_start: str = "",
        contained: Contained | None = None,
        key_words: Words | None = None,
        value_words: Words | None = None,
        last_version: int | None = None,
    ) -> None:
        self.key = key
        self.key_start = key_start
        self.value = value
        self.value_start = value_start
        self.contained = contained
        self.key_words = key_words
        self.value_words = value_words
        self.last_version = value.last_version if last_version is None else min(last_version, value.last_version)


class RegularRecords:
    """The records of a topic, by type, and the text between the version of a value and its message.

    `frame_version` is that of metadata records, None for records of coordinators. `tombstones` says what is done with records
    without value, by the name that the kernel in C has for it.
    """

    __slots__ = ("after_version", "frame_version", "records", "tombstones")

    def __init__(
        self,
        records: dict[int, RegularRecord],
        after_version: str,
        frame_version: int | None = None,
        *,
        tombstones: str = "TOMBSTONES_SHOWN",
    ) -> None:
        self.records = records
        self.after_version = after_version
        self.frame_version = frame_version
        self.tombstones = tombstones

    @property
    def is_text(self) -> bool:
        """Whether the records are shown by their words, not as JSON."""
        return any(record.value_words is not None for record in self.records.values())

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
    keys = {number: JsonFunctions(record.key) for number, record in known.records.items() if record.key is not None}
    values = {number: _Values(record, known.after_version) for number, record in known.records.items()}

    def key_text(key: bytes) -> tuple[str, _Values]:
        number = key[0] << 8 | key[1]
        functions = keys.get(number)
        if functions is None:
            raise Irregular
        return f"{known.records[number].key_start}{functions.text(key, _VERSION_SIZE, 0)}}}", values[number]

    short_key_text = lru_cache(_CACHED_KEYS)(key_text)

    def texts(key: bytes, value: bytes | None) -> tuple[str, str]:
        key = bytes(key)  # it may be a bytearray, which is not hashable
        shown, functions = short_key_text(key) if len(key) <= _CACHED_KEY_SIZE else key_text(key)
        if value is None:
            return shown, TOMBSTONE
        value = bytes(value)
        start, function = functions[value[:_VERSION_SIZE]]
        data, end = function(value, _VERSION_SIZE)
        if end > len(value):
            raise Irregular
        return shown, f"{start}{data}}}"

    return texts


class _Values(dict[bytes, "tuple[str, TextFunction]"]):
    """What prints the values of one type: by their first bytes, the text before the message and the function of its version."""

    def __init__(self, record: RegularRecord, after_version: str) -> None:
        self._record = record
        self._after_version = after_version

    def __missing__(self, start: bytes) -> tuple[str, TextFunction]:
        """As for `JsonFunctions.at`. Raises IndexError if there is no version."""
        version = start[0] << 8 | start[1]
        record = self._record
        function = JsonFunctions(record.value).at(version)
        if record.contained is not None:
            function = _of_consumers(function, JsonFunctions(record.value, record.contained).at(version))
        found = self[start] = f"{record.value_start}{version}{self._after_version}", function
        return found


def _of_consumers(plain: TextFunction, with_contained: TextFunction) -> TextFunction:
    """The values of groups: contained messages are known of consumers only."""

    def function(value: bytes, at: int) -> tuple[str, int]:
        group, end = plain(value, at)
        return with_contained(value, at) if group.startswith(_CONSUMERS) else (group, end)

    return function


_CONSUMERS = f'{{"protocolType":{kafka_json.text(consumer_offsets.CONSUMERS)},'


def metadata_text(known: RegularRecords) -> Callable[[bytes], str]:
    """A function from the value of a metadata record to its text."""
    by_frame: dict[bytes, tuple[str, TextFunction]] = {}
    may_have_more = known.frame_version == metadata.PREVIEW_FRAME_VERSION

    def function_of(start: bytes) -> tuple[str, TextFunction]:
        if len(start) < _FRAME_SIZE:
            raise Irregular
        frame, number, version = start  # larger numbers than one byte holds are not known
        record = known.records.get(number)
        if frame != known.frame_version or record is None or version > record.last_version:
            raise Irregular
        if record.value_words is None:
            found = f"{record.value_start}{version}{known.after_version}", JsonFunctions(record.value).at(version)
        else:
            from kdump.output.kafka.words_functions import words_function

            found = "", words_function(record.value, version, record.value_words)
        by_frame[start] = found
        return found

    def text(value: bytes) -> str:
        if type(value) is not bytes:
            value = bytes(value)  # a bytearray is not hashable
        frame = value[:_FRAME_SIZE]
        start, function = by_frame.get(frame) or function_of(frame)
        data, end = function(value, _FRAME_SIZE)
        if end > len(value) or end < len(value) and not may_have_more:
            raise Irregular
        return f"{start}{data}}}" if start else data  # what is shown as text has no start

    return text
