/* idmap.c - see idmap.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "idmap.h"

#include <stdlib.h>

#include "base/err.h"

#define SLOTS_MIN 16

/* Ids are mostly consecutive; the multiplier spreads those that a hostile client may choose. */
static uint32_t home_of(const struct p2ps_idmap *map, int32_t id)
{
    return (uint32_t)(((uint64_t)(uint32_t)id * 0x9e3779b97f4a7c15ull) >> 32) & map->mask;
}

void p2ps_idmap_init(struct p2ps_idmap *map)
{
    *map = (struct p2ps_idmap){ 0 };
}

void p2ps_idmap_fini(struct p2ps_idmap *map)
{
    free(map->slots);
    p2ps_idmap_init(map);
}

/* The slot that holds `id`, or the free one where it would go. */
static uint32_t find(const struct p2ps_idmap *map, int32_t id)
{
    uint32_t at = home_of(map, id);

    while (map->slots[at].id != 0 && map->slots[at].id != id)
        at = (at + 1) & map->mask;
    return at;
}

uint32_t p2ps_idmap_get(const struct p2ps_idmap *map, int32_t id)
{
    if (map->count == 0 || id == 0)
        return P2PS_IDMAP_NONE;
    const struct p2ps_idmap_slot *slot = &map->slots[find(map, id)];
    return slot->id ? slot->index : P2PS_IDMAP_NONE;
}

static int grow(struct p2ps_idmap *map)
{
    uint32_t old_count = map->slots ? map->mask + 1 : 0;
    uint32_t new_count = old_count ? old_count * 2 : SLOTS_MIN;
    struct p2ps_idmap_slot *old = map->slots;
    struct p2ps_idmap_slot *slots = calloc(new_count, sizeof(*slots));

    if (!slots)
        return MD_ERR_NOMEM;
    map->slots = slots;
    map->mask = new_count - 1;
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].id != 0)
            slots[find(map, old[i].id)] = old[i];
    }
    free(old);
    return MD_OK;
}

int p2ps_idmap_put(struct p2ps_idmap *map, int32_t id, uint32_t index)
{
    if (id == 0)
        return MD_ERR_RANGE;
    if (!map->slots || (map->count + 1) * 4ull > (map->mask + 1ull) * 3) {
        int err = grow(map);
        if (err != MD_OK)
            return err;
    }
    struct p2ps_idmap_slot *slot = &map->slots[find(map, id)];
    if (slot->id == 0)
        map->count++;
    *slot = (struct p2ps_idmap_slot){ .id = id, .index = index };
    return MD_OK;
}

/* Closes the hole at `hole` so that every probe sequence stays unbroken. */
static void close_hole(struct p2ps_idmap *map, uint32_t hole)
{
    uint32_t at = hole;

    for (;;) {
        at = (at + 1) & map->mask;
        if (map->slots[at].id == 0)
            break;
        uint32_t home = home_of(map, map->slots[at].id);
        if (((at - home) & map->mask) >= ((at - hole) & map->mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole] = (struct p2ps_idmap_slot){ 0 };
}

uint32_t p2ps_idmap_take(struct p2ps_idmap *map, int32_t id)
{
    if (map->count == 0 || id == 0)
        return P2PS_IDMAP_NONE;
    uint32_t at = find(map, id);
    if (map->slots[at].id == 0)
        return P2PS_IDMAP_NONE;
    uint32_t index = map->slots[at].index;
    close_hole(map, at);
    map->count--;
    return index;
}

int32_t p2ps_idmap_next(const struct p2ps_idmap *map, uint32_t *cursor, uint32_t *index)
{
    while (map->slots && *cursor <= map->mask) {
        const struct p2ps_idmap_slot *slot = &map->slots[(*cursor)++];
        if (slot->id != 0) {
            *index = slot->index;
            return slot->id;
        }
    }
    return 0;
}
