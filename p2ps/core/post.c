/* post.c - posts and generic messages towards the source, and the answers back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "post.h"
#include "ask.h"
#include "base/err.h"
#include "client.h"
#include "dry.h"
#include "item.h"
#include "itemkey/itemkey.h"
#include "network.h"
#include "private.h"
#include "standby.h"
#include "status.h"
#include "tally.h"
#include "trail.h"

static const struct rwf_qos any_qos = {
    .timeliness = RWF_TIMELINESS_REALTIME,
    .rate = RWF_RATE_TICK_BY_TICK,
};

static void answer(struct p2ps_core *core, uint32_t client, const struct omm_ack *ack)
{
    struct rwf_encoder enc;

    p2ps_encoder(core, &enc);
    omm_ack_encode(&enc, ack);
    if (p2ps_tell(p2ps_client_at(core, client), &enc) != MD_OK) {
        p2ps_client_doom(core, client);
        return;
    }
    core->stats.acks_out++;
    p2ps_client_touch(core, client);
}

static void nak(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg, uint8_t code,
                const char *text)
{
    struct omm_ack ack = {
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .ack_id = msg->flags & RWF_POST_HAS_POST_ID ? msg->post_id : 0,
        .has_seq_num = (msg->flags & RWF_POST_HAS_SEQ_NUM) != 0,
        .seq_num = msg->seq_num,
        .nak_code = code,
        .text = rwf_text(text),
    };

    p2ps_tally_refused(p2ps_client_at(core, client));
    if (msg->flags & RWF_POST_ACK)
        answer(core, client, &ack);
}

/* Of a user name; it never changes (FNV-1a), and is not 0. */
static uint32_t user_id_of(const char *user)
{
    uint32_t hash = 2166136261u;

    for (const char *p = user; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    return hash ? hash : 1;
}

/* Names its author, and takes away the rights that are denied. False: it stays as it is. */
static bool edit_post(const struct p2ps_core *core, const struct p2ps_client *c, uint8_t denied,
                      struct rwf_msg *msg)
{
    bool is_edited = false;

    if (msg->post_user_addr == 0 && c->address_v4 != 0) {
        msg->post_user_addr = c->address_v4;
        is_edited = true;
    }
    if (msg->post_user_id == 0 && core->config.rules.fills_post_user_id) {
        msg->post_user_id = user_id_of(c->user);
        is_edited = true;
    }
    if (msg->flags & RWF_POST_HAS_POST_USER_RIGHTS && denied) {
        msg->post_rights &= (uint16_t)(ENTITLE_POST_ALL & ~denied);
        is_edited = true;
    }
    return is_edited;
}

static int splice(struct p2ps_core *core, struct rwf_bytes bytes, size_t *length)
{
    const struct rwf_splice splice = {
        .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_SERVICE,
        .stream_id = 0,
    };

    return rwf_splice(bytes, &splice, core->make_buffer, core->make_size, length);
}

/* The post as the backbone carries it: no service id, our stream id away, its author named. */
static int to_backbone(struct p2ps_core *core, const struct p2ps_client *c, struct rwf_bytes bytes,
                       uint8_t denied, size_t *length)
{
    struct rwf_msg msg;
    struct rwf_encoder enc;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK || !edit_post(core, c, denied, &msg))
        return splice(core, bytes, length);
    msg.stream_id = 0;
    msg.key.flags &= (uint16_t)~RWF_KEY_HAS_SERVICE_ID;
    rwf_encoder_init(&enc, core->make_buffer, core->make_size);
    int rc = rwf_msg_encode(&enc, &msg);
    *length = rwf_encoder_bytes(&enc).length;
    return rc;
}

static uint32_t posts_of(const struct p2ps_party *party)
{
    return atomic_load_explicit(&party->posts, memory_order_relaxed);
}

static bool may_post(const struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = &core->clients[client];
    uint32_t most = core->config.posts_max;

    if (most && c->posts_open >= most)
        return false;
    return p2ps_tally_may_have(c, core->post_count, core->post_room, posts_of);
}

static void count_post(struct p2ps_core *core, const struct p2ps_post *post, int by)
{
    struct p2ps_client *c = &core->clients[post->client];

    core->post_count += (uint32_t)by;
    if (c->serial == post->client_serial)
        c->posts_open += (uint32_t)by;
    atomic_fetch_add_explicit(&post->party->posts, (uint32_t)by, memory_order_release);
    atomic_fetch_add_explicit(&post->host->posts, (uint32_t)by, memory_order_release);
}

static uint32_t remember(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg,
                         bool is_private)
{
    uint32_t slot = core->post_free;

    if (slot == P2PS_NONE || !may_post(core, client))
        return P2PS_NONE;
    core->post_free = core->posts[slot].next_free;
    core->posts[slot] = (struct p2ps_post){
        .is_used = true,
        .client = client,
        .client_serial = core->clients[client].serial,
        .host = core->clients[client].host,
        .party = core->clients[client].party,
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .has_seq_num = (msg->flags & RWF_POST_HAS_SEQ_NUM) != 0,
        .seq_num = msg->seq_num,
        .post_id = msg->flags & RWF_POST_HAS_POST_ID ? msg->post_id : 0,
        .is_private = is_private,
    };
    count_post(core, &core->posts[slot], 1);
    return slot;
}

static void forget(struct p2ps_core *core, uint32_t slot)
{
    count_post(core, &core->posts[slot], -1);
    core->posts[slot].is_used = false;
    core->posts[slot].next_free = core->post_free;
    core->post_free = slot;
}

static void nak_for_error(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg,
                          int err)
{
    switch (err) {
    case MD_ERR_UNSUPPORTED:
        nak(core, client, msg, RWF_NAK_DENIED_BY_SRC, "The source takes no posts");
        break;
    case MD_ERR_NOT_FOUND:
        nak(core, client, msg, RWF_NAK_SOURCE_DOWN, "The source is down");
        break;
    default:
        nak(core, client, msg, RWF_NAK_NO_RESOURCES, "Too many posts are under way");
        break;
    }
}

/* True: it is on its way. */
static bool send_post(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg,
                      struct rwf_bytes bytes, uint32_t sink_item, uint16_t service,
                      struct rrmp_view key, bool is_private, uint8_t denied)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    bool wants_ack = (msg->flags & RWF_POST_ACK) != 0;
    uint32_t slot = P2PS_NONE;
    size_t length;

    if (to_backbone(core, c, bytes, denied, &length) != RWF_OK) {
        nak(core, client, msg, RWF_NAK_INVALID_CONTENT, "The post cannot be read");
        return false;
    }
    if (wants_ack && (slot = remember(core, client, msg, is_private)) == P2PS_NONE) {
        core->clients[client].misuse.posts++;
        core->stats.refused_limit++;
        nak_for_error(core, client, msg, MD_ERR_FULL);
        return false;
    }
    struct rrmp_view message = { core->make_buffer, length };
    const struct p2ps_service *s = &core->services[service];
    int err = rrmp_sink_post(core->sinks[s->network], core->now_ns, sink_item, s->sink_service, key,
                             message, wants_ack, slot);
    if (err == MD_OK)
        return true;
    if (slot != P2PS_NONE)
        forget(core, slot);
    nak_for_error(core, client, msg, err);
    return false;
}

/* An image or a status in a post may bring the item other permission data. */
static bool changes_permissions(const struct rwf_msg *msg)
{
    struct rwf_msg inner;

    if (msg->container != RWF_TYPE_MSG)
        return false;
    if (rwf_msg_decode(msg->payload, &inner) != RWF_OK)
        return true; /* who knows */
    return (inner.msg_class == RWF_CLASS_REFRESH && inner.flags & RWF_REFRESH_HAS_PERM_DATA) ||
           (inner.msg_class == RWF_CLASS_STATUS && inner.flags & RWF_STATUS_HAS_PERM_DATA);
}

/* Rights that the post makes use of. */
static uint8_t rights_used(const struct rwf_msg *msg)
{
    uint8_t used = msg->flags & RWF_POST_HAS_POST_USER_RIGHTS
                       ? (uint8_t)(msg->post_rights & ENTITLE_POST_ALL)
                       : 0;

    return (uint8_t)(used | (changes_permissions(msg) ? ENTITLE_POST_PERM : 0));
}

/* The name of the item that a post is for is what the access rules are about. *denied gets the
 * rights that the post may not use. */
static bool may_post_to(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg,
                        uint16_t service, uint8_t domain, struct rwf_bytes name, uint8_t *denied)
{
    struct entitle_answer answer = { .text = "not entitled" };
    const char *why = answer.text;

    if (!p2ps_trail_has_room(core, ENTITLE_LEVEL_POSTS)) {
        nak(core, client, msg, RWF_NAK_NO_RESOURCES, P2PS_TRAIL_FULL);
        return false;
    }
    uint8_t used = core->config.rules.is_dry_run ? rights_used(msg) : 0;
    bool is_allowed =
        p2ps_ask_post(core, client, service, domain, name, msg->perm_data, used, &answer);
    *denied |= answer.post_denied;
    if (is_allowed && answer.post_denied & ENTITLE_POST_PERM && changes_permissions(msg)) {
        is_allowed = false;
        why = "not entitled to change the permission data of an item";
    }
    if (is_allowed)
        return true;
    core->stats.posts_denied++;
    p2ps_trail_post(core, client, service, domain, name, why);
    nak(core, client, msg, RWF_NAK_ACCESS_DENIED, why);
    return false;
}

static void post_off_stream(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg,
                            struct rwf_bytes bytes)
{
    uint8_t key[RRMP_KEY_SIZE_MAX];
    size_t length;
    uint16_t service = RRMP_SERVICE_NONE;
    uint8_t denied = 0;

    if (msg->flags & RWF_POST_HAS_KEY && msg->key.flags & RWF_KEY_HAS_SERVICE_ID)
        service = p2ps_service_find(core, msg->key.service_id);
    if (service == RRMP_SERVICE_NONE) {
        nak(core, client, msg, RWF_NAK_SOURCE_UNKNOWN, "Unknown service");
        return;
    }
    if (!may_post_to(core, client, msg, service, msg->domain, msg->key.name, &denied))
        return;
    if (itemkey_encode(msg->domain, &msg->key, &any_qos, key, sizeof(key), &length) != RWF_OK) {
        nak(core, client, msg, RWF_NAK_INVALID_CONTENT, "The key is too long");
        return;
    }
    if (send_post(core, client, msg, bytes, RRMP_ITEM_NONE, service,
                  (struct rrmp_view){ key, length }, false, denied))
        p2ps_trail_post(core, client, service, msg->domain, msg->key.name, NULL);
}

/* Whether the stream was allowed: its verdict may be pending. */
static bool is_allowed(const struct p2ps_core *core, uint32_t client, int32_t stream_id,
                       uint32_t item)
{
    uint32_t watch = p2ps_item_watch_find(core, item, client, stream_id);

    return watch != P2PS_NONE && core->items[item].watches[watch].state != P2PS_WATCH_ASKS;
}

/* The provider is sent the key of the message as it is: it may name another item. */
static bool may_post_to_both(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg,
                             const struct p2ps_item *it, struct rwf_bytes name, uint8_t *denied)
{
    bool is_named = msg->flags & RWF_POST_HAS_KEY && msg->key.flags & RWF_KEY_HAS_NAME &&
                    !rwf_bytes_equal(msg->key.name, name);

    return may_post_to(core, client, msg, it->service, it->domain, name, denied) &&
           (!is_named ||
            may_post_to(core, client, msg, it->service, it->domain, msg->key.name, denied));
}

static void post_on_stream(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg,
                           struct rwf_bytes bytes, uint32_t item)
{
    const struct p2ps_item *it = &core->items[item];
    struct rrmp_sink_item info;
    struct rwf_key key;
    struct rwf_qos qos;
    uint8_t denied = 0;

    if (!p2ps_item_key(core, item, &key, &qos) ||
        !rrmp_sink_item_info(p2ps_item_sink(core, item), it->sink_item, &info)) {
        nak(core, client, msg, RWF_NAK_NOT_OPEN, "The item is not open");
    } else if (!is_allowed(core, client, msg->stream_id, item)) {
        core->stats.posts_denied++;
        p2ps_trail_post(core, client, it->service, it->domain, key.name,
                        "The stream is not allowed yet");
        nak(core, client, msg, RWF_NAK_ACCESS_DENIED, "The stream is not allowed yet");
    } else if (may_post_to_both(core, client, msg, it, key.name, &denied) &&
               send_post(core, client, msg, bytes, it->sink_item, it->service, info.key,
                         it->is_private, denied)) {
        p2ps_trail_post(core, client, it->service, it->domain, key.name, NULL);
    }
}

void p2ps_client_post(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                      const struct rwf_msg *msg, struct rwf_bytes bytes)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t index = p2ps_idmap_get(&c->streams, msg->stream_id);

    core->now_ns = now_ns;
    core->stats.posts_in++;
    p2ps_work_spend(core, 1, bytes.length);
    if (c->login_state != P2PS_LOGIN_OPEN)
        return;
    if (!p2ps_tally_post(core, c)) {
        c->misuse.posts++;
        core->stats.posts_throttled++;
        nak(core, client, msg, RWF_NAK_NO_RESOURCES, "Too many posts a second");
        return;
    }
    if (index == P2PS_STREAM_LOGIN) {
        post_off_stream(core, client, msg, bytes);
    } else if (index < P2PS_STREAM_DICTIONARY) {
        post_on_stream(core, client, msg, bytes, index);
    } else {
        nak(core, client, msg, RWF_NAK_NOT_OPEN, "The stream is not open");
    }
}

void p2ps_client_generic(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                         const struct rwf_msg *msg, struct rwf_bytes bytes)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t index = p2ps_idmap_get(&c->streams, msg->stream_id);
    struct omm_rtt rtt;
    size_t length;

    core->now_ns = now_ns;
    core->stats.generic_in++;
    p2ps_work_spend(core, 1, bytes.length);
    p2ps_tally_ask(core, c);
    if (c->login_state != P2PS_LOGIN_OPEN)
        return;
    if (index == P2PS_STREAM_LOGIN) {
        if (omm_rtt_decode(msg, &rtt) == RWF_OK && rtt.ticks == c->rtt_sent_ns)
            c->rtt_latency_us = (now_ns - rtt.ticks) / 1000;
        else
            p2ps_standby_login(core, client, msg);
        return; /* unknown ones are ignored */
    }
    if (index == P2PS_STREAM_DIRECTORY)
        p2ps_standby_directory(core, client, msg);
    if (index >= P2PS_STREAM_DICTIONARY || !is_allowed(core, client, msg->stream_id, index))
        return;
    if (splice(core, bytes, &length) == RWF_OK)
        rrmp_sink_generic(p2ps_item_sink(core, index), core->items[index].sink_item,
                          (struct rrmp_view){ core->make_buffer, length });
}

void p2ps_post_answer(struct p2ps_core *core, const struct rrmp_sink_event *event)
{
    struct rwf_msg msg;

    if (event->cookie >= core->post_room || !core->posts[event->cookie].is_used)
        return;
    struct p2ps_post post = core->posts[event->cookie];
    struct omm_ack ack = {
        .stream_id = post.stream_id,
        .domain = post.domain,
        .is_private = post.is_private,
        .ack_id = post.post_id,
        .has_seq_num = post.has_seq_num,
        .seq_num = post.seq_num,
    };

    forget(core, (uint32_t)event->cookie);
    if (!p2ps_client_is_here(&core->clients[post.client]) ||
        core->clients[post.client].serial != post.client_serial)
        return;
    if (event->kind == RRMP_SINK_POST_LOST) {
        ack.nak_code = event->code;
        ack.text = rwf_text("The source is gone");
    } else if (rwf_msg_decode(p2ps_bytes(event->message), &msg) == RWF_OK) {
        ack.nak_code = msg.flags & RWF_ACK_HAS_NAK_CODE ? msg.nak_code : 0;
        ack.text = msg.text;
    } else {
        ack.nak_code = RWF_NAK_NO_RESPONSE;
    }
    answer(core, post.client, &ack);
}
