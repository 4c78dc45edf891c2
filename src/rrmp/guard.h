/* rrmp/guard.h - who sends bad records is not listened to for a while. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_GUARD_H
#define RRMP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#define RRMP_GUARD_SENDERS   32u
#define RRMP_GUARD_BAD_MAX   100u           /* bad records in ... */
#define RRMP_GUARD_WINDOW_NS 10000000000ull /* ... 10 s, and then as long again ignored */

/* The senders of bad records seen last; a sender of good ones never enters. */
struct rrmp_guard {
    struct rrmp_guard_sender {
        uint64_t session;
        uint64_t since_ns;
        uint64_t ignored_until_ns;
        uint32_t bad_count;
        uint16_t port;
    } senders[RRMP_GUARD_SENDERS];
    uint32_t count;
};

/* True while this sender is ignored. Costs a compare while nobody has sent anything bad. */
bool rrmp_guard_ignores(const struct rrmp_guard *guard, uint64_t now_ns, uint64_t session,
                        uint16_t port);
/* A bad record came; true if the sender is ignored from now on (log it once). */
bool rrmp_guard_bad(struct rrmp_guard *guard, uint64_t now_ns, uint64_t session, uint16_t port);

#endif
