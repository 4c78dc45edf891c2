/* link.h - one provider's connection: an RSSL session on the route loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_LINK_H
#define SRCDIST_LINK_H

#include "base/loop.h"
#include "client/session.h"
#include "core.h"
#include "retry.h"

struct route_loop;
struct stats_group;
struct uplink;

#define LINK_EVENTS   64
#define LINK_HOST_MAX 64

/* Owned by its loop's thread. A link of a route dials again for ever; one that was accepted ends.
 */
struct link {
    struct route_loop *loop;
    struct link *next;
    struct client_session *session; /* NULL: between two attempts */
    struct md_loop_fd *watch;
    int watched_fd;
    uint32_t provider; /* of the core, UINT32_MAX when not open */
    bool is_route;
    bool is_dead;
    bool is_leaving;  /* src_dist stops: nothing is said or heard any more */
    bool is_greeting; /* accepted, and its handshake is not done */
    uint64_t accepted_ns;
    char host[LINK_HOST_MAX]; /* of one that was accepted: whose connections are counted together */
    bool is_encrypted;        /* of the same, as the following, of its certificate */
    char certificate[NET_IDENTITY_MAX];
    char serial[NET_SERIAL_MAX];
    int64_t certificate_ends_s;
    bool is_blocked; /* the backbone takes no more: events[event_at] is offered again */
    struct rssl_event events[LINK_EVENTS];
    size_t event_count;
    size_t event_at;
    struct srcdist_misuse told; /* of this connection's provider, by the log */
    uint64_t tell_at_ns;

    /* A route's own. */
    unsigned number;
    uint64_t connects;         /* times it was up */
    uint64_t bytes_before;     /* that came on the connections before this one */
    struct stats_group *stats; /* NULL: not shown yet */
    char hosts[16][256];
    uint16_t ports[16];
    unsigned host_count;
    const struct net_transport *transport;
    struct net_stream_options options;
    struct net_tls *tls;   /* that of options, owned */
    struct uplink *uplink; /* owned; NULL: a route to a provider */
    struct srcdist_retry retry;
    struct rssl_config rssl;
};

extern const struct srcdist_link link_ops;

/* Dials when its time has come, reads, writes; returns how much was done. At `budget` events it
 * stops, at the end of a batch; without any it only writes. */
int link_turn(struct link *link, uint64_t now_ns, int budget);
uint64_t link_deadline(const struct link *link);
/* Takes the stream over. */
struct link *link_accept(struct route_loop *loop, struct net_stream *stream,
                         const struct rssl_config *config);
/* src_dist stops: what is queued goes out, then the connection ends and is not dialed again. */
void link_leave(struct link *link);
/* Of one that was accepted and is not logged in: it makes room, and is gone with the next turn. */
void link_give_way(struct link *link);
void link_destroy(struct link *link);

#endif
