"""Reads a log as a sequence of messages (magic 0 and 1), as Kafka did before 0.11; wrappers are opened on request."""

from __future__ import annotations

from kdump.binary import codecs
from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import LOG_OVERHEAD, MIN_RECORD_OVERHEAD, TIMESTAMP_TYPE_BIT, batch_length, batch_offset
from kdump.binary.source import WINDOW_SIZE
from kdump.errors import CorruptData
from kdump.formats.message_set import Message
from kdump.formats.message_set import messages_in as inner_messages
from kdump.formats.record_batch import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.binary.source import Source
    from kdump.releases.message_rules import MessageRules

    Payload = codecs.Payload | codecs.LongPayload

MAX_INT = 0x7FFFFFFF

_HEAP = 250 << 20  # what a message may take of the 256 MiB that Kafka's launcher gives the tool
_READING_FAILS = (
    "wrapper-frame-block-size",
    "wrapper-frame-checksum-mismatch",
    "wrapper-frame-damaged",
    "wrapper-frame-truncated",
)


class Placed:
    """A message with its effective timestamp: its own, or its wrapper's."""

    def __init__(self, message: Message, wrapper: Message | None, rules: MessageRules) -> None:
        self.message = message
        decides = message if wrapper is None or not wrapper.magic and not rules.wrappers_give_timestamp_type else wrapper
        self.timestamp_type = _timestamp_type(decides) if message.magic and decides.magic else NO_TIMESTAMP_TYPE
        takes_over = decides is wrapper and self.timestamp_type == LOG_APPEND_TIME
        self.timestamp = wrapper.timestamp if wrapper is not None and takes_over else message.timestamp


def _timestamp_type(message: Message) -> str:
    return LOG_APPEND_TIME if message.data[5] & TIMESTAMP_TYPE_BIT else CREATE_TIME


class MessageLog:
    """The messages and wrappers of a log from `start` on, or of a slice of this `size`.

    `position` is after the last one read.

    Kafka: FileMessageSet (up to 0.10.1), FileLogInputStream (0.10.2).
    """

    def __init__(
        self,
        source: Source,
        rules: MessageRules,
        start: int = 0,
        size: int | None = None,
        *,
        max_message_size: int = MAX_INT,
        window_size: int = WINDOW_SIZE,
    ) -> None:
        self.source = source
        self.position = start
        self._rules = rules
        self._end = source.size
        if size is not None and rules.ends != "file":
            self._end = min(start + size, source.size)
        elif not rules.checks_size_first:
            self._end = MAX_INT  # the file ends when it is read
        self._max_message_size = max_message_size
        self._window, self._window_start = b"", start
        self._window_size = window_size

    def messages(self) -> Iterator[tuple[int, Message]]:
        """Positions and messages, up to the end or to the first impossible message.

        Raises CorruptData with the codes `record-size-too-small`, `message-too-large` or `decompression-limit`.
        """
        while True:
            size = self._next_size()
            if size is None:
                return
            position = self.position
            if size > _HEAP:
                raise self._fault("decompression-limit", f"a message of {size} bytes is too large to read", size)
            head = self._bytes(position, LOG_OVERHEAD + size)
            if len(head) < LOG_OVERHEAD + size:
                return
            self.position += len(head)
            yield position, self._rules.message(batch_offset(head), head[LOG_OVERHEAD:])

    def _next_size(self) -> int | None:
        """The size of the message at `position`; None where the log ends."""
        ends, position = self._rules.ends, self.position
        if ends == "message" and position >= self._end or ends == "overhead" and self._end <= position + LOG_OVERHEAD <= MAX_INT:
            return None
        if position > MAX_INT - LOG_OVERHEAD and self._rules.checks_size_first:
            raise self._fault("log-header-cut", "a position past the log", 0)
        head = self._bytes(position, LOG_OVERHEAD)
        if len(head) < LOG_OVERHEAD:
            return None
        size = batch_length(head)
        if size < MIN_RECORD_OVERHEAD:
            if self._rules.checks_size_first:
                raise self._fault("record-size-too-small", f"a message says it is {size} bytes long", size)
            return None
        reaches_past_end = ends == "overhead" and self._end < position + LOG_OVERHEAD + size <= MAX_INT
        if reaches_past_end and not self._rules.checks_size_first:
            return None
        if size > self._max_message_size:
            raise self._fault("message-too-large", f"a message says it is {size} bytes long", size)
        return None if reaches_past_end else size

    def _bytes(self, position: int, count: int) -> bytes:
        start = position - self._window_start
        if start + count > len(self._window):
            self._window, self._window_start = self.source.read(position, max(count, self._window_size)), position
            start = 0
        return self._window[start : start + count]

    def _fault(self, code: str, message: str, size: int) -> CorruptData:
        return CorruptData(
            code,
            message,
            path=self.source.path,
            position=self.position,
            size=size,
            minimum=MIN_RECORD_OVERHEAD,
            maximum=self._max_message_size,
        )


def messages_in(message: Message, rules: MessageRules) -> Iterator[Placed]:
    """The message itself, or the readable messages in it if it is a wrapper.

    Raises CorruptData with the codes of `codecs.decompress`, after `wrapper-` for what damages a stream already open,
    and with `codec-unknown`, `inner-message-size-too-small` and the codes `legacy-wrapper-...`.
    """
    codec = rules.codec_of(message)
    if not codec:
        return iter((Placed(message, None, rules),))
    if rules.unwraps == "whole":
        return _opened_whole(message, rules)
    is_lazy = rules.unwraps == "lazily" or rules.unwraps == "by magic" and message.magic <= 0
    return _opened_lazily(message, rules) if is_lazy else _opened_eagerly(message, rules)


def _opened_whole(wrapper: Message, rules: MessageRules) -> Iterator[Placed]:
    payload = _payload_of(wrapper, rules)
    if payload.error is not None:
        raise _wrapped(payload.error)
    for message in _walk(payload, rules):
        yield from messages_in(message, rules)


def _opened_lazily(wrapper: Message, rules: MessageRules) -> Iterator[Placed]:
    payload = _payload_of(wrapper, rules)
    for message in _walk(payload, rules):
        _check_magic(message, wrapper, rules)
        yield Placed(message, wrapper, rules)
    try:
        _end(payload, rules)
    except CorruptData as error:
        if rules.unwraps == "by magic" and error.code in _READING_FAILS:
            error.code = "wrapper-read-lazily"
        raise


def _opened_eagerly(wrapper: Message, rules: MessageRules) -> Iterator[Placed]:
    payload = _payload_of(wrapper, rules)
    last_offset: int | None = None
    for message in _walk(payload, rules):
        _check_magic(message, wrapper, rules)
        last_offset = message.offset
    _end(payload, rules)
    if last_offset is None and wrapper.magic > 0 and rules.refuses_nested:
        raise CorruptData("legacy-wrapper-empty", "a compressed message holds no messages")
    base = as_int64(wrapper.offset - last_offset) if last_offset is not None and wrapper.magic > 0 else 0
    if base < 0 and rules.refuses_nested:
        base = 0
    for message in _walk(payload, rules):  # again: as many as there may be are not held
        message.offset = as_int64(base + message.offset)
        if rules.refuses_nested and rules.codec_of(message):
            raise CorruptData("legacy-nested-compression", "a message inside a wrapper is compressed itself")
        yield Placed(message, wrapper, rules)


def _check_magic(message: Message, wrapper: Message, rules: MessageRules) -> None:
    if rules.wants_equal_magic and message.magic != wrapper.magic:
        problem = "a wrapper holds another magic"
        raise CorruptData("legacy-wrapper-mixed-magic", problem, magic=wrapper.magic, inner=message.magic)


def _payload_of(wrapper: Message, rules: MessageRules) -> Payload:
    value, codec = wrapper.value, rules.codec_of(wrapper)
    loaded = "" if codec == codecs.GZIP else "loaded-"  # by reflection, which shows when opening them fails
    if value is None:
        problem = "a compressed message has no value"
        raise CorruptData(loaded + "legacy-wrapper-null", problem, magic=wrapper.magic, wrapper=_java_text(wrapper))
    payload = codecs.opened(codec, value, wrapper.magic, quirks=rules.quirks)
    if payload.error is not None:
        payload.error.values["codec_name"] = codecs.CODECS[codec]
        if payload.error.code == "frame-bad-header":
            is_refused = payload.error.values["cause"] in ("lz4-runtime", "snappy-negative")
            payload.error.code = "loaded-frame-refused" if is_refused else loaded + payload.error.code
            raise payload.error
    return payload


def _java_text(message: Message) -> str:
    """A message as Kafka's class Message shows itself."""
    attributes = int.from_bytes(message.data[5:6], "big", signed=True)
    timestamp = f" {_timestamp_type(message)} = {message.timestamp}," if message.magic else ""
    key = message.key
    room = len(message.data) - (22 if message.magic else 14) + 4
    key_text = "null" if key is None else f"java.nio.HeapByteBuffer[pos=0 lim={len(key)} cap={room}]"
    return (
        f"Message(magic = {message.magic}, attributes = {attributes},{timestamp} crc = {message.crc}, "
        f"key = {key_text}, payload = null)"
    )


def _end(payload: Payload, rules: MessageRules) -> None:
    if payload.error is not None and not (rules.ignores_early_end and payload.error.code == "frame-ends-early"):
        raise _wrapped(payload.error)


def _wrapped(error: CorruptData) -> CorruptData:
    return CorruptData("wrapper-" + error.code, error.message, **error.values)


def _walk(payload: Payload, rules: MessageRules) -> Iterator[Message]:
    """The messages of a payload, up to the first impossible one; a long payload is decompressed while they are read."""
    return inner_messages(payload.pieces(payload.size), rules.message, None if rules.unwraps == "whole" else _HEAP)
