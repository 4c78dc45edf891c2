/* plain.c - see plain.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plain.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* A login from this host crosses no network. */
static bool is_loopback(struct entitle_view host)
{
    static const char *const heads[] = { "127.", "[::1]", "[::ffff:127.", "::1" };

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        size_t length = strlen(heads[i]);
        if (host.length >= length && memcmp(host.data, heads[i], length) == 0)
            return true;
    }
    return false;
}

static void warn(struct p2ps_plain *plain, uint64_t now_ns, const struct entitle_query *query)
{
    char more[60] = "";
    uint64_t held;

    pthread_mutex_lock(&plain->lock);
    bool says = p2ps_distance_says(&plain->said, now_ns, &held);
    pthread_mutex_unlock(&plain->lock);
    if (says && held)
        snprintf(more, sizeof(more), "; %llu more since the last such line",
                 (unsigned long long)held);
    if (says)
        md_log(MD_LOG_WARNING,
               "login: host=%.*s: user %.*s sends a password that whoever is on the way can read; "
               "let it use tlsPort or wsTlsPort (plainPassword)%s",
               (int)query->host.length, query->host.data, (int)query->user.length, query->user.data,
               more);
}

const char *p2ps_plain_refuse(struct p2ps_plain *plain, uint64_t now_ns,
                              const struct entitle_query *query)
{
    unsigned policy = atomic_load_explicit(&plain->policy, memory_order_relaxed);

    if (policy == P2PS_PLAIN_ALLOW || query->kind != ENTITLE_LOGIN || !query->is_plain ||
        query->password.length == 0 || is_loopback(query->host))
        return NULL;
    if (policy == P2PS_PLAIN_REFUSE)
        return "passwords are accepted over TLS only";
    warn(plain, now_ns, query);
    return NULL;
}
