/* Runs of producers (`producer_runs`): consecutive batches of one producer whose sequence numbers follow one another, as one row. Batches
   of other producers may lie between them. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "arithmetic.h"
#include "batches.h"
#include "layout.h"
#include "rows.h"
#include "summary.h"

/* The numbers of a run; kdump/binary/summary_reference.py says what each one is. */
#define RUN(_)                                                                                                                \
    _(producer_id) _(epoch) _(kind) _(base_sequence) _(last_sequence) _(base_offset) _(position) _(end)                       \
    _(last_base_offset) _(last_offset) _(control_type) _(coordinator_epoch)                                                   \
    _(commits) _(first_coordinator_epoch) _(commit_offset) _(is_open)

typedef struct {
    RUN(AS_FIELD)
} Run;
static const char *const run_names[] = {RUN(AS_TEXT)};
#define RUN_SIZE (sizeof run_names / sizeof *run_names)

enum run_kind { PLAIN, TRANSACTIONAL, EMPTY_TRANSACTIONAL, MARKER };

typedef struct {
    Run *runs;
    int64_t count, room;
    int64_t *producers; /* a hash table: 1 + the number of a producer's last run, 0 for none */
    uint64_t mask;
} Runs;

/* Where the number of a producer's last run stands. */
static inline int64_t *last_run(const Runs *runs, int64_t producer_id)
{
    uint64_t at = ((uint64_t)producer_id * 0x9e3779b97f4a7c15u) >> 20;
    for (;; at++) {
        int64_t *run = runs->producers + (at & runs->mask);
        if (!*run || runs->runs[*run - 1].producer_id == producer_id)
            return run;
    }
}

/* Makes room for the runs of up to `most` batches. Returns whether there is memory. */
static int begin_runs(Runs *runs, int64_t most)
{
    *runs = (Runs){.mask = 63};
    while (runs->mask < 2 * (uint64_t)most)
        runs->mask = 2 * runs->mask + 1;
    runs->producers = calloc((size_t)runs->mask + 1, sizeof(int64_t));
    return runs->producers != NULL;
}

static void end_runs(Runs *runs)
{
    free(runs->runs);
    free(runs->producers);
}

/* The runs, or None if a batch was not what a producer or a coordinator writes. */
static PyObject *runs_as_bytes(const Runs *runs, int taken)
{
    if (taken < 0)
        return PyErr_NoMemory();
    if (!taken)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize((const char *)runs->runs, (Py_ssize_t)(runs->count * (int64_t)sizeof(Run)));
}

/* A control batch with the usual marker of a transaction and nothing else. */
static inline int is_marker(const uint8_t *p, int64_t size)
{
    int expected = TRANSACTIONAL_BIT | CONTROL_BIT;
    return size == MARKER_SIZE && (batch_attributes(p) & (CODEC_MASK | expected)) == expected && holds_marker(p);
}

/* Adds one batch. Returns 1, 0 if it is not what a producer or a coordinator writes, -1 if there is no memory. */
static int take_batch(Runs *runs, const uint8_t *p, int64_t position, int64_t size)
{
    int32_t delta = batch_last_offset_delta(p), base = batch_base_sequence(p), last = later_sequence(base, delta);
    int64_t base_offset = batch_base_offset(p), last_offset = added(base_offset, delta), producer_id = batch_producer_id(p);
    int16_t epoch = batch_producer_epoch(p), attributes = batch_attributes(p);
    enum run_kind kind = !(attributes & TRANSACTIONAL_BIT) ? PLAIN : batch_record_count(p) ? TRANSACTIONAL : EMPTY_TRANSACTIONAL;
    if (attributes & CONTROL_BIT) {
        kind = MARKER;
        last = base;
        if (producer_id < 0 || !is_marker(p, size))
            return 0;
    } else if (producer_id < 0) {
        return producer_id == NO_PRODUCER_ID;
    } else if (base < 0 || last < base || delta < 0) {
        return 0;
    }
    int64_t *before = last_run(runs, producer_id);
    Run *run = *before ? runs->runs + *before - 1 : NULL;
    if (run && kind != MARKER && run->kind == (int64_t)kind && run->epoch == epoch && run->last_sequence + 1 == base) {
        if (!run->is_open) {
            run->base_offset = base_offset;
            run->position = position;
            run->end = added(position, size);
        }
        run->last_sequence = last;
        run->last_base_offset = base_offset;
        run->last_offset = last_offset;
        run->is_open = 1;
        return 1;
    }
    if (run && kind == MARKER && marker_type(p) == COMMIT && run->kind == TRANSACTIONAL && run->epoch == epoch && run->is_open) {
        int64_t coordinator_epoch = marker_coordinator_epoch(p);
        if (!run->commits)
            run->first_coordinator_epoch = coordinator_epoch;
        if (!run->commits || coordinator_epoch >= run->coordinator_epoch) {
            run->coordinator_epoch = coordinator_epoch;
            run->commit_offset = last_offset;
            run->commits++;
            run->is_open = 0;
            return 1;
        }
    }
    if (runs->count == runs->room) {
        int64_t room = runs->room ? 2 * runs->room : 64;
        Run *larger = realloc(runs->runs, (size_t)room * sizeof(Run));
        if (!larger)
            return -1;
        runs->runs = larger;
        runs->room = room;
    }
    runs->runs[runs->count] = (Run){
        .producer_id = producer_id,
        .epoch = epoch,
        .kind = kind,
        .base_sequence = base,
        .last_sequence = last,
        .base_offset = base_offset,
        .position = position,
        .end = added(position, size),
        .last_base_offset = base_offset,
        .last_offset = last_offset,
        .control_type = kind == MARKER ? marker_type(p) : 0,
        .coordinator_epoch = kind == MARKER ? marker_coordinator_epoch(p) : 0,
        .is_open = kind != MARKER,
    };
    *before = ++runs->count;
    return 1;
}

PyDoc_STRVAR(producer_runs_doc, "producer_runs(window, start, count, window_position), as the reference.");

static PyObject *producer_runs(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t at, count;
    long long window_position;
    if (!PyArg_ParseTuple(arguments, "y*nnL:producer_runs", &window, &at, &count, &window_position))
        return NULL;
    const uint8_t *bytes = window.buf;
    Runs runs;
    Py_ssize_t most = window.len / BATCH_HEADER_SIZE; /* batches, and so producers */
    int taken = begin_runs(&runs, most < count ? most : count > 0 ? count : 0) ? 1 : -1;
    Py_BEGIN_ALLOW_THREADS;
    for (; taken > 0 && count > 0; count--) {
        if (at < 0 || at > window.len || !is_regular_batch(bytes + at, (size_t)(window.len - at), CODEC_MASK)) {
            taken = 0;
            break;
        }
        int64_t size = batch_size(bytes + at);
        taken = take_batch(&runs, bytes + at, added(window_position, at), size);
        at += size;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&window);
    PyObject *result = runs_as_bytes(&runs, taken);
    end_runs(&runs);
    return result;
}
