/* sink_directory.c - which instance offers which service. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_follow.h"
#include "sink_mirror.h"
#include "sink_posts.h"
#include "sink_tell.h"
#include "sink_topics.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#define MS 1000000ull

static const struct rrmp_view no_text;

/* ---- instances ---- */

static uint64_t instance_hash(const struct rrmp_sink *sink, uint64_t session, uint16_t port)
{
    uint64_t state = session ^ sink->seed ^ port;

    return md_splitmix64(&state);
}

uint32_t sink_instance_find(struct rrmp_sink *sink, uint64_t session, uint16_t port)
{
    if (sink->last_instance != MD_NIL) {
        const struct sink_instance *last = sink_instance_at(sink, sink->last_instance);
        if (last->session == session && last->port == port)
            return sink->last_instance;
    }
    uint64_t hash = instance_hash(sink, session, port);
    uint32_t cursor = 0;
    uint32_t number;
    while ((number = md_map_next(&sink->instance_map, hash, &cursor)) != MD_NIL) {
        const struct sink_instance *instance = sink_instance_at(sink, number);
        if (instance->session == session && instance->port == port) {
            sink->last_instance = number;
            return number;
        }
    }
    return MD_NIL;
}

static uint32_t instance_create(struct rrmp_sink *sink, const struct backbone_event *message,
                                const struct rrmp_instance *said)
{
    char *name = malloc(said->name.length + 1);
    uint32_t number = name ? md_slots_take(&sink->instances) : MD_NIL;

    if (number == MD_NIL)
        goto fail;
    uint64_t hash = instance_hash(sink, message->session, message->src_port);
    if (md_map_put(&sink->instance_map, hash, number) != 0) {
        md_slots_give(&sink->instances, number);
        goto fail;
    }
    if (said->name.length)
        memcpy(name, said->name.bytes, said->name.length);
    struct sink_instance *instance = sink_instance_at(sink, number);
    instance->in_use = true;
    instance->session = message->session;
    instance->port = message->src_port;
    instance->name = name;
    instance->name_length = said->name.length;
    instance->name_hash = rrmp_key_hash(name, said->name.length);
    instance->sum_due_ns = sink->now_ns + sink->config.sum_interval_ns;
    sink->stats.memory_now += said->name.length + 1;
    return number;
fail:
    free(name);
    return MD_NIL;
}

static void instance_free(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_instance *instance = sink_instance_at(sink, number);

    sink->stats.memory_now -= instance->name_length + 1;
    free(instance->name);
    if (instance->map) {
        for (uint32_t i = 0; i < SINK_CHUNKS; i++) {
            if (instance->map[i])
                sink->stats.memory_now -= SINK_CHUNK * sizeof(**instance->map);
            free(instance->map[i]);
        }
        sink->stats.memory_now -= SINK_CHUNKS * sizeof(*instance->map);
        free(instance->map);
    }
    sink->stats.memory_now -= instance->svc_count * sizeof(*instance->links);
    free(instance->links);
    md_map_remove(&sink->instance_map, instance_hash(sink, instance->session, instance->port),
                  number);
    md_slots_give(&sink->instances, number);
    sink->last_instance = MD_NIL;
}

/* ---- services ---- */

static uint16_t service_by_name(const struct rrmp_sink *sink, struct rrmp_view name)
{
    for (uint16_t i = 0; i < sink->service_count; i++) {
        const struct rrmp_view *its = &sink->services[i].name;
        if (its->length == name.length && its->length > 0 &&
            memcmp(its->bytes, name.bytes, name.length) == 0)
            return i;
    }
    return RRMP_SERVICE_NONE;
}

static bool id_is_free(const struct rrmp_sink *sink, uint16_t id)
{
    for (uint16_t i = 0; i < sink->service_count; i++) {
        if (sink->services[i].id == id)
            return false;
    }
    return id != 0;
}

static uint16_t free_number(const struct rrmp_sink *sink)
{
    uint16_t number = 0;

    while (number < sink->service_count && sink->services[number].name.length > 0)
        number++;
    return number;
}

static uint16_t service_enter(struct rrmp_sink *sink, const struct rrmp_service *description)
{
    uint16_t number = service_by_name(sink, description->name);

    if (number != RRMP_SERVICE_NONE || description->name.length == 0 ||
        sink->services_now >= sink->config.service_limit)
        return number;
    uint8_t *name = malloc(description->name.length);
    if (!name)
        return RRMP_SERVICE_NONE;
    memcpy(name, description->name.bytes, description->name.length);
    sink->stats.memory_now += description->name.length;
    uint16_t id = description->id;
    if (id == 0)
        id = (uint16_t)(1 + rrmp_topic(name, description->name.length) % 65534);
    for (uint32_t tries = 0; tries < 65536 && !id_is_free(sink, id); tries++)
        id++;
    number = free_number(sink);
    sink->service_count = (uint16_t)(sink->service_count + (number == sink->service_count));
    sink->services_now++;
    sink->services[number] = (struct sink_service){
        .name = { .bytes = name, .length = description->name.length },
        .id = id,
        .links = MD_NIL,
        .apart = MD_NIL,
    };
    return number;
}

void sink_service_changed(struct rrmp_sink *sink, uint16_t number)
{
    if (number != RRMP_SERVICE_NONE)
        sink->services[number].is_event_due = true;
}

/* ---- links ---- */

static void lists_init(struct sink_link *link)
{
    const struct sink_list empty = { .head = MD_NIL, .tail = MD_NIL };

    sink_list_init(link);
    link->fresh = link->background = empty;
    for (uint32_t i = 0; i < SINK_BUCKETS; i++)
        link->recovery[i] = empty;
}

static uint32_t link_create(struct rrmp_sink *sink, uint32_t number,
                            const struct rrmp_instance_row *row)
{
    struct sink_instance *instance = sink_instance_at(sink, number);

    if (row->svc >= instance->svc_count) {
        /* Instances number their services densely; who does not pays with his own table. */
        if (row->svc >= RRMP_SVC_INDEXES)
            return MD_NIL;
        uint16_t count = (uint16_t)(row->svc + 16);
        uint32_t *links = realloc(instance->links, count * sizeof(*links));
        if (!links)
            return MD_NIL;
        for (uint16_t i = instance->svc_count; i < count; i++)
            links[i] = MD_NIL;
        sink->stats.memory_now += (size_t)(count - instance->svc_count) * sizeof(*links);
        instance->links = links;
        instance->svc_count = count;
    }
    uint32_t created = md_slots_take(&sink->links);
    if (created == MD_NIL)
        return MD_NIL;
    struct sink_link *link = sink_link_at(sink, created);
    link->in_use = true;
    link->instance = number;
    link->service = RRMP_SERVICE_NONE;
    link->svc = row->svc;
    link->topic = row->topic;
    link->next_seq = row->last_seq + 1;
    link->list_ns = RRMP_NEVER;
    lists_init(link);
    instance->links[row->svc] = created;
    return created;
}

bool sink_link_has_other(const struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_link *link = sink_link_at(sink, number);

    for (uint32_t n = sink->services[link->service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next) {
        if (n != number && sink_link_usable(sink, NULL, n))
            return true;
    }
    return false;
}

/* All items of the link go elsewhere, or are parked. */
static void link_items_move(struct rrmp_sink *sink, uint32_t number, uint8_t close_reason)
{
    struct sink_link *link = sink_link_at(sink, number);
    uint8_t code = sink_link_has_other(sink, number) ? RRMP_CODE_FAILOVER_STARTED : RRMP_CODE_NONE;

    if (link->item_count == 0)
        return;
    sink->stats.failovers++;
    sink_resume_begin(sink, number);
    sink_link_tell(sink, number, RRMP_GROUP_NONE, RRMP_STATE_OPEN_SUSPECT, code, no_text,
                   SINK_LOST);
    for (uint32_t n = link->items, next; n != MD_NIL; n = next) {
        const struct sink_item *item = sink_item_at(sink, n);
        next = item->list_next;
        if (item->is_private) {
            sink_private_end(sink, n, close_reason);
        } else {
            sink_item_leave(sink, n, close_reason);
            sink_item_place(sink, n, item->had_image ? QUEUE_RECOVERY : QUEUE_NEW);
        }
    }
}

/* `forgives`: those who refused an item are asked again when nobody else is there. An instance that
 * just came is not asked for what it refused: others may follow it. */
static void parked_wake(struct rrmp_sink *sink, uint16_t service, bool forgives)
{
    if (sink->services[service].parked_count == 0)
        return;
    for (uint32_t n = sink->services[service].apart, next; n != MD_NIL; n = next) {
        const struct sink_item *item = sink_item_at(sink, n);
        next = item->list_next;
        if (item->state != RRMP_SINK_PARKED || item->is_ending)
            continue;
        if (forgives)
            sink_item_forgive(sink, n);
        sink_item_place(sink, n, item->had_image ? QUEUE_RECOVERY : QUEUE_NEW);
    }
}

void sink_parked_check(struct rrmp_sink *sink)
{
    if (sink->now_ns < sink->parked_check_ns)
        return;
    sink->parked_check_ns = sink->now_ns + 1000 * MS;
    for (uint16_t i = 0; i < sink->service_count; i++)
        parked_wake(sink, i, true);
}

/* Items that waited at a link whose service is down move to an instance that has it up. */
static void waiting_move(struct rrmp_sink *sink, uint32_t number)
{
    uint16_t service = sink_link_at(sink, number)->service;

    for (uint32_t n = sink->services[service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next) {
        if (!(sink_link_at(sink, n)->row_state & RRMP_SERVICE_UP))
            link_items_move(sink, n, RRMP_CLOSE_MOVED);
    }
}

void sink_link_state(struct rrmp_sink *sink, uint32_t number, uint16_t state)
{
    struct sink_link *link = sink_link_at(sink, number);
    uint16_t old = link->row_state;

    sink->may_send = sink->may_send || link->is_unsure;
    link->is_unsure = false;
    if (old == state || link->service == RRMP_SERVICE_NONE)
        return;
    link->row_state = state;
    link->up_ns = sink->now_ns;
    sink_service_changed(sink, link->service);
    if (sink_link_usable(sink, NULL, number)) {
        waiting_move(sink, number);
        parked_wake(sink, link->service, false);
    } else if (!(state & RRMP_SERVICE_UP) && sink_link_has_other(sink, number)) {
        link_items_move(sink, number, RRMP_CLOSE_MOVED);
    } else if (!(state & RRMP_SERVICE_UP)) {
        sink_link_doubt(sink, number); /* the directory says it to consumers */
    }
}

/* The link ends: with its instance, or because the service was withdrawn there. */
static void link_gone(struct rrmp_sink *sink, uint32_t number, uint8_t close_reason)
{
    struct sink_link *link = sink_link_at(sink, number);
    struct sink_instance *instance = sink_instance_at(sink, link->instance);

    link->row_state = 0;
    instance->links[link->svc] = MD_NIL;
    if (link->service != RRMP_SERVICE_NONE) {
        sink_service_changed(sink, link->service);
        sink_mirror_link_gone(sink, number);
        link_items_move(sink, number, close_reason);
        uint32_t *prev = &sink->services[link->service].links;
        while (*prev != number)
            prev = &sink_link_at(sink, *prev)->service_next;
        *prev = link->service_next;
    }
    MD_ASSERT(link->item_count == 0 && link->window_used == 0 && link->standby_count == 0);
    for (uint32_t i = 0; i < SINK_DICTS; i++) {
        if (sink->dicts[i].in_use && sink->dicts[i].link == number) {
            sink->dicts[i].link = MD_NIL;
            sink->dicts[i].due_ns = sink->now_ns;
        }
    }
    sink->stats.memory_now -= link->blob_length;
    free(link->blob);
    md_slots_give(&sink->links, number);
}

void sink_instance_gone(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_instance *instance = sink_instance_at(sink, number);

    sink_posts_of_gone(sink, number);
    sink_early_expire(sink, number, true);
    /* None of its services is to be chosen again while they go one by one. */
    instance->is_leaving = true;
    for (uint16_t svc = 0; svc < instance->svc_count; svc++) {
        if (instance->links[svc] != MD_NIL)
            link_gone(sink, instance->links[svc], instance->was_silent ? RRMP_CLOSE_MOVED : 0);
    }
    instance_free(sink, number);
}

/* ---- INSTANCE ---- */

static void service_query_later(struct rrmp_sink *sink)
{
    if (sink->service_query_ns == RRMP_NEVER)
        sink->service_query_ns = sink->now_ns + md_splitmix64(&sink->random) % (20 * MS);
}

static void row_in(struct rrmp_sink *sink, uint32_t number, const struct rrmp_instance_row *row)
{
    struct sink_instance *instance = sink_instance_at(sink, number);
    uint32_t existing = row->svc < instance->svc_count ? instance->links[row->svc] : MD_NIL;

    if (existing != MD_NIL && sink_link_at(sink, existing)->topic != row->topic) {
        link_gone(sink, existing, 0); /* the index is another service's now */
        existing = MD_NIL;
    }
    if (existing == MD_NIL) {
        existing = link_create(sink, number, row);
        if (existing == MD_NIL)
            return;
        service_query_later(sink);
    }
    struct sink_link *link = sink_link_at(sink, existing);
    uint32_t next = row->last_seq + 1;
    if (sink_topic_is_settled(sink, link) && rrmp_after(next, link->next_seq)) {
        uint32_t first = link->next_seq;
        link->next_seq = next;
        if (sink_topic_lost(sink, link))
            sink_link_lost(sink, existing, first, row->last_seq);
    }
    if (link->version != row->version)
        service_query_later(sink);
    if (link->service != RRMP_SERVICE_NONE)
        sink_link_state(sink, existing, row->state);
}

/* A service that the instance does not list any more has been withdrawn. */
static void rows_missing(struct rrmp_sink *sink, uint32_t number, const struct rrmp_instance *said)
{
    struct sink_instance *instance = sink_instance_at(sink, number);
    uint32_t known = 0;

    for (uint16_t svc = 0; svc < instance->svc_count; svc++)
        known += instance->links[svc] != MD_NIL;
    if (known <= said->service_count)
        return;
    for (uint16_t svc = 0; svc < instance->svc_count; svc++) {
        bool is_listed = false;
        for (uint16_t i = 0; i < said->service_count && !is_listed; i++)
            is_listed = rrmp_instance_row(said, i).svc == svc;
        if (!is_listed && instance->links[svc] != MD_NIL)
            link_gone(sink, instance->links[svc], 0);
    }
}

void sink_instance_in(struct rrmp_sink *sink, const struct backbone_event *message,
                      const struct rrmp_record *record)
{
    const struct rrmp_instance *said = &record->u.instance;
    uint32_t number = sink_instance_find(sink, message->session, message->src_port);

    if (number == MD_NIL) {
        number = instance_create(sink, message, said);
        if (number == MD_NIL)
            return;
        sink->last_instance = number;
    }
    struct sink_instance *instance = sink_instance_at(sink, number);
    instance->heard_ns = sink->now_ns;
    if ((said->state & RRMP_INSTANCE_LEAVING) && !instance->is_leaving) {
        sink_instance_gone(sink, number);
        return;
    }
    for (uint16_t i = 0; i < said->service_count; i++) {
        const struct rrmp_instance_row row = rrmp_instance_row(said, i);
        row_in(sink, number, &row);
    }
    rows_missing(sink, number, said);
}

/* ---- SERVICE ---- */

static void capabilities_take(struct sink_link *link)
{
    struct rrmp_view rest = link->description.tlvs;
    struct rrmp_view value;
    uint8_t type;

    memset(link->capabilities, 0, sizeof(link->capabilities));
    link->has_capabilities = false;
    while (rrmp_tlv_next(&rest, &type, &value)) {
        if (type != RRMP_TLV_CAPABILITIES)
            continue;
        for (size_t i = 0; i < value.length; i++) {
            link->capabilities[value.bytes[i] / 8] |= (uint8_t)(1u << value.bytes[i] % 8);
            link->has_capabilities = true;
        }
    }
}

static bool blob_keep(struct rrmp_sink *sink, struct sink_link *link,
                      const struct backbone_event *message)
{
    struct rrmp_record decoded;

    if (message->length > SINK_DESCRIPTION_MAX)
        return false;
    uint8_t *blob = malloc(message->length);
    if (!blob)
        return false;
    memcpy(blob, message->bytes, message->length);
    sink->stats.memory_now += message->length - link->blob_length;
    free(link->blob);
    link->blob = blob;
    link->blob_length = message->length;
    rrmp_record_decode(blob, message->length, &decoded);
    link->description = decoded.u.service;
    link->version = decoded.u.service.version;
    capabilities_take(link);
    return true;
}

void sink_service_in(struct rrmp_sink *sink, const struct backbone_event *message,
                     const struct rrmp_record *record)
{
    uint32_t number = sink_instance_find(sink, message->session, message->src_port);

    if (number == MD_NIL)
        return;
    const struct sink_instance *instance = sink_instance_at(sink, number);
    uint16_t svc = record->header.svc;
    uint32_t at = svc < instance->svc_count ? instance->links[svc] : MD_NIL;
    if (at == MD_NIL)
        return; /* the next INSTANCE names it */
    struct sink_link *link = sink_link_at(sink, at);
    const struct rrmp_service *description = &record->u.service;
    if (link->version == description->version)
        return;
    /* A service under the topic of another one: its data would pass for that one's. */
    if (description->topic != link->topic ||
        link->topic != rrmp_topic(description->name.bytes, description->name.length)) {
        sink->stats.wrong_topic++;
        return;
    }
    uint16_t service = service_enter(sink, description);
    if (link->service != RRMP_SERVICE_NONE && link->service != service) {
        link_gone(sink, at, 0); /* its index is another service's now; the next INSTANCE has it */
        return;
    }
    if (service == RRMP_SERVICE_NONE || !blob_keep(sink, link, message))
        return;
    if (link->service == RRMP_SERVICE_NONE) {
        link->service = service;
        link->service_next = sink->services[service].links;
        sink->services[service].links = at;
        sink_topic_joins(sink, link);
        sink_list_begin(sink, at);
    }
    sink_service_changed(sink, service);
    sink_link_state(sink, at, description->state);
}

/* ---- what the caller reads ---- */

uint16_t rrmp_sink_service_find(const struct rrmp_sink *sink, struct rrmp_view name)
{
    return service_by_name(sink, name);
}

bool rrmp_sink_instance_is(const struct rrmp_sink *sink, uint16_t number, uint64_t session,
                           uint16_t port)
{
    if (number >= sink->instances.high)
        return false;
    const struct sink_instance *instance = sink_instance_at(sink, number);
    return instance->in_use && instance->session == session && instance->port == port;
}

struct rrmp_view rrmp_sink_instance_name(const struct rrmp_sink *sink, uint16_t number)
{
    if (number >= sink->instances.high || !sink_instance_at(sink, number)->in_use)
        return (struct rrmp_view){ .length = 0 };
    const struct sink_instance *instance = sink_instance_at(sink, number);
    return (struct rrmp_view){ (const uint8_t *)instance->name, instance->name_length };
}
