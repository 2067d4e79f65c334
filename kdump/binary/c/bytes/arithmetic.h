/* Integer arithmetic with the results it has in Java: sums wrap around, and sequence numbers start again at 0. */

#pragma once

#include <stdint.h>

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline)) /* for what runs once per record: calls would take a tenth of the time */
#define FORGET_ORIGIN(value) __asm__("" : "+r"(value)) /* else the compiler may compute it in another way, which takes longer */
#else
#define ALWAYS_INLINE inline
#define FORGET_ORIGIN(value)
#endif

static inline int64_t added(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* The sequence number `increment` later: 0 follows 2147483647. */
static inline int32_t later_sequence(int32_t sequence, int32_t increment)
{
    uint32_t room = 0x7fffffffu - (uint32_t)increment;
    if (sequence > (int32_t)room)
        return (int32_t)((uint32_t)increment - (0x7fffffffu - (uint32_t)sequence) - 1u);
    return (int32_t)((uint32_t)sequence + (uint32_t)increment);
}

static inline void note_lowest(int64_t *lowest, int64_t number)
{
    *lowest = number < *lowest ? number : *lowest;
}

static inline void note_highest(int64_t *highest, int64_t number)
{
    *highest = number > *highest ? number : *highest;
}
