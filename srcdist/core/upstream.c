/* upstream.c - what an item has at its provider: a place in the window, a request, a stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "upstream.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "item.h"
#include "itemkey/itemkey.h"
#include "pending.h"
#include "provider.h"
#include "request_data.h"
#include "uplink.h"

#define SECOND_NS      1000000000ull
#define BACKOFF_MAX    5                /* 1, 2, 4, 8, 16, then 30 s */
#define WALK_STEPS     4096u            /* for one item; then its stream ends */
#define WALK_STEPS_NOW 65536u           /* for all items of one turn */
#define ANSWER_NS      (10 * SECOND_NS) /* silence of a provider before consumers get a status */

void srcdist_item_uncount(struct srcdist_core *core, struct srcdist_item *it)
{
    if (!it->is_counted)
        return;
    it->is_counted = false;
    core->providers[it->provider].outstanding--;
}

void srcdist_item_leave_offer(struct srcdist_core *core, struct srcdist_item *it)
{
    if (!it->is_in_offer)
        return;
    it->is_in_offer = false;
    struct srcdist_offer *offer =
        srcdist_provider_offer(&core->providers[it->provider], it->service);
    if (offer && offer->open_count > 0)
        offer->open_count--;
}

static void enter_offer(struct srcdist_core *core, struct srcdist_item *it, uint32_t provider)
{
    struct srcdist_offer *offer = srcdist_provider_offer(&core->providers[provider], it->service);

    srcdist_item_leave_offer(core, it);
    it->is_in_offer = offer != NULL;
    if (offer)
        offer->open_count++;
}

/* ---- closing ---- */

static int send_close(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                      uint8_t domain)
{
    struct rwf_encoder enc;

    srcdist_encoder(core, &enc);
    omm_close_encode(&enc, stream_id, domain);
    int err = srcdist_provider_send(core, provider, &enc);
    core->stats.closes_out += err == MD_OK;
    return err;
}

/* A lost CLOSE would leave the stream open at the provider for good, so it is sent later.
 * Without memory to keep it the connection ends, and all its streams with it. */
static void owe_close(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                      uint8_t domain)
{
    struct srcdist_provider *p = &core->providers[provider];

    if (p->close_count == p->close_room) {
        uint32_t room = p->close_room ? p->close_room * 2 : 256;
        struct srcdist_owed_close *closes = realloc(p->closes, room * sizeof(*closes));
        if (!closes) {
            srcdist_provider_drop(core, provider, "no memory for a CLOSE that it must be sent");
            return;
        }
        p->closes = closes;
        p->close_room = room;
    }
    p->closes[p->close_count++] =
        (struct srcdist_owed_close){ .stream_id = stream_id, .domain = domain };
}

void srcdist_stream_close(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                          uint8_t domain)
{
    struct srcdist_provider *p = &core->providers[provider];

    if (p->kind != SRCDIST_INTERACTIVE)
        return;
    if (p->close_count > 0 || send_close(core, provider, stream_id, domain) == MD_ERR_FULL)
        owe_close(core, provider, stream_id, domain);
}

/* False: the connection is full, some CLOSEs still wait. */
static bool pay_closes(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = &core->providers[provider];
    uint32_t done = 0;

    while (done < p->close_count && send_close(core, provider, p->closes[done].stream_id,
                                               p->closes[done].domain) != MD_ERR_FULL)
        done++;
    p->close_count -= done;
    if (done)
        memmove(p->closes, p->closes + done, p->close_count * sizeof(*p->closes));
    return p->close_count == 0;
}

static void tell_close(struct srcdist_core *core, uint32_t item)
{
    const struct srcdist_item *it = &core->items[item];
    struct rrmp_source_item info;

    if (rrmp_source_item_info(core->source, item, &info))
        srcdist_stream_close(core, it->provider, it->stream_id,
                             info.key.length ? info.key.bytes[0] : 0);
}

void srcdist_item_ended(struct srcdist_core *core, uint32_t item)
{
    if (core->items[item].is_reissued)
        tell_close(core, item);
}

/* Another item of the provider on the stream, or SRCDIST_NONE. Its items follow each other as a
 * rule, so the walk is short; a provider that mixes them makes it give up, not wait. */
static uint32_t other_on_stream(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                                uint32_t item)
{
    if (core->walk_ns != core->now_ns) {
        core->walk_ns = core->now_ns;
        core->walk_left = WALK_STEPS_NOW;
    }
    for (uint32_t n = 1; n < core->item_room && n <= WALK_STEPS && core->walk_left > 0; n++) {
        uint32_t other = (item + n) % core->item_room;

        core->walk_left--;
        if (core->items[other].provider == provider && core->items[other].stream_id == stream_id)
            return other;
    }
    return SRCDIST_NONE;
}

void srcdist_item_give_stream(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                              uint32_t item)
{
    struct srcdist_provider *p = &core->providers[provider];
    uint32_t other = SRCDIST_NONE;

    if (srcdist_streams_find(&p->streams, stream_id) != item)
        return;
    if (core->items[item].shares_stream && !p->must_go)
        other = other_on_stream(core, provider, stream_id, item);
    if (other == SRCDIST_NONE || srcdist_streams_put(&p->streams, stream_id, other) != MD_OK)
        srcdist_streams_give(&p->streams, stream_id);
}

void srcdist_item_detach(struct srcdist_core *core, uint32_t item, bool tell)
{
    struct srcdist_item *it = &core->items[item];

    srcdist_item_uncount(core, it);
    srcdist_item_leave_offer(core, it);
    if (it->provider != SRCDIST_NONE &&
        core->providers[it->provider].kind == SRCDIST_NON_INTERACTIVE)
        core->providers[it->provider].item_count--;
    if (it->stream_id != 0 && it->provider != SRCDIST_NONE) {
        if (tell)
            tell_close(core, item);
        srcdist_item_give_stream(core, it->provider, it->stream_id, item);
    }
    it->stream_id = 0;
    it->provider = SRCDIST_NONE;
    it->is_asked = false;
    it->is_reissued = false;
    it->is_in_parts = false;
    it->shares_stream = false;
}

/* ---- asking ---- */

bool srcdist_item_upstream_key(struct srcdist_core *core, uint32_t item, uint32_t provider,
                               uint8_t *domain, struct rwf_key *key, struct rwf_qos *qos)
{
    struct srcdist_item *it = &core->items[item];
    struct rrmp_source_item info;
    struct srcdist_offer *offer =
        srcdist_provider_offer(srcdist_provider_at(core, provider), it->service);

    if (!offer || !rrmp_source_item_info(core->source, item, &info) ||
        itemkey_decode(info.key.bytes, info.key.length, domain, key, qos) != RWF_OK)
        return false;
    key->flags |= RWF_KEY_HAS_SERVICE_ID;
    key->service_id = offer->provider_id;
    return true;
}

int srcdist_request_send(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                         struct rrmp_view key, uint16_t service, bool is_streaming, bool is_private,
                         struct rrmp_view message)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    const struct srcdist_offer *offer = srcdist_provider_offer(p, service);
    struct rwf_encoder enc;
    struct omm_item_request request = {
        .stream_id = stream_id,
        .is_streaming = is_streaming,
        .is_private = is_private,
        .has_priority = !is_private,
        .priority_class = 1,
        .priority_count = 1,
        .has_qos = !is_private,
        .container = RWF_TYPE_NO_DATA,
    };

    if (!offer || itemkey_decode(key.bytes, key.length, &request.domain, &request.key,
                                 &request.qos) != RWF_OK)
        return MD_ERR_NOT_FOUND;
    request.key.flags |= RWF_KEY_HAS_SERVICE_ID;
    request.key.service_id = offer->provider_id;
    srcdist_request_data_read(message, &request);
    srcdist_uplink_view(core, provider, &request);
    srcdist_encoder(core, &enc);
    omm_item_request_encode(&enc, &request);
    return srcdist_provider_send(core, provider, &enc);
}

/* Sends the request; MD_ERR_FULL: the connection takes no more now. */
static int ask(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];
    struct srcdist_provider *p = srcdist_provider_at(core, it->provider);
    struct rrmp_source_item info;

    if (!rrmp_source_item_info(core->source, item, &info))
        return MD_ERR_NOT_FOUND;
    int32_t stream_id = srcdist_streams_take(&p->streams, item);
    if (stream_id == 0)
        return MD_ERR_NOMEM;
    struct rrmp_view message = { .bytes = NULL, .length = 0 };
    if (it->is_private)
        message = srcdist_request_data_of(core, item);
    int err = srcdist_request_send(core, it->provider, stream_id, info.key, it->service, true,
                                   it->is_private, message);
    if (err != MD_OK) {
        srcdist_streams_give(&p->streams, stream_id);
        return err;
    }
    if (it->is_private)
        srcdist_request_data_give(core, item);
    it->stream_id = stream_id;
    srcdist_item_set_state(core, it, SRCDIST_ITEM_OPENING);
    it->is_asked = true;
    it->is_counted = true;
    it->due_ns = core->now_ns + ANSWER_NS;
    p->outstanding++;
    core->stats.requests_out++;
    return MD_OK;
}

int srcdist_item_reissue(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];
    struct rrmp_source_item info;

    if (it->is_asked)
        return MD_OK; /* one is under way */
    if (core->providers[it->provider].kind == SRCDIST_NON_INTERACTIVE)
        return MD_ERR_UNSUPPORTED; /* its next refresh is the image */
    if (!rrmp_source_item_info(core->source, item, &info))
        return MD_ERR_NOT_FOUND;
    int err =
        srcdist_request_send(core, it->provider, it->stream_id, info.key, it->service, true,
                             it->is_private, (struct rrmp_view){ .bytes = NULL, .length = 0 });
    if (err == MD_OK) {
        it->is_asked = true;
        it->is_reissued = true;
        it->due_ns = core->now_ns + ANSWER_NS;
        core->stats.reissues_out++;
    } else {
        it->due_ns = core->now_ns; /* no room: the sweep tries again */
    }
    return err;
}

void srcdist_item_backoff(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];
    uint64_t wait_s = it->backoff >= BACKOFF_MAX ? 30 : 1ull << it->backoff;

    srcdist_item_ended(core, item);
    srcdist_item_detach(core, item, false);
    if (it->backoff < BACKOFF_MAX)
        it->backoff++;
    srcdist_item_set_state(core, it, SRCDIST_ITEM_BACKOFF);
    it->due_ns = core->now_ns + wait_s * SECOND_NS;
}

/* ---- the window of a provider ---- */

static uint32_t window_of(const struct srcdist_core *core, const struct srcdist_provider *p)
{
    return p->open_window != UINT32_MAX ? p->open_window : core->config.open_window;
}

bool srcdist_provider_has_room(const struct srcdist_core *core, uint32_t provider)
{
    const struct srcdist_provider *p = &core->providers[provider];

    return p->outstanding < window_of(core, p);
}

static enum srcdist_pending_class class_of(const struct srcdist_item *it)
{
    if (!it->is_active)
        return SRCDIST_PENDING_STANDBY;
    return it->had_image || it->is_recovery ? SRCDIST_PENDING_RECOVERY : SRCDIST_PENDING_NEW;
}

int srcdist_item_enqueue(struct srcdist_core *core, uint32_t item, uint32_t provider)
{
    struct srcdist_item *it = &core->items[item];
    int err = srcdist_pending_put(core, provider, class_of(it), item);

    if (err != MD_OK)
        return err;
    enter_offer(core, it, provider);
    it->provider = provider;
    srcdist_item_set_state(core, it, SRCDIST_ITEM_PENDING);
    return MD_OK;
}

void srcdist_items_pump(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    enum srcdist_pending_class class;
    uint32_t item;

    /* Send CLOSEs before requests: a request may take the id of a stream that is being closed. */
    if (p->close_count > 0 && !pay_closes(core, provider))
        return;
    while (srcdist_provider_has_room(core, provider) &&
           srcdist_pending_next(core, provider, &class, &item)) {
        int err = ask(core, item);
        if (err == MD_ERR_FULL)
            return; /* the next tick tries again */
        srcdist_pending_take(p, class);
        if (err != MD_OK)
            srcdist_item_backoff(core, item);
    }
}

void srcdist_item_answered(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];

    srcdist_item_uncount(core, it);
    it->is_asked = false;
    it->backoff = 0;
    if (it->state == SRCDIST_ITEM_OPENING) {
        srcdist_item_set_state(core, it, SRCDIST_ITEM_OPEN);
    }
    if (it->provider != SRCDIST_NONE)
        srcdist_items_pump(core, it->provider);
}
