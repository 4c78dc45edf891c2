/* replay.h - the last messages of items that are kept ready for the loss of another source. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_REPLAY_H
#define SRCDIST_REPLAY_H

#include "private.h"
#include "rrmp/position.h"

/*
 * An item of a service with mirrorSequence that a p2ps keeps ready here is followed: each message
 * that goes to the backbone, or would if it were wanted, is kept for replayTime, within
 * replayBytes, in blocks that are dropped as a whole. What p2ps do with it: resume.h.
 */

/* A kept message; its bytes follow. */
struct srcdist_kept {
    struct srcdist_kept *before; /* of the same item, */
    uint64_t before_serial;      /* and its serial: it may have been dropped; 0: none */
    struct srcdist_kept *next;   /* of the same item, while one looks */
    uint64_t serial;
    uint32_t length;
    uint8_t type;                  /* enum rrmp_type */
    struct rrmp_position position; /* behind it */
    uint8_t bytes[];
};

/* The part of an item that is followed. */
struct srcdist_followed {
    uint32_t next_free;
    uint32_t waiting;   /* the newest requester that waits for an answer (resume.c), 0: none */
    uint64_t needed_ns; /* when there was a standby, or one that waited, for the last time */
    struct srcdist_kept *last;
    uint64_t last_serial;
    uint64_t first_serial;         /* of the first message behind the last image */
    struct rrmp_position position; /* now */
};

/* The item is followed from now on, or no longer, as its standby interest says. */
void srcdist_replay_review(struct srcdist_core *core, uint32_t item);
void srcdist_replay_forget(struct srcdist_core *core, uint32_t item);
/* NULL: the item is not followed. */
struct srcdist_followed *srcdist_replay_of(const struct srcdist_core *core, uint32_t item);
/* The kept message before this one of the item, back to its image; NULL: there is none, or it was
 * dropped. */
struct srcdist_kept *srcdist_replay_before(const struct srcdist_core *core,
                                           const struct srcdist_followed *followed,
                                           const struct srcdist_kept *kept);
struct srcdist_kept *srcdist_replay_last(const struct srcdist_core *core,
                                         const struct srcdist_followed *followed);
bool srcdist_replay_is_kept(const struct srcdist_core *core, uint64_t serial);

void srcdist_replay_tick(struct srcdist_core *core);
void srcdist_replay_destroy(struct srcdist_core *core);

void srcdist_replay_keep(struct srcdist_core *core, uint32_t item, uint8_t type,
                         struct rwf_bytes message);
void srcdist_replay_begin(struct srcdist_core *core, uint32_t item, struct rwf_bytes image);

/* The item's next message has its place in the stream. One branch for an item not followed. */
static inline void srcdist_replay_pass(struct srcdist_core *core, uint32_t item, uint8_t type,
                                       struct rwf_bytes message)
{
    if (core->items[item].is_followed)
        srcdist_replay_keep(core, item, type, message);
}

/* The same of an image that is news for all; empty: one in parts. */
static inline void srcdist_replay_image(struct srcdist_core *core, uint32_t item,
                                        struct rwf_bytes message)
{
    if (core->items[item].is_followed)
        srcdist_replay_begin(core, item, message);
}

#endif
