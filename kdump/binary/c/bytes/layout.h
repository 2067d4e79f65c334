/* The fields of Kafka's files: where each one lies in the header of a batch or a message, in a transaction marker and in an index entry,
   with a function that reads it. Other chapters know fields by name only. These functions check nothing: the caller has made sure
   that the bytes are there. */

#pragma once

#include <stdint.h>
#include <string.h>

/* --- Integers, big-endian */

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

/* --- The header of a batch of magic 2 (Kafka: DefaultRecordBatch) */

enum {
    BASE_OFFSET_AT = 0,
    LENGTH_AT = 8, /* of what comes after this field */
    LEADER_EPOCH_AT = 12,
    MAGIC_AT = 16,
    BATCH_CRC_AT = 17,
    BATCH_ATTRIBUTES_AT = 21,
    LAST_OFFSET_DELTA_AT = 23,
    BASE_TIMESTAMP_AT = 27, /* or the delete horizon, which an attribute says (KIP-534) */
    MAX_TIMESTAMP_AT = 35,
    PRODUCER_ID_AT = 43,
    PRODUCER_EPOCH_AT = 51,
    BASE_SEQUENCE_AT = 53,
    RECORD_COUNT_AT = 57,
    BATCH_HEADER_SIZE = 61
};

#define LOG_OVERHEAD LEADER_EPOCH_AT /* the size of offset and length, which `length` does not count */
#define BATCH_CRC_FROM BATCH_ATTRIBUTES_AT
#define MIN_BATCH_LENGTH (BATCH_HEADER_SIZE - LOG_OVERHEAD)
#define NO_TIMESTAMP (-1)

/* The bits of attributes, of batches and, up to the timestamp type, of messages */
#define CODEC_MASK 0x07
#define TIMESTAMP_TYPE_BIT 0x08
#define TRANSACTIONAL_BIT 0x10
#define CONTROL_BIT 0x20
#define DELETE_HORIZON_BIT 0x40
#define UNKNOWN_BATCH_ATTRIBUTES 0xff80
#define UNKNOWN_MESSAGE_ATTRIBUTES 0xf0

#define NO_PRODUCER_ID (-1)

/* Offset, length and magic lie in a message where they lie in a batch: these functions serve both. */

static inline int64_t batch_base_offset(const uint8_t *p)
{
    return (int64_t)be64(p + BASE_OFFSET_AT);
}

static inline int32_t batch_length(const uint8_t *p)
{
    return (int32_t)be32(p + LENGTH_AT);
}

static inline int64_t batch_size(const uint8_t *p) /* of all of it */
{
    return (int64_t)batch_length(p) + LOG_OVERHEAD;
}

static inline int8_t batch_magic(const uint8_t *p)
{
    return (int8_t)p[MAGIC_AT];
}

static inline int32_t batch_leader_epoch(const uint8_t *p)
{
    return (int32_t)be32(p + LEADER_EPOCH_AT);
}

static inline uint32_t batch_crc(const uint8_t *p)
{
    return be32(p + BATCH_CRC_AT);
}

static inline int16_t batch_attributes(const uint8_t *p)
{
    return be16(p + BATCH_ATTRIBUTES_AT);
}

static inline int batch_codec(const uint8_t *p)
{
    return batch_attributes(p) & CODEC_MASK;
}

static inline int32_t batch_last_offset_delta(const uint8_t *p)
{
    return (int32_t)be32(p + LAST_OFFSET_DELTA_AT);
}

static inline int64_t batch_base_timestamp(const uint8_t *p)
{
    return (int64_t)be64(p + BASE_TIMESTAMP_AT);
}

static inline int64_t batch_delete_horizon(const uint8_t *p) /* where DELETE_HORIZON_BIT is set */
{
    return (int64_t)be64(p + BASE_TIMESTAMP_AT);
}

static inline int64_t batch_max_timestamp(const uint8_t *p)
{
    return (int64_t)be64(p + MAX_TIMESTAMP_AT);
}

static inline int64_t batch_producer_id(const uint8_t *p)
{
    return (int64_t)be64(p + PRODUCER_ID_AT);
}

static inline int16_t batch_producer_epoch(const uint8_t *p)
{
    return be16(p + PRODUCER_EPOCH_AT);
}

static inline int32_t batch_base_sequence(const uint8_t *p)
{
    return (int32_t)be32(p + BASE_SEQUENCE_AT);
}

static inline int32_t batch_record_count(const uint8_t *p)
{
    return (int32_t)be32(p + RECORD_COUNT_AT);
}

/* Whether two batches have the same values in the fields from one to another, the latter excluded. */
#define HAVE_SAME(p, other, from, to) (!memcmp((p) + (from), (other) + (from), (to) - (from)))

/* Whether two batches have the same fields, except those that differ from batch to batch: offset, length, checksum, timestamps. */
static inline int have_same_fields(const uint8_t *p, const uint8_t *other)
{
    return HAVE_SAME(p, other, LEADER_EPOCH_AT, BATCH_CRC_AT) & HAVE_SAME(p, other, BATCH_ATTRIBUTES_AT, BASE_TIMESTAMP_AT) &
           HAVE_SAME(p, other, PRODUCER_ID_AT, BATCH_HEADER_SIZE);
}

/* --- The start of either: what has to be there to know the last offset of a batch, or the offset of a message */

#define EXTENT_SIZE BASE_TIMESTAMP_AT
#define MIN_EXTENT_LENGTH (EXTENT_SIZE - LOG_OVERHEAD)

/* --- The header of a message (Kafka: LegacyRecord): offset, length, checksum, magic, attributes, and with magic 1 a timestamp */

enum { MESSAGE_CRC_AT = 12, MESSAGE_ATTRIBUTES_AT = 17, MESSAGE_TIMESTAMP_AT = 18, MESSAGE_HEADER_SIZE = 26 };

#define MESSAGE_CRC_FROM MAGIC_AT
#define MIN_MESSAGE_LENGTH 14 /* of magic 0, without key and value */

static inline uint32_t message_crc(const uint8_t *p)
{
    return be32(p + MESSAGE_CRC_AT);
}

static inline uint8_t message_attributes(const uint8_t *p)
{
    return p[MESSAGE_ATTRIBUTES_AT];
}

static inline int message_codec(const uint8_t *p)
{
    return message_attributes(p) & CODEC_MASK;
}

static inline int64_t message_timestamp(const uint8_t *p) /* -1 for none */
{
    return batch_magic(p) ? (int64_t)be64(p + MESSAGE_TIMESTAMP_AT) : -1;
}

static inline const uint8_t *message_contents(const uint8_t *p) /* its key, then its value */
{
    return p + (batch_magic(p) ? MESSAGE_HEADER_SIZE : MESSAGE_TIMESTAMP_AT);
}

/* --- A transaction marker: a control batch of one record, with a key (version, type) and a value (version, coordinator epoch) */

#define MARKER_SIZE 78
#define COMMIT 1 /* the type of a marker; 0 is ABORT */
#define MARKER_TYPE_AT 69
#define MARKER_COORDINATOR_EPOCH_AT 73

static inline uint8_t marker_type(const uint8_t *p)
{
    return p[MARKER_TYPE_AT];
}

static inline int32_t marker_coordinator_epoch(const uint8_t *p)
{
    return (int32_t)be32(p + MARKER_COORDINATOR_EPOCH_AT);
}

/* Whether a control batch has the one record of a marker, as brokers write it: no deltas, no headers, both versions 0. */
static inline int holds_marker(const uint8_t *p)
{
    static const uint8_t up_to_type[] = {0x20, 0, 0, 0, 8, 0, 0, 0}, up_to_epoch[] = {12, 0, 0};
    return batch_record_count(p) == 1 && !memcmp(p + BATCH_HEADER_SIZE, up_to_type, sizeof up_to_type) &&
           marker_type(p) <= COMMIT && !memcmp(p + MARKER_TYPE_AT + 1, up_to_epoch, sizeof up_to_epoch);
}

/* --- Entries of indexes; their offsets are relative to the base offset of the segment */

#define INDEX_ENTRY_SIZE 8
#define TIME_INDEX_ENTRY_SIZE 12

static inline int32_t index_entry_offset(const uint8_t *p)
{
    return (int32_t)be32(p);
}

static inline int32_t index_entry_position(const uint8_t *p)
{
    return (int32_t)be32(p + 4);
}

static inline int64_t time_entry_timestamp(const uint8_t *p)
{
    return (int64_t)be64(p);
}

static inline int32_t time_entry_offset(const uint8_t *p)
{
    return (int32_t)be32(p + 8);
}
