/* Kafka's JSON of messages that are known to be regular, and of the records of internal topics. */

#pragma once

#include <stdint.h>
#include <string.h>
#include "encodings.h"
#include "messages.h"
#include "numbers.h"
#include "records.h"
#include "utf8.h"

static inline uint8_t *put_label(uint8_t *out, const Messages *messages, Label label)
{
    return put_words(out, (const char *)messages->pool + label.at, label.size);
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

/* Text in quotes, escaped as Jackson does. What is escaped is ASCII, so the parts between are decoded by themselves. */
static uint8_t *put_string(uint8_t *out, const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size;
    *out++ = '"';
    for (;;) {
        const uint8_t *start = p;
        while (p < end && !needs_escape(*p))
            p++;
        out = put_text(out, start, (size_t)(p - start));
        if (p == end)
            break;
        out = put_escaped_byte(out, *p++);
    }
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
    int32_t size;
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
    int32_t count;
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

/* --- Records of internal topics */

/* A record whose key and value have been read. */
typedef struct {
    const Messages *messages;
    const RecordType *type;
    const ControlType *control; /* or NULL */
    const Struct *value_layout; /* NULL for a record without value */
    int version, is_consumer;
    const uint8_t *key, *key_end, *value, *value_end;
    uint64_t text_size; /* at most */
} DecodedRecord;

static const RecordType *type_of(const Messages *messages, int number)
{
    for (int at = 0; at < messages->type_count; at++)
        if (messages->types[at].type == number)
            return &messages->types[at];
    return NULL;
}

/* Whether the first field of a group, its protocol type, is "consumer". */
static int is_consumer_group(const Struct *layout, const uint8_t *p, const uint8_t *end)
{
    static const char consumer[] = "consumer";
    int32_t size;
    p = length_at(p, end, layout->is_flexible, 2, &size);
    return p && size == sizeof consumer - 1 && size <= end - p && !memcmp(p, consumer, sizeof consumer - 1);
}

/* Reads the value of a record, from its message on. Returns where it ends, or NULL if it is irregular. */
static const uint8_t *decode_value(DecodedRecord *record, Reading *reading)
{
    const uint8_t *places[MAX_FIELDS_OF_STRUCT];
    const Versions *versions = &record->type->versions;
    if (record->version < 0 || record->version >= versions->version_count)
        return NULL;
    record->value_layout = &record->messages->structs[versions->structs[record->version]];
    const uint8_t *end = read_struct(reading, record->value_layout, record->value, record->value_end, places);
    record->is_consumer =
        end && record->type->is_protocol && is_consumer_group(record->value_layout, record->value, record->value_end);
    return record->is_consumer && reading->has_other_version ? NULL : end;
}

/* Reads a key and a value of a coordinator: a type and the message of the key, a version and the message of the value. */
static int decode_coordinator_record(DecodedRecord *record, Reading *reading, int64_t key_size, int64_t value_size)
{
    const uint8_t *places[MAX_FIELDS_OF_STRUCT];
    if (key_size < 2 || !(record->type = type_of(record->messages, be16(record->key))))
        return 0;
    record->key += 2;
    const Struct *key_layout = &record->messages->structs[record->type->key_struct];
    if (!read_struct(reading, key_layout, record->key, record->key_end, places))
        return 0;
    if (value_size < 0)
        return 1;
    if (value_size < 2)
        return 0;
    record->version = be16(record->value);
    record->value += 2;
    return decode_value(record, reading) != NULL;
}

/* Reads a value of metadata: frame version, type, version (none of which is known to need more than a byte), and the message. */
static int decode_metadata_record(DecodedRecord *record, Reading *reading, int64_t value_size)
{
    int is_preview = record->messages->kind == PREVIEW_RECORDS;
    if (value_size < 3 || record->value[0] != !is_preview)
        return 0;
    int number = record->value[1];
    record->version = record->value[2];
    if ((number | record->version) & 0x80 || !(record->type = type_of(record->messages, number)))
        return 0;
    record->value += 3;
    const uint8_t *end = decode_value(record, reading);
    return end && (is_preview || end == record->value_end);
}

/* Reads a record of an internal topic. Returns whether it is regular, and its text is not larger than `max_text`; sizes are negative for
   null. */
static int decode_record(const Messages *messages, const uint8_t *key, int64_t key_size, const uint8_t *value, int64_t value_size,
                         int64_t max_text, DecodedRecord *record)
{
    Reading reading = {messages, 0, 0};
    *record = (DecodedRecord){.messages = messages, .key = key, .value = value};
    record->key_end = key + (key_size > 0 ? key_size : 0);
    record->value_end = value + (value_size > 0 ? value_size : 0);
    int is_regular = messages->kind == COORDINATOR_RECORDS ? decode_coordinator_record(record, &reading, key_size, value_size)
                                                           : decode_metadata_record(record, &reading, value_size);
    if (!is_regular)
        return 0;
    record->text_size = reading.text_size + record->type->key_start.size + record->type->value_start.size +
                        messages->after_version.size + 2 * MAX_NUMBER_TEXT;
    return record->text_size <= (uint64_t)max_text;
}

/* Reads a control record. Returns whether it is regular, and of a type that can be shown: see decoders/control_record.py. */
static int decode_control_record(const Messages *messages, const uint8_t *key, int64_t key_size, const uint8_t *value,
                                 int64_t value_size, int64_t max_text, DecodedRecord *record)
{
    Reading reading = {messages, 0, 0};
    const uint8_t *places[MAX_FIELDS_OF_STRUCT];
    *record = (DecodedRecord){.messages = messages, .key = key, .value = value};
    if (key_size < 4 || be16(key) < 0 || be16(key + 2) < 0 || be16(key + 2) >= MAX_CONTROL_TYPES)
        return 0;
    record->control = &messages->control_types[be16(key + 2)];
    record->value_end = value + (value_size > 0 ? value_size : 0);
    if (record->control->kind == NOT_SHOWN || (record->control->kind == MARKER_EPOCH && (value_size < 6 || be16(value) < 0)))
        return 0;
    if (record->control->kind == CONTROL_MESSAGE) { /* Kafka shows messages of other versions in a peculiar way */
        record->value_layout = &messages->structs[record->control->message];
        if (value_size < 2 || be16(value) || !read_struct(&reading, record->value_layout, value, record->value_end, places))
            return 0;
    }
    record->text_size = reading.text_size + record->control->start.size + MAX_NUMBER_TEXT;
    return record->text_size <= (uint64_t)max_text;
}

static uint8_t *put_control(uint8_t *out, const DecodedRecord *record)
{
    Json json = {{record->messages, 0, 0}, 0, record->value_end};
    const uint8_t *p = record->value;
    out = put_label(out, record->messages, record->control->start);
    if (record->control->kind == MARKER_EPOCH)
        return put_number(out, (int32_t)be32(p + 2));
    return record->value_layout ? put_struct(out, &json, record->value_layout, &p) : out;
}

static uint8_t *put_key(uint8_t *out, const DecodedRecord *record)
{
    Json json = {{record->messages, 0, 0}, 0, record->key_end};
    const uint8_t *p = record->key;
    out = put_label(out, record->messages, record->type->key_start);
    out = put_struct(out, &json, &record->messages->structs[record->type->key_struct], &p);
    *out++ = '}';
    return out;
}

static uint8_t *put_payload(uint8_t *out, const DecodedRecord *record)
{
    Json json = {{record->messages, 0, 0}, record->is_consumer, record->value_end};
    const uint8_t *p = record->value;
    out = put_label(out, record->messages, record->type->value_start);
    out = put_number(out, record->version);
    out = put_label(out, record->messages, record->messages->after_version);
    out = put_struct(out, &json, record->value_layout, &p);
    *out++ = '}';
    return out;
}
