/* feed.c - see feed.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "omm/item.h"
#include "say.h"

#define AGAIN_NS   MD_NS_PER_S
#define REFUSED_NS (30 * MD_NS_PER_S)  /* a login that was refused is tried again so much later */
#define FULL_NS    (10 * MD_NS_PER_MS) /* a request that found no room is sent again so much later */

static void note_time(struct feed *feed)
{
    feed->now = (struct rec_moment){ .mono_ns = md_clock_mono_ns(), .wall_ns = md_clock_wall_ns() };
}

int feed_send(struct feed *feed, const struct rwf_encoder *enc)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);
    int rc = MD_ERR_MALFORMED;

    if (rwf_encoder_error(enc) == RWF_OK && feed->link)
        rc = rssl_outq_write(client_session_outq(link_session(feed->link)), bytes.data,
                             bytes.length);
    if (rc != MD_OK && rc != MD_ERR_FULL)
        feed->stats.errors++;
    return rc;
}

void feed_record(struct feed *feed, const struct rec_key *key, struct rwf_bytes message)
{
    uint32_t number = rec_keeper_item(feed->keeper, key);

    if (number != 0)
        rec_keeper_message(feed->keeper, feed->now, number, message);
    else
        feed->stats.errors++;
}

/* ---- items ---- */

/* MD_ERR_FULL: not now. */
static int ask_item(struct feed *feed, uint32_t at)
{
    struct feed_item *item = &feed->items[at];
    const struct feed_service *service = &feed->services[item->service];
    const struct rec_key key = {
        .domain = item->domain,
        .service_id = service->id,
        .service = rwf_text(service->name),
        .name = rwf_bytes(item->name, item->name_length),
    };
    const struct omm_item_request request = {
        .stream_id = (int32_t)at + STREAM_FIRST,
        .domain = item->domain,
        .is_streaming = true,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                 .service_id = service->id,
                 .name_type = RWF_NAME_RIC,
                 .name = key.name },
        .container = RWF_TYPE_NO_DATA,
    };
    struct rwf_encoder enc;

    item->number = rec_keeper_item(feed->keeper, &key);
    if (item->number == 0) {
        feed->stats.errors++;
        return MD_ERR_RANGE;
    }
    rwf_encoder_init(&enc, feed->message, sizeof(feed->message));
    omm_item_request_encode(&enc, &request);
    int rc = feed_send(feed, &enc);
    if (rc != MD_OK)
        return rc;
    item->state = ITEM_ASKED;
    feed->pending++;
    return MD_OK;
}

static void wake(struct feed *feed, uint64_t after_ns)
{
    if (feed->retry_waits)
        return;
    feed->retry_waits = true;
    (void)md_loop_timer_after(feed->timer, after_ns);
}

void feed_ask(struct feed *feed)
{
    if (feed->state != FEED_UP)
        return;
    for (; feed->next < feed->item_count && feed->pending < feed->window; feed->next++) {
        struct feed_item *item = &feed->items[feed->next];
        if (item->state != ITEM_WAITING || !feed->services[item->service].is_known)
            continue;
        if (ask_item(feed, feed->next) == MD_ERR_FULL) {
            wake(feed, FULL_NS);
            return;
        }
    }
}

static void ask_again(struct feed *feed, struct feed_item *item)
{
    item->state = ITEM_WAITING;
    feed->starts_over = true;
    wake(feed, AGAIN_NS);
}

static void settle(struct feed *feed, struct feed_item *item)
{
    if (item->state == ITEM_ASKED)
        feed->pending--;
}

static void item_message(struct feed *feed, const struct rwf_msg *msg, struct rwf_bytes bytes)
{
    struct feed_item *item;

    if (msg->stream_id < STREAM_FIRST ||
        msg->stream_id - STREAM_FIRST >= (int32_t)feed->item_count) {
        feed->stats.errors++;
        return;
    }
    item = &feed->items[msg->stream_id - STREAM_FIRST];
    if (item->state != ITEM_ASKED && item->state != ITEM_OPEN)
        return;
    rec_keeper_message(feed->keeper, feed->now, item->number, bytes);
    bool has_state = msg->msg_class == RWF_CLASS_REFRESH ||
                     (msg->msg_class == RWF_CLASS_STATUS && msg->flags & RWF_STATUS_HAS_STATE);
    if (has_state && msg->state.stream_state == RWF_STREAM_CLOSED_RECOVER) {
        settle(feed, item);
        ask_again(feed, item);
    } else if (has_state && msg->state.stream_state >= RWF_STREAM_CLOSED) {
        settle(feed, item);
        item->state = ITEM_REFUSED;
        feed->stats.refused++;
    } else if (msg->msg_class == RWF_CLASS_REFRESH) {
        settle(feed, item);
        item->state = ITEM_OPEN;
        item->was_open = true;
    }
}

/* ---- the connection ---- */

static void on_open(void *owner)
{
    struct feed *feed = owner;

    note_time(feed);
    setup_start(feed);
}

static void on_messages(void *owner, const struct rssl_event *events, size_t count)
{
    struct feed *feed = owner;

    note_time(feed);
    for (size_t i = 0; i < count; i++) {
        struct rwf_bytes bytes = rwf_bytes(events[i].bytes, events[i].length);
        struct rwf_msg msg;
        if (events[i].kind != RSSL_EVENT_MESSAGE)
            continue;
        if (rwf_msg_decode(bytes, &msg) != RWF_OK)
            feed->stats.errors++;
        else if (msg.stream_id < STREAM_FIRST)
            setup_message(feed, &msg, bytes);
        else
            item_message(feed, &msg, bytes);
    }
    feed_ask(feed);
}

static void tell_reason(struct feed *feed, const char *reason)
{
    if (strcmp(feed->reason, reason) == 0)
        return;
    snprintf(feed->reason, sizeof(feed->reason), "%s", reason);
    feed->is_refused = false;
    rec_say(MD_LOG_WARNING, "%s:%u: %s", feed->host, feed->port, reason);
}

void feed_refuse(struct feed *feed, const char *why, bool is_for_good)
{
    if (!rec_is_daemon) {
        rec_print("%s", why);
        if (is_for_good)
            feed_stop(feed);
        else
            link_close(feed->link);
        return;
    }
    tell_reason(feed, why);
    feed->is_refused = true;
    feed->pause_ns = is_for_good ? REFUSED_NS : AGAIN_NS;
    link_close(feed->link);
}

static void on_closed(void *owner, const char *reason)
{
    struct feed *feed = owner;

    if (!feed->is_over && feed->pause_ns == 0) /* else the login has said why */
        tell_reason(feed, reason);
    if (feed->state > FEED_LOGIN && !feed->is_over) {
        feed->stats.lost_connections++;
        note_time(feed);
        rec_keeper_cut(feed->keeper, feed->now, feed->pause_ns ? feed->reason : reason);
    }
    link_destroy(feed->link);
    feed->link = NULL;
    feed->state = FEED_DOWN;
    feed->has_directory = false;
    feed->pending = feed->next = 0;
    feed->retry_waits = feed->starts_over = false;
    for (size_t i = 0; i < feed->service_count; i++)
        feed->services[i].is_known = false;
    for (uint32_t i = 0; i < feed->item_count; i++)
        feed->items[i].state = ITEM_WAITING;
    if (feed->is_over)
        md_loop_stop(feed->loop);
    else
        (void)md_loop_timer_after(feed->timer, feed->pause_ns ? feed->pause_ns : AGAIN_NS);
    feed->pause_ns = 0;
}

static const struct link_ops link_ops = {
    .on_open = on_open,
    .on_messages = on_messages,
    .on_closed = on_closed,
};

static int dial(struct feed *feed)
{
    struct client_session *session;
    struct client_dial to = {
        .transport = feed->wire.transport,
        .options = { .nodelay = true, .tls = feed->wire.tls, .is_plain = feed->wire.is_plain },
        .host = feed->host,
        .port = feed->port,
        .rssl = rssl_config_default(RSSL_ROLE_CLIENT),
    };

    to.rssl.component = PROGRAM;
    int rc = client_session_dial(feed->context, &to, md_clock_mono_ns(), &session);
    if (rc != MD_OK)
        return rc;
    rc = link_create(feed->loop, session, &link_ops, feed, &feed->link);
    if (rc != MD_OK) {
        client_session_destroy(session);
        return rc;
    }
    feed->state = FEED_LOGIN;
    link_start(feed->link);
    return MD_OK;
}

static void dial_or_wait(struct feed *feed)
{
    int rc = dial(feed);

    if (rc == MD_OK)
        return;
    tell_reason(feed, rc == MD_ERR_SYS ? net_error() : md_err_name(rc));
    (void)md_loop_timer_after(feed->timer, AGAIN_NS);
}

static void on_timer(void *owner)
{
    struct feed *feed = owner;

    feed->retry_waits = false;
    if (feed->state == FEED_DOWN) {
        dial_or_wait(feed);
        return;
    }
    if (feed->starts_over)
        feed->next = 0;
    feed->starts_over = false;
    feed_ask(feed);
    (void)link_flush(feed->link);
}

int feed_start(struct feed *feed)
{
    int rc = md_loop_timer_create(feed->loop, on_timer, feed, &feed->timer);

    if (rc == MD_OK)
        dial_or_wait(feed);
    return rc;
}

void feed_stop(struct feed *feed)
{
    bool is_urgent = feed->is_over || feed->state <= FEED_LOGIN;

    feed->is_over = true;
    if (feed->link && !is_urgent)
        link_close(feed->link);
    else
        md_loop_stop(feed->loop);
}

void feed_fini(struct feed *feed)
{
    link_destroy(feed->link);
    md_loop_timer_destroy(feed->timer);
    client_context_destroy(feed->context);
    wire_fini(&feed->wire);
    rwf_dictionary_destroy(feed->dictionary);
    cache_ripples_destroy(feed->ripples);
    free(feed->items);
    free(feed->host);
}

const struct feed_service *feed_service_missing(const struct feed *feed)
{
    for (size_t i = 0; i < feed->service_count && feed->has_directory; i++) {
        if (!feed->services[i].is_known)
            return &feed->services[i];
    }
    return NULL;
}

void feed_count_items(const struct feed *feed, uint32_t *open, uint32_t *were_open)
{
    *open = *were_open = 0;
    for (uint32_t i = 0; i < feed->item_count; i++) {
        *open += feed->items[i].state == ITEM_OPEN;
        *were_open += feed->items[i].was_open;
    }
}
