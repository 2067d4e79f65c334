/* Summaries of runs of messages and of batches that alternate (`summarize_mixed`), so that not each change of the magic ends one. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "batches.h"
#include "layout.h"
#include "objects.h"
#include "rows.h"
#include "summary.h"

#define FEWEST_RUNS 8 /* that are worth it */
#define MOST_RUNS 64  /* in one summary: where something is unusual, each of them is looked at */

/* What a summary of both does not say; kdump/formats/summary.py says what each number is. */
#define MIXED(_)                                                                                                               \
    _(runs) _(first_magic) _(last_magic)                                                                                       \
    _(upgrades) _(first_upgrade) _(last_upgrade) _(downgrades) _(first_downgrade) _(last_downgrade)                            \
    _(timed) _(first_time) _(last_time) _(lowest_time) _(highest_time) _(times_back)                                           \
    _(create_times) _(append_times) _(untimed) _(last_offset_of_batches) _(smallest_of_magic_1)

typedef struct {
    MIXED(AS_FIELD)
} Mixed;
static const char *const mixed_names[] = {MIXED(AS_TEXT)};
#define MIXED_SIZE (sizeof mixed_names / sizeof *mixed_names)

/* Adds the batch or message at `p`, which is the first of all if there is no run yet. */
static void note_mixed(Mixed *mixed, const uint8_t *p, int64_t position, int64_t size)
{
    int64_t magic = batch_magic(p);
    int is_legacy = magic < 2;
    int64_t time = is_legacy ? message_timestamp(p) : batch_max_timestamp(p);
    if (!mixed->runs)
        mixed->first_magic = mixed->last_magic = magic;
    mixed->runs += !mixed->runs || is_legacy != (mixed->last_magic < 2);
    if (magic > mixed->last_magic)
        note_place(&mixed->upgrades, &mixed->first_upgrade, &mixed->last_upgrade, position);
    if (magic < mixed->last_magic)
        note_place(&mixed->downgrades, &mixed->first_downgrade, &mixed->last_downgrade, position);
    mixed->last_magic = magic;
    if (time != NO_TIMESTAMP) {
        if (!mixed->timed++)
            mixed->first_time = mixed->last_time = mixed->lowest_time = mixed->highest_time = time;
        mixed->times_back += time < mixed->last_time;
        mixed->last_time = time;
        note_lowest(&mixed->lowest_time, time);
        note_highest(&mixed->highest_time, time);
    }
    if (magic) {
        int is_append_time = (is_legacy ? message_attributes(p) : (unsigned)batch_attributes(p)) & TIMESTAMP_TYPE_BIT ? 1 : 0;
        mixed->append_times += is_append_time;
        mixed->create_times += !is_append_time;
        mixed->untimed += is_append_time && time <= NO_TIMESTAMP;
    }
    if (!is_legacy)
        mixed->last_offset_of_batches = added(batch_base_offset(p), batch_last_offset_delta(p));
    else if (magic && (!mixed->smallest_of_magic_1 || size < mixed->smallest_of_magic_1))
        mixed->smallest_of_magic_1 = size;
}

/* The rows in which runs start. */
static PyObject *starts_of_runs(const uint8_t *bytes, Py_ssize_t start, int64_t count, int64_t runs)
{
    PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(runs * (int64_t)sizeof(int64_t)));
    if (!result)
        return NULL;
    int64_t *rows = (int64_t *)(void *)PyBytes_AsString(result), run = 0;
    int was_legacy = -1;
    for (int64_t row = 0, at = start; row < count; row++, at += batch_size(bytes + at)) {
        int is_legacy = batch_magic(bytes + at) < 2;
        if (is_legacy != was_legacy && run < runs)
            rows[run++] = row;
        was_legacy = is_legacy;
    }
    return result;
}

PyDoc_STRVAR(summarize_mixed_doc,
             "summarize_mixed(window, start, window_position, max_codec) -> (summary, numbers, rows) or None\n\n"
             "Summarize runs of messages and of batches of magic 2 that alternate, up to the last change between the two before anything "
             "that is irregular, not valid or not in order, or of 64 runs. The summary has numbers and columns as those of the reference, leader "
             "epochs, producers and counts being those of magic 2; `numbers` are those of MIXED, and `rows` those in which runs start, "
             "as 64-bit numbers. None if there are few runs.");

static PyObject *summarize_mixed(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    long long window_position;
    int max_codec;
    if (!PyArg_ParseTuple(arguments, "y*nLi:summarize_mixed", &window, &start, &window_position, &max_codec))
        return NULL;
    const uint8_t *bytes = window.buf;
    Summary summary, of_runs;
    Mixed mixed, of_mixed;
    memset(&summary, 0, sizeof summary);
    memset(&mixed, 0, sizeof mixed);
    memset(&of_runs, 0, sizeof of_runs);
    memset(&of_mixed, 0, sizeof of_mixed);
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t at = start; at >= 0 && at < window.len && of_mixed.runs < MOST_RUNS;) {
        const uint8_t *p = bytes + at;
        size_t room = (size_t)(window.len - at);
        int is_legacy = room > MAGIC_AT && batch_magic(p) < 2;
        if (is_legacy ? !is_regular_message(p, room, 0, max_codec) : !is_regular_batch(p, room, max_codec))
            break;
        int64_t size = batch_size(p), position = added(window_position, at);
        int is_change = mixed.runs && is_legacy != (mixed.last_magic < 2);
        Summary before;
        if (is_change)
            before = summary;
        if (is_legacy ? !summarize_message(&summary, p, position, size) : !summarize_batch(&summary, p, position, size))
            break;
        if (is_change) {
            of_runs = before;
            of_mixed = mixed;
        }
        note_mixed(&mixed, p, position, size);
        at += size;
    }
    Py_END_ALLOW_THREADS;
    PyObject *result = NULL;
    if (of_mixed.runs < FEWEST_RUNS) {
        result = Py_NewRef(Py_None);
    } else if ((result = PyTuple_New(3)) != NULL) {
        PyObject *parts[] = {summary_as_tuple(&of_runs, bytes, start, window_position), tuple_of((const int64_t *)&of_mixed, MIXED_SIZE),
                             starts_of_runs(bytes, start, of_runs.count, of_mixed.runs)};
        int failed = 0;
        for (int part = 0; part < 3; part++) {
            failed |= !parts[part];
            if (parts[part])
                PyTuple_SetItem(result, part, parts[part]);
        }
        if (failed)
            Py_CLEAR(result);
    }
    PyBuffer_Release(&window);
    return result;
}
