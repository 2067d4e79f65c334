/* Writes bytes as Java decodes UTF-8: each malformed part becomes U+FFFD. `choose_text_check`, called when the module is loaded, finds
   the fastest check for well-formed text. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline int continues(const uint8_t *p, const uint8_t *end)
{
    return p < end && (*p & 0xc0) == 0x80;
}

/* The size of the UTF-8 character at `p`; if it is malformed, minus the number of bytes that Java replaces by one U+FFFD. Java takes an
   encoded surrogate for one malformed part. */
static inline int character_size(const uint8_t *p, const uint8_t *end)
{
    uint8_t lead = p[0], low = 0x80, high = 0xbf;
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return -1;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    if (p + 1 >= end || p[1] < low || p[1] > high)
        return -1;
    if (lead < 0xe0)
        return 2;
    if (lead == 0xed && p[1] >= 0xa0)
        return continues(p + 2, end) ? -3 : -2;
    if (!continues(p + 2, end))
        return -2;
    if (lead < 0xf0)
        return 3;
    return continues(p + 3, end) ? 4 : -3;
}

static inline int is_ascii(const uint8_t *p) /* of eight bytes */
{
    uint64_t eight;
    memcpy(&eight, p, 8);
    return !(eight & 0x8080808080808080u);
}

/* Where well-formed text ends. */
static inline const uint8_t *well_formed(const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        if (*p < 0x80) {
            while (end - p >= 8 && is_ascii(p))
                p += 8;
            while (p < end && *p < 0x80)
                p++;
        } else if (*p >= 0xc2 && *p < 0xe0 && end - p >= 2 && (p[1] & 0xc0) == 0x80) {
            p += 2;
        } else if (*p > 0xe0 && *p < 0xf0 && *p != 0xed && end - p >= 3 && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80) {
            p += 3;
        } else {
            int size = character_size(p, end);
            if (size < 0)
                return p;
            p += size;
        }
    }
    return p;
}

/* Text with U+FFFD for each malformed part: up to three times as many bytes as it has. */
static uint8_t *put_malformed_text(uint8_t *out, const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size;
    for (;;) {
        const uint8_t *malformed = well_formed(p, end);
        size_t valid = (size_t)(malformed - p);
        memcpy(out, p, valid);
        out += valid;
        if (malformed == end)
            return out;
        *out++ = 0xef, *out++ = 0xbf, *out++ = 0xbd;
        p = malformed - character_size(malformed, end);
    }
}

static int is_well_formed(const uint8_t *p, size_t size)
{
    return well_formed(p, p + size) == p + size;
}

static int (*is_well_formed_text)(const uint8_t *p, size_t size) = is_well_formed; /* chosen once, when the module is loaded */

#if defined(__x86_64__) && defined(__GNUC__)
#include "bytes/utf8_x86.h"
#endif

/* Copies `size` bytes at the start and `size` at `last`, which may overlap. Returns the bits set in any of them. */
static inline uint64_t copy_twice(uint8_t *out, const uint8_t *p, size_t last, size_t size)
{
    uint64_t first = 0, second = 0;
    memcpy(&first, p, size);
    memcpy(&second, p + last, size);
    memcpy(out, &first, size);
    memcpy(out + last, &second, size);
    return first | second;
}

/* Copies text, and says whether it is ASCII. */
static inline int copy_ascii(uint8_t *out, const uint8_t *p, size_t size)
{
    uint64_t seen = 0;
    if (size >= 16) {
        for (size_t at = 0; at < size; at += 16) {
            if (size - at < 16)
                at = size - 16;
            seen |= copy_twice(out + at, p + at, 8, 8);
        }
    } else if (size >= 8) {
        seen = copy_twice(out, p, size - 8, 8);
    } else if (size >= 4) {
        seen = copy_twice(out, p, size - 4, 4);
    } else if (size) {
        seen = copy_twice(out, p, size - 1, 1) | (out[size / 2] = p[size / 2]);
    }
    return !(seen & 0x8080808080808080u);
}

/* UTF-8 as Java decodes it. */
static inline uint8_t *put_text(uint8_t *out, const uint8_t *p, size_t size)
{
    if (copy_ascii(out, p, size) || is_well_formed_text(p, size))
        return out + size;
    return put_malformed_text(out, p, size);
}

static void choose_text_check(void)
{
#ifdef HAS_SHUFFLE
    if (__builtin_cpu_supports("ssse3"))
        is_well_formed_text = is_well_formed_by_shuffles;
#endif
}
