/* services.c - services by name, and their dictionaries. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "internal.h"
#include "itemkey/itemkey.h"

static struct rwf_bytes bytes_of(struct rrmp_view view)
{
    return rwf_bytes(view.bytes, view.length);
}

struct library_service *library_service_find(struct library_items *items, const char *name)
{
    for (uint16_t i = 0; i < items->service_count; i++) {
        uint16_t at = (uint16_t)((items->service_last + i) % items->service_count);

        if (strcmp(items->services[at]->name, name) == 0) {
            items->service_last = at;
            return items->services[at];
        }
    }
    return NULL;
}

static struct library_service *add_service(struct library_items *items, const char *name)
{
    struct library_service *service;

    if (items->service_count == LIBRARY_SERVICES_MAX)
        return NULL;
    service = calloc(1, sizeof(*service));
    if (!service)
        return NULL;
    memcpy(service->name, name, strlen(name));
    service->sink_service = RRMP_SERVICE_NONE;
    items->service_last = items->service_count;
    items->services[items->service_count++] = service;
    return service;
}

struct library_service *library_service(struct library_items *items, const char *name)
{
    struct library_service *service = library_service_find(items, name);

    return service ? service : add_service(items, name);
}

static uint16_t find(const struct rmds_backbone *backbone, const char *name)
{
    return rrmp_sink_service_find(
        backbone->items.sink, (struct rrmp_view){ (const uint8_t *)name, name ? strlen(name) : 0 });
}

int rmds_backbone_service(const struct rmds_backbone *backbone, const char *name,
                          struct rmds_service *out)
{
    uint16_t number = find(backbone, name);
    struct rmds_service service = { .size = out->size };
    struct rrmp_sink_service info;

    if (number == RRMP_SERVICE_NONE || !rrmp_sink_service(backbone->items.sink, number, &info))
        return MD_ERR_NOT_FOUND;
    service.id = info.id;
    service.is_up = info.is_up;
    service.is_accepting = info.is_accepting;
    service.is_source = info.is_source;
    service.capability_count = info.capability_count;
    memcpy(service.capabilities, info.capabilities, sizeof(service.capabilities));
    service.qos_count = info.qos_count;
    for (unsigned i = 0; i < info.qos_count; i++)
        service.qos[i] = itemkey_qos_unpack(info.qos[i]);
    service.provided_count = info.dict_provided_count;
    for (unsigned i = 0; i < info.dict_provided_count; i++)
        service.provided[i] = bytes_of(info.dict_provided[i]);
    service.used_count = info.dict_used_count;
    for (unsigned i = 0; i < info.dict_used_count; i++)
        service.used[i] = bytes_of(info.dict_used[i]);
    service.vendor = bytes_of(info.vendor);
    service.item_list = bytes_of(info.item_list);
    memcpy(out, &service, out->size < sizeof(service) ? out->size : sizeof(service));
    return MD_OK;
}

/* ---- dictionaries ---- */

int rmds_backbone_dictionary(struct rmds_backbone *backbone, const char *service, const char *name,
                             uint32_t filter, rmds_dictionary_fn *handle, void *user)
{
    struct library_items *items = &backbone->items;
    uint16_t number = find(backbone, service);
    uint32_t at = 0;

    if (!handle || !name || strlen(name) > LIBRARY_NAME_MAX)
        return MD_ERR_RANGE;
    if (number == RRMP_SERVICE_NONE)
        return MD_ERR_NOT_FOUND;
    while (at < LIBRARY_DICTIONARIES_MAX && items->dictionaries[at].handle)
        at++;
    if (at == LIBRARY_DICTIONARIES_MAX)
        return MD_ERR_FULL;
    int err =
        rrmp_sink_dictionary(items->sink, backbone->now_ns, number,
                             (struct rrmp_view){ (const uint8_t *)name, strlen(name) }, filter, at);
    if (err == MD_OK)
        items->dictionaries[at] = (struct library_dictionary){ .handle = handle, .user = user };
    return err;
}

/* The rest of one that cannot be decoded. */
static void ignore(const struct rmds_dictionary_event *event)
{
    (void)event;
}

void library_dictionary(struct rmds_backbone *backbone, const struct rrmp_sink_event *event)
{
    struct library_dictionary *asked = &backbone->items.dictionaries[event->cookie];
    bool is_last = event->flags & RRMP_DICT_LAST;
    struct rmds_dictionary_event told = { .user = asked->user,
                                          .is_first = event->part == 0,
                                          .is_last = is_last,
                                          .is_missing = event->flags & RRMP_DICT_UNKNOWN };
    rmds_dictionary_fn *handle = asked->handle;
    struct rwf_msg message;

    if (!told.is_missing && rwf_msg_decode(bytes_of(event->message), &message) == RWF_OK) {
        told.bytes = bytes_of(event->message);
        told.message = &message;
    } else if (!told.is_missing) {
        backbone->stats.undecodable++;
        told.is_missing = told.is_last = true;
        asked->handle = ignore;
    }
    if (is_last)
        asked->handle = NULL;
    handle(&told);
}
