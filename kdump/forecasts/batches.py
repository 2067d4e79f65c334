"""The batches of a log as a broker reads them: header by header, or all bytes if it checks them."""

from __future__ import annotations

import os
from itertools import repeat
from struct import Struct

from kdump.binary import kernel
from kdump.binary.arithmetic import as_int64
from kdump.binary.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CRC,
    CRC_COVERS_FROM,
    HEADER_UP_TO_MAGIC,
    LAST_OFFSET_DELTA,
    LOG_OVERHEAD,
    MESSAGE_CRC,
    MESSAGE_CRC_COVERS_FROM,
    MIN_RECORD_OVERHEAD,
    batch_size,
)
from kdump.binary.checksums import crc32, crc32c_for, of_range
from kdump.binary.source import WINDOW_SIZE
from kdump.checks.wording import counted
from kdump.errors import CorruptData
from kdump.forecasts.exceptions import ILLEGAL_ARGUMENT, KAFKA, BrokerException, InvalidBatch
from kdump.formats import message_set
from kdump.formats.log import Log
from kdump.formats.record_batch import message_header
from kdump.reading.headers import HeaderWindow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdump.forecasts.directory import Directory, File

    Header = tuple[int, ...]
    Checked = tuple[int, Header, bool, bool]

MAX_LOG_SIZE = 0x7FFFFFFF
LARGEST_CODEC = 7
"""The codec does not matter for a batch that is only checked."""

_UP_TO_MAGIC = Struct(">qi4xb")  # offset, length, magic
_SMALL_WINDOW = 1 << 11
_LOWEST_MAGIC = -0x80
_CODEC_COUNT = 5
_MAX_WRAPPER_SIZE = 128 << 20
_FEW_PASSED = 32  # batches, after which it is kept where an offset was found: wrappers are decompressed for that


class Batch:
    """A batch or message, known by its first 17 bytes; other fields are read when they are needed.

    `size` counts all its bytes. Kafka: FileLogInputStream.FileChannelRecordBatch.
    """

    __slots__ = ("_header", "_log", "magic", "offset", "position", "size")

    def __init__(self, log: LogReader, position: int, offset: int, size: int, magic: int, header: Header | None = None) -> None:
        self._log = log
        self._header = header
        self.position = position
        self.offset = offset
        self.size = size
        self.magic = magic

    @property
    def is_legacy(self) -> bool:
        return self.magic < 2

    @property
    def header(self) -> Header:
        """All header fields of a batch of magic 2 or higher. The header may reach past the batch, but not past the log."""
        if self._header is None:
            data = self._log.read(self.position, BATCH_HEADER_SIZE)
            if len(data) < BATCH_HEADER_SIZE:
                raise BrokerException(
                    f"the log ends inside the header of the batch at byte {self.position:,}", KAFKA, file=self._log.name
                )
            self._header = BATCH_HEADER.unpack(data)
        return self._header

    def last_offset(self) -> int:
        """A wrapper message stores only one offset."""
        return self.offset if self.is_legacy else as_int64(self.offset + self.header[LAST_OFFSET_DELTA])

    def next_offset(self) -> int:
        return as_int64(self.last_offset() + 1)

    def first_offset(self) -> int:
        """A wrapper message is unpacked to find it."""
        if not self.is_legacy:
            return self.offset
        if self.size > _MAX_WRAPPER_SIZE:
            return self.offset
        data = self._log.read(self.position + LOG_OVERHEAD, self.size - LOG_OVERHEAD)
        message = message_set.Message(self.offset, data)
        if not message.codec:
            return self.offset
        if message.codec >= _CODEC_COUNT:
            reason = f"codec {message.codec} of the message at byte {self.position:,} does not exist"
            raise BrokerException(reason, ILLEGAL_ARGUMENT, file=self._log.name)
        try:
            return message_set.unwrap(message).first_offset()
        except CorruptData as fault:
            if fault.code == "decompression-limit":
                return self.offset  # the broker has no such limit
            reason = f"the message at byte {self.position:,} cannot be opened: {fault.message}"
            raise BrokerException(reason, _NAMES.get(fault.code, KAFKA), file=self._log.name) from None


class LogReader:
    """Reads the log of a segment, `size` bytes long. Kafka: FileRecords."""

    is_direct = False
    """Whether it is a file that others may read by its descriptor."""

    def __init__(self, directory: Directory, file: File) -> None:
        self.directory = directory
        self.file = file
        self.known_positions = directory.known_positions

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def name(self) -> str:
        """The name of the file, if positions in the log are those in it."""
        return "" if self.file.start else os.path.basename(self.path)

    @property
    def size(self) -> int:
        return self.file.size

    def read(self, position: int, count: int) -> bytes:
        return self.directory.read(self.file, position, count)

    def batches(self, position: int = 0, end: int | None = None) -> Iterator[Batch]:
        """The batches from a position, whatever is there, up to `end` (by default the end of the log).

        Raises InvalidBatch for an impossible length.
        """
        end = self.size if end is None else min(end, self.size)
        headers = HeaderWindow(self, _SMALL_WINDOW, WINDOW_SIZE)
        while position < end - HEADER_UP_TO_MAGIC:
            window, start = headers.at(position)
            if len(window) - start < HEADER_UP_TO_MAGIC:
                return  # the file has been truncated in the meantime
            offset, length, magic = _UP_TO_MAGIC.unpack_from(window, start)
            size = length + LOG_OVERHEAD
            if length < MIN_RECORD_OVERHEAD:
                raise self.invalid_size(position, length)
            if position > end - size:
                return
            header = None
            if magic >= 2 and start + BATCH_HEADER_SIZE <= len(window):
                header = BATCH_HEADER.unpack_from(window, start)
            yield Batch(self, position, offset, size, magic, header)
            position += size

    def last_batch(self, position: int = 0) -> Batch | None:
        """The last batch, reading from a position. Raises InvalidBatch like `batches`."""
        last = None
        for batch in self.batches(self._near_last(position)):
            last = batch
        return last

    def _near_last(self, position: int) -> int:
        """Where the last of the batches from this position on starts that is whole and has a possible length."""
        headers = HeaderWindow(self, _SMALL_WINDOW, WINDOW_SIZE)
        last = position
        while position < self.size - HEADER_UP_TO_MAGIC:
            window, start = headers.at(position)
            window_position, left = position - start, self.size - position + start
            while start + HEADER_UP_TO_MAGIC <= len(window):
                size = batch_size(window, start)
                if size < MIN_RECORD_OVERHEAD + LOG_OVERHEAD or start + size > left:
                    return last
                last = window_position + start
                start += size
            if window_position + start == position:
                return last
            position = window_position + start
        return last

    def checked(self) -> Iterator[Checked]:
        """All batches, read completely: position, fields, whether it is an old message, whether length and CRC are valid.

        Raises InvalidBatch like `batches`.
        """
        crc32c = crc32c_for(self.size)
        log = Log(self, 0)  # type: ignore[arg-type]  # a walk needs only path, size and read of a source

        def regular(window: bytes, at: int, window_position: int, magic: int) -> tuple[Iterator[Checked] | None, int]:
            headers: list[tuple[int, ...]]
            if magic < 2:
                headers, starts, valid, end = kernel.walk_messages(window, at, _LOWEST_MAGIC, LARGEST_CODEC)  # type: ignore[assignment]  # as a list of any headers
            else:
                headers, starts, valid, end = kernel.walk_batches(window, at, LARGEST_CODEC, crc32c)  # type: ignore[assignment]
            if not headers:
                return None, end
            positions = map(window_position.__add__, starts)
            return zip(positions, headers, repeat(magic < 2), valid), end  # repeat is infinite

        def irregular(magic: int, size: int) -> Iterator[Checked]:
            return iter([self._irregular(log.position, size, magic < 2)])

        try:
            for run in log.walk(regular, irregular):
                yield from run
        except CorruptData as fault:
            raise self.invalid_size(log.position, fault.values["size"]) from None

    def _irregular(self, position: int, size: int, is_legacy: bool) -> Checked:
        """A batch that is too large for a window, too small for its header, or at the end of the log."""
        data = self.read(position, BATCH_HEADER_SIZE)
        if is_legacy:
            message = message_header(data)
            covered = position + MESSAGE_CRC_COVERS_FROM, position + size
            is_valid = of_range(self, *covered, crc32) == message[MESSAGE_CRC]
            return position, message, True, is_valid
        if size < BATCH_HEADER_SIZE:
            return position, BATCH_HEADER.unpack(data.ljust(BATCH_HEADER_SIZE, b"\0")), False, False
        header = BATCH_HEADER.unpack(data)
        is_valid = of_range(self, position + CRC_COVERS_FROM, position + size, crc32c_for(size)) == header[CRC]
        return position, header, False, is_valid

    def invalid_size(self, position: int, length: int) -> InvalidBatch:
        claim = f"at byte {position:,} a batch says it is {counted(length, 'byte')} long"
        return InvalidBatch(f"{claim}, less than {MIN_RECORD_OVERHEAD}", file=self.name)


def find(log: LogReader, target: int, position: int, *, by_first_offset: bool) -> int | None:
    """The position of the batch with an offset, or of the first one after it; None if there is none from `position` on.

    Kafka: FileRecords.searchForOffsetFromPosition, up to 4.0 searchForOffsetWithSize.
    """
    if not by_first_offset:
        for batch in log.batches(position):
            if batch.last_offset() >= target:
                return batch.position
        return None
    known = log.known_positions
    question = log.file.path, log.file.start, log.size, target, position
    if question in known:
        return known[question]
    previous: Batch | None = None
    found, passed = None, 0
    for batch in log.batches(position):
        first_offset = batch.first_offset()
        if first_offset >= target:
            found = batch.position
            if first_offset == target:
                previous = None
            break
        previous = batch
        passed += 1
    if previous is not None and previous.last_offset() >= target:
        found = previous.position
    if passed > _FEW_PASSED and log.file.path:
        known[question] = found
    return found


_NAMES = {
    "legacy-wrapper-magic": "org.apache.kafka.common.InvalidRecordException",
    "codec-not-allowed": "org.apache.kafka.common.InvalidRecordException",
    "legacy-wrapper-null": "org.apache.kafka.common.InvalidRecordException",
    "legacy-wrapper-empty": "org.apache.kafka.common.InvalidRecordException",
    "legacy-wrapper-offset": "org.apache.kafka.common.InvalidRecordException",
    "legacy-nested-compression": "org.apache.kafka.common.InvalidRecordException",
    "codec-unknown": ILLEGAL_ARGUMENT,
    "inner-record-size-too-small": InvalidBatch.name,
    "message-field-past-end": "java.lang.IndexOutOfBoundsException",
    "message-content-past-end": "java.lang.IndexOutOfBoundsException",
}
"""The exceptions for wrappers that cannot be unpacked, by fault code; for all other codes it is a KafkaException."""
