/* Words, Base64 and the escapes that have a letter: what Kafka's JSON (json.h) and cells of rows (cells.h) have in common. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint8_t *put_words(uint8_t *out, const char *words, size_t size)
{
    memcpy(out, words, size);
    return out + size;
}

#define COPY_SIZE 32 /* texts of a pool are copied in units of this size, however short they are */

/* Puts a text after which at least COPY_SIZE more bytes can be read. Bytes after it are overwritten, or lie after the end of the line. */
static inline uint8_t *put_padded(uint8_t *out, const uint8_t *p, size_t size)
{
    for (size_t at = 0; at < size; at += COPY_SIZE)
        memcpy(out + at, p + at, COPY_SIZE);
    return out + size;
}

#define PUT(out, words) put_words(out, words, sizeof(words) - 1)

#define BASE64_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
#define BASE64_URL_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/* Base64 without padding; `digits` are the 64 of them. */
static uint8_t *put_base64_digits(uint8_t *out, const uint8_t *p, size_t size, const char *digits)
{
    for (; size >= 3; p += 3, size -= 3) {
        uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *out++ = (uint8_t)digits[bits >> shift & 63];
    }
    if (size) {
        uint32_t bits = (uint32_t)p[0] << 16 | (size == 2 ? (uint32_t)p[1] << 8 : 0);
        *out++ = (uint8_t)digits[bits >> 18];
        *out++ = (uint8_t)digits[bits >> 12 & 63];
        if (size == 2)
            *out++ = (uint8_t)digits[bits >> 6 & 63];
    }
    return out;
}

static uint8_t *put_base64(uint8_t *out, const uint8_t *p, size_t size)
{
    out = put_base64_digits(out, p, size, BASE64_DIGITS);
    for (size_t padding = (3 - size % 3) % 3; padding; padding--)
        *out++ = '=';
    return out;
}

/* The letter after the backslash that JSON escapes a control character with; 0 if it has none. */
static inline uint8_t escape_letter(uint32_t character)
{
    return character >= 8 && character <= 13 ? (uint8_t) "btn\0fr"[character - 8] : 0;
}
