/* tap.c - see tap.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "omm/item.h"
#include "say.h"
#include "tap_setup.h"

#define WHY_MAX 256u
#define DENIED_NS                                                                                  \
    (60 * MD_NS_PER_S) /* what is denied was sent; what is sent again comes within 20 s */
#define AGAIN_NS                                                                                   \
    MD_NS_PER_S /* an item that was closed for now is asked for again so much later                \
                 */

static void note_time(struct tap *tap)
{
    tap->feed->now =
        (struct rec_moment){ .mono_ns = md_clock_mono_ns(), .wall_ns = md_clock_wall_ns() };
}

/* ---- what comes ---- */

/* A state that came without a message. */
static void put_state(struct tap *tap, const struct tap_item *item, const struct rwf_state *state)
{
    struct feed *feed = tap->feed;
    const struct omm_status status = { .domain = item->domain, .state = *state };
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, feed->message, sizeof(feed->message));
    omm_status_encode(&enc, &status);
    if (rwf_encoder_error(&enc) == RWF_OK)
        rec_keeper_message(feed->keeper, feed->now, item->number, rwf_encoder_bytes(&enc));
    else
        feed->stats.errors++;
}

static void open_followed(struct tap *tap, struct tap_item *item, const char *service,
                          struct rwf_bytes key, uint32_t bound_at);

/* It may be open in another quality, which then is recorded from now on. */
static void follow_other(struct tap *tap, struct tap_item *item)
{
    uint8_t *key = item->other;
    struct rec_key name;

    if (!key)
        return;
    item->other = NULL;
    item->qos = item->other_qos;
    if (rec_keeper_key(tap->feed->keeper, item->number, &name)) {
        char service[256] = "";
        memcpy(service, name.service.data, name.service.length);
        open_followed(tap, item, service, rwf_bytes(key, item->other_length), 0);
    }
    free(key);
}

static void on_closed(struct tap *tap, struct tap_item *item, const struct rwf_state *state)
{
    item->item = NULL;
    tap->stats.open -= item->is_open;
    item->is_open = false;
    if (tap->config.follows) { /* who opens it makes it known again */
        rec_keeper_forget(tap->feed->keeper, item->number);
        follow_other(tap, item);
        return;
    }
    item->wants_again = state->stream_state == RWF_STREAM_CLOSED_RECOVER;
    if (!item->wants_again)
        tap->feed->stats.refused++;
    else if (tap->again_ns == MD_NEVER)
        tap->again_ns = tap->feed->now.mono_ns + AGAIN_NS;
}

static void on_item(const struct rmds_item_event *event)
{
    struct tap_item *item = event->user;
    struct tap *tap = item->tap;
    bool is_suspect = event->state.data_state == RWF_DATA_SUSPECT;

    note_time(tap);
    if (event->kind == RMDS_ITEM_CLOSED && tap->config.follows && !item->has_come &&
        event->state.code == RWF_CODE_NOT_FOUND) {
        on_closed(tap, item, &event->state); /* nobody had it any more: nothing began */
        return;
    }
    item->has_come = true;
    if (event->bytes.length > 0)
        rec_keeper_message(tap->feed->keeper, tap->feed->now, item->number, event->bytes);
    else
        put_state(tap, item, &event->state);
    if (event->kind == RMDS_ITEM_IMAGE && event->is_last) {
        tap->stats.open += !item->is_open;
        item->was_open = item->is_open = true;
        item->is_suspect = is_suspect;
        /* Its group, or its service, says otherwise than the message. */
        if (event->message && event->message->state.data_state != event->state.data_state)
            put_state(tap, item, &event->state);
    } else if (event->kind == RMDS_ITEM_STATE) {
        tap->stats.suspects += item->was_open && is_suspect && !item->is_suspect;
        item->is_suspect = is_suspect;
    } else if (event->kind == RMDS_ITEM_CLOSED) {
        on_closed(tap, item, &event->state);
    }
}

/* ---- items ---- */

/* NULL: no memory. */
static struct tap_item *item_at(struct tap *tap, uint32_t number)
{
    if (number >= tap->size) {
        uint32_t size = tap->size ? 2 * tap->size : 1024;
        while (size <= number)
            size *= 2;
        struct tap_item **items = realloc(tap->items, size * sizeof(struct tap_item *));
        if (!items)
            return NULL;
        memset(items + tap->size, 0, (size - tap->size) * sizeof(struct tap_item *));
        tap->items = items;
        tap->size = size;
    }
    if (!tap->items[number]) {
        tap->items[number] = calloc(1, sizeof(struct tap_item));
        if (tap->items[number])
            tap->stats.items++;
    }
    return tap->items[number];
}

/* The item of a recording under this name; NULL: there are too many, and it is counted. */
static struct tap_item *name_item(struct tap *tap, const char *service, uint8_t domain,
                                  struct rwf_bytes name)
{
    struct rmds_service info = { .size = sizeof(info) };
    struct rec_key key = { .domain = domain, .service = rwf_text(service), .name = name };

    if (rmds_backbone_service(tap->backbone, service, &info) == 0)
        key.service_id = info.id;
    uint32_t number = rec_keeper_item(tap->feed->keeper, &key);
    struct tap_item *item = number != 0 ? item_at(tap, number) : NULL;
    if (!item) {
        tap->stats.too_many++;
        return NULL;
    }
    item->tap = tap;
    item->number = number;
    item->domain = domain;
    return item;
}

static void open_item(struct tap *tap, struct tap_item *item, struct rmds_item_request *request)
{
    request->handle = on_item;
    request->user = item;
    item->wants_again = item->has_come = false;
    if (rmds_item_open(tap->backbone, request, &item->item) != 0)
        tap->feed->stats.errors++;
}

static void open_list(struct tap *tap, const struct feed_service *service)
{
    struct feed *feed = tap->feed;
    struct rmds_item_request request;

    for (uint32_t i = 0; i < feed->item_count; i++) {
        const struct feed_item *wanted = &feed->items[i];
        if (&feed->services[wanted->service] != service)
            continue;
        struct tap_item *item = name_item(tap, service->name, wanted->domain,
                                          rwf_bytes(wanted->name, wanted->name_length));
        if (!item || item->item)
            continue;
        item->listed = i + 1;
        rmds_item_request_init(&request, sizeof(request));
        request.service = service->name;
        request.name = wanted->name;
        request.domain = wanted->domain;
        open_item(tap, item, &request);
    }
}

/* Items that their source closed for now. */
static void open_again(struct tap *tap)
{
    struct feed *feed = tap->feed;
    struct rmds_item_request request;

    tap->again_ns = MD_NEVER;
    for (uint32_t n = 0; n < tap->size; n++) {
        struct tap_item *item = tap->items[n];
        if (!item || !item->wants_again || item->item)
            continue;
        const struct feed_item *wanted = &feed->items[item->listed - 1];
        rmds_item_request_init(&request, sizeof(request));
        request.service = feed->services[wanted->service].name;
        request.name = wanted->name;
        request.domain = wanted->domain;
        open_item(tap, item, &request);
    }
}

static bool is_same_qos(const struct rwf_qos *a, const struct rwf_qos *b)
{
    return a->timeliness == b->timeliness && a->rate == b->rate && a->time_info == b->time_info &&
           a->rate_info == b->rate_info;
}

static void open_followed(struct tap *tap, struct tap_item *item, const char *service,
                          struct rwf_bytes key, uint32_t bound_at)
{
    struct rmds_item_request request;

    rmds_item_request_init(&request, sizeof(request));
    request.service = service;
    request.key = key;
    request.is_follower = true;
    request.bound_at = bound_at;
    open_item(tap, item, &request);
}

/* Logins, directories and dictionaries are no items of a service: in a recording they would speak
 * of all services. */
static bool is_of_items(uint8_t domain)
{
    return domain != 0 && domain != RWF_DOMAIN_LOGIN && domain != RWF_DOMAIN_SOURCE &&
           domain != RWF_DOMAIN_DICTIONARY;
}

/* The item is open in another quality, too: one of these is remembered. */
static void note_other(struct tap *tap, struct tap_item *item, const struct rmds_bound *bound)
{
    if (is_same_qos(&item->qos, &bound->qos) ||
        (item->other && is_same_qos(&item->other_qos, &bound->qos)))
        return;
    tap->stats.not_recorded++;
    uint8_t *key = item->other ? NULL : malloc(bound->key.length);
    if (!key)
        return;
    memcpy(key, bound->key.data, bound->key.length);
    item->other = key;
    item->other_length = (uint16_t)bound->key.length;
    item->other_qos = bound->qos;
}

static void on_bound(void *owner, const struct rmds_bound *bound)
{
    struct tap *tap = owner;

    if (!bound->is_plain || bound->name.length == 0 || !is_of_items(bound->domain)) {
        tap->stats.not_recorded++;
        return;
    }
    struct tap_item *item = name_item(tap, bound->service, bound->domain, bound->name);
    if (!item)
        return;
    if (item->item) {
        note_other(tap, item, bound);
        return;
    }
    item->qos = bound->qos;
    open_followed(tap, item, bound->service, bound->key, bound->bound_at);
}

/* ---- the attachment ---- */

static void on_link(void *owner, bool is_up)
{
    struct tap *tap = owner;

    note_time(tap);
    if (is_up) {
        tap->denied_last = 0; /* rrcpd counts from here, by the rules that it has now */
        tap->stats.denied_why[0] = 0;
        rec_say(MD_LOG_NOTICE, "attached to the backbone");
    } else {
        tap->feed->stats.lost_connections++;
        const char *why = rmds_backbone_why(tap->backbone);
        rec_say(MD_LOG_WARNING, "no longer on the backbone: %s", *why ? why : "rrcpd has gone");
        rec_keeper_cut(tap->feed->keeper, tap->feed->now, "no longer on the backbone");
    }
    tap->stats.was_attached = tap->stats.was_attached || is_up;
    tap->stats.is_attached = is_up;
}

static void on_refused(void *owner, int error, const char *why)
{
    (void)owner;
    (void)error;
    if (!rec_is_daemon)
        rec_say(MD_LOG_WARNING, "refused: %s", why);
}

static void on_denied(void *owner, uint64_t count, const char *what)
{
    struct tap *tap = owner;

    tap->stats.denied += count > tap->denied_last ? count - tap->denied_last : count;
    tap->denied_last = count; /* since it attached */
    snprintf(tap->stats.denied_why, sizeof(tap->stats.denied_why), "denied: %s", what);
    tap->denied_ns = md_clock_mono_ns();
    if (!rec_is_daemon)
        rec_print("rrcpd dropped %" PRIu64 " messages of ours: %s", count, what);
}

static int work(void *owner)
{
    struct tap *tap = owner;

    return (int)rmds_backbone_turn(tap->backbone, rmds_now());
}

static uint64_t deadline(void *owner)
{
    const struct tap *tap = owner;

    return rmds_backbone_deadline(tap->backbone);
}

/* The source works in the same turn of the loop. */
static void on_ready(void *owner, int fd, unsigned events)
{
    (void)owner;
    (void)fd;
    (void)events;
}

int tap_start(const struct tap_config *config, struct feed *feed, struct tap **out)
{
    static const struct md_loop_source_ops ops = { .work = work, .deadline = deadline };
    struct tap *tap = calloc(1, sizeof(*tap));
    struct rmds_backbone_options options;
    char why[WHY_MAX] = "out of memory";

    *out = tap;
    if (!tap)
        return -1;
    tap->config = *config;
    tap->feed = feed;
    tap->open_list = open_list;
    tap->again_ns = MD_NEVER;
    tap_setup_init(tap);
    rmds_backbone_options_init(&options, sizeof(options));
    options.network = config->network ? config->network : options.network;
    options.instance = config->instance ? config->instance : options.instance;
    options.run_dir = config->run_dir ? config->run_dir : options.run_dir;
    options.name = PROGRAM;
    options.owner = tap;
    options.on_link = on_link;
    options.on_service = tap_on_service;
    options.on_refused = on_refused;
    options.on_denied = on_denied;
    options.on_bound = on_bound;
    options.why = why;
    options.why_size = sizeof(why);
    if (rmds_backbone_open(&options, &tap->backbone) != 0 ||
        md_loop_fd_add(feed->loop, rmds_backbone_descriptor(tap->backbone), MD_LOOP_READ, on_ready,
                       tap, &tap->fd) != MD_OK ||
        md_loop_source_add(feed->loop, &ops, tap, &tap->source) != MD_OK) {
        rec_say(MD_LOG_WARNING, "cannot join the backbone: %s", why);
        return -1;
    }
    return 0;
}

void tap_destroy(struct tap *tap)
{
    if (!tap)
        return;
    md_loop_source_remove(tap->source);
    md_loop_fd_remove(tap->fd);
    rmds_backbone_close(tap->backbone);
    for (uint32_t n = 0; n < tap->size; n++) {
        if (tap->items[n])
            free(tap->items[n]->other);
        free(tap->items[n]);
    }
    free(tap->items);
    free(tap);
}

void tap_tick(struct tap *tap)
{
    struct rmds_backbone_stats stats = { .size = sizeof(stats) };

    rmds_backbone_stats(tap->backbone, &stats);
    if (!rec_is_daemon && stats.overruns > tap->overruns_told) /* a daemon has troubles */
        rec_print("too slow for the ring of rrcpd, which has lapped it %" PRIu64
                  " times: items that lost messages are suspect until their next image",
                  stats.overruns);
    tap->overruns_told = stats.overruns;
    const char *why = rmds_backbone_why(tap->backbone);
    if (!rec_is_daemon && !tap->stats.is_attached && *why && strcmp(why, tap->why_told) != 0) {
        snprintf(tap->why_told, sizeof(tap->why_told), "%s", why);
        rec_print("%s", why);
    }
    uint64_t now_ns = md_clock_mono_ns();
    if (now_ns - tap->denied_ns >= DENIED_NS)
        tap->stats.denied_why[0] = 0; /* it is let pass by now */
    if (now_ns >= tap->again_ns)
        open_again(tap);
    tap_setup_tick(tap, now_ns);
}

void tap_stats(const struct tap *tap, struct tap_stats *out)
{
    struct rmds_backbone_stats stats = { .size = sizeof(stats) };

    rmds_backbone_stats(tap->backbone, &stats);
    *out = tap->stats;
    out->why = rmds_backbone_why(tap->backbone);
    out->live = stats.live_now;
    out->overruns = stats.overruns;
    out->records_lost = stats.records_lost;
    out->behind_max = stats.behind_max;
}
