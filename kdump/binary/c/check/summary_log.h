/* Summarizes a log that it reads itself (`summarize_log`): summary, columns and streaks of producers in one pass. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include "read/batch_columns.h"
#include "read/batches.h"
#include "bytes/layout.h"
#include "bytes/objects.h"
#include "check/producers.h"
#include "check/summary.h"
#include "bytes/window.h"

#define READ_BYTES (256 << 10) /* at once: they stay in the cache until they are summarized */
#define LARGEST_BATCH (1 << 20) /* that is summarized, even if the window has room for larger ones */

/* What is made of a stretch of a log: the summary, columns of up to `most` rows, and streaks of producers unless `taken` is 0.
   With `fills_headers`, also the columns of headers of magic 2. */
typedef struct {
    Summary summary;
    int64_t most, *rows, *columns[SUMMARY_COLUMNS];
    int fills_headers;
    void *headers[BATCH_COLUMN_COUNT];
    Streaks streaks;
    int taken, is_legacy;
} SummarizedStretch;

/* Summarizes regular batches, or messages, that start from `at` on and before `stop`, up to the first that is not valid or not in
   order. */
static void summarize_stretch(SummarizedStretch *stretch, Window *log, int64_t at, int64_t stop, int max_codec)
{
    Summary *summary = &stretch->summary;
    while (at < stop && summary->count < stretch->most && stretch->taken >= 0) {
        size_t wanted = stop - at < READ_BYTES ? (size_t)(stop - at) : READ_BYTES;
        size_t room = hold(log, at, BATCH_HEADER_SIZE, wanted);
        const uint8_t *p = bytes_from(log, at);
        int64_t size = room < LOG_OVERHEAD ? 0 : batch_size(p);
        if (size > LARGEST_BATCH)
            return;
        if (size > (int64_t)room && size <= (int64_t)log->size) {
            room = hold(log, at, (size_t)size, wanted);
            p = bytes_from(log, at);
        }
        if (!summary->count) {
            stretch->is_legacy = room > MAGIC_AT && batch_magic(p) < 2;
            log->forgets = stretch->fills_headers && !stretch->is_legacy;
        }
        if (stretch->is_legacy ? !is_regular_message(p, room, 0, max_codec) || !summarize_message(summary, p, at, size)
                             : !is_regular_batch(p, room, max_codec) || !summarize_batch(summary, p, at, size))
            return;
        fill_row(stretch->columns, summary->count - 1, p, at, stretch->is_legacy);
        if (stretch->fills_headers && !stretch->is_legacy)
            fill_header_row(stretch->headers, (Py_ssize_t)(summary->count - 1), p, at);
        if (!stretch->is_legacy && stretch->taken && (batch_producer_id(p) != NO_PRODUCER_ID || batch_attributes(p) & CONTROL_BIT)) {
            if (!stretch->streaks.producers && !begin_streaks(&stretch->streaks, stretch->most))
                stretch->taken = -1;
            else
                stretch->taken = take_batch(&stretch->streaks, p, at, size);
        }
        at += size;
    }
}

/* The columns of headers; None where there are none. */
static PyObject *headers_as_tuple(const SummarizedStretch *stretch)
{
    if (!stretch->fills_headers || stretch->is_legacy)
        return Py_NewRef(Py_None);
    PyObject *result = PyTuple_New(BATCH_COLUMN_COUNT);
    for (int column = 0; result && column < BATCH_COLUMN_COUNT; column++) {
        PyObject *bytes = PyBytes_FromStringAndSize(stretch->headers[column], (Py_ssize_t)stretch->summary.count * batch_number_sizes[column]);
        if (bytes)
            PyTuple_SetItem(result, column, bytes);
        else
            Py_CLEAR(result);
    }
    return result;
}

#define STRETCH_PARTS (SUMMARY_COLUMNS + 4)

static PyObject *stretch_as_tuple(const SummarizedStretch *stretch, int is_kept)
{
    if (stretch->taken >= 0 && !stretch->summary.count)
        return Py_NewRef(Py_None);
    PyObject *result = PyTuple_New(STRETCH_PARTS);
    PyObject *parts[STRETCH_PARTS] = {tuple_of((const int64_t *)&stretch->summary, SUMMARY_SIZE),
                                      streaks_as_bytes(&stretch->streaks, stretch->taken), PyBool_FromLong(is_kept),
                                      headers_as_tuple(stretch)};
    for (int column = 0; column < SUMMARY_COLUMNS; column++)
        parts[column + 4] = PyBytes_FromStringAndSize((const char *)stretch->columns[column], (Py_ssize_t)(stretch->summary.count * 8));
    int failed = !result;
    for (int part = 0; part < STRETCH_PARTS; part++) {
        failed |= !parts[part];
        if (result && parts[part])
            PyTuple_SetItem(result, part, parts[part]);
        else
            Py_XDECREF(parts[part]);
    }
    if (failed)
        Py_CLEAR(result);
    return result;
}

PyDoc_STRVAR(summarize_log_doc,
             "summarize_log(descriptor, position, stop, end, most, max_codec, window, fills_headers=False)\n-> (numbers, streaks, whether all bytes are kept, columns of headers or None, four columns) or None\n\n"
             "Summarize the batches of magic 2, or the messages, of a log that begin at `position` and start before `stop`: up to the "
             "first that is irregular, not valid or not in order, or larger than `window`, which is memory to read into; and no more "
             "than `most`. None where there is none. Kept bytes are those from `position` on, at the start of `window`.\n\n"
             "With `fills_headers`, the columns of batches of magic 2 are those of the reference, and fewer bytes are kept.");

static PyObject *summarize_log(PyObject *self, PyObject *arguments)
{
    (void)self;
    Window log = {0};
    SummarizedStretch stretch = {.taken = 1};
    Py_buffer window;
    PyObject *result = NULL;
    long long position, stop, end, most;
    int max_codec;
    if (!PyArg_ParseTuple(arguments, "iLLLLiw*|p:summarize_log", &log.descriptor, &position, &stop, &end, &most, &max_codec, &window,
                          &stretch.fills_headers))
        return NULL;
    if (position < 0 || end < position || most < 0 || most > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "position, end or most is out of bounds");
        goto end;
    }
    stretch.most = most;
    stretch.rows = malloc((size_t)most * (SUMMARY_COLUMNS + (stretch.fills_headers ? BATCH_COLUMN_COUNT : 0)) * sizeof(int64_t) + 1);
    if (!stretch.rows) {
        PyErr_NoMemory();
        goto end;
    }
    for (int column = 0; column < SUMMARY_COLUMNS; column++)
        stretch.columns[column] = stretch.rows + column * most;
    for (int column = 0; stretch.fills_headers && column < BATCH_COLUMN_COUNT; column++)
        stretch.headers[column] = stretch.rows + (SUMMARY_COLUMNS + column) * most;
    log.bytes = window.buf;
    log.size = (size_t)window.len;
    log.position = position;
    log.end = end;
    Py_BEGIN_ALLOW_THREADS;
    summarize_stretch(&stretch, &log, position, stop < end ? stop : end, max_codec);
    Py_END_ALLOW_THREADS;
    result = stretch_as_tuple(&stretch, keeps_all_from(&log, position));
    end_streaks(&stretch.streaks);
    free(stretch.rows);
end:
    PyBuffer_Release(&window);
    return result;
}
