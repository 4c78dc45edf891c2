/* entries.h - rows of maps, vectors and filter lists with permission data of their own. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_ENTRIES_H
#define P2PS_ENTRIES_H

#include "private.h"

/*
 * Permission data of an entry are for that entry, in place of those of its message. The locks of a
 * message are numbered, and what a watch is denied of them is a set of bits; watches with equal
 * sets get the same message, less the entries with those locks.
 */
#define P2PS_ENTRY_LOCKS 63 /* different ones of a message; further ones count as unreadable */
#define P2PS_ENTRY_SETS  63 /* different ones of a message; further watches get no locked entry */
/* In p2ps_core.entry_sets: the watch gets nothing; because a verdict is awaited, or because its
 * stream closes. */
#define P2PS_ENTRY_NONE   0xffu
#define P2PS_ENTRY_WAITS  0xfeu
#define P2PS_ENTRY_CLOSES 0xfdu

struct p2ps_entries {
    struct rwf_bytes locks[P2PS_ENTRY_LOCKS];
    unsigned lock_count;
    uint64_t sets[P2PS_ENTRY_SETS + 1]; /* that are denied; bit P2PS_ENTRY_LOCKS: further ones */
    unsigned set_count;
    bool has_more;  /* locks than have numbers */
    bool is_broken; /* it cannot be read */
    struct {
        uint16_t client; /* + 1; of a user who was asked for already */
        uint8_t set;
    } known[256];
};

/* Entries have permission data, and they count. */
bool p2ps_entries_are_locked(const struct p2ps_core *core, const struct p2ps_record *record);
/* Reads the locks of the message. */
void p2ps_entries_read(const struct p2ps_record *record, struct p2ps_entries *entries);
/* Asks for the watch: the number of its set, or why it gets nothing. */
uint8_t p2ps_entries_set(struct p2ps_core *core, struct p2ps_entries *entries, uint32_t item,
                         uint32_t watch);
/* The message less the entries of the set, so many. False: it cannot be made; of an update of which
 * nothing is left the message is empty. */
bool p2ps_entries_make(struct p2ps_core *core, const struct p2ps_entries *entries, unsigned set,
                       const struct p2ps_record *whole, struct p2ps_record *out, uint32_t *removed);
/* A record out of the cache, for one watch. False: it cannot be given to it. */
bool p2ps_entries_cut(struct p2ps_core *core, uint32_t item, uint32_t watch,
                      struct p2ps_record *record);

#endif
