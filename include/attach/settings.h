/* attach/settings.h - the backbone's part of rmds.cnf as the values attach and rrcpd take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_SETTINGS_H
#define ATTACH_SETTINGS_H

#include "attach/attach.h"
#include "attach/node.h"
#include "conf/conf.h"

/*
 * Everything one process has to know of one network. `config` and `node` point into the struct
 * and into `conf`, so it must not be moved, and `conf` must outlive it. Before attach_open() the
 * caller sets what is its own: config.user_name, want, process.
 */
struct attach_settings {
    struct attach_config config; /* in_process is set when inProcess is True */
    struct attach_node_config node;
    char network[64];
    char rrcpd_instance[64];
    uint64_t inbound_bytes; /* rrcpd: size of the ring, a power of two */
    uint64_t lag_max;       /* rrcpd: userQLimit in bytes */
    uint64_t busy_poll_ns;
    bool uses_point_to_point; /* usePointToPointData: images for one node go by unicast */
};

/*
 * Read the `rrcp` object of `network` (NULL: the configuration's own). On failure `why` (at least
 * 256 bytes) is a sentence for the operator: only what the parameter table cannot check by itself,
 * such as keys that cannot be read. MD_ERR_RANGE, MD_ERR_SYS, MD_ERR_MALFORMED.
 */
int attach_settings_read(const struct md_conf *conf, const char *network,
                         struct attach_settings *out, char *why, size_t why_size);

/* Most bytes that the engine and the ring of the network take. */
struct attach_settings_memory {
    uint64_t packets;
    uint64_t peers;   /* and their receive windows */
    uint64_t waiting; /* unicast, and messages being put together */
    uint64_t inbound_ring;
};
struct attach_settings_memory attach_settings_memory(const struct attach_settings *settings);

#endif
