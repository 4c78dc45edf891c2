/* kinds_send.c - items of every kind of data: when they change, and who is told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "kinds.h"

static void send_update(struct sds *sds, const struct kind_slot *slot, uint8_t type,
                        struct rwf_bytes payload)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = slot->item->domain,
        .container = slot->kind->container,
        .update_type = type,
        .flags = sds->options.seqnum ? RWF_UPDATE_HAS_SEQ_NUM : 0,
        .seq_num = slot->item->count,
        .payload = payload,
    };
    struct rwf_encoder enc;

    for (struct watch *watch = slot->item->watches; watch; watch = watch->next) {
        msg.stream_id = watch->stream_id;
        rwf_encoder_init(&enc, sds->message, sizeof(sds->message));
        rwf_msg_encode(&enc, &msg);
        struct rwf_bytes bytes = rwf_encoder_bytes(&enc);
        if (rwf_encoder_error(&enc) != RWF_OK ||
            sds_send(watch->client, bytes.data, bytes.length) != MD_OK) {
            sds->stats.errors++;
            continue;
        }
        sds->stats.messages++;
        sds->stats.bytes += bytes.length;
    }
    sds->stats.updates++;
}

/* One step of it, told to all who have it open. */
static void step(struct sds *sds, struct kind_slot *slot)
{
    struct rwf_encoder enc;

    if (!slot->kind->update)
        return;
    slot->state.step++;
    slot->item->count++;
    rwf_encoder_init(&enc, sds->kinds->payload, sizeof(sds->kinds->payload));
    uint8_t type = slot->kind->update(&slot->state, &enc);
    if (rwf_encoder_error(&enc) != RWF_OK) {
        sds->stats.errors++;
        return;
    }
    send_update(sds, slot, type, rwf_encoder_bytes(&enc));
}

void kinds_step(struct sds *sds, struct item *item)
{
    step(sds, item->kind);
    sds_clients_flush(sds);
}

/* An item was posted to: those who have it open get what it holds now. */
static void on_posts(void *owner)
{
    struct kinds *kinds = owner;

    for (struct kind_slot *slot = kinds->slots; slot; slot = slot->next) {
        if (slot->is_due)
            step(kinds->sds, slot);
        slot->is_due = false;
    }
    sds_clients_flush(kinds->sds);
}

static void on_timer(void *owner)
{
    struct kinds *kinds = owner;

    for (struct kind_slot *slot = kinds->slots; slot; slot = slot->next) {
        if (slot->item->watches && !slot->kind->post)
            step(kinds->sds, slot);
    }
    sds_clients_flush(kinds->sds);
}

int kinds_start(struct sds *sds, double per_second)
{
    struct kinds *kinds = calloc(1, sizeof(*kinds));

    sds->kinds = kinds;
    if (!kinds)
        return MD_ERR_NOMEM;
    kinds->sds = sds;
    int rc = md_loop_timer_create(sds->loop, on_timer, kinds, &kinds->timer);
    if (rc == MD_OK)
        rc = md_loop_timer_create(sds->loop, on_posts, kinds, &kinds->post_timer);
    if (rc == MD_OK && per_second > 0)
        rc = md_loop_timer_every(kinds->timer, (uint64_t)(1e9 / per_second));
    return rc;
}

void kinds_stop(struct sds *sds)
{
    if (!sds->kinds)
        return;
    md_loop_timer_destroy(sds->kinds->timer);
    md_loop_timer_destroy(sds->kinds->post_timer);
    for (struct kind_slot *slot = sds->kinds->slots, *next; slot; slot = next) {
        next = slot->next;
        free(slot);
    }
    free(sds->kinds);
    sds->kinds = NULL;
}
