/* Walks batches that stand alone between damaged places, in a window of a log: `walk_patches`. The reference is `_lone_batches` in
   kdump/reading/salvage.py: whatever is not decided here, a batch with what follows it, is left to it. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "batches.h"
#include "layout.h"
#include "search.h"
#include "walks.h"

#define LONGEST_BATCH (1 << 27) /* no batch is believed to be larger */
#define MAX_ENDS_TRIED 16       /* of a batch whose length is wrong */
#define ZERO_RUN 512            /* the shortest run of zeros that divides what is damaged */
#define MAX_DAMAGED_PIECES 32           /* of what is damaged after one batch */
#define MAX_ROOM (1 << 20)      /* for a batch, or a search */

#define MAX_FOUND 4096          /* headers that are found in one call */
#define SPAN (16 << 20)         /* bytes: ends are looked for up to the second multiple of it */

/* What is wrong with a range: bytes that are no batch, zeros, a header whose length is negative, too small, or leads past the end; and
   a large batch whose checksum may not be computed any more. */
enum { GARBAGE, ZERO_BYTES, LENGTH_NEGATIVE, LENGTH_TOO_SMALL, LENGTH_PAST_END, UNCHECKED };

typedef struct {
    Py_ssize_t start, end; /* in the window */
    int kind;
    int32_t length; /* that its header claims */
} DamagedPiece;

typedef struct {
    const Py_buffer *window;
    int64_t position, left;    /* of the window in the log; bytes of the log from there on */
    Py_ssize_t batch_room;     /* within which a batch, and the start of what follows it, have to lie */
    Py_ssize_t search_room;    /* in which the next batch is searched */
    int64_t small, affordable; /* a batch that claims to be larger is checked elsewhere; one beyond this nowhere any more */
    SearchBudget budget;
    int64_t ahead_start, ahead_end; /* between which headers of magic 2 were searched, in which batches may end */
    const Py_buffer *known;         /* where they stand in the log, those found before this call, */
    Py_ssize_t known_count;
    int64_t *found;                     /* and those found since, of which the first may be forgotten; room for MAX_FOUND */
    Py_ssize_t found_start, found_end;
    Py_ssize_t passed; /* how many of both lie before what is damaged now */
} Patches;

/* Whether the fields of a header of magic 2, except offset, length and magic, are plausible. */
static inline int has_plausible_fields(const uint8_t *p)
{
    int32_t count = batch_record_count(p);
    return !(batch_attributes(p) & UNKNOWN_BATCH_ATTRIBUTES) && batch_codec(p) <= MAX_KNOWN_CODEC &&
           batch_last_offset_delta(p) >= 0 && batch_leader_epoch(p) >= -1 && count >= 0 &&
           (batch_codec(p) || count <= (LONGEST_BATCH - 1 - MIN_BATCH_LENGTH) / MIN_RECORD_SIZE);
}

/* Whether this may be a header one of whose fields offset, length and magic is wrong; BATCH_HEADER_SIZE bytes are there. */
static inline int is_header_but_for(const uint8_t *p)
{
    if (has_plausible_fields(p))
        return 1;
    if (p[MAGIC_AT] > 1)
        return 0;
    int key_at = p[MAGIC_AT] ? MESSAGE_HEADER_SIZE : MESSAGE_TIMESTAMP_AT;
    int32_t fixed = key_at + 8 - LOG_OVERHEAD, key_size = (int32_t)be32(p + key_at);
    return message_codec(p) <= MAX_KNOWN_CODEC && key_size >= -1 && key_size <= LONGEST_BATCH - 1 - fixed;
}

/* The next header from `start` on and before `stop`; -1 if there is none, or the budget ends. */
static inline Py_ssize_t header_from(Patches *patches, Py_ssize_t start, Py_ssize_t stop, SearchBudget *budget)
{
    stop = stop < patches->window->len ? stop : patches->window->len;
    return next_candidate(patches->window, start, stop, patches->left, 0, budget);
}

enum { NOT_IN_WINDOW = -1, NOT_IN_SPAN = -2 };

/* The position in the window of a header that was found, by its number. */
static inline int64_t found_header(const Patches *patches, Py_ssize_t number)
{
    int64_t position;
    if (number >= patches->known_count)
        position = patches->found[patches->found_start + number - patches->known_count];
    else
        memcpy(&position, (const char *)patches->known->buf + number * (Py_ssize_t)sizeof position, sizeof position);
    return (int64_t)((uint64_t)position - (uint64_t)patches->position);
}

/* How many headers were found, in this call or before. */
static inline Py_ssize_t header_count(const Patches *patches)
{
    return patches->known_count + patches->found_end - patches->found_start;
}

/* The position of the header with this number, which is searched if it is not known yet; or that there is none before `limit`, or that
   this does not show in the window. */
static inline Py_ssize_t header_number(Patches *patches, Py_ssize_t number, Py_ssize_t stop, int64_t limit)
{
    const uint8_t *bytes = patches->window->buf;
    Py_ssize_t size = patches->window->len;
    if (number < header_count(patches)) {
        int64_t at = found_header(patches, number);
        return at >= limit ? NOT_IN_SPAN : at < size ? (Py_ssize_t)at : NOT_IN_WINDOW;
    }
    if (patches->ahead_end >= limit)
        return NOT_IN_SPAN;
    if (patches->ahead_end >= size || patches->found_end == MAX_FOUND)
        return NOT_IN_WINDOW;
    for (Py_ssize_t at = (Py_ssize_t)patches->ahead_end; (at = header_from(patches, at, stop, &patches->budget)) >= 0; at++)
        if (bytes[at + MAGIC_AT] >= 2) {
            patches->ahead_end = at + 1;
            patches->found[patches->found_end++] = patches->position + at;
            return at;
        }
    return NOT_IN_WINDOW;
}

/* Whether it is sure that the batch of this header ends at none of the next headers: its checksum does not fit there. */
static int fits_no_end(Patches *patches, Py_ssize_t start)
{
    const uint8_t *bytes = patches->window->buf, *p = bytes + start;
    int is_legacy = p[MAGIC_AT] < 2;
    Py_ssize_t at = start + (is_legacy ? MESSAGE_CRC_FROM : BATCH_CRC_FROM);
    Py_ssize_t next = start + (is_legacy ? MESSAGE_HEADER_SIZE : BATCH_HEADER_SIZE), stop = next + patches->search_room;
    int64_t limit = ((patches->position + start) / SPAN + 2) * SPAN - patches->position;
    uint32_t crc = 0xffffffff, stored = is_legacy ? message_crc(p) : batch_crc(p);
    limit = limit < patches->left ? limit : patches->left;
    if (!is_legacy) {
        if (next < patches->ahead_start || next > patches->ahead_end) {
            patches->known_count = patches->passed = 0;
            patches->found_start = patches->found_end;
            patches->ahead_end = next;
        }
        patches->ahead_start = next;
        while (patches->passed < header_count(patches) && found_header(patches, patches->passed) < next)
            patches->passed++;
        stop = patches->ahead_end < patches->window->len ? (Py_ssize_t)patches->ahead_end + patches->search_room : stop;
    }
    for (int tried = 0;; tried++, next++) {
        next = is_legacy ? header_from(patches, next, stop, &patches->budget)
                         : header_number(patches, patches->passed + tried, stop, limit);
        if (next == NOT_IN_SPAN) /* then it may end with the log */
            return limit < patches->left || !can_spend(&patches->budget, limit - at);
        if (next < at)
            return 0;
        if (tried == MAX_ENDS_TRIED)
            return 1;
        if (!may_spend(&patches->budget, next - at))
            return 0;
        crc = is_legacy ? by_table(crc32_table, crc, bytes + at, (size_t)(next - at)) : crc32c_of(crc, bytes + at, (size_t)(next - at));
        at = next;
        if (~crc == stored)
            return 0;
    }
}

/* Where the next batch starts whose checksum fits, from `start` on; -1 if that is not sure. */
static Py_ssize_t next_batch(Patches *patches, Py_ssize_t start)
{
    Py_ssize_t stop = start + patches->search_room;
    for (Py_ssize_t at = start; (at = header_from(patches, at, stop, &patches->budget)) >= 0; at++) {
        int found = judge_candidate(patches->window, at, patches->left, 0, &patches->budget);
        if (found == INTACT)
            return at;
        if (found != NONE_INTACT)
            return -1;
    }
    return -1;
}

/* Where a run of zeros that starts here ends, at `stop` at the latest. */
static inline Py_ssize_t zeros_end(const uint8_t *bytes, Py_ssize_t at, Py_ssize_t stop)
{
    while (at < stop && !bytes[at])
        at++;
    return at;
}

/* Where the next run of at least ZERO_RUN zeros starts from `at` on that begins and ends before `stop`; `stop` if there is none. */
static inline Py_ssize_t next_zero_run(const uint8_t *bytes, Py_ssize_t at, Py_ssize_t stop)
{
    while (stop - at >= ZERO_RUN) {
        Py_ssize_t last = at + ZERO_RUN - 1;
        while (last >= at && !bytes[last])
            last--;
        if (last < at)
            return at;
        at = last + 1;
    }
    return stop;
}

/* Adds a damaged range, divided by the runs of zeros in it. Returns how many pieces there are then; MAX_DAMAGED_PIECES for too many. */
static int divided(const uint8_t *bytes, DamagedPiece *pieces, int count, DamagedPiece damage)
{
    while (damage.start < damage.end && count < MAX_DAMAGED_PIECES - 2) {
        Py_ssize_t zeros = next_zero_run(bytes, damage.start, damage.end), end = zeros_end(bytes, zeros, damage.end);
        if (zeros > damage.start)
            pieces[count++] = (DamagedPiece){damage.start, zeros, damage.kind, damage.length};
        if (end > zeros)
            pieces[count++] = (DamagedPiece){zeros, end, ZERO_BYTES, 0};
        damage = (DamagedPiece){end, damage.end, GARBAGE, 0};
    }
    return damage.start < damage.end ? MAX_DAMAGED_PIECES : count;
}

/* What is damaged from `start` on, up to the next batch. Returns the number of pieces, 0 if it is not for this function; `claimed_end`
   is where the header there claims to end, if it is believed, else -1. */
static int damage_from(Patches *patches, Py_ssize_t start, DamagedPiece *pieces, int is_unchecked, int64_t *claimed_end)
{
    const uint8_t *bytes = patches->window->buf, *p = bytes + start;
    Py_ssize_t zeros = zeros_end(bytes, start, patches->window->len), end;
    int count = 0;
    *claimed_end = -1;
    if (is_unchecked) {
        end = next_batch(patches, start + 1);
        if (end < 0)
            return 0;
        pieces[count++] = (DamagedPiece){start, end, UNCHECKED, batch_length(p)};
        *claimed_end = start + batch_size(p);
    } else if (zeros - start > MAGIC_AT) {
        if (zeros == patches->window->len)
            return 0;
        end = next_batch(patches, zeros - LOG_OVERHEAD > start ? zeros - LOG_OVERHEAD : start + 1);
        if (end < 0)
            return 0;
        pieces[count++] = (DamagedPiece){start, zeros < end ? zeros : end, ZERO_BYTES, 0};
        count = divided(bytes, pieces, count, (DamagedPiece){zeros, end, GARBAGE, 0});
    } else {
        DamagedPiece damage = {start, start, GARBAGE, batch_length(p)};
        if (is_header_but_for(p)) {
            damage.kind = damage.length < 0 ? LENGTH_NEGATIVE : damage.length < MIN_MESSAGE_LENGTH ? LENGTH_TOO_SMALL : LENGTH_PAST_END;
            if (!fits_no_end(patches, start))
                return 0;
            if (damage.kind == LENGTH_PAST_END && batch_size(p) <= LONGEST_BATCH)
                *claimed_end = start + batch_size(p);
        }
        damage.end = next_batch(patches, start + 1);
        if (damage.end < 0)
            return 0;
        count = divided(bytes, pieces, count, damage);
    }
    return count < MAX_DAMAGED_PIECES && !patches->budget.gave_up ? count : 0;
}

/* The size of the small valid batch at `at` after which damage comes, of the magics 0 and 1 with `is_legacy`, of magic 2 without; 0 if
   there is none. `is_unchecked` says that a batch too large to be checked seems to follow. */
static Py_ssize_t lone_batch(const Patches *patches, Py_ssize_t at, int is_legacy, int *is_unchecked)
{
    const uint8_t *p = (const uint8_t *)patches->window->buf + at;
    size_t room = (size_t)patches->batch_room;
    if (is_legacy ? !is_regular_message(p, room, 0, MAX_KNOWN_CODEC) : batch_magic(p) != 2 || !is_regular_batch(p, room, MAX_KNOWN_CODEC))
        return 0;
    Py_ssize_t size = (Py_ssize_t)batch_size(p);
    if (size + MAGIC_AT + 1 > patches->batch_room || !fits_checksum(p))
        return 0;
    p += size;
    int64_t claimed = batch_size(p);
    *is_unchecked = batch_length(p) >= MIN_MESSAGE_LENGTH && claimed <= patches->left - at - size;
    return *is_unchecked && (claimed <= patches->small || claimed <= patches->affordable || batch_magic(p) < 0) ? 0 : size;
}

/* The lists of `walk_patches`: of the batches, of the damaged pieces, and of headers. */
enum { HEADERS_OF_BATCHES, POSITIONS, COUNTS, STARTS, ENDS, KINDS, LENGTHS, FOUND, PATCH_LISTS };

/* Adds a piece that comes after so many batches. Returns whether it could. */
static int note_piece(PyObject **lists, Py_ssize_t count, const DamagedPiece *piece, long long position)
{
    return append(lists[COUNTS], PyLong_FromSsize_t(count)) && append(lists[STARTS], PyLong_FromLongLong(position + piece->start)) &&
           append(lists[ENDS], PyLong_FromLongLong(position + piece->end)) && append(lists[KINDS], PyLong_FromLong(piece->kind)) &&
           append(lists[LENGTHS], PyLong_FromLong(piece->length));
}

PyDoc_STRVAR(walk_patches_doc,
             "walk_patches(window, position, start, stop, left, most, (batch_room, search_room, small, affordable),\n"
             "             (tries, crc_bytes, kept_crc_bytes), (ahead_start, ahead_end), known, nested_end)\n"
             "    -> (headers, positions, counts, starts, ends, kinds, lengths, end, (tries, crc_bytes),\n"
             "        (ahead_start, ahead_end, are_known, found), claimed_end)\n\n"
             "Small batches of one family that stand alone, each with what is damaged after it: at most `most` from `start` on, and none\n"
             "that starts at `stop` or later. The window, with which `left` bytes of the log begin, is at `position`; all arguments are\n"
             "positions in the window, and what is returned are positions in the log. `counts` says how many of the batches stand before\n"
             "each damaged piece. Headers were searched between `ahead_start` and `ahead_end`: those before are `known` as an array of\n"
             "64-bit numbers, and others are `found`; without `are_known`, the former are of no use any more. It ends after damage that\n"
             "claims to reach past `nested_end`, to `claimed_end` (else -1), or where something else is to be decided.");

static PyObject *walk_patches(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window, known;
    Py_ssize_t at, stop, most;
    long long position, left, small, affordable, ahead_start, ahead_end, nested_end, reached = -1;
    int failed = 0;
    int64_t found[MAX_FOUND];
    Patches patches = {.found = found};
    PyObject *lists[MAX_LISTS], *result = NULL;
    if (!PyArg_ParseTuple(arguments, "y*LnnLn(nnLL)(LLL)(LL)y*L:walk_patches", &window, &position, &at, &stop, &left, &most,
                          &patches.batch_room, &patches.search_room, &small, &affordable, &patches.budget.tries,
                          &patches.budget.crc_bytes, &patches.budget.kept_crc_bytes, &ahead_start, &ahead_end, &known, &nested_end))
        return NULL;
    if (!is_valid_search(&window, at, left, &patches.budget)) {
        PyBuffer_Release(&known);
        return NULL;
    }
    int has_room = position >= 0 && left >= window.len && left <= INT64_MAX / 2 - position && patches.batch_room >= BATCH_HEADER_SIZE &&
                   patches.batch_room <= MAX_ROOM && patches.search_room >= 0 && patches.search_room <= MAX_ROOM &&
                   ahead_start >= 0 && ahead_start <= ahead_end && ahead_end <= left;
    if (!has_room || !new_lists(lists, PATCH_LISTS)) {
        PyBuffer_Release(&window);
        PyBuffer_Release(&known);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a position or a size is out of bounds");
        return NULL;
    }
    const uint8_t *bytes = window.buf;
    patches.window = &window;
    patches.position = position;
    patches.left = left;
    patches.small = small;
    patches.affordable = affordable;
    patches.ahead_start = ahead_start;
    patches.ahead_end = ahead_end;
    patches.known = &known;
    patches.known_count = known.len / (Py_ssize_t)sizeof *found;
    Py_ssize_t known_count = patches.known_count;
    /* what follows a batch has to be whole in the window: a header, and the bytes of two searches */
    Py_ssize_t last = window.len - patches.batch_room - 2 * (patches.search_room + BATCH_HEADER_SIZE);
    stop = stop < last ? stop : last;
    int is_legacy = at < stop && batch_magic(bytes + at) < 2;
    for (Py_ssize_t count = 1; at < stop && count <= most && reached < 0 && !failed; count++) {
        Patches before = patches;
        DamagedPiece pieces[MAX_DAMAGED_PIECES];
        int64_t claimed_end = -1;
        int is_unchecked = 0;
        Py_ssize_t size = lone_batch(&patches, at, is_legacy, &is_unchecked);
        int number = size ? damage_from(&patches, at + size, pieces, is_unchecked, &claimed_end) : 0;
        if (!number) {
            patches = before;
            break;
        }
        failed = !append(lists[HEADERS_OF_BATCHES], is_legacy ? header_of_message(bytes + at) : header_of_batch(bytes + at)) ||
                 !append(lists[POSITIONS], PyLong_FromLongLong(position + at));
        for (int piece = 0; piece < number && !failed; piece++)
            failed = !note_piece(lists, count, &pieces[piece], position);
        at = pieces[number - 1].end;
        reached = claimed_end >= 0 && claimed_end > nested_end ? claimed_end : -1;
    }
    for (Py_ssize_t number = patches.found_start; number < patches.found_end && !failed; number++)
        failed = !append(lists[FOUND], PyLong_FromLongLong(found[number]));
    PyBuffer_Release(&window);
    PyBuffer_Release(&known);
    if (!failed)
        result = Py_BuildValue("OOOOOOOL(LL)(LLOO)L", lists[HEADERS_OF_BATCHES], lists[POSITIONS], lists[COUNTS], lists[STARTS],
                               lists[ENDS], lists[KINDS], lists[LENGTHS], position + at, patches.budget.tries,
                               patches.budget.crc_bytes, position + (long long)patches.ahead_start,
                               position + (long long)patches.ahead_end, patches.known_count == known_count ? Py_True : Py_False,
                               lists[FOUND], reached < 0 ? -1 : position + reached);
    for (int list = 0; list < PATCH_LISTS; list++)
        Py_DECREF(lists[list]);
    return result;
}
