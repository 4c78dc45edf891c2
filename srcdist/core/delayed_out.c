/* delayed_out.c - see delayed_out.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "delayed_out.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "delayed.h"
#include "description.h"
#include "item.h"
#include "item_end.h"
#include "itemkey/itemkey.h"
#include "offer.h"
#include "provider.h"
#include "rrmp/key.h"
#include "service.h"
#include "service_state.h"
#include "tell.h"
#include "turn.h"

#define EVENTS_MAX  256 /* at once */
#define PART_SIZE   60000
#define RETRY_NS    1000000ull
#define PROVIDER_ID 1 /* of its one service */

/* ---- the provider that a line is ---- */

static int hear(void *self, struct rwf_bytes message)
{
    (void)self;
    (void)message; /* refusals and closes: what a line has it goes on saying */
    return MD_OK;
}

static void on_close(void *self, const char *reason)
{
    struct srcdist_delay *d = self;

    (void)reason;
    d->provider = SRCDIST_NONE;
}

/* The same service, of one quality. */
static struct omm_service delayed_info(const struct srcdist_core *core, struct srcdist_delay *d)
{
    const struct srcdist_service *live = &core->services[d->live];
    struct omm_service info = live->info;

    d->live_qos =
        (struct rwf_qos){ .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK };
    if (info.qos_count)
        d->live_qos = info.qos[0];
    d->qos = d->live_qos;
    d->qos.timeliness = RWF_TIMELINESS_DELAYED;
    d->qos.time_info = (uint16_t)(d->config->delay_ns / 1000000000u);
    info.qos[0] = d->qos;
    info.qos_count = 1;
    info.supports_qos_range = false;
    info.id = PROVIDER_ID;
    info.name = rwf_text(d->config->name);
    if (info.capability_count == 0)
        info.capabilities[info.capability_count++] = live->config.data_type;
    return info;
}

static void describe(struct srcdist_core *core, struct srcdist_delay *d,
                     const struct omm_service *info)
{
    struct omm_service unnumbered = *info;

    unnumbered.id = 0; /* serviceId says it, or p2ps makes one of the name */
    srcdist_service_describe(core, d->service, d->provider, &unnumbered);
}

static void come(struct srcdist_core *core, struct srcdist_delay *d)
{
    static const struct srcdist_link link = { .send = hear, .close = on_close };
    struct omm_service info = delayed_info(core, d);

    if (srcdist_provider_add_own(core, d->config->name, &link, d, &d->provider) != MD_OK)
        return;
    struct srcdist_offer *offer = srcdist_offer_add(core, d->provider, &info);
    if (!offer) {
        srcdist_provider_gone(core, core->now_ns, d->provider);
        d->provider = SRCDIST_NONE;
        return;
    }
    d->service = offer->service;
    offer->is_up = true;
    describe(core, d, &info);
    srcdist_service_refresh_state(core, d->service);
    delay_show_again(d->line);
}

static void follow(struct srcdist_core *core, struct srcdist_delay *d)
{
    const struct srcdist_service *live = d->live == SRCDIST_NONE ? NULL : &core->services[d->live];
    bool is_up = live && live->is_offered && live->is_up;

    if (is_up && d->provider == SRCDIST_NONE) {
        come(core, d);
    } else if (!is_up && d->provider != SRCDIST_NONE) {
        srcdist_provider_gone(core, core->now_ns, d->provider);
        d->provider = SRCDIST_NONE;
    } else if (is_up) {
        struct omm_service info = delayed_info(core, d);
        if (!srcdist_service_is_described(core, d->service, &info)) {
            describe(core, d, &info);
            srcdist_service_announce(core, d->service);
        }
    }
}

/* ---- messages ---- */

static int32_t stream_of(uint32_t item)
{
    return -(int32_t)item - 1;
}

/* A refresh with the key and the quality of the delayed item, in d->bytes. */
static struct rwf_bytes refresh_of(struct srcdist_delay *d, const struct delay_event *event,
                                   struct rwf_bytes bytes)
{
    uint8_t key[RRMP_KEY_SIZE_MAX];
    struct rwf_encoder enc;
    struct rwf_msg msg;
    struct rwf_qos qos;
    uint8_t domain;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK || event->key.length > sizeof(key) ||
        itemkey_decode(event->key.data, event->key.length, &domain, &msg.key, &qos) != RWF_OK)
        return rwf_bytes(NULL, 0);
    msg.stream_id = stream_of(event->item);
    msg.flags |= RWF_REFRESH_HAS_KEY | RWF_REFRESH_HAS_QOS;
    msg.flags = (uint16_t)(msg.flags & ~RWF_REFRESH_SOLICITED);
    msg.key.flags |= RWF_KEY_HAS_SERVICE_ID;
    msg.key.service_id = PROVIDER_ID;
    msg.qos = d->qos;
    rwf_encoder_init(&enc, d->bytes, d->size);
    if (rwf_msg_encode(&enc, &msg) != RWF_OK)
        return rwf_bytes(NULL, 0);
    return rwf_encoder_bytes(&enc);
}

static int say(struct srcdist_core *core, const struct srcdist_delay *d, struct rwf_bytes message)
{
    if (message.length == 0)
        return MD_OK;
    return srcdist_provider_message(core, core->now_ns, d->provider, message);
}

static int say_message(struct srcdist_core *core, struct srcdist_delay *d,
                       const struct delay_event *event)
{
    if (event->is == DELAY_REFRESH || event->is == DELAY_IMAGE)
        return say(core, d, refresh_of(d, event, event->message));
    if (event->message.length > d->size)
        return MD_OK;
    memcpy(d->bytes, event->message.data, event->message.length);
    rwf_patch_stream_id(d->bytes, stream_of(event->item));
    return say(core, d, rwf_bytes(d->bytes, event->message.length));
}

/* One that found no room in the middle begins again. */
static int say_image(struct srcdist_core *core, struct srcdist_delay *d,
                     const struct delay_event *event)
{
    struct cache_cursor cursor = { 0 };
    bool is_last = false;
    int err = MD_OK;

    while (err == MD_OK && !is_last) {
        size_t length;

        err = delay_image_part(d->line, event->item, &cursor, core->part, PART_SIZE, &length,
                               &is_last);
        if (err == MD_ERR_FULL)
            err = delay_image_part(d->line, event->item, &cursor, core->part, core->part_size,
                                   &length, &is_last);
        if (err != MD_OK)
            return MD_OK; /* it cannot be given out */
        err = say(core, d, refresh_of(d, event, rwf_bytes(core->part, length)));
    }
    return err;
}

static int say_state(struct srcdist_core *core, struct srcdist_delay *d,
                     const struct delay_event *event, uint8_t stream_state, const char *text)
{
    struct rwf_encoder enc;
    struct omm_status status = {
        .stream_id = stream_of(event->item),
        .domain = event->key.length ? event->key.data[0] : 0,
        .state = omm_state(stream_state, RWF_DATA_SUSPECT, event->code, text),
    };

    rwf_encoder_init(&enc, d->bytes, d->size);
    omm_status_encode(&enc, &status);
    return say(core, d, rwf_encoder_bytes(&enc));
}

/* Consumers may wait for an item that has never had an image. */
static int say_end(struct srcdist_core *core, struct srcdist_delay *d,
                   const struct delay_event *event)
{
    static const char text[] = "The source does not have the item any more";
    struct srcdist_provider *p = srcdist_provider_at(core, d->provider);
    uint8_t bytes[RRMP_KEY_SIZE_MAX];
    uint8_t state =
        event->state == RWF_STREAM_CLOSED ? RWF_STREAM_CLOSED : RWF_STREAM_CLOSED_RECOVER;

    if (srcdist_streams_find(&p->streams, stream_of(event->item)) != SRCDIST_STREAM_NONE)
        return say_state(core, d, event, RWF_STREAM_CLOSED, text);
    struct rwf_bytes key = srcdist_delay_key(srcdist_view(event->key), &d->qos, bytes);
    uint32_t item =
        rrmp_source_item_find(core->source, core->services[d->service].svc, srcdist_view(key));
    if (item != RRMP_ITEM_NONE && srcdist_item_at(core, item))
        srcdist_item_end(core, item,
                         state == RWF_STREAM_CLOSED ? RRMP_REFUSE_FINAL : RRMP_REFUSE_NOT_HERE,
                         event->code, text);
    return MD_OK;
}

static int deliver(struct srcdist_core *core, struct srcdist_delay *d,
                   const struct delay_event *event)
{
    switch (event->kind) {
    case DELAY_EVENT_MESSAGE:
        return say_message(core, d, event);
    case DELAY_EVENT_IMAGE:
        return say_image(core, d, event);
    case DELAY_EVENT_SUSPECT:
        return say_state(core, d, event, RWF_STREAM_OPEN,
                         "Delayed data were lost; an image follows");
    case DELAY_EVENT_END:
        return say_end(core, d, event);
    default:
        return MD_OK;
    }
}

static void pump(struct srcdist_core *core, struct srcdist_delay *d)
{
    struct delay_event event;

    if (d->provider == SRCDIST_NONE || core->now_ns < d->retry_ns)
        return;
    for (unsigned i = 0; i < EVENTS_MAX && d->provider != SRCDIST_NONE; i++) {
        delay_next(d->line, core->now_ns, &event);
        if (event.kind == DELAY_EVENT_NONE)
            return;
        if (deliver(core, d, &event) == MD_ERR_FULL) {
            d->retry_ns = core->now_ns + RETRY_NS;
            return;
        }
        delay_done(d->line, &event);
    }
}

void srcdist_delays_pump(struct srcdist_core *core)
{
    for (unsigned i = 0; i < core->delay_count; i++)
        pump(core, core->delays[i]);
}

/* ---- time ---- */

static void tell_fullness(struct srcdist_core *core, struct srcdist_delay *d)
{
    struct delay_stats stats;

    delay_stats(d->line, &stats);
    if (stats.gaps == d->gaps)
        return;
    d->gaps = stats.gaps;
    srcdist_tell_rarely(core, SRCDIST_TALE_DELAY,
                        "service %s: delayed data are lost (delayBytes is used up, or delayDir "
                        "cannot be written or read): its items are suspect until their next "
                        "images are old enough",
                        d->config->name);
}

void srcdist_delays_tick(struct srcdist_core *core)
{
    for (unsigned i = 0; i < core->delay_count; i++) {
        struct srcdist_delay *d = core->delays[i];

        follow(core, d);
        delay_tick(d->line, core->now_ns);
        tell_fullness(core, d);
    }
}

uint64_t srcdist_delays_deadline(const struct srcdist_core *core)
{
    uint64_t deadline = UINT64_MAX;

    for (unsigned i = 0; i < core->delay_count; i++) {
        const struct srcdist_delay *d = core->delays[i];
        uint64_t due_ns = delay_deadline(d->line, core->now_ns, d->provider != SRCDIST_NONE);

        if (due_ns < d->retry_ns)
            due_ns = d->retry_ns;
        if (due_ns < deadline)
            deadline = due_ns;
    }
    return deadline;
}

void srcdist_delays_count(struct srcdist_core *core)
{
    core->stats.delayed = (struct delay_stats){ 0 };
    core->stats.delayed_behind_us = 0;
    for (unsigned i = 0; i < core->delay_count; i++) {
        struct delay_stats stats;
        uint64_t oldest_ns = delay_oldest(core->delays[i]->line);

        delay_stats(core->delays[i]->line, &stats);
        core->stats.delayed.taken += stats.taken;
        core->stats.delayed.dropped += stats.dropped;
        core->stats.delayed.gaps += stats.gaps;
        core->stats.delayed.chunks_lost += stats.chunks_lost;
        core->stats.delayed.items_now += stats.items_now;
        core->stats.delayed.bytes_now += stats.bytes_now;
        core->stats.delayed.image_bytes_now += stats.image_bytes_now;
        uint64_t behind_us =
            oldest_ns && core->now_ns > oldest_ns ? (core->now_ns - oldest_ns) / 1000 : 0;
        if (behind_us > core->stats.delayed_behind_us)
            core->stats.delayed_behind_us = behind_us;
    }
}
