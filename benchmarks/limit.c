/* The limit: what a program that does nothing else needs to print a sound log of uncompressed record batches of magic 2.

   limit batches|records|data FILE      as kdump --files FILE, with --deep-iteration, with --print-data-log

   It trusts the file where kdump does not: no bounds, no UTF-8, no releases. It is the measure of kdump, not a tool. */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW (1 << 20)
#define OUT (1 << 20)
#define HEADER 61

static uint8_t window[WINDOW];
static char text[OUT + 2 * WINDOW]; /* a batch may be as large as the window, and its lines are longer */

static inline uint64_t be(const uint8_t *p, int size)
{
    uint64_t value = 0;
    for (int byte = 0; byte < size; byte++)
        value = value << 8 | p[byte];
    return value;
}

/* --- CRC-32C: by the processor's instruction, three strips side by side, or by a table ------------------------------- */

#define STRIP 1024

#if defined(__x86_64__)
#include <nmmintrin.h>
#define WITH_CRC __attribute__((target("sse4.2")))
#define CRC_8(crc, p) _mm_crc32_u64(crc, word(p))
#define CRC_1(crc, p) _mm_crc32_u8((uint32_t)(crc), *(p))
#elif defined(__aarch64__)
#define WITH_CRC __attribute__((target("+crc")))
#define CRC_8(crc, p) __builtin_aarch64_crc32cx((uint32_t)(crc), word(p))
#define CRC_1(crc, p) __builtin_aarch64_crc32cb((uint32_t)(crc), *(p))
#endif

static uint32_t table[256], behind[4][256]; /* `behind`: where the bytes of the register are after STRIP zeros */

static void fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
        table[byte] = crc;
    }
    for (int place = 0; place < 4; place++)
        for (uint32_t byte = 0; byte < 256; byte = byte ? byte << 1 : 1) { /* the single bits, and from them all others */
            uint32_t crc = byte << 8 * place;
            for (int zero = 0; zero < STRIP; zero++)
                crc = crc >> 8 ^ table[crc & 0xff];
            for (uint32_t lower = 0; lower < (byte ? byte : 1); lower++)
                behind[place][byte + lower] = crc ^ behind[place][lower];
        }
}

#ifdef WITH_CRC
static inline uint64_t word(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, 8);
    return value;
}

static inline uint32_t moved(uint64_t crc)
{
    return behind[0][crc & 0xff] ^ behind[1][crc >> 8 & 0xff] ^ behind[2][crc >> 16 & 0xff] ^ behind[3][crc >> 24];
}

WITH_CRC static uint32_t crc32c(const uint8_t *p, size_t size)
{
    uint64_t crc = 0xffffffff;
    for (; size >= 3 * STRIP; p += 2 * STRIP, size -= 3 * STRIP) {
        uint64_t second = 0, third = 0;
        for (const uint8_t *end = p + STRIP; p < end; p += 8) {
            crc = CRC_8(crc, p);
            second = CRC_8(second, p + STRIP);
            third = CRC_8(third, p + 2 * STRIP);
        }
        crc = moved(moved(crc) ^ second) ^ third;
    }
    for (; size >= 8; p += 8, size -= 8)
        crc = CRC_8(crc, p);
    for (; size; size--)
        crc = CRC_1(crc, p++);
    return ~(uint32_t)crc;
}
#else
static uint32_t crc32c(const uint8_t *p, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (; size; size--)
        crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
    return ~crc;
}
#endif

/* --- Text ------------------------------------------------------------------------------------------------------------ */

static const char PAIRS[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525"
                            "35455565758596061626364656667686970717273747576777879808182838485868788899091929394959697989900";

#define PUT(out, literal) (memcpy(out, literal, sizeof literal - 1), out += sizeof literal - 1)

static inline char *put_bytes(char *out, const void *bytes, size_t size)
{
    memcpy(out, bytes, size);
    return out + size;
}

static inline char *put(char *out, int64_t value)
{
    char digits[20], *start = digits + sizeof digits;
    uint64_t rest = (uint64_t)value;
    if (value < 0) {
        *out++ = '-';
        rest = -rest;
    }
    for (; rest >= 100; rest /= 100)
        memcpy(start -= 2, PAIRS + 2 * (rest % 100), 2);
    if (rest >= 10)
        memcpy(start -= 2, PAIRS + 2 * rest, 2);
    else
        *--start = (char)('0' + rest);
    return put_bytes(out, start, (size_t)(digits + sizeof digits - start));
}

/* --- Lines ----------------------------------------------------------------------------------------------------------- */

static inline char *put_batch(char *out, const uint8_t *batch, int64_t position, int64_t size)
{
    static const char *const codecs[] = {"none", "gzip", "snappy", "lz4", "zstd"};
    int64_t base_offset = (int64_t)be(batch, 8);
    int32_t last_delta = (int32_t)be(batch + 23, 4), base_sequence = (int32_t)be(batch + 53, 4);
    unsigned attributes = batch[22];
    uint32_t crc = (uint32_t)be(batch + 17, 4);
    PUT(out, "baseOffset: "), out = put(out, base_offset);
    PUT(out, " lastOffset: "), out = put(out, base_offset + last_delta);
    PUT(out, " count: "), out = put(out, (int32_t)be(batch + 57, 4));
    PUT(out, " baseSequence: "), out = put(out, base_sequence);
    PUT(out, " lastSequence: "), out = put(out, base_sequence < 0 ? -1 : base_sequence + last_delta);
    PUT(out, " producerId: "), out = put(out, (int64_t)be(batch + 43, 8));
    PUT(out, " producerEpoch: "), out = put(out, (int16_t)be(batch + 51, 2));
    PUT(out, " partitionLeaderEpoch: "), out = put(out, (int32_t)be(batch + 12, 4));
    attributes & 16 ? PUT(out, " isTransactional: true") : PUT(out, " isTransactional: false");
    attributes & 32 ? PUT(out, " isControl: true") : PUT(out, " isControl: false");
    PUT(out, " deleteHorizonMs: OptionalLong.empty position: "), out = put(out, position);
    attributes & 8 ? PUT(out, " LogAppendTime: ") : PUT(out, " CreateTime: ");
    out = put(out, (int64_t)be(batch + 35, 8));
    PUT(out, " size: "), out = put(out, size);
    PUT(out, " magic: 2 compresscodec: "), out = put_bytes(out, codecs[attributes & 7], strlen(codecs[attributes & 7]));
    PUT(out, " crc: "), out = put(out, crc);
    if (crc == crc32c(batch + 21, (size_t)size - 21))
        PUT(out, " isvalid: true\n");
    else
        PUT(out, " isvalid: false\n");
    return out;
}

static inline int64_t varint(const uint8_t **p)
{
    uint64_t raw = 0;
    int shift = 0;
    for (; **p & 0x80; shift += 7)
        raw |= (uint64_t)(*(*p)++ & 0x7f) << shift;
    raw |= (uint64_t) * (*p)++ << shift;
    return (int64_t)(raw >> 1 ^ -(raw & 1));
}

static inline char *put_records(char *out, const uint8_t *batch, int with_data)
{
    int64_t base_offset = (int64_t)be(batch, 8), base_timestamp = (int64_t)be(batch + 27, 8);
    int32_t base_sequence = (int32_t)be(batch + 53, 4), left = (int32_t)be(batch + 57, 4);
    for (const uint8_t *p = batch + HEADER, *end; left; left--, p = end) {
        int64_t length = varint(&p);
        end = p++ + length;
        int64_t timestamp = base_timestamp + varint(&p), offset_delta = varint(&p);
        int64_t key_size = varint(&p);
        const uint8_t *key = p;
        p += key_size > 0 ? key_size : 0;
        int64_t value_size = varint(&p);
        const uint8_t *value = p;
        p += value_size > 0 ? value_size : 0;
        PUT(out, "| offset: "), out = put(out, base_offset + offset_delta);
        PUT(out, " CreateTime: "), out = put(out, timestamp);
        PUT(out, " keySize: "), out = put(out, key_size);
        PUT(out, " valueSize: "), out = put(out, value_size);
        PUT(out, " sequence: "), out = put(out, base_sequence < 0 ? -1 : base_sequence + offset_delta);
        PUT(out, " headerKeys: [");
        for (int64_t header_count = varint(&p), header = 0; header < header_count; header++) {
            if (header)
                *out++ = ',';
            int64_t size = varint(&p);
            out = put_bytes(out, p, (size_t)size);
            p += size;
            size = varint(&p);
            p += size > 0 ? size : 0;
        }
        *out++ = ']';
        if (with_data) {
            if (key_size >= 0)
                PUT(out, " key: "), out = put_bytes(out, key, (size_t)key_size);
            if (value_size >= 0)
                PUT(out, " payload: "), out = put_bytes(out, value, (size_t)value_size);
        }
        *out++ = '\n';
    }
    return out;
}

static char *written(char *out)
{
    for (char *from = text; from < out;) {
        ssize_t size = write(1, from, (size_t)(out - from));
        if (size < 0)
            exit(1);
        from += size;
    }
    return text;
}

int main(int argument_count, char **arguments)
{
    if (argument_count != 3)
        return 2;
    int with_records = *arguments[1] != 'b', with_data = *arguments[1] == 'd';
    int log = open(arguments[2], O_RDONLY);
    if (log < 0)
        return 1;
    fill_tables();
    const char *slash = strrchr(arguments[2], '/');
    char *out = text + sprintf(text, "Dumping %s\nLog starting offset: %lld\n", arguments[2],
                               strtoll(slash ? slash + 1 : arguments[2], NULL, 10));
    ssize_t filled;
    for (int64_t position = 0; (filled = pread(log, window, WINDOW, position)) > 0;) {
        const uint8_t *batch = window, *end = window + filled;
        while (end - batch >= HEADER) {
            int64_t size = (int64_t)be(batch + 8, 4) + 12;
            if (size > end - batch)
                break;
            if (out - text > OUT - WINDOW / 4)
                out = written(out);
            out = put_batch(out, batch, position + (batch - window), size);
            if (with_records)
                out = put_records(out, batch, with_data);
            batch += size;
        }
        if (batch == window)
            return 1; /* neither cut off nor large batches are its business */
        position += batch - window;
    }
    written(out);
    return filled < 0;
}
