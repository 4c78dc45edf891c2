/* src_dist.h - src_dist as its control loop sees it: its networks, and what they share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_SRC_DIST_H
#define SRCDIST_SRC_DIST_H

#include <pthread.h>

#include "daemon/backbone.h"
#include "delays.h"
#include "route_loop.h"

#define SERVICES_MAX 256

struct src_dist;

/* One network of the backbone and the loop that serves it, an instance of its own. */
enum { ROUTES_MAX = 64, SRC_DIST_PUBLISHERS = 64 };

struct network {
    struct src_dist *sd;
    unsigned index;
    const struct attach_settings *settings;
    struct route_loop *loop;
    char instance_name[300];
    char stats_group[80];
    char services[SERVICES_MAX][256]; /* it carries; guarded by the lock of sd */
    unsigned service_count;
};

struct src_dist {
    struct daemon daemon;
    const struct md_conf *conf; /* as it was at the start */
    struct daemon_networks settings;
    struct network *networks[DAEMON_NETWORKS_MAX]; /* made from them, one each */
    unsigned network_count;
    const struct network *publishers; /* the one with the ports for them; NULL: there is no port */
    struct delays *delays;            /* of services that are offered delayed, too */
    struct net_tls *server_tls;
    struct net_tls *route_tls[ROUTES_MAX + 1]; /* of its link, which lives as long as the loops */
    struct rwf_dictionary *fields;             /* of files; NULL: none can be read */
    /* Written by the control loop on a reload, and by the route loop when a service appears. */
    pthread_mutex_t lock;
    const struct md_conf *live_conf;
    struct daemon_memory memory;
    uint64_t pool_bytes, assembly_bytes, image_bytes, item_bytes; /* of each loop */
    uint64_t dictionary_bytes;
    uint32_t gap_logs;
    char position[128];
};

#endif
