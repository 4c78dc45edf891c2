/* forward.c - see forward/forward.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "forward/forward.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/table.h"
#include "origins.h"
#include "put.h"

#define TICK_NS  (50 * MD_NS_PER_MS)
#define GREET_NS (50 * MD_NS_PER_MS)
/* The engine's default. */
#define PEER_TIMEOUT_NS (3500 * MD_NS_PER_MS)

enum { QUEUE_BYTES = 16 << 20 };

/* ---- beginning and end ---------------------------------------------------------------------- */

uint64_t forward_queue_bytes(uint64_t configured, uint32_t message_bytes_max)
{
    uint64_t bytes = configured ? configured : QUEUE_BYTES;
    uint64_t least = 4 * (uint64_t)message_bytes_max;

    return queue_size(bytes > least ? bytes : least);
}

static int side_open(struct side *side, const struct forward_config *config, int index)
{
    uint64_t bytes = forward_queue_bytes(config->queue_bytes, config->message_bytes_max[1 - index]);

    side->session = config->session[index];
    side->message_bytes_max = config->message_bytes_max[index];
    side->peer_timeout_ns =
        config->peer_timeout_ns[index] ? config->peer_timeout_ns[index] : PEER_TIMEOUT_NS;
    int err = queue_open(&side->queue, bytes);
    if (!err)
        err = relay_far_create(side->session, true, &side->far);
    if (!err)
        err = instances_create(&side->instances);
    return err ? err : md_table_create(256, &side->table);
}

int forward_create(const struct forward_config *config, struct forward **out)
{
    struct forward *f = calloc(1, sizeof(*f));

    *out = NULL;
    if (!f)
        return MD_ERR_NOMEM;
    f->id = config->id;
    memcpy(f->secret, config->secret, sizeof(f->secret));
    int err =
        config->id && config->id <= RELAY_ID_MAX ? filter_create(config, &f->filter) : MD_ERR_RANGE;
    for (int i = 0; !err && i < FORWARD_SIDES; i++)
        err = side_open(&f->sides[i], config, i);
    if (err)
        forward_destroy(f);
    else
        *out = f;
    return err;
}

void forward_destroy(struct forward *f)
{
    if (!f)
        return;
    for (int i = 0; i < FORWARD_SIDES; i++) {
        struct side *side = &f->sides[i];

        for (int k = 0; k < side->count; k++)
            free(side->all[k]);
        md_table_destroy(side->table);
        instances_destroy(side->instances);
        relay_far_destroy(side->far);
        queue_close(&side->queue);
    }
    filter_destroy(f->filter);
    free(f);
}

/* ---- messages ------------------------------------------------------------------------------- */

static void lose(struct origin *o, uint64_t first, uint64_t last, uint64_t count)
{
    if (o->lost == 0)
        o->lost_first = first;
    o->lost_last = last;
    o->lost += count;
}

/* In the order of the origin's stream. `to`: a node over there; 0: all. `is_far`: it is behind
 * relays there; relays hear it, and one of them carries the origin on. */
static void put_stream(struct forward *f, struct side *side, struct origin *o,
                       const struct backbone_event *event, uint64_t to, bool is_far)
{
    struct forward_counters *counters = &other_side(f, side)->counters;
    struct relay_message head = { .kind = is_far ? RELAY_TO : RELAY_STREAM,
                                  .hops = (uint8_t)(o->hops + 1),
                                  .flags = is_far ? RELAY_FLAG_TOPIC : 0,
                                  .port = event->src_port,
                                  .number = is_far ? event->topic : o->number,
                                  .seq = event->seq,
                                  .origin = event->session,
                                  .target = to };
    struct rrcp_msg msg = { .bytes = event->bytes,
                            .length = event->length,
                            .topic = is_far ? RELAY_TOPIC : event->topic,
                            .session = is_far ? 0 : to,
                            .port = event->dst_port };

    if (event->length + RELAY_TO_BYTES > side->message_bytes_max) {
        counters->too_long++;
        lose(o, event->seq, event->seq, 1);
        return;
    }
    if (!put_lost(side, o) || !put_message(side, &msg, &head, false)) {
        counters->dropped++;
        lose(o, event->seq, event->seq, 1);
        return;
    }
    counters->messages++;
    counters->bytes += event->length;
}

static void take_stream(struct forward *f, struct side *from, uint64_t now_ns,
                        const struct relay_event *in)
{
    struct side *side = other_side(f, from);
    struct origin *o = origin_find(side, in->event.session);
    struct backbone_event event = in->event;

    if (!o || (event.flags & (BACKBONE_FLAG_UNICAST | BACKBONE_FLAG_DIRECTED)))
        return; /* for the relay itself: nothing */
    if (!filter_stream(f->filter, from->instances, &event)) {
        from->counters.not_wanted++;
        return;
    }
    if (!o->is_wanted) {
        o->is_wanted = true;
        origin_decide(f, side, now_ns, o);
    }
    if (o->state == ORIGIN_CARRY)
        put_stream(f, side, o, &event, 0, false);
}

/* ---- for one node --------------------------------------------------------------------------- */

/* A message of `to`'s user to `missed` was dropped. Its sender is told how many; and the node that
 * it was for, if nobody says it again. */
static void tell_dropped(struct forward *f, struct side *side, uint64_t to, uint64_t missed,
                         const struct backbone_event *event)
{
    struct relay_message head = { .kind = RELAY_DROPPED,
                                  .hops = 1,
                                  .port = event->src_port,
                                  .lost = 1,
                                  .origin = missed,
                                  .target = to };

    if (!put_unicast(f, side, &head, NULL))
        origin_owe(origin_find(other_side(f, side), to), missed, 0);
    if (filter_is_said_once(event->bytes, event->length))
        origin_owe(origin_find(side, missed), to, 0);
}

/* The other network takes no message of a node that is not carried, nor of one that has just come
 * and has not heard that it is. The sender is told as soon as it may ask again. */
static void take_unicast(struct forward *f, struct side *from, const struct relay_event *in)
{
    struct side *side = other_side(f, from);
    const struct backbone_event *event = &in->event;
    struct origin *o = origin_find(side, event->session);
    struct relay_message head = { .kind = RELAY_TO,
                                  .hops = (uint8_t)(in->hops + 1),
                                  .flags = RELAY_FLAG_UNICAST,
                                  .port = event->src_port,
                                  .seq = event->seq,
                                  .origin = event->session,
                                  .target = in->target };

    if (!filter_unicast(from->instances, side->instances, event, in->target)) {
        from->counters.not_wanted++;
        return;
    }
    const struct origin *to = origin_find(from, in->target);
    bool is_known = to && (to->hops > 0 || to->is_greeted);
    if (o && (o->state != ORIGIN_CARRY || !is_known)) {
        from->counters.early++;
        origin_owe(o, in->target, 0);
    } else if (event->length + RELAY_TO_BYTES > side->message_bytes_max) {
        from->counters.too_long++;
        tell_dropped(f, from, event->session, in->target, event);
    } else if (!o || !put_unicast(f, side, &head, event)) {
        from->counters.dropped++;
        tell_dropped(f, from, event->session, in->target, event);
    } else {
        from->counters.messages++;
        from->counters.bytes += event->length;
    }
}

/* Of the multicast stream of its sender, for one node alone. All relays hear it; the one that
 * carries the sender passes it on. */
static void take_directed(struct forward *f, struct side *from, const struct relay_event *in,
                          const struct relay_far_place *place)
{
    struct side *side = other_side(f, from);
    struct origin *o = origin_find(side, in->event.session);
    struct backbone_event event = in->event;

    if (!filter_stream(f->filter, from->instances, &event))
        from->counters.not_wanted++;
    else if (o && o->state == ORIGIN_CARRY)
        put_stream(f, side, o, &event, in->target, !place->is_native);
}

static void take_told(struct forward *f, struct side *from, const struct relay_event *in)
{
    struct relay_message head = { .kind = RELAY_DROPPED,
                                  .hops = hops_further(in->hops),
                                  .port = in->event.src_port,
                                  .lost = (uint32_t)in->event.count,
                                  .origin = in->event.session,
                                  .target = in->target };

    if (in->kind == RELAY_RESET)
        origin_owe(origin_find(from, in->target), in->event.session, in->hops);
    else if (!put_unicast(f, other_side(f, from), &head, NULL))
        origin_owe(origin_find(from, in->target), in->event.session, 0);
}

static void take_to(struct forward *f, struct side *from, uint64_t now_ns,
                    const struct relay_event *in)
{
    struct side *side = other_side(f, from);
    struct origin *o = origin_find(side, in->event.session);
    struct relay_far_place place;
    bool is_heard = relay_far_find(side->far, in->target, &place);
    bool is_told = in->kind != RELAY_TO; /* of a loss: to a node over there it goes all the way */

    if (in->hops >= RELAY_HOPS_MAX && !(is_told && is_heard && place.is_native)) {
        from->counters.hops++;
        if (!is_told && in->event.flags & BACKBONE_FLAG_UNICAST)
            tell_dropped(f, from, in->event.session, in->target, &in->event);
        return;
    }
    if (!is_heard) {
        /* One of the stream may be for a node behind another relay of this network. */
        from->counters.no_route += !relay_far_find(from->far, in->target, &place);
        return;
    }
    if (is_told) {
        take_told(f, from, in);
        return;
    }
    if (o && !o->is_wanted) {
        o->is_wanted = true;
        origin_decide(f, side, now_ns, o);
    }
    if (in->event.flags & BACKBONE_FLAG_UNICAST)
        take_unicast(f, from, in);
    else
        take_directed(f, from, in, &place);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Unicast of a session to nodes behind this relay, or theirs to it. That of a relay is told of each
 * that it brings. */
static void take_reset(struct side *from, uint64_t session)
{
    if (relay_far_is_relay(from->far, session))
        return;
    for (int i = 0; i < from->count; i++)
        if (from->all[i]->state == ORIGIN_CARRY)
            origin_owe(from->all[i], session, 0);
}

static void take_gap(struct forward *f, struct side *from, const struct backbone_event *gap)
{
    struct side *side = other_side(f, from);
    struct origin *o = origin_find(side, gap->session);

    if (gap->flags & BACKBONE_FLAG_UNICAST || gap->reason == BACKBONE_GAP_UNICAST_RESET) {
        take_reset(from, gap->session);
        return;
    }
    if (!o || o->state != ORIGIN_CARRY)
        return;
    from->counters.lost += gap->count;
    lose(o, gap->seq, gap->last, gap->count ? gap->count : 1);
    (void)put_lost(side, o);
}

static void take_user_down(struct forward *f, struct side *from, const struct backbone_event *down)
{
    struct side *side = other_side(f, from);
    struct origin *o = origin_find(side, down->session);

    if (down->src_port == 0)
        return;
    instances_end(from->instances, down->session, down->src_port);
    if (!o || o->state != ORIGIN_CARRY)
        return;
    if (!put_notice(side, (struct relay_message){ .notice = RELAY_NOTICE_USER_DOWN,
                                                  .port = down->src_port,
                                                  .number = o->number,
                                                  .reason = down->reason }))
        origin_reset(f, side, o); /* harder than need be, but told */
}

static void take(struct forward *f, struct side *from, uint64_t now_ns,
                 const struct relay_event *in)
{
    struct side *side = other_side(f, from);

    if (in->event.session == from->session || in->event.session == side->session)
        return;
    switch ((enum backbone_event_type)in->event.type) {
    case BACKBONE_PEER_UP:
        origin_up(f, side, in);
        if (from->full_ns > now_ns + GREET_NS)
            from->full_ns = now_ns + GREET_NS; /* it wants to know what is carried to it */
        break;
    case BACKBONE_PEER_INFO:
        origin_name(side, &in->event);
        break;
    case BACKBONE_PEER_DOWN:
        origin_down(f, side, now_ns, &in->event);
        instances_end(from->instances, in->event.session, 0);
        break;
    case BACKBONE_USER_DOWN:
        take_user_down(f, from, &in->event);
        break;
    case BACKBONE_GAP:
        take_gap(f, from, &in->event);
        break;
    case BACKBONE_MESSAGE:
        if (in->target != 0)
            take_to(f, from, now_ns, in);
        else
            take_stream(f, from, now_ns, in);
        break;
    default:
        break;
    }
}

static void begin(struct forward *f, uint64_t now_ns)
{
    for (int i = 0; i < FORWARD_SIDES; i++)
        f->sides[i].now_ns = now_ns;
    if (f->begin_ns == 0)
        f->begin_ns = now_ns;
}

void forward_input(struct forward *f, uint64_t now_ns, int index, const struct backbone_event *in)
{
    struct side *from = &f->sides[index];
    struct relay_event event;

    begin(f, now_ns);
    for (bool more = relay_far_take(from->far, in, &event); more;
         more = relay_far_take(from->far, NULL, &event))
        take(f, from, now_ns, &event);
}

void forward_tick(struct forward *f, uint64_t now_ns)
{
    begin(f, now_ns);
    if (now_ns < f->tick_ns)
        return;
    f->tick_ns = now_ns + TICK_NS;
    for (int i = 0; i < FORWARD_SIDES; i++)
        origins_tick(f, &f->sides[i], now_ns);
}

uint64_t forward_deadline(const struct forward *f)
{
    return f->tick_ns;
}

bool forward_peek(struct forward *f, int index, struct rrcp_msg *out)
{
    return queue_peek(&f->sides[index].queue, out);
}

/* Of a stream: its hearers are told. */
static void refused_stream(struct forward *f, struct side *side, struct origin *o,
                           const struct relay_message *message)
{
    other_side(f, side)->counters.refused++;
    if (o && o->state == ORIGIN_CARRY)
        lose(o, message->seq, message->seq, 1);
}

static void refused_notice(struct forward *f, struct side *side,
                           const struct relay_message *message)
{
    struct origin *o = origin_of_number(side, message->number);

    if (o && message->notice == RELAY_NOTICE_GAP)
        lose(o, message->seq, message->last, message->lost);
    else if (o)
        origin_reset(f, side, o);
}

/* The engine has dropped what was to go to `side`: its sender, or who was to hear it, is told. */
static void refused(struct forward *f, struct side *side, const struct relay_message *message)
{
    struct side *from = other_side(f, side);

    switch ((enum relay_kind)message->kind) {
    case RELAY_TO:
        if (!(message->flags & RELAY_FLAG_UNICAST)) {
            refused_stream(f, side, origin_find(side, message->origin), message);
            break;
        }
        from->counters.refused++;
        tell_dropped(f, from, message->origin, message->target,
                     &(struct backbone_event){ .src_port = message->port,
                                               .bytes = message->bytes,
                                               .length = (uint32_t)message->length });
        break;
    case RELAY_DROPPED:
    case RELAY_RESET:
        origin_owe(origin_find(from, message->target), message->origin,
                   (uint8_t)(message->hops - 1)); /* with ours */
        break;
    case RELAY_STREAM:
        refused_stream(f, side, origin_of_number(side, message->number), message);
        break;
    case RELAY_NOTICE:
        refused_notice(f, side, message);
        break;
    case RELAY_ROUTES:
        side->full_ns = 0;
        break;
    }
}

void forward_take(struct forward *f, int index, bool is_dropped)
{
    struct side *side = &f->sides[index];
    struct relay_message message;
    struct rrcp_msg msg;

    if (is_dropped && queue_peek(&side->queue, &msg) &&
        relay_decode(msg.bytes, msg.length, &message))
        refused(f, side, &message);
    queue_take(&side->queue);
    if (side->is_over && side->queue.head - side->queue.tail <= side->queue.size / 2 &&
        queue_age(&side->queue, side->now_ns) <= PUT_WAIT_NS / 2)
        side->is_over = false;
}

int forward_interest(const struct forward *f, uint32_t *out, int max)
{
    return filter_interest(f->filter, out, max);
}

const struct forward_counters *forward_counters(struct forward *f, int index)
{
    const struct side *to = &f->sides[1 - index];
    /* Of the queue of the other side: it was heard on `index`. */
    struct forward_counters *counters = &f->sides[index].counters;

    counters->queue = to->queue.head - to->queue.tail;
    counters->queue_high = to->queue.high;
    counters->services_differ = to->other_services != 0;
    return counters;
}

const struct relay_far_counters *forward_heard(const struct forward *f, int index)
{
    return relay_far_counters(f->sides[index].far);
}

uint64_t forward_other_services(const struct forward *f, int index)
{
    return f->sides[index].other_services;
}

const char *forward_check(const struct forward *f)
{
    for (int i = 0; i < FORWARD_SIDES; i++) {
        const struct side *side = &f->sides[i];
        const char *broken = relay_far_check(side->far);
        int carried = 0;

        if (broken)
            return broken;
        for (int k = 0; k < side->count; k++) {
            const struct origin *o = side->all[k];

            carried += o->state != ORIGIN_IDLE;
            if (o->index != k || origin_find(side, o->session) != o)
                return "an origin is not where the table says";
            if (o->state != ORIGIN_IDLE && (!o->is_heard || o->hops >= RELAY_HOPS_MAX))
                return "an origin is carried that is not heard, or from too far";
            if ((o->state == ORIGIN_CARRY) != (o->number != 0))
                return "an origin that is carried has no number, or another one has";
        }
        if (carried != side->carried || carried > RELAY_ROUTES_MAX)
            return "the number of origins carried is wrong";
        if (side->queue.head - side->queue.tail > side->queue.size)
            return "the queue is longer than its room";
    }
    return NULL;
}
