/* Searches bytes for the next batch or message whose checksum fits: `find`, for what comes after damage. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "batches.h"
#include "layout.h"

#define FIND_BUDGET (8 << 20) /* bytes under checksums, so that bytes made to look like headers cost little */

PyDoc_STRVAR(find_doc, "find(window, start, is_legacy) -> position\n\n"
                       "Where the first regular batch (or message) begins whose checksum fits, from `start` on; -1 for nowhere.");

static PyObject *find(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start, found = -1;
    int is_legacy;
    if (!PyArg_ParseTuple(arguments, "y*np:find", &window, &start, &is_legacy))
        return NULL;
    const uint8_t *bytes = window.buf;
    int64_t budget = FIND_BUDGET;
    Py_BEGIN_ALLOW_THREADS;
    for (; start >= 0 && window.len - start >= MESSAGE_HEADER_SIZE && budget > 0 && found < 0; start++) {
        const uint8_t *p = bytes + start;
        if (!is_legacy) { /* the next place by its magic */
            const uint8_t *magic = memchr(p + MAGIC_AT, 2, (size_t)(window.len - start - MAGIC_AT));
            if (!magic)
                break;
            p = magic - MAGIC_AT;
            start = p - bytes;
        }
        size_t room = (size_t)(window.len - start);
        if (is_legacy ? message_attributes(p) & UNKNOWN_MESSAGE_ATTRIBUTES || !is_regular_message(p, room, 0, CODEC_MASK)
                      : !is_regular_batch(p, room, CODEC_MASK) || batch_attributes(p) & UNKNOWN_BATCH_ATTRIBUTES)
            continue;
        size_t size = (size_t)batch_size(p);
        budget -= (int64_t)size;
        if (is_legacy ? is_valid_message(p, size) : is_valid_batch(p, size))
            found = start;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&window);
    return PyLong_FromSsize_t(found);
}
