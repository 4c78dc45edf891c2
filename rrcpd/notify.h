/* notify.h - telling a service manager that we are ready, alive, stopping. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NOTIFY_H
#define RRCPD_NOTIFY_H

#include <stdint.h>

/* Send `state` ("READY=1") to $NOTIFY_SOCKET; does nothing where there is none. */
void notify_send(const char *state);

/* Half of $WATCHDOG_USEC in ns: how often "WATCHDOG=1" is wanted; 0 = not at all. */
uint64_t notify_watchdog_ns(void);

#endif
