/* peers.h - statusPeers: the status ports of other hosts. Private to status. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_PEERS_H
#define STATUS_PEERS_H

#include <stdbool.h>

#include "base/slice.h"
#include "conf/conf.h"
#include "status/status.h"

#define STATUS_PEERS_MAX     16
#define STATUS_SOURCES_BYTES (STATUS_PEERS_MAX * (STATUS_PEER_BYTES + 8))

/*
 * All hosts have the same list, that of their common rmds.cnf. A browser that shows the page of one
 * of them asks the others itself, for /host.json: the page's policy lets it ask these and nobody
 * else, and each of them lets a page of these read its answer and no other page.
 */
struct status_peers {
    char names[STATUS_PEERS_MAX][STATUS_PEER_BYTES];
    unsigned count;
    unsigned refused; /* no HOST:PORT, or one too many */
};

bool status_peer_is_sound(const char *text);
unsigned status_peers_read(const struct md_conf_object *daemon, struct status_peers *peers);

/* " http://gw1:8081 http://gw2:8081", for connect-src. */
void status_peers_sources(const struct status_peers *peers, char *out, size_t size);

/* The peer whose page asks, by the Origin of its request; NULL: none of them. */
const char *status_peers_origin(const struct status_peers *peers, struct md_slice origin);

#endif
