/* p2ps.h - p2ps as its control loop sees it: workers, listeners, and what the workers share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_P2PS_H
#define P2PS_P2PS_H

#include "attach/settings.h"
#include "daemon/daemon.h"
#include "daemon/memory.h"
#include "worker.h"

#define WORKERS_MAX   64
#define LISTENERS_MAX 2

struct listener {
    struct net_listener *listener;
    struct md_loop_fd *watch;
    struct p2ps *p2ps;
};

struct p2ps {
    struct daemon daemon;
    const struct md_conf *conf; /* as it was at the start */
    struct attach_settings *settings[P2PS_NETWORKS_MAX];
    unsigned network_count;
    struct attach_process *process;
    struct p2ps_dictionary_store *dictionaries;
    struct p2ps_users *users;
    struct p2ps_names *names; /* NULL: disableHostLookup */
    struct p2ps_access *access;
    struct p2ps_worker *workers[WORKERS_MAX];
    unsigned worker_count;
    struct listener listeners[LISTENERS_MAX];
    struct net_tls *tls;
    struct md_loop_timer *accept_pause;
    struct daemon_memory memory;
    uint32_t mounts_max;
    struct md_ctr *mounts_rejected;
    uint64_t started_ns;
    int exit_code;
};

#endif
