/* item.c - items upstream: wanted, queued, asked, open, lost, asked again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "itemkey/itemkey.h"
#include "private.h"

#define SECOND_NS      1000000000ull
#define ANSWER_NS      (10 * SECOND_NS) /* silence of a provider before consumers are told */
#define ANSWER_MORE_NS (30 * SECOND_NS)
#define BACKOFF_MAX    5 /* 1, 2, 4, 8, 16, then 30 s */
#define SWEEP_ITEMS    65536
#define ITEMS_STEP     8 /* the table grows by an eighth */

struct srcdist_item *srcdist_item_at(struct srcdist_core *core, uint32_t item)
{
    return item < core->item_room && core->items[item].state != SRCDIST_ITEM_FREE
               ? &core->items[item]
               : NULL;
}

struct srcdist_item *srcdist_item_make(struct srcdist_core *core, uint32_t item)
{
    if (item >= core->item_room) {
        uint32_t room = core->item_room ? core->item_room : 1024;
        while (room <= item)
            room += room / ITEMS_STEP;
        struct srcdist_item *items = realloc(core->items, room * sizeof(*items));
        if (!items)
            return NULL;
        memset(items + core->item_room, 0, (room - core->item_room) * sizeof(*items));
        core->items = items;
        core->item_room = room;
    }
    struct srcdist_item *it = &core->items[item];
    if (it->state == SRCDIST_ITEM_FREE) {
        *it = (struct srcdist_item){
            .state = SRCDIST_ITEM_WAITING,
            .provider = SRCDIST_NONE,
        };
        core->stats.items_now++;
    }
    return it;
}

/* ---- the upstream stream ---- */

static void uncount(struct srcdist_core *core, struct srcdist_item *it)
{
    if (!it->is_counted)
        return;
    it->is_counted = false;
    core->providers[it->provider].outstanding--;
}

/* Items at a provider are counted against the OpenLimit of its service. */
static void leave_offer(struct srcdist_core *core, struct srcdist_item *it)
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

    leave_offer(core, it);
    it->is_in_offer = offer != NULL;
    if (offer)
        offer->open_count++;
}

static int send_close(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                      uint8_t domain)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, core->scratch, sizeof(core->scratch));
    omm_close_encode(&enc, stream_id, domain);
    int err = srcdist_provider_send(core, provider, &enc);
    core->stats.closes_out += err == MD_OK;
    return err;
}

/* A CLOSE that is lost would leave the stream open there for good: it is sent when there is room.
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

/* False while some are still owed. */
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

/* A stream id that items share may be another's by now. */
static void give_stream(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                        uint32_t item)
{
    struct srcdist_streams *streams = &core->providers[provider].streams;

    if (srcdist_streams_find(streams, stream_id) == item)
        srcdist_streams_give(streams, stream_id);
}

/* Ends what the item has at its provider; `tell`: with a CLOSE. */
static void detach(struct srcdist_core *core, uint32_t item, bool tell)
{
    struct srcdist_item *it = &core->items[item];

    uncount(core, it);
    leave_offer(core, it);
    if (it->stream_id != 0 && it->provider != SRCDIST_NONE) {
        if (tell)
            tell_close(core, item);
        give_stream(core, it->provider, it->stream_id, item);
    }
    if (it->state == SRCDIST_ITEM_OPEN)
        core->stats.open_now--;
    it->stream_id = 0;
    it->provider = SRCDIST_NONE;
    it->is_asked = false;
    it->is_reissued = false;
    it->is_in_parts = false;
}

void srcdist_item_forget(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = srcdist_item_at(core, item);

    if (!it)
        return;
    if (it->had_asks)
        srcdist_asks_of_gone(core, item);
    detach(core, item, true);
    srcdist_item_set_active(core, it, false);
    srcdist_stage_forget(&core->chain, item);
    cache_image_free(core->cache, it->image);
    *it = (struct srcdist_item){ .provider = SRCDIST_NONE };
    core->stats.items_now--;
}

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
                         struct rrmp_view key, uint16_t service, bool is_streaming, bool is_private)
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
    rwf_encoder_init(&enc, core->scratch, sizeof(core->scratch));
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
    int err = srcdist_request_send(core, it->provider, stream_id, info.key, it->service, true,
                                   it->is_private);
    if (err != MD_OK) {
        srcdist_streams_give(&p->streams, stream_id);
        return err;
    }
    it->stream_id = stream_id;
    it->state = SRCDIST_ITEM_OPENING;
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
    if (!rrmp_source_item_info(core->source, item, &info))
        return MD_ERR_NOT_FOUND;
    int err = srcdist_request_send(core, it->provider, it->stream_id, info.key, it->service, true,
                                   it->is_private);
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

static int enqueue(struct srcdist_core *core, uint32_t item, uint32_t provider)
{
    struct srcdist_item *it = &core->items[item];
    int err = srcdist_pending_put(srcdist_provider_at(core, provider), class_of(it), item);

    if (err != MD_OK)
        return err;
    enter_offer(core, it, provider);
    it->provider = provider;
    it->state = SRCDIST_ITEM_PENDING;
    core->stats.pending_now++;
    return MD_OK;
}

void srcdist_items_pump(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    enum srcdist_pending_class class;
    uint32_t item;

    /* Before requests: one of them may take the id of a stream that is being closed. */
    if (p->close_count > 0 && !pay_closes(core, provider))
        return;
    while (srcdist_provider_has_room(core, provider) && srcdist_pending_next(p, &class, &item)) {
        struct srcdist_item *it = &core->items[item];
        bool is_there = it->state == SRCDIST_ITEM_PENDING && it->provider == provider;

        if (is_there) {
            int err = ask(core, item);
            if (err == MD_ERR_FULL)
                return; /* when the connection has room again */
            if (err != MD_OK)
                it->state = SRCDIST_ITEM_WAITING;
        }
        srcdist_pending_drop(p, class, is_there);
        core->stats.pending_now--;
    }
}

/* ---- placing ---- */

/* The item ends, in all who have it or wait for it. */
static void end_item(struct srcdist_core *core, uint32_t item, uint8_t scope, uint8_t code,
                     const char *text)
{
    struct rrmp_source_item info;
    struct rwf_encoder enc;
    struct omm_status status = {
        .state = {
            .stream_state = RWF_STREAM_CLOSED,
            .data_state = RWF_DATA_SUSPECT,
            .code = code,
            .text = rwf_text(text),
        },
    };
    struct rrmp_ending ending = {
        .state = RWF_STREAM_CLOSED << 3 | RWF_DATA_SUSPECT,
        .code = code,
        .scope = scope,
        .text = srcdist_view(status.state.text),
    };

    if (rrmp_source_item_info(core->source, item, &info) && info.key.length)
        status.domain = info.key.bytes[0];
    srcdist_item_forget(core, item);
    rwf_encoder_init(&enc, core->scratch, sizeof(core->scratch));
    if (omm_status_encode(&enc, &status) == RWF_OK)
        ending.message = srcdist_view(rwf_encoder_bytes(&enc));
    rrmp_source_item_close(core->source, core->now_ns, item, &ending);
}

static void place(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];
    uint32_t provider = srcdist_service_provider(core, it->service);

    if (provider == SRCDIST_NONE || core->services[it->service].is_broadcast) {
        it->state = SRCDIST_ITEM_WAITING;
        return;
    }
    leave_offer(core, it); /* a place it had and could not use */
    provider = srcdist_service_provider_with_room(core, it->service);
    if (provider == SRCDIST_NONE) {
        end_item(core, item, RRMP_REFUSE_NOT_HERE, RWF_CODE_TOO_MANY_ITEMS,
                 "The source has as many items open as its OpenLimit allows");
        return;
    }
    if (enqueue(core, item, provider) == MD_OK)
        srcdist_items_pump(core, provider);
    else
        it->state = SRCDIST_ITEM_WAITING;
}

/* One that lingers is asked for by nobody: a provider that returns is not asked for it either. */
static bool is_wanted(const struct srcdist_core *core, uint32_t item)
{
    struct rrmp_source_item info;

    return rrmp_source_item_info(core->source, item, &info) &&
           (info.requester_count > 0 || info.is_kept || info.is_private);
}

void srcdist_items_place(struct srcdist_core *core, uint32_t service)
{
    for (uint32_t i = 0; i < core->item_room; i++) {
        if (core->items[i].state == SRCDIST_ITEM_WAITING && core->items[i].service == service &&
            is_wanted(core, i))
            place(core, i);
    }
}

void srcdist_item_backoff(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];
    uint64_t wait_s = it->backoff >= BACKOFF_MAX ? 30 : 1ull << it->backoff;

    srcdist_item_ended(core, item);
    detach(core, item, false);
    it->is_told = true;
    if (it->backoff < BACKOFF_MAX)
        it->backoff++;
    it->state = SRCDIST_ITEM_BACKOFF;
    it->due_ns = core->now_ns + wait_s * SECOND_NS;
}

void srcdist_item_answered(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];

    uncount(core, it);
    it->is_asked = false;
    it->backoff = 0;
    if (it->state == SRCDIST_ITEM_OPENING) {
        it->state = SRCDIST_ITEM_OPEN;
        core->stats.open_now++;
    }
    if (it->provider != SRCDIST_NONE)
        srcdist_items_pump(core, it->provider);
}

static bool has_items_elsewhere(const struct srcdist_core *core, uint32_t provider,
                                uint32_t service)
{
    for (uint32_t i = 0; i < core->item_room; i++) {
        const struct srcdist_item *it = &core->items[i];
        if (it->state == SRCDIST_ITEM_OPEN && it->service == service && it->provider != provider)
            return true;
    }
    return false;
}

/* Every item of the provider is in one of its groups: those of other providers hear nothing. */
static void tell_groups(struct srcdist_core *core, uint32_t provider, uint32_t service,
                        const struct rwf_state *state)
{
    const struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct rrmp_group status = {
        .merged_into = RRMP_GROUP_NONE,
        .state = (uint8_t)(state->stream_state << 3 | state->data_state),
        .code = state->code,
        .text = srcdist_view(state->text),
    };

    for (uint32_t i = 0; i < p->group_count && core->services[service].is_offered; i++) {
        status.group = p->groups[i].number;
        rrmp_source_group_status(core->source, core->services[service].svc, &status);
    }
}

/* The provider no longer serves this service to us: its items are suspect until somebody does. */
void srcdist_items_orphaned(struct srcdist_core *core, uint32_t provider, uint32_t service)
{
    struct rwf_state state = {
        .stream_state = RWF_STREAM_OPEN,
        .data_state = RWF_DATA_SUSPECT,
        .text = rwf_text("The connection to the source was lost"),
    };
    bool is_shared = has_items_elsewhere(core, provider, service);
    bool any = false;

    for (uint32_t i = 0; i < core->item_room; i++) {
        struct srcdist_item *it = &core->items[i];

        if (it->state == SRCDIST_ITEM_FREE || it->provider != provider || it->service != service)
            continue;
        any = true;
        if (it->image)
            cache_image_set_state(it->image, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE);
        if (it->is_private) {
            srcdist_item_end_private(core, i);
            continue;
        }
        detach(core, i, core->providers[provider].must_go ? false : true);
        it->is_told = true;
        it->must_republish = core->services[service].is_broadcast;
        it->due_ns = core->now_ns + core->config.republish_ns;
        it->state = SRCDIST_ITEM_WAITING; /* a place in that provider's queue is passed over */
    }
    if (any && is_shared)
        tell_groups(core, provider, service, &state);
    else if (any)
        srcdist_service_status(core, service, &state);
    srcdist_items_place(core, service);
}

static bool is_in_group(const struct srcdist_core *core, uint32_t item, uint16_t group)
{
    struct rrmp_source_item info;

    return group == RRMP_GROUP_NONE ||
           (rrmp_source_item_info(core->source, item, &info) && info.group == group);
}

void srcdist_items_cut(struct srcdist_core *core, uint32_t provider, uint32_t service,
                       uint16_t group)
{
    for (uint32_t i = 0; i < core->item_room; i++) {
        struct srcdist_item *it = &core->items[i];

        if (it->state != SRCDIST_ITEM_OPEN || it->provider != provider || it->service != service ||
            !is_in_group(core, i, group))
            continue;
        detach(core, i, true); /* who believes it open would refuse the key */
        if (it->is_private) {
            srcdist_item_end_private(core, i);
            continue;
        }
        if (it->image)
            cache_image_set_state(it->image, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE);
        it->is_told = true;
        it->must_republish = core->services[service].is_broadcast;
        it->due_ns = core->now_ns + core->config.republish_ns;
        it->state = SRCDIST_ITEM_WAITING;
    }
    srcdist_items_place(core, service);
}

/* A private stream is not recovered: its owner is told that it has ended. */
void srcdist_item_end_private(struct srcdist_core *core, uint32_t item)
{
    struct rrmp_ending ending = {
        .state = RWF_STREAM_CLOSED_RECOVER << 3 | RWF_DATA_SUSPECT,
        .code = RWF_CODE_NONE,
        .scope = RRMP_REFUSE_FINAL,
        .text = srcdist_view(rwf_text("The connection to the source was lost")),
    };

    srcdist_item_forget(core, item);
    rrmp_source_item_close(core->source, core->now_ns, item, &ending);
}

/* ---- non-interactive providers ---- */

int srcdist_item_published(struct srcdist_core *core, uint32_t provider, uint32_t item,
                           uint16_t service, const struct rwf_peek *peek, struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct srcdist_item *it = srcdist_item_make(core, item);

    if (!it)
        return MD_ERR_NOMEM;
    if (it->provider != SRCDIST_NONE && it->provider != provider)
        return MD_OK; /* the first provider feeds it while it lives */
    if (it->stream_id != 0 && it->stream_id != peek->stream_id)
        give_stream(core, provider, it->stream_id, item); /* the newer stream replaces the older */
    int err = srcdist_streams_put(&p->streams, peek->stream_id, item);
    if (err != MD_OK)
        return err;
    if (it->state != SRCDIST_ITEM_OPEN)
        core->stats.open_now++;
    it->state = SRCDIST_ITEM_OPEN;
    it->provider = provider;
    it->service = service;
    it->stream_id = peek->stream_id;
    it->must_republish = false;
    return srcdist_publish_message(core, provider, item, peek, bytes);
}

/* ---- events of the source engine ---- */

static void wanted(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    uint32_t service = srcdist_service_find(core, event->svc);
    bool is_known = srcdist_item_at(core, event->item) != NULL;
    struct srcdist_item *it = srcdist_item_make(core, event->item);

    if (!it || service == SRCDIST_NONE)
        return;
    it->service = (uint16_t)service;
    it->is_private = event->is_private;
    it->is_image_due = true;
    it->is_recovery = event->is_recovery;
    srcdist_item_set_active(core, it, event->flag);
    if (core->services[service].is_broadcast) {
        if (!is_known)
            it->due_ns = core->now_ns; /* refused or awaited by the sweep */
        it->is_awaited = false;
        if (cache_image_is_valid(it->image))
            srcdist_publish_queue_image(core, event->item);
        return;
    }
    if (!is_known || it->state == SRCDIST_ITEM_WAITING)
        place(core, event->item);
    else if (it->state == SRCDIST_ITEM_OPEN)
        srcdist_item_image(core, event->item);
}

void srcdist_item_image(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = srcdist_item_at(core, item);

    if (!it)
        return;
    it->is_image_due = true;
    if (cache_image_is_valid(it->image) && !it->is_in_parts)
        srcdist_publish_queue_image(core, item);
    else if (it->state == SRCDIST_ITEM_OPEN && !core->services[it->service].is_broadcast &&
             !it->is_in_parts)
        srcdist_item_reissue(core, item);
}

static void unwanted(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    struct srcdist_item *it = srcdist_item_at(core, event->item);

    if (it && core->services[it->service].is_broadcast && it->provider != SRCDIST_NONE) {
        srcdist_item_set_active(core, it, false); /* its provider goes on publishing it */
        return;
    }
    srcdist_item_forget(core, event->item);
}

/* It may have lingered while its provider went and came back: nobody asked for it then. */
static void became_active(struct srcdist_core *core, uint32_t item, bool is_active)
{
    struct srcdist_item *it = &core->items[item];

    srcdist_item_set_active(core, it, is_active);
    if (is_active && it->state == SRCDIST_ITEM_WAITING && !core->services[it->service].is_broadcast)
        place(core, item);
}

void srcdist_item_event(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    struct srcdist_item *it;

    switch (event->kind) {
    case RRMP_SOURCE_WANTED:
        wanted(core, event);
        break;
    case RRMP_SOURCE_UNWANTED:
        unwanted(core, event);
        break;
    case RRMP_SOURCE_IMAGE_WANTED:
        srcdist_item_image(core, event->item);
        break;
    case RRMP_SOURCE_ACTIVE:
        it = srcdist_item_at(core, event->item);
        if (it)
            became_active(core, event->item, event->flag);
        break;
    case RRMP_SOURCE_PRIORITY:
        break; /* providers are asked with a constant priority */
    case RRMP_SOURCE_SNAPSHOT:
    case RRMP_SOURCE_DICTIONARY:
        srcdist_ask_event(core, event);
        break;
    case RRMP_SOURCE_ASK_GONE:
        srcdist_ask_gone(core, event->ask);
        break;
    case RRMP_SOURCE_POST:
        srcdist_post_event(core, event);
        break;
    case RRMP_SOURCE_GENERIC:
        srcdist_generic_event(core, event);
        break;
    }
}

/* ---- time ---- */

/* An item of a broadcast service that nobody publishes: awaited for a while, then not found. */
static void sweep_unpublished(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];
    struct rrmp_ending ending = {
        .state = RWF_STREAM_CLOSED << 3 | RWF_DATA_SUSPECT,
        .code = RWF_CODE_NOT_FOUND,
        .scope = RRMP_REFUSE_FINAL,
        .text = srcdist_view(rwf_text("The source does not publish this item")),
    };

    if (!core->services[it->service].is_up)
        return;
    if (it->must_republish) {
        ending.state = RWF_STREAM_CLOSED_RECOVER << 3 | RWF_DATA_SUSPECT;
        ending.code = RWF_CODE_NONE;
        ending.text = srcdist_view(rwf_text("The source did not publish this item again"));
    } else if (srcdist_service_in_grace(core, it->service)) {
        if (!it->is_awaited &&
            srcdist_publish_state(core, item, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                                  "Waiting for the source to publish the item") == MD_OK)
            it->is_awaited = true;
        it->due_ns = core->now_ns + SECOND_NS;
        return;
    }
    srcdist_item_forget(core, item);
    rrmp_source_item_close(core->source, core->now_ns, item, &ending);
}

static void sweep_item(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];

    if (core->now_ns < it->due_ns)
        return;
    switch ((enum srcdist_item_state)it->state) {
    case SRCDIST_ITEM_BACKOFF:
        it->state = SRCDIST_ITEM_WAITING;
        place(core, item);
        break;
    case SRCDIST_ITEM_OPENING:
        srcdist_publish_state(core, item, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_TIMEOUT,
                              "The source has not answered yet");
        if (it->provider != SRCDIST_NONE)
            core->providers[it->provider].manners.unanswered++;
        it->due_ns = core->now_ns + ANSWER_MORE_NS;
        uncount(core, it); /* it no longer holds up others */
        break;
    case SRCDIST_ITEM_OPEN:
        /* A re-issue that found no room or was not answered: made again if still due. */
        it->is_asked = false;
        it->due_ns = UINT64_MAX;
        if (it->is_image_due)
            srcdist_item_image(core, item);
        break;
    case SRCDIST_ITEM_WAITING:
        if (core->services[it->service].is_broadcast)
            sweep_unpublished(core, item);
        break;
    case SRCDIST_ITEM_PENDING:
    case SRCDIST_ITEM_FREE:
        break;
    }
}

void srcdist_items_tick(struct srcdist_core *core)
{
    uint32_t end = core->sweep_item + SWEEP_ITEMS;

    for (; core->sweep_item < core->item_room && core->sweep_item < end; core->sweep_item++) {
        if (core->items[core->sweep_item].state != SRCDIST_ITEM_FREE)
            sweep_item(core, core->sweep_item);
    }
    if (core->sweep_item >= core->item_room)
        core->sweep_item = 0;
}
