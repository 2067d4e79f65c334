"""Tables as Arrow and Parquet files: written under a temporary name, renamed when they are complete."""

from __future__ import annotations

import errno
import os
from base64 import b64encode
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kdump.binary.paths import require_local
from kdump.binary.placing import place
from kdump.workers import unfinished

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Any

PARQUET = "parquet"
ZSTD, SNAPPY = "zstd", "snappy"
"""What columns are compressed with: for tables that are kept, and, in less time, for a file that is to be looked at."""

_ROW_GROUP_BYTES = 32 << 20  # of columns in memory; compressed they take a part of it
_ROW_GROUP_ROWS = 1 << 20
_SAMPLE_ROWS = 1 << 11
_VALUES_AT_ONCE = 1 << 14  # of a column; with the 1024 that Arrow takes by itself, a file takes a twentieth longer
_PARAMETERS = pq.ParquetWriter.__init__.__code__.co_varnames  # `inspect` takes long to import
_ONLY_BYTES = {"max_rows_per_page": _ROW_GROUP_ROWS} if "max_rows_per_page" in _PARAMETERS else {}
"""A page ends when it has enough bytes: recent releases of PyArrow end it also after 20,000 rows, which takes longer."""
_DELTAS = "DELTA_BINARY_PACKED"
_OF_QUERIES = (pa.string(), pa.int64(), pa.int32(), pa.bool_())
_CODED_TEXT = pa.dictionary(pa.int32(), pa.string())


class TableFile:
    """A file of one table, in the format `parquet` or `arrow`. It gets its name at the end of the block, if all went well.

    Columns of Parquet whose first rows hardly repeat a value get no dictionary: most attempts to make one fail, and cost time;
    numbers of 64 bits are then differences of neighbours. Text that is the same in the first rows is passed on with a dictionary:
    Arrow need not look at each row. A lowest and a highest value is written only of what queries choose rows by: text and larger
    numbers, but neither keys nor values.

    Raises FileExistsError if there is a file of this name: nothing is overwritten.
    """

    def __init__(self, path: str, schema: pa.Schema, form: str = PARQUET, *, compression: str = ZSTD) -> None:
        require_local(path, "the output")
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self.path = path
        self.rows = 0
        self._temporary = f"{path}.incomplete-{os.getpid()}"
        self._schema = schema
        self._texts: dict[str, _ConstantText] = {}
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = self._held_rows = 0
        self._form = form
        self._compression = compression
        self._writer: Any = None  # one of two classes of Arrow's, from the first rows on
        self._sink: pa.OSFile | None = None  # until the block begins

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        self._held_rows += batch.num_rows
        self.rows += batch.num_rows
        if self._held_bytes >= _ROW_GROUP_BYTES or self._held_rows >= _ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._held, self._schema)
        if self._writer is None:
            self._writer = self._new_writer(table)
        if self._held:
            self._writer.write_table(self._with_dictionaries(table))
        self._held, self._held_bytes, self._held_rows = [], 0, 0

    def _new_writer(self, first: pa.Table) -> Any:
        if self._form != PARQUET:
            return pa.ipc.new_file(self._sink, self._schema)
        sample = first.slice(0, _SAMPLE_ROWS)
        varied = [field.name for field in self._schema if not _has_repeats(sample[field.name])]
        texts = [field.name for field in self._schema if field.type == pa.string()]
        self._texts = {name: _ConstantText() for name in texts if all(map(_is_constant, sample[name].chunks))}
        leaves = {path: field for field in self._schema for path in _leaves(field)}
        writer = pq.ParquetWriter(
            self._sink,
            self._with_dictionaries(self._schema.empty_table()).schema,
            compression=self._compression,
            use_dictionary=[path for path, field in leaves.items() if field.name not in varied],
            column_encoding={name: _DELTAS for name in varied if self._schema.field(name).type == pa.int64()} or None,
            write_statistics=[path for path, field in leaves.items() if field.type in _OF_QUERIES],
            write_batch_size=_VALUES_AT_ONCE,
            store_schema=False,
            **_ONLY_BYTES,
        )
        writer.add_key_value_metadata({"ARROW:schema": b64encode(self._schema.serialize())})  # where Arrow looks for it
        return writer

    def _with_dictionaries(self, table: pa.Table) -> pa.Table:
        """The same rows, with dictionaries for text that is constant in the first rows."""
        for name, text in self._texts.items():
            number = self._schema.get_field_index(name)
            field = pa.field(name, _CODED_TEXT, nullable=self._schema.field(number).nullable)
            table = table.set_column(number, field, text.coded(table[name]))
        return table.unify_dictionaries()  # Parquet writes no second dictionary into a group of rows

    def __enter__(self) -> TableFile:
        with unfinished.Making(self._temporary):
            self._sink = pa.OSFile(self._temporary, "wb")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            assert self._sink is not None
            if error is None:
                self._flush()
            if self._writer is not None:
                self._writer.close()
            self._sink.close()
            if error is None:
                place(self._temporary, self.path)
                unfinished.require_removed(self._temporary)
        finally:
            unfinished.remove(self._temporary)


class _ConstantText:
    """Makes dictionaries for a column of text that has hardly ever another value. Parts of one array get parts of one."""

    def __init__(self) -> None:
        self._last: tuple[pa.Array, pa.Array] | None = None  # as it was, which keeps its buffers alive, and with a dictionary

    def coded(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """The same text with dictionaries."""
        return pa.chunked_array([self._of(chunk) for chunk in column.chunks], _CODED_TEXT)

    def _of(self, chunk: pa.Array) -> pa.Array:
        if self._last is None or not _is_part(chunk, self._last[0]):
            self._last = chunk, _coded(chunk)
        whole, coded = self._last
        return coded.slice(chunk.offset - whole.offset, len(chunk))


def _coded(text: pa.Array) -> pa.Array:
    """Text with a dictionary. What Arrow offers for it has an import that takes longer than all of a constant's."""
    if not _is_constant(text):
        return text.dictionary_encode()
    if text.null_count:
        return pa.nulls(len(text), _CODED_TEXT)
    codes = pa.Array.from_buffers(pa.int32(), len(text), [None, pa.py_buffer(bytes(4 * len(text)))])
    return pa.DictionaryArray.from_arrays(codes, text.slice(0, 1))


def _is_constant(text: pa.Array) -> bool:
    """Whether all rows have the same text, or all are null."""
    if text.null_count or not len(text):
        return bool(text.null_count == len(text))
    _, offsets, data = text.buffers()
    ends = memoryview(offsets).cast("i")[text.offset : text.offset + len(text) + 1].tolist()
    start, size = ends[0], ends[1] - ends[0]
    if ends != [start + size * row for row in range(len(ends))]:
        return False
    together = bytes(memoryview(data or b"")[start : ends[-1]])
    return together == together[:size] * len(text)


def _is_part(one: pa.Array, whole: pa.Array) -> bool:
    """Whether all of an array of text is in another one, in the same place in memory."""
    if one.offset < whole.offset or one.offset + len(one) > whole.offset + len(whole):
        return False
    # an empty buffer is false, and not even comparable with None
    ours, theirs = ([None if buffer is None else buffer.address for buffer in array.buffers()] for array in (one, whole))
    return ours == theirs


def _leaves(field: pa.Field, path: str = "") -> list[str]:
    """The paths of a column's leaves, as Parquet names them."""
    path = f"{path}.{field.name}" if path else field.name
    if pa.types.is_list(field.type):
        return _leaves(field.type.value_field.with_name("element"), f"{path}.list")
    if pa.types.is_struct(field.type):
        return [leaf for child in field.type for leaf in _leaves(child, path)]
    return [path]


def _has_repeats(column: pa.ChunkedArray) -> bool:
    """Whether a dictionary may pay: unless more than half of the values, which are numbers of 64 bits or bytes, occur once."""
    if column.type not in (pa.int64(), pa.binary()):
        return True
    return 2 * len({value for chunk in column.chunks for value in _hashes(chunk)}) <= len(column)


def _hashes(values: pa.Array) -> Iterable[int]:
    """A hash of each value; that of a null is of no meaning. A scalar of Arrow's would take ten times as long."""
    buffers = [memoryview(buffer or b"") for buffer in values.buffers()]
    rows = range(values.offset, values.offset + len(values))
    if values.type == pa.int64():
        return map(hash, buffers[1].cast("q")[rows.start : rows.stop])
    offsets, data = buffers[1].cast("i"), buffers[2]
    return (hash(bytes(data[offsets[row] : offsets[row + 1]])) for row in rows)
