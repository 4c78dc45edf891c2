/* p2ps.h - p2ps as its control loop sees it: workers, listeners, and what the workers share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_P2PS_H
#define P2PS_P2PS_H

#include "daemon/backbone.h"
#include "worker.h"

#define WORKERS_MAX   64
#define LISTENERS_MAX 5

_Static_assert(DAEMON_NETWORKS_MAX == P2PS_NETWORKS_MAX, "a core has a sink for each network");

struct listener {
    const struct p2ps_protocol *protocol;
    struct net_listener *listener;
    struct md_loop_fd *watch;
    struct p2ps *p2ps;
};

struct p2ps {
    struct daemon daemon;
    const struct md_conf *conf; /* as it was at the start */
    struct daemon_networks networks;
    struct attach_process *process;
    struct p2ps_dictionary_store *dictionaries;
    struct p2ps_parties *parties;
    struct p2ps_names *names;            /* NULL: disableHostLookup */
    struct p2ps_access *access, *shadow; /* accessFile, accessShadowFile */
    struct p2ps_tokens *tokens;
    struct p2ps_credentials *credentials;
    struct p2ps_outside *outside;
    struct p2ps_audit *audit;
    struct rates *exempt; /* updates that are never merged */
    struct p2ps_worker *workers[WORKERS_MAX];
    unsigned worker_count;
    struct listener listeners[LISTENERS_MAX];
    struct net_tls *tls;
    struct md_loop_timer *accept_pause;
    struct daemon_memory memory;
    uint32_t mounts_max;
    uint32_t mounts_of_host_max; /* mountLimitPerHost */
    uint32_t ws_max;             /* wsMaxConnections */
    struct md_ctr *mounts_rejected;
    struct stats_group *passwords;
    struct stats_group *outside_counters; /* NULL: authority is empty */
    bool is_draining;                     /* no new consumers */
};

#endif
