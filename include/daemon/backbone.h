/* daemon/backbone.h - the networks of a daemon: which they are, and whether an rrcpd serves them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_BACKBONE_H
#define DAEMON_BACKBONE_H

#include "attach/settings.h"
#include "daemon/daemon.h"
#include "daemon/memory.h"

#define DAEMON_BACKBONE_DELAY 2000000000ull /* so long it may take to attach, without a word */
#define DAEMON_NETWORKS_MAX   8

/* The networks of networkList, each once, or else that of the configuration. */
struct daemon_networks {
    struct attach_settings *list[DAEMON_NETWORKS_MAX];
    unsigned count;
};

/* Logs each mistake. */
int daemon_networks_read(struct daemon_networks *networks, const struct daemon *daemon);
void daemon_networks_free(struct daemon_networks *networks);
/* -1: it is none of them. */
int daemon_networks_find(const struct daemon_networks *networks, const char *name);
/* The part "networks" of the memory: engines that run inside this process, by inProcess. */
void daemon_networks_plan(const struct daemon_networks *networks, struct daemon_memory *memory);

/* Once a second for each network: trouble `which` while no rrcpd serves it. Returns is_attached. */
bool daemon_backbone_look(struct daemon *daemon, unsigned which,
                          const struct attach_settings *settings, bool is_attached);

/* Once a second while no loop has found an rrcpd yet: with -noretry the daemon ends after
 * attachTimeout. */
void daemon_backbone_wait(struct daemon *daemon);

#endif
