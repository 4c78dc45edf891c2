/* base/table.h - hash tables from names (bytes) and from integers to objects. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_TABLE_H
#define MD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Open addressing, at most 3/4 full, deletion without tombstones. Each table belongs to one
 * thread. The hash is seeded with random bits of the process, since names come from outside.
 *
 * Size a table at create for what the configuration allows: a table that must grow stops its
 * thread for as long as it takes to move every entry, so growths are counted. Nothing but a growth
 * allocates. Values are the caller's objects and may not be NULL.
 */
struct md_table;     /* bytes -> object; the key's bytes are NOT copied, they live in the object */
struct md_int_table; /* uint64_t -> object */

/* Where an iteration stands; start with { 0 }. */
struct md_table_walk {
    size_t slot;
    size_t left;
    bool is_started;
};

/* Room for `expected` entries before the first growth. MD_OK or MD_ERR_NOMEM (*out is NULL). */
int md_table_create(size_t expected, struct md_table **out);
void md_table_destroy(struct md_table *table); /* NULL is allowed; the objects are not touched */

void *md_table_get(const struct md_table *table, const void *key, size_t length);

/* MD_OK, MD_ERR_EXISTS (nothing changed), or MD_ERR_NOMEM when a growth fails. */
int md_table_put(struct md_table *table, const void *key, size_t length, void *value);

/* The value that was there, or NULL. */
void *md_table_remove(struct md_table *table, const void *key, size_t length);

/*
 * The next object, or NULL at the end; no order is promised. Between two calls the entry just
 * given may be removed; no other change is allowed.
 */
void *md_table_next(const struct md_table *table, struct md_table_walk *walk);

size_t md_table_count(const struct md_table *table);
uint64_t md_table_growths(const struct md_table *table);
size_t md_table_bytes(const struct md_table *table); /* memory the table itself uses */

int md_int_table_create(size_t expected, struct md_int_table **out);
void md_int_table_destroy(struct md_int_table *table);
void *md_int_table_get(const struct md_int_table *table, uint64_t key);
int md_int_table_put(struct md_int_table *table, uint64_t key, void *value);
void *md_int_table_remove(struct md_int_table *table, uint64_t key);
void *md_int_table_next(const struct md_int_table *table, struct md_table_walk *walk,
                        uint64_t *key); /* key may be NULL */
size_t md_int_table_count(const struct md_int_table *table);
uint64_t md_int_table_growths(const struct md_int_table *table);
size_t md_int_table_bytes(const struct md_int_table *table);

/* The seeded hash itself, the same throughout a process and different in the next. */
uint64_t md_hash_bytes(const void *bytes, size_t length);
uint64_t md_hash_u64(uint64_t value);

#endif
