/* CRC-32C by carry-less products of 512 bits (AVX-512, VPCLMULQDQ). Needs the powers of crc_strips.h, and uses it for short inputs
   and for the rest of long ones. */

#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include "bytes/crc_strips.h"

#define HAS_WIDE_PRODUCTS 1
/* These processors compute eight products at a time. Blocks of 64 bytes are folded onto the next ones, four of them side by side,
   and only the last 64 bytes go through the CRC instruction. */

#define WITH_WIDE __attribute__((target("avx512f,avx512vl,vpclmulqdq,sse4.2,pclmul")))
#define MIN_WIDE_BYTES 256

static int has_wide_products(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vpclmulqdq");
}

/* The powers that shift two words over this many, in each lane. */
WITH_WIDE static inline __m512i powers_over(size_t words)
{
    return _mm512_broadcast_i32x4(_mm_set_epi64x((int64_t)power[words], (int64_t)power[words + 1]));
}

WITH_WIDE static inline __m512i moved_onto(__m512i block, __m512i powers, __m512i other)
{
    __m512i first = _mm512_clmulepi64_epi128(block, powers, 0x00), second = _mm512_clmulepi64_epi128(block, powers, 0x11);
    return _mm512_xor_si512(_mm512_xor_si512(first, second), other);
}

WITH_WIDE static uint32_t crc32c_by_wide_products(uint32_t crc, const uint8_t *p, size_t size)
{
    if (size < MIN_WIDE_BYTES)
        return crc32c_by_instruction(crc, p, size);
    const uint8_t *end = p + size;
    __m512i block[4], powers = powers_over(32);
    for (int at = 0; at < 4; at++)
        block[at] = _mm512_loadu_si512(p + 64 * at);
    block[0] = _mm512_xor_si512(block[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (p += 256; end - p >= 256; p += 256)
        for (int at = 0; at < 4; at++)
            block[at] = moved_onto(block[at], powers, _mm512_loadu_si512(p + 64 * at));
    powers = powers_over(8);
    for (int at = 1; at < 4; at++)
        block[0] = moved_onto(block[0], powers, block[at]);
    for (; end - p >= 64; p += 64)
        block[0] = moved_onto(block[0], powers, _mm512_loadu_si512(p));
    uint64_t words[8], sum = 0;
    _mm512_storeu_si512(words, block[0]);
    for (int at = 0; at < 8; at++)
        sum = CRC_8(sum, words[at]);
    return crc32c_by_instruction((uint32_t)sum, p, (size_t)(end - p));
}
