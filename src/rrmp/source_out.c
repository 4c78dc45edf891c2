/* source_out.c - the source engine's way out: numbers, heartbeat, publishing, images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#include "state.h"

#define MS           1000000ull

#define BEAT_FAST_NS (100 * MS)
#define BEAT_GAP_NS  (50 * MS) /* at most 20 a second */
#define BEATS_FAST   3u

static struct rrmp_dest topic_dest(const struct rrmp_source *source, uint16_t svc)
{
    return (struct rrmp_dest){ .path = RRMP_PATH_MULTICAST, .topic = source->services[svc].topic };
}

/* The record about to go out takes the service's next number; the log remembers what it is about.
 */
void source_number(struct rrmp_source *source, uint16_t svc, uint32_t log_handle)
{
    struct source_service *service = &source->services[svc];

    service->svc_seq++;
    service->gap_log[service->svc_seq & (source->config.gap_log - 1)] = log_handle;
}

bool source_multicast(struct rrmp_source *source, uint16_t svc, uint32_t log_handle,
                      struct rrmp_record *record)
{
    struct rrmp_dest dest = topic_dest(source, svc);

    if (source->session == 0)
        return false;
    source_number(source, svc, log_handle);
    record->header.svc = svc;
    record->header.svc_seq = source->services[svc].svc_seq;
    return rrmp_outbox_put(&source->outbox, &dest, record);
}

void source_unicast(struct rrmp_source *source, uint64_t session, uint16_t port,
                    const struct rrmp_record *record)
{
    struct rrmp_dest dest = { .path = RRMP_PATH_UNICAST, .session = session, .port = port };

    if (source->session != 0)
        rrmp_outbox_put(&source->outbox, &dest, record);
}

/* ---- INSTANCE and SERVICE ---- */

static void instance_say(struct rrmp_source *source, uint64_t now_ns)
{
    static const struct rrmp_dest dest = { .path = RRMP_PATH_MULTICAST,
                                           .topic = RRMP_TOPIC_CONTROL };
    size_t size = RRMP_HEADER_SIZE + 24 + RRMP_NAME_MAX + 4 + 16u * source->service_count;
    uint8_t *room = rrmp_outbox_reserve(&source->outbox, size);

    if (!room)
        return; /* the next beat says it */
    struct rrmp_record record = {
        .header = { .type = RRMP_INSTANCE, .svc = RRMP_SVC_NONE },
        .u.instance = { .start_ms = source->config.start_ms,
                        .beat = source->beat++,
                        .interval_ms = (uint16_t)(source->config.heartbeat_ns / MS),
                        .state = source->is_leaving ? RRMP_INSTANCE_LEAVING : 0,
                        .handles_high = source->handles.high,
                        .name = { .bytes = (const uint8_t *)source->name,
                                  .length = strlen(source->name) } },
    };
    /* Rows straight into the ring, behind what the encoder writes for none. */
    uint16_t count = 0;
    for (uint16_t svc = 0; svc < source->service_count; svc++)
        count = (uint16_t)(count + (source->services[svc].is_withdrawn ? 0 : 1));
    record.u.instance.service_count = count;
    struct md_wr wr = md_wr_init(room, size);
    rrmp_record_encode(&wr, &record);
    MD_ASSERT(md_wr_ok(&wr));
    uint8_t *row = wr.pos - 16u * count;
    for (uint16_t svc = 0; svc < source->service_count; svc++) {
        const struct source_service *service = &source->services[svc];
        if (service->is_withdrawn)
            continue;
        const struct rrmp_instance_row values = {
            .svc = svc,
            .state = service->description.state &
                     (RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING | RRMP_SERVICE_COMPLETE),
            .topic = service->topic,
            .version = service->version,
            .last_seq = service->svc_seq
        };
        rrmp_instance_row_put(row, &values);
        row += 16;
    }
    rrmp_outbox_commit(&source->outbox, &dest, RRMP_INSTANCE, md_wr_length(&wr));
    source->beat_sent_ns = now_ns;
    source->beat_wanted = false;
}

void source_service_say(struct rrmp_source *source, uint16_t svc)
{
    static const struct rrmp_dest dest = { .path = RRMP_PATH_MULTICAST,
                                           .topic = RRMP_TOPIC_CONTROL };
    struct source_service *service = &source->services[svc];
    struct rrmp_record record = { .header = { .type = RRMP_SERVICE, .svc = svc } };
    bool is_change = service->sent_ns == 0;

    record.u.service = service->description;
    record.u.service.version = service->version;
    record.u.service.topic = service->topic;
    /* A change keeps its place before what is published after it, also when the ring is full. */
    service->is_due = is_change ? !rrmp_outbox_put(&source->outbox, &dest, &record)
                                : !rrmp_outbox_try(&source->outbox, &dest, &record);
}

/* INSTANCE goes before the SERVICEs of the same turn: nobody listens to an unknown instance. */
static void beat(struct rrmp_source *source, uint64_t now_ns)
{
    bool may_speak = source->beat_sent_ns == 0 || now_ns - source->beat_sent_ns >= BEAT_GAP_NS;

    if (!(source->beat_wanted && may_speak) && now_ns < source->beat_due_ns)
        return;
    instance_say(source, now_ns);
    uint64_t pause = source->config.heartbeat_ns;
    if (source->beats_fast > 0) {
        source->beats_fast--;
        pause = BEAT_FAST_NS;
    }
    source->beat_due_ns = now_ns + pause;
}

void source_heartbeat(struct rrmp_source *source, uint64_t now_ns)
{
    if (source->session == 0)
        return;
    beat(source, now_ns);
    for (uint16_t svc = 0; svc < source->service_count; svc++) {
        struct source_service *service = &source->services[svc];
        bool may_speak = service->sent_ns == 0 || now_ns - service->sent_ns >= BEAT_GAP_NS;

        if (service->is_due && may_speak && !service->is_withdrawn) {
            source_service_say(source, svc);
            service->sent_ns = now_ns;
        }
    }
}

/* ---- one open reservation ---- */

/* Room for a record of `item` with `header` bytes before the message; remembers where it goes. */
static uint8_t *open_room(struct rrmp_source *source, uint32_t number, const struct rrmp_dest *dest,
                          uint8_t type, size_t header, size_t length)
{
    MD_ASSERT(source->open_kind == OPEN_NONE);
    uint8_t *room = rrmp_outbox_reserve(&source->outbox, header + length);

    if (!room) {
        source->stats.backbone_refused++;
        return NULL;
    }
    source->open_dest = *dest;
    source->open_type = type;
    source->open_header = header;
    source->open_item = number;
    source->open_ask = RRMP_NIL;
    source->open_kind = OPEN_PLAIN;
    source->open_takes_number = false;
    source->open_is_image = false;
    source->open_is_last = false;
    return room;
}

/* The record will take a number of the service when it is committed. */
static uint32_t open_numbered(struct rrmp_source *source, uint16_t svc, uint32_t log_handle)
{
    source->open_kind = OPEN_NUMBERED;
    source->open_svc = svc;
    source->open_log = log_handle;
    return source->services[svc].svc_seq + 1;
}

static struct rrmp_dest owner_dest(const struct rrmp_source *source, const struct source_item *item)
{
    const struct source_requester *owner = source_requester_at(source, item->owner);

    return (struct rrmp_dest){ .path = RRMP_PATH_UNICAST,
                               .session = owner->session,
                               .port = owner->port };
}

static void image_reset(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    item->image_mode = IMAGE_NONE;
    source_work_settle(source, number);
    for (uint32_t ask = item->asks; ask != RRMP_NIL; ask = source_ask_at(source, ask)->next)
        source_ask_at(source, ask)->is_served = false;
}

void rrmp_source_image_abort(struct rrmp_source *source, uint32_t number)
{
    if (!source_item_exists(source, number))
        return;
    struct source_item *item = source_item_at(source, number);
    image_reset(source, number);
    item->image_told = false;
    if (item->has_image && source_asks_wait(source, item))
        source_item_news(source, number, NEWS_IMAGE);
}

/* A BIND goes out when what follows it has room, too: one for each time that it found none would
 * keep the ring full for ever. */
static int bind_send(struct rrmp_source *source, const struct source_item *item,
                     struct rrmp_record *bind, size_t following)
{
    struct rrmp_dest dest = topic_dest(source, item->svc);

    if (!rrmp_outbox_reserve(&source->outbox, rrmp_record_size(bind) + following)) {
        source->stats.backbone_refused++;
        return MD_ERR_FULL;
    }
    rrmp_outbox_commit(&source->outbox, &dest, RRMP_BIND, 0);
    source_multicast(source, item->svc, item->handle, bind);
    return MD_OK;
}

/* A BIND without image: those who wait learn the handle, for the STATUS that follows. */
static int bind_for_status(struct rrmp_source *source, uint32_t number, size_t following)
{
    struct source_item *item = source_item_at(source, number);

    if (item->handle == RRMP_HANDLE_NONE && !source_handle_take(source, source->now_ns, number))
        return MD_ERR_STATE;
    struct rrmp_record record = {
        .header = { .type = RRMP_BIND },
        .u.bind = { .handle = item->handle,
                    .item_seq = item->item_seq,
                    .key_hash = source_key_hash(source, item),
                    .group = item->group,
                    .key = source_key(source, item) },
    };
    return bind_send(source, item, &record, following);
}

static int tick_begin(struct rrmp_source *source, uint32_t number, uint8_t type, uint8_t flags,
                      size_t header, size_t length, uint8_t **room)
{
    struct source_item *item = source_item_at(source, number);
    struct rrmp_dest dest;

    *room = NULL;
    if (!source_item_is_active(source, item) || source->session == 0)
        return MD_ERR_STATE;
    if (item->image_mode != IMAGE_NONE && item->image_cached)
        rrmp_source_image_abort(source, number);
    if (type == RRMP_STATUS && !item->is_private && source_asks_wait(source, item)) {
        int err = bind_for_status(source, number, header + length);
        if (err)
            return err;
    }
    if (item->handle == RRMP_HANDLE_NONE)
        return MD_ERR_STATE;

    dest = item->is_private ? owner_dest(source, item) : topic_dest(source, item->svc);
    uint8_t *p = open_room(source, number, &dest, type, header, length);
    if (!p)
        return MD_ERR_FULL;
    uint32_t svc_seq = 0;
    if (item->is_private)
        flags |= RRMP_FLAG_PRIVATE;
    else
        svc_seq = open_numbered(source, item->svc, item->handle);
    source->open_takes_number = true;
    rrmp_tick_put(p, type, flags, item->svc, svc_seq, item->handle, item->item_seq + 1);
    *room = p + header;
    return MD_OK;
}

void rrmp_source_publish_soon(const struct rrmp_source *source, uint32_t item)
{
    if (item < source->items.high)
        __builtin_prefetch(source_item_at(source, item), 1);
}

int rrmp_source_publish_begin(struct rrmp_source *source, uint32_t item, uint8_t type,
                              size_t length, uint8_t **room)
{
    *room = NULL;
    if (!source_item_exists(source, item))
        return MD_ERR_STATE;
    return tick_begin(source, item, type, 0, RRMP_TICK_SIZE, length, room);
}

int rrmp_source_suspect_begin(struct rrmp_source *source, uint32_t item, size_t length,
                              uint8_t **room)
{
    *room = NULL;
    if (!source_item_exists(source, item))
        return MD_ERR_STATE;
    return tick_begin(source, item, RRMP_STATUS, RRMP_FLAG_STAYS, RRMP_TICK_SIZE, length, room);
}

int rrmp_source_status_begin(struct rrmp_source *source, uint32_t number, uint16_t group,
                             size_t length, uint8_t **room)
{
    *room = NULL;
    if (!source_item_exists(source, number))
        return MD_ERR_STATE;
    struct source_item *item = source_item_at(source, number);
    item->group = group;
    int err =
        tick_begin(source, number, RRMP_STATUS, RRMP_FLAG_GROUP, RRMP_TICK_SIZE + 2, length, room);
    if (!err)
        md_put_be16(*room - 2, group);
    return err;
}

/* ---- images ---- */

/* Mark who is served by the image that begins; false if nobody waits. All on one node: *session. */
static bool serve_waiting(struct rrmp_source *source, struct source_item *item, uint64_t *session,
                          bool *is_one_node, bool *is_multicast)
{
    bool has_any = false;

    *session = 0;
    *is_one_node = true;
    *is_multicast = false;
    for (uint32_t n = item->asks; n != RRMP_NIL; n = source_ask_at(source, n)->next) {
        struct source_ask *ask = source_ask_at(source, n);
        uint64_t its = source_requester_at(source, ask->requester)->session;

        if (has_any && its != *session)
            *is_one_node = false;
        *session = its;
        *is_multicast = *is_multicast || ask->is_multicast;
        ask->is_served = true;
        has_any = true;
    }
    return has_any;
}

/* No handle is free: whoever waits is sent away for a second. */
static void refuse_waiting(struct rrmp_source *source, uint32_t number)
{
    static const struct rrmp_ending ending = { .state = RRMP_STATE_OPEN_SUSPECT,
                                               .code = RRMP_CODE_NO_RESOURCES,
                                               .scope = RRMP_REFUSE_LATER,
                                               .wait_ms = 1000 };
    struct source_item *item = source_item_at(source, number);

    item->has_image = true;
    item->image_told = false;
    while (item->asks != RRMP_NIL) {
        const struct source_ask *ask = source_ask_at(source, item->asks);
        uint32_t requester = ask->requester;
        source_refuse(source, requester, item->svc, ask->id, source_key_hash(source, item),
                      &ending);
        source_interest_clear(source, number, requester);
        source_ask_free(source, item->asks);
    }
    source_item_settle(source, source->now_ns, number);
}

/* The BIND of an image by unicast. */
static int bind_for_image(struct rrmp_source *source, const struct source_item *item,
                          const struct rrmp_part *part, size_t length)
{
    const struct source_work *work = source_work_of(source, item);
    struct rrmp_record bind = {
        .header = { .type = RRMP_BIND },
        .u.bind = { .handle = item->handle,
                    .item_seq = item->item_seq,
                    .key_hash = source_key_hash(source, item),
                    .group = part->group,
                    .state = part->state,
                    .code = part->code,
                    .tag = work->image_tag,
                    .session = work->image_session,
                    .key = source_key(source, item) },
    };

    return bind_send(source, item, &bind, RRMP_IMAGE_HEADER + item->key_length + length);
}

/* Decide who gets the image, and how; send the BIND of one that goes by unicast. */
static int image_choose(struct rrmp_source *source, uint32_t number, const struct rrmp_part *part,
                        size_t length)
{
    struct source_item *item = source_item_at(source, number);
    uint64_t session;
    bool is_one_node, is_multicast;

    image_reset(source, number);
    item->image_cached = part->is_cached;
    item->group = part->group;
    if (!source_item_is_active(source, item) || source->session == 0) {
        item->image_mode = IMAGE_DISCARD;
        return MD_OK;
    }
    if (item->handle == RRMP_HANDLE_NONE && !source_handle_take(source, source->now_ns, number)) {
        refuse_waiting(source, number);
        return MD_ERR_STATE;
    }
    struct source_work *work = source_work_take(source, number);
    work->image_part = 0;
    work->image_tag = ++source->next_tag ? source->next_tag : ++source->next_tag;
    bool has_waiting = serve_waiting(source, item, &session, &is_one_node, &is_multicast);

    item->image_mode = part->is_solicited && has_waiting ? IMAGE_SOLICITED : IMAGE_NEWS;
    work->image_path = RRMP_PATH_MULTICAST;
    work->image_session = session;
    if (item->is_private) {
        work->image_path = RRMP_PATH_UNICAST;
        return MD_OK;
    }
    if (item->image_mode == IMAGE_NEWS || !is_one_node)
        return MD_OK;
    bool is_whole = part->is_last || part->is_cached;
    if (!source->config.unicast_images || is_multicast || !is_whole) {
        work->image_path = RRMP_PATH_DIRECTED;
        return MD_OK;
    }
    work->image_path = RRMP_PATH_UNICAST;
    int err = bind_for_image(source, item, part, length);
    if (err)
        image_reset(source, number);
    return err;
}

static void image_count(struct rrmp_source *source, enum rrmp_path path)
{
    switch (path) {
    case RRMP_PATH_MULTICAST:
        source->stats.images_multicast++;
        return;
    case RRMP_PATH_DIRECTED:
        source->stats.images_directed++;
        return;
    case RRMP_PATH_UNICAST:
        source->stats.images_unicast++;
        return;
    }
}

static struct rrmp_dest image_dest(const struct rrmp_source *source, const struct source_item *item)
{
    const struct source_work *work = source_work_of(source, item);

    if (item->is_private)
        return owner_dest(source, item);
    struct rrmp_dest dest = topic_dest(source, item->svc);
    dest.path = (enum rrmp_path)work->image_path;
    if (dest.path != RRMP_PATH_MULTICAST) {
        dest.session = work->image_session;
        dest.port = 0;
    }
    return dest;
}

static uint16_t image_flags(const struct source_item *item, const struct source_work *work,
                            const struct rrmp_part *part)
{
    unsigned flags = 0;

    flags |= work->image_part == 0 ? RRMP_IMAGE_FIRST : 0;
    flags |= part->is_last ? RRMP_IMAGE_LAST : 0;
    flags |= item->image_mode == IMAGE_SOLICITED ? RRMP_IMAGE_SOLICITED : 0;
    flags |= item->is_private ? RRMP_IMAGE_PRIVATE : 0;
    flags |= part->is_cached ? RRMP_IMAGE_CACHED : 0;
    flags |= part->stays ? RRMP_IMAGE_STAYS : 0;
    if (!item->is_private && work->image_path == RRMP_PATH_UNICAST)
        flags |= RRMP_IMAGE_BOUND;
    return (uint16_t)flags;
}

static void image_done(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    item->image_mode = IMAGE_NONE;
    source_work_settle(source, number);
    item->has_image = true;
    item->image_told = false;
    if (item->news & NEWS_IMAGE) {
        item->news &= (uint8_t)~NEWS_IMAGE;
        source->image_due_count--;
    }
    uint32_t next;
    for (uint32_t n = item->asks; n != RRMP_NIL; n = next) {
        next = source_ask_at(source, n)->next;
        if (source_ask_at(source, n)->is_served)
            source_ask_free(source, n);
    }
    if (source_asks_wait(source, item))
        source_item_news(source, number, NEWS_IMAGE);
}

int rrmp_source_image_begin(struct rrmp_source *source, uint64_t now_ns, uint32_t number,
                            const struct rrmp_part *part, size_t length, uint8_t **room)
{
    *room = NULL;
    if (!source_item_exists(source, number))
        return MD_ERR_STATE;
    source->now_ns = now_ns;
    struct source_item *item = source_item_at(source, number);
    if (part->is_first) {
        int err = image_choose(source, number, part, length);
        if (err)
            return err;
    }
    if (item->image_mode == IMAGE_NONE) {
        /* Aborted or refused before: the rest of it is worth nothing, but who waits is said again,
         * for the caller may have taken this image for the answer to it. */
        if (part->is_last)
            image_done(source, number);
        return MD_ERR_STATE;
    }
    if (item->image_mode == IMAGE_DISCARD) {
        if (part->is_last)
            image_done(source, number);
        return MD_ERR_STATE;
    }

    struct source_work *work = source_work_of(source, item);
    bool is_first = work->image_part == 0;
    uint16_t key_length = is_first ? item->key_length : 0;
    struct rrmp_dest dest = image_dest(source, item);
    uint8_t *p =
        open_room(source, number, &dest, RRMP_IMAGE, RRMP_IMAGE_HEADER + key_length, length);
    if (!p) {
        if (is_first)
            image_reset(source, number);
        return MD_ERR_FULL;
    }
    struct rrmp_record record = {
        .header = { .type = RRMP_IMAGE, .svc = item->svc },
        .u.image = { .handle = item->handle,
                     .item_seq = item->item_seq,
                     .key_hash = source_key_hash(source, item),
                     .group = part->group,
                     .state = part->state,
                     .code = part->code,
                     .part = work->image_part,
                     .flags = image_flags(item, work, part),
                     .request_id = item->is_private ? item->stamp : 0,
                     .tag = work->image_tag,
                     .key = { .bytes = source_key(source, item).bytes, .length = key_length } },
    };
    if (dest.path == RRMP_PATH_MULTICAST)
        record.header.svc_seq = open_numbered(source, item->svc, item->handle);
    if (item->image_mode == IMAGE_NEWS) {
        record.u.image.item_seq = item->item_seq + 1;
        source->open_takes_number = true;
    }
    struct md_wr wr = md_wr_init(p, RRMP_IMAGE_HEADER + key_length);
    rrmp_record_encode(&wr, &record);
    MD_ASSERT(md_wr_ok(&wr));
    source->open_is_image = true;
    source->open_is_last = part->is_last;
    item->group = part->group;
    *room = p + RRMP_IMAGE_HEADER + key_length;
    return MD_OK;
}

size_t rrmp_source_image_budget(const struct rrmp_source *source)
{
    return source->image_budget;
}

void rrmp_source_publish_commit(struct rrmp_source *source, size_t length)
{
    MD_ASSERT(source->open_kind != OPEN_NONE);
    size_t total = length ? source->open_header + length : 0;
    bool is_numbered = source->open_kind == OPEN_NUMBERED;

    source->open_kind = OPEN_NONE;
    rrmp_outbox_commit(&source->outbox, &source->open_dest, source->open_type, total);
    if (total == 0) {
        if (source->open_is_image && source->open_item != RRMP_NIL)
            rrmp_source_image_abort(source, source->open_item);
        return;
    }
    if (is_numbered)
        source_number(source, source->open_svc, source->open_log);
    if (source->open_ask != RRMP_NIL) {
        struct source_ask *ask = source_ask_at(source, source->open_ask);
        ask->part++;
        if (source->open_is_last)
            source_ask_free(source, source->open_ask);
        return;
    }
    if (source->open_item == RRMP_NIL)
        return;
    struct source_item *item = source_item_at(source, source->open_item);
    if (source->open_takes_number)
        item->item_seq++;
    if (!source->open_is_image) {
        source->has_published = true;
        return;
    }
    source->image_budget -= total < source->image_budget ? total : source->image_budget;
    struct source_work *work = source_work_of(source, item);
    if (work->image_part++ == 0)
        image_count(source, (enum rrmp_path)work->image_path);
    if (source->open_is_last)
        image_done(source, source->open_item);
}

/* ---- answers to one requester ---- */

static struct source_ask *ask_check(struct rrmp_source *source, uint32_t number, enum ask_kind kind)
{
    if (number >= source->asks.high)
        return NULL;
    struct source_ask *ask = source_ask_at(source, number);
    return ask->kind == kind && !ask->is_gone ? ask : NULL;
}

static uint8_t *ask_room(struct rrmp_source *source, uint32_t number, uint8_t type, size_t header,
                         size_t length)
{
    const struct source_ask *ask = source_ask_at(source, number);
    const struct source_requester *requester = source_requester_at(source, ask->requester);
    struct rrmp_dest dest = { .path = RRMP_PATH_UNICAST,
                              .session = requester->session,
                              .port = requester->port };
    uint8_t *p = open_room(source, RRMP_NIL, &dest, type, header, length);

    if (p)
        source->open_ask = number;
    return p;
}

int rrmp_source_snapshot_begin(struct rrmp_source *source, uint32_t number,
                               const struct rrmp_part *part, size_t length, uint8_t **room)
{
    struct source_ask *ask = ask_check(source, number, ASK_SNAPSHOT);

    *room = NULL;
    if (!ask)
        return MD_ERR_STATE;
    uint16_t key_length = ask->part == 0 ? ask->key_length : 0;
    uint8_t *p = ask_room(source, number, RRMP_IMAGE, RRMP_IMAGE_HEADER + key_length, length);
    if (!p)
        return MD_ERR_FULL;
    if (ask->part == 0)
        ask->tag = ++source->next_tag;
    unsigned flags = RRMP_IMAGE_SNAPSHOT | RRMP_IMAGE_SOLICITED;
    flags |= ask->part == 0 ? RRMP_IMAGE_FIRST : 0;
    flags |= part->is_last ? RRMP_IMAGE_LAST : 0;
    flags |= part->is_cached ? RRMP_IMAGE_CACHED : 0;
    struct rrmp_record record = {
        .header = { .type = RRMP_IMAGE, .svc = ask->svc },
        .u.image = { .handle = RRMP_HANDLE_NONE,
                     .key_hash = ask->key_hash,
                     .group = part->group,
                     .state = part->state,
                     .code = part->code,
                     .part = ask->part,
                     .flags = (uint16_t)flags,
                     .request_id = ask->id,
                     .tag = ask->tag,
                     .key = { .bytes = ask->key, .length = key_length } },
    };
    struct md_wr wr = md_wr_init(p, RRMP_IMAGE_HEADER + key_length);
    rrmp_record_encode(&wr, &record);
    source->open_is_last = part->is_last;
    *room = p + RRMP_IMAGE_HEADER + key_length;
    return MD_OK;
}

int rrmp_source_dictionary_begin(struct rrmp_source *source, uint32_t number, uint16_t flags,
                                 struct rrmp_view name, struct rrmp_view version, size_t length,
                                 uint8_t **room)
{
    struct source_ask *ask = ask_check(source, number, ASK_DICTIONARY);

    *room = NULL;
    if (!ask)
        return MD_ERR_STATE;
    size_t header = RRMP_HEADER_SIZE + 8 + 2 + name.length + version.length;
    uint8_t *p = ask_room(source, number, RRMP_DICTPART, header, length);
    if (!p)
        return MD_ERR_FULL;
    struct rrmp_record record = {
        .header = { .type = RRMP_DICTPART, .svc = ask->svc },
        .u.dictpart = { .request_id = ask->id,
                        .part = ask->part,
                        .flags = flags,
                        .name = name,
                        .version = version },
    };
    struct md_wr wr = md_wr_init(p, header);
    rrmp_record_encode(&wr, &record);
    MD_ASSERT(md_wr_ok(&wr));
    source->open_is_last = flags & (RRMP_DICT_LAST | RRMP_DICT_UNKNOWN);
    *room = p + header;
    return MD_OK;
}

int rrmp_source_ack_begin(struct rrmp_source *source, const struct rrmp_reply *reply, size_t length,
                          uint8_t **room)
{
    struct rrmp_dest dest = { .path = RRMP_PATH_UNICAST,
                              .session = reply->session,
                              .port = reply->port };

    *room = NULL;
    if (source->session == 0)
        return MD_ERR_STATE;
    uint8_t *p = open_room(source, RRMP_NIL, &dest, RRMP_ACK, RRMP_TICK_SIZE, length);
    if (!p)
        return MD_ERR_FULL;
    rrmp_tick_put(p, RRMP_ACK, 0, reply->svc, 0, reply->id, 0);
    *room = p + RRMP_TICK_SIZE;
    return MD_OK;
}

/* ---- states of services and groups ---- */

int rrmp_source_service_status(struct rrmp_source *source, uint16_t svc,
                               const struct rrmp_svcstate *status)
{
    struct rrmp_record record = { .header = { .type = RRMP_SVCSTATE }, .u.svcstate = *status };

    if (svc >= source->service_count || source->services[svc].is_withdrawn)
        return MD_ERR_NOT_FOUND;
    source_multicast(source, svc, RRMP_HANDLE_NONE, &record);
    return MD_OK;
}

int rrmp_source_group_status(struct rrmp_source *source, uint16_t svc,
                             const struct rrmp_group *status)
{
    struct rrmp_record record = { .header = { .type = RRMP_GROUP }, .u.group = *status };

    if (svc >= source->service_count || source->services[svc].is_withdrawn)
        return MD_ERR_NOT_FOUND;
    source_multicast(source, svc, RRMP_HANDLE_NONE, &record);
    if (status->merged_into == RRMP_GROUP_NONE)
        return MD_OK;
    for (uint32_t n = 0; n < source->items.high; n++) {
        struct source_item *item = source_item_at(source, n);
        if (item->in_use && item->svc == svc && item->group == status->group)
            item->group = status->merged_into;
    }
    return MD_OK;
}
