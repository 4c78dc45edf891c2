/* outbox.c - see outbox.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

struct waiting {
    struct backbone_target target;
    size_t length;
};

int rrmp_outbox_init(struct rrmp_outbox *box, const struct backbone_send *send,
                     uint64_t *out_by_type, uint64_t *refused, size_t *memory)
{
    *box = (struct rrmp_outbox){ .send = *send, .out_by_type = out_by_type, .refused = refused };
    box->bytes = malloc(RRMP_OUTBOX_SIZE);
    if (!box->bytes)
        return MD_ERR_NOMEM;
    *memory += RRMP_OUTBOX_SIZE;
    return MD_OK;
}

void rrmp_outbox_fini(struct rrmp_outbox *box)
{
    free(box->bytes);
    box->bytes = NULL;
}

void rrmp_outbox_clear(struct rrmp_outbox *box)
{
    box->head = box->tail = 0;
    box->is_want_due = false;
}

void rrmp_outbox_want(struct rrmp_outbox *box, const uint32_t topics[], uint32_t count)
{
    box->want_count = count;
    if (count > 0 && count <= BACKBONE_TOPICS_MAX)
        memcpy(box->want, topics, count * sizeof(*topics));
    box->is_want_due = true;
    rrmp_outbox_flush(box);
}

static bool say_want(struct rrmp_outbox *box)
{
    bool is_all = box->want_count > BACKBONE_TOPICS_MAX;

    if (box->is_want_due &&
        box->send.want(box->send.context, is_all ? NULL : box->want, is_all ? 0 : box->want_count))
        box->is_want_due = false;
    return !box->is_want_due;
}

bool rrmp_outbox_flush(struct rrmp_outbox *box)
{
    if (!say_want(box))
        return false;
    while (box->head < box->tail) {
        struct waiting waiting;

        memcpy(&waiting, box->bytes + box->head, sizeof(waiting));
        uint8_t *room = box->send.reserve(box->send.context, &waiting.target, waiting.length);
        if (!room)
            return false;
        memcpy(room, box->bytes + box->head + sizeof(waiting), waiting.length);
        box->out_by_type[room[0] & 63]++;
        box->send.commit(box->send.context, waiting.length);
        box->head += sizeof(waiting) + waiting.length;
    }
    box->head = box->tail = 0;
    return true;
}

uint8_t *rrmp_outbox_reserve(struct rrmp_outbox *box, const struct backbone_target *target,
                             size_t length)
{
    uint8_t *room = NULL;

    if (!rrmp_outbox_waits(box) || rrmp_outbox_flush(box))
        room = box->send.reserve(box->send.context, target, length);
    if (!room)
        ++*box->refused;
    return room;
}

void rrmp_outbox_commit(struct rrmp_outbox *box, uint8_t type, size_t length)
{
    if (length > 0)
        box->out_by_type[type & 63]++;
    box->send.commit(box->send.context, length);
}

bool rrmp_outbox_try(struct rrmp_outbox *box, const struct backbone_target *target,
                     const struct rrmp_record *record)
{
    size_t size = rrmp_record_size(record);
    uint8_t *room = rrmp_outbox_reserve(box, target, size);

    if (!room)
        return false;
    struct md_wr wr = md_wr_init(room, size);
    rrmp_record_encode(&wr, record);
    MD_ASSERT(md_wr_ok(&wr));
    rrmp_outbox_commit(box, record->header.type, md_wr_length(&wr));
    return true;
}

bool rrmp_outbox_put(struct rrmp_outbox *box, const struct backbone_target *target,
                     const struct rrmp_record *record)
{
    if (rrmp_outbox_try(box, target, record))
        return true;

    struct waiting waiting = { .target = *target, .length = 0 };
    size_t size = rrmp_record_size(record);
    if (sizeof(waiting) + size > RRMP_OUTBOX_SIZE - box->tail && box->head > 0) {
        memmove(box->bytes, box->bytes + box->head, box->tail - box->head);
        box->tail -= box->head;
        box->head = 0;
    }
    if (sizeof(waiting) + size > RRMP_OUTBOX_SIZE - box->tail)
        return false;
    struct md_wr wr = md_wr_init(box->bytes + box->tail + sizeof(waiting), size);
    rrmp_record_encode(&wr, record);
    MD_ASSERT(md_wr_ok(&wr));
    waiting.length = md_wr_length(&wr);
    memcpy(box->bytes + box->tail, &waiting, sizeof(waiting));
    box->tail += sizeof(waiting) + waiting.length;
    return true;
}
