/* route_loop.h - the loop of src_dist that carries data: providers, one core, the backbone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_ROUTE_LOOP_H
#define SRCDIST_ROUTE_LOOP_H

#include "attach/attach.h"
#include "base/loop.h"
#include "base/mailbox.h"
#include "base/thread.h"
#include "client/session.h"
#include "core.h"
#include "daemon/daemon.h"
#include "link.h"

#define ROUTE_LISTENERS      3   /* TCP, TLS, rsocket */
#define LINK_STATS_PROVIDERS 256 /* as many are shown one by one */
#define LINK_STATS_SERVICES  256

struct route_loop_config {
    const struct daemon *daemon;
    unsigned index;          /* of the loop, for its thread's name in the configuration */
    const char *stats_group; /* in front of the counters' names, "" or "net1." */
    struct srcdist_core_config core;
    struct attach_config attach;
    struct rssl_config accepted; /* channels of providers that connect to us */
    struct rssl_pool_config pool;
    uint64_t busy_poll_ns;
    unsigned host_limit;         /* providerLimitPerHost, 0: none */
    enum net_identity user_from; /* tlsUserFrom */
    int input_budget;            /* events of providers a turn, then the backbone has its turn */
    bool tcp_nodelay;
};

struct route_loop {
    struct route_loop_config config;
    struct md_thread thread;
    struct md_loop *loop;
    struct md_loop_source *source;
    struct md_loop_fd *attach_watch;
    struct md_loop_wake *wake;
    struct md_loop_timer *timer;
    struct attach *attach;
    struct srcdist_core *core;
    struct client_context *context;
    struct link *links;
    struct net_listener *listeners[ROUTE_LISTENERS];
    struct md_loop_fd *listener_watches[ROUTE_LISTENERS];
    bool input_is_empty;
    uint64_t greeting_ended; /* connections that made room before their handshake */
    uint64_t hosts_ended;    /* those that did so before their login, for others of their host */
    uint64_t hosts_refused;  /* those that found all of their host logged in */
    uint64_t input_cut;      /* turns that ended because the budget was used up */
    uint64_t flush_at_ns;
    uint64_t stop_at_ns;
    /* Set by a reload: how long records may wait to be packed, and what new connections get. */
    _Atomic uint64_t flush_interval_ns;
    _Atomic bool tcp_nodelay;
    _Atomic bool packing;
    struct md_mailbox settings; /* by a reload: of struct route_loop_letter */
    _Atomic bool stop;
    bool is_full; /* said in the log */
    struct {
        uint64_t refused;        /* as last looked at */
        unsigned growing, quiet; /* so many looks ago it stood still, it grew */
        bool is_logged;
    } outbound;
    _Atomic bool has_attached; /* to an rrcpd, at some time */
    _Atomic bool is_attached;
    _Atomic uint64_t alive_ns; /* the loop turned then */
    struct route_loop_stats *stats;
    struct stats_group *provider_stats[LINK_STATS_PROVIDERS];
    struct service_stats {
        struct stats_group *group; /* NULL: nothing is shown */
        char name[256];
    } service_stats[LINK_STATS_SERVICES];
};

int route_loop_create(const struct route_loop_config *config, struct route_loop **out);
/* Before start: a route, and a port that providers connect to. */
void route_loop_add_route(struct route_loop *loop, struct link *route);
int route_loop_add_listener(struct route_loop *loop, struct net_listener *listener);
int route_loop_start(struct route_loop *loop);
/* From any thread. */
void route_loop_flush_interval_set(struct route_loop *loop, uint64_t interval_ns);
void route_loop_connections_set(struct route_loop *loop, bool tcp_nodelay, bool packing);
void route_loop_rules_set(struct route_loop *loop, const struct srcdist_rules *rules);
/* providerAccessFile, which the loop destroys. */
void route_loop_access_set(struct route_loop *loop, struct entitle_rules *access);
/* filterFile, which the loop destroys; NULL: everything goes out as it comes. */
void route_loop_rates_set(struct route_loop *loop, struct rates *rates);
/* All take leave of their providers in at most four seconds: stop each, then wait for each. */
void route_loop_stop(struct route_loop *loop);
void route_loop_join(struct route_loop *loop);
void route_loop_destroy(struct route_loop *loop); /* NULL is allowed */

/* ---- route_stats.c ---- */
int route_loop_stats_create(struct route_loop *loop);
void route_loop_stats_show(struct route_loop *loop);
void route_loop_stats_destroy(struct route_loop *loop);

/* ---- link_stats.c: what there is many of, once a second ---- */
void link_stats_show(struct route_loop *loop);
void link_misuse_tell(struct route_loop *loop); /* link_misuse.c: to the log */
void link_stats_destroy(struct route_loop *loop);

#endif
