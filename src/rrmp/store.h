/* rrmp/store.h - tables of the engines: numbered objects, a hash map to them, a timer wheel. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_STORE_H
#define RRMP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"

#define RRMP_NIL 0xFFFFFFFFu

/*
 * Objects of one size by number, in chunks made on demand and never moved, lowest free number not
 * guaranteed but recently used ones first. `memory` is the engine's own count of bytes: an object
 * counts from its first use on, since a chunk's pages are the process's only when they are touched.
 * A free object's first four bytes link it to the next free one. Objects of whole cache lines begin
 * with one.
 */
#define RRMP_SLOTS_CHUNK 1024u

struct rrmp_slots {
    uint8_t **chunks;
    size_t object_size;
    size_t *memory;
    uint32_t limit;
    uint32_t high; /* numbers below have been used at some time */
    uint32_t free_head;
    uint32_t count;
};

int rrmp_slots_init(struct rrmp_slots *slots, size_t object_size, uint32_t limit, size_t *memory);
void rrmp_slots_fini(struct rrmp_slots *slots);
/* The next `count` objects, of all that are in use at a time, can be had. MD_ERR_NOMEM. */
int rrmp_slots_reserve(struct rrmp_slots *slots, uint32_t count);
/* A zeroed object's number, or RRMP_NIL at the limit or out of memory. */
uint32_t rrmp_slots_take(struct rrmp_slots *slots);
void rrmp_slots_give(struct rrmp_slots *slots, uint32_t number);
/* Most bytes it can ever hold. */
size_t rrmp_slots_memory_max(const struct rrmp_slots *slots);

/* The object; the number must have been taken. */
static inline void *rrmp_slots_at(const struct rrmp_slots *slots, uint32_t number)
{
    return slots->chunks[number / RRMP_SLOTS_CHUNK] +
           (size_t)(number % RRMP_SLOTS_CHUNK) * slots->object_size;
}

/*
 * A map from a hash to numbers. Its lower half is kept: the caller compares the keys themselves.
 * Linear probing; a cell's home is hash * size / 2^32, so that cells stand in the order of their
 * hashes and a larger table is filled from front to back. It grows by a quarter, between 64 and 80
 * of 100 cells in use.
 */
struct rrmp_map_cell {
    uint32_t hash;
    uint32_t value; /* RRMP_NIL: free */
};

/* An entry's share of a map that has just grown and is being filled from the old one. */
#define RRMP_MAP_ENTRY_BYTES (3 * sizeof(struct rrmp_map_cell))

struct rrmp_map {
    struct rrmp_map_cell *cells;
    size_t *memory;
    uint32_t size;
    uint32_t count;
};

int rrmp_map_init(struct rrmp_map *map, uint32_t size, size_t *memory);
void rrmp_map_fini(struct rrmp_map *map);
int rrmp_map_put(struct rrmp_map *map, uint64_t hash, uint32_t value);
void rrmp_map_remove(struct rrmp_map *map, uint64_t hash, uint32_t value);
/* Walk the values of one hash: *cursor starts as 0; RRMP_NIL ends. */
uint32_t rrmp_map_next(const struct rrmp_map *map, uint64_t hash, uint32_t *cursor);

/*
 * Short strings of bytes by number, in slots of 8, 16, .. 64 bytes; a longer one has a block of its
 * own. Who keeps the number keeps the length.
 */
#define RRMP_STRINGS_SLOTS 8u
#define RRMP_STRINGS_SHORT 64u /* longest that stands in a slot */

struct rrmp_strings {
    struct rrmp_slots slots[RRMP_STRINGS_SLOTS];
    size_t *memory;
};

int rrmp_strings_init(struct rrmp_strings *strings, uint32_t limit, size_t *memory);
/* Longer ones must have been given back. */
void rrmp_strings_fini(struct rrmp_strings *strings);
/* Room for `length` bytes, to be written by the caller; or RRMP_NIL. */
uint32_t rrmp_strings_take(struct rrmp_strings *strings, size_t length);
void rrmp_strings_give(struct rrmp_strings *strings, uint32_t number, size_t length);
uint8_t *rrmp_strings_at(const struct rrmp_strings *strings, uint32_t number, size_t length);
/* Most bytes that the slots can ever hold. */
size_t rrmp_strings_memory_max(const struct rrmp_strings *strings);

/* A timer inside an object of `slots`, at a fixed offset. */
struct rrmp_timer {
    uint64_t due_ns;
    uint32_t next;
    uint32_t prev;
    uint16_t slot;
    bool is_set;
};

#define RRMP_WHEEL_SLOTS   1024u
#define RRMP_WHEEL_STEP_NS 1000000u /* 1 ms: finer than any time-out here */

struct rrmp_wheel {
    const struct rrmp_slots *slots;
    size_t offset;
    uint64_t position; /* steps done */
    uint32_t count;
    uint32_t heads[RRMP_WHEEL_SLOTS];
    uint64_t busy[RRMP_WHEEL_SLOTS / 64];
};

void rrmp_wheel_init(struct rrmp_wheel *wheel, const struct rrmp_slots *slots, size_t offset);
void rrmp_wheel_set(struct rrmp_wheel *wheel, uint32_t number, uint64_t due_ns);
void rrmp_wheel_cancel(struct rrmp_wheel *wheel, uint32_t number);
/* The number of an object whose time has come (its timer is cancelled), or RRMP_NIL. */
uint32_t rrmp_wheel_expire(struct rrmp_wheel *wheel, uint64_t now_ns);
/* When to call rrmp_wheel_expire() next: not late, perhaps early. UINT64_MAX: never. */
uint64_t rrmp_wheel_deadline(const struct rrmp_wheel *wheel);

/* a is later than b, for numbers that wrap. */
static inline bool rrmp_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

#endif
