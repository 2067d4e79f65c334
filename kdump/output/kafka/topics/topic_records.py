"""What the decoders of Kafka's internal topics print: keys and payloads of whole records."""

from __future__ import annotations

from kdump.errors import CorruptData
from kdump.messages import kafka_json
from kdump.output.kafka.topics.record_decoder import RecordDecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kdump.decoders.coordinator import CoordinatorRecord, Records
    from kdump.messages.schema import Message, Value
    from kdump.output.kafka.topics.record_decoder import Content, KeyAndPayload
    from kdump.output.kafka.topics.regular_records import Contained
    from kdump.releases.profile import Profile
    from kdump.releases.schemas import KnownSchemas

_NULL_CODE = "record-key-null"
_SHARE_NULL_CODE = "share-key-null"


def decoder_of(profile: Profile, option: str) -> RecordDecoder:
    """The decoder that an option of Kafka's tool asks for, in the words of a release.

    It raises CorruptData where the tool ends with an exception.
    """
    return _DECODERS[option](profile)


def _offsets(profile: Profile) -> RecordDecoder:
    from kdump.decoders import consumer_offsets
    from kdump.messages.consumer_offsets import EARLIER_RECORDS, RECORDS

    if not profile.decoder_words.offsets_are_json:
        from kdump.output.kafka.topics import topic_records_before_json

        return topic_records_before_json.offsets(profile)

    def value_of(record: CoordinatorRecord) -> dict[str, Value]:
        assert record.value is not None
        is_group = record.type == consumer_offsets.GROUP_METADATA
        return consumer_offsets.with_protocol_as_json(record.value) if is_group else record.value

    schemas = profile.schemas
    records = schemas.coordinator(RECORDS, EARLIER_RECORDS)
    known = {record_type: records[record_type] for record_type in schemas.offsets_record_types}
    if schemas.shares_offset_value:
        known[0] = (known[0][0], known[1][1])
    contained = {consumer_offsets.GROUP_METADATA: consumer_offsets.PROTOCOL}
    return _coordinator(profile, known, value_of, contained=contained)


def _transactions(profile: Profile) -> RecordDecoder:
    from kdump.messages.transaction_state import RECORDS

    if not profile.decoder_words.transactions_are_json:
        from kdump.output.kafka.topics import topic_records_before_json

        return topic_records_before_json.transactions(profile)
    return _coordinator(profile, profile.schemas.coordinator(RECORDS))


def _share_groups(profile: Profile) -> RecordDecoder:
    from kdump.messages.share_group_state import EARLIER_RECORDS, RECORDS

    version_name = "type" if profile.decoder_words.shares_have_type else "version"
    known = profile.schemas.coordinator(RECORDS, EARLIER_RECORDS)
    return _coordinator(profile, known, version_name=version_name, null_code=_SHARE_NULL_CODE)


def _value_of(record: CoordinatorRecord) -> dict[str, Value]:
    assert record.value is not None
    return record.value


def _coordinator(
    profile: Profile,
    records: Records,
    value_of: Callable[[CoordinatorRecord], dict[str, Value]] = _value_of,
    *,
    contained: Mapping[int, Contained] | None = None,
    version_name: str = "version",
    null_code: str = _NULL_CODE,
) -> RecordDecoder:
    """A decoder of the records of a coordinator, as JSON."""
    from kdump.decoders import coordinator
    from kdump.output.kafka.topics import regular_records

    words = profile.decoder_words
    known = regular_records.RegularRecords.of_coordinator(records, version_name, contained or {})

    def decode(offset: int, key: bytes | None, value: Content) -> KeyAndPayload:
        try:
            if key is None:
                raise CorruptData(null_code, "the record has no key")
            if isinstance(value, CorruptData):
                raise CorruptData("record-value-past-end", value.message, **value.values)
            record = coordinator.read(records, key, value, checks_version=words.checks_record_version)
        except CorruptData as fault:
            return _message_of(profile, fault, offset), None
        key_text = f'{{"type":"{record.type}","data":{kafka_json.dumps(record.key_message, record.key, 0)}}}'
        if record.value is None:
            return key_text, regular_records.TOMBSTONE
        data = kafka_json.dumps(record.value_message, value_of(record), record.version)
        return key_text, f'{{"{version_name}":"{record.version}","data":{data}}}'

    return RecordDecoder(decode, known)


def _cluster_metadata(profile: Profile) -> RecordDecoder:
    from kdump.decoders import metadata
    from kdump.output.kafka.topics import regular_records

    known = _known_metadata(profile.schemas)
    bounds_sizes = profile.schemas.bounds_sizes
    is_preview = profile.schemas.metadata_is_preview
    read = metadata.read_preview if is_preview else metadata.read
    known_regular = regular_records.RegularRecords.of_metadata(known, is_preview=is_preview)

    def decode(offset: int, _key: bytes | None, value: Content) -> KeyAndPayload:
        if isinstance(value, CorruptData):
            raise value
        try:
            record = read(known, value, bounds_sizes=bounds_sizes)
        except CorruptData as fault:
            return None, f"Error at {offset}, skipping. {_message_of(profile, fault, offset)}"
        data = kafka_json.dumps(record.message, record.fields, record.version)
        return None, f'{{"type":"{kafka_json.type_name(record.message)}","version":{record.version},"data":{data}}}'

    return RecordDecoder(decode, known_regular)


def _known_metadata(schemas: KnownSchemas) -> Mapping[int, Message]:
    if schemas.metadata_is_preview:
        from kdump.messages import cluster_metadata_preview

        return cluster_metadata_preview.RECORDS
    from kdump.messages.cluster_metadata import EARLIER_RECORDS, RECORDS

    return schemas.metadata(RECORDS, EARLIER_RECORDS)


def _remote_log_metadata(profile: Profile) -> RecordDecoder:
    from kdump.decoders import metadata, remote_log_metadata
    from kdump.messages.remote_log_metadata import RECORDS
    from kdump.output.kafka.topics import regular_texts
    from kdump.output.kafka.topics import remote_log_metadata as texts

    known = profile.schemas.metadata(RECORDS)
    known_regular = regular_texts.remote_metadata(known, texts.TEXTS)

    def decode(offset: int, _key: bytes | None, value: Content) -> KeyAndPayload:
        if isinstance(value, CorruptData):
            fault = CorruptData("record-value-past-end", value.message, **value.values)
            return None, _message_of(profile, fault, offset)
        try:
            if value is None:
                raise CorruptData("remote-value-null", "the record has no value")
            record = metadata.read(known, value)
            remote_log_metadata.check(record)
        except CorruptData as fault:
            return None, f"Error at offset {offset}, skipping. {_message_of(profile, fault, offset)}"
        return None, texts.text_of(record)

    return RecordDecoder(decode, known_regular)


def _message_of(profile: Profile, fault: CorruptData, offset: int) -> str:
    """What a release says of a fault in a record. Raises the fault where it is an exception."""
    fault.values["offset"] = offset
    inner = fault.values.get("inner")
    if inner is not None:
        inner_words = profile.words(inner.code)
        fault.values["inner_message"] = "null" if inner_words.message is None else inner_words.message.format(**inner.values)
    words = profile.words(fault.code)
    if words.exception or words.message is None:
        raise fault
    return words.message.format(**fault.values)


_DECODERS: dict[str, Callable[[Profile], RecordDecoder]] = {
    "offsets-decoder": _offsets,
    "transaction-log-decoder": _transactions,
    "cluster-metadata-decoder": _cluster_metadata,
    "remote-log-metadata-decoder": _remote_log_metadata,
    "share-group-state-decoder": _share_groups,
}
"""By the option that asks for it."""
