/* sink_resume.c - a mirror goes on where another source was, and consumers do not notice. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_mirror.h"
#include "sink_tell.h"

/*
 * Of items whose source and standby say that their providers' numbers are equal the sink knows the
 * place: it moves with each message that goes to consumers in step. When the source is lost, its
 * suspect state is held back for a moment, and the standby is asked to go on from the place. It
 * binds the item and sends the messages between the place and the cut by unicast (REPLAY), or it
 * gives an image; then consumers hear suspect first.
 */

#define PATIENCE_NS 30000000000ull /* for a new number of an item that is to move */
#define HOLD_MOST   10u            /* times resume_hold_ns, as long as replays come */
#define ASKED_LEAST 4u             /* items that are asked to go on at one time */
#define ASKED_MOST  128u           /* or as many as by the last ones */
#define ASKED_COST  8192u          /* cost so much; each worker of a p2ps asks so */
#define COST_BYTES  256u           /* a message costs 1, and 1 for so many bytes */
#define GATE_NS     50000000ull    /* who is not answered in that time keeps nobody waiting */
#define STALL_NS    500000000ull   /* a pause of all replays, or this often of one: */
#define STALLS_MOST 10u

/* ---- the place ---- */

static struct sink_place *place_of(const struct rrmp_sink *sink, const struct sink_item *item)
{
    return md_slots_at(&sink->places, item->place);
}

static bool is_numbered(const struct rrmp_sink *sink, uint32_t link)
{
    const uint32_t wanted = RRMP_FEATURE_MIRROR_SEQ | RRMP_FEATURE_HOT_STANDBY;

    return sink->config.mark && link != MD_NIL &&
           (sink_link_at(sink, link)->description.features & wanted) == wanted;
}

static void set_regrouped(struct rrmp_sink *sink, const struct sink_item *item, bool is_regrouped)
{
    struct sink_place *place = place_of(sink, item);
    struct sink_service *service = &sink->services[item->service];

    service->regrouped_count -= place->is_regrouped;
    service->regrouped_count += is_regrouped;
    place->is_regrouped = is_regrouped;
}

void sink_place_told(struct rrmp_sink *sink, uint32_t number, uint8_t state)
{
    const struct sink_item *item = sink_item_at(sink, number);

    if (item->place != MD_NIL && (state & 7) != 0)
        place_of(sink, item)->is_doubted = (state & 7) != RRMP_DATA_OK;
}

void sink_place_drop(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->place == MD_NIL)
        return;
    set_regrouped(sink, item, false);
    md_slots_give(&sink->places, item->place);
    item->place = MD_NIL;
}

void sink_place_image(struct rrmp_sink *sink, uint32_t number, const struct rrmp_view *message)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct rrmp_mark mark = { 0 };

    if (!is_numbered(sink, item->link) || item->is_private || item->is_snapshot) {
        sink_place_drop(sink, number);
        return;
    }
    if (item->place == MD_NIL)
        item->place = md_slots_take(&sink->places);
    if (item->place == MD_NIL)
        return;
    set_regrouped(sink, item, false);
    place_of(sink, item)->is_doubted = false;
    if (message)
        sink->config.mark(*message, &mark);
    rrmp_position_begin(&place_of(sink, item)->position, message ? &mark : NULL);
}

void sink_place_pass(struct rrmp_sink *sink, uint32_t number, struct rrmp_view message)
{
    const struct sink_item *item = sink_item_at(sink, number);
    struct rrmp_mark mark;

    sink->config.mark(message, &mark);
    rrmp_position_pass(&place_of(sink, item)->position, &mark);
}

void sink_place_pass_chain(struct rrmp_sink *sink, uint32_t number, const struct sink_chain *chain)
{
    if (sink_item_at(sink, number)->place == MD_NIL)
        return;
    for (const struct sink_held *held = chain->head; held; held = held->next) {
        if (held->event.kind == RRMP_SINK_MESSAGE && held->event.to & RRMP_SINK_TO_STEP)
            sink_place_pass(sink, number, held->event.message);
    }
}

/* ---- the source is lost ---- */

/* False: nobody can go on for consumers, or some of them wait for an image. */
static bool may_resume(const struct rrmp_sink *sink, const struct sink_item *item)
{
    if (item->state != RRMP_SINK_LIVE || !item->had_image || item->suspect_sent ||
        item->wants_image || item->is_image_open || item->place == MD_NIL)
        return false;
    const struct rrmp_position *position = &place_of(sink, item)->position;
    if (!rrmp_position_is_named(position) || place_of(sink, item)->is_doubted)
        return false;
    uint32_t mirror = sink_mirror_of(sink, item);
    return mirror != MD_NIL && is_numbered(sink, mirror);
}

void sink_link_doubt(struct rrmp_sink *sink, uint32_t link)
{
    for (uint32_t n = sink_link_at(sink, link)->items; n != MD_NIL;
         n = sink_item_at(sink, n)->list_next)
        sink_place_told(sink, n, RRMP_STATE_OPEN_SUSPECT);
}

void sink_resume_begin(struct rrmp_sink *sink, uint32_t link)
{
    bool any = false;

    for (uint32_t n = sink_link_at(sink, link)->items; n != MD_NIL;
         n = sink_item_at(sink, n)->list_next) {
        struct sink_item *item = sink_item_at(sink, n);
        item->is_resuming = may_resume(sink, item);
        any = any || item->is_resuming;
    }
    if (!any)
        return;
    /* One hold for all: items of an earlier loss wait for those of this one. */
    if (sink->hold_ns == RRMP_NEVER) {
        sink->replay_ns = 0;
        sink->replay_cost = ASKED_COST / ASKED_LEAST;
    }
    sink->hold_item = 0;
    sink->hold_ns = sink->now_ns + sink->config.resume_hold_ns;
    sink->hold_end_ns = sink->now_ns + HOLD_MOST * sink->config.resume_hold_ns;
}

static void tell_suspect(struct rrmp_sink *sink, uint32_t number)
{
    static const struct rrmp_view none;
    struct sink_item *item = sink_item_at(sink, number);

    if (!item->had_image || item->suspect_sent)
        return;
    item->suspect_sent = true;
    sink_item_tell(sink, number, RRMP_STATE_OPEN_SUSPECT, RRMP_CODE_FAILOVER_STARTED, none);
}

/* At once upwards: busy items may stand behind many that are at rest. */
static void replay_measured(struct rrmp_sink *sink, uint32_t cost)
{
    if (cost < sink->replay_cost)
        cost = (3 * sink->replay_cost + cost) / 4;
    sink->replay_cost = cost > 0 ? cost : 1;
}

void sink_resume_end(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (!item->is_resuming)
        return;
    item->is_resuming = false;
    sink->stats.resumes_failed++;
    replay_measured(sink, 1); /* an image it is */
    tell_suspect(sink, number);
}

static bool is_moving(const struct rrmp_sink *sink, uint32_t number)
{
    return sink_item_exists(sink, number) && sink_item_at(sink, number)->place != MD_NIL &&
           place_of(sink, sink_item_at(sink, number))->is_moving;
}

static void moves_tick(struct rrmp_sink *sink, uint64_t late_ns)
{
    for (; sink->move_head != sink->move_tail; sink->move_head++) {
        const struct sink_move *move = &sink->moves[sink->move_head % SINK_MOVES];
        if (!is_moving(sink, move->item))
            continue;
        const struct sink_item *item = sink_item_at(sink, move->item);
        if (item->is_resuming && !item->suspect_sent) {
            if (sink->now_ns < move->due_ns + late_ns || !sink_event_room(sink))
                return;
            tell_suspect(sink, move->item);
        }
        place_of(sink, item)->is_moving = false;
    }
}

/* ---- as much as the way here holds ---- */

/*
 * The engine keeps some MiB of messages for each node and drops those that find this queue full. A
 * silence of 3.5 s leaves more than that to replay. So the sink asks for a few items at a time,
 * and for more if little is replayed for each. An item whose replay does not come, since the
 * mirror is behind or its answer is lost, does not keep the others waiting for long: after a pause
 * the sink asks for twice as many.
 */
bool sink_resume_may_ask(const struct rrmp_sink *sink, const struct sink_link *link)
{
    uint32_t most = ASKED_COST / sink->replay_cost;

    most = most < ASKED_LEAST ? ASKED_LEAST : most;
    most = most > ASKED_MOST ? ASKED_MOST : most;
    return link->resumes_used < most || sink->gate_ns == RRMP_NEVER;
}

void sink_resume_asked(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_work *work = sink_work_take(sink, number);

    sink->gate_ns = sink->now_ns + GATE_NS;
    work->replay_cost = 0;
    if (work->is_resume)
        return;
    work->is_resume = true;
    sink_link_at(sink, sink_item_at(sink, number)->link)->resumes_used++;
}

void sink_resume_answered(struct rrmp_sink *sink, const struct sink_item *item)
{
    if (!sink_work_of(sink, item)->is_resume)
        return;
    struct sink_work *work = md_slots_at(&sink->works, item->work);
    work->is_resume = false;
    sink_link_at(sink, item->link)->resumes_used--;
    sink->may_send = true;
}

static void replay_heard(struct rrmp_sink *sink, uint32_t number, size_t length)
{
    sink->replay_ns = sink->now_ns;
    sink->gate_ns = sink->now_ns + GATE_NS;
    struct sink_work *work = sink_work_take(sink, number);
    work->replay_cost += 1 + (uint32_t)(length / COST_BYTES);
    work->stalls = 0;
}

static void gate_tick(struct rrmp_sink *sink)
{
    if (sink->now_ns < sink->gate_ns)
        return;
    sink->gate_ns = RRMP_NEVER;
    sink->replay_cost = (sink->replay_cost + 1) / 2;
    sink->may_send = true;
}

bool sink_replay_goes_on(struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);

    if (item->state != RRMP_SINK_FILLING || !sink_work_of(sink, item)->is_replay ||
        sink->now_ns - sink->replay_ns >= STALL_NS)
        return false;
    if (++sink_work_take(sink, number)->stalls == STALLS_MOST)
        return false;
    sink_timer_set(sink, number, sink->now_ns + STALL_NS);
    return true;
}

/* ---- how long suspect is held back ---- */

/* The mirror is at it: what it sends after a long silence takes its time. */
static bool replays_come(const struct rrmp_sink *sink)
{
    return sink->now_ns < sink->hold_end_ns && sink->replay_ns != 0 &&
           sink->now_ns - sink->replay_ns < sink->config.resume_hold_ns / 2;
}

void sink_resume_tick(struct rrmp_sink *sink, bool input_is_empty)
{
    /* A sink that is never idle tells it twice as late, but tells it. */
    uint64_t late_ns = input_is_empty ? 0 : sink->config.resume_hold_ns;

    gate_tick(sink);
    moves_tick(sink, late_ns);
    if (sink->hold_ns == RRMP_NEVER || sink->now_ns < sink->hold_ns + late_ns)
        return;
    if (sink->hold_item == 0 && replays_come(sink)) {
        sink->hold_ns = sink->now_ns + sink->config.resume_hold_ns / 2;
        return;
    }
    for (; sink->hold_item < sink->items.high && sink_event_room(sink); sink->hold_item++) {
        const struct sink_item *item = sink_item_at(sink, sink->hold_item);
        if (sink_item_exists(sink, sink->hold_item) && item->is_resuming &&
            !is_moving(sink, sink->hold_item))
            tell_suspect(sink, sink->hold_item);
    }
    if (sink->hold_item < sink->items.high)
        return;
    sink->hold_ns = RRMP_NEVER;
}

uint64_t sink_resume_deadline(const struct rrmp_sink *sink)
{
    uint64_t due = sink->move_head != sink->move_tail
                       ? sink->moves[sink->move_head % SINK_MOVES].due_ns
                       : RRMP_NEVER;

    due = due < sink->gate_ns ? due : sink->gate_ns;
    return due < sink->hold_ns ? due : sink->hold_ns;
}

/* ---- a move to a better source ---- */

/*
 * The source that an item leaves lives on, so there is time to wait until the standby knows a place
 * of the stream: until consumers have had two new numbers since it has the item. One is not enough
 * where it had the item open before, and so began without an image: only the second one says that
 * it is another number than that of the message before it. An item that is at rest for long moves
 * as it is, with an image if need be.
 */

bool sink_move_is_due(struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);

    if (sink->move_tail - sink->move_head == SINK_MOVES)
        return false;
    if (item->place == MD_NIL || !is_numbered(sink, item->standby))
        return true;
    struct sink_place *place = place_of(sink, item);
    if (place->await_ns == 0) {
        place->await_ns = sink->now_ns;
        place->awaited = place->position.number;
        place->is_half_due = false;
        return false;
    }
    if (sink->now_ns - place->await_ns >= PATIENCE_NS)
        return true;
    if (place->position.number == place->awaited)
        return false;
    if (!place->is_half_due) {
        place->is_half_due = true;
        place->awaited = place->position.number;
        return false;
    }
    return may_resume(sink, item);
}

bool sink_move_begin(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (!may_resume(sink, item))
        return false;
    item->is_resuming = true;
    place_of(sink, item)->is_moving = true;
    sink->moves[sink->move_tail++ % SINK_MOVES] =
        (struct sink_move){ .item = number, .due_ns = sink->now_ns + sink->config.resume_hold_ns };
    return true;
}

void sink_move_forget(struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);

    if (item->place != MD_NIL)
        place_of(sink, item)->await_ns = 0;
}

/* ---- the mirror goes on ---- */

static void replay_complete(struct rrmp_sink *sink, uint32_t number)
{
    static const struct rrmp_view none;
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_work *work = sink_work_take(sink, number);
    const struct sink_link *link = sink_link_at(sink, item->link);
    struct sink_slot *slot =
        sink_slot_find(sink, sink_instance_at(sink, link->instance), item->handle);

    replay_measured(sink, work->replay_cost);
    work->tag = 0;
    work->tries = 0;
    work->is_replay = false;
    slot->bits = SLOT_MAPPED | SLOT_STEP;
    struct sink_place *place = place_of(sink, item);
    /* First: what was held meanwhile may make it suspect again. */
    if (item->suspect_sent || place->is_doubted)
        sink_item_tell(sink, number, RRMP_STATE_OPEN_OK, RRMP_CODE_FAILOVER_COMPLETED, none);
    item->suspect_sent = work->stays_behind;
    place->is_doubted = false;
    sink_place_pass_chain(sink, number, &work->held);
    sink_chain_put_event(sink, &work->held);
    sink_timer_cancel(sink, number);
    sink_window_leave(sink, item);
    sink_item_set_state(sink, number, RRMP_SINK_LIVE);
    item->is_resuming = false;
    item->is_multicast = sink->config.prefers_multicast;
    set_regrouped(sink, item, true);
    sink->stats.resumed++;
    item->wants_image = item->wants_more;
    item->wants_more = false;
    if (item->is_asked && !item->wants_image && !item->is_priority_due)
        sink_queue_remove(sink, number);
    else if (item->queue == QUEUE_NONE)
        sink_queue_put(sink, number, item->wants_image ? QUEUE_NEW : QUEUE_BACKGROUND);
    sink_work_settle(sink, number);
}

/* Parts that came before their BIND. */
static void early_play(struct rrmp_sink *sink, uint32_t instance, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);
    struct sink_work *work = sink_work_take(sink, number);
    struct sink_early *early = sink_early_find(sink, instance, item->handle, work->tag);

    if (!early)
        return;
    bool is_whole = early->is_whole;
    work->part = (uint16_t)early->parts.count;
    sink_place_pass_chain(sink, number, &early->parts);
    sink_chain_put_event(sink, &early->parts);
    sink_early_drop(sink, early);
    if (is_whole)
        replay_complete(sink, number);
}

void sink_replay_bind(struct rrmp_sink *sink, uint32_t instance, uint32_t number,
                      const struct rrmp_bind *bind)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (!item->is_resuming || (item->state != RRMP_SINK_ASKED && item->state != RRMP_SINK_FILLING))
        return;
    sink_held_free(sink, item);
    item->is_image_open = false;
    sink_item_set_group(sink, number, bind->group);
    if (!sink_item_map(sink, number, bind->handle, bind->item_seq, SLOT_HOLD))
        return;
    struct sink_work *work = sink_work_take(sink, number);
    sink_image_begin(work, bind->tag);
    work->is_replay = true;
    item->image_to = RRMP_SINK_TO_STEP;
    sink_item_set_state(sink, number, RRMP_SINK_FILLING);
    sink_timer_set(sink, number, sink->now_ns + STALL_NS);
    early_play(sink, instance, number);
}

static uint8_t type_of(const struct rrmp_replay *replay)
{
    if (replay->flags & RRMP_REPLAY_STATUS)
        return RRMP_STATUS;
    return replay->flags & RRMP_REPLAY_GENERIC ? RRMP_GENERIC : RRMP_UPDATE;
}

static void keep_early(struct rrmp_sink *sink, uint32_t instance, uint32_t number,
                       const struct rrmp_replay *replay)
{
    const struct sink_item *item = sink_item_at(sink, number);
    const struct rrmp_sink_event event = { .kind = RRMP_SINK_MESSAGE,
                                           .type = type_of(replay),
                                           .to = RRMP_SINK_TO_STEP,
                                           .service = item->service,
                                           .instance = (uint16_t)instance,
                                           .group = item->group,
                                           .part = replay->part,
                                           .item = number,
                                           .item_seq = replay->item_seq,
                                           .user = item->user,
                                           .message = replay->message };

    sink_early_keep(sink, &event, replay->handle, replay->tag, replay->flags & RRMP_REPLAY_FIRST,
                    replay->flags & RRMP_REPLAY_LAST);
}

void sink_replay_in(struct rrmp_sink *sink, uint32_t instance, uint32_t link,
                    const struct rrmp_replay *replay)
{
    uint16_t service = sink_link_at(sink, link)->service;
    uint32_t number = sink_item_by_request(sink, service, replay->key_hash, replay->request_id);

    if (number == MD_NIL || sink_item_at(sink, number)->link != link ||
        !sink_item_at(sink, number)->is_resuming)
        return; /* it answers an older request */
    replay_heard(sink, number, replay->message.length);
    const struct sink_item *item = sink_item_at(sink, number);
    const struct sink_work *work = sink_work_of(sink, item);
    bool is_bound = item->state == RRMP_SINK_FILLING && work->is_replay &&
                    item->handle == replay->handle && work->tag == replay->tag;
    if (!is_bound) {
        keep_early(sink, instance, number, replay);
        return;
    }
    if (replay->part != work->part) {
        sink_item_requeue(sink, number, QUEUE_RECOVERY); /* one is lost: from the place anew */
        return;
    }
    sink_work_take(sink, number)->part++;
    if (replay->message.length > 0)
        sink_tick_event(sink, number, type_of(replay), RRMP_SINK_TO_STEP, replay->item_seq,
                        replay->message);
    if (replay->flags & RRMP_REPLAY_LAST)
        replay_complete(sink, number);
    else
        sink_timer_set(sink, number, sink->now_ns + STALL_NS);
}
