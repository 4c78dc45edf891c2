/* locks.c - see locks.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "locks.h"

#include <stdio.h>

#include "base/log.h"
#include "base/table.h"
#include "entitle/lock.h"

#define SAID_AGAIN_NS 60000000000ull
#define BYTES_SHOWN   16u

static bool is_to_be_said(struct p2ps_locks *locks, uint64_t now_ns, struct entitle_view service)
{
    uint64_t hash = md_hash_bytes(service.data, service.length);
    uint64_t place = hash % P2PS_LOCKS_SERVICES;

    pthread_mutex_lock(&locks->lock);
    bool says = locks->said[place].service != hash || now_ns >= locks->said[place].next_ns;
    if (says) {
        locks->said[place].service = hash;
        locks->said[place].next_ns = now_ns + SAID_AGAIN_NS;
    }
    pthread_mutex_unlock(&locks->lock);
    return says;
}

static void say_bad(const struct entitle_query *query, const struct entitle_answer *answer,
                    const char *verdict)
{
    char hex[2 * BYTES_SHOWN + 1] = "";
    size_t shown = query->permission_data.length;

    if (shown > BYTES_SHOWN)
        shown = BYTES_SHOWN;
    for (size_t i = 0; i < shown; i++)
        snprintf(hex + 2 * i, 3, "%02x", (uint8_t)query->permission_data.data[i]);
    md_log(MD_LOG_WARNING, "%.*s %.*s: permission data %s%s %s; %s", (int)query->service.length,
           query->service.data, (int)query->item.length, query->item.data, hex,
           shown < query->permission_data.length ? "..." : "",
           entitle_lock_kind_name((enum entitle_lock_kind)answer->lock_kind), verdict);
}

void p2ps_locks_note(struct p2ps_locks *locks, uint64_t (*now)(void),
                     const struct entitle_query *query, const struct entitle_answer *answer)
{
    bool is_bad = answer->lock_kind != ENTITLE_LOCK_FINE;
    const char *verdict = answer->verdict == ENTITLE_DENY ? "denied" : "allowed";

    if (!is_bad && !answer->has_strange_lock)
        return;
    atomic_fetch_add_explicit(is_bad ? &locks->bad : &locks->strange, 1, memory_order_relaxed);
    if (!is_to_be_said(locks, now(), query->service))
        return;
    if (is_bad)
        say_bad(query, answer, verdict);
    else
        md_log(MD_LOG_WARNING,
               "%.*s %.*s: its permission data are of service id %u, which no peset has; %s",
               (int)query->service.length, query->service.data, (int)query->item.length,
               query->item.data, answer->strange_id, verdict);
}
