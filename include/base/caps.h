/* base/caps.h - the capabilities of a thread: which it keeps, and when it has none. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CAPS_H
#define MD_CAPS_H

#include <stdint.h>

/* Bits of a set. */
#define MD_CAP_NET_BIND  (1ull << 10) /* ports below 1024 */
#define MD_CAP_NET_ADMIN (1ull << 12) /* buffers beyond the limits of the kernel, busy polling */
#define MD_CAP_IPC_LOCK  (1ull << 14) /* lockMemory */
#define MD_CAP_SYS_NICE  (1ull << 23) /* schedPolicy, nice */

/*
 * Linux keeps capabilities by thread, so each thread of a daemon gives up its own when it has
 * settled: no thread that reads what strangers sent has any. Nothing is changed in a thread of user
 * 0 of a user namespace, whose capabilities end with that namespace.
 */
void md_caps_drop(void);

/* The thread may use none, and what it starts by exec has these of what it has. */
void md_caps_leave_to_exec(uint64_t set);

/* The thread has these, if it has them at all, and no others. Returns 0, or -1 with errno. */
int md_caps_reduce(uint64_t set);

#endif
