"""The text of regular records of internal topics, described for the kernel in C (`native_messages`).

It prints what the decoders in `topic_records` print, and leaves to them what is not regular.
"""

from __future__ import annotations

from kdump.decoders import metadata
from kdump.messages import kafka_json
from kdump.tables import Declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.decoders.coordinator import Records
    from kdump.messages.schema import Message
    from kdump.output.kafka.topics.message_words import Words

    Contained = Mapping[str, Message]
    """Messages in fields of type bytes, by the names of the fields."""

TOMBSTONE = "<DELETE>"


class RegularRecord(Declared):
    """The messages of records of one type, and the texts before the key's message and before the version of the value.

    `key` is None if the key is not shown. `contained` are the messages in the values of consumer groups. Where values are not
    shown as JSON, `value_words` say how.
    """

    value: Message
    value_start: str
    key: Message | None = None
    key_start: str = ""
    contained: Contained | None = None
    value_words: Words | None = None


class RegularRecords(Declared):
    """The records of a topic, by type, and the text between the version of a value and its message.

    `frame_version` is that of metadata records, None for records of coordinators.
    """

    records: dict[int, RegularRecord]
    after_version: str
    frame_version: int | None = None

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
