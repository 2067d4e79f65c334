/* The functions of binary/reference.py, for what is regular: `walk_batches`, `walk_messages`, `walk_extents`, `walk_records`,
   `walk_contents`. They make Python objects, so they keep the GIL. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include "bytes/arithmetic.h"
#include "read/batches.h"
#include "bytes/layout.h"
#include "bytes/objects.h"
#include "read/records.h"
#include "bytes/varint.h"

/* The header of a batch of magic 2 as a tuple. */
static inline PyObject *header_of_batch(const uint8_t *p)
{
    const int64_t header[] = {
        batch_base_offset(p),    batch_length(p),        batch_leader_epoch(p),      batch_magic(p),
        batch_crc(p),            batch_attributes(p),    batch_last_offset_delta(p), batch_base_timestamp(p),
        batch_max_timestamp(p),  batch_producer_id(p),   batch_producer_epoch(p),    batch_base_sequence(p),
        batch_record_count(p),
    };
    return tuple_of(header, sizeof header / sizeof *header);
}

/* The header of a message as a tuple. */
static inline PyObject *header_of_message(const uint8_t *p)
{
    const int64_t header[] = {
        batch_base_offset(p), batch_length(p), message_crc(p), batch_magic(p), (int8_t)message_attributes(p), message_timestamp(p),
    };
    return tuple_of(header, sizeof header / sizeof *header);
}

/* Adds a row to the three lists of a walk: the header, where it starts in the window, and whether its checksum fits. */
static inline int note_header(PyObject **lists, PyObject *header, Py_ssize_t start, int is_valid)
{
    return append(lists[0], header) && append(lists[1], PyLong_FromSsize_t(start)) && append(lists[2], PyBool_FromLong(is_valid));
}

PyDoc_STRVAR(walk_batches_doc, "walk_batches(window, start, max_codec, checksum), as the reference; of `checksum`, only whether it is None matters.");

static PyObject *walk_batches(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    int max_codec, failed = 0;
    PyObject *checksum, *lists[MAX_LISTS];
    if (!PyArg_ParseTuple(arguments, "y*niO:walk_batches", &window, &start, &max_codec, &checksum))
        return NULL;
    if (!new_lists(lists, 3)) {
        PyBuffer_Release(&window);
        return NULL;
    }
    const uint8_t *bytes = window.buf;
    while (start >= 0 && start <= window.len && is_regular_batch(bytes + start, (size_t)(window.len - start), max_codec)) {
        const uint8_t *p = bytes + start;
        int is_valid = checksum == Py_None || is_valid_batch(p, (size_t)batch_size(p));
        failed = !note_header(lists, header_of_batch(p), start, is_valid);
        if (failed)
            break;
        start += (Py_ssize_t)batch_size(p);
    }
    PyBuffer_Release(&window);
    return finished(lists, 3, start, failed);
}

PyDoc_STRVAR(walk_messages_doc, "walk_messages(window, start, min_magic, max_codec), as the reference.");

static PyObject *walk_messages(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    int min_magic, max_codec, failed = 0;
    PyObject *lists[MAX_LISTS];
    if (!PyArg_ParseTuple(arguments, "y*nii:walk_messages", &window, &start, &min_magic, &max_codec))
        return NULL;
    if (!new_lists(lists, 3)) {
        PyBuffer_Release(&window);
        return NULL;
    }
    const uint8_t *bytes = window.buf;
    while (start >= 0 && start <= window.len &&
           is_regular_message(bytes + start, (size_t)(window.len - start), min_magic, max_codec)) {
        const uint8_t *p = bytes + start;
        failed = !note_header(lists, header_of_message(p), start, is_valid_message(p, (size_t)batch_size(p)));
        if (failed)
            break;
        start += (Py_ssize_t)batch_size(p);
    }
    PyBuffer_Release(&window);
    return finished(lists, 3, start, failed);
}

PyDoc_STRVAR(walk_extents_doc, "walk_extents(window, start, window_position), as the reference.");

static PyObject *walk_extents(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    long long window_position;
    int failed = 0;
    PyObject *lists[MAX_LISTS];
    if (!PyArg_ParseTuple(arguments, "y*nL:walk_extents", &window, &start, &window_position))
        return NULL;
    if (!new_lists(lists, 2)) {
        PyBuffer_Release(&window);
        return NULL;
    }
    while (start >= 0 && window.len - start >= EXTENT_SIZE) {
        const uint8_t *p = (const uint8_t *)window.buf + start;
        int64_t offset = batch_base_offset(p), size = extent_size(p, window.len - start);
        if (!size)
            break;
        if (batch_magic(p) >= 2) {
            int32_t delta = batch_last_offset_delta(p);
            if (delta < 0 ? offset < INT64_MIN - delta : offset > INT64_MAX - delta)
                break;
            offset += delta;
        }
        failed = !append(lists[0], PyLong_FromLongLong(added(window_position, start))) ||
                 !append(lists[1], PyLong_FromLongLong(offset));
        if (failed)
            break;
        start += (Py_ssize_t)size;
    }
    PyBuffer_Release(&window);
    return finished(lists, 2, start, failed);
}

static PyObject *bytes_or_none(const uint8_t *p, int32_t size)
{
    if (size < 0)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize((const char *)p, size);
}

static PyObject *headers_of(const Record *record)
{
    PyObject *headers = PyTuple_New(record->header_count);
    const uint8_t *p = record->headers;
    for (int32_t at = 0; headers && at < record->header_count; at++) {
        int32_t key_size = 0, value_size = 0;
        const uint8_t *key = varint32(p, p + 5, &key_size);
        const uint8_t *value = varint32(key + key_size, key + key_size + 5, &value_size);
        PyObject *header = Py_BuildValue("NN", bytes_or_none(key, key_size), bytes_or_none(value, value_size));
        if (!header) {
            Py_DECREF(headers);
            return NULL;
        }
        PyTuple_SetItem(headers, at, header);
        p = value + (value_size > 0 ? value_size : 0);
    }
    return headers;
}

/* A tuple of these, whose references it takes over; NULL if one of them is missing. */
static PyObject *row_of_items(PyObject **items, Py_ssize_t count)
{
    PyObject *row = PyTuple_New(count);
    int failed = !row;
    for (Py_ssize_t at = 0; at < count; at++) {
        failed |= !items[at];
        if (row && items[at])
            PyTuple_SetItem(row, at, items[at]);
        else
            Py_XDECREF(items[at]);
    }
    if (failed)
        Py_CLEAR(row);
    return row;
}

static PyObject *row_of(const Record *record, PyObject *no_headers, int with_data, int with_headers)
{
    int32_t key_size = with_data ? record->key_size : -1, value_size = with_data ? record->value_size : -1;
    PyObject *items[] = {
        PyLong_FromLongLong(record->timestamp_delta),
        PyLong_FromLong(record->offset_delta),
        PyLong_FromLong(record->key_size),
        PyLong_FromLong(record->value_size),
        record->header_count && with_headers ? headers_of(record) : Py_NewRef(no_headers),
        bytes_or_none(record->key, key_size),
        bytes_or_none(record->value, value_size),
    };
    return row_of_items(items, sizeof items / sizeof *items);
}

PyDoc_STRVAR(walk_records_doc, "walk_records(data, position, end, count, pause, rows, with_data=True, max_headers=2147483647)\n"
                               "-> (position, how many it walked)\n\n"
                               "As the reference, up to the first record that is irregular, or has more headers than may be held.");

static PyObject *walk_records(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    Py_ssize_t position, end, count, pause, walked = 0;
    PyObject *rows, *no_headers = NULL;
    int failed = 0, with_data = 1;
    long long max_headers = INT32_MAX;
    if (!PyArg_ParseTuple(arguments, "y*nnnnO|pL:walk_records", &data, &position, &end, &count, &pause, &rows, &with_data,
                          &max_headers))
        return NULL;
    if (position < 0 || end > data.len || position > end) {
        PyErr_SetString(PyExc_ValueError, "position or end is out of bounds");
        failed = 1;
    }
    failed = failed || !(no_headers = PyTuple_New(0));
    const uint8_t *bytes = data.buf;
    while (!failed && walked < count) {
        Record record;
        const uint8_t *next = read_record(bytes + position, bytes + end, &record);
        if (!next || (max_headers >= 0 && record.header_count > max_headers))
            break;
        failed = !append(rows, row_of(&record, no_headers, with_data, max_headers >= 0));
        max_headers -= max_headers >= 0 ? record.header_count : 0;
        position = next - bytes;
        walked++;
        if (position >= pause)
            break;
    }
    PyBuffer_Release(&data);
    Py_XDECREF(no_headers);
    return failed ? NULL : Py_BuildValue("nn", position, walked);
}

/* The message at `p`, which has `room` bytes up to the end of the data, as `walk_contents` has it. Returns where its size says that it
   ends, or NULL with no row if it is irregular, with an exception set if there is no memory. */
static const uint8_t *message_row(const uint8_t *p, int64_t room, int64_t base_offset, const int64_t *timestamp, PyObject **row)
{
    int64_t size = batch_size(p);
    const uint8_t *key = message_contents(p) + 4, *end = p + size;
    *row = NULL;
    if (size > room || size < key - p)
        return NULL;
    int32_t key_size = (int32_t)be32(key - 4);
    if (key_size < -1 || end - key < 4 || key_size > end - key - 4)
        return NULL;
    const uint8_t *value = key + (key_size > 0 ? key_size : 0) + 4;
    int32_t value_size = (int32_t)be32(value - 4);
    if (value_size < -1 || value_size > end - value)
        return NULL;
    PyObject *items[] = {
        PyLong_FromLongLong(added(base_offset, batch_base_offset(p))),
        PyLong_FromLongLong(timestamp && batch_magic(p) ? *timestamp : message_timestamp(p)),
        PyLong_FromLong(key_size),
        PyLong_FromLong(value_size),
        Py_NewRef(Py_None),
        Py_NewRef(Py_None),
        bytes_or_none(key, key_size),
        bytes_or_none(value, value_size),
        PyLong_FromUnsignedLong(message_crc(p)),
        PyBool_FromLong(is_valid_message(p, (size_t)size)),
    };
    *row = row_of_items(items, sizeof items / sizeof *items);
    return *row ? end : NULL;
}

PyDoc_STRVAR(walk_contents_doc, "walk_contents(data, start, end, base_offset, timestamp, max_count, rows), as the reference.");

static PyObject *walk_contents(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    Py_ssize_t start, end, left;
    int64_t timestamp = 0;
    long long base_offset;
    PyObject *given, *rows, *row = NULL;
    int magic = -1;
    if (!PyArg_ParseTuple(arguments, "y*nnLOnO!:walk_contents", &data, &start, &end, &base_offset, &given, &left, &PyList_Type, &rows))
        return NULL;
    if (start < 0 || end < start || end > data.len) {
        PyBuffer_Release(&data);
        PyErr_SetString(PyExc_ValueError, "start or end is out of bounds");
        return NULL;
    }
    if (given != Py_None)
        timestamp = PyLong_AsLongLong(given);
    while (!PyErr_Occurred() && left > 0 && end - start >= MESSAGE_TIMESTAMP_AT) {
        const uint8_t *p = (const uint8_t *)data.buf + start;
        if (batch_magic(p) < 0 || batch_magic(p) > 1 || (magic >= 0 && magic != batch_magic(p)) || message_codec(p))
            break;
        const uint8_t *next = message_row(p, end - start, base_offset, given == Py_None ? NULL : &timestamp, &row);
        if (!next || !append(rows, row))
            break;
        magic = batch_magic(p);
        start += (Py_ssize_t)(next - p);
        left--;
    }
    PyBuffer_Release(&data);
    return PyErr_Occurred() ? NULL : Py_BuildValue("ni", start, magic);
}
