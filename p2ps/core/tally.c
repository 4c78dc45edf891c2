/* tally.c - what a client takes of its address's and its user's share. See tally.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include <string.h>

#include "base/err.h"
#include "private.h"

int p2ps_tally_create(struct p2ps_core *core)
{
    if (core->config.parties) {
        core->parties = core->config.parties;
        return MD_OK;
    }
    core->own_parties = p2ps_parties_create(core->idmap_key);
    core->parties = core->own_parties;
    return core->parties ? MD_OK : MD_ERR_NOMEM;
}

void p2ps_tally_destroy(struct p2ps_core *core)
{
    p2ps_parties_destroy(core->own_parties);
}

/* ---- a client, its address and its user ---- */

int p2ps_tally_host(struct p2ps_core *core, struct p2ps_client *c)
{
    c->host = p2ps_parties_host(core->parties, core->now_ns, c->address);
    return c->host ? MD_OK : MD_ERR_NOMEM;
}

int p2ps_tally_user(struct p2ps_core *core, struct p2ps_client *c, bool is_proved)
{
    c->party =
        p2ps_parties_user(core->parties, core->now_ns, c->user, is_proved ? NULL : c->address);
    if (!c->party)
        return MD_ERR_NOMEM;
    if (c->front->user)
        c->front->user(c->self, c->user, c->party);
    return MD_OK;
}

void p2ps_tally_leave(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    if (c->party) {
        p2ps_tally_unmount(core, client);
        p2ps_parties_leave(core->parties, c->party);
    }
    p2ps_parties_leave(core->parties, c->host);
    c->party = c->host = NULL;
}

bool p2ps_tally_mount(struct p2ps_core *core, uint32_t client, uint32_t max)
{
    struct p2ps_client *c = &core->clients[client];
    uint32_t before = atomic_fetch_add_explicit(&c->party->mounts, 1, memory_order_relaxed);

    c->is_mount = true;
    if (max == 0 || before < max)
        return true;
    p2ps_tally_unmount(core, client);
    return false;
}

/* The address in front of the slash, or that of the connection. */
static const char *position_of(const struct p2ps_client *c, char out[P2PS_TEXT_MAX])
{
    size_t length = strcspn(c->position, "/");

    memcpy(out, c->position, length);
    out[length] = '\0';
    if (length == 0)
        p2ps_host_of(c->address, out);
    return out;
}

bool p2ps_tally_position(struct p2ps_core *core, uint32_t client, uint32_t max)
{
    struct p2ps_client *c = &core->clients[client];
    char text[P2PS_TEXT_MAX];

    c->has_position =
        p2ps_parties_position(core->parties, c->party, position_of(c, text), max) == MD_OK;
    if (!c->has_position)
        p2ps_tally_unmount(core, client);
    return c->has_position;
}

void p2ps_tally_unmount(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];
    char text[P2PS_TEXT_MAX];

    if (c->has_position)
        p2ps_parties_position_leave(core->parties, c->party, position_of(c, text));
    c->has_position = false;

    if (c->is_mount)
        atomic_fetch_sub_explicit(&c->party->mounts, 1, memory_order_release);
    c->is_mount = false;
}

void p2ps_tally_items(struct p2ps_client *c, int64_t change)
{
    if (!c->party)
        return;
    atomic_fetch_add_explicit(&c->party->items, (uint64_t)change, memory_order_release);
    atomic_fetch_add_explicit(&c->host->items, (uint64_t)change, memory_order_release);
}

/* ---- rates ---- */

/* The rates at which a request or a post is charged; 0 a second: it is not. */
struct charge {
    struct p2ps_rate host;
    struct p2ps_rate user;
};

/* A user of the access file may have a rate of its own. If it was proved that it is this user, it
 * takes nothing of what others behind the same address have. */
static struct charge charge_of(const struct p2ps_client *c, const struct p2ps_rate *own,
                               const struct p2ps_rate *all)
{
    bool has_own = own->per_second != 0;

    return (struct charge){
        .host = has_own && c->is_proved ? (struct p2ps_rate){ 0 } : *all,
        .user = has_own ? *own : *all,
    };
}

/* Before the login a request is refused, and costs nobody's share: whoever is behind the same
 * address has done nothing. */
void p2ps_tally_ask(struct p2ps_core *core, struct p2ps_client *c)
{
    struct charge charge = charge_of(c, &c->requests, &core->config.rates.requests);

    if (!c->party)
        return;
    p2ps_bucket_take(&c->host->requests, &charge.host, core->now_ns, 1);
    p2ps_bucket_take(&c->party->requests, &charge.user, core->now_ns, 1);
    atomic_fetch_add_explicit(&c->party->requests_in, 1, memory_order_relaxed);
}

uint64_t p2ps_tally_ready(const struct p2ps_core *core, const struct p2ps_client *c)
{
    struct charge charge = charge_of(c, &c->requests, &core->config.rates.requests);

    if (!c->party)
        return 0;
    uint64_t host_ns = p2ps_bucket_ready(&c->host->requests, &charge.host, core->now_ns);
    uint64_t user_ns = p2ps_bucket_ready(&c->party->requests, &charge.user, core->now_ns);
    return host_ns > user_ns ? host_ns : user_ns;
}

bool p2ps_tally_post(struct p2ps_core *core, struct p2ps_client *c)
{
    struct charge charge = charge_of(c, &c->post_rate, &core->config.rates.posts);

    if (p2ps_bucket_ready(&c->host->post_rate, &charge.host, core->now_ns) > core->now_ns ||
        p2ps_bucket_ready(&c->party->post_rate, &charge.user, core->now_ns) > core->now_ns)
        return false;
    p2ps_bucket_take(&c->host->post_rate, &charge.host, core->now_ns, 1);
    p2ps_bucket_take(&c->party->post_rate, &charge.user, core->now_ns, 1);
    atomic_fetch_add_explicit(&c->party->posts_in, 1, memory_order_relaxed);
    return true;
}

void p2ps_tally_limits(const struct p2ps_client *c, const struct entitle_answer *answer)
{
    if (!c->party)
        return;
    atomic_store_explicit(&c->party->mounts_max, answer->mounts_max, memory_order_relaxed);
    atomic_store_explicit(&c->party->items_max, c->item_limit, memory_order_relaxed);
    atomic_store_explicit(&c->party->requests_max, answer->requests_per_s, memory_order_relaxed);
    atomic_store_explicit(&c->party->posts_max, answer->posts_per_s, memory_order_relaxed);
}

void p2ps_tally_refused(const struct p2ps_client *c)
{
    if (c->party)
        atomic_fetch_add_explicit(&c->party->refused, 1, memory_order_relaxed);
}

/* ---- tables ---- */

bool p2ps_tally_may_have(const struct p2ps_client *c, uint32_t now, uint32_t room,
                         uint32_t (*of)(const struct p2ps_party *party))
{
    if (now < room - room / 4)
        return true;
    return of(c->host) < room / 8 && of(c->party) < room / 8;
}
