/* table.c - see base/table.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/assert.h"
#include "base/err.h"

#define SLOTS_MIN 16

/*
 * Both tables are the same machine: linear probing from the hash's home slot. They differ in what
 * an entry holds and how it is compared. A removal moves later entries of the run back, so that a
 * run never has a hole and a search ends at the first empty slot.
 */
struct entry {
    const void *key;
    void *value; /* NULL: the slot is empty */
    uint32_t length;
    uint32_t hash;
};

struct md_table {
    struct entry *slots;
    size_t mask;
    size_t count;
    uint64_t growths;
};

struct int_entry {
    uint64_t key;
    void *value;
};

struct md_int_table {
    struct int_entry *slots;
    size_t mask;
    size_t count;
    uint64_t growths;
};

/* One seed for the process, made at first use; constant from then on. */
static uint64_t hash_seed;
static pthread_once_t hash_seed_once = PTHREAD_ONCE_INIT;

static void make_seed(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
        seed = (uint64_t)(uintptr_t)&seed *
               0x9e3779b97f4a7c15ull; /* no entropy: the stack's address */
    hash_seed = seed | 1;
}

uint64_t md_hash_bytes(const void *bytes, size_t length)
{
    pthread_once(&hash_seed_once, make_seed);
    return XXH3_64bits_withSeed(bytes, length, hash_seed);
}

uint64_t md_hash_u64(uint64_t value)
{
    pthread_once(&hash_seed_once, make_seed);
    value ^= hash_seed;
    value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
    value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
    return value ^ (value >> 32);
}

/* The power of two that holds `expected` entries at three quarters full; 0 if there is none. */
static size_t slots_for(size_t expected)
{
    size_t slots = SLOTS_MIN;

    if (expected > SIZE_MAX / 256)
        return 0;
    while (slots / 4 * 3 < expected)
        slots *= 2;
    return slots;
}

static bool is_full(size_t count, size_t mask)
{
    return count >= (mask + 1) / 4 * 3;
}

/* May the entry whose home is `home` move from `from` back to the hole at `hole`? */
static bool may_move(size_t home, size_t hole, size_t from, size_t mask)
{
    return ((from - home) & mask) >= ((from - hole) & mask);
}

int md_table_create(size_t expected, struct md_table **out)
{
    size_t slots = slots_for(expected);

    *out = NULL;
    struct md_table *table = slots ? calloc(1, sizeof(*table)) : NULL;
    if (!table)
        return MD_ERR_NOMEM;
    table->slots = calloc(slots, sizeof(*table->slots));
    if (!table->slots) {
        free(table);
        return MD_ERR_NOMEM;
    }
    table->mask = slots - 1;
    *out = table;
    return MD_OK;
}

void md_table_destroy(struct md_table *table)
{
    if (!table)
        return;
    free(table->slots);
    free(table);
}

/* The slot of the key, or the empty slot where it belongs. */
static size_t find(const struct md_table *table, uint32_t hash, const void *key, size_t length)
{
    size_t at = hash & table->mask;

    for (;; at = (at + 1) & table->mask) {
        const struct entry *entry = &table->slots[at];
        if (!entry->value)
            return at;
        if (entry->hash == hash && entry->length == length &&
            (length == 0 || memcmp(entry->key, key, length) == 0))
            return at;
    }
}

static uint32_t hash_of(const void *key, size_t length)
{
    return (uint32_t)(md_hash_bytes(key, length) >> 32);
}

static int grow(struct md_table *table)
{
    size_t slots = (table->mask + 1) * 2;
    struct entry *old = table->slots;
    size_t old_mask = table->mask;

    struct entry *fresh = calloc(slots, sizeof(*fresh));
    if (!fresh)
        return MD_ERR_NOMEM;
    table->slots = fresh;
    table->mask = slots - 1;
    table->growths++;
    for (size_t i = 0; i <= old_mask; i++) {
        if (!old[i].value)
            continue;
        size_t at = old[i].hash & table->mask;
        while (fresh[at].value)
            at = (at + 1) & table->mask;
        fresh[at] = old[i];
    }
    free(old);
    return MD_OK;
}

void *md_table_get(const struct md_table *table, const void *key, size_t length)
{
    return table->slots[find(table, hash_of(key, length), key, length)].value;
}

int md_table_put(struct md_table *table, const void *key, size_t length, void *value)
{
    MD_ASSERT(value != NULL);
    MD_ASSERT(length <= UINT32_MAX);
    uint32_t hash = hash_of(key, length);
    size_t at = find(table, hash, key, length);

    if (table->slots[at].value)
        return MD_ERR_EXISTS;
    if (is_full(table->count, table->mask)) {
        int err = grow(table);
        if (err)
            return err;
        at = find(table, hash, key, length);
    }
    table->slots[at] =
        (struct entry){ .key = key, .value = value, .length = (uint32_t)length, .hash = hash };
    table->count++;
    return MD_OK;
}

void *md_table_remove(struct md_table *table, const void *key, size_t length)
{
    size_t hole = find(table, hash_of(key, length), key, length);
    void *value = table->slots[hole].value;

    if (!value)
        return NULL;
    for (size_t at = (hole + 1) & table->mask; table->slots[at].value;
         at = (at + 1) & table->mask) {
        if (may_move(table->slots[at].hash & table->mask, hole, at, table->mask)) {
            table->slots[hole] = table->slots[at];
            hole = at;
        }
    }
    table->slots[hole].value = NULL;
    table->count--;
    return value;
}

/*
 * Walk backwards from an empty slot: then a removal, which moves entries back within their run,
 * only moves what has been given already.
 */
void *md_table_next(const struct md_table *table, struct md_table_walk *walk)
{
    if (!walk->is_started) {
        walk->is_started = true;
        walk->left = table->mask;
        while (table->slots[walk->slot].value)
            walk->slot++;
    }
    while (walk->left > 0) {
        walk->left--;
        walk->slot = (walk->slot - 1) & table->mask;
        if (table->slots[walk->slot].value)
            return table->slots[walk->slot].value;
    }
    return NULL;
}

size_t md_table_count(const struct md_table *table)
{
    return table->count;
}

uint64_t md_table_growths(const struct md_table *table)
{
    return table->growths;
}

size_t md_table_bytes(const struct md_table *table)
{
    return sizeof(*table) + (table->mask + 1) * sizeof(*table->slots);
}

int md_int_table_create(size_t expected, struct md_int_table **out)
{
    size_t slots = slots_for(expected);

    *out = NULL;
    struct md_int_table *table = slots ? calloc(1, sizeof(*table)) : NULL;
    if (!table)
        return MD_ERR_NOMEM;
    table->slots = calloc(slots, sizeof(*table->slots));
    if (!table->slots) {
        free(table);
        return MD_ERR_NOMEM;
    }
    table->mask = slots - 1;
    *out = table;
    return MD_OK;
}

void md_int_table_destroy(struct md_int_table *table)
{
    if (!table)
        return;
    free(table->slots);
    free(table);
}

static size_t int_home(const struct md_int_table *table, uint64_t key)
{
    return (size_t)md_hash_u64(key) & table->mask;
}

static size_t int_find(const struct md_int_table *table, uint64_t key)
{
    size_t at = int_home(table, key);

    while (table->slots[at].value && table->slots[at].key != key)
        at = (at + 1) & table->mask;
    return at;
}

static int int_grow(struct md_int_table *table)
{
    size_t slots = (table->mask + 1) * 2;
    struct int_entry *old = table->slots;
    size_t old_mask = table->mask;

    struct int_entry *fresh = calloc(slots, sizeof(*fresh));
    if (!fresh)
        return MD_ERR_NOMEM;
    table->slots = fresh;
    table->mask = slots - 1;
    table->growths++;
    for (size_t i = 0; i <= old_mask; i++) {
        if (old[i].value)
            fresh[int_find(table, old[i].key)] = old[i];
    }
    free(old);
    return MD_OK;
}

void *md_int_table_get(const struct md_int_table *table, uint64_t key)
{
    return table->slots[int_find(table, key)].value;
}

int md_int_table_put(struct md_int_table *table, uint64_t key, void *value)
{
    MD_ASSERT(value != NULL);
    size_t at = int_find(table, key);

    if (table->slots[at].value)
        return MD_ERR_EXISTS;
    if (is_full(table->count, table->mask)) {
        int err = int_grow(table);
        if (err)
            return err;
        at = int_find(table, key);
    }
    table->slots[at] = (struct int_entry){ .key = key, .value = value };
    table->count++;
    return MD_OK;
}

void *md_int_table_remove(struct md_int_table *table, uint64_t key)
{
    size_t hole = int_find(table, key);
    void *value = table->slots[hole].value;

    if (!value)
        return NULL;
    for (size_t at = (hole + 1) & table->mask; table->slots[at].value;
         at = (at + 1) & table->mask) {
        if (may_move(int_home(table, table->slots[at].key), hole, at, table->mask)) {
            table->slots[hole] = table->slots[at];
            hole = at;
        }
    }
    table->slots[hole].value = NULL;
    table->count--;
    return value;
}

void *md_int_table_next(const struct md_int_table *table, struct md_table_walk *walk, uint64_t *key)
{
    if (!walk->is_started) {
        walk->is_started = true;
        walk->left = table->mask;
        while (table->slots[walk->slot].value)
            walk->slot++;
    }
    while (walk->left > 0) {
        walk->left--;
        walk->slot = (walk->slot - 1) & table->mask;
        if (!table->slots[walk->slot].value)
            continue;
        if (key)
            *key = table->slots[walk->slot].key;
        return table->slots[walk->slot].value;
    }
    return NULL;
}

size_t md_int_table_count(const struct md_int_table *table)
{
    return table->count;
}

uint64_t md_int_table_growths(const struct md_int_table *table)
{
    return table->growths;
}

size_t md_int_table_bytes(const struct md_int_table *table)
{
    return sizeof(*table) + (table->mask + 1) * sizeof(*table->slots);
}
