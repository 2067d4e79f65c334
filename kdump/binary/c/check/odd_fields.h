/* Counts the fields of records that readers accept, but no client writes (`count_odd_fields`), so that a file full of them takes no longer
   than others once they are no longer reported one by one. tests/checks/test_ordinary_records.py compares this with the rule. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include "bytes/varint.h"

#define ROW_HEADERS 4 /* where a row of `walk_records` has the headers */

/* What may be counted. */
enum { ODD_ATTRIBUTES = 1, LONG_VARINTS = 2, ODD_SIZES = 4, ODD_HEADER_SIZES = 8 };

/* How many there are; of sizes below -1 also where the first record with one starts, and where the last ends. */
typedef struct {
    Py_ssize_t count, first, end;
} OddSizes;

typedef struct {
    Py_ssize_t attributes, long_varints;
    OddSizes sizes, header_sizes;
} OddFields;

static const uint8_t *odd_varint(const uint8_t *p, const uint8_t *end, int most, int64_t *value, OddFields *odd)
{
    const uint8_t *after = varint(p, end, most, value);
    if (after && after - p > 1 && !after[-1])
        odd->long_varints++;
    return after;
}

/* The size of a key or value, and these. Returns their end, or NULL. */
static const uint8_t *odd_sized(const uint8_t *p, const uint8_t *end, OddSizes *sizes, OddFields *odd)
{
    int64_t size;
    p = odd_varint(p, end, 32, &size, odd);
    if (!p || size > end - p)
        return NULL;
    sizes->count += size < -1; /* which is null */
    return size > 0 ? p + size : p;
}

/* Counts what is odd in one record, which has this many headers then. Returns its end, or NULL if it is irregular. */
static const uint8_t *count_odd_in_record(const uint8_t *p, const uint8_t *end, OddFields *odd, int64_t *header_count)
{
    int64_t value;
    p = odd_varint(p, end, 32, &value, odd);
    if (!p || value < 1 || value > end - p)
        return NULL;
    end = p + value;
    odd->attributes += *p++ != 0;
    if (!(p = odd_varint(p, end, 64, &value, odd)) || !(p = odd_varint(p, end, 32, &value, odd)))
        return NULL;
    if (!(p = odd_sized(p, end, &odd->sizes, odd)) || !(p = odd_sized(p, end, &odd->sizes, odd)))
        return NULL;
    if (!(p = odd_varint(p, end, 32, header_count, odd)) || *header_count < 0)
        return NULL;
    for (int64_t header = 0; header < 2 * *header_count; header++)
        if (!(p = odd_sized(p, end, &odd->header_sizes, odd)))
            return NULL;
    return p == end ? p : NULL;
}

/* The end of a record whose length may have bits that nobody reads, as the reference has it; NULL if it reaches past `end`. */
static const uint8_t *after_record(const uint8_t *p, const uint8_t *end)
{
    uint32_t raw = 0;
    for (int shift = 0; p < end && shift < 35; shift += 7) {
        raw |= (uint32_t)(*p & 0x7f) << shift;
        if (*p++ < 0x80)
            return !(raw & 1) && raw >> 1 <= (uint64_t)(end - p) ? p + (raw >> 1) : NULL;
    }
    return NULL;
}

static void add_sizes(OddSizes *sizes, const OddSizes *found, Py_ssize_t start, Py_ssize_t end)
{
    if (!found->count)
        return;
    sizes->first = sizes->count ? sizes->first : start;
    sizes->count += found->count;
    sizes->end = end;
}

/* Adds what is odd in the record at `start`. Returns 0 if something of it may not be counted. */
static int add_odd(OddFields *odd, const OddFields *found, int counted, Py_ssize_t start, Py_ssize_t end)
{
    if ((found->attributes && !(counted & ODD_ATTRIBUTES)) || (found->long_varints && !(counted & LONG_VARINTS)) ||
        (found->sizes.count && !(counted & ODD_SIZES)) || (found->header_sizes.count && !(counted & ODD_HEADER_SIZES)))
        return 0;
    odd->attributes += found->attributes;
    odd->long_varints += found->long_varints;
    add_sizes(&odd->sizes, &found->sizes, start, end);
    add_sizes(&odd->header_sizes, &found->header_sizes, start, end);
    return 1;
}

/* Whether the row of a record holds its headers: 1, or 0. With an exception set: -1. */
static int holds_headers(PyObject *rows, Py_ssize_t number)
{
    PyObject *row = PyList_GetItem(rows, number), *headers = row ? PyTuple_GetItem(row, ROW_HEADERS) : NULL;
    return headers ? PyObject_IsTrue(headers) : -1;
}

PyDoc_STRVAR(count_odd_fields_doc,
             "count_odd_fields(data, position, end, rows, number, skipped, counted)\n"
             "-> (number, position, attributes, long varints, and for sizes and sizes of headers: count, first start, last end)\n\n"
             "Count what is odd in the records from this number and position on, after the first `skipped` of these: attributes, varints "
             "longer than needed, sizes below -1. Stops at a record with an oddity that is not among those `counted`, one that "
             "is irregular, or one whose headers `rows` does not hold.");

static PyObject *count_odd_fields(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    Py_ssize_t position, end, number, skipped;
    PyObject *rows;
    int counted, held = 1;
    OddFields odd = {0};
    if (!PyArg_ParseTuple(arguments, "y*nnO!nni:count_odd_fields", &data, &position, &end, &PyList_Type, &rows, &number, &skipped,
                          &counted))
        return NULL;
    if (position < 0 || end < position || end > data.len || number < 0) {
        PyBuffer_Release(&data);
        PyErr_SetString(PyExc_ValueError, "position, end or number is out of bounds");
        return NULL;
    }
    const uint8_t *bytes = data.buf;
    Py_ssize_t count = PyList_Size(rows);
    for (; number < count && held > 0; number++) {
        OddFields found = {0};
        int64_t header_count = 0;
        const uint8_t *next;
        if (skipped > 0) {
            next = after_record(bytes + position, bytes + end);
            if (!next) {
                PyErr_SetString(PyExc_ValueError, "a record to skip is out of bounds");
                held = -1;
                break;
            }
            skipped--;
        } else {
            next = count_odd_in_record(bytes + position, bytes + end, &found, &header_count);
            if (!next || (header_count && (held = holds_headers(rows, number)) <= 0))
                break;
            if (!add_odd(&odd, &found, counted, position, next - bytes))
                break;
        }
        position = next - bytes;
    }
    PyBuffer_Release(&data);
    if (held < 0)
        return NULL;
    return Py_BuildValue("nnnnnnnnnn", number, position, odd.attributes, odd.long_varints, odd.sizes.count, odd.sizes.first,
                         odd.sizes.end, odd.header_sizes.count, odd.header_sizes.first, odd.header_sizes.end);
}
