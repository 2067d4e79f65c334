/* Reads a file through a window of memory: `held` bytes from a position of the file on. Every chapter that reads a log does it here.
   Bytes that are held already are not read again if the window moves forward over them. */

#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef struct {
    int descriptor;
    uint8_t *bytes;           /* memory for `size` bytes */
    size_t size, start, held; /* `held` of them, from `start` on, are those of the file from `position` on */
    int64_t position, end;    /* nothing is read from `end` on */
    int forgets;              /* whether what was passed is overwritten at once: less memory stays in the cache */
} Window;

/* How many bytes are held from this position on. */
static inline size_t held_from(const Window *window, int64_t position)
{
    uint64_t passed = (uint64_t)position - (uint64_t)window->position; /* huge for a position before the window */
    return passed < window->held ? window->held - (size_t)passed : 0;
}

/* The bytes from this position on, where any are held. */
static inline uint8_t *bytes_from(const Window *window, int64_t position)
{
    return window->bytes + window->start + (position - window->position);
}

/* Moves the window to another position. What is held from there on stays. */
static inline void move_window(Window *window, int64_t position)
{
    uint64_t passed = (uint64_t)position - (uint64_t)window->position; /* huge for a position before the window */
    int is_next = passed <= window->held;
    window->start = is_next ? window->start + (size_t)passed : 0;
    window->held = is_next ? window->held - (size_t)passed : 0;
    window->position = position;
}

/* Reads once, to hold up to `wanted` bytes. Returns how many more there are: 0 at the end of the file, negative for an error. */
static inline ssize_t read_on(Window *window, size_t wanted)
{
    uint64_t left = window->position < window->end ? (uint64_t)(window->end - window->position) : 0;
    wanted = wanted < window->size ? wanted : window->size;
    wanted = wanted < left ? wanted : (size_t)left;
    if (wanted <= window->held)
        return 0;
    /* what was passed stays in memory while there is room after it */
    if (window->start && (window->start > window->size - wanted || window->forgets)) {
        memmove(window->bytes, window->bytes + window->start, window->held);
        window->start = 0;
    }
    ssize_t count = pread(window->descriptor, window->bytes + window->start + window->held, wanted - window->held,
                          (off_t)(window->position + (int64_t)window->held));
    window->held += count > 0 ? (size_t)count : 0;
    return count;
}

/* Whether all bytes of the file from this position on that were read still lie at the start of the memory. */
static inline int keeps_all_from(const Window *window, int64_t position)
{
    return window->position >= position && (uint64_t)(window->position - position) == window->start;
}

static inline size_t hold_more(Window *window, int64_t position, size_t need, size_t wanted)
{
    move_window(window, position);
    while (window->held < need) {
        ssize_t count = read_on(window, wanted > need ? wanted : need);
        if (!count || (count < 0 && errno != EINTR)) /* the reference will read there, and say why */
            break;
    }
    return window->held;
}

/* Makes sure that `need` bytes are held from this position on; if it has to read for that, it asks for `wanted`. Returns how many are
   held: fewer than `need` if the file, or the memory, ends before. */
static inline size_t hold(Window *window, int64_t position, size_t need, size_t wanted)
{
    size_t held = held_from(window, position);
    return held >= need ? held : hold_more(window, position, need, wanted);
}
