/* Reads records of magic 2 out of a batch. A record is irregular if any of its fields reaches past its end, or if bytes are left over. */

#pragma once

#include <stdint.h>
#include "bytes/arithmetic.h"
#include "bytes/varint.h"

/* The fields of a record, relative to its batch. */
typedef struct {
    int64_t timestamp_delta;
    int32_t offset_delta, key_size, value_size, header_count;
    const uint8_t *key, *value, *headers;
} Record;

/* Reads one record. Returns its end, or NULL if it is irregular. */
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

/* Whether these bytes are `count` regular records and nothing else. */
static int are_regular(const uint8_t *p, const uint8_t *end, int32_t count)
{
    Record record;
    for (; count; count--)
        if (!(p = read_record(p, end, &record)))
            return 0;
    return p == end;
}
