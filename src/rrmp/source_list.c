/* source_list.c - which items are bound: LISTREQ. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include <string.h>

#include "base/cursor.h"
#include "base/err.h"

#define LIST_BYTES  8192u /* of keys in one answer */
#define LIST_LOOKS  8192u /* handles looked at for one answer */
#define FOLLOWED_NS 60000000000ull

/* The requester asks for the next part when it has taken this one: it paces itself, and nothing is
 * kept of it here. */
void source_listreq(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                    const struct rrmp_record *record)
{
    const struct source_requester *who = source_requester_at(source, requester);
    const struct rrmp_listreq *request = &record->u.listreq;
    uint8_t keys[LIST_BYTES];
    struct md_wr wr = md_wr_init(keys, sizeof(keys));
    uint16_t svc = record->header.svc;
    uint32_t high = svc < source->service_count ? source->handles.high : 0;
    uint32_t end = request->from < high && high - request->from > LIST_LOOKS
                       ? request->from + LIST_LOOKS
                       : high;
    uint32_t index = request->from;
    uint16_t count = 0;

    if (svc < source->service_count)
        source->services[svc].followed_until_ns = now_ns + FOLLOWED_NS;
    for (; index < end; index++) {
        uint32_t number =
            ((const struct source_handle *)md_slots_at(&source->handles, index))->word;
        if (number >= HANDLE_FREE)
            continue;
        const struct source_item *item = source_item_at(source, number);
        if (item->svc != svc || item->is_private)
            continue;
        if (md_wr_left(&wr) < 2u + item->key_length)
            break;
        md_wr_u16(&wr, item->key_length);
        md_wr_bytes(&wr, source_key(source, item).bytes, item->key_length);
        count++;
    }
    struct rrmp_record answer = {
        .header = { .type = RRMP_LISTPART, .svc = svc },
        .u.listpart = { .id = request->id,
                        .next = index < high ? index : RRMP_LIST_END,
                        .count = count,
                        .keys = { .bytes = keys, .length = md_wr_length(&wr) } },
    };
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = who->session,
                                      .port = who->port };
    if (source->session != 0)
        (void)rrmp_outbox_try(&source->outbox, &target, &answer); /* else asked for again */
}

/* An image for one node binds its item there alone; followers on others have to hear of it, too.
 * False: there is no room for it, and it has taken no number: it is said later. */
static bool bind_tell(struct rrmp_source *source, const struct source_item *item)
{
    struct rrmp_record bind = source_bind_record(source, item);

    return source->session == 0 ||
           source->now_ns >= source->services[item->svc].followed_until_ns ||
           source_bind_send(source, item, &bind, 0) == MD_OK;
}

void source_bind_tell(struct rrmp_source *source, struct source_item *item)
{
    item->is_bind_due = !bind_tell(source, item);
    source->binds_wait = source->binds_wait || item->is_bind_due;
}

/* Those of items that were bound while the ring was full. One whose next image is under way has its
 * turn behind that. */
void source_binds_tick(struct rrmp_source *source)
{
    if (!source->binds_wait || source->outbox.tail > 0)
        return;
    source->binds_wait = false;
    for (uint32_t n = 0; n < source->items.high; n++) {
        struct source_item *item = source_item_at(source, n);
        if (!item->in_use || !item->is_bind_due || item->image_mode != IMAGE_NONE)
            continue;
        source_bind_tell(source, item);
        if (item->is_bind_due)
            return;
    }
}
