/* far.c - see relay/far.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "far_impl.h"

int relay_far_create(uint64_t session, bool is_relay, struct relay_far **out)
{
    struct relay_far *far = calloc(1, sizeof(*far));

    *out = NULL;
    if (!far)
        return MD_ERR_NOMEM;
    far->session = session;
    far->is_relay = is_relay;
    if (md_table_create(64, &far->sessions) != MD_OK ||
        md_table_create(64, &far->by_number) != MD_OK) {
        relay_far_destroy(far);
        return MD_ERR_NOMEM;
    }
    *out = far;
    return MD_OK;
}

void relay_far_destroy(struct relay_far *far)
{
    if (!far)
        return;
    for (int i = 0; i < far->count; i++)
        free(far->all[i]);
    free(far->all);
    md_table_destroy(far->sessions);
    md_table_destroy(far->by_number);
    free(far);
}

/* ---- what is told of a session -------------------------------------------------------------- */

static void make_event(struct relay_event *out, const struct far_session *s, uint8_t type)
{
    *out = (struct relay_event){ .event = { .type = type, .session = s->session } };
}

static void put_name(struct relay_event *out, const struct far_session *s)
{
    out->event.bytes = s->name_length ? (const uint8_t *)s->name : NULL;
    out->event.length = s->name_length;
    for (int i = 0; i < RELAY_RELAYS_MAX; i++)
        if (s->offers[i].relay == s->via) {
            out->hops = s->offers[i].hops;
            out->weight = s->offers[i].weight;
        }
}

static bool tell_loss(struct far_session *s, struct relay_event *out)
{
    if (s->gap_reason) {
        make_event(out, s, BACKBONE_GAP);
        out->event.reason = s->gap_reason;
        out->event.seq = out->event.last = s->last_seq + 1;
        out->event.count = s->gap_count;
        s->gap_reason = 0;
        s->gap_count = 0;
        return true;
    }
    if (s->has_reset) {
        make_event(out, s, BACKBONE_GAP);
        out->event.reason = BACKBONE_GAP_UNICAST_RESET;
        out->event.flags = BACKBONE_FLAG_UNICAST;
        s->has_reset = false;
        return true;
    }
    return false;
}

/* The next event by which users come to know what is; false: they know. */
static bool tell(struct relay_far *far, struct far_session *s, struct relay_event *out)
{
    const struct far_offer *best = s->is_native ? NULL : far_best(s, false);

    if (s->told == FAR_TOLD_UP &&
        (!best || best->relay != s->via || best->number != s->via_number)) {
        make_event(out, s, BACKBONE_PEER_DOWN);
        out->event.reason = s->down_reason ? s->down_reason : BACKBONE_DOWN_TIMEOUT;
        s->told = FAR_TOLD_NOTHING;
        s->wants_info = false;
        s->floor_seq = s->last_seq;
        s->repeats_ns = 0;
        s->gap_reason = 0;
        s->has_reset = false;
        far->counters.sessions_now--;
        return true;
    }
    s->down_reason = 0;
    if (s->is_native || !best) {
        s->told = s->is_native ? FAR_TOLD_NATIVE : FAR_TOLD_NOTHING;
        return false;
    }
    if (s->told != FAR_TOLD_UP) {
        s->told = FAR_TOLD_UP;
        s->via = best->relay;
        s->via_number = best->number;
        s->wants_info = s->name_length > 0;
        far->counters.sessions_now++;
        make_event(out, s, BACKBONE_PEER_UP);
        put_name(out, s);
        return true;
    }
    if (s->wants_info) {
        s->wants_info = false;
        make_event(out, s, BACKBONE_PEER_INFO);
        put_name(out, s);
        return true;
    }
    return tell_loss(s, out);
}

/* ---- messages of relays --------------------------------------------------------------------- */

static struct far_session *by_number(struct relay_far *far, uint64_t relay, uint32_t number)
{
    const uint64_t key[2] = { relay, number };

    if (far->last && far->last_relay == relay && far->last_number == number)
        return far->last;
    far->last = md_table_get(far->by_number, key, sizeof(key));
    far->last_relay = relay;
    far->last_number = number;
    return far->last;
}

/* It is brought by this relay, and by no other. */
static bool is_brought(struct relay_far *far, const struct far_session *s, uint64_t relay)
{
    if (s && s->told == FAR_TOLD_UP && s->via == relay)
        return true;
    far->counters.others++;
    return false;
}

static void give(struct relay_far *far, const struct backbone_event *in,
                 const struct relay_message *message, uint64_t session)
{
    struct backbone_event *event = &far->out.event;

    far->out.hops = message->hops;
    far->out.kind = message->kind;
    *event = *in;
    event->session = session;
    event->src_port = message->port;
    if (message->kind == RELAY_TO && message->flags & RELAY_FLAG_TOPIC)
        event->topic = message->number;
    event->seq = message->seq;
    event->bytes = message->bytes;
    event->length = (uint32_t)message->length;
    far->has_out = true;
}

/* Of its multicast stream: in order by its relay, and not again what another relay brought. A relay
 * may be that far behind another one: time does not run backward, but it is told that nothing new
 * comes. One that has lied about the place does not silence the session for ever. */
static bool is_next(struct relay_far *far, struct far_session *s, const struct backbone_event *in,
                    uint64_t seq)
{
    if (seq <= s->floor_seq || seq < s->last_seq) {
        far->counters.repeated++;
        if (s->repeats_ns == 0)
            s->repeats_ns = in->rx_ns;
        if (s->repeats_ns == 0 || in->rx_ns - s->repeats_ns < FAR_REPEATS_NS)
            return false;
        s->repeats_ns = in->rx_ns;
        s->gap_reason = BACKBONE_GAP_NOT_HELD;
        s->gap_count++;
        far_touch(far, s);
        if ((s->floor_seq > s->last_seq ? s->floor_seq : s->last_seq) - seq <= FAR_BEHIND_MAX)
            return false;
        s->floor_seq = 0;
    }
    s->repeats_ns = 0;
    s->last_seq = seq;
    return true;
}

static void take_stream(struct relay_far *far, const struct backbone_event *in,
                        const struct relay_message *message)
{
    struct far_session *s = by_number(far, in->session, message->number);

    if (!is_brought(far, s, in->session) || !is_next(far, s, in, message->seq))
        return;
    give(far, in, message, s->session);
    far->counters.messages++;
}

/* Unicast of a session was lost, or may be: told, or when it comes up. */
static void miss(struct relay_far *far, uint64_t session)
{
    struct far_session *s = session == far->session ? NULL : far_session_make(far, session);

    if (!s || s->is_native)
        return;
    s->has_reset = true;
    if (s->told == FAR_TOLD_UP)
        far_touch(far, s);
}

static void miss_all(struct relay_far *far, uint64_t relay)
{
    for (int i = 0; i < far->count; i++)
        if (far->all[i]->told == FAR_TOLD_UP && far->all[i]->via == relay)
            miss(far, far->all[i]->session);
}

static bool is_offered_by(const struct relay_far *far, uint64_t session, uint64_t relay)
{
    const struct far_session *s = far_session_find(far, session);
    int place = far_relay_place(far, relay);

    return s && place >= 0 && s->offers[place].relay;
}

/* A node says itself what it sends; else only the relay does that brings it. Unicast may be faster
 * than the route: then it is lost. */
static bool is_right_way(struct relay_far *far, const struct backbone_event *in,
                         const struct relay_message *message, bool is_unicast)
{
    struct far_session *s = far_session_find(far, message->origin);

    if (message->hops == 0) {
        far->counters.others += message->origin != in->session;
        return message->origin == in->session;
    }
    if (is_brought(far, s, in->session))
        return is_unicast || is_next(far, s, in, message->seq);
    if (is_unicast)
        miss(far, message->origin);
    return false;
}

/* For another node, at a relay. */
static void pass_on(struct relay_far *far, const struct backbone_event *in,
                    const struct relay_message *message)
{
    if (!far->is_relay)
        return;
    give(far, in, message, message->origin);
    far->out.target = message->target;
    far->out.event.count = message->lost;
    if (message->hops == 0)
        far->out.event.seq = in->seq;
    far->out.event.flags =
        message->flags & RELAY_FLAG_UNICAST ? BACKBONE_FLAG_UNICAST : BACKBONE_FLAG_DIRECTED;
}

static void take_to(struct relay_far *far, const struct backbone_event *in,
                    const struct relay_message *message)
{
    bool is_unicast = message->flags & RELAY_FLAG_UNICAST;
    bool is_ours = message->target == far->session;

    if ((!is_ours && !far->is_relay) || !is_right_way(far, in, message, is_unicast))
        return;
    if (!is_ours) {
        pass_on(far, in, message);
    } else if (message->hops > 0 || !is_unicast) {
        give(far, in, message, message->origin);
        if (message->hops == 0) /* it hears us through a relay, and we hear it directly */
            far->out.event.seq = in->seq;
        far->counters.messages++;
    }
}

/* That unicast was lost, or may be. */
static void take_told(struct relay_far *far, const struct backbone_event *in,
                      const struct relay_message *message)
{
    bool is_any = message->kind == RELAY_RESET && message->origin == 0;

    if (message->hops == 0 || (is_any ? far_relay_place(far, in->session) < 0
                                      : !is_offered_by(far, message->origin, in->session))) {
        far->counters.others++;
    } else if (message->target != far->session) {
        pass_on(far, in, message);
    } else if (is_any) {
        miss_all(far, in->session);
    } else if (message->kind == RELAY_RESET) {
        miss(far, message->origin);
    } else {
        far->out.event = (struct backbone_event){ .type = BACKBONE_TX_DROPPED,
                                                  .session = message->origin,
                                                  .dst_port = message->port,
                                                  .count = message->lost };
        far->has_out = true;
    }
}

static void take_notice(struct relay_far *far, const struct backbone_event *in,
                        const struct relay_message *message)
{
    struct far_session *s = by_number(far, in->session, message->number);
    bool is_gap = message->notice == RELAY_NOTICE_GAP;

    if (!is_brought(far, s, in->session))
        return;
    far->out.event = (struct backbone_event){
        .type = is_gap ? BACKBONE_GAP : BACKBONE_USER_DOWN,
        .reason = message->reason,
        .src_port = message->port,
        .session = s->session,
        .seq = message->seq,
        .last = message->last,
        .count = message->lost,
    };
    far->has_out = true;
}

static void take_relayed(struct relay_far *far, const struct backbone_event *in)
{
    struct relay_message message;

    if (in->session == far->session)
        return; /* our own, back from inside the node */
    if (!relay_decode(in->bytes, in->length, &message)) {
        far->counters.malformed++;
        return;
    }
    switch ((enum relay_kind)message.kind) {
    case RELAY_STREAM:
        take_stream(far, in, &message);
        break;
    case RELAY_TO:
        take_to(far, in, &message);
        break;
    case RELAY_DROPPED:
    case RELAY_RESET:
        take_told(far, in, &message);
        break;
    case RELAY_ROUTES:
        if (!(in->flags & (BACKBONE_FLAG_UNICAST | BACKBONE_FLAG_DIRECTED)))
            far_routes(far, in->session, &message);
        break;
    case RELAY_NOTICE:
        take_notice(far, in, &message);
        break;
    }
}

/* ---- events of the engine ------------------------------------------------------------------- */

/* Between a relay and us: what we sent to nodes behind it, too, and what it told us of that. */
static void lost(struct relay_far *far, const struct backbone_event *gap)
{
    if (far_relay_place(far, gap->session) < 0)
        return;
    if (gap->flags & BACKBONE_FLAG_UNICAST || gap->reason == BACKBONE_GAP_UNICAST_RESET) {
        miss_all(far, gap->session);
        return;
    }
    far->relays[far_relay_place(far, gap->session)].is_listing = false; /* a part may be lost */
    for (int i = 0; i < far->count; i++) {
        struct far_session *s = far->all[i];

        if (s->told != FAR_TOLD_UP || s->via != gap->session)
            continue;
        s->gap_reason = gap->reason;
        s->gap_count += gap->count;
        far_touch(far, s);
    }
}

/* Engine's events of nodes that are heard directly; they pass. */
static void note(struct relay_far *far, const struct backbone_event *in)
{
    struct far_session *s;

    switch ((enum backbone_event_type)in->type) {
    case BACKBONE_PEER_UP:
    case BACKBONE_PEER_INFO:
        s = far_session_make(far, in->session);
        if (s && !s->is_native) {
            s->is_native = true;
            far->native++;
            s->was_native = true;
            far->is_out_first = false; /* that it was behind a relay ends first */
            far_touch(far, s);
        }
        break;
    case BACKBONE_PEER_DOWN:
        far_relay_gone(far, in->session, in->reason);
        s = far_session_find(far, in->session);
        if (s) {
            far->native -= s->is_native;
            s->is_native = false;
            far_touch(far, s);
        }
        break;
    case BACKBONE_GAP:
        lost(far, in);
        break;
    case BACKBONE_TX_DROPPED:
        if (in->dst_port == RELAY_PORT) {
            far->has_out = false;
            far->tells_drops = true;
            far->drop_next = 0;
        }
        break;
    default:
        break;
    }
}

void relay_far_dropped(struct relay_far *far, uint64_t session, uint16_t port)
{
    for (int i = 0; i < far->drop_count; i++)
        if (far->drops[i].session == session && far->drops[i].port == port) {
            far->drops[i].count++;
            return;
        }
    if (far->drop_count < FAR_DROPS_MAX)
        far->drops[far->drop_count++] =
            (struct far_drop){ .session = session, .port = port, .count = 1 };
    else
        miss(far, session); /* of no user more than of another */
}

void relay_far_too_long(struct relay_far *far, uint64_t session, uint16_t port)
{
    far->counters.too_long++;
    relay_far_dropped(far, session, port);
    far->tells_drops = true;
    far->drop_next = 0;
}

bool relay_far_has_more(const struct relay_far *far)
{
    return far->tells_drops || far->dirty;
}

static bool tell_drop(struct relay_far *far, struct relay_event *out)
{
    if (!far->tells_drops)
        return false;
    if (far->drop_next == far->drop_count) {
        far->tells_drops = false;
        far->drop_count = 0;
        return false;
    }
    const struct far_drop *drop = &far->drops[far->drop_next++];

    *out = (struct relay_event){ .event = { .type = BACKBONE_TX_DROPPED,
                                            .session = drop->session,
                                            .dst_port = drop->port,
                                            .count = drop->count } };
    return true;
}

bool relay_far_take(struct relay_far *far, const struct backbone_event *in, struct relay_event *out)
{
    if (in) {
        far->out = (struct relay_event){ 0 };
        far->has_out = false;
        far->is_out_first = true;
        if (in->type == BACKBONE_MESSAGE && in->src_port == RELAY_PORT) {
            far->is_out_first = false;
            take_relayed(far, in);
        } else {
            far->out.event = *in;
            far->has_out = true;
            note(far, in);
        }
    }
    if (far->has_out && far->is_out_first) {
        far->has_out = false;
        *out = far->out;
        return true;
    }
    while (far->dirty) {
        struct far_session *s = far->dirty;

        if (tell(far, s, out))
            return true;
        far->dirty = s->next_dirty;
        s->is_dirty = false;
        far_session_rest(far, s);
    }
    if (far->has_out) {
        far->has_out = false;
        *out = far->out;
        return true;
    }
    return tell_drop(far, out);
}

/* ---- questions ------------------------------------------------------------------------------ */

bool relay_far_find(const struct relay_far *far, uint64_t session, struct relay_far_place *out)
{
    const struct far_session *s = far_session_find(far, session);

    *out = (struct relay_far_place){ 0 };
    if (!s || s->told == FAR_TOLD_NOTHING)
        return false;
    out->is_native = s->told == FAR_TOLD_NATIVE;
    out->was_native = s->was_native;
    if (out->is_native)
        return true;
    out->via = s->via;
    for (int i = 0; i < RELAY_RELAYS_MAX; i++)
        if (s->offers[i].relay == s->via)
            out->hops = s->offers[i].hops;
    return true;
}

bool relay_far_right(const struct relay_far *far, uint64_t session, struct relay_far_right *out)
{
    const struct far_session *s = far_session_find(far, session);
    const struct far_offer *best = s ? far_best(s, true) : NULL;

    *out = (struct relay_far_right){ 0 };
    if (s && (s->is_native || s->was_native))
        return true;
    if (!best)
        return false;
    int place = far_relay_place(far, best->relay);

    *out = (struct relay_far_right){ .hops = best->hops,
                                     .relay = best->relay,
                                     .weight = best->weight,
                                     .services = far->relays[place].services };
    return true;
}

bool relay_far_at(const struct relay_far *far, int index, struct relay_event *out)
{
    *out = (struct relay_event){ 0 };
    if (index >= far->count)
        return false;
    const struct far_session *s = far->all[index];

    if (s->told == FAR_TOLD_NOTHING)
        return true;
    make_event(out, s, BACKBONE_PEER_UP);
    if (s->told == FAR_TOLD_UP)
        put_name(out, s);
    return true;
}

uint64_t relay_far_highest_id(const struct relay_far *far)
{
    uint64_t highest = 0;

    for (int i = 0; i < RELAY_RELAYS_MAX; i++)
        if (far->relays[i].session && far->relays[i].id > highest)
            highest = far->relays[i].id;
    return highest;
}

bool relay_far_is_relay(const struct relay_far *far, uint64_t session)
{
    return session != 0 && far_relay_place(far, session) >= 0;
}

const struct relay_far_counters *relay_far_counters(const struct relay_far *far)
{
    return &far->counters;
}

const char *relay_far_check(const struct relay_far *far)
{
    int behind = 0, native = 0;
    uint64_t up = 0;

    for (int i = 0; i < far->count; i++) {
        const struct far_session *s = far->all[i];

        behind += far_is_offered(s);
        native += s->is_native;
        up += s->told == FAR_TOLD_UP;
        if (s->index != i || far_session_find(far, s->session) != s)
            return "a session is not where the table says";
        if (s->is_dirty)
            continue;
        const struct far_offer *best = s->is_native ? NULL : far_best(s, false);
        if (s->told == FAR_TOLD_UP && (!best || best->relay != s->via))
            return "a session is told that nobody, or another, brings";
        if (s->told != FAR_TOLD_UP && best)
            return "a session that is brought is not told";
        for (int k = 0; k < RELAY_RELAYS_MAX; k++)
            if (s->offers[k].relay && s->offers[k].relay != far->relays[k].session)
                return "an offer of a relay that is not heard";
    }
    if (behind != far->behind || behind > RELAY_SESSIONS_MAX)
        return "the number of sessions behind relays is wrong";
    if (native != far->native)
        return "the number of sessions heard directly is wrong";
    return up == far->counters.sessions_now ? NULL : "the number of sessions told is wrong";
}
