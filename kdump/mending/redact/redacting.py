"""Replaces the contents of batches, and keeps all that is around them: lengths, offsets, times, producers, and what is damaged.

What cannot be read is filled up: any of its bytes may be content. A batch that is damaged inside becomes its header and filler.
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
from kdump.binary.codecs import snappy
from kdump.binary.codecs.frames import Frames
from kdump.binary.kernel import VarintTooLong, read_varint
from kdump.formats.batch_writer import with_crc, with_length
from kdump.mending.redact.contents import FILLER
from kdump.messages.control_records import KRAFT_VERSION, KRAFT_VOTERS, LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER
from kdump.reading.plausible import LONGEST_BATCH, is_header_but_for, is_message_but_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kdump.mending.redact.contents import Contents

MAX_PAYLOAD = 64 << 20
"""A payload that decompresses to more than this is filled up."""

_VARINT, _VARLONG = 5, 10
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

_MOST_FRAMES = 100  # a payload may have millions, but more than one are more than one

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

    def batch(self, data: bytes, *, is_valid: bool, keeps_length: bool = False) -> bytes:
        """A batch, or a message of magic 0 or 1, of any size. If it `is_valid`, its checksum fits again, otherwise it does not.

        With `keeps_length`, its length field stays as wrong as it is.
        """
        if data[MAGIC_AT] >= 2:
            payload = self._payload(data) if is_valid else self.filler(len(data) - BATCH_HEADER_SIZE)
            header = data[:BATCH_HEADER_SIZE]
            if not is_valid or _implausible_fields(header):
                header = _without_contents(header, self._coarse, is_valid=is_valid)
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

    def _payload(self, data: bytes) -> bytes:
        """What follows the header of a batch of magic 2 whose checksum fits."""
        attributes = BATCH_HEADER.unpack_from(data)[ATTRIBUTES]
        payload = data[BATCH_HEADER_SIZE:]
        codec = attributes & COMPRESSION_MASK
        if codec >= len(codecs.CODECS) or data[MAGIC_AT] > 2:
            return self.filler(len(payload))
        is_control = bool(attributes & CONTROL_BIT)
        return self._through_codec(codec, payload, data[MAGIC_AT], lambda plain: self._all_records(plain, is_control=is_control))

    def _through_codec(self, codec: int, payload: bytes, magic: int, redact: Callable[[bytearray], bool]) -> bytes:
        """A payload of which `redact` replaces the decompressed bytes in place.

        All of it is filled up if it is damaged anywhere: `redact` then returns False.
        """
        records, filled = self.records, self.filled
        found = codecs.decompress(codec, payload, magic, limit=MAX_PAYLOAD) if codec else codecs.Payload(payload, None)
        frames = codecs.inspect_frames(codec, payload) if codec else Frames(1, len(payload))
        plain = bytearray(found.data)
        if found.error is None and frames.end == len(payload) and redact(plain):
            return _compressed(codec, bytes(plain), frames, magic)
        self.records, self.filled = records, filled
        return self.filler(len(payload))

    def _all_records(self, data: bytearray, *, is_control: bool) -> bool:
        """All records of a payload, in place, whatever their count should be. Returns whether it holds nothing else."""
        position = 0
        while position < len(data):
            end = self._record(data, position, is_control=is_control)
            if end is None:
                return False
            self.records += 1
            position = end
        return True

    def _record(self, data: bytearray, position: int, *, is_control: bool) -> int | None:
        """One record. Returns where it ends; None if it is no record."""
        fields = _Fields(data, position, len(data))
        length = fields.varint()
        if length is None or length < 0 or fields.position + length > len(data):
            return None
        fields.end = fields.position + length
        fields.position += 1  # attributes
        if fields.varint(_VARLONG) is None or fields.varint() is None:  # timestamp and offset
            return None
        is_whole = self._contents_of(fields, is_control=is_control) and fields.position == fields.end
        return fields.end if is_whole else None

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
        if not is_valid and start > MESSAGE_TIMESTAMP_AT:
            timestamp = int.from_bytes(_usual(data[MESSAGE_TIMESTAMP_AT:start], _HIGHEST_TIMESTAMP), "big", signed=True)
            head = data[:MESSAGE_TIMESTAMP_AT] + self._coarse(timestamp).to_bytes(_TIMESTAMP_SIZE, "big", signed=True)
        if not (is_valid or is_whole):
            head = self._head(head[:MAGIC_AT]) + head[MAGIC_AT:]
        if not is_valid:
            return head + _usual_size(data[start : start + _SIZE]) + self.filler(len(data) - start - _SIZE)
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

    def _all_messages(self, data: bytearray) -> bool:
        """All messages in a wrapper, in place. Returns whether it holds nothing else."""
        position = 0
        while position < len(data):
            end = position + batch_size(data, position) if position + LOG_OVERHEAD <= len(data) else -1
            if end < position + LOG_OVERHEAD + MIN_RECORD_OVERHEAD or end > len(data):
                return False
            inner = bytes(data[position:end])
            if with_crc(inner, is_message=True) != inner:
                return False
            redacted = self._message(inner, is_whole=False, is_valid=True)
            data[position:end] = with_crc(self._outside_of_checksum(inner) + redacted[MAGIC_AT:], is_message=True)
            position = end
        return True


class _Fields:
    """Reads the fields of a record, and replaces some."""

    def __init__(self, data: bytearray, position: int, end: int) -> None:
        self.data = data
        self.position = position
        self.end = end

    def varint(self, size: int = _VARINT) -> int | None:
        """A number; None if there is none."""
        try:
            value, self.position = read_varint(self.data, self.position, self.end, size)
        except (IndexError, VarintTooLong):
            return None
        return value

    def sized(self, replaced: Callable[[bytes], bytes], *, may_be_null: bool = True) -> bool:
        """A size and what it counts, which is replaced. Returns False if it cannot be."""
        size = self.varint()
        if size is None:
            return False
        if size < (-1 if may_be_null else 0) or self.position + max(size, 0) > self.end:
            return False
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
    """A number as it is if it is from -1 to this one, and whole; otherwise, as it may be content, one with the same sign."""
    is_whole = highest.bit_length() < 8 * len(data)  # the field has room for more
    if is_whole and -1 <= int.from_bytes(data, "big", signed=True) <= highest:
        return data
    return b"\xff" * (len(data) - 1) + b"\xfe" if data[:1] >= b"\x80" else FILLER * len(data)


def _usual_size(data: bytes) -> bytes:
    """The size of a key or value, or the length of a batch, as `_usual` makes it; what may be one stays so."""
    size = int.from_bytes(data, "big", signed=True)
    return _LARGE_SIZE if _HIGHEST_EPOCH < size <= LONGEST_BATCH else _usual(data, _HIGHEST_EPOCH)


def _without_contents(header: bytes, coarse: Callable[[int, int], int], *, is_valid: bool = False) -> bytes:
    """The header of a batch of magic 2 in which some fields may be content: those are not as they were.

    If the CRC fits and a single field is out of the ordinary, none is, except the last one, which contents follow.
    """
    fields = list(BATCH_HEADER.unpack(header))
    implausible = _implausible_fields(header)
    is_alone = is_valid and len(implausible) <= 1
    if is_alone and RECORD_COUNT not in implausible:
        return header
    doubtful = [field for field, highest in _HIGHEST_USUAL.items() if not -1 <= fields[field] <= highest]
    if not is_alone:
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


def _compressed(codec: int, plain: bytes, frames: Frames, magic: int) -> bytes:
    """A payload of as many frames: the first one holds everything."""
    if not codec:
        return plain
    if frames.is_raw:
        return snappy.raw_block(plain)
    more = min(frames.count, _MOST_FRAMES) - 1
    return codecs.compressed(codec, [plain], magic) + more * (codecs.compressed(codec, [b""], magic) if more > 0 else b"")


def _implausible_fields(header: bytes) -> list[int]:
    """The fields of a header that no broker writes like this: other bytes may have become its fields."""
    fields = BATCH_HEADER.unpack(header)
    counts = LAST_OFFSET_DELTA, RECORD_COUNT
    return [
        field for field, highest in _HIGHEST_USUAL.items() if fields[field] < -1 or field in counts and fields[field] > highest
    ]
