/* operator.c - see operator.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "operator.h"

#include "itemkey/itemkey.h"
#include "provider.h"

static const char *const states[] = {
    [SRCDIST_ITEM_FREE] = "free",       [SRCDIST_ITEM_WAITING] = "waiting",
    [SRCDIST_ITEM_PENDING] = "pending", [SRCDIST_ITEM_OPENING] = "opening",
    [SRCDIST_ITEM_OPEN] = "open",       [SRCDIST_ITEM_BACKOFF] = "backoff",
};

bool srcdist_core_item(const struct srcdist_core *core, uint32_t item,
                       struct srcdist_item_info *out)
{
    *out = (struct srcdist_item_info){ .is_used = false };
    if (item >= core->item_room)
        return false;
    const struct srcdist_item *it = &core->items[item];
    struct rrmp_source_item info;
    struct rwf_key key;
    struct rwf_qos qos;
    if (it->state == SRCDIST_ITEM_FREE || !rrmp_source_item_info(core->source, item, &info) ||
        itemkey_decode(info.key.bytes, info.key.length, &out->domain, &key, &qos) != RWF_OK)
        return true;
    out->is_used = true;
    out->service = core->services[it->service].name;
    out->name = key.name;
    out->state = states[it->state];
    out->provider = it->provider == SRCDIST_NONE ? "" : core->providers[it->provider].name;
    out->stream_id = it->stream_id;
    out->is_bound = info.is_bound;
    out->handle = info.handle;
    out->item_seq = info.item_seq;
    out->requester_count = info.requester_count;
    out->has_image = it->image != NULL;
    return true;
}

bool srcdist_provider_kick(struct srcdist_core *core, uint32_t provider, const char *why)
{
    if (provider >= core->provider_room || !core->providers[provider].is_used)
        return false;
    srcdist_provider_drop(core, provider, why);
    return true;
}
