/* follower_inside.h - what the files about followers share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_FOLLOWER_INSIDE_H
#define RRMPSIM_FOLLOWER_INSIDE_H

#include "follower.h"

#define ASIDE   3u /* items that followers alone open */
#define WATCHES (ITEMS_MAX + ASIDE)

struct followed {
    struct watch watch;
    uint32_t number;  /* the engine's */
    uint64_t open_ns; /* is to be opened by its name then; 0: it is not */
    uint16_t instance;
    uint64_t session; /* where it came into step: the source, and its handle there */
    uint16_t port;
    uint32_t handle;
};

struct follower {
    struct rrmp_sink *sink;
    uint64_t follow_ns; /* its services are followed from then on */
    uint64_t act_ns;
    uint64_t lists_at_rest, requests_at_rest;
    struct followed items[WATCHES];
};

/* RRMP_ITEM_NONE: the source has it not. */
uint32_t follower_find_at(const struct world *world, const struct proc *source, uint32_t item,
                          struct rrmp_source_item *info);

#endif
