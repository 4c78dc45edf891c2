/* post.c - posts and generic messages up to providers, and the acknowledgements back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "post.h"

#include <string.h>

#include "base/err.h"
#include "item.h"
#include "provider.h"
#include "service.h"

#define POST_NS 15000000000ull

static void send_ack(struct srcdist_core *core, const struct rrmp_reply *reply,
                     const struct rwf_encoder *enc)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);
    uint8_t *room;

    if (rwf_encoder_error(enc) != RWF_OK ||
        rrmp_source_ack_begin(core->source, reply, bytes.length, &room) != MD_OK)
        return;
    memcpy(room, bytes.data, bytes.length);
    rrmp_source_publish_commit(core->source, bytes.length);
}

static void nak(struct srcdist_core *core, const struct rrmp_reply *reply,
                const struct rwf_msg *post, uint8_t code, const char *text)
{
    struct rwf_encoder enc;
    struct omm_ack ack = {
        .domain = post->domain,
        .ack_id = post->post_id,
        .has_seq_num = (post->flags & RWF_POST_HAS_SEQ_NUM) != 0,
        .seq_num = post->seq_num,
        .nak_code = code,
        .text = rwf_text(text),
    };

    srcdist_encoder(core, &enc);
    omm_ack_encode(&enc, &ack);
    send_ack(core, reply, &enc);
}

static uint32_t take_post(struct srcdist_core *core)
{
    uint32_t slot = core->post_free;

    if (slot != SRCDIST_NONE)
        core->post_free = core->posts[slot].next_free;
    return slot;
}

static void give_post(struct srcdist_core *core, uint32_t slot)
{
    core->posts[slot] = (struct srcdist_post){ .next_free = core->post_free };
    core->post_free = slot;
}

/* The post as the provider gets it: its own stream, its own service id, an id of ours. */
static int send_post(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                     uint16_t service, struct rwf_msg *msg, uint32_t post_id, bool wants_ack)
{
    struct srcdist_offer *offer =
        srcdist_provider_offer(srcdist_provider_at(core, provider), service);
    struct rwf_encoder enc;

    if (!offer)
        return MD_ERR_NOT_FOUND;
    msg->stream_id = stream_id;
    if (msg->flags & RWF_POST_HAS_KEY) {
        msg->key.flags |= RWF_KEY_HAS_SERVICE_ID;
        msg->key.service_id = offer->provider_id;
    }
    if (wants_ack) {
        msg->flags |= RWF_POST_HAS_POST_ID;
        msg->post_id = post_id;
    }
    rwf_encoder_init(&enc, core->part, core->part_size);
    rwf_msg_encode(&enc, msg);
    return srcdist_provider_send(core, provider, &enc);
}

void srcdist_post_event(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    struct rwf_bytes bytes = rwf_bytes(event->message.bytes, event->message.length);
    uint32_t service = srcdist_service_find(core, event->svc);
    struct srcdist_item *it =
        event->item == RRMP_ITEM_NONE ? NULL : srcdist_item_at(core, event->item);
    uint32_t provider = SRCDIST_NONE;
    int32_t stream_id = OMM_LOGIN_STREAM;
    uint32_t slot = SRCDIST_NONE;
    struct rwf_msg msg;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK)
        return;
    struct rwf_msg original = msg;
    if (it) {
        provider = it->provider;
        stream_id = it->stream_id;
    } else if (service != SRCDIST_NONE) {
        provider = srcdist_service_provider(core, service);
    }
    if (provider == SRCDIST_NONE || service == SRCDIST_NONE || stream_id == 0) {
        if (event->flag)
            nak(core, &event->reply, &original, RWF_NAK_SOURCE_DOWN, "The source is down");
        return;
    }
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    if (!p->supports_post || p->kind == SRCDIST_NON_INTERACTIVE) {
        if (event->flag)
            nak(core, &event->reply, &original, RWF_NAK_DENIED_BY_SRC, "The source takes no posts");
        return;
    }
    if (event->flag && (slot = take_post(core)) == SRCDIST_NONE) {
        nak(core, &event->reply, &original, RWF_NAK_NO_RESOURCES, "Too many posts are under way");
        return;
    }
    if (send_post(core, provider, stream_id, (uint16_t)service, &msg, slot + 1, event->flag) !=
        MD_OK) {
        if (slot != SRCDIST_NONE) {
            give_post(core, slot);
            nak(core, &event->reply, &original, RWF_NAK_NO_RESOURCES, "The source takes no more");
        }
        return;
    }
    core->stats.posts_out++;
    if (slot == SRCDIST_NONE)
        return;
    core->posts[slot] = (struct srcdist_post){
        .is_used = true,
        .provider = provider,
        .reply = event->reply,
        .post_id = original.post_id,
        .due_ns = core->now_ns + POST_NS,
    };
}

void srcdist_post_ack(struct srcdist_core *core, uint32_t provider, const struct rwf_msg *msg)
{
    uint32_t slot = msg->ack_id - 1;
    struct rwf_msg ack = *msg;
    struct rwf_encoder enc;

    core->stats.acks_in++;
    if (slot >= core->post_room || !core->posts[slot].is_used ||
        core->posts[slot].provider != provider)
        return;
    ack.stream_id = 0;
    ack.ack_id = core->posts[slot].post_id;
    ack.key.flags &= (uint16_t)~RWF_KEY_HAS_SERVICE_ID;
    srcdist_encoder(core, &enc);
    if (rwf_msg_encode(&enc, &ack) != RWF_OK)
        return;
    send_ack(core, &core->posts[slot].reply, &enc);
    give_post(core, slot);
}

static void fail_post(struct srcdist_core *core, uint32_t slot, uint8_t code, const char *text)
{
    struct rwf_msg post = { .post_id = core->posts[slot].post_id };

    nak(core, &core->posts[slot].reply, &post, code, text);
    give_post(core, slot);
}

void srcdist_posts_lost(struct srcdist_core *core, uint32_t provider)
{
    for (uint32_t i = 0; i < core->post_room; i++) {
        if (core->posts[i].is_used && core->posts[i].provider == provider)
            fail_post(core, i, RWF_NAK_GATEWAY_DOWN, "The connection to the source was lost");
    }
}

void srcdist_posts_tick(struct srcdist_core *core)
{
    for (uint32_t i = 0; i < core->post_room; i++) {
        if (core->posts[i].is_used && core->now_ns >= core->posts[i].due_ns)
            fail_post(core, i, RWF_NAK_NO_RESPONSE, "The source did not answer");
    }
}

void srcdist_generic_event(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    struct srcdist_item *it = srcdist_item_at(core, event->item);
    struct rwf_splice splice = { .ops = RWF_SPLICE_STREAM_ID }; /* a key has no service id */
    size_t length;

    if (!it || it->provider == SRCDIST_NONE || it->stream_id == 0)
        return;
    struct srcdist_provider *p = srcdist_provider_at(core, it->provider);
    if (!srcdist_provider_offer(p, it->service))
        return;
    splice.stream_id = it->stream_id;
    if (rwf_splice(rwf_bytes(event->message.bytes, event->message.length), &splice, core->part,
                   core->part_size, &length) == RWF_OK)
        p->link->send(p->self, rwf_bytes(core->part, length));
}
