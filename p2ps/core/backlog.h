/* backlog.h - updates that wait for clients which are slow: merged ones, and those that never are.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_BACKLOG_H
#define P2PS_BACKLOG_H

#include "conflate/conflate.h"
#include "private.h"

/*
 * Each stream that has updates waiting has an *entry*: a line of records in the order of the
 * source, and behind them the pending update, into which the next ones are merged. An update that
 * is not merged closes the run before it: the pending update becomes a record, and so does this
 * one. Entries wait in the order in which they began, and have turns (deficit round robin): one
 * that has sent its quantum of bytes waits behind the others, so that a stream of many updates
 * that are never merged takes no more of a slow output than another one. An entry that has sent
 * everything is *idle*: it keeps its memory until its client keeps up again.
 *
 * Records of a client take at most tradeBacklog, everything together at most slowBacklog, and one
 * client an eighth of it once it is three quarters full; what finds no room is not taken, and the
 * stream gets an image.
 */
struct p2ps_kept;
struct p2ps_segment;

struct p2ps_entry {
    uint32_t next; /* in one of the lists of its client; MD_NIL: none */
    uint32_t prev;
    uint32_t item;
    uint32_t client;
    int32_t stream_id;
    bool waits;
    bool is_merged;    /* the pending update stands for several */
    uint32_t credit;   /* bytes that it may send in its turn */
    uint32_t lost;     /* updates that are never merged and had no room; its client does not know */
    uint64_t since_ns; /* of the pending update's first one */
    struct p2ps_kept *first;
    struct p2ps_kept *last;
    struct conflate_pending pending;
};

struct p2ps_entries_list {
    uint32_t first;
    uint32_t last;
    uint32_t count;
};

/* A client's part: its place in core->backlog->slow is its number. */
struct p2ps_slow {
    uint64_t above_ns; /* since when it is above outputThresholdBreach; 0: it is not */
    uint64_t since_ns; /* that its updates are merged */
    uint64_t since_s;  /* the same, since 1970 */
    uint64_t used;     /* the most of its output that was in use since then */
    uint64_t max;
    const char *unit;
    uint64_t merged_before;
    uint64_t lag_ns; /* the worst since then */
    uint64_t note_ns;
    bool is_noted;
    /* Since it is connected. */
    uint64_t first_s;
    uint64_t merged;
    uint64_t worst_lag_ns;
    uint64_t lost;
    uint64_t doomed_behind;         /* so many items were behind when it was decided to cut it */
    uint32_t reasons[P2PS_REASONS]; /* it was told; they saturate */
    struct p2ps_entries_list waiting;
    struct p2ps_entries_list idle;
    uint64_t record_bytes;
    uint64_t pending_bytes;
    uint64_t bytes;               /* of core->stats.backlog_bytes_now */
    struct p2ps_segment *segment; /* where the next record goes */
    struct p2ps_idmap map;        /* from a stream id to its entry */
};

int p2ps_backlog_create(struct p2ps_core *core);
void p2ps_backlog_destroy(struct p2ps_core *core);

struct p2ps_slow *p2ps_backlog_of(const struct p2ps_core *core, uint32_t client);
struct p2ps_entry *p2ps_backlog_entry(const struct p2ps_core *core, uint32_t number);
/* The entry of a stream, or MD_NIL. */
uint32_t p2ps_backlog_find(const struct p2ps_core *core, uint32_t client, int32_t stream_id);

/* The client's updates wait from now on, or no more. */
void p2ps_backlog_begin(struct p2ps_core *core, uint32_t client);
void p2ps_backlog_end(struct p2ps_core *core, uint32_t client);
/* The slot is for another client: it has no entry any more. Slots that were never used are all
 * zero. */
void p2ps_backlog_reset(struct p2ps_core *core, uint32_t client);

/* Adds an update for the watch: `given` as it came, `spelled` without anything that ripples or is
 * partial, if that can be made. False: it has no room, and nothing has changed. */
bool p2ps_backlog_add(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w,
                      struct rwf_bytes given, struct rwf_bytes spelled, bool is_exempt);
/* The oldest message of an entry that waits. *is_merged: it stands for several updates. */
struct rwf_bytes p2ps_backlog_head(const struct p2ps_entry *entry, bool *is_merged);
/* It has gone out. The entry is idle when it was the last one. */
void p2ps_backlog_pop(struct p2ps_core *core, uint32_t number);
/* Its turn is over, and something is left: it waits behind the others. */
void p2ps_backlog_rotate(struct p2ps_core *core, uint32_t number);
/* Drops what waits for the watch; `is_lost`: its client is told how many of these are never merged.
 * The entry stays, idle. */
void p2ps_backlog_drop(struct p2ps_core *core, struct p2ps_watch *w, bool is_lost);
/* One more that is lost. */
void p2ps_backlog_lose(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w);
/* How many are lost of which the stream was not told; NULL: none. */
uint32_t *p2ps_backlog_lost(struct p2ps_core *core, const struct p2ps_watch *w);
/* The watch ends, or its idle entry is not needed any more. */
void p2ps_backlog_forget(struct p2ps_core *core, struct p2ps_watch *w);

/* For check.c: NULL, or what does not hold. */
const char *p2ps_backlog_check(const struct p2ps_core *core);

/* Updates wait for the watch: nothing else of its item goes out before them. */
static inline bool p2ps_backlog_has(const struct p2ps_core *core, const struct p2ps_watch *w)
{
    return w->flags & P2PS_WATCH_BEHIND && !core->clients[w->client].is_dropping;
}

#endif
