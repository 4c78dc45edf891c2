/* source_out.c - the source engine's way out: destinations, numbers, the open reservation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include "base/assert.h"
#include "base/err.h"

struct backbone_target source_topic_target(const struct rrmp_source *source, uint16_t svc)
{
    return (struct backbone_target){ .path = BACKBONE_PATH_MULTICAST,
                                     .topic = source->services[svc].topic };
}

struct backbone_target source_owner_target(const struct rrmp_source *source,
                                           const struct source_item *item)
{
    const struct source_requester *owner = source_requester_at(source, item->owner);

    return (struct backbone_target){ .path = BACKBONE_PATH_UNICAST,
                                     .session = owner->session,
                                     .port = owner->port };
}

/* The record about to go out takes the service's next number; the log remembers what it is about.
 */
void source_number(struct rrmp_source *source, uint16_t svc, uint32_t log_handle)
{
    struct source_service *service = &source->services[svc];

    service->svc_seq++;
    service->gap_log[service->svc_seq & (source->config.gap_log - 1)] = log_handle;
}

bool source_multicast(struct rrmp_source *source, uint16_t svc, uint32_t log_handle,
                      struct rrmp_record *record)
{
    struct backbone_target target = source_topic_target(source, svc);

    if (source->session == 0)
        return false;
    source_number(source, svc, log_handle);
    record->header.svc = svc;
    record->header.svc_seq = source->services[svc].svc_seq;
    return rrmp_outbox_put(&source->outbox, &target, record);
}

void source_unicast(struct rrmp_source *source, uint64_t session, uint16_t port,
                    const struct rrmp_record *record)
{
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = session,
                                      .port = port };

    if (source->session != 0)
        rrmp_outbox_put(&source->outbox, &target, record);
}

/* Room for a record of `item` with `header` bytes before the message. */
uint8_t *source_open_room(struct rrmp_source *source, uint32_t number,
                          const struct backbone_target *target, uint8_t type, size_t header,
                          size_t length)
{
    MD_ASSERT(source->open_kind == OPEN_NONE);
    uint8_t *room = rrmp_outbox_reserve(&source->outbox, target, header + length);

    if (!room) {
        source->stats.backbone_refused++;
        return NULL;
    }
    source->open_type = type;
    source->open_header = header;
    source->open_item = number;
    source->open_ask = MD_NIL;
    source->open_kind = OPEN_PLAIN;
    source->open_takes_number = false;
    source->open_is_image = false;
    source->open_is_last = false;
    return room;
}

/* The record will take a number of the service when it is committed. */
uint32_t source_open_numbered(struct rrmp_source *source, uint16_t svc, uint32_t log_handle)
{
    source->open_kind = OPEN_NUMBERED;
    source->open_svc = svc;
    source->open_log = log_handle;
    return source->services[svc].svc_seq + 1;
}

struct rrmp_record source_bind_record(const struct rrmp_source *source,
                                      const struct source_item *item)
{
    return (struct rrmp_record){
        .header = { .type = RRMP_BIND },
        .u.bind = { .handle = item->handle,
                    .item_seq = item->item_seq,
                    .key_hash = source_key_hash(source, item),
                    .group = item->group,
                    .key = source_key(source, item) },
    };
}

/* A BIND goes out when what follows it has room, too: one for each time that it found none would
 * keep the ring full for ever. */
int source_bind_send(struct rrmp_source *source, const struct source_item *item,
                     struct rrmp_record *bind, size_t following)
{
    struct backbone_target target = source_topic_target(source, item->svc);

    if (!rrmp_outbox_reserve(&source->outbox, &target, rrmp_record_size(bind) + following)) {
        source->stats.backbone_refused++;
        return MD_ERR_FULL;
    }
    rrmp_outbox_commit(&source->outbox, RRMP_BIND, 0);
    source_multicast(source, item->svc, item->handle, bind);
    return MD_OK;
}
