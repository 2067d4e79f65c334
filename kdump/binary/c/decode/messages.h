/* Messages: the layouts of Kafka's messages at their versions, and where the fields of a message lie. Python compiles schemas to layouts
   (messages/layout.py, output/kafka/topics/native_messages.py); this chapter parses them, with every number checked, and reads bytes by them.
   Text is made in the chapter on JSON. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "bytes/encodings.h"
#include "bytes/layout.h"

/* Layouts are a pool of texts, its size in front as u32, and int64 numbers, in this machine's byte order:
       number of structs; for each: is flexible, fields, tagged fields, later tags, shown fields;
           for each field and tagged field: kind, flags, child, tag, default, name's place and size in the pool, number of names that
               JSON has for its values, place and size of each;
           the later tags; the shown fields;
           number of pieces of its text; for each: operation, place of a field and of another one, number, places of fields of an
               element, place and size of the literal, number of texts, place and size of each;
       number of contained messages; for each: number of versions, a struct for each;
       kind of records, whether they are shown as text, place and size of the text after versions;
       number of types of records; for each: type, struct of the key, contained messages are read, texts before key and version,
           number of versions, a struct for each;
       number of types of control records; for each: type, what is shown, text before it, struct of a message.
   Structs come after those they contain, so there are no cycles. */

#define FIELD_KINDS(_)                                                                                                        \
    _(int8) _(int16) _(int32) _(int64) _(uint16) _(uint32) _(float64) _(bool) _(uuid) _(string) _(bytes) _(struct)

#define AS_KIND(name) F_##name,
#define AS_KIND_TEXT(name) #name,
enum field_kind { FIELD_KINDS(AS_KIND) FIELD_KIND_COUNT };
static const char *const field_kind_names[] = {FIELD_KINDS(AS_KIND_TEXT)};

enum { IS_ARRAY = 1, IS_NULLABLE = 2, IS_NULL_BY_DEFAULT = 4 };
enum record_kind { PLAIN_RECORDS, COORDINATOR_RECORDS, METADATA_RECORDS, PREVIEW_RECORDS, RECORD_KIND_COUNT };

/* What is shown of a control record after a text: the coordinator's epoch of a marker, nothing, or a message. */
enum control_kind { NOT_SHOWN, MARKER_EPOCH, TYPE_NAME, CONTROL_MESSAGE, CONTROL_KIND_COUNT };

/* Text of a struct that is not JSON consists of pieces: a literal, and what follows it. Some only say what Kafka expects. */
enum piece_operation {
    SHOW_NOTHING,
    SHOW_VALUE,      /* a number, a text, a uuid without quotes, or a struct by its own pieces */
    SHOW_NAME,       /* the text whose number the field has; others are not expected */
    SHOW_SIZE,       /* texts: for null, before the size of bytes, after it */
    SHOW_EPOCHS,     /* a map of numbers, not empty, with ascending keys; element: key, value */
    EXPECT_LEAST,    /* the field is not below the number */
    EXPECT_ORDER,    /* the field is not below the other field */
    PIECE_OPERATION_COUNT
};

/* Whether a piece of this operation is checked by itself. */
static int is_checked_piece(int operation)
{
    return operation >= SHOW_EPOCHS || operation == SHOW_NAME;
}

/* Whether a piece of this operation puts contents of its field. */
static int shows_field(int operation)
{
    return operation > SHOW_NOTHING && operation < EXPECT_LEAST;
}

#define UUID_SIZE 16
#define MAX_NUMBER_TEXT 32 /* of a value of fixed size and what separates it from the next: a uuid in quotes has 24 bytes */
#define MAX_STRING 0x7fff
#define MAX_TAGGED 10000 /* what newer releases read; more is left to Python */
#define MAX_ELEMENTS 1000000
#define MAX_FIELDS_OF_STRUCT 32
#define MAX_FIELDS 2048
#define MAX_STRUCTS 512
#define MAX_LATER_TAGS 256
#define MAX_CONTAINED 8
#define MAX_VERSIONS 16
#define MAX_TYPES 64
#define MAX_CONTROL_TYPES 16
#define MAX_DEPTH 8
#define MAX_PIECES 512
#define MAX_PIECE_TEXTS 512
#define MAX_ELEMENT_PLACES 2
#define NO_PLACE (-1)
#define LABEL_POOL_SIZE 16384
#define NO_STRUCT (-1)

typedef struct {
    uint16_t at, size; /* in the pool of layouts */
} Label;

typedef struct {
    uint8_t kind, flags;
    int16_t child; /* of a struct: which; of bytes: the message they contain, or NO_STRUCT */
    int32_t tag;
    int64_t default_number;
    Label label; /* its name, as a key of JSON */
    uint16_t first_name, name_count; /* of what JSON has for its values; others are not expected */
} Field;

typedef struct {
    uint8_t is_flexible, field_count, tagged_count, later_count, shown_count, depth, piece_count;
    uint8_t has_expectations; /* whether a piece, or one of a struct that it shows, may be other than Kafka expects */
    uint16_t first_field, first_later, first_shown, first_piece;
    uint64_t words_size; /* of the literals and texts of its pieces, and of those of the structs that they show */
} Struct;

typedef struct {
    uint8_t operation, text_count;
    int8_t place, other, element[MAX_ELEMENT_PLACES]; /* of fields in their struct, or NO_PLACE */
    uint16_t first_text;
    int64_t number;
    Label literal;
} Piece;

typedef struct {
    int16_t version_count, structs[MAX_VERSIONS];
} Versions;

typedef struct {
    int16_t type, key_struct;
    int is_protocol; /* members of groups whose first field is "consumer" have messages in bytes */
    Label key_start, value_start;
    Versions versions;
} RecordType;

typedef struct {
    enum control_kind kind;
    int16_t message;
    Label start;
} ControlType;

typedef struct {
    enum record_kind kind;
    int struct_count, contained_count, type_count, shows_control, is_text;
    Label after_version;
    Struct structs[MAX_STRUCTS];
    Field fields[MAX_FIELDS];
    Piece pieces[MAX_PIECES];
    Label piece_texts[MAX_PIECE_TEXTS];
    int32_t later_tags[MAX_LATER_TAGS];
    uint8_t shown[MAX_FIELDS];
    Versions contained[MAX_CONTAINED];
    RecordType types[MAX_TYPES];
    ControlType control_types[MAX_CONTROL_TYPES]; /* by type */
    uint8_t pool[LABEL_POOL_SIZE + COPY_SIZE];
} Messages;

/* --- Parsing layouts */

typedef struct {
    const uint8_t *p, *end;
    size_t pool_size;
    int failed;
} Numbers;

/* The next number, which has to be in this range; or else `low`, and the layouts are malformed. */
static int64_t next_number(Numbers *numbers, int64_t low, int64_t high)
{
    int64_t number = low;
    if (numbers->end - numbers->p < (ptrdiff_t)sizeof number)
        numbers->failed = 1;
    if (numbers->failed)
        return low;
    memcpy(&number, numbers->p, sizeof number);
    numbers->p += sizeof number;
    if (number < low || number > high) {
        numbers->failed = 1;
        return low;
    }
    return number;
}

static Label label_in(Numbers *numbers)
{
    int64_t at = next_number(numbers, 0, (int64_t)numbers->pool_size);
    int64_t size = next_number(numbers, 0, (int64_t)numbers->pool_size - at);
    return (Label){(uint16_t)at, (uint16_t)size};
}

/* How many there are of what all structs share. */
typedef struct {
    int fields, later_tags, shown, pieces, texts;
} Counts;

static int is_number(const Field *field)
{
    return !(field->flags & IS_ARRAY) && (field->kind < F_float64 || field->kind == F_bool);
}

/* The texts of a piece or a field. Returns how many. */
static int parse_texts(Numbers *numbers, Messages *messages, Counts *counts)
{
    int count = (int)next_number(numbers, 0, MAX_FIELDS_OF_STRUCT);
    if (count > MAX_PIECE_TEXTS - counts->texts)
        numbers->failed = 1;
    for (int text = 0; text < count && !numbers->failed; text++)
        messages->piece_texts[counts->texts++] = label_in(numbers);
    return count;
}

/* A field of the struct that is parsed now. Returns the depth of what it contains. */
static int parse_field(Numbers *numbers, Messages *messages, Counts *counts)
{
    Field *field = &messages->fields[counts->fields++];
    int depth = 0;
    field->kind = (uint8_t)next_number(numbers, 0, FIELD_KIND_COUNT - 1);
    field->flags = (uint8_t)next_number(numbers, 0, IS_ARRAY | IS_NULLABLE | IS_NULL_BY_DEFAULT);
    field->child = NO_STRUCT;
    if (field->kind == F_struct) {
        field->child = (int16_t)next_number(numbers, 0, messages->struct_count - 1);
        depth = numbers->failed ? 0 : messages->structs[field->child].depth;
    } else {
        field->child = (int16_t)next_number(numbers, NO_STRUCT, field->kind == F_bytes ? MAX_CONTAINED - 1 : NO_STRUCT);
    }
    field->tag = (int32_t)next_number(numbers, -1, INT32_MAX);
    field->default_number = next_number(numbers, INT64_MIN, INT64_MAX);
    field->label = label_in(numbers);
    field->first_name = (uint16_t)counts->texts;
    field->name_count = (uint16_t)parse_texts(numbers, messages, counts);
    for (int name = 0; name < field->name_count && !numbers->failed; name++)
        if (!is_number(field) || messages->piece_texts[field->first_name + name].size >= MAX_NUMBER_TEXT)
            numbers->failed = 1;
    return depth;
}

static void parse_versions(Numbers *numbers, const Messages *messages, Versions *versions)
{
    versions->version_count = (int16_t)next_number(numbers, 0, MAX_VERSIONS);
    for (int version = 0; version < versions->version_count; version++)
        versions->structs[version] = (int16_t)next_number(numbers, 0, messages->struct_count - 1);
}

static void parse_piece(Numbers *numbers, Messages *messages, const Struct *layout, Counts *counts)
{
    Piece *piece = &messages->pieces[counts->pieces++];
    int last = layout->field_count + layout->tagged_count - 1;
    piece->operation = (uint8_t)next_number(numbers, 0, PIECE_OPERATION_COUNT - 1);
    piece->place = (int8_t)next_number(numbers, NO_PLACE, last);
    piece->other = (int8_t)next_number(numbers, NO_PLACE, last);
    piece->number = next_number(numbers, INT64_MIN, INT64_MAX);
    for (int at = 0; at < MAX_ELEMENT_PLACES; at++)
        piece->element[at] = (int8_t)next_number(numbers, NO_PLACE, MAX_FIELDS_OF_STRUCT - 1);
    piece->literal = label_in(numbers);
    piece->first_text = (uint16_t)counts->texts;
    piece->text_count = (uint8_t)parse_texts(numbers, messages, counts);
}

/* Adds the pieces of a struct up: their texts, and whether any is checked. */
static void add_up_pieces(const Messages *messages, Struct *layout)
{
    layout->words_size = 0;
    layout->has_expectations = 0;
    for (int at = 0; at < layout->piece_count; at++) {
        const Piece *piece = &messages->pieces[layout->first_piece + at];
        const Field *field = piece->place == NO_PLACE ? NULL : &messages->fields[layout->first_field + piece->place];
        const Struct *inner = field && field->kind == F_struct ? &messages->structs[field->child] : NULL;
        layout->words_size += piece->literal.size;
        for (int text = 0; text < piece->text_count; text++)
            layout->words_size += messages->piece_texts[piece->first_text + text].size;
        if (piece->operation == SHOW_VALUE && inner) {
            layout->words_size += inner->words_size;
            if (inner->has_expectations)
                layout->has_expectations = 1;
        }
        if (is_checked_piece(piece->operation))
            layout->has_expectations = 1;
    }
}

static void parse_struct(Numbers *numbers, Messages *messages, Counts *counts)
{
    Struct *layout = &messages->structs[messages->struct_count];
    int depth = 0;
    uint32_t shown_before = 0; /* a bit for each place */
    layout->is_flexible = (uint8_t)next_number(numbers, 0, 1);
    layout->field_count = (uint8_t)next_number(numbers, 0, MAX_FIELDS_OF_STRUCT);
    layout->tagged_count = (uint8_t)next_number(numbers, 0, MAX_FIELDS_OF_STRUCT - layout->field_count);
    layout->later_count = (uint8_t)next_number(numbers, 0, MAX_FIELDS_OF_STRUCT);
    layout->shown_count = (uint8_t)next_number(numbers, 0, layout->field_count + layout->tagged_count);
    int count = layout->field_count + layout->tagged_count;
    if (count > MAX_FIELDS - counts->fields || layout->later_count > MAX_LATER_TAGS - counts->later_tags) {
        numbers->failed = 1;
        return;
    }
    layout->first_field = (uint16_t)counts->fields;
    layout->first_later = (uint16_t)counts->later_tags;
    layout->first_shown = (uint16_t)counts->shown;
    for (int at = 0; at < count && !numbers->failed; at++) {
        int inner = parse_field(numbers, messages, counts);
        depth = inner > depth ? inner : depth;
    }
    for (int at = 0; at < layout->later_count; at++)
        messages->later_tags[counts->later_tags++] = (int32_t)next_number(numbers, 0, INT32_MAX);
    for (int at = 0; at < layout->shown_count; at++) {
        int place = (int)next_number(numbers, 0, count - 1);
        if (shown_before >> place & 1) /* there is room to show each once */
            numbers->failed = 1;
        shown_before |= (uint32_t)1 << place;
        messages->shown[counts->shown++] = (uint8_t)place;
    }
    layout->first_piece = (uint16_t)counts->pieces;
    layout->piece_count = (uint8_t)next_number(numbers, 0, MAX_FIELDS_OF_STRUCT);
    if (layout->piece_count > MAX_PIECES - counts->pieces)
        numbers->failed = 1;
    for (int at = 0; at < layout->piece_count && !numbers->failed; at++)
        parse_piece(numbers, messages, layout, counts);
    if (!numbers->failed)
        add_up_pieces(messages, layout);
    layout->depth = (uint8_t)(depth + 1);
    if (layout->depth > MAX_DEPTH)
        numbers->failed = 1;
    messages->struct_count++;
}

static void parse_type(Numbers *numbers, const Messages *messages, RecordType *type)
{
    int is_coordinator = messages->kind == COORDINATOR_RECORDS;
    type->type = (int16_t)next_number(numbers, 0, INT16_MAX);
    type->key_struct = (int16_t)next_number(numbers, is_coordinator ? 0 : NO_STRUCT, is_coordinator ? messages->struct_count - 1 : NO_STRUCT);
    type->is_protocol = (int)next_number(numbers, 0, 1);
    type->key_start = label_in(numbers);
    type->value_start = label_in(numbers);
    parse_versions(numbers, messages, &type->versions);
}

static void parse_control_type(Numbers *numbers, Messages *messages)
{
    ControlType *type = &messages->control_types[next_number(numbers, 0, MAX_CONTROL_TYPES - 1)];
    type->kind = (enum control_kind)next_number(numbers, NOT_SHOWN, CONTROL_KIND_COUNT - 1);
    type->start = label_in(numbers);
    int has_message = type->kind == CONTROL_MESSAGE;
    type->message = (int16_t)next_number(numbers, has_message ? 0 : NO_STRUCT, has_message ? messages->struct_count - 1 : NO_STRUCT);
}

/* Whether contained messages exist, and contain no others. */
static int has_valid_contained(const Messages *messages, int field_count)
{
    for (int at = 0; at < field_count; at++)
        if (messages->fields[at].kind == F_bytes && messages->fields[at].child >= messages->contained_count)
            return 0;
    for (int at = 0; at < messages->contained_count; at++)
        for (int version = 0; version < messages->contained[at].version_count; version++) {
            int last = messages->contained[at].structs[version];
            for (int inner = 0; inner <= last; inner++) /* structs come after those they contain */
                for (int field = 0; field < messages->structs[inner].field_count + messages->structs[inner].tagged_count; field++) {
                    const Field *found = &messages->fields[messages->structs[inner].first_field + field];
                    if (found->kind == F_bytes && found->child != NO_STRUCT)
                        return 0;
                }
        }
    return 1;
}

/* The field at a place of a struct, if it is always there and of a kind, or an array of it; or NULL. */
static const Field *field_of_kind(const Messages *messages, const Struct *layout, int place, int kind, int is_array)
{
    const Field *field = &messages->fields[layout->first_field + place];
    int is_there = place >= 0 && place < layout->field_count;
    return is_there && field->kind == kind && (field->flags & IS_ARRAY) == (is_array ? IS_ARRAY : 0) ? field : NULL;
}

/* The struct of the elements of an array, or NULL. */
static const Struct *element_struct(const Messages *messages, const Struct *layout, int place)
{
    const Field *field = field_of_kind(messages, layout, place, F_struct, 1);
    return field ? &messages->structs[field->child] : NULL;
}

/* Whether the fields of a piece have the kinds that its operation needs. */
static int is_valid_piece(const Messages *messages, const Struct *layout, const Piece *piece)
{
    const Field *fields = &messages->fields[layout->first_field];
    const int8_t *element = piece->element;
    int operation = piece->operation;
    if (operation == SHOW_NOTHING)
        return 1;
    if (piece->place == NO_PLACE)
        return 0;
    const Field *field = &fields[piece->place];
    int has_other_number = piece->other >= 0 && piece->other < layout->field_count && is_number(&fields[piece->other]);
    int is_tagged = piece->place >= layout->field_count;
    const Struct *inner = is_tagged ? NULL : element_struct(messages, layout, piece->place);
    switch (operation) {
    case SHOW_VALUE: /* of tagged fields, only numbers have a text for their default */
        if (is_number(field))
            return 1;
        if (is_tagged || field->flags & IS_ARRAY || field->kind == F_float64 || field->kind == F_bytes)
            return 0;
        return field->kind != F_struct || !(field->flags & IS_NULLABLE);
    case SHOW_SIZE:
        return piece->text_count == 3 && field_of_kind(messages, layout, piece->place, F_bytes, 0);
    case SHOW_NAME:
    case EXPECT_LEAST:
        return is_number(field);
    case EXPECT_ORDER:
        return !is_tagged && is_number(field) && has_other_number;
    default:
        return inner && field_of_kind(messages, inner, element[0], F_int32, 0) && field_of_kind(messages, inner, element[1], F_int64, 0);
    }
}

/* Whether pieces have what they need, and no struct shows a field twice: there is room to show each once. */
static int has_valid_pieces(const Messages *messages)
{
    for (int at = 0; at < messages->struct_count; at++) {
        const Struct *layout = &messages->structs[at];
        uint32_t shown_before = 0; /* a bit for each place */
        for (int row = 0; row < layout->piece_count; row++) {
            const Piece *piece = &messages->pieces[layout->first_piece + row];
            if (!is_valid_piece(messages, layout, piece) || (shows_field(piece->operation) && shown_before >> piece->place & 1))
                return 0;
            if (shows_field(piece->operation))
                shown_before |= (uint32_t)1 << piece->place;
        }
    }
    return 1;
}

static int parse_messages(const uint8_t *p, size_t size, Messages *messages)
{
    uint32_t pool_size;
    Counts counts = {0};
    messages->kind = PLAIN_RECORDS;
    messages->struct_count = messages->contained_count = messages->type_count = messages->shows_control = messages->is_text = 0;
    memset(messages->control_types, 0, sizeof messages->control_types);
    if (!size)
        return 1;
    if (size < sizeof pool_size)
        return 0;
    memcpy(&pool_size, p, sizeof pool_size);
    if (pool_size > LABEL_POOL_SIZE || pool_size > size - sizeof pool_size)
        return 0;
    memcpy(messages->pool, p + sizeof pool_size, pool_size);
    Numbers numbers = {p + sizeof pool_size + pool_size, p + size, pool_size, 0};
    int64_t count = next_number(&numbers, 0, MAX_STRUCTS);
    for (int64_t at = 0; at < count && !numbers.failed; at++)
        parse_struct(&numbers, messages, &counts);
    count = next_number(&numbers, 0, MAX_CONTAINED);
    for (; messages->contained_count < count && !numbers.failed; messages->contained_count++)
        parse_versions(&numbers, messages, &messages->contained[messages->contained_count]);
    messages->kind = (enum record_kind)next_number(&numbers, PLAIN_RECORDS, RECORD_KIND_COUNT - 1);
    messages->is_text = (int)next_number(&numbers, 0, 1);
    messages->after_version = label_in(&numbers);
    count = next_number(&numbers, 0, MAX_TYPES);
    for (; messages->type_count < count && !numbers.failed; messages->type_count++)
        parse_type(&numbers, messages, &messages->types[messages->type_count]);
    count = next_number(&numbers, 0, MAX_CONTROL_TYPES);
    messages->shows_control = count > 0;
    for (; count && !numbers.failed; count--)
        parse_control_type(&numbers, messages);
    return !numbers.failed && numbers.p == numbers.end && has_valid_contained(messages, counts.fields) &&
           has_valid_pieces(messages);
}

/* --- Reading messages */

/* What is known of a message after it has been read once. */
typedef struct {
    const Messages *messages;
    uint64_t text_size;    /* at most, of its text */
    int has_other_version; /* bytes contain a message of a version without layout */
} Reading;

/* An unsigned varint below 2^31. Returns its end, or NULL. */
static inline const uint8_t *unsigned_varint(const uint8_t *p, const uint8_t *end, int32_t *value)
{
    uint64_t raw = 0;
    if (p < end && *p < 0x80) {
        *value = *p;
        return p + 1;
    }
    for (int shift = 0; p < end && shift < 35; shift += 7) {
        uint8_t byte = *p++;
        raw |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = (int32_t)raw;
            return raw <= INT32_MAX ? p : NULL;
        }
    }
    return NULL;
}

/* A length, negative for null: a compact one is stored as one more. Others have `size` bytes. */
static inline const uint8_t *length_at(const uint8_t *p, const uint8_t *end, int is_compact, int size, int32_t *length)
{
    if (is_compact) {
        if (!(p = unsigned_varint(p, end, length)))
            return NULL;
        --*length;
        return p;
    }
    if (end - p < size)
        return NULL;
    *length = size == 2 ? be16(p) : (int32_t)be32(p);
    return p + size;
}

static const uint8_t fixed_sizes[FIELD_KIND_COUNT] = {1, 2, 4, 8, 2, 4, 8, 1, UUID_SIZE, 0, 0, 0};

static inline int64_t number_at(const uint8_t *p, int kind)
{
    switch (kind) {
    case F_int8:
        return (int8_t)*p;
    case F_bool:
        return *p != 0;
    case F_int16:
        return be16(p);
    case F_uint16:
        return (uint16_t)be16(p);
    case F_int32:
        return (int32_t)be32(p);
    case F_uint32:
        return be32(p);
    default:
        return (int64_t)be64(p);
    }
}

#define MOST_EXACT 1000000000000000 /* decimal numbers with 15 digits all are different doubles: none is shown with fewer digits */
#define MOST_PLAIN 10000000         /* from here on, Java shows an exponent */
#define LEAST_PLAIN 0.001

typedef struct {
    int64_t digits;
    int scale; /* digits after the decimal point; the last of them is not 0 */
} Decimal;

static const int64_t powers_of_ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000};

/* Whether a double is a decimal number that is easily shown: not too large, with few digits after the point. Minus zero is not. */
static int is_decimal(const uint8_t *p, Decimal *decimal)
{
    uint64_t bits = be64(p);
    double value, size;
    memcpy(&value, &bits, sizeof value);
    size = value < 0 ? -value : value;
    if (!(size < (double)MOST_EXACT) || (!value && bits))
        return 0;
    int has_fraction = size >= LEAST_PLAIN && size < (double)MOST_PLAIN;
    for (int scale = 0; scale < (has_fraction ? 7 : 1); scale++) {
        double scaled = value * (double)powers_of_ten[scale];
        *decimal = (Decimal){(int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5), scale};
        if ((double)decimal->digits / (double)powers_of_ten[scale] == value) /* which is rounded only once */
            return 1;
    }
    return 0;
}

static const uint8_t *read_struct(Reading *reading, const Struct *layout, const uint8_t *p, const uint8_t *end, const uint8_t **places);

/* The layout of the message that bytes contain after its version, or NULL if they are not such a message, and are shown as bytes. A
   version without layout is noted: nothing is known of such bytes. */
static const Struct *contained_layout(Reading *reading, int contained, const uint8_t *p, const uint8_t *end)
{
    const Versions *versions = &reading->messages->contained[contained];
    const uint8_t *places[MAX_FIELDS_OF_STRUCT];
    if (end - p < 2)
        return NULL;
    int version = be16(p);
    if (version < 0 || version >= versions->version_count) {
        reading->has_other_version = 1;
        return NULL;
    }
    const Struct *layout = &reading->messages->structs[versions->structs[version]];
    return read_struct(reading, layout, p + 2, end, places) ? layout : NULL;
}

/* Reads a value, or an element of an array. Returns its end, or NULL if it is irregular. */
static const uint8_t *read_value(Reading *reading, const Field *field, int is_flexible, int is_element, const uint8_t *p,
                                 const uint8_t *end)
{
    int32_t size;
    Decimal decimal;
    const uint8_t *places[MAX_FIELDS_OF_STRUCT];
    int is_nullable = field->flags & IS_NULLABLE && !is_element;
    if (field->kind < F_string) {
        size = fixed_sizes[field->kind];
        if (end - p < size || (field->kind == F_float64 && !is_decimal(p, &decimal)))
            return NULL;
        reading->text_size += MAX_NUMBER_TEXT;
        return p + size;
    }
    if (field->kind == F_struct) {
        reading->text_size += MAX_NUMBER_TEXT; /* null */
        if (is_nullable) {
            if (field->tag >= 0 ? !(p = unsigned_varint(p, end, &size)) : end - p < 1)
                return NULL;
            if (field->tag >= 0 ? size == 0 : (int8_t)*p < 0)
                return field->tag >= 0 ? p : p + 1;
            p += field->tag >= 0 ? 0 : 1;
        }
        return read_struct(reading, &reading->messages->structs[field->child], p, end, places);
    }
    if (!(p = length_at(p, end, is_flexible, field->kind == F_string ? 2 : 4, &size)))
        return NULL;
    reading->text_size += MAX_NUMBER_TEXT; /* null, or quotes */
    if (size < 0)
        return is_nullable ? p : NULL;
    if (size > end - p || (field->kind == F_string && size > MAX_STRING))
        return NULL;
    reading->text_size += 6 * (uint64_t)size; /* \u and four digits for each control character */
    if (field->kind == F_bytes && field->child != NO_STRUCT)
        contained_layout(reading, field->child, p, p + size);
    return p + size;
}

static inline const uint8_t *read_field(Reading *reading, const Field *field, int is_flexible, const uint8_t *p, const uint8_t *end)
{
    int32_t count;
    if (field->kind < F_string && field->kind != F_float64 && !(field->flags & IS_ARRAY)) {
        reading->text_size += (uint64_t)field->label.size + 1 + MAX_NUMBER_TEXT;
        if (end - p < fixed_sizes[field->kind] || (field->name_count && (uint64_t)number_at(p, field->kind) >= field->name_count))
            return NULL;
        return p + fixed_sizes[field->kind];
    }
    reading->text_size += (uint64_t)field->label.size + 1;
    if (!(field->flags & IS_ARRAY))
        return read_value(reading, field, is_flexible, 0, p, end);
    if (!(p = length_at(p, end, is_flexible, 4, &count)))
        return NULL;
    reading->text_size += MAX_NUMBER_TEXT; /* null, or brackets */
    if (count < 0)
        return field->flags & IS_NULLABLE ? p : NULL;
    if (count > end - p || count > MAX_ELEMENTS)
        return NULL;
    for (; count && p; count--)
        p = read_value(reading, field, is_flexible, 1, p, end);
    return p;
}

/* Reads the tagged fields of a struct into their places, which are NULL for those that are absent. */
static const uint8_t *read_tagged(Reading *reading, const Struct *layout, const uint8_t *p, const uint8_t *end, const uint8_t **places)
{
    const Messages *messages = reading->messages;
    const Field *fields = &messages->fields[layout->first_field];
    int32_t count, tag, size;
    if (!(p = unsigned_varint(p, end, &count)) || count > MAX_TAGGED)
        return NULL;
    for (; count && p; count--) {
        if (!(p = unsigned_varint(p, end, &tag)) || !(p = unsigned_varint(p, end, &size)))
            return NULL;
        int at = layout->field_count, last = at + layout->tagged_count;
        for (int later = 0; later < layout->later_count; later++)
            if (messages->later_tags[layout->first_later + later] == tag)
                return NULL;
        while (at < last && fields[at].tag != tag)
            at++;
        if (at < last) {
            places[at] = p;
            p = read_field(reading, &fields[at], 1, p, end);
        } else {
            p = size <= end - p ? p + size : NULL;
        }
    }
    return p;
}

/* Reads a struct: where its fields lie. Returns its end, or NULL if it is irregular. */
static const uint8_t *read_struct(Reading *reading, const Struct *layout, const uint8_t *p, const uint8_t *end, const uint8_t **places)
{
    const Field *fields = &reading->messages->fields[layout->first_field];
    int at = 0;
    for (; at < layout->field_count; at++) {
        places[at] = p;
        if (!(p = read_field(reading, &fields[at], layout->is_flexible, p, end)))
            return NULL;
    }
    for (; at < layout->field_count + layout->tagged_count; at++)
        places[at] = NULL;
    return layout->is_flexible ? read_tagged(reading, layout, p, end, places) : p;
}

/* Whether a field that was read has its default. */
static int has_default(Reading *reading, const Field *field, int is_flexible, const uint8_t *p, const uint8_t *end)
{
    static const uint8_t zeros[UUID_SIZE];
    int is_null_by_default = (field->flags & IS_NULL_BY_DEFAULT) != 0;
    int32_t size = 0;
    if (field->flags & IS_ARRAY || field->kind == F_string || field->kind == F_bytes) {
        length_at(p, end, is_flexible, field->flags & IS_ARRAY || field->kind == F_bytes ? 4 : 2, &size);
        return is_null_by_default ? size < 0 : !size;
    }
    if (field->kind == F_struct) {
        if (field->flags & IS_NULLABLE) {
            const uint8_t *after = field->tag >= 0 ? unsigned_varint(p, end, &size) : p + 1;
            if (field->tag >= 0 ? !size : (int8_t)*p < 0)
                return is_null_by_default;
            p = after;
        }
        const Struct *layout = &reading->messages->structs[field->child];
        const Field *fields = &reading->messages->fields[layout->first_field];
        const uint8_t *places[MAX_FIELDS_OF_STRUCT];
        read_struct(reading, layout, p, end, places);
        for (int at = 0; at < layout->field_count + layout->tagged_count; at++)
            if (places[at] && !has_default(reading, &fields[at], layout->is_flexible, places[at], end))
                return 0;
        return !is_null_by_default;
    }
    if (is_null_by_default)
        return 0;
    return field->kind == F_uuid ? !memcmp(p, zeros, UUID_SIZE) : number_at(p, field->kind) == field->default_number;
}
