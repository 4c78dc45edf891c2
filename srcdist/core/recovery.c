/* recovery.c - items whose provider is lost, or has ended their streams. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "recovery.h"

#include "delayed.h"
#include "item.h"
#include "item_end.h"
#include "place.h"
#include "provider.h"
#include "rate.h"
#include "service.h"
#include "upstream.h"

/* Open items of the service at this provider, or else at others. */
static bool has_items(const struct srcdist_core *core, uint32_t service, uint32_t provider,
                      bool is_there)
{
    for (uint32_t i = 0; i < core->item_room; i++) {
        const struct srcdist_item *it = &core->items[i];
        if (it->state == SRCDIST_ITEM_OPEN && it->service == service &&
            (it->provider == provider) == is_there)
            return true;
    }
    return false;
}

/* Each item of the provider is in one of its groups, so group statuses do not reach items of other
 * providers. */
static void tell_groups(struct srcdist_core *core, uint32_t provider, uint32_t service,
                        const struct rwf_state *state)
{
    const struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rrmp_group status = {
        .merged_into = RRMP_GROUP_NONE,
        .state = rwf_state_byte(state->stream_state, state->data_state),
        .code = state->code,
        .stays = true,
        .text = srcdist_view(state->text),
    };

    for (uint32_t i = 0; i < p->group_count && core->services[service].is_offered; i++) {
        status.group = p->groups[i].number;
        rrmp_source_group_status(core->source, core->services[service].svc, &status);
    }
}

/* An item that a publisher brought goes with it, unless a consumer has it. */
static bool end_unwanted(struct srcdist_core *core, uint32_t item)
{
    static const struct rrmp_ending ending = { .scope = RRMP_REFUSE_NOT_HERE };
    struct rrmp_source_item info;

    if (!rrmp_source_item_info(core->source, item, &info) || info.requester_count > 0 ||
        srcdist_delay_has(core, item))
        return false;
    srcdist_item_forget(core, item);
    rrmp_source_item_close(core->source, core->now_ns, item, &ending);
    return true;
}

/* Its consumers know that it is suspect; a publisher has republish_ns to bring it again. */
static void await(struct srcdist_core *core, struct srcdist_item *it)
{
    it->suspect_sent = true;
    it->must_republish = core->services[it->service].is_broadcast;
    it->due_ns = core->now_ns + core->config.republish_ns;
    srcdist_item_set_state(core, it, SRCDIST_ITEM_WAITING);
}

void srcdist_items_become_asked(struct srcdist_core *core, uint32_t service)
{
    for (uint32_t i = 0; i < core->item_room; i++) {
        if (core->items[i].state != SRCDIST_ITEM_FREE && core->items[i].service == service)
            core->items[i].must_republish = false;
    }
}

void srcdist_items_orphaned(struct srcdist_core *core, uint32_t provider, uint32_t service)
{
    struct rwf_state state = omm_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                                       "The connection to the source was lost");
    bool is_shared = has_items(core, service, provider, false);
    bool any = false;

    srcdist_rates_flush(core); /* updates before the status are not said behind it */
    for (uint32_t i = 0; i < core->item_room; i++) {
        struct srcdist_item *it = &core->items[i];

        if (it->state == SRCDIST_ITEM_FREE || it->provider != provider || it->service != service)
            continue;
        any = true;
        if (it->image)
            cache_image_set_state(it->image, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE);
        if (it->is_private) {
            srcdist_item_end_private(core, i);
            continue;
        }
        srcdist_item_detach(core, i, !core->providers[provider].must_go);
        srcdist_delay_state(core, i, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                            "The connection to the source was lost");
        if (core->services[service].is_broadcast && end_unwanted(core, i))
            continue;
        await(core, it); /* a place in that provider's queue is passed over */
    }
    if (any && is_shared)
        tell_groups(core, provider, service, &state);
    else if (any)
        srcdist_service_status(core, service, &state, true);
    srcdist_items_place(core, service);
}

void srcdist_items_tell_end(struct srcdist_core *core, uint32_t provider, uint32_t service,
                            const struct rwf_state *state)
{
    srcdist_rates_flush(core); /* as above */
    if (!has_items(core, service, provider, false))
        srcdist_service_status(core, service, state, true);
    else if (has_items(core, service, provider, true))
        tell_groups(core, provider, service, state);
}

void srcdist_item_cut(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];

    srcdist_item_detach(core, item, true); /* a provider that still has the stream open would
                                              refuse a second one of this key */
    if (it->is_private) {
        srcdist_item_end_private(core, item);
        return;
    }
    if (it->image)
        cache_image_set_state(it->image, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE);
    srcdist_delay_state(core, item, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                        "The source has ended its streams");
    await(core, it);
}

void srcdist_items_cut(struct srcdist_core *core, uint32_t provider, uint32_t service)
{
    for (uint32_t i = 0; i < core->item_room; i++) {
        const struct srcdist_item *it = &core->items[i];

        if (it->state == SRCDIST_ITEM_OPEN && it->provider == provider && it->service == service)
            srcdist_item_cut(core, i);
    }
    srcdist_items_place(core, service);
}
