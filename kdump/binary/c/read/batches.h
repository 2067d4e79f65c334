/* Regular batches and messages: which bytes may be taken for one, and whether the checksum fits. All chapters that walk a log ask here.
   What is irregular is left to the reference in Python. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include "bytes/crc.h"
#include "bytes/layout.h"

/* Whether a batch of magic 2 or later begins at `p` that is whole in the `room` bytes there. */
static inline int is_regular_batch(const uint8_t *p, size_t room, int max_codec)
{
    if (room < BATCH_HEADER_SIZE || batch_magic(p) < 2)
        return 0;
    int32_t length = batch_length(p);
    return length >= MIN_BATCH_LENGTH && (size_t)length <= room - LOG_OVERHEAD && batch_codec(p) <= max_codec;
}

/* The same for a message. */
static inline int is_regular_message(const uint8_t *p, size_t room, int min_magic, int max_codec)
{
    if (room < MESSAGE_HEADER_SIZE)
        return 0;
    int8_t magic = batch_magic(p);
    int32_t length = batch_length(p);
    return magic >= min_magic && magic <= 1 && length >= MIN_MESSAGE_LENGTH && (size_t)length <= room - LOG_OVERHEAD &&
           message_codec(p) <= max_codec;
}

/* Whether the checksum of a regular batch of this size fits. */
static inline int is_valid_batch(const uint8_t *p, size_t size)
{
    return crc32c_over(p + BATCH_CRC_FROM, size - BATCH_CRC_FROM) == batch_crc(p);
}

static inline int is_valid_message(const uint8_t *p, size_t size)
{
    return crc32_over(p + MESSAGE_CRC_FROM, size - MESSAGE_CRC_FROM) == message_crc(p);
}

/* The size of the batch or message at `p`, of any magic; 0 if it is irregular, or not whole in the `room` bytes there, which are at
   least EXTENT_SIZE. */
static inline int64_t extent_size(const uint8_t *p, int64_t room)
{
    int32_t length = batch_length(p);
    int8_t magic = batch_magic(p);
    if (magic < 0 || length < (magic < 2 ? MIN_EXTENT_LENGTH : MIN_BATCH_LENGTH) || length > room - LOG_OVERHEAD)
        return 0;
    return (int64_t)length + LOG_OVERHEAD;
}
