"""Regular records of the topic of tiered storage, which are shown as text, not as JSON.

The kernel in C shows them (`native_messages`). The reference makes the same text in Python: `remote_log_metadata`. It also prints
what is not regular: what Kafka does not accept, what comes twice, what is malformed.
"""

from __future__ import annotations

from string import Formatter

from kdump.decoders import metadata, remote_log_metadata
from kdump.output.kafka.topics.message_words import Piece, Words
from kdump.output.kafka.topics.regular_records import RegularRecord, RegularRecords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kdump.messages.schema import Message


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
