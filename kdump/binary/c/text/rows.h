/* A row: the values a line of text can show of one batch, message or record, by column. Read from headers and records that are known to
   be regular. */

#pragma once

#include <stdint.h>
#include <string.h>
#include "bytes/arithmetic.h"
#include "read/batches.h"
#include "bytes/layout.h"
#include "read/records.h"
#include "decode/topic_records.h"

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
    const uint8_t *key, *value, *headers; /* headers: `header_count` of them, already validated */
    DecodedRecord decoded;                /* for lines that show it */
} Row;

#define BIT(column) 1u << C_##column
#define COLUMNS_ALIKE                                                                                                          \
    (BIT(count) | BIT(base_sequence) | BIT(last_sequence) | BIT(producer_id) | BIT(producer_epoch) |                            \
     BIT(partition_leader_epoch) | BIT(is_transactional) | BIT(is_control) | BIT(has_delete_horizon) | BIT(timestamp_type) |    \
     BIT(magic) | BIT(compresscodec))
#define COLUMNS_OF_RECORDS                                                                                                     \
    (BIT(offset) | BIT(timestamp) | BIT(key_size) | BIT(value_size) | BIT(sequence) | BIT(header_count))

/* Reads the header of a batch. `is_alike`: it has the same fields as the batch in the row (`have_same_fields`), so that COLUMNS_ALIKE
   need not be read again. */
static inline void read_batch(const uint8_t *p, int64_t position, int with_crc, int is_alike, Row *row)
{
    int64_t *column = row->column;
    int32_t last_offset_delta = batch_last_offset_delta(p);
    int16_t attributes = batch_attributes(p);
    column[C_base_offset] = batch_base_offset(p);
    column[C_last_offset] = added(column[C_base_offset], last_offset_delta);
    column[C_delete_horizon_ms] = attributes & DELETE_HORIZON_BIT ? batch_delete_horizon(p) : 0;
    column[C_position] = position;
    column[C_batch_timestamp] = batch_max_timestamp(p);
    column[C_size] = batch_size(p);
    column[C_crc] = batch_crc(p);
    column[C_isvalid] = with_crc && is_valid_batch(p, (size_t)batch_size(p));
    if (is_alike)
        return;
    int32_t base_sequence = batch_base_sequence(p);
    column[C_count] = batch_record_count(p);
    column[C_base_sequence] = base_sequence;
    column[C_last_sequence] = base_sequence == -1 ? -1 : later_sequence(base_sequence, last_offset_delta);
    column[C_producer_id] = batch_producer_id(p);
    column[C_producer_epoch] = batch_producer_epoch(p);
    column[C_partition_leader_epoch] = batch_leader_epoch(p);
    column[C_is_transactional] = (attributes & TRANSACTIONAL_BIT) != 0;
    column[C_is_control] = (attributes & CONTROL_BIT) != 0;
    column[C_has_delete_horizon] = (attributes & DELETE_HORIZON_BIT) != 0;
    column[C_timestamp_type] = (attributes & TIMESTAMP_TYPE_BIT) != 0;
    column[C_magic] = batch_magic(p);
    column[C_compresscodec] = attributes & CODEC_MASK;
}

/* Reads the header of a message: the columns it shares with a batch. All others become 0. */
static inline void read_message(const uint8_t *p, int64_t position, int with_crc, Row *row)
{
    int64_t *column = row->column;
    int8_t magic = batch_magic(p);
    uint8_t attributes = message_attributes(p);
    memset(row, 0, sizeof *row);
    column[C_last_offset] = column[C_offset] = batch_base_offset(p);
    column[C_position] = position;
    column[C_timestamp_type] = magic ? (attributes & TIMESTAMP_TYPE_BIT) != 0 : NO_TIMESTAMP_TYPE;
    column[C_batch_timestamp] = column[C_timestamp] = message_timestamp(p);
    column[C_size] = batch_size(p);
    column[C_magic] = magic;
    column[C_compresscodec] = attributes & CODEC_MASK;
    column[C_crc] = message_crc(p);
    column[C_isvalid] = with_crc && is_valid_message(p, (size_t)batch_size(p));
}

/* Key and value of a regular message. Returns whether they lie within it. */
static inline int read_message_contents(const uint8_t *p, Row *row)
{
    const uint8_t *end = p + row->column[C_size];
    p = message_contents(p);
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

/* Puts a record into the row of its batch: deltas become offset, timestamp and sequence number. */
static inline void place_record(const Record *record, const uint8_t *batch, Row *row)
{
    int64_t *column = row->column;
    int32_t base_sequence = (int32_t)column[C_base_sequence];
    column[C_offset] = added(column[C_base_offset], record->offset_delta);
    column[C_timestamp] =
        column[C_timestamp_type] ? column[C_batch_timestamp] : added(batch_base_timestamp(batch), record->timestamp_delta);
    column[C_key_size] = record->key_size < 0 ? -1 : record->key_size;
    column[C_value_size] = record->value_size < 0 ? -1 : record->value_size;
    column[C_sequence] = base_sequence < 0 ? -1 : later_sequence(base_sequence, record->offset_delta);
    column[C_header_count] = record->header_count;
    row->key = record->key;
    row->value = record->value;
    row->headers = record->headers;
}
