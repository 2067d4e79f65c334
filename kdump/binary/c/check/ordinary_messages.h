/* Which messages of magic 0 and 1, and which wrappers of them, are as clients write them (`skip_messages`), so that the rules of
   `kdump check --level deep` have nothing to report about them. tests/checks/test_ordinary_messages.py compares this with the rules. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include "read/batches.h"
#include "bytes/layout.h"

#define LAST_MESSAGE_CODEC 3 /* lz4; zstd came with magic 2 */
#define UNKNOWN_OFFSET (-1)

/* A size from `lowest` on, of a key or value, and the bytes after it. Returns the end of these, or NULL. */
static const uint8_t *skip_field(const uint8_t *p, const uint8_t *end, int32_t lowest, int32_t *size)
{
    if (end - p < 4)
        return NULL;
    *size = (int32_t)be32(p);
    p += 4;
    if (*size < lowest || *size > end - p)
        return NULL;
    return *size > 0 ? p + *size : p;
}

/* Whether a message consists of a key and a value, and has no timestamp below -1. Its size is that of its header or more. */
static int is_ordinary_message(const uint8_t *p, int64_t size, int needs_keys)
{
    const uint8_t *end = p + size, *at = message_contents(p);
    int32_t length;
    if (at > end || message_timestamp(p) < NO_TIMESTAMP)
        return 0;
    at = skip_field(at, end, needs_keys ? 0 : -1, &length);
    return at && skip_field(at, end, -1, &length) == end;
}

/* The value of a wrapper, which is compressed. Returns its start, or NULL if there is none. */
static const uint8_t *payload_of_wrapper(const uint8_t *p, int64_t size)
{
    const uint8_t *end = p + size, *at = message_contents(p);
    int32_t length;
    if (at > end || message_timestamp(p) < NO_TIMESTAMP || !(at = skip_field(at, end, -1, &length)))
        return NULL;
    at = skip_field(at, end, 0, &length);
    return at == end ? end - length : NULL;
}

/* The offset of the first message in a wrapper, by those of the first and the last as they are inside: the last has that of the wrapper.
   UNKNOWN_OFFSET where they do not say it. */
static int64_t first_offset_in_wrapper(int64_t offset, int64_t first, int64_t last)
{
    if (offset < 0 || first < 0 || last < first || last - first > offset)
        return UNKNOWN_OFFSET;
    return offset - (last - first);
}

/* Whether these are exactly messages that belong into the wrapper: of its magic, not compressed, valid, with a highest timestamp that
   agrees with its own, and with offsets that do, too, and of which the cleaner left out none. No more than `max_messages` are. The
   offset of the first of them goes to `first_offset`. */
static int are_ordinary_messages(const uint8_t *wrapper, const uint8_t *p, const uint8_t *end, int needs_keys,
                                 Py_ssize_t max_messages, int64_t *first_offset)
{
    int8_t magic = batch_magic(wrapper);
    int64_t offset = batch_base_offset(wrapper), last = 0, highest = INT64_MIN, highest_offset = INT64_MIN;
    int64_t first = end - p >= LENGTH_AT ? batch_base_offset(p) : UNKNOWN_OFFSET;
    int64_t header_size = magic ? MESSAGE_HEADER_SIZE : MESSAGE_TIMESTAMP_AT;
    Py_ssize_t count = 0;
    for (; p < end; count++) {
        if (end - p < header_size || count == max_messages)
            return 0;
        int64_t size = batch_size(p);
        if (size < header_size || size > end - p || batch_magic(p) != magic || message_codec(p) || !is_valid_message(p, (size_t)size) ||
            !is_ordinary_message(p, size, needs_keys))
            return 0;
        last = batch_base_offset(p);
        if (last > highest_offset)
            highest_offset = last;
        if (message_timestamp(p) > highest)
            highest = message_timestamp(p);
        p += size;
    }
    if (!count || (first >= 0 && last - first > count - 1))
        return 0; /* there is none, or one is missing */
    *first_offset = first_offset_in_wrapper(offset, first, last);
    if (!magic)
        return 1;
    if (offset ? offset < last : last || highest_offset > 0) /* with offset 0, those inside are absolute */
        return 0;
    return message_attributes(wrapper) & TIMESTAMP_TYPE_BIT || highest == message_timestamp(wrapper);
}

/* Passes over messages that are not compressed, from `at` up to `end`. Returns where it stopped. */
static Py_ssize_t skip_plain_messages(const uint8_t *bytes, Py_ssize_t at, Py_ssize_t end, int needs_keys)
{
    for (;;) {
        const uint8_t *p = bytes + at;
        if (!is_regular_message(p, (size_t)(end - at), 0, 0) || !is_ordinary_message(p, batch_size(p), needs_keys))
            return at;
        at += (Py_ssize_t)batch_size(p);
    }
}

/* Adds the offset of the first message in a wrapper to a list, if there is one. Returns whether no exception is set. */
static int note_first_offset(PyObject *first_offsets, int64_t first_offset)
{
    if (first_offsets == Py_None)
        return 1;
    PyObject *number = PyLong_FromLongLong(first_offset);
    int is_noted = number && PyList_Append(first_offsets, number) == 0;
    Py_XDECREF(number);
    return is_noted;
}

/* Whether the messages in this payload, which is decompressed, are ordinary: 1, or 0. With an exception set: -1. */
static int pass_over_messages(const uint8_t *wrapper, PyObject *messages, int needs_keys, Py_ssize_t max_messages,
                              PyObject *first_offsets)
{
    int64_t first_offset = UNKNOWN_OFFSET;
    Py_buffer payload;
    int is_ordinary;
    if (PyObject_GetBuffer(messages, &payload, PyBUF_SIMPLE) < 0)
        return -1;
    const uint8_t *first = payload.buf;
    Py_BEGIN_ALLOW_THREADS;
    is_ordinary = are_ordinary_messages(wrapper, first, first + payload.len, needs_keys, max_messages, &first_offset);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&payload);
    return is_ordinary && !note_first_offset(first_offsets, first_offset) ? -1 : is_ordinary;
}

PyDoc_STRVAR(skip_messages_doc,
             "skip_messages(data, start, end, needs_keys, max_messages, codec, decompress, first_offsets=None)\n"
             "-> start of the first message that is not ordinary\n\n"
             "Pass over the messages of magic 0 and 1 between `start` and `end` with this codec that are as clients write them, and so "
             "are those inside. With `needs_keys`, each of these has a key; a wrapper has `max_messages` at most. Only the checksums of those inside are computed. "
             "`decompress` is called with each payload, a slice of `data`, and returns its bytes; None where it is left to others. "
             "Messages that are not compressed have codec 0. The offset of the first message in each wrapper is added to the list "
             "`first_offsets`, -1 where the offsets in it do not say which that is.");

static PyObject *skip_messages(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *decompress, *first_offsets = Py_None, *result = NULL;
    Py_buffer data;
    Py_ssize_t at, end, max_messages;
    int needs_keys, codec, passed = 1;
    if (!PyArg_ParseTuple(arguments, "OnnpniO|O:skip_messages", &object, &at, &end, &needs_keys, &max_messages, &codec, &decompress,
                          &first_offsets) ||
        PyObject_GetBuffer(object, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    if (first_offsets != Py_None && !PyList_Check(first_offsets)) {
        PyErr_SetString(PyExc_TypeError, "first_offsets is not a list");
        goto end;
    }
    if (at < 0 || end < at || end > data.len) {
        PyErr_SetString(PyExc_ValueError, "start or end is out of bounds");
        goto end;
    }
    if (!codec) {
        Py_BEGIN_ALLOW_THREADS;
        at = skip_plain_messages(data.buf, at, end, needs_keys);
        Py_END_ALLOW_THREADS;
    }
    while (codec) {
        const uint8_t *p = (const uint8_t *)data.buf + at, *first;
        if (!is_regular_message(p, (size_t)(end - at), 0, LAST_MESSAGE_CODEC) || message_codec(p) != codec ||
            !(first = payload_of_wrapper(p, batch_size(p))))
            break;
        Py_ssize_t size = (Py_ssize_t)batch_size(p);
        PyObject *payload = PySequence_GetSlice(object, at + (first - p), at + size);
        PyObject *messages = payload ? PyObject_CallFunctionObjArgs(decompress, payload, NULL) : NULL;
        Py_XDECREF(payload);
        passed = !messages ? -1 : messages == Py_None ? 0 : pass_over_messages(p, messages, needs_keys, max_messages, first_offsets);
        Py_XDECREF(messages);
        if (passed <= 0)
            break;
        at += size;
    }
    if (passed >= 0)
        result = PyLong_FromSsize_t(at);
end:
    PyBuffer_Release(&data);
    return result;
}
