/* CRC-32C by the processor's instruction, over three strips of the input side by side. Needs the macros and the product of crc_x86.h
   or crc_arm.h. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The instruction takes three cycles but one can start in each, so three strips are done side by side. What the first two give
   has to be moved over the bytes behind them, which is a product: by x^(8 * bytes), modulo the polynomial. The instruction
   itself does the modulo, when the products are added to the word behind the strips. */

#define MOST_WORDS 512 /* in a strip */
#define MOST_BYTES (24 * MOST_WORDS + 8)

static uint32_t power[2 * MOST_WORDS + 2]; /* of x: 64 * words - 33, for the instruction multiplies by x^32, reflection by x */

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

/* Three strips of so many words, and the word behind them. */
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
    for (; size > MOST_BYTES + 24; p += MOST_BYTES, size -= MOST_BYTES) /* what is left makes strips of MOST_WORDS at most */
        crc = crc32c_of_strips(crc, p, MOST_WORDS);
    if (size >= WORTH_STRIPS) {
        /* What is too much for strips comes first: 1 to 8 bytes, at the end of a word that begins with zeros, for these leave a
           register of 0 as it is; then up to 2 words, without branches, which small batches would make guess wrongly. */
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
