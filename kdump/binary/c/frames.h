/* The framing around compressed blocks (`lz4_blocks`); the package of the codec decompresses them. */

#pragma once

#include <Python.h>
#include <stdint.h>

#define LZ4_STORED 0x80000000u /* of a block's size: the block is not compressed */
#define LZ4_SIZE_BYTES 4

static uint32_t little_endian_32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
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

PyDoc_STRVAR(lz4_blocks_doc,
             "lz4_blocks(frame, position, max_block_size, checksum_size, limit, decompress) -> bytes or None\n\n"
             "The contents of an lz4 frame whose blocks have no checksums, from the first one on, which is at `position`. Each that is "
             "compressed is given to `decompress`, with the size that it may have. None if a block is too large, if the frame does "
             "not end, after a checksum of this size, where its bytes do, or if its contents are larger than `limit`. Raises what "
             "`decompress` raises.");

static PyObject *lz4_blocks(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *frame, *decompress, *most = NULL, *blocks = NULL, *result = NULL;
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
    int is_regular = 0;
    while (most && blocks && left >= 0 && position <= data.len - LZ4_SIZE_BYTES) {
        uint32_t said = little_endian_32((const uint8_t *)data.buf + position);
        int64_t size = said & ~LZ4_STORED;
        position += LZ4_SIZE_BYTES;
        if (!said) {
            is_regular = checksum_size == data.len - position;
            break;
        }
        if (size > max_block_size || size > data.len - position - LZ4_SIZE_BYTES) /* another size follows, or the end mark */
            break;
        PyObject *block = lz4_block(frame, position, (Py_ssize_t)size, said >= LZ4_STORED, decompress, most);
        if (!block || PyList_Append(blocks, block) < 0) {
            Py_XDECREF(block);
            goto end;
        }
        left -= PyBytes_Size(block);
        Py_DECREF(block);
        position += (Py_ssize_t)size;
    }
    if (most && blocks)
        result = is_regular && left >= 0 ? joined(blocks) : Py_NewRef(Py_None);
end:
    Py_XDECREF(most);
    Py_XDECREF(blocks);
    PyBuffer_Release(&data);
    return result;
}
