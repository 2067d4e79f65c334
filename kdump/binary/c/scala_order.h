/* The order in which Scala's hash tables give what they hold: topic partitions and members of groups in text of old releases. The
   reference is output/kafka/scala_order.py for sets, and output/kafka/reports.py for maps. */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "utf8.h"

enum scala_order { SCALA_2_11, SCALA_2_13 };

#define MAX_ITEMS 512
#define NO_ITEM 0xffff

/* A topic and the number of a partition, or a text with number 0; `data` is what a map has for it. */
typedef struct {
    const uint8_t *text, *data;
    int32_t text_size, data_size, number;
    uint32_t hash;
} Item;

/* Java's String.hashCode of well-formed text, over UTF-16. Returns whether the text is well-formed. */
static int hash_text(const uint8_t *p, int32_t size, uint32_t *hash)
{
    const uint8_t *end = p + size;
    uint32_t code = 0;
    while (p < end) {
        int bytes = character_size(p, end);
        uint32_t character = *p;
        if (bytes < 0)
            return 0;
        if (bytes > 1) {
            character = *p & (0x7fu >> bytes);
            for (int at = 1; at < bytes; at++)
                character = character << 6 | (p[at] & 0x3fu);
        }
        if (character >= 0x10000) {
            code = code * 31 + (0xd7c0 + (character >> 10));
            character = 0xdc00 | (character & 0x3ff);
        }
        code = code * 31 + character;
        p += bytes;
    }
    *hash = code;
    return 1;
}

static int is_same_item(const Item *item, const Item *other)
{
    return item->hash == other->hash && item->number == other->number && item->text_size == other->text_size &&
           !memcmp(item->text, other->text, (size_t)item->text_size);
}

static uint32_t scrambled(uint32_t hash)
{
    hash *= 0x9e3775cdu;
    hash = hash >> 24 | (hash >> 8 & 0xff00) | (hash << 8 & 0xff0000) | hash << 24;
    return hash * 0x9e3775cdu;
}

/* The upper `bits` of a number that is rotated to the right. */
static inline uint32_t rotated_upper_bits(uint32_t number, int rotation, int bits)
{
    return (number >> rotation | number << (32 - rotation)) >> (32 - bits);
}

/* --- Sets of 2.11: one table, in which what collides goes to the next free place */

#define SET_BITS 11 /* a larger table is not needed for MAX_ITEMS */

/* Returns whether the item is new. */
static int add_to_set(uint16_t *table, int bits, const Item *items, uint16_t item)
{
    uint32_t place = rotated_upper_bits(scrambled(items[item].hash), bits, bits);
    for (; table[place] != NO_ITEM; place = (place + 1) & ((1u << bits) - 1))
        if (is_same_item(&items[table[place]], &items[item]))
            return 0;
    table[place] = item;
    return 1;
}

static int order_old_set(const Item *items, int count, uint16_t *order)
{
    uint16_t table[1 << SET_BITS], grown[1 << SET_BITS];
    int bits = 5;
    memset(table, 0xff, sizeof table);
    for (int item = 0; item < count; item++) {
        if (!add_to_set(table, bits, items, (uint16_t)item))
            return 0;
        if (item + 1 < (1 << bits) * 450 / 1000 || bits == SET_BITS)
            continue;
        memset(grown, 0xff, sizeof grown);
        for (int place = 0; place < 1 << bits; place++)
            if (table[place] != NO_ITEM)
                add_to_set(grown, bits + 1, items, table[place]);
        memcpy(table, grown, sizeof table);
        bits++;
    }
    for (int place = 0; place < 1 << bits; place++)
        if (table[place] != NO_ITEM)
            *order++ = table[place];
    return 1;
}

/* --- Maps of 2.11: buckets by the upper bits of a scrambled hash; the last bucket, and in it the last item, comes first */

#define MAP_BITS 10

static int order_old_map(const Item *items, int count, uint16_t *order)
{
    uint16_t heads[1 << MAP_BITS], grown[1 << MAP_BITS], next[MAX_ITEMS];
    int bits = 4;
    memset(heads, 0xff, sizeof heads);
    for (int item = 0; item < count; item++) {
        uint16_t *head = &heads[rotated_upper_bits(scrambled(items[item].hash), 4, bits)];
        for (uint16_t other = *head; other != NO_ITEM; other = next[other])
            if (is_same_item(&items[other], &items[item]))
                return 0;
        next[item] = *head;
        *head = (uint16_t)item;
        if (4 * (item + 1) <= 3 << bits || bits == MAP_BITS)
            continue;
        memset(grown, 0xff, sizeof grown);
        for (int bucket = (1 << bits) - 1; bucket >= 0; bucket--)
            for (uint16_t moved = heads[bucket], after; moved != NO_ITEM; moved = after) {
                after = next[moved];
                head = &grown[rotated_upper_bits(scrambled(items[moved].hash), 4, bits + 1)];
                next[moved] = *head;
                *head = moved;
            }
        memcpy(heads, grown, sizeof heads);
        bits++;
    }
    for (int bucket = (1 << bits) - 1; bucket >= 0; bucket--)
        for (uint16_t item = heads[bucket]; item != NO_ITEM; item = next[item])
            *order++ = item;
    return 1;
}

/* --- Sets and maps of 2.13: buckets ascending, inside a bucket by hash */

static int order_by_buckets(const Item *items, int count, uint16_t *order)
{
    uint64_t keys[MAX_ITEMS];
    uint32_t capacity = 16;
    while (4u * (uint32_t)count >= 3 * capacity)
        capacity *= 2;
    for (int item = 0; item < count; item++) {
        uint32_t spread = items[item].hash ^ items[item].hash >> 16;
        uint64_t key = (uint64_t)(spread & (capacity - 1)) << 32 | (spread ^ 0x80000000u);
        int at = item;
        for (; at > 0 && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
            order[at] = order[at - 1];
        }
        keys[at] = key;
        order[at] = (uint16_t)item;
    }
    for (int at = 0; at < count; at++)
        for (int next = at + 1; next < count && keys[next] == keys[at]; next++)
            if (is_same_item(&items[order[at]], &items[order[next]]))
                return 0;
    return 1;
}

/* Fills `order` with the places of up to MAX_ITEMS items in the order of a set. Returns 0 if an item is there twice. */
static int order_set(enum scala_order kind, const Item *items, int count, uint16_t *order)
{
    return kind == SCALA_2_13 ? order_by_buckets(items, count, order) : order_old_set(items, count, order);
}

/* The same for the keys of a map. */
static int order_map(enum scala_order kind, const Item *items, int count, uint16_t *order)
{
    return kind == SCALA_2_13 ? order_by_buckets(items, count, order) : order_old_map(items, count, order);
}
