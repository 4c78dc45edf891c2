/* sink_mirror.c - items kept ready at a second instance: mirrors, and moves to a better one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_mirror.h"

#include <string.h>

/*
 * A second instance of the same mirror group is told STANDBY interest: it opens the item at its
 * provider and caches it, and publishes nothing. When the first is gone the item is asked for
 * there, and its image comes from that cache; no provider is asked. With equal numbers it goes on
 * there without an image: sink_resume.c.
 *
 * An item that is to move to a better instance is kept ready there first, by the same means,
 * whether that is a mirror or not.
 *
 * The interest is neither in the sums nor in the audits: it is said again from time to time
 * instead, and forgotten over there when it is not.
 */

#define SWEEP_NS      20000000ull /* so many items in each of these */
#define SWEEP_ITEMS   2000u
#define SWEEP_SENDS   200u
#define IDLE_NS       1000000000ull /* between two walks over all items, if none waits to move */
#define MOVE_COST     1000000000ull /* of a move, in nanoseconds of a rate of one a second */
#define SAY_AGAIN_NS  60000000000ull
#define REFUSED_AGAIN 30000000000ull
#define READY_NS      1000000000ull /* that a standby gets to open an item that will move there */

static bool is_hot(const struct sink_link *link)
{
    return link->in_use && link->service != RRMP_SERVICE_NONE &&
           (link->description.features & RRMP_FEATURE_HOT_STANDBY) &&
           link->description.mirror_group.length > 0;
}

static bool is_mirror(const struct sink_link *a, const struct sink_link *b)
{
    const struct rrmp_view *x = &a->description.mirror_group;
    const struct rrmp_view *y = &b->description.mirror_group;

    return is_hot(a) && is_hot(b) && x->length == y->length &&
           memcmp(x->bytes, y->bytes, x->length) == 0;
}

static bool any_hot(const struct rrmp_sink *sink)
{
    uint32_t count = 0;

    for (uint32_t n = 0; n < sink->links.high && count < 2; n++)
        count += is_hot(sink_link_at(sink, n));
    return count == 2;
}

/* All workers choose alike, so that one standby keeps the item and not one for each. */
static uint32_t choose(const struct rrmp_sink *sink, const struct sink_item *item)
{
    const struct sink_link *here = sink_link_at(sink, item->link);
    const struct sink_wish wish = sink_wish_of(sink, item);
    uint32_t best = MD_NIL;
    uint64_t best_score = 0;

    for (uint32_t n = sink->services[item->service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next) {
        const struct sink_link *link = sink_link_at(sink, n);
        if (n == item->link || !is_mirror(here, link) || !sink_link_usable(sink, &wish, n) ||
            sink_wish_is_refused_at(sink, &wish, n))
            continue;
        uint64_t mix = wish.key_hash ^ sink_instance_at(sink, link->instance)->name_hash;
        uint64_t score = md_splitmix64(&mix);
        if (best == MD_NIL || score > best_score) {
            best = n;
            best_score = score;
        }
    }
    return best;
}

/* False: the way out is full. */
static bool say(struct rrmp_sink *sink, uint32_t number, uint32_t to)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_link *link = sink_link_at(sink, to);
    struct sink_instance *instance = sink_instance_at(sink, link->instance);
    uint32_t id = sink->next_id + 1 ? sink->next_id + 1 : 1;
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = instance->session,
                                      .port = instance->port };
    struct rrmp_record record = {
        .header = { .type = RRMP_REQUEST, .svc = link->svc },
        .u.request = { .id = id,
                       .flags = RRMP_REQUEST_STREAMING | RRMP_REQUEST_STANDBY,
                       .priority_class = item->priority_class,
                       .priority_count = item->priority_count,
                       .handle = RRMP_HANDLE_NONE,
                       .key_hash = sink_key_hash(sink, item),
                       .key = sink_key(sink, item) },
    };

    if (!sink_request_put(sink, id, number))
        return false;
    if (!rrmp_outbox_try(&sink->outbox, &target, &record)) {
        sink_request_remove(sink, id, number);
        return false;
    }
    sink->next_id = id;
    sink->stats.requests_sent++;
    instance->newest_id = id;
    struct sink_work *work = sink_work_take(sink, number);
    if (item->standby != MD_NIL)
        sink_request_remove(sink, work->standby_id, number);
    work->standby_id = id;
    work->standby_ns = sink->now_ns;
    if (item->standby != to) {
        item->standby = to;
        link->standby_count++;
    }
    return true;
}

/* ---- to a better instance ---- */

static bool may_move(const struct rrmp_sink *sink)
{
    return sink->config.failback_ns != 0 || sink->config.rebalances;
}

/* Where the item would rather be, if it is to go there; else MD_NIL. */
static uint32_t better(const struct rrmp_sink *sink, const struct sink_item *item)
{
    uint32_t best = may_move(sink) ? sink_link_choose(sink, item) : MD_NIL;

    if (best == MD_NIL || best == item->link)
        return MD_NIL;
    const struct sink_link *here = sink_link_at(sink, item->link);
    const struct sink_link *there = sink_link_at(sink, best);
    /* The same source, come again: the silence of its old instance will be noticed. Its standby is
     * of more use until then than a new one. */
    if (sink_instance_at(sink, here->instance)->name_hash ==
        sink_instance_at(sink, there->instance)->name_hash)
        return MD_NIL;
    if (there->description.priority == here->description.priority)
        return sink->config.rebalances ? best : MD_NIL;
    bool is_settled = sink->now_ns - there->up_ns >= sink->config.failback_ns;
    return sink->config.failback_ns && is_settled ? best : MD_NIL;
}

/* It has been ready over there for a while: it goes on there unseen, or consumers are told and its
 * image comes from there. */
static void move_to_standby(struct rrmp_sink *sink, uint32_t number)
{
    static const struct rrmp_view none;
    struct sink_item *item = sink_item_at(sink, number);

    sink->move_credit -= MOVE_COST;
    sink->stats.moved++;
    if (!sink_move_begin(sink, number) && item->had_image) {
        item->suspect_sent = true;
        sink_item_tell(sink, number, RRMP_STATE_OPEN_SUSPECT, RRMP_CODE_FAILOVER_STARTED, none);
    }
    sink_item_leave(sink, number, RRMP_CLOSE_MOVED);
    sink_item_place(sink, number, QUEUE_RECOVERY);
}

/* ---- the walk ---- */

/* The link that this item's next mirror message is about, or MD_NIL: no message is due. */
static uint32_t due(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (!sink_item_exists(sink, number) || item->state != RRMP_SINK_LIVE || item->is_private ||
        item->is_follower || item->is_snapshot || item->wants_image || item->is_image_open)
        return MD_NIL;
    bool is_old = sink->now_ns - sink_work_of(sink, item)->standby_ns > SAY_AGAIN_NS;
    uint32_t goal = better(sink, item);
    if (goal != MD_NIL && item->standby != goal) {
        sink_mirror_drop(sink, number, true);
        sink->move_waits = true;
        return goal;
    }
    if (goal != MD_NIL) {
        bool is_ready = sink->now_ns - sink_work_of(sink, item)->standby_ns >= READY_NS;
        if (is_ready && sink_move_is_due(sink, number) && sink->move_credit >= MOVE_COST &&
            sink_event_room(sink)) {
            move_to_standby(sink, number);
            return MD_NIL;
        }
        sink->move_waits = true;
        return is_old ? goal : MD_NIL;
    }
    if (item->standby == MD_NIL)
        return choose(sink, item);
    const struct sink_wish wish = sink_wish_of(sink, item);
    return is_old && sink_link_usable(sink, &wish, item->standby) ? item->standby : MD_NIL;
}

/* As many moves as move_rate allows since then, of a second at most. */
static void earn_moves(struct rrmp_sink *sink)
{
    uint64_t most = (uint64_t)sink->config.move_rate * MOVE_COST;
    uint64_t elapsed_ns = sink->now_ns - sink->move_ns;

    sink->move_ns = sink->now_ns;
    sink->move_credit += (elapsed_ns < MOVE_COST ? elapsed_ns : MOVE_COST) * sink->config.move_rate;
    sink->move_credit = sink->move_credit < most ? sink->move_credit : most;
}

void sink_mirror_tick(struct rrmp_sink *sink)
{
    uint32_t sent = 0;

    if (sink->now_ns < sink->mirror_ns || sink->session == 0)
        return;
    sink->mirror_ns = sink->now_ns + IDLE_NS;
    if (!any_hot(sink) && !may_move(sink))
        return;
    earn_moves(sink);
    for (uint32_t i = 0; i < SWEEP_ITEMS && sink->mirror_item < sink->items.high; i++) {
        uint32_t to = due(sink, sink->mirror_item);
        if (to != MD_NIL && (sent == SWEEP_SENDS || !say(sink, sink->mirror_item, to)))
            break;
        sent += to != MD_NIL;
        sink->mirror_item++;
    }
    if (sink->mirror_item < sink->items.high || sink->move_waits)
        sink->mirror_ns = sink->now_ns + SWEEP_NS;
    if (sink->mirror_item < sink->items.high)
        return;
    sink->mirror_item = 0;
    sink->move_waits = false;
}

uint64_t sink_mirror_deadline(const struct rrmp_sink *sink)
{
    bool is_busy = sink->session != 0 && sink->items.count > 0;

    return is_busy && (may_move(sink) || any_hot(sink)) ? sink->mirror_ns : RRMP_NEVER;
}

uint32_t sink_mirror_of(const struct rrmp_sink *sink, const struct sink_item *item)
{
    const struct sink_wish wish = sink_wish_of(sink, item);

    if (item->standby == MD_NIL || !sink_link_usable(sink, &wish, item->standby) ||
        sink_wish_is_refused_at(sink, &wish, item->standby))
        return MD_NIL;
    return item->standby;
}

void sink_mirror_drop(struct rrmp_sink *sink, uint32_t number, bool tell)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->standby == MD_NIL)
        return;
    struct sink_link *link = sink_link_at(sink, item->standby);
    struct rrmp_record record = {
        .header = { .type = RRMP_CLOSE, .svc = link->svc },
        .u.close = { .id = sink_work_of(sink, item)->standby_id,
                     .handle = RRMP_HANDLE_NONE,
                     .key_hash = sink_key_hash(sink, item),
                     .reason = RRMP_CLOSE_NOBODY,
                     .key = sink_key(sink, item) },
    };
    sink_request_remove(sink, sink_work_of(sink, item)->standby_id, number);
    sink_move_forget(sink, number);
    item->standby = MD_NIL;
    link->standby_count--;
    if (tell)
        sink_send(sink, link->instance, &record);
    sink_work_settle(sink, number);
}

static void drop_standbys(struct rrmp_sink *sink, uint32_t items, uint32_t link)
{
    for (uint32_t n = items; n != MD_NIL; n = sink_item_at(sink, n)->list_next) {
        if (sink_item_at(sink, n)->standby == link)
            sink_mirror_drop(sink, n, false);
    }
}

void sink_mirror_link_gone(struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_link *link = sink_link_at(sink, number);

    if (link->standby_count == 0)
        return;
    drop_standbys(sink, sink->services[link->service].apart, number);
    for (uint32_t n = sink->services[link->service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next)
        drop_standbys(sink, sink_link_at(sink, n)->items, number);
}

bool sink_mirror_refused(struct rrmp_sink *sink, uint32_t link, const struct rrmp_refuse *refuse)
{
    if (sink_link_at(sink, link)->standby_count == 0)
        return false;
    uint32_t number = sink_item_by_standby(sink, sink_link_at(sink, link)->service,
                                           refuse->key_hash, refuse->request_id);
    if (number == MD_NIL || sink_item_at(sink, number)->standby != link)
        return false;
    sink_mirror_drop(sink, number, false);
    sink_item_refuse_at(sink, number, link, REFUSED_AGAIN);
    return true;
}
