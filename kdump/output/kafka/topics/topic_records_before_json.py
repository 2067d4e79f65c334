"""The decoders of offsets and transactions in releases that do not print JSON."""

from __future__ import annotations

from kdump.decoders import coordinator_before_json as before_json
from kdump.errors import CorruptData
from kdump.messages import kafka_json, schema, transaction_state
from kdump.output.kafka import reports
from kdump.output.kafka.topics import scala_order
from kdump.output.kafka.topics.record_decoder import RecordDecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdump.messages.schema import Value
    from kdump.output.kafka.topics.record_decoder import Content, Decode, KeyAndPayload
    from kdump.releases.decoder_words import DecoderWords
    from kdump.releases.profile import Profile

TOMBSTONE = "<DELETE>"
UNKNOWN_KEY = "unknown::version={version}"


def offsets(profile: Profile) -> RecordDecoder:
    """The decoder of __consumer_offsets."""
    from kdump.messages.consumer_offsets import RECORDS

    words = profile.decoder_words
    bounds_sizes = words.has_schema_exceptions or profile.schemas.bounds_sizes
    offset_value, group_value = profile.schemas.as_known(RECORDS[1][1]), RECORDS[2][1]
    if not words.allows_null_protocol:
        group_value = schema.without_nulls(group_value, "protocol", "leader")

    def decode(_offset: int, key: bytes | None, value: Content) -> KeyAndPayload:
        if value is None and not words.shows_tombstones:
            return None, None
        version, fields = _offsets_key(words, key, bounds_sizes=bounds_sizes)
        if fields is None:
            return UNKNOWN_KEY.format(version=version), None
        if version == before_json.GROUP_KEY_VERSION:
            key_text = words.group_key.format(**_with_json(words, fields))
            if value is None:
                return key_text, TOMBSTONE
            group = before_json.value_of(
                group_value, _had(value), words.last_group_version, before_json.GROUP_CODE, bounds_sizes=bounds_sizes
            )
            return key_text, words.group.format(**_group_texts(profile, fields | group))
        key_text = words.offset_key.format(**fields)
        if value is None:
            return key_text, TOMBSTONE
        offset = before_json.value_of(
            offset_value, _had(value), words.last_offset_version, before_json.OFFSET_CODE, bounds_sizes=bounds_sizes
        )
        text = words.offset_with_metadata if offset["metadata"] else words.offset
        return key_text, text.format(**offset)

    return RecordDecoder(_with_schema_errors(words, decode))


def _offsets_key(words: DecoderWords, key: bytes | None, *, bounds_sizes: bool) -> tuple[int, dict[str, Value] | None]:
    """The version of a key and its fields, or None if the version is unknown and the release continues after such keys."""
    from kdump.messages.consumer_offsets import RECORDS

    if key is None:
        raise CorruptData("offsets-key-null", "the record has no key")
    version, reader = before_json.versioned(key, bounds_sizes=bounds_sizes)
    if version in before_json.OFFSET_KEY_VERSIONS or version == before_json.GROUP_KEY_VERSION:
        return version, before_json.fields_of(RECORDS[version][0], reader, 0)
    if words.shows_unknown_keys:
        return version, None
    raise CorruptData("offsets-key-version-unknown", f"version {version} of the key is not known", version=version)


def transactions(profile: Profile) -> RecordDecoder:
    """The decoder of __transaction_state."""
    from kdump.messages.transaction_state import RECORDS

    words = profile.decoder_words
    bounds_sizes = words.has_schema_exceptions or profile.schemas.bounds_sizes
    key_message, value_message = RECORDS[0]
    value_message = profile.schemas.as_known(value_message)

    def decode(_offset: int, key: bytes | None, value: Content) -> KeyAndPayload:
        if key is None:
            raise CorruptData("transaction-log-key-null", "the record has no key")
        version, reader = before_json.versioned(key, bounds_sizes=bounds_sizes)
        if version != 0:
            if words.shows_unknown_keys:
                return UNKNOWN_KEY.format(version=version), None
            text = f"version {version} of the key is not known"
            raise CorruptData("transaction-log-key-version-unknown", text, version=version)
        fields = before_json.fields_of(key_message, reader, 0)
        if value is None:
            if words.shows_tombstones:
                return words.transaction_key.format(**fields), TOMBSTONE
            raise CorruptData("transaction-log-value-null", "the record has no value")
        transaction = before_json.value_of(
            value_message, _had(value), words.last_transaction_version, before_json.TRANSACTION_CODE, bounds_sizes=bounds_sizes
        )
        return words.transaction_key.format(**fields), words.transaction.format(**_transaction_texts(profile, transaction))

    return RecordDecoder(_with_schema_errors(words, decode))


def _had(value: bytes | CorruptData) -> bytes:
    """The value. Raises the fault if it could not be read."""
    if isinstance(value, CorruptData):
        raise value
    return value


def _with_schema_errors(words: DecoderWords, decode: Decode) -> Decode:
    """The decoder, with faults worded as SchemaException words them: the fields from the outermost in, then the reason."""

    def decode_or_raise(offset: int, key: bytes | None, value: Content) -> KeyAndPayload:
        try:
            return decode(offset, key, value)
        except CorruptData as fault:
            inner = fault.values.get("inner")
            part = fault.values.get("part")
            has_schema_exceptions = words.has_schema_exceptions if part is None else words.protocol_has_schema_exceptions
            if inner is not None and not has_schema_exceptions:
                if part == "user data":
                    raise CorruptData("user-data-past-end", fault.message, **inner.values) from fault
                if part is not None and inner.code == "message-underflow":
                    raise CorruptData("consumer-protocol-underflow", fault.message, part=part) from fault
                raise inner from fault
            if inner is not None:
                code = " ".join([inner.code, inner.values["type"]] if "type" in inner.values else [inner.code])
                text = words.schema_errors[code].format(**inner.values)
                for name in reversed(inner.values["fields"]):
                    text = f"Error reading field '{_name_of(name, fault.values['version'], words)}': {text}"
                fault.values["inner_message"] = text
            raise

    return decode_or_raise


def _name_of(field: str, version: int, words: DecoderWords) -> str:
    names = words.field_names
    return names.get(f"{field} {version}") or names.get(field) or _snake(field)


def _snake(name: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def _with_json(words: DecoderWords, fields: dict[str, Value]) -> dict[str, Value]:
    """The fields, with the JSON form of each string added."""
    json: dict[str, Value] = {}
    for name, value in fields.items():
        if value is None or isinstance(value, str):
            json[name + "_json"] = "null" if value is None else kafka_json.text(value) if words.escapes_json else f'"{value}"'
    return {name: "null" if value is None else value for name, value in fields.items()} | json


def _group_texts(profile: Profile, group: dict[str, Value]) -> dict[str, Value]:
    members = group["members"]
    assert isinstance(members, list)
    is_consumer = group["protocolType"] == "consumer"
    words = profile.decoder_words
    assignments: dict[str, bytes] = {}
    subscriptions: dict[str, bytes] = {}
    for member in members:
        assert isinstance(member, dict)
        member_id, data, subscription = member["memberId"], member["assignment"], member["subscription"]
        assert isinstance(member_id, str) and isinstance(data, bytes) and isinstance(subscription, bytes)
        assignments[member_id] = data
        subscriptions[member_id] = subscription
    _check_members(profile.decoder_words, group)
    if is_consumer and group["protocol"] is not None and profile.decoder_words.reads_subscriptions:
        for subscription in subscriptions.values():
            _check_subscription(profile, subscription)
    texts = []
    for member_id in reports.ordered(profile.report_order, list(assignments)):
        data = assignments[member_id]
        texts.append(f"{member_id}={_assignment_text(profile, data) if is_consumer else _hex(words, data)}")
    if not assignments and not words.empty_groups_have_protocol_type:
        group = group | {"protocolType": ""}
    return _with_json(words, group | {"members": "{" + ",".join(texts) + "}"})


def _check_members(words: DecoderWords, group: dict[str, Value]) -> None:
    """Raise CorruptData for members that a release does not accept in one group."""
    ids, instances, is_repeated = set(), set(), False
    members = group["members"]
    assert isinstance(members, list)
    for member in members:
        assert isinstance(member, dict)
        member_id, instance = member["memberId"], member["groupInstanceId"]
        assert isinstance(member_id, str) and (instance is None or isinstance(instance, str))
        if words.has_unique_instances and instance in instances:
            text = f"the instance {instance} stands in the group twice"
            raise CorruptData("group-instance-repeated", text, instance=instance, group=group["group"])
        if words.counts_members and is_repeated:
            raise CorruptData("group-member-repeated", "a member stands in the group twice, and others after it")
        is_repeated = is_repeated or member_id in ids
        ids.add(member_id)
        if instance is not None:
            instances.add(instance)


def _check_subscription(profile: Profile, data: bytes) -> None:
    """Raise CorruptData for a subscription that is cut off in a way that the tool does not expect."""
    try:
        before_json.check_subscription(data, bounds_sizes=profile.schemas.bounds_sizes)
    except CorruptData as fault:
        if fault.values["inner"].code != "message-underflow" or fault.values["part"] == "user data":
            raise


def _assignment_text(profile: Profile, data: bytes) -> str:
    words = profile.decoder_words
    partitions, user_data = before_json.assignment_of(data, bounds_sizes=profile.schemas.bounds_sizes)
    if user_data is None and not words.allows_null_user_data:
        raise CorruptData("assignment-user-data-null", "the assignment has no user data")
    text = ", ".join(f"{topic}-{partition}" for topic, partition in partitions)
    return f"[{text}]:{_hex(words, user_data)}" if user_data else f"[{text}]"


def _hex(words: DecoderWords, data: bytes) -> str:
    """Bytes as Kafka formats them: one hex number without leading zeros."""
    if data and not words.shows_bytes:
        raise CorruptData("bytes-not-shown", "the tool trips over bytes that it is to show")
    return f"{int.from_bytes(data, 'big'):X}" if data else ""


def _transaction_texts(profile: Profile, transaction: dict[str, Value]) -> dict[str, Value]:
    state = transaction["transactionStatus"]
    assert isinstance(state, int)
    if not 0 <= state <= profile.decoder_words.last_transaction_state:
        raise CorruptData("transaction-log-state-unknown", f"the transaction's state is {state}", state=state)
    feature_level = transaction.get("clientTransactionVersion", 0)
    assert isinstance(feature_level, int)
    if not 0 <= feature_level <= before_json.LAST_FEATURE_LEVEL:
        raise CorruptData("transaction-log-feature-unknown", f"the feature level is {feature_level}", level=feature_level)
    partitions = before_json.partitions_of(transaction, "transactionPartitions", "partitionIds") if state else []
    ordered = scala_order.ORDERS[profile.report_order](partitions)
    texts = [f"{topic}-{partition}" for topic, partition in ordered]
    return transaction | {"state": transaction_state.STATES[state], "partitions": profile.decoder_words.partitions_text(texts)}
