/* Which batches have records as clients write them (`skip_ordinary`, `skip_compressed`, `ordinary_records`), so that of the rules of
   `kdump check --level deep` only the one for timestamps may have something to report. tests/checks/test_ordinary_records.py compares
   this with the rules. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include "bytes/arithmetic.h"
#include "read/batches.h"
#include "bytes/layout.h"
#include "bytes/utf8.h"
#include "bytes/varint.h"

#define MAX_SAFE_TIMESTAMP ((int64_t)1 << 62) /* the sum of a base and a delta below it does not overflow */

/* What the records of a batch have to agree with, and what was seen of them so far. */
typedef struct {
    int64_t base_timestamp, first_timestamp, highest_timestamp;
    int32_t last_offset_delta, highest_offset_delta;
    int32_t read;         /* how many records */
    int needs_keys;   /* whether a record without a key is to be reported */
    int checks_times; /* not where the broker set them: records then have the time of their batch */
} OrdinaryBatch;

static const uint8_t *any_shortest_varint(const uint8_t *p, const uint8_t *end, int most, int64_t *value)
{
    const uint8_t *after = any_varint(p, end, most, value);
    return after && (after - p == 1 || after[-1]) ? after : NULL;
}

/* A varint of no more bytes than its value needs. Returns its end, or NULL. Inlined for one and two bytes: each field then has a
   branch of its own, which is predicted well. */
static ALWAYS_INLINE const uint8_t *shortest_varint(const uint8_t *p, const uint8_t *end, int most, int64_t *value)
{
    if (p < end && p[0] < 0x80) {
        *value = p[0] >> 1 ^ -(p[0] & 1);
        return p + 1;
    }
    if (end - p >= 2 && p[1] < 0x80) {
        int raw = (p[0] & 0x7f) | p[1] << 7;
        *value = raw >> 1 ^ -(raw & 1);
        return p[1] ? p + 2 : NULL;
    }
    return any_shortest_varint(p, end, most, value);
}

/* A size from `lowest` on, and the bytes after it. Returns the end of these, or NULL. */
static ALWAYS_INLINE const uint8_t *skip_sized(const uint8_t *p, const uint8_t *end, int64_t lowest, int64_t *size)
{
    p = shortest_varint(p, end, 32, size);
    if (!p || *size < lowest || *size > end - p)
        return NULL;
    return *size > 0 ? p + *size : p;
}

static const uint8_t *skip_ordinary_headers(const uint8_t *p, const uint8_t *end, int64_t count)
{
    for (int64_t size; count; count--) {
        const uint8_t *after_key = skip_sized(p, end, 0, &size);
        if (!after_key || !is_well_formed_text(after_key - size, (size_t)size))
            return NULL;
        p = skip_sized(after_key, end, -1, &size);
        if (!p)
            return NULL;
    }
    return p;
}

/* A varint of one byte, or two if its value needs them. Returns its end, or NULL for any other. */
static ALWAYS_INLINE const uint8_t *brief_varint(const uint8_t *p, int32_t *value)
{
    uint32_t raw = *p++;
    if (raw >= 0x80) {
        if (*p < 1 || *p >= 0x80)
            return NULL;
        raw = (raw & 0x7f) | (uint32_t)*p++ << 7;
    }
    *value = (int32_t)(raw >> 1) ^ -(int32_t)(raw & 1);
    return p;
}

#define BRIEF_SIZE 16 /* more than its fields have without key and value: they are read before they are compared with its end */

/* One record without headers whose numbers have one or two bytes, as most have, with others after it: fewer comparisons than for any.
   Returns its end, or NULL if it may still be ordinary. */
static ALWAYS_INLINE const uint8_t *skip_brief_record(const uint8_t *p, const uint8_t *end, OrdinaryBatch *batch)
{
    int32_t length, timestamp_delta, offset_delta, key_size, value_size;
    if (end - p < BRIEF_SIZE || !(p = brief_varint(p, &length)) || length < 1 || end - p - length < BRIEF_SIZE)
        return NULL;
    const uint8_t *next = p + length; /* known before the fields are read, so that the processor can start with the next record */
    FORGET_ORIGIN(next);
    if (*p++ || !(p = brief_varint(p, &timestamp_delta)) || !(p = brief_varint(p, &offset_delta)) || !(p = brief_varint(p, &key_size)))
        return NULL;
    if (offset_delta <= batch->highest_offset_delta || offset_delta > batch->last_offset_delta)
        return NULL;
    if (key_size < (batch->needs_keys ? 0 : -1) || key_size >= next - p)
        return NULL;
    p += key_size > 0 ? key_size : 0;
    if (!(p = brief_varint(p, &value_size)) || value_size < -1)
        return NULL;
    if (next - 1 - p != (value_size > 0 ? value_size : 0) || next[-1]) /* the last byte is the number of headers */
        return NULL;
    if (batch->checks_times) {
        int64_t timestamp = batch->base_timestamp + timestamp_delta;
        if (timestamp < NO_TIMESTAMP)
            return NULL;
        if (timestamp > batch->highest_timestamp)
            batch->highest_timestamp = timestamp;
    }
    batch->highest_offset_delta = offset_delta;
    return next;
}

/* One record. Returns its end, or NULL if it is not ordinary. */
static ALWAYS_INLINE const uint8_t *skip_ordinary_record(const uint8_t *p, const uint8_t *end, OrdinaryBatch *batch)
{
    int64_t length, timestamp_delta, offset_delta, size, header_count;
    p = shortest_varint(p, end, 32, &length);
    if (!p || length < 1 || length > end - p)
        return NULL;
    end = p + length;
    const uint8_t *next = end; /* known before the fields are read, so that the processor can start with the next record */
    FORGET_ORIGIN(next);
    if (*p++) /* attributes */
        return NULL;
    p = shortest_varint(p, end, 64, &timestamp_delta);
    if (!p || !(p = shortest_varint(p, end, 32, &offset_delta)))
        return NULL;
    if (offset_delta <= batch->highest_offset_delta || offset_delta > batch->last_offset_delta)
        return NULL;
    batch->highest_offset_delta = (int32_t)offset_delta;
    if (batch->checks_times) {
        if (timestamp_delta <= -MAX_SAFE_TIMESTAMP || timestamp_delta >= MAX_SAFE_TIMESTAMP)
            return NULL;
        int64_t timestamp = batch->base_timestamp + timestamp_delta;
        if (timestamp < NO_TIMESTAMP)
            return NULL;
        if (timestamp > batch->highest_timestamp)
            batch->highest_timestamp = timestamp;
    }
    if (!(p = skip_sized(p, end, batch->needs_keys ? 0 : -1, &size)) || !(p = skip_sized(p, end, -1, &size)))
        return NULL;
    p = shortest_varint(p, end, 32, &header_count);
    if (!p || header_count < 0 || (header_count && !(p = skip_ordinary_headers(p, end, header_count))))
        return NULL;
    return p == end ? next : NULL;
}

/* Reads the records that the header announces, all of them ordinary but for their timestamps, or as many as there are: the batch says
   what those are. Returns their end, or NULL if one is not ordinary. */
static const uint8_t *after_ordinary_records(const uint8_t *header, const uint8_t *p, const uint8_t *end, int needs_keys,
                                             OrdinaryBatch *batch)
{
    int32_t count = batch_record_count(header);
    int16_t attributes = batch_attributes(header);
    *batch = (OrdinaryBatch){.base_timestamp = batch_base_timestamp(header),
                             .highest_timestamp = INT64_MIN,
                             .last_offset_delta = batch_last_offset_delta(header),
                             .highest_offset_delta = -1,
                             .needs_keys = needs_keys && !(attributes & CONTROL_BIT),
                             .checks_times = count > 0 && !(attributes & TIMESTAMP_TYPE_BIT)};
    int64_t base_offset = batch_base_offset(header);
    if (count < 0 || base_offset < 0 || base_offset > INT64_MAX - INT32_MAX || /* as a salvaged batch may have */
        (batch->checks_times && (batch->base_timestamp <= -MAX_SAFE_TIMESTAMP || batch->base_timestamp >= MAX_SAFE_TIMESTAMP)))
        return NULL;
    for (int32_t record = 0; record < count; record++) {
        const uint8_t *next = skip_brief_record(p, end, batch);
        if (!next && !(next = skip_ordinary_record(p, end, batch)))
            return p == end ? p : NULL;
        p = next;
        if (!record)
            batch->first_timestamp = batch->highest_timestamp;
        batch->read = record + 1;
    }
    return p;
}

/* Whether these bytes are exactly the records that the header announces. */
static int are_ordinary_records(const uint8_t *header, const uint8_t *p, const uint8_t *end, int needs_keys, OrdinaryBatch *batch)
{
    return after_ordinary_records(header, p, end, needs_keys, batch) == end && batch->read == batch_record_count(header);
}

/* Whether the first of some ordinary records lacks the base timestamp, although there is one, and not a delete horizon in its place. */
static int has_odd_base(const uint8_t *header, const OrdinaryBatch *batch)
{
    return batch->checks_times && batch->first_timestamp != batch->base_timestamp && batch->base_timestamp != NO_TIMESTAMP &&
           !(batch_attributes(header) & DELETE_HORIZON_BIT);
}

/* A batch of ordinary records whose timestamps are not those of its header. */
typedef struct {
    int64_t start, size, has_odd_base, highest_timestamp, max_timestamp;
} OddTimes;

/* The highest timestamp of ordinary records: that of their batch where they have none of their own. */
static int64_t highest_timestamp(const uint8_t *header, const OrdinaryBatch *batch)
{
    return batch->checks_times ? batch->highest_timestamp : batch_max_timestamp(header);
}

/* Whether the timestamps of ordinary records are not those of their batch, whose header starts at `start`; then says which are. */
static int has_odd_times(const uint8_t *header, const OrdinaryBatch *batch, int64_t start, OddTimes *odd)
{
    *odd = (OddTimes){start, batch_size(header), has_odd_base(header, batch), highest_timestamp(header, batch),
                      batch_max_timestamp(header)};
    return odd->has_odd_base || odd->highest_timestamp != odd->max_timestamp;
}

/* The odd times of batches that were passed over. */
typedef struct {
    OddTimes *times;
    size_t count, room;
} OddList;

/* Returns 0 if there is no memory. */
static int append_odd(OddList *odd, const OddTimes *times)
{
    if (odd->count == odd->room) {
        size_t room = odd->room ? 2 * odd->room : 64;
        OddTimes *grown = realloc(odd->times, room * sizeof(OddTimes));
        if (!grown)
            return 0;
        odd->times = grown;
        odd->room = room;
    }
    odd->times[odd->count++] = *times;
    return 1;
}

static PyObject *odd_as_bytes(const OddList *odd)
{
    return PyBytes_FromStringAndSize((const char *)odd->times, (Py_ssize_t)(odd->count * sizeof(OddTimes)));
}

/* Batches of ordinary records whose header says another number of them: how many, where the first starts, where the last ends. */
typedef struct {
    Py_ssize_t count, first, end;
} Miscounted;

/* Which of them may be passed over: those that have fewer records than they say, those with bytes after the records; how many records of
   a batch are read together, in which case the base timestamp of a bad batch is not compared. */
typedef struct {
    int may_have_fewer, may_have_more;
    int32_t most_together;
    Miscounted fewer, more;
} Miscounts;

#define MAX_MISCOUNTED_SIZE (1 << 20) /* a larger batch is read in parts */

static void add_miscounted(Miscounted *miscounted, Py_ssize_t start, Py_ssize_t size)
{
    miscounted->first = miscounted->count++ ? miscounted->first : start;
    miscounted->end = start + size;
}

/* Whether a batch of records that end at `after` may be passed over, although they are not those that its header announces. What the
   rule for timestamps reports of it is left in `times`, which says so if there is nothing. */
static int is_passed_over_miscounted(const uint8_t *p, const uint8_t *after, const OrdinaryBatch *batch, Py_ssize_t start,
                                     Miscounts *miscounts, OddTimes *times, int *is_odd)
{
    Py_ssize_t size = (Py_ssize_t)batch_size(p);
    int32_t count = batch_record_count(p), shown = batch->read;
    int64_t highest = batch->checks_times ? batch->first_timestamp : batch_max_timestamp(p);
    if (size > MAX_MISCOUNTED_SIZE)
        return 0;
    if (shown < count && miscounts->may_have_fewer) {
        add_miscounted(&miscounts->fewer, start, size);
    } else if (shown == count && count > 0 && count <= miscounts->most_together && after < p + size && miscounts->may_have_more) {
        add_miscounted(&miscounts->more, start, size);
        shown--; /* readers do not show the last record */
    } else {
        return 0;
    }
    /* the rule compares the timestamp of a single record at once, that of several when it has seen the last, which is never here */
    *times = (OddTimes){start, size, shown && count > miscounts->most_together && has_odd_base(p, batch),
                        shown == 1 ? highest : batch_max_timestamp(p), batch_max_timestamp(p)};
    *is_odd = times->has_odd_base || times->highest_timestamp != times->max_timestamp;
    return 1;
}

/* Passes over batches from `at` up to `end`. Returns where it stopped, or -1 if there is no memory. */
static Py_ssize_t skip_ordinary_batches(const uint8_t *bytes, Py_ssize_t at, Py_ssize_t end, int needs_keys, Miscounts *miscounts,
                                        OddList *odd)
{
    OrdinaryBatch batch;
    OddTimes times;
    for (;;) {
        const uint8_t *p = bytes + at;
        if (!is_regular_batch(p, (size_t)(end - at), 0) || batch_magic(p) != 2)
            return at;
        int64_t size = batch_size(p);
        int is_odd;
        const uint8_t *after = after_ordinary_records(p, p + BATCH_HEADER_SIZE, p + size, needs_keys, &batch);
        if (after == p + size && batch.read == batch_record_count(p))
            is_odd = has_odd_times(p, &batch, at, &times);
        else if (!after || !is_passed_over_miscounted(p, after, &batch, at, miscounts, &times, &is_odd))
            return at;
        if (is_odd && !append_odd(odd, &times))
            return -1;
        at += size;
    }
}

PyDoc_STRVAR(skip_ordinary_doc,
             "skip_ordinary(data, start, end, needs_keys, may_have_fewer=False, may_have_more=False, most_together=0)\n"
             "-> (start of the first batch that is not ordinary; odd times; fewer; more)\n\n"
             "Pass over the uncompressed batches of magic 2 between `start` and `end` whose records are as clients write them. With "
             "`needs_keys`, each record of data has a key. No checksum is computed. Odd times are five 64-bit numbers for each of "
             "these batches whose timestamps differ from those of its records: where it starts, its size, whether the base timestamp "
             "is not that of the first record, the highest timestamp of the records, and the one in the header.\n"
             "With `may_have_fewer`, batches with fewer records than their headers say are passed over, too, and with `may_have_more` "
             "those with bytes after their records. `fewer` and `more` are how many these are, where the first starts, and where the "
             "last ends. Base timestamps of those that say they have no more records than `most_together` are not compared.");

static PyObject *skip_ordinary(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    Py_ssize_t at, end;
    int needs_keys;
    OddList odd = {0};
    Miscounts miscounts = {0};
    if (!PyArg_ParseTuple(arguments, "y*nnp|ppi:skip_ordinary", &data, &at, &end, &needs_keys, &miscounts.may_have_fewer,
                          &miscounts.may_have_more, &miscounts.most_together))
        return NULL;
    if (at < 0 || end < at || end > data.len) {
        PyBuffer_Release(&data);
        PyErr_SetString(PyExc_ValueError, "start or end is out of bounds");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    at = skip_ordinary_batches(data.buf, at, end, needs_keys, &miscounts, &odd);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&data);
    const Miscounted *fewer = &miscounts.fewer, *more = &miscounts.more;
    PyObject *result = at < 0 ? PyErr_NoMemory()
                              : Py_BuildValue("nN(nnn)(nnn)", at, odd_as_bytes(&odd), fewer->count, fewer->first, fewer->end,
                                              more->count, more->first, more->end);
    free(odd.times);
    return result;
}

/* Whether all of these decompressed records are ordinary: 1, or 0. With an exception set: -1. Odd times are appended. */
static int pass_over_payload(const uint8_t *header, Py_ssize_t start, PyObject *records, int needs_keys, OddList *odd)
{
    Py_buffer payload;
    if (PyObject_GetBuffer(records, &payload, PyBUF_SIMPLE) < 0)
        return -1;
    OrdinaryBatch batch;
    OddTimes times;
    int is_ordinary, has_room = 1;
    Py_BEGIN_ALLOW_THREADS;
    is_ordinary = are_ordinary_records(header, payload.buf, (const uint8_t *)payload.buf + payload.len, needs_keys, &batch);
    if (is_ordinary && has_odd_times(header, &batch, start, &times))
        has_room = append_odd(odd, &times);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&payload);
    if (!has_room)
        PyErr_NoMemory();
    return has_room ? is_ordinary : -1;
}

PyDoc_STRVAR(skip_compressed_doc,
             "skip_compressed(data, start, end, needs_keys, codec, decompress)\n-> (start of the first batch that is not ordinary; odd times; its records or None)\n\n"
             "As `skip_ordinary`, for batches that this codec has compressed. `decompress` is called with each payload, a slice of "
             "`data`, and returns its bytes; None where they are left to others. Records are returned if they were decompressed.");

static PyObject *skip_compressed(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *object, *decompress, *refused = NULL, *result = NULL;
    Py_buffer data;
    Py_ssize_t at, end;
    int needs_keys, codec, passed = 1;
    OddList odd = {0};
    if (!PyArg_ParseTuple(arguments, "OnnpiO:skip_compressed", &object, &at, &end, &needs_keys, &codec, &decompress) ||
        PyObject_GetBuffer(object, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    if (at < 0 || end < at || end > data.len) {
        PyErr_SetString(PyExc_ValueError, "start or end is out of bounds");
        goto end;
    }
    for (;;) {
        const uint8_t *p = (const uint8_t *)data.buf + at;
        if (!is_regular_batch(p, (size_t)(end - at), CODEC_MASK) || batch_magic(p) != 2 || batch_codec(p) != codec)
            break;
        Py_ssize_t size = (Py_ssize_t)batch_size(p);
        PyObject *payload = PySequence_GetSlice(object, at + BATCH_HEADER_SIZE, at + size);
        PyObject *records = payload ? PyObject_CallFunctionObjArgs(decompress, payload, NULL) : NULL;
        Py_XDECREF(payload);
        passed = !records ? -1 : records == Py_None ? 0 : pass_over_payload(p, at, records, needs_keys, &odd);
        if (passed <= 0) {
            refused = records;
            break;
        }
        Py_DECREF(records);
        at += size;
    }
    if (passed >= 0)
        result = Py_BuildValue("nNO", at, odd_as_bytes(&odd), refused ? refused : Py_None);
end:
    Py_XDECREF(refused);
    free(odd.times);
    PyBuffer_Release(&data);
    return result;
}

PyDoc_STRVAR(ordinary_records_doc,
             "ordinary_records(header, start, records, needs_keys) -> odd times, or None\n\n"
             "The header of a batch of magic 2 lies in `header` from `start` on; `records` are all its records, decompressed. The rest "
             "is as for `skip_ordinary`; None if a record is not ordinary.");

static PyObject *ordinary_records(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer header, records;
    Py_ssize_t start;
    OrdinaryBatch batch;
    OddTimes odd;
    PyObject *result = NULL;
    int needs_keys, is_ordinary, is_odd = 0;
    if (!PyArg_ParseTuple(arguments, "y*ny*p:ordinary_records", &header, &start, &records, &needs_keys))
        return NULL;
    if (start < 0 || header.len < BATCH_HEADER_SIZE || start > header.len - BATCH_HEADER_SIZE) {
        PyErr_SetString(PyExc_ValueError, "start is out of bounds");
        goto end;
    }
    const uint8_t *p = (const uint8_t *)header.buf + start, *first = records.buf;
    Py_BEGIN_ALLOW_THREADS;
    is_ordinary = batch_magic(p) == 2 && are_ordinary_records(p, first, first + records.len, needs_keys, &batch);
    if (is_ordinary)
        is_odd = has_odd_times(p, &batch, start, &odd);
    Py_END_ALLOW_THREADS;
    result = is_ordinary ? PyBytes_FromStringAndSize((const char *)&odd, is_odd ? sizeof(odd) : 0) : Py_NewRef(Py_None);
end:
    PyBuffer_Release(&header);
    PyBuffer_Release(&records);
    return result;
}
