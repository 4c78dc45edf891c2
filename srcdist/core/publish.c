/* publish.c - from a provider's message to a record of the backbone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "publish.h"

#include <string.h>

#include "ask.h"
#include "base/err.h"
#include "base/trace.h"
#include "delayed.h"
#include "image.h"
#include "item.h"
#include "item_end.h"
#include "provider.h"
#include "rate.h"
#include "replay.h"
#include "rrmp/key.h"
#include "send.h"
#include "upstream.h"

/* ---- the head of a message ---- */

/* The backbone carries a message without key (the handle replaces it), without group (the record
 * has it) and with stream id 0. Everything else stays as the provider sent it. */
static const struct rwf_splice to_backbone = {
    .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_KEY | RWF_SPLICE_GROUP_ID,
    .stream_id = 0,
};

static bool is_plain_update(const struct rwf_peek *peek)
{
    return peek->msg_class == RWF_CLASS_UPDATE && !(peek->flags & RWF_UPDATE_HAS_KEY);
}

/* The message as the backbone carries it, in the scratch buffer unless it can be sent as it is
 * but for its stream id. */
static int convert(struct srcdist_core *core, const struct rwf_peek *peek, struct rwf_bytes bytes,
                   struct rwf_bytes *out)
{
    struct rwf_splice splice = to_backbone;
    size_t length;

    if (is_plain_update(peek)) {
        *out = bytes;
        return RWF_OK;
    }
    if (peek->msg_class == RWF_CLASS_GENERIC)
        splice.ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_SERVICE;
    else if (peek->msg_class == RWF_CLASS_UPDATE)
        splice.ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_KEY;
    if (bytes.length + RWF_SPLICE_GROWTH > core->part_size)
        return RWF_ERR_FULL;
    int rc = rwf_splice(bytes, &splice, core->part, core->part_size, &length);
    *out = rwf_bytes(core->part, length);
    return rc;
}

/* ---- updates: number and send ---- */

/* The image takes an update that was sent, or that no consumer wants. An update that found no room
 * comes again, so the image must not have it yet. */
static int send_update(struct srcdist_core *core, uint32_t item, struct rwf_bytes message,
                       bool has_permission_data)
{
    struct srcdist_item *it = &core->items[item];
    int err = srcdist_update_send(core, item, message);

    if (err == MD_OK && it->image)
        srcdist_image_update(core, it, message, has_permission_data);
    return err;
}

/* The message again: what it was converted to is gone when it has changed an image. */
static void delay_update(struct srcdist_core *core, uint32_t item, const struct rwf_peek *peek,
                         struct rwf_bytes bytes)
{
    struct rwf_bytes message;

    if (convert(core, peek, bytes, &message) == RWF_OK)
        srcdist_delay_take(core, item, DELAY_UPDATE, true, true, message);
}

static int publish_update(struct srcdist_core *core, uint32_t item, const struct rwf_peek *peek,
                          struct rwf_bytes bytes)
{
    struct rwf_bytes message;

    if (convert(core, peek, bytes, &message) != RWF_OK) {
        core->stats.decode_errors++;
        return MD_OK;
    }
    /* Refuse before anything changes: the link offers the update again, and must not be merged
     * twice. The rest of the ring is for refusals and states. */
    if (core->config.source.send.fill(core->config.source.send.context) > 250) {
        core->stats.backbone_refused++;
        return MD_ERR_FULL;
    }
    core->stats.updates_in++;
    core->items[item].has_sum = false;
    if (core->items[item].is_in_parts)
        srcdist_asks_torn(core, item);
    bool has_permission_data = (peek->flags & RWF_UPDATE_HAS_PERM_DATA) != 0;
    int err = core->items[item].is_rated
                  ? srcdist_rate_update(core, item, message, has_permission_data)
                  : send_update(core, item, message, has_permission_data);
    if (err == MD_OK && core->services[core->items[item].service].delay)
        delay_update(core, item, peek, bytes);
    return err;
}

static int publish_generic(struct srcdist_core *core, uint32_t item, const struct rwf_peek *peek,
                           struct rwf_bytes bytes)
{
    struct rwf_bytes message;
    uint8_t *room;

    if (convert(core, peek, bytes, &message) != RWF_OK) {
        core->stats.decode_errors++;
        return MD_OK;
    }
    int err = srcdist_rate_flush(core, item);
    if (err == MD_OK)
        err = rrmp_source_publish_begin(core->source, item, RRMP_GENERIC, message.length, &room);
    if (err == MD_OK) {
        memcpy(room, message.data, message.length);
        rrmp_source_publish_commit(core->source, message.length);
    } else if (err != MD_ERR_STATE) {
        return err;
    }
    srcdist_replay_pass(core, item, RRMP_GENERIC, message);
    return MD_OK;
}

/* ---- refreshes ---- */

static struct rrmp_part part_of(struct srcdist_core *core, struct srcdist_item *it,
                                uint32_t provider, const struct rwf_msg *msg)
{
    bool is_complete = (msg->flags & RWF_REFRESH_COMPLETE) != 0;

    return (struct rrmp_part){
        .is_first = !it->is_in_parts || msg->flags & RWF_REFRESH_CLEAR_CACHE,
        .is_last = is_complete,
        /* An unsolicited refresh goes to all consumers, even if some wait for an image. */
        .is_solicited =
            it->is_image_due && !it->suspect_sent && (msg->flags & RWF_REFRESH_SOLICITED) != 0,
        .state = rwf_state_byte(msg->state.stream_state, msg->state.data_state),
        .code = msg->state.code,
        .group = srcdist_provider_group(core, provider, msg->group_id),
    };
}

/* A hash of everything that a one-part image says. */
static uint64_t sum_of(const struct rwf_msg *msg, const struct rrmp_part *part)
{
    const uint64_t all[] = {
        rrmp_key_hash(msg->payload.data, msg->payload.length),
        rrmp_key_hash(msg->state.text.data, msg->state.text.length),
        srcdist_image_permission(msg),
        (uint64_t)part->group << 16 | (uint64_t)part->state << 8 | part->code,
        (uint64_t)msg->qos.timeliness << 40 | (uint64_t)msg->qos.rate << 32 |
            (uint64_t)msg->container << 16 | (msg->flags & ~(unsigned)RWF_REFRESH_SOLICITED),
    };

    return rrmp_key_hash(all, sizeof(all));
}

/*
 * True: all consumers of the item already have exactly this image. A provider that conflates may
 * send a change only in the answer to another request, so the hash must match. After a suspect
 * status of a group or service the core does not know which consumers have which state.
 */
static bool is_known(struct srcdist_core *core, uint32_t item, const struct rwf_msg *msg,
                     const struct rrmp_part *part)
{
    const struct srcdist_item *it = &core->items[item];
    struct rrmp_source_item info;

    if (!it->has_sum || !part->is_first || !part->is_last || it->sum != sum_of(msg, part))
        return false;
    const struct srcdist_offer *offer =
        srcdist_provider_offer(srcdist_provider_at(core, it->provider), it->service);
    return offer && !offer->was_suspect && !it->suspect_sent &&
           rrmp_source_item_info(core->source, item, &info) && info.group == part->group;
}

/* True: only snapshots wait for this refresh. */
static bool is_for_asks(const struct srcdist_core *core, uint32_t item, const struct rwf_msg *msg)
{
    const struct srcdist_item *it = &core->items[item];

    return it->is_reissued && !it->is_image_due && msg->flags & RWF_REFRESH_SOLICITED &&
           srcdist_item_has_asks(core, item);
}

int srcdist_publish_part(struct srcdist_core *core, uint32_t item, const struct rrmp_part *part,
                         struct rwf_bytes message)
{
    uint8_t *room;
    int err =
        rrmp_source_image_begin(core->source, core->now_ns, item, part, message.length, &room);

    if (err == MD_ERR_STATE)
        return MD_OK;
    if (err != MD_OK) {
        core->stats.backbone_refused++;
        return err;
    }
    memcpy(room, message.data, message.length);
    rrmp_source_publish_commit(core->source, message.length);
    core->stats.refresh_out++;
    return MD_OK;
}

/* An item with a cached image is never asked again, so it keeps the hash of its permission data
 * instead of the hash of its image. */
static void note_refresh(struct srcdist_item *it, const struct rwf_msg *msg,
                         const struct rrmp_part *part)
{
    if (part->is_first && it->image)
        it->permission = srcdist_image_permission(msg);
    if (it->image || !part->is_first || !part->is_last) {
        it->has_sum = false;
        return;
    }
    uint64_t sum = sum_of(msg, part);
    /* Consumers in step skip a solicited image: then they may have another one. */
    it->has_sum = !part->is_solicited || !it->had_image || (it->has_sum && it->sum == sum);
    it->sum = sum;
}

static int publish_refresh(struct srcdist_core *core, uint32_t provider, uint32_t item,
                           const struct rwf_peek *peek, struct rwf_bytes bytes)
{
    struct srcdist_item *it = &core->items[item];
    struct rwf_bytes message;
    struct rwf_msg msg;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK || convert(core, peek, bytes, &message) != RWF_OK) {
        core->stats.decode_errors++;
        return MD_OK;
    }
    /* Consumers in step skip a solicited image, so it does not stand for what is pending. */
    int err = srcdist_rate_flush(core, item);
    if (err != MD_OK)
        return err;
    struct rrmp_part part = part_of(core, it, provider, &msg);
    bool for_asks = is_for_asks(core, item, &msg) && is_known(core, item, &msg, &part);
    struct rwf_bytes image = srcdist_rate_image(core, item, message);
    err = for_asks ? MD_OK : srcdist_publish_part(core, item, &part, image);
    if (err != MD_OK)
        return err;
    if (!for_asks && (!part.is_solicited || !it->had_image))
        srcdist_replay_image(core, item,
                             part.is_first && part.is_last ? image : rwf_bytes(NULL, 0));
    srcdist_ask_item_image(core, item, image, &part);
    core->stats.refresh_in++;
    srcdist_image_refresh(core, it, message, part.is_first);
    srcdist_delay_message(core, item, DELAY_REFRESH, part.is_first, part.is_last, message);
    note_refresh(it, &msg, &part);
    it->is_in_parts = !part.is_last;
    if (part.is_last) {
        it->is_image_due = false;
        it->suspect_sent = false;
        it->had_image = true;
        it->is_reissued = it->is_reissued && !(msg.flags & RWF_REFRESH_SOLICITED);
        srcdist_item_answered(core, item);
    }
    if (msg.state.stream_state == RWF_STREAM_CLOSED ||
        msg.state.stream_state == RWF_STREAM_CLOSED_RECOVER) {
        srcdist_delay_ended(core, item, msg.state.stream_state, msg.state.code);
        srcdist_item_forget(core, item);
    }
    return MD_OK;
}

/* ---- statuses ---- */

/* MD_ERR_FULL: what is pending finds no room, the item has not ended. */
static int end_item(struct srcdist_core *core, uint32_t item, const struct rwf_msg *msg,
                    struct rwf_bytes message)
{
    struct rrmp_ending ending = {
        .state = rwf_state_byte(msg->state.stream_state, msg->state.data_state),
        .code = msg->state.code,
        .scope = RRMP_REFUSE_FINAL,
        .text = srcdist_view(msg->state.text),
        .message = srcdist_view(message),
    };

    int err = srcdist_rate_flush(core, item);
    if (err != MD_OK)
        return err;
    srcdist_item_ended(core, item);
    srcdist_delay_ended(core, item, msg->state.stream_state, msg->state.code);
    rrmp_source_item_close(core->source, core->now_ns, item, &ending);
    srcdist_item_forget(core, item);
    return MD_OK;
}

static int send_status(struct srcdist_core *core, uint32_t item, struct rwf_bytes message,
                       bool stays)
{
    uint8_t *room;
    int err = srcdist_item_at(core, item) ? srcdist_rate_flush(core, item) : MD_OK;

    if (err != MD_OK)
        return err;
    err = stays ? rrmp_source_suspect_begin(core->source, item, message.length, &room)
                : rrmp_source_publish_begin(core->source, item, RRMP_STATUS, message.length, &room);
    if (err == MD_OK) {
        memcpy(room, message.data, message.length);
        rrmp_source_publish_commit(core->source, message.length);
        core->stats.status_out++;
    } else if (err != MD_ERR_STATE) {
        return err;
    }
    srcdist_replay_pass(core, item, RRMP_STATUS, message);
    return MD_OK;
}

int srcdist_publish_state(struct srcdist_core *core, uint32_t item, uint8_t stream, uint8_t data,
                          uint8_t code, const char *text)
{
    struct srcdist_item *it = srcdist_item_at(core, item);
    struct rwf_encoder enc;
    struct omm_status status = { .state = omm_state(stream, data, code, text) };

    struct rrmp_source_item info;
    if (!rrmp_source_item_info(core->source, item, &info) || info.key.length == 0)
        return MD_OK;
    status.domain = info.key.bytes[0];
    srcdist_encoder(core, &enc);
    if (omm_status_encode(&enc, &status) != RWF_OK)
        return MD_OK;
    int err = send_status(core, item, rwf_encoder_bytes(&enc), data == RWF_DATA_SUSPECT);
    if (it)
        it->has_sum = false;
    if (it && err == MD_OK)
        srcdist_delay_state(core, item, data, code, text);
    if (err == MD_OK && it && it->image) /* later image requests must see this state */
        cache_image_set_state(it->image, stream, data, code);
    return err;
}

/* Consumers do not see CLOSED_RECOVER of a provider: src_dist asks again after a growing pause. */
static int refused_for_now(struct srcdist_core *core, uint32_t item, const struct rwf_msg *msg)
{
    char text[256];
    size_t length =
        msg->state.text.length < sizeof(text) - 1 ? msg->state.text.length : sizeof(text) - 1;

    if (length)
        memcpy(text, msg->state.text.data, length);
    text[length] = 0;
    uint32_t provider = core->items[item].provider;
    int err =
        srcdist_publish_state(core, item, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, msg->state.code, text);
    if (err != MD_OK)
        return err;
    if (provider != SRCDIST_NONE)
        core->providers[provider].misuse.refusals++;
    srcdist_item_backoff(core, item);
    core->items[item].suspect_sent = true;
    return MD_OK;
}

static int publish_status(struct srcdist_core *core, uint32_t item, const struct rwf_peek *peek,
                          struct rwf_bytes bytes)
{
    struct srcdist_item *it = &core->items[item];
    struct rwf_bytes message;
    struct rwf_msg msg;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK || convert(core, peek, bytes, &message) != RWF_OK) {
        core->stats.decode_errors++;
        return MD_OK;
    }
    core->stats.status_in++;
    if (!(msg.flags & RWF_STATUS_HAS_STATE))
        return send_status(core, item, message, false);
    switch (msg.state.stream_state) {
    case RWF_STREAM_CLOSED:
    case RWF_STREAM_REDIRECTED:
        return end_item(core, item, &msg, message);
    case RWF_STREAM_CLOSED_RECOVER:
        if (!it->is_private)
            return refused_for_now(core, item, &msg);
        return end_item(core, item, &msg, message);
    default:
        break;
    }
    it->has_sum = false; /* the status changes the state of the image */
    int err = send_status(core, item, message, false);
    if (err != MD_OK)
        return err;
    srcdist_delay_message(core, item, DELAY_STATUS, true, true, message);
    if (it->image)
        cache_apply(core->cache, &it->image, message);
    /* One that awaits its image goes on doing so, whatever the provider says ahead of it. */
    if (msg.state.data_state == RWF_DATA_SUSPECT)
        it->suspect_sent = true;
    else if (msg.state.data_state != RWF_DATA_NO_CHANGE && it->state == SRCDIST_ITEM_OPEN)
        it->suspect_sent = false;
    if (it->state == SRCDIST_ITEM_OPENING && it->is_counted) {
        /* A status frees the place in the window; the image is still due. */
        core->providers[it->provider].outstanding--;
        it->is_counted = false;
    }
    return MD_OK;
}

int srcdist_publish_message(struct srcdist_core *core, uint32_t provider, uint32_t item,
                            const struct rwf_peek *peek, struct rwf_bytes bytes)
{
    md_trace_mark(MD_TRACE_PUBLISH);
    switch (peek->msg_class) {
    case RWF_CLASS_UPDATE:
        core->services[core->items[item].service].updates++;
        if (core->items[item].state == SRCDIST_ITEM_OPENING)
            core->providers[provider].misuse.early_updates++;
        return publish_update(core, item, peek, bytes);
    case RWF_CLASS_REFRESH:
        return publish_refresh(core, provider, item, peek, bytes);
    case RWF_CLASS_STATUS:
        return publish_status(core, item, peek, bytes);
    case RWF_CLASS_GENERIC:
        return publish_generic(core, item, peek, bytes);
    case RWF_CLASS_CLOSE: {
        const struct rwf_msg gone = {
            .state = { .stream_state = RWF_STREAM_CLOSED_RECOVER, .data_state = RWF_DATA_SUSPECT },
        };
        return end_item(core, item, &gone, rwf_bytes(NULL, 0));
    }
    default:
        return MD_OK;
    }
}
