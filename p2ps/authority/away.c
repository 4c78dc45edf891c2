/* away.c - an authority that is away, or back: what becomes of its sessions. See authority.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "away.h"

bool p2ps_authority_is_up(const struct p2ps_authority *a)
{
    return a->is_greeted && !a->is_silent;
}

void authority_turned(struct p2ps_authority *a, uint64_t now_ns)
{
    bool is_up = p2ps_authority_is_up(a);

    if (is_up == a->was_up)
        return;
    a->was_up = is_up;
    a->has_closed = false;
    a->down_since_ns = now_ns; /* of no account while it is up */
}

bool authority_is_over(const struct p2ps_authority *a, uint64_t now_ns)
{
    if (p2ps_authority_is_up(a))
        return false;
    return a->config.sessions == P2PS_AUTHORITY_CLOSE ||
           (a->config.grace_ns && now_ns - a->down_since_ns >= a->config.grace_ns);
}

bool p2ps_authority_closes(struct p2ps_authority *a, uint64_t now_ns, uint64_t serial)
{
    bool closes = serial && authority_is_over(a, now_ns);

    a->stats.closed += closes;
    return closes;
}

static bool recalls(struct p2ps_authority *a)
{
    bool recalls = a->recalls;

    a->recalls = false;
    if (!a->owes_recall || !p2ps_authority_is_up(a) || a->stats.waiting * 2 >= a->config.window)
        return recalls;
    a->owes_recall = false;
    return true;
}

unsigned p2ps_authority_news(struct p2ps_authority *a, uint64_t now_ns)
{
    bool is_up = p2ps_authority_is_up(a);
    unsigned news = recalls(a) ? ENTITLE_NEWS_LOGINS : 0;

    if (is_up != a->told_up && a->config.sessions == P2PS_AUTHORITY_SUSPECT)
        news |= is_up ? ENTITLE_NEWS_UP : ENTITLE_NEWS_DOWN;
    a->told_up = is_up;
    if (!a->has_closed && authority_is_over(a, now_ns)) {
        a->has_closed = true;
        news |= ENTITLE_NEWS_LOGINS;
    }
    return news;
}
