"""Notes on walks through sound logs: with them, another reader of a log has its sections without reading it again.

A note holds the summaries of a log's stretches in a file of many notes. It is of use only while the log is as it was.
"""

from __future__ import annotations

import marshal
import os
from struct import Struct

from kdump.binary.batch_header import BATCH_HEADER_SIZE
from kdump.errors import Unreadable
from kdump.formats.log import SummarizedChunk
from kdump.formats.summary import BatchSummary
from kdump.reading.damaged_offsets import identity
from kdump.reading.items import Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from kdump.binary.source import Source
    from kdump.binary.tolerant_source import TolerantSource

_FRAME = Struct("=I")  # the size of a summary that follows
_WRITE_BYTES = 1 << 20
_SMALLEST_SHARE = 16  # of a log are its notes at most: those of small batches take longer to write than to make again
_FEW_BYTES = 8 << 10  # that the notes of any log may take


class Note:
    """Where the note on a log is: `size` bytes from `start` on in the file at `path`.

    `log` is the identity of the log as it was walked; its offsets reach from `first_offset` to `last_offset`.
    """

    __slots__ = ("first_offset", "last_offset", "log", "path", "size", "start")

    def __init__(self, log: tuple[int, ...], path: str, start: int, size: int, first_offset: int, last_offset: int) -> None:
        self.log = log
        self.path = path
        self.start = start
        self.size = size
        self.first_offset = first_offset
        self.last_offset = last_offset


class NotesFile:
    """A new file of notes, which is made with the first of them. Where it cannot be written, there are no notes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        self._descriptor: int | None = None

    def append(self, data: bytes | bytearray) -> bool:
        """Add bytes at the end. Returns whether they are there."""
        try:
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._descriptor = os.open(self.path, flags, 0o600)
                self.size = os.lseek(self._descriptor, 0, os.SEEK_END)  # another process may have begun it
            written = os.write(self._descriptor, data)
        except OSError:  # a full disk: the next reader reads the log again
            return False
        self.size += written
        return written == len(data)

    def __enter__(self) -> NotesFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class NoteTaker:
    """Takes a note of a walk through all of one log, if that is sound and what there is to note is short."""

    def __init__(self, source: TolerantSource, file: NotesFile) -> None:
        self._source = source
        self._file = file
        self._log = _identity(source)
        self._left = max(source.size // _SMALLEST_SHARE, _FEW_BYTES)
        self._is_over = self._log is None
        self._position = 0
        self._offsets: list[int] = []  # the first and the last
        self._waiting = bytearray()
        self._start: int | None = None  # in the file, once something was written
        self._written = 0

    def take(self, summary: BatchSummary | None) -> None:
        """Note the next batches of the walk; None stands for any that are not sound, and for damage."""
        if self._is_over:
            return
        if summary is None or summary.positions[0] != self._position:
            self._give_up()
            return
        data = marshal.dumps(summary.parts())
        self._waiting += _FRAME.pack(len(data)) + data
        self._left -= _FRAME.size + len(data)
        self._position = summary.end
        self._offsets = [self._offsets[0] if self._offsets else summary.first_offset, summary.last_offset]
        if self._left < 0 or len(self._waiting) >= _WRITE_BYTES and not self._write():
            self._give_up()

    def note(self) -> Note | None:
        """The note, once the walk is over; None if there is none, or if the log changed meanwhile."""
        source = self._source
        if self._is_over or not self._offsets or self._position != source.size or source.bad_ranges:
            return None
        if not self._write() or self._log is None or _identity(source) != self._log or self._start is None:
            return None
        return Note(self._log, self._file.path, self._start, self._written, *self._offsets)

    def _write(self) -> bool:
        size = len(self._waiting)
        if not self._file.append(self._waiting):
            return False
        if self._start is None:
            self._start = self._file.size - size
        self._written += size
        self._waiting.clear()
        return True

    def _give_up(self) -> None:
        self._is_over = True
        self._waiting.clear()


def _identity(source: Source) -> tuple[int, ...] | None:
    """What shows whether a log changes; None if the system does not say it, or if more has been appended to it."""
    try:
        status = source.status()
    except Unreadable:
        return None
    return identity(status) if status.st_size == source.size else None


class WalkNotes:
    """The notes on some logs, by their paths."""

    def __init__(self, notes: Mapping[str, Note]) -> None:
        self._notes = notes

    def __contains__(self, path: str) -> bool:
        return path in self._notes

    def sections(self, source: Source, base_offset: int | None, next_base_offset: int | None) -> Iterator[Section] | None:
        """The sections that a walk through a log between these base offsets finds; None if there is no note that says it.

        Raises Unreadable where columns are asked for and the log has changed.
        """
        note = self._notes.get(source.path)
        if note is None or _identity(source) != note.log:
            return None
        highest = 1 << 63 if base_offset is None else base_offset + (1 << 31)  # the reach of an index
        if next_base_offset is not None:
            highest = min(highest, next_base_offset)
        if note.first_offset < (base_offset or 0) or note.last_offset >= highest:
            return None
        return _sections(note, source)


def _sections(note: Note, source: Source) -> Iterator[Section]:
    def header_at(start: int) -> bytes:
        return source.read_exactly(start, min(BATCH_HEADER_SIZE, source.size - start))

    with open(note.path, "rb") as file:
        file.seek(note.start)
        while file.tell() < note.start + note.size:
            (size,) = _FRAME.unpack(file.read(_FRAME.size))
            summary = BatchSummary.of_parts(marshal.loads(file.read(size)), header_at)
            yield Section(SummarizedChunk.read_again(summary, source, summary.positions[0]), None)
