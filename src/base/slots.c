/* slots.c - see base/slots.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#define CACHE_LINE 64u

static size_t chunk_count(uint32_t limit)
{
    return ((size_t)limit + MD_SLOTS_CHUNK - 1) / MD_SLOTS_CHUNK;
}

int md_slots_init(struct md_slots *slots, size_t object_size, uint32_t limit, size_t *memory)
{
    MD_ASSERT(object_size >= sizeof(slots->free_head));
    *slots = (struct md_slots){
        .object_size = object_size, .memory = memory, .limit = limit, .free_head = MD_NIL
    };
    slots->chunks = calloc(chunk_count(limit), sizeof(*slots->chunks));
    if (!slots->chunks)
        return MD_ERR_NOMEM;
    *memory += chunk_count(limit) * sizeof(*slots->chunks);
    return MD_OK;
}

void md_slots_fini(struct md_slots *slots)
{
    if (!slots->chunks)
        return;
    for (size_t i = 0; i < chunk_count(slots->limit); i++)
        free(slots->chunks[i]);
    free(slots->chunks);
    slots->chunks = NULL;
}

static bool chunk_make(struct md_slots *slots, uint32_t number)
{
    uint8_t **chunk = &slots->chunks[number / MD_SLOTS_CHUNK];

    if (!*chunk)
        *chunk = aligned_alloc(CACHE_LINE, MD_SLOTS_CHUNK * slots->object_size);
    return *chunk != NULL;
}

int md_slots_reserve(struct md_slots *slots, uint32_t count)
{
    if (count > slots->limit)
        return MD_ERR_NOMEM;
    for (uint32_t n = slots->high; n < count; n = (n / MD_SLOTS_CHUNK + 1) * MD_SLOTS_CHUNK) {
        if (!chunk_make(slots, n))
            return MD_ERR_NOMEM;
    }
    return MD_OK;
}

uint32_t md_slots_take(struct md_slots *slots)
{
    uint32_t number = slots->free_head;

    if (number != MD_NIL) {
        memcpy(&slots->free_head, md_slots_at(slots, number), sizeof(slots->free_head));
    } else {
        if (slots->high >= slots->limit || !chunk_make(slots, slots->high))
            return MD_NIL;
        *slots->memory += slots->object_size;
        number = slots->high++;
    }
    memset(md_slots_at(slots, number), 0, slots->object_size);
    slots->count++;
    return number;
}

void md_slots_give(struct md_slots *slots, uint32_t number)
{
    uint8_t *object = md_slots_at(slots, number);

    MD_ASSERT(slots->count > 0);
    memset(object, 0, slots->object_size);
    memcpy(object, &slots->free_head, sizeof(slots->free_head));
    slots->free_head = number;
    slots->count--;
}

size_t md_slots_memory_max(const struct md_slots *slots)
{
    size_t chunks = chunk_count(slots->limit);

    return chunks * (sizeof(*slots->chunks) + MD_SLOTS_CHUNK * slots->object_size);
}

bool md_slots_map_grow(uint32_t **map, uint32_t *room, uint32_t at)
{
    uint32_t more = *room ? *room : MD_SLOTS_CHUNK;

    if (at < *room)
        return true;
    while (more <= at)
        more += more / 8;
    uint32_t *grown = realloc(*map, more * sizeof(*grown));
    if (!grown)
        return false;
    for (uint32_t i = *room; i < more; i++)
        grown[i] = MD_NIL;
    *map = grown;
    *room = more;
    return true;
}
