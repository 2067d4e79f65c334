/* What is damaged in a window of a log: where a batch with a wrong length ends, where the next batch starts, and what lies between.
   The references are in kdump/reading: search.py, spans.py, zeros.py. What does not show in the window is left to them. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "batches.h"
#include "layout.h"
#include "order.h"
#include "search.h"

#define LONGEST_BATCH (1 << 27) /* no batch is believed to be larger */
#define MAX_ENDS_TRIED 16       /* of a batch whose length is wrong */
#define MAX_FOUND 4096          /* headers that are found in one call */
#define SPAN (16 << 20)         /* bytes: ends are looked for up to the second multiple of it */
#define ZERO_RUN 512            /* the shortest run of zeros that divides what is damaged */
#define MAX_DAMAGED_PIECES 32   /* up to the next batch */
#define BYTES_PER_TRY 8         /* searched for each header that may be examined, */
#define CRC_BYTES_PER_BYTE 4    /* and bytes that may be fed to checksums for each that is searched */

/* What is wrong with a range of bytes. The numbers are those of kdump/reading/patches.py. */
enum {
    GARBAGE,
    ZERO_BYTES,
    LENGTH_NEGATIVE,
    LENGTH_TOO_SMALL,
    LENGTH_PAST_END,
    UNCHECKED,
    WRONG_CRC,
    BAD_MAGIC,
    UNKNOWN_CODEC,
    UNKNOWN_CODEC_WRONG_CRC
};

/* What is known of the batch at its start: nothing, its offset, or its header. */
enum { NO_ROW, ROW_OF_OFFSET, ROW_OF_HEADER };

typedef struct {
    Py_ssize_t start, end; /* in the window */
    int kind, row, is_by_length, leads_over, is_unchecked;
    int32_t number; /* the length that its header claims, its magic, or its codec */
} DamagedPiece;

/* A walk through damage in a window of a log. `position` is that of the window; positions without a comment are in the window. */
typedef struct {
    const Py_buffer *window;
    int64_t position, left; /* bytes of the log from the window's start on */
    Py_ssize_t near_bytes;  /* that are read first where something may be near; a larger batch is large */
    SearchBudget budget;
    int64_t large_crc_bytes; /* that large batches may have under their checksums */
    Order order;
    int64_t ahead_start, ahead_end; /* between which headers of magic 2 were searched, in which batches may end */
    const Py_buffer *known;         /* where they stand in the log, those found before this call, */
    Py_ssize_t known_count;
    int64_t *found; /* and those found since, of which the first may be forgotten; room for MAX_FOUND */
    Py_ssize_t found_start, found_end;
    Py_ssize_t passed; /* how many of both lie before what is damaged now */
} Walk;

static inline const uint8_t *walk_bytes(const Walk *walk, Py_ssize_t at)
{
    return (const uint8_t *)walk->window->buf + at;
}

/* Whether this many bytes are in the window from `at` on. */
static inline int holds(const Walk *walk, int64_t at, int64_t count)
{
    return at <= walk->window->len && count <= walk->window->len - at;
}

/* The bytes that a search looks at first. */
static inline Py_ssize_t search_room(const Walk *walk)
{
    return walk->near_bytes - BATCH_HEADER_SIZE + 1;
}

/* --- Headers */

/* Whether this may be the header of a batch; `rest` bytes are left in the log, and BATCH_HEADER_SIZE of them in the window. */
static inline int is_plausible(const uint8_t *p, int64_t rest)
{
    int32_t length = batch_length(p);
    if (batch_base_offset(p) < 0 || length > rest - LOG_OVERHEAD || p[MAGIC_AT] > 2)
        return 0;
    return p[MAGIC_AT] < 2 ? is_plausible_message_of(p, length) : length >= MIN_BATCH_LENGTH && is_plausible_of_magic_2(p, length);
}

/* Whether this may be the header of a batch, if only its checksum fits. */
static inline int may_be_header(const uint8_t *p, int64_t rest)
{
    int32_t length = batch_length(p);
    return length >= (p[MAGIC_AT] < 2 ? MIN_MESSAGE_LENGTH : MIN_BATCH_LENGTH) && length <= rest - LOG_OVERHEAD &&
           (length <= MAX_USUAL_LENGTH || is_plausible(p, rest));
}

/* Whether this may be a header one of whose fields offset, length and magic is wrong. */
static inline int is_header_but_for(const uint8_t *p)
{
    return is_plausible_of_magic_2(p, LONGEST_BATCH - 1) || (p[MAGIC_AT] < 2 && is_plausible_message_of(p, LONGEST_BATCH - 1));
}

/* The offsets in a header whose fields nobody checked. Returns 0 if the last one is beyond all numbers. */
static inline int extent_of_header(const uint8_t *p, Extent *extent)
{
    *extent = extent_of_batch(p, p[MAGIC_AT] < 2);
    if (p[MAGIC_AT] < 2)
        return 1;
    uint32_t delta = (uint32_t)batch_last_offset_delta(p);
    int overflows = extent->first > INT64_MAX - (int64_t)delta;
    extent->last = overflows ? INT64_MAX : extent->first + (int64_t)delta;
    return !overflows;
}

/* --- Searching headers */

static inline void earn(SearchBudget *budget, int64_t searched)
{
    budget->crc_bytes += searched * CRC_BYTES_PER_BYTE;
    budget->tries += searched / BYTES_PER_TRY;
}

/* The next header from `at` on and before `stop`; -1 if there is none, or the budget ends. */
static inline Py_ssize_t header_from(Walk *walk, Py_ssize_t at, Py_ssize_t stop)
{
    stop = stop < walk->window->len ? stop : walk->window->len;
    return next_candidate(walk->window, at, stop, walk->left, 0, &walk->budget);
}

/* Whether a search from `start` on looks at all bytes up to `limit` in its first window, and has something to look at. */
static inline int is_one_window(const Walk *walk, int64_t start, int64_t limit)
{
    if (limit - start > search_room(walk) || !holds(walk, start, limit - start + BATCH_HEADER_SIZE))
        return 0;
    const uint8_t *p = walk_bytes(walk, (Py_ssize_t)start), *end = p + (limit - start) + BATCH_HEADER_SIZE;
    while (p < end && !*p)
        p++;
    return p < end; /* runs of zeros are passed over */
}

/* What a search has earned that found nothing more in its first window. */
static inline void earn_window(Walk *walk, int64_t start, int64_t limit)
{
    int64_t all = limit - start + 1, most = search_room(walk);
    earn(&walk->budget, all < most ? all : most);
}

enum { NOT_IN_WINDOW = -1, NOT_IN_SPAN = -2 };

/* The position in the window of a header that was found, by its number. */
static inline int64_t found_header(const Walk *walk, Py_ssize_t number)
{
    int64_t position;
    if (number >= walk->known_count)
        position = walk->found[walk->found_start + number - walk->known_count];
    else
        memcpy(&position, (const char *)walk->known->buf + number * (Py_ssize_t)sizeof position, sizeof position);
    return (int64_t)((uint64_t)position - (uint64_t)walk->position);
}

/* How many headers were found, in this call or before. */
static inline Py_ssize_t header_count(const Walk *walk)
{
    return walk->known_count + walk->found_end - walk->found_start;
}

/* The position of the header with this number, which is searched if it is not known yet; or that there is none before `limit`, or that
   this does not show in the window. One that is known may be behind the window. `start` is where the search began for this batch. */
static inline int64_t header_number(Walk *walk, Py_ssize_t number, int64_t start, int64_t limit)
{
    Py_ssize_t size = walk->window->len;
    if (number < header_count(walk)) {
        int64_t at = found_header(walk, number);
        return at >= limit ? NOT_IN_SPAN : at;
    }
    if (walk->ahead_end >= limit)
        return NOT_IN_SPAN;
    if (walk->ahead_end >= size || walk->found_end == MAX_FOUND)
        return NOT_IN_WINDOW;
    int64_t stop = start + search_room(walk);
    stop = stop < limit ? stop : limit;
    for (Py_ssize_t at = (Py_ssize_t)walk->ahead_end; (at = header_from(walk, at, (Py_ssize_t)stop)) >= 0; at++)
        if (walk_bytes(walk, at)[MAGIC_AT] >= 2) {
            walk->ahead_end = at + 1;
            walk->found[walk->found_end++] = walk->position + at;
            return at;
        }
    if (walk->budget.gave_up || !is_one_window(walk, start, limit))
        return NOT_IN_WINDOW;
    earn_window(walk, start, limit);
    walk->ahead_end = limit;
    return NOT_IN_SPAN;
}

enum { FITS_NOWHERE = 0, UNSURE = -1 };

/* Where the batch of this header ends so that its checksum fits: at one of the next headers, before `claimed_end` if that is given. */
static Py_ssize_t fitting_end(Walk *walk, Py_ssize_t start, int64_t claimed_end)
{
    const uint8_t *p = walk_bytes(walk, start);
    int is_legacy = p[MAGIC_AT] < 2;
    Py_ssize_t at = start + (is_legacy ? MESSAGE_CRC_FROM : BATCH_CRC_FROM);
    Py_ssize_t first = start + (is_legacy ? MESSAGE_HEADER_SIZE : BATCH_HEADER_SIZE);
    int64_t next = first, limit = ((walk->position + start) / SPAN + 2) * SPAN - walk->position, end = claimed_end ? claimed_end : walk->left;
    uint32_t crc = 0xffffffff, stored = is_legacy ? message_crc(p) : batch_crc(p);
    limit = limit < end ? limit : end;
    if (!is_legacy) {
        if (first < walk->ahead_start || first > walk->ahead_end) {
            walk->known_count = walk->passed = 0;
            walk->found_start = walk->found_end;
            walk->ahead_end = first;
        }
        walk->ahead_start = first;
        while (walk->passed < header_count(walk) && found_header(walk, walk->passed) < first)
            walk->passed++;
    }
    int64_t search_start = walk->ahead_end;
    for (int tried = 0;; tried++, next++) {
        if (is_legacy) {
            int64_t stop = (int64_t)first + search_room(walk);
            next = next < limit ? header_from(walk, (Py_ssize_t)next, (Py_ssize_t)(stop < limit ? stop : limit)) : NOT_IN_WINDOW;
            if (next < 0 && !walk->budget.gave_up && first >= limit)
                next = NOT_IN_SPAN;
            else if (next < 0 && !walk->budget.gave_up && is_one_window(walk, first, limit)) {
                earn_window(walk, first, limit);
                next = NOT_IN_SPAN;
            }
        } else
            next = header_number(walk, walk->passed + tried, search_start, limit);
        if (next == NOT_IN_SPAN) /* then it may end with the log */
            return claimed_end || limit < walk->left || !can_spend(&walk->budget, limit - at) ? FITS_NOWHERE : UNSURE;
        if (next < at)
            return UNSURE;
        if (tried == MAX_ENDS_TRIED || !can_spend(&walk->budget, next - at))
            return FITS_NOWHERE;
        if (next >= walk->window->len)
            return UNSURE;
        may_spend(&walk->budget, next - at);
        const uint8_t *piece = walk_bytes(walk, at);
        crc = is_legacy ? by_table(crc32_table, crc, piece, (size_t)(next - at)) : crc32c_of(crc, piece, (size_t)(next - at));
        at = (Py_ssize_t)next;
        if (~crc == stored)
            return at;
    }
}

/* Where the next batch starts whose checksum fits, from `start` on; -1 if that is not sure. The budget says whether any was passed over. */
static Py_ssize_t next_batch(Walk *walk, Py_ssize_t start)
{
    Py_ssize_t stop = start + search_room(walk);
    HeadersInside inside = {0};
    walk->budget.gave_up = 0;
    for (Py_ssize_t at = start; (at = header_from(walk, at, stop)) >= 0; at++) {
        int found = judge_candidate(walk->window, at, walk->left, 0, &walk->budget, &inside);
        if (found == INTACT)
            return at;
        if (found != NONE_INTACT)
            return -1;
    }
    return -1;
}

/* Where the first batches start that lie in the span a damaged batch claims but are not its payload: FITS_NOWHERE if there are none,
   UNSURE if that does not show in the window. */
static Py_ssize_t run_inside(Walk *walk, Py_ssize_t start, Py_ssize_t end)
{
    const uint8_t *p = walk_bytes(walk, start);
    int is_legacy = p[MAGIC_AT] < 2, gave_up = walk->budget.gave_up, has_following = 0;
    Extent own, following = {0}, last = {0};
    int own_is_sound = extent_of_header(p, &own);
    if (end != walk->left) {
        if (!holds(walk, end, BATCH_HEADER_SIZE))
            return UNSURE;
        const uint8_t *next = walk_bytes(walk, end);
        has_following = batch_base_offset(next) >= 0 && may_be_header(next, walk->left - end);
        extent_of_header(next, &following);
    }
    if (has_following && own_is_sound && own.last < INT64_MAX && own.last + 1 == following.first)
        return FITS_NOWHERE;
    Py_ssize_t first_at = start + MAGIC_AT + 1, run_start = 0, run_end = 0;
    int64_t first_offset = 0;
    if (!is_one_window(walk, first_at, end))
        return UNSURE;
    for (Py_ssize_t at = first_at; (at = header_from(walk, at, end)) >= 0; at++) {
        const uint8_t *inner = walk_bytes(walk, at);
        int64_t size = batch_size(inner);
        Extent extent;
        if (at < run_end || size > end - at || (inner[MAGIC_AT] < 2 && !is_legacy))
            continue;
        if (!extent_of_header(inner, &extent) || extent.first <= own.first || !fits_order(&walk->order, &extent) ||
            !may_spend(&walk->budget, size) || !fits_checksum(inner))
            continue;
        if (!last.is_set || at != run_end || extent.first <= last.last || is_lower(&extent, &last)) {
            run_start = at;
            first_offset = extent.first;
        }
        run_end = at + (Py_ssize_t)size;
        last = extent;
    }
    earn_window(walk, first_at, end);
    walk->budget.gave_up = gave_up;
    if (!last.is_set || run_end != end)
        return FITS_NOWHERE;
    int continues = own_is_sound && own.last < INT64_MAX && first_offset == own.last + 1;
    if (!has_following)
        return continues ? run_start : FITS_NOWHERE;
    int leads_to_next = last.last < following.first && !is_lower(&following, &last);
    return leads_to_next && (continues || last.last + 1 == following.first) ? run_start : FITS_NOWHERE;
}

/* --- Zeros */

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
        Py_ssize_t all = damage.end, zeros = next_zero_run(bytes, damage.start, all), end = zeros_end(bytes, zeros, all);
        if (zeros > damage.start) {
            pieces[count] = damage;
            pieces[count++].end = zeros;
        }
        if (end > zeros)
            pieces[count++] = (DamagedPiece){.start = zeros, .end = end, .kind = ZERO_BYTES};
        damage = (DamagedPiece){.start = end, .end = all, .kind = GARBAGE};
    }
    return damage.start < damage.end ? MAX_DAMAGED_PIECES : count;
}

/* The same, but for a range in which the search for the next batch passed something over: nothing is said of what is in it. */
static int divided_or_unchecked(Walk *walk, DamagedPiece *pieces, int count, DamagedPiece damage)
{
    if (!walk->budget.gave_up || damage.start >= damage.end)
        return divided(walk->window->buf, pieces, count, damage);
    walk->budget.gave_up = 0;
    damage.is_unchecked = 1;
    pieces[count] = damage;
    return count + 1;
}
