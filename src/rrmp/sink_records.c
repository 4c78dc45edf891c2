/* sink_records.c - what instances send: the tick's path first, then the rest. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_follow.h"
#include "sink_mirror.h"
#include "sink_posts.h"
#include "sink_tell.h"
#include "sink_topics.h"

#include "base/cursor.h"
#include "base/err.h"

#define MS             1000000ull
#define SEC            1000000000ull

#define LATER_MIN_MS   100u
#define ROUND_NS       1000000000ull /* from one instance to the next, after the first rounds */
#define LATER_MAX_MS   60000u
#define STRAY_AGAIN_NS (1 * SEC)

/* ---- UPDATE, STATUS, GENERIC ---- */

/* The item is between its BIND and its image: keep the record for after it. */
static void tick_hold(struct rrmp_sink *sink, const struct sink_slot *slot, uint8_t type,
                      uint32_t seq, struct rrmp_view message)
{
    uint32_t number = slot->item;
    const struct sink_item *item = sink_item_at(sink, number);
    bool is_copy = slot->bits & SLOT_STEP;
    struct rrmp_sink_event event = { .kind = RRMP_SINK_MESSAGE,
                                     .service = item->service,
                                     .group = item->group,
                                     .type = type,
                                     .to = RRMP_SINK_TO_WAIT,
                                     .item = number,
                                     .item_seq = seq,
                                     .user = item->user,
                                     .message = message };

    event.instance = (uint16_t)sink_link_at(sink, item->link)->instance;
    if (!is_copy)
        event.to |= RRMP_SINK_TO_STEP;
    if (is_copy)
        sink_tick_event(sink, number, type, RRMP_SINK_TO_STEP, seq, message);
    sink_hold(sink, number, &event, message);
}

/* A STATUS reaches consumers in every state; a final one ends the item. */
static void status_take(struct rrmp_sink *sink, struct sink_slot *slot, uint8_t flags, uint32_t seq,
                        struct rrmp_view message)
{
    uint32_t number = slot->item;
    struct sink_item *item = sink_item_at(sink, number);

    if (flags & RRMP_FLAG_GROUP) {
        if (message.length < 2) {
            sink->stats.records_bad++;
            return;
        }
        sink_item_set_group(sink, number, md_be16(message.bytes));
        message.bytes += 2;
        message.length -= 2;
    }
    if (flags & RRMP_FLAG_FINAL) {
        sink_unask(sink, item); /* over there it has ended: no CLOSE */
        if (item->is_follower)
            sink_follower_end(sink, number, RRMP_STATE_CLOSED, RRMP_CODE_NONE, RRMP_STATUS,
                              message);
        else
            sink_item_end(sink, number, RRMP_STATE_CLOSED, RRMP_CODE_NONE, RRMP_STATUS, message);
        return;
    }
    if (flags & RRMP_FLAG_STAYS) {
        item->suspect_sent = true;
        sink_stays_behind(sink, number);
    }
    if (item->state == RRMP_SINK_ASKED)
        sink_window_leave(sink, item); /* a status is an answer too */
    if (slot->bits & SLOT_HOLD) {
        tick_hold(sink, slot, RRMP_STATUS, seq, message);
        return;
    }
    sink_tick_event(sink, number, RRMP_STATUS, RRMP_SINK_TO_WAIT | RRMP_SINK_TO_STEP, seq, message);
}

/* A private stream that we gave up, and the source has not heard of it: nobody but its owner can
 * end it, and no digest would find it. Said again only when that may have been lost, too. */
static void stray_tick(struct rrmp_sink *sink, uint32_t number, uint16_t svc, uint32_t handle)
{
    struct sink_instance *instance = sink_instance_at(sink, number);
    struct rrmp_record record = {
        .header = { .type = RRMP_CLOSE, .flags = RRMP_FLAG_PRIVATE, .svc = svc },
        .u.close = { .handle = handle, .reason = RRMP_CLOSE_NOBODY },
    };

    if (instance->stray_handle == handle && sink->now_ns < instance->stray_due_ns)
        return;
    instance->stray_handle = handle;
    instance->stray_due_ns = sink->now_ns + STRAY_AGAIN_NS;
    sink_send(sink, number, &record);
}

static uint16_t svc_of(const struct rrmp_sink *sink, const struct sink_slot *slot)
{
    return sink_link_at(sink, sink_item_at(sink, slot->item)->link)->svc;
}

static void tick_in(struct rrmp_sink *sink, uint32_t instance_number,
                    const struct backbone_event *message)
{
    const struct sink_instance *instance = sink_instance_at(sink, instance_number);
    const uint8_t *p = message->bytes;
    uint32_t seq = md_be32(p + 12);
    struct sink_slot *slot = sink_slot_find(sink, instance, md_be32(p + 8));

    if (!slot || svc_of(sink, slot) != md_be16(p + 2)) {
        sink->stats.unknown_handle++;
        bool is_final = p[0] == RRMP_STATUS && p[1] & RRMP_FLAG_FINAL;
        if (!slot && p[1] & RRMP_FLAG_PRIVATE && !is_final)
            stray_tick(sink, instance_number, md_be16(p + 2), md_be32(p + 8));
        return;
    }
    uint32_t distance = seq - slot->last_seq;
    if (distance != 1) {
        if (distance == 0 || distance > INT32_MAX)
            sink->stats.dup_dropped++;
        else {
            sink->stats.item_seq_jumps++;
            sink_item_lost(sink, slot->item, RRMP_CODE_GAP_DETECTED);
        }
        return;
    }
    slot->last_seq = seq;
    struct rrmp_view body = { .bytes = p + RRMP_TICK_SIZE,
                              .length = message->length - RRMP_TICK_SIZE };
    if (p[0] == RRMP_STATUS) {
        status_take(sink, slot, p[1] & 0x0f, seq, body);
        return;
    }
    if (slot->bits & SLOT_HOLD) {
        tick_hold(sink, slot, p[0], seq, body);
        return;
    }
    uint8_t to = slot->bits & (SLOT_WAIT | SLOT_STEP);
    if (to)
        sink_tick_event(sink, slot->item, p[0], to, seq, body);
}

/* ---- UNBIND, REFUSE ---- */

/* The source at `link` needs the room for another item: this one goes to another source, or waits,
 * suspect, until somebody has room again. It waits longer than a refused one, and consumers are
 * told once; again only where an image, or a part of one, has come since. */
static void preempted(struct rrmp_sink *sink, uint32_t number, uint32_t link, uint8_t code,
                      struct rrmp_view text)
{
    struct sink_item *item = sink_item_at(sink, number);
    bool is_known = sink_work_of(sink, item)->is_preempted;
    bool has_hope = item->had_image && (!item->suspect_sent || item->is_image_open);
    uint64_t until_ns = SINK_PREEMPTED_NS + md_splitmix64(&sink->random) % SINK_PREEMPTED_NS;

    sink_item_refuse_at(sink, number, link, until_ns);
    sink_item_leave(sink, number, 0);
    sink->stats.preempted += code == RRMP_CODE_PREEMPTED;
    if (!is_known || has_hope) {
        item->suspect_sent = item->had_image;
        sink_item_tell(sink, number, RRMP_STATE_OPEN_SUSPECT, RRMP_CODE_PREEMPTED, text);
    }
    struct sink_work *work = sink_work_take(sink, number);
    work->is_preempted = true;
    work->preempted_link = link;
    item->is_wait_told = true;
    sink_item_place(sink, number, item->had_image ? QUEUE_RECOVERY : QUEUE_NEW);
}

static void unbind_in(struct rrmp_sink *sink, uint32_t instance_number,
                      const struct rrmp_unbind *unbind)
{
    static const struct rrmp_view none;
    struct sink_slot *slot =
        sink_slot_find(sink, sink_instance_at(sink, instance_number), unbind->handle);

    if (!slot)
        return;
    uint32_t number = slot->item;
    struct sink_item *item = sink_item_at(sink, number);
    uint32_t link = item->link;
    sink_item_unmap(sink, number);
    sink_unask(sink, item); /* nobody's interest is left over there, ours neither */
    if (item->is_follower && unbind->reason != RRMP_UNBIND_REBOUND) {
        static const struct rrmp_refuse closed = { .scope = RRMP_REFUSE_NOT_HERE,
                                                   .code = RRMP_CODE_NOT_FOUND };
        sink_work_take(sink, number)->is_bound_since = false; /* the UNBIND is behind that */
        sink_follower_refused(sink, number, &closed);
        return;
    }
    if (unbind->reason != RRMP_UNBIND_DROPPED || item->is_private) {
        sink_item_lost(sink, number, RRMP_CODE_NONE);
        return;
    }
    preempted(sink, number, link, RRMP_CODE_PREEMPTED, none);
}

/* An item that is asked for again and again is refused as often; consumers are told once. */
static void tell_wait(struct rrmp_sink *sink, uint32_t number, uint8_t state,
                      const struct rrmp_refuse *refuse)
{
    struct sink_item *item = sink_item_at(sink, number);
    bool is_known = item->is_wait_told;

    item->is_wait_told = true;
    if (!is_known)
        sink_item_tell(sink, number, state, refuse->code, refuse->text);
}

/* It was closed to make room, or there is none yet. What else a source may say of a preempted item
 * is about the item: it is not there. */
static bool lacks_room(const struct sink_work *work, const struct rrmp_refuse *refuse)
{
    return refuse->code == RRMP_CODE_PREEMPTED ||
           (work->is_preempted && refuse->code == RRMP_CODE_TOO_MANY_ITEMS);
}

/* Another source than `link` may have room for it again. */
static bool waits_elsewhere(const struct rrmp_sink *sink, const struct sink_item *item,
                            uint32_t link)
{
    const struct sink_work *work = sink_work_of(sink, item);
    const struct sink_wish wish = sink_wish_of(sink, item);

    return work->is_preempted && work->preempted_link != link &&
           sink_wish_is_refused_at(sink, &wish, work->preempted_link) &&
           sink_link_usable(sink, &wish, work->preempted_link);
}

/* Each one's service has trouble, and there are more than a second's refusals are remembered of. */
static bool is_refused_often(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_work *work = sink_work_take(sink, number);

    if (work->refusals < UINT8_MAX)
        work->refusals++;
    return work->refusals > 2 * SINK_REFUSED;
}

/* It goes round among them, but not as fast as they answer, and consumers know. */
static void refused_everywhere(struct rrmp_sink *sink, uint32_t number,
                               const struct rrmp_refuse *refuse)
{
    tell_wait(sink, number, RRMP_STATE_OPEN_SUSPECT, refuse);
    sink_queue_remove(sink, number);
    sink_timer_set(sink, number, sink->now_ns + ROUND_NS);
}

/* Not here: another instance, or, when all that could have said so, nowhere. */
static void refused_here(struct rrmp_sink *sink, uint32_t number, const struct rrmp_refuse *refuse)
{
    struct sink_item *item = sink_item_at(sink, number);
    bool is_about_item = refuse->code != RRMP_CODE_NONE;
    bool is_up = false;

    if (lacks_room(sink_work_of(sink, item), refuse)) {
        preempted(sink, number, item->link, refuse->code, refuse->text);
        return;
    }
    bool may_end = is_about_item && !waits_elsewhere(sink, item, item->link);
    if (may_end)
        sink_work_take(sink, number)->is_preempted = false;
    sink_item_refuse_at(sink, number, item->link,
                        is_about_item ? SINK_REFUSED_NS : SINK_REFUSED_SHORT_NS);
    if (item->had_image && !item->suspect_sent) {
        item->suspect_sent = true;
        sink_item_tell(sink, number, RRMP_STATE_OPEN_SUSPECT, refuse->code, refuse->text);
    }
    sink_item_leave(sink, number, 0);
    for (uint32_t n = sink->services[item->service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next)
        is_up = is_up || sink_link_usable(sink, NULL, n);
    if (sink_link_choose(sink, item) == MD_NIL && is_up && may_end) {
        sink_item_end(sink, number, RRMP_STATE_CLOSED, refuse->code, 0, refuse->text);
        return;
    }
    sink_item_place(sink, number, item->had_image ? QUEUE_RECOVERY : QUEUE_NEW);
    if (item->state == RRMP_SINK_PARKED)
        tell_wait(sink, number, RRMP_STATE_OPEN_SUSPECT, refuse);
    else if (!is_about_item && is_refused_often(sink, number))
        refused_everywhere(sink, number, refuse);
}

/* In step it misses nothing: an image that another asked for has come first, or one is wanted for
 * those who came later. */
static void live_refused_later(struct rrmp_sink *sink, struct sink_item *item)
{
    sink_window_leave(sink, item);
    if (!item->wants_image)
        sink_unask(sink, item); /* our interest is to be entered there: the timer asks */
}

static void refused_later(struct rrmp_sink *sink, uint32_t number, const struct rrmp_refuse *refuse)
{
    struct sink_item *item = sink_item_at(sink, number);
    uint64_t wait = refuse->wait_ms < LATER_MIN_MS ? LATER_MIN_MS : refuse->wait_ms;

    wait = wait > LATER_MAX_MS ? LATER_MAX_MS : wait;
    if (item->state == RRMP_SINK_LIVE) {
        live_refused_later(sink, item);
        if (item->is_image_open)
            return; /* the timer is that of its next part */
    } else {
        tell_wait(sink, number, refuse->state ? refuse->state : RRMP_STATE_OPEN_SUSPECT, refuse);
        sink_unask(sink, item);
        item->suspect_sent = item->had_image;
        sink_item_requeue(sink, number, QUEUE_NEW);
        sink_queue_remove(sink, number);
    }
    sink_timer_set(sink, number, sink->now_ns + wait * MS);
}

static void refuse_in(struct rrmp_sink *sink, uint32_t link, const struct rrmp_refuse *refuse)
{
    uint16_t service = sink_link_at(sink, link)->service;
    uint32_t number = sink_item_by_request(sink, service, refuse->key_hash, refuse->request_id);

    if (number == MD_NIL || sink_item_at(sink, number)->link != link) {
        /* Else it crosses a newer request. */
        sink->stats.refused[refuse->scope] += sink_mirror_refused(sink, link, refuse);
        return;
    }
    struct sink_item *item = sink_item_at(sink, number);
    sink->stats.refused[refuse->scope]++;
    bool is_bound = item->is_follower && sink_follower_is_bound(item);
    if (is_bound && refuse->scope != RRMP_REFUSE_FINAL) {
        sink_window_leave(sink, item);
        return;
    }
    if (refuse->scope == RRMP_REFUSE_LATER) {
        refused_later(sink, number, refuse);
        return;
    }
    sink_unask(sink, item);
    if (item->is_follower && refuse->scope == RRMP_REFUSE_FINAL) {
        sink_follower_end(sink, number, refuse->state, refuse->code, 0, refuse->text);
        if (is_bound)
            sink_list_begin(sink, link); /* it may have been opened again since */
    } else if (item->is_follower)
        sink_follower_refused(sink, number, refuse);
    else if (refuse->scope == RRMP_REFUSE_FINAL)
        sink_item_end(sink, number, refuse->state, refuse->code, 0, refuse->text);
    else
        refused_here(sink, number, refuse);
}

/* ---- SVCSTATE, GROUP ---- */

static void svcstate_in(struct rrmp_sink *sink, uint32_t link, const struct rrmp_record *record)
{
    const struct rrmp_svcstate *said = &record->u.svcstate;
    bool stays = record->header.flags & RRMP_FLAG_STAYS;
    bool falls = sink_link_at(sink, link)->row_state & ~said->service_state & RRMP_SERVICE_UP;

    if (falls && sink_link_has_other(sink, link))
        sink_resume_begin(sink, link);
    if (said->has_status)
        sink_link_tell(sink, link, RRMP_GROUP_NONE, said->state, said->code, said->text,
                       stays ? SINK_STAYS : SINK_SAID);
    uint16_t keep = sink_link_at(sink, link)->row_state & RRMP_SERVICE_COMPLETE;
    sink_link_state(sink, link, (uint16_t)(said->service_state | keep));
}

static void group_in(struct rrmp_sink *sink, uint32_t number, const struct rrmp_record *record)
{
    const struct rrmp_group *said = &record->u.group;
    bool stays = record->header.flags & RRMP_FLAG_STAYS;
    const struct sink_link *link = sink_link_at(sink, number);
    struct rrmp_sink_event *told = NULL;
    uint32_t next;

    if (said->state)
        told = sink_link_tell(sink, number, said->group, said->state, said->code, said->text,
                              stays ? SINK_STAYS : SINK_SAID);
    if (said->merged_into == RRMP_GROUP_NONE || said->group == RRMP_GROUP_NONE)
        return;
    if (told)
        told->group2 = said->merged_into; /* where those that were told are now */
    for (uint32_t n = sink_run_first(sink, number, said->group); n != MD_NIL; n = next) {
        next = sink_run_next(sink, n, said->group);
        if (sink_item_at(sink, n)->group == said->group)
            sink_item_set_group(sink, n, said->merged_into);
    }
    if (sink->services[link->service].regrouped_count > 0)
        return; /* consumers may believe that another item is in the group */
    struct rrmp_sink_event *event = sink_event_put(sink, RRMP_SINK_MERGE);
    event->service = link->service;
    event->instance = (uint16_t)link->instance;
    event->group = said->group;
    event->group2 = said->merged_into;
}

/* ---- dispatch ---- */

static void bad(struct rrmp_sink *sink, const struct backbone_event *message)
{
    sink->stats.records_bad++;
    if (rrmp_guard_bad(&sink->guard, sink->now_ns, message->session, message->src_port))
        sink->stats.senders_ignored++;
}

/* A name's hash is checked once, where it enters; afterwards it is only looked up. */
static bool key_is_good(const struct rrmp_record *record)
{
    struct rrmp_view key = { .bytes = NULL, .length = 0 };
    uint64_t hash = 0;

    if (record->header.type == RRMP_BIND) {
        key = record->u.bind.key;
        hash = record->u.bind.key_hash;
    } else if (record->header.type == RRMP_IMAGE) {
        key = record->u.image.key;
        hash = record->u.image.key_hash;
    }
    return key.length == 0 || rrmp_key_hash(key.bytes, key.length) == hash;
}

/* Records of one service of one instance, in its stream or directed at us. */
static void link_record_in(struct rrmp_sink *sink, uint32_t instance, uint32_t link,
                           const struct rrmp_record *record)
{
    sink_follow_see(sink, link, record);
    switch ((enum rrmp_type)record->header.type) {
    case RRMP_SVCSTATE:
        svcstate_in(sink, link, record);
        return;
    case RRMP_GROUP:
        group_in(sink, link, record);
        return;
    case RRMP_BIND:
        sink_bind_in(sink, instance, link, record);
        return;
    case RRMP_IMAGE:
        sink_image_in(sink, instance, link, record);
        return;
    case RRMP_UNBIND:
        unbind_in(sink, instance, &record->u.unbind);
        return;
    case RRMP_REFUSE:
        refuse_in(sink, link, &record->u.refuse);
        return;
    case RRMP_REPLAY:
        sink_replay_in(sink, instance, link, &record->u.replay);
        return;
    case RRMP_GAPITEMS:
        sink_gapitems_in(sink, instance, record);
        return;
    case RRMP_LISTPART:
        sink_listpart_in(sink, link, &record->u.listpart);
        return;
    default: /* not a record of a link */
        return;
    }
}

/* Follow the service's numbers; what is missing in between is lost. False: seen before. */
static bool sequence_follow(struct rrmp_sink *sink, uint32_t number, uint32_t seq)
{
    struct sink_link *link = sink_link_at(sink, number);
    uint32_t distance = seq - link->next_seq;

    if (distance == 0) {
        link->next_seq++;
        return true;
    }
    if (distance > INT32_MAX)
        return false;
    uint32_t first = link->next_seq;
    link->next_seq = seq + 1;
    if (sink_topic_lost(sink, link))
        sink_link_lost(sink, number, first, seq - 1);
    return true;
}

static void data_in(struct rrmp_sink *sink, const struct backbone_event *message)
{
    uint32_t number = sink_instance_find(sink, message->session, message->src_port);

    if (number == MD_NIL) {
        sink->stats.before_instance++;
        return;
    }
    const uint8_t *p = message->bytes;
    const struct sink_instance *instance = sink_instance_at(sink, number);
    uint16_t svc = md_be16(p + 2);
    uint32_t seq = md_be32(p + 4);
    uint32_t link = svc < instance->svc_count ? instance->links[svc] : MD_NIL;
    if (link != MD_NIL && !(message->flags & BACKBONE_FLAG_UNICAST) &&
        message->topic != sink_link_at(sink, link)->topic) {
        sink->stats.wrong_topic++; /* whoever let it through allowed another service */
        return;
    }
    if (link != MD_NIL && seq != 0 && !sequence_follow(sink, link, seq))
        return;
    bool is_tick = p[0] == RRMP_UPDATE || p[0] == RRMP_STATUS || p[0] == RRMP_GENERIC;
    if (is_tick && message->length >= RRMP_TICK_SIZE) {
        bool is_private = p[1] & RRMP_FLAG_PRIVATE;
        if (link != MD_NIL && (is_private || sink_link_at(sink, link)->item_count > 0))
            tick_in(sink, number, message);
        return;
    }
    struct rrmp_record record;
    int err = rrmp_record_decode(message->bytes, message->length, &record);
    if (err || !key_is_good(&record)) {
        bad(sink, message);
        return;
    }
    if (record.header.type == RRMP_ACK)
        sink_ack_in(sink, number, &record);
    else if (record.header.type == RRMP_AUDITDIFF)
        sink_auditdiff_in(sink, number, &record);
    else if (record.header.type == RRMP_DICTPART)
        sink_dictpart_in(sink, number, &record);
    else if (link != MD_NIL && sink_link_at(sink, link)->service != RRMP_SERVICE_NONE)
        link_record_in(sink, number, link, &record);
}

static void control_in(struct rrmp_sink *sink, const struct backbone_event *message)
{
    struct rrmp_record record;

    if (rrmp_record_decode(message->bytes, message->length, &record) != 0) {
        bad(sink, message);
        return;
    }
    if (record.header.type == RRMP_INSTANCE)
        sink_instance_in(sink, message, &record);
    else if (record.header.type == RRMP_SERVICE)
        sink_service_in(sink, message, &record);
}

void sink_record_in(struct rrmp_sink *sink, const struct backbone_event *message)
{
    if (message->length < RRMP_HEADER_SIZE)
        return;
    uint8_t type = message->bytes[0];
    if (type >= RRMP_QUERY && type < RRMP_BIND)
        return; /* what requesters say */
    if (message->dst_port != 0 && message->dst_port != sink->port)
        return;
    if (sink->guard.count &&
        rrmp_guard_ignores(&sink->guard, sink->now_ns, message->session, message->src_port))
        return;
    if (message->bytes[1] >> 4 != RRMP_VERSION) {
        bad(sink, message);
        return;
    }
    sink->stats.records_in[type & 63]++;
    bool is_control = type == RRMP_INSTANCE || type == RRMP_SERVICE;
    if (is_control &&
        (message->topic != RRMP_TOPIC_CONTROL || message->flags & BACKBONE_FLAG_UNICAST))
        sink->stats.wrong_topic++;
    else if (is_control)
        control_in(sink, message);
    else
        data_in(sink, message);
}
