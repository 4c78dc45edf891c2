/* idmap.c - see idmap.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "idmap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/siphash.h"

#define SLOTS_MIN   16
#define DENSE_STEP  64 /* the array grows by so many places at least, */
#define DENSE_SLACK 64 /* and holds at most twice the ids and so many more */

static void count_memory(const struct p2ps_idmap *map, size_t more, size_t less)
{
    if (map->memory)
        *map->memory += more - less;
}

/* ---- the table ---- */

/* A client chooses its ids: without the key it cannot choose such as collide. */
static uint32_t home_of(const struct p2ps_idmap *map, int32_t id)
{
    return (uint32_t)md_siphash(map->key, &id, sizeof(id)) & map->mask;
}

/* The slot that holds `id`, or the free one where it would go. */
static uint32_t find(const struct p2ps_idmap *map, int32_t id)
{
    uint32_t at = home_of(map, id);

    while (map->slots[at].id != 0 && map->slots[at].id != id)
        at = (at + 1) & map->mask;
    return at;
}

static int grow_slots(struct p2ps_idmap *map)
{
    uint32_t old_count = map->slots ? map->mask + 1 : 0;
    uint32_t new_count = old_count ? old_count * 2 : SLOTS_MIN;
    struct p2ps_idmap_slot *old = map->slots;
    struct p2ps_idmap_slot *slots = calloc(new_count, sizeof(*slots));

    if (!slots)
        return MD_ERR_NOMEM;
    count_memory(map, new_count * sizeof(*slots), old_count * sizeof(*slots));
    map->slots = slots;
    map->mask = new_count - 1;
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].id != 0)
            slots[find(map, old[i].id)] = old[i];
    }
    free(old);
    return MD_OK;
}

static struct p2ps_idmap_slot *slot_of(const struct p2ps_idmap *map, int32_t id)
{
    if (map->slot_count == 0)
        return NULL;
    struct p2ps_idmap_slot *slot = &map->slots[find(map, id)];
    return slot->id ? slot : NULL;
}

static int add_slot(struct p2ps_idmap *map, int32_t id, struct p2ps_idmap_entry entry)
{
    if (!map->slots || (map->slot_count + 1) * 4ull > (map->mask + 1ull) * 3) {
        int err = grow_slots(map);
        if (err != MD_OK)
            return err;
    }
    map->slots[find(map, id)] = (struct p2ps_idmap_slot){ .id = id, .entry = entry };
    map->slot_count++;
    map->count++;
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
    map->slot_count--;
}

/* ---- the array ---- */

static bool is_dense(const struct p2ps_idmap *map, int32_t id)
{
    return id > 0 && (uint32_t)id < map->dense_room;
}

/* Ids that have come to lie in the array move there. */
static void take_over(struct p2ps_idmap *map)
{
    uint32_t at = 0;

    while (map->slot_count > 0 && at <= map->mask) {
        struct p2ps_idmap_slot slot = map->slots[at];
        if (is_dense(map, slot.id)) {
            map->dense[slot.id] = slot.entry;
            close_hole(map, at); /* perhaps another one stands here now */
        } else {
            at++;
        }
    }
}

/* Makes a place for the id, if the array would still be well filled. */
static bool reach(struct p2ps_idmap *map, int32_t id)
{
    if (id < 0 || (uint32_t)id >= map->count * 2ull + DENSE_SLACK)
        return false;
    uint32_t room = map->dense_room + map->dense_room / 8;
    if (room < (uint32_t)id + 1)
        room = (uint32_t)id + 1;
    room = (room / DENSE_STEP + 1) * DENSE_STEP;
    struct p2ps_idmap_entry *dense = realloc(map->dense, room * sizeof(*dense));
    if (!dense)
        return false;
    for (uint32_t i = map->dense_room; i < room; i++)
        dense[i].index = P2PS_IDMAP_NONE;
    count_memory(map, (room - map->dense_room) * sizeof(*dense), 0);
    map->dense = dense;
    map->dense_room = room;
    take_over(map);
    return true;
}

/* ---- both ---- */

void p2ps_idmap_init(struct p2ps_idmap *map, uint64_t *memory, const uint64_t key[2])
{
    *map = (struct p2ps_idmap){ .memory = memory, .key = key };
}

size_t p2ps_idmap_bytes(const struct p2ps_idmap *map)
{
    size_t slots = map->slots ? map->mask + 1 : 0;

    return map->dense_room * sizeof(*map->dense) + slots * sizeof(*map->slots);
}

void p2ps_idmap_fini(struct p2ps_idmap *map)
{
    count_memory(map, 0, p2ps_idmap_bytes(map));
    free(map->slots);
    free(map->dense);
    p2ps_idmap_init(map, map->memory, map->key);
}

/* The entry of `id`, or NULL. */
static struct p2ps_idmap_entry *entry_of(const struct p2ps_idmap *map, int32_t id)
{
    if (is_dense(map, id))
        return map->dense[id].index != P2PS_IDMAP_NONE ? &map->dense[id] : NULL;
    struct p2ps_idmap_slot *slot = slot_of(map, id);
    return slot ? &slot->entry : NULL;
}

uint32_t p2ps_idmap_get(const struct p2ps_idmap *map, int32_t id)
{
    const struct p2ps_idmap_entry *entry = entry_of(map, id);

    return entry ? entry->index : P2PS_IDMAP_NONE;
}

uint32_t p2ps_idmap_place(const struct p2ps_idmap *map, int32_t id)
{
    const struct p2ps_idmap_entry *entry = entry_of(map, id);

    return entry ? entry->place : P2PS_IDMAP_NONE;
}

int p2ps_idmap_put(struct p2ps_idmap *map, int32_t id, uint32_t index, uint32_t place)
{
    const struct p2ps_idmap_entry entry = { .index = index, .place = place };

    if (id == 0)
        return MD_ERR_RANGE;
    struct p2ps_idmap_entry *there = entry_of(map, id);
    if (there) {
        *there = entry;
        return MD_OK;
    }
    if (!is_dense(map, id) && !reach(map, id))
        return add_slot(map, id, entry);
    map->count++;
    map->dense[id] = entry;
    return MD_OK;
}

void p2ps_idmap_move(struct p2ps_idmap *map, int32_t id, uint32_t place)
{
    struct p2ps_idmap_entry *entry = entry_of(map, id);

    MD_ASSERT(entry);
    entry->place = place;
}

uint32_t p2ps_idmap_take(struct p2ps_idmap *map, int32_t id)
{
    uint32_t index = p2ps_idmap_get(map, id);

    if (index == P2PS_IDMAP_NONE)
        return index;
    map->count--;
    if (is_dense(map, id))
        map->dense[id].index = P2PS_IDMAP_NONE;
    else
        close_hole(map, find(map, id));
    return index;
}

int32_t p2ps_idmap_next(const struct p2ps_idmap *map, uint32_t *cursor, uint32_t *index)
{
    for (; *cursor < map->dense_room; (*cursor)++) {
        if (map->dense[*cursor].index != P2PS_IDMAP_NONE) {
            *index = map->dense[*cursor].index;
            return (int32_t)(*cursor)++;
        }
    }
    while (map->slots && *cursor - map->dense_room <= map->mask) {
        const struct p2ps_idmap_slot *slot = &map->slots[(*cursor)++ - map->dense_room];
        if (slot->id != 0) {
            *index = slot->entry.index;
            return slot->id;
        }
    }
    return 0;
}

/*
 * An entry that moves because another one was taken out moves down, towards its home, and never
 * across a free slot. So the slots are walked from a free one downwards: what moves was visited, or
 * will be.
 */
static int32_t slot_below(const struct p2ps_idmap *map, struct p2ps_idmap_walk *walk,
                          uint32_t *index)
{
    uint32_t nth = walk->done - map->dense_room;

    if (nth == 0) {
        walk->start = 0;
        while (map->slots[walk->start].id != 0)
            walk->start++; /* a quarter of them is free */
    }
    const struct p2ps_idmap_slot *slot = &map->slots[(walk->start - 1 - nth) & map->mask];
    *index = slot->entry.index;
    return slot->id;
}

static int32_t place_of_walk(const struct p2ps_idmap *map, struct p2ps_idmap_walk *walk,
                             uint32_t *index)
{
    if (walk->done >= map->dense_room)
        return slot_below(map, walk, index);
    *index = map->dense[walk->done].index;
    return *index != P2PS_IDMAP_NONE ? (int32_t)walk->done : 0;
}

int32_t p2ps_idmap_walk(const struct p2ps_idmap *map, struct p2ps_idmap_walk *walk,
                        uint32_t *places, uint32_t *index)
{
    uint32_t end = map->dense_room + (map->slots ? map->mask + 1 : 0);

    while (*places > 0 && walk->done < end) {
        int32_t id = place_of_walk(map, walk, index);

        --*places;
        walk->done++;
        if (id != 0)
            return id;
    }
    if (walk->done >= end && *places > 0)
        *walk = (struct p2ps_idmap_walk){ 0 };
    return 0;
}

/* The id at a place of the walk over both, and its entry; 0: none is there. */
static int32_t take_at(struct p2ps_idmap *map, uint32_t place, struct p2ps_idmap_entry *entry)
{
    if (place < map->dense_room) {
        *entry = map->dense[place];
        map->dense[place].index = P2PS_IDMAP_NONE;
        return entry->index != P2PS_IDMAP_NONE ? (int32_t)place : 0;
    }
    MD_ASSERT(map->slots);
    struct p2ps_idmap_slot slot = map->slots[place - map->dense_room];
    *entry = slot.entry;
    if (slot.id != 0)
        close_hole(map, place - map->dense_room);
    return slot.id;
}

int32_t p2ps_idmap_pop(struct p2ps_idmap *map, uint32_t *cursor, uint32_t *places,
                       struct p2ps_idmap_entry *entry)
{
    while (map->count > 0 && *places > 0) {
        uint32_t end = map->dense_room + (map->slots ? map->mask + 1 : 0);

        if (*cursor >= end)
            *cursor = 0; /* a slot may have moved to a place that was passed */
        int32_t id = take_at(map, *cursor, entry);
        --*places;
        if (id != 0) {
            map->count--;
            return id;
        }
        ++*cursor;
    }
    return 0;
}
