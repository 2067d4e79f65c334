/* Headers of batches as columns in the layout of Arrow, for `summarize_log`. The reference is binary/batch_columns_reference.py. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include "bytes/arithmetic.h"
#include "read/batches.h"
#include "bytes/layout.h"

#define NO_SEQUENCE (-1)

/* The name of each column, the type of its numbers, and the number in the batch at `p`, which starts at `at` in the file. */
#define BATCH_COLUMNS(_)                                                                                                       \
    _(base_offset, int64_t, batch_base_offset(p))                                                                              \
    _(last_offset, int64_t, added(batch_base_offset(p), batch_last_offset_delta(p)))                                           \
    _(count, int32_t, batch_record_count(p))                                                                                   \
    _(base_sequence, int32_t, batch_base_sequence(p))                                                                          \
    _(last_sequence, int32_t, last_sequence_of(p))                                                                             \
    _(producer_id, int64_t, batch_producer_id(p))                                                                              \
    _(producer_epoch, int16_t, batch_producer_epoch(p))                                                                        \
    _(partition_leader_epoch, int32_t, batch_leader_epoch(p))                                                                  \
    _(position, int64_t, at)                                                                                                   \
    _(timestamp, int64_t, batch_max_timestamp(p))                                                                              \
    _(size, int32_t, batch_size(p))                                                                                            \
    _(magic, int8_t, batch_magic(p))                                                                                           \
    _(crc, int64_t, batch_crc(p))                                                                                              \
    _(attributes, int16_t, batch_attributes(p))                                                                                \
    _(base_timestamp, int64_t, batch_base_timestamp(p))

#define AS_BATCH_COLUMN(name, type, number) B_##name,
enum batch_column { BATCH_COLUMNS(AS_BATCH_COLUMN) BATCH_COLUMN_COUNT };

#define AS_NUMBER_SIZE(name, type, number) sizeof(type),
static const uint8_t batch_number_sizes[] = {BATCH_COLUMNS(AS_NUMBER_SIZE)};

/* The sequence of the last record of a batch; a batch without sequences has none. */
static inline int32_t last_sequence_of(const uint8_t *p)
{
    int32_t sequence = batch_base_sequence(p);
    return sequence == NO_SEQUENCE ? NO_SEQUENCE : later_sequence(sequence, batch_last_offset_delta(p));
}

#define FILL_NUMBER(name, type, number) ((type *)columns[B_##name])[row] = (type)(number);

static inline void fill_header_row(void *const *columns, Py_ssize_t row, const uint8_t *p, int64_t at)
{
    BATCH_COLUMNS(FILL_NUMBER)
}
