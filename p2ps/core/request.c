/* request.c - requests for items: from the client's words to a watch on an item. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "client.h"
#include "deliver.h"
#include "dry.h"
#include "entitle.h"
#include "form.h"
#include "item.h"
#include "itemkey/itemkey.h"
#include "network.h"
#include "pace.h"
#include "private.h"
#include "qos.h"
#include "request.h"
#include "request_data.h"
#include "standby.h"
#include "states.h"
#include "status.h"
#include "tally.h"
#include "trail.h"
#include "watch.h"

#define REFUSAL_MAX 512 /* of its text */

/* A request on its way: what was found out about it so far. */
struct opening {
    uint32_t client;
    const struct omm_item_request *request;
    struct rwf_key key;
    int32_t stream_id;
    uint16_t service;
    const struct rrmp_sink_service *description;
    struct p2ps_quality quality;
    uint32_t form;
};

static void refuse(struct p2ps_core *core, const struct opening *open, uint8_t stream_state,
                   uint8_t code, const char *text)
{
    struct rwf_state state = omm_state(stream_state, RWF_DATA_SUSPECT, code, text);
    uint16_t flags = open->request->is_private ? RWF_STATUS_PRIVATE_STREAM : 0;

    p2ps_client_at(core, open->client)->misuse.refused++;
    p2ps_tally_refused(p2ps_client_at(core, open->client));
    p2ps_status_send(core, open->client, open->stream_id, open->request->domain, flags, &state);
}

static void close_with(struct p2ps_core *core, const struct opening *open, uint8_t code,
                       const char *text)
{
    refuse(core, open, RWF_STREAM_CLOSED, code, text);
}

/* While the streams of clients that hung up are let go, there is room soon: try again. */
static void close_for_room(struct p2ps_core *core, const struct opening *open, uint8_t code,
                           const char *text)
{
    bool comes = core->work.drop_first != P2PS_NONE;

    refuse(core, open, comes ? RWF_STREAM_CLOSED_RECOVER : RWF_STREAM_CLOSED, code, text);
}

/* ---- what may be refused before anything is opened ---- */

static bool find_service(struct p2ps_core *core, struct opening *open)
{
    if (open->key.flags & RWF_KEY_HAS_SERVICE_ID)
        open->service = p2ps_service_find(core, open->key.service_id);
    else
        open->service = RRMP_SERVICE_NONE;
    open->description = NULL;
    if (open->service != RRMP_SERVICE_NONE)
        open->description = p2ps_service_asked(core, open->service);
    if (!open->description) {
        if (open->key.flags & RWF_KEY_HAS_SERVICE_ID &&
            p2ps_service_is_closing(core, open->key.service_id))
            refuse(core, open, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_SOURCE_UNKNOWN,
                   "The service is being closed; ask again");
        else
            close_with(core, open, RWF_CODE_SOURCE_UNKNOWN, "Unknown service");
        return false;
    }
    return true;
}

static bool check_domain(struct p2ps_core *core, const struct opening *open)
{
    if (memchr(open->description->capabilities, open->request->domain,
               open->description->capability_count))
        return true;
    close_with(core, open, RWF_CODE_USAGE_ERROR, "The service does not serve this domain");
    return false;
}

static void refuse_quality(struct p2ps_core *core, const struct opening *open)
{
    const struct p2ps_client *c = p2ps_client_at(core, open->client);
    char text[REFUSAL_MAX];

    core->stats.not_entitled += c->qualities != 0;
    p2ps_qos_refusal(core, c, open->description, text, sizeof(text));
    close_with(core, open, c->qualities ? RWF_CODE_NOT_ENTITLED : RWF_CODE_USAGE_ERROR, text);
}

/* The best quality of the service that the request accepts. */
static bool choose_quality(struct p2ps_core *core, struct opening *open)
{
    if (p2ps_qos_choose(core, p2ps_client_at(core, open->client), open->description, open->request,
                        &open->quality))
        return true;
    refuse_quality(core, open);
    return false;
}

static bool is_reached(uint64_t limit, const _Atomic uint64_t *count)
{
    return limit && atomic_load_explicit(count, memory_order_relaxed) >= limit;
}

static bool check_limits(struct p2ps_core *core, const struct opening *open)
{
    const struct p2ps_client *c = p2ps_client_at(core, open->client);
    const struct p2ps_item_limits *limits = &core->config.item_limits;

    if ((limits->mount && c->item_streams >= limits->mount) ||
        is_reached(limits->host, &c->host->items) || is_reached(c->item_limit, &c->party->items) ||
        is_reached(limits->aggregate, p2ps_parties_items(core->parties))) {
        core->stats.refused_limit++;
        close_for_room(core, open, RWF_CODE_TOO_MANY_ITEMS, "Too many items are open");
        return false;
    }
    return true;
}

#define SNAPSHOTS_ONLY "the user may ask for snapshots only"

static void note_stream(struct p2ps_core *core, const struct opening *open)
{
    const struct p2ps_client *c = p2ps_client_at(core, open->client);
    const struct rrmp_view service = open->description->name;
    const struct entitle_query query = {
        .kind = ENTITLE_ITEM,
        .domain = open->request->domain,
        .user = entitle_text(c->user),
        .host = entitle_text(c->address),
        .service = { (const char *)service.bytes, service.length },
        .item = { (const char *)open->key.name.data, open->key.name.length },
    };

    p2ps_dry_note(core, &query, SNAPSHOTS_ONLY);
}

static bool check_stream(struct p2ps_core *core, const struct opening *open)
{
    if (!open->request->is_streaming || !p2ps_client_at(core, open->client)->is_snapshot_only)
        return true;
    if (core->config.rules.is_dry_run) {
        note_stream(core, open);
        return true;
    }
    core->stats.not_entitled++;
    close_with(core, open, RWF_CODE_NOT_ENTITLED, SNAPSHOTS_ONLY);
    return false;
}

static bool check_memory(struct p2ps_core *core, const struct opening *open)
{
    if (!p2ps_trail_has_room(core, ENTITLE_LEVEL_ITEMS)) {
        close_for_room(core, open, RWF_CODE_NO_RESOURCES, P2PS_TRAIL_FULL);
        return false;
    }
    if (!p2ps_core_is_full(core))
        return true;
    core->stats.refused_no_memory++;
    close_for_room(core, open, RWF_CODE_NO_RESOURCES, "No memory for more items");
    return false;
}

/* ---- forms ---- */

static bool choose_form(struct p2ps_core *core, struct opening *open)
{
    const struct p2ps_client *c = p2ps_client_at(core, open->client);
    uint8_t flags = (uint8_t)((open->request->key_in_updates ? P2PS_FORM_KEY : 0) |
                              (open->request->conf_info_in_updates ? P2PS_FORM_CONF : 0) |
                              (c->wants_native ? P2PS_FORM_NATIVE : 0) |
                              (c->wants_marketfeed ? P2PS_FORM_MARKETFEED : 0) |
                              (c->permission_expressions ? 0 : P2PS_FORM_BARE));
    struct omm_view view = { 0 };

    if (open->request->has_view) {
        int rc = omm_view_decode(open->request, core->view_fields, OMM_VIEW_FIELDS_MAX, &view);
        if (rc == RWF_ERR_RANGE || (rc == RWF_OK && view.type != OMM_VIEW_FIELDS)) {
            close_with(core, open, RWF_CODE_UNSUPPORTED_VIEW_TYPE,
                       "This type of view is not supported");
            return false;
        }
        if (rc != RWF_OK) {
            close_with(core, open, RWF_CODE_INVALID_VIEW, "The view cannot be read");
            return false;
        }
        flags |= P2PS_FORM_VIEW;
    }
    open->form = p2ps_form_take(core, open->client, flags, open->quality.pace, core->view_fields,
                                view.field_count);
    if (open->form != P2PS_NONE)
        return true;
    p2ps_client_at(core, open->client)->misuse.views++;
    core->stats.refused_limit++;
    close_with(core, open, RWF_CODE_NO_RESOURCES, "Too many different views");
    return false;
}

/* ---- opening ---- */

static uint32_t item_of_sink(const struct rrmp_sink *sink, uint32_t sink_item)
{
    struct rrmp_sink_item info;

    return rrmp_sink_item_info(sink, sink_item, &info) ? (uint32_t)info.user : P2PS_NONE;
}

/* The item of the key: the open one, or a new one. P2PS_NONE: the request was refused. */
static uint32_t open_item(struct p2ps_core *core, const struct opening *open)
{
    const struct omm_item_request *request = open->request;
    const struct p2ps_service *service = &core->services[open->service];
    struct rrmp_sink *sink = core->sinks[service->network];
    struct rwf_key key = open->key;
    uint8_t bytes[RRMP_KEY_SIZE_MAX];
    struct rrmp_sink_open sink_open = {
        .service = service->sink_service,
        .priority_class = request->has_priority ? request->priority_class : 1,
        .priority_count = request->has_priority ? request->priority_count : 1,
        .is_snapshot = !request->is_streaming,
        .is_private = request->is_private,
    };
    uint32_t sink_item = RRMP_ITEM_NONE;

    if (itemkey_encode(request->domain, &key, &open->quality.source, bytes, sizeof(bytes),
                       &sink_open.key.length) != RWF_OK) {
        close_with(core, open, RWF_CODE_INVALID_ARGUMENT, "The key is too long");
        return P2PS_NONE;
    }
    sink_open.key.bytes = bytes;
    /* A snapshot of an item that is open is one more watch on it. */
    if (!request->is_streaming && !request->is_private &&
        rrmp_sink_item_find(sink, sink_open.service, sink_open.key) != RRMP_ITEM_NONE)
        sink_open.is_snapshot = false;
    if (!p2ps_request_data(core, request, &sink_open.message)) {
        close_with(core, open, RWF_CODE_INVALID_ARGUMENT, "The data of the request are too long");
        return P2PS_NONE;
    }
    uint32_t item = p2ps_item_take(core, open->service);
    if (item == P2PS_NONE) {
        close_for_room(core, open, RWF_CODE_NO_RESOURCES, "No memory for another item");
        return P2PS_NONE;
    }
    sink_open.user = item;
    int err = rrmp_sink_item_open(sink, core->now_ns, &sink_open, &sink_item);
    if (err != MD_OK) {
        p2ps_item_give(core, item);
        if (err == MD_ERR_EXISTS) {
            item = item_of_sink(sink, sink_item);
            if (item != P2PS_NONE)
                p2ps_states_settle(core, item);
            return item;
        }
        close_for_room(core, open,
                       err == MD_ERR_FULL ? RWF_CODE_TOO_MANY_ITEMS : RWF_CODE_NO_RESOURCES,
                       "No more items can be opened");
        return P2PS_NONE;
    }
    struct p2ps_item *it = &core->items[item];
    it->sink_item = sink_item;
    it->domain = request->domain;
    it->is_private = request->is_private;
    it->is_snapshot = sink_open.is_snapshot;
    return item;
}

static void open_watch(struct p2ps_core *core, struct opening *open)
{
    const struct omm_item_request *request = open->request;
    bool has_refresh = !request->no_refresh || !request->is_streaming; /* a snapshot is one */
    struct entitle_answer answer;

    if (!choose_form(core, open))
        return;
    uint32_t item = open_item(core, open);
    if (item == P2PS_NONE) {
        p2ps_form_give(core, open->form);
        return;
    }
    struct p2ps_watch watch = {
        .client = (uint16_t)open->client,
        .stream_id = open->stream_id,
        .form = (uint16_t)open->form,
        .state = P2PS_WATCH_ASKS,
        .flags = (uint16_t)((request->is_streaming ? 0 : P2PS_WATCH_SNAPSHOT) |
                            (request->pause ? P2PS_WATCH_PAUSED : 0) |
                            (has_refresh ? P2PS_WATCH_ASKED : P2PS_WATCH_NO_REFRESH) |
                            (request->is_private ? P2PS_WATCH_PRIVATE : 0) |
                            (p2ps_standby_is(p2ps_client_at(core, open->client), open->service)
                                 ? P2PS_WATCH_STANDBY
                                 : 0)),
    };
    if (p2ps_item_watch_add(core, item, &watch) != MD_OK) {
        close_with(core, open, RWF_CODE_NO_RESOURCES, "No memory for another item");
        p2ps_form_give(core, open->form);
        p2ps_item_drop_if_unwatched(core, item);
        return;
    }
    uint32_t at = core->items[item].watch_count - 1;
    switch (p2ps_entitle_item(core, item, at, &answer)) {
    case ENTITLE_ALLOW:
        p2ps_item_priority(core, item, request, request->is_streaming);
        p2ps_watch_permitted(core, item, at);
        break;
    case ENTITLE_DENY:
        p2ps_watch_denied(core, item, at, answer.text);
        p2ps_items_sweep(core); /* now: until the batch is over the source could be asked */
        break;
    case ENTITLE_PENDING:
        p2ps_item_keep_open(core, item);
        break;
    }
}

/* While a service is down, requests of clients that accept suspect data wait; others are closed. */
static bool check_service_state(struct p2ps_core *core, const struct opening *open)
{
    const struct p2ps_client *c = p2ps_client_at(core, open->client);

    if (open->description->is_up && open->description->is_accepting)
        return true;
    if (!c->single_open || !c->allow_suspect || open->request->is_private ||
        !open->request->is_streaming) {
        refuse(core, open, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_SOURCE_UNKNOWN,
               "The service is down");
        return false;
    }
    return true;
}

static void open_one(struct p2ps_core *core, struct opening *open)
{
    p2ps_deliver_events(core); /* the sink needs its queue empty to take a request */
    if (find_service(core, open) && check_domain(core, open) && choose_quality(core, open) &&
        check_limits(core, open) && check_stream(core, open) && check_memory(core, open) &&
        check_service_state(core, open))
        open_watch(core, open);
}

/* ---- batches ---- */

/* The views of the request are the front's: it keeps them for so long. */
struct p2ps_batch {
    struct omm_item_request request;
    struct omm_batch names;
    int32_t stream_id; /* of the name before */
    bool is_suspect;   /* one could not be opened */
};

static void open_name(struct p2ps_core *core, uint32_t client, struct p2ps_batch *batch,
                      struct rwf_bytes name)
{
    const struct p2ps_client *c = p2ps_client_at(core, client);
    struct opening open = {
        .client = client,
        .request = &batch->request,
        .key = batch->request.key,
        .stream_id = ++batch->stream_id,
    };

    if (p2ps_idmap_get(&c->streams, open.stream_id) != P2PS_IDMAP_NONE) {
        batch->is_suspect = true; /* in use for something else: not disturbed */
        return;
    }
    open.key.flags |= RWF_KEY_HAS_NAME;
    open.key.name = name;
    open_one(core, &open);
    batch->is_suspect |= p2ps_idmap_get(&c->streams, open.stream_id) == P2PS_IDMAP_NONE;
}

bool p2ps_batch_next(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct p2ps_batch *batch = c->batch;
    struct rwf_bytes name;
    int rc = batch->stream_id < INT32_MAX ? omm_batch_next(&batch->names, &name) : 0;

    if (rc > 0) {
        p2ps_work_spend(core, 1, 0);
        p2ps_tally_ask(core, c);
        open_name(core, client, batch, name);
        return true;
    }
    struct rwf_state state =
        omm_state(RWF_STREAM_CLOSED, rc < 0 || batch->is_suspect ? RWF_DATA_SUSPECT : RWF_DATA_OK,
                  RWF_CODE_NONE, "The batch was taken");
    p2ps_status_send(core, client, batch->request.stream_id, batch->request.domain, 0, &state);
    p2ps_batch_forget(c);
    return false;
}

static void open_batch(struct p2ps_core *core, uint32_t client,
                       const struct omm_item_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct opening refused = { .client = client,
                               .request = request,
                               .stream_id = request->stream_id };
    struct omm_batch names;

    if (omm_batch_start(request, &names) != RWF_OK) {
        close_with(core, &refused, RWF_CODE_UNABLE_TO_REQUEST_AS_BATCH,
                   "The batch has no readable list of items");
        return;
    }
    struct p2ps_batch *batch = c->batch ? NULL : malloc(sizeof(*batch));
    if (!batch) {
        close_with(core, &refused, RWF_CODE_NO_RESOURCES, "No room for another batch");
        return;
    }
    *batch =
        (struct p2ps_batch){ .request = *request, .names = names, .stream_id = request->stream_id };
    c->batch = batch;
    /* A front that keeps nothing back does not keep the views of the batch either. */
    bool is_sliced = c->front->resume != NULL;
    for (unsigned i = 0; !is_sliced || (i < P2PS_SHARE_ASKS && core->work.asks > 0); i++) {
        if (is_sliced && p2ps_work_parks(core, client))
            return;
        if (!p2ps_batch_next(core, client))
            return;
    }
    if (core->work.resuming != client)
        p2ps_work_wait(core, client);
}

/* ---- re-issue ---- */

static bool is_same_item(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w,
                         const struct omm_item_request *request)
{
    struct rwf_key key;
    struct rwf_qos qos;
    bool is_streaming = !(w->flags & P2PS_WATCH_SNAPSHOT);

    return is_streaming == request->is_streaming && core->items[item].domain == request->domain &&
           p2ps_item_key(core, item, &key, &qos) && rwf_key_equal(&key, &request->key);
}

static bool change_form(struct p2ps_core *core, struct opening *open, uint32_t item,
                        struct p2ps_watch *w)
{
    uint32_t old = w->form;

    if (!choose_form(core, open))
        return false;
    if (open->quality.pace != core->forms[old].pace &&
        !p2ps_pace_move(core, item, w, open->quality.pace)) {
        p2ps_form_give(core, open->form);
        close_with(core, open, RWF_CODE_NO_RESOURCES, "No memory for another item");
        return false;
    }
    w->form = (uint16_t)open->form;
    p2ps_form_give(core, old);
    return true;
}

/* The rate that the request wants of the open stream. False: it does not exist. */
static bool choose_pace(struct p2ps_core *core, struct opening *open, uint32_t item,
                        const struct p2ps_watch *w)
{
    struct rwf_key key;
    struct rwf_qos qos;

    open->quality.pace = core->forms[w->form].pace;
    open->description = p2ps_service_asked(core, core->items[item].service);
    if (!open->description || !p2ps_item_key(core, item, &key, &qos) ||
        p2ps_qos_choose_again(core, p2ps_client_at(core, open->client), open->description,
                              open->request, &qos, &open->quality.pace))
        return true;
    refuse_quality(core, open);
    return false;
}

static void reissue(struct p2ps_core *core, uint32_t client, uint32_t item,
                    const struct omm_item_request *request)
{
    uint32_t at = p2ps_item_watch_find(core, item, client, request->stream_id);
    struct opening open = { .client = client, .request = request, .stream_id = request->stream_id };

    if (at == P2PS_NONE)
        return;
    struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[at];
    if (!is_same_item(core, item, w, request)) {
        struct rwf_state state =
            omm_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, RWF_CODE_USAGE_ERROR,
                      "A re-issue may not change the item");
        p2ps_watch_status(core, item, at, &state);
        return;
    }
    bool is_cut = core->forms[w->form].is_cut;
    uint8_t pace = core->forms[w->form].pace;
    if (!choose_pace(core, &open, item, w) || !change_form(core, &open, item, w)) {
        p2ps_item_watch_end(core, item, at); /* the refusal above closed the stream */
        return;
    }
    bool is_moved = open.quality.pace != pace; /* it is told so by an image */
    if (is_cut && !p2ps_entitle_cut_again(core, item, at))
        return;
    if (request->pause)
        w->flags |= P2PS_WATCH_PAUSED;
    else
        w->flags &= (uint16_t)~P2PS_WATCH_PAUSED;
    p2ps_item_priority(core, item, request, w->state != P2PS_WATCH_ASKS);
    bool missed = !request->pause && (w->flags & P2PS_WATCH_MISSED);
    if (missed)
        w->flags &= (uint16_t)~P2PS_WATCH_MISSED;
    if (!request->no_refresh) {
        w->flags |= P2PS_WATCH_ASKED; /* one that waits for a verdict, too */
        w->flags &= (uint16_t)~P2PS_WATCH_NO_REFRESH;
    }
    if (w->state != P2PS_WATCH_ASKS && (!request->no_refresh || missed || is_moved))
        p2ps_watch_asks_again(core, item, at);
}

/* ---- the client's words ---- */

/* A tunnel is refused as the reference provider library does. */
static void refuse_tunnel(struct p2ps_core *core, uint32_t client,
                          const struct omm_item_request *request)
{
    struct rwf_state state = omm_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                                       "p2ps does not carry tunnel streams: a tunnel ends at the "
                                       "provider, connect to it or ask for a private stream");

    p2ps_status_send(
        core, client, request->stream_id, request->domain,
        RWF_STATUS_CLEAR_CACHE | RWF_STATUS_PRIVATE_STREAM | RWF_STATUS_QUALIFIED_STREAM, &state);
}

void p2ps_client_item(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                      const struct omm_item_request *request)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct opening open = {
        .client = client,
        .request = request,
        .key = request->key,
        .stream_id = request->stream_id,
    };
    uint32_t index = p2ps_idmap_get(&c->streams, request->stream_id);

    core->now_ns = now_ns;
    core->are_ids_known = true;
    core->stats.requests_in++;
    p2ps_work_spend(core, 1, 0);
    p2ps_tally_ask(core, c);
    if (c->login_state == P2PS_LOGIN_REFUSED)
        return;
    if (c->login_state != P2PS_LOGIN_OPEN)
        refuse(core, &open, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_USAGE_ERROR, "log in first");
    else if (request->stream_id <= 0)
        close_with(core, &open, RWF_CODE_USAGE_ERROR, "A request needs a positive stream id");
    else if (request->is_qualified)
        refuse_tunnel(core, client, request);
    else if (index < P2PS_STREAM_DICTIONARY)
        reissue(core, client, index, request);
    else if (index != P2PS_IDMAP_NONE)
        close_with(core, &open, RWF_CODE_USAGE_ERROR, "The stream id is in use");
    else if (request->is_batch)
        open_batch(core, client, request);
    else if (!(request->key.flags & (RWF_KEY_HAS_NAME | RWF_KEY_HAS_ATTRIB |
                                     RWF_KEY_HAS_IDENTIFIER | RWF_KEY_HAS_FILTER)))
        close_with(core, &open, RWF_CODE_USAGE_ERROR, "The request names no item");
    else
        open_one(core, &open);
}

void p2ps_client_bad_request(struct p2ps_core *core, uint32_t client, int32_t stream_id,
                             uint8_t domain, const char *text)
{
    struct rwf_state state =
        omm_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, RWF_CODE_INVALID_ARGUMENT, text);

    core->stats.decode_errors++;
    p2ps_work_spend(core, 1, 0);
    p2ps_tally_ask(core, p2ps_client_at(core, client));
    p2ps_status_send(core, client, stream_id, domain, 0, &state);
}
