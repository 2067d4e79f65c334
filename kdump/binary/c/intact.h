/* All intact batches in a window of a log, past whatever lies between: `walk_intact`. The reference is `_intact` in
   kdump/forecasts/losses.py; what does not show in the window is left to it. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "batches.h"
#include "damage.h"
#include "layout.h"
#include "search.h"

#define INTACT_FIELDS 5 /* first and last offset, records, size, checksum */

/* Whether a batch begins at `p`, in the log where `left` bytes are left, whose length is not impossible. */
static inline int has_possible_length(const uint8_t *p, int64_t left)
{
    return batch_length(p) >= MIN_MESSAGE_LENGTH && batch_size(p) <= left;
}

PyDoc_STRVAR(walk_intact_doc,
             "walk_intact(window, start, left, near_bytes, has_passed_damage, out, tries, crc_bytes, kept_crc_bytes)\n"
             "    -> (count, end, has_passed_damage, tries, crc_bytes, gave_up)\n\n"
             "The batches of any magic from `start` on whose checksum fits: first and last offset, records, size and checksum of each, as\n"
             "64-bit numbers in `out`. `left` bytes of the log begin with the window. It ends where `out` is full, and at what needs more\n"
             "bytes than the window has. Until damage was passed, it also ends at a batch larger than `near_bytes`; then the budget is\n"
             "charged for such a batch.");

static PyObject *walk_intact(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window, out;
    Py_ssize_t at, near_bytes, count = 0;
    long long left;
    int has_passed_damage;
    Walk walk = {0};
    if (!PyArg_ParseTuple(arguments, "y*nLnpw*LLL:walk_intact", &window, &at, &left, &near_bytes, &has_passed_damage, &out,
                          &walk.budget.tries, &walk.budget.crc_bytes, &walk.budget.kept_crc_bytes))
        return NULL;
    int is_sound = near_bytes >= BATCH_HEADER_SIZE && near_bytes <= MAX_NEAR_BYTES && at <= window.len && left >= window.len;
    if (!is_valid_search(&window, at, left, &walk.budget) || !is_sound) {
        if (!PyErr_Occurred()) {
            PyBuffer_Release(&window);
            PyErr_SetString(PyExc_ValueError, "a position or a size is out of bounds");
        }
        PyBuffer_Release(&out);
        return NULL;
    }
    Py_ssize_t most = out.len / (Py_ssize_t)(INTACT_FIELDS * sizeof(int64_t));
    walk.window = &window;
    walk.left = left;
    walk.near_bytes = near_bytes;
    Py_BEGIN_ALLOW_THREADS;
    while (count < most && holds(&walk, at, BATCH_HEADER_SIZE)) {
        const uint8_t *p = walk_bytes(&walk, at);
        int is_legacy = batch_magic(p) < 2, is_whole = has_possible_length(p, left - at);
        int64_t size = batch_size(p);
        int is_large = is_whole && size > near_bytes;
        if (is_whole && ((is_large && !has_passed_damage) || (!is_legacy && size < BATCH_HEADER_SIZE)))
            break;
        SearchBudget before = walk.budget;
        int is_checked = is_whole && (!is_large || may_spend(&walk.budget, size));
        if (is_checked && !holds(&walk, at, size)) {
            walk.budget = before;
            break;
        }
        if (is_checked && (is_legacy ? is_valid_message(p, (size_t)size) : is_valid_batch(p, (size_t)size))) {
            Extent extent = extent_of_batch(p, is_legacy);
            int64_t records = is_legacy ? 1 : batch_record_count(p) < 0 ? 0 : batch_record_count(p);
            int64_t crc = is_legacy ? message_crc(p) : batch_crc(p), fields[] = {extent.first, extent.last, records, size, crc};
            memcpy((char *)out.buf + count++ * (Py_ssize_t)sizeof fields, fields, sizeof fields);
            at += (Py_ssize_t)size;
            continue;
        }
        Py_ssize_t next = at + 1, stop = next + search_room(&walk), end = stop < window.len ? stop : window.len;
        int found = NONE_INTACT;
        HeadersInside inside = {0};
        for (; found == NONE_INTACT && (next = next_candidate(&window, next, end, left, 1, &walk.budget)) >= 0; next += !found)
            found = judge_candidate(&window, next, left, 1, &walk.budget, &inside);
        if (found != INTACT) {
            walk.budget = before;
            break;
        }
        at = next;
        has_passed_damage = 1;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&window);
    PyBuffer_Release(&out);
    return Py_BuildValue("nnOLLO", count, at, has_passed_damage ? Py_True : Py_False, walk.budget.tries, walk.budget.crc_bytes, walk.budget.gave_up ? Py_True : Py_False);
}
