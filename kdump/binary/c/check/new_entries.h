/* The entries that indexes get for batches of a log (`new_entries`), as kdump/binary/new_entries.py has them. */

#pragma once

#include <Python.h>
#include <stdint.h>

enum { OF_OFFSETS, OF_POSITIONS, OF_TIMES, OF_TIME_OFFSETS, ENTRY_COLUMNS };

PyDoc_STRVAR(new_entries_doc, "new_entries(positions, last_offsets, timestamps, interval, state), as the reference.");

static PyObject *new_entries(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer batches[3];
    long long interval, last_indexed, largest, offset_of_largest, last_time;
    Py_ssize_t filled[ENTRY_COLUMNS] = {0};
    PyObject *columns[ENTRY_COLUMNS] = {0}, *result = NULL;
    int64_t *entries[ENTRY_COLUMNS];
    if (!PyArg_ParseTuple(arguments, "y*y*y*L(LLLL):new_entries", &batches[0], &batches[1], &batches[2], &interval, &last_indexed,
                          &largest, &offset_of_largest, &last_time))
        return NULL;
    Py_ssize_t size = batches[0].len;
    if (size % (Py_ssize_t)sizeof(int64_t) || batches[1].len != size || batches[2].len != size) {
        PyErr_SetString(PyExc_ValueError, "the columns are not numbers of 64 bits, or differ in length");
        goto end;
    }
    for (int column = 0; column < ENTRY_COLUMNS; column++) {
        if (!(columns[column] = PyByteArray_FromStringAndSize(NULL, size)))
            goto end;
        entries[column] = (int64_t *)(void *)PyByteArray_AsString(columns[column]);
    }
    const int64_t *positions = batches[0].buf, *last_offsets = batches[1].buf, *timestamps = batches[2].buf;
    for (Py_ssize_t row = 0; row < size / (Py_ssize_t)sizeof(int64_t); row++) {
        if (timestamps[row] > largest) {
            largest = timestamps[row];
            offset_of_largest = last_offsets[row];
        }
        if (positions[row] <= added(last_indexed, interval))
            continue;
        last_indexed = positions[row];
        entries[OF_OFFSETS][filled[OF_OFFSETS]++] = last_offsets[row];
        entries[OF_POSITIONS][filled[OF_POSITIONS]++] = positions[row];
        if (largest <= last_time)
            continue;
        last_time = largest;
        entries[OF_TIMES][filled[OF_TIMES]++] = largest;
        entries[OF_TIME_OFFSETS][filled[OF_TIME_OFFSETS]++] = offset_of_largest;
    }
    for (int column = 0; column < ENTRY_COLUMNS; column++)
        if (PyByteArray_Resize(columns[column], filled[column] * (Py_ssize_t)sizeof(int64_t)) < 0)
            goto end;
    result = Py_BuildValue("(LLLL)OOOO", last_indexed, largest, offset_of_largest, last_time, columns[OF_OFFSETS],
                           columns[OF_POSITIONS], columns[OF_TIMES], columns[OF_TIME_OFFSETS]);
end:
    for (int column = 0; column < ENTRY_COLUMNS; column++)
        Py_XDECREF(columns[column]);
    for (int column = 0; column < 3; column++)
        PyBuffer_Release(&batches[column]);
    return result;
}
