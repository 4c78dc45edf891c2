/* ask.c - snapshots: asked, answered, given up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

#include <string.h>

#include "base/err.h"
#include "dictionary_table.h"
#include "image.h"
#include "item.h"
#include "provider.h"
#include "rate.h"
#include "service.h"
#include "upstream.h"

#define ASK_NS 15000000000ull

static uint32_t take_ask(struct srcdist_core *core)
{
    uint32_t ask = core->ask_free;

    if (ask == SRCDIST_NONE)
        return SRCDIST_NONE;
    core->ask_free = core->asks[ask].next_free;
    core->asks[ask] = (struct srcdist_ask){
        .is_used = true,
        .item = SRCDIST_NONE,
        .provider = SRCDIST_NONE,
        .due_ns = core->now_ns + ASK_NS,
    };
    core->asks_now++;
    return ask;
}

static void give_ask(struct srcdist_core *core, uint32_t ask)
{
    struct srcdist_ask *a = &core->asks[ask];

    if (a->is_open) {
        srcdist_streams_give(&core->providers[a->provider].streams, a->stream_id);
        core->providers[a->provider].outstanding--;
    }
    *a = (struct srcdist_ask){ .next_free = core->ask_free };
    core->ask_free = ask;
    core->asks_now--;
}

/* The requester is gone or was refused: close the stream at the provider. */
static void abandon_ask(struct srcdist_core *core, uint32_t ask)
{
    const struct srcdist_ask *a = &core->asks[ask];

    if (a->is_open)
        srcdist_stream_close(core, a->provider, a->stream_id, a->domain);
    give_ask(core, ask);
}

static void refuse(struct srcdist_core *core, uint32_t source_ask, uint8_t stream, uint8_t code,
                   uint8_t scope, const char *text)
{
    struct rrmp_ending ending = {
        .state = rwf_state_byte(stream, RWF_DATA_SUSPECT),
        .code = code,
        .scope = scope,
        .wait_ms = 1000,
        .text = srcdist_view(rwf_text(text)),
    };

    rrmp_source_refuse(core->source, source_ask, &ending);
}

/* The requester may ask again. */
static void put_off(struct srcdist_core *core, uint32_t source_ask, uint8_t code, const char *text)
{
    refuse(core, source_ask, RWF_STREAM_CLOSED_RECOVER, code, RRMP_REFUSE_LATER, text);
}

static void end_ask(struct srcdist_core *core, uint32_t ask, uint8_t code, const char *text)
{
    put_off(core, core->asks[ask].source_ask, code, text);
    abandon_ask(core, ask);
}

/* ---- answering ---- */

/* The ring of the backbone is full. */
static void refuse_for_room(struct srcdist_core *core, uint32_t source_ask)
{
    put_off(core, source_ask, RWF_CODE_NO_RESOURCES, "No room for the answer now");
}

static int send_part(struct srcdist_core *core, uint32_t source_ask, const struct rrmp_part *part,
                     struct rwf_bytes message)
{
    uint8_t *room;
    int err = rrmp_source_snapshot_begin(core->source, source_ask, part, message.length, &room);

    if (err != MD_OK)
        return err;
    memcpy(room, message.data, message.length);
    rrmp_source_publish_commit(core->source, message.length);
    core->stats.refresh_out++;
    return MD_OK;
}

static void answer_from_cache(struct srcdist_core *core, uint32_t source_ask, uint32_t item)
{
    const struct cache_image *image = core->items[item].image;
    struct rwf_state state = cache_image_state(image);
    struct cache_cursor cursor = { 0 };
    bool is_first = true;
    bool is_last = false;

    while (!is_last) {
        size_t length;
        if (srcdist_image_part(core, image, &cursor, &length, &is_last) != MD_OK) {
            refuse_for_room(core, source_ask);
            break;
        }
        struct rrmp_part part = {
            .is_first = is_first,
            .is_last = is_last,
            .is_cached = true,
            .is_solicited = true,
            .state = rwf_state_byte(state.stream_state, state.data_state),
            .code = state.code,
        };
        struct rwf_bytes message = srcdist_rate_image(core, item, rwf_bytes(core->part, length));
        if (send_part(core, source_ask, &part, message) != MD_OK) {
            refuse_for_room(core, source_ask);
            break;
        }
        is_first = false;
    }
}

static void ask_upstream(struct srcdist_core *core, const struct rrmp_source_event *event,
                         uint32_t service)
{
    uint32_t provider = srcdist_service_asked(core, service);
    bool has_room = provider != SRCDIST_NONE && srcdist_provider_has_room(core, provider);
    const struct srcdist_offer *offer =
        has_room ? srcdist_provider_offer(srcdist_provider_at(core, provider), (uint16_t)service)
                 : NULL;

    if (offer && offer->counts_snapshots && offer->open_count >= offer->open_limit) {
        refuse(core, event->ask, RWF_STREAM_CLOSED, RWF_CODE_TOO_MANY_ITEMS, RRMP_REFUSE_NOT_HERE,
               "The source has as many items open as its OpenLimit allows");
        return;
    }
    uint32_t ask = has_room ? take_ask(core) : SRCDIST_NONE;
    if (ask == SRCDIST_NONE) {
        put_off(core, event->ask, RWF_CODE_NO_RESOURCES, "No source takes the request now");
        return;
    }
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct srcdist_ask *a = &core->asks[ask];
    a->service = (uint16_t)service;
    a->source_ask = event->ask;
    a->domain = event->key.length ? event->key.bytes[0] : 0;
    a->provider = provider;
    a->fields = event->is_private ? NULL : srcdist_rate_of_key(core, service, event->key);
    a->stream_id = srcdist_streams_take(&p->streams, ask | SRCDIST_STREAM_ASK);
    if (a->stream_id == 0 ||
        srcdist_request_send(core, provider, a->stream_id, event->key, a->service, false,
                             event->is_private, event->message) != MD_OK) {
        srcdist_streams_give(&p->streams, a->stream_id);
        end_ask(core, ask, RWF_CODE_NO_RESOURCES, "The source takes no request now");
        return;
    }
    a->is_open = true;
    p->outstanding++;
    core->stats.requests_out++;
}

/* Re-issues the open stream (or joins a re-issue under way) and copies its image. */
static void snapshot_of_open(struct srcdist_core *core, const struct rrmp_source_event *event,
                             uint32_t service, uint32_t item)
{
    /* The first part of the image has passed already: too late for a copy. */
    bool is_late = core->items[item].is_in_parts;
    uint32_t ask = is_late ? SRCDIST_NONE : take_ask(core);

    if (ask == SRCDIST_NONE) {
        put_off(core, event->ask, RWF_CODE_NO_RESOURCES, "Too many snapshots are under way");
        return;
    }
    core->asks[ask].source_ask = event->ask;
    core->asks[ask].item = item;
    core->asks[ask].service = (uint16_t)service;
    core->items[item].had_asks = true;
    if (srcdist_item_reissue(core, item) != MD_OK)
        end_ask(core, ask, RWF_CODE_NO_RESOURCES, "The source takes no request now");
}

void srcdist_snapshot(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    uint32_t service = srcdist_service_find(core, event->svc);
    uint32_t item = event->item != RRMP_ITEM_NONE
                        ? event->item
                        : rrmp_source_item_find(core->source, event->svc, event->key);
    struct srcdist_item *it = item == RRMP_ITEM_NONE ? NULL : srcdist_item_at(core, item);

    if (service == SRCDIST_NONE) {
        refuse(core, event->ask, RWF_STREAM_CLOSED, RWF_CODE_SOURCE_UNKNOWN, RRMP_REFUSE_NOT_HERE,
               "Unknown service");
    } else if (it && cache_image_is_valid(it->image)) {
        answer_from_cache(core, event->ask, item);
    } else if (core->services[service].config.is_delayed) {
        refuse(core, event->ask, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NONE, RRMP_REFUSE_FINAL,
               "The item has no delayed image: open it, and wait for it");
    } else if (core->services[service].is_broadcast) {
        refuse(core, event->ask, RWF_STREAM_CLOSED, RWF_CODE_NOT_FOUND, RRMP_REFUSE_FINAL,
               "The source does not publish this item");
    } else if (it && it->state == SRCDIST_ITEM_OPEN) {
        snapshot_of_open(core, event, service, item);
    } else {
        ask_upstream(core, event, service);
    }
}

void srcdist_ask_gone(struct srcdist_core *core, uint32_t source_ask)
{
    for (uint32_t i = 0; core->asks_now && i < SRCDIST_ASKS_MAX; i++) {
        if (core->asks[i].is_used && core->asks[i].source_ask == source_ask) {
            abandon_ask(core, i);
            return;
        }
    }
}

int srcdist_ask_message(struct srcdist_core *core, uint32_t ask, const struct rwf_peek *peek,
                        struct rwf_bytes bytes)
{
    struct srcdist_ask *a = &core->asks[ask];
    struct rwf_splice splice = {
        .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_KEY | RWF_SPLICE_GROUP_ID,
    };
    struct rwf_msg msg;
    size_t length;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK)
        return MD_ERR_MALFORMED;
    if (peek->msg_class == RWF_CLASS_STATUS && msg.flags & RWF_STATUS_HAS_STATE &&
        msg.state.stream_state != RWF_STREAM_OPEN) {
        struct rrmp_ending ending = {
            .state = rwf_state_byte(msg.state.stream_state, msg.state.data_state),
            .code = msg.state.code,
            .scope = RRMP_REFUSE_FINAL,
            .text = srcdist_view(msg.state.text),
        };
        rrmp_source_refuse(core->source, a->source_ask, &ending);
        give_ask(core, ask);
        return MD_OK;
    }
    if (peek->msg_class != RWF_CLASS_REFRESH)
        return MD_OK;
    if (rwf_splice(bytes, &splice, core->part, core->part_size, &length) != RWF_OK)
        return MD_OK;
    struct rrmp_part part = {
        .is_first = !a->has_begun,
        .is_last = (msg.flags & RWF_REFRESH_COMPLETE) != 0,
        .is_solicited = true,
        .state = rwf_state_byte(msg.state.stream_state, msg.state.data_state),
        .code = msg.state.code,
    };
    struct rwf_bytes message =
        srcdist_rate_filtered(core, a->fields, rwf_bytes(core->part, length));
    int err = send_part(core, a->source_ask, &part, message);
    if (err == MD_ERR_FULL)
        return err;
    a->has_begun = true;
    if (part.is_last || err != MD_OK)
        give_ask(core, ask);
    return MD_OK;
}

bool srcdist_item_has_asks(const struct srcdist_core *core, uint32_t item)
{
    for (uint32_t i = 0; core->asks_now && i < SRCDIST_ASKS_MAX; i++) {
        if (core->asks[i].is_used && core->asks[i].item == item)
            return true;
    }
    return false;
}

int srcdist_ask_item_image(struct srcdist_core *core, uint32_t item, struct rwf_bytes message,
                           const struct rrmp_part *part)
{
    for (uint32_t i = 0; core->asks_now && i < SRCDIST_ASKS_MAX; i++) {
        struct srcdist_ask *a = &core->asks[i];

        if (!a->is_used || a->item != item || (!a->has_begun && !part->is_first))
            continue;
        struct rrmp_part own = *part;
        own.is_first = !a->has_begun;
        own.is_solicited = true;
        a->has_begun = true;
        int err = send_part(core, a->source_ask, &own, message);
        if (err != MD_OK)
            refuse_for_room(core, a->source_ask);
        if (err != MD_OK || part->is_last)
            give_ask(core, i);
    }
    return MD_OK;
}

void srcdist_asks_torn(struct srcdist_core *core, uint32_t item)
{
    for (uint32_t i = 0; core->asks_now && i < SRCDIST_ASKS_MAX; i++) {
        if (core->asks[i].is_used && core->asks[i].item == item && core->asks[i].has_begun)
            end_ask(core, i, RWF_CODE_NONE, "The image changed while it was given");
    }
}

void srcdist_asks_of_gone(struct srcdist_core *core, uint32_t item)
{
    for (uint32_t i = 0; core->asks_now && i < SRCDIST_ASKS_MAX; i++) {
        if (core->asks[i].is_used && core->asks[i].item == item)
            end_ask(core, i, RWF_CODE_NONE, "The stream was closed before it was answered");
    }
}

void srcdist_asks_lost(struct srcdist_core *core, uint32_t provider)
{
    for (uint32_t i = 0; core->asks_now && i < SRCDIST_ASKS_MAX; i++) {
        if (!core->asks[i].is_used || core->asks[i].provider != provider)
            continue;
        put_off(core, core->asks[i].source_ask, RWF_CODE_NONE,
                "The connection to the source was lost");
        give_ask(core, i); /* nobody is there to close its stream */
    }
}

void srcdist_asks_of_old_rules(struct srcdist_core *core)
{
    for (uint32_t i = 0; core->asks_now && i < SRCDIST_ASKS_MAX; i++) {
        if (core->asks[i].is_used && core->asks[i].fields)
            end_ask(core, i, RWF_CODE_NONE, "The filters of the source have changed");
    }
}

void srcdist_asks_tick(struct srcdist_core *core)
{
    for (uint32_t i = 0; core->asks_now && i < SRCDIST_ASKS_MAX; i++) {
        if (core->asks[i].is_used && core->now_ns >= core->asks[i].due_ns)
            end_ask(core, i, RWF_CODE_TIMEOUT, "The source did not answer");
    }
}
