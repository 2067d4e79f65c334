/* Text of messages that is not JSON: what Kafka's classes print of themselves, and the decoders of releases before JSON. The pieces of a
   struct (messages.h) say what it consists of; the reference is output/kafka/topic_records_before_json.py and remote_log_metadata.py. */

#pragma once

#include <stdint.h>
#include <string.h>
#include "encodings.h"
#include "json.h"
#include "messages.h"
#include "numbers.h"
#include "scala_order.h"
#include "utf8.h"

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

static int is_text(Span span, const char *text, size_t size)
{
    return span.size == (int32_t)size && !memcmp(span.p, text, size);
}

#define IS_TEXT(span, text) is_text(span, text, sizeof(text) - 1)

/* --- Sets and maps */

/* The most bytes of text that these partitions have beyond those that are counted when they are read: a topic stands before each. */
static uint64_t size_of_partitions(const Messages *messages, Elements topics, const int8_t *element, uint64_t separator_size)
{
    Fields topic;
    uint64_t size = 0;
    while (next_element(messages, &topics, &topic)) {
        uint64_t count = (uint64_t)elements_of(messages, &topic, element[1]).count;
        size += count * (6 * (uint64_t)span_of(&topic, element[0]).size + separator_size + MAX_NUMBER_TEXT);
    }
    return size;
}

/* Fills up to MAX_ITEMS items. Returns their number, or -1 if there are more, or a topic is malformed. */
static int partitions_of(const Messages *messages, Elements topics, const int8_t *element, Item *items)
{
    Fields topic;
    int count = 0;
    while (next_element(messages, &topics, &topic)) {
        Span name = span_of(&topic, element[0]);
        Elements numbers = elements_of(messages, &topic, element[1]);
        uint32_t hash;
        if (numbers.count > MAX_ITEMS - count || !hash_text(name.p, name.size, &hash))
            return -1;
        for (; numbers.count > 0; numbers.count--, numbers.p += 4) {
            int32_t number = (int32_t)be32(numbers.p);
            items[count++] = (Item){name.p, NULL, name.size, 0, number, 31 * (31 + (uint32_t)number) + hash};
        }
    }
    return count;
}

/* The members of a group, with the field `data` of each. Returns their number, or -1 if there are more, or an id is malformed. */
static int members_of(const Messages *messages, Elements members, int id, int data, Item *items)
{
    Fields member;
    int count = 0;
    if (members.count > MAX_ITEMS)
        return -1;
    while (next_element(messages, &members, &member)) {
        Span key = span_of(&member, id), value = data == NO_PLACE ? key : span_of(&member, data);
        uint32_t hash;
        if (key.size < 0) /* an instance that is not given */
            continue;
        if (!hash_text(key.p, key.size, &hash))
            return -1;
        items[count++] = (Item){key.p, value.p, key.size, value.size, 0, hash};
    }
    return count;
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

/* --- What Kafka expects. These return whether a piece is as expected, and add to the most text that it has. */

static int are_expected(Reading *reading, const Fields *fields);

static int check_partitions(Reading *reading, const Fields *fields, const Piece *piece)
{
    const Messages *messages = reading->messages;
    Item items[MAX_ITEMS];
    uint16_t order[MAX_ITEMS];
    if (!number_of(fields, piece->other))
        return 1;
    Elements topics = elements_of(messages, fields, piece->place);
    if (topics.count < 0)
        return 0;
    uint64_t separator_size = messages->piece_texts[piece->first_text + 1].size;
    reading->text_size += size_of_partitions(messages, topics, piece->element, separator_size);
    int count = partitions_of(messages, topics, piece->element, items);
    return count >= 0 && order_set((enum scala_order)piece->number, items, count, order);
}

/* An assignment of a member of a consumer group; each version is read as the first. */
static int check_assignment(Reading *reading, Span data, int64_t flags)
{
    static const int8_t element[] = {0, 1};
    const Messages *messages = reading->messages;
    Fields assignment;
    if (data.size < 2 || be16(data.p) < 0 ||
        !find_fields(messages, &messages->structs[messages->contained[1].structs[0]], data.p + 2, data.p + data.size, &assignment))
        return 0;
    Elements topics = elements_of(messages, &assignment, 0);
    reading->text_size += size_of_partitions(messages, topics, element, 2);
    int32_t size = span_of(&assignment, 1).size;
    return size < 0 ? (flags & ALLOWS_NULL_USER_DATA) != 0 : !size || flags & SHOWS_MEMBER_BYTES;
}

static int check_subscription(const Messages *messages, Span data)
{
    Fields subscription;
    return data.size >= 2 && find_fields(messages, &messages->structs[messages->contained[0].structs[0]], data.p + 2,
                                         data.p + data.size, &subscription);
}

static int check_members(Reading *reading, const Fields *fields, const Piece *piece)
{
    const Messages *messages = reading->messages;
    const int8_t *element = piece->element;
    int64_t flags = piece->number;
    int is_consumer = IS_TEXT(span_of(fields, 0), "consumer");
    int reads_subscriptions = flags & READS_SUBSCRIPTIONS && is_consumer && span_of(fields, piece->other).size >= 0;
    Elements members = elements_of(messages, fields, piece->place);
    Item items[MAX_ITEMS];
    uint16_t order[MAX_ITEMS];
    if (members.count < 0 || (!members.count && !(flags & ALLOWS_NO_MEMBERS)))
        return 0;
    int count = members_of(messages, members, element[0], element[3], items);
    if (count < 0 || !order_map(flags & MEMBERS_AS_2_13 ? SCALA_2_13 : SCALA_2_11, items, count, order))
        return 0;
    for (int at = 0; at < count; at++) {
        Span data = {items[at].data, items[at].data_size};
        if (is_consumer ? !check_assignment(reading, data, flags) : data.size && !(flags & SHOWS_MEMBER_BYTES))
            return 0;
    }
    if (flags & HAS_UNIQUE_INSTANCES && element[1] != NO_PLACE) {
        count = members_of(messages, members, element[1], NO_PLACE, items);
        if (count < 0 || !order_map(SCALA_2_13, items, count, order))
            return 0;
    }
    Fields member;
    while (reads_subscriptions && next_element(messages, &members, &member))
        if (!check_subscription(messages, span_of(&member, element[2])))
            return 0;
    return 1;
}

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
    case SHOW_PARTITIONS:
        return check_partitions(reading, fields, piece);
    case SHOW_MEMBERS:
        return check_members(reading, fields, piece);
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

/* Bytes as one hexadecimal number. */
static uint8_t *put_hex_number(uint8_t *out, const uint8_t *p, int32_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    const uint8_t *end = p + size;
    while (p < end - 1 && !*p)
        p++;
    if (p < end && *p < 16)
        *out++ = (uint8_t)digits[*p++];
    for (; p < end; p++) {
        *out++ = (uint8_t)digits[*p >> 4];
        *out++ = (uint8_t)digits[*p & 15];
    }
    return out;
}

static uint8_t *put_member_text(uint8_t *out, const uint8_t *p, int32_t size, int64_t flags)
{
    return flags & ESCAPES_MEMBERS ? put_escaped_text(out, p, (size_t)size) : put_text(out, p, (size_t)size);
}

static uint8_t *put_assignment(uint8_t *out, const Messages *messages, const Item *member, int64_t flags)
{
    Fields assignment, topic;
    find_fields(messages, &messages->structs[messages->contained[1].structs[0]], member->data + 2, member->data + member->data_size,
                &assignment);
    Elements topics = elements_of(messages, &assignment, 0);
    int is_first = 1;
    *out++ = '[';
    while (next_element(messages, &topics, &topic)) {
        Span name = span_of(&topic, 0);
        Elements numbers = elements_of(messages, &topic, 1);
        for (; numbers.count > 0; numbers.count--, numbers.p += 4) {
            out = is_first ? out : PUT(out, ", ");
            is_first = 0;
            out = put_member_text(out, name.p, name.size, flags);
            *out++ = '-';
            out = put_number(out, (int32_t)be32(numbers.p));
        }
    }
    *out++ = ']';
    Span user_data = span_of(&assignment, 1);
    if (user_data.size > 0) {
        *out++ = ':';
        out = put_hex_number(out, user_data.p, user_data.size);
    }
    return out;
}

static uint8_t *put_members(uint8_t *out, const Messages *messages, const Fields *fields, const Piece *piece)
{
    int64_t flags = piece->number;
    int is_consumer = IS_TEXT(span_of(fields, 0), "consumer");
    Item items[MAX_ITEMS];
    uint16_t order[MAX_ITEMS];
    int count = members_of(messages, elements_of(messages, fields, piece->place), piece->element[0], piece->element[3], items);
    order_map(flags & MEMBERS_AS_2_13 ? SCALA_2_13 : SCALA_2_11, items, count, order);
    out = put_piece_text(out, messages, piece, 0);
    for (int at = 0; at < count; at++) {
        const Item *member = &items[order[at]];
        if (at)
            *out++ = ',';
        out = put_member_text(out, member->text, member->text_size, flags);
        *out++ = '=';
        out = is_consumer ? put_assignment(out, messages, member, flags) : put_hex_number(out, member->data, member->data_size);
    }
    return put_piece_text(out, messages, piece, 1);
}

static uint8_t *put_partitions(uint8_t *out, const Messages *messages, const Fields *fields, const Piece *piece)
{
    Item items[MAX_ITEMS];
    uint16_t order[MAX_ITEMS];
    int count = 0;
    if (number_of(fields, piece->other)) {
        count = partitions_of(messages, elements_of(messages, fields, piece->place), piece->element, items);
        order_set((enum scala_order)piece->number, items, count, order);
    }
    out = put_piece_text(out, messages, piece, 0);
    for (int at = 0; at < count; at++) {
        const Item *item = &items[order[at]];
        if (at)
            out = put_piece_text(out, messages, piece, 1);
        out = put_text(out, item->text, (size_t)item->text_size);
        *out++ = '-';
        out = put_number(out, item->number);
    }
    return put_piece_text(out, messages, piece, 2);
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

static uint8_t *put_in_quotes(uint8_t *out, Span text, int is_escaped)
{
    if (text.size < 0)
        return PUT(out, "null");
    if (is_escaped)
        return put_string(out, text.p, (size_t)text.size);
    *out++ = '"';
    out = put_text(out, text.p, (size_t)text.size);
    *out++ = '"';
    return out;
}

static uint8_t *put_piece(uint8_t *out, const Messages *messages, const Fields *fields, const Piece *piece)
{
    Span span;
    switch (piece->operation) {
    case SHOW_VALUE:
        return put_plain(out, messages, fields, piece->place);
    case SHOW_ESCAPED:
    case SHOW_QUOTED:
        return put_in_quotes(out, span_of(fields, piece->place), piece->operation == SHOW_ESCAPED);
    case SHOW_NAME:
        return put_piece_text(out, messages, piece, number_of(fields, piece->place));
    case SHOW_IF_ANY:
        span = span_of(fields, piece->place);
        return span.size > 0 ? put_text(put_piece_text(out, messages, piece, 0), span.p, (size_t)span.size) : out;
    case SHOW_SIZE:
        span = span_of(fields, piece->place);
        if (span.size < 0)
            return put_piece_text(out, messages, piece, 0);
        out = put_number(put_piece_text(out, messages, piece, 1), span.size);
        return put_piece_text(out, messages, piece, 2);
    case SHOW_EPOCHS:
        return put_epochs(out, messages, fields, piece);
    case SHOW_PARTITIONS:
        return put_partitions(out, messages, fields, piece);
    case SHOW_MEMBERS:
        return put_members(out, messages, fields, piece);
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
