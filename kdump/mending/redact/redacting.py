"""Replaces the contents of batches, and keeps all that is around them: lengths, offsets, times, producers, and what is damaged.

What cannot be read is filled up: any of its bytes may be content.
"""

from __future__ import annotations

from bisect import bisect_left

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
from kdump.binary.kernel import VarintTooLong, read_varint
from kdump.formats.batch_writer import with_crc, with_length
from kdump.mending.redact.contents import FILLER
from kdump.mending.redact.reframing import reframed
from kdump.messages.control_records import KRAFT_VERSION, KRAFT_VOTERS, LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER
from kdump.reading.plausible import LONGEST_BATCH, is_header_but_for, is_message_but_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.mending.redact.contents import Contents

MAX_PAYLOAD = 64 << 20
"""A payload that decompresses to more than this is filled up."""

_VARINT, _VARLONG = 5, 10
_MOST_KEPT = 3  # bytes in a row that may be content
_SIZE, _TIMESTAMP_SIZE = 4, 8
_HIGHEST_VERSION, _HIGHEST_EPOCH, _HIGHEST_TIMESTAMP = 255, (1 << 24) - 1, (1 << 43) - 1
_HIGHEST_OFFSET = (1 << 40) - 1  # of what is damaged
_NEAR_BORDER = 1 << 24  # three bytes say how near an offset is to zero from below, or to the end of all offsets
_REACH = 1 << 33  # above the base offset of a log: what lies farther is damaged
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

_MOST_VARIED = 64
"""How many contents are tried until a checksum has some bits: one of eight does."""

_LARGE_SIZE = (1 << 26).to_bytes(_SIZE, "big")  # in place of those that may be content, though a batch may be as large
_NEGATIVE_MAGIC = b"\xff"
_MOST_RECORDS = LONGEST_BATCH // 7  # without compression, each takes seven bytes or more
_IMPOSSIBLE_OFFSET = int.from_bytes(LENGTH_AT * FILLER, "big")  # other offsets can be counted from it
_IMPOSSIBLE_COUNT = int.from_bytes(_SIZE * FILLER, "big")

_COARSE_BITS = 8  # a quarter of a second
_DOUBTFUL_BITS = 32  # seven weeks, in a header in which other bytes are content

_OF_QUORUMS = (LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS)


class Redacting:
    """Redacts one batch after the other, and counts what it does: records, and bytes that were filled up."""

    def __init__(self, contents: Contents, base_offset: int | None = None, times: Callable[[], Sequence[int]] = tuple) -> None:
        """Redact the batches of the log with this base offset. `times` gives those in its time index, ascending."""
        self.records = 0
        self.filled = 0
        self._contents = contents
        self._base_offset = base_offset  # of the log, by its name
        self._times = times
        self._odd_offset: int | None = None  # the last one that was replaced; the next ones keep their distance from it
        self._newest_delta: int | None = None
        """The highest timestamp delta of the last payload; None if not all of it is records."""

    def batch(self, data: bytes, *, is_valid: bool, keeps_length: bool = False) -> bytes:
        """A batch, or a message of magic 0 or 1, of any size. If it `is_valid`, its checksum fits again, otherwise it does not.

        With `keeps_length`, its length field stays as wrong as it is.
        """
        if data[MAGIC_AT] < 2 and not is_valid and len(data) >= BATCH_HEADER_SIZE:
            is_of_magic_2 = data[:MAGIC_AT] + b"\2" + data[MAGIC_AT + 1 :]
            if with_crc(is_of_magic_2) == is_of_magic_2:  # only the magic is wrong
                return self._of_wrong_magic(is_of_magic_2, data[MAGIC_AT], keeps_length=keeps_length)
        if data[MAGIC_AT] >= 2:
            if len(data) < BATCH_HEADER_SIZE:
                return data
            self._newest_delta = None
            payload = self._payload(data, is_valid=is_valid)
            header = data[:BATCH_HEADER_SIZE]
            if not is_valid or _implausible_fields(header):
                header = _without_contents(header, self._coarse, self._newest_delta, is_valid=is_valid)
            redacted = header + payload
        else:
            redacted = self._message(data, is_whole=True, is_valid=is_valid)
        redacted = self._outside_of_checksum(data) + redacted[MAGIC_AT:]
        if not is_valid and data[MAGIC_AT] >= 2:
            checksum = redacted[CRC_AT : CRC_AT + _SIZE]
            redacted = redacted[:CRC_AT] + _usual(checksum, _HIGHEST_EPOCH) + redacted[CRC_AT + _SIZE :]
        if not keeps_length:
            redacted = with_length(redacted)
        sealed = with_crc(redacted)
        if is_valid:
            return sealed
        if sealed == redacted:  # by chance
            at = CRC_AT if data[MAGIC_AT] >= 2 else MESSAGE_CRC_AT
            return redacted[:at] + bytes([redacted[at] ^ 1]) + redacted[at + 1 :]
        return redacted

    def _of_wrong_magic(self, data: bytes, magic: int, *, keeps_length: bool) -> bytes:
        """A sound batch of magic 2 that says it is a message of this `magic`, of the codec that its checksum then tells.

        The checksum depends on the contents: several are tried, since readers do not get at them anyway.
        """
        contents, records, filled = self._contents, self.records, self.filled
        for number in range(_MOST_VARIED):
            self.records, self.filled = records, filled
            redacted = self.batch(data, is_valid=True, keeps_length=keeps_length)
            if not (redacted[MESSAGE_ATTRIBUTES_AT] ^ data[MESSAGE_ATTRIBUTES_AT]) & COMPRESSION_MASK:
                break
            self._contents = contents.varied(number)
        self._contents = contents
        return redacted[:MAGIC_AT] + bytes([magic]) + redacted[MAGIC_AT + 1 :]

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
        if data[MAGIC_AT] < 2 and not _is_batch_but_for_magic(data):
            redacted = self._message(data, is_whole=False, is_valid=is_valid)
        else:
            header = data[:BATCH_HEADER_SIZE]
            if len(header) < BATCH_HEADER_SIZE or not is_valid or _implausible_fields(header):
                header = _without_contents(header.ljust(BATCH_HEADER_SIZE, b"\0"), self._coarse)[: len(header)]
                checksum = self.filler(len(header[CRC_AT : CRC_AT + _SIZE]))
                if checksum:  # which has the attributes of a message in its place, and so a codec
                    checksum = bytes([checksum[0] & ~COMPRESSION_MASK | data[CRC_AT] & COMPRESSION_MASK]) + checksum[1:]
                header = self._head(header[:MAGIC_AT]) + header[MAGIC_AT:CRC_AT] + checksum + header[CRC_AT + _SIZE :]
            redacted = header + self.filler(len(data) - BATCH_HEADER_SIZE)
        is_large_enough = len(data) >= LOG_OVERHEAD + MIN_RECORD_OVERHEAD
        return with_crc(redacted) if is_large_enough and is_valid else redacted

    def garbage(self, data: bytes) -> bytes:
        """Bytes that are no batch. If they look like a header, what makes it an impossible one stays."""
        magic = data[MAGIC_AT : MAGIC_AT + 1]
        magic = _NEGATIVE_MAGIC if magic >= b"\x80" else self.filler(len(magic))
        return self._head(data[:MAGIC_AT], _HIGHEST_EPOCH) + magic + self.filler(len(data) - MAGIC_AT - 1)

    def _head(self, data: bytes, highest_offset: int = _HIGHEST_OFFSET) -> bytes:
        """The first bytes of a header: an offset, a length and a leader epoch, as far as they are usual; of the rest, zeros."""
        offset, length, epoch = data[:LENGTH_AT], data[LENGTH_AT:LOG_OVERHEAD], data[LOG_OVERHEAD:MAGIC_AT]
        kept = b""
        for number, size, usual in (
            (offset, LENGTH_AT, _usual(offset, highest_offset)),
            (length, _SIZE, _usual_size(length)),
            (epoch, _SIZE, _usual(epoch, _HIGHEST_EPOCH)),
        ):
            kept += usual if len(number) == size else bytes(FILLER[0] if byte else 0 for byte in number)
        return kept + self.filler(len(data) - len(kept))

    def _outside_of_checksum(self, data: bytes) -> bytes:
        """The first bytes of a batch, which its checksum does not cover: an offset where the log has it, and what is usual."""
        offset = batch_offset(data)
        replaced = without_contents(offset, self._base_offset)
        if replaced != offset:
            if self._odd_offset is None or abs(offset - self._odd_offset) > _REACH:
                self._odd_offset = offset
            replaced += offset - self._odd_offset
        head = replaced.to_bytes(LENGTH_AT, "big", signed=True)
        return head + _usual_size(data[LENGTH_AT:LOG_OVERHEAD]) + _usual(data[LOG_OVERHEAD:MAGIC_AT], _HIGHEST_EPOCH)

    def _coarse(self, timestamp: int, bits: int = _COARSE_BITS) -> int:
        """A timestamp of a damaged header without its last bits, which may be content: not if the time index has it, too.

        If it is later than all there, it stays so.
        """
        times = self._times() if timestamp >= 0 else ()
        row = bisect_left(times, timestamp)
        if timestamp < 0 or row < len(times) and times[row] == timestamp:
            return timestamp
        return -(-timestamp >> bits) << bits if times and row == len(times) else timestamp >> bits << bits

    def filler(self, size: int) -> bytes:
        """This number of bytes in place of others that cannot be read."""
        self.filled += max(size, 0)
        return FILLER * size

    # --- magic 2

    def _payload(self, data: bytes, *, is_valid: bool) -> bytes:
        """What follows the header of a batch of magic 2. Only one that `is_valid` is believed to be a control batch."""
        header = BATCH_HEADER.unpack_from(data)
        payload = data[BATCH_HEADER_SIZE:]
        codec = header[ATTRIBUTES] & COMPRESSION_MASK
        is_control = is_valid and bool(header[ATTRIBUTES] & CONTROL_BIT)
        if codec >= len(codecs.CODECS) or data[MAGIC_AT] > 2:
            return self.filler(len(payload))
        limits_records = codec != codecs.NONE
        return self._through_codec(
            codec,
            payload,
            data[MAGIC_AT],
            lambda plain: self._all_records(plain, is_control=is_control, limits_records=limits_records),
        )

    def _through_codec(self, codec: int, payload: bytes, magic: int, redact: Callable[[bytearray], None]) -> bytes:
        """A payload of which the decompressed bytes are redacted in place; filled up if it cannot be decompressed."""
        if not codec:
            plain = bytearray(payload)
            redact(plain)
            return bytes(plain)
        found = codecs.decompress(codec, payload, magic, limit=MAX_PAYLOAD)
        plain = bytearray(found.data)
        redact(plain)
        redacted = reframed(codec, payload, found, bytes(plain), magic, limit=MAX_PAYLOAD)
        self.filled += 0 if found.error is None else max(len(payload) - len(redacted), 0)
        return redacted

    def _all_records(self, data: bytearray, *, is_control: bool, limits_records: bool) -> None:
        """All records of a payload, in place, whatever their count should be. What follows a fault is filled up."""
        position, newest = 0, None
        while position < len(data):
            position, delta = self._record(data, position, is_control=is_control, limits_records=limits_records)
            if delta is None:
                newest = None
                data[position:] = self.filler(len(data) - position)
                break
            self.records += 1
            newest = delta if newest is None else max(newest, delta)
        self._newest_delta = newest

    def _record(self, data: bytearray, position: int, *, is_control: bool, limits_records: bool) -> tuple[int, int | None]:
        """One record. Returns up to where it is redacted, and its timestamp delta; None if it is no record.

        Readers that do not limit records let the fields of one reach past its end, and find that afterwards.
        """
        fields = _Fields(data, position, len(data))
        length = fields.varint()
        if length is None:
            return fields.position, None
        if length < 0 and limits_records or fields.position + length > len(data):
            fields.disown()
            return fields.position, None
        end = fields.position + length
        if limits_records:
            fields.end = end
        fields.position += 1  # attributes
        deltas = fields.position
        timestamp_delta = fields.varint(_VARLONG)
        if timestamp_delta is None or fields.varint() is None:
            return min(fields.position, len(data)), None
        contents = fields.position
        if self._contents_of(fields, is_control=is_control) and fields.position == end and length >= 0:
            return end, timestamp_delta
        fields.disown_all(deltas, contents)  # they may be contents, too
        return fields.position, None

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
        start = MESSAGE_TIMESTAMP_AT + (_TIMESTAMP_SIZE if data[MAGIC_AT] else 0)
        if len(data) < start:
            return (
                data
                if is_valid
                else self._head(data[:MAGIC_AT]) + data[MAGIC_AT : MAGIC_AT + 1] + self.filler(len(data) - MAGIC_AT - 1)
            )
        codec = data[MESSAGE_ATTRIBUTES_AT] & COMPRESSION_MASK
        head = data[:start]
        if not is_valid and start > MESSAGE_TIMESTAMP_AT and not _fits_its_size(data, start):
            timestamp = int.from_bytes(_usual(data[MESSAGE_TIMESTAMP_AT:start], _HIGHEST_TIMESTAMP), "big", signed=True)
            head = data[:MESSAGE_TIMESTAMP_AT] + self._coarse(timestamp).to_bytes(_TIMESTAMP_SIZE, "big", signed=True)
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
            return _usual_size(data[position:start]) + self.filler(len(data) - start), -1
        if size < 0:
            return _usual_size(data[position:start]), start
        return data[position:start] + replaced(data[start : start + size]), start + size

    def _wrapped(self, codec: int, value: bytes, magic: int) -> bytes:
        if codec >= len(codecs.CODECS):
            return self.filler(len(value))
        return self._through_codec(codec, value, magic, self._all_messages)

    def _all_messages(self, data: bytearray) -> None:
        """All messages in a wrapper, in place."""
        position = 0
        while position + LOG_OVERHEAD <= len(data):
            end = position + batch_size(data, position)
            if end < position + LOG_OVERHEAD + MIN_RECORD_OVERHEAD or end > len(data):
                start, position = position, position + LOG_OVERHEAD
                data[start:position] = self._head(bytes(data[start:position]))
                break
            inner = bytes(data[position:end])
            is_valid = with_crc(inner, is_message=True) == inner
            if not is_valid and not -1 <= batch_offset(inner) <= _HIGHEST_OFFSET:
                break  # no message begins here
            redacted = self._message(inner, is_whole=False, is_valid=is_valid)
            if is_valid:
                redacted = with_crc(self._outside_of_checksum(inner) + redacted[MAGIC_AT:], is_message=True)
            data[position:end] = redacted
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
            self.data[self.position : self.end] = b"\xff" * (self.end - self.position)
            self.position = max(self.position, self.end)
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


def without_contents(offset: int, base_offset: int | None) -> int:
    """An offset, or one that is as far out of line with the same sign, if it may be content: `base_offset` is that of the log."""
    is_in_reach = base_offset is not None and base_offset <= offset <= base_offset + _REACH
    is_at_border = -_NEAR_BORDER <= offset < 0 or abs(offset) >= (1 << 63) - _NEAR_BORDER
    if 0 <= offset <= _HIGHEST_OFFSET or is_in_reach or is_at_border:
        return offset
    return _IMPOSSIBLE_OFFSET if offset > 0 else -_IMPOSSIBLE_OFFSET


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


def _usual_size(data: bytes) -> bytes:
    """The size of a key or value, or the length of a batch, as `_usual` makes it; what may be one stays so."""
    size = int.from_bytes(data, "big", signed=True)
    return _LARGE_SIZE if _HIGHEST_EPOCH < size <= LONGEST_BATCH else _usual(data, _HIGHEST_EPOCH)


def _without_contents(
    header: bytes, coarse: Callable[[int, int], int], newest_delta: int | None = None, *, is_valid: bool = False
) -> bytes:
    """The header of a batch of magic 2 in which some fields may be content: those are not as they were.

    The timestamps are none if the records say the same, as `newest_delta` does. If also the CRC fits, no field is; nor if the
    CRC fits and a single field is out of the ordinary, except the last one, which contents follow.
    """
    fields = list(BATCH_HEADER.unpack(header))
    is_confirmed = newest_delta is not None and fields[BASE_TIMESTAMP] + newest_delta == fields[MAX_TIMESTAMP]
    implausible = _implausible_fields(header)
    is_alone = is_valid and len(implausible) <= 1
    if is_valid and is_confirmed or is_alone and RECORD_COUNT not in implausible:
        return header
    doubtful = [field for field, highest in _HIGHEST_USUAL.items() if not -1 <= fields[field] <= highest]
    if not (is_confirmed or is_alone):
        bits = _DOUBTFUL_BITS if {BASE_TIMESTAMP, MAX_TIMESTAMP, PRODUCER_ID}.intersection(doubtful) else _COARSE_BITS
        for field in (BASE_TIMESTAMP, MAX_TIMESTAMP):
            fields[field] = coarse(fields[field], bits)
    for field in doubtful:
        is_possible = field != RECORD_COUNT or fields[field] <= _MOST_RECORDS
        fields[field] = -2 if fields[field] < 0 else _HIGHEST_USUAL[field] if is_possible else _IMPOSSIBLE_COUNT
    return BATCH_HEADER.pack(*fields)


def _is_batch_but_for_magic(data: bytes) -> bool:
    """Whether this is no message of magic 0 or 1, but may be a batch of magic 2 whose magic is wrong."""
    header = data[:BATCH_HEADER_SIZE]
    as_batch = header[:MAGIC_AT] + b"\2" + header[MAGIC_AT + 1 :]
    return is_header_but_for(as_batch, len(data)) and not is_message_but_for(header)


def _fits_its_size(data: bytes, start: int) -> bool:
    """Whether a message ends where its key and its value do, whose sizes begin at `start`: then its fields are its own."""
    end = start
    for _ in range(2):
        size = int.from_bytes(data[end : end + _SIZE], "big", signed=True)
        end += _SIZE + max(size, 0)
    return end == len(data)


def _implausible_fields(header: bytes) -> list[int]:
    """The fields of a header that no broker writes like this: other bytes may have become its fields."""
    fields = BATCH_HEADER.unpack(header)
    counts = LAST_OFFSET_DELTA, RECORD_COUNT
    return [
        field for field, highest in _HIGHEST_USUAL.items() if fields[field] < -1 or field in counts and fields[field] > highest
    ]
