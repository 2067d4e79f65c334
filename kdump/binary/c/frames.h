/* The framing around compressed blocks (`lz4_blocks`, `zstd_frame`, `zstd_frames`); the package of the codec decompresses them. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include "objects.h"

#define LZ4_STORED 0x80000000u /* of a block's size: the block is not compressed */
#define LZ4_SIZE_BYTES 4
#define MOST_BLOCKS 4096 /* that are held one by one: a block may be as small as a byte, its object is not */

static uint64_t little_endian(const uint8_t *p, int size)
{
    uint64_t number = 0;
    for (int at = 0; at < size; at++)
        number |= (uint64_t)p[at] << 8 * at;
    return number;
}

/* One block, decompressed if it is not stored as it is. A new reference to bytes, or NULL with an exception set. */
static PyObject *lz4_block(PyObject *compressed, Py_ssize_t start, Py_ssize_t size, int is_stored, PyObject *decompress, PyObject *most)
{
    PyObject *data = NULL, *block = PySequence_GetSlice(compressed, start, start + size);
    if (block)
        data = is_stored ? PyBytes_FromObject(block) : PyObject_CallFunctionObjArgs(decompress, block, most, NULL);
    Py_XDECREF(block);
    if (data && !PyBytes_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "a decompressed block is not bytes");
        Py_CLEAR(data);
    }
    return data;
}

/* The bytes of all blocks of a list. */
static PyObject *joined(PyObject *blocks)
{
    if (PyList_Size(blocks) == 1)
        return Py_NewRef(PyList_GetItem(blocks, 0));
    PyObject *none = PyBytes_FromStringAndSize(NULL, 0);
    PyObject *whole = none ? PyObject_CallMethod(none, "join", "O", blocks) : NULL;
    Py_XDECREF(none);
    return whole;
}

/* Adds a block, whose reference it takes over, to those of a list; when they are many, they become one of `runs`. */
static int add_block(PyObject *blocks, PyObject *runs, PyObject *block)
{
    if (!append(blocks, block))
        return 0;
    return PyList_Size(blocks) < MOST_BLOCKS || (append(runs, joined(blocks)) && !PyList_SetSlice(blocks, 0, MOST_BLOCKS, NULL));
}

/* The bytes of all runs and of the blocks after them. */
static PyObject *joined_runs(PyObject *runs, PyObject *blocks)
{
    if (!PyList_Size(runs))
        return joined(blocks);
    return append(runs, joined(blocks)) ? joined(runs) : NULL;
}

PyDoc_STRVAR(lz4_blocks_doc,
             "lz4_blocks(frame, position, max_block_size, checksum_size, limit, decompress) -> bytes or None\n\n"
             "The contents of an lz4 frame whose blocks have no checksums, from the first one on, which is at `position`. Each that is "
             "compressed is given to `decompress`, with the size that it may have. None if a block is too large, if the frame does "
             "not end, after a checksum of this size, where its bytes do, or if its contents are larger than `limit`. Raises what "
             "`decompress` raises.");

static PyObject *lz4_blocks(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *frame, *decompress, *most = NULL, *blocks = NULL, *runs = NULL, *result = NULL;
    Py_buffer data;
    Py_ssize_t position, max_block_size, checksum_size, left;
    if (!PyArg_ParseTuple(arguments, "OnnnnO:lz4_blocks", &frame, &position, &max_block_size, &checksum_size, &left, &decompress) ||
        PyObject_GetBuffer(frame, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    if (position < 0 || max_block_size < 0 || checksum_size < 0) {
        PyErr_SetString(PyExc_ValueError, "a size or the position is negative");
        goto end;
    }
    most = PyLong_FromSsize_t(max_block_size);
    blocks = PyList_New(0);
    runs = PyList_New(0);
    int is_regular = 0;
    while (most && blocks && runs && left >= 0 && position <= data.len - LZ4_SIZE_BYTES) {
        uint32_t said = (uint32_t)little_endian((const uint8_t *)data.buf + position, LZ4_SIZE_BYTES);
        int64_t size = said & ~LZ4_STORED;
        position += LZ4_SIZE_BYTES;
        if (!said) {
            is_regular = checksum_size == data.len - position;
            break;
        }
        if (size > max_block_size || size > data.len - position - LZ4_SIZE_BYTES) /* another size follows, or the end mark */
            break;
        PyObject *block = lz4_block(frame, position, (Py_ssize_t)size, said >= LZ4_STORED, decompress, most);
        left -= block ? PyBytes_Size(block) : 0;
        if (!add_block(blocks, runs, block))
            goto end;
        position += (Py_ssize_t)size;
    }
    if (most && blocks && runs)
        result = is_regular && left >= 0 ? joined_runs(runs, blocks) : Py_NewRef(Py_None);
end:
    Py_XDECREF(most);
    Py_XDECREF(blocks);
    Py_XDECREF(runs);
    PyBuffer_Release(&data);
    return result;
}

#define ZSTD_MAGIC 0xFD2FB528u
#define ZSTD_SKIPPABLE_MAGIC 0x184D2A50u /* or one of the 15 numbers after it */
#define ZSTD_MAGIC_SIZE 4
#define ZSTD_SKIPPABLE_HEADER_SIZE 8
#define ZSTD_BLOCK_HEADER_SIZE 3
#define ZSTD_CHECKSUM_SIZE 4
#define ZSTD_SINGLE_SEGMENT 0x20 /* in the descriptor: no byte gives the window, and there is a content size */
#define ZSTD_HAS_CHECKSUM 0x04
#define ZSTD_RUN 1 /* a kind of block: one byte, repeated */

/* The size of the zstd frame at `p`, which is at least that of its header; 0 if it is not whole in these bytes. RFC 8878.
 *
 * `window` is set for a whole frame: what it asks for, or the size of its contents as stored if it is a single segment. */
static int64_t zstd_frame_size(const uint8_t *p, int64_t room, int64_t *content_size, uint64_t *window)
{
    static const int dictionary_id_sizes[] = {0, 1, 2, 4}, content_size_sizes[] = {0, 2, 4, 8};
    *content_size = -1;
    if (room < ZSTD_MAGIC_SIZE + 1 || little_endian(p, ZSTD_MAGIC_SIZE) != ZSTD_MAGIC)
        return 0;
    int descriptor = p[ZSTD_MAGIC_SIZE], is_single = descriptor & ZSTD_SINGLE_SEGMENT;
    int size_size = content_size_sizes[descriptor >> 6];
    if (is_single && !size_size)
        size_size = 1;
    int64_t at = ZSTD_MAGIC_SIZE + 1 + !is_single + dictionary_id_sizes[descriptor & 3] + size_size;
    if (at > room)
        return 0;
    const uint8_t *after = p + ZSTD_MAGIC_SIZE + 1;
    *window = is_single ? little_endian(p + at - size_size, size_size) : (uint64_t)(8 + (*after & 7)) << (7 + (*after >> 3));
    if (size_size) {
        uint64_t said = little_endian(p + at - size_size, size_size) + (size_size == 2 ? 256 : 0);
        *content_size = said > INT64_MAX ? INT64_MAX : (int64_t)said;
    }
    for (int is_last = 0; !is_last;) {
        if (at > room - ZSTD_BLOCK_HEADER_SIZE)
            return 0;
        int header = (int)little_endian(p + at, ZSTD_BLOCK_HEADER_SIZE);
        is_last = header & 1;
        at += ZSTD_BLOCK_HEADER_SIZE + ((header >> 1 & 3) == ZSTD_RUN ? 1 : header >> 3);
    }
    at += descriptor & ZSTD_HAS_CHECKSUM ? ZSTD_CHECKSUM_SIZE : 0;
    return at <= room ? at : 0;
}

PyDoc_STRVAR(zstd_frame_doc, "zstd_frame(data) -> (size of the frame at its start, size of the contents)\n\n"
                             "0 if there is no whole frame; -1 if it does not say how much it holds. Blocks are not decompressed.");

static PyObject *zstd_frame(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    if (!PyArg_ParseTuple(arguments, "y*:zstd_frame", &data))
        return NULL;
    uint64_t window;
    int64_t content_size, size = zstd_frame_size(data.buf, data.len, &content_size, &window);
    PyBuffer_Release(&data);
    return Py_BuildValue("LL", (long long)size, (long long)content_size);
}

/* The size of the skippable zstd frame at `p`; 0 if there is none, or it is not whole in these bytes. */
static int64_t skippable_size(const uint8_t *p, int64_t room)
{
    if (room < ZSTD_SKIPPABLE_HEADER_SIZE || (little_endian(p, ZSTD_MAGIC_SIZE) & ~0xFull) != ZSTD_SKIPPABLE_MAGIC)
        return 0;
    int64_t size = ZSTD_SKIPPABLE_HEADER_SIZE + (int64_t)little_endian(p + ZSTD_MAGIC_SIZE, 4);
    return size <= room ? size : 0;
}

PyDoc_STRVAR(zstd_frames_doc, "zstd_frames(data, with_skippable) -> (number of frames, where the last ends, largest window)\n\n"
                              "Those at its start that are whole. Blocks are not decompressed.");

static PyObject *zstd_frames(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    int with_skippable;
    if (!PyArg_ParseTuple(arguments, "y*p:zstd_frames", &data, &with_skippable))
        return NULL;
    int64_t count = 0, end = 0, content_size, size;
    uint64_t window = 0, asked_for;
    const uint8_t *p = data.buf;
    for (;; count++, end += size) {
        size = with_skippable ? skippable_size(p + end, data.len - end) : 0;
        if (size)
            continue;
        size = zstd_frame_size(p + end, data.len - end, &content_size, &asked_for);
        if (!size)
            break;
        window = asked_for > window ? asked_for : window;
    }
    PyBuffer_Release(&data);
    return Py_BuildValue("LLK", (long long)count, (long long)end, (unsigned long long)window);
}
