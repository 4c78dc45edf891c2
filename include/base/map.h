/* base/map.h - a hash map to numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_MAP_H
#define MD_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/slots.h"

/*
 * A map from a hash to numbers. Its lower half is kept: the caller compares the keys themselves.
 * Linear probing; a cell's home is hash * size / 2^32, so that cells stand in the order of their
 * hashes and a larger table is filled from front to back. It grows by a quarter, between 64 and 80
 * of 100 cells in use.
 */
struct md_map_cell {
    uint32_t hash;
    uint32_t value; /* MD_NIL: free */
};

/* An entry's share of a map that has just grown and is being filled from the old one. */
#define MD_MAP_ENTRY_BYTES (3 * sizeof(struct md_map_cell))

struct md_map {
    struct md_map_cell *cells;
    size_t *memory;
    uint32_t size;
    uint32_t count;
};

int md_map_init(struct md_map *map, uint32_t size, size_t *memory);
void md_map_fini(struct md_map *map);
int md_map_put(struct md_map *map, uint64_t hash, uint32_t value);
void md_map_remove(struct md_map *map, uint64_t hash, uint32_t value);
/* Walk the values of one hash: *cursor starts as 0; MD_NIL ends. */
uint32_t md_map_next(const struct md_map *map, uint64_t hash, uint32_t *cursor);

#endif
