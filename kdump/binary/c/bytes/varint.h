/* Varints, the integers of variable length in records of magic 2. Each reader stops at the end of the bytes it was given. */

#pragma once

#include <stdint.h>
#include <stddef.h>

/* A zig-zag varint of up to `most` bits. Returns its end, or NULL if it reaches past `end` or has more bits. */
static const uint8_t *any_varint(const uint8_t *p, const uint8_t *end, int most, int64_t *value)
{
    uint64_t raw = 0;
    for (int shift = 0; p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift + 7 > most && byte >> (most - shift))
            return NULL;
        raw |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = (int64_t)(raw >> 1 ^ (0u - (raw & 1)));
            return p;
        }
    }
    return NULL;
}

/* The same. Nearly all varints have one or two bytes, and a field has as many in the next record, so branches are predicted well. */
static inline const uint8_t *varint(const uint8_t *p, const uint8_t *end, int most, int64_t *value)
{
    if (p < end && p[0] < 0x80) {
        *value = p[0] >> 1 ^ -(p[0] & 1);
        return p + 1;
    }
    if (end - p >= 2 && p[1] < 0x80) {
        int raw = (p[0] & 0x7f) | p[1] << 7;
        *value = raw >> 1 ^ -(raw & 1);
        return p + 2;
    }
    return any_varint(p, end, most, value);
}

static inline const uint8_t *varint64(const uint8_t *p, const uint8_t *end, int64_t *value)
{
    return varint(p, end, 64, value);
}

static inline const uint8_t *varint32(const uint8_t *p, const uint8_t *end, int32_t *value)
{
    int64_t wide = 0;
    p = varint(p, end, 32, &wide);
    *value = (int32_t)wide;
    return p;
}
