/* idmap.h - which item a client's stream id stands for, and where in it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_IDMAP_H
#define P2PS_IDMAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * A map from a stream id (any but 0) to what it stands for, one for each client: a 32-bit index
 * (of an item) and a place there (of the watch), so that nobody has to search. Applications count
 * their ids up from a small number: such ids are places in an array, eight bytes each, which is as
 * long as the ids are dense. Any other id goes into an open-addressing table, twelve bytes a slot,
 * at most three quarters full, hashed with a secret key: no client can choose ids that collide.
 * Both grow when an id is added and give everything back in fini.
 */
struct p2ps_idmap_entry {
    uint32_t index; /* P2PS_IDMAP_NONE: free */
    uint32_t place;
};

struct p2ps_idmap_slot {
    int32_t id; /* 0: free */
    struct p2ps_idmap_entry entry;
};

struct p2ps_idmap {
    struct p2ps_idmap_entry *dense; /* by id */
    uint32_t dense_room;
    uint32_t count; /* of all ids */
    struct p2ps_idmap_slot *slots;
    uint32_t mask; /* slots - 1; 0 before the first */
    uint32_t slot_count;
    uint64_t *memory;    /* where the bytes are counted; NULL: nowhere */
    const uint64_t *key; /* two words, of SipHash */
};

#define P2PS_IDMAP_NONE UINT32_MAX

/* `key`: two secret words that outlive the map. */
void p2ps_idmap_init(struct p2ps_idmap *map, uint64_t *memory, const uint64_t key[2]);
void p2ps_idmap_fini(struct p2ps_idmap *map);

/* Bytes of memory it takes. */
size_t p2ps_idmap_bytes(const struct p2ps_idmap *map);

/* The index of `id`, or P2PS_IDMAP_NONE. */
uint32_t p2ps_idmap_get(const struct p2ps_idmap *map, int32_t id);

/* The place of `id` at its index, or P2PS_IDMAP_NONE. */
uint32_t p2ps_idmap_place(const struct p2ps_idmap *map, int32_t id);

/* Adds or replaces. MD_ERR_NOMEM, or MD_ERR_RANGE for id 0. */
int p2ps_idmap_put(struct p2ps_idmap *map, int32_t id, uint32_t index, uint32_t place);

/* `id`, which is there, has another place at its index now. */
void p2ps_idmap_move(struct p2ps_idmap *map, int32_t id, uint32_t place);

/* Takes `id` out and returns its index, or P2PS_IDMAP_NONE. */
uint32_t p2ps_idmap_take(struct p2ps_idmap *map, int32_t id);

/* Walks all ids: start with *cursor = 0; returns 0 at the end. An id that is taken out while the
 * walk goes on may make it pass over another one. */
int32_t p2ps_idmap_next(const struct p2ps_idmap *map, uint32_t *cursor, uint32_t *index);

/* A walk in parts, while ids may be taken out and none is put in: each id that stays is visited,
 * some of them twice perhaps. All zero: it begins. */
struct p2ps_idmap_walk {
    uint32_t done;  /* places */
    uint32_t start; /* a free slot */
};

/* The next id; looks at `*places` places at most and counts them down. 0: the walk is over and
 * begins anew, or, if no places are left, it goes on later. */
int32_t p2ps_idmap_walk(const struct p2ps_idmap *map, struct p2ps_idmap_walk *walk,
                        uint32_t *places, uint32_t *index);

/* Takes any id out, for one who takes out all of them: start with *cursor = 0. It looks at
 * `*places` places at most and counts them down there. 0: the map is empty, or there are no more
 * places to look at. */
int32_t p2ps_idmap_pop(struct p2ps_idmap *map, uint32_t *cursor, uint32_t *places,
                       struct p2ps_idmap_entry *entry);

#endif
