/* Compares a window of index entries with the columns of a log (`summarize_index`, `summarize_time_index`), as checks/index_summary.py does.
   Returns a few numbers, or None if any entry needs a closer look. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include "arithmetic.h"
#include "layout.h"
#include "objects.h"
#include "packed.h"

PyDoc_STRVAR(summarize_index_doc,
             "summarize_index(entries, base_offset, previous_offset, previous_position, gap_start, log_size, positions, first_offsets, "
             "last_offsets), as kdump/checks/index_summary.py.");

static PyObject *summarize_index(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer entries;
    long long base_offset, previous_offset, previous_position, gap_start, log_size;
    Column positions, firsts, lasts;
    if (!PyArg_ParseTuple(arguments, "y*LLLLLO&O&O&:summarize_index", &entries, &base_offset, &previous_offset, &previous_position,
                          &gap_start, &log_size, column_of, &positions, column_of, &firsts, column_of, &lasts))
        return NULL;
    const uint8_t *p = entries.buf;
    int64_t count = entries.len / INDEX_ENTRY_SIZE, offset = previous_offset, position = previous_position;
    int64_t smallest_gap = INT64_MAX, largest_gap = 0, first_kind = 0, last_kind = 0;
    int is_plain = entries.len % INDEX_ENTRY_SIZE == 0 && count && positions.rows == firsts.rows && positions.rows == lasts.rows;
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t entry = 0; is_plain && entry < count; entry++, p += INDEX_ENTRY_SIZE) {
        int64_t next_offset = index_entry_offset(p), next_position = index_entry_position(p);
        int64_t row = row_in(&positions, next_position), wanted = added(base_offset, next_offset);
        int64_t gap = (int64_t)((uint64_t)next_position - (uint64_t)(entry ? position : gap_start));
        is_plain = next_offset > offset && next_position > position && next_position < log_size && next_offset >= 0 &&
                   row < positions.rows && number_in(&positions, row) == next_position;
        if (!is_plain)
            break;
        int64_t first = number_in(&firsts, row), last = number_in(&lasts, row);
        is_plain = wanted == first || wanted == last;
        first_kind += wanted == first && first < last;
        last_kind += wanted == last && first < last;
        note_lowest(&smallest_gap, gap);
        note_highest(&largest_gap, gap);
        offset = next_offset;
        position = next_position;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&entries);
    release_column(&positions);
    release_column(&firsts);
    release_column(&lasts);
    const int64_t numbers[] = {offset, position, smallest_gap, largest_gap, first_kind, last_kind};
    return is_plain ? tuple_of(numbers, sizeof numbers / sizeof *numbers) : Py_NewRef(Py_None);
}

PyDoc_STRVAR(summarize_time_index_doc,
             "summarize_time_index(entries, base_offset, previous_timestamp, previous_offset, first_offsets, last_offsets, timestamps), "
             "as kdump/checks/index_summary.py.");

static PyObject *summarize_time_index(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer entries;
    long long base_offset, previous_timestamp, previous_offset;
    Column firsts, lasts, timestamps;
    if (!PyArg_ParseTuple(arguments, "y*LLLO&O&O&:summarize_time_index", &entries, &base_offset, &previous_timestamp,
                          &previous_offset, column_of, &firsts, column_of, &lasts, column_of, &timestamps))
        return NULL;
    const uint8_t *p = entries.buf;
    int64_t count = entries.len / TIME_INDEX_ENTRY_SIZE, timestamp = previous_timestamp, offset = previous_offset, inside = 0;
    int is_plain = entries.len % TIME_INDEX_ENTRY_SIZE == 0 && count && lasts.rows == firsts.rows && lasts.rows == timestamps.rows;
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t entry = 0; is_plain && entry < count; entry++, p += TIME_INDEX_ENTRY_SIZE) {
        int64_t next_timestamp = time_entry_timestamp(p), next_offset = time_entry_offset(p);
        int64_t wanted = added(base_offset, next_offset), row = row_in(&lasts, wanted);
        is_plain = next_timestamp > timestamp && next_offset >= offset && next_offset >= 0 && row < lasts.rows &&
                   number_in(&timestamps, row) == next_timestamp;
        if (!is_plain)
            break;
        int is_inside = number_in(&lasts, row) != wanted;
        is_plain = !is_inside || number_in(&firsts, row) <= wanted;
        inside += is_inside;
        timestamp = next_timestamp;
        offset = next_offset;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&entries);
    release_column(&firsts);
    release_column(&lasts);
    release_column(&timestamps);
    const int64_t numbers[] = {timestamp, offset, inside};
    return is_plain ? tuple_of(numbers, sizeof numbers / sizeof *numbers) : Py_NewRef(Py_None);
}
