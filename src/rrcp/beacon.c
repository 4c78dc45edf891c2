/* beacon.c - beacons, SOLICIT, BYE and host status messages, sent and received. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "beacon.h"

#include <string.h>

#include "base/cursor.h"
#include "base/writer.h"
#include "challenge.h"
#include "common.h"
#include "control.h"
#include "doubt.h"
#include "interest.h"
#include "mesh.h"
#include "peers.h"
#include "receive.h"
#include "sender.h"
#include "skip.h"
#include "unicast_sender.h"

/*
 * A node never answers a beacon directly; it answers a challenge by a beacon of its own. After the
 * last data packet it sends beacons after 10, 20, 40 ms and so on up to a second, so that receivers
 * notice a lost tail at once. While data flows it sends one beacon a second.
 */

#define START_BEACONS  3
#define START_NS       (50 * RRCP_MS)
#define PAD_NS         (60 * RRCP_S)
#define HASTE_NS       (20 * RRCP_MS)  /* many may have met the same new peer */
#define HASTE_APART_NS (250 * RRCP_MS) /* however many peers are new */
#define BYE_COUNT      3
#define BYE_NS         (10 * RRCP_MS)
#define FLUSH_NS_MAX   (1 * RRCP_S)
#define LINGER_NS      (200 * RRCP_MS) /* after the last BYE, for those who ask if it is true */

static uint64_t jittered(struct rrcp *r, uint64_t ns)
{
    return ns - ns / 10 + rrcp_random(r, ns / 5);
}

void rrcp_beacon_init(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;

    s->start_beacons = START_BEACONS;
    s->bye_due_ns = RRCP_NEVER;
    s->pad_due_ns = PAD_NS;
    s->hsm_due_ns = r->config.hsm_interval_ns ? 0 : RRCP_NEVER;
}

/* ---- sending ------------------------------------------------------------------------------ */

static uint16_t beacon_state(const struct rrcp *r)
{
    const struct rrcp_sender *s = &r->sender;

    return (uint16_t)((r->pool.is_over ? BEACON_STATE_OVER : 0) |
                      (s->stop_reason ? BEACON_STATE_LEAVING : 0) |
                      (s->send_next == s->first_seq ? BEACON_STATE_NO_DATA : 0) |
                      (r->config.flow_control == RRCP_FLOW_CONTROL_MIN ? BEACON_STATE_FLOW : 0) |
                      (r->interest ? BEACON_STATE_FILTERS : 0));
}

/* Fills the beacon up to the packet limit: a path that cannot carry the limit then loses it. */
static uint32_t pad(const struct rrcp *r, struct packet_beacon *p, uint32_t pos)
{
    uint8_t *bytes = (uint8_t *)p;
    uint8_t count = 0;

    while (r->chunks_end_max - pos >= 2 && count < UINT8_MAX - p->tlv_count) {
        uint32_t length = r->chunks_end_max - pos - 2;

        if (length > UINT8_MAX)
            length = UINT8_MAX;
        bytes[pos] = BEACON_TLV_PADDING;
        bytes[pos + 1] = (uint8_t)length;
        memset(bytes + pos + 2, 0, length);
        pos += 2 + length;
        count++;
    }
    p->tlv_count = (uint8_t)(p->tlv_count + count);
    return pos;
}

/* Writes a beacon without TLVs. Returns its length. Before it leaves, rrcp_skip_flush() tells what
 * peers were not sent. */
static uint32_t fill_beacon(struct rrcp *r, struct packet_beacon *p, uint64_t interval_ns)
{
    struct rrcp_sender *s = &r->sender;
    size_t name = strlen(r->node);
    uint32_t pos = PACKET_BEACON_BYTES + (uint32_t)((name + 3) & ~3u);

    md_put_be64(p->next_seq, s->send_next);
    md_put_be64(p->trail, s->trail);
    md_put_be64(p->start_ms, r->config.start_ms);
    md_put_be32(p->counter, ++s->beacon_counter);
    md_put_be16(p->port, r->config.unicast_port);
    md_put_be16(p->state, beacon_state(r));
    md_put_be32(p->hold_ms, (uint32_t)(r->config.hold_ns / RRCP_MS));
    md_put_be16(p->interval_ms, (uint16_t)(interval_ns / RRCP_MS));
    p->name_length = (uint8_t)name;
    p->tlv_count = 0;
    memset(p + 1, 0, pos - PACKET_BEACON_BYTES);
    memcpy(p + 1, r->node, name);
    return pos;
}

static void send_beacon(struct rrcp *r, uint64_t interval_ns)
{
    struct rrcp_sender *s = &r->sender;
    uint32_t buffer;
    struct packet_beacon *p;

    rrcp_skip_flush(r);
    p = rrcp_control_make(r, PACKET_BEACON, &buffer);
    if (!p)
        return;
    uint32_t length = fill_beacon(r, p, interval_ns);
    uint8_t *bytes = (uint8_t *)p;

    length += rrcp_mesh_write_self(r, p, bytes + length);
    length += rrcp_mesh_write_pass(r, p, bytes + length);
    length += rrcp_mesh_write_members(r, p, bytes + length, bytes + r->chunks_end_max);
    if (r->now_ns >= s->pad_due_ns) {
        s->pad_due_ns = r->now_ns + PAD_NS;
        length = pad(r, p, length);
    }
    rrcp_control_send(r, buffer, length, NULL);
    s->beacon_sent_ns = r->now_ns;
    r->counters.beacons_sent++;
}

/* Mesh: a beacon to one address. */
static void send_probe(struct rrcp *r, const struct rrcp_address *to)
{
    uint32_t buffer;
    struct packet_beacon *p;

    rrcp_skip_flush(r);
    p = rrcp_control_make(r, PACKET_BEACON, &buffer);
    if (!p)
        return;
    uint32_t length = fill_beacon(r, p, r->sender.beacon_wait_ns);

    md_put_be16(p->state, beacon_state(r) | BEACON_STATE_PROBE);
    length += rrcp_mesh_write_self(r, p, (uint8_t *)p + length);
    length += rrcp_mesh_write_pass(r, p, (uint8_t *)p + length);
    rrcp_control_send_to(r, buffer, length, 0, to);
}

/* The answer is never longer than the challenge, and goes where that came from. */
static void answer(struct rrcp *r, const struct packet_view *view,
                   const struct rrcp_arrival *arrival, bool is_peer)
{
    uint32_t buffer;
    struct packet_beacon *p;

    rrcp_skip_flush(r);
    p = rrcp_control_make(r, PACKET_BEACON, &buffer);
    if (!p)
        return;
    uint32_t length = fill_beacon(r, p, r->sender.beacon_wait_ns);
    uint8_t *tlv = (uint8_t *)p + length;
    struct packet_echo *echo = (void *)(tlv + 2);

    p->tlv_count = 1;
    tlv[0] = BEACON_TLV_ECHO;
    tlv[1] = sizeof(*echo);
    md_put_be64(echo->session, view->session);
    memcpy(echo->nonce, view->solicit->nonce, sizeof(echo->nonce));
    if (r->config.mesh.is_on && !is_peer)
        md_put_be16(p->state, beacon_state(r) | BEACON_STATE_PROBE);
    length += 2 + (uint32_t)sizeof(*echo);
    length += rrcp_mesh_write_self(r, p, (uint8_t *)p + length);
    rrcp_control_send_to(r, buffer, length, arrival->path & 1, arrival->from);
    r->counters.answers_sent++;
}

void rrcp_beacon_data_sent(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    uint64_t latest_ns = s->beacon_sent_ns + r->config.beacon_max_ns;

    s->data_ns = r->now_ns;
    s->beacon_wait_ns = r->config.beacon_min_ns;
    s->beacon_due_ns = rrcp_min(r->now_ns + jittered(r, s->beacon_wait_ns), latest_ns);
}

void rrcp_beacon_hasten(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    uint64_t due_ns = r->now_ns + rrcp_random(r, HASTE_NS);

    if (due_ns < s->beacon_sent_ns + HASTE_APART_NS)
        due_ns = s->beacon_sent_ns + HASTE_APART_NS;
    s->beacon_due_ns = rrcp_min(s->beacon_due_ns, due_ns);
}

static void next_beacon(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    uint64_t interval_ns;

    if (s->start_beacons > 0) {
        s->start_beacons--;
        interval_ns = START_NS;
        s->beacon_wait_ns = r->config.beacon_min_ns;
    } else {
        s->beacon_wait_ns =
            rrcp_clamp(2 * s->beacon_wait_ns, r->config.beacon_min_ns, r->config.beacon_max_ns);
        interval_ns = s->beacon_wait_ns;
    }
    send_beacon(r, interval_ns);
    s->beacon_due_ns = r->now_ns + (s->start_beacons ? START_NS : jittered(r, interval_ns));
}

static void send_bye(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    struct packet_bye *p;
    uint32_t buffer;

    if (s->send_next < s->next_seq && r->now_ns < s->bye_due_ns + FLUSH_NS_MAX)
        return; /* send submitted data first */
    if (s->byes_left == 0 && !s->is_lingering && r->config.key_count == 0 && r->live_count > 0) {
        s->is_lingering = true;
        s->bye_due_ns = r->now_ns + LINGER_NS;
        return;
    }
    if (s->byes_left == 0) {
        s->is_stopped = true;
        s->bye_due_ns = RRCP_NEVER;
        return;
    }
    rrcp_skip_flush(r);
    p = rrcp_control_make(r, PACKET_BYE, &buffer);
    if (p) {
        md_put_be64(p->next_seq, s->send_next);
        p->reason = (uint8_t)s->stop_reason;
        rrcp_control_send(r, buffer, PACKET_BYE_BYTES, NULL);
        r->counters.byes_sent++;
    }
    s->byes_left--;
    s->bye_due_ns = r->now_ns + BYE_NS;
}

void rrcp_stop(struct rrcp *r, uint64_t now_ns, int reason)
{
    struct rrcp_sender *s = &r->sender;

    r->now_ns = now_ns;
    if (s->stop_reason)
        return;
    rrcp_sender_close_packet(r);
    s->start_beacons = 0;
    s->stop_reason = reason ? reason : 1;
    s->byes_left = BYE_COUNT;
    s->bye_due_ns = now_ns;
}

bool rrcp_is_stopped(const struct rrcp *r)
{
    return r->sender.is_stopped;
}

static void send_hsm(struct rrcp *r)
{
    const struct rrcp_counters *c = &r->counters;
    const uint64_t values[] = { c->mcast_sent,       c->mcast_rcvd,        c->unicast_sent,
                                c->unicast_rcvd,     c->gaps_detected,     c->retrans_req_sent,
                                c->retrans_req_rcvd, c->retrans_pkts_sent, c->retrans_pkts_rcvd };
    const uint16_t count = sizeof(values) / sizeof(values[0]);
    uint32_t buffer;
    struct packet_hsm *p = rrcp_control_make(r, PACKET_HSM, &buffer);

    if (!p)
        return;
    md_put_be16(p->count, count);
    for (uint16_t i = 0; i < count; i++) {
        md_put_be16(p->list[i].id, (uint16_t)(i + 1));
        md_put_be64(p->list[i].value, values[i]);
    }
    rrcp_control_send(r, buffer, PACKET_HSM_BYTES + count * (uint32_t)sizeof(p->list[0]), NULL);
    r->counters.hsm_sent++;
}

void rrcp_beacon_tick(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    const struct rrcp_address *to;

    if (s->is_stopped)
        return;
    while (s->stop_reason == 0 && (to = rrcp_mesh_probe(r)) != NULL)
        send_probe(r, to);
    if (s->beacon_due_ns <= r->now_ns)
        next_beacon(r);
    if (s->hsm_due_ns <= r->now_ns) {
        s->hsm_due_ns = r->now_ns + r->config.hsm_interval_ns;
        send_hsm(r);
    }
    if (s->bye_due_ns <= r->now_ns)
        send_bye(r);
}

uint64_t rrcp_beacon_deadline(const struct rrcp *r)
{
    const struct rrcp_sender *s = &r->sender;
    uint64_t due_ns = s->beacon_due_ns;

    if (s->is_stopped)
        return RRCP_NEVER;
    if (s->stop_reason == 0)
        due_ns = rrcp_min(due_ns, r->mesh.due_ns);
    due_ns = rrcp_min(due_ns, s->hsm_due_ns);
    if (s->bye_due_ns != RRCP_NEVER)
        due_ns = rrcp_min(due_ns, s->send_next < s->next_seq ? s->bye_due_ns + FLUSH_NS_MAX
                                                             : s->bye_due_ns);
    return due_ns;
}

/* ---- receiving ---------------------------------------------------------------------------- */

void rrcp_beacon_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                       const struct rrcp_arrival *arrival)
{
    uint64_t next = md_be64(view->beacon->next_seq);
    uint64_t trail = md_be64(view->beacon->trail);

    if (next == 0 || next > RRCP_SEQ_MAX || trail > next) {
        rrcp_drop(r, RRCP_DROP_JUMP);
        return;
    }
    r->counters.beacons_rcvd++;
    /* A node asks for frequent STATUS, and filters, from its start on; a forged beacon must not
     * begin or end that. */
    peer->beacon_state = (uint16_t)((md_be16(view->beacon->state) & ~BEACON_STATE_LASTING) |
                                    (peer->beacon_state & BEACON_STATE_LASTING));
    if (peer->doubt.why && rrcp_challenge_holds(r, view, arrival, peer->doubt.round)) {
        rrcp_doubt_answered(r, peer, view);
        if (peer->state != PEER_LIVE)
            return;
    }
    if (!rrcp_mesh_shows_life(r, view)) {
        peer->is_interest_lost = true; /* it may have lost us, and what we told it */
        rrcp_interest_doubt(r, peer);  /* and its users may want something else since then */
        return;
    }
    (void)rrcp_unicast_tell_interest(r, peer);
    rrcp_receive_announce(r, peer, next);
    rrcp_receive_trail(r, peer, trail);
    rrcp_mesh_learn(r, view);
}

void rrcp_bye_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    uint64_t next = md_be64(view->bye->next_seq);

    r->counters.byes_rcvd++;
    if (next <= RRCP_SEQ_MAX)
        rrcp_receive_announce(r, peer, next);
    if (r->config.key_count == 0) {
        rrcp_doubt_raise(r, peer, DOUBT_BYE);
        return;
    }
    rrcp_receive_sure(r, peer, rrcp_min(next, RRCP_SEQ_MAX));
    rrcp_receive_finish(r, peer, BACKBONE_GAP_NOT_HELD);
    rrcp_peer_lose(r, peer, BACKBONE_DOWN_BYE);
}

/*
 * Whoever forges challenges in the name of a peer must not use up what that peer is owed: it would
 * take our silence for our end. The answer goes to where the peer is, and is not longer than the
 * question, so it needs no bucket; it leaves half of the queue to other packets.
 */
static bool may_answer(struct rrcp *r, const struct rrcp_peer *peer,
                       const struct rrcp_arrival *arrival)
{
    if (!peer)
        return rrcp_answer_pay(r, arrival->from);
    if (r->control_count < CONTROL_QUEUE / 2)
        return true;
    r->counters.answers_refused++;
    return false;
}

void rrcp_solicit_input(struct rrcp *r, const struct rrcp_peer *peer,
                        const struct packet_view *view, const struct rrcp_arrival *arrival)
{
    r->counters.solicits_rcvd++;
    if (md_be64(view->solicit->target) != r->session || arrival->is_group || r->sender.is_stopped) {
        rrcp_drop(r, RRCP_DROP_TARGET);
        return;
    }
    /* A node for which there is no room gets no answer either: it would take us for a peer. */
    if (!peer && r->config.mesh.is_on &&
        (!rrcp_mesh_knows(r, arrival) || r->live_count >= r->config.peers_max)) {
        rrcp_drop(r, RRCP_DROP_UNKNOWN);
        return;
    }
    if (may_answer(r, peer, arrival))
        answer(r, view, arrival, peer != NULL);
}
