/* provider.c - provider connections: their slots, their services, their groups. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "provider.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

static const char *const state_names[] = { "login", "directory", "dictionary", "ready" };

struct srcdist_provider *srcdist_provider_at(struct srcdist_core *core, uint32_t provider)
{
    MD_ASSERT(provider < core->provider_room && core->providers[provider].is_used);
    return &core->providers[provider];
}

struct srcdist_offer *srcdist_provider_offer(struct srcdist_provider *p, uint16_t service)
{
    for (uint32_t i = 0; i < p->offer_count; i++) {
        if (p->offers[i].service == service)
            return &p->offers[i];
    }
    return NULL;
}

int srcdist_provider_send(struct srcdist_core *core, uint32_t provider,
                          const struct rwf_encoder *enc)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    if (rwf_encoder_error(enc) != RWF_OK)
        return MD_ERR_RANGE;
    return p->link->send(p->self, rwf_encoder_bytes(enc));
}

void srcdist_provider_set_state(struct srcdist_core *core, uint32_t provider,
                                enum srcdist_provider_state state)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    MD_ASSERT(p->state < (uint8_t)state);
    p->state = (uint8_t)state;
    p->since_ns = core->now_ns;
}

void srcdist_provider_drop(struct srcdist_core *core, uint32_t provider, const char *reason)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    p->must_go = true;
    p->go_reason = reason;
}

int srcdist_provider_end_stream(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                                uint8_t domain, const struct rwf_state *state)
{
    struct rwf_encoder enc;
    struct omm_status status = { .stream_id = stream_id, .domain = domain, .state = *state };

    srcdist_encoder(core, &enc);
    omm_status_encode(&enc, &status);
    srcdist_provider_send(core, provider, &enc);
    return MD_OK;
}

int srcdist_provider_refuse_stream(struct srcdist_core *core, uint32_t provider,
                                   const struct rwf_msg *msg, uint8_t code, const char *text)
{
    const struct rwf_state state = omm_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, code, text);

    return srcdist_provider_end_stream(core, provider, msg->stream_id, msg->domain, &state);
}

/* ---- groups ---- */

/* 0 when all are taken: then the item is in no group that a status could be about. */
static uint16_t take_number(struct srcdist_core *core)
{
    for (uint32_t i = 0; i < SRCDIST_GROUPS_MAX; i++) {
        uint32_t number = core->group_next++ % SRCDIST_GROUPS_MAX;

        if (number == 0 || core->groups_taken[number / 64] >> (number % 64) & 1)
            continue;
        core->groups_taken[number / 64] |= 1ull << (number % 64);
        return (uint16_t)number;
    }
    return 0;
}

void srcdist_provider_give_groups(struct srcdist_core *core, struct srcdist_provider *p)
{
    for (uint32_t i = 0; i < p->group_count; i++) {
        uint16_t number = p->groups[i].number;
        core->groups_taken[number / 64] &= ~(1ull << (number % 64));
    }
    free(p->groups);
    p->groups = NULL;
    p->group_count = p->group_room = 0;
}

static struct srcdist_group *add_group(struct srcdist_core *core, struct srcdist_provider *p,
                                       struct rwf_bytes group)
{
    if (p->kind == SRCDIST_NON_INTERACTIVE && p->group_count == SRCDIST_GROUPS_OF_PUBLISHER)
        return NULL; /* groups are found one by one, and all providers share their numbers */
    if (p->group_count == p->group_room) {
        uint32_t room = p->group_room ? p->group_room * 2 : 16;
        struct srcdist_group *groups = realloc(p->groups, room * sizeof(*groups));
        if (!groups)
            return NULL;
        p->groups = groups;
        p->group_room = room;
    }
    uint16_t number = take_number(core);
    if (number == 0)
        return NULL;
    struct srcdist_group *g = &p->groups[p->group_count++];
    *g = (struct srcdist_group){ .number = number, .length = (uint8_t)group.length };
    if (group.length)
        memcpy(g->bytes, group.data, group.length);
    return g;
}

uint16_t srcdist_provider_group(struct srcdist_core *core, uint32_t provider,
                                struct rwf_bytes group)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    if (group.length > sizeof(p->groups[0].bytes))
        group.length = 0;
    for (uint32_t i = 0; i < p->group_count; i++) {
        if (p->groups[i].length == group.length &&
            (group.length == 0 || memcmp(p->groups[i].bytes, group.data, group.length) == 0))
            return p->groups[i].number;
    }
    const struct srcdist_group *g = add_group(core, p, group);
    return g ? g->number : 0;
}

/* ---- for statistics ---- */

bool srcdist_provider_info(const struct srcdist_core *core, uint32_t provider,
                           struct srcdist_provider_info *out)
{
    *out = (struct srcdist_provider_info){ 0 };
    if (provider >= core->provider_room)
        return false;
    const struct srcdist_provider *p = &core->providers[provider];
    if (p->is_used) {
        *out = (struct srcdist_provider_info){
            .is_used = true,
            .is_logged_in = p->state != SRCDIST_PROVIDER_LOGIN && !p->must_go,
            .name = p->name,
            .user = p->user,
            .state = state_names[p->state],
            .kind = p->kind == SRCDIST_INTERACTIVE ? "interactive" : "non-interactive",
            .services = p->offer_count,
            .streams = p->streams.count,
            .outstanding = p->outstanding,
            .updates = p->updates,
            .misuse = p->misuse,
            .lag_us = p->lag_us,
            .ceiling = p->ceiling,
        };
    }
    return true;
}
