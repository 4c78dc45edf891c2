/* follow.c - the items that others have open. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "internal.h"
#include "itemkey/itemkey.h"

static bool is_named(const struct library_service *service, struct rrmp_view name)
{
    return strlen(service->name) == name.length &&
           memcmp(service->name, name.bytes, name.length) == 0;
}

void library_follow_maybe(struct library_items *items, uint64_t now_ns, uint16_t sink_service)
{
    struct rrmp_view name = rrmp_sink_service_name(items->sink, sink_service);
    bool is_wanted = items->follows_all;

    for (uint16_t i = 0; i < items->service_count && !is_wanted; i++)
        is_wanted = items->services[i]->is_followed && is_named(items->services[i], name);
    if (is_wanted && name.length > 0)
        rrmp_sink_follow(items->sink, now_ns, sink_service);
}

int rmds_backbone_follow(struct rmds_backbone *backbone, const char *service)
{
    struct library_items *items = &backbone->items;

    if (!backbone->options.on_bound || (service && (!*service || strlen(service) > 255)))
        return MD_ERR_RANGE;
    if (!service) {
        items->follows_all = true;
    } else {
        struct library_service *entered = library_service(items, service);
        if (!entered)
            return items->service_count == LIBRARY_SERVICES_MAX ? MD_ERR_FULL : MD_ERR_NOMEM;
        entered->is_followed = true;
    }
    for (uint16_t i = 0; i < rrmp_sink_service_count(items->sink); i++)
        library_follow_maybe(items, backbone->now_ns, i);
    return MD_OK;
}

static void tell(struct rmds_backbone *backbone, const char *service,
                 const struct rrmp_sink_event *event, struct rrmp_view bytes)
{
    struct rmds_bound bound = { .service = service,
                                .key = { bytes.bytes, bytes.length },
                                .bound_at = event->instance == 0xFFFF ? 0 : event->instance + 1u };
    const uint32_t plain = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE;
    struct rwf_key key;

    if (rrmp_sink_item_find(backbone->items.sink, event->service, bytes) != RRMP_ITEM_NONE)
        return; /* open here, too */
    if (itemkey_decode(bytes.bytes, bytes.length, &bound.domain, &key, &bound.qos) != RWF_OK) {
        backbone->stats.undecodable++;
        return;
    }
    bound.name = key.name;
    bound.is_plain = !(key.flags & ~plain);
    backbone->options.on_bound(backbone->options.owner, &bound);
}

void library_bound(struct rmds_backbone *backbone, const struct rrmp_sink_event *event)
{
    struct rrmp_view rest = event->message;
    struct rrmp_view name = rrmp_sink_service_name(backbone->items.sink, event->service);
    char service[LIBRARY_NAME_MAX + 1] = "";
    struct rrmp_view key;

    if (name.length == 0 || name.length > LIBRARY_NAME_MAX)
        return;
    memcpy(service, name.bytes, name.length);
    if (event->type == RRMP_BIND) {
        tell(backbone, service, event, rest);
        return;
    }
    while (rrmp_list_next(&rest, &key))
        tell(backbone, service, event, key);
}
