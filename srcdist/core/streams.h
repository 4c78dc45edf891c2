/* streams.h - the stream ids of one provider connection: which item a message is about. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_STREAMS_H
#define SRCDIST_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Ids of our own (positive) are a slot and its generation, so that a message is found by an array
 * index, and one that was still under way when its stream was closed finds nobody:
 *
 *     id = generation << 21 | slot        slots from 5 on, as real consumers count
 *
 * Ids that a non-interactive provider chose (negative) are looked up in a table.
 */
#define SRCDIST_SLOT_BITS         21
#define SRCDIST_SLOT_FIRST        5
#define SRCDIST_STREAM_ASK        0x80000000u /* `target` is a snapshot, not an item */
#define SRCDIST_STREAM_DICTIONARY 0x40000000u /* or a dictionary */

struct srcdist_stream_slot {
    uint32_t target;     /* item, or another thing | its SRCDIST_STREAM_; of a free one: the next */
    uint16_t generation; /* no id's while it is free */
};

struct srcdist_stream_node {
    int32_t id; /* 0: free */
    uint32_t target;
};

struct srcdist_streams {
    struct srcdist_stream_slot *slots;
    uint32_t slot_room;
    uint32_t slot_free;
    uint32_t count;
    struct srcdist_stream_node *nodes; /* of negative ids */
    uint32_t node_mask;
    uint32_t node_count;
    uint64_t secret;
};

#define SRCDIST_STREAM_NONE UINT32_MAX

/* `secret`: nobody else knows it, so ids that collide in the table cannot be chosen. */
void srcdist_streams_init(struct srcdist_streams *streams, uint64_t secret);
void srcdist_streams_fini(struct srcdist_streams *streams);

/* A new id for `target`; 0 when there is no memory or no slot left. */
int32_t srcdist_streams_take(struct srcdist_streams *streams, uint32_t target);
/* A negative id the provider chose. MD_ERR_NOMEM. */
int srcdist_streams_put(struct srcdist_streams *streams, int32_t id, uint32_t target);
void srcdist_streams_give(struct srcdist_streams *streams, int32_t id);
size_t srcdist_streams_bytes(const struct srcdist_streams *streams);

/* For checks: the next stream from *cursor on, 0 at first; false: no more. */
bool srcdist_streams_next(const struct srcdist_streams *streams, uint32_t *cursor, int32_t *id,
                          uint32_t *target);
/* The list of free slots and the counts. */
const char *srcdist_streams_check(const struct srcdist_streams *streams);

/* True: the stream was open and is closed, so the message was under way. Positive ids only. */
bool srcdist_streams_was_open(const struct srcdist_streams *streams, int32_t id);

uint32_t srcdist_streams_find_negative(const struct srcdist_streams *streams, int32_t id);

/* Brings what a positive id is looked up in into the cache. */
static inline void srcdist_streams_fetch(const struct srcdist_streams *streams, int32_t id)
{
    uint32_t slot = (uint32_t)id & ((1u << SRCDIST_SLOT_BITS) - 1);

    if (id > 0 && slot < streams->slot_room)
        __builtin_prefetch(&streams->slots[slot]);
}

static inline uint32_t srcdist_streams_find(const struct srcdist_streams *streams, int32_t id)
{
    uint32_t slot = (uint32_t)id & ((1u << SRCDIST_SLOT_BITS) - 1);

    if (id < 0)
        return srcdist_streams_find_negative(streams, id);
    if (slot >= streams->slot_room ||
        streams->slots[slot].generation != (uint32_t)id >> SRCDIST_SLOT_BITS)
        return SRCDIST_STREAM_NONE;
    return streams->slots[slot].target;
}

#endif
