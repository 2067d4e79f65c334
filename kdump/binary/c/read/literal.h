/* Finds where a literal stands in bytes (`find_literal`). The two bytes of the literal that are rarest in texts are looked for; the
   rest is compared where both stand. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAS_WIDE_SEARCH 1
#endif

#define CASE_BIT 0x20

/* A literal of at least one byte. With `folds`, its letters are lower case, and stand for both cases. */
typedef struct {
    const uint8_t *bytes;
    size_t size, first, second; /* where its two rarest bytes stand */
    int folds;
} Literal;

/* Bytes that are common in texts and in records, the most common first. */
static const char common_bytes[] = "e \"taoinsrlcdu:,0123456789mphg-_bfyvwk./{}xqjzETAOINSRLCDUMPHGBFYVWK\n";

static int8_t rarities[256]; /* how rare each byte is: the higher, the rarer */

/* Ranks all bytes, when the module is loaded. */
static void rank_bytes(void)
{
    memset(rarities, INT8_MAX, sizeof rarities);
    for (size_t at = 0; at < sizeof common_bytes - 1; at++)
        rarities[(uint8_t)common_bytes[at]] = (int8_t)at;
    rarities[0] = -1; /* there are many in what is no text */
}

static int is_lower_letter(uint8_t byte)
{
    return byte >= 'a' && byte <= 'z';
}

static Literal literal_of(const uint8_t *bytes, size_t size, int folds)
{
    Literal literal = {bytes, size, 0, size - 1, folds};
    int best = -2, next = -2;
    for (size_t at = 0; at < size; at++) {
        int rare = rarities[bytes[at]];
        if (rare > best) {
            literal.second = best > -2 ? literal.first : literal.second;
            next = best > -2 ? best : next;
            literal.first = at;
            best = rare;
        } else if (rare > next) {
            literal.second = at;
            next = rare;
        }
    }
    return literal;
}

/* What a byte is compared with, and the bits that are set before: none unless both cases count. */
static uint8_t case_mask(const Literal *literal, size_t at)
{
    return literal->folds && is_lower_letter(literal->bytes[at]) ? CASE_BIT : 0;
}

static int stands_at(const uint8_t *p, const Literal *literal)
{
    if (!literal->folds)
        return !memcmp(p, literal->bytes, literal->size);
    for (size_t at = 0; at < literal->size; at++)
        if ((p[at] | case_mask(literal, at)) != literal->bytes[at])
            return 0;
    return 1;
}

/* The two rarest bytes of a literal, and the bits that are set before bytes are compared with them. */
typedef struct {
    uint8_t first_byte, first_bits, second_byte, second_bits;
} Probe;

#ifdef HAS_WIDE_SEARCH
/* Of the places where both bytes stand, as bits from `at` on, the first where the whole literal stands; -1 for none. */
static int64_t first_whole(const uint8_t *p, int64_t at, uint64_t places, const Literal *literal)
{
    for (; places; places &= places - 1)
        if (stands_at(p + at + __builtin_ctzll(places), literal))
            return at + __builtin_ctzll(places);
    return -1;
}

/* Looks at 64 places at a time, up to `last`. Sets `at` to the first place that was not looked at. */
__attribute__((target("avx2"))) static int64_t place_by_32(const uint8_t *p, int64_t *at, int64_t last, const Literal *literal, Probe probe)
{
    const uint8_t *first = p + literal->first, *second = p + literal->second;
    const __m256i first_byte = _mm256_set1_epi8((char)probe.first_byte), first_bits = _mm256_set1_epi8((char)probe.first_bits);
    const __m256i second_byte = _mm256_set1_epi8((char)probe.second_byte), second_bits = _mm256_set1_epi8((char)probe.second_bits);
#define FOUND_AT(from)                                                                                                               \
    _mm256_and_si256(                                                                                                                \
        _mm256_cmpeq_epi8(_mm256_or_si256(_mm256_loadu_si256((const __m256i *)(const void *)(first + (from))), first_bits), first_byte), \
        _mm256_cmpeq_epi8(_mm256_or_si256(_mm256_loadu_si256((const __m256i *)(const void *)(second + (from))), second_bits), second_byte))
    for (; *at + 64 <= last + 1; *at += 64) {
        __m256i low = FOUND_AT(*at), high = FOUND_AT(*at + 32);
        if (!_mm256_movemask_epi8(_mm256_or_si256(low, high)))
            continue;
        uint64_t places = (uint64_t)(uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
        int64_t place = first_whole(p, *at, places, literal);
        if (place >= 0)
            return place;
    }
#undef FOUND_AT
    return -1;
}

/* The same with what each x86-64 processor has. */
static int64_t place_by_16(const uint8_t *p, int64_t *at, int64_t last, const Literal *literal, Probe probe)
{
    const uint8_t *first = p + literal->first, *second = p + literal->second;
    const __m128i first_byte = _mm_set1_epi8((char)probe.first_byte), first_bits = _mm_set1_epi8((char)probe.first_bits);
    const __m128i second_byte = _mm_set1_epi8((char)probe.second_byte), second_bits = _mm_set1_epi8((char)probe.second_bits);
    for (; *at + 16 <= last + 1; *at += 16) {
        __m128i by_first = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)(first + *at)), first_bits);
        __m128i by_second = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)(second + *at)), second_bits);
        __m128i found = _mm_and_si128(_mm_cmpeq_epi8(by_first, first_byte), _mm_cmpeq_epi8(by_second, second_byte));
        unsigned places = (unsigned)_mm_movemask_epi8(found);
        int64_t place = places ? first_whole(p, *at, places, literal) : -1;
        if (place >= 0)
            return place;
    }
    return -1;
}
#endif

/* Where the literal stands first in `count` bytes; -1 for nowhere. */
static int64_t place_of(const uint8_t *p, int64_t count, const Literal *literal)
{
    int64_t at = 0, last = count - (int64_t)literal->size;
    size_t first = literal->first, second = literal->second;
    Probe probe = {literal->bytes[first], case_mask(literal, first), literal->bytes[second], case_mask(literal, second)};
#ifdef HAS_WIDE_SEARCH
    int64_t place = __builtin_cpu_supports("avx2") ? place_by_32(p, &at, last, literal, probe) : -1;
    if (place < 0)
        place = place_by_16(p, &at, last, literal, probe);
    if (place >= 0)
        return place;
#endif
    for (; at <= last; at++)
        if ((p[(size_t)at + first] | probe.first_bits) == probe.first_byte && (p[(size_t)at + second] | probe.second_bits) == probe.second_byte &&
            stands_at(p + at, literal))
            return at;
    return -1;
}

PyDoc_STRVAR(find_literal_doc, "find_literal(data, start, end, literal, folds) -> position, -1 for nowhere\n\n"
                               "Where the literal stands first between `start` and `end`. With `folds`, its letters (of ASCII) are lower "
                               "case, and stand for both cases.");

static PyObject *find_literal(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data, bytes;
    Py_ssize_t start, end;
    int folds;
    int64_t place = -1;
    if (!PyArg_ParseTuple(arguments, "y*nny*p:find_literal", &data, &start, &end, &bytes, &folds))
        return NULL;
    int is_in_bounds = start >= 0 && start <= end && end <= data.len && bytes.len > 0;
    if (is_in_bounds) {
        Literal literal = literal_of(bytes.buf, (size_t)bytes.len, folds);
        Py_BEGIN_ALLOW_THREADS;
        place = place_of((const uint8_t *)data.buf + start, end - start, &literal);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&data);
    PyBuffer_Release(&bytes);
    if (!is_in_bounds)
        return PyErr_Format(PyExc_ValueError, "start or end is out of bounds, or the literal is empty");
    return PyLong_FromLongLong(place < 0 ? -1 : start + place);
}
