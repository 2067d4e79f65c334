/* Summaries of consecutive valid batches (`summarize_batches`, `summarize_messages`): numbers from which most rules of `kdump check` see that
   there is nothing to find. A batch that is not valid or not in order ends a summary. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "bytes/arithmetic.h"
#include "read/batches.h"
#include "bytes/layout.h"
#include "bytes/objects.h"
#include "text/rows.h"

/* The numbers of a summary; kdump/formats/summary.py says what each one is. */
#define SUMMARY(_)                                                                                                             \
    _(count) _(end) _(last_position) _(highest_size) _(lowest_magic) _(highest_magic)                                            \
    _(any_attributes) _(all_attributes) _(codecs)                                                                             \
    _(first_offset) _(last_offset)                                                                                            \
    _(gaps) _(missing) _(before_first_gap) _(after_first_gap) _(before_last_gap) _(after_last_gap)                          \
    _(first_timestamp) _(last_timestamp) _(lowest_timestamp) _(highest_timestamp) _(timestamps_back)                          \
    _(first_leader_epoch) _(last_leader_epoch) _(lowest_leader_epoch) _(highest_leader_epoch) _(leader_epochs_back)           \
    _(lowest_count) _(empty) _(first_empty) _(last_empty) _(hollow) _(bare)                                                   \
    _(sparse) _(first_sparse) _(last_sparse) _(overfull)                                                                      \
    _(horizons) _(lowest_horizon) _(highest_horizon) _(early_horizons)                                                        \
    _(lowest_producer_id) _(highest_producer_id) _(lowest_producer_epoch) _(highest_producer_epoch)                           \
    _(highest_base_sequence) _(orphans) _(records)

#define AS_FIELD(name) int64_t name;
typedef struct {
    SUMMARY(AS_FIELD)
} Summary;
static const char *const summary_names[] = {SUMMARY(AS_TEXT)};
#define SUMMARY_SIZE (sizeof summary_names / sizeof *summary_names)

/* Counts one more of a kind, and keeps where the first and the last of them start. */
static inline void note_place(int64_t *count, int64_t *first, int64_t *last, int64_t position)
{
    if (!(*count)++)
        *first = position;
    *last = position;
}

/* Adds what batches and messages have in common. Returns whether the offsets are in order. */
static inline int summarize_any(Summary *summary, int64_t position, int64_t size, int magic, unsigned attributes, int64_t first_offset,
                             int64_t last_offset, int64_t timestamp)
{
    if (first_offset < 0 || first_offset > last_offset || (summary->count && first_offset <= summary->last_offset))
        return 0;
    if (!summary->count) {
        summary->first_offset = first_offset;
        summary->first_timestamp = summary->last_timestamp = summary->lowest_timestamp = summary->highest_timestamp = timestamp;
        summary->lowest_magic = summary->highest_magic = magic;
        summary->all_attributes = attributes;
    } else if (first_offset != summary->last_offset + 1) {
        if (!summary->gaps++) {
            summary->before_first_gap = summary->last_position;
            summary->after_first_gap = position;
        }
        summary->before_last_gap = summary->last_position;
        summary->after_last_gap = position;
        summary->missing += first_offset - summary->last_offset - 1;
    }
    summary->timestamps_back += timestamp < summary->last_timestamp;
    summary->last_timestamp = timestamp;
    note_lowest(&summary->lowest_timestamp, timestamp);
    note_highest(&summary->highest_timestamp, timestamp);
    note_lowest(&summary->lowest_magic, magic);
    note_highest(&summary->highest_magic, magic);
    note_highest(&summary->highest_size, size);
    summary->any_attributes |= attributes;
    summary->all_attributes &= attributes;
    summary->codecs |= 1 << (attributes & CODEC_MASK);
    summary->last_offset = last_offset;
    summary->last_position = position;
    summary->end = added(position, size);
    summary->count++;
    return 1;
}

/* Adds the regular batch at `p`. Returns whether it is valid and in order. */
static inline int summarize_batch(Summary *summary, const uint8_t *p, int64_t position, int64_t size)
{
    int64_t base_offset = batch_base_offset(p), timestamp = batch_max_timestamp(p), producer_id = batch_producer_id(p);
    int64_t leader_epoch = batch_leader_epoch(p), delta = batch_last_offset_delta(p), count = batch_record_count(p);
    int64_t producer_epoch = batch_producer_epoch(p), base_sequence = batch_base_sequence(p);
    unsigned attributes = (uint16_t)batch_attributes(p);
    if (batch_magic(p) != 2 || (delta > 0 && base_offset > INT64_MAX - delta) || delta < 0)
        return 0;
    if (!is_valid_batch(p, (size_t)size))
        return 0;
    int is_first = summary->highest_magic < 2;
    if (!summarize_any(summary, position, size, 2, attributes, base_offset, base_offset + delta, timestamp))
        return 0;
    if (is_first) {
        summary->first_leader_epoch = summary->lowest_leader_epoch = summary->highest_leader_epoch = leader_epoch;
        summary->lowest_count = count;
        summary->lowest_producer_id = summary->highest_producer_id = producer_id;
        summary->lowest_producer_epoch = summary->highest_producer_epoch = producer_epoch;
        summary->highest_base_sequence = base_sequence;
    } else {
        summary->leader_epochs_back += leader_epoch < summary->last_leader_epoch;
    }
    summary->last_leader_epoch = leader_epoch;
    note_lowest(&summary->lowest_leader_epoch, leader_epoch);
    note_highest(&summary->highest_leader_epoch, leader_epoch);
    note_lowest(&summary->lowest_count, count);
    summary->records += count > 0 ? count : 0;
    note_lowest(&summary->lowest_producer_id, producer_id);
    note_highest(&summary->highest_producer_id, producer_id);
    note_lowest(&summary->lowest_producer_epoch, producer_epoch);
    note_highest(&summary->highest_producer_epoch, producer_epoch);
    note_highest(&summary->highest_base_sequence, base_sequence);
    if (count != delta + 1) {
        if (!count)
            note_place(&summary->empty, &summary->first_empty, &summary->last_empty, position);
        else if (count > delta)
            summary->overfull++;
        else if (count > 0)
            note_place(&summary->sparse, &summary->first_sparse, &summary->last_sparse, position);
    }
    summary->hollow += count <= 0 && size > BATCH_HEADER_SIZE;
    summary->bare += count > 0 && size == BATCH_HEADER_SIZE;
    summary->orphans += (attributes & TRANSACTIONAL_BIT) && !(attributes & CONTROL_BIT) && producer_id == NO_PRODUCER_ID;
    if (attributes & DELETE_HORIZON_BIT) {
        int64_t horizon = batch_delete_horizon(p);
        if (!summary->horizons++)
            summary->lowest_horizon = summary->highest_horizon = horizon;
        note_lowest(&summary->lowest_horizon, horizon);
        note_highest(&summary->highest_horizon, horizon);
        summary->early_horizons += horizon < timestamp;
    }
    return 1;
}

static inline int summarize_message(Summary *summary, const uint8_t *p, int64_t position, int64_t size)
{
    int64_t offset = batch_base_offset(p);
    return is_valid_message(p, (size_t)size) &&
           summarize_any(summary, position, size, batch_magic(p), message_attributes(p), offset, offset, message_timestamp(p));
}

/* The columns that come with a summary: where each batch starts in the file, its first and last offset, and its timestamp. */
#define SUMMARY_COLUMNS 4

static inline void fill_row(int64_t *const columns[SUMMARY_COLUMNS], int64_t row, const uint8_t *p, int64_t position, int is_legacy)
{
    int64_t offset = batch_base_offset(p);
    columns[0][row] = position;
    columns[1][row] = offset;
    columns[2][row] = is_legacy ? offset : added(offset, batch_last_offset_delta(p));
    columns[3][row] = is_legacy ? message_timestamp(p) : batch_max_timestamp(p);
}

/* The numbers of a summary, and the columns of its batches, which stand one after the other in a window from `start` on. */
static PyObject *summary_as_tuple(const Summary *summary, const uint8_t *bytes, Py_ssize_t start, long long window_position)
{
    PyObject *result = PyTuple_New(5), *numbers = result ? tuple_of((const int64_t *)summary, SUMMARY_SIZE) : NULL;
    int64_t *columns[SUMMARY_COLUMNS];
    if (!numbers || PyTuple_SetItem(result, 0, numbers) < 0)
        goto failed;
    for (int column = 0; column < SUMMARY_COLUMNS; column++) {
        PyObject *data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(summary->count * (int64_t)sizeof(int64_t)));
        if (!data || PyTuple_SetItem(result, column + 1, data) < 0)
            goto failed;
        columns[column] = (int64_t *)(void *)PyBytes_AsString(data);
    }
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t row = 0, at = start; row < summary->count; row++, at += batch_size(bytes + at))
        fill_row(columns, row, bytes + at, added(window_position, at), batch_magic(bytes + at) < 2);
    Py_END_ALLOW_THREADS;
    return result;
failed:
    Py_XDECREF(result);
    return NULL;
}

static PyObject *summarize_window(Py_buffer *window, Py_ssize_t start, long long window_position, int is_legacy, int min_magic,
                               int max_codec)
{
    const uint8_t *bytes = window->buf;
    Summary summary;
    int is_valid = 1;
    memset(&summary, 0, sizeof summary);
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t at = start; is_valid && at >= 0 && at <= window->len;) {
        const uint8_t *p = bytes + at;
        size_t room = (size_t)(window->len - at);
        if (is_legacy ? !is_regular_message(p, room, min_magic, max_codec) : !is_regular_batch(p, room, max_codec))
            break;
        int64_t size = batch_size(p);
        int64_t position = added(window_position, at);
        is_valid = is_legacy ? summarize_message(&summary, p, position, size) : summarize_batch(&summary, p, position, size);
        at += size;
    }
    Py_END_ALLOW_THREADS;
    return is_valid && summary.count ? summary_as_tuple(&summary, bytes, start, window_position) : Py_NewRef(Py_None);
}

PyDoc_STRVAR(summarize_batches_doc,
             "summarize_batches(window, start, window_position, max_codec, checksum), as the reference; `checksum` is not used.");

static PyObject *summarize_batches(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    long long window_position;
    int max_codec;
    PyObject *checksum;
    if (!PyArg_ParseTuple(arguments, "y*nLiO:summarize_batches", &window, &start, &window_position, &max_codec, &checksum))
        return NULL;
    PyObject *result = summarize_window(&window, start, window_position, 0, 0, max_codec);
    PyBuffer_Release(&window);
    return result;
}

PyDoc_STRVAR(summarize_messages_doc, "summarize_messages(window, start, window_position, min_magic, max_codec), as the reference.");

static PyObject *summarize_messages(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    long long window_position;
    int min_magic, max_codec;
    if (!PyArg_ParseTuple(arguments, "y*nLii:summarize_messages", &window, &start, &window_position, &min_magic, &max_codec))
        return NULL;
    PyObject *result = summarize_window(&window, start, window_position, 1, min_magic, max_codec);
    PyBuffer_Release(&window);
    return result;
}
