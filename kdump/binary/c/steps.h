/* Walks a log past damage, in a window: `walk_steps`. Each step takes the batch at a position with its status, or what is damaged up to the
   next batch. The reference is Steps in kdump/reading/steps.py; a step that is not decided in the window is left to it. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "batches.h"
#include "damage.h"
#include "layout.h"
#include "objects.h"
#include "order.h"
#include "walks.h"

#define MOST_FOLLOWING 8        /* batches after one that may say whether it is out of line */
#define MAX_SIZE 0x7fffffff     /* of a batch whose length does not overflow */
#define MAX_NEAR_BYTES (1 << 20)
#define MAX_SOUND (1 << 30) /* batches, or bytes of them, that were intact before */

/* Why there is no batch: its header cannot be read as one, its checksum does not fit, or a large one may not be checked. */
enum { NO_HEADER, NOT_VALID, NEGATIVE_MAGIC, CODEC_OF_VALID, CODEC_OF_INVALID, NOT_CHECKED };

/* What a step found: a batch, or the pieces of what is damaged. */
typedef struct {
    Py_ssize_t start, end;
    int is_batch, is_legacy, is_valid, status, has_claimed_length;
    int32_t length, claimed_length;
    int count;
    DamagedPiece pieces[MAX_DAMAGED_PIECES];
} WalkStep;

static inline int distrusts(const Walk *walk, Py_ssize_t at)
{
    return walk->order.is_in_doubt || walk->position + at < walk->order.nested_end;
}

/* Whether a batch, small enough to be walked, begins at `at` that is whole in the log; its header is in the window. */
static inline int is_small_batch(const Walk *walk, Py_ssize_t at)
{
    const uint8_t *p = walk_bytes(walk, at);
    size_t room = (size_t)(walk->left - at < walk->near_bytes ? walk->left - at : walk->near_bytes);
    return batch_magic(p) < 2 ? is_regular_message(p, room, 0, MAX_KNOWN_CODEC) : is_regular_batch(p, room, MAX_KNOWN_CODEC);
}

static inline int codec_of_batch(const uint8_t *p)
{
    return p[MAGIC_AT] < 2 ? message_codec(p) : batch_codec(p);
}

static inline int spend_large(Walk *walk, int64_t size)
{
    if (size > walk->large_crc_bytes)
        return 0;
    walk->large_crc_bytes -= size;
    return 1;
}

/* Whether a batch may start here, or the log ends: what a length leads to. -1 if that does not show in the window. */
static int leads_on(Walk *walk, int64_t at, int is_legacy)
{
    if (at == walk->left)
        return 1;
    if (!holds(walk, at, BATCH_HEADER_SIZE))
        return -1;
    const uint8_t *p = walk_bytes(walk, (Py_ssize_t)at);
    int64_t rest = walk->left - at;
    int starts_batch = is_plausible(p, rest);
    if (!starts_batch && may_be_header(p, rest)) {
        int can_check = can_spend(&walk->budget, batch_size(p));
        if (can_check && !holds(walk, at, batch_size(p)))
            return -1;
        starts_batch = can_check && may_spend(&walk->budget, batch_size(p)) && fits_checksum(p);
    }
    if (starts_batch)
        return is_legacy || p[MAGIC_AT] >= 2;
    return zeros_end(p, 0, BATCH_HEADER_SIZE) == BATCH_HEADER_SIZE ? -1 : 0;
}

/* The extents of the next two valid batches, as far as there are any, among those that stand one after the other. Returns 0 if that does
   not show in the window. */
static int extents_from(Walk *walk, Py_ssize_t at, Extent *following)
{
    int count = 0;
    following[0].is_set = following[1].is_set = 0;
    for (int row = 0; row < MOST_FOLLOWING && walk->left - at > MAGIC_AT + 1; row++) {
        if (!holds(walk, at, BATCH_HEADER_SIZE))
            return 0;
        const uint8_t *p = walk_bytes(walk, at);
        int64_t size = batch_size(p);
        int is_legacy = batch_magic(p) < 2;
        if (batch_length(p) < MIN_MESSAGE_LENGTH || size > walk->left - at || batch_magic(p) < 0)
            break;
        int is_small = is_small_batch(walk, at), is_large = size > walk->near_bytes;
        if (!is_small && (!spend_large(walk, size) || !is_large || codec_of_batch(p) > MAX_KNOWN_CODEC))
            break;
        if (!holds(walk, at, size))
            return 0;
        if (fits_checksum(p) && batch_magic(p) <= 2) {
            following[count++] = extent_of_batch(p, is_legacy);
            if (count == 2)
                break;
        } else if (is_large)
            break;
        at += (Py_ssize_t)size;
    }
    return 1;
}

/* The batch at `at` with another length than it claims, at which its checksum fits. Returns 0 if this is for the reference. */
static int repaired(Walk *walk, Py_ssize_t at, Py_ssize_t end, WalkStep *step)
{
    const uint8_t *p = walk_bytes(walk, at);
    if (batch_magic(p) < 0 || end - at > walk->near_bytes)
        return 0;
    step->end = end;
    step->is_batch = step->is_valid = 1;
    step->is_legacy = batch_magic(p) < 2;
    step->length = (int32_t)(end - at - LOG_OVERHEAD);
    step->claimed_length = batch_length(p);
    step->has_claimed_length = step->claimed_length != step->length;
    step->status = batch_magic(p) <= 2 ? STATUS_SALVAGED : STATUS_DAMAGED;
    Extent extent = extent_of_batch(p, step->is_legacy);
    if (step->status == STATUS_SALVAGED && !walk->order.is_in_doubt && fits_order(&walk->order, &extent))
        move_order(&walk->order, &extent);
    return 1;
}

/* What is damaged from `at` on, up to the next batch, or the batch there with its length put right. `inside` is where batches start in the
   span that it claims. Returns 0 if this is for the reference. */
static int past_damage(Walk *walk, Py_ssize_t at, int fault, Py_ssize_t inside, WalkStep *step)
{
    if (!holds(walk, at, BATCH_HEADER_SIZE))
        return 0;
    const uint8_t *bytes = walk->window->buf, *p = bytes + at;
    Py_ssize_t zeros = zeros_end(bytes, at, walk->window->len), next;
    int64_t claimed_end = batch_length(p) > 0 && batch_size(p) <= walk->left - at ? at + batch_size(p) : 0;
    DamagedPiece damage = {.start = at, .kind = GARBAGE, .number = batch_length(p)};
    if (zeros - at > MAGIC_AT) {
        next = zeros == walk->window->len ? -1 : next_batch(walk, zeros - LOG_OVERHEAD > at ? zeros - LOG_OVERHEAD : at + 1);
        if (next < 0)
            return 0;
        doubt(&walk->order, 0);
        step->pieces[0] = (DamagedPiece){.start = at, .end = zeros < next ? zeros : next, .kind = ZERO_BYTES};
        step->count = divided_or_unchecked(walk, step->pieces, 1, (DamagedPiece){.start = zeros, .end = next, .kind = GARBAGE});
        step->end = next;
        return 1;
    }
    if (fault == NOT_CHECKED) {
        next = next_batch(walk, at + 1);
        if (next < 0)
            return 0;
        walk->budget.gave_up = 0;
        doubt(&walk->order, walk->position + at + batch_size(p));
        step->pieces[0] = (DamagedPiece){.start = at, .end = next, .kind = UNCHECKED};
        step->count = 1;
        step->end = next;
        return 1;
    }
    int is_header = is_header_but_for(p);
    if (fault == NEGATIVE_MAGIC) {
        damage.kind = is_header ? BAD_MAGIC : GARBAGE;
        damage.row = ROW_OF_OFFSET;
        damage.number = batch_magic(p);
    } else if (fault == CODEC_OF_VALID || fault == CODEC_OF_INVALID) {
        damage.kind = fault == CODEC_OF_VALID ? UNKNOWN_CODEC : UNKNOWN_CODEC_WRONG_CRC;
        damage.row = ROW_OF_HEADER;
        damage.number = codec_of_batch(p);
    } else if (!is_header) {
        damage.row = fault == NOT_VALID ? ROW_OF_HEADER : NO_ROW;
        claimed_end = 0;
    } else if (damage.number < 0 || damage.number < (p[MAGIC_AT] >= 2 ? MIN_BATCH_LENGTH : MIN_MESSAGE_LENGTH + 8 * p[MAGIC_AT])) {
        damage.kind = damage.number < 0 ? LENGTH_NEGATIVE : LENGTH_TOO_SMALL;
        claimed_end = 0;
    } else if (!claimed_end) {
        damage.kind = LENGTH_PAST_END;
        claimed_end = at + batch_size(p);
    } else {
        damage.kind = WRONG_CRC;
        damage.row = fault == NOT_VALID ? ROW_OF_HEADER : NO_ROW;
    }
    if (fault > NOT_VALID && claimed_end && !distrusts(walk, at)) {
        int leads = leads_on(walk, claimed_end, p[MAGIC_AT] < 2);
        if (leads < 0)
            return 0;
        if (leads) {
            damage.end = step->end = (Py_ssize_t)claimed_end;
            damage.is_by_length = 1;
            step->pieces[0] = damage;
            step->count = 1;
            return 1;
        }
    }
    if (is_header) {
        Py_ssize_t end = fitting_end(walk, at, 0);
        if (end == UNSURE)
            return 0;
        if (end != FITS_NOWHERE)
            return repaired(walk, at, end, step);
    }
    next = inside ? inside : next_batch(walk, at + 1);
    if (next < 0)
        return 0;
    if (inside) {
        walk->budget.gave_up = 0; /* what lies before it was not searched */
        damage.leads_over = 1;
        claimed_end = 0;
    }
    doubt(&walk->order, claimed_end - at <= LONGEST_BATCH && claimed_end ? walk->position + claimed_end : 0);
    damage.end = next;
    step->count = divided_or_unchecked(walk, step->pieces, 0, damage);
    step->end = next;
    return step->count < MAX_DAMAGED_PIECES;
}

/* The batch at `at`, whose checksum fits, with its status. Returns 0 if this is for the reference. */
static int valid_batch(Walk *walk, Py_ssize_t at, int64_t damaged_end, const Extent *damaged, WalkStep *step)
{
    Order *order = &walk->order;
    Extent extent = extent_of_batch(walk_bytes(walk, at), step->is_legacy), following[2] = {{0}};
    int64_t position = walk->position + at;
    if (!step->is_legacy && batch_magic(walk_bytes(walk, at)) != 2) {
        order->damaged = extent;
        order->damaged_end = position + (step->end - at);
        step->status = STATUS_DAMAGED;
    } else if (order->is_in_doubt)
        step->status = judge_found(order, &extent, position);
    else if (damaged->is_set && damaged_end == position && fits_order(order, damaged) && extent.first <= damaged->first)
        step->status = STATUS_SALVAGED; /* one of the two headers is wrong */
    else {
        if (depends_on_following(order, &extent) && !extents_from(walk, step->end, following))
            return 0;
        step->status = judge(order, &extent, following);
    }
    return 1;
}

/* The step from `at` on. Returns 0 if it is for the reference; the walk may have changed then. */
static int next_step(Walk *walk, Py_ssize_t at, WalkStep *step)
{
    Extent damaged = walk->order.damaged;
    *step = (WalkStep){.start = at};
    walk->order.damaged.is_set = 0;
    if (!holds(walk, at, BATCH_HEADER_SIZE) || walk->left - at <= MAGIC_AT + 1)
        return 0;
    const uint8_t *p = walk_bytes(walk, at);
    int64_t size = batch_size(p);
    if (batch_length(p) < MIN_MESSAGE_LENGTH || size > walk->left - at)
        return past_damage(walk, at, NO_HEADER, 0, step);
    if (batch_magic(p) < 0)
        return past_damage(walk, at, NEGATIVE_MAGIC, 0, step);
    int is_small = is_small_batch(walk, at);
    if (!is_small) {
        if (size > MAX_SIZE)
            return 0;
        if (!spend_large(walk, size))
            return past_damage(walk, at, NOT_CHECKED, 0, step);
    }
    if (!holds(walk, at, size))
        return 0;
    step->is_legacy = batch_magic(p) < 2;
    step->is_valid = (step->is_legacy || size >= BATCH_HEADER_SIZE) && fits_checksum(p);
    if (step->is_valid && size > walk->near_bytes)
        return 0;
    if (codec_of_batch(p) > MAX_KNOWN_CODEC)
        return past_damage(walk, at, step->is_valid ? CODEC_OF_VALID : CODEC_OF_INVALID, 0, step);
    step->is_batch = 1;
    step->end = at + (Py_ssize_t)size;
    step->length = batch_length(p);
    if (step->is_valid)
        return valid_batch(walk, at, walk->order.damaged_end, &damaged, step);
    Py_ssize_t inside = 0;
    int leads = distrusts(walk, at) ? 0 : leads_on(walk, step->end, step->is_legacy);
    if (leads < 0)
        return 0;
    if (leads) { /* its length may be right */
        inside = fitting_end(walk, at, step->end);
        if (inside == UNSURE)
            return 0;
        if (inside == FITS_NOWHERE) {
            inside = run_inside(walk, at, step->end);
            if (inside == UNSURE)
                return 0;
            if (inside == FITS_NOWHERE) {
                walk->order.damaged = extent_of_batch(p, step->is_legacy);
                walk->order.damaged_end = walk->position + step->end;
                step->status = STATUS_DAMAGED;
                return is_small;
            }
        } else
            inside = 0; /* it is shorter */
    }
    *step = (WalkStep){.start = at};
    return past_damage(walk, at, NOT_VALID, inside, step);
}

/* --- What Python gets */

enum {
    HEADERS_OF_BATCHES, POSITIONS, VALID, STATUSES, NESTED, CLAIMED, COUNTS, STARTS, ENDS, KINDS, NUMBERS, ROWS, FOUND,
    OTHER_HEADERS, OTHER_POSITIONS, OTHER_VALID, OTHER_COUNTS, STEP_LISTS
};
enum { BY_LENGTH_FLAG = 16, LEADS_OVER_FLAG = 32, UNCHECKED_FLAG = 64 };

static int note_batch(PyObject **lists, const Walk *walk, const WalkStep *step, int is_nested, PyObject *statuses)
{
    const uint8_t *p = walk_bytes(walk, step->start);
    PyObject *header = step->is_legacy ? header_of_message(p) : header_of_batch(p), *status = PyTuple_GetItem(statuses, step->status);
    if (!header || !status || PyTuple_SetItem(header, 1, PyLong_FromLong(step->length)) < 0) {
        Py_XDECREF(header);
        return 0;
    }
    Py_ssize_t row = PyList_Size(lists[HEADERS_OF_BATCHES]);
    return append(lists[HEADERS_OF_BATCHES], header) && append(lists[POSITIONS], PyLong_FromLongLong(walk->position + step->start)) &&
           append(lists[VALID], PyBool_FromLong(step->is_valid)) && append(lists[NESTED], PyBool_FromLong(is_nested)) && !PyList_Append(lists[STATUSES], status) &&
           (!step->has_claimed_length || append(lists[CLAIMED], Py_BuildValue("nl", row, (long)step->claimed_length)));
}

/* A damaged batch of the other family than the batches so far. */
static int note_other(PyObject **lists, const Walk *walk, const WalkStep *step)
{
    const uint8_t *p = walk_bytes(walk, step->start);
    return append(lists[OTHER_HEADERS], step->is_legacy ? header_of_message(p) : header_of_batch(p)) &&
           append(lists[OTHER_POSITIONS], PyLong_FromLongLong(walk->position + step->start)) &&
           append(lists[OTHER_VALID], PyBool_FromLong(step->is_valid)) &&
           append(lists[OTHER_COUNTS], PyLong_FromSsize_t(PyList_Size(lists[HEADERS_OF_BATCHES])));
}

static int note_damage(PyObject **lists, const Walk *walk, const WalkStep *step)
{
    Py_ssize_t rows = PyList_Size(lists[HEADERS_OF_BATCHES]);
    for (int number = 0; number < step->count; number++) {
        const DamagedPiece *piece = &step->pieces[number];
        const uint8_t *p = walk_bytes(walk, piece->start);
        int kind = piece->kind | (piece->is_by_length ? BY_LENGTH_FLAG : 0) | (piece->leads_over ? LEADS_OVER_FLAG : 0) |
                   (piece->is_unchecked ? UNCHECKED_FLAG : 0);
        PyObject *row = piece->row == ROW_OF_OFFSET    ? PyLong_FromLongLong(batch_base_offset(p))
                        : piece->row == NO_ROW         ? Py_NewRef(Py_None)
                        : batch_magic(p) < 2           ? header_of_message(p)
                                                       : header_of_batch(p);
        if (!append(lists[ROWS], row) || !append(lists[COUNTS], PyLong_FromSsize_t(rows)) ||
            !append(lists[STARTS], PyLong_FromLongLong(walk->position + piece->start)) ||
            !append(lists[ENDS], PyLong_FromLongLong(walk->position + piece->end)) || !append(lists[KINDS], PyLong_FromLong(kind)) ||
            !append(lists[NUMBERS], PyLong_FromLong(piece->number)))
            return 0;
    }
    return 1;
}

PyDoc_STRVAR(walk_steps_doc,
             "walk_steps(window, position, start, stop, left, near_bytes, (most_batches, sound_batches), statuses, order,\n"
             "           (tries, crc_bytes, kept_crc_bytes, large_crc_bytes), (ahead_start, ahead_end, known), (sound, sound_bytes))\n"
             "    -> ((headers, positions, valid, statuses, nested, claimed), (counts, starts, ends, kinds, numbers, rows), end,\n"
             "        (tries, crc_bytes, large_crc_bytes), (ahead_start, ahead_end, are_known, found), (sound, sound_bytes),\n"
             "        (headers, positions, valid, counts))\n\n"
             "The steps from `start` on, as Steps in kdump/reading/steps.py takes them: batches of one family, what is damaged between\n"
             "them, and in the last tuple damaged batches of the other family, with the number of batches before each. They end at\n"
             "`stop`, at what is for the reference, and where `sound_batches` or `near_bytes` of intact batches follow each other. The\n"
             "window, with which `left` bytes of the log begin, is at `position`; the arguments are positions in the window, results\n"
             "positions in the log. `order` is an array of numbers, which is changed.");

static PyObject *walk_steps(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window, known, order;
    Py_ssize_t at, stop, near_bytes, most_batches, sound_batches, sound, sound_bytes;
    long long position, left, large, ahead_start, ahead_end;
    int failed = 0;
    int64_t found[MAX_FOUND];
    Walk walk = {.found = found};
    PyObject *lists[MAX_LISTS], *statuses, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "y*LnnLn(nn)O!w*(LLLL)(LLy*)(nn):walk_steps", &window, &position, &at, &stop, &left, &near_bytes,
                          &most_batches, &sound_batches, &PyTuple_Type, &statuses, &order, &walk.budget.tries,
                          &walk.budget.crc_bytes, &walk.budget.kept_crc_bytes, &large, &ahead_start, &ahead_end, &known, &sound,
                          &sound_bytes))
        return NULL;
    int is_sound = position >= 0 && at >= 0 && at <= window.len && left >= window.len && left <= INT64_MAX / 2 - position &&
                   near_bytes >= BATCH_HEADER_SIZE && near_bytes <= MAX_NEAR_BYTES && order.len == sizeof walk.order &&
                   ahead_start >= -position && ahead_start <= ahead_end && ahead_end <= left && walk.budget.tries >= 0 &&
                   walk.budget.tries < INT64_MAX / 4 && walk.budget.crc_bytes >= 0 && walk.budget.crc_bytes < INT64_MAX / 4 &&
                   walk.budget.kept_crc_bytes >= 0 && large >= 0 && sound >= 0 && sound <= MAX_SOUND && sound_bytes >= 0 &&
                   sound_bytes <= MAX_SOUND && PyTuple_Size(statuses) == STATUS_DAMAGED + 1;
    if (!is_sound || !new_lists(lists, STEP_LISTS)) {
        PyBuffer_Release(&window);
        PyBuffer_Release(&order);
        PyBuffer_Release(&known);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a position or a size is out of bounds");
        return NULL;
    }
    memcpy(&walk.order, order.buf, sizeof walk.order);
    walk.window = &window;
    walk.position = position;
    walk.left = left;
    walk.near_bytes = near_bytes;
    walk.large_crc_bytes = large;
    walk.ahead_start = ahead_start;
    walk.ahead_end = ahead_end;
    walk.known = &known;
    Py_ssize_t known_count = walk.known_count = known.len / (Py_ssize_t)sizeof *found;
    int is_legacy = -1, has_nested = 0, has_others = 0;
    for (Py_ssize_t batches = 0; at < stop && !failed;) {
        Walk before = walk;
        WalkStep step;
        if (sound >= sound_batches || (sound > 1 && sound_bytes >= near_bytes))
            break;
        int is_nested = position + at < walk.order.nested_end;
        int is_decided = next_step(&walk, at, &step) && !walk.budget.gave_up;
        int is_other = step.is_batch && is_legacy >= 0 && step.is_legacy != is_legacy;
        int may_come = !step.is_batch || batches < most_batches;
        if (is_other)
            may_come = may_come && step.status == STATUS_DAMAGED && !step.has_claimed_length && !is_nested && !has_nested;
        else if (step.is_batch)
            may_come = may_come && !(is_nested && has_others);
        if (!is_decided || !may_come) {
            walk = before;
            break;
        }
        batches += step.is_batch;
        has_others |= is_other;
        has_nested |= step.is_batch && is_nested;
        if (step.is_batch && !is_other)
            is_legacy = step.is_legacy;
        failed = !(is_other        ? note_other(lists, &walk, &step)
                   : step.is_batch ? note_batch(lists, &walk, &step, is_nested, statuses)
                                   : note_damage(lists, &walk, &step));
        int is_intact = step.is_batch && step.status == STATUS_INTACT;
        sound = is_intact ? sound + 1 : 0;
        sound_bytes = is_intact ? sound_bytes + step.end - at : 0;
        at = step.end;
    }
    for (Py_ssize_t number = walk.found_start; number < walk.found_end && !failed; number++)
        failed = !append(lists[FOUND], PyLong_FromLongLong(found[number]));
    if (!failed) {
        memcpy(order.buf, &walk.order, sizeof walk.order);
        result = Py_BuildValue(
            "(OOOOOO)(OOOOOO)L(LLL)(LLOO)(nn)(OOOO)", lists[HEADERS_OF_BATCHES], lists[POSITIONS], lists[VALID], lists[STATUSES],
            lists[NESTED], lists[CLAIMED], lists[COUNTS], lists[STARTS], lists[ENDS], lists[KINDS], lists[NUMBERS], lists[ROWS], position + at,
            walk.budget.tries, walk.budget.crc_bytes, (long long)walk.large_crc_bytes, position + (long long)walk.ahead_start,
            position + (long long)walk.ahead_end, walk.known_count == known_count ? Py_True : Py_False, lists[FOUND], sound, sound_bytes,
            lists[OTHER_HEADERS], lists[OTHER_POSITIONS], lists[OTHER_VALID], lists[OTHER_COUNTS]);
    }
    PyBuffer_Release(&window);
    PyBuffer_Release(&order);
    PyBuffer_Release(&known);
    for (int list = 0; list < STEP_LISTS; list++)
        Py_DECREF(lists[list]);
    return result;
}
