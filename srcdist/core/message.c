/* message.c - a provider's message: to the directory, the login, a snapshot, an item. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"
#include "ask.h"
#include "base/err.h"
#include "dictionary.h"
#include "directory.h"
#include "item.h"
#include "itemkey/itemkey.h"
#include "login.h"
#include "marketfeed.h"
#include "post.h"
#include "private.h"
#include "provider.h"
#include "publish.h"
#include "rate.h"
#include "tell.h"
#include "upstream.h"

/* ---- items that a provider publishes unasked ---- */

static int refuse_taken(struct srcdist_core *core, uint32_t provider, uint32_t item,
                        const struct rwf_peek *peek)
{
    const struct srcdist_item *it = &core->items[item];
    const struct rwf_state state =
        omm_state(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT, RWF_CODE_ALREADY_OPEN,
                  "Another provider publishes the item; send its refresh again later");

    core->stats.items_refused++;
    srcdist_tell_rarely(core, SRCDIST_TALE_TAKEN,
                        "an item of service %s by provider %s is refused: provider %s publishes it",
                        core->services[it->service].name,
                        srcdist_party(srcdist_provider_at(core, provider)).text,
                        srcdist_party(&core->providers[it->provider]).text);
    if (srcdist_streams_find(&srcdist_provider_at(core, provider)->streams, peek->stream_id) !=
        SRCDIST_STREAM_NONE)
        return MD_OK; /* the stream is that of other items, too, which nobody refuses */
    return srcdist_provider_end_stream(core, provider, peek->stream_id, peek->domain, &state);
}

/* The item leaves an older session, which is half-open, or lives and learns of it, unless the
 * stream goes on with other items. */
static void take_over(struct srcdist_core *core, uint32_t provider, uint32_t item, uint8_t domain)
{
    const struct srcdist_item *it = &core->items[item];
    const struct rwf_state state =
        omm_state(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT, RWF_CODE_PREEMPTED,
                  "A newer session of the same user publishes the item");
    uint32_t older = it->provider;

    core->stats.items_taken_over++;
    srcdist_tell_rarely(core, SRCDIST_TALE_TAKEN,
                        "an item of service %s goes from provider %s to %s, a newer session of the "
                        "same user",
                        core->services[it->service].name,
                        srcdist_party(&core->providers[older]).text,
                        srcdist_party(srcdist_provider_at(core, provider)).text);
    int32_t stream_id = it->stream_id;
    srcdist_item_detach(core, item, true);
    if (srcdist_streams_find(&core->providers[older].streams, stream_id) == SRCDIST_STREAM_NONE)
        srcdist_provider_end_stream(core, older, stream_id, domain, &state);
}

static int item_published(struct srcdist_core *core, uint32_t provider, uint32_t item,
                          uint16_t service, const struct rwf_peek *peek, struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    bool is_new = !srcdist_item_at(core, item);
    struct srcdist_item *it = srcdist_item_make(core, item);

    if (!it)
        return MD_ERR_NOMEM;
    bool is_taken = it->provider != SRCDIST_NONE && it->provider != provider;
    if (is_taken && !srcdist_access_replaces(core, p, &core->providers[it->provider]))
        return refuse_taken(core, provider, item, peek);
    if (!is_taken && it->stream_id != 0 && it->stream_id != peek->stream_id)
        srcdist_item_give_stream(core, provider, it->stream_id,
                                 item); /* the newer stream replaces the older */
    int err = srcdist_streams_put(&p->streams, peek->stream_id, item);
    if (err != MD_OK)
        return err;
    if (is_taken)
        take_over(core, provider, item, peek->domain);
    srcdist_item_set_state(core, it, SRCDIST_ITEM_OPEN);
    p->item_count += it->provider == SRCDIST_NONE;
    if (it->provider != provider || it->stream_id != peek->stream_id)
        it->shares_stream = false; /* that was the stream it had before */
    it->provider = provider;
    it->service = service;
    it->stream_id = peek->stream_id;
    if (is_new)
        srcdist_rate_choose(core, item);
    it->must_republish = false;
    return srcdist_publish_message(core, provider, item, peek, bytes);
}

/* False: the item is not the provider's yet, and it has as many as it may. */
static bool has_room_for(struct srcdist_core *core, uint32_t provider, const struct rwf_msg *msg,
                         uint32_t service, struct rrmp_view key)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    if (p->is_own || srcdist_access_item_fits(core, p))
        return true;
    uint32_t item = rrmp_source_item_find(core->source, core->services[service].svc, key);
    const struct srcdist_item *it = item == RRMP_ITEM_NONE ? NULL : srcdist_item_at(core, item);
    if (it && it->provider == provider)
        return true;
    if (it && it->provider != SRCDIST_NONE && srcdist_access_item_moves(core, p) &&
        srcdist_access_replaces(core, p, &core->providers[it->provider]))
        return true;
    core->stats.items_refused++;
    srcdist_tell_rarely(core, SRCDIST_TALE_ITEMS,
                        "item %.*s of provider %s is refused: it publishes %u, as many as it may "
                        "(itemLimitPerProvider, items= of its user)",
                        (int)(msg->key.name.length < 64 ? msg->key.name.length : 64),
                        (const char *)msg->key.name.data, srcdist_party(p).text, p->item_count);
    return false;
}

/* A refresh on a new negative stream makes an item of a non-interactive provider. */
static int publish_new(struct srcdist_core *core, uint32_t provider, const struct rwf_peek *peek,
                       struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rwf_msg msg;
    struct srcdist_offer *offer = NULL;
    struct rwf_qos qos = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK };
    uint8_t key[RRMP_KEY_SIZE_MAX];
    size_t length;
    uint32_t item;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK)
        return MD_ERR_MALFORMED;
    if (msg.msg_class != RWF_CLASS_REFRESH || !rwf_msg_has_key(&msg)) {
        core->stats.unknown_streams++;
        if (msg.msg_class != RWF_CLASS_UPDATE || p->refused_not_open)
            return MD_OK;
        p->refused_not_open = true; /* one refusal is enough, updates may be many */
        return srcdist_provider_refuse_stream(core, provider, &msg, RWF_CODE_NOT_OPEN,
                                              "An item begins with a refresh");
    }
    for (uint32_t i = 0; i < p->offer_count && msg.key.flags & RWF_KEY_HAS_SERVICE_ID; i++) {
        if (p->offers[i].provider_id == msg.key.service_id)
            offer = &p->offers[i];
    }
    if (!offer || !core->services[offer->service].is_offered) {
        core->stats.unknown_streams++;
        return srcdist_provider_refuse_stream(core, provider, &msg, RWF_CODE_SOURCE_UNKNOWN,
                                              "The service is not in your directory, or src_dist "
                                              "has refused it");
    }
    if (msg.flags & RWF_REFRESH_HAS_QOS)
        qos = msg.qos;
    else if (core->services[offer->service].info.qos_count)
        qos = core->services[offer->service].info.qos[0];
    if (itemkey_encode(msg.domain, &msg.key, &qos, key, sizeof(key), &length) != RWF_OK)
        return MD_OK;
    int err = MD_ERR_FULL;
    if (has_room_for(core, provider, &msg, offer->service, (struct rrmp_view){ key, length }))
        err = rrmp_source_item_add(core->source, core->services[offer->service].svc,
                                   (struct rrmp_view){ key, length }, &item);
    if (err != MD_OK && err != MD_ERR_EXISTS)
        return srcdist_provider_refuse_stream(core, provider, &msg, RWF_CODE_TOO_MANY_ITEMS,
                                              "Too many items");
    return item_published(core, provider, item, offer->service, peek, bytes);
}

/* True: the key of the message names this item. */
static bool names_item(struct srcdist_core *core, uint32_t provider, uint32_t item,
                       const struct rwf_msg *msg)
{
    struct rwf_key key;
    struct rwf_qos qos;
    uint8_t domain;

    if (!srcdist_item_upstream_key(core, item, provider, &domain, &key, &qos))
        return false;
    return domain == msg->domain && rwf_bytes_equal(key.name, msg->key.name) &&
           (!(msg->key.flags & RWF_KEY_HAS_SERVICE_ID) || key.service_id == msg->key.service_id);
}

/* The item that a message on a stream of several is about: of the service and the quality of the
 * one that has the stream now. */
static uint32_t item_of_key(struct srcdist_core *core, uint32_t provider, uint32_t target,
                            const struct rwf_msg *msg)
{
    const struct srcdist_service *s = &core->services[core->items[target].service];
    uint8_t bytes[RRMP_KEY_SIZE_MAX];
    struct rwf_key key;
    struct rwf_qos qos;
    uint8_t domain;
    size_t length;

    if (!srcdist_item_upstream_key(core, target, provider, &domain, &key, &qos) ||
        itemkey_encode(msg->domain, &msg->key, &qos, bytes, sizeof(bytes), &length) != RWF_OK)
        return SRCDIST_NONE;
    uint32_t item =
        rrmp_source_item_find(core->source, s->svc, (struct rrmp_view){ bytes, length });
    const struct srcdist_item *it = item == RRMP_ITEM_NONE ? NULL : srcdist_item_at(core, item);
    return it && it->provider == provider && names_item(core, provider, item, msg) ? item
                                                                                   : SRCDIST_NONE;
}

/*
 * A stream of a non-interactive provider is one item's. Some publish all their items on one id:
 * what has a key is taken for the item it names, what has none could be any item's.
 */
static int publish_named(struct srcdist_core *core, uint32_t provider, uint32_t target,
                         const struct rwf_peek *peek, struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    bool is_refresh = peek->msg_class == RWF_CLASS_REFRESH;
    struct rwf_msg msg;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK)
        return srcdist_publish_message(core, provider, target, peek, bytes);
    bool is_named = rwf_msg_has_key(&msg) && msg.key.flags & RWF_KEY_HAS_NAME;
    if (is_named ? names_item(core, provider, target, &msg) : !core->items[target].shares_stream)
        return srcdist_publish_message(core, provider, target, peek, bytes);
    core->items[target].shares_stream = true;
    p->misuse.shared_streams += is_refresh;
    if (!is_named)
        return MD_OK;
    if (!is_refresh) {
        uint32_t item = item_of_key(core, provider, target, &msg);
        return item == SRCDIST_NONE ? MD_OK
                                    : srcdist_publish_message(core, provider, item, peek, bytes);
    }
    int err = publish_new(core, provider, peek, bytes);
    struct srcdist_item *it =
        srcdist_item_at(core, srcdist_streams_find(&p->streams, peek->stream_id));
    if (it)
        it->shares_stream = true;
    return err;
}

/* ---- all messages ---- */

/* No item's: of a domain that has none, or the answer to a post. */
static bool is_administrative(const struct rwf_peek *peek)
{
    return peek->domain == RWF_DOMAIN_LOGIN || peek->domain == RWF_DOMAIN_SOURCE ||
           peek->domain == RWF_DOMAIN_DICTIONARY || peek->msg_class == RWF_CLASS_ACK;
}

static int administrative(struct srcdist_core *core, uint32_t provider, struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rwf_msg msg;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK) {
        core->stats.decode_errors++;
        return MD_ERR_MALFORMED;
    }
    if (msg.msg_class == RWF_CLASS_ACK) {
        srcdist_post_ack(core, provider, &msg);
        return MD_OK;
    }
    if (msg.domain == RWF_DOMAIN_LOGIN)
        return srcdist_login_message(core, provider, &msg);
    if (msg.domain == RWF_DOMAIN_SOURCE && p->state != SRCDIST_PROVIDER_LOGIN)
        return srcdist_directory_message(core, provider, &msg);
    if (msg.domain == RWF_DOMAIN_DICTIONARY && p->kind == SRCDIST_INTERACTIVE)
        srcdist_dictionary_message(core, provider, &msg, bytes);
    return MD_OK;
}

/*
 * The stream belongs to no item. A provider that ended it while our re-issue was under way took
 * the re-issue for a new request: close it, or it goes on unread.
 */
static int unknown_stream(struct srcdist_core *core, uint32_t provider, const struct rwf_peek *peek,
                          struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rwf_msg msg;

    core->stats.unknown_streams++;
    p->misuse.wrong_streams += !srcdist_streams_was_open(&p->streams, peek->stream_id);
    if (peek->msg_class == RWF_CLASS_REFRESH && rwf_msg_decode(bytes, &msg) == RWF_OK &&
        msg.state.stream_state == RWF_STREAM_OPEN)
        srcdist_stream_close(core, provider, peek->stream_id, peek->domain);
    return MD_OK;
}

void srcdist_provider_expect(const struct srcdist_core *core, uint32_t provider,
                             struct rwf_bytes bytes, unsigned step)
{
    int32_t id = rwf_peek_stream_id(bytes);

    if (provider >= core->provider_room || id == 0)
        return;
    const struct srcdist_streams *streams = &core->providers[provider].streams;
    if (step == 0) {
        srcdist_streams_fetch(streams, id);
        return;
    }
    uint32_t item = srcdist_streams_find(streams, id);
    if (item < core->item_room) {
        __builtin_prefetch(&core->items[item]);
        rrmp_source_publish_soon(core->source, item);
    }
}

/* `target`: what the stream of the message stands for. */
static int message_for(struct srcdist_core *core, uint32_t provider, uint32_t target,
                       const struct rwf_peek *peek, struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    if (target == SRCDIST_STREAM_NONE) {
        if (p->kind == SRCDIST_NON_INTERACTIVE && p->state == SRCDIST_PROVIDER_READY)
            return publish_new(core, provider, peek, bytes);
        return unknown_stream(core, provider, peek, bytes);
    }
    if (target & SRCDIST_STREAM_ASK)
        return srcdist_ask_message(core, target & ~SRCDIST_STREAM_ASK, peek, bytes);
    if (target & SRCDIST_STREAM_DICTIONARY) {
        core->stats.unknown_streams++; /* not in the dictionary's domain */
        return MD_OK;
    }
    p->updates += peek->msg_class == RWF_CLASS_UPDATE;
    if (p->kind == SRCDIST_NON_INTERACTIVE &&
        (peek->msg_class == RWF_CLASS_REFRESH || core->items[target].shares_stream))
        return publish_named(core, provider, target, peek, bytes);
    return srcdist_publish_message(core, provider, target, peek, bytes);
}

/* One with a Marketfeed record, by convertMarketfeed. */
static int record_for(struct srcdist_core *core, uint32_t provider, uint32_t target,
                      struct rwf_bytes bytes)
{
    struct rwf_peek peek;

    if (!srcdist_marketfeed_convert(core, provider, target, bytes, &bytes) ||
        rwf_peek(bytes, &peek) != RWF_OK)
        return MD_OK;
    int err = message_for(core, provider, target, &peek, bytes);
    if (err == MD_ERR_FULL)
        srcdist_marketfeed_take_back(core);
    return err;
}

static int take_message(struct srcdist_core *core, uint32_t provider, struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rwf_peek peek;

    if (rwf_peek(bytes, &peek) != RWF_OK) {
        core->stats.decode_errors++;
        return MD_ERR_MALFORMED;
    }
    core->stats.messages_in++;
    if (is_administrative(&peek))
        return administrative(core, provider, bytes);
    uint32_t target = srcdist_streams_find(&p->streams, peek.stream_id);
    if (srcdist_marketfeed_is_for(core, &peek))
        return record_for(core, provider, target, bytes);
    return message_for(core, provider, target, &peek, bytes);
}

int srcdist_provider_message(struct srcdist_core *core, uint64_t now_ns, uint32_t provider,
                             struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    core->now_ns = now_ns;
    if (p->refused_ns != 0 || (p->must_go && p->kind == SRCDIST_NON_INTERACTIVE))
        return MD_OK;
    if (!srcdist_walk_allows(core, p) || !srcdist_pace_allows(core, p))
        return MD_ERR_FULL;
    p->pace.is_held = false;
    int err = take_message(core, provider, bytes);
    if (p->pace.cost_ns != 0 && err != MD_ERR_FULL)
        srcdist_pace_charge(core, p);
    return err;
}
