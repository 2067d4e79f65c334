/* Programs: how a line of text is made of a row. Python compiles the wording of a Kafka release to a program (output/kafka/native_lines.py);
   this chapter parses it, with every size checked, and runs single steps. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "text/cells.h"
#include "decode/json.h"
#include "bytes/numbers.h"
#include "text/rows.h"
#include "decode/topic_records.h"
#include "bytes/utf8.h"
#include "bytes/varint.h"

/* A program is a sequence of steps: a literal, then what follows it. Each step is encoded as
       operation u8, column u8, number of texts u8, then that many texts and the literal, each a size u16 and its bytes;
   numbers are little-endian. */

enum operation {
    NOTHING,
    NUMBER,
    CHOICE,   /* the text whose number the column gives */
    OPTIONAL, /* the column before says whether there is a value; texts: instead of a value, before it, after it */
    HEADERS,
    CONTENTS, /* key and value; texts: before a key, before a value without key, before a value after a key */
    DECODED,  /* the same of a decoded record; a fourth text: instead of a value */
    BARE,     /* neither key nor value, but, as in the two above, what a control record says */
    OPERATION_COUNT
};

#define NEEDS_VALUE 1 /* as the column of CONTENTS: the key of a record without value is not shown */

#define MAX_STEPS 48
#define MAX_TEXTS 8
#define POOL_SIZE 4096
#define NUMBER_SIZE 20

typedef struct {
    uint16_t at, size; /* in the pool */
} Text;

typedef struct {
    uint8_t operation, column, text_count;
    Text literal, texts[MAX_TEXTS];
} Step;

typedef struct {
    int step_count, uses_crc;
    size_t max_size;            /* of a line, without texts of keys, values and headers */
    size_t growth, header_size; /* the most that these take for each byte of a record, and for each header beyond that */
    Step steps[MAX_STEPS];
    uint8_t pool[POOL_SIZE + COPY_SIZE];
} Program;

static int parsed_text(const uint8_t **p, const uint8_t *end, Program *program, uint16_t *pool_end, Text *text)
{
    if (end - *p < 2)
        return 0;
    uint16_t size = (uint16_t)((*p)[0] | (*p)[1] << 8);
    *p += 2;
    if (size > end - *p || size > POOL_SIZE - *pool_end)
        return 0;
    text->at = *pool_end;
    text->size = size;
    memcpy(program->pool + *pool_end, *p, size);
    *pool_end = (uint16_t)(*pool_end + size);
    *p += size;
    program->max_size += size;
    return 1;
}

static inline Text text_between(const uint8_t *pool, const uint8_t *from, const uint8_t *to)
{
    return (Text){(uint16_t)(from - pool), (uint16_t)(to - from)};
}

static int least_texts(int operation)
{
    return operation == OPTIONAL || operation == CONTENTS ? 3 : operation == DECODED ? 4 : operation == CHOICE;
}

static int shows_contents(int operation)
{
    return operation == CONTENTS || operation == DECODED || operation == BARE;
}

/* Lines of records show headers, and key and value, at most once each: room is made for that. Other lines show none. */
enum { WITHOUT_TEXTS, WITH_TEXTS };

static int parse_program(const uint8_t *p, size_t size, int with_texts, Program *program)
{
    const uint8_t *end = p + size;
    uint16_t pool_end = 0;
    int headers_left = with_texts, keys_left = with_texts, values_left = with_texts;
    program->step_count = program->uses_crc = 0;
    program->max_size = program->header_size = 0;
    program->growth = 3;
    while (p < end) {
        if (end - p < 3 || program->step_count == MAX_STEPS)
            return 0;
        Step *step = &program->steps[program->step_count++];
        step->operation = p[0], step->column = p[1], step->text_count = p[2];
        p += 3;
        int is_cell = is_cell_operation(step->operation);
        if ((step->operation >= OPERATION_COUNT && !is_cell) || step->column >= COLUMN_COUNT || step->text_count > MAX_TEXTS)
            return 0;
        if (step->text_count < (least_texts(step->operation)))
            return 0;
        if (step->operation == OPTIONAL && !step->column)
            return 0;
        if (step->operation == HEADERS && !headers_left--)
            return 0;
        if (shows_contents(step->operation) && (!keys_left-- || !values_left--))
            return 0;
        if (is_cell && shows_headers(step->operation) && !headers_left--)
            return 0;
        if (is_cell && shows_bytes(step->operation) &&
            ((step->column != C_key_size && step->column != C_value_size) ||
             !(step->column == C_key_size ? keys_left-- : values_left--)))
            return 0;
        if (is_cell) {
            program->growth = CELL_GROWTH;
            program->header_size = CELL_HEADER_SIZE;
        }
        for (int text = 0; text < step->text_count; text++)
            if (!parsed_text(&p, end, program, &pool_end, &step->texts[text]))
                return 0;
        if (!parsed_text(&p, end, program, &pool_end, &step->literal))
            return 0;
        program->max_size += is_cell ? CELL_SIZE : NUMBER_SIZE; /* or the brackets of headers */
        if (step->column == C_isvalid && step->operation == CHOICE)
            program->uses_crc = 1;
    }
    return 1;
}

static inline uint8_t *put(uint8_t *out, const uint8_t *pool, Text text)
{
    return put_padded(out, pool + text.at, text.size);
}

static uint8_t *put_headers(uint8_t *out, const Row *row)
{
    const uint8_t *p = row->headers;
    *out++ = '[';
    for (int64_t header = 0; header < row->column[C_header_count]; header++) {
        int32_t size = 0;
        p = varint32(p, p + 5, &size);
        if (header)
            *out++ = ',';
        out = put_text(out, p, (size_t)size);
        p += size;
        p = varint32(p, p + 5, &size);
        p += size > 0 ? size : 0;
    }
    *out++ = ']';
    return out;
}

static inline uint8_t *put_contents(uint8_t *out, const uint8_t *pool, const Step *step, const Row *row)
{
    if (row->column[C_is_control])
        return put_control(out, &row->decoded);
    int has_key = row->column[C_key_size] >= 0, has_value = row->column[C_value_size] >= 0;
    if (!has_value && (!has_key || step->column & NEEDS_VALUE))
        return out;
    if (has_key) {
        out = put(out, pool, step->texts[0]);
        out = put_text(out, row->key, (size_t)row->column[C_key_size]);
    }
    if (has_value) {
        out = put(out, pool, step->texts[has_key ? 2 : 1]);
        out = put_text(out, row->value, (size_t)row->column[C_value_size]);
    }
    return out;
}

static uint8_t *put_decoded(uint8_t *out, const uint8_t *pool, const Step *step, const DecodedRecord *record)
{
    if (record->control)
        return put_control(out, record);
    int has_key = record->messages->kind == COORDINATOR_RECORDS;
    if (has_key)
        out = put_key(put(out, pool, step->texts[0]), record);
    out = put(out, pool, step->texts[has_key ? 2 : 1]);
    return record->value_layout ? put_payload(out, record) : put(out, pool, step->texts[3]);
}

/* Puts what follows the literal of a step; its texts are in this pool. */
static inline uint8_t *put_field(uint8_t *out, const uint8_t *pool, const Step *step, const Row *row)
{
    int64_t value = row->column[step->column];
    switch (step->operation) {
    case NUMBER:
        return put_number(out, value);
    case CHOICE:
        return value >= 0 && value < step->text_count ? put(out, pool, step->texts[value]) : out;
    case OPTIONAL:
        if (!row->column[step->column - 1])
            return put(out, pool, step->texts[0]);
        out = put(out, pool, step->texts[1]);
        out = put_number(out, value);
        return put(out, pool, step->texts[2]);
    case HEADERS:
        return put_headers(out, row);
    case CONTENTS:
        return put_contents(out, pool, step, row);
    case BARE:
        return row->column[C_is_control] ? put_control(out, &row->decoded) : out;
    case DECODED:
        return put_decoded(out, pool, step, &row->decoded);
    default:
        return put_cell(out, step->operation, step->column, row);
    }
}
