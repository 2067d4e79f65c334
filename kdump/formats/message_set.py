"""Messages of magic 0 and 1, and the wrappers that hold them compressed."""

from __future__ import annotations

from kdump.binary import codecs, kernel
from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    COMPRESSION_MASK,
    LOG_OVERHEAD,
    MESSAGE_LENGTH,
    MESSAGE_OFFSET,
    MIN_RECORD_OVERHEAD,
    batch_length,
    batch_offset,
)
from kdump.binary.checksums import crc32
from kdump.errors import CorruptData
from kdump.formats import record
from kdump.formats.record_batch import LOG_APPEND_TIME, NO_TIMESTAMP
from kdump.tables import Declared, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from kdump.binary.codecs import LongPayload, Payload
    from kdump.binary.source import Source
    from kdump.formats.log import Chunk
    from kdump.formats.record import RecordChunk

    Contents = tuple[int | None, int | None, bytes | None, bytes | None]

_INNER_HEADER_SIZE = LOG_OVERHEAD + 6  # offset, size, checksum, magic, attributes
_MAX_RUN = 1 << 12
_CONTENTS = "key_size", "value_size", "key", "value"  # in the order in which a reader that asks for all meets their faults


class Message:
    """One message: a view of its bytes from the checksum on, with the offset that belongs to it.

    As in Kafka, fields that reach past the message raise CorruptData only when they are read.
    """

    __slots__ = ("data", "magic", "offset")

    def __init__(self, offset: int, data: bytes | memoryview) -> None:
        self.offset = offset
        self.data = data
        self.magic = data[4] - 256 if data[4] > 127 else data[4]

    @property
    def codec(self) -> int:
        return self.data[5] & COMPRESSION_MASK

    @property
    def crc(self) -> int:
        return int.from_bytes(self.data[:4], "big")

    @property
    def is_valid(self) -> bool:
        return len(self.data) >= MIN_RECORD_OVERHEAD and crc32(memoryview(self.data)[4:]) == self.crc

    @property
    def timestamp(self) -> int:
        return self._number_at(6, 8) if self.magic else NO_TIMESTAMP

    @property
    def key_size(self) -> int:
        return self._number_at(self._key_size_at, 4)

    @property
    def value_size(self) -> int:
        return self._number_at(self._key_size_at + 4 + max(self.key_size, 0), 4)

    @property
    def key(self) -> bytes | None:
        return self._sized_at(self._key_size_at)

    @property
    def value(self) -> bytes | None:
        return self._sized_at(self._key_size_at + 4 + max(self.key_size, 0))

    def contents(self) -> tuple[Contents, dict[str, CorruptData]]:
        """The sizes of key and value, and these, None for what cannot be read, with the fault of each that cannot."""
        found: list[Any] = []  # sizes and bytes
        faults: dict[str, CorruptData] = {}
        for name in _CONTENTS:
            try:
                found.append(getattr(self, name))
            except CorruptData as fault:
                found.append(None)
                faults[name] = fault
        return (found[0], found[1], found[2], found[3]), faults

    @property
    def _key_size_at(self) -> int:
        return 14 if self.magic else 6

    def _number_at(self, start: int, size: int) -> int:
        if start + size > len(self.data):
            raise CorruptData("message-field-past-end", f"a message of {len(self.data)} bytes is too short for its fields")
        return int.from_bytes(self.data[start : start + size], "big", signed=True)

    def _sized_at(self, start: int) -> bytes | None:
        size = self._number_at(start, 4)
        if size < 0:
            return None
        room = len(self.data) - start - 4
        if size > room:
            message = f"a message says its key or value is {size} bytes long, with {room} left"
            raise CorruptData("message-content-past-end", message, size=size, room=room)
        return bytes(self.data[start + 4 : start + 4 + size])


class Limits(Declared):
    """Limits for unwrapping one wrapper: decompressed bytes and messages, or None for no limit."""

    max_payload: int = codecs.MAX_PAYLOAD
    max_messages: int | None = None


_AS_KAFKA = Limits()


def read(source: Source, chunk: Chunk, limits: Limits = _AS_KAFKA) -> Iterator[RecordChunk]:
    """The messages of a chunk; a wrapper is replaced by the messages in it.

    Raises CorruptData as records.read says. A field that reaches past its message is a fault of that field only: Kafka meets it
    when it asks for the field.
    """
    part = _Part(chunk, 0, continues=False)
    row = 0
    while row < len(chunk.batches):
        count = part.add_plain(chunk, row, len(chunk))
        if count:
            row += count
            if len(part.rows) >= record.MAX_ROWS:
                yield part.finished()
                part = _Part(chunk, row, continues=False)
            continue
        part.counts.append(0)
        error: CorruptData | None = None
        try:
            for more in _added(part, source, chunk, row, limits):
                yield part.finished()
                part = more
        except CorruptData as problem:
            error = problem
            error.path, error.position = source.path, chunk.batches["position"][row]
        row += 1
        if error is not None or len(part.rows) >= record.MAX_ROWS:
            yield part.finished()
            part = _Part(chunk, row, continues=False)
        if error is not None:
            raise error
    if part.counts:
        yield part.finished()


def _added(part: _Part, source: Source, chunk: Chunk, row: int, limits: Limits) -> Iterator[_Part]:
    """Add the message in this row to a part, or the messages in it. Yields the part that follows wherever one is full."""
    message = Message(chunk.headers[row][MESSAGE_OFFSET], bytes_of_message(source, chunk, row))
    rest: Iterable[Message] = (message,)
    if message.codec:
        unwrapped = unwrap(message, limits)
        position, held = 0, unwrapped.held
        end = len(held)
        timestamp = None
        if message.magic and chunk.batches["timestamp_type"][row] == LOG_APPEND_TIME:
            timestamp = chunk.batches["timestamp"][row]
        while position < end and (after := part.add_inner(held, position, unwrapped.base, timestamp)):
            position = after
            if part.counts[-1] >= record.MAX_ROWS:
                part = part.following(chunk, row)
                yield part
        rest = unwrapped.after(position) if position < end or not end else ()
    for inner in rest:
        part.add(inner, timestamp_of(inner, chunk, row))
        if part.counts[-1] >= record.MAX_ROWS:
            part = part.following(chunk, row)
            yield part
    if message.codec and unwrapped.cut is not None:
        part.cuts[len(part.counts) - 1] = unwrapped.cut


class _Part:
    """A RecordChunk in the making, from the row `first` of a chunk on."""

    def __init__(self, chunk: Chunk, first: int, *, continues: bool, first_offsets: Sequence[int] = ()) -> None:
        self.first_offsets = list(first_offsets)
        self.rows: list[kernel.MessageTuple] = []
        self.cuts: dict[int, record.Cut] = {}
        self.counts: list[int] = []
        self._faults: dict[int, dict[str, CorruptData]] = {}
        self._chunk = chunk
        self._first = first
        self._continues = continues
        self._magics: list[int] = []

    def add(self, message: Message, timestamp: int) -> None:
        (key_size, value_size, key, value), faults = message.contents()
        if faults:
            self._faults[len(self.rows)] = faults
        if len(self.first_offsets) < len(self.counts):
            self.first_offsets.append(message.offset)
        self.rows.append((message.offset, timestamp, key_size, value_size, None, None, key, value, message.crc, message.is_valid))
        self._magics.append(message.magic)
        self.counts[-1] += 1

    def add_plain(self, chunk: Chunk, row: int, run_end: int) -> int:
        """Add messages that are not compressed, as many as are regular from this row of the chunk on. Returns how many.

        Those before `run_end` follow each other without a gap: a damaged message between others looks like one of them.
        """
        if not chunk.window:
            return 0
        before = len(self.rows)
        most = min(record.MAX_ROWS - before, run_end - row)
        end = chunk.starts[run_end - 1] + chunk.batches["size"][run_end - 1]
        _, magic = kernel.walk_contents(chunk.window, chunk.starts[row], end, 0, None, most, self.rows)
        count = len(self.rows) - before
        self.first_offsets += [message[kernel.CONTENTS_OFFSET] for message in self.rows[before:]]
        self.counts += [1] * count
        self._magics += [magic] * count
        return count

    def add_inner(self, payload: memoryview, position: int, base: int, timestamp: int | None) -> int:
        """Add messages of a wrapper, as many as are regular from this position of its payload on, and as there is room for.

        They have the `timestamp` of the wrapper, if it is given. Returns where the next one starts; 0 if none was added.
        """
        before = len(self.rows)
        most = record.MAX_ROWS - self.counts[-1]
        end, magic = kernel.walk_contents(payload, position, len(payload), base, timestamp, most, self.rows)
        count = len(self.rows) - before
        if count and len(self.first_offsets) < len(self.counts):
            self.first_offsets.append(self.rows[before][kernel.CONTENTS_OFFSET])
        self.counts[-1] += count
        self._magics += [magic] * count
        return end if count else 0

    def following(self, chunk: Chunk, row: int) -> _Part:
        """The part after this one, with more messages of the wrapper in this row."""
        part = _Part(chunk, row, continues=True, first_offsets=self.first_offsets[-1:])
        part.counts.append(0)
        return part

    def finished(self) -> RecordChunk:
        batches = self._chunk.batches.slice(self._first, self._first + len(self.counts))
        table = Table.of(record.Record, self.rows)
        if len(self.first_offsets) < len(self.counts):
            self.first_offsets.append(0)  # of a wrapper without messages, any
        columns = self.first_offsets, self._magics, self.cuts
        return record.RecordChunk(batches, self.counts, table, self._continues, self._faults, *columns)


def messages_of(source: Source, chunk: Chunk, row: int) -> Iterator[Message]:
    """The message in this row, or the messages in it if it is a wrapper."""
    message = Message(chunk.headers[row][MESSAGE_OFFSET], bytes_of_message(source, chunk, row))
    return iter(unwrap(message)) if message.codec else iter((message,))


def bytes_of_message(source: Source, chunk: Chunk, row: int) -> bytes:
    """The bytes of the message in this row, from its checksum on."""
    length = chunk.headers[row][MESSAGE_LENGTH]
    start = chunk.starts[row]
    if chunk.window:
        return chunk.window[start + LOG_OVERHEAD : start + LOG_OVERHEAD + length]
    if length > record.MAX_BATCH_SIZE:
        raise CorruptData("decompression-limit", f"a message of {length} bytes is too large to read")
    return source.read_exactly(chunk.batches["position"][row] + LOG_OVERHEAD, length)


def timestamp_of(message: Message, chunk: Chunk, row: int) -> int:
    """The timestamp of a message in this row: that of its wrapper if the broker set it."""
    if message.magic and chunk.batches["timestamp_type"][row] == LOG_APPEND_TIME:
        timestamp: int = chunk.batches["timestamp"][row]
        return timestamp
    return message.timestamp


def unwrap(wrapper: Message, limits: Limits = _AS_KAFKA) -> Unwrapped:
    """The messages inside a wrapper, with absolute offsets.

    The wrapper's magic decides whether the offsets inside are relative. The whole payload is decompressed before the first
    message is yielded.
    """
    if wrapper.magic not in (0, 1):
        raise CorruptData("legacy-wrapper-magic", f"a wrapper has magic {wrapper.magic}", magic=wrapper.magic)
    if wrapper.codec >= len(codecs.CODECS):
        raise CorruptData("codec-unknown", f"codec {wrapper.codec} does not exist", codec=wrapper.codec)
    if wrapper.codec == codecs.ZSTD:
        raise CorruptData("codec-not-allowed", f"zstd does not exist in magic {wrapper.magic}", magic=wrapper.magic)
    value = wrapper.value
    if value is None:
        raise CorruptData("legacy-wrapper-null", "a compressed message has no value", magic=wrapper.magic)
    payload = codecs.opened(wrapper.codec, value, wrapper.magic, limit=limits.max_payload)
    survey = _survey(payload, limits.max_messages)
    first, last_offset = survey.first, survey.last_offset
    if first is None:
        raise CorruptData("legacy-wrapper-empty", "a compressed message contains no messages")
    base = 0
    # Old versions of librdkafka wrote 0 as the wrapper's offset; the offsets inside are then absolute.
    if wrapper.magic == 1 and wrapper.offset != 0:
        if wrapper.offset < last_offset:
            problem = f"a wrapper with offset {wrapper.offset} contains a message with offset {last_offset}"
            raise CorruptData("legacy-wrapper-offset", problem, wrapper_offset=wrapper.offset, inner_offset=last_offset)
        base = wrapper.offset - last_offset
    return Unwrapped(wrapper, payload, survey, first, base)


class Unwrapped:
    """The messages inside a wrapper, with absolute offsets.

    `held` is the payload, or nothing if that is too long to be held; `base` is to be added to the offsets in it. `count` says how
    many messages there are, `size` how many bytes these have, and `cut` what follows the last of them, if anything does.
    """

    def __init__(self, wrapper: Message, payload: Payload | LongPayload, survey: _Survey, first: Message, base: int) -> None:
        self._magic, self._offset = wrapper.magic, wrapper.offset
        self._payload = payload
        self._first = first
        self._inner_offset, self._last_offset = first.offset, survey.last_offset
        self.base = base
        self.count = survey.count
        self.cut = survey.cut
        self.size = payload.size
        self.held = (
            memoryview(b"") if isinstance(payload, codecs.LongPayload) else memoryview(payload.data)[: payload.whole_blocks]
        )

    def first_offset(self) -> int:
        """The offset of the first message. Raises CorruptData where it is a wrapper itself."""
        return next(_placed([self._first], self.base)).offset

    def lowest_offset(self) -> int | None:
        """The offset of the first message, if the last one has that of the wrapper; None where nothing says it.

        No checksum covers the offset of a wrapper, but the distance between the first and the last message is certain. Where
        the last message is cut off, only absolute offsets say it (magic 0). Raises CorruptData where the first is a wrapper.
        """
        self.first_offset()
        first, last = self._inner_offset, self._last_offset
        if self.cut is not None:
            return first if self._magic == 0 and 0 <= first <= last <= self._offset else None
        return self._offset - (last - first) if 0 <= first <= last <= first + self._offset else None

    def last_offset(self) -> int:
        """The offset of the wrapper, or that of its last message where that is absolute (magic 0), as a checksum covers it."""
        is_absolute = self._magic == 0 and self.cut is None and 0 < self._inner_offset <= self._last_offset
        return self._last_offset if is_absolute else self._offset

    def after(self, position: int) -> Iterator[Message]:
        """The messages from this position of `held` on, or all of them."""
        pieces = [self.held[position:]] if position else self._payload.pieces(self._payload.whole_blocks)
        return _placed(messages_in(pieces), self.base)

    def __iter__(self) -> Iterator[Message]:
        return self.after(0)


def _placed(inner: Iterable[Message], base: int) -> Iterator[Message]:
    for message in inner:
        message.offset = as_int64(base + message.offset)
        if message.codec:
            raise _nested(message.codec)
        yield message


def _nested(codec: int) -> CorruptData:
    """The fault of a message in a wrapper that is compressed. Where it is raised, no frame has it, so that both are freed."""
    unknown = CorruptData("codec-unknown", f"codec {codec} does not exist", codec=codec)
    if codec >= len(codecs.CODECS):
        return unknown
    nested = CorruptData("legacy-nested-compression", "a message inside a wrapper is itself compressed")
    if codec == codecs.ZSTD:
        nested.variants["without-zstd"] = unknown
    return nested


def _survey(payload: Payload | LongPayload, max_messages: int | None) -> _Survey:
    """A walk through the messages in a payload, from header to header.

    One that is cut off at the end is not seen, as in Kafka. Raises CorruptData where the payload or a message in it is bad, or
    where there are more than `max_messages`.
    """
    survey = _Survey(max_messages)
    survey.walk(payload.pieces(payload.whole_blocks))
    if payload.error is not None:
        error = payload.error
        code = error.code if error.code == "frame-bad-header" else "wrapper-" + error.code
        fault = CorruptData(code, error.message, **error.values)
        try:
            _Survey(None).walk(payload.pieces(payload.size))
        except CorruptData as later:
            fault.variants[record.UNBUFFERED] = later
        raise fault
    return survey


class _Survey:
    """Walks the messages of a payload from header to header, and holds none of them.

    `first` is the first message, of which only the header counts, `last_offset` the offset of the last one as it is inside.
    """

    def __init__(self, max_messages: int | None) -> None:
        self._max_messages = max_messages
        self.count = 0
        self.first: Message | None = None
        self.last_offset = 0
        self.cut: record.Cut | None = None

    def walk(self, pieces: Iterable[bytes | memoryview]) -> None:
        """Look at all messages. Raises CorruptData."""
        rest: bytes | memoryview = b""  # less than the header of a message
        cut, missing = b"", 0  # the header of a message that goes on, and how many bytes of it are still to come
        for piece in pieces:
            if missing:
                if len(piece) < missing:
                    missing -= len(piece)
                    continue
                self._see(cut, 1, 0)
                piece, missing = piece[missing:], 0
            data = b"".join((rest, piece)) if rest else piece
            rest, position = b"", 0
            run = 1  # messages that the kernel leaves to us, which often are neighbours
            while len(data) - position >= _INNER_HEADER_SIZE:
                positions, _, end = kernel.walk_extents(data, position, 0)  # type: ignore[arg-type]  # of any buffer
                if positions:
                    self._see(data[positions[0] :], len(positions), positions[-1] - positions[0])
                    position, run = end, 1
                    continue
                first, last, count = position, position, 0
                while count < run and len(data) - position >= _INNER_HEADER_SIZE:
                    end = position + LOG_OVERHEAD + inner_size(data, position)
                    if end > len(data):
                        break
                    position, last, count = end, position, count + 1
                run = min(2 * run, _MAX_RUN)
                if count:
                    self._see(data[first:], count, last - first)
                if end > len(data):
                    cut, missing = bytes(data[position : position + _INNER_HEADER_SIZE]), end - len(data)
                    position = len(data)
            rest = data[position:]
        if missing:
            size = LOG_OVERHEAD + inner_size(cut, 0)
            self.cut = record.Cut(self.count, self.last_offset, cut, size - missing, missing)
        elif len(rest):
            has_size = len(rest) >= LOG_OVERHEAD
            short = LOG_OVERHEAD + inner_size(rest, 0) - len(rest) if has_size else None
            self.cut = record.Cut(self.count, self.last_offset, bytes(rest), len(rest), short)

    def _see(self, data: bytes | memoryview, count: int, last: int) -> None:
        """Note messages: the first stands at the start of `data`, the last at `last`."""
        if self.first is None:
            self.first = Message(batch_offset(data, 0), bytes(data[LOG_OVERHEAD:_INNER_HEADER_SIZE]))
        self.count += count
        if self._max_messages is not None and self.count > self._max_messages:
            message = f"a wrapper contains more than {self._max_messages} messages"
            raise CorruptData("decompression-limit", message, limit=self._max_messages)
        self.last_offset = batch_offset(data, last)


def inner_size(data: bytes | memoryview, position: int) -> int:
    """The size that a message inside a wrapper states. Raises CorruptData (`inner-record-size-too-small`)."""
    size = batch_length(data, position)
    if size < MIN_RECORD_OVERHEAD:
        message = f"a message inside a wrapper says it is {size} bytes long, which is less than {MIN_RECORD_OVERHEAD}"
        raise CorruptData("inner-record-size-too-small", message, size=size, minimum=MIN_RECORD_OVERHEAD)
    return size


def messages_in(
    pieces: Iterable[bytes | memoryview],
    message: Callable[[int, memoryview], Message] = Message,
    max_size: int | None = None,
) -> Iterator[Message]:
    """The messages in the pieces of a payload, each made by `message` from its offset and bytes.

    One that is cut off at the end is left out. Raises CorruptData as `inner_size`, and (`decompression-limit`) for a message of
    more than `max_size` bytes.
    """
    held, wanted = bytearray(), LOG_OVERHEAD
    for piece in pieces:
        held += piece
        if len(held) < wanted:
            continue  # a long message goes on
        data, position, wanted = memoryview(held), 0, LOG_OVERHEAD
        while position + LOG_OVERHEAD <= len(data):
            offset = batch_offset(data, position)
            size = inner_size(data, position)
            if max_size is not None and size > max_size:
                raise CorruptData("decompression-limit", f"a message of {size} bytes is too large to read")
            if position + LOG_OVERHEAD + size > len(data):
                wanted = LOG_OVERHEAD + size
                break
            yield message(offset, data[position + LOG_OVERHEAD : position + LOG_OVERHEAD + size])
            position += LOG_OVERHEAD + size
        held = bytearray(data[position:])
