/* work.h - how much a turn does at most, and who waits for the next one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_WORK_H
#define P2PS_WORK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Between two flushes a worker does a counted amount of what clients ask for, so that no client
 * holds up the updates of the others for long: the rest waits for the next turn. Clients with
 * requests left stand in a ring, each has its share, then it is the next one's turn; what one
 * client asks for is done in the order in which it asked.
 *
 * There are two rings. A client comes into the one of newcomers and has a short share. One that has
 * more than that to ask for goes on in the other ring, by long shares: an image less in each write
 * costs more than the image. While both have clients, each has half of a turn's asks: so a single
 * request waits for other newcomers, and not for all who open long lists.
 *
 *     ask     a request, a name of a batch, 4 KiB of posts, of images out of the cache, of
 *             services or of dictionaries, a stream that a login takes up again or that stands by
 *             no more, 256 places looked at for such streams
 *     watch   a stream that is let go because its client hung up or logged out
 *     place   of a map of stream ids, looked at for such streams
 *     check   a question to the authority because the access rules were read again, or because it
 *             wants to be asked; a login that is told that it is away; a watch that waits since the
 *             permission data of its item changed
 *     state   a stream that is told the state of its group or service, or closed with it
 *     image   a record of the backbone that belongs to an image
 *     long    a client with long messages that is flushed
 *     service one that nobody offers, and that makes room for another one
 *
 * A state costs another stream for each P2PS_STATE_ITEMS items of the service, which are looked at.
 *
 * The inbound ring comes first: for each eighth of it that waits to be read a turn has half as many
 * asks, and one in any case; no more of those without a token are woken. A turn reads as much as
 * before, so who asks waits longer, not for ever.
 *
 * An answer for which the authority looked at many rules costs asks and checks besides: one for
 * each P2PS_ASK_RULES of them.
 */
#define P2PS_TURN_ASKS     32
#define P2PS_SHARE_ASKS    8  /* of a newcomer, */
#define P2PS_LONG_ASKS     64 /* and of a client that had that and has more */
#define P2PS_TURN_WATCHES  512
#define P2PS_TURN_PLACES   8192
#define P2PS_TURN_CHECKS   64
#define P2PS_TURN_STATES   512
#define P2PS_TURN_IMAGES   64
#define P2PS_TURN_LONG     8
#define P2PS_TURN_SERVICES 16
#define P2PS_LOCK_WATCHES  512 /* of an item are asked for before its message; the others wait */
#define P2PS_LOCK_ITEMS    64  /* with watches that wait so; with more of them all are asked for */
#define P2PS_STATE_ITEMS   256
#define P2PS_ASK_BYTES     4096
#define P2PS_ASK_PLACES    256
#define P2PS_ASK_RULES     512

struct p2ps_core;

/* Clients that wait for their share; P2PS_NONE: nobody. */
struct p2ps_ring {
    uint32_t first;
    uint32_t last;
    uint32_t left; /* of the share of the first; 0: it has not begun */
};

struct p2ps_work {
    uint32_t asks; /* left in this turn */
    uint32_t watches;
    uint32_t places;
    uint32_t checks;
    uint32_t states;
    struct p2ps_ring fresh; /* newcomers, */
    struct p2ps_ring busy;  /* and those who have more to ask for */
    bool is_odd_turn;       /* the odd ask of a turn goes to the other ring each time */
    uint32_t drop_first;    /* rings of clients; P2PS_NONE: empty */
    uint32_t drop_last;
    uint32_t resuming;     /* the client whose share it is; P2PS_NONE: nobody's */
    uint32_t check_client; /* who is asked for next after a reload; P2PS_NONE: all were */
    bool checks_again;     /* all clients, once more, when check_client and check_item are done */
    uint32_t check_item;   /* whose watches are asked for next after a reload; P2PS_NONE: done */
    uint32_t check_watch;  /* and so many of them are left */
    bool is_check_started; /* check_watch is of check_item */
    uint32_t
        lock_items[P2PS_LOCK_ITEMS]; /* whose watches wait since their permission data changed */
    uint32_t lock_count;
    uint32_t lock_watch; /* of the first one so many are left, once it is begun */
    bool is_lock_started;
    bool has_new_roles;   /* a login has others meanwhile: its items are asked for again */
    uint32_t tell_client; /* who hears next that the authority outside is away, or back */
};

void p2ps_work_start(struct p2ps_core *core);
/* A new turn. */
void p2ps_work_refill(struct p2ps_core *core);
/* Something that clients ask for was done. */
void p2ps_work_spend(struct p2ps_core *core, uint32_t asks, uint64_t bytes);
/* The authority looked at so many rules for one answer. */
void p2ps_work_spend_rules(struct p2ps_core *core, uint32_t rules);
/* True: there is no token for a request of the client, which waits for one. */
bool p2ps_work_parks(struct p2ps_core *core, uint32_t client);
/* Those whose time has come have requests left. */
void p2ps_work_unpark(struct p2ps_core *core);
/* Watches of the item wait for a verdict that nobody was asked for yet. */
void p2ps_work_lock(struct p2ps_core *core, uint32_t item);
/* The client has requests left. */
void p2ps_work_wait(struct p2ps_core *core, uint32_t client);
/* The first of the ring, which leaves it. */
uint32_t p2ps_ring_take(struct p2ps_core *core, struct p2ps_ring *ring);
/* One that was taken out has requests left: it is the first again if something is left of its
 * share, else the last of those with long ones. */
void p2ps_ring_again(struct p2ps_core *core, struct p2ps_ring *ring, uint32_t client);

#endif
