/* tally.c - how much each user has open, on all workers together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "client.h"
#include "private.h"
#include "tally.h"

/* ---- when nothing is shared: one tally for the clients of one user ---- */

static struct p2ps_tally *enter_own(void *self, const char *user)
{
    const struct p2ps_core *core = self;

    for (uint32_t i = 0; i < core->client_room; i++) {
        const struct p2ps_client *c = &core->clients[i];
        if (c->is_used && c->tally && strcmp(c->user, user) == 0)
            return c->tally;
    }
    return calloc(1, sizeof(struct p2ps_tally));
}

static void leave_own(void *self, struct p2ps_tally *tally)
{
    const struct p2ps_core *core = self;

    for (uint32_t i = 0; i < core->client_room; i++) {
        if (core->clients[i].is_used && core->clients[i].tally == tally)
            return;
    }
    free(tally);
}

void p2ps_tally_defaults(struct p2ps_core *core)
{
    struct p2ps_shared *shared = &core->config.shared;

    if (!shared->enter)
        *shared = (struct p2ps_shared){ .self = core, .enter = enter_own, .leave = leave_own };
    if (!shared->items)
        shared->items = &core->own_items;
}

/* ---- a client and its user ---- */

int p2ps_tally_enter(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    const struct p2ps_shared *shared = &core->config.shared;

    c->tally = shared->enter(shared->self, c->user);
    return c->tally ? MD_OK : MD_ERR_NOMEM;
}

void p2ps_tally_leave(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];
    const struct p2ps_shared *shared = &core->config.shared;
    struct p2ps_tally *tally = c->tally;

    if (!tally)
        return;
    p2ps_tally_unmount(core, client);
    c->tally = NULL;
    shared->leave(shared->self, tally);
}

bool p2ps_tally_mount(struct p2ps_core *core, uint32_t client, uint32_t max)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t before = atomic_fetch_add_explicit(&c->tally->mounts, 1, memory_order_relaxed);

    c->is_mount = true;
    if (max == 0 || before < max)
        return true;
    p2ps_tally_unmount(core, client);
    return false;
}

void p2ps_tally_unmount(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    if (c->is_mount)
        atomic_fetch_sub_explicit(&c->tally->mounts, 1, memory_order_relaxed);
    c->is_mount = false;
}

void p2ps_tally_items(struct p2ps_client *c, int64_t change)
{
    if (c->tally)
        atomic_fetch_add_explicit(&c->tally->items, (uint64_t)change, memory_order_relaxed);
}
