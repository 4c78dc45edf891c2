/* items.c - the items of an application: opened, followed, told, closed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "internal.h"
#include "itemkey/itemkey.h"
#include "itemkey/mark.h"
#include "list.h"
#include "rmds/rwf.h"

enum {
    EVENTS_MAX = 64,
    OPENS_A_TURN = 4096, /* the loop is its owner's */
    OPEN_WINDOW = 1000,  /* requests that wait for their image, of one service at one source */
    KEY_QOS_AT = 3,      /* of an item key: its quality, in five bytes */
};

/* ---- what an application is told ---- */

static struct rmds_item_event event_of(struct rmds_item *item, enum rmds_item_event_kind kind)
{
    return (struct rmds_item_event){ .kind = kind, .item = item, .user = item->user };
}

/* It is given back when the events of the batch are taken: they may be about it. */
static void end(struct rmds_item *item)
{
    if (item->state == LIBRARY_WAITING)
        return; /* found when its turn comes: it is in a list */
    library_item_not_again(item);
    item->state = LIBRARY_ENDED;
    library_list_put(&item->backbone->items.ended, item);
}

static void tell_state(struct rmds_item *item, const struct rwf_state *state,
                       const struct rwf_msg *message, struct rwf_bytes bytes)
{
    bool is_end = state->stream_state >= RWF_STREAM_CLOSED_RECOVER;
    struct rmds_item_event event = event_of(item, is_end ? RMDS_ITEM_CLOSED : RMDS_ITEM_STATE);

    if (is_end && item->state != LIBRARY_ENDED)
        end(item); /* nothing follows that */
    event.state = *state;
    event.message = item->is_raw ? NULL : message;
    event.bytes = bytes;
    item->backbone->stats.states++;
    item->handle(&event);
}

static void tell_text(struct rmds_item *item, uint8_t stream, uint8_t data, uint8_t code,
                      const char *text)
{
    struct rwf_state state = { .stream_state = stream,
                               .data_state = data,
                               .code = code,
                               .text = rwf_bytes(text, strlen(text)) };

    tell_state(item, &state, NULL, rwf_bytes(NULL, 0));
}

/* The last event of an item that has not ended by its owner's own call. */
static void close_with(struct rmds_item *item, uint8_t stream, uint8_t code, const char *text)
{
    tell_text(item, stream, RWF_DATA_SUSPECT, code, text);
}

/* ---- events of the sink ---- */

static struct rwf_bytes bytes_of(struct rrmp_view view)
{
    return rwf_bytes(view.bytes, view.length);
}

static struct rwf_state state_of(const struct rrmp_sink_event *event)
{
    return (struct rwf_state){ .stream_state = event->state >> 3,
                               .data_state = event->state & 7,
                               .code = event->code };
}

/* NULL: of an earlier life of the number, or ended by a callback of this batch. */
static struct rmds_item *item_of(struct library_items *items, const struct rrmp_sink_event *event)
{
    struct rmds_item *item;

    if (event->user >= items->slots.high)
        return NULL;
    item = md_slots_at(&items->slots, event->user);
    return item->backbone && item->sink_item == event->item && item->state != LIBRARY_ENDED &&
                   item->state != LIBRARY_WAITING
               ? item
               : NULL;
}

static bool takes_image(const struct rmds_item *item, const struct rrmp_sink_event *event)
{
    if (item->state == LIBRARY_NEW)
        return event->flags & RRMP_IMAGE_FIRST && event->to & RRMP_SINK_TO_WAIT;
    return item->state == LIBRARY_FILLING || event->to & RRMP_SINK_TO_STEP;
}

static bool takes_message(const struct rmds_item *item, const struct rrmp_sink_event *event)
{
    return (item->state == LIBRARY_STEP && event->to & RRMP_SINK_TO_STEP) ||
           (item->state == LIBRARY_FILLING && event->to & RRMP_SINK_TO_WAIT);
}

/* A message that cannot be read is one that is lost: told, and a new image asked for. */
static bool decode(struct rmds_item *item, struct rwf_bytes bytes, struct rwf_msg *message)
{
    if (item->is_raw || rwf_msg_decode(bytes, message) == RWF_OK)
        return true;
    item->backbone->stats.undecodable++;
    tell_text(item, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_ERROR,
              "A message of the source cannot be decoded");
    if (item->state != LIBRARY_ENDED)
        library_item_again(item);
    return false;
}

static void on_image(struct rmds_item *item, const struct rrmp_sink_event *event)
{
    struct rmds_item_event out = event_of(item, RMDS_ITEM_IMAGE);
    struct rwf_msg message;

    if (!takes_image(item, event))
        return;
    if (item->state == LIBRARY_NEW)
        item->state = LIBRARY_FILLING;
    out.bytes = bytes_of(event->message);
    if (!decode(item, out.bytes, &message))
        return;
    out.message = item->is_raw ? NULL : &message;
    out.is_first = event->flags & RRMP_IMAGE_FIRST;
    out.is_last = event->flags & RRMP_IMAGE_LAST;
    out.state = state_of(event);
    item->backbone->stats.images++;
    item->handle(&out);
    if (item->is_snapshot && out.is_last && item->state != LIBRARY_ENDED)
        tell_text(item, RWF_STREAM_CLOSED, RWF_DATA_OK, RWF_CODE_NONE, "");
}

static void on_message(struct rmds_item *item, const struct rrmp_sink_event *event)
{
    struct rmds_item_event out =
        event_of(item, event->type == RRMP_UPDATE ? RMDS_ITEM_UPDATE : RMDS_ITEM_GENERIC);
    struct rwf_msg message;

    if (!takes_message(item, event))
        return;
    out.bytes = bytes_of(event->message);
    if (!decode(item, out.bytes, &message))
        return;
    out.message = item->is_raw ? NULL : &message;
    item->backbone->stats.updates++;
    item->handle(&out);
}

/* A STATUS as the source sent it. */
static void on_status(struct rmds_item *item, const struct rrmp_sink_event *event)
{
    struct rwf_bytes bytes = bytes_of(event->message);
    struct rwf_msg message;

    if (rwf_msg_decode(bytes, &message) != RWF_OK)
        item->backbone->stats.undecodable++;
    else if (message.flags & RWF_STATUS_HAS_STATE)
        tell_state(item, &message.state, &message, bytes);
}

static void on_closed(struct rmds_item *item, const struct rrmp_sink_event *event)
{
    struct rwf_bytes bytes = rwf_bytes(NULL, 0);
    struct rwf_state state = state_of(event);
    const struct rwf_msg *told = NULL;
    struct rwf_msg message;

    if (event->type != RRMP_STATUS) {
        state.text = bytes_of(event->message);
    } else if (rwf_msg_decode(bytes_of(event->message), &message) == RWF_OK &&
               message.flags & RWF_STATUS_HAS_STATE) {
        state = message.state;
        bytes = bytes_of(event->message);
        told = &message;
    }
    if (state.stream_state < RWF_STREAM_CLOSED_RECOVER)
        state.stream_state = RWF_STREAM_CLOSED;
    tell_state(item, &state, told, bytes);
}

static void on_state(struct library_items *items, const struct rrmp_sink_event *event)
{
    struct rwf_state state = state_of(event);
    struct rmds_item *item;

    state.text = bytes_of(event->message);
    if (event->scope == RRMP_SINK_SCOPE_ITEM) {
        item = item_of(items, event);
        if (item)
            tell_state(item, &state, NULL, rwf_bytes(NULL, 0));
        return;
    }
    for (uint32_t n = rrmp_sink_item_next(items->sink, event, RRMP_ITEM_NONE); n != RRMP_ITEM_NONE;
         n = rrmp_sink_item_next(items->sink, event, n)) {
        struct rrmp_sink_item info;
        struct rrmp_sink_event one = { .item = n };

        if (!rrmp_sink_item_info(items->sink, n, &info))
            continue;
        one.user = info.user;
        item = item_of(items, &one);
        if (item)
            tell_state(item, &state, NULL, rwf_bytes(NULL, 0));
    }
}

/* ---- services ---- */

/* Realtime before delayed, tick by tick before conflated: the lowest bytes. */
static void choose_qos(struct library_service *service, const struct rrmp_sink_service *info)
{
    const struct rwf_qos best = { .timeliness = RWF_TIMELINESS_REALTIME,
                                  .rate = RWF_RATE_TICK_BY_TICK };

    if (info->qos_count == 0 && service->qos[0] != 0)
        return; /* its last source has gone: the next one has those of before, most likely */
    itemkey_qos_pack(&best, service->qos);
    for (unsigned i = 0; i < info->qos_count; i++)
        if (i == 0 || memcmp(info->qos[i], service->qos, sizeof(service->qos)) < 0)
            memcpy(service->qos, info->qos[i], sizeof(service->qos));
}

static void look_at(struct library_items *items, struct library_service *service)
{
    const uint8_t *name = (const uint8_t *)service->name;
    struct rrmp_sink_service info;

    service->sink_service =
        rrmp_sink_service_find(items->sink, (struct rrmp_view){ name, strlen(service->name) });
    if (service->sink_service == RRMP_SERVICE_NONE ||
        !rrmp_sink_service(items->sink, service->sink_service, &info))
        return;
    choose_qos(service, &info);
    library_list_join(&items->to_open, &service->waiting);
}

static void on_directory(struct rmds_backbone *backbone, uint16_t sink_service)
{
    struct library_items *items = &backbone->items;
    char name[LIBRARY_NAME_MAX + 1] = "";
    struct rrmp_sink_service info;

    if (!rrmp_sink_service(items->sink, sink_service, &info) || info.name.length > LIBRARY_NAME_MAX)
        return;
    memcpy(name, info.name.bytes, info.name.length);
    struct library_service *service = library_service_find(items, name);
    if (service)
        look_at(items, service);
    library_follow_maybe(items, backbone->now_ns, sink_service);
    if (backbone->options.on_service)
        backbone->options.on_service(backbone->options.owner, name, info.is_up);
}

static void in_step(struct rmds_item *item)
{
    if (item->state != LIBRARY_FILLING)
        return;
    item->state = LIBRARY_STEP;
    library_item_not_again(item);
}

static void deliver_event(struct rmds_backbone *backbone, const struct rrmp_sink_event *event)
{
    struct library_items *items = &backbone->items;
    struct rmds_item *item = NULL;

    if (event->kind == RRMP_SINK_DIRECTORY)
        on_directory(backbone, event->service);
    else if (event->kind == RRMP_SINK_STATE)
        on_state(items, event);
    else if (event->kind == RRMP_SINK_BOUND)
        library_bound(backbone, event);
    else if (event->kind == RRMP_SINK_DICTIONARY)
        library_dictionary(backbone, event);
    else if (event->kind <= RRMP_SINK_CLOSED)
        item = item_of(items, event);
    if (!item)
        return;
    if (event->kind == RRMP_SINK_IMAGE)
        on_image(item, event);
    else if (event->kind == RRMP_SINK_IN_STEP)
        in_step(item);
    else if (event->kind == RRMP_SINK_CLOSED)
        on_closed(item, event);
    else if (event->type == RRMP_STATUS)
        on_status(item, event);
    else
        on_message(item, event);
}

static void give(struct library_items *items, struct rmds_item *item)
{
    free(item->key);
    item->backbone = NULL;
    md_slots_give(&items->slots, item->number);
}

/* No event is under way: what has ended may go. */
static void give_ended(struct library_items *items, uint64_t now_ns)
{
    struct rmds_item *item;

    while ((item = library_list_take(&items->ended)) != NULL) {
        struct rrmp_sink_item info;

        if (item->sink_item != RRMP_ITEM_NONE &&
            rrmp_sink_item_info(items->sink, item->sink_item, &info) && info.user == item->number)
            rrmp_sink_item_close(items->sink, now_ns, item->sink_item);
        give(items, item);
    }
}

static void deliver(struct rmds_backbone *backbone, uint64_t now_ns)
{
    struct library_items *items = &backbone->items;
    struct rrmp_sink_event events[EVENTS_MAX];
    size_t count;

    while ((count = rrmp_sink_event(items->sink, events, EVENTS_MAX)) > 0) {
        for (size_t i = 0; i < count; i++)
            if (events[i].kind == RRMP_SINK_MESSAGE)
                __builtin_prefetch(md_slots_at(&items->slots, events[i].user));
        for (size_t i = 0; i < count; i++)
            deliver_event(backbone, &events[i]);
    }
    give_ended(items, now_ns);
}

void library_items_input(struct rmds_backbone *backbone, uint64_t now_ns,
                         const struct backbone_event *events, size_t count)
{
    struct rrmp_sink *sink = backbone->items.sink;

    for (size_t done = 0; done < count;) {
        done += rrmp_sink_input(sink, now_ns, events + done, count - done);
        deliver(backbone, now_ns);
    }
}

/* ---- open and close ---- */

/* False: its turn comes again. */
static bool open_now(struct library_items *items, struct rmds_item *item, uint64_t now_ns)
{
    struct library_service *service = items->services[item->service];
    struct rrmp_sink_open open = { .service = service->sink_service,
                                   .key = { item->key, item->key_length },
                                   .priority_class = 1,
                                   .priority_count = 1,
                                   .is_snapshot = item->is_snapshot,
                                   .is_follower = item->is_follower,
                                   .bound_at = item->bound_at,
                                   .user = item->number };

    if (!item->has_qos)
        memcpy(item->key + KEY_QOS_AT, service->qos, sizeof(service->qos));
    int err = rrmp_sink_item_open(items->sink, now_ns, &open, &item->sink_item);
    if (err == MD_ERR_AGAIN || (err == MD_ERR_EXISTS && items->ended.first))
        return false; /* it may be one that was closed, and is not given back yet */
    free(item->key);
    item->key = NULL;
    item->state = LIBRARY_NEW;
    if (err == MD_OK)
        return true;
    item->sink_item = RRMP_ITEM_NONE;
    if (err == MD_ERR_EXISTS)
        close_with(item, RWF_STREAM_CLOSED, RWF_CODE_ALREADY_OPEN, "The item is open already");
    else
        close_with(item, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NO_RESOURCES, md_err_name(err));
    return true;
}

/* Its service may be known by now, or the item waits for it. False: its turn comes again. */
static bool open_or_wait(struct library_items *items, struct rmds_item *item, uint64_t now_ns)
{
    struct library_service *service = items->services[item->service];

    if (!item->handle) { /* closed meanwhile */
        item->state = LIBRARY_ENDED;
        library_list_put(&items->ended, item);
        return true;
    }
    if (service->sink_service == RRMP_SERVICE_NONE)
        look_at(items, service);
    if (service->sink_service != RRMP_SERVICE_NONE)
        return open_now(items, item, now_ns);
    library_list_put(&service->waiting, item);
    if (!item->is_told)
        tell_text(item, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_SOURCE_UNKNOWN,
                  "Nobody offers the service");
    item->is_told = true;
    return true;
}

/* Those that were closed while they waited for their service have their turn now, which ends them.
 */
static void purge_waiting(struct library_items *items)
{
    for (uint16_t i = 0; items->has_closed_waiting && i < items->service_count; i++) {
        struct library_list waiting = items->services[i]->waiting;
        struct rmds_item *item;

        items->services[i]->waiting = (struct library_list){ 0 };
        while ((item = library_list_take(&waiting)) != NULL)
            library_list_put(item->handle ? &items->services[i]->waiting : &items->to_open, item);
    }
    items->has_closed_waiting = false;
}

bool library_items_settle(struct rmds_backbone *backbone, uint64_t now_ns, bool input_is_empty)
{
    struct library_items *items = &backbone->items;
    bool is_done = true;

    purge_waiting(items);
    give_ended(items, now_ns);
    for (int i = 0; i < OPENS_A_TURN && is_done && items->to_open.first; i++) {
        struct rmds_item *item = library_list_take(&items->to_open);
        struct library_list rest;

        is_done = open_or_wait(items, item, now_ns);
        if (is_done)
            continue;
        rest = items->to_open;
        items->to_open = (struct library_list){ 0 };
        library_list_put(&items->to_open, item);
        library_list_join(&items->to_open, &rest);
    }
    library_items_again(items, now_ns);
    if (now_ns >= rrmp_sink_deadline(items->sink))
        rrmp_sink_tick(items->sink, now_ns, input_is_empty);
    deliver(backbone, now_ns);
    return items->to_open.first == NULL;
}

uint64_t library_items_deadline(const struct rmds_backbone *backbone)
{
    const struct library_items *items = &backbone->items;

    uint64_t sink_ns = rrmp_sink_deadline(items->sink);

    if (items->to_open.first || items->ended.first || items->has_closed_waiting)
        return 0;
    return items->again_ns != 0 && items->again_ns < sink_ns ? items->again_ns : sink_ns;
}

void rmds_item_request_init(struct rmds_item_request *request, size_t size)
{
    memset(request, 0, size);
    request->size = size;
    request->domain = RWF_DOMAIN_MARKET_PRICE;
}

static int make_key(struct rmds_item *item, const struct rmds_item_request *request)
{
    const struct rwf_qos best = { .timeliness = RWF_TIMELINESS_REALTIME,
                                  .rate = RWF_RATE_TICK_BY_TICK };
    struct rwf_key key = { .flags = RWF_KEY_HAS_NAME };
    uint8_t bytes[RRMP_KEY_SIZE_MAX];
    size_t length;

    key.name = rwf_bytes(request->name, request->name ? strlen(request->name) : 0);
    if (request->key.length > 0) {
        struct rwf_qos qos;
        uint8_t domain;

        if (request->key.length > sizeof(bytes) ||
            itemkey_decode(request->key.data, request->key.length, &domain, &key, &qos) != RWF_OK)
            return MD_ERR_RANGE;
        length = request->key.length;
        memcpy(bytes, request->key.data, length);
    } else if (itemkey_encode(request->domain, &key, request->has_qos ? &request->qos : &best,
                              bytes, sizeof(bytes), &length) != RWF_OK)
        return MD_ERR_RANGE;
    item->key = malloc(length);
    if (!item->key)
        return MD_ERR_NOMEM;
    memcpy(item->key, bytes, length);
    item->key_length = (uint16_t)length;
    return MD_OK;
}

static bool is_name(const char *text)
{
    return text && *text && strlen(text) <= LIBRARY_NAME_MAX;
}

int rmds_item_open(struct rmds_backbone *backbone, const struct rmds_item_request *request,
                   struct rmds_item **out)
{
    struct library_items *items = &backbone->items;
    struct rmds_item_request r;

    *out = NULL;
    rmds_item_request_init(&r, sizeof(r));
    memcpy(&r, request, request->size < sizeof(r) ? request->size : sizeof(r));
    if (!is_name(r.service) || !r.handle || (r.key.length == 0 && !is_name(r.name)))
        return MD_ERR_RANGE;
    struct library_service *service = library_service(items, r.service);
    uint32_t number = service ? md_slots_take(&items->slots) : MD_NIL;
    if (number == MD_NIL)
        return MD_ERR_FULL;
    struct rmds_item *item = md_slots_at(&items->slots, number);
    *item = (struct rmds_item){ .number = number,
                                .sink_item = RRMP_ITEM_NONE,
                                .service = items->service_last,
                                .state = LIBRARY_WAITING,
                                .is_raw = r.is_raw,
                                .is_snapshot = r.is_snapshot,
                                .has_qos = r.has_qos || r.key.length > 0,
                                .is_follower = r.is_follower,
                                .bound_at = r.bound_at,
                                .backbone = backbone,
                                .handle = r.handle,
                                .user = r.user };
    int err = make_key(item, &r);
    if (err != MD_OK) {
        give(items, item);
        return err;
    }
    library_list_put(&items->to_open, item);
    *out = item;
    return MD_OK;
}

void rmds_item_close(struct rmds_item *item)
{
    if (!item || item->state == LIBRARY_ENDED)
        return;
    if (item->state != LIBRARY_WAITING) {
        end(item);
        return;
    }
    item->handle = NULL;
    item->backbone->items.has_closed_waiting = true;
}

/* ---- life ---- */

int library_items_init(struct rmds_backbone *backbone, uint64_t random)
{
    struct library_items *items = &backbone->items;
    struct rrmp_sink_config config = { .send = library_wants_sender(backbone),
                                       .random = random,
                                       .item_limit = backbone->options.item_limit,
                                       .open_window_minimum = OPEN_WINDOW,
                                       .mark = itemkey_mark };
    int err = md_slots_init(&items->slots, sizeof(struct rmds_item), backbone->options.item_limit,
                            &items->memory);

    items->services = calloc(LIBRARY_SERVICES_MAX, sizeof(struct library_service *));
    if (err == MD_OK && !items->services)
        err = MD_ERR_NOMEM;
    return err == MD_OK ? rrmp_sink_create(&config, &items->sink) : err;
}

void library_items_fini(struct rmds_backbone *backbone)
{
    struct library_items *items = &backbone->items;

    for (uint32_t i = 0; i < items->slots.high; i++) {
        struct rmds_item *item = md_slots_at(&items->slots, i);

        if (item->backbone == backbone)
            free(item->key);
    }
    for (uint16_t i = 0; i < items->service_count; i++)
        free(items->services[i]);
    free(items->services);
    rrmp_sink_destroy(items->sink);
    md_slots_fini(&items->slots);
}
