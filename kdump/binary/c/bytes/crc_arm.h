/* The CRC-32C instruction of ARM64, for crc_strips.h. The carry-less product is computed bit by bit, which is slow, so that only
   large inputs are worth dividing into strips. */

#pragma once

#include <stdint.h>
#include <sys/auxv.h>

#define HAS_CRC_INSTRUCTION 1
#define WITH_CRC __attribute__((target("+crc")))
#define CRC_8(crc, word) __builtin_aarch64_crc32cx((uint32_t)(crc), word)
#define CRC_1(crc, byte) __builtin_aarch64_crc32cb((uint32_t)(crc), byte)
#define MIN_STRIPS_BYTES 1536 /* bytes: products are expensive here */

static int has_crc_instruction(void)
{
    return (getauxval(AT_HWCAP) & 1 << 7) != 0; /* HWCAP_CRC32 */
}

/* The product of two polynomials. */
static inline uint64_t product(uint32_t a, uint32_t b)
{
    uint64_t sum = 0;
    for (int bit = 0; bit < 32; bit++)
        sum ^= (0 - (uint64_t)(b >> bit & 1)) & (uint64_t)a << bit;
    return sum;
}
