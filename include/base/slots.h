/* base/slots.h - objects of one size by number. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_SLOTS_H
#define MD_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MD_NIL 0xFFFFFFFFu

/*
 * Objects of one size by number, in chunks made on demand and never moved, lowest free number not
 * guaranteed but recently used ones first. `memory` is the engine's own count of bytes: an object
 * counts from its first use on, since a chunk's pages are the process's only when they are touched.
 * A free object's first four bytes link it to the next free one. Objects of whole cache lines begin
 * with one.
 */
#define MD_SLOTS_CHUNK 1024u

struct md_slots {
    uint8_t **chunks;
    size_t object_size;
    size_t *memory;
    uint32_t limit;
    uint32_t high; /* numbers below have been used at some time */
    uint32_t free_head;
    uint32_t count;
};

int md_slots_init(struct md_slots *slots, size_t object_size, uint32_t limit, size_t *memory);
void md_slots_fini(struct md_slots *slots);
/* The next `count` objects, of all that are in use at a time, can be had. MD_ERR_NOMEM. */
int md_slots_reserve(struct md_slots *slots, uint32_t count);
/* A zeroed object's number, or MD_NIL at the limit or out of memory. */
uint32_t md_slots_take(struct md_slots *slots);
void md_slots_give(struct md_slots *slots, uint32_t number);
/* Most bytes it can ever hold. */
size_t md_slots_memory_max(const struct md_slots *slots);

/* Makes room at `at` in an array of numbers of slots, MD_NIL where there is none yet. It grows by
 * an eighth. False: no memory, nothing has changed. */
bool md_slots_map_grow(uint32_t **map, uint32_t *room, uint32_t at);

/* The object; the number must have been taken. */
static inline void *md_slots_at(const struct md_slots *slots, uint32_t number)
{
    return slots->chunks[number / MD_SLOTS_CHUNK] +
           (size_t)(number % MD_SLOTS_CHUNK) * slots->object_size;
}

#endif
