/* Runs a program for row after row. Consecutive lines resemble each other, so a program in use is folded: columns that have not varied
   so far become part of its literals. */

#pragma once

#include <stdint.h>
#include "bytes/numbers.h"
#include "text/program.h"
#include "text/rows.h"

/* A `Line` is a program in use. Columns that have not varied so far are part of its literals. For the next line, a few steps remain, and
   a check that those columns are unchanged. A column that has changed counts as varying from then on.

   Numbers that vary mostly grow slowly, so all but their last four digits are part of the literal before them, too. */

#define RANGE 10000      /* this many numbers share their leading digits */
#define FAR (10 * RANGE) /* numbers further apart than this are not expected to share any */
#define LEADING_SIZE 16  /* leading digits, at most */

typedef struct {
    const Step *step;
    Text literal;          /* in the line's pool, with the leading digits at its end */
    uint16_t leading_size; /* of the digits */
    uint16_t range;        /* RANGE, or 0 where there are none */
    int64_t from;          /* the first number that has these digits */
    int64_t last;          /* the last number that had others */
} LineStep;

typedef struct {
    const Program *program;
    uint32_t varying, settled; /* columns, as bits; settled: columns that the caller can guarantee unchanged for some lines */
    int is_folded, step_count, still_count, unsettled_count;
    LineStep steps[MAX_STEPS];
    Text last_literal;
    struct {
        int64_t value;
        int column;
    } still[COLUMN_COUNT];
    uint8_t pool[POOL_SIZE + MAX_STEPS * NUMBER_SIZE + COPY_SIZE];
} Line;

#define NO_COLUMN (1u << 31) /* texts of headers, keys and values: they always vary */

static void begin_line(Line *line, const Program *program, uint32_t settled)
{
    line->program = program;
    line->varying = NO_COLUMN;
    line->settled = settled;
    line->is_folded = line->step_count = line->still_count = line->unsettled_count = 0;
}

/* The columns that decide what a step puts, as bits. */
static inline uint32_t columns_of(const Step *step, const Row *row)
{
    switch (step->operation) {
    case NOTHING:
        return 0;
    case NUMBER:
    case CHOICE:
        return 1u << step->column;
    case OPTIONAL:
        return 3u << (step->column - 1);
    case HEADERS:
        return row->column[C_header_count] ? NO_COLUMN : 1u << C_header_count;
    case BARE:
        return row->column[C_is_control] ? NO_COLUMN : 1u << C_is_control;
    default:
        return NO_COLUMN;
    }
}

/* Appends these columns to those that are part of the literals. */
static void note_still(Line *line, const Row *row, uint32_t columns)
{
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (columns >> column & 1) {
            line->still[line->still_count].value = row->column[column];
            line->still[line->still_count++].column = column;
        }
}

static void fold(Line *line, const Row *row)
{
    const Program *program = line->program;
    uint32_t still = 0;
    uint8_t *literal = line->pool, *end = line->pool;
    for (int at = 0; at < line->still_count; at++)
        if (row->column[line->still[at].column] != line->still[at].value)
            line->varying |= 1u << line->still[at].column;
    line->step_count = line->still_count = 0;
    for (int at = 0; at < program->step_count; at++) {
        const Step *step = &program->steps[at];
        uint32_t columns = columns_of(step, row);
        end = put(end, program->pool, step->literal);
        if (columns & line->varying) {
            line->steps[line->step_count++] = (LineStep){.step = step, .literal = text_between(line->pool, literal, end)};
            literal = end += step->operation == NUMBER ? LEADING_SIZE : 0;
        } else {
            end = put_field(end, program->pool, step, row);
            still |= columns;
        }
    }
    line->last_literal = text_between(line->pool, literal, end);
    note_still(line, row, still & ~line->settled);
    line->unsettled_count = line->still_count;
    note_still(line, row, still & line->settled);
    line->is_folded = 1;
}

static inline int is_as_folded(const Line *line, const Row *row, int is_settled)
{
    int64_t difference = 0;
    for (int at = 0, count = is_settled ? line->unsettled_count : line->still_count; at < count; at++)
        difference |= row->column[line->still[at].column] ^ line->still[at].value;
    return line->is_folded && !difference;
}

/* Puts a number with other leading digits. If it is near the last such number, the next ones are expected to share its digits. */
static uint8_t *put_other_number(uint8_t *out, uint8_t *pool, LineStep *step, int64_t number)
{
    int is_near = (uint64_t)number - (uint64_t)step->last + FAR < 2 * FAR;
    step->last = number;
    if (is_near && number >= RANGE && number <= INT64_MAX - RANGE) {
        uint8_t *literal = pool + step->literal.at, *leading = literal + step->literal.size - step->leading_size;
        uint8_t *end = put_number(leading, number / RANGE);
        step->literal = text_between(pool, literal, end);
        step->leading_size = (uint16_t)(end - leading);
        step->from = number - number % RANGE;
        step->range = RANGE;
    }
    return put_number(out, number);
}

/* `is_settled`: the caller guarantees that the settled columns are as in the line before. */
static ALWAYS_INLINE uint8_t *put_line(uint8_t *out, Line *line, const Row *row, int is_settled)
{
    if (!is_as_folded(line, row, is_settled))
        fold(line, row);
    for (LineStep *step = line->steps, *end = step + line->step_count; step < end; step++) {
        out = put(out, line->pool, step->literal);
        if (step->step->operation == NUMBER) {
            int64_t number = row->column[step->step->column];
            uint64_t rest = (uint64_t)number - (uint64_t)step->from;
            if (rest < step->range)
                out = put_four_digits(out, (uint32_t)rest);
            else if ((uint64_t)number < RANGE)
                out = put_significant(out - step->leading_size, digits_of((uint64_t)number), 4);
            else
                out = put_other_number(out - step->leading_size, line->pool, step, number);
        } else {
            out = put_field(out, line->program->pool, step->step, row);
        }
    }
    return put(out, line->pool, line->last_literal);
}
