/* Streaks of producers (`producer_streaks`): batches of one producer whose sequence numbers follow one another, as one row.
   Batches of other producers may lie between them. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "bytes/arithmetic.h"
#include "read/batches.h"
#include "bytes/layout.h"
#include "text/rows.h"
#include "check/summary.h"

/* The numbers of a streak; kdump/binary/producer_streak.py says what each one is. */
#define STREAK(_)                                                                                                             \
    _(producer_id) _(epoch) _(kind) _(base_sequence) _(last_sequence) _(base_offset) _(position) _(end)                       \
    _(last_base_offset) _(last_offset) _(control_type) _(coordinator_epoch)                                                   \
    _(commits) _(first_coordinator_epoch) _(commit_offset) _(is_open)

typedef struct {
    STREAK(AS_FIELD)
} Streak;
static const char *const streak_names[] = {STREAK(AS_TEXT)};
#define STREAK_SIZE (sizeof streak_names / sizeof *streak_names)

enum streak_kind { PLAIN, TRANSACTIONAL, EMPTY_TRANSACTIONAL, MARKER };

typedef struct {
    Streak *streaks;
    int64_t count, room;
    int64_t *producers; /* a hash table: 1 + the number of a producer's last streak, 0 for none */
    uint64_t mask;
} Streaks;

/* Where the number of a producer's last streak stands. */
static inline int64_t *last_streak(const Streaks *streaks, int64_t producer_id)
{
    uint64_t at = ((uint64_t)producer_id * 0x9e3779b97f4a7c15u) >> 20;
    for (;; at++) {
        int64_t *streak = streaks->producers + (at & streaks->mask);
        if (!*streak || streaks->streaks[*streak - 1].producer_id == producer_id)
            return streak;
    }
}

/* Makes room for the streaks of up to `most` batches. Returns whether there is memory. */
static int begin_streaks(Streaks *streaks, int64_t most)
{
    *streaks = (Streaks){.mask = 63};
    while (streaks->mask < 2 * (uint64_t)most)
        streaks->mask = 2 * streaks->mask + 1;
    streaks->producers = calloc((size_t)streaks->mask + 1, sizeof(int64_t));
    return streaks->producers != NULL;
}

static void end_streaks(Streaks *streaks)
{
    free(streaks->streaks);
    free(streaks->producers);
}

/* The streaks, or None if a batch was not what a producer or a coordinator writes. */
static PyObject *streaks_as_bytes(const Streaks *streaks, int taken)
{
    if (taken < 0)
        return PyErr_NoMemory();
    if (!taken)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize((const char *)streaks->streaks, (Py_ssize_t)(streaks->count * (int64_t)sizeof(Streak)));
}

/* A control batch with the usual marker of a transaction and nothing else. */
static inline int is_marker(const uint8_t *p, int64_t size)
{
    int expected = TRANSACTIONAL_BIT | CONTROL_BIT;
    return size == MARKER_SIZE && (batch_attributes(p) & (CODEC_MASK | expected)) == expected && holds_marker(p);
}

/* Adds one batch. Returns 1, 0 if it is not what a producer or a coordinator writes, -1 if there is no memory. */
static int take_batch(Streaks *streaks, const uint8_t *p, int64_t position, int64_t size)
{
    int32_t delta = batch_last_offset_delta(p), base = batch_base_sequence(p), last = later_sequence(base, delta);
    int64_t base_offset = batch_base_offset(p), last_offset = added(base_offset, delta), producer_id = batch_producer_id(p);
    int16_t epoch = batch_producer_epoch(p), attributes = batch_attributes(p);
    enum streak_kind kind = PLAIN;
    if (attributes & TRANSACTIONAL_BIT)
        kind = batch_record_count(p) ? TRANSACTIONAL : EMPTY_TRANSACTIONAL;
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
    int64_t *before = last_streak(streaks, producer_id);
    Streak *streak = *before ? streaks->streaks + *before - 1 : NULL;
    int goes_on = streak && streak->epoch == epoch && streak->last_sequence + 1 == base;
    if (goes_on && kind != MARKER && streak->kind == (int64_t)kind) {
        if (!streak->is_open) {
            streak->base_offset = base_offset;
            streak->position = position;
            streak->end = added(position, size);
        }
        streak->last_sequence = last;
        streak->last_base_offset = base_offset;
        streak->last_offset = last_offset;
        streak->is_open = 1;
        return 1;
    }
    int is_commit = kind == MARKER && marker_type(p) == COMMIT;
    if (streak && is_commit && streak->kind == TRANSACTIONAL && streak->epoch == epoch && streak->is_open) {
        int64_t coordinator_epoch = marker_coordinator_epoch(p);
        if (!streak->commits)
            streak->first_coordinator_epoch = coordinator_epoch;
        if (!streak->commits || coordinator_epoch >= streak->coordinator_epoch) {
            streak->coordinator_epoch = coordinator_epoch;
            streak->commit_offset = last_offset;
            streak->commits++;
            streak->is_open = 0;
            return 1;
        }
    }
    if (streaks->count == streaks->room) {
        int64_t room = streaks->room ? 2 * streaks->room : 64;
        Streak *larger = realloc(streaks->streaks, (size_t)room * sizeof(Streak));
        if (!larger)
            return -1;
        streaks->streaks = larger;
        streaks->room = room;
    }
    streaks->streaks[streaks->count] = (Streak){
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
    *before = ++streaks->count;
    return 1;
}

PyDoc_STRVAR(producer_streaks_doc, "producer_streaks(window, start, count, window_position), as the reference.");

static PyObject *producer_streaks(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t at, count;
    long long window_position;
    if (!PyArg_ParseTuple(arguments, "y*nnL:producer_streaks", &window, &at, &count, &window_position))
        return NULL;
    const uint8_t *bytes = window.buf;
    Streaks streaks;
    Py_ssize_t most = window.len / BATCH_HEADER_SIZE; /* batches, and so producers */
    int taken = begin_streaks(&streaks, most < count ? most : count > 0 ? count : 0) ? 1 : -1;
    Py_BEGIN_ALLOW_THREADS;
    for (; taken > 0 && count > 0; count--) {
        if (at < 0 || at > window.len || !is_regular_batch(bytes + at, (size_t)(window.len - at), CODEC_MASK)) {
            taken = 0;
            break;
        }
        int64_t size = batch_size(bytes + at);
        taken = take_batch(&streaks, bytes + at, added(window_position, at), size);
        at += size;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&window);
    PyObject *result = streaks_as_bytes(&streaks, taken);
    end_streaks(&streaks);
    return result;
}
