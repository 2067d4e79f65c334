"""Regular records of internal topics that are shown as text, not as JSON: before there was JSON, and of tiered storage.

The kernel in C shows them (`native_messages`). The reference makes the same text in Python: `topic_records_before_json` and
`remote_log_metadata`. It also prints what is not regular: what Kafka does not accept, what comes twice, what is malformed.
"""

from __future__ import annotations

from string import Formatter

from kdump.decoders import coordinator_before_json as before_json
from kdump.decoders import metadata, remote_log_metadata
from kdump.output.kafka.message_words import Piece, Words
from kdump.output.kafka.regular_records import RegularRecord, RegularRecords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kdump.messages.schema import Message
    from kdump.releases.decoder_words import DecoderWords
    from kdump.releases.profile import Profile


def offsets(profile: Profile, offset: Message, group: Message) -> RegularRecords:
    """The records of __consumer_offsets, given their values as a release knows them."""
    from kdump.messages.consumer_offsets import RECORDS

    words = profile.decoder_words
    with_metadata = words.offset_with_metadata.removeprefix(words.offset)
    before, _, _ = with_metadata.partition("{")
    metadata = Piece("SHOW_IF_ANY", "metadata", texts=(before,))
    offset_words = Words([*_pieces(words.offset), metadata])
    keys = _json_pieces(words, "group")
    records = {
        version: RegularRecord(
            offset,
            "",
            key=RECORDS[version][0],
            key_words=Words(_pieces(words.offset_key)),
            value_words=offset_words,
            last_version=words.last_offset_version,
        )
        for version in before_json.OFFSET_KEY_VERSIONS
    }
    records[before_json.GROUP_KEY_VERSION] = RegularRecord(
        group,
        "",
        key=RECORDS[before_json.GROUP_KEY_VERSION][0],
        key_words=Words(_pieces(words.group_key, keys)),
        value_words=Words(_pieces(words.group, _group_pieces(profile))),
        last_version=words.last_group_version,
    )
    return RegularRecords(records, "", tombstones="TOMBSTONES_SHOWN" if words.shows_tombstones else "TOMBSTONES_HIDDEN")


def transactions(profile: Profile, transaction: Message) -> RegularRecords:
    """The records of __transaction_state, given their value as a release knows it."""
    from kdump.messages.transaction_state import RECORDS, STATES

    words = profile.decoder_words
    pieces = {
        "state": Piece("SHOW_NAME", "transactionStatus", texts=STATES[: words.last_transaction_state + 1]),
        "partitions": Piece(
            "SHOW_PARTITIONS",
            "transactionPartitions",
            other="transactionStatus",
            number=(_ORDERS[profile.report_order],),
            element=("topic", "partitionIds"),
            texts=words.partitions,
        ),
    }
    feature = Piece("SHOW_NAME", "clientTransactionVersion", texts=[""] * (before_json.LAST_FEATURE_LEVEL + 1))
    record = RegularRecord(
        transaction,
        "",
        key=RECORDS[0][0],
        key_words=Words(_pieces(words.transaction_key)),
        value_words=Words([feature, *_pieces(words.transaction, pieces)]),
        last_version=words.last_transaction_version,
    )
    return RegularRecords({0: record}, "", tombstones="TOMBSTONES_SHOWN" if words.shows_tombstones else "TOMBSTONES_LEFT")


def remote_metadata(records: Mapping[int, Message], texts: Mapping[int, str]) -> RegularRecords:
    """The records of __remote_log_metadata, given those that a release knows, and their text."""
    known = {}
    for number, message in records.items():
        pieces = [*_remote_checks(number), *_pieces(texts[number], _remote_pieces(number))]
        known[number] = RegularRecord(message, "", value_words=Words(pieces, _REMOTE_STRUCTS))
    return RegularRecords(known, "", metadata.FRAME_VERSION)


def _pieces(template: str, pieces: Mapping[str, Piece] | None = None) -> list[Piece]:
    """The pieces of a text with `{names}` in it. A name stands for its piece, or else for the value of the field of that name."""
    found = []
    for literal, name, _, _ in Formatter().parse(template):
        if name is None:
            found.append(Piece("SHOW_NOTHING", literal=literal))
            continue
        piece = (pieces or {}).get(name) or Piece("SHOW_VALUE", name)
        if literal:
            found.append(Piece("SHOW_NOTHING", literal=literal))
        found.append(piece)
    return found


def _json_pieces(words: DecoderWords, *names: str) -> dict[str, Piece]:
    """The pieces of texts that are shown in quotes."""
    return {f"{name}_json": Piece("SHOW_ESCAPED" if words.escapes_json else "SHOW_QUOTED", name) for name in names}


def _group_pieces(profile: Profile) -> dict[str, Piece]:
    words = profile.decoder_words
    flags = {
        "READS_SUBSCRIPTIONS": words.reads_subscriptions,
        "HAS_UNIQUE_INSTANCES": words.has_unique_instances,
        "ALLOWS_NULL_USER_DATA": words.allows_null_user_data,
        "SHOWS_MEMBER_BYTES": words.shows_bytes,
        "ALLOWS_NO_MEMBERS": words.empty_groups_have_protocol_type,
        "MEMBERS_AS_2_13": _ORDERS[profile.report_order] == "SCALA_2_13",
    }
    numbers = [name for name, is_set in flags.items() if is_set]
    escaped = [*numbers, "ESCAPES_MEMBERS"] if words.escapes_json else numbers
    return {
        "members": _members(numbers, ("{", "}")),
        "members_json": _members(escaped, ('"{', '}"')),
        **_json_pieces(words, "protocolType", "protocol"),
    }


def _members(numbers: Sequence[str], texts: tuple[str, str]) -> Piece:
    element = ("memberId", "groupInstanceId", "subscription", "assignment")
    return Piece("SHOW_MEMBERS", "members", other="protocol", number=numbers, element=element, texts=texts)


def _remote_checks(number: int) -> list[Piece]:
    if number != remote_log_metadata.SEGMENT:
        return []
    return [Piece("EXPECT_LEAST", "startOffset", number=0), Piece("EXPECT_ORDER", "endOffset", other="startOffset")]


def _remote_pieces(number: int) -> dict[str, Piece]:
    name, states = remote_log_metadata.state_of(number)
    return {
        "state": Piece("SHOW_NAME", name, texts=states),
        "segmentLeaderEpochs": Piece("SHOW_EPOCHS", "segmentLeaderEpochs", element=("leaderEpoch", "offset")),
        "customMetadata": Piece("SHOW_SIZE", "customMetadata", texts=("Optional.empty", "Optional[CustomMetadata{", " bytes}]")),
        "txnIndexEmpty": Piece("SHOW_VALUE", "txnIndexEmpty", literal=", txnIdxEmpty="),
    }


_PARTITION = Words(_pieces("{id}:{name}-{partition}"))
_SEGMENT_ID = Words(
    _pieces("RemoteLogSegmentId{{topicIdPartition={topicIdPartition}, id={id}}}"), {"topicIdPartition": _PARTITION}
)
_REMOTE_STRUCTS = {"topicIdPartition": _PARTITION, "remoteLogSegmentId": _SEGMENT_ID}
_ORDERS = {"scala-2.11": "SCALA_2_11", "scala-2.13": "SCALA_2_13"}
