/* groups.c - see groups.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"

#include "access.h"
#include "delayed.h"
#include "place.h"
#include "provider.h"
#include "rate.h"
#include "recovery.h"

bool srcdist_state_ends_streams(const struct rwf_state *state)
{
    return state->stream_state == RWF_STREAM_CLOSED_RECOVER ||
           state->stream_state == RWF_STREAM_CLOSED;
}

bool srcdist_changes_too_many(struct srcdist_core *core, uint32_t provider, unsigned changes)
{
    const struct srcdist_provider *p = srcdist_provider_at(core, provider);

    if (p->kind != SRCDIST_NON_INTERACTIVE || changes <= SRCDIST_CHANGES_MAX)
        return false;
    if (!p->must_go)
        srcdist_provider_drop(core, provider,
                              "a directory message with more than 256 services, or more than 256 "
                              "groups of a service; it must send them in several messages");
    return true;
}

/* ---- a walk over the items for many groups ---- */

struct change {
    uint16_t group;
    bool has_state; /* one that later image requests must see */
    bool ends;
    uint8_t data_state;
    uint8_t code;
};

struct batch {
    uint32_t provider;
    uint16_t service;
    unsigned count;
    struct change changes[SRCDIST_CHANGES_MAX - 1]; /* their number + 1 fits a byte */
};

static void apply(struct srcdist_core *core, uint32_t item, const struct change *change)
{
    struct srcdist_item *it = &core->items[item];

    if (change->has_state && it->image && !it->suspect_sent)
        cache_image_set_state(it->image, RWF_STREAM_OPEN, change->data_state, change->code);
    if (change->has_state)
        srcdist_delay_state(core, item, change->data_state, change->code, "");
    if (change->ends && it->state == SRCDIST_ITEM_OPEN)
        srcdist_item_cut(core, item);
}

static void walk(struct srcdist_core *core, struct batch *batch)
{
    bool has_ended = false;

    if (batch->count == 0)
        return;
    srcdist_walk_charge(core, srcdist_provider_at(core, batch->provider));
    for (uint32_t i = 0; i < core->item_room; i++) {
        struct rrmp_source_item info;

        if (core->items[i].state == SRCDIST_ITEM_FREE ||
            core->items[i].provider != batch->provider ||
            core->items[i].service != batch->service ||
            !rrmp_source_item_info(core->source, i, &info) || core->group_marks[info.group] == 0)
            continue;
        apply(core, i, &batch->changes[core->group_marks[info.group] - 1]);
    }
    for (unsigned i = 0; i < batch->count; i++) {
        has_ended = has_ended || batch->changes[i].ends;
        core->group_marks[batch->changes[i].group] = 0;
    }
    batch->count = 0;
    if (has_ended)
        srcdist_items_place(core, batch->service);
}

static void add(struct srcdist_core *core, struct batch *batch, uint16_t group,
                const struct rwf_state *state)
{
    const struct change change = {
        .group = group,
        .has_state = state->data_state != RWF_DATA_NO_CHANGE,
        .ends = srcdist_state_ends_streams(state),
        .data_state = state->data_state,
        .code = state->code,
    };

    if (!change.has_state && !change.ends)
        return;
    if (core->group_marks[group] != 0 ||
        batch->count == sizeof(batch->changes) / sizeof(batch->changes[0]))
        walk(core, batch);
    batch->changes[batch->count++] = change;
    core->group_marks[group] = (uint8_t)batch->count;
}

void srcdist_groups_apply(struct srcdist_core *core, uint32_t provider, struct srcdist_offer *offer,
                          struct omm_directory *directory)
{
    const struct srcdist_service *s = &core->services[offer->service];
    struct batch batch = { .provider = provider, .service = offer->service };
    struct omm_group group;
    unsigned changes = 0;

    srcdist_rates_flush(core); /* updates before it are not said behind it */
    while (omm_directory_group(directory, &group) > 0) {
        if (srcdist_changes_too_many(core, provider, ++changes))
            continue;
        struct rrmp_group change = {
            .group = srcdist_provider_group(core, provider, group.group),
            .merged_into = RRMP_GROUP_NONE,
            .state = rwf_state_byte(group.status.stream_state, group.status.data_state),
            .code = group.status.code,
            .stays = group.has_status && srcdist_state_ends_streams(&group.status),
            .text = srcdist_view(group.status.text),
        };

        if (group.merged_to.length)
            change.merged_into = srcdist_provider_group(core, provider, group.merged_to);
        if (!group.has_status && change.merged_into == RRMP_GROUP_NONE)
            continue;
        if (group.has_status)
            add(core, &batch, change.group, &group.status);
        if (group.has_status && group.status.data_state != RWF_DATA_OK)
            offer->was_suspect = true;
        if (change.merged_into != RRMP_GROUP_NONE)
            walk(core, &batch); /* while its items are still in it */
        if (s->is_offered)
            rrmp_source_group_status(core->source, s->svc, &change);
    }
    walk(core, &batch);
}
