/* CRC-32C by the processor's instruction, over three strips of the input side by side. Needs the macros and the product of crc_x86.h
   or crc_arm.h. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The instruction takes three cycles, but one can start in each cycle, so three strips are computed side by side. The results of the
   first two have to be shifted over the bytes after them: that is a product with x^(8 * bytes), modulo the polynomial. The
   instruction itself does the modulo, when the products are added to the word after the strips. */

#define MAX_WORDS 512 /* in a strip */
#define MAX_BYTES (24 * MAX_WORDS + 8)

static uint32_t power[2 * MAX_WORDS + 2]; /* of x: 64 * words - 33, because the instruction multiplies by x^32 and reflection by x */

WITH_CRC static void fill_powers(void)
{
    power[1] = 1; /* x^31, reflected */
    for (size_t words = 2; words < sizeof power / sizeof *power; words++)
        power[words] = (uint32_t)CRC_8(power[words - 1], 0);
}

static inline uint64_t loaded64(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, 8);
    return value;
}

/* Three strips of `words` words each, and the word after them. */
WITH_CRC static inline uint32_t crc32c_of_strips(uint32_t crc, const uint8_t *p, size_t words)
{
    size_t strip = 8 * words;
    uint64_t first = crc, second = 0, third = 0;
    for (const uint8_t *end = p + strip; p < end; p += 8) {
        first = CRC_8(first, loaded64(p));
        second = CRC_8(second, loaded64(p + strip));
        third = CRC_8(third, loaded64(p + 2 * strip));
    }
    uint64_t moved = product((uint32_t)first, power[2 * words + 1]) ^ product((uint32_t)second, power[words + 1]);
    return (uint32_t)CRC_8(third, loaded64(p + 2 * strip) ^ moved);
}

WITH_CRC static uint32_t crc32c_by_instruction(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size > MAX_BYTES + 24; p += MAX_BYTES, size -= MAX_BYTES) /* the rest makes strips of at most MAX_WORDS */
        crc = crc32c_of_strips(crc, p, MAX_WORDS);
    if (size >= MIN_STRIPS_BYTES) {
        /* Bytes that do not fill strips come first. 1 to 8 of them form the end of a word that begins with zeros, which leave a
           register of 0 unchanged. Then come up to 2 words, without branches: those would be mispredicted for small batches. */
        size_t words = (size - 9) / 24, too_much = size - 9 - 24 * words, few = too_much % 8 + 1;
        crc = (uint32_t)CRC_8(0, (loaded64(p) ^ crc) << (64 - 8 * few)) ^ (uint32_t)((uint64_t)crc >> 4 * few >> 4 * few);
        p += few;
        crc ^= (crc ^ (uint32_t)CRC_8(crc, loaded64(p))) & (0u - (too_much >= 8));
        crc ^= (crc ^ (uint32_t)CRC_8(crc, loaded64(p + 8))) & (0u - (too_much >= 16));
        return crc32c_of_strips(crc, p + (too_much & 24), words);
    }
    for (; size >= 8; p += 8, size -= 8)
        crc = (uint32_t)CRC_8(crc, loaded64(p));
    for (; size; size--)
        crc = CRC_1(crc, *p++);
    return crc;
}
