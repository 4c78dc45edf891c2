/* table.c - see base/table.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/map.h"
#include "base/siphash.h"

struct entry {
    const void *key;
    void *value; /* NULL: free */
    uint32_t length;
    uint32_t next_free;
};

struct md_table {
    struct md_map map; /* of the keys' hashes to entries' numbers */
    struct entry *entries;
    uint32_t room;
    uint32_t high; /* entries below have been used at some time */
    uint32_t free_head;
    size_t map_bytes;
};

/* One key for the process, made at first use; constant from then on. */
static uint64_t hash_key[2];
static pthread_once_t hash_key_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    if (getrandom(hash_key, sizeof(hash_key), GRND_NONBLOCK) != (ssize_t)sizeof(hash_key))
        hash_key[0] = (uint64_t)(uintptr_t)&hash_key; /* no entropy: where the loader put us */
}

uint64_t md_hash_bytes(const void *bytes, size_t length)
{
    pthread_once(&hash_key_once, make_key);
    return md_siphash(hash_key, bytes, length);
}

/* The map grows beyond four of five cells in use. */
int md_table_create(size_t expected, struct md_table **out)
{
    struct md_table *table = calloc(1, sizeof(*table));

    *out = NULL;
    if (!table || expected > UINT32_MAX / 2)
        goto fail;
    table->room = expected < 8 ? 8 : (uint32_t)expected;
    table->free_head = MD_NIL;
    table->entries = malloc(table->room * sizeof(*table->entries));
    if (!table->entries ||
        md_map_init(&table->map, table->room / 4 * 5 + 8, &table->map_bytes) != MD_OK)
        goto fail;
    *out = table;
    return MD_OK;
fail:
    md_table_destroy(table);
    return MD_ERR_NOMEM;
}

void md_table_destroy(struct md_table *table)
{
    if (!table)
        return;
    md_map_fini(&table->map);
    free(table->entries);
    free(table);
}

/* The number of the key's entry, or MD_NIL. */
static uint32_t find(const struct md_table *table, uint64_t hash, const void *key, size_t length)
{
    uint32_t cursor = 0;
    uint32_t number;

    while ((number = md_map_next(&table->map, hash, &cursor)) != MD_NIL) {
        const struct entry *entry = &table->entries[number];
        if (entry->length == length && (length == 0 || memcmp(entry->key, key, length) == 0))
            break;
    }
    return number;
}

void *md_table_get(const struct md_table *table, const void *key, size_t length)
{
    uint32_t number = find(table, md_hash_bytes(key, length), key, length);

    return number != MD_NIL ? table->entries[number].value : NULL;
}

static int grow(struct md_table *table)
{
    uint32_t room = table->room < UINT32_MAX / 2 ? table->room * 2 : 0;
    struct entry *entries = room ? realloc(table->entries, room * sizeof(*entries)) : NULL;

    if (!entries)
        return MD_ERR_NOMEM;
    table->entries = entries;
    table->room = room;
    return MD_OK;
}

int md_table_put(struct md_table *table, const void *key, size_t length, void *value)
{
    uint64_t hash = md_hash_bytes(key, length);
    uint32_t number = table->free_head;
    int err;

    MD_ASSERT(value != NULL);
    MD_ASSERT(length <= UINT32_MAX);
    if (find(table, hash, key, length) != MD_NIL)
        return MD_ERR_EXISTS;
    if (number == MD_NIL) {
        number = table->high;
        if (number == table->room && (err = grow(table)) != MD_OK)
            return err;
    }
    if ((err = md_map_put(&table->map, hash, number)) != MD_OK)
        return err;
    if (number == table->high)
        table->high++;
    else
        table->free_head = table->entries[number].next_free;
    table->entries[number] =
        (struct entry){ .key = key, .value = value, .length = (uint32_t)length };
    return MD_OK;
}

void *md_table_remove(struct md_table *table, const void *key, size_t length)
{
    uint64_t hash = md_hash_bytes(key, length);
    uint32_t number = find(table, hash, key, length);

    if (number == MD_NIL)
        return NULL;
    void *value = table->entries[number].value;
    md_map_remove(&table->map, hash, number);
    table->entries[number] = (struct entry){ .next_free = table->free_head };
    table->free_head = number;
    return value;
}

void *md_table_next(const struct md_table *table, struct md_table_walk *walk)
{
    while (walk->number < table->high) {
        void *value = table->entries[walk->number++].value;
        if (value)
            return value;
    }
    return NULL;
}
