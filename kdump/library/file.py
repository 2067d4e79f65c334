"""The common interface of open files: rows, tables of rows, and rows past damage."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from kdump.errors import UsageError
from kdump.library.arrow_stream import Tables
from kdump.library.rows import Damage
from kdump.tables import Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from kdump.binary.source import Source
    from kdump.tables import Table

    Item = TypeVar("Item")

RowType = TypeVar("RowType", bound=Row)


class File(Generic[RowType]):
    """A file of rows, open for reading. It is read by position, so several iterations can run at the same time.

    `path` is the argument of `kdump.open`. `size` is the size of the file at that time; data appended later is not read.
    """

    _is_closed = True  # until the file is open
    _row_class: type[RowType]

    def __init__(self, path: str, source: Source | None, size: int) -> None:
        self.path = path
        self.size = size
        self._source = source
        self._is_closed = False

    # For subclasses

    def _parts(self) -> Iterator[Table[RowType] | Damage]:
        """All rows of the file in order, in tables of bounded size, and the damage between them."""
        raise NotImplementedError

    def _while_open(self, items: Iterator[Item]) -> Iterator[Item]:
        """The same items, read only while the file is open: a closed descriptor may be reused for another file."""
        while True:
            self._check_open()
            try:
                item = next(items)
            except StopIteration:
                return
            yield item

    def _check_open(self) -> None:
        if self._is_closed:
            raise UsageError("is closed", path=self.path)

    # For callers

    def __iter__(self) -> Iterator[RowType]:
        """The rows, starting with the first in each iteration. Raises the same exceptions as `tables`."""
        return chain.from_iterable(self.tables())

    def tables(self) -> Tables[RowType]:
        """The same rows as tables of columns, a bounded number of rows in each; `table["offset"]` is a column.

        Raises CorruptData (with `code`, `path` and `position`) at the first damage, after all rows before it, and Unreadable
        if the file can no longer be read.
        """
        return Tables(self._row_class, self._sound_tables())

    def _sound_tables(self) -> Iterator[Table[RowType]]:
        for part in self._while_open(self._parts()):
            if isinstance(part, Damage):
                raise part.error()
            yield part

    def salvage(self) -> Iterator[RowType | Damage]:
        """The readable rows, and a Damage for each unreadable byte range. Damage raises no exception."""
        for part in self._while_open(self._parts()):
            if isinstance(part, Damage):
                yield part
            else:
                yield from part

    def close(self) -> None:
        """Close the file. Reading it afterwards raises UsageError; tables already read remain valid."""
        if not self._is_closed:
            self._is_closed = True
            if self._source is not None:
                self._source.close()

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._is_closed

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<kdump.{type(self).__name__} {self.path!r}{', closed' if self._is_closed else ''}>"
