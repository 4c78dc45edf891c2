/* source_announce.c - INSTANCE and SERVICE, and the states of services and groups. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#define MS           1000000ull

#define BEAT_FAST_NS (100 * MS)
#define BEAT_GAP_NS  (50 * MS) /* at most 20 a second */

static void instance_say(struct rrmp_source *source, uint64_t now_ns)
{
    static const struct backbone_target target = { .path = BACKBONE_PATH_MULTICAST,
                                                   .topic = RRMP_TOPIC_CONTROL };
    uint16_t count = (uint16_t)source->services_now;
    size_t size = RRMP_HEADER_SIZE + 24 + RRMP_NAME_MAX + 4 + 16u * count;
    uint8_t *room = rrmp_outbox_reserve(&source->outbox, &target, size);

    if (!room)
        return; /* the next beat says it */
    struct rrmp_record record = {
        .header = { .type = RRMP_INSTANCE, .svc = RRMP_SVC_NONE },
        .u.instance = { .start_ms = source->config.start_ms,
                        .beat = source->beat++,
                        .interval_ms = (uint16_t)(source->config.heartbeat_ns / MS),
                        .state = source->is_leaving ? RRMP_INSTANCE_LEAVING : 0,
                        .handles_high = source->handles.high,
                        .name = { .bytes = (const uint8_t *)source->name,
                                  .length = strlen(source->name) } },
    };
    /* Rows straight into the ring, behind what the encoder writes for none. */
    record.u.instance.service_count = count;
    struct md_wr wr = md_wr_init(room, size);
    rrmp_record_encode(&wr, &record);
    MD_ASSERT(md_wr_ok(&wr));
    uint8_t *row = wr.pos - 16u * count;
    for (uint16_t svc = 0; svc < source->service_count; svc++) {
        const struct source_service *service = &source->services[svc];
        if (service->is_withdrawn)
            continue;
        const struct rrmp_instance_row values = {
            .svc = svc,
            .state = service->description.state &
                     (RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING | RRMP_SERVICE_COMPLETE),
            .topic = service->topic,
            .version = service->version,
            .last_seq = service->svc_seq
        };
        rrmp_instance_row_put(row, &values);
        row += 16;
    }
    rrmp_outbox_commit(&source->outbox, RRMP_INSTANCE, md_wr_length(&wr));
    source->beat_sent_ns = now_ns;
    source->beat_wanted = false;
}

void source_service_say(struct rrmp_source *source, uint16_t svc)
{
    static const struct backbone_target target = { .path = BACKBONE_PATH_MULTICAST,
                                                   .topic = RRMP_TOPIC_CONTROL };
    struct source_service *service = &source->services[svc];
    struct rrmp_record record = { .header = { .type = RRMP_SERVICE, .svc = svc } };
    bool is_change = service->sent_ns == 0;

    record.u.service = service->description;
    record.u.service.version = service->version;
    record.u.service.topic = service->topic;
    /* A change keeps its place before what is published after it, also when the ring is full. */
    service->is_due = is_change ? !rrmp_outbox_put(&source->outbox, &target, &record)
                                : !rrmp_outbox_try(&source->outbox, &target, &record);
}

/* INSTANCE goes before the SERVICEs of the same turn: nobody listens to an unknown instance. */
static void beat(struct rrmp_source *source, uint64_t now_ns)
{
    bool may_speak = source->beat_sent_ns == 0 || now_ns - source->beat_sent_ns >= BEAT_GAP_NS;

    if (!(source->beat_wanted && may_speak) && now_ns < source->beat_due_ns)
        return;
    instance_say(source, now_ns);
    uint64_t pause = source->config.heartbeat_ns;
    if (source->beats_fast > 0) {
        source->beats_fast--;
        pause = BEAT_FAST_NS;
    }
    source->beat_due_ns = now_ns + pause;
}

void source_heartbeat(struct rrmp_source *source, uint64_t now_ns)
{
    if (source->session == 0)
        return;
    beat(source, now_ns);
    for (uint16_t svc = 0; svc < source->service_count; svc++) {
        struct source_service *service = &source->services[svc];
        bool may_speak = service->sent_ns == 0 || now_ns - service->sent_ns >= BEAT_GAP_NS;

        if (service->is_due && may_speak && !service->is_withdrawn) {
            source_service_say(source, svc);
            service->sent_ns = now_ns;
        }
    }
}

int rrmp_source_service_status(struct rrmp_source *source, uint16_t svc,
                               const struct rrmp_svcstate *status)
{
    struct rrmp_record record = { .header = { .type = RRMP_SVCSTATE,
                                              .flags = status->stays ? RRMP_FLAG_STAYS : 0 },
                                  .u.svcstate = *status };

    if (svc >= source->service_count || source->services[svc].is_withdrawn)
        return MD_ERR_NOT_FOUND;
    source_multicast(source, svc, RRMP_HANDLE_NONE, &record);
    return MD_OK;
}

int rrmp_source_group_status(struct rrmp_source *source, uint16_t svc,
                             const struct rrmp_group *status)
{
    struct rrmp_record record = { .header = { .type = RRMP_GROUP,
                                              .flags = status->stays ? RRMP_FLAG_STAYS : 0 },
                                  .u.group = *status };

    if (svc >= source->service_count || source->services[svc].is_withdrawn)
        return MD_ERR_NOT_FOUND;
    source_multicast(source, svc, RRMP_HANDLE_NONE, &record);
    if (status->merged_into == RRMP_GROUP_NONE)
        return MD_OK;
    for (uint32_t n = 0; n < source->items.high; n++) {
        struct source_item *item = source_item_at(source, n);
        if (item->in_use && item->svc == svc && item->group == status->group)
            item->group = status->merged_into;
    }
    return MD_OK;
}
