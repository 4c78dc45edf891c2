/* source_services.c - the services that the caller offers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#include "state.h"

#define SEC     1000000000ull
#define REST_NS (60 * SEC) /* each requester has seen by then that the index stands for nothing */

/* Keep the description as encoded bytes, and views into them. */
/* MD_ERR_EXISTS: it is the one that is kept already. */
static int description_keep(struct rrmp_source *source, struct source_service *service,
                            const struct rrmp_service *description)
{
    struct rrmp_record record = { .header = { .type = RRMP_SERVICE } };
    struct rrmp_record decoded;

    record.u.service = *description;
    record.u.service.features |= RRMP_FEATURE_FOLLOW;
    size_t size = rrmp_record_size(&record);
    uint8_t *blob = malloc(size);
    if (!blob)
        return MD_ERR_NOMEM;
    struct md_wr wr = md_wr_init(blob, size);
    rrmp_record_encode(&wr, &record);
    if (!md_wr_ok(&wr) || rrmp_record_decode(blob, md_wr_length(&wr), &decoded) != 0) {
        free(blob);
        return MD_ERR_MALFORMED;
    }
    size_t length = md_wr_length(&wr); /* may be less than the room for it */
    if (service->blob && service->blob_length == length &&
        memcmp(service->blob, blob, length) == 0) {
        free(blob);
        return MD_ERR_EXISTS;
    }
    source->stats.memory_now += length - service->blob_length;
    free(service->blob);
    service->blob = blob;
    service->blob_length = length;
    service->description = decoded.u.service;
    return MD_OK;
}

/* Of a service that is withdrawn nobody reads more. Without memory the whole stays. */
static void keep_name(struct rrmp_source *source, struct source_service *service)
{
    const struct rrmp_service description = { .name = service->description.name };

    description_keep(source, service, &description);
}

static bool has_items(const struct rrmp_source *source, uint16_t svc)
{
    for (uint32_t n = 0; n < source->items.high; n++) {
        const struct source_item *item = source_item_at(source, n);
        if (item->in_use && item->svc == svc)
            return true;
    }
    return false;
}

static bool is_named(const struct source_service *service, struct rrmp_view name)
{
    const struct rrmp_view *its = &service->description.name;

    return its->length == name.length && memcmp(its->bytes, name.bytes, name.length) == 0;
}

/* The index of a withdrawn service, or the next new one. Another name waits until no requester can
 * take the index for the old one's. RRMP_SVC_NONE: all are taken. */
static uint16_t index_take(const struct rrmp_source *source, uint64_t now_ns, struct rrmp_view name)
{
    uint16_t found = RRMP_SVC_NONE;

    for (uint16_t svc = 0; svc < source->service_count; svc++) {
        const struct source_service *service = &source->services[svc];

        bool is_same = is_named(service, name);
        bool is_fit =
            is_same || (found == RRMP_SVC_NONE && now_ns - service->withdrawn_ns >= REST_NS);
        if (!service->is_withdrawn || !is_fit || has_items(source, svc))
            continue;
        if (is_same)
            return svc;
        found = svc;
    }
    if (found == RRMP_SVC_NONE && source->service_count < source->service_room)
        found = source->service_count;
    return found;
}

uint32_t rrmp_source_services_free(const struct rrmp_source *source, uint64_t now_ns)
{
    uint32_t left = source->service_room - source->service_count;

    for (uint16_t svc = 0; svc < source->service_count; svc++) {
        const struct source_service *service = &source->services[svc];

        left += service->is_withdrawn && now_ns - service->withdrawn_ns >= REST_NS;
    }
    return left;
}

/* A megabyte by default, of which nothing is read before it is written: see log_first. */
static bool log_take(struct rrmp_source *source, struct source_service *service)
{
    size_t size = source->config.gap_log * sizeof(*service->gap_log);

    service->gap_log = malloc(size);
    service->log_first = service->svc_seq + 1;
    source->stats.memory_now += service->gap_log ? size : 0;
    return service->gap_log != NULL;
}

static void log_give(struct rrmp_source *source, struct source_service *service)
{
    free(service->gap_log);
    service->gap_log = NULL;
    source->stats.memory_now -= source->config.gap_log * sizeof(*service->gap_log);
}

/* Numbers of records and versions go on from those of the service that had the index before. */
int rrmp_source_service_offer(struct rrmp_source *source, uint64_t now_ns,
                              const struct rrmp_service *description, uint16_t *out)
{
    *out = RRMP_SVC_NONE;
    uint16_t svc = source->services_now < source->config.service_limit
                       ? index_take(source, now_ns, description->name)
                       : RRMP_SVC_NONE;
    if (svc == RRMP_SVC_NONE)
        return MD_ERR_FULL;
    struct source_service *service = &source->services[svc];
    if (!log_take(source, service))
        return MD_ERR_NOMEM;
    int err = description_keep(source, service, description);
    if (err && err != MD_ERR_EXISTS) {
        log_give(source, service);
        return err;
    }
    source->services_now++;
    service->linger = source->config.linger;
    service->in_use = true;
    service->is_withdrawn = false;
    service->partner_ns = 0;
    service->sent_ns = 0;
    service->version++;
    service->topic = rrmp_topic(description->name.bytes, description->name.length);
    service->is_due = true;
    if (svc == source->service_count)
        source->service_count++;
    *out = svc;
    source->beat_wanted = true;
    source_heartbeat(source, now_ns);
    return MD_OK;
}

int rrmp_source_service_change(struct rrmp_source *source, uint64_t now_ns, uint16_t svc,
                               const struct rrmp_service *description)
{
    if (svc >= source->service_count || source->services[svc].is_withdrawn)
        return MD_ERR_NOT_FOUND;
    struct source_service *service = &source->services[svc];
    if (description->name.length != service->description.name.length ||
        memcmp(description->name.bytes, service->description.name.bytes,
               description->name.length) != 0)
        return MD_ERR_RANGE;
    int err = description_keep(source, service, description);
    if (err == MD_ERR_EXISTS)
        return MD_OK; /* nothing to tell anybody */
    if (err)
        return err;
    service->version++;
    service->is_due = true;
    service->sent_ns = 0; /* a change is said at once */
    source->beat_wanted = true;
    source_heartbeat(source, now_ns);
    return MD_OK;
}

void rrmp_source_service_linger(struct rrmp_source *source, uint16_t svc,
                                const struct rrmp_linger *linger)
{
    const struct rrmp_linger *fallback = &source->config.linger;

    if (svc >= source->service_count)
        return;
    source->services[svc].linger = (struct rrmp_linger){
        .close_ns = linger->close_ns ? linger->close_ns : fallback->close_ns,
        .orphan_ns = linger->orphan_ns ? linger->orphan_ns : fallback->orphan_ns,
        .image_ns = linger->image_ns ? linger->image_ns : fallback->image_ns,
    };
}

void rrmp_source_service_withdraw(struct rrmp_source *source, uint64_t now_ns, uint16_t svc)
{
    static const struct rrmp_ending ending = { .state = RRMP_STATE_CLOSED_RECOVER,
                                               .scope = RRMP_REFUSE_NOT_HERE };

    if (svc >= source->service_count || source->services[svc].is_withdrawn)
        return;
    source->now_ns = now_ns;
    for (uint32_t n = 0; n < source->items.high; n++) {
        struct source_item *item = source_item_at(source, n);
        if (!item->in_use || item->svc != svc)
            continue;
        source_unbind(source, now_ns, n, RRMP_UNBIND_WITHDRAWN);
        for (uint32_t a = item->asks; a != MD_NIL; a = source_ask_at(source, a)->next)
            source_refuse(source, source_ask_at(source, a)->requester, svc,
                          source_ask_at(source, a)->id, source_key_hash(source, item), &ending);
        source_asks_drop_all(source, n);
        for (uint32_t r = 0; r < source->requesters.high; r++)
            source_interest_clear(source, n, r);
        item->is_kept = false;
        item->is_lingering = true;
        source_item_news(source, n, NEWS_UNWANTED);
    }
    log_give(source, &source->services[svc]);
    keep_name(source, &source->services[svc]);
    source->services_now--;
    source->services[svc].is_withdrawn = true;
    source->services[svc].withdrawn_ns = now_ns;
    source->beat_wanted = true;
    source_heartbeat(source, now_ns);
}
