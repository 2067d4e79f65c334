/* Text of messages that is not JSON: what Kafka's classes print of themselves. The pieces of a struct (messages.h) say what it consists
   of; the reference is output/kafka/topics/remote_log_metadata.py. */

#pragma once

#include <stdint.h>
#include <string.h>
#include "bytes/encodings.h"
#include "decode/json.h"
#include "decode/messages.h"
#include "bytes/numbers.h"
#include "bytes/utf8.h"

/* The fields of a struct that has been read. */
typedef struct {
    const Struct *layout;
    const Field *fields;
    const uint8_t *places[MAX_FIELDS_OF_STRUCT], *end;
} Fields;

/* The bytes of a string or of bytes; the size is negative for null. */
typedef struct {
    const uint8_t *p;
    int32_t size;
} Span;

/* Elements of an array that are left to be read; the count is negative for null. */
typedef struct {
    const Struct *layout;
    const uint8_t *p, *end;
    int32_t count;
} Elements;

/* Reads a struct. Returns its end, or NULL if it is irregular. */
static const uint8_t *read_fields(Reading *reading, const Struct *layout, const uint8_t *p, const uint8_t *end, Fields *fields)
{
    fields->layout = layout;
    fields->fields = &reading->messages->fields[layout->first_field];
    fields->end = end;
    return read_struct(reading, layout, p, end, fields->places);
}

/* The same of a struct whose text is already counted. */
static const uint8_t *find_fields(const Messages *messages, const Struct *layout, const uint8_t *p, const uint8_t *end, Fields *fields)
{
    Reading reading = {messages, 0, 0};
    return read_fields(&reading, layout, p, end, fields);
}

static int64_t number_of(const Fields *fields, int place)
{
    const Field *field = &fields->fields[place];
    return fields->places[place] ? number_at(fields->places[place], field->kind) : field->default_number;
}

static Span span_of(const Fields *fields, int place)
{
    Span span = {NULL, -1};
    span.p = length_at(fields->places[place], fields->end, fields->layout->is_flexible, fields->fields[place].kind == F_string ? 2 : 4,
                       &span.size);
    return span;
}

static Elements elements_of(const Messages *messages, const Fields *fields, int place)
{
    const Field *field = &fields->fields[place];
    Elements elements = {field->kind == F_struct ? &messages->structs[field->child] : NULL, NULL, fields->end, 0};
    elements.p = length_at(fields->places[place], fields->end, fields->layout->is_flexible, 4, &elements.count);
    return elements;
}

/* Reads the next element. Returns whether there is one. */
static int next_element(const Messages *messages, Elements *elements, Fields *fields)
{
    if (elements->count <= 0)
        return 0;
    elements->count--;
    elements->p = find_fields(messages, elements->layout, elements->p, elements->end, fields);
    return 1;
}

/* Whether there are pairs, and their keys ascend: then Java's sorted map has them in this order. */
static int are_ascending(const Messages *messages, Elements pairs, const int8_t *element)
{
    Fields pair;
    int64_t key = INT64_MIN;
    if (pairs.count <= 0)
        return 0;
    while (next_element(messages, &pairs, &pair)) {
        if (number_of(&pair, element[0]) <= key)
            return 0;
        key = number_of(&pair, element[0]);
    }
    return 1;
}

/* --- What Kafka expects. These return whether pieces are as expected. */

static int are_expected(Reading *reading, const Fields *fields);

static int check_piece(Reading *reading, const Fields *fields, const Piece *piece)
{
    const Messages *messages = reading->messages;
    const Field *field = &fields->fields[piece->place];
    Fields inner;
    switch (piece->operation) {
    case SHOW_VALUE:
        if (field->kind != F_struct || !messages->structs[field->child].has_expectations)
            return 1;
        find_fields(messages, &messages->structs[field->child], fields->places[piece->place], fields->end, &inner);
        return are_expected(reading, &inner);
    case SHOW_NAME:
        return number_of(fields, piece->place) >= 0 && number_of(fields, piece->place) < piece->text_count;
    case SHOW_EPOCHS:
        return are_ascending(messages, elements_of(messages, fields, piece->place), piece->element);
    case EXPECT_LEAST:
        return number_of(fields, piece->place) >= piece->number;
    case EXPECT_ORDER:
        return number_of(fields, piece->place) >= number_of(fields, piece->other);
    default:
        return 1;
    }
}

static int are_expected(Reading *reading, const Fields *fields)
{
    const Messages *messages = reading->messages;
    for (int at = 0; at < fields->layout->piece_count; at++)
        if (!check_piece(reading, fields, &messages->pieces[fields->layout->first_piece + at]))
            return 0;
    return 1;
}

static int check_words(Reading *reading, const Fields *fields)
{
    reading->text_size += fields->layout->words_size;
    return !fields->layout->has_expectations || are_expected(reading, fields);
}

/* --- Text of what has been checked */

static uint8_t *put_words_of(uint8_t *out, const Messages *messages, const Fields *fields);

static uint8_t *put_piece_text(uint8_t *out, const Messages *messages, const Piece *piece, int64_t number)
{
    return put_label(out, messages, messages->piece_texts[piece->first_text + number]);
}

static uint8_t *put_epochs(uint8_t *out, const Messages *messages, const Fields *fields, const Piece *piece)
{
    Elements pairs = elements_of(messages, fields, piece->place);
    Fields pair;
    *out++ = '{';
    for (int is_first = 1; next_element(messages, &pairs, &pair); is_first = 0) {
        out = is_first ? out : PUT(out, ", ");
        out = put_number(out, number_of(&pair, piece->element[0]));
        *out++ = '=';
        out = put_number(out, number_of(&pair, piece->element[1]));
    }
    *out++ = '}';
    return out;
}

static uint8_t *put_plain(uint8_t *out, const Messages *messages, const Fields *fields, int place)
{
    const Field *field = &fields->fields[place];
    Fields inner;
    if (field->kind == F_struct) {
        find_fields(messages, &messages->structs[field->child], fields->places[place], fields->end, &inner);
        return put_words_of(out, messages, &inner);
    }
    if (field->kind == F_uuid)
        return put_base64_digits(out, fields->places[place], UUID_SIZE, BASE64_URL_DIGITS);
    if (field->kind == F_string) {
        Span text = span_of(fields, place);
        return text.size < 0 ? PUT(out, "null") : put_text(out, text.p, (size_t)text.size);
    }
    int64_t number = number_of(fields, place);
    if (field->kind == F_bool)
        return number ? PUT(out, "true") : PUT(out, "false");
    return put_number(out, number);
}

static uint8_t *put_piece(uint8_t *out, const Messages *messages, const Fields *fields, const Piece *piece)
{
    Span span;
    switch (piece->operation) {
    case SHOW_VALUE:
        return put_plain(out, messages, fields, piece->place);
    case SHOW_NAME:
        return put_piece_text(out, messages, piece, number_of(fields, piece->place));
    case SHOW_SIZE:
        span = span_of(fields, piece->place);
        if (span.size < 0)
            return put_piece_text(out, messages, piece, 0);
        out = put_number(put_piece_text(out, messages, piece, 1), span.size);
        return put_piece_text(out, messages, piece, 2);
    case SHOW_EPOCHS:
        return put_epochs(out, messages, fields, piece);
    default:
        return out;
    }
}

static uint8_t *put_words_of(uint8_t *out, const Messages *messages, const Fields *fields)
{
    for (int at = 0; at < fields->layout->piece_count; at++) {
        const Piece *piece = &messages->pieces[fields->layout->first_piece + at];
        out = put_label(out, messages, piece->literal);
        out = put_piece(out, messages, fields, piece);
    }
    return out;
}
