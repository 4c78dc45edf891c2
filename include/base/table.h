/* base/table.h - a hash table from bytes, names or numbers, to objects. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_TABLE_H
#define MD_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * A map (base/map.h) with the keys beside it. Each table belongs to one thread. Keys come from
 * outside, so the hash is SipHash with a key of the process that nobody else knows.
 *
 * Size a table at create for what the configuration allows: a table that must grow stops its
 * thread for as long as it takes to move every entry. Nothing but a growth allocates. Values are
 * the caller's objects and may not be NULL. The key's bytes are NOT copied, they live in the
 * object.
 */
struct md_table;

/* Where an iteration stands; start with { 0 }. */
struct md_table_walk {
    uint32_t number;
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

/* The hash itself, the same throughout a process and different in the next. */
uint64_t md_hash_bytes(const void *bytes, size_t length);

#endif
