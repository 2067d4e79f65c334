/* Records of internal topics and control records: reads keys and values as messages, and writes them as JSON or text. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "decode/json.h"
#include "decode/messages.h"
#include "bytes/numbers.h"
#include "decode/words.h"

/* A record whose key and value have been read. */
typedef struct {
    const Messages *messages;
    const RecordType *type;
    const ControlType *control; /* or NULL */
    const Struct *value_layout; /* NULL for a record without value */
    int version, is_consumer;
    const uint8_t *key, *key_end, *value, *value_end;
    uint64_t text_size; /* at most */
    Fields fields;      /* of the value, if there is one, where it is shown as text */
} DecodedRecord;

static void begin_record(DecodedRecord *record, const Messages *messages, const uint8_t *key, const uint8_t *value)
{
    memset(record, 0, offsetof(DecodedRecord, fields)); /* the places of fields are many */
    record->messages = messages;
    record->key = key;
    record->value = value;
}

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
    const Versions *versions = &record->type->versions;
    if (record->version < 0 || record->version >= versions->version_count)
        return NULL;
    record->value_layout = &record->messages->structs[versions->structs[record->version]];
    const uint8_t *end = read_fields(reading, record->value_layout, record->value, record->value_end, &record->fields);
    if (end && record->messages->is_text && !check_words(reading, &record->fields))
        return NULL;
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
    begin_record(record, messages, key, value);
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
    begin_record(record, messages, key, value);
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
    const Struct *layout = &record->messages->structs[record->type->key_struct];
    const uint8_t *p = record->key;
    out = put_label(out, record->messages, record->type->key_start);
    out = put_struct(out, &json, layout, &p);
    *out++ = '}';
    return out;
}

static uint8_t *put_payload(uint8_t *out, const DecodedRecord *record)
{
    if (record->messages->is_text)
        return put_words_of(out, record->messages, &record->fields);
    Json json = {{record->messages, 0, 0}, record->is_consumer, record->value_end};
    const uint8_t *p = record->value;
    out = put_label(out, record->messages, record->type->value_start);
    out = put_number(out, record->version);
    out = put_label(out, record->messages, record->messages->after_version);
    out = put_struct(out, &json, record->value_layout, &p);
    *out++ = '}';
    return out;
}
