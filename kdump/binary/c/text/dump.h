/* The text of logs: `compile_plan`, `dump` (bytes in memory) and `dump_log` (reads the log as well). Writes the lines of regular batches,
   messages and records, without the GIL, and says why it stopped. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "bytes/arithmetic.h"
#include "read/batches.h"
#include "bytes/layout.h"
#include "text/line.h"
#include "decode/messages.h"
#include "text/program.h"
#include "read/records.h"
#include "text/rows.h"
#include "bytes/window.h"

/* Why `dump` returned. */
enum reason {
    STOPPED,    /* what comes next is irregular, or not whole in the window; or all is done */
    FULL,       /* there is no room for more text, or for more gaps */
    COMPRESSED, /* the records that come next are compressed: call again with them */
    PAUSED,     /* it has run for long enough: call again */
};

/* A plan is numbers, programs, and layouts of messages; see kdump/output/kafka/native_lines.py. */
enum { PLAN_FLAGS, PLAN_MAX_CODEC, PLAN_MAX_DECODED, PLAN_FROM_TIME, PLAN_TO_TIME, PLAN_NUMBERS };
enum { BATCH_PROGRAM, BATCH_RECORD_PROGRAM, MESSAGE_PROGRAM, MESSAGE_RECORD_PROGRAM, PROGRAM_COUNT };
enum { SHOWS_BATCHES = 1, SHOWS_RECORDS = 2, CHECKS_FIRST_OFFSET = 4, HAS_TIMES = 8 };

typedef struct {
    int64_t number[PLAN_NUMBERS];
    Program program[PROGRAM_COUNT];
    int uses_crc;
    Messages messages;
} Plan;

/* What is carried from call to call: an array of int64. */
enum {
    PREVIOUS_OFFSET, /* of a record, -1 for none */
    RECORD_START,    /* where in its batch, or in the payload, the next record is; -1 outside a batch */
    RECORDS_LEFT,
    GAP_COUNT,
    GAPS /* from here to the end: pairs of offsets that do not follow one another */
};

typedef struct {
    const Plan *plan;
    Line line[PROGRAM_COUNT];
    const uint8_t *window, *window_end, *stop; /* batches from `stop` on are left */
    int64_t window_position;
    const uint8_t *payload; /* the decompressed records of the batch that comes first, or NULL */
    size_t payload_size;
    uint8_t *out, *out_end;
    int64_t *state;
    int64_t gap_capacity;
} Dump;

static inline uint64_t most_text(const Program *program, uint64_t text_size, int64_t header_count)
{
    return program->max_size + program->growth * text_size + program->header_size * (uint64_t)header_count;
}

/* Whether a line fits whose texts have this size before they are decoded, and `decoded_size` more bytes as messages. */
static inline int has_room(const Dump *dump, const Line *line, uint64_t text_size, int64_t header_count, uint64_t decoded_size)
{
    return (uint64_t)(dump->out_end - dump->out) >= most_text(line->program, text_size, header_count) + decoded_size;
}

/* Notes an offset. Returns whether there was room for what had to be noted. */
static inline int note_offset(Dump *dump, int64_t offset)
{
    int64_t *state = dump->state, previous = state[PREVIOUS_OFFSET];
    if (offset != added(previous, 1) && (previous != -1 || dump->plan->number[PLAN_FLAGS] & CHECKS_FIRST_OFFSET)) {
        if (state[GAP_COUNT] >= dump->gap_capacity)
            return 0;
        int64_t *gap = state + GAPS + 2 * state[GAP_COUNT]++;
        gap[0] = previous;
        gap[1] = offset;
    }
    state[PREVIOUS_OFFSET] = offset;
    return 1;
}

/* Reads key and value of the record in the row, if it is a control record or shown decoded. Returns whether it can be shown. */
static inline int is_decoded(const Dump *dump, Row *row)
{
    const Plan *plan = dump->plan;
    row->decoded.text_size = 0;
    if (row->column[C_is_control])
        return decode_control_record(&plan->messages, row->key, row->column[C_key_size], row->value, row->column[C_value_size],
                                     plan->number[PLAN_MAX_DECODED], &row->decoded);
    return plan->messages.kind == PLAIN_RECORDS ||
           decode_record(&plan->messages, row->key, row->column[C_key_size], row->value, row->column[C_value_size],
                         plan->number[PLAN_MAX_DECODED], &row->decoded);
}

/* Whether the record in the row is of a time that is asked for; what has no timestamp is of no time. */
static inline int is_in_time(const Plan *plan, const Row *row)
{
    int64_t time = row->column[C_timestamp];
    if (!(plan->number[PLAN_FLAGS] & HAS_TIMES))
        return 1;
    return time != NO_TIMESTAMP && time >= plan->number[PLAN_FROM_TIME] && time <= plan->number[PLAN_TO_TIME];
}

/* Whether these bytes are `count` records that can be shown, and nothing else. */
static int are_all_shown(const Dump *dump, const uint8_t *batch, Row row, const uint8_t *p, const uint8_t *end, int64_t count)
{
    Record record;
    if (dump->plan->messages.kind == PLAIN_RECORDS && !row.column[C_is_control])
        return are_regular(p, end, (int32_t)count);
    for (; count; count--) {
        if (!(p = read_record(p, end, &record)))
            return 0;
        place_record(&record, batch, &row);
        if (!is_decoded(dump, &row))
            return 0;
    }
    return p == end;
}

/* Writes the records of the batch in `row`, from where the state says. Either all of them are written or none; if there is no room for
   all, the rest is validated before any of them stays. */
static enum reason dump_records(Dump *dump, const uint8_t *batch, Row *row, int *is_done)
{
    Line *line = &dump->line[BATCH_RECORD_PROGRAM];
    const uint8_t *start = dump->payload ? dump->payload : batch + BATCH_HEADER_SIZE;
    const uint8_t *end = dump->payload ? dump->payload + dump->payload_size : batch + row->column[C_size];
    int64_t *state = dump->state;
    int is_checked = state[RECORD_START] >= 0;
    const uint8_t *p = is_checked && state[RECORD_START] <= end - start ? start + state[RECORD_START] : start;
    int64_t left = is_checked ? state[RECORDS_LEFT] : row->column[C_count];
    uint8_t *out_before = dump->out;
    int64_t previous_before = state[PREVIOUS_OFFSET], gaps_before = state[GAP_COUNT];
    int is_settled = 0; /* whether the line before belongs to this batch, too */
    *is_done = 0;
    for (; left; left--) {
        Record record;
        const uint8_t *next = read_record(p, end, &record);
        if (!next)
            break;
        int64_t gaps = state[GAP_COUNT], previous = state[PREVIOUS_OFFSET];
        place_record(&record, batch, row);
        if (!is_decoded(dump, row))
            break;
        if (!is_in_time(dump->plan, row)) {
            p = next;
            continue;
        }
        if (!has_room(dump, line, (uint64_t)(next - p), record.header_count, row->decoded.text_size) ||
            !note_offset(dump, row->column[C_offset])) {
            state[GAP_COUNT] = gaps, state[PREVIOUS_OFFSET] = previous;
            if (!is_checked && !are_all_shown(dump, batch, *row, p, end, left))
                break;
            state[RECORD_START] = p - start, state[RECORDS_LEFT] = left;
            return FULL;
        }
        dump->out = put_line(dump->out, line, row, is_settled);
        is_settled = 1;
        p = next;
    }
    if (left || p != end) { /* the reference reports what is wrong */
        dump->out = out_before;
        state[PREVIOUS_OFFSET] = previous_before, state[GAP_COUNT] = gaps_before;
        return STOPPED;
    }
    *is_done = 1;
    state[RECORD_START] = -1;
    return STOPPED;
}

/* The batch at `p`; `before` is the one whose header is in the row, or NULL. */
static enum reason dump_batch(Dump *dump, const uint8_t *p, const uint8_t *before, Row *row, int *is_done)
{
    const Plan *plan = dump->plan;
    int64_t flags = plan->number[PLAN_FLAGS];
    uint8_t *out_before = dump->out;
    *is_done = 0;
    if (flags & SHOWS_RECORDS) {
        int codec = batch_codec(p);
        int32_t count = batch_record_count(p);
        if ((batch_attributes(p) & CONTROL_BIT && !plan->messages.shows_control) || count < 0)
            return STOPPED;
        if (codec && !count)
            return STOPPED;
        if (codec && !dump->payload)
            return COMPRESSED;
    }
    int is_alike = before && have_same_fields(p, before);
    read_batch(p, added(dump->window_position, p - dump->window), plan->uses_crc, is_alike, row);
    if (flags & SHOWS_BATCHES && dump->state[RECORD_START] < 0) {
        if (!has_room(dump, &dump->line[BATCH_PROGRAM], 0, 0, 0))
            return FULL;
        dump->out = put_line(dump->out, &dump->line[BATCH_PROGRAM], row, is_alike);
    }
    if (!(flags & SHOWS_RECORDS)) {
        *is_done = 1;
        return STOPPED;
    }
    enum reason reason = dump_records(dump, p, row, is_done);
    if (!*is_done && reason == STOPPED)
        dump->out = out_before;
    return reason;
}

static enum reason dump_message(Dump *dump, const uint8_t *p, Row *row, int *is_done)
{
    const Plan *plan = dump->plan;
    int64_t flags = plan->number[PLAN_FLAGS];
    const Program *program = &plan->program[MESSAGE_PROGRAM], *record_program = &plan->program[MESSAGE_RECORD_PROGRAM];
    uint64_t needed = flags & SHOWS_BATCHES ? most_text(program, 0, 0) : 0;
    *is_done = 0;
    if (flags & HAS_TIMES || (flags & SHOWS_RECORDS && message_codec(p)))
        return STOPPED;
    read_message(p, added(dump->window_position, p - dump->window), plan->uses_crc, row);
    if (flags & SHOWS_RECORDS) {
        if (!read_message_contents(p, row) || !is_decoded(dump, row))
            return STOPPED;
        needed += most_text(record_program, (uint64_t)row->column[C_size], 0) + row->decoded.text_size;
    }
    if ((uint64_t)(dump->out_end - dump->out) < needed)
        return FULL;
    if (flags & SHOWS_RECORDS && !note_offset(dump, row->column[C_offset]))
        return FULL;
    if (flags & SHOWS_BATCHES)
        dump->out = put_line(dump->out, &dump->line[MESSAGE_PROGRAM], row, 0);
    if (flags & SHOWS_RECORDS)
        dump->out = put_line(dump->out, &dump->line[MESSAGE_RECORD_PROGRAM], row, 0);
    *is_done = 1;
    return STOPPED;
}

static enum reason dump_window(Dump *dump, const uint8_t **position)
{
    const int64_t *number = dump->plan->number;
    int max_codec = (int)number[PLAN_MAX_CODEC];
    const uint8_t *p = *position, *before = NULL;
    enum reason reason = STOPPED;
    Row row;
    memset(&row, 0, sizeof row);
    for (int is_done = 1; is_done && p < dump->stop;) {
        size_t room = (size_t)(dump->window_end - p);
        if (is_regular_batch(p, room, max_codec)) {
            reason = dump_batch(dump, p, before, &row, &is_done);
            before = p;
        } else if (is_regular_message(p, room, 0, max_codec)) {
            reason = dump_message(dump, p, &row, &is_done);
            before = NULL;
        } else {
            break;
        }
        if (is_done) {
            dump->payload = NULL;
            p += batch_size(p);
        }
    }
    *position = p;
    return reason;
}

/* Whether only a plan with layouts of records shows them decoded, and no other. */
static int shows_records_as(const Plan *plan)
{
    int is_plain = plan->messages.kind == PLAIN_RECORDS;
    for (int program = 0; program < PROGRAM_COUNT; program++)
        for (int step = 0; step < plan->program[program].step_count; step++) {
            int operation = plan->program[program].steps[step].operation;
            if (operation == (is_plain ? DECODED : CONTENTS))
                return 0;
        }
    return 1;
}

static int parse_plan(const uint8_t *p, size_t size, Plan *plan)
{
    const uint8_t *end = p + size;
    if (size < sizeof plan->number)
        return 0;
    memcpy(plan->number, p, sizeof plan->number); /* in this machine's byte order */
    p += sizeof plan->number;
    plan->uses_crc = 0;
    for (int program = 0; program < PROGRAM_COUNT; program++) {
        uint32_t program_size;
        if (end - p < 4)
            return 0;
        memcpy(&program_size, p, 4);
        p += 4;
        int with_texts = program == BATCH_RECORD_PROGRAM || program == MESSAGE_RECORD_PROGRAM ? WITH_TEXTS : WITHOUT_TEXTS;
        if (program_size > (size_t)(end - p) || !parse_program(p, program_size, with_texts, &plan->program[program]))
            return 0;
        p += program_size;
        plan->uses_crc |= plan->program[program].uses_crc;
    }
    return parse_messages(p, (size_t)(end - p), &plan->messages) && shows_records_as(plan);
}

#define PLAN_NAME "kdump.binary._kernel.plan"

static void free_plan(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, PLAN_NAME));
}

PyDoc_STRVAR(compile_plan_doc, "compile_plan(data) -> plan\n\nA plan for `dump`. Raises ValueError where it is malformed.");

static PyObject *compile_plan(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    if (!PyArg_ParseTuple(arguments, "y*:compile_plan", &data))
        return NULL;
    PyObject *capsule = NULL;
    Plan *plan = PyMem_Malloc(sizeof *plan);
    if (!plan)
        PyErr_NoMemory();
    else if (!parse_plan(data.buf, (size_t)data.len, plan))
        PyErr_SetString(PyExc_ValueError, "the plan is malformed");
    else
        capsule = PyCapsule_New(plan, PLAN_NAME, free_plan);
    if (!capsule)
        PyMem_Free(plan);
    PyBuffer_Release(&data);
    return capsule;
}

/* Takes the arguments that `dump` and `dump_log` share. Returns whether they are valid; if not, an exception is set. */
static int begin_dump(Dump *dump, PyObject *plan, Py_buffer *out, Py_ssize_t filled, Py_buffer *state)
{
    int64_t *numbers = state->buf;
    dump->plan = PyCapsule_GetPointer(plan, PLAN_NAME);
    if (!dump->plan)
        return 0;
    if (filled < 0 || filled > out->len - SLACK || state->len < (Py_ssize_t)(sizeof(int64_t) * GAPS) ||
        (uintptr_t)numbers % sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "out or state is out of bounds");
        return 0;
    }
    dump->gap_capacity = (state->len / (Py_ssize_t)sizeof(int64_t) - GAPS) / 2;
    if (numbers[GAP_COUNT] < 0 || numbers[GAP_COUNT] > dump->gap_capacity) {
        PyErr_SetString(PyExc_ValueError, "the state counts more gaps than it has room for");
        return 0;
    }
    dump->state = numbers;
    dump->out = (uint8_t *)out->buf + filled;
    dump->out_end = (uint8_t *)out->buf + out->len - SLACK;
    dump->payload = NULL;
    dump->payload_size = 0;
    const uint32_t settled[PROGRAM_COUNT] = {[BATCH_PROGRAM] = COLUMNS_ALIKE, [BATCH_RECORD_PROGRAM] = ~COLUMNS_OF_RECORDS};
    for (int program = 0; program < PROGRAM_COUNT; program++)
        begin_line(&dump->line[program], &dump->plan->program[program], settled[program]);
    return 1;
}

PyDoc_STRVAR(dump_doc, "dump(plan, window, start, window_position, payload, out, filled, state) -> (filled, end, reason)\n\n"
                       "Write the lines of regular batches and messages from `start` on into `out`, after its first `filled` bytes.");

static PyObject *dump(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window, payload, out, state;
    Py_ssize_t start, filled;
    long long window_position;
    PyObject *plan, *result = NULL;
    Dump dump;
    if (!PyArg_ParseTuple(arguments, "Oy*nLz*w*nw*:dump", &plan, &window, &start, &window_position, &payload, &out, &filled,
                          &state))
        return NULL;
    if (start < 0 || start > window.len) {
        PyErr_SetString(PyExc_ValueError, "start is out of bounds");
        goto end;
    }
    if (!begin_dump(&dump, plan, &out, filled, &state))
        goto end;
    dump.window = window.buf;
    dump.window_end = dump.stop = (const uint8_t *)window.buf + window.len;
    dump.window_position = window_position;
    dump.payload = payload.buf;
    dump.payload_size = (size_t)payload.len;
    const uint8_t *position = dump.window + start;
    enum reason reason;
    Py_BEGIN_ALLOW_THREADS;
    reason = dump_window(&dump, &position);
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nni", (Py_ssize_t)(dump.out - (uint8_t *)out.buf), (Py_ssize_t)(position - dump.window), (int)reason);
end:
    PyBuffer_Release(&window);
    if (payload.obj)
        PyBuffer_Release(&payload);
    PyBuffer_Release(&out);
    PyBuffer_Release(&state);
    return result;
}

#define MAX_BYTES_PER_CALL (64 << 20) /* then Python may look for signals */

/* How many bytes have to be held to dump what begins before `stop`. */
static size_t wanted_before(const Window *log, int64_t stop)
{
    int64_t left = log->end - log->position;
    /* the header of the last batch may cross `stop` ... */
    int64_t wanted = stop <= log->end - BATCH_HEADER_SIZE ? stop + BATCH_HEADER_SIZE - log->position : left;
    int64_t next_size = log->held < LOG_OVERHEAD ? 0 : batch_size(bytes_from(log, log->position));
    if (next_size > wanted) /* ... and so may the batch */
        wanted = next_size < left ? next_size : left;
    return (uint64_t)wanted < log->size ? (size_t)wanted : log->size;
}

/* Reads a log and dumps it, a window at a time: what begins before `stop`, from where the window is. */
static enum reason dump_through(Dump *dump, Window *log, int64_t stop)
{
    int64_t left = MAX_BYTES_PER_CALL;
    for (;;) {
        const uint8_t *p = bytes_from(log, log->position);
        dump->window = p;
        dump->window_end = p + log->held;
        dump->stop = (uint64_t)(stop - log->position) < log->held ? p + (stop - log->position) : dump->window_end;
        dump->window_position = log->position;
        enum reason reason = dump_window(dump, &p);
        move_window(log, log->position + (p - dump->window));
        if (reason != STOPPED || log->position >= stop)
            return reason;
        if (left <= 0)
            return PAUSED;
        size_t wanted = wanted_before(log, stop);
        if (log->held >= wanted)
            return STOPPED; /* at something irregular, or larger than the window */
        ssize_t count = read_on(log, wanted);
        if (count <= 0)
            return count && errno == EINTR ? PAUSED : STOPPED; /* the reference will read there, and say why */
        left -= count;
    }
}

PyDoc_STRVAR(dump_log_doc, "dump_log(plan, descriptor, position, stop, end, window, start, held, out, filled, state)\n"
                           "-> (filled, position, start, held, reason)\n\n"
                           "As `dump`, reading the log as well: what begins from `position` on and before `stop`, of a log that ends "
                           "at `end`. `window` is memory to read into, which has the first `held` bytes from `start` on already.");

static PyObject *dump_log(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window, out, state;
    Py_ssize_t filled, start, held;
    int descriptor;
    long long first, stop, end;
    PyObject *plan, *result = NULL;
    Dump dump;
    if (!PyArg_ParseTuple(arguments, "OiLLLw*nnw*nw*:dump_log", &plan, &descriptor, &first, &stop, &end, &window, &start, &held,
                          &out, &filled, &state))
        return NULL;
    if (first < 0 || stop < first || end < stop || start < 0 || held < 0 || start > window.len || held > window.len - start ||
        held > end - first) {
        PyErr_SetString(PyExc_ValueError, "position, stop, end, start or held is out of bounds");
        goto end;
    }
    if (!begin_dump(&dump, plan, &out, filled, &state))
        goto end;
    Window log = {.descriptor = descriptor, .bytes = window.buf, .size = (size_t)window.len, .start = (size_t)start,
                  .held = (size_t)held, .position = first, .end = end};
    enum reason reason;
    Py_BEGIN_ALLOW_THREADS;
    reason = dump_through(&dump, &log, stop);
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nLnni", (Py_ssize_t)(dump.out - (uint8_t *)out.buf), (long long)log.position, (Py_ssize_t)log.start,
                           (Py_ssize_t)log.held, (int)reason);
end:
    PyBuffer_Release(&window);
    PyBuffer_Release(&out);
    PyBuffer_Release(&state);
    return result;
}
