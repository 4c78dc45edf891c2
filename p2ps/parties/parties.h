/* parties.h - who shares what p2ps has: addresses and users, over all workers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PARTIES_H
#define P2PS_PARTIES_H

#include <stddef.h>

#include "base/share.h"
#include "bucket.h"

/*
 * A party is an address, or a user. Its counters and buckets are shared by the workers: each of
 * them reads and writes them without a lock, so that limits may be overshot by what they do at
 * once. The table has a lock, taken when a connection or a login comes or goes.
 *
 * An address is the whole of an IPv4 address, and the /64 of an IPv6 address: one host has as many
 * of those as it likes. A user is a name that was proved, by a password or a token; a name that
 * nobody proved is a party of its address only, and uses up nothing of its namesake's.
 *
 * A party stays while somebody holds it, while something of it is counted, and while it has debts;
 * of those that nobody holds any more, P2PS_PARTIES_IDLE stay, the last ones.
 */
struct p2ps_party {
    _Atomic uint32_t mounts; /* of an address: connections; of a user: logins */
    _Atomic uint32_t views;  /* that it was the first to ask for */
    _Atomic uint32_t posts;  /* without an answer yet */
    _Atomic uint64_t items;
    struct md_share output; /* bytes that wait to be sent to it, beyond the guaranteed ones */
    struct md_share input;  /* bytes of it that wait, in parts of messages */
    struct p2ps_bucket logins;
    struct p2ps_bucket requests;
    struct p2ps_bucket post_rate;
    /* Of a user, for operators: what it did, and what it may; 0: there is no limit of its own. */
    _Atomic uint64_t requests_in;
    _Atomic uint64_t posts_in;
    _Atomic uint64_t refused;
    _Atomic uint64_t items_max;
    _Atomic uint32_t mounts_max;
    _Atomic uint32_t requests_max; /* a second */
    _Atomic uint32_t posts_max;
};

/* A user as monitors show it. */
struct p2ps_use {
    char user[128];
    char host[64]; /* of a name that nobody proved; "" else */
    uint64_t mounts, mounts_max;
    uint64_t items, items_max;
    uint64_t requests, requests_max; /* a second */
    uint64_t posts, posts_max;
    uint64_t refused;
};

#define P2PS_PARTIES_IDLE 4096
#define P2PS_HOST_MAX     64 /* text of an address */

struct p2ps_parties;

/* The key is secret: strangers choose the names. NULL: no memory. */
struct p2ps_parties *p2ps_parties_create(const uint64_t key[2]);
void p2ps_parties_destroy(struct p2ps_parties *parties); /* NULL is allowed */

/* "10.1.2.3:40112" to "10.1.2.3", "[2001:db8::7]:40112" to "2001:db8::/64". */
void p2ps_host_of(const char *peer, char out[P2PS_HOST_MAX]);

/* The party, the same for whoever asks; NULL: no memory. Each is given back. */
struct p2ps_party *p2ps_parties_host(struct p2ps_parties *parties, uint64_t now_ns,
                                     const char *peer);
/* `peer` NULL: the name was proved. */
struct p2ps_party *p2ps_parties_user(struct p2ps_parties *parties, uint64_t now_ns,
                                     const char *user, const char *peer);
/* One more holder. NULL is allowed. */
void p2ps_parties_hold(struct p2ps_parties *parties, struct p2ps_party *party);
void p2ps_parties_leave(struct p2ps_parties *parties, struct p2ps_party *party);

/* One more login of a user at this position, which is one of a few that he may be at, at a time; 0:
 * of any number. MD_ERR_FULL: he is at as many others. MD_ERR_NOMEM. Each that is MD_OK is left. */
int p2ps_parties_position(struct p2ps_parties *parties, struct p2ps_party *party,
                          const char *position, uint32_t max);
void p2ps_parties_position_leave(struct p2ps_parties *parties, struct p2ps_party *party,
                                 const char *position);

/* Distinct items, of each worker. */
_Atomic uint64_t *p2ps_parties_items(struct p2ps_parties *parties);
/* In the table now, those that nobody holds, too. */
size_t p2ps_parties_count(struct p2ps_parties *parties);

#define P2PS_PARTIES_TOP  20
#define P2PS_PARTIES_LOOK 4096

/* Looks at P2PS_PARTIES_LOOK more of them. The number of users in `out`, those with most refusals
 * first, then those with most items: all were looked at. -1: some are left for the next call. */
int p2ps_parties_top(struct p2ps_parties *parties, uint64_t now_ns,
                     struct p2ps_use out[P2PS_PARTIES_TOP]);

#endif
