"""Replaces the contents of batches, and keeps all that is around them: lengths, offsets, times, producers, and what is damaged.

What cannot be read is filled up: any of its bytes may be content.
"""

from __future__ import annotations

from kdump.binary import codecs
from kdump.binary.batch_header import (
    ATTRIBUTES,
    BASE_SEQUENCE,
    BASE_TIMESTAMP,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CONTROL_BIT,
    CRC_AT,
    LAST_OFFSET_DELTA,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    MAX_TIMESTAMP,
    MESSAGE_ATTRIBUTES_AT,
    MESSAGE_CRC_AT,
    MESSAGE_TIMESTAMP_AT,
    MIN_RECORD_OVERHEAD,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    RECORD_COUNT,
    batch_offset,
    batch_size,
)
from kdump.binary.codecs import snappy
from kdump.binary.kernel import VarintTooLong, read_varint
from kdump.formats.batch_writer import with_crc, with_length
from kdump.mending.contents import FILLER
from kdump.messages.control_records import KRAFT_VERSION, KRAFT_VOTERS, LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kdump.mending.contents import Contents

MAX_PAYLOAD = 64 << 20
"""A payload that decompresses to more than this is filled up."""

_HEADERS_OF_FRAMES = {codecs.GZIP: 10, codecs.SNAPPY: 16, codecs.LZ4: 7, codecs.ZSTD: 6}
_VARINT, _VARLONG = 5, 10
_MOST_KEPT = 3  # bytes in a row that may be content
_SIZE, _TIMESTAMP_SIZE = 4, 8
_HIGHEST_VERSION, _HIGHEST_EPOCH, _HIGHEST_TIMESTAMP = 255, (1 << 24) - 1, (1 << 43) - 1
_HIGHEST_OFFSET = (1 << 40) - 1  # of what is damaged
_HIGHEST_USUAL = {
    LAST_OFFSET_DELTA: (1 << 24) - 1,
    BASE_TIMESTAMP: _HIGHEST_TIMESTAMP,
    MAX_TIMESTAMP: _HIGHEST_TIMESTAMP,
    PRODUCER_ID: (1 << 24) - 1,
    PRODUCER_EPOCH: (1 << 15) - 1,
    BASE_SEQUENCE: (1 << 24) - 1,
    RECORD_COUNT: (1 << 24) - 1,
}
"""The highest values of fields that are believed of a damaged header."""

_OF_QUORUMS = (LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS)


class Redacting:
    """Redacts one batch after the other, and counts what it does: records, and bytes that were filled up."""

    def __init__(self, contents: Contents) -> None:
        self.records = 0
        self.filled = 0
        self._contents = contents

    def batch(self, data: bytes, *, is_valid: bool, keeps_length: bool = False) -> bytes:
        """A batch, or a message of magic 0 or 1, of any size. If it `is_valid`, its checksum fits again, otherwise it does not.

        With `keeps_length`, its length field stays as wrong as it is.
        """
        is_of_magic_2 = data[:MAGIC_AT] + b"\2" + data[MAGIC_AT + 1 :]
        if data[MAGIC_AT] < 2 and not is_valid and len(data) >= BATCH_HEADER_SIZE and with_crc(is_of_magic_2) == is_of_magic_2:
            redacted = self.batch(is_of_magic_2, is_valid=True, keeps_length=keeps_length)  # only the magic is wrong
            return redacted[:MAGIC_AT] + data[MAGIC_AT : MAGIC_AT + 1] + redacted[MAGIC_AT + 1 :]
        if data[MAGIC_AT] >= 2:
            if len(data) < BATCH_HEADER_SIZE:
                return data
            header = data[:BATCH_HEADER_SIZE]
            if not is_valid or _is_implausible(header):
                header = _without_contents(header)
            redacted = header + self._payload(data, is_valid=is_valid)
        else:
            redacted = self._message(data, is_whole=True, is_valid=is_valid)
        length = data[LENGTH_AT:LOG_OVERHEAD]
        if not keeps_length and len(redacted) != len(data):
            redacted = with_length(redacted)
        elif keeps_length:
            redacted = redacted[:LENGTH_AT] + length + redacted[LOG_OVERHEAD:]
        sealed = with_crc(redacted)
        if is_valid:
            return sealed
        if sealed == redacted:  # by chance
            at = CRC_AT if data[MAGIC_AT] >= 2 else MESSAGE_CRC_AT
            return redacted[:at] + bytes([redacted[at] ^ 1]) + redacted[at + 1 :]
        return redacted

    def damaged(self, data: bytes) -> bytes:
        """Bytes that start with the header of a batch, of which nothing else is sure: what can hold content is replaced.

        If its checksum fits, that is so afterwards.
        """
        if len(data) <= MAGIC_AT:
            return self._head(data)
        size = batch_size(data)
        if LOG_OVERHEAD + MIN_RECORD_OVERHEAD <= size < len(data) and with_crc(data[:size]) == data[:size]:
            return self.damaged(data[:size]) + self.filler(len(data) - size)
        is_valid = with_crc(data) == data
        if data[MAGIC_AT] < 2:
            redacted = self._message(data, is_whole=False, is_valid=is_valid)
        else:
            header = data[:BATCH_HEADER_SIZE]
            if len(header) < BATCH_HEADER_SIZE or not is_valid or _is_implausible(header):
                header = _without_contents(header.ljust(BATCH_HEADER_SIZE, b"\0"))[: len(header)]
                checksum = self.filler(len(header[CRC_AT : CRC_AT + _SIZE]))
                header = self._head(header[:MAGIC_AT]) + header[MAGIC_AT:CRC_AT] + checksum + header[CRC_AT + _SIZE :]
            redacted = header + self.filler(len(data) - BATCH_HEADER_SIZE)
        is_large_enough = len(data) >= LOG_OVERHEAD + MIN_RECORD_OVERHEAD
        return with_crc(redacted) if is_large_enough and is_valid else redacted

    def garbage(self, data: bytes) -> bytes:
        """Bytes that are no batch. If they look like a header, what makes it an impossible one stays."""
        return self._head(data[:MAGIC_AT], _HIGHEST_EPOCH) + self.filler(len(data) - MAGIC_AT)

    def _head(self, data: bytes, highest_offset: int = _HIGHEST_OFFSET) -> bytes:
        """The first bytes of a header: an offset, a length and a leader epoch, as far as they are usual; of the rest, zeros."""
        offset, length, epoch = data[:LENGTH_AT], data[LENGTH_AT:LOG_OVERHEAD], data[LOG_OVERHEAD:MAGIC_AT]
        kept = b""
        for number, size, highest in (
            (offset, LENGTH_AT, highest_offset),
            (length, _SIZE, _HIGHEST_EPOCH),
            (epoch, _SIZE, _HIGHEST_EPOCH),
        ):
            kept += _usual(number, highest) if len(number) == size else bytes(FILLER[0] if byte else 0 for byte in number)
        return kept + self.filler(len(data) - len(kept))

    def filler(self, size: int) -> bytes:
        """This number of bytes in place of others that cannot be read."""
        self.filled += max(size, 0)
        return FILLER * size

    # --- magic 2

    def _payload(self, data: bytes, *, is_valid: bool) -> bytes:
        """What follows the header of a batch of magic 2. Only one that `is_valid` is believed to be a control batch."""
        header = BATCH_HEADER.unpack_from(data)
        payload = data[BATCH_HEADER_SIZE:]
        codec, count = header[ATTRIBUTES] & COMPRESSION_MASK, header[RECORD_COUNT]
        is_control = is_valid and bool(header[ATTRIBUTES] & CONTROL_BIT)
        if count <= 0 or codec >= len(codecs.CODECS) or data[MAGIC_AT] > 2:
            return self.filler(len(payload))
        return self._through_codec(
            codec, payload, data[MAGIC_AT], lambda plain: self._all_records(plain, count, is_control=is_control)
        )

    def _through_codec(self, codec: int, payload: bytes, magic: int, redact: Callable[[bytearray], None]) -> bytes:
        """A payload of which the decompressed bytes are redacted in place; filled up if it cannot be decompressed."""
        if not codec:
            plain = bytearray(payload)
            redact(plain)
            return bytes(plain)
        found = codecs.decompress(codec, payload, magic, limit=MAX_PAYLOAD)
        if found.error is not None:
            start = min(_HEADERS_OF_FRAMES[codec], len(payload)) if codecs.resembles(payload) == codecs.CODECS[codec] else 0
            return payload[:start] + self.filler(len(payload) - start)
        plain = bytearray(found.data)
        redact(plain)
        frames = codecs.inspect_frames(codec, payload)
        if frames.is_raw:
            return snappy.raw_block(bytes(plain))
        return codecs.compressed(codec, [bytes(plain)], magic) + self.filler(len(payload) - frames.end)

    def _all_records(self, data: bytearray, count: int, *, is_control: bool) -> None:
        """All records of a payload, in place. What follows the first fault is filled up."""
        position = 0
        while count and position < len(data):
            position, is_good = self._record(data, position, is_control=is_control)
            if not is_good:
                break
            self.records += 1
            count -= 1
        data[position:] = self.filler(len(data) - position)

    def _record(self, data: bytearray, position: int, *, is_control: bool) -> tuple[int, bool]:
        """One record. Returns up to where it is redacted, and whether it is one."""
        fields = _Fields(data, position, len(data))
        length = fields.varint()
        if length is None or length < 0 or fields.position + length > len(data):
            fields.disown()
            return fields.position, False
        fields.end = fields.position + length
        fields.position += 1  # attributes
        deltas = fields.position
        if fields.varint(_VARLONG) is None or fields.varint() is None:
            return min(fields.position, len(data)), False
        contents = fields.position
        is_good = self._contents_of(fields, is_control=is_control) and fields.position == fields.end
        if not is_good:  # so the deltas may be contents, too
            fields.disown_all(deltas, contents)
        return fields.position, is_good

    def _contents_of(self, fields: _Fields, *, is_control: bool) -> bool:
        """Key, value and headers of a record. Returns whether they are in it."""
        control: list[int] = []  # the types of control records
        of_control = (lambda key: _control_key(key, control)), (lambda value: _control_value(value, control))
        for replaced in of_control if is_control else (self._contents.key, self._contents.value):
            if not fields.sized(replaced):
                return False
        headers = fields.varint()
        if headers is None:
            return False
        if not 0 <= headers <= fields.end - fields.position:
            fields.disown()
            return False
        header = self._contents.header
        return all(fields.sized(header, may_be_null=False) and fields.sized(header) for _ in range(headers))

    # --- magic 0 and 1

    def _message(self, data: bytes, *, is_whole: bool, is_valid: bool) -> bytes:
        """An entry of magic 0 or 1: a message, or a wrapper, whose size may change if all of it is there."""
        start = MESSAGE_TIMESTAMP_AT + (_TIMESTAMP_SIZE if data[MAGIC_AT] == 1 else 0)
        if len(data) < start:
            return (
                data
                if is_valid
                else self._head(data[:MAGIC_AT]) + data[MAGIC_AT : MAGIC_AT + 1] + self.filler(len(data) - MAGIC_AT - 1)
            )
        codec = data[MESSAGE_ATTRIBUTES_AT] & COMPRESSION_MASK
        head = data[:start]
        if not is_valid and start > MESSAGE_TIMESTAMP_AT:
            timestamp = int.from_bytes(_usual(data[MESSAGE_TIMESTAMP_AT:start], _HIGHEST_TIMESTAMP), "big", signed=True)
            head = data[:MESSAGE_TIMESTAMP_AT] + _coarse(timestamp).to_bytes(_TIMESTAMP_SIZE, "big", signed=True)
        if not (is_valid or is_whole):
            head = self._head(head[:MAGIC_AT]) + head[MAGIC_AT:]
        key, position = self._sized(data, start, self._contents.key)
        if position < 0:
            return head + key
        if not codec:
            self.records += 1
            value, end = self._sized(data, position, self._contents.value)
            return head + key + value + self.filler(len(data) - end if end >= 0 else 0)

        def redact(value: bytes) -> bytes:
            return self._wrapped(codec, value, data[MAGIC_AT]) if is_whole else self.filler(len(value))

        value, end = self._sized(data, position, redact)
        if end >= position + _SIZE:
            size = len(value) - _SIZE if data[position] < 0x80 else -1
            value = size.to_bytes(_SIZE, "big", signed=True) + value[_SIZE:]
        return head + key + value + self.filler(len(data) - end if end >= 0 else 0)

    def _sized(self, data: bytes, position: int, replaced: Callable[[bytes], bytes]) -> tuple[bytes, int]:
        """The size at a position with what it counts, replaced, and where that ends; -1 if all the rest is filled up."""
        size = int.from_bytes(data[position : position + _SIZE], "big", signed=True)
        start = position + _SIZE
        if start > len(data) or start + max(size, 0) > len(data):
            return _usual(data[position:start], -1) + self.filler(len(data) - start), -1
        if size < 0:
            return _usual(data[position:start], -1), start
        return data[position:start] + replaced(data[start : start + size]), start + size

    def _wrapped(self, codec: int, value: bytes, magic: int) -> bytes:
        if codec >= len(codecs.CODECS):
            return self.filler(len(value))
        return self._through_codec(codec, value, magic, self._all_messages)

    def _all_messages(self, data: bytearray) -> None:
        """All messages in a wrapper, in place."""
        position = 0
        while position + LOG_OVERHEAD + MIN_RECORD_OVERHEAD <= len(data):
            end = position + batch_size(data, position)
            if end < position + LOG_OVERHEAD + MIN_RECORD_OVERHEAD or end > len(data):
                start, position = position, position + LOG_OVERHEAD
                data[start:position] = self._head(bytes(data[start:position]))
                break
            inner = bytes(data[position:end])
            is_valid = with_crc(inner) == inner
            if not is_valid and not -1 <= batch_offset(inner) <= _HIGHEST_OFFSET:
                break  # no message begins here
            if inner[MAGIC_AT] > 1 or inner[MESSAGE_ATTRIBUTES_AT] & COMPRESSION_MASK:
                redacted = self.damaged(inner)
            else:
                redacted = self._message(inner, is_whole=False, is_valid=is_valid)
            data[position:end] = with_crc(redacted) if is_valid else redacted
            position = end
        position = min(position, len(data))
        data[position:] = self.filler(len(data) - position)


class _Fields:
    """Reads the fields of a record, and replaces some."""

    def __init__(self, data: bytearray, position: int, end: int) -> None:
        self.data = data
        self.start = self.position = position
        self.end = end

    def varint(self, size: int = _VARINT) -> int | None:
        """A number; None if there is none."""
        try:
            value, position = read_varint(self.data, self.position, self.end, size)
        except IndexError:
            return None
        except VarintTooLong:
            self.data[self.position : self.position + size] = b"\xff" * size
            self.position += size
            return None
        self.start, self.position = self.position, position
        return value

    def disown(self) -> None:
        """Replace the number that was read last, if it is long enough to be content, by one that is as impossible."""
        size = self.position - self.start
        if size > _MOST_KEPT:
            sign = self.data[self.start] & 1
            most = 0x7F if size < _VARINT else 0x0F
            self.data[self.start : self.position] = bytes([0xFE | sign, *[0xFF] * (size - 2), most])

    def disown_all(self, start: int, end: int) -> None:
        """Replace the numbers between these positions that may be content by others of the same length."""
        after, self.position = self.position, start
        while self.position < end and self.varint(_VARLONG) is not None:
            self.disown()
        self.position = after

    def sized(self, replaced: Callable[[bytes], bytes], *, may_be_null: bool = True) -> bool:
        """A size and what it counts, which is replaced. Returns False if it cannot be."""
        size = self.varint()
        if size is None:
            return False
        if size < 0 and not may_be_null or self.position + max(size, 0) > self.end:
            self.disown()
            return False
        if size < -1:
            self.disown()
        if size > 0:
            end = self.position + size
            self.data[self.position : end] = replaced(bytes(self.data[self.position : end]))
            self.position = end
        return True


def _control_key(data: bytes, types: list[int]) -> bytes:
    """The key of a control record: version and type stay. The type is added to `types`."""
    version, control_type = _usual(data[:2], _HIGHEST_VERSION), _usual(data[2:4], _HIGHEST_VERSION)
    types.append(int.from_bytes(control_type, "big"))
    return version + control_type + FILLER * (len(data) - len(version) - len(control_type))


def _control_value(data: bytes, types: list[int]) -> bytes:
    """The value of a control record: of a marker its version and epoch stay, of the records of a quorum all."""
    if types and types[0] in _OF_QUORUMS:  # a key may be empty
        return data
    version, epoch = _usual(data[:2], _HIGHEST_VERSION), _usual(data[2:6], _HIGHEST_EPOCH)
    return version + epoch + FILLER * (len(data) - len(version) - len(epoch))


def _usual(data: bytes, highest: int) -> bytes:
    """A number as it is if it is from -1 to this one; otherwise, as it may be content, another one with the same sign."""
    if -1 <= int.from_bytes(data, "big", signed=True) <= highest:
        return data
    return b"\xff" * (len(data) - 1) + b"\xfe" if data[:1] >= b"\x80" else FILLER * len(data)


def _without_contents(header: bytes) -> bytes:
    """The header of a batch of magic 2 whose CRC does not fit: fields that may be content are not as they were."""
    fields = list(BATCH_HEADER.unpack(header))
    for field, highest in _HIGHEST_USUAL.items():
        if not -1 <= fields[field] <= highest:
            fields[field] = -2 if fields[field] < 0 else highest
    for field in (BASE_TIMESTAMP, MAX_TIMESTAMP):
        fields[field] = _coarse(fields[field])
    return BATCH_HEADER.pack(*fields)


def _is_implausible(header: bytes) -> bool:
    """Whether a header has fields that no broker writes: then other bytes have become its fields."""
    fields = BATCH_HEADER.unpack(header)
    counts = LAST_OFFSET_DELTA, RECORD_COUNT
    return any(fields[field] < -1 for field in _HIGHEST_USUAL) or any(fields[field] > _HIGHEST_USUAL[field] for field in counts)


def _coarse(timestamp: int) -> int:
    """A timestamp of a damaged header, to a quarter of a second: its last bytes may be content."""
    return timestamp if timestamp < 0 else timestamp & ~0xFF
