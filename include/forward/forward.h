/* forward/forward.h - a relay: what goes from one network to another, and who carries it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORWARD_FORWARD_H
#define FORWARD_FORWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backbone/event.h"
#include "relay/far.h"
#include "rrcp/rrcp.h"

/*
 * One relay is a member of two networks, by a session of its own on each. What its two engines hear
 * goes in, messages for the other network come out. It opens nothing, reads no clock, starts no
 * thread.
 *
 *      forward_input(f, now, side, &event)      each event of the engine of a side
 *      forward_tick(f, now)                     at the latest at forward_deadline()
 *      while (forward_peek(f, side, &msg))      for each side
 *          rrcp_submit(engine of the side, now, RELAY_PORT, &msg)   FULL: later
 *          forward_take(f, side, its peer took it)
 *
 * docs/design/relay.md has the rules.
 */
struct forward;

enum { FORWARD_NAMES_MAX = 200, FORWARD_SIDES = 2 };

struct forward_name {
    const char *text;
    size_t length;
};

struct forward_config {
    uint64_t session[FORWARD_SIDES]; /* the relay's own */
    uint64_t id; /* its start; the way with the lower sum goes before; RELAY_ID_MAX at most */
    uint64_t secret[2]; /* random; spreads pairs of nodes over lanes */
    const struct forward_name *services;
    size_t service_count;
    const struct forward_name *topics; /* of bare topics; PREFIX* for all that begin so */
    size_t topic_count;
    uint64_t queue_bytes;                      /* of each side; 0: 16 MiB */
    uint64_t peer_timeout_ns[FORWARD_SIDES];   /* of the engines; 0: 3.5 s */
    uint32_t message_bytes_max[FORWARD_SIDES]; /* of the engines */
};

/* The room of a queue of messages of up to `message_bytes_max`; `configured`: 0, or queue_bytes. */
uint64_t forward_queue_bytes(uint64_t configured, uint32_t message_bytes_max);

/* MD_ERR_RANGE: too many names, or one too long; MD_ERR_NOMEM. Names are copied. */
int forward_create(const struct forward_config *config, struct forward **out);
void forward_destroy(struct forward *f); /* NULL is allowed */

/* `side`: where the event was heard. */
void forward_input(struct forward *f, uint64_t now_ns, int side, const struct backbone_event *in);
void forward_tick(struct forward *f, uint64_t now_ns);
uint64_t forward_deadline(const struct forward *f);

/* The next message for the engine of `side`; false: there is none. It stays until it is taken. */
bool forward_peek(struct forward *f, int side, struct rrcp_msg *out);
/* It has gone, or (`is_dropped`) the engine dropped it: its sender is told, where it can be. */
void forward_take(struct forward *f, int side, bool is_dropped);

/* Topics that the relay wants to hear, for rrcp_interest_set(). Returns their number, or -1: all.
 */
int forward_interest(const struct forward *f, uint32_t *out, int max);

/* From `side` to the other. */
struct forward_counters {
    uint64_t messages, bytes;      /* forwarded */
    uint64_t not_wanted;           /* not configured, so not forwarded */
    uint64_t dropped;              /* no room in the queue: told as lost */
    uint64_t too_long;             /* longer than the other network's maxMsgSize: told as lost */
    uint64_t lost;                 /* packets that did not reach the relay: told as lost */
    uint64_t no_route;             /* for a node that is not heard on the other side */
    uint64_t hops;                 /* came over as many relays as may be */
    uint64_t early;                /* by unicast of a node that is not carried (yet): told */
    uint64_t refused;              /* the other network's engine dropped it; the sender was told */
    uint64_t full;                 /* nodes not carried: too many */
    uint64_t switches;             /* nodes carried that were left to another relay */
    uint64_t queue, queue_high;    /* bytes that wait now, most ever */
    uint64_t carried, standing_by; /* nodes, now */
    uint64_t services_differ; /* relays that forward other services, of nodes carried here too */
};

const struct forward_counters *forward_counters(struct forward *f, int side);
const struct relay_far_counters *forward_heard(const struct forward *f, int side);

/* A relay on `side` that forwards other services than this one and carries what this one would;
 * 0: there is none. */
uint64_t forward_other_services(const struct forward *f, int side);

/* NULL, or the invariant that does not hold. */
const char *forward_check(const struct forward *f);

#endif
