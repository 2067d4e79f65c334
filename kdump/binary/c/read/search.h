/* Searches bytes for the next batch or message whose checksum fits: `find` in memory, `next_intact` in a window of a log.
   `next_header` only looks at headers. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "read/batches.h"
#include "bytes/layout.h"

#define FIND_BUDGET (8 << 20) /* bytes under checksums, so that bytes made to look like headers cost little */

PyDoc_STRVAR(find_doc, "find(window, start, is_legacy) -> position\n\n"
                       "Where the first regular batch (or message) begins whose checksum fits, from `start` on; -1 for nowhere.");

static PyObject *find(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start, found = -1;
    int is_legacy;
    if (!PyArg_ParseTuple(arguments, "y*np:find", &window, &start, &is_legacy))
        return NULL;
    const uint8_t *bytes = window.buf;
    int64_t budget = FIND_BUDGET;
    Py_BEGIN_ALLOW_THREADS;
    for (; start >= 0 && window.len - start >= MESSAGE_HEADER_SIZE && budget > 0 && found < 0; start++) {
        const uint8_t *p = bytes + start;
        if (!is_legacy) { /* the next place by its magic */
            const uint8_t *magic = memchr(p + MAGIC_AT, 2, (size_t)(window.len - start - MAGIC_AT));
            if (!magic)
                break;
            p = magic - MAGIC_AT;
            start = p - bytes;
        }
        size_t room = (size_t)(window.len - start);
        if (is_legacy ? message_attributes(p) & UNKNOWN_MESSAGE_ATTRIBUTES || !is_regular_message(p, room, 0, CODEC_MASK)
                      : !is_regular_batch(p, room, CODEC_MASK) || batch_attributes(p) & UNKNOWN_BATCH_ATTRIBUTES)
            continue;
        size_t size = (size_t)batch_size(p);
        budget -= (int64_t)size;
        if (is_legacy ? is_valid_message(p, size) : is_valid_batch(p, size))
            found = start;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&window);
    return PyLong_FromSsize_t(found);
}

/* --- A search through a log, within a budget. The reference is Search in kdump/reading/search.py. */

#define MAX_USUAL_LENGTH (1 << 20) /* beyond it, all fields of a header have to be plausible */
#define SMALL_BATCH_SIZE (16 << 10)
#define SMALLEST_DOUBTFUL 512 /* what looks like a larger batch is doubted if another starts inside its header */
#define MAX_KNOWN_CODEC 4
#define MIN_RECORD_SIZE 7

enum { NONE_INTACT, INTACT, LEFT_TO_CALLER, UNDECIDED };

/* What a search may still do; see Budget in kdump/reading/search.py. */
typedef struct {
    long long tries, crc_bytes, kept_crc_bytes;
    int gave_up;
} SearchBudget;

/* Whether the magic of a header may stand at `p + MAGIC_AT`: what the pattern of the candidates says. `room` bytes are in the window. */
static inline int matches_header(const uint8_t *p, size_t room, int is_any_whole)
{
    if (room <= MAGIC_AT || p[MAGIC_AT] > 2 || p[0] > 0x7f || p[LENGTH_AT] > 0x07 || !be32(p + LENGTH_AT))
        return 0;
    if (is_any_whole)
        return 1;
    if (p[MAGIC_AT] < 2)
        return room > MESSAGE_ATTRIBUTES_AT && p[MESSAGE_ATTRIBUTES_AT] <= 0x0f;
    return room > BATCH_ATTRIBUTES_AT + 1 && !p[BATCH_ATTRIBUTES_AT] && p[BATCH_ATTRIBUTES_AT + 1] <= 0x7f;
}

/* Whether the other fields of a header are those of a batch, or of a message, that is so long. */
static inline int is_plausible_of_magic_2(const uint8_t *p, int32_t length)
{
    int32_t count = batch_record_count(p);
    return !(batch_attributes(p) & UNKNOWN_BATCH_ATTRIBUTES) && batch_codec(p) <= MAX_KNOWN_CODEC &&
           batch_last_offset_delta(p) >= 0 && batch_leader_epoch(p) >= -1 && count >= 0 &&
           (batch_codec(p) || count <= (length - MIN_BATCH_LENGTH) / MIN_RECORD_SIZE);
}

static inline int is_plausible_message_of(const uint8_t *p, int32_t length)
{
    int key_at = p[MAGIC_AT] ? MESSAGE_HEADER_SIZE : MESSAGE_TIMESTAMP_AT; /* magic 0 has no timestamp before the key */
    int32_t fixed = key_at + 8 - LOG_OVERHEAD, key_size = (int32_t)be32(p + key_at);
    return length >= fixed && message_codec(p) <= MAX_KNOWN_CODEC && key_size >= -1 && key_size <= length - fixed;
}

/* Whether all fields are those of a batch or message; its header is in the window, and it ends within the log. */
static inline int is_plausible_header(const uint8_t *p)
{
    return batch_magic(p) < 2 ? is_plausible_message_of(p, batch_length(p)) : is_plausible_of_magic_2(p, batch_length(p));
}

/* Whether a batch may begin at `p`, if only its CRC fits. `left` bytes are left in the log, `room` of them in the window. */
static inline int may_be_batch(const uint8_t *p, size_t room, int64_t left, int is_any_whole)
{
    int is_legacy = p[MAGIC_AT] < 2;
    int32_t length = batch_length(p);
    if (room < (size_t)(is_legacy ? MESSAGE_HEADER_SIZE : BATCH_HEADER_SIZE) ||
        length < (is_legacy ? MIN_MESSAGE_LENGTH : MIN_BATCH_LENGTH) || length > left - LOG_OVERHEAD)
        return 0;
    return is_any_whole || length <= MAX_USUAL_LENGTH || (room >= BATCH_HEADER_SIZE && is_plausible_header(p));
}

/* The first position from `start` on and before `stop` where a batch may begin, if only its CRC fits; -1 for nowhere. */
static inline Py_ssize_t next_candidate(const Py_buffer *window, Py_ssize_t start, Py_ssize_t stop, int64_t left, int is_any_whole,
                                        SearchBudget *budget)
{
    for (; start < stop; start++) {
        const uint8_t *p = (const uint8_t *)window->buf + start;
        size_t room = (size_t)(window->len - start);
        if (!matches_header(p, room, is_any_whole))
            continue;
        if (!budget->tries) {
            budget->gave_up = 1;
            return -1;
        }
        budget->tries--;
        if (may_be_batch(p, room, left - start, is_any_whole))
            return start;
    }
    return -1;
}

/* Where in this message of magic 0 or 1 the size of its value stands, if the size of its key is right; its header is in the window. */
static inline int64_t value_size_at(const uint8_t *p)
{
    int key_at = p[MAGIC_AT] ? MESSAGE_HEADER_SIZE : MESSAGE_TIMESTAMP_AT;
    int32_t key_size = (int32_t)be32(p + key_at);
    return key_at + 4 + (int64_t)(key_size > 0 ? key_size : 0);
}

/* Whether the fields of a candidate fit together as those of what Kafka and its clients write; `room` bytes are in the window. */
static inline int is_likely(const uint8_t *p, size_t room)
{
    int32_t length = batch_length(p);
    if (room < BATCH_HEADER_SIZE)
        return 1;
    if (p[MAGIC_AT] >= 2)
        return is_plausible_of_magic_2(p, length);
    if (!is_plausible_message_of(p, length))
        return 0;
    int64_t value_at = value_size_at(p);
    if (value_at + 4 > BATCH_HEADER_SIZE)
        return 1;
    int32_t value_size = (int32_t)be32(p + value_at);
    return value_size >= -1 && value_at + 4 + (value_size > 0 ? value_size : 0) == (int64_t)length + LOG_OVERHEAD;
}

/* Where in a header what it holds may start: the value of a message that ends where its value does; else nowhere. */
static inline int64_t contents_in_header(const uint8_t *p, size_t room)
{
    if (room < BATCH_HEADER_SIZE || p[MAGIC_AT] >= 2 || !is_likely(p, room))
        return BATCH_HEADER_SIZE;
    return value_size_at(p) + 4;
}

/* Of what a small batch costs: what is kept is not spent on one that is not likely. */
static inline int spend(SearchBudget *budget, int64_t size, int likely)
{
    if (size > budget->crc_bytes - (likely ? 0 : budget->kept_crc_bytes)) {
        budget->gave_up = 1;
        return 0;
    }
    budget->crc_bytes -= size;
    return 1;
}

/* Whether the CRC of the small candidate at `p`, which is whole in memory, may be computed and fits. What fits costs nothing. */
static inline int is_checked(SearchBudget *budget, const uint8_t *p, int likely)
{
    size_t size = (size_t)batch_size(p);
    if (!spend(budget, (int64_t)size, likely) || !(p[MAGIC_AT] < 2 ? is_valid_message(p, size) : is_valid_batch(p, size)))
        return 0;
    budget->crc_bytes += (int64_t)size;
    return 1;
}

#define INSIDE (BATCH_HEADER_SIZE - 1) /* positions in a header after its first byte */

/* What may be headers at the positions inside a header, the lowest bit for the first: which match the pattern, which of these may be a batch
   if only its CRC fits, and which of those are likely. From one header to the next in a window, most are known. */
typedef struct {
    Py_ssize_t at; /* of the header */
    int count;     /* of its positions that are known; the others have no bits */
    uint64_t matching, candidates, likely;
} HeadersInside;

static void look_inside(HeadersInside *inside, const Py_buffer *window, Py_ssize_t at, int64_t left, int is_any_whole)
{
    Py_ssize_t on = at - inside->at;
    if (on < 0 || on >= inside->count)
        *inside = (HeadersInside){0};
    else {
        inside->matching >>= on;
        inside->candidates >>= on;
        inside->likely >>= on;
        inside->count -= (int)on;
    }
    inside->at = at;
    for (; inside->count < INSIDE; inside->count++) {
        Py_ssize_t inner = at + 1 + inside->count;
        const uint8_t *p = (const uint8_t *)window->buf + inner;
        size_t room = (size_t)(window->len - inner);
        uint64_t bit = UINT64_C(1) << inside->count;
        if (!matches_header(p, room, is_any_whole))
            continue;
        inside->matching |= bit;
        if (!may_be_batch(p, room, left - inner, is_any_whole))
            continue;
        inside->candidates |= bit;
        inside->likely |= is_likely(p, room) ? bit : 0;
    }
}

/* The lowest bits of what is not zero, up to and without its first one. */
static inline uint64_t bits_below(uint64_t bits)
{
    return (bits & -bits) - 1;
}

/* Takes a try for each of the headers inside that is looked at. Returns those of the candidates for which there were tries. */
static uint64_t tried_inside(const HeadersInside *inside, SearchBudget *budget)
{
    uint64_t left = inside->matching;
    while (left && budget->tries) {
        left &= left - 1;
        budget->tries--;
    }
    if (!left)
        return inside->candidates;
    budget->gave_up = 1;
    return inside->candidates & bits_below(left);
}

/* What the candidate at `at` in a window is: INTACT if its CRC fits and no smaller batch starts inside its header, NONE_INTACT if not.
   LEFT_TO_CALLER if it is large or reaches past the window, UNDECIDED if it is not clear whether a smaller batch starts there; for both,
   the budget is not charged for its CRC. `inside` belongs to the search through this window. */
static int judge_candidate(const Py_buffer *window, Py_ssize_t at, int64_t left, int is_any_whole, SearchBudget *budget,
                           HeadersInside *inside)
{
    const uint8_t *p = (const uint8_t *)window->buf + at;
    int64_t size = batch_size(p);
    SearchBudget before = *budget;
    if (size > SMALLEST_DOUBTFUL) {
        int64_t largest = size <= SMALL_BATCH_SIZE ? size - 1 : SMALL_BATCH_SIZE;
        if (at + 2 * BATCH_HEADER_SIZE > window->len && window->len < left)
            return UNDECIDED;
        look_inside(inside, window, at, left, is_any_whole);
        int64_t contents = contents_in_header(p, (size_t)(window->len - at));
        int rows[INSIDE], count = 0;
        for (uint64_t others = tried_inside(inside, budget); others; others &= others - 1) {
            int inner = __builtin_ctzll(others);
            int64_t inner_size = batch_size(p + 1 + inner);
            if (inner_size > largest || inner + 1 >= contents)
                continue;
            int row = count++;
            for (; row && batch_size(p + 1 + rows[row - 1]) > inner_size; row--)
                rows[row] = rows[row - 1];
            rows[row] = inner;
        }
        for (int row = 0; row < count; row++) { /* the smallest first: what starts shortly before a batch looks like a larger one */
            const uint8_t *other = p + 1 + rows[row];
            int64_t other_size = batch_size(other);
            if (other_size > window->len - (at + 1 + rows[row])) {
                *budget = before;
                return UNDECIDED;
            }
            if (is_checked(budget, other, (int)(inside->likely >> rows[row] & 1)))
                return NONE_INTACT;
        }
    }
    if (size > SMALL_BATCH_SIZE && p[MAGIC_AT] < 2 && !is_likely(p, (size_t)(window->len - at)))
        return NONE_INTACT; /* its size is not that of its key and value */
    if (size > SMALL_BATCH_SIZE || size > window->len - at)
        return LEFT_TO_CALLER;
    return is_checked(budget, p, is_likely(p, (size_t)(window->len - at))) ? INTACT : NONE_INTACT;
}

/* Whether the arguments of a search make sense; if not, the window is released, and an exception is set. */
static int is_valid_search(Py_buffer *window, Py_ssize_t start, long long left, const SearchBudget *budget)
{
    if (start >= 0 && left >= 0 && budget->tries >= 0 && budget->crc_bytes >= 0 && budget->kept_crc_bytes >= 0)
        return 1;
    PyBuffer_Release(window);
    PyErr_SetString(PyExc_ValueError, "a position or a budget is out of bounds");
    return 0;
}

PyDoc_STRVAR(next_intact_doc,
             "next_intact(window, start, stop, left, is_any_whole, tries, crc_bytes, kept_crc_bytes)\n"
             "    -> (found, at, tries, crc_bytes, gave_up)\n\n"
             "The first batch from `start` on and before `stop` whose CRC fits. `left` bytes of the log begin with the window.\n"
             "`found` is NONE_INTACT, INTACT, LEFT_TO_CALLER where the caller has to charge the budget and compute the CRC, or UNDECIDED\n"
             "where it has to look whether a smaller batch starts inside the header, too.");

static PyObject *next_intact(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start, stop;
    long long left;
    int is_any_whole, found = NONE_INTACT;
    SearchBudget budget = {0};
    HeadersInside inside = {0};
    if (!PyArg_ParseTuple(arguments, "y*nnLpLLL:next_intact", &window, &start, &stop, &left, &is_any_whole, &budget.tries,
                          &budget.crc_bytes, &budget.kept_crc_bytes))
        return NULL;
    if (!is_valid_search(&window, start, left, &budget))
        return NULL;
    if (stop > window.len)
        stop = window.len;
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t at = start; found == NONE_INTACT && (at = next_candidate(&window, at, stop, left, is_any_whole, &budget)) >= 0; at++) {
        start = at;
        found = judge_candidate(&window, at, left, is_any_whole, &budget, &inside);
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&window);
    return Py_BuildValue("inLLO", found, start, budget.tries, budget.crc_bytes, budget.gave_up ? Py_True : Py_False);
}

PyDoc_STRVAR(next_header_doc, "next_header(window, start, stop, left, is_any_whole, batches_only, tries) -> (at, tries, gave_up)\n\n"
                              "The first position from `start` on and before `stop` where a batch may begin, if only its CRC fits; -1 for\n"
                              "nowhere. `left` bytes of the log begin with the window. With `batches_only`, one of magic 2.");

static PyObject *next_header(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start, stop;
    long long left;
    int is_any_whole, batches_only;
    SearchBudget budget = {0};
    if (!PyArg_ParseTuple(arguments, "y*nnLppL:next_header", &window, &start, &stop, &left, &is_any_whole, &batches_only, &budget.tries))
        return NULL;
    if (!is_valid_search(&window, start, left, &budget))
        return NULL;
    if (stop > window.len)
        stop = window.len;
    Py_BEGIN_ALLOW_THREADS;
    while ((start = next_candidate(&window, start, stop, left, is_any_whole, &budget)) >= 0 && batches_only &&
           ((const uint8_t *)window.buf)[start + MAGIC_AT] < 2)
        start++;
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&window);
    return Py_BuildValue("nLO", start, budget.tries, budget.gave_up ? Py_True : Py_False);
}
