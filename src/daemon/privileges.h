/* privileges.h - as which user a daemon runs, and what it may do beyond that. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_PRIVILEGES_H
#define DAEMON_PRIVILEGES_H

#include "daemon/daemon.h"

/*
 * A daemon that root starts becomes the user of the parameter `user`, keeps what its start needs
 * (priorities, locked memory, low ports; rrcpd also buffers beyond the kernel's limits) and gives
 * that up when it is ready. Its folders are made for that user before. Without that user it is
 * refused, unless -allow-root says that root is meant. -1: go on; else the exit code.
 */
int privileges_choose(struct daemon *daemon, bool is_rrcpd);

/* The name of the user that this process is, for messages; single-threaded starts only. */
const char *privileges_user(void);

/* Warn of each file of the configuration that this user cannot read: root has read it. */
void privileges_look(const struct daemon *daemon);

/* The start is over. */
void privileges_drop(bool is_rrcpd);

#endif
