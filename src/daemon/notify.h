/* notify.h - what a service manager is told: the protocol of sd_notify(3), a datagram of text. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <stdint.h>

/* To $NOTIFY_SOCKET, e.g. "READY=1"; without that variable nothing happens. */
void notify_send(const char *state);

/* How often the service manager wants to see the watchdog fed: half of $WATCHDOG_USEC; 0: never. */
uint64_t notify_watchdog_ns(void);

#endif
