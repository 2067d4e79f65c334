/* CRC-32C (batches) and CRC-32 (messages). `choose_checksums`, called when the module is loaded, finds the fastest CRC-32C of this
   processor; tables serve where it has no instruction for it. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t Checksum(uint32_t crc, const uint8_t *p, size_t size); /* `crc` is inverted on the way in and out */

static uint32_t crc32c_table[8][256], crc32_table[8][256];

static void fill_table(uint32_t table[8][256], uint32_t polynomial)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
        table[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (uint32_t byte = 0; byte < 256; byte++)
            table[slice][byte] = table[slice - 1][byte] >> 8 ^ table[0][table[slice - 1][byte] & 0xff];
}

static inline uint32_t by_table(uint32_t table[8][256], uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 8; p += 8, size -= 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = table[7][crc & 0xff] ^ table[6][crc >> 8 & 0xff] ^ table[5][crc >> 16 & 0xff] ^ table[4][crc >> 24] ^
              table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    for (; size; size--)
        crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
    return crc;
}

static uint32_t crc32c_by_table(uint32_t crc, const uint8_t *p, size_t size)
{
    return by_table(crc32c_table, crc, p, size);
}

static Checksum *crc32c_of = crc32c_by_table; /* chosen once, when the module is loaded */

#if defined(__x86_64__) && defined(__GNUC__)
#include "bytes/crc_x86.h"
#elif defined(__aarch64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&                               \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ /* clang has other names for the builtins; a word must hold its bytes in order */
#include "bytes/crc_arm.h"
#endif

#ifdef HAS_CRC_INSTRUCTION
#include "bytes/crc_strips.h"
#endif

#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 9 : defined(__GNUC__) && __GNUC__ >= 10)
#include "bytes/crc_wide.h"
#endif

/* The implementations that this processor can run, the fastest last. */
static Checksum *crc32c_ways[3];
static const char *crc32c_names[3];
static int crc32c_way_count;

static void add_crc32c_way(const char *name, Checksum *way)
{
    crc32c_names[crc32c_way_count] = name;
    crc32c_ways[crc32c_way_count++] = crc32c_of = way;
}

static void choose_checksums(void)
{
    fill_table(crc32c_table, 0x82f63b78);
    fill_table(crc32_table, 0xedb88320);
    crc32c_way_count = 0;
    add_crc32c_way("tables", crc32c_by_table);
#ifdef HAS_CRC_INSTRUCTION
    if (has_crc_instruction()) {
        fill_powers();
        add_crc32c_way("instruction", crc32c_by_instruction);
    }
#endif
#ifdef HAS_WIDE_PRODUCTS
    if (has_crc_instruction() && has_wide_products())
        add_crc32c_way("wide products", crc32c_by_wide_products);
#endif
}

static inline uint32_t crc32c_over(const uint8_t *p, size_t size)
{
    return ~crc32c_of(0xffffffff, p, size);
}

static inline uint32_t crc32_over(const uint8_t *p, size_t size)
{
    return ~by_table(crc32_table, 0xffffffff, p, size);
}
