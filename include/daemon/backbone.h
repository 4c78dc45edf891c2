/* daemon/backbone.h - a daemon that waits for its rrcpd: where it looks, and what it finds there.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_BACKBONE_H
#define DAEMON_BACKBONE_H

#include "daemon/daemon.h"

#define DAEMON_BACKBONE_DELAY 2000000000ull /* so long it may take to attach, without a word */

/* Once a second for each network: trouble `which` while no rrcpd at `path` serves it. */
void daemon_backbone_look(struct daemon *daemon, unsigned which, const char *network,
                          const char *path, bool is_attached);

#endif
