/* sink_images.c - images and bindings: from the first part to being in step. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_mirror.h"
#include "sink_tell.h"

#include <string.h>

#define REPLAY_HOLDS 16u /* times hold_records */

/*
 * An image in the multicast stream (directed or not) binds itself: what follows it follows it. One
 * by unicast is bound by a BIND in the multicast stream, at the cut; from there on the item's
 * records are held (for consumers already in step: delivered, and copies held) until the image has
 * come and stands before them.
 */

#define FIRST_AFTER_LOSS 0x80u /* beside RRMP_SINK_TO_*: consumers must hear of a hole first */

static struct sink_slot *slot_of(const struct rrmp_sink *sink, const struct sink_item *item)
{
    if (item->handle == RRMP_HANDLE_NONE || item->link == MD_NIL)
        return NULL;
    const struct sink_link *link = sink_link_at(sink, item->link);
    return sink_slot_find(sink, sink_instance_at(sink, link->instance), item->handle);
}

static void part_event_fill(struct rrmp_sink_event *event, const struct rrmp_image *image,
                            uint8_t to)
{
    event->to = to;
    event->state = image->state;
    event->code = image->code;
    event->flags = image->flags;
    event->part = image->part;
    event->item_seq = image->item_seq;
    event->message = image->message;
}

static void part_deliver(struct rrmp_sink *sink, uint32_t number, const struct rrmp_image *image,
                         uint8_t to)
{
    struct sink_item *item = sink_item_at(sink, number);
    bool is_whole = image->flags & RRMP_IMAGE_LAST;

    sink_item_set_group(sink, number, image->group);
    sink_resume_end(sink, number);
    if (to & RRMP_SINK_TO_STEP && image->part == 0)
        sink_place_image(sink, number, is_whole ? &image->message : NULL);
    part_event_fill(sink_item_event(sink, RRMP_SINK_IMAGE, number), image, to);
    item->had_image = true;
    struct sink_work *work = sink_work_take(sink, number);
    work->part = (uint16_t)(image->part + 1);
    work->image_stays = (image->flags & RRMP_IMAGE_STAYS) != 0;
}

/* The image is whole: everybody who took part in it is in step. */
static void image_complete(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_slot *slot = slot_of(sink, item);

    struct sink_work *work = sink_work_take(sink, number);
    item->is_image_open = false;
    work->tag = 0;
    work->tries = 0;
    if (slot)
        slot->bits = SLOT_MAPPED | SLOT_STEP;
    sink_place_pass_chain(sink, number, &work->held);
    sink_chain_put_event(sink, &work->held);
    sink_item_event(sink, RRMP_SINK_IN_STEP, number);
    sink_timer_cancel(sink, number);
    sink_window_leave(sink, item);
    sink_item_set_state(sink, number, RRMP_SINK_LIVE);
    item->suspect_sent = work->image_stays || work->stays_behind;
    item->is_multicast = sink->config.prefers_multicast;
    item->wants_image = item->wants_more;
    item->wants_more = false;
    bool is_known = item->is_asked || item->is_follower; /* or needs not to be */
    bool is_settled = is_known && !item->wants_image && !item->is_priority_due;
    if (is_settled)
        sink_queue_remove(sink, number);
    else if (item->queue == QUEUE_NONE)
        sink_queue_put(sink, number, item->wants_image ? QUEUE_NEW : QUEUE_BACKGROUND);
    sink_work_settle(sink, number);
}

/* A part is missing: start over, and tell those who had the item before. */
static void image_torn(struct rrmp_sink *sink, uint32_t number)
{
    sink_item_lost(sink, number, RRMP_CODE_GAP_DETECTED);
}

/* ---- held records ---- */

bool sink_hold(struct rrmp_sink *sink, uint32_t number, const struct rrmp_sink_event *event,
               struct rrmp_view message)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_slot *slot = slot_of(sink, item);
    struct sink_work *work = sink_work_take(sink, number);
    /* A replay takes longer than an image, and to give it up is seen. */
    uint32_t most = sink->config.hold_records * (work->is_replay ? REPLAY_HOLDS : 1);

    if (work->held.count < most &&
        work->held.bytes + message.length <= sink->config.hold_bytes_item &&
        sink_chain_add(sink, &work->held, event, message))
        return true;
    sink->stats.hold_overflows++;
    item->is_multicast = true;
    if (item->state == RRMP_SINK_LIVE && slot) {
        /* Those in step lose nothing; those who wait ask for an image that needs no holding. */
        slot->bits = SLOT_MAPPED | SLOT_STEP;
        sink_chain_free(sink, &work->held);
        work->tag = 0;
        item->is_image_open = false;
        item->wants_image = true;
        item->wants_more = false;
        if (item->queue == QUEUE_NONE)
            sink_queue_put(sink, number, QUEUE_RECOVERY);
        return false;
    }
    sink_item_requeue(sink, number, QUEUE_RECOVERY);
    return false;
}

/* ---- parts that came before their BIND ---- */

struct sink_early *sink_early_find(struct rrmp_sink *sink, uint32_t instance, uint32_t handle,
                                   uint32_t tag)
{
    for (uint32_t i = 0; i < sink->early_count; i++) {
        struct sink_early *early = &sink->early[i];
        if (early->instance == instance && early->handle == handle && early->tag == tag)
            return early;
    }
    return NULL;
}

void sink_early_drop(struct rrmp_sink *sink, struct sink_early *early)
{
    sink_chain_free(sink, &early->parts);
    *early = sink->early[--sink->early_count];
}

void sink_early_expire(struct rrmp_sink *sink, uint32_t instance, bool all)
{
    for (uint32_t i = sink->early_count; i-- > 0;) {
        struct sink_early *early = &sink->early[i];
        bool is_old = sink->now_ns - early->since_ns >= SINK_EARLY_NS;
        if (all ? early->instance == instance : is_old)
            sink_early_drop(sink, early);
    }
}

void sink_early_keep(struct rrmp_sink *sink, const struct rrmp_sink_event *event, uint32_t handle,
                     uint32_t tag, bool is_first, bool is_last)
{
    struct sink_early *early = sink_early_find(sink, event->instance, handle, tag);

    if (!early) {
        if (!is_first || sink->early_count == SINK_EARLY_MAX)
            return; /* asked again */
        early = &sink->early[sink->early_count++];
        *early = (struct sink_early){
            .instance = event->instance, .handle = handle, .tag = tag, .since_ns = sink->now_ns
        };
    }
    bool is_empty = event->message.length == 0; /* the end of a replay */
    bool fits = event->part == early->parts.count && !early->is_whole &&
                early->parts.bytes + event->message.length <= sink->config.hold_bytes_item &&
                (is_empty || sink_chain_add(sink, &early->parts, event, event->message));
    if (!fits) {
        sink->stats.hold_overflows++;
        sink_early_drop(sink, early);
        return;
    }
    early->is_whole = is_last;
}

static void early_keep(struct rrmp_sink *sink, uint32_t instance, uint32_t number,
                       const struct rrmp_image *image)
{
    struct rrmp_sink_event event = { .kind = RRMP_SINK_IMAGE,
                                     .service = sink_item_at(sink, number)->service,
                                     .instance = (uint16_t)instance,
                                     .group = image->group,
                                     .item = number };

    part_event_fill(&event, image, 0);
    sink_early_keep(sink, &event, image->handle, image->tag, image->flags & RRMP_IMAGE_FIRST,
                    image->flags & RRMP_IMAGE_LAST);
}

/* The BIND has come: its parts, if they are here, begin the image. */
static void early_play(struct rrmp_sink *sink, uint32_t instance, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_early *early =
        sink_early_find(sink, instance, item->handle, sink_work_of(sink, item)->tag);

    if (!early)
        return;
    uint8_t to = item->image_to;
    struct sink_work *work = sink_work_take(sink, number);
    const struct sink_held *first = early->parts.head;
    if (to & RRMP_SINK_TO_STEP)
        sink_place_image(sink, number,
                         early->is_whole && first && !first->next ? &first->event.message : NULL);
    for (struct sink_held *held = early->parts.head; held; held = held->next) {
        held->event.to = to;
        held->event.item = number;
        held->event.user = item->user;
        work->image_stays = (held->event.flags & RRMP_IMAGE_STAYS) != 0;
    }
    item->is_image_open = true;
    item->had_image = true;
    work->part = (uint16_t)early->parts.count;
    bool is_whole = early->is_whole;
    sink_chain_put_event(sink, &early->parts);
    sink_early_drop(sink, early);
    sink->stats.images_unicast++;
    if (is_whole)
        image_complete(sink, number);
}

/* ---- BIND ---- */

/* Of a service that is down as far as we know, but what we missed may have said that it is up
 * again: consumers are to hear of that first. */
static bool is_ahead_of_service(const struct rrmp_sink *sink, uint32_t link, uint8_t state)
{
    return sink_link_at(sink, link)->is_unsure && (state & 7) == RRMP_DATA_OK;
}

static void bind_filling(struct rrmp_sink *sink, uint32_t instance, uint32_t number,
                         const struct rrmp_bind *bind)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (bind->tag != 0)
        sink_resume_end(sink, number);
    sink_held_free(sink, item);
    item->is_image_open = false;
    sink_item_set_group(sink, number, bind->group);
    if (bind->tag == 0) {
        /* Nothing but a state comes for now; the handle is known, so that it reaches us. */
        if (!sink_item_map(sink, number, bind->handle, bind->item_seq, 0))
            return;
        sink_window_leave(sink, item);
        if (bind->state)
            sink_item_tell(sink, number, bind->state, bind->code,
                           (struct rrmp_view){ .bytes = NULL, .length = 0 });
        return;
    }
    if (!sink_item_map(sink, number, bind->handle, bind->item_seq, SLOT_HOLD))
        return;
    struct sink_work *work = sink_work_take(sink, number);
    sink_image_begin(work, bind->tag);
    item->image_to = RRMP_SINK_TO_WAIT | RRMP_SINK_TO_STEP;
    sink_item_set_state(sink, number, RRMP_SINK_FILLING);
    sink_timer_set(sink, number, sink->now_ns + sink->config.request_retry_ns);
    early_play(sink, instance, number);
}

void sink_bind_in(struct rrmp_sink *sink, uint32_t instance, uint32_t link,
                  const struct rrmp_record *record)
{
    const struct rrmp_bind *bind = &record->u.bind;
    uint16_t service = sink_link_at(sink, link)->service;
    uint32_t number = sink_item_lookup(sink, service, bind->key);

    if (number == MD_NIL || sink_item_at(sink, number)->link != link)
        return;
    struct sink_item *item = sink_item_at(sink, number);
    /* The image of another node, or a replay: ours has a BIND of its own. */
    bool is_ours = bind->tag == 0 || bind->session == sink->session;
    bool is_ahead = bind->tag != 0 && is_ahead_of_service(sink, link, bind->state);
    if (item->state == RRMP_SINK_LIVE) {
        struct sink_slot *slot = slot_of(sink, item);
        bool is_same = slot && item->handle == bind->handle;
        if (is_same && !rrmp_after(bind->item_seq, slot->last_seq)) {
            if (bind->tag != 0 && is_ours && item->wants_image && !item->is_image_open &&
                !is_ahead) {
                sink_held_free(sink, item);
                struct sink_work *work = sink_work_take(sink, number);
                sink_image_begin(work, bind->tag);
                item->image_to = RRMP_SINK_TO_WAIT;
                slot->bits |= SLOT_HOLD;
                early_play(sink, instance, number);
            }
            return;
        }
        sink_item_lost(sink, number, RRMP_CODE_GAP_DETECTED);
    }
    if (!sink_item_exists(sink, number))
        return;
    bool is_replay = !is_ours && bind->session == rrmp_replay_session(sink->session, sink->port);
    if ((!is_ours && !is_replay) || (item->state == RRMP_SINK_QUEUED && bind->tag == 0))
        return; /* its turn comes */
    if (is_ahead) {
        sink_item_lost(sink, number, RRMP_CODE_GAP_DETECTED);
        return;
    }
    /* A BIND to all for a status of the item: the replay under way ends by its own last part. */
    if (bind->tag == 0 && item->state == RRMP_SINK_FILLING && item->handle == bind->handle &&
        sink_work_of(sink, item)->is_replay)
        return;
    if (is_replay)
        sink_replay_bind(sink, instance, number, bind);
    else
        bind_filling(sink, instance, number, bind);
}

/* ---- images ---- */

/* True: this unicast image is older than the news that its service is down. */
static bool is_overtaken(const struct rrmp_sink *sink, uint32_t link,
                         const struct rrmp_image *image)
{
    bool is_up = sink_link_at(sink, link)->row_state & RRMP_SERVICE_UP;

    return !is_up && (image->state & 7) == RRMP_DATA_OK;
}

/* A part of an image that goes by unicast, bound by a BIND. */
static void bound_in(struct rrmp_sink *sink, uint32_t instance, uint32_t link,
                     const struct rrmp_image *image)
{
    const struct sink_slot *slot =
        sink_slot_find(sink, sink_instance_at(sink, instance), image->handle);
    uint16_t service = sink_link_at(sink, link)->service;

    if (slot && sink_work_of(sink, sink_item_at(sink, slot->item))->tag == image->tag) {
        uint32_t number = slot->item;
        struct sink_item *item = sink_item_at(sink, number);
        if (is_overtaken(sink, link, image))
            return; /* when the service is up again its image comes anew */
        uint16_t expected = sink_work_of(sink, item)->part;
        if (image->part != expected) {
            if (image->part > expected)
                image_torn(sink, number);
            return;
        }
        if (image->part == 0)
            sink->stats.images_unicast++;
        item->is_image_open = true;
        part_deliver(sink, number, image, item->image_to);
        if (image->flags & RRMP_IMAGE_LAST)
            image_complete(sink, number);
        else
            sink_timer_set(sink, number, sink->now_ns + sink->config.request_retry_ns);
        return;
    }
    const struct sink_early *early = sink_early_find(sink, instance, image->handle, image->tag);
    uint32_t number = MD_NIL;
    if (image->flags & RRMP_IMAGE_FIRST)
        number = sink_item_lookup(sink, service, image->key);
    else if (early && early->parts.head)
        number = early->parts.head->event.item;
    if (number == MD_NIL || !sink_item_exists(sink, number))
        return;
    const struct sink_item *item = sink_item_at(sink, number);
    if (item->link == link && (item->state != RRMP_SINK_LIVE || item->wants_image))
        early_keep(sink, instance, number, image);
    else
        sink->stats.images_redundant++;
}

/* A private stream that we gave up before the source, hung or cut off, had heard of it: it has no
 * other owner, and no digest would find it. */
static void stray_close(struct rrmp_sink *sink, const struct sink_link *link,
                        const struct rrmp_image *image)
{
    struct rrmp_record record = {
        .header = { .type = RRMP_CLOSE, .flags = RRMP_FLAG_PRIVATE, .svc = link->svc },
        .u.close = { .id = image->request_id,
                     .handle = image->handle,
                     .key_hash = image->key_hash,
                     .reason = RRMP_CLOSE_NOBODY,
                     .key = image->key },
    };

    if (!sink_slot_find(sink, sink_instance_at(sink, link->instance), image->handle))
        sink_send(sink, link->instance, &record);
}

/* An image for one request of ours: a snapshot, or the first of a private stream. */
static void own_in(struct rrmp_sink *sink, uint32_t link, const struct rrmp_image *image)
{
    static const struct rrmp_view none;
    uint16_t service = sink_link_at(sink, link)->service;
    uint32_t number = MD_NIL;

    if (image->request_id)
        number = sink_item_by_request(sink, service, image->key_hash, image->request_id);
    if (number == MD_NIL && image->flags & RRMP_IMAGE_PRIVATE && image->flags & RRMP_IMAGE_FIRST)
        stray_close(sink, sink_link_at(sink, link), image);
    if (number == MD_NIL)
        return;
    struct sink_item *item = sink_item_at(sink, number);
    if (item->link != link || !(item->is_snapshot || item->is_private))
        return;
    if (is_overtaken(sink, link, image)) {
        if (item->is_private) /* its end is on the way, whether it had an image before or not */
            sink_private_end(sink, number, RRMP_CLOSE_NOBODY);
        return; /* a snapshot is asked for again by its timer */
    }
    if (item->is_private && (image->flags & RRMP_IMAGE_FIRST) &&
        !sink_item_map(sink, number, image->handle, image->item_seq, SLOT_WAIT | SLOT_STEP))
        return;
    if (image->flags & RRMP_IMAGE_FIRST) {
        item->is_image_open = true;
        sink_image_begin(sink_work_take(sink, number), 0);
    }
    struct sink_slot *slot = slot_of(sink, item);
    if (slot && !(image->flags & RRMP_IMAGE_SOLICITED))
        slot->last_seq = image->item_seq;
    if (!item->is_image_open || image->part != sink_work_of(sink, item)->part) {
        if (item->is_private)
            sink_item_lost(sink, number, RRMP_CODE_GAP_DETECTED);
        return; /* a snapshot is asked for again by its timer */
    }
    part_deliver(sink, number, image, RRMP_SINK_TO_WAIT | RRMP_SINK_TO_STEP);
    if (!(image->flags & RRMP_IMAGE_LAST))
        return;
    if (item->is_snapshot)
        sink_item_end(sink, number, image->state, image->code, 0, none);
    else
        image_complete(sink, number);
}

/* Begin to take an image from the stream: to whom? 0: nobody needs it. */
static uint8_t first_judge(struct rrmp_sink *sink, uint32_t number, const struct rrmp_image *image)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_slot *slot = slot_of(sink, item);
    bool is_solicited = image->flags & RRMP_IMAGE_SOLICITED;

    if (item->state != RRMP_SINK_LIVE || !slot || item->handle != image->handle)
        return RRMP_SINK_TO_WAIT | RRMP_SINK_TO_STEP;
    uint32_t expected = is_solicited ? slot->last_seq : slot->last_seq + 1;
    if (rrmp_after(image->item_seq, expected))
        return RRMP_SINK_TO_WAIT | RRMP_SINK_TO_STEP |
               FIRST_AFTER_LOSS; /* something before it was lost */
    if (rrmp_after(expected, image->item_seq))
        return 0; /* old */
    /* A lost record may have been the SUSPECT of a group or service that this image ends. */
    bool is_in_doubt = sink_link_at(sink, item->link)->is_in_doubt;
    if (!is_solicited)
        return RRMP_SINK_TO_WAIT | RRMP_SINK_TO_STEP | (is_in_doubt ? FIRST_AFTER_LOSS : 0);
    return item->wants_image ? RRMP_SINK_TO_WAIT : 0;
}

static void first_in(struct rrmp_sink *sink, uint32_t link, const struct rrmp_image *image)
{
    uint16_t service = sink_link_at(sink, link)->service;
    uint32_t number = sink_item_lookup(sink, service, image->key);

    if (number == MD_NIL || sink_item_at(sink, number)->link != link)
        return;
    struct sink_item *item = sink_item_at(sink, number);
    uint8_t to = first_judge(sink, number, image);
    if (to != 0 && is_ahead_of_service(sink, link, image->state)) {
        sink_item_lost(sink, number, RRMP_CODE_GAP_DETECTED);
        return;
    }
    if (to == 0) {
        sink->stats.images_redundant++;
        return;
    }
    bool is_rebound = item->state == RRMP_SINK_LIVE && item->handle != image->handle;
    if (to & FIRST_AFTER_LOSS || is_rebound) {
        /* The image itself mends it, but consumers must hear of the hole first. */
        sink_item_lost(sink, number, RRMP_CODE_GAP_DETECTED);
        to = RRMP_SINK_TO_WAIT | RRMP_SINK_TO_STEP;
    }
    sink->stats.images_multicast++;
    if (item->state == RRMP_SINK_LIVE) {
        struct sink_slot *slot = slot_of(sink, item);
        sink_held_free(sink, item);
        slot->last_seq = image->item_seq;
        slot->bits = SLOT_MAPPED | SLOT_STEP | SLOT_WAIT;
    } else {
        bool was_queued = item->state == RRMP_SINK_QUEUED;
        sink_held_free(sink, item);
        if (!sink_item_map(sink, number, image->handle, image->item_seq, SLOT_STEP | SLOT_WAIT))
            return;
        sink_item_set_state(sink, number, RRMP_SINK_FILLING);
        if (was_queued && !(image->flags & RRMP_IMAGE_LAST))
            sink_queue_remove(sink, number); /* its rest is waited for; the timer asks again */
    }
    item->is_image_open = true;
    sink_image_begin(sink_work_take(sink, number), image->tag);
    item->image_to = to & 3u;
    item->wants_more = false;
    part_deliver(sink, number, image, to);
    if (image->flags & RRMP_IMAGE_LAST)
        image_complete(sink, number);
    else
        sink_timer_set(sink, number, sink->now_ns + sink->config.request_retry_ns);
}

/* A later part in the stream. It is numbered only if unsolicited, but always in its place. */
static void next_in(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_image *image)
{
    struct sink_slot *slot = sink_slot_find(sink, sink_instance_at(sink, instance), image->handle);
    bool is_solicited = image->flags & RRMP_IMAGE_SOLICITED;

    if (!slot) {
        sink->stats.unknown_handle++;
        return;
    }
    uint32_t number = slot->item;
    struct sink_item *item = sink_item_at(sink, number);
    uint32_t expected = is_solicited ? slot->last_seq : slot->last_seq + 1;
    bool is_ours = item->is_image_open && sink_work_of(sink, item)->tag == image->tag;
    if (rrmp_after(expected, image->item_seq))
        return;
    if (image->item_seq != expected || (is_ours && image->part != sink_work_of(sink, item)->part)) {
        image_torn(sink, number);
        return;
    }
    slot->last_seq = image->item_seq;
    if (!is_ours) {
        /* News whose first part we did not take is a hole for who is in step. */
        if (!is_solicited && item->state == RRMP_SINK_LIVE)
            image_torn(sink, number);
        return;
    }
    part_deliver(sink, number, image, item->image_to);
    if (image->flags & RRMP_IMAGE_LAST)
        image_complete(sink, number);
    else
        sink_timer_set(sink, number, sink->now_ns + sink->config.request_retry_ns);
}

void sink_image_in(struct rrmp_sink *sink, uint32_t instance, uint32_t link,
                   const struct rrmp_record *record)
{
    const struct rrmp_image *image = &record->u.image;

    if (image->flags & (RRMP_IMAGE_SNAPSHOT | RRMP_IMAGE_PRIVATE))
        own_in(sink, link, image);
    else if (image->flags & RRMP_IMAGE_BOUND)
        bound_in(sink, instance, link, image);
    else if (image->flags & RRMP_IMAGE_FIRST)
        first_in(sink, link, image);
    else
        next_in(sink, instance, image);
}
