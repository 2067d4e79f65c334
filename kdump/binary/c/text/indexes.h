/* The text of offset and time indexes: `dump_index` and `dump_time_index` compare each entry with the log and write its line.
   `walk_log` says how far a log is regular. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "bytes/arithmetic.h"
#include "text/dump.h"
#include "bytes/layout.h"
#include "text/line.h"
#include "read/records.h"
#include "bytes/window.h"

#define NEAR_BYTES 2048             /* if the next position is no further away than this, several headers are read at once */
#define NEAR_READ_BYTES (32 << 10)  /* that many bytes of them */
#define JUMP_READ_BYTES (4 << 10)   /* and that many where only a few may be needed */
#define MAX_LOOKUP_BYTES (128 << 10) /* larger batches are left to the reference */

/* A log that the entries of an index point into. */
typedef struct {
    Window window;
    int64_t slice_size; /* how much Kafka's tool reads of the log from a position on */
    uint8_t memory[MAX_LOOKUP_BYTES];
} IndexedLog;

static void begin_indexed_log(IndexedLog *log, int descriptor, int64_t size, int64_t slice_size)
{
    log->window = (Window){.descriptor = descriptor, .bytes = log->memory, .size = sizeof log->memory, .end = size};
    log->slice_size = slice_size;
}

/* `size` bytes at this position, or NULL if they cannot be read. What is not held is read with what follows, up to `read_bytes`. */
static const uint8_t *bytes_at(IndexedLog *log, int64_t position, size_t size, size_t read_bytes)
{
    if (size > sizeof log->memory || hold(&log->window, position, size, read_bytes > size ? read_bytes : size) < size)
        return NULL;
    return bytes_from(&log->window, position);
}

/* How much to read at once where the batch before has this size. */
static inline size_t read_ahead(int64_t size)
{
    return size < NEAR_BYTES ? NEAR_READ_BYTES : 0;
}

/* The size of the batch or message at this position, and its last offset; 0 if it is irregular or not whole. */
static int64_t extent_at(IndexedLog *log, int64_t position, size_t read_bytes, int64_t *last_offset)
{
    int64_t room = position < 0 || position > log->window.end ? 0 : log->window.end - position;
    if (room > log->slice_size)
        room = log->slice_size;
    size_t header_size = room < BATCH_HEADER_SIZE ? (size_t)room : BATCH_HEADER_SIZE; /* the last message may be shorter */
    const uint8_t *p = room <= MAGIC_AT ? NULL : bytes_at(log, position, header_size, read_bytes);
    if (!p)
        return 0;
    int64_t size = extent_size(p, room);
    if (size)
        *last_offset = added(batch_base_offset(p), batch_magic(p) < 2 ? 0 : batch_last_offset_delta(p));
    return size;
}

PyDoc_STRVAR(walk_log_doc, "walk_log(descriptor, position, end) -> position\n\n"
                           "Walk regular batches and messages of a log from there on: the position of the first that is not one.");

static PyObject *walk_log(PyObject *self, PyObject *arguments)
{
    (void)self;
    int descriptor;
    long long position, end;
    if (!PyArg_ParseTuple(arguments, "iLL:walk_log", &descriptor, &position, &end))
        return NULL;
    IndexedLog *log = PyMem_Malloc(sizeof *log);
    if (!log)
        return PyErr_NoMemory();
    begin_indexed_log(log, descriptor, end, end);
    Py_BEGIN_ALLOW_THREADS;
    int64_t last_offset, size = 0;
    while ((size = extent_at(log, position, read_ahead(size), &last_offset)))
        position += size;
    Py_END_ALLOW_THREADS;
    PyMem_Free(log);
    return PyLong_FromLongLong(position);
}

PyDoc_STRVAR(dump_index_doc,
             "dump_index(program, entries, start, base_offset, is_first, descriptor, log_size, slice_size, out, filled, "
             "mismatches, mismatch_count)\n-> (filled, end, mismatch_count, reason)\n\n"
             "Compare entries with the batches they point to, and write their lines into `out`, unless the program is empty.");

static PyObject *dump_index(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer program_bytes, entries, out, mismatches;
    Py_ssize_t start, filled, count;
    long long base_offset, log_size, slice_size;
    int is_first, descriptor;
    if (!PyArg_ParseTuple(arguments, "y*y*nLpiLLw*nw*n:dump_index", &program_bytes, &entries, &start, &base_offset, &is_first,
                          &descriptor, &log_size, &slice_size, &out, &filled, &mismatches, &count))
        return NULL;
    PyObject *result = NULL;
    Program *program = PyMem_Malloc(sizeof *program);
    IndexedLog *log = PyMem_Malloc(sizeof *log);
    Py_ssize_t capacity = mismatches.len / (Py_ssize_t)(2 * sizeof(int64_t));
    if (!program || !log) {
        PyErr_NoMemory();
        goto end;
    }
    if (!parse_program(program_bytes.buf, (size_t)program_bytes.len, WITHOUT_TEXTS, program) || start < 0 ||
        start > entries.len || filled < 0 || filled > out.len - SLACK || count < 0 || count > capacity ||
        (uintptr_t)mismatches.buf % sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "the program is malformed, or start, out or mismatches are out of bounds");
        goto end;
    }
    begin_indexed_log(log, descriptor, log_size, slice_size);
    enum reason reason = STOPPED;
    uint8_t *to = (uint8_t *)out.buf + filled, *to_end = (uint8_t *)out.buf + out.len - SLACK;
    const uint8_t *p = (const uint8_t *)entries.buf + start, *entries_end = (const uint8_t *)entries.buf + entries.len;
    int64_t *pairs = mismatches.buf;
    Py_BEGIN_ALLOW_THREADS;
    Line line;
    Row row;
    begin_line(&line, program, 0);
    memset(&row, 0, sizeof row);
    for (int64_t before = 0; entries_end - p >= INDEX_ENTRY_SIZE; p += INDEX_ENTRY_SIZE, is_first = 0) {
        int64_t offset = added(base_offset, index_entry_offset(p)), position = index_entry_position(p), found;
        if (offset == base_offset && !is_first)
            break;
        if ((size_t)(to_end - to) < program->max_size || count == capacity) {
            reason = FULL;
            break;
        }
        if (!extent_at(log, position, read_ahead(position - before), &found))
            break;
        before = position;
        if (found != offset) {
            pairs[2 * count] = offset;
            pairs[2 * count++ + 1] = found;
        }
        row.column[C_offset] = offset;
        row.column[C_position] = position;
        to = put_line(to, &line, &row, 0);
    }
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nnni", (Py_ssize_t)(to - (uint8_t *)out.buf), (Py_ssize_t)(p - (const uint8_t *)entries.buf), count,
                           (int)reason);
end:
    PyMem_Free(program);
    PyMem_Free(log);
    PyBuffer_Release(&program_bytes);
    PyBuffer_Release(&entries);
    PyBuffer_Release(&out);
    PyBuffer_Release(&mismatches);
    return result;
}

/* An offset index in memory. It is searched as Kafka does, because the way matters if its entries are not in order. */
typedef struct {
    const uint8_t *entries;
    int64_t count, base_offset;
    int tries_end_first;
} OffsetIndex;

#define WARM_ENTRIES 1024 /* Kafka first searches the end of an index, where consumers read */

static inline int64_t offset_in(const OffsetIndex *index, int64_t row)
{
    return added(index->base_offset, index_entry_offset(index->entries + INDEX_ENTRY_SIZE * row));
}

static int64_t position_for(const OffsetIndex *index, int64_t offset)
{
    int64_t low = 0, high = index->count - 1, warm = high > WARM_ENTRIES ? high - WARM_ENTRIES : 0;
    if (!index->count)
        return 0;
    if (index->tries_end_first && offset_in(index, warm) < offset) {
        low = warm;
    } else {
        if (index->tries_end_first)
            high = warm;
        if (offset_in(index, 0) > offset)
            return 0;
    }
    while (low < high) {
        int64_t middle = (low + high + 1) / 2, found = offset_in(index, middle);
        if (found == offset) {
            low = high = middle;
        } else if (found > offset) {
            high = middle - 1;
        } else {
            low = middle;
        }
    }
    return index_entry_position(index->entries + INDEX_ENTRY_SIZE * low);
}

/* The largest timestamp in an uncompressed batch, or of an uncompressed message, at least -1. Returns whether it is regular. */
static int max_timestamp_in(const uint8_t *p, int64_t size, int64_t *latest)
{
    const uint8_t *end = p + size, *at = p + BATCH_HEADER_SIZE;
    if (batch_magic(p) == 0 || batch_magic(p) == 1) {
        if (message_codec(p) || size < LOG_OVERHEAD + MIN_MESSAGE_LENGTH + 8 * batch_magic(p))
            return 0;
        *latest = message_timestamp(p) > -1 ? message_timestamp(p) : -1;
        return 1;
    }
    if (batch_magic(p) != 2)
        return 0;
    int64_t base_timestamp = batch_base_timestamp(p), max_timestamp = batch_max_timestamp(p);
    int32_t count = batch_record_count(p);
    int is_append_time = batch_attributes(p) & TIMESTAMP_TYPE_BIT;
    if (batch_codec(p) || count < 0)
        return 0;
    *latest = -1;
    for (; count; count--) {
        Record record;
        if (!(at = read_record(at, end, &record)))
            return 0;
        int64_t timestamp = is_append_time ? max_timestamp : added(base_timestamp, record.timestamp_delta);
        *latest = timestamp > *latest ? timestamp : *latest;
    }
    return at == end;
}

/* The kinds of complaints. */
enum { NOT_FOUND, TIMESTAMP_MISMATCH, OUT_OF_ORDER };

#define MAX_MARKS (1 << 12)
#define LATEST_BITS 12
#define MAX_LATEST (1 << LATEST_BITS)

/* A position in a log, and the highest of the last offsets of the batches that were walked over before it. */
typedef struct {
    int64_t position, highest;
} Mark;

/* The largest timestamp in the batch that ends at a position; none for 0. */
typedef struct {
    int64_t end, timestamp;
} Latest;

/* What walks over the log have found, kept between calls; at first all zeros. `reached` walks along the log from batch to batch, so that it
   is known where they begin. From `start` on, batches were walked over up to `front`, with a mark after each `stride` of them. If
   `has_ended`, the last offsets of all batches from `ended_start` to the end of the log are up to `ended_highest`. */
typedef struct {
    int64_t reached, start;
    Mark front;
    int64_t has_ended, ended_start, ended_highest;
    int64_t stride, since, count; /* the batches after the last mark, and the number of marks */
    Mark marks[MAX_MARKS];
    Latest latest[MAX_LATEST]; /* by a hash of the position */
} LogWalks;

enum { LOG_WALKS = sizeof(LogWalks) / sizeof(int64_t) };

#define WALKED_FIRST (1 << 17) /* batches walked over for entries in one call, before the reference takes over */
#define WALKED_EACH 64         /* and more for each entry */

/* One pass over a time index and its log. `reached` reads through a separate window, `walked`, because the batches that entries point to
   lie ahead of it. */
typedef struct {
    IndexedLog *log, *walked;
    const OffsetIndex *index;
    LogWalks *walks;
    int64_t reached_size; /* of the batch before */
    int64_t batches_left; /* that may still be walked over */
    int64_t *complaints;
    Py_ssize_t complaint_count, complaint_capacity;
} TimeIndexCheck;

/* Moves the walk on to a position. Returns whether a batch begins there. */
static int reach(TimeIndexCheck *check, int64_t position)
{
    int64_t last_offset;
    LogWalks *walks = check->walks;
    while (walks->reached < position) {
        int64_t size = extent_at(check->walked, walks->reached, read_ahead(check->reached_size), &last_offset);
        if (!size)
            return 0;
        walks->reached += size;
        check->reached_size = size;
    }
    return walks->reached == position;
}

/* Moves the front over a batch. */
static void move_front(LogWalks *walks, int64_t size, int64_t last_offset)
{
    walks->front.position += size;
    walks->front.highest = last_offset > walks->front.highest ? last_offset : walks->front.highest;
    if (++walks->since < walks->stride)
        return;
    walks->since = 0;
    walks->marks[walks->count++] = walks->front;
    if (walks->count == MAX_MARKS) { /* every other one is enough */
        for (walks->count = 0; walks->count < MAX_MARKS / 2; walks->count++)
            walks->marks[walks->count] = walks->marks[2 * walks->count + 1];
        walks->stride *= 2;
    }
}

/* Where to look for the first batch from `start` on that reaches up to an offset: no batch before that does. */
static int64_t nearest_mark(LogWalks *walks, int64_t start, int64_t offset)
{
    if (!walks->stride || walks->start != start) {
        walks->start = start;
        walks->front = (Mark){start, INT64_MIN};
        walks->stride = 1;
        walks->since = walks->count = 0;
    }
    if (offset > walks->front.highest)
        return walks->front.position;
    int64_t low = 0, high = walks->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (walks->marks[middle].highest < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? walks->marks[low - 1].position : start;
}

static void complain(TimeIndexCheck *check, int64_t kind, int64_t first, int64_t second)
{
    int64_t *complaint = check->complaints + 3 * check->complaint_count++;
    complaint[0] = kind, complaint[1] = first, complaint[2] = second;
}

/* The largest timestamp in the batch at a position of a log, which is read once, however many entries lead to it. */
static int max_timestamp_at(IndexedLog *log, LogWalks *walks, int64_t position, int64_t size, int64_t *latest)
{
    int64_t end = position + size;
    Latest *known = &walks->latest[(uint64_t)end * 0x9e3779b97f4a7c15 >> (64 - LATEST_BITS)];
    if (known->end != end) {
        const uint8_t *p = bytes_at(log, position, (size_t)size, read_ahead(size));
        if (!p || !max_timestamp_in(p, size, latest))
            return 0;
        *known = (Latest){end, *latest};
    }
    *latest = known->timestamp;
    return 1;
}

/* Compares one entry with the log. Returns whether all batches it leads to are regular. */
static int check_entry(TimeIndexCheck *check, int64_t timestamp, int64_t offset, int64_t previous)
{
    LogWalks *walks = check->walks;
    int64_t start = position_for(check->index, offset), end = check->log->window.end, size = 0, last_offset = 0, latest;
    if (start < 0 || start >= end || !reach(check, start))
        return 0;
    int is_beyond = walks->has_ended && start >= walks->ended_start && offset > walks->ended_highest;
    int64_t position = is_beyond ? end : nearest_mark(walks, start, offset);
    size_t read_bytes = read_ahead(check->reached_size);
    if (read_bytes && position != walks->front.position)
        read_bytes = JUMP_READ_BYTES;
    for (; position < end; read_bytes = read_ahead(size)) {
        size = extent_at(check->log, position, read_bytes, &last_offset);
        if (!size || last_offset >= offset)
            break;
        if (position == walks->front.position)
            move_front(walks, size, last_offset);
        position += size;
        if (!check->batches_left--)
            return 0;
    }
    if (position == end) {
        if (!is_beyond)
            walks->has_ended = 1, walks->ended_start = start, walks->ended_highest = walks->front.highest;
        complain(check, NOT_FOUND, offset, -1);
        return 1;
    }
    if (!size)
        return 0;
    if (last_offset != offset) {
        complain(check, NOT_FOUND, offset, last_offset);
        return 1;
    }
    if (!max_timestamp_at(check->log, walks, position, size, &latest))
        return 0;
    if (latest != timestamp)
        complain(check, TIMESTAMP_MISMATCH, timestamp, latest);
    if (previous >= timestamp)
        complain(check, OUT_OF_ORDER, timestamp, previous);
    return 1;
}

/* Whether these bytes may be LogWalks. */
static int are_walks(const Py_buffer *bytes)
{
    if (bytes->len != sizeof(LogWalks) || (uintptr_t)bytes->buf % sizeof(int64_t))
        return 0;
    const LogWalks *walks = bytes->buf;
    return walks->count >= 0 && walks->count < MAX_MARKS && walks->stride >= 0 && walks->stride <= INT64_MAX / 2 && walks->since >= 0 &&
           walks->since < INT64_MAX && walks->front.position >= 0 && walks->front.position <= INT64_MAX / 2;
}

PyDoc_STRVAR(dump_time_index_doc,
             "dump_time_index(program, entries, start, base_offset, previous, offset_index, tries_end_first, walks, descriptor, "
             "log_size, out, filled, complaints)\n-> (filled, end, previous, complaint_count, reason)\n\n"
             "Compare entries with the batches they lead to, and write their lines into `out`. `previous` is the timestamp of the "
             "entry before; `walks` are LOG_WALKS numbers that are changed, at first zeros.");

static PyObject *dump_time_index(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer program_bytes, entries, index_bytes, walks, out, complaints;
    Py_ssize_t start, filled;
    long long base_offset, previous, log_size;
    int tries_end_first, descriptor;
    if (!PyArg_ParseTuple(arguments, "y*y*nLLy*pw*iLw*nw*:dump_time_index", &program_bytes, &entries, &start, &base_offset, &previous,
                          &index_bytes, &tries_end_first, &walks, &descriptor, &log_size, &out, &filled, &complaints))
        return NULL;
    PyObject *result = NULL;
    Program *program = PyMem_Malloc(sizeof *program);
    IndexedLog *log = PyMem_Malloc(2 * sizeof *log);
    if (!program || !log) {
        PyErr_NoMemory();
        goto end;
    }
    if (!parse_program(program_bytes.buf, (size_t)program_bytes.len, WITHOUT_TEXTS, program) || start < 0 ||
        start > entries.len || filled < 0 || filled > out.len - SLACK || !are_walks(&walks) ||
        (uintptr_t)complaints.buf % sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "the program is malformed, or start, walks, out or complaints are out of bounds");
        goto end;
    }
    begin_indexed_log(&log[0], descriptor, log_size, log_size);
    begin_indexed_log(&log[1], descriptor, log_size, log_size);
    OffsetIndex index = {index_bytes.buf, index_bytes.len / INDEX_ENTRY_SIZE, base_offset, tries_end_first};
    TimeIndexCheck check = {
        .log = log,
        .walked = log + 1,
        .index = &index,
        .walks = walks.buf,
        .batches_left = WALKED_FIRST,
        .complaints = complaints.buf,
        .complaint_capacity = complaints.len / (Py_ssize_t)(3 * sizeof(int64_t)),
    };
    enum reason reason = STOPPED;
    uint8_t *to = (uint8_t *)out.buf + filled, *to_end = (uint8_t *)out.buf + out.len - SLACK;
    const uint8_t *p = (const uint8_t *)entries.buf + start, *entries_end = (const uint8_t *)entries.buf + entries.len;
    Py_BEGIN_ALLOW_THREADS;
    Line line;
    Row row;
    begin_line(&line, program, 0);
    memset(&row, 0, sizeof row);
    for (; entries_end - p >= TIME_INDEX_ENTRY_SIZE; p += TIME_INDEX_ENTRY_SIZE) {
        int64_t timestamp = time_entry_timestamp(p), offset = added(base_offset, time_entry_offset(p));
        if (offset == base_offset && p > (const uint8_t *)entries.buf)
            break;
        if ((size_t)(to_end - to) < program->max_size || check.complaint_count + 2 > check.complaint_capacity) {
            reason = FULL;
            break;
        }
        check.batches_left += WALKED_EACH;
        if (!check_entry(&check, timestamp, offset, previous))
            break;
        previous = timestamp;
        row.column[C_timestamp] = timestamp;
        row.column[C_offset] = offset;
        to = put_line(to, &line, &row, 0);
    }
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nnLni", (Py_ssize_t)(to - (uint8_t *)out.buf), (Py_ssize_t)(p - (const uint8_t *)entries.buf), previous,
                           check.complaint_count, (int)reason);
end:
    PyMem_Free(program);
    PyMem_Free(log);
    PyBuffer_Release(&program_bytes);
    PyBuffer_Release(&entries);
    PyBuffer_Release(&index_bytes);
    PyBuffer_Release(&walks);
    PyBuffer_Release(&out);
    PyBuffer_Release(&complaints);
    return result;
}
