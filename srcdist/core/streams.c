/* streams.c - see streams.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "streams.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/err.h"
#include "base/prng.h"

#define SLOTS_MIN       64
#define SLOT_STEP       8 /* they grow by an eighth */
#define FREE            0x8000u
#define GENERATION_MASK ((1u << (31 - SRCDIST_SLOT_BITS)) - 1)

void srcdist_streams_init(struct srcdist_streams *streams, uint64_t secret)
{
    *streams = (struct srcdist_streams){ .slot_free = SRCDIST_STREAM_NONE, .secret = secret };
}

void srcdist_streams_fini(struct srcdist_streams *streams)
{
    free(streams->slots);
    free(streams->nodes);
    srcdist_streams_init(streams, streams->secret);
}

static int grow_slots(struct srcdist_streams *streams)
{
    const uint32_t most = 1u << SRCDIST_SLOT_BITS;
    uint32_t room = streams->slot_room + streams->slot_room / SLOT_STEP + SLOTS_MIN;
    struct srcdist_stream_slot *slots;

    if (streams->slot_room == most)
        return MD_ERR_FULL;
    room = room < most ? room : most;
    slots = realloc(streams->slots, room * sizeof(*slots));
    if (!slots)
        return MD_ERR_NOMEM;
    streams->slots = slots;
    for (uint32_t i = room; i-- > streams->slot_room;) {
        slots[i] = (struct srcdist_stream_slot){ .target = streams->slot_free, .generation = FREE };
        if (i >= SRCDIST_SLOT_FIRST)
            streams->slot_free = i;
    }
    streams->slot_room = room;
    return MD_OK;
}

int32_t srcdist_streams_take(struct srcdist_streams *streams, uint32_t target)
{
    if (streams->slot_free == SRCDIST_STREAM_NONE && grow_slots(streams) != MD_OK)
        return 0;
    uint32_t slot = streams->slot_free;
    struct srcdist_stream_slot *s = &streams->slots[slot];
    streams->slot_free = s->target;
    s->target = target;
    s->generation &= GENERATION_MASK;
    streams->count++;
    return (int32_t)((uint32_t)s->generation << SRCDIST_SLOT_BITS | slot);
}

bool srcdist_streams_was_open(const struct srcdist_streams *streams, int32_t id)
{
    uint32_t slot = (uint32_t)id & ((1u << SRCDIST_SLOT_BITS) - 1);

    if (id <= 0 || slot < SRCDIST_SLOT_FIRST || slot >= streams->slot_room)
        return false;
    uint32_t age =
        (streams->slots[slot].generation - ((uint32_t)id >> SRCDIST_SLOT_BITS)) & GENERATION_MASK;
    return age > 0 && age <= GENERATION_MASK / 2;
}

/* ---- ids that providers chose ---- */

static uint32_t home_of(const struct srcdist_streams *streams, int32_t id)
{
    return (uint32_t)md_mix64(streams->secret ^ (uint32_t)id) & streams->node_mask;
}

static uint32_t find_node(const struct srcdist_streams *streams, int32_t id)
{
    uint32_t at = home_of(streams, id);

    while (streams->nodes[at].id != 0 && streams->nodes[at].id != id)
        at = (at + 1) & streams->node_mask;
    return at;
}

uint32_t srcdist_streams_find_negative(const struct srcdist_streams *streams, int32_t id)
{
    if (streams->node_count == 0)
        return SRCDIST_STREAM_NONE;
    const struct srcdist_stream_node *node = &streams->nodes[find_node(streams, id)];
    return node->id ? node->target : SRCDIST_STREAM_NONE;
}

static int grow_nodes(struct srcdist_streams *streams)
{
    uint32_t old_count = streams->nodes ? streams->node_mask + 1 : 0;
    uint32_t count = old_count ? old_count * 2 : SLOTS_MIN;
    struct srcdist_stream_node *old = streams->nodes;
    struct srcdist_stream_node *nodes = calloc(count, sizeof(*nodes));

    if (!nodes)
        return MD_ERR_NOMEM;
    streams->nodes = nodes;
    streams->node_mask = count - 1;
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].id)
            nodes[find_node(streams, old[i].id)] = old[i];
    }
    free(old);
    return MD_OK;
}

int srcdist_streams_put(struct srcdist_streams *streams, int32_t id, uint32_t target)
{
    if (!streams->nodes || (streams->node_count + 1) * 4ull > (streams->node_mask + 1ull) * 3) {
        int err = grow_nodes(streams);
        if (err != MD_OK)
            return err;
    }
    struct srcdist_stream_node *node = &streams->nodes[find_node(streams, id)];
    if (node->id == 0) {
        streams->node_count++;
        streams->count++;
    }
    *node = (struct srcdist_stream_node){ .id = id, .target = target };
    return MD_OK;
}

static void give_node(struct srcdist_streams *streams, int32_t id)
{
    if (streams->node_count == 0)
        return;
    uint32_t hole = find_node(streams, id);
    if (streams->nodes[hole].id == 0)
        return;
    /* Close the hole so that every probe sequence stays unbroken. */
    for (uint32_t at = hole;;) {
        at = (at + 1) & streams->node_mask;
        if (streams->nodes[at].id == 0)
            break;
        uint32_t home = home_of(streams, streams->nodes[at].id);
        if (((at - home) & streams->node_mask) >= ((at - hole) & streams->node_mask)) {
            streams->nodes[hole] = streams->nodes[at];
            hole = at;
        }
    }
    streams->nodes[hole] = (struct srcdist_stream_node){ 0 };
    streams->node_count--;
    streams->count--;
}

void srcdist_streams_give(struct srcdist_streams *streams, int32_t id)
{
    if (id < 0) {
        give_node(streams, id);
        return;
    }
    if (srcdist_streams_find(streams, id) == SRCDIST_STREAM_NONE)
        return;
    uint32_t slot = (uint32_t)id & ((1u << SRCDIST_SLOT_BITS) - 1);
    struct srcdist_stream_slot *s = &streams->slots[slot];
    s->generation = (uint16_t)(((s->generation + 1u) & GENERATION_MASK) | FREE);
    s->target = streams->slot_free;
    streams->slot_free = slot;
    streams->count--;
}

size_t srcdist_streams_bytes(const struct srcdist_streams *streams)
{
    size_t nodes = streams->nodes ? streams->node_mask + 1 : 0;

    return streams->slot_room * sizeof(*streams->slots) + nodes * sizeof(*streams->nodes);
}

/* ---- checks ---- */

bool srcdist_streams_next(const struct srcdist_streams *streams, uint32_t *cursor, int32_t *id,
                          uint32_t *target)
{
    uint32_t nodes = streams->nodes ? streams->node_mask + 1 : 0;

    for (; *cursor < streams->slot_room; (*cursor)++) {
        const struct srcdist_stream_slot *slot = &streams->slots[*cursor];
        if (slot->generation & FREE)
            continue;
        *id = (int32_t)((uint32_t)slot->generation << SRCDIST_SLOT_BITS | *cursor);
        *target = slot->target;
        (*cursor)++;
        return true;
    }
    for (; *cursor < streams->slot_room + nodes; (*cursor)++) {
        const struct srcdist_stream_node *node = &streams->nodes[*cursor - streams->slot_room];
        if (node->id == 0)
            continue;
        *id = node->id;
        *target = node->target;
        (*cursor)++;
        return true;
    }
    return false;
}

const char *srcdist_streams_check(const struct srcdist_streams *streams)
{
    uint32_t usable =
        streams->slot_room > SRCDIST_SLOT_FIRST ? streams->slot_room - SRCDIST_SLOT_FIRST : 0;
    uint32_t free_count = 0;

    for (uint32_t i = streams->slot_free; i != SRCDIST_STREAM_NONE; i = streams->slots[i].target) {
        MD_REQUIRE(i >= SRCDIST_SLOT_FIRST && i < streams->slot_room);
        MD_REQUIRE(streams->slots[i].generation & FREE);
        MD_REQUIRE(++free_count <= usable);
    }
    MD_REQUIRE(streams->count == usable - free_count + streams->node_count);
    return NULL;
}
