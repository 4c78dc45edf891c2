/* signals.h - what the signals do, the same for every daemon. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_SIGNALS_H
#define DAEMON_SIGNALS_H

#include "daemon/daemon.h"

/*
 *      SIGTERM SIGINT   stop in order; a second one: at once
 *      SIGHUP           open the log file anew, read the configuration again
 *      SIGUSR1          statistics that are not 0 to the log
 *      SIGUSR2          the next log level: INFO, DEBUG, NOTICE
 */
int signals_watch(struct daemon *daemon);
void signals_release(struct daemon *daemon);

#endif
