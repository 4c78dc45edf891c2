/* sink_queue.c - order and pace of the requests to each instance. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_mirror.h"

#include "base/assert.h"

#define REQUESTS_PER_TURN 256u
#define SEC               1000000000ull

static uint32_t log2_of(uint32_t value)
{
    return value ? 31u - (uint32_t)__builtin_clz(value) : 0;
}

/* Inside recovery: by priority class, then by number of consumers in powers of two. */
static uint8_t bucket_of(const struct sink_item *item)
{
    uint32_t class = item->priority_class < 7 ? item->priority_class : 7;
    uint32_t count = log2_of(item->priority_count);

    return (uint8_t)(class * 8 + (count < 7 ? count : 7));
}

static struct sink_list *list_of(struct sink_link *link, const struct sink_item *item)
{
    switch ((enum sink_queue)item->queue) {
    case QUEUE_NEW:
        return &link->fresh;
    case QUEUE_RECOVERY:
        return &link->recovery[bucket_of(item)];
    case QUEUE_BACKGROUND:
        return &link->background;
    case QUEUE_NONE:
        break;
    }
    return NULL;
}

void sink_queue_put(struct rrmp_sink *sink, uint32_t number, enum sink_queue queue)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_link *link = sink_link_at(sink, item->link);

    MD_ASSERT(item->queue == QUEUE_NONE && queue != QUEUE_NONE);
    if (item->is_follower)
        queue = QUEUE_BACKGROUND;  /* consumers come first */
    sink_window_leave(sink, item); /* or it would wait for the place it holds itself */
    item->queue = (unsigned)queue & 3u;
    struct sink_list *list = list_of(link, item);
    item->queue_next = MD_NIL;
    item->queue_prev = list->tail;
    if (list->tail != MD_NIL)
        sink_item_at(sink, list->tail)->queue_next = number;
    else
        list->head = number;
    list->tail = number;
    if (queue == QUEUE_RECOVERY)
        link->recovery_busy |= 1ull << bucket_of(item);
    sink->stats.queued_now[queue - 1]++;
    sink->may_send = true;
}

void sink_queue_remove(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->queue == QUEUE_NONE)
        return;
    struct sink_link *link = sink_link_at(sink, item->link);
    struct sink_list *list = list_of(link, item);
    if (item->queue_prev != MD_NIL)
        sink_item_at(sink, item->queue_prev)->queue_next = item->queue_next;
    else
        list->head = item->queue_next;
    if (item->queue_next != MD_NIL)
        sink_item_at(sink, item->queue_next)->queue_prev = item->queue_prev;
    else
        list->tail = item->queue_prev;
    if (item->queue == QUEUE_RECOVERY && list->head == MD_NIL)
        link->recovery_busy &= ~(1ull << bucket_of(item));
    sink->stats.queued_now[item->queue - 1]--;
    item->queue = QUEUE_NONE;
}

/* Followers rest as recovery does: a service that is lost as a whole is theirs, too. */
static uint32_t background_head(const struct rrmp_sink *sink, const struct sink_link *link)
{
    uint32_t number = link->background.head;
    bool rests = number != MD_NIL && sink_item_at(sink, number)->is_follower &&
                 sink->now_ns < link->paused_until_ns;

    return rests ? MD_NIL : number;
}

/* Those that go on where they were are asked for as their replays come. */
static uint32_t recovery_head(const struct rrmp_sink *sink, const struct sink_link *link)
{
    if (!link->recovery_busy || sink->now_ns < link->paused_until_ns)
        return MD_NIL;
    uint32_t number = link->recovery[63 - __builtin_clzll(link->recovery_busy)].head;
    return sink_item_at(sink, number)->is_resuming && !sink_resume_may_ask(sink, link) ? MD_NIL
                                                                                       : number;
}

static uint32_t head_of(const struct rrmp_sink *sink, const struct sink_link *link,
                        enum sink_queue queue)
{
    switch (queue) {
    case QUEUE_NEW:
        return link->fresh.head;
    case QUEUE_RECOVERY:
        return recovery_head(sink, link);
    case QUEUE_BACKGROUND:
        return background_head(sink, link);
    case QUEUE_NONE:
        break;
    }
    return MD_NIL;
}

/* New consumers, recovery, background are served 5 : 4 : 1; unused shares pass on. */
static uint32_t next_of(const struct rrmp_sink *sink, struct sink_link *link)
{
    static const uint8_t pattern[10] = { 1, 2, 1, 2, 1, 2, 1, 2, 1, 3 };

    for (uint32_t i = 0; i < 10; i++) {
        uint32_t turn = (link->turn + i) % 10;
        uint32_t number = head_of(sink, link, (enum sink_queue)pattern[turn]);
        if (number != MD_NIL) {
            link->turn = (uint8_t)((turn + 1) % 10);
            return number;
        }
    }
    return MD_NIL;
}

static uint32_t window_of(const struct rrmp_sink *sink, const struct sink_link *link)
{
    uint32_t announced = link->description.open_window;
    uint32_t least = sink->config.open_window_minimum;

    return announced > least ? announced : least;
}

bool sink_link_sendable(const struct rrmp_sink *sink, const struct sink_link *link)
{
    if (link->is_unsure || link->window_used >= window_of(sink, link))
        return false;
    return link->fresh.head != MD_NIL || background_head(sink, link) != MD_NIL ||
           head_of(sink, link, QUEUE_RECOVERY) != MD_NIL;
}

static uint16_t request_flags(const struct sink_item *item, bool wants_image)
{
    unsigned flags = 0;

    flags |= item->is_snapshot ? 0 : RRMP_REQUEST_STREAMING;
    flags |= wants_image ? RRMP_REQUEST_IMAGE : 0;
    flags |= item->is_private ? RRMP_REQUEST_PRIVATE : 0;
    flags |= item->is_multicast ? RRMP_REQUEST_MULTICAST : 0;
    flags |= item->is_follower ? RRMP_REQUEST_FOLLOW : 0;
    flags |= item->had_image && item->state != RRMP_SINK_LIVE ? RRMP_REQUEST_RECOVERY : 0;
    /* From where we were; who cannot go on from there gives an image. */
    if (wants_image && item->is_resuming && item->place != MD_NIL)
        flags |= RRMP_REQUEST_RESUME | RRMP_REQUEST_POSITION;
    return (uint16_t)flags;
}

/* False: the ring is full, or there is no memory for its id. */
static bool send_as(struct rrmp_sink *sink, uint32_t number, uint32_t id,
                    const struct backbone_target *target, struct rrmp_record *record)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (id == item->request_id)
        return rrmp_outbox_try(&sink->outbox, target, record);
    if (!sink_request_put(sink, id, number))
        return false;
    if (!rrmp_outbox_try(&sink->outbox, target, record)) {
        sink_request_remove(sink, id, number);
        return false;
    }
    sink_request_remove(sink, item->request_id, number);
    item->request_id = id;
    return true;
}

static void name_place(const struct rrmp_sink *sink, const struct sink_item *item,
                       struct rrmp_request *request)
{
    const struct sink_place *place = md_slots_at(&sink->places, item->place);

    request->position = place->position;
    request->resume_seq = place->position.number;
}

bool sink_request_send(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_link *link = sink_link_at(sink, item->link);
    struct sink_instance *instance = sink_instance_at(sink, link->instance);
    bool wants_image = item->state != RRMP_SINK_LIVE || item->wants_image;
    uint32_t next_id = sink->next_id + 1 ? sink->next_id + 1 : 1;
    /* A private stream that is not answered is known to the source by this id alone. */
    bool is_known_by_id = item->is_private && item->is_asked && item->state != RRMP_SINK_LIVE;
    uint32_t id = is_known_by_id ? item->request_id : next_id;
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = instance->session,
                                      .port = instance->port };
    struct rrmp_record record = {
        .header = { .type = RRMP_REQUEST, .svc = link->svc },
        .u.request = { .id = id,
                       .flags = request_flags(item, wants_image),
                       .priority_class = item->priority_class,
                       .priority_count = item->priority_count,
                       .handle = item->state == RRMP_SINK_LIVE ? item->handle : RRMP_HANDLE_NONE,
                       .key_hash = sink_key_hash(sink, item),
                       .key = sink_key(sink, item),
                       .message = sink_item_message(sink, item) },
    };

    if (record.u.request.flags & RRMP_REQUEST_POSITION)
        name_place(sink, item, &record.u.request);
    if (!send_as(sink, number, id, &target, &record))
        return false;
    if (!is_known_by_id)
        sink->next_id = instance->newest_id = id;
    item->is_priority_due = false;
    sink->stats.requests_sent++;
    if (item->standby == item->link)
        sink_mirror_drop(sink, number, false); /* it takes over: what was standby is active now */
    if (!item->is_asked) {
        item->is_asked = true;
        if (sink_item_is_summed(item)) {
            instance->sum_count++;
            instance->sum_xor ^= sink_key_hash(sink, item);
        }
    }
    if (!wants_image)
        return true;
    if (!item->in_window) {
        item->in_window = true;
        link->window_used++;
    }
    if (record.u.request.flags & RRMP_REQUEST_RESUME)
        sink_resume_asked(sink, number);
    if (item->state == RRMP_SINK_QUEUED)
        sink_item_set_state(sink, number, RRMP_SINK_ASKED);
    if (item->is_follower)
        sink_work_take(sink, number)->is_bound_since = false;
    uint64_t wait = sink->config.request_retry_ns * (uint64_t)(sink_work_of(sink, item)->tries + 1);
    sink_timer_set(sink, number, sink->now_ns + wait);
    return true;
}

static bool link_serve(struct rrmp_sink *sink, struct sink_link *link)
{
    for (uint32_t i = 0; i < REQUESTS_PER_TURN; i++) {
        if (link->is_unsure || link->window_used >= window_of(sink, link))
            return true;
        uint32_t number = next_of(sink, link);
        if (number == MD_NIL)
            return true;
        struct sink_item *item = sink_item_at(sink, number);
        enum sink_queue queue = (enum sink_queue)item->queue;
        sink_queue_remove(sink, number);
        if (!sink_request_send(sink, number)) {
            sink_queue_put(sink, number, queue);
            return false;
        }
    }
    return true;
}

void sink_queues_serve(struct rrmp_sink *sink)
{
    if (!sink->may_send || sink->session == 0)
        return;
    sink->may_send = false;
    for (uint32_t n = 0; n < sink->links.high; n++) {
        struct sink_link *link = sink_link_at(sink, n);
        if (!link->in_use)
            continue;
        if (!link_serve(sink, link)) {
            sink->may_send = true; /* the ring is full */
            return;
        }
        if (sink_link_sendable(sink, link))
            sink->may_send = true;
    }
}
