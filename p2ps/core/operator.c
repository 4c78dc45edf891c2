/* operator.c - see operator.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "operator.h"

#include "itemkey/itemkey.h"
#include "private.h"
#include "turn.h"

static const char *const states[] = {
    [RRMP_SINK_PARKED] = "parked",   [RRMP_SINK_QUEUED] = "queued", [RRMP_SINK_ASKED] = "asked",
    [RRMP_SINK_FILLING] = "filling", [RRMP_SINK_LIVE] = "live",
};

bool p2ps_core_item(const struct p2ps_core *core, uint32_t item, struct p2ps_item_info *out)
{
    *out = (struct p2ps_item_info){ .is_used = false };
    if (item >= core->item_room)
        return false;
    const struct p2ps_item *it = &core->items[item];
    if (it->sink_item == RRMP_ITEM_NONE || it->has_ended)
        return true;
    const struct rrmp_sink *sink = core->sinks[it->network];
    struct rrmp_sink_item info;
    struct rwf_key key;
    struct rwf_qos qos;
    if (!rrmp_sink_item_info(sink, it->sink_item, &info) ||
        itemkey_decode(info.key.bytes, info.key.length, &out->domain, &key, &qos) != RWF_OK)
        return true;
    struct rrmp_sink_service service;
    if (rrmp_sink_service(sink, info.service, &service))
        out->service = p2ps_bytes(service.name);
    out->is_used = true;
    out->name = key.name;
    out->state = states[info.state];
    out->source = p2ps_bytes(rrmp_sink_instance_name(sink, info.instance));
    out->is_bound = rrmp_sink_item_trace(sink, it->sink_item, &out->handle, &out->item_seq);
    out->is_suspect = it->is_state_known && it->data_state == RWF_DATA_SUSPECT;
    out->has_image = info.had_image;
    out->watch_count = it->watch_count;
    return true;
}

bool p2ps_core_item_watch(const struct p2ps_core *core, uint32_t item, uint32_t watch,
                          uint32_t *client, int32_t *stream_id)
{
    const struct p2ps_item *it = &core->items[item];

    if (it->sink_item == RRMP_ITEM_NONE || watch >= it->watch_count)
        return false;
    const struct p2ps_watch *w = &it->watches[watch];
    bool has_ended = w->state == P2PS_WATCH_ENDED;
    *client = has_ended ? UINT32_MAX : w->client;
    *stream_id = has_ended ? 0 : w->stream_id;
    return true;
}

void p2ps_client_kick(struct p2ps_core *core, uint64_t now_ns, uint32_t client, const char *why)
{
    core->now_ns = now_ns;
    p2ps_client_cut(core, client, why);
}
