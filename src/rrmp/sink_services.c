/* sink_services.c - a service as the caller sees it: the union of all its instances. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_topics.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

static void union_capabilities(struct rrmp_sink_service *out, struct rrmp_view value)
{
    for (size_t i = 0; i < value.length; i++) {
        uint8_t count = out->capability_count;
        if (count < RRMP_SINK_CAPABILITY_MAX && !memchr(out->capabilities, value.bytes[i], count))
            out->capabilities[out->capability_count++] = value.bytes[i];
    }
}

static void union_qos(struct rrmp_sink_service *out, struct rrmp_view value)
{
    for (size_t i = 0; i + 5 <= value.length; i += 5) {
        bool is_known = false;
        for (uint8_t j = 0; j < out->qos_count; j++)
            is_known = is_known || memcmp(out->qos[j], value.bytes + i, 5) == 0;
        if (!is_known && out->qos_count < RRMP_SINK_QOS_MAX)
            memcpy(out->qos[out->qos_count++], value.bytes + i, 5);
    }
}

static bool view_take_name(struct rrmp_view *rest, struct rrmp_view *name)
{
    if (rest->length < 1 || rest->bytes[0] > rest->length - 1)
        return false;
    *name = (struct rrmp_view){ .bytes = rest->bytes + 1, .length = rest->bytes[0] };
    rest->bytes += 1 + name->length;
    rest->length -= 1 + name->length;
    return true;
}

static void union_dictionary(struct rrmp_view *names, struct rrmp_view *versions, uint8_t *count,
                             struct rrmp_view value)
{
    struct rrmp_view name, version = { .bytes = NULL, .length = 0 };

    if (!view_take_name(&value, &name))
        return;
    if (versions)
        view_take_name(&value, &version);
    for (uint8_t i = 0; i < *count; i++) {
        if (names[i].length == name.length && memcmp(names[i].bytes, name.bytes, name.length) == 0)
            return;
    }
    if (*count == RRMP_SINK_DICT_MAX)
        return;
    if (versions)
        versions[*count] = version;
    names[(*count)++] = name;
}

/* All of them are wanted, or nobody could tell that a path comes back: what finds no place makes
 * the last one a path that nobody takes. */
static void union_path(struct rrmp_sink_service *out, struct rrmp_view path)
{
    static const uint8_t unknown[] = { '*' };

    for (uint8_t i = 0; i < out->path_count; i++) {
        if (out->paths[i].length == path.length &&
            memcmp(out->paths[i].bytes, path.bytes, path.length) == 0)
            return;
    }
    if (out->path_count < RRMP_SINK_PATHS_MAX)
        out->paths[out->path_count++] = path;
    else
        out->paths[RRMP_SINK_PATHS_MAX - 1] = (struct rrmp_view){ unknown, sizeof(unknown) };
}

static void union_description(struct rrmp_sink_service *out, const struct rrmp_service *from)
{
    struct rrmp_view rest = from->tlvs;
    struct rrmp_view value;
    uint8_t type;

    while (rrmp_tlv_next(&rest, &type, &value)) {
        switch (type) {
        case RRMP_TLV_CAPABILITIES:
            union_capabilities(out, value);
            break;
        case RRMP_TLV_QOS:
            union_qos(out, value);
            break;
        case RRMP_TLV_DICT_PROVIDED:
            union_dictionary(out->dict_provided, out->dict_version, &out->dict_provided_count,
                             value);
            break;
        case RRMP_TLV_DICT_USED:
            union_dictionary(out->dict_used, NULL, &out->dict_used_count, value);
            break;
        case RRMP_TLV_VENDOR:
            out->vendor = out->vendor.length ? out->vendor : value;
            break;
        case RRMP_TLV_ITEM_LIST:
            out->item_list = out->item_list.length ? out->item_list : value;
            break;
        case RRMP_TLV_LOAD:
            out->load = out->load.length ? out->load : value;
            break;
        case RRMP_TLV_LINKS:
            out->links = out->links.length ? out->links : value;
            break;
        case RRMP_TLV_SITE_PATH:
            union_path(out, value);
            break;
        case RRMP_TLV_IS_SOURCE:
            out->is_source = out->is_source || (value.length && value.bytes[0]);
            break;
        default: /* of a newer version */
            break;
        }
    }
}

/* A configured id takes precedence over the one that a provider gives. */
static void take_said_id(struct rrmp_sink_service *out, const struct rrmp_service *from)
{
    bool is_configured = from->id != 0 && !(from->features & RRMP_FEATURE_ID_IS_TOLD);

    if (out->is_id_configured || (out->said_id != 0 && !is_configured))
        return;
    out->said_id = from->id;
    out->is_id_configured = is_configured;
}

bool rrmp_sink_service(const struct rrmp_sink *sink, uint16_t number, struct rrmp_sink_service *out)
{
    memset(out, 0, sizeof(*out));
    if (number >= sink->service_count || sink->services[number].name.length == 0)
        return false;
    const struct sink_service *service = &sink->services[number];
    out->name = service->name;
    out->id = service->id;
    out->items_now = service->item_count;
    out->live_now = service->live_count;
    for (uint32_t n = service->links; n != MD_NIL; n = sink_link_at(sink, n)->service_next) {
        const struct sink_link *link = sink_link_at(sink, n);
        out->instance_count++;
        out->is_up = out->is_up || (link->row_state & RRMP_SERVICE_UP);
        out->is_accepting = out->is_accepting || (link->row_state & RRMP_SERVICE_ACCEPTING);
        take_said_id(out, &link->description);
        out->requests_now += link->window_used;
        out->features |= link->description.features;
        out->open_limit += link->description.open_limit;
        if (link->description.open_window > out->open_window)
            out->open_window = link->description.open_window;
        if (out->instance_count == 1 || link->description.load_factor < out->load_factor)
            out->load_factor = link->description.load_factor;
        union_description(out, &link->description);
    }
    return true;
}

struct rrmp_view rrmp_sink_service_name(const struct rrmp_sink *sink, uint16_t number)
{
    return number < sink->service_count ? sink->services[number].name : (struct rrmp_view){ 0 };
}

/* ---- numbers ---- */

uint16_t rrmp_sink_service_count(const struct rrmp_sink *sink)
{
    return sink->service_count;
}

uint16_t rrmp_sink_services_now(const struct rrmp_sink *sink)
{
    return sink->services_now;
}

static bool is_dictionary_asked(const struct rrmp_sink *sink, uint16_t service)
{
    for (uint32_t i = 0; i < SINK_DICTS; i++) {
        if (sink->dicts[i].in_use && sink->dicts[i].service == service)
            return true;
    }
    return false;
}

bool rrmp_sink_service_forget(struct rrmp_sink *sink, uint16_t number)
{
    struct sink_service *service = &sink->services[number];

    MD_ASSERT(number < sink->service_count && service->name.length > 0);
    if (service->links != MD_NIL || service->apart != MD_NIL || service->is_event_due ||
        sink->dying != MD_NIL || sink->event_head != sink->event_tail ||
        is_dictionary_asked(sink, number))
        return false;
    sink_topic_forget(sink, number);
    sink->stats.memory_now -= service->name.length;
    free((void *)(uintptr_t)service->name.bytes);
    *service = (struct sink_service){ .links = MD_NIL, .apart = MD_NIL };
    sink->services_now--;
    return true;
}
