/* Records as columns in the layout of Arrow: numbers, and bytes with offsets and a bitmap of what is not null. The reference is
   binary/columns_reference.py. The first pass checks the records and adds up sizes, the second one fills columns of exactly these sizes. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "bytes/arithmetic.h"
#include "read/records.h"
#include "bytes/utf8.h"
#include "bytes/varint.h"

#define RECORD_COLUMNS(_)                                                                                                      \
    _(offset) _(timestamp) _(key_size) _(value_size) _(sequence) _(headers) _(key) _(value)

#define AS_RECORD_COLUMN(name) R_##name,
#define AS_RECORD_COLUMN_TEXT(name) #name,
enum record_column { RECORD_COLUMNS(AS_RECORD_COLUMN) RECORD_COLUMN_COUNT };
static const char *const record_column_names[] = {RECORD_COLUMNS(AS_RECORD_COLUMN_TEXT)};

/* A batch whose records lie in `data`, not compressed (any more), from `start` to `end`. */
typedef struct {
    Py_buffer data;
    Py_ssize_t start, end;
    int count;
    long long base_offset, base_timestamp; /* which is the timestamp of all records with `has_one_timestamp` */
    int has_one_timestamp, base_sequence;
} PlainBatch;

/* The numbers of items and bytes of all records: the sizes of their columns. */
typedef struct {
    int64_t records, headers, key_bytes, value_bytes, header_key_bytes, header_value_bytes;
    int has_null_key, has_null_value, has_null_header_value;
    int32_t largest; /* key or value */
} RecordTotals;

/* A header of a record; its value may be null, of negative size. */
typedef struct {
    const uint8_t *key, *value;
    int32_t key_size, value_size;
} RecordHeader;

/* Reads a header of a regular record that ends at `end`. Returns its end. */
static inline const uint8_t *read_record_header(const uint8_t *p, const uint8_t *end, RecordHeader *header)
{
    header->key = varint32(p, end, &header->key_size);
    header->value = varint32(header->key + header->key_size, end, &header->value_size);
    return header->value + (header->value_size > 0 ? header->value_size : 0);
}

static inline int64_t size_of_bytes(int32_t size, int *has_null)
{
    *has_null |= size < 0;
    return size > 0 ? size : 0;
}

/* Adds the headers of a regular record. Returns whether all keys are well-formed UTF-8, as Arrow wants text to be. */
static int add_headers(const Record *record, const uint8_t *end, RecordTotals *totals)
{
    const uint8_t *p = record->headers;
    for (int32_t at = 0; at < record->header_count; at++) {
        RecordHeader header;
        p = read_record_header(p, end, &header);
        if (!is_well_formed_text(header.key, (size_t)header.key_size))
            return 0;
        totals->header_key_bytes += header.key_size;
        totals->header_value_bytes += size_of_bytes(header.value_size, &totals->has_null_header_value);
    }
    totals->headers += record->header_count;
    return 1;
}

/* Whether offsets of 32 bits can say where each item is. */
static int are_addressable(const RecordTotals *totals)
{
    return totals->records < INT32_MAX && totals->headers < INT32_MAX && totals->key_bytes <= INT32_MAX &&
           totals->value_bytes <= INT32_MAX && totals->header_key_bytes <= INT32_MAX &&
           totals->header_value_bytes <= INT32_MAX;
}

/* Adds the records of a batch. Returns 0, and adds nothing, if a record is irregular, if anything is left over, or if there is more than
   columns can hold. */
static int add_batch(const PlainBatch *batch, int64_t max_headers, RecordTotals *totals)
{
    RecordTotals sums = *totals;
    const uint8_t *p = (const uint8_t *)batch->data.buf + batch->start, *end = (const uint8_t *)batch->data.buf + batch->end;
    for (int left = batch->count; left; left--) {
        Record record;
        if (!(p = read_record(p, end, &record)))
            return 0;
        if (record.header_count && (sums.headers + record.header_count - totals->headers > max_headers || !add_headers(&record, p, &sums)))
            return 0;
        sums.key_bytes += size_of_bytes(record.key_size, &sums.has_null_key);
        sums.value_bytes += size_of_bytes(record.value_size, &sums.has_null_value);
        sums.largest = record.key_size > sums.largest ? record.key_size : sums.largest;
        sums.largest = record.value_size > sums.largest ? record.value_size : sums.largest;
    }
    sums.records += batch->count;
    if ((batch->count && p != end) || !are_addressable(&sums)) /* nothing is read of an empty batch, as in Kafka */
        return 0;
    *totals = sums;
    return 1;
}

/* A column of bytes that is being filled. */
typedef struct {
    PyObject *objects[3];
    uint8_t *valid, *data; /* no `valid` if nothing is null */
    int32_t *offsets, filled;
} BytesColumn;

typedef struct {
    PyObject *numbers[RECORD_COLUMN_COUNT], *header_offsets;
    int64_t *offset, *timestamp;
    int32_t *key_size, *value_size, *sequence, *headers;
    BytesColumn key, value, header_key, header_value;
} RecordColumns;

/* New memory for a column, kept in `*object`; NULL with an exception set if there is none. */
static void *new_memory(PyObject **object, int64_t size)
{
    *object = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    return *object ? PyBytes_AsString(*object) : NULL;
}

static int new_bytes_column(BytesColumn *column, int64_t rows, int64_t size, int has_null)
{
    if (has_null && !(column->valid = new_memory(&column->objects[0], (rows + 7) / 8)))
        return 0;
    if (!(column->offsets = new_memory(&column->objects[1], 4 * (rows + 1))) || !(column->data = new_memory(&column->objects[2], size)))
        return 0;
    if (has_null)
        memset(column->valid, 0, (size_t)(rows + 7) / 8);
    column->offsets[0] = 0;
    return 1;
}

static int new_record_columns(RecordColumns *columns, const RecordTotals *totals, int wanted)
{
    int64_t rows = totals->records;
    PyObject **numbers = columns->numbers;
    if (wanted & 1 << R_offset && !(columns->offset = new_memory(&numbers[R_offset], 8 * rows)))
        return 0;
    if (wanted & 1 << R_timestamp && !(columns->timestamp = new_memory(&numbers[R_timestamp], 8 * rows)))
        return 0;
    if (wanted & 1 << R_key_size && !(columns->key_size = new_memory(&numbers[R_key_size], 4 * rows)))
        return 0;
    if (wanted & 1 << R_value_size && !(columns->value_size = new_memory(&numbers[R_value_size], 4 * rows)))
        return 0;
    if (wanted & 1 << R_sequence && !(columns->sequence = new_memory(&numbers[R_sequence], 4 * rows)))
        return 0;
    if (wanted & 1 << R_key && !new_bytes_column(&columns->key, rows, totals->key_bytes, totals->has_null_key))
        return 0;
    if (wanted & 1 << R_value && !new_bytes_column(&columns->value, rows, totals->value_bytes, totals->has_null_value))
        return 0;
    if (!(wanted & 1 << R_headers))
        return 1;
    if (!(columns->headers = new_memory(&columns->header_offsets, 4 * (rows + 1))))
        return 0;
    columns->headers[0] = 0;
    return new_bytes_column(&columns->header_key, totals->headers, totals->header_key_bytes, 0) &&
           new_bytes_column(&columns->header_value, totals->headers, totals->header_value_bytes, totals->has_null_header_value);
}

/* Puts bytes into a row; a negative size is null. */
static inline void fill_bytes(BytesColumn *column, int64_t row, const uint8_t *p, int32_t size)
{
    if (size > 0) {
        memcpy(column->data + column->filled, p, (size_t)size);
        column->filled += size;
    }
    column->offsets[row + 1] = column->filled;
    if (column->valid && size >= 0)
        column->valid[row / 8] |= (uint8_t)(1 << row % 8);
}

static void fill_headers(RecordColumns *columns, int64_t row, const Record *record, const uint8_t *end)
{
    const uint8_t *p = record->headers;
    int32_t first = columns->headers[row];
    for (int32_t at = 0; at < record->header_count; at++) {
        RecordHeader header;
        p = read_record_header(p, end, &header);
        fill_bytes(&columns->header_key, first + at, header.key, header.key_size);
        fill_bytes(&columns->header_value, first + at, header.value, header.value_size);
    }
    columns->headers[row + 1] = first + record->header_count;
}

/* Puts the records of a regular batch into the rows from `row` on. */
static void fill_batch(const PlainBatch *batch, int64_t row, RecordColumns *columns)
{
    const uint8_t *p = (const uint8_t *)batch->data.buf + batch->start, *end = (const uint8_t *)batch->data.buf + batch->end;
    for (int left = batch->count; left; left--, row++) {
        Record record;
        p = read_record(p, end, &record);
        if (columns->offset)
            columns->offset[row] = added(batch->base_offset, record.offset_delta);
        if (columns->timestamp)
            columns->timestamp[row] = added(batch->base_timestamp, batch->has_one_timestamp ? 0 : record.timestamp_delta);
        if (columns->key_size)
            columns->key_size[row] = record.key_size < 0 ? -1 : record.key_size;
        if (columns->value_size)
            columns->value_size[row] = record.value_size < 0 ? -1 : record.value_size;
        if (columns->sequence)
            columns->sequence[row] = batch->base_sequence < 0 ? -1 : later_sequence(batch->base_sequence, record.offset_delta);
        if (columns->key.offsets)
            fill_bytes(&columns->key, row, record.key, record.key_size);
        if (columns->value.offsets)
            fill_bytes(&columns->value, row, record.value, record.value_size);
        if (columns->headers)
            fill_headers(columns, row, &record, p);
    }
}

static void drop_bytes_column(BytesColumn *column)
{
    for (int at = 0; at < 3; at++)
        Py_CLEAR(column->objects[at]);
}

static void drop_record_columns(RecordColumns *columns)
{
    for (int at = 0; at < RECORD_COLUMN_COUNT; at++)
        Py_CLEAR(columns->numbers[at]);
    Py_CLEAR(columns->header_offsets);
    drop_bytes_column(&columns->key);
    drop_bytes_column(&columns->value);
    drop_bytes_column(&columns->header_key);
    drop_bytes_column(&columns->header_value);
}

static PyObject *object_or_none(PyObject *object)
{
    return object ? object : Py_None;
}

/* Bitmap (or None), offsets and data of a column; None for a column that was not asked for. */
static PyObject *tuple_of_bytes(const BytesColumn *column)
{
    if (!column->offsets)
        return Py_NewRef(Py_None);
    return PyTuple_Pack(3, object_or_none(column->objects[0]), column->objects[1], column->objects[2]);
}

static PyObject *tuple_of_columns(const RecordColumns *columns)
{
    PyObject *tuple = PyTuple_New(RECORD_COLUMN_COUNT);
    for (int at = 0; tuple && at < RECORD_COLUMN_COUNT; at++) {
        PyObject *column;
        if (at == R_key)
            column = tuple_of_bytes(&columns->key);
        else if (at == R_value)
            column = tuple_of_bytes(&columns->value);
        else if (at == R_headers && columns->headers)
            column = Py_BuildValue("ONN", columns->header_offsets, tuple_of_bytes(&columns->header_key),
                                   tuple_of_bytes(&columns->header_value));
        else
            column = Py_NewRef(object_or_none(columns->numbers[at]));
        if (!column || PyTuple_SetItem(tuple, at, column) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* Reads a batch from a tuple. Returns 0 with an exception set if it is none, or lies outside of its buffer. */
static int plain_batch_of(PyObject *tuple, PlainBatch *batch)
{
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a batch is a tuple");
        return 0;
    }
    if (!PyArg_ParseTuple(tuple, "y*nniLLpi", &batch->data, &batch->start, &batch->end, &batch->count, &batch->base_offset,
                          &batch->base_timestamp, &batch->has_one_timestamp, &batch->base_sequence))
        return 0;
    if (batch->start >= 0 && batch->start <= batch->end && batch->end <= batch->data.len && batch->count >= 0)
        return 1;
    PyErr_SetString(PyExc_ValueError, "start, end or count is out of bounds");
    PyBuffer_Release(&batch->data);
    return 0;
}

PyDoc_STRVAR(record_columns_doc, "record_columns(batches, wanted, max_headers) -> (regular, largest, columns), as the reference.");

static PyObject *record_columns(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *given, *result = NULL;
    int wanted;
    long long max_headers;
    if (!PyArg_ParseTuple(arguments, "OiL:record_columns", &given, &wanted, &max_headers))
        return NULL;
    PyObject *tuples = PySequence_Tuple(given); /* which nobody else can change */
    if (!tuples)
        return NULL;
    Py_ssize_t count = PyTuple_Size(tuples), opened = 0, regular = 0;
    PlainBatch *batches = PyMem_Malloc((size_t)count * sizeof *batches);
    RecordColumns columns = {0};
    RecordTotals totals = {0};
    int failed = !batches;
    if (failed)
        PyErr_NoMemory();
    while (!failed && opened < count) {
        failed = !plain_batch_of(PyTuple_GetItem(tuples, opened), &batches[opened]);
        opened += !failed;
    }
    while (!failed && regular < count && add_batch(&batches[regular], max_headers, &totals))
        regular++;
    if (!failed && new_record_columns(&columns, &totals, wanted)) {
        int64_t row = 0;
        for (Py_ssize_t at = 0; at < regular; row += batches[at++].count)
            fill_batch(&batches[at], row, &columns);
        result = Py_BuildValue("niN", regular, totals.largest, tuple_of_columns(&columns));
    }
    drop_record_columns(&columns);
    while (opened)
        PyBuffer_Release(&batches[--opened].data);
    PyMem_Free(batches);
    Py_DECREF(tuples);
    return result;
}
