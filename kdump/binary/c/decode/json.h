/* Kafka's JSON of messages that are known to be regular. */

#pragma once

#include <stdint.h>
#include <string.h>
#include "bytes/encodings.h"
#include "decode/messages.h"
#include "bytes/numbers.h"
#include "bytes/utf8.h"

static inline uint8_t *put_label(uint8_t *out, const Messages *messages, Label label)
{
    return put_padded(out, messages->pool + label.at, label.size);
}

/* --- Values */

static uint8_t *put_uuid(uint8_t *out, const uint8_t *p)
{
    *out++ = '"';
    out = put_base64_digits(out, p, UUID_SIZE, BASE64_URL_DIGITS);
    *out++ = '"';
    return out;
}

static uint8_t *put_bytes_json(uint8_t *out, const uint8_t *p, size_t size)
{
    *out++ = '"';
    out = put_base64(out, p, size);
    *out++ = '"';
    return out;
}

static int needs_escape(uint8_t byte)
{
    return byte < 0x20 || byte == '"' || byte == '\\';
}

static uint8_t *put_escaped_byte(uint8_t *out, uint8_t byte)
{
    *out++ = '\\';
    if (byte == '"' || byte == '\\') {
        *out++ = byte;
    } else if (escape_letter(byte)) {
        *out++ = escape_letter(byte);
    } else {
        memcpy(out, byte < 16 ? "u000" : "u001", 4);
        out[4] = (uint8_t)"0123456789ABCDEF"[byte & 15];
        out += 5;
    }
    return out;
}

/* Text escaped as Jackson does. What is escaped is ASCII, so the parts between are decoded by themselves. */
static uint8_t *put_escaped_text(uint8_t *out, const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size;
    for (;;) {
        const uint8_t *start = p;
        while (p < end && !needs_escape(*p))
            p++;
        out = put_text(out, start, (size_t)(p - start));
        if (p == end)
            return out;
        out = put_escaped_byte(out, *p++);
    }
}

static uint8_t *put_string(uint8_t *out, const uint8_t *p, size_t size)
{
    *out++ = '"';
    out = put_escaped_text(out, p, size);
    *out++ = '"';
    return out;
}

/* A decimal number as Java shows a double. */
static uint8_t *put_double(uint8_t *out, Decimal decimal)
{
    uint8_t digits[MAX_NUMBER_TEXT + SLACK];
    uint64_t number = (uint64_t)decimal.digits, scale = (uint64_t)powers_of_ten[decimal.scale];
    if (decimal.digits < 0) {
        *out++ = '-';
        number = 0 - number;
    }
    if (number / scale < MOST_PLAIN) {
        out = put_number(out, (int64_t)(number / scale));
        *out++ = '.';
        put_eight_digits(digits, (uint32_t)(number % scale));
        size_t count = decimal.scale ? (size_t)decimal.scale : 1;
        memcpy(out, digits + 8 - count, count);
        return out + count;
    }
    size_t count = (size_t)(put_number(digits, (int64_t)number) - digits), last = count;
    while (last > 2 && digits[last - 1] == '0')
        last--;
    *out++ = digits[0];
    *out++ = '.';
    memcpy(out, digits + 1, last - 1);
    out += last - 1;
    *out++ = 'E';
    return put_number(out, (int64_t)count - 1);
}

/* --- Messages: each function puts what lies at `*p`, and moves it to the end. There is room: `Reading.text_size` has been compared
   with it. */

typedef struct {
    Reading reading;
    int is_consumer; /* bytes are shown as the messages they contain */
    const uint8_t *end;
} Json;

static uint8_t *put_struct(uint8_t *out, Json *json, const Struct *layout, const uint8_t **p);

static uint8_t *put_sized(uint8_t *out, Json *json, const Field *field, const uint8_t *p, size_t size)
{
    if (field->kind == F_string)
        return put_string(out, p, size);
    if (json->is_consumer && field->child != NO_STRUCT) {
        const Struct *layout = contained_layout(&json->reading, field->child, p, p + size);
        if (layout) {
            Json inner = {json->reading, 0, p + size};
            p += 2;
            return put_struct(out, &inner, layout, &p);
        }
    }
    return put_bytes_json(out, p, size);
}

static uint8_t *put_value(uint8_t *out, Json *json, const Field *field, int is_flexible, int is_element, const uint8_t **p)
{
    int32_t size = 0;
    if (field->kind < F_string) {
        const uint8_t *at = *p;
        *p += fixed_sizes[field->kind];
        if (field->kind == F_uuid)
            return put_uuid(out, at);
        if (field->kind == F_float64) {
            Decimal decimal;
            is_decimal(at, &decimal);
            return put_double(out, decimal);
        }
        int64_t number = number_at(at, field->kind);
        if (field->name_count)
            return put_label(out, json->reading.messages, json->reading.messages->piece_texts[field->first_name + number]);
        if (field->kind == F_bool)
            return number ? PUT(out, "true") : PUT(out, "false");
        return put_number(out, number);
    }
    if (field->kind == F_struct) {
        if (field->flags & IS_NULLABLE && !is_element) {
            int is_null;
            if (field->tag >= 0) {
                *p = unsigned_varint(*p, json->end, &size);
                is_null = !size;
            } else {
                is_null = (int8_t)*(*p)++ < 0;
            }
            if (is_null)
                return PUT(out, "null");
        }
        return put_struct(out, json, &json->reading.messages->structs[field->child], p);
    }
    *p = length_at(*p, json->end, is_flexible, field->kind == F_string ? 2 : 4, &size);
    if (size < 0)
        return PUT(out, "null");
    out = put_sized(out, json, field, *p, (size_t)size);
    *p += size;
    return out;
}

static uint8_t *put_member(uint8_t *out, Json *json, const Field *field, int is_flexible, const uint8_t *p)
{
    int32_t count = 0;
    if (!(field->flags & IS_ARRAY))
        return put_value(out, json, field, is_flexible, 0, &p);
    p = length_at(p, json->end, is_flexible, 4, &count);
    if (count < 0)
        return PUT(out, "null");
    *out++ = '[';
    for (int32_t at = 0; at < count; at++) {
        if (at)
            *out++ = ',';
        out = put_value(out, json, field, is_flexible, 1, &p);
    }
    *out++ = ']';
    return out;
}

static uint8_t *put_struct(uint8_t *out, Json *json, const Struct *layout, const uint8_t **p)
{
    const Messages *messages = json->reading.messages;
    const uint8_t *places[MAX_FIELDS_OF_STRUCT];
    *p = read_struct(&json->reading, layout, *p, json->end, places);
    *out++ = '{';
    int is_first = 1;
    for (int at = 0; at < layout->shown_count; at++) {
        int place = messages->shown[layout->first_shown + at];
        const Field *field = &messages->fields[layout->first_field + place];
        if (place >= layout->field_count) {
            if (!places[place] || has_default(&json->reading, field, layout->is_flexible, places[place], json->end))
                continue;
        }
        if (!is_first)
            *out++ = ',';
        is_first = 0;
        out = put_label(out, messages, field->label);
        out = put_member(out, json, field, layout->is_flexible, places[place]);
    }
    *out++ = '}';
    return out;
}
