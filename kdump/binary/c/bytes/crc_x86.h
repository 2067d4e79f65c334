/* The CRC-32C instruction and the carry-less product of x86-64 (SSE 4.2, PCLMULQDQ), for crc_strips.h. */

#pragma once

#include <immintrin.h>
#include <stdint.h>

#define HAS_CRC_INSTRUCTION 1
#define WITH_CRC __attribute__((target("sse4.2,pclmul")))
#define CRC_8(crc, word) _mm_crc32_u64(crc, word)
#define CRC_1(crc, byte) _mm_crc32_u8((uint32_t)(crc), byte)
#define MIN_STRIPS_BYTES 64 /* bytes; fewer take longer in strips */

static int has_crc_instruction(void)
{
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

/* The product of two polynomials. */
WITH_CRC static inline uint64_t product(uint32_t a, uint32_t b)
{
    __m128i both = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)a), _mm_cvtsi32_si128((int)b), 0);
    return (uint64_t)_mm_cvtsi128_si64(both);
}
