/* Headers of batches as columns in the layout of Arrow (`batch_columns`). The reference is binary/batch_columns_reference.py. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include "arithmetic.h"
#include "batches.h"
#include "layout.h"

#define NO_SEQUENCE (-1)

/* The name of each column, the type of its numbers, and the number in the batch at `p`, which starts at `at` in the file. */
#define BATCH_COLUMNS(_)                                                                                                       \
    _(base_offset, int64_t, batch_base_offset(p))                                                                              \
    _(last_offset, int64_t, added(batch_base_offset(p), batch_last_offset_delta(p)))                                           \
    _(count, int32_t, batch_record_count(p))                                                                                   \
    _(base_sequence, int32_t, batch_base_sequence(p))                                                                          \
    _(last_sequence, int32_t, last_sequence_of(p))                                                                             \
    _(producer_id, int64_t, batch_producer_id(p))                                                                              \
    _(producer_epoch, int16_t, batch_producer_epoch(p))                                                                        \
    _(partition_leader_epoch, int32_t, batch_leader_epoch(p))                                                                  \
    _(position, int64_t, at)                                                                                                   \
    _(timestamp, int64_t, batch_max_timestamp(p))                                                                              \
    _(size, int32_t, batch_size(p))                                                                                            \
    _(magic, int8_t, batch_magic(p))                                                                                           \
    _(crc, int64_t, batch_crc(p))                                                                                              \
    _(attributes, int16_t, batch_attributes(p))                                                                                \
    _(base_timestamp, int64_t, batch_base_timestamp(p))

#define AS_BATCH_COLUMN(name, type, number) B_##name,
enum batch_column { BATCH_COLUMNS(AS_BATCH_COLUMN) BATCH_COLUMN_COUNT };

#define AS_NUMBER_SIZE(name, type, number) sizeof(type),
static const uint8_t batch_number_sizes[] = {BATCH_COLUMNS(AS_NUMBER_SIZE)};

/* The sequence of the last record of a batch; a batch without sequences has none. */
static inline int32_t last_sequence_of(const uint8_t *p)
{
    int32_t sequence = batch_base_sequence(p);
    return sequence == NO_SEQUENCE ? NO_SEQUENCE : later_sequence(sequence, batch_last_offset_delta(p));
}

#define FILL_NUMBER(name, type, number) ((type *)columns[B_##name])[row] = (type)(number);

static inline void fill_header_row(void *const *columns, Py_ssize_t row, const uint8_t *p, int64_t at)
{
    BATCH_COLUMNS(FILL_NUMBER)
}

PyDoc_STRVAR(batch_columns_doc, "batch_columns(window, position, count, max_codec), as the reference.");

static PyObject *batch_columns(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t count, row = 0;
    long long position;
    int max_codec;
    if (!PyArg_ParseTuple(arguments, "y*Lni:batch_columns", &window, &position, &count, &max_codec))
        return NULL;
    PyObject *result = NULL;
    void *columns[BATCH_COLUMN_COUNT];
    if (count < 0 || count > window.len / BATCH_HEADER_SIZE || !(result = PyTuple_New(BATCH_COLUMN_COUNT)))
        goto end;
    for (int column = 0; column < BATCH_COLUMN_COUNT; column++) {
        PyObject *bytes = PyBytes_FromStringAndSize(NULL, count * batch_number_sizes[column]);
        if (!bytes) {
            Py_CLEAR(result);
            goto end;
        }
        columns[column] = PyBytes_AsString(bytes);
        PyTuple_SetItem(result, column, bytes);
    }
    const uint8_t *start = window.buf, *p = start, *end = start + window.len;
    for (; row < count && is_regular_batch(p, (size_t)(end - p), max_codec); row++, p += batch_size(p))
        fill_header_row(columns, row, p, added(position, p - start));
end:
    PyBuffer_Release(&window);
    if (!PyErr_Occurred() && (!result || row < count)) {
        Py_CLEAR(result);
        PyErr_SetString(PyExc_ValueError, "the window holds fewer regular batches");
    }
    return result;
}
