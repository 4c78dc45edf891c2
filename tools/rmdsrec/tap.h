/* tap.h - the requester of rmdsrec record: what the backbone brings goes into the keeper. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAP_H
#define TAP_H

#include "feed.h"
#include "rmds/backbone.h"

struct tap;

struct tap_config {
    const char *network, *instance, *run_dir; /* NULL: the usual ones */
    bool follows; /* what others have open; of the services of the feed, or of all if it has none */
};

struct tap_stats {
    bool is_attached, was_attached;
    const char *why;       /* not attached; "" */
    uint32_t items, open;  /* recorded at some time; now */
    uint32_t live;         /* of these, in step with their source */
    uint64_t suspects;     /* states by which items became suspect: losses, sources that went */
    uint64_t overruns;     /* the ring was lapped */
    uint64_t records_lost; /* on the way */
    uint64_t not_recorded; /* items that a recording has no name for, or that nobody may have */
    uint64_t too_many;     /* items that a recording had no number for */
    uint64_t denied;       /* messages that rrcpd did not let pass */
    char denied_why[160];  /* what it said lately; "": nothing */
    uint64_t behind_max;   /* bytes of the ring not read yet, at most */
};

/* Its items, services, keeper and dictionary are those of the feed, whose loop it joins. 0, or
 * -1 after it has said why. */
int tap_start(const struct tap_config *config, struct feed *feed, struct tap **out);
void tap_destroy(struct tap *tap); /* NULL is allowed */
/* Losses are told on standard error; call it each tenth of a second. */
void tap_tick(struct tap *tap);
void tap_stats(const struct tap *tap, struct tap_stats *out);

#endif
