/* verbs_plugin.h - between a program and librmds-verbs.so. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_VERBS_PLUGIN_H
#define NETIO_VERBS_PLUGIN_H

#include "netio/packet.h"
#include "udp_sources.h"
#include "verbs_device.h"

/* The configuration as the program has read it before it loads the plug-in. */
struct verbs_config {
    struct verbs_device_config paths[2];
    struct udp_sources sources[2];
    int path_count;
    size_t payload_max; /* 0: what the port carries */
    bool any_source;
    uint64_t retry_ns; /* between two tries to open or to join; 0: a second */
    void (*log)(int severity, const char *text); /* the program's log: the plug-in has none */
};

struct verbs_report {
    struct verbs_device_info paths[2];
    size_t payload_max;
};

struct verbs_plugin {
    size_t size;         /* of this struct and of verbs_config: both sides are of one build */
    const char *version; /* RMDS_VERSION */
    int (*open)(const struct verbs_config *config, struct verbs_report *report, char *why,
                size_t why_size, struct net_packet_io **out);
};

#define VERBS_PLUGIN_SIZE   (sizeof(struct verbs_plugin) + sizeof(struct verbs_config))
#define VERBS_PLUGIN_FILE   "librmds-verbs.so"
#define VERBS_PLUGIN_SYMBOL "rmds_verbs_plugin"

extern const struct verbs_plugin rmds_verbs_plugin;

/* With another device, for tests. */
int verbs_open_on(const struct verbs_device_table *device, const struct verbs_config *config,
                  struct verbs_report *report, char *why, size_t why_size,
                  struct net_packet_io **out);

#endif
