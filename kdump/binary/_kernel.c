/* The inner loops over windows of bytes, in C: the same functions as kdump/binary/reference.py, and lines of text.

   It knows the layouts of batches, messages and records, but neither releases nor wording: what a line looks like comes to it
   as a program, rules come as numbers. Whatever is irregular (a length that cannot be, a varint that is longer than it need be,
   a control record, an old magic) it leaves alone: it stops in front of it, and the reference goes on.

   Bytes are hostile. No length is used before it is compared with what is left; sums that may overflow are made unsigned.
   The loops of `dump`, `dump_index` and of digests run without the GIL. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_OVERHEAD 12
#define MAGIC_AT 16
#define BATCH_HEADER_SIZE 61
#define MESSAGE_HEADER_SIZE 26 /* with the timestamp of magic 1 */
#define EXTENT_SIZE 27         /* up to the last offset delta */
#define BATCH_CRC_FROM 21
#define MESSAGE_CRC_FROM 16

#define CODEC_MASK 0x07
#define TIMESTAMP_TYPE_BIT 0x08
#define TRANSACTIONAL_BIT 0x10
#define CONTROL_BIT 0x20
#define DELETE_HORIZON_BIT 0x40

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline)) /* of what runs for each record: calls would be a tenth of it */
#else
#define ALWAYS_INLINE inline
#endif

/* --- Numbers as they lie in files ---------------------------------------------------------------------------------- */

static inline uint64_t be64(const uint8_t *p)
{
    return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 | (uint64_t)p[3] << 32 |
           (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 | (uint64_t)p[6] << 8 | (uint64_t)p[7];
}

static inline uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline int16_t be16(const uint8_t *p)
{
    return (int16_t)(uint16_t)(p[0] << 8 | p[1]);
}

static inline int64_t added(int64_t a, int64_t b) /* wraps, as Java's does */
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* A zig-zag varint of up to `most` bits. Returns what is behind it, or NULL: it reaches past the end, or is longer than these
   bits are. */
static const uint8_t *any_varint(const uint8_t *p, const uint8_t *end, int most, int64_t *value)
{
    uint64_t raw = 0;
    for (int shift = 0; p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift + 7 > most && byte >> (most - shift))
            return NULL;
        raw |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = (int64_t)(raw >> 1 ^ (0u - (raw & 1)));
            return p;
        }
    }
    return NULL;
}

/* The same; nearly all have one or two bytes, and those of the next record as many, so that branches are guessed well. */
static inline const uint8_t *varint(const uint8_t *p, const uint8_t *end, int most, int64_t *value)
{
    if (p < end && p[0] < 0x80) {
        *value = p[0] >> 1 ^ -(p[0] & 1);
        return p + 1;
    }
    if (end - p >= 2 && p[1] < 0x80) {
        int raw = (p[0] & 0x7f) | p[1] << 7;
        *value = raw >> 1 ^ -(raw & 1);
        return p + 2;
    }
    return any_varint(p, end, most, value);
}

static inline const uint8_t *varint64(const uint8_t *p, const uint8_t *end, int64_t *value)
{
    return varint(p, end, 64, value);
}

static inline const uint8_t *varint32(const uint8_t *p, const uint8_t *end, int32_t *value)
{
    int64_t wide = 0;
    p = varint(p, end, 32, &wide);
    *value = (int32_t)wide;
    return p;
}

/* The sequence number `increment` later: behind 2147483647 follows 0. */
static inline int32_t later_sequence(int32_t sequence, int32_t increment)
{
    uint32_t room = 0x7fffffffu - (uint32_t)increment;
    if (sequence > (int32_t)room)
        return (int32_t)((uint32_t)increment - (0x7fffffffu - (uint32_t)sequence) - 1u);
    return (int32_t)((uint32_t)sequence + (uint32_t)increment);
}

/* --- Checksums ----------------------------------------------------------------------------------------------------- */

typedef uint32_t Checksum(uint32_t crc, const uint8_t *p, size_t size); /* of the inverted register, as the loops keep it */

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
#define HAS_CRC_INSTRUCTION 1
#include <immintrin.h>
#define WITH_CRC __attribute__((target("sse4.2,pclmul")))
#define CRC_8(crc, word) _mm_crc32_u64(crc, word)
#define CRC_1(crc, byte) _mm_crc32_u8((uint32_t)(crc), byte)
#define WORTH_STRIPS 64
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
#elif defined(__aarch64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&                               \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ /* clang names its builtins otherwise; the bytes of a word are to come in order */
#define HAS_CRC_INSTRUCTION 1
#include <sys/auxv.h>
#define WITH_CRC __attribute__((target("+crc")))
#define CRC_8(crc, word) __builtin_aarch64_crc32cx((uint32_t)(crc), word)
#define CRC_1(crc, byte) __builtin_aarch64_crc32cb((uint32_t)(crc), byte)
#define WORTH_STRIPS 1536 /* bytes: products are dear here */
static int has_crc_instruction(void)
{
    return (getauxval(AT_HWCAP) & 1 << 7) != 0; /* HWCAP_CRC32 */
}

static inline uint64_t product(uint32_t a, uint32_t b)
{
    uint64_t sum = 0;
    for (int bit = 0; bit < 32; bit++)
        sum ^= (0 - (uint64_t)(b >> bit & 1)) & (uint64_t)a << bit;
    return sum;
}
#endif

#ifdef HAS_CRC_INSTRUCTION
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
#endif

#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 9 : defined(__GNUC__) && __GNUC__ >= 10)
#define HAS_WIDE_PRODUCTS 1
/* The widest processors do such products eight at a time: pieces of 64 bytes are moved over each other, four of them side by
   side, and only what they come to in the end goes through the instruction. */

#define WITH_WIDE __attribute__((target("avx512f,avx512vl,vpclmulqdq,sse4.2,pclmul")))
#define WORTH_WIDE 256

static int has_wide_products(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vpclmulqdq");
}

/* The powers that move two words over so many, in each lane. */
WITH_WIDE static inline __m512i powers_over(size_t words)
{
    return _mm512_broadcast_i32x4(_mm_set_epi64x((int64_t)power[words], (int64_t)power[words + 1]));
}

WITH_WIDE static inline __m512i moved_onto(__m512i piece, __m512i powers, __m512i other)
{
    __m512i first = _mm512_clmulepi64_epi128(piece, powers, 0x00), second = _mm512_clmulepi64_epi128(piece, powers, 0x11);
    return _mm512_xor_si512(_mm512_xor_si512(first, second), other);
}

WITH_WIDE static uint32_t crc32c_by_wide_products(uint32_t crc, const uint8_t *p, size_t size)
{
    if (size < WORTH_WIDE)
        return crc32c_by_instruction(crc, p, size);
    const uint8_t *end = p + size;
    __m512i piece[4], powers = powers_over(32);
    for (int at = 0; at < 4; at++)
        piece[at] = _mm512_loadu_si512(p + 64 * at);
    piece[0] = _mm512_xor_si512(piece[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (p += 256; end - p >= 256; p += 256)
        for (int at = 0; at < 4; at++)
            piece[at] = moved_onto(piece[at], powers, _mm512_loadu_si512(p + 64 * at));
    powers = powers_over(8);
    for (int at = 1; at < 4; at++)
        piece[0] = moved_onto(piece[0], powers, piece[at]);
    for (; end - p >= 64; p += 64)
        piece[0] = moved_onto(piece[0], powers, _mm512_loadu_si512(p));
    uint64_t words[8], sum = 0;
    _mm512_storeu_si512(words, piece[0]);
    for (int at = 0; at < 8; at++)
        sum = CRC_8(sum, words[at]);
    return crc32c_by_instruction((uint32_t)sum, p, (size_t)(end - p));
}
#endif

/* The ways that this processor has, the fastest last. */
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

/* --- Text on its way out ------------------------------------------------------------------------------------------- */

/* Whoever writes has made sure that there is room; the room ends SLACK bytes before the buffer does, for copies of fixed size. */
#define SLACK 64

/* The lowest byte first, whatever the machine; one instruction where that is its own order. */
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

/* A number below 10,000, with zeros in front. */
static inline uint8_t *put_four_digits(uint8_t *out, uint32_t number)
{
    put_bytes(out, digits_of(number) | ZEROS, 4);
    return out + 4;
}

/* A number below 100,000,000, with zeros in front. */
static inline uint8_t *put_eight_digits(uint8_t *out, uint32_t number)
{
    put_bytes(out, digits_of(number / 10000 | (uint64_t)(number % 10000) << 32) | ZEROS, 8);
    return out + 8;
}

/* How many of `count` bytes are 0 in front of the first that is not; the last does not count. */
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

/* Digits without zeros in front. Eight bytes are written, whatever the number: they are written over, or lie behind the line. */
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

static inline int continues(const uint8_t *p, const uint8_t *end)
{
    return p < end && (*p & 0xc0) == 0x80;
}

/* How many bytes from `p` on are one character of UTF-8; if they are none, how many are malformed as one, negative.
   Java takes an encoded surrogate for one malformed part. */
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
        size_t sound = (size_t)(malformed - p);
        memcpy(out, p, sound);
        out += sound;
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
    __m128i last = _mm_alignr_epi8(bytes, before, 15); /* for each byte, the one in front of it */
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
    /* What is left, and zeros behind it, which show whether the last character is whole. */
    bytes = _mm_shuffle_epi8(sixteen(end - 16), sixteen(first_ones + 16 - (end - p)));
    wrong = _mm_or_si128(wrong, wrong_in(bytes, before));
    return _mm_movemask_epi8(_mm_cmpeq_epi8(wrong, _mm_setzero_si128())) == 0xffff;
}
#endif

/* The bytes at `p` and those at `last`, which may be some of the same: copied, and what bits they have together. */
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

/* --- Rows ---------------------------------------------------------------------------------------------------------- */

#define COLUMNS(_)                                                                                                            \
    _(base_offset) _(last_offset) _(count) _(base_sequence) _(last_sequence) _(producer_id) _(producer_epoch)                  \
    _(partition_leader_epoch) _(is_transactional) _(is_control) _(has_delete_horizon) _(delete_horizon_ms) _(position)         \
    _(timestamp_type) _(batch_timestamp) _(size) _(magic) _(compresscodec) _(crc) _(isvalid)                                   \
    _(offset) _(timestamp) _(key_size) _(value_size) _(sequence) _(header_count)

#define AS_MEMBER(name) C_##name,
#define AS_TEXT(name) #name,
enum column { COLUMNS(AS_MEMBER) COLUMN_COUNT };
static const char *const column_names[] = {COLUMNS(AS_TEXT)};

#define NO_TIMESTAMP_TYPE 2

typedef struct {
    int64_t column[COLUMN_COUNT];
    const uint8_t *key, *value, *headers; /* headers: of which there are `header_count`, checked before */
} Row;

/* --- Lines as programs --------------------------------------------------------------------------------------------- */

/* A program is a sequence of steps: a literal, then what follows it. Each step is encoded as
       operation u8, column u8, number of texts u8, then that many texts and the literal, each a size u16 and its bytes;
   numbers are little-endian. */

enum operation {
    NOTHING,
    NUMBER,
    CHOICE,   /* the text whose number the column gives */
    OPTIONAL, /* the column before tells whether there is a value: texts are what is put if not, and what stands around it */
    HEADERS,
    CONTENTS, /* key and value; texts: before a key, before a value without key, before a value behind a key */
    OPERATION_COUNT
};

#define NEEDS_VALUE 1 /* in place of a column of CONTENTS: a record without value shows no key, either */

#define MAX_STEPS 48
#define MAX_TEXTS 8
#define POOL_SIZE 4096
#define COPY_SIZE 32 /* short texts are copied at this size, whatever theirs is */
#define NUMBER_SIZE 20

typedef struct {
    uint16_t at, size; /* in the pool */
} Text;

typedef struct {
    uint8_t operation, column, text_count;
    Text literal, texts[MAX_TEXTS];
} Step;

typedef struct {
    int step_count, uses_crc;
    size_t max_size; /* of a line, without texts of keys, values and headers */
    Step steps[MAX_STEPS];
    uint8_t pool[POOL_SIZE + COPY_SIZE];
} Program;

static int parsed_text(const uint8_t **p, const uint8_t *end, Program *program, uint16_t *pool_end, Text *text)
{
    if (end - *p < 2)
        return 0;
    uint16_t size = (uint16_t)((*p)[0] | (*p)[1] << 8);
    *p += 2;
    if (size > end - *p || size > POOL_SIZE - *pool_end)
        return 0;
    text->at = *pool_end;
    text->size = size;
    memcpy(program->pool + *pool_end, *p, size);
    *pool_end = (uint16_t)(*pool_end + size);
    *p += size;
    program->max_size += size;
    return 1;
}

static inline Text text_between(const uint8_t *pool, const uint8_t *from, const uint8_t *to)
{
    return (Text){(uint16_t)(from - pool), (uint16_t)(to - from)};
}

/* Lines of records show their texts, each at most once: that much room is made for them. Other lines have none. */
enum { WITHOUT_TEXTS, WITH_TEXTS };

static int parse_program(const uint8_t *p, size_t size, int with_texts, Program *program)
{
    const uint8_t *end = p + size;
    uint16_t pool_end = 0;
    int headers_left = with_texts, contents_left = with_texts;
    program->step_count = program->uses_crc = 0;
    program->max_size = 0;
    while (p < end) {
        if (end - p < 3 || program->step_count == MAX_STEPS)
            return 0;
        Step *step = &program->steps[program->step_count++];
        step->operation = p[0], step->column = p[1], step->text_count = p[2];
        p += 3;
        if (step->operation >= OPERATION_COUNT || step->column >= COLUMN_COUNT || step->text_count > MAX_TEXTS)
            return 0;
        if (step->text_count < (step->operation == OPTIONAL || step->operation == CONTENTS ? 3 : step->operation == CHOICE))
            return 0;
        if (step->operation == OPTIONAL && !step->column)
            return 0;
        if ((step->operation == HEADERS && !headers_left--) || (step->operation == CONTENTS && !contents_left--))
            return 0;
        for (int text = 0; text < step->text_count; text++)
            if (!parsed_text(&p, end, program, &pool_end, &step->texts[text]))
                return 0;
        if (!parsed_text(&p, end, program, &pool_end, &step->literal))
            return 0;
        program->max_size += NUMBER_SIZE; /* or the brackets of headers */
        if (step->column == C_isvalid && step->operation == CHOICE)
            program->uses_crc = 1;
    }
    return 1;
}

/* A text of a pool. It is copied in pieces of fixed size: what is too much is written over, or lies behind the line. */
static inline uint8_t *put(uint8_t *out, const uint8_t *pool, Text text)
{
    pool += text.at;
    for (size_t at = 0; at < text.size; at += COPY_SIZE)
        memcpy(out + at, pool + at, COPY_SIZE);
    return out + text.size;
}

static uint8_t *put_headers(uint8_t *out, const Row *row)
{
    const uint8_t *p = row->headers;
    *out++ = '[';
    for (int64_t header = 0; header < row->column[C_header_count]; header++) {
        int32_t size = 0;
        p = varint32(p, p + 5, &size);
        if (header)
            *out++ = ',';
        out = put_text(out, p, (size_t)size);
        p += size;
        p = varint32(p, p + 5, &size);
        p += size > 0 ? size : 0;
    }
    *out++ = ']';
    return out;
}

static inline uint8_t *put_contents(uint8_t *out, const uint8_t *pool, const Step *step, const Row *row)
{
    int has_key = row->column[C_key_size] >= 0, has_value = row->column[C_value_size] >= 0;
    if (!has_value && (!has_key || step->column & NEEDS_VALUE))
        return out;
    if (has_key) {
        out = put(out, pool, step->texts[0]);
        out = put_text(out, row->key, (size_t)row->column[C_key_size]);
    }
    if (has_value) {
        out = put(out, pool, step->texts[has_key ? 2 : 1]);
        out = put_text(out, row->value, (size_t)row->column[C_value_size]);
    }
    return out;
}

/* What stands behind the literal of a step; the texts are in this pool. */
static inline uint8_t *put_field(uint8_t *out, const uint8_t *pool, const Step *step, const Row *row)
{
    int64_t value = row->column[step->column];
    switch (step->operation) {
    case NUMBER:
        return put_number(out, value);
    case CHOICE:
        return value >= 0 && value < step->text_count ? put(out, pool, step->texts[value]) : out;
    case OPTIONAL:
        if (!row->column[step->column - 1])
            return put(out, pool, step->texts[0]);
        out = put(out, pool, step->texts[1]);
        out = put_number(out, value);
        return put(out, pool, step->texts[2]);
    case HEADERS:
        return put_headers(out, row);
    case CONTENTS:
        return put_contents(out, pool, step, row);
    default:
        return out;
    }
}


/* --- Lines in a row ------------------------------------------------------------------------------------------------- */

/* A line resembles the one before. A `Line` is a program in use, folded: what has not varied so far is part of its literals, and
   what is left to do are a few steps, and to look whether those columns are still what they were. One that is not counts as
   varying from then on.

   Numbers that vary mostly go up by a little: all but their last four digits are part of the literal before them, too. */

#define RANGE 10000        /* so many numbers have these digits */
#define FAR (10 * RANGE)   /* numbers this far from each other are not expected to share any */
#define LEADING_SIZE 16

typedef struct {
    const Step *step;
    Text literal;          /* in the line's pool, with the leading digits at its end */
    uint16_t leading_size; /* of the digits */
    uint16_t range;        /* RANGE, or 0 where there are none */
    int64_t from;          /* the first number that has these digits */
    int64_t last;          /* that had not */
} LineStep;

typedef struct {
    const Program *program;
    uint32_t varying, settled; /* columns, as bits; settled are those that who calls knows to be the same, now and then */
    int is_folded, step_count, still_count, unsettled_count;
    LineStep steps[MAX_STEPS];
    Text last_literal;
    struct {
        int64_t value;
        int column;
    } still[COLUMN_COUNT];
    uint8_t pool[POOL_SIZE + MAX_STEPS * NUMBER_SIZE + COPY_SIZE];
} Line;

#define NO_COLUMN (1u << 31) /* texts of headers, keys and values: they always vary */

static void begin_line(Line *line, const Program *program, uint32_t settled)
{
    line->program = program;
    line->varying = NO_COLUMN;
    line->settled = settled;
    line->is_folded = line->step_count = line->still_count = line->unsettled_count = 0;
}

/* The columns that decide what a step puts, as bits. */
static inline uint32_t columns_of(const Step *step, const Row *row)
{
    switch (step->operation) {
    case NOTHING:
        return 0;
    case NUMBER:
    case CHOICE:
        return 1u << step->column;
    case OPTIONAL:
        return 3u << (step->column - 1);
    case HEADERS:
        return row->column[C_header_count] ? NO_COLUMN : 1u << C_header_count;
    default:
        return NO_COLUMN;
    }
}

/* Puts those of these columns that are part of the literals behind the others. */
static void note_still(Line *line, const Row *row, uint32_t columns)
{
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (columns >> column & 1) {
            line->still[line->still_count].value = row->column[column];
            line->still[line->still_count++].column = column;
        }
}

static void fold(Line *line, const Row *row)
{
    const Program *program = line->program;
    uint32_t still = 0;
    uint8_t *literal = line->pool, *end = line->pool;
    for (int at = 0; at < line->still_count; at++)
        if (row->column[line->still[at].column] != line->still[at].value)
            line->varying |= 1u << line->still[at].column;
    line->step_count = line->still_count = 0;
    for (int at = 0; at < program->step_count; at++) {
        const Step *step = &program->steps[at];
        uint32_t columns = columns_of(step, row);
        end = put(end, program->pool, step->literal);
        if (columns & line->varying) {
            line->steps[line->step_count++] = (LineStep){.step = step, .literal = text_between(line->pool, literal, end)};
            literal = end += step->operation == NUMBER ? LEADING_SIZE : 0;
        } else {
            end = put_field(end, program->pool, step, row);
            still |= columns;
        }
    }
    line->last_literal = text_between(line->pool, literal, end);
    note_still(line, row, still & ~line->settled);
    line->unsettled_count = line->still_count;
    note_still(line, row, still & line->settled);
    line->is_folded = 1;
}

static inline int is_as_folded(const Line *line, const Row *row, int is_settled)
{
    int64_t difference = 0;
    for (int at = 0, count = is_settled ? line->unsettled_count : line->still_count; at < count; at++)
        difference |= row->column[line->still[at].column] ^ line->still[at].value;
    return line->is_folded && !difference;
}

/* A number that does not begin with the leading digits. If it is near to the last such number, its own will lead from now on. */
static uint8_t *put_other_number(uint8_t *out, uint8_t *pool, LineStep *step, int64_t number)
{
    int is_near = (uint64_t)number - (uint64_t)step->last + FAR < 2 * FAR;
    step->last = number;
    if (is_near && number >= RANGE && number <= INT64_MAX - RANGE) {
        uint8_t *literal = pool + step->literal.at, *leading = literal + step->literal.size - step->leading_size;
        uint8_t *end = put_number(leading, number / RANGE);
        step->literal = text_between(pool, literal, end);
        step->leading_size = (uint16_t)(end - leading);
        step->from = number - number % RANGE;
        step->range = RANGE;
    }
    return put_number(out, number);
}

/* `is_settled`: the columns that may be settled are as in the line before. */
static ALWAYS_INLINE uint8_t *put_line(uint8_t *out, Line *line, const Row *row, int is_settled)
{
    if (!is_as_folded(line, row, is_settled))
        fold(line, row);
    for (LineStep *step = line->steps, *end = step + line->step_count; step < end; step++) {
        out = put(out, line->pool, step->literal);
        if (step->step->operation == NUMBER) {
            int64_t number = row->column[step->step->column];
            uint64_t rest = (uint64_t)number - (uint64_t)step->from;
            if (rest < step->range)
                out = put_four_digits(out, (uint32_t)rest);
            else if ((uint64_t)number < RANGE)
                out = put_significant(out - step->leading_size, digits_of((uint64_t)number), 4);
            else
                out = put_other_number(out - step->leading_size, line->pool, step, number);
        } else {
            out = put_field(out, line->program->pool, step->step, row);
        }
    }
    return put(out, line->pool, line->last_literal);
}

/* --- Batches, messages and records as rows -------------------------------------------------------------------------- */

static inline int is_regular_batch(const uint8_t *p, size_t room, int max_codec)
{
    if (room < BATCH_HEADER_SIZE || (int8_t)p[16] < 2)
        return 0;
    int32_t length = (int32_t)be32(p + 8);
    return length >= BATCH_HEADER_SIZE - LOG_OVERHEAD && (size_t)length <= room - LOG_OVERHEAD &&
           (p[22] & CODEC_MASK) <= max_codec;
}

static inline int is_regular_message(const uint8_t *p, size_t room, int min_magic, int max_codec)
{
    if (room < MESSAGE_HEADER_SIZE)
        return 0;
    int8_t magic = (int8_t)p[16];
    int32_t length = (int32_t)be32(p + 8);
    return magic >= min_magic && magic <= 1 && length >= 14 && (size_t)length <= room - LOG_OVERHEAD &&
           (p[17] & CODEC_MASK) <= max_codec;
}

#define BIT(column) 1u << C_##column
#define COLUMNS_ALIKE                                                                                                          \
    (BIT(count) | BIT(base_sequence) | BIT(last_sequence) | BIT(producer_id) | BIT(producer_epoch) |                            \
     BIT(partition_leader_epoch) | BIT(is_transactional) | BIT(is_control) | BIT(has_delete_horizon) | BIT(timestamp_type) |    \
     BIT(magic) | BIT(compresscodec))
#define COLUMNS_OF_RECORDS                                                                                                     \
    (BIT(offset) | BIT(timestamp) | BIT(key_size) | BIT(value_size) | BIT(sequence) | BIT(header_count))

/* Whether two batches have the same fields but for those that nearly every batch has otherwise: COLUMNS_ALIKE are the same. */
static inline int are_alike(const uint8_t *p, const uint8_t *other)
{
    return !(memcmp(p + 12, other + 12, 5) | memcmp(p + 21, other + 21, 6) | memcmp(p + 43, other + 43, 18));
}

/* Reads the header of a batch; of one like that in the row, only what it has otherwise. */
static inline void read_batch(const uint8_t *p, int64_t position, int with_crc, int is_alike, Row *row)
{
    int64_t *column = row->column;
    int32_t length = (int32_t)be32(p + 8), last_offset_delta = (int32_t)be32(p + 23);
    int16_t attributes = be16(p + 21);
    column[C_base_offset] = (int64_t)be64(p);
    column[C_last_offset] = added(column[C_base_offset], last_offset_delta);
    column[C_delete_horizon_ms] = attributes & DELETE_HORIZON_BIT ? (int64_t)be64(p + 27) : 0;
    column[C_position] = position;
    column[C_batch_timestamp] = (int64_t)be64(p + 35);
    column[C_size] = (int64_t)length + LOG_OVERHEAD;
    column[C_crc] = be32(p + 17);
    column[C_isvalid] =
        with_crc && crc32c_over(p + BATCH_CRC_FROM, (size_t)length + LOG_OVERHEAD - BATCH_CRC_FROM) == be32(p + 17);
    if (is_alike)
        return;
    int32_t base_sequence = (int32_t)be32(p + 53);
    column[C_count] = (int32_t)be32(p + 57);
    column[C_base_sequence] = base_sequence;
    column[C_last_sequence] = base_sequence == -1 ? -1 : later_sequence(base_sequence, last_offset_delta);
    column[C_producer_id] = (int64_t)be64(p + 43);
    column[C_producer_epoch] = be16(p + 51);
    column[C_partition_leader_epoch] = (int32_t)be32(p + 12);
    column[C_is_transactional] = (attributes & TRANSACTIONAL_BIT) != 0;
    column[C_is_control] = (attributes & CONTROL_BIT) != 0;
    column[C_has_delete_horizon] = (attributes & DELETE_HORIZON_BIT) != 0;
    column[C_timestamp_type] = (attributes & TIMESTAMP_TYPE_BIT) != 0;
    column[C_magic] = (int8_t)p[16];
    column[C_compresscodec] = attributes & CODEC_MASK;
}

/* What a message has of a batch; all else is 0. */
static inline void read_message(const uint8_t *p, int64_t position, int with_crc, Row *row)
{
    int64_t *column = row->column;
    int32_t length = (int32_t)be32(p + 8);
    int8_t magic = (int8_t)p[16], attributes = (int8_t)p[17];
    memset(row, 0, sizeof *row);
    column[C_last_offset] = column[C_offset] = (int64_t)be64(p);
    column[C_position] = position;
    column[C_timestamp_type] = magic ? (attributes & TIMESTAMP_TYPE_BIT) != 0 : NO_TIMESTAMP_TYPE;
    column[C_batch_timestamp] = column[C_timestamp] = magic ? (int64_t)be64(p + 18) : -1;
    column[C_size] = (int64_t)length + LOG_OVERHEAD;
    column[C_magic] = magic;
    column[C_compresscodec] = attributes & CODEC_MASK;
    column[C_crc] = be32(p + 12);
    column[C_isvalid] =
        with_crc && crc32_over(p + MESSAGE_CRC_FROM, (size_t)length + LOG_OVERHEAD - MESSAGE_CRC_FROM) == be32(p + 12);
}

/* Key and value of a regular message. Returns whether they lie inside of it. */
static inline int read_message_contents(const uint8_t *p, Row *row)
{
    const uint8_t *end = p + row->column[C_size];
    p += row->column[C_magic] ? 26 : 18;
    for (int is_value = 0; is_value < 2; is_value++) {
        if (end - p < 4)
            return 0;
        int32_t size = (int32_t)be32(p);
        p += 4;
        if (size > end - p)
            return 0;
        row->column[is_value ? C_value_size : C_key_size] = size;
        *(is_value ? &row->value : &row->key) = p;
        p += size > 0 ? size : 0;
    }
    return 1;
}

/* What a record of magic 2 says, relative to its batch. */
typedef struct {
    int64_t timestamp_delta;
    int32_t offset_delta, key_size, value_size, header_count;
    const uint8_t *key, *value, *headers;
} Record;

/* Reads one record. Returns what is behind it, or NULL if it is irregular. */
static ALWAYS_INLINE const uint8_t *read_record(const uint8_t *p, const uint8_t *end, Record *record)
{
    int32_t length, size;
    if (!(p = varint32(p, end, &length)) || length < 1 || length > end - p)
        return NULL;
    end = p + length;
    p++; /* attributes, unused */
    if (!(p = varint64(p, end, &record->timestamp_delta)) || !(p = varint32(p, end, &record->offset_delta)))
        return NULL;
    if (!(p = varint32(p, end, &record->key_size)) || record->key_size > end - p)
        return NULL;
    record->key = p;
    p += record->key_size > 0 ? record->key_size : 0;
    if (!(p = varint32(p, end, &record->value_size)) || record->value_size > end - p)
        return NULL;
    record->value = p;
    p += record->value_size > 0 ? record->value_size : 0;
    if (!(p = varint32(p, end, &record->header_count)) || record->header_count < 0)
        return NULL;
    record->headers = p;
    for (int32_t header = 0; header < record->header_count; header++) {
        if (!(p = varint32(p, end, &size)) || size < 0 || size > end - p)
            return NULL;
        p += size;
        if (!(p = varint32(p, end, &size)) || size > end - p)
            return NULL;
        p += size > 0 ? size : 0;
    }
    return p == end ? p : NULL;
}

/* Makes a record absolute: `row` holds its batch. */
static inline void place_record(const Record *record, const uint8_t *batch, Row *row)
{
    int64_t *column = row->column;
    int32_t base_sequence = (int32_t)column[C_base_sequence];
    column[C_offset] = added(column[C_base_offset], record->offset_delta);
    column[C_timestamp] =
        column[C_timestamp_type] ? column[C_batch_timestamp] : added((int64_t)be64(batch + 27), record->timestamp_delta);
    column[C_key_size] = record->key_size < 0 ? -1 : record->key_size;
    column[C_value_size] = record->value_size < 0 ? -1 : record->value_size;
    column[C_sequence] = base_sequence < 0 ? -1 : later_sequence(base_sequence, record->offset_delta);
    column[C_header_count] = record->header_count;
    row->key = record->key;
    row->value = record->value;
    row->headers = record->headers;
}

/* --- Dumping logs --------------------------------------------------------------------------------------------------- */

/* Why `dump` came back. */
enum reason {
    STOPPED,    /* what comes next is irregular, or not whole in the window */
    FULL,       /* there is no room: for text, or for gaps */
    COMPRESSED, /* the records that come next are compressed: call again with them */
    PAUSED,     /* it has taken its time: call again */
};

/* A plan is numbers and programs; see kdump/output/kafka/native_lines.py. */
enum { PLAN_FLAGS, PLAN_MAX_CODEC, PLAN_NUMBERS };
enum { BATCH_PROGRAM, BATCH_RECORD_PROGRAM, MESSAGE_PROGRAM, MESSAGE_RECORD_PROGRAM, PROGRAM_COUNT };
enum { SHOWS_BATCHES = 1, SHOWS_RECORDS = 2, CHECKS_FIRST_OFFSET = 4 };

typedef struct {
    int64_t number[PLAN_NUMBERS];
    Program program[PROGRAM_COUNT];
    int uses_crc;
} Plan;

/* What goes from call to call, an array of int64. */
enum {
    PREVIOUS_OFFSET, /* of a record, -1 for none */
    RECORD_START,    /* where in its batch, or in the payload, the next record is; -1 when no batch has been begun */
    RECORDS_LEFT,
    GAP_COUNT,
    GAPS /* pairs of offsets that do not follow one another, up to the end */
};

typedef struct {
    const Plan *plan;
    Line line[PROGRAM_COUNT];
    const uint8_t *window, *window_end, *stop; /* what begins from `stop` on is left */
    int64_t window_position;
    const uint8_t *payload; /* the decompressed records of the batch that comes first, or NULL */
    size_t payload_size;
    uint8_t *out, *out_end;
    int64_t *state;
    int64_t gap_capacity;
} Dump;

static inline int has_room(const Dump *dump, const Line *line, uint64_t text_size)
{
    return (uint64_t)(dump->out_end - dump->out) >= line->program->max_size + 3 * text_size;
}

/* Notes an offset. Returns whether there was room for what had to be noted. */
static inline int note_offset(Dump *dump, int64_t offset)
{
    int64_t *state = dump->state, previous = state[PREVIOUS_OFFSET];
    if (offset != added(previous, 1) && (previous != -1 || dump->plan->number[PLAN_FLAGS] & CHECKS_FIRST_OFFSET)) {
        if (state[GAP_COUNT] >= dump->gap_capacity)
            return 0;
        int64_t *gap = state + GAPS + 2 * state[GAP_COUNT]++;
        gap[0] = previous;
        gap[1] = offset;
    }
    state[PREVIOUS_OFFSET] = offset;
    return 1;
}

static int are_regular(const uint8_t *p, const uint8_t *end, int32_t count)
{
    Record record;
    for (; count; count--)
        if (!(p = read_record(p, end, &record)))
            return 0;
    return p == end;
}

/* The records of the batch in `row`, from where the state says. Either all of them are written, or none, unless the room ended:
   then they had been looked at before. */
static enum reason dump_records(Dump *dump, const uint8_t *batch, Row *row, int *is_done)
{
    Line *line = &dump->line[BATCH_RECORD_PROGRAM];
    const uint8_t *start = dump->payload ? dump->payload : batch + BATCH_HEADER_SIZE;
    const uint8_t *end = dump->payload ? dump->payload + dump->payload_size : batch + row->column[C_size];
    int64_t *state = dump->state;
    int is_checked = state[RECORD_START] >= 0;
    const uint8_t *p = is_checked && state[RECORD_START] <= end - start ? start + state[RECORD_START] : start;
    int64_t left = is_checked ? state[RECORDS_LEFT] : row->column[C_count];
    uint8_t *out_before = dump->out;
    int64_t previous_before = state[PREVIOUS_OFFSET], gaps_before = state[GAP_COUNT];
    int is_settled = 0; /* the batch of the line before is this one */
    *is_done = 0;
    for (; left; left--) {
        Record record;
        const uint8_t *next = read_record(p, end, &record);
        if (!next)
            break;
        int64_t gaps = state[GAP_COUNT], previous = state[PREVIOUS_OFFSET];
        place_record(&record, batch, row);
        if (!has_room(dump, line, (uint64_t)(next - p)) || !note_offset(dump, row->column[C_offset])) {
            state[GAP_COUNT] = gaps, state[PREVIOUS_OFFSET] = previous;
            if (!is_checked && !are_regular(p, end, (int32_t)left))
                break;
            state[RECORD_START] = p - start, state[RECORDS_LEFT] = left;
            return FULL;
        }
        dump->out = put_line(dump->out, line, row, is_settled);
        is_settled = 1;
        p = next;
    }
    if (left || p != end) { /* the reference will say what is wrong */
        dump->out = out_before;
        state[PREVIOUS_OFFSET] = previous_before, state[GAP_COUNT] = gaps_before;
        return STOPPED;
    }
    *is_done = 1;
    state[RECORD_START] = -1;
    return STOPPED;
}

/* The batch at `p`; `before` is the one whose header is in the row, or NULL. */
static enum reason dump_batch(Dump *dump, const uint8_t *p, const uint8_t *before, Row *row, int *is_done)
{
    const Plan *plan = dump->plan;
    int64_t flags = plan->number[PLAN_FLAGS];
    uint8_t *out_before = dump->out;
    *is_done = 0;
    if (flags & SHOWS_RECORDS) {
        int codec = p[22] & CODEC_MASK;
        int32_t count = (int32_t)be32(p + 57);
        if (p[22] & CONTROL_BIT || count < 0)
            return STOPPED;
        if (codec && !count)
            return STOPPED;
        if (codec && !dump->payload)
            return COMPRESSED;
    }
    int is_alike = before && are_alike(p, before);
    read_batch(p, added(dump->window_position, p - dump->window), plan->uses_crc, is_alike, row);
    if (flags & SHOWS_BATCHES && dump->state[RECORD_START] < 0) {
        if (!has_room(dump, &dump->line[BATCH_PROGRAM], 0))
            return FULL;
        dump->out = put_line(dump->out, &dump->line[BATCH_PROGRAM], row, is_alike);
    }
    if (!(flags & SHOWS_RECORDS)) {
        *is_done = 1;
        return STOPPED;
    }
    enum reason reason = dump_records(dump, p, row, is_done);
    if (!*is_done && reason == STOPPED)
        dump->out = out_before;
    return reason;
}

static enum reason dump_message(Dump *dump, const uint8_t *p, Row *row, int *is_done)
{
    const Plan *plan = dump->plan;
    int64_t flags = plan->number[PLAN_FLAGS];
    const Program *program = &plan->program[MESSAGE_PROGRAM], *record_program = &plan->program[MESSAGE_RECORD_PROGRAM];
    uint64_t needed = (flags & SHOWS_BATCHES ? program->max_size : 0) + (flags & SHOWS_RECORDS ? record_program->max_size : 0);
    *is_done = 0;
    if (flags & SHOWS_RECORDS && p[17] & CODEC_MASK)
        return STOPPED;
    read_message(p, added(dump->window_position, p - dump->window), plan->uses_crc, row);
    if (flags & SHOWS_RECORDS) {
        if (!read_message_contents(p, row))
            return STOPPED;
        needed += 3 * (uint64_t)row->column[C_size];
    }
    if ((uint64_t)(dump->out_end - dump->out) < needed)
        return FULL;
    if (flags & SHOWS_RECORDS && !note_offset(dump, row->column[C_offset]))
        return FULL;
    if (flags & SHOWS_BATCHES)
        dump->out = put_line(dump->out, &dump->line[MESSAGE_PROGRAM], row, 0);
    if (flags & SHOWS_RECORDS)
        dump->out = put_line(dump->out, &dump->line[MESSAGE_RECORD_PROGRAM], row, 0);
    *is_done = 1;
    return STOPPED;
}

static enum reason dump_window(Dump *dump, const uint8_t **position)
{
    const int64_t *number = dump->plan->number;
    int max_codec = (int)number[PLAN_MAX_CODEC];
    const uint8_t *p = *position, *before = NULL;
    enum reason reason = STOPPED;
    Row row;
    memset(&row, 0, sizeof row);
    for (int is_done = 1; is_done && p < dump->stop;) {
        size_t room = (size_t)(dump->window_end - p);
        if (is_regular_batch(p, room, max_codec)) {
            reason = dump_batch(dump, p, before, &row, &is_done);
            before = p;
        } else if (is_regular_message(p, room, 0, max_codec)) {
            reason = dump_message(dump, p, &row, &is_done);
            before = NULL;
        } else {
            break;
        }
        if (is_done) {
            dump->payload = NULL;
            p += (size_t)be32(p + 8) + LOG_OVERHEAD;
        }
    }
    *position = p;
    return reason;
}

static int parse_plan(const uint8_t *p, size_t size, Plan *plan)
{
    const uint8_t *end = p + size;
    if (size < sizeof plan->number)
        return 0;
    memcpy(plan->number, p, sizeof plan->number); /* in the order of bytes of this machine */
    p += sizeof plan->number;
    plan->uses_crc = 0;
    for (int program = 0; program < PROGRAM_COUNT; program++) {
        uint32_t program_size;
        if (end - p < 4)
            return 0;
        memcpy(&program_size, p, 4);
        p += 4;
        int with_texts = program == BATCH_RECORD_PROGRAM || program == MESSAGE_RECORD_PROGRAM ? WITH_TEXTS : WITHOUT_TEXTS;
        if (program_size > (size_t)(end - p) || !parse_program(p, program_size, with_texts, &plan->program[program]))
            return 0;
        p += program_size;
        plan->uses_crc |= plan->program[program].uses_crc;
    }
    return p == end;
}

#define PLAN_NAME "kdump.binary._kernel.plan"

static void free_plan(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, PLAN_NAME));
}

PyDoc_STRVAR(compile_plan_doc, "compile_plan(data) -> plan\n\nA plan for `dump`. Raises ValueError where it is malformed.");

static PyObject *compile_plan(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    if (!PyArg_ParseTuple(arguments, "y*:compile_plan", &data))
        return NULL;
    PyObject *capsule = NULL;
    Plan *plan = PyMem_Malloc(sizeof *plan);
    if (!plan)
        PyErr_NoMemory();
    else if (!parse_plan(data.buf, (size_t)data.len, plan))
        PyErr_SetString(PyExc_ValueError, "the plan is malformed");
    else
        capsule = PyCapsule_New(plan, PLAN_NAME, free_plan);
    if (!capsule)
        PyMem_Free(plan);
    PyBuffer_Release(&data);
    return capsule;
}

/* What both functions below are given. Returns whether it can be: if not, an exception is set. */
static int begin_dump(Dump *dump, PyObject *plan, Py_buffer *out, Py_ssize_t filled, Py_buffer *state)
{
    int64_t *numbers = state->buf;
    dump->plan = PyCapsule_GetPointer(plan, PLAN_NAME);
    if (!dump->plan)
        return 0;
    if (filled < 0 || filled > out->len - SLACK || state->len < (Py_ssize_t)(sizeof(int64_t) * GAPS) ||
        (uintptr_t)numbers % sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "out or state is out of bounds");
        return 0;
    }
    dump->gap_capacity = (state->len / (Py_ssize_t)sizeof(int64_t) - GAPS) / 2;
    if (numbers[GAP_COUNT] < 0 || numbers[GAP_COUNT] > dump->gap_capacity) {
        PyErr_SetString(PyExc_ValueError, "the state counts more gaps than it has room for");
        return 0;
    }
    dump->state = numbers;
    dump->out = (uint8_t *)out->buf + filled;
    dump->out_end = (uint8_t *)out->buf + out->len - SLACK;
    dump->payload = NULL;
    dump->payload_size = 0;
    const uint32_t settled[PROGRAM_COUNT] = {[BATCH_PROGRAM] = COLUMNS_ALIKE, [BATCH_RECORD_PROGRAM] = ~COLUMNS_OF_RECORDS};
    for (int program = 0; program < PROGRAM_COUNT; program++)
        begin_line(&dump->line[program], &dump->plan->program[program], settled[program]);
    return 1;
}

PyDoc_STRVAR(dump_doc, "dump(plan, window, start, window_position, payload, out, filled, state) -> (filled, end, reason)\n\n"
                       "Write the lines of regular batches and messages from `start` on into `out`, behind what fills it.");

static PyObject *dump(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window, payload, out, state;
    Py_ssize_t start, filled;
    long long window_position;
    PyObject *plan, *result = NULL;
    Dump dump;
    if (!PyArg_ParseTuple(arguments, "Oy*nLz*w*nw*:dump", &plan, &window, &start, &window_position, &payload, &out, &filled,
                          &state))
        return NULL;
    if (start < 0 || start > window.len) {
        PyErr_SetString(PyExc_ValueError, "start is out of bounds");
        goto end;
    }
    if (!begin_dump(&dump, plan, &out, filled, &state))
        goto end;
    dump.window = window.buf;
    dump.window_end = dump.stop = (const uint8_t *)window.buf + window.len;
    dump.window_position = window_position;
    dump.payload = payload.buf;
    dump.payload_size = (size_t)payload.len;
    const uint8_t *position = dump.window + start;
    enum reason reason;
    Py_BEGIN_ALLOW_THREADS;
    reason = dump_window(&dump, &position);
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nni", (Py_ssize_t)(dump.out - (uint8_t *)out.buf), (Py_ssize_t)(position - dump.window), (int)reason);
end:
    PyBuffer_Release(&window);
    if (payload.obj)
        PyBuffer_Release(&payload);
    PyBuffer_Release(&out);
    PyBuffer_Release(&state);
    return result;
}

#define MOST_AT_ONCE (64 << 20) /* bytes, before Python may look for signals */

/* What was read of a log and not dumped yet: `held` bytes of the window, from `start` on. */
typedef struct {
    uint8_t *bytes;
    size_t size, start, held;
} LogWindow;

/* How far a log has to be read, for now, to dump what begins before `stop`; `held` bytes at `position` are known. */
static int64_t wanted_end(const uint8_t *held, size_t size, int64_t position, int64_t stop, int64_t end)
{
    int64_t wanted = stop <= end - BATCH_HEADER_SIZE ? stop + BATCH_HEADER_SIZE : end; /* the last header may cross it */
    int64_t batch_size = size < LOG_OVERHEAD ? 0 : LOG_OVERHEAD + (int64_t)(int32_t)be32(held + 8);
    if (batch_size <= wanted - position)
        return wanted;
    return batch_size < end - position ? position + batch_size : end; /* the last batch does */
}

/* Reads a log and dumps it, a window at a time: what begins from `position` on and before `stop`. */
static enum reason dump_stretch(Dump *dump, int descriptor, int64_t *position, int64_t stop, int64_t end, LogWindow *log)
{
    int64_t left = MOST_AT_ONCE;
    for (;;) {
        uint8_t *from = log->bytes + log->start;
        const uint8_t *p = from;
        dump->window = p;
        dump->window_end = p + log->held;
        dump->stop = (uint64_t)(stop - *position) < log->held ? p + (stop - *position) : dump->window_end;
        dump->window_position = *position;
        enum reason reason = dump_window(dump, &p);
        *position += p - from;
        log->start += (size_t)(p - from);
        log->held -= (size_t)(p - from);
        if (reason != STOPPED || *position >= stop)
            return reason;
        if (left <= 0)
            return PAUSED;
        memmove(log->bytes, p, log->held);
        log->start = 0;
        uint64_t rest = (uint64_t)(wanted_end(log->bytes, log->held, *position, stop, end) - *position);
        size_t wanted = rest < log->size ? (size_t)rest : log->size;
        if (log->held >= wanted)
            return STOPPED; /* at what is irregular, or larger than the window */
        ssize_t read = pread(descriptor, log->bytes + log->held, wanted - log->held, (off_t)(*position + (int64_t)log->held));
        if (read <= 0)
            return read && errno == EINTR ? PAUSED : STOPPED; /* who reads there next will say why */
        log->held += (size_t)read;
        left -= read;
    }
}

PyDoc_STRVAR(dump_log_doc, "dump_log(plan, descriptor, position, stop, end, window, start, held, out, filled, state)\n"
                           "-> (filled, position, start, held, reason)\n\n"
                           "As `dump`, reading the log as well: what begins from `position` on and before `stop`, of a log that ends "
                           "at `end`. `window` is memory to read into, which has the first `held` bytes from `start` on already.");

static PyObject *dump_log(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window, out, state;
    Py_ssize_t filled, start, held;
    int descriptor;
    long long first, stop, end;
    PyObject *plan, *result = NULL;
    Dump dump;
    if (!PyArg_ParseTuple(arguments, "OiLLLw*nnw*nw*:dump_log", &plan, &descriptor, &first, &stop, &end, &window, &start, &held,
                          &out, &filled, &state))
        return NULL;
    if (first < 0 || stop < first || end < stop || start < 0 || held < 0 || start > window.len || held > window.len - start ||
        held > end - first) {
        PyErr_SetString(PyExc_ValueError, "position, stop, end, start or held is out of bounds");
        goto end;
    }
    if (!begin_dump(&dump, plan, &out, filled, &state))
        goto end;
    int64_t position = first;
    LogWindow log = {window.buf, (size_t)window.len, (size_t)start, (size_t)held};
    enum reason reason;
    Py_BEGIN_ALLOW_THREADS;
    reason = dump_stretch(&dump, descriptor, &position, stop, end, &log);
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nLnni", (Py_ssize_t)(dump.out - (uint8_t *)out.buf), (long long)position, (Py_ssize_t)log.start,
                           (Py_ssize_t)log.held, (int)reason);
end:
    PyBuffer_Release(&window);
    PyBuffer_Release(&out);
    PyBuffer_Release(&state);
    return result;
}

/* --- Dumping indexes ------------------------------------------------------------------------------------------------ */

#define INDEX_ENTRY_SIZE 8
#define TIME_INDEX_ENTRY_SIZE 12
#define NEAR 2048             /* positions no further apart than this are looked at in one piece of the log */
#define LOG_PIECE (128 << 10)
#define FEW_BYTES (32 << 10)  /* of it, as much as is read at once where batches are small */

typedef struct {
    int descriptor;
    int64_t size, slice_size; /* of the log; of what is looked at from a position on */
    int64_t held_from;
    ssize_t held;
    uint8_t piece[LOG_PIECE];
} IndexedLog;

/* So many bytes at this position, or NULL where they cannot be had. */
static const uint8_t *bytes_at(IndexedLog *log, int64_t position, size_t size, int is_near)
{
    if (position < log->held_from || position + (int64_t)size > log->held_from + log->held) {
        size_t wanted = is_near && size < FEW_BYTES ? FEW_BYTES : size;
        log->held_from = position;
        log->held = 0;
        if (size > LOG_PIECE)
            return NULL;
        do
            log->held = pread(log->descriptor, log->piece, wanted, (off_t)position);
        while (log->held < 0 && errno == EINTR);
        if (log->held < (ssize_t)size) {
            log->held = 0;
            return NULL;
        }
    }
    return log->piece + (position - log->held_from);
}

/* The size of the batch or message at this position, with its last offset; 0 where it is irregular or not whole. */
static int64_t extent_at(IndexedLog *log, int64_t position, int is_near, int64_t *last_offset)
{
    int64_t room = position < 0 || position > log->size ? 0 : log->size - position;
    if (room > log->slice_size)
        room = log->slice_size;
    const uint8_t *p = room < BATCH_HEADER_SIZE ? NULL : bytes_at(log, position, BATCH_HEADER_SIZE, is_near);
    if (!p)
        return 0;
    int32_t length = (int32_t)be32(p + 8), delta = (int32_t)be32(p + 23);
    int8_t magic = (int8_t)p[16];
    if (magic < 0 || length < (magic < 2 ? 15 : BATCH_HEADER_SIZE - LOG_OVERHEAD) || length > room - LOG_OVERHEAD)
        return 0;
    *last_offset = magic < 2 ? (int64_t)be64(p) : added((int64_t)be64(p), delta);
    return (int64_t)length + LOG_OVERHEAD;
}

PyDoc_STRVAR(walk_log_doc, "walk_log(descriptor, position, end) -> position\n\n"
                           "Walk regular batches and messages of a log from there on: the position of the first that is not one.");

static PyObject *walk_log(PyObject *self, PyObject *arguments)
{
    (void)self;
    int descriptor;
    long long position, end;
    if (!PyArg_ParseTuple(arguments, "iLL:walk_log", &descriptor, &position, &end))
        return NULL;
    IndexedLog *log = PyMem_Malloc(sizeof *log);
    if (!log)
        return PyErr_NoMemory();
    log->descriptor = descriptor, log->size = log->slice_size = end;
    log->held_from = log->held = 0;
    Py_BEGIN_ALLOW_THREADS;
    int64_t last_offset, size = 0;
    while ((size = extent_at(log, position, size < NEAR, &last_offset)))
        position += size;
    Py_END_ALLOW_THREADS;
    PyMem_Free(log);
    return PyLong_FromLongLong(position);
}

PyDoc_STRVAR(dump_index_doc,
             "dump_index(program, entries, start, base_offset, is_first, descriptor, log_size, slice_size, out, filled, "
             "mismatches, mismatch_count)\n-> (filled, end, mismatch_count, reason)\n\n"
             "Compare entries with the batches they point to, and write their lines into `out`, unless the program is empty.");

static PyObject *dump_index(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer program_bytes, entries, out, mismatches;
    Py_ssize_t start, filled, count;
    long long base_offset, log_size, slice_size;
    int is_first, descriptor;
    if (!PyArg_ParseTuple(arguments, "y*y*nLpiLLw*nw*n:dump_index", &program_bytes, &entries, &start, &base_offset, &is_first,
                          &descriptor, &log_size, &slice_size, &out, &filled, &mismatches, &count))
        return NULL;
    PyObject *result = NULL;
    Program *program = PyMem_Malloc(sizeof *program);
    IndexedLog *log = PyMem_Malloc(sizeof *log);
    Py_ssize_t capacity = mismatches.len / (Py_ssize_t)(2 * sizeof(int64_t));
    if (!program || !log) {
        PyErr_NoMemory();
        goto end;
    }
    if (!parse_program(program_bytes.buf, (size_t)program_bytes.len, WITHOUT_TEXTS, program) || start < 0 ||
        start > entries.len || filled < 0 || filled > out.len - SLACK || count < 0 || count > capacity ||
        (uintptr_t)mismatches.buf % sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "the program is malformed, or start, out or mismatches are out of bounds");
        goto end;
    }
    log->descriptor = descriptor, log->size = log_size, log->slice_size = slice_size;
    log->held_from = log->held = 0;
    enum reason reason = STOPPED;
    uint8_t *to = (uint8_t *)out.buf + filled, *to_end = (uint8_t *)out.buf + out.len - SLACK;
    const uint8_t *p = (const uint8_t *)entries.buf + start, *entries_end = (const uint8_t *)entries.buf + entries.len;
    int64_t *pairs = mismatches.buf;
    Py_BEGIN_ALLOW_THREADS;
    Line line;
    Row row;
    begin_line(&line, program, 0);
    memset(&row, 0, sizeof row);
    for (int64_t before = 0; entries_end - p >= INDEX_ENTRY_SIZE; p += INDEX_ENTRY_SIZE, is_first = 0) {
        int64_t offset = added(base_offset, (int32_t)be32(p)), position = (int32_t)be32(p + 4), found;
        if (offset == base_offset && !is_first)
            break;
        if ((size_t)(to_end - to) < program->max_size || count == capacity) {
            reason = FULL;
            break;
        }
        if (!extent_at(log, position, position - before < NEAR, &found))
            break;
        before = position;
        if (found != offset) {
            pairs[2 * count] = offset;
            pairs[2 * count++ + 1] = found;
        }
        row.column[C_offset] = offset;
        row.column[C_position] = position;
        to = put_line(to, &line, &row, 0);
    }
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nnni", (Py_ssize_t)(to - (uint8_t *)out.buf), (Py_ssize_t)(p - (const uint8_t *)entries.buf), count,
                           (int)reason);
end:
    PyMem_Free(program);
    PyMem_Free(log);
    PyBuffer_Release(&program_bytes);
    PyBuffer_Release(&entries);
    PyBuffer_Release(&out);
    PyBuffer_Release(&mismatches);
    return result;
}

/* An offset index in memory, searched as Kafka does: which matters where its entries are not in order. */
typedef struct {
    const uint8_t *entries;
    int64_t count, base_offset;
    int tries_end_first;
} OffsetIndex;

#define WARM_ENTRIES 1024 /* at its end, where consumers read, Kafka looks first */

static inline int64_t offset_in(const OffsetIndex *index, int64_t row)
{
    return added(index->base_offset, (int32_t)be32(index->entries + INDEX_ENTRY_SIZE * row));
}

static int64_t position_for(const OffsetIndex *index, int64_t offset)
{
    int64_t low = 0, high = index->count - 1, warm = high > WARM_ENTRIES ? high - WARM_ENTRIES : 0;
    if (!index->count)
        return 0;
    if (index->tries_end_first && offset_in(index, warm) < offset) {
        low = warm;
    } else {
        if (index->tries_end_first)
            high = warm;
        if (offset_in(index, 0) > offset)
            return 0;
    }
    while (low < high) {
        int64_t middle = (low + high + 1) / 2, found = offset_in(index, middle);
        if (found == offset) {
            low = high = middle;
        } else if (found > offset) {
            high = middle - 1;
        } else {
            low = middle;
        }
    }
    return (int32_t)be32(index->entries + INDEX_ENTRY_SIZE * low + 4);
}

/* The largest timestamp in an uncompressed batch of magic 2, at least -1. Returns whether the batch is regular. */
static int max_timestamp_in(const uint8_t *p, int64_t size, int64_t *latest)
{
    const uint8_t *end = p + size, *at = p + BATCH_HEADER_SIZE;
    if ((int8_t)p[16] != 2)
        return 0;
    int64_t base_timestamp = (int64_t)be64(p + 27), max_timestamp = (int64_t)be64(p + 35);
    int32_t count = (int32_t)be32(p + 57);
    int is_append_time = p[22] & TIMESTAMP_TYPE_BIT;
    if (p[22] & CODEC_MASK || count < 0)
        return 0;
    *latest = -1;
    for (; count; count--) {
        Record record;
        if (!(at = read_record(at, end, &record)))
            return 0;
        int64_t timestamp = is_append_time ? max_timestamp : added(base_timestamp, record.timestamp_delta);
        *latest = timestamp > *latest ? timestamp : *latest;
    }
    return at == end;
}

/* What is complained of, as the kind of a complaint. */
enum { NOT_FOUND, TIMESTAMP_MISMATCH, OUT_OF_ORDER };

/* One pass over log and time index: `reached` follows the batches of the log, so that it is known where they begin. It holds a
   piece of the log of its own, `walked`, for the batches that entries lead to lie ahead of it. */
typedef struct {
    IndexedLog *log, *walked;
    const OffsetIndex *index;
    int64_t reached, reached_size; /* where the walk is, and how large the batch there is */
    int64_t *complaints;
    Py_ssize_t complaint_count, complaint_capacity;
} TimeIndexCheck;

/* Moves the walk on to a position. Returns whether a batch begins there. */
static int reach(TimeIndexCheck *check, int64_t position)
{
    int64_t last_offset;
    while (check->reached < position) {
        int64_t size = extent_at(check->walked, check->reached, check->reached_size < NEAR, &last_offset);
        if (!size)
            return 0;
        check->reached += size;
        check->reached_size = size;
    }
    return check->reached == position;
}

static void complain(TimeIndexCheck *check, int64_t kind, int64_t first, int64_t second)
{
    int64_t *complaint = check->complaints + 3 * check->complaint_count++;
    complaint[0] = kind, complaint[1] = first, complaint[2] = second;
}

/* Compares one entry with the log. Returns whether all that it leads to is regular. */
static int check_entry(TimeIndexCheck *check, int64_t timestamp, int64_t offset, int64_t previous)
{
    int64_t position = position_for(check->index, offset), last_offset, size, latest;
    if (position < 0 || !reach(check, position))
        return 0;
    for (size = check->reached_size; (size = extent_at(check->log, position, size < NEAR, &last_offset)); position += size)
        if (last_offset >= offset)
            break;
    if (!size)
        return 0;
    if (last_offset != offset) {
        complain(check, NOT_FOUND, offset, last_offset);
        return 1;
    }
    const uint8_t *p = bytes_at(check->log, position, (size_t)size, size < NEAR);
    if (!p || !max_timestamp_in(p, size, &latest))
        return 0;
    if (latest != timestamp)
        complain(check, TIMESTAMP_MISMATCH, timestamp, latest);
    if (previous >= timestamp)
        complain(check, OUT_OF_ORDER, timestamp, previous);
    return 1;
}

PyDoc_STRVAR(dump_time_index_doc,
             "dump_time_index(program, entries, start, base_offset, previous, offset_index, tries_end_first, reached, descriptor, "
             "log_size, out, filled, complaints)\n-> (filled, end, previous, reached, complaint_count, reason)\n\n"
             "Compare entries with the batches they lead to, and write their lines into `out`. `previous` is the timestamp of the "
             "entry before, `reached` where in the log a batch is known to begin.");

static PyObject *dump_time_index(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer program_bytes, entries, index_bytes, out, complaints;
    Py_ssize_t start, filled;
    long long base_offset, previous, reached, log_size;
    int tries_end_first, descriptor;
    if (!PyArg_ParseTuple(arguments, "y*y*nLLy*pLiLw*nw*:dump_time_index", &program_bytes, &entries, &start, &base_offset, &previous,
                          &index_bytes, &tries_end_first, &reached, &descriptor, &log_size, &out, &filled, &complaints))
        return NULL;
    PyObject *result = NULL;
    Program *program = PyMem_Malloc(sizeof *program);
    IndexedLog *log = PyMem_Malloc(2 * sizeof *log);
    if (!program || !log) {
        PyErr_NoMemory();
        goto end;
    }
    if (!parse_program(program_bytes.buf, (size_t)program_bytes.len, WITHOUT_TEXTS, program) || start < 0 ||
        start > entries.len || filled < 0 || filled > out.len - SLACK || reached < 0 ||
        (uintptr_t)complaints.buf % sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "the program is malformed, or start, out or complaints are out of bounds");
        goto end;
    }
    log->descriptor = descriptor, log->size = log->slice_size = log_size;
    log->held_from = log->held = 0;
    log[1].descriptor = descriptor, log[1].size = log[1].slice_size = log_size;
    log[1].held_from = log[1].held = 0;
    OffsetIndex index = {index_bytes.buf, index_bytes.len / INDEX_ENTRY_SIZE, base_offset, tries_end_first};
    TimeIndexCheck check = {
        .log = log,
        .walked = log + 1,
        .index = &index,
        .reached = reached,
        .complaints = complaints.buf,
        .complaint_capacity = complaints.len / (Py_ssize_t)(3 * sizeof(int64_t)),
    };
    enum reason reason = STOPPED;
    uint8_t *to = (uint8_t *)out.buf + filled, *to_end = (uint8_t *)out.buf + out.len - SLACK;
    const uint8_t *p = (const uint8_t *)entries.buf + start, *entries_end = (const uint8_t *)entries.buf + entries.len;
    Py_BEGIN_ALLOW_THREADS;
    Line line;
    Row row;
    begin_line(&line, program, 0);
    memset(&row, 0, sizeof row);
    for (; entries_end - p >= TIME_INDEX_ENTRY_SIZE; p += TIME_INDEX_ENTRY_SIZE) {
        int64_t timestamp = (int64_t)be64(p), offset = added(base_offset, (int32_t)be32(p + 8));
        if (offset == base_offset && p > (const uint8_t *)entries.buf)
            break;
        if ((size_t)(to_end - to) < program->max_size || check.complaint_count + 2 > check.complaint_capacity) {
            reason = FULL;
            break;
        }
        if (!check_entry(&check, timestamp, offset, previous))
            break;
        previous = timestamp;
        row.column[C_timestamp] = timestamp;
        row.column[C_offset] = offset;
        to = put_line(to, &line, &row, 0);
    }
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("nnLLni", (Py_ssize_t)(to - (uint8_t *)out.buf), (Py_ssize_t)(p - (const uint8_t *)entries.buf),
                           previous, (long long)check.reached, check.complaint_count, (int)reason);
end:
    PyMem_Free(program);
    PyMem_Free(log);
    PyBuffer_Release(&program_bytes);
    PyBuffer_Release(&entries);
    PyBuffer_Release(&index_bytes);
    PyBuffer_Release(&out);
    PyBuffer_Release(&complaints);
    return result;
}

/* --- The functions of the reference ----------------------------------------------------------------------------------- */

/* Lists that grow together; each function adds one item to each. */
#define MAX_LISTS 3

static int new_lists(PyObject **lists, int count)
{
    for (int list = 0; list < count; list++)
        if (!(lists[list] = PyList_New(0))) {
            while (list)
                Py_DECREF(lists[--list]);
            return 0;
        }
    return 1;
}

/* Appends, and takes over the reference. Returns whether it could. */
static int append(PyObject *list, PyObject *item)
{
    int failed = !item || PyList_Append(list, item) < 0;
    Py_XDECREF(item);
    return !failed;
}

static int set_number(PyObject *tuple, Py_ssize_t at, int64_t number)
{
    PyObject *item = PyLong_FromLongLong(number);
    return item && PyTuple_SetItem(tuple, at, item) == 0;
}

static PyObject *tuple_of(const int64_t *numbers, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t at = 0; tuple && at < count; at++)
        if (!set_number(tuple, at, numbers[at])) {
            Py_DECREF(tuple);
            return NULL;
        }
    return tuple;
}

static PyObject *finished(PyObject **lists, int count, Py_ssize_t end, int failed)
{
    PyObject *result = failed ? NULL : PyTuple_New(count + 1);
    PyObject *position = result ? PyLong_FromSsize_t(end) : NULL;
    if (!position) {
        for (int list = 0; list < count; list++)
            Py_DECREF(lists[list]);
        Py_XDECREF(result);
        return NULL;
    }
    for (int list = 0; list < count; list++)
        PyTuple_SetItem(result, list, lists[list]);
    PyTuple_SetItem(result, count, position);
    return result;
}

PyDoc_STRVAR(walk_batches_doc, "walk_batches(window, start, max_codec, checksum), as the reference; it has a checksum of its own.");

static PyObject *walk_batches(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    int max_codec, failed = 0;
    PyObject *checksum, *lists[MAX_LISTS];
    if (!PyArg_ParseTuple(arguments, "y*niO:walk_batches", &window, &start, &max_codec, &checksum))
        return NULL;
    if (!new_lists(lists, 3)) {
        PyBuffer_Release(&window);
        return NULL;
    }
    const uint8_t *bytes = window.buf;
    while (start >= 0 && start <= window.len && is_regular_batch(bytes + start, (size_t)(window.len - start), max_codec)) {
        const uint8_t *p = bytes + start;
        int32_t length = (int32_t)be32(p + 8);
        uint32_t crc = be32(p + 17);
        const int64_t header[] = {
            (int64_t)be64(p),      length,
            (int32_t)be32(p + 12), (int8_t)p[16],
            crc,                   be16(p + 21),
            (int32_t)be32(p + 23), (int64_t)be64(p + 27),
            (int64_t)be64(p + 35), (int64_t)be64(p + 43),
            be16(p + 51),          (int32_t)be32(p + 53),
            (int32_t)be32(p + 57),
        };
        int is_valid = crc32c_over(p + BATCH_CRC_FROM, (size_t)length + LOG_OVERHEAD - BATCH_CRC_FROM) == crc;
        failed = !append(lists[0], tuple_of(header, sizeof header / sizeof *header)) ||
                 !append(lists[1], PyLong_FromSsize_t(start)) || !append(lists[2], PyBool_FromLong(is_valid));
        if (failed)
            break;
        start += (Py_ssize_t)length + LOG_OVERHEAD;
    }
    PyBuffer_Release(&window);
    return finished(lists, 3, start, failed);
}

PyDoc_STRVAR(walk_messages_doc, "walk_messages(window, start, min_magic, max_codec), as the reference.");

static PyObject *walk_messages(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    int min_magic, max_codec, failed = 0;
    PyObject *lists[MAX_LISTS];
    if (!PyArg_ParseTuple(arguments, "y*nii:walk_messages", &window, &start, &min_magic, &max_codec))
        return NULL;
    if (!new_lists(lists, 3)) {
        PyBuffer_Release(&window);
        return NULL;
    }
    const uint8_t *bytes = window.buf;
    while (start >= 0 && start <= window.len &&
           is_regular_message(bytes + start, (size_t)(window.len - start), min_magic, max_codec)) {
        const uint8_t *p = bytes + start;
        int32_t length = (int32_t)be32(p + 8);
        uint32_t crc = be32(p + 12);
        const int64_t header[] = {
            (int64_t)be64(p), length, crc, (int8_t)p[16], (int8_t)p[17], p[16] ? (int64_t)be64(p + 18) : -1,
        };
        int is_valid = crc32_over(p + MESSAGE_CRC_FROM, (size_t)length + LOG_OVERHEAD - MESSAGE_CRC_FROM) == crc;
        failed = !append(lists[0], tuple_of(header, sizeof header / sizeof *header)) ||
                 !append(lists[1], PyLong_FromSsize_t(start)) || !append(lists[2], PyBool_FromLong(is_valid));
        if (failed)
            break;
        start += (Py_ssize_t)length + LOG_OVERHEAD;
    }
    PyBuffer_Release(&window);
    return finished(lists, 3, start, failed);
}

PyDoc_STRVAR(walk_extents_doc, "walk_extents(window, start, window_position), as the reference.");

static PyObject *walk_extents(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    long long window_position;
    int failed = 0;
    PyObject *lists[MAX_LISTS];
    if (!PyArg_ParseTuple(arguments, "y*nL:walk_extents", &window, &start, &window_position))
        return NULL;
    if (!new_lists(lists, 2)) {
        PyBuffer_Release(&window);
        return NULL;
    }
    while (start >= 0 && window.len - start >= EXTENT_SIZE) {
        const uint8_t *p = (const uint8_t *)window.buf + start;
        int32_t length = (int32_t)be32(p + 8), delta = (int32_t)be32(p + 23);
        int64_t offset = (int64_t)be64(p);
        int8_t magic = (int8_t)p[16];
        if (magic < 0 || length < (magic < 2 ? 15 : BATCH_HEADER_SIZE - LOG_OVERHEAD) ||
            length > window.len - start - LOG_OVERHEAD)
            break;
        if (magic >= 2) {
            if (delta < 0 ? offset < INT64_MIN - delta : offset > INT64_MAX - delta)
                break;
            offset += delta;
        }
        failed = !append(lists[0], PyLong_FromLongLong(added(window_position, start))) ||
                 !append(lists[1], PyLong_FromLongLong(offset));
        if (failed)
            break;
        start += (Py_ssize_t)length + LOG_OVERHEAD;
    }
    PyBuffer_Release(&window);
    return finished(lists, 2, start, failed);
}

static PyObject *bytes_or_none(const uint8_t *p, int32_t size)
{
    if (size < 0)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize((const char *)p, size);
}

static PyObject *headers_of(const Record *record)
{
    PyObject *headers = PyTuple_New(record->header_count);
    const uint8_t *p = record->headers;
    for (int32_t at = 0; headers && at < record->header_count; at++) {
        int32_t key_size = 0, value_size = 0;
        const uint8_t *key = varint32(p, p + 5, &key_size);
        const uint8_t *value = varint32(key + key_size, key + key_size + 5, &value_size);
        PyObject *header = Py_BuildValue("NN", bytes_or_none(key, key_size), bytes_or_none(value, value_size));
        if (!header) {
            Py_DECREF(headers);
            return NULL;
        }
        PyTuple_SetItem(headers, at, header);
        p = value + (value_size > 0 ? value_size : 0);
    }
    return headers;
}

static PyObject *row_of(const Record *record, PyObject *no_headers)
{
    PyObject *items[] = {
        PyLong_FromLongLong(record->timestamp_delta),
        PyLong_FromLong(record->offset_delta),
        PyLong_FromLong(record->key_size),
        PyLong_FromLong(record->value_size),
        record->header_count ? headers_of(record) : Py_NewRef(no_headers),
        bytes_or_none(record->key, record->key_size),
        bytes_or_none(record->value, record->value_size),
    };
    Py_ssize_t count = sizeof items / sizeof *items;
    PyObject *row = PyTuple_New(count);
    int failed = !row;
    for (Py_ssize_t at = 0; at < count; at++) {
        failed |= !items[at];
        if (row && items[at])
            PyTuple_SetItem(row, at, items[at]);
        else
            Py_XDECREF(items[at]);
    }
    if (failed)
        Py_CLEAR(row);
    return row;
}

PyDoc_STRVAR(walk_records_doc, "walk_records(data, position, end, count, pause, rows) -> (position, how many it walked)\n\n"
                               "As the reference, up to the first record that is irregular.");

static PyObject *walk_records(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    Py_ssize_t position, end, count, pause, walked = 0;
    PyObject *rows, *no_headers = NULL;
    int failed = 0;
    if (!PyArg_ParseTuple(arguments, "y*nnnnO:walk_records", &data, &position, &end, &count, &pause, &rows))
        return NULL;
    if (position < 0 || end > data.len || position > end) {
        PyErr_SetString(PyExc_ValueError, "position or end is out of bounds");
        failed = 1;
    }
    failed = failed || !(no_headers = PyTuple_New(0));
    const uint8_t *bytes = data.buf;
    while (!failed && walked < count) {
        Record record;
        const uint8_t *next = read_record(bytes + position, bytes + end, &record);
        if (!next)
            break;
        failed = !append(rows, row_of(&record, no_headers));
        position = next - bytes;
        walked++;
        if (position >= pause)
            break;
    }
    PyBuffer_Release(&data);
    Py_XDECREF(no_headers);
    return failed ? NULL : Py_BuildValue("nn", position, walked);
}

#define FIND_BUDGET (8 << 20) /* bytes under checksums, so that bytes made to look like headers cost little */

PyDoc_STRVAR(find_doc, "find(window, start, is_legacy) -> position\n\n"
                       "Where the first regular batch (or message) begins whose checksum fits, from `start` on; -1 for nowhere.");

static PyObject *find(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start, found = -1;
    int is_legacy;
    if (!PyArg_ParseTuple(arguments, "y*np:find", &window, &start, &is_legacy))
        return NULL;
    const uint8_t *bytes = window.buf;
    int64_t budget = FIND_BUDGET;
    Py_BEGIN_ALLOW_THREADS;
    for (; start >= 0 && window.len - start >= MESSAGE_HEADER_SIZE && budget > 0 && found < 0; start++) {
        const uint8_t *p = bytes + start;
        if (!is_legacy) { /* the next place by its magic */
            const uint8_t *magic = memchr(p + MAGIC_AT, 2, (size_t)(window.len - start - MAGIC_AT));
            if (!magic)
                break;
            p = magic - MAGIC_AT;
            start = p - bytes;
        }
        size_t room = (size_t)(window.len - start);
        if (is_legacy ? p[17] & 0xf0 || !is_regular_message(p, room, 0, CODEC_MASK)
                      : !is_regular_batch(p, room, CODEC_MASK) || p[21] || p[22] & 0x80)
            continue;
        size_t size = (size_t)be32(p + 8) + LOG_OVERHEAD;
        budget -= (int64_t)size;
        if (is_legacy ? crc32_over(p + MESSAGE_CRC_FROM, size - MESSAGE_CRC_FROM) == be32(p + 12)
                      : crc32c_over(p + BATCH_CRC_FROM, size - BATCH_CRC_FROM) == be32(p + 17))
            found = start;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&window);
    return PyLong_FromSsize_t(found);
}

PyDoc_STRVAR(crc32c_doc, "crc32c(data, crc=0, way=-1, /): the CRC-32C of these bytes, going on from `crc`.\n\n"
                         "`way` is one of CRC32C, which are those of this processor; -1 for the last of them, the fastest.");

static PyObject *crc32c(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    unsigned int crc = 0;
    int way = -1;
    if (!PyArg_ParseTuple(arguments, "y*|Ii:crc32c", &data, &crc, &way))
        return NULL;
    Checksum *over = way >= 0 && way < crc32c_way_count ? crc32c_ways[way] : crc32c_of;
    Py_BEGIN_ALLOW_THREADS;
    crc = ~over(~crc, data.buf, (size_t)data.len);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(crc);
}

/* --- Digests -------------------------------------------------------------------------------------------------------- */

/* What a run of batches has in common, as numbers; kdump/formats/digest.py says what each is. */
#define DIGEST(_)                                                                                                             \
    _(count) _(end) _(last_position) _(highest_size) _(lowest_magic) _(highest_magic)                                            \
    _(any_attributes) _(all_attributes) _(codecs)                                                                             \
    _(first_offset) _(last_offset)                                                                                            \
    _(gaps) _(missing) _(before_first_gap) _(behind_first_gap) _(before_last_gap) _(behind_last_gap)                          \
    _(first_timestamp) _(last_timestamp) _(lowest_timestamp) _(highest_timestamp) _(timestamps_back)                          \
    _(first_leader_epoch) _(last_leader_epoch) _(lowest_leader_epoch) _(highest_leader_epoch) _(leader_epochs_back)           \
    _(lowest_count) _(empty) _(first_empty) _(last_empty) _(hollow) _(bare)                                                   \
    _(sparse) _(first_sparse) _(last_sparse) _(overfull)                                                                      \
    _(horizons) _(lowest_horizon) _(highest_horizon) _(early_horizons)                                                        \
    _(lowest_producer_id) _(highest_producer_id) _(lowest_producer_epoch) _(highest_producer_epoch)                           \
    _(highest_base_sequence) _(orphans)

#define AS_FIELD(name) int64_t name;
typedef struct {
    DIGEST(AS_FIELD)
} Digest;
static const char *const digest_names[] = {DIGEST(AS_TEXT)};
#define DIGEST_SIZE (sizeof digest_names / sizeof *digest_names)

static inline void note_lowest(int64_t *lowest, int64_t number)
{
    *lowest = number < *lowest ? number : *lowest;
}

static inline void note_highest(int64_t *highest, int64_t number)
{
    *highest = number > *highest ? number : *highest;
}

/* One more of some kind, and where the first and the last of them start. */
static inline void note_place(int64_t *count, int64_t *first, int64_t *last, int64_t position)
{
    if (!(*count)++)
        *first = position;
    *last = position;
}

/* What batches and messages have in common. Returns whether the offsets go on. */
static inline int digest_any(Digest *digest, int64_t position, int64_t size, int magic, unsigned attributes, int64_t first_offset,
                             int64_t last_offset, int64_t timestamp)
{
    if (first_offset < 0 || first_offset > last_offset || (digest->count && first_offset <= digest->last_offset))
        return 0;
    if (!digest->count) {
        digest->first_offset = first_offset;
        digest->first_timestamp = digest->last_timestamp = digest->lowest_timestamp = digest->highest_timestamp = timestamp;
        digest->lowest_magic = digest->highest_magic = magic;
        digest->all_attributes = attributes;
    } else if (first_offset != digest->last_offset + 1) {
        if (!digest->gaps++) {
            digest->before_first_gap = digest->last_position;
            digest->behind_first_gap = position;
        }
        digest->before_last_gap = digest->last_position;
        digest->behind_last_gap = position;
        digest->missing += first_offset - digest->last_offset - 1;
    }
    digest->timestamps_back += timestamp < digest->last_timestamp;
    digest->last_timestamp = timestamp;
    note_lowest(&digest->lowest_timestamp, timestamp);
    note_highest(&digest->highest_timestamp, timestamp);
    note_lowest(&digest->lowest_magic, magic);
    note_highest(&digest->highest_magic, magic);
    note_highest(&digest->highest_size, size);
    digest->any_attributes |= attributes;
    digest->all_attributes &= attributes;
    digest->codecs |= 1 << (attributes & CODEC_MASK);
    digest->last_offset = last_offset;
    digest->last_position = position;
    digest->end = added(position, size);
    digest->count++;
    return 1;
}

/* Takes in the regular batch at `p`. Returns whether it is sound, and in order. */
static inline int digest_batch(Digest *digest, const uint8_t *p, int64_t position, int64_t size)
{
    int64_t base_offset = (int64_t)be64(p), timestamp = (int64_t)be64(p + 35), producer_id = (int64_t)be64(p + 43);
    int64_t leader_epoch = (int32_t)be32(p + 12), delta = (int32_t)be32(p + 23), count = (int32_t)be32(p + 57);
    int64_t producer_epoch = be16(p + 51), base_sequence = (int32_t)be32(p + 53);
    unsigned attributes = (uint16_t)be16(p + 21);
    if (p[16] != 2 || (delta > 0 && base_offset > INT64_MAX - delta) || delta < 0)
        return 0;
    if (crc32c_over(p + BATCH_CRC_FROM, (size_t)size - BATCH_CRC_FROM) != be32(p + 17))
        return 0;
    int is_first = !digest->count;
    if (!digest_any(digest, position, size, 2, attributes, base_offset, base_offset + delta, timestamp))
        return 0;
    if (is_first) {
        digest->first_leader_epoch = digest->lowest_leader_epoch = digest->highest_leader_epoch = leader_epoch;
        digest->lowest_count = count;
        digest->lowest_producer_id = digest->highest_producer_id = producer_id;
        digest->lowest_producer_epoch = digest->highest_producer_epoch = producer_epoch;
        digest->highest_base_sequence = base_sequence;
    } else {
        digest->leader_epochs_back += leader_epoch < digest->last_leader_epoch;
    }
    digest->last_leader_epoch = leader_epoch;
    note_lowest(&digest->lowest_leader_epoch, leader_epoch);
    note_highest(&digest->highest_leader_epoch, leader_epoch);
    note_lowest(&digest->lowest_count, count);
    note_lowest(&digest->lowest_producer_id, producer_id);
    note_highest(&digest->highest_producer_id, producer_id);
    note_lowest(&digest->lowest_producer_epoch, producer_epoch);
    note_highest(&digest->highest_producer_epoch, producer_epoch);
    note_highest(&digest->highest_base_sequence, base_sequence);
    if (count != delta + 1) {
        if (!count)
            note_place(&digest->empty, &digest->first_empty, &digest->last_empty, position);
        else if (count > delta)
            digest->overfull++;
        else if (count > 0)
            note_place(&digest->sparse, &digest->first_sparse, &digest->last_sparse, position);
    }
    digest->hollow += count <= 0 && size > BATCH_HEADER_SIZE;
    digest->bare += count > 0 && size == BATCH_HEADER_SIZE;
    digest->orphans += (attributes & TRANSACTIONAL_BIT) && !(attributes & CONTROL_BIT) && producer_id == -1;
    if (attributes & DELETE_HORIZON_BIT) {
        int64_t horizon = (int64_t)be64(p + 27);
        if (!digest->horizons++)
            digest->lowest_horizon = digest->highest_horizon = horizon;
        note_lowest(&digest->lowest_horizon, horizon);
        note_highest(&digest->highest_horizon, horizon);
        digest->early_horizons += horizon < timestamp;
    }
    return 1;
}

static inline int digest_message(Digest *digest, const uint8_t *p, int64_t position, int64_t size)
{
    int64_t offset = (int64_t)be64(p);
    return crc32_over(p + MESSAGE_CRC_FROM, (size_t)size - MESSAGE_CRC_FROM) == be32(p + 12) &&
           digest_any(digest, position, size, (int8_t)p[16], p[17], offset, offset, p[16] ? (int64_t)be64(p + 18) : -1);
}

/* The columns of a run that was digested: where each batch starts in the file, its first and last offset, and its timestamp. */
#define DIGEST_COLUMNS 4

static inline void fill_row(int64_t *const columns[DIGEST_COLUMNS], int64_t row, const uint8_t *p, int64_t position, int is_legacy)
{
    int64_t offset = (int64_t)be64(p);
    columns[0][row] = position;
    columns[1][row] = offset;
    columns[2][row] = is_legacy ? offset : added(offset, (int32_t)be32(p + 23));
    columns[3][row] = !is_legacy ? (int64_t)be64(p + 35) : p[16] ? (int64_t)be64(p + 18) : -1;
}

static PyObject *digest_window(Py_buffer *window, Py_ssize_t start, long long window_position, int is_legacy, int min_magic,
                               int max_codec)
{
    const uint8_t *bytes = window->buf;
    Digest digest;
    int is_sound = 1;
    memset(&digest, 0, sizeof digest);
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t at = start; is_sound && at >= 0 && at <= window->len;) {
        const uint8_t *p = bytes + at;
        size_t room = (size_t)(window->len - at);
        if (is_legacy ? !is_regular_message(p, room, min_magic, max_codec) : !is_regular_batch(p, room, max_codec))
            break;
        int64_t size = (int64_t)be32(p + 8) + LOG_OVERHEAD;
        int64_t position = added(window_position, at);
        is_sound = is_legacy ? digest_message(&digest, p, position, size) : digest_batch(&digest, p, position, size);
        at += size;
    }
    Py_END_ALLOW_THREADS;
    if (!is_sound || !digest.count)
        return Py_NewRef(Py_None);
    PyObject *result = PyTuple_New(5), *numbers = result ? tuple_of((const int64_t *)&digest, DIGEST_SIZE) : NULL;
    int64_t *columns[DIGEST_COLUMNS];
    if (!numbers || PyTuple_SetItem(result, 0, numbers) < 0)
        goto failed;
    for (int column = 0; column < DIGEST_COLUMNS; column++) {
        PyObject *data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(digest.count * (int64_t)sizeof(int64_t)));
        if (!data || PyTuple_SetItem(result, column + 1, data) < 0)
            goto failed;
        columns[column] = (int64_t *)(void *)PyBytes_AsString(data);
    }
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t row = 0, at = start; row < digest.count; row++, at += (int64_t)be32(bytes + at + 8) + LOG_OVERHEAD)
        fill_row(columns, row, bytes + at, added(window_position, at), is_legacy);
    Py_END_ALLOW_THREADS;
    return result;
failed:
    Py_XDECREF(result);
    return NULL;
}

PyDoc_STRVAR(digest_batches_doc,
             "digest_batches(window, start, window_position, max_codec, checksum), as the reference; it has a checksum of its own.");

static PyObject *digest_batches(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    long long window_position;
    int max_codec;
    PyObject *checksum;
    if (!PyArg_ParseTuple(arguments, "y*nLiO:digest_batches", &window, &start, &window_position, &max_codec, &checksum))
        return NULL;
    PyObject *result = digest_window(&window, start, window_position, 0, 0, max_codec);
    PyBuffer_Release(&window);
    return result;
}

PyDoc_STRVAR(digest_messages_doc, "digest_messages(window, start, window_position, min_magic, max_codec), as the reference.");

static PyObject *digest_messages(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t start;
    long long window_position;
    int min_magic, max_codec;
    if (!PyArg_ParseTuple(arguments, "y*nLii:digest_messages", &window, &start, &window_position, &min_magic, &max_codec))
        return NULL;
    PyObject *result = digest_window(&window, start, window_position, 1, min_magic, max_codec);
    PyBuffer_Release(&window);
    return result;
}

/* --- Runs of producers ----------------------------------------------------------------------------------------------- */

/* Neighbouring batches of one producer that go on as they should, though others stand between them; kdump/binary/digest_reference.py
   says what each number is. */
#define RUN(_)                                                                                                                \
    _(producer_id) _(epoch) _(kind) _(base_sequence) _(last_sequence) _(base_offset) _(position) _(end)                       \
    _(last_base_offset) _(last_offset) _(control_type) _(coordinator_epoch)                                                   \
    _(commits) _(first_coordinator_epoch) _(commit_offset) _(is_open)

typedef struct {
    RUN(AS_FIELD)
} Run;
static const char *const run_names[] = {RUN(AS_TEXT)};
#define RUN_SIZE (sizeof run_names / sizeof *run_names)

enum run_kind { PLAIN, TRANSACTIONAL, EMPTY_TRANSACTIONAL, MARKER };

typedef struct {
    Run *runs;
    int64_t count, room;
    int64_t *producers; /* by hash: the number of the last run of a producer and 1, 0 for none */
    uint64_t mask;
} Runs;

/* Where the number of a producer's last run stands. */
static inline int64_t *last_run(const Runs *runs, int64_t producer_id)
{
    uint64_t at = ((uint64_t)producer_id * 0x9e3779b97f4a7c15u) >> 20;
    for (;; at++) {
        int64_t *run = runs->producers + (at & runs->mask);
        if (!*run || runs->runs[*run - 1].producer_id == producer_id)
            return run;
    }
}

/* Room for the runs of so many batches. Returns whether there is memory. */
static int begin_runs(Runs *runs, int64_t most)
{
    *runs = (Runs){.mask = 63};
    while (runs->mask < 2 * (uint64_t)most)
        runs->mask = 2 * runs->mask + 1;
    runs->producers = calloc((size_t)runs->mask + 1, sizeof(int64_t));
    return runs->producers != NULL;
}

static void end_runs(Runs *runs)
{
    free(runs->runs);
    free(runs->producers);
}

/* What was taken, or None where a batch was not as such a batch should be. */
static PyObject *runs_as_bytes(const Runs *runs, int taken)
{
    if (taken < 0)
        return PyErr_NoMemory();
    if (!taken)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize((const char *)runs->runs, (Py_ssize_t)(runs->count * (int64_t)sizeof(Run)));
}

#define MARKER_SIZE 78
#define COMMIT 1 /* the type of a marker */

/* A control batch with the usual marker of a transaction and nothing else. */
static inline int is_marker(const uint8_t *p, int64_t size)
{
    static const uint8_t start[] = {0x20, 0, 0, 0, 8, 0, 0, 0}, middle[] = {12, 0, 0};
    return size == MARKER_SIZE && be32(p + 57) == 1 && (p[22] & 0x37) == (TRANSACTIONAL_BIT | CONTROL_BIT) &&
           !memcmp(p + 61, start, sizeof start) && p[69] <= 1 && !memcmp(p + 70, middle, sizeof middle);
}

/* Takes in one batch. Returns 1, 0 where it is not as such a batch should be, -1 where there is no memory. */
static int take_batch(Runs *runs, const uint8_t *p, int64_t position, int64_t size)
{
    int64_t base_offset = (int64_t)be64(p), last_offset = added(base_offset, (int32_t)be32(p + 23));
    int64_t producer_id = (int64_t)be64(p + 43);
    int32_t base = (int32_t)be32(p + 53), last = later_sequence(base, (int32_t)be32(p + 23));
    int16_t epoch = be16(p + 51);
    enum run_kind kind = !(p[22] & TRANSACTIONAL_BIT) ? PLAIN : be32(p + 57) ? TRANSACTIONAL : EMPTY_TRANSACTIONAL;
    if (p[22] & CONTROL_BIT) {
        kind = MARKER;
        last = base;
        if (producer_id < 0 || !is_marker(p, size))
            return 0;
    } else if (producer_id < 0) {
        return producer_id == -1;
    } else if (base < 0 || last < base || (int32_t)be32(p + 23) < 0) {
        return 0;
    }
    int64_t *before = last_run(runs, producer_id);
    Run *run = *before ? runs->runs + *before - 1 : NULL;
    if (run && kind != MARKER && run->kind == (int64_t)kind && run->epoch == epoch && run->last_sequence + 1 == base) {
        if (!run->is_open) {
            run->base_offset = base_offset;
            run->position = position;
            run->end = added(position, size);
        }
        run->last_sequence = last;
        run->last_base_offset = base_offset;
        run->last_offset = last_offset;
        run->is_open = 1;
        return 1;
    }
    if (run && kind == MARKER && p[69] == COMMIT && run->kind == TRANSACTIONAL && run->epoch == epoch && run->is_open) {
        int64_t coordinator_epoch = (int32_t)be32(p + 73);
        if (!run->commits)
            run->first_coordinator_epoch = coordinator_epoch;
        if (!run->commits || coordinator_epoch >= run->coordinator_epoch) {
            run->coordinator_epoch = coordinator_epoch;
            run->commit_offset = last_offset;
            run->commits++;
            run->is_open = 0;
            return 1;
        }
    }
    if (runs->count == runs->room) {
        int64_t room = runs->room ? 2 * runs->room : 64;
        Run *larger = realloc(runs->runs, (size_t)room * sizeof(Run));
        if (!larger)
            return -1;
        runs->runs = larger;
        runs->room = room;
    }
    runs->runs[runs->count] = (Run){
        .producer_id = producer_id,
        .epoch = epoch,
        .kind = kind,
        .base_sequence = base,
        .last_sequence = last,
        .base_offset = base_offset,
        .position = position,
        .end = added(position, size),
        .last_base_offset = base_offset,
        .last_offset = last_offset,
        .control_type = kind == MARKER ? p[69] : 0,
        .coordinator_epoch = kind == MARKER ? (int32_t)be32(p + 73) : 0,
        .is_open = kind != MARKER,
    };
    *before = ++runs->count;
    return 1;
}

PyDoc_STRVAR(producer_runs_doc, "producer_runs(window, start, count, window_position), as the reference.");

static PyObject *producer_runs(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer window;
    Py_ssize_t at, count;
    long long window_position;
    if (!PyArg_ParseTuple(arguments, "y*nnL:producer_runs", &window, &at, &count, &window_position))
        return NULL;
    const uint8_t *bytes = window.buf;
    Runs runs;
    Py_ssize_t most = window.len / BATCH_HEADER_SIZE; /* batches, and so producers */
    int taken = begin_runs(&runs, most < count ? most : count > 0 ? count : 0) ? 1 : -1;
    Py_BEGIN_ALLOW_THREADS;
    for (; taken > 0 && count > 0; count--) {
        if (at < 0 || at > window.len || !is_regular_batch(bytes + at, (size_t)(window.len - at), CODEC_MASK)) {
            taken = 0;
            break;
        }
        int64_t size = (int64_t)be32(bytes + at + 8) + LOG_OVERHEAD;
        taken = take_batch(&runs, bytes + at, added(window_position, at), size);
        at += size;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&window);
    PyObject *result = runs_as_bytes(&runs, taken);
    end_runs(&runs);
    return result;
}

/* --- A log, digested a piece at a time ------------------------------------------------------------------------------- */

#define STRETCH (256 << 10) /* bytes that are read at once: they stay in the cache until they are digested */

typedef struct {
    int descriptor;
    uint8_t *bytes; /* `held` of them, from `position` of the log on; there is room for `size` */
    int64_t position, end;
    size_t held, size;
} Stretch;

/* Holds at least `need` bytes of the log from `at` on, if it has so many, and as a rule all up to `stop`. Returns how many. */
static size_t hold(Stretch *stretch, int64_t at, size_t need, int64_t stop)
{
    size_t passed = (size_t)(at - stretch->position), held = stretch->held - passed;
    if (held >= need)
        return held;
    int64_t wanted = stop - at < STRETCH ? stop - at : STRETCH;
    wanted = wanted < (int64_t)need ? (int64_t)need : wanted;
    wanted = wanted < stretch->end - at ? wanted : stretch->end - at;
    wanted = wanted < (int64_t)stretch->size ? wanted : (int64_t)stretch->size;
    memmove(stretch->bytes, stretch->bytes + passed, held);
    stretch->position = at;
    while ((int64_t)held < wanted) {
        ssize_t count = pread(stretch->descriptor, stretch->bytes + held, (size_t)wanted - held, (off_t)(at + (int64_t)held));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break; /* who reads here next will say why */
        held += (size_t)count;
    }
    stretch->held = held;
    return held;
}

/* A piece of a log: its digest, `most` rows of columns in one piece of memory, and runs unless `taken` is 0. */
typedef struct {
    Digest digest;
    int64_t most, *rows, *columns[DIGEST_COLUMNS];
    Runs runs;
    int taken, is_legacy;
} Piece;

/* Digests regular batches, or messages, that start before `stop`, up to the first that is not sound or not in order. */
static void digest_piece(Piece *piece, Stretch *stretch, int64_t at, int64_t stop, int max_codec)
{
    Digest *digest = &piece->digest;
    while (at < stop && digest->count < piece->most && piece->taken >= 0) {
        size_t room = hold(stretch, at, BATCH_HEADER_SIZE, stop);
        const uint8_t *p = stretch->bytes + (at - stretch->position);
        int64_t size = room < LOG_OVERHEAD ? 0 : (int64_t)(int32_t)be32(p + 8) + LOG_OVERHEAD;
        if (size > (int64_t)room && size <= (int64_t)stretch->size) {
            room = hold(stretch, at, (size_t)size, stop);
            p = stretch->bytes + (at - stretch->position);
        }
        if (!digest->count)
            piece->is_legacy = room > 16 && (int8_t)p[16] < 2;
        if (piece->is_legacy ? !is_regular_message(p, room, 0, max_codec) || !digest_message(digest, p, at, size)
                             : !is_regular_batch(p, room, max_codec) || !digest_batch(digest, p, at, size))
            return;
        fill_row(piece->columns, digest->count - 1, p, at, piece->is_legacy);
        if (!piece->is_legacy && piece->taken && (be64(p + 43) != UINT64_MAX || p[22] & CONTROL_BIT)) {
            if (!piece->runs.producers && !begin_runs(&piece->runs, piece->most))
                piece->taken = -1;
            else
                piece->taken = take_batch(&piece->runs, p, at, size);
        }
        at += size;
    }
}

static PyObject *piece_as_tuple(const Piece *piece)
{
    if (piece->taken >= 0 && !piece->digest.count)
        return Py_NewRef(Py_None);
    PyObject *result = PyTuple_New(DIGEST_COLUMNS + 2);
    PyObject *parts[DIGEST_COLUMNS + 2] = {tuple_of((const int64_t *)&piece->digest, DIGEST_SIZE),
                                           runs_as_bytes(&piece->runs, piece->taken)};
    for (int column = 0; column < DIGEST_COLUMNS; column++)
        parts[column + 2] = PyBytes_FromStringAndSize((const char *)piece->columns[column], (Py_ssize_t)(piece->digest.count * 8));
    int failed = !result;
    for (int part = 0; part < DIGEST_COLUMNS + 2; part++) {
        failed |= !parts[part];
        if (result && parts[part])
            PyTuple_SetItem(result, part, parts[part]);
        else
            Py_XDECREF(parts[part]);
    }
    if (failed)
        Py_CLEAR(result);
    return result;
}

PyDoc_STRVAR(digest_log_doc,
             "digest_log(descriptor, position, stop, end, most, max_codec, window) -> (numbers, runs, and four columns) or None\n\n"
             "Digest the batches of magic 2, or the messages, of a log that begin at `position` and start before `stop`: up to the "
             "first that is irregular, not sound or not in order, or larger than `window`, which is memory to read into; and no more "
             "than `most`. None where there is none.");

static PyObject *digest_log(PyObject *self, PyObject *arguments)
{
    (void)self;
    Stretch stretch = {0};
    Piece piece = {.taken = 1};
    Py_buffer window;
    PyObject *result = NULL;
    long long position, stop, end, most;
    int max_codec;
    if (!PyArg_ParseTuple(arguments, "iLLLLiw*:digest_log", &stretch.descriptor, &position, &stop, &end, &most, &max_codec, &window))
        return NULL;
    if (position < 0 || end < position || most < 0 || most > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "position, end or most is out of bounds");
        goto end;
    }
    piece.most = most;
    piece.rows = malloc((size_t)most * DIGEST_COLUMNS * sizeof(int64_t) + 1);
    if (!piece.rows) {
        PyErr_NoMemory();
        goto end;
    }
    for (int column = 0; column < DIGEST_COLUMNS; column++)
        piece.columns[column] = piece.rows + column * most;
    stretch.bytes = window.buf;
    stretch.size = (size_t)window.len;
    stretch.position = position;
    stretch.end = end;
    Py_BEGIN_ALLOW_THREADS;
    digest_piece(&piece, &stretch, position, stop < end ? stop : end, max_codec);
    Py_END_ALLOW_THREADS;
    result = piece_as_tuple(&piece);
    end_runs(&piece.runs);
    free(piece.rows);
end:
    PyBuffer_Release(&window);
    return result;
}

/* --- Columns in little memory ---------------------------------------------------------------------------------------- */

/* Numbers in blocks, and less than a block behind them; kdump/checks/packed_ints.py says how. */
#define BLOCK_ROWS 256
#define BLOCK_SHIFT 8
enum entry { E_first, E_base, E_step, E_start, E_width, ENTRY_NUMBERS };

typedef struct {
    Py_buffer directory, data, tail;
    const int64_t *entries; /* a row of ENTRY_NUMBERS for each block */
    const uint8_t *bytes;
    const int64_t *rest;
    int64_t blocks, rows;
    int64_t near; /* the block that was searched last */
    int is_sorted;
} Column;

/* The 64-bit numbers in a buffer, NULL with an error where they cannot be read as such; what is empty may lie anywhere. */
static const int64_t *aligned(const Py_buffer *buffer)
{
    static const int64_t nothing;
    if (!buffer->len)
        return &nothing;
    if ((uintptr_t)buffer->buf % 8 == 0)
        return buffer->buf;
    PyErr_SetString(PyExc_ValueError, "numbers are not aligned");
    return NULL;
}

static void release_column(Column *column)
{
    PyBuffer_Release(&column->directory);
    PyBuffer_Release(&column->data);
    PyBuffer_Release(&column->tail);
}

/* For PyArg_ParseTuple: takes a tuple of directory, data and tail, all of whose blocks lie inside of the data. */
static int column_of(PyObject *object, void *address)
{
    Column *column = address;
    if (!object) { /* an argument behind this one could not be taken */
        release_column(column);
        return 1;
    }
    memset(column, 0, sizeof *column);
    if (!PyTuple_Check(object) || !PyArg_ParseTuple(object, "y*y*y*", &column->directory, &column->data, &column->tail)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a column is a tuple of three buffers");
        return 0;
    }
    column->entries = aligned(&column->directory);
    column->rest = aligned(&column->tail);
    column->bytes = column->data.buf;
    if (!column->entries || !column->rest) {
        release_column(column);
        return 0;
    }
    column->is_sorted = 1;
    column->blocks = column->directory.len / (8 * ENTRY_NUMBERS);
    column->rows = column->blocks * BLOCK_ROWS + column->tail.len / 8;
    int is_sound = column->directory.len % (8 * ENTRY_NUMBERS) == 0 && column->tail.len % 8 == 0 &&
                   column->tail.len / 8 < BLOCK_ROWS;
    for (int64_t block = 0; is_sound && block < column->blocks; block++) {
        const int64_t *entry = column->entries + block * ENTRY_NUMBERS;
        int64_t width = entry[E_width];
        column->is_sorted &= !block || entry[E_first - ENTRY_NUMBERS] <= entry[E_first];
        is_sound = entry[E_step] || ((width == 1 || width == 2 || width == 4 || width == 8) && entry[E_start] >= 0 &&
                                     entry[E_start] <= column->data.len - width * BLOCK_ROWS);
    }
    if (!is_sound) {
        PyErr_SetString(PyExc_ValueError, "this is no column");
        release_column(column);
        return 0;
    }
    return Py_CLEANUP_SUPPORTED;
}

static inline int64_t in_block(const Column *column, const int64_t *entry, int64_t row)
{
    if (entry[E_step])
        return (int64_t)((uint64_t)entry[E_first] + (uint64_t)entry[E_step] * (uint64_t)row);
    const uint8_t *p = column->bytes + entry[E_start] + row * entry[E_width];
    uint64_t distance = 0;
    switch (entry[E_width]) {
    case 1:
        distance = *p;
        break;
    case 2: {
        uint16_t two;
        memcpy(&two, p, 2);
        distance = two;
        break;
    }
    case 4: {
        uint32_t four;
        memcpy(&four, p, 4);
        distance = four;
        break;
    }
    default:
        memcpy(&distance, p, 8);
    }
    return (int64_t)((uint64_t)entry[E_base] + distance);
}

static inline int64_t number_in(const Column *column, int64_t row)
{
    int64_t block = row >> BLOCK_SHIFT;
    if (block == column->blocks)
        return column->rest[row & (BLOCK_ROWS - 1)];
    return in_block(column, column->entries + block * ENTRY_NUMBERS, row & (BLOCK_ROWS - 1));
}

static inline int64_t first_of(const Column *column, int64_t block)
{
    return column->entries[block * ENTRY_NUMBERS + E_first];
}

/* The first row of an ascending column that is not below this number; quickly where that is near the one before. In a column that
   does not ascend it is the row that Python's bisect_left comes to. */
static int64_t row_in(Column *column, int64_t number)
{
    int64_t low = 0, high = column->blocks; /* the first block whose first number is not below */
    if (column->is_sorted && column->near < column->blocks && first_of(column, column->near) < number) {
        low = column->near + 1;
        if (low < column->blocks && first_of(column, low) >= number)
            high = low;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (first_of(column, middle) < number)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t rows_in_blocks = column->blocks * BLOCK_ROWS;
    if (low < column->blocks || column->rows == rows_in_blocks || column->rest[0] >= number) {
        if (!low)
            return 0;
        low--;
    }
    column->near = low;
    int64_t row = low * BLOCK_ROWS, end = row + BLOCK_ROWS < column->rows ? row + BLOCK_ROWS : column->rows;
    while (row < end) {
        int64_t middle = row + (end - row) / 2;
        if (number_in(column, middle) < number)
            row = middle + 1;
        else
            end = middle;
    }
    return row;
}

/* Puts one block into the directory, and its distances from its lowest number to `out`, unless it is even. Returns their size. */
static int64_t pack_block(const int64_t *numbers, int64_t start, int64_t *entry, uint8_t *out)
{
    int64_t first = numbers[0], lowest = first, highest = first;
    uint64_t step = (uint64_t)numbers[1] - (uint64_t)first;
    int is_even = 1;
    for (int row = 1; row < BLOCK_ROWS; row++) {
        is_even &= (uint64_t)numbers[row] - (uint64_t)numbers[row - 1] == step;
        note_lowest(&lowest, numbers[row]);
        note_highest(&highest, numbers[row]);
    }
    uint64_t span = (uint64_t)highest - (uint64_t)lowest, distance = step >> 63 ? 0 - step : step;
    entry[E_first] = first;
    entry[E_base] = entry[E_step] = entry[E_width] = 0;
    entry[E_start] = start;
    /* small steps, and as many as lead from the lowest to the highest: nothing wraps */
    if (is_even && distance && distance < (uint64_t)1 << 32 && (BLOCK_ROWS - 1) * distance == span) {
        entry[E_step] = (int64_t)step;
        return 0;
    }
    int64_t width = span < 1u << 8 ? 1 : span < 1u << 16 ? 2 : span < (uint64_t)1 << 32 ? 4 : 8;
    entry[E_base] = lowest;
    entry[E_width] = width;
    for (int row = 0; row < BLOCK_ROWS; row++) {
        uint64_t eight = (uint64_t)numbers[row] - (uint64_t)lowest;
        uint8_t one = (uint8_t)eight;
        uint16_t two = (uint16_t)eight;
        uint32_t four = (uint32_t)eight;
        memcpy(out + row * width, width == 1 ? (void *)&one : width == 2 ? (void *)&two : width == 4 ? (void *)&four : (void *)&eight,
               (size_t)width);
    }
    return width * BLOCK_ROWS;
}

PyDoc_STRVAR(pack_doc, "pack(numbers, start) -> (directory, data)\n\n"
                       "Blocks of 64-bit numbers as a column keeps them, their data from `start` on; less than a block at the end is "
                       "left out.");

static PyObject *pack(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer buffer;
    long long start;
    if (!PyArg_ParseTuple(arguments, "y*L:pack", &buffer, &start))
        return NULL;
    const int64_t *numbers = aligned(&buffer);
    Py_ssize_t blocks = buffer.len / 8 / BLOCK_ROWS;
    PyObject *directory = numbers ? PyBytes_FromStringAndSize(NULL, blocks * 8 * ENTRY_NUMBERS) : NULL;
    PyObject *data = directory ? PyBytes_FromStringAndSize(NULL, blocks * 8 * BLOCK_ROWS) : NULL, *result = NULL;
    if (data) {
        uint8_t *out = (uint8_t *)PyBytes_AsString(data);
        int64_t filled = 0;
        for (Py_ssize_t block = 0; block < blocks; block++) {
            int64_t entry[ENTRY_NUMBERS];
            filled += pack_block(numbers + block * BLOCK_ROWS, added(start, filled), entry, out + filled);
            memcpy(PyBytes_AsString(directory) + block * (Py_ssize_t)sizeof entry, entry, sizeof entry);
        }
        result = Py_BuildValue("Oy#", directory, (char *)out, (Py_ssize_t)filled);
    }
    Py_XDECREF(directory);
    Py_XDECREF(data);
    PyBuffer_Release(&buffer);
    return result;
}

PyDoc_STRVAR(numbers_of_doc, "numbers_of(column, start, end): the numbers in neighbouring rows, as 64-bit numbers.");

static PyObject *numbers_of(PyObject *self, PyObject *arguments)
{
    (void)self;
    Column column;
    Py_ssize_t start, end;
    if (!PyArg_ParseTuple(arguments, "O&nn:numbers_of", column_of, &column, &start, &end))
        return NULL;
    PyObject *result = NULL;
    if (start < 0 || end > column.rows)
        PyErr_SetString(PyExc_ValueError, "there are no such rows");
    else if ((result = PyBytes_FromStringAndSize(NULL, start < end ? (end - start) * 8 : 0))) {
        char *out = PyBytes_AsString(result);
        for (Py_ssize_t row = start; row < end; row++, out += 8) {
            int64_t number = number_in(&column, row);
            memcpy(out, &number, 8);
        }
    }
    release_column(&column);
    return result;
}

PyDoc_STRVAR(numbers_at_doc, "numbers_at(column, rows): the numbers in these rows, as 64-bit numbers.");
PyDoc_STRVAR(rows_of_doc, "rows_of(column, numbers): for each number the first row of an ascending column that is not below it, as "
                          "64-bit numbers.");

static PyObject *mapped(PyObject *arguments, const char *format, int to_rows)
{
    Column column;
    Py_buffer given;
    if (!PyArg_ParseTuple(arguments, format, column_of, &column, &given))
        return NULL;
    const int64_t *numbers = aligned(&given);
    Py_ssize_t count = given.len / 8;
    PyObject *result = numbers ? PyBytes_FromStringAndSize(NULL, count * 8) : NULL;
    char *out = result ? PyBytes_AsString(result) : NULL;
    for (Py_ssize_t at = 0; out && at < count; at++) {
        if (!to_rows && (numbers[at] < 0 || numbers[at] >= column.rows)) {
            PyErr_SetString(PyExc_ValueError, "there is no such row");
            Py_CLEAR(result);
            break;
        }
        int64_t number = to_rows ? row_in(&column, numbers[at]) : number_in(&column, numbers[at]);
        memcpy(out + 8 * at, &number, 8);
    }
    PyBuffer_Release(&given);
    release_column(&column);
    return result;
}

static PyObject *numbers_at(PyObject *self, PyObject *arguments)
{
    (void)self;
    return mapped(arguments, "O&y*:numbers_at", 0);
}

static PyObject *rows_of(PyObject *self, PyObject *arguments)
{
    (void)self;
    return mapped(arguments, "O&y*:rows_of", 1);
}

/* --- Digests of indexes ---------------------------------------------------------------------------------------------- */

PyDoc_STRVAR(digest_index_doc,
             "digest_index(entries, base_offset, previous_offset, previous_position, gap_start, log_size, positions, first_offsets, "
             "last_offsets), as kdump/checks/index_digest.py.");

static PyObject *digest_index(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer entries;
    long long base_offset, previous_offset, previous_position, gap_start, log_size;
    Column positions, firsts, lasts;
    if (!PyArg_ParseTuple(arguments, "y*LLLLLO&O&O&:digest_index", &entries, &base_offset, &previous_offset, &previous_position,
                          &gap_start, &log_size, column_of, &positions, column_of, &firsts, column_of, &lasts))
        return NULL;
    const uint8_t *p = entries.buf;
    int64_t count = entries.len / 8, offset = previous_offset, position = previous_position;
    int64_t smallest_gap = INT64_MAX, largest_gap = 0, first_kind = 0, last_kind = 0;
    int is_sound = entries.len % 8 == 0 && count && positions.rows == firsts.rows && positions.rows == lasts.rows;
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t entry = 0; is_sound && entry < count; entry++, p += 8) {
        int64_t next_offset = (int32_t)be32(p), next_position = (int32_t)be32(p + 4);
        int64_t row = row_in(&positions, next_position), wanted = added(base_offset, next_offset);
        int64_t gap = (int64_t)((uint64_t)next_position - (uint64_t)(entry ? position : gap_start));
        is_sound = next_offset > offset && next_position > position && next_position < log_size && next_offset >= 0 &&
                   row < positions.rows && number_in(&positions, row) == next_position;
        if (!is_sound)
            break;
        int64_t first = number_in(&firsts, row), last = number_in(&lasts, row);
        is_sound = wanted == first || wanted == last;
        first_kind += wanted == first && first < last;
        last_kind += wanted == last && first < last;
        note_lowest(&smallest_gap, gap);
        note_highest(&largest_gap, gap);
        offset = next_offset;
        position = next_position;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&entries);
    release_column(&positions);
    release_column(&firsts);
    release_column(&lasts);
    const int64_t numbers[] = {offset, position, smallest_gap, largest_gap, first_kind, last_kind};
    return is_sound ? tuple_of(numbers, sizeof numbers / sizeof *numbers) : Py_NewRef(Py_None);
}

PyDoc_STRVAR(digest_time_index_doc,
             "digest_time_index(entries, base_offset, previous_timestamp, previous_offset, first_offsets, last_offsets, timestamps), "
             "as kdump/checks/index_digest.py.");

static PyObject *digest_time_index(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer entries;
    long long base_offset, previous_timestamp, previous_offset;
    Column firsts, lasts, timestamps;
    if (!PyArg_ParseTuple(arguments, "y*LLLO&O&O&:digest_time_index", &entries, &base_offset, &previous_timestamp,
                          &previous_offset, column_of, &firsts, column_of, &lasts, column_of, &timestamps))
        return NULL;
    const uint8_t *p = entries.buf;
    int64_t count = entries.len / 12, timestamp = previous_timestamp, offset = previous_offset, inside = 0;
    int is_sound = entries.len % 12 == 0 && count && lasts.rows == firsts.rows && lasts.rows == timestamps.rows;
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t entry = 0; is_sound && entry < count; entry++, p += 12) {
        int64_t next_timestamp = (int64_t)be64(p), next_offset = (int32_t)be32(p + 8);
        int64_t wanted = added(base_offset, next_offset), row = row_in(&lasts, wanted);
        is_sound = next_timestamp > timestamp && next_offset >= offset && next_offset >= 0 && row < lasts.rows &&
                   number_in(&timestamps, row) == next_timestamp;
        if (!is_sound)
            break;
        int is_inside = number_in(&lasts, row) != wanted;
        is_sound = !is_inside || number_in(&firsts, row) <= wanted;
        inside += is_inside;
        timestamp = next_timestamp;
        offset = next_offset;
    }
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&entries);
    release_column(&firsts);
    release_column(&lasts);
    release_column(&timestamps);
    const int64_t numbers[] = {timestamp, offset, inside};
    return is_sound ? tuple_of(numbers, sizeof numbers / sizeof *numbers) : Py_NewRef(Py_None);
}

/* --- The module ---------------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"compile_plan", compile_plan, METH_VARARGS, compile_plan_doc},
    {"dump", dump, METH_VARARGS, dump_doc},
    {"dump_log", dump_log, METH_VARARGS, dump_log_doc},
    {"dump_index", dump_index, METH_VARARGS, dump_index_doc},
    {"dump_time_index", dump_time_index, METH_VARARGS, dump_time_index_doc},
    {"digest_batches", digest_batches, METH_VARARGS, digest_batches_doc},
    {"digest_messages", digest_messages, METH_VARARGS, digest_messages_doc},
    {"find", find, METH_VARARGS, find_doc},
    {"digest_index", digest_index, METH_VARARGS, digest_index_doc},
    {"digest_time_index", digest_time_index, METH_VARARGS, digest_time_index_doc},
    {"numbers_at", numbers_at, METH_VARARGS, numbers_at_doc},
    {"numbers_of", numbers_of, METH_VARARGS, numbers_of_doc},
    {"pack", pack, METH_VARARGS, pack_doc},
    {"producer_runs", producer_runs, METH_VARARGS, producer_runs_doc},
    {"digest_log", digest_log, METH_VARARGS, digest_log_doc},
    {"rows_of", rows_of, METH_VARARGS, rows_of_doc},
    {"walk_log", walk_log, METH_VARARGS, walk_log_doc},
    {"walk_batches", walk_batches, METH_VARARGS, walk_batches_doc},
    {"walk_messages", walk_messages, METH_VARARGS, walk_messages_doc},
    {"walk_extents", walk_extents, METH_VARARGS, walk_extents_doc},
    {"walk_records", walk_records, METH_VARARGS, walk_records_doc},
    {"crc32c", crc32c, METH_VARARGS, crc32c_doc},
    {NULL, NULL, 0, NULL},
};

/* Adds a tuple of names to the module. Returns whether it could. */
static int add_names(PyObject *module, const char *attribute, const char *const *names, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int at = 0; tuple && at < count; at++) {
        PyObject *name = PyUnicode_FromString(names[at]);
        if (!name || PyTuple_SetItem(tuple, at, name) < 0)
            Py_CLEAR(tuple);
    }
    int failed = !tuple || PyModule_AddObjectRef(module, attribute, tuple) < 0;
    Py_XDECREF(tuple);
    return !failed;
}

static int fill_module(PyObject *module)
{
    choose_checksums();
    choose_text_check();
    int is_filled = add_names(module, "COLUMNS", column_names, COLUMN_COUNT) && add_names(module, "DIGEST", digest_names, DIGEST_SIZE) &&
                    add_names(module, "RUN", run_names, RUN_SIZE) && add_names(module, "CRC32C", crc32c_names, crc32c_way_count);
    return is_filled ? 0 : -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kdump.binary._kernel",
    .m_doc = "The inner loops over windows of bytes, in C.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&definition);
}
