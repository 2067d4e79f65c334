/* Writes integers as decimal text, eight digits at a time. The caller has made sure that there is room. */

#pragma once

#include <stddef.h>
#include <stdint.h>

/* The room ends SLACK bytes before the buffer does, because copies have a fixed size and may write past the text. */
#define SLACK 64

/* The lowest byte first, on any machine; one instruction on little-endian ones. */
static inline void put_bytes(uint8_t *out, uint64_t bytes, int count)
{
    for (int at = 0; at < count; at++)
        out[at] = (uint8_t)(bytes >> 8 * at);
}

/* The digits, as numbers from 0 to 9, of the two numbers below 10,000 in the halves of a word; the first digit in the lowest
   byte. Fours are halved into twos, and those into ones, all of a word by the same multiplication. */
static inline uint64_t digits_of(uint64_t fours)
{
    uint64_t hundreds = fours * 5243 >> 19 & 0x0000007f0000007fu; /* 5243 / 2^19 is near enough to 1/100 */
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = twos * 103 >> 10 & 0x000f000f000f000fu; /* and 103 / 2^10 to 1/10 */
    return tens | (twos - 10 * tens) << 8;
}

#define ZEROS 0x3030303030303030u

/* A number below 10,000, with leading zeros. */
static inline uint8_t *put_four_digits(uint8_t *out, uint32_t number)
{
    put_bytes(out, digits_of(number) | ZEROS, 4);
    return out + 4;
}

/* A number below 100,000,000, with leading zeros. */
static inline uint8_t *put_eight_digits(uint8_t *out, uint32_t number)
{
    put_bytes(out, digits_of(number / 10000 | (uint64_t)(number % 10000) << 32) | ZEROS, 8);
    return out + 8;
}

/* How many of the first `count` bytes are 0 before one is not; the last of them counts as not 0. */
static inline int zeros_in_front(uint64_t digits, int count)
{
    digits |= 1ull << 8 * (count - 1);
#if defined(__GNUC__)
    return __builtin_ctzll(digits) / 8;
#else
    int zeros = 0;
    for (; !(digits & 0xff); digits >>= 8)
        zeros++;
    return zeros;
#endif
}

/* Digits without leading zeros. Eight bytes are always written; those after the digits are overwritten, or lie after the line. */
static inline uint8_t *put_significant(uint8_t *out, uint64_t digits, int count)
{
    int zeros = zeros_in_front(digits, count);
    put_bytes(out, (digits | ZEROS) >> 8 * zeros, 8);
    return out + count - zeros;
}

/* A number below 100,000,000. */
static inline uint8_t *put_few_digits(uint8_t *out, uint32_t number)
{
    if (number < 10000)
        return put_significant(out, digits_of(number), 4);
    return put_significant(out, digits_of(number / 10000 | (uint64_t)(number % 10000) << 32), 8);
}

static inline uint8_t *put_number(uint8_t *out, int64_t number)
{
    const uint64_t eight = 100000000;
    uint64_t rest = (uint64_t)number;
    if (number < 0) {
        *out++ = '-';
        rest = 0 - rest;
    }
    if (rest < eight)
        return put_few_digits(out, (uint32_t)rest);
    if (rest < eight * eight) {
        out = put_few_digits(out, (uint32_t)(rest / eight));
    } else {
        out = put_few_digits(out, (uint32_t)(rest / (eight * eight)));
        rest %= eight * eight;
        out = put_eight_digits(out, (uint32_t)(rest / eight));
    }
    return put_eight_digits(out, (uint32_t)(rest % eight));
}
