/* beacon.c - beacons, SOLICIT, BYE and host status messages, sent and received. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "beacon.h"

#include <string.h>

#include "base/cursor.h"
#include "base/writer.h"
#include "common.h"
#include "control.h"
#include "deliver.h"
#include "peers.h"
#include "receive.h"
#include "sender.h"

/*
 * A node never answers a beacon directly. After the last data packet it sends beacons after 10, 20,
 * 40 ms and so on up to a second, so that receivers notice a lost tail at once. While data flows it
 * sends one beacon a second.
 */

#define START_BEACONS     3
#define START_NS          (50 * RRCP_MS)
#define PAD_NS            (60 * RRCP_S)
#define SOLICIT_GAP_NS    (100 * RRCP_MS)
#define SOLICIT_JITTER_NS (10 * RRCP_MS)
#define BYE_COUNT         3
#define BYE_NS            (10 * RRCP_MS)
#define FLUSH_NS_MAX      (1 * RRCP_S)
#define CONFLICT_NS       (2 * RRCP_S)

static uint64_t jittered(struct rrcp *r, uint64_t ns)
{
    return ns - ns / 10 + rrcp_random(r, ns / 5);
}

void rrcp_beacon_init(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;

    s->start_beacons = START_BEACONS;
    s->solicit_answer_ns = RRCP_NEVER;
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
                      (r->config.flow_control == RRCP_FLOW_CONTROL_MIN ? BEACON_STATE_FLOW : 0));
}

/* Fills the beacon up to the packet limit: a path that cannot carry the limit then loses it. */
static uint32_t pad(const struct rrcp *r, struct packet_beacon *p, uint32_t pos)
{
    uint8_t *bytes = (uint8_t *)p;
    uint8_t count = 0;

    while (r->chunks_end_max - pos >= 2 && count < UINT8_MAX) {
        uint32_t length = r->chunks_end_max - pos - 2;

        if (length > UINT8_MAX)
            length = UINT8_MAX;
        bytes[pos] = BEACON_TLV_PADDING;
        bytes[pos + 1] = (uint8_t)length;
        memset(bytes + pos + 2, 0, length);
        pos += 2 + length;
        count++;
    }
    p->tlv_count = count;
    return pos;
}

static void send_beacon(struct rrcp *r, uint64_t interval_ns)
{
    struct rrcp_sender *s = &r->sender;
    size_t name = strlen(r->node);
    uint32_t pos = PACKET_BEACON_BYTES + (uint32_t)((name + 3) & ~3u);
    uint32_t buffer;
    struct packet_beacon *p = rrcp_control_make(r, PACKET_BEACON, &buffer);

    if (!p)
        return;
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
    if (r->now_ns >= s->pad_due_ns) {
        s->pad_due_ns = r->now_ns + PAD_NS;
        pos = pad(r, p, pos);
    }
    rrcp_control_send(r, buffer, pos, NULL);
    s->beacon_sent_ns = r->now_ns;
    s->solicit_answer_ns = RRCP_NEVER;
    r->counters.beacons_sent++;
}

void rrcp_beacon_data_sent(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    uint64_t latest_ns = s->beacon_sent_ns + r->config.beacon_max_ns;

    s->data_ns = r->now_ns;
    s->beacon_wait_ns = r->config.beacon_min_ns;
    s->beacon_due_ns = rrcp_min(r->now_ns + jittered(r, s->beacon_wait_ns), latest_ns);
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
    if (s->byes_left == 0) {
        s->is_stopped = true;
        s->bye_due_ns = RRCP_NEVER;
        return;
    }
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

void rrcp_solicit_send(struct rrcp *r, struct rrcp_peer *peer)
{
    struct packet_solicit *p;
    uint32_t buffer;

    peer->solicit_due_ns = RRCP_NEVER;
    if (peer->name_length > 0)
        return; /* its beacon arrived meanwhile */
    p = rrcp_control_make(r, PACKET_SOLICIT, &buffer);
    if (!p)
        return;
    md_put_be64(p->target, peer->session);
    rrcp_control_send(r, buffer, PACKET_SOLICIT_BYTES, NULL);
    r->counters.solicits_sent++;
}

void rrcp_beacon_tick(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;

    if (s->is_stopped)
        return;
    if (s->beacon_due_ns <= r->now_ns)
        next_beacon(r);
    else if (s->solicit_answer_ns <= r->now_ns)
        send_beacon(r, s->beacon_wait_ns);
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
    uint64_t due_ns = rrcp_min(s->beacon_due_ns, s->solicit_answer_ns);

    if (s->is_stopped)
        return RRCP_NEVER;
    due_ns = rrcp_min(due_ns, s->hsm_due_ns);
    if (s->bye_due_ns != RRCP_NEVER)
        due_ns = rrcp_min(due_ns, s->send_next < s->next_seq ? s->bye_due_ns + FLUSH_NS_MAX
                                                             : s->bye_due_ns);
    return due_ns;
}

/* ---- receiving ---------------------------------------------------------------------------- */

static struct rrcp_peer *find_namesake(struct rrcp *r, const struct rrcp_peer *peer)
{
    for (uint32_t i = 0; i < r->live_count; i++) {
        struct rrcp_peer *other = r->peers[r->live[i]];

        if (other != peer && other->name_length == peer->name_length &&
            memcmp(other->name, peer->name, peer->name_length) == 0)
            return other;
    }
    return NULL;
}

static uint8_t host_length(const struct rrcp_address *address)
{
    return address->host_length ? address->host_length : address->length;
}

static bool is_same_host(const struct rrcp_peer *a, const struct rrcp_peer *b)
{
    for (int path = 0; path < 2; path++) {
        uint8_t length = host_length(&a->address[path]);

        if (length > 0 && length == host_length(&b->address[path]) &&
            memcmp(a->address[path].bytes, b->address[path].bytes, length) == 0)
            return true;
    }
    return false;
}

/* Another live session has this name: the node restarted, or two nodes share the name. */
static void settle_name(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_peer *other = find_namesake(r, peer);

    if (!other)
        return;
    if (peer->name_conflict || (r->config.key_count == 0 && !is_same_host(peer, other))) {
        peer->name_conflict = true;
        peer->conflict_ns = r->now_ns;
        return;
    }
    rrcp_peer_lose(r, other, BACKBONE_DOWN_REPLACED);
}

static void check_conflict(struct rrcp *r, struct rrcp_peer *peer)
{
    const struct rrcp_peer *other;

    if (!peer->name_conflict || r->now_ns < peer->conflict_ns + CONFLICT_NS)
        return;
    other = find_namesake(r, peer);
    if (!other) {
        peer->name_conflict = false;
        return;
    }
    if (r->now_ns - other->heard_ns < CONFLICT_NS) {
        r->counters.peer_name_conflicts++;
        rrcp_note(r, RRCP_NOTE_NAME_DUPLICATE, peer->session, other->session);
    }
    peer->conflict_ns = r->now_ns + 4 * CONFLICT_NS; /* repeat the note every ten seconds */
}

static void take_name(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    uint8_t length = view->beacon->name_length;
    const uint8_t *name = (const uint8_t *)(view->beacon + 1);

    if (length == peer->name_length && memcmp(name, peer->name, length) == 0)
        return;
    peer->name_length = length;
    memcpy(peer->name, name, length);
    settle_name(r, peer);

    struct rrcp_item *item = rrcp_deliver_add(r, BACKBONE_PEER_INFO, peer->index, peer->session);

    item->bytes = (const uint8_t *)peer->name;
    item->length = length;
}

void rrcp_beacon_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    uint64_t next = md_be64(view->beacon->next_seq);
    uint64_t trail = md_be64(view->beacon->trail);

    if (next == 0 || next > RRCP_SEQ_MAX || trail > next) {
        rrcp_drop(r, RRCP_DROP_JUMP);
        return;
    }
    r->counters.beacons_rcvd++;
    peer->beacon_state = md_be16(view->beacon->state);
    take_name(r, peer, view);
    check_conflict(r, peer);
    rrcp_receive_announce(r, peer, next);
    rrcp_receive_trail(r, peer, trail);
}

void rrcp_bye_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    uint64_t next = md_be64(view->bye->next_seq);

    r->counters.byes_rcvd++;
    if (next <= RRCP_SEQ_MAX)
        rrcp_receive_announce(r, peer, next);
    rrcp_receive_finish(r, peer, BACKBONE_GAP_NOT_HELD);
    rrcp_peer_lose(r, peer, BACKBONE_DOWN_BYE);
}

void rrcp_solicit_input(struct rrcp *r, const struct packet_view *view)
{
    struct rrcp_sender *s = &r->sender;
    uint64_t target = md_be64(view->solicit->target);
    uint64_t at_ns;

    r->counters.solicits_rcvd++;
    if ((target != 0 && target != r->session) || s->solicit_answer_ns != RRCP_NEVER)
        return;
    at_ns = r->now_ns + rrcp_random(r, SOLICIT_JITTER_NS);
    if (at_ns < s->beacon_sent_ns + SOLICIT_GAP_NS)
        at_ns = s->beacon_sent_ns + SOLICIT_GAP_NS;
    s->solicit_answer_ns = at_ns;
}
