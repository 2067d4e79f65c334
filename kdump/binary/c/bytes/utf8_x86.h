/* Checks UTF-8 sixteen bytes at a time, with the byte shuffles of x86-64 (SSSE3). utf8.h includes it and chooses it where the processor
   has them. */

#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define HAS_SHUFFLE 1
#define WITH_SHUFFLE __attribute__((target("ssse3")))
/* The same for sixteen bytes at a time, after Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte" (2021).
   Nearly all that can be wrong shows in two neighbouring bytes. A bit stands for each; it is wrong where three tables agree. */
enum {
    TOO_SHORT = 1 << 0, /* a lead, and nothing that continues it */
    TOO_LONG = 1 << 1,  /* the reverse */
    OVERLONG_3 = 1 << 2,
    TOO_LARGE = 1 << 3, /* f4 90 and higher */
    SURROGATE = 1 << 4,
    OVERLONG_2 = 1 << 5,
    OVERLONG_4 = 1 << 6, /* or too large: f5 80 and higher */
    CONTINUED = 1 << 7,  /* two that continue: right if a lead of three or four bytes stands before */
    ANY_LOW = TOO_SHORT | TOO_LONG | CONTINUED,
    HIGH_LOW = ANY_LOW | TOO_LARGE | OVERLONG_4,
    CONTINUES = TOO_LONG | OVERLONG_2 | CONTINUED
};

#define FOUR(item) item, item, item, item

static const uint8_t by_upper_half[16] = {
    FOUR(TOO_LONG),         FOUR(TOO_LONG), FOUR(CONTINUED), /* 0 to b */
    TOO_SHORT | OVERLONG_2, TOO_SHORT, TOO_SHORT | OVERLONG_3 | SURROGATE, TOO_SHORT | TOO_LARGE | OVERLONG_4,
};
static const uint8_t by_lower_half[16] = {
    ANY_LOW | OVERLONG_2 | OVERLONG_3 | OVERLONG_4, ANY_LOW | OVERLONG_2, ANY_LOW, ANY_LOW,
    ANY_LOW | TOO_LARGE, HIGH_LOW, HIGH_LOW, HIGH_LOW,
    FOUR(HIGH_LOW), /* 8 to b */
    HIGH_LOW, HIGH_LOW | SURROGATE, HIGH_LOW, HIGH_LOW,
};
static const uint8_t by_next_upper_half[16] = {
    FOUR(TOO_SHORT), FOUR(TOO_SHORT), /* 0 to 7 */
    CONTINUES | OVERLONG_3 | OVERLONG_4, CONTINUES | OVERLONG_3 | TOO_LARGE,
    CONTINUES | SURROGATE | TOO_LARGE, CONTINUES | SURROGATE | TOO_LARGE,
    FOUR(TOO_SHORT), /* c to f */
};

WITH_SHUFFLE static inline __m128i sixteen(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

WITH_SHUFFLE static inline __m128i by_table_of(const uint8_t *table, __m128i bytes, int shift)
{
    __m128i halves = _mm_and_si128(_mm_srli_epi16(bytes, shift), _mm_set1_epi8(0x0f));
    return _mm_shuffle_epi8(sixteen(table), halves);
}

WITH_SHUFFLE static inline __m128i wrong_in(__m128i bytes, __m128i before)
{
    __m128i last = _mm_alignr_epi8(bytes, before, 15); /* for each byte, the one before it */
    __m128i wrong = _mm_and_si128(by_table_of(by_upper_half, last, 4), by_table_of(by_lower_half, last, 0));
    wrong = _mm_and_si128(wrong, by_table_of(by_next_upper_half, bytes, 4));
    /* From e0 on two bytes later, and from f0 on three bytes later, CONTINUED is not only right but has to be. */
    __m128i third = _mm_subs_epu8(_mm_alignr_epi8(bytes, before, 14), _mm_set1_epi8(0xe0 - 0x80));
    __m128i fourth = _mm_subs_epu8(_mm_alignr_epi8(bytes, before, 13), _mm_set1_epi8(0xf0 - 0x80));
    __m128i has_to_be = _mm_and_si128(_mm_or_si128(third, fourth), _mm_set1_epi8((char)CONTINUED));
    return _mm_xor_si128(wrong, has_to_be);
}

WITH_SHUFFLE static int is_well_formed_by_shuffles(const uint8_t *p, size_t size)
{
    static const uint8_t first_ones[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                           FOUR(0x80), FOUR(0x80), FOUR(0x80), FOUR(0x80)};
    if (size < 16)
        return is_well_formed(p, size);
    const uint8_t *end = p + size;
    __m128i bytes, before = _mm_setzero_si128(), wrong = before;
    for (; end - p >= 16; p += 16) {
        bytes = sixteen(p);
        wrong = _mm_or_si128(wrong, wrong_in(bytes, before));
        before = bytes;
    }
    /* The rest, followed by zeros, which show whether the last character is complete. */
    bytes = _mm_shuffle_epi8(sixteen(end - 16), sixteen(first_ones + 16 - (end - p)));
    wrong = _mm_or_si128(wrong, wrong_in(bytes, before));
    return _mm_movemask_epi8(_mm_cmpeq_epi8(wrong, _mm_setzero_si128())) == 0xffff;
}
