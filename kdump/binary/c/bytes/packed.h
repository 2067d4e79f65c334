/* Packed columns: 64-bit integers in blocks of 256 that take 0, 1, 2, 4 or 8 bytes each (`pack`), read by row (`numbers_of`,
   `numbers_at`) or searched (`rows_of`). checks/packed_ints.py owns them and has the same in Python. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "bytes/arithmetic.h"

/* Numbers in blocks, then a tail shorter than a block; kdump/checks/packed_ints.py describes the format. */
#define BLOCK_ROWS 256
#define BLOCK_SHIFT 8
enum entry { E_first, E_base, E_step, E_start, E_width, ENTRY_NUMBERS };

typedef struct {
    Py_buffer directory, data, tail;
    const int64_t *entries; /* a row of ENTRY_NUMBERS for each block */
    const uint8_t *bytes;
    const int64_t *rest;
    int64_t blocks, rows;
    int64_t near; /* the block that was searched last */
    int is_sorted;
} Column;

/* The 64-bit numbers in a buffer, or NULL with an exception set if they are not aligned. An empty buffer may be at any address. */
static const int64_t *aligned(const Py_buffer *buffer)
{
    static const int64_t nothing;
    if (!buffer->len)
        return &nothing;
    if ((uintptr_t)buffer->buf % 8 == 0)
        return buffer->buf;
    PyErr_SetString(PyExc_ValueError, "numbers are not aligned");
    return NULL;
}

static void release_column(Column *column)
{
    PyBuffer_Release(&column->directory);
    PyBuffer_Release(&column->data);
    PyBuffer_Release(&column->tail);
}

/* For PyArg_ParseTuple: takes a tuple of directory, data and tail, and checks that all blocks lie within the data. */
static int column_of(PyObject *object, void *address)
{
    Column *column = address;
    if (!object) { /* a later argument was refused */
        release_column(column);
        return 1;
    }
    memset(column, 0, sizeof *column);
    if (!PyTuple_Check(object) || !PyArg_ParseTuple(object, "y*y*y*", &column->directory, &column->data, &column->tail)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a column is a tuple of three buffers");
        return 0;
    }
    column->entries = aligned(&column->directory);
    column->rest = aligned(&column->tail);
    column->bytes = column->data.buf;
    if (!column->entries || !column->rest) {
        release_column(column);
        return 0;
    }
    column->is_sorted = 1;
    column->blocks = column->directory.len / (8 * ENTRY_NUMBERS);
    column->rows = column->blocks * BLOCK_ROWS + column->tail.len / 8;
    int is_valid = column->directory.len % (8 * ENTRY_NUMBERS) == 0 && column->tail.len % 8 == 0 &&
                   column->tail.len / 8 < BLOCK_ROWS;
    for (int64_t block = 0; is_valid && block < column->blocks; block++) {
        const int64_t *entry = column->entries + block * ENTRY_NUMBERS;
        int64_t width = entry[E_width];
        column->is_sorted &= !block || entry[E_first - ENTRY_NUMBERS] <= entry[E_first];
        is_valid = entry[E_step] || ((width == 1 || width == 2 || width == 4 || width == 8) && entry[E_start] >= 0 &&
                                     entry[E_start] <= column->data.len - width * BLOCK_ROWS);
    }
    if (!is_valid) {
        PyErr_SetString(PyExc_ValueError, "this is no column");
        release_column(column);
        return 0;
    }
    return Py_CLEANUP_SUPPORTED;
}

static inline int64_t in_block(const Column *column, const int64_t *entry, int64_t row)
{
    if (entry[E_step])
        return (int64_t)((uint64_t)entry[E_first] + (uint64_t)entry[E_step] * (uint64_t)row);
    const uint8_t *p = column->bytes + entry[E_start] + row * entry[E_width];
    uint64_t distance = 0;
    switch (entry[E_width]) {
    case 1:
        distance = *p;
        break;
    case 2: {
        uint16_t two;
        memcpy(&two, p, 2);
        distance = two;
        break;
    }
    case 4: {
        uint32_t four;
        memcpy(&four, p, 4);
        distance = four;
        break;
    }
    default:
        memcpy(&distance, p, 8);
    }
    return (int64_t)((uint64_t)entry[E_base] + distance);
}

static inline int64_t number_in(const Column *column, int64_t row)
{
    int64_t block = row >> BLOCK_SHIFT;
    if (block == column->blocks)
        return column->rest[row & (BLOCK_ROWS - 1)];
    return in_block(column, column->entries + block * ENTRY_NUMBERS, row & (BLOCK_ROWS - 1));
}

static inline int64_t first_of(const Column *column, int64_t block)
{
    return column->entries[block * ENTRY_NUMBERS + E_first];
}

/* The first row of an ascending column that is not below this number; fast if it is near the row found last. In a column that does not
   ascend, the row that Python's bisect_left returns. */
static int64_t row_in(Column *column, int64_t number)
{
    int64_t low = 0, high = column->blocks; /* the first block whose first number is not below */
    if (column->is_sorted && column->near < column->blocks && first_of(column, column->near) < number) {
        low = column->near + 1;
        if (low < column->blocks && first_of(column, low) >= number)
            high = low;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (first_of(column, middle) < number)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t rows_in_blocks = column->blocks * BLOCK_ROWS;
    if (low < column->blocks || column->rows == rows_in_blocks || column->rest[0] >= number) {
        if (!low)
            return 0;
        low--;
    }
    column->near = low;
    int64_t row = low * BLOCK_ROWS, end = row + BLOCK_ROWS < column->rows ? row + BLOCK_ROWS : column->rows;
    while (row < end) {
        int64_t middle = row + (end - row) / 2;
        if (number_in(column, middle) < number)
            row = middle + 1;
        else
            end = middle;
    }
    return row;
}

/* Writes one block's entry of the directory and, unless its steps are all equal, its distances from the lowest number to `out`. Returns
   their size. */
static int64_t pack_block(const int64_t *numbers, int64_t start, int64_t *entry, uint8_t *out)
{
    int64_t first = numbers[0], lowest = first, highest = first;
    uint64_t step = (uint64_t)numbers[1] - (uint64_t)first;
    int is_even = 1;
    for (int row = 1; row < BLOCK_ROWS; row++) {
        is_even &= (uint64_t)numbers[row] - (uint64_t)numbers[row - 1] == step;
        note_lowest(&lowest, numbers[row]);
        note_highest(&highest, numbers[row]);
    }
    uint64_t span = (uint64_t)highest - (uint64_t)lowest, distance = step >> 63 ? 0 - step : step;
    entry[E_first] = first;
    entry[E_base] = entry[E_step] = entry[E_width] = 0;
    entry[E_start] = start;
    /* the steps are small and lead exactly from the lowest number to the highest: no sum has wrapped */
    if (is_even && distance && distance < (uint64_t)1 << 32 && (BLOCK_ROWS - 1) * distance == span) {
        entry[E_step] = (int64_t)step;
        return 0;
    }
    int64_t width = span < 1u << 8 ? 1 : span < 1u << 16 ? 2 : span < (uint64_t)1 << 32 ? 4 : 8;
    entry[E_base] = lowest;
    entry[E_width] = width;
    for (int row = 0; row < BLOCK_ROWS; row++) {
        uint64_t eight = (uint64_t)numbers[row] - (uint64_t)lowest;
        uint8_t one = (uint8_t)eight;
        uint16_t two = (uint16_t)eight;
        uint32_t four = (uint32_t)eight;
        memcpy(out + row * width, width == 1 ? (void *)&one : width == 2 ? (void *)&two : width == 4 ? (void *)&four : (void *)&eight,
               (size_t)width);
    }
    return width * BLOCK_ROWS;
}

PyDoc_STRVAR(pack_doc, "pack(numbers, start) -> (directory, data)\n\n"
                       "Blocks of 64-bit numbers as a column keeps them, their data from `start` on; less than a block at the end is "
                       "left out.");

static PyObject *pack(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer buffer;
    long long start;
    if (!PyArg_ParseTuple(arguments, "y*L:pack", &buffer, &start))
        return NULL;
    const int64_t *numbers = aligned(&buffer);
    Py_ssize_t blocks = buffer.len / 8 / BLOCK_ROWS;
    PyObject *directory = numbers ? PyBytes_FromStringAndSize(NULL, blocks * 8 * ENTRY_NUMBERS) : NULL;
    PyObject *data = directory ? PyBytes_FromStringAndSize(NULL, blocks * 8 * BLOCK_ROWS) : NULL, *result = NULL;
    if (data) {
        uint8_t *out = (uint8_t *)PyBytes_AsString(data);
        int64_t filled = 0;
        for (Py_ssize_t block = 0; block < blocks; block++) {
            int64_t entry[ENTRY_NUMBERS];
            filled += pack_block(numbers + block * BLOCK_ROWS, added(start, filled), entry, out + filled);
            memcpy(PyBytes_AsString(directory) + block * (Py_ssize_t)sizeof entry, entry, sizeof entry);
        }
        result = Py_BuildValue("Oy#", directory, (char *)out, (Py_ssize_t)filled);
    }
    Py_XDECREF(directory);
    Py_XDECREF(data);
    PyBuffer_Release(&buffer);
    return result;
}

PyDoc_STRVAR(numbers_of_doc, "numbers_of(column, start, end): the numbers in neighbouring rows, as 64-bit numbers.");

static PyObject *numbers_of(PyObject *self, PyObject *arguments)
{
    (void)self;
    Column column;
    Py_ssize_t start, end;
    if (!PyArg_ParseTuple(arguments, "O&nn:numbers_of", column_of, &column, &start, &end))
        return NULL;
    PyObject *result = NULL;
    if (start < 0 || end > column.rows)
        PyErr_SetString(PyExc_ValueError, "there are no such rows");
    else if ((result = PyBytes_FromStringAndSize(NULL, start < end ? (end - start) * 8 : 0))) {
        char *out = PyBytes_AsString(result);
        for (Py_ssize_t row = start; row < end; row++, out += 8) {
            int64_t number = number_in(&column, row);
            memcpy(out, &number, 8);
        }
    }
    release_column(&column);
    return result;
}

PyDoc_STRVAR(numbers_at_doc, "numbers_at(column, rows): the numbers in these rows, as 64-bit numbers.");
PyDoc_STRVAR(rows_of_doc, "rows_of(column, numbers): for each number the first row of an ascending column that is not below it, as "
                          "64-bit numbers.");

static PyObject *mapped(PyObject *arguments, const char *format, int to_rows)
{
    Column column;
    Py_buffer given;
    if (!PyArg_ParseTuple(arguments, format, column_of, &column, &given))
        return NULL;
    const int64_t *numbers = aligned(&given);
    Py_ssize_t count = given.len / 8;
    PyObject *result = numbers ? PyBytes_FromStringAndSize(NULL, count * 8) : NULL;
    char *out = result ? PyBytes_AsString(result) : NULL;
    for (Py_ssize_t at = 0; out && at < count; at++) {
        if (!to_rows && (numbers[at] < 0 || numbers[at] >= column.rows)) {
            PyErr_SetString(PyExc_ValueError, "there is no such row");
            Py_CLEAR(result);
            break;
        }
        int64_t number = to_rows ? row_in(&column, numbers[at]) : number_in(&column, numbers[at]);
        memcpy(out + 8 * at, &number, 8);
    }
    PyBuffer_Release(&given);
    release_column(&column);
    return result;
}

static PyObject *numbers_at(PyObject *self, PyObject *arguments)
{
    (void)self;
    return mapped(arguments, "O&y*:numbers_at", 0);
}

static PyObject *rows_of(PyObject *self, PyObject *arguments)
{
    (void)self;
    return mapped(arguments, "O&y*:rows_of", 1);
}
