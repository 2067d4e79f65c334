/* Cells: what programs put into rows of JSON and CSV, which are the same bytes as those of kdump/output/rows.
   program.h parses the steps, and hands those of this chapter to `put_cell`. */

#pragma once

#include <Python.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "bytes/encodings.h"
#include "bytes/numbers.h"
#include "text/rows.h"
#include "bytes/utf8.h"
#include "bytes/varint.h"

/* The most that cells take: for each byte of a record (six for an escape such as "\u0001"), around each header, and around each cell. */
#define CELL_GROWTH 6
#define CELL_HEADER_SIZE 96
#define CELL_SIZE 32
#define NUMBER_ROOM 40 /* for the digits of a number, and what is written after them */

/* They continue the operations of programs. */
enum cell_operation {
    JSON_HEADERS = 64,
    CSV_HEADERS,
    JSON_BYTES, /* key or value, whose size is the column, and the Base64 of what is not UTF-8: two values with the name between them */
    CSV_BYTES,
    CELL_OPERATION_END
};

static inline int is_cell_operation(int operation)
{
    return operation >= JSON_HEADERS && operation < CELL_OPERATION_END;
}

static inline int shows_headers(int operation)
{
    return operation == JSON_HEADERS || operation == CSV_HEADERS;
}

static inline int shows_bytes(int operation)
{
    return operation == JSON_BYTES || operation == CSV_BYTES;
}

/* --- Words of eight bytes, the first in the lowest byte */

#define EACH_BYTE 0x0101010101010101u
#define HIGH_BITS 0x8080808080808080u

/* Up to eight bytes; blanks stand for those that are not there. */
static inline uint64_t eight_bytes(const uint8_t *p, size_t size)
{
    uint64_t eight = 0x20 * EACH_BYTE;
    if (size >= 8)
        memcpy(&eight, p, 8);
    else
        for (size_t at = 0; at < size && at < 8; at++)
            ((uint8_t *)&eight)[at] = p[at];
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    eight = __builtin_bswap64(eight);
#endif
    return eight;
}

/* The high bit of each byte that equals `byte`, or is less than `limit`. Bits above the lowest one that is set may be wrong. */
static inline uint64_t equal_to(uint64_t eight, uint8_t byte)
{
    uint64_t rest = eight ^ byte * EACH_BYTE;
    return (rest - EACH_BYTE) & ~rest & HIGH_BITS;
}

static inline uint64_t less_than(uint64_t eight, uint8_t limit)
{
    return (eight - limit * EACH_BYTE) & ~eight & HIGH_BITS;
}

/* The same for bytes that are not printable ASCII, without blank. */
static inline uint64_t not_printable(uint64_t eight)
{
    return less_than(eight, 0x20) | ((((eight & ~HIGH_BITS) + EACH_BYTE) | eight) & HIGH_BITS);
}

/* How many bytes come before the first whose high bit is set. */
static inline size_t bytes_before(uint64_t bits)
{
    size_t count = 0;
#if defined(__GNUC__)
    count = (size_t)__builtin_ctzll(bits) / 8;
#else
    for (; !(bits & 0x80); bits >>= 8)
        count++;
#endif
    return count;
}

/* --- Characters. Which are printable depends on the Unicode version of Python: it is asked once for each page that occurs. */

#define PAGE_SIZE_OF_CHARACTERS 256
#define PAGE_COUNT (0x110000 / PAGE_SIZE_OF_CHARACTERS)

static struct {
    atomic_uchar is_known[PAGE_COUNT];
    uint8_t bits[PAGE_COUNT][PAGE_SIZE_OF_CHARACTERS / 8];
} printable; /* filled with the GIL held, read without */

/* Whether Python says that it is printable; negative where there is no memory for the question. */
static int asked_printable(uint32_t character)
{
    PyObject *text = PyUnicode_FromOrdinal((int)character);
    PyObject *answer = text ? PyObject_CallMethod(text, "isprintable", NULL) : NULL;
    int is_printable = answer ? answer == Py_True : -1;
    Py_XDECREF(text);
    Py_XDECREF(answer);
    PyErr_Clear();
    return is_printable;
}

static void ask_page(uint32_t page)
{
    PyGILState_STATE state = PyGILState_Ensure();
    if (!atomic_load_explicit(&printable.is_known[page], memory_order_relaxed)) {
        uint8_t bits[PAGE_SIZE_OF_CHARACTERS / 8] = {0};
        int is_answered = 1;
        for (uint32_t at = 0; is_answered && at < PAGE_SIZE_OF_CHARACTERS; at++) {
            int answer = asked_printable(page * PAGE_SIZE_OF_CHARACTERS + at);
            is_answered = answer >= 0;
            if (answer > 0)
                bits[at / 8] |= (uint8_t)(1 << at % 8);
        }
        if (is_answered) { /* if not, these characters are escaped for now, which no reader of JSON can tell */
            memcpy(printable.bits[page], bits, sizeof bits);
            atomic_store_explicit(&printable.is_known[page], 1, memory_order_release);
        }
    }
    PyGILState_Release(state);
}

static inline int is_printable(uint32_t character)
{
    uint32_t page = character / PAGE_SIZE_OF_CHARACTERS, at = character % PAGE_SIZE_OF_CHARACTERS;
    if (!atomic_load_explicit(&printable.is_known[page], memory_order_acquire))
        ask_page(page);
    return printable.bits[page][at / 8] >> at % 8 & 1;
}

/* The next character of well-formed UTF-8. Returns its end. */
static inline const uint8_t *next_character(const uint8_t *p, uint32_t *character)
{
    uint32_t lead = p[0];
    if (lead < 0x80) {
        *character = lead;
        return p + 1;
    }
    if (lead < 0xe0) {
        *character = (lead & 0x1f) << 6 | (p[1] & 0x3fu);
        return p + 2;
    }
    if (lead < 0xf0) {
        *character = (lead & 0x0f) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        return p + 3;
    }
    *character = (lead & 0x07) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
    return p + 4;
}

/* Whether all of this well-formed text is printable. */
static int is_printable_text(const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        uint64_t strange = not_printable(eight_bytes(p, (size_t)(end - p)));
        if (!strange) {
            p += end - p < 8 ? end - p : 8;
            continue;
        }
        p += bytes_before(strange);
        uint32_t character;
        p = next_character(p, &character);
        if (character < 0x80 || !is_printable(character))
            return 0;
    }
    return 1;
}

/* --- JSON */

static const char hex_digits[] = "0123456789abcdef";

static uint8_t *put_hex(uint8_t *out, uint32_t number, int digits)
{
    for (int at = digits - 1; at >= 0; at--)
        *out++ = (uint8_t)hex_digits[number >> 4 * at & 15];
    return out;
}

/* Text with backslashes before quotes and backslashes, up to the first byte that is not printable ASCII. Returns where that is. */
static inline const uint8_t *put_json_run(uint8_t **to, const uint8_t *p, const uint8_t *end)
{
    uint8_t *out = *to;
    while (p < end) {
        size_t left = (size_t)(end - p);
        uint64_t eight = eight_bytes(p, left);
        uint64_t special = equal_to(eight, '"') | equal_to(eight, '\\') | not_printable(eight);
        put_bytes(out, eight, 8);
        if (!special) {
            size_t size = left < 8 ? left : 8;
            out += size;
            p += size;
            continue;
        }
        size_t size = bytes_before(special);
        out += size;
        p += size;
        if (*p != '"' && *p != '\\')
            break;
        *out++ = '\\';
        *out++ = *p++;
    }
    *to = out;
    return p;
}

static uint8_t *put_json_escape(uint8_t *out, uint32_t character)
{
    *out++ = '\\';
    if (escape_letter(character)) {
        *out++ = escape_letter(character);
        return out;
    }
    *out++ = 'u';
    if (character < 0x10000)
        return put_hex(out, character, 4);
    character -= 0x10000;
    out = put_hex(out, 0xd800 + (character >> 10), 4);
    out = PUT(out, "\\u");
    return put_hex(out, 0xdc00 + (character & 0x3ff), 4);
}

/* The rest of a text that is not printable ASCII from `p` on: as it is if all is printable, or else as ASCII. */
static uint8_t *put_json_rest(uint8_t *out, const uint8_t *p, const uint8_t *end, int is_all_printable)
{
    while (p < end) {
        p = put_json_run(&out, p, end);
        if (p == end)
            break;
        uint32_t character;
        const uint8_t *next = next_character(p, &character);
        if (is_all_printable)
            for (; p < next; p++)
                *out++ = *p;
        else
            out = put_json_escape(out, character);
        p = next;
    }
    return out;
}

/* A JSON string of these bytes, or NULL if they are not UTF-8. */
static uint8_t *put_json_string(uint8_t *out, const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size, *start = p;
    uint8_t *first = out;
    *out++ = '"';
    p = put_json_run(&out, p, end);
    if (p < end) { /* one character that is not printable makes all others that are not ASCII escapes */
        if (!is_well_formed_text(p, (size_t)(end - p)))
            return NULL;
        out = put_json_rest(first + 1, start, end, is_printable_text(p, end));
    }
    *out++ = '"';
    return out;
}

/* Bytes as two values: a JSON string and null, or null and Base64 if they are not UTF-8. `between` is put between them. */
static uint8_t *put_json_pair(uint8_t *out, const uint8_t *p, int64_t size, const char *between, size_t between_size)
{
    uint8_t *end = size < 0 ? NULL : put_json_string(out, p, (size_t)size);
    if (end)
        return PUT(put_words(end, between, between_size), "null");
    out = put_words(PUT(out, "null"), between, between_size);
    if (size < 0)
        return PUT(out, "null");
    *out++ = '"';
    out = put_base64(out, p, (size_t)size);
    *out++ = '"';
    return out;
}

#define PUT_PAIR(out, p, size, between) put_json_pair(out, p, size, between, sizeof(between) - 1)

/* The headers of a record, which are known to be regular, as a list of objects. */
static uint8_t *put_json_headers(uint8_t *out, const Row *row)
{
    const uint8_t *p = row->headers;
    *out++ = '[';
    for (int64_t header = 0; header < row->column[C_header_count]; header++) {
        int32_t size = 0;
        p = varint32(p, p + 5, &size);
        out = header ? PUT(out, ",{\"key\":") : PUT(out, "{\"key\":");
        out = PUT_PAIR(out, p, size, ",\"keyBase64\":");
        p += size;
        p = varint32(p, p + 5, &size);
        out = PUT(out, ",\"value\":");
        out = PUT_PAIR(out, p, size, ",\"valueBase64\":");
        p += size > 0 ? size : 0;
        *out++ = '}';
    }
    *out++ = ']';
    return out;
}

/* --- CSV */

/* Which bytes make a field need quotes, and whether it has others than ASCII. */
static void scan_field(const uint8_t *p, const uint8_t *end, int *needs_quotes, int *has_high)
{
    uint64_t special = 0, high = 0;
    for (; p < end; p += 8) {
        uint64_t eight = eight_bytes(p, (size_t)(end - p));
        special |= equal_to(eight, '"') | equal_to(eight, ',') | equal_to(eight, '\r') | equal_to(eight, '\n');
        high |= eight;
        if (end - p < 8)
            break;
    }
    *needs_quotes = special != 0;
    *has_high = (high & HIGH_BITS) != 0;
}

static uint8_t *put_quoted(uint8_t *out, const uint8_t *p, const uint8_t *end)
{
    *out++ = '"';
    while (p < end) {
        size_t left = (size_t)(end - p), size = left < 8 ? left : 8;
        uint64_t eight = eight_bytes(p, left), quotes = equal_to(eight, '"');
        put_bytes(out, eight, 8);
        size = quotes ? bytes_before(quotes) : size;
        out += size;
        p += size;
        if (quotes) {
            *out++ = '"', *out++ = '"';
            p++;
        }
    }
    *out++ = '"';
    return out;
}

/* Bytes as two fields: text, or Base64 if they are not UTF-8; both are empty for null. */
static uint8_t *put_csv_pair(uint8_t *out, const uint8_t *p, int64_t size)
{
    int needs_quotes, has_high;
    if (size < 0) {
        *out++ = ',';
        return out;
    }
    const uint8_t *end = p + size;
    scan_field(p, end, &needs_quotes, &has_high);
    if (has_high && !is_well_formed_text(p, (size_t)size)) {
        *out++ = ',';
        return put_base64(out, p, (size_t)size);
    }
    if (needs_quotes || !size) {
        out = put_quoted(out, p, end);
    } else {
        memcpy(out, p, (size_t)size);
        out += size;
    }
    *out++ = ',';
    return out;
}

/* The same objects as one field: their text is put, and then moved to make room for quotes. */
static uint8_t *put_csv_headers(uint8_t *out, const Row *row)
{
    uint8_t *end = put_json_headers(out, row), *from = end;
    size_t quotes = 2;
    if (!row->column[C_header_count]) /* [] */
        return end;
    for (const uint8_t *p = out; p < end; p++)
        quotes += *p == '"';
    uint8_t *to = end + quotes;
    *--to = '"';
    while (from > out) {
        *--to = *--from;
        if (*from == '"')
            *--to = '"';
    }
    *--to = '"';
    return end + quotes;
}

/* --- Steps */

static inline int64_t contents_of(const Row *row, int column, const uint8_t **p)
{
    *p = column == C_key_size ? row->key : row->value;
    return row->column[column == C_key_size ? C_key_size : C_value_size];
}

/* Puts what follows the literal of a step of this chapter. The column of bytes is that of their size. */
static uint8_t *put_cell(uint8_t *out, int operation, int column, const Row *row)
{
    const uint8_t *p;
    int64_t size = contents_of(row, column, &p);
    switch (operation) {
    case JSON_HEADERS:
        return put_json_headers(out, row);
    case CSV_HEADERS:
        return put_csv_headers(out, row);
    case JSON_BYTES:
        return column == C_key_size ? PUT_PAIR(out, p, size, ",\"keyBase64\":") : PUT_PAIR(out, p, size, ",\"valueBase64\":");
    case CSV_BYTES:
        return put_csv_pair(out, p, size);
    default:
        return out;
    }
}
