/* guard.c - see guard.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"

#include <stddef.h>

bool rrmp_guard_ignores(const struct rrmp_guard *guard, uint64_t now_ns, uint64_t session,
                        uint16_t port)
{
    for (uint32_t i = 0; i < guard->count; i++) {
        const struct rrmp_guard_sender *sender = &guard->senders[i];

        if (sender->session == session && sender->port == port)
            return now_ns < sender->ignored_until_ns;
    }
    return false;
}

static struct rrmp_guard_sender *sender_enter(struct rrmp_guard *guard, uint64_t session,
                                              uint16_t port)
{
    struct rrmp_guard_sender *oldest = &guard->senders[0];

    for (uint32_t i = 0; i < guard->count; i++) {
        struct rrmp_guard_sender *sender = &guard->senders[i];

        if (sender->session == session && sender->port == port)
            return sender;
        if (sender->since_ns < oldest->since_ns)
            oldest = sender;
    }
    if (guard->count < RRMP_GUARD_SENDERS)
        oldest = &guard->senders[guard->count++];
    *oldest = (struct rrmp_guard_sender){ .session = session, .port = port };
    return oldest;
}

bool rrmp_guard_bad(struct rrmp_guard *guard, uint64_t now_ns, uint64_t session, uint16_t port)
{
    struct rrmp_guard_sender *sender = sender_enter(guard, session, port);

    if (sender->bad_count == 0 || now_ns - sender->since_ns > RRMP_GUARD_WINDOW_NS) {
        sender->since_ns = now_ns;
        sender->bad_count = 0;
    }
    if (++sender->bad_count < RRMP_GUARD_BAD_MAX)
        return false;
    sender->bad_count = 0;
    sender->ignored_until_ns = now_ns + RRMP_GUARD_WINDOW_NS;
    return true;
}
