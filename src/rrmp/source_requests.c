/* source_requests.c - what requesters send to an instance. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#include "state.h"

#define LATER_MS   1000u
#define PARTNER_NS 3500000000ull /* as long as requesters believe in a silent instance */

struct rrmp_source_event *source_event_put(struct rrmp_source *source,
                                           enum rrmp_source_event_kind kind)
{
    MD_ASSERT(source->event_tail - source->event_head < SOURCE_EVENTS);
    struct rrmp_source_event *event = &source->events[source->event_tail++ % SOURCE_EVENTS];

    *event = (struct rrmp_source_event){
        .kind = kind, .svc = RRMP_SVC_NONE, .item = RRMP_ITEM_NONE, .ask = RRMP_ITEM_NONE
    };
    return event;
}

/* ---- requesters ---- */

static uint64_t requester_hash(const struct rrmp_source *source, uint64_t session, uint16_t port)
{
    uint64_t state = session ^ source->seed ^ port;

    return md_splitmix64(&state);
}

uint32_t source_requester_find(const struct rrmp_source *source, uint64_t session, uint16_t port)
{
    uint64_t hash = requester_hash(source, session, port);
    uint32_t cursor = 0;
    uint32_t number;

    while ((number = md_map_next(&source->requester_map, hash, &cursor)) != MD_NIL) {
        const struct source_requester *who = source_requester_at(source, number);
        if (who->session == session && who->port == port)
            return number;
    }
    return MD_NIL;
}

static uint32_t requester_enter(struct rrmp_source *source, uint64_t now_ns, uint64_t session,
                                uint16_t port)
{
    uint32_t number = source_requester_find(source, session, port);

    if (number == MD_NIL) {
        number = md_slots_take(&source->requesters);
        if (number == MD_NIL)
            return MD_NIL;
        uint64_t hash = requester_hash(source, session, port);
        if (md_map_put(&source->requester_map, hash, number) != 0) {
            md_slots_give(&source->requesters, number);
            return MD_NIL;
        }
        struct source_requester *who = source_requester_at(source, number);
        who->in_use = true;
        who->session = session;
        who->port = port;
    }
    source_requester_at(source, number)->heard_ns = now_ns;
    return number;
}

void source_requester_gone(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    struct source_requester *who = source_requester_at(source, number);

    for (uint32_t n = 0; n < source->items.high; n++) {
        struct source_item *item = source_item_at(source, n);
        bool is_active;
        if (!item->in_use)
            continue;
        source_asks_drop(source, n, number);
        if (!source_interest_get(source, item, number, &is_active))
            continue;
        source_interest_clear(source, n, number);
        source_item_settle(source, now_ns, n);
    }
    source_asks_of_gone(source, number);
    md_map_remove(&source->requester_map, requester_hash(source, who->session, who->port), number);
    md_slots_give(&source->requesters, number);
}

void source_user_ended(struct rrmp_source *source, uint64_t session, uint16_t port)
{
    uint32_t at = source->ended_count++ % SOURCE_ENDED;

    source->ended[at].session = session;
    source->ended[at].port = port;
}

/* A port is never given twice, so that this stays true for ever. */
static bool has_ended(const struct rrmp_source *source, uint64_t session, uint16_t port)
{
    uint32_t count = source->ended_count < SOURCE_ENDED ? source->ended_count : SOURCE_ENDED;

    for (uint32_t i = 0; i < count; i++) {
        if (source->ended[i].session == session && source->ended[i].port == port)
            return true;
    }
    return false;
}

/* ---- REQUEST ---- */

static void refuse(struct rrmp_source *source, uint32_t requester, const struct rrmp_record *record,
                   uint8_t scope, uint8_t code, const char *text)
{
    struct rrmp_ending ending = {
        .state = scope == RRMP_REFUSE_LATER ? RRMP_STATE_OPEN_SUSPECT : RRMP_STATE_CLOSED_RECOVER,
        .code = code,
        .scope = scope,
        .text = { .bytes = (const uint8_t *)text, .length = strlen(text) },
    };

    /* All that were refused at one time must not ask again at one time. */
    if (scope == RRMP_REFUSE_LATER)
        ending.wait_ms = LATER_MS + (uint32_t)(md_splitmix64(&source->random) % LATER_MS);
    source_refuse(source, requester, record->header.svc, record->u.request.id,
                  record->u.request.key_hash, &ending);
}

static void refuse_full(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                        const struct rrmp_record *record)
{
    switch (source_room_make(source, now_ns, &record->u.request)) {
    case ROOM_NONE:
        refuse(source, requester, record, RRMP_REFUSE_NOT_HERE, RRMP_CODE_TOO_MANY_ITEMS,
               "too many items open at this source");
        break;
    case ROOM_LATER:
        refuse(source, requester, record, RRMP_REFUSE_LATER, RRMP_CODE_TOO_MANY_ITEMS,
               "too many items open at this source, which looks for room");
        break;
    case ROOM_MADE:
        refuse(source, requester, record, RRMP_REFUSE_LATER, RRMP_CODE_TOO_MANY_ITEMS,
               "another item makes room");
        break;
    }
}

static void priority_take(struct rrmp_source *source, uint32_t number,
                          const struct rrmp_request *request)
{
    struct source_item *item = source_item_at(source, number);
    bool is_only = source_interest_count(source, item) == 1;
    uint8_t class = request->priority_class;
    uint16_t count = source_priority_count(request);

    /* Per requester nothing is kept: with several the highest ever said stands. */
    if (!is_only && item->priority_class > class)
        class = item->priority_class;
    if (!is_only && item->priority_count > count)
        count = item->priority_count;
    if (item->priority_class == class && item->priority_count == count)
        return;
    item->priority_class = class;
    item->priority_count = count;
    if (!(item->news & NEWS_WANTED))
        source_item_news(source, number, NEWS_PRIORITY);
}

/* A new item for this request, or MD_NIL after a refusal. */
static uint32_t item_for(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                         const struct rrmp_record *record)
{
    const struct rrmp_request *request = &record->u.request;
    const struct rrmp_service *description = &source->services[record->header.svc].description;
    bool is_private = request->flags & RRMP_REQUEST_PRIVATE;

    if (!(description->state & RRMP_SERVICE_ACCEPTING)) {
        refuse(source, requester, record, RRMP_REFUSE_NOT_HERE, RRMP_CODE_NONE,
               "the source does not accept requests");
        return MD_NIL;
    }
    if (description->kind == 1 && !is_private) {
        bool is_complete = description->state & RRMP_SERVICE_COMPLETE;
        refuse(source, requester, record, is_complete ? RRMP_REFUSE_NOT_HERE : RRMP_REFUSE_LATER,
               RRMP_CODE_NOT_FOUND, "not published here");
        return MD_NIL;
    }
    if (rrmp_source_is_full(source)) {
        refuse_full(source, now_ns, requester, record);
        return MD_NIL;
    }
    uint32_t number = source_item_create(source, record->header.svc, request->key, is_private);
    if (number == MD_NIL) {
        refuse(source, requester, record, RRMP_REFUSE_NOT_HERE, RRMP_CODE_TOO_MANY_ITEMS,
               "too many items open at this source");
        return MD_NIL;
    }
    struct source_item *item = source_item_at(source, number);
    item->is_recovery = (request->flags & RRMP_REQUEST_RECOVERY) != 0;
    item->owner = (uint16_t)requester;
    if (is_private)
        item->stamp = request->id;
    source_item_news(source, number, NEWS_WANTED);
    struct source_work *work = source_work_of(source, item);
    work->request = request->message.bytes;
    work->request_length = request->message.length;
    return number;
}

/* A request that leaves no interest: one answer to one requester. */
static void snapshot_in(struct rrmp_source *source, uint32_t requester,
                        const struct rrmp_record *record)
{
    const struct rrmp_request *request = &record->u.request;
    uint16_t svc = record->header.svc;
    uint32_t number = source_ask_add(source, ASK_SNAPSHOT, requester, svc, request->id);

    if (number == MD_NIL) {
        refuse(source, requester, record, RRMP_REFUSE_LATER, RRMP_CODE_NO_RESOURCES,
               "too many requests are waiting");
        return;
    }
    struct source_ask *ask = source_ask_at(source, number);
    ask->key = malloc(request->key.length);
    if (!ask->key) {
        source_ask_free(source, number);
        return; /* asked again */
    }
    memcpy(ask->key, request->key.bytes, request->key.length);
    ask->key_length = (uint16_t)request->key.length;
    ask->key_hash = request->key_hash;
    source->stats.memory_now += ask->key_length;
    struct rrmp_source_event *event = source_event_put(source, RRMP_SOURCE_SNAPSHOT);
    event->svc = svc;
    event->ask = number;
    event->item = source_item_lookup(source, svc, request->key);
    event->key = (struct rrmp_view){ .bytes = ask->key, .length = ask->key_length };
    event->key_hash = request->key_hash;
    event->message = request->message;
    event->priority_class = request->priority_class;
    event->priority_count = request->priority_count;
}

void source_request_image(struct rrmp_source *source, uint32_t number, uint32_t requester,
                          uint32_t id, bool is_multicast)
{
    static const struct rrmp_ending later = { .state = RRMP_STATE_OPEN_SUSPECT,
                                              .code = RRMP_CODE_NO_RESOURCES,
                                              .scope = RRMP_REFUSE_LATER,
                                              .wait_ms = LATER_MS };
    struct source_item *item = source_item_at(source, number);

    if (source_ask_image(source, number, requester, id, is_multicast) == MD_NIL) {
        source_refuse(source, requester, item->svc, id, source_key_hash(source, item), &later);
        return;
    }
    if (item->has_image && item->image_mode == IMAGE_NONE)
        source_item_news(source, number, NEWS_IMAGE);
}

/* A follower has what others have: it opens nothing, keeps nothing open, and is in no digest. */
static void follow_in(struct rrmp_source *source, uint32_t requester,
                      const struct rrmp_record *record)
{
    const struct rrmp_request *request = &record->u.request;
    uint32_t number = source_item_lookup(source, record->header.svc, request->key);

    if (number == MD_NIL || !source_item_is_active(source, source_item_at(source, number)))
        refuse(source, requester, record, RRMP_REFUSE_NOT_HERE, RRMP_CODE_NOT_FOUND,
               "nobody has it open here");
    else if (source->asks.count >= source->config.ask_limit / 2)
        refuse(source, requester, record, RRMP_REFUSE_LATER, RRMP_CODE_NO_RESOURCES,
               "too many requests are waiting");
    else if (request->flags & RRMP_REQUEST_IMAGE)
        source_request_image(source, number, requester, request->id,
                             request->flags & RRMP_REQUEST_MULTICAST);
}

/* An image, or what the requester has missed since its place. */
static void request_image(struct rrmp_source *source, uint32_t number, uint32_t requester,
                          const struct rrmp_record *record)
{
    const struct rrmp_request *request = &record->u.request;
    const struct source_requester *who = source_requester_at(source, requester);

    if (!request->position.is_known || !source_item_at(source, number)->has_image) {
        source_request_image(source, number, requester, request->id,
                             request->flags & RRMP_REQUEST_MULTICAST);
        return;
    }
    source_asks_drop(source, number, requester);
    struct rrmp_source_event *event = source_event_put(source, RRMP_SOURCE_RESUME);
    event->svc = record->header.svc;
    event->item = number;
    event->position = request->position;
    event->reply = (struct rrmp_reply){
        .session = who->session, .port = who->port, .svc = record->header.svc, .id = request->id
    };
}

/* The private stream that is meant: by its handle, or one not answered yet by the id it was first
 * asked with. Its key does not say: a requester may have several of one key. */
static uint32_t private_known(struct rrmp_source *source, uint32_t requester, uint16_t svc,
                              uint32_t handle, uint32_t id)
{
    uint32_t number = source_handle_item(source, handle);

    if (handle != RRMP_HANDLE_NONE && number != MD_NIL) {
        const struct source_item *item = source_item_at(source, number);
        return item->is_private && item->owner == requester ? number : MD_NIL;
    }
    for (uint32_t n = 0; n < source->items.high && source->private_count > 0; n++) {
        const struct source_item *item = source_item_at(source, n);
        if (item->is_private && item->svc == svc && item->owner == requester && item->stamp == id)
            return n;
    }
    return MD_NIL;
}

static void request_in(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                       const struct rrmp_record *record)
{
    const struct rrmp_request *request = &record->u.request;
    struct source_requester *who = source_requester_at(source, requester);
    uint16_t svc = record->header.svc;
    bool is_private = request->flags & RRMP_REQUEST_PRIVATE;
    bool is_active = !(request->flags & RRMP_REQUEST_STANDBY);

    if (who->newest_id == 0 || rrmp_after(request->id, who->newest_id))
        who->newest_id = request->id;
    if (svc >= source->service_count || source->services[svc].is_withdrawn || source->is_leaving) {
        refuse(source, requester, record, RRMP_REFUSE_NOT_HERE, RRMP_CODE_NONE,
               "no such service here");
        return;
    }
    if (request->flags & RRMP_REQUEST_FOLLOW) {
        follow_in(source, requester, record);
        return;
    }
    if (!(request->flags & RRMP_REQUEST_STREAMING)) {
        snapshot_in(source, requester, record);
        return;
    }
    uint32_t number = is_private
                          ? private_known(source, requester, svc, request->handle, request->id)
                          : source_item_lookup(source, svc, request->key);
    if (number == MD_NIL)
        number = item_for(source, now_ns, requester, record);
    if (number == MD_NIL)
        return;
    struct source_item *item = source_item_at(source, number);
    item->requested = source_clock(now_ns);
    if (is_private)
        item->stamp = request->id;
    if (!source_interest_set(source, number, requester, is_active)) {
        source_item_settle(source, now_ns, number);
        refuse(source, requester, record, RRMP_REFUSE_LATER, RRMP_CODE_NO_RESOURCES,
               "out of memory");
        return;
    }
    priority_take(source, number, request);
    source_item_settle(source, now_ns, number);
    /* Stale handle: the consumer missed the withdrawal. Send an image to resync it. */
    bool is_astray = request->handle != RRMP_HANDLE_NONE && request->handle != item->handle;
    bool wants_image = (request->flags & (RRMP_REQUEST_IMAGE | RRMP_REQUEST_RESUME)) != 0;
    if (is_active && (wants_image || is_astray))
        request_image(source, number, requester, record);
}

/* ---- the rest of what requesters say ---- */

static void close_in(struct rrmp_source *source, uint64_t now_ns, uint32_t requester,
                     const struct rrmp_record *record)
{
    const struct rrmp_close *close = &record->u.close;
    uint16_t svc = record->header.svc;

    if (svc >= source->service_count)
        return;
    uint32_t number = record->header.flags & RRMP_FLAG_PRIVATE
                          ? private_known(source, requester, svc, close->handle, close->id)
                          : source_item_lookup(source, svc, close->key);
    if (number == MD_NIL)
        return;
    struct source_item *item = source_item_at(source, number);
    for (uint32_t n = item->asks; n != MD_NIL; n = source_ask_at(source, n)->next) {
        const struct source_ask *ask = source_ask_at(source, n);
        if (ask->requester == requester && rrmp_after(ask->id, close->id))
            return; /* older than the request we know */
    }
    source_asks_drop(source, number, requester);
    source_interest_clear(source, number, requester);
    source_item_settle(source, now_ns, number);
}

static uint32_t watched_item(const struct rrmp_source *source, uint32_t requester, uint32_t handle)
{
    uint32_t number = source_handle_item(source, handle);
    bool is_active;

    if (handle == RRMP_HANDLE_NONE || number == MD_NIL ||
        !source_interest_get(source, source_item_at(source, number), requester, &is_active))
        return MD_NIL;
    return number;
}

static void post_in(struct rrmp_source *source, uint32_t requester,
                    const struct backbone_event *message, const struct rrmp_record *record)
{
    const struct rrmp_post *post = &record->u.post;
    struct rrmp_source_event *event = source_event_put(source, RRMP_SOURCE_POST);

    source->stats.posts++;
    event->svc = record->header.svc;
    event->item = watched_item(source, requester, post->handle);
    event->flag = post->flags & RRMP_POST_ACK;
    event->key = post->key;
    event->key_hash = post->key_hash;
    event->message = post->message;
    event->reply = (struct rrmp_reply){ .session = message->session,
                                        .port = message->src_port,
                                        .svc = record->header.svc,
                                        .id = post->id };
}

static void generic_in(struct rrmp_source *source, uint32_t requester,
                       const struct rrmp_record *record)
{
    uint32_t number = watched_item(source, requester, record->u.tick.handle);

    if (number == MD_NIL) {
        source->stats.unknown_handle++;
        return;
    }
    struct rrmp_source_event *event = source_event_put(source, RRMP_SOURCE_GENERIC);
    event->svc = source_item_at(source, number)->svc;
    event->item = number;
    event->message = record->u.tick.message;
}

static void dictreq_in(struct rrmp_source *source, uint32_t requester,
                       const struct rrmp_record *record)
{
    const struct rrmp_dictreq *request = &record->u.dictreq;
    uint32_t number =
        source_ask_add(source, ASK_DICTIONARY, requester, record->header.svc, request->id);

    if (number == MD_NIL)
        return; /* asked again */
    struct rrmp_source_event *event = source_event_put(source, RRMP_SOURCE_DICTIONARY);
    event->svc = record->header.svc;
    event->ask = number;
    event->filter = request->filter;
    event->key = request->name;
}

/* A REQUEST, CLOSE or POST names a canonical key and its true hash, or it is bad. */
static bool key_is_good(const struct rrmp_record *record)
{
    struct rrmp_view key = { .bytes = NULL, .length = 0 };
    uint64_t hash = 0;
    struct rrmp_key decoded;

    if (record->header.type == RRMP_REQUEST) {
        key = record->u.request.key;
        hash = record->u.request.key_hash;
    } else if (record->header.type == RRMP_CLOSE) {
        key = record->u.close.key;
        hash = record->u.close.key_hash;
    } else if (record->header.type == RRMP_POST) {
        key = record->u.post.key;
        hash = record->u.post.key_hash;
    }
    if (key.length == 0)
        return true;
    return rrmp_key_decode(key.bytes, key.length, &decoded) == 0 &&
           rrmp_key_hash(key.bytes, key.length) == hash;
}

static void upward_in(struct rrmp_source *source, uint64_t now_ns,
                      const struct backbone_event *message, const struct rrmp_record *record)
{
    if (!key_is_good(record)) {
        source->stats.records_bad++;
        if (rrmp_guard_bad(&source->guard, now_ns, message->session, message->src_port))
            source->stats.senders_ignored++;
        return;
    }
    bool is_stranger = source_requester_find(source, message->session, message->src_port) == MD_NIL;
    if (record->header.type == RRMP_SUM && record->u.sum.count == 0 && is_stranger)
        return; /* he holds nothing, we know nothing of him: agreed */
    if (is_stranger && has_ended(source, message->session, message->src_port))
        return;
    uint32_t requester = requester_enter(source, now_ns, message->session, message->src_port);
    if (requester == MD_NIL)
        return; /* at the limit of requesters: he asks again; the counter of requesters tells */
    switch ((enum rrmp_type)record->header.type) {
    case RRMP_REQUEST:
        request_in(source, now_ns, requester, record);
        return;
    case RRMP_CLOSE:
        close_in(source, now_ns, requester, record);
        return;
    case RRMP_POST:
        post_in(source, requester, message, record);
        return;
    case RRMP_GENERICUP:
        generic_in(source, requester, record);
        return;
    case RRMP_GAPQUERY:
        source_gapquery(source, message, record);
        return;
    case RRMP_AUDIT:
        source_audit(source, now_ns, requester, record);
        return;
    case RRMP_SUM:
        source_sum(source, now_ns, requester, record);
        return;
    case RRMP_DICTREQ:
        dictreq_in(source, requester, record);
        return;
    case RRMP_LISTREQ:
        source_listreq(source, now_ns, requester, record);
        return;
    default: /* no requester's record; the decoder let none through */
        return;
    }
}

static void query_in(struct rrmp_source *source, const struct rrmp_record *record)
{
    if (record->u.query.what & RRMP_QUERY_INSTANCE)
        source->beat_wanted = true;
    if (!(record->u.query.what & RRMP_QUERY_SERVICE))
        return;
    for (uint16_t svc = 0; svc < source->service_count; svc++) {
        if (record->header.svc == RRMP_SVC_NONE || record->header.svc == svc)
            source->services[svc].is_due = true;
    }
}

/* Other instances that have our services: the topic is the hash of a service's name. */
static void partners_in(struct rrmp_source *source, const struct rrmp_instance *said)
{
    for (uint16_t i = 0; i < said->service_count; i++) {
        const struct rrmp_instance_row row = rrmp_instance_row(said, i);
        bool is_up = (row.state & RRMP_SERVICE_UP) && !(said->state & RRMP_INSTANCE_LEAVING);

        for (uint16_t svc = 0; svc < source->service_count; svc++) {
            if (source->services[svc].topic == row.topic && is_up)
                source->services[svc].partner_ns = source->now_ns;
        }
    }
}

bool rrmp_source_has_partner(const struct rrmp_source *source, uint16_t svc)
{
    if (svc >= source->service_count || source->services[svc].partner_ns == 0)
        return false;
    return source->now_ns - source->services[svc].partner_ns < PARTNER_NS;
}

/* Another instance that says our name: a mistake in the configuration, but nothing breaks. */
static void instance_in(struct rrmp_source *source, const struct backbone_event *message,
                        const struct rrmp_record *record)
{
    const struct rrmp_view *name = &record->u.instance.name;
    bool is_other = message->session != source->session || message->src_port != source->port;

    if (is_other && name->length == strlen(source->name) &&
        memcmp(name->bytes, source->name, name->length) == 0)
        source->stats.duplicate_name++;
    if (is_other)
        partners_in(source, &record->u.instance);
}

void source_record_in(struct rrmp_source *source, uint64_t now_ns,
                      const struct backbone_event *message, const struct rrmp_record *record)
{
    source->now_ns = now_ns;
    if (record->header.type == RRMP_QUERY)
        query_in(source, record);
    else if (record->header.type == RRMP_INSTANCE)
        instance_in(source, message, record);
    else if (record->header.type >= RRMP_REQUEST && record->header.type < RRMP_BIND)
        upward_in(source, now_ns, message, record);
}
