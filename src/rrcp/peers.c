/* peers.c - peers appear, go down, and come back: births, deaths and tombstones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"

#include <string.h>

#include "auth.h"
#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "budget.h"
#include "challenge.h"
#include "common.h"
#include "deliver.h"
#include "interest.h"
#include "mesh.h"
#include "peer_table.h"
#include "receive.h"
#include "status.h"
#include "unicast.h"

/*
 * A peer is LIVE from its PEER_UP on. A peer that is declared down becomes DEAD: it leaves every
 * table, but keeps its memory until the user takes its PEER_DOWN, because the events before that
 * refer to it. Its tombstone remembers where its streams ended.
 */

#define CREATION_RATE  50
#define CREATION_BURST 1024
#define HOST_LEAST     32
#define SETTLE_NS      (500 * RRCP_MS) /* a late answer of a session that is over is not believed */

int rrcp_peers_init(struct rrcp *r)
{
    uint32_t hash_size = 4;

    while (hash_size < 2 * r->config.peers_max)
        hash_size *= 2;
    r->hash_mask = hash_size - 1;
    r->peer_slots = 2 * r->config.peers_max;
    r->peers = rrcp_take(r, r->peer_slots * sizeof(struct rrcp_peer *));
    r->live = rrcp_take(r, r->config.peers_max * sizeof(*r->live));
    r->heap = rrcp_take(r, r->config.peers_max * sizeof(*r->heap));
    r->hash = rrcp_take(r, hash_size * sizeof(*r->hash));
    r->tombstones = rrcp_take(r, r->config.peers_max * sizeof(*r->tombstones));
    if (!r->peers || !r->live || !r->heap || !r->hash || !r->tombstones)
        return MD_ERR_NOMEM;
    return MD_OK;
}

static void release_memory(struct rrcp *r, struct rrcp_peer *peer)
{
    rrcp_receive_close(r, peer);
    rrcp_unicast_close(r, peer);
    rrcp_assembly_give(r, &peer->assembly[STREAM_MULTICAST]);
    rrcp_assembly_give(r, &peer->assembly[STREAM_UNICAST]);
    rrcp_auth_forget(r, peer);
    rrcp_give(r, peer->replay, REPLAY_count * sizeof(*peer->replay));
    peer->replay = NULL;
}

void rrcp_peers_fini(struct rrcp *r)
{
    for (uint32_t i = 0; r->peers && i < r->peer_slots; i++) {
        if (!r->peers[i])
            continue;
        release_memory(r, r->peers[i]);
        rrcp_give(r, r->peers[i], sizeof(*r->peers[i]));
    }
    rrcp_give(r, r->peers, r->peer_slots * sizeof(struct rrcp_peer *));
    rrcp_give(r, r->live, r->config.peers_max * sizeof(*r->live));
    rrcp_give(r, r->heap, r->config.peers_max * sizeof(*r->heap));
    rrcp_give(r, r->hash, (r->hash_mask + 1) * sizeof(*r->hash));
    rrcp_give(r, r->tombstones, r->config.peers_max * sizeof(*r->tombstones));
}

/* ---- tables ------------------------------------------------------------------------------- */

struct rrcp_tombstone *rrcp_tombstone_find(struct rrcp *r, uint64_t session)
{
    for (uint32_t i = 0; i < r->config.peers_max; i++) {
        struct rrcp_tombstone *t = &r->tombstones[i];

        if (t->session == session && r->now_ns - t->died_ns < r->config.tombstone_ns)
            return t;
    }
    return NULL;
}

static void bury(struct rrcp *r, const struct rrcp_peer *peer, enum backbone_down_reason reason)
{
    struct rrcp_tombstone *t = rrcp_tombstone_find(r, peer->session);
    const struct rrcp_unicast *u = peer->unicast;

    if (!t)
        t = &r->tombstones[r->tombstone_next++ % r->config.peers_max];
    *t = (struct rrcp_tombstone){
        .session = peer->session,
        .next = peer->window.next,
        .died_ns = r->now_ns,
        .is_over = reason != BACKBONE_DOWN_TIMEOUT,
        .is_left = reason == BACKBONE_DOWN_BYE,
        .incarnation = u ? (u->incarnation + 1) & 0xffff : peer->unicast_incarnation,
        .rx_next = u && u->is_receiving ? u->rx_next : peer->unicast_rx_next,
        .rx_incarnation = u && u->is_receiving ? u->rx_incarnation : peer->unicast_rx_incarnation,
    };
}

/* ---- birth -------------------------------------------------------------------------------- */

static struct rrcp_peer *find_room(struct rrcp *r)
{
    if (r->live_count >= r->config.peers_max)
        return NULL;
    for (uint32_t i = 0; i < r->peer_slots; i++) {
        if (!r->peers[i]) {
            r->peers[i] = rrcp_take(r, sizeof(*r->peers[i]));
            if (r->peers[i])
                r->peers[i]->index = i;
            return r->peers[i];
        }
        if (r->peers[i]->state == PEER_FREE)
            return r->peers[i];
    }
    return NULL;
}

static void begin(struct rrcp *r, struct rrcp_peer *peer, uint64_t session, uint64_t next)
{
    *peer = (struct rrcp_peer){
        .session = session,
        .index = peer->index,
        .replay = peer->replay,
        .data_counter = { peer->data_counter[0], peer->data_counter[1] },
        .heard_ns = r->now_ns,
        .group_ns = r->now_ns,
        .doubt = { .due_ns = RRCP_NEVER },
        .flow_due_ns = RRCP_NEVER,
        .status_due_ns = RRCP_NEVER,
        .their_progress_ns = r->now_ns,
        .window = { .next = next,
                    .highest = next - 1,
                    .due_ns = RRCP_NEVER,
                    .transitions = r->counters.transitions },
    };
    rrcp_peer_add(r, peer);
    r->counters.peers_up++;
}

static uint8_t host_length(const struct rrcp_address *address)
{
    return address->host_length ? address->host_length : address->length;
}

/* One host must not fill the table, whoever it says it is. */
static bool is_host_full(const struct rrcp *r, const struct rrcp_address *from)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->live_count; i++) {
        const struct rrcp_peer *peer = r->peers[r->live[i]];
        const struct rrcp_address *home = &peer->address[peer->path];

        count += host_length(home) == host_length(from) &&
                 memcmp(home->bytes, from->bytes, host_length(from)) == 0;
    }
    return count > HOST_LEAST && count > r->config.peers_max / 2;
}

/* The session is back: its packets of the meantime become a gap. Before its death forged packets
 * may have moved where it ended. */
static void resume(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_tombstone *t)
{
    uint64_t next = peer->window.next;

    peer->unicast_incarnation = t->incarnation;
    peer->unicast_rx_next = t->rx_next;
    peer->unicast_rx_incarnation = t->rx_incarnation;
    if (next > t->next) {
        peer->window.gap_first = t->next;
        peer->window.gap_count = next - t->next;
        peer->window.gap_reason = BACKBONE_GAP_REJOIN;
        rrcp_receive_gap(r, peer);
    } else if (next < t->next) {
        rrcp_receive_rejoin(r, peer, next);
    }
    t->session = 0;
}

static void take_name(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    struct rrcp_item *item;

    peer->name_length = view->beacon->name_length;
    memcpy(peer->name, view->beacon + 1, peer->name_length);
    item = rrcp_deliver_add(r, BACKBONE_PEER_INFO, peer->index, peer->session);
    item->bytes = (const uint8_t *)peer->name;
    item->length = peer->name_length;
}

/* False: what the tombstone of a session knows speaks against its return. */
static bool may_return(const struct rrcp *r, const struct rrcp_tombstone *t, uint64_t next)
{
    if (!t)
        return true;
    if (t->is_over && r->now_ns - t->died_ns < SETTLE_NS)
        return false;
    return r->config.key_count == 0 || (next >= t->next && !t->is_left);
}

struct rrcp_peer *rrcp_peer_meet(struct rrcp *r, const struct packet_view *view,
                                 const struct rrcp_arrival *arrival)
{
    uint64_t session = view->session;
    uint64_t next = md_be64(view->beacon->next_seq);
    struct rrcp_tombstone *t = rrcp_tombstone_find(r, session);

    if (next == 0 || next > RRCP_SEQ_MAX) {
        rrcp_drop(r, RRCP_DROP_JUMP);
        return NULL;
    }
    if (!may_return(r, t, next)) {
        rrcp_drop(r, RRCP_DROP_TOMBSTONE);
        return NULL;
    }
    if (is_host_full(r, arrival->from) || !rrcp_creation_pay(r, arrival->from) ||
        !rrcp_budget_take(&r->creation_budget, r->now_ns, 1, CREATION_RATE, CREATION_BURST)) {
        rrcp_drop(r, RRCP_DROP_PEERS);
        return NULL;
    }
    struct rrcp_peer *peer = find_room(r);

    if (!peer || !rrcp_auth_meet(r, peer, view)) {
        rrcp_drop(r, RRCP_DROP_PEERS);
        rrcp_note(r, RRCP_NOTE_PEERS_FULL, session, r->live_count);
        return NULL;
    }
    begin(r, peer, session, next);
    peer->address[arrival->path & 1] = *arrival->from;
    peer->path = arrival->path & 1;
    peer->beacon_state = md_be16(view->beacon->state);
    rrcp_deliver_add(r, BACKBONE_PEER_UP, peer->index, session);
    take_name(r, peer, view);
    if (t)
        resume(r, peer, t);
    rrcp_interest_met(r, peer);
    rrcp_mesh_met(r, peer);
    rrcp_peer_arm(r, peer);
    return peer;
}

/* ---- death -------------------------------------------------------------------------------- */

void rrcp_peer_lose(struct rrcp *r, struct rrcp_peer *peer, enum backbone_down_reason reason)
{
    struct rrcp_item *item;

    rrcp_receive_gap(r, peer);
    bury(r, peer, reason);
    item = rrcp_deliver_add(r, BACKBONE_PEER_DOWN, peer->index, peer->session);
    item->reason = reason;
    rrcp_peer_remove(r, peer);
    rrcp_interest_lost(r, peer);
    rrcp_mesh_lost(r, peer);
    rrcp_receive_close(r, peer);
    rrcp_unicast_close(r, peer);
    r->counters.peers_down++;
    if (peer->is_flow_receiver) {
        peer->is_flow_receiver = false;
        rrcp_flow_look(r);
    }
}

void rrcp_peer_free(struct rrcp *r, struct rrcp_peer *peer)
{
    MD_ASSERT(peer->state == PEER_DEAD);
    release_memory(r, peer);
    peer->state = PEER_FREE;
}

bool rrcp_peer_info(const struct rrcp *r, uint32_t index, struct rrcp_peer_info *out)
{
    *out = (struct rrcp_peer_info){ 0 };
    if (index >= r->live_count)
        return false;

    const struct rrcp_peer *peer = r->peers[r->live[index]];

    out->session = peer->session;
    out->address = peer->address[peer->path];
    memcpy(out->name, peer->name, peer->name_length);
    out->next_seq = peer->window.next;
    out->highest_seq = peer->window.highest;
    out->packets_missing = peer->missed;
    out->packets_repaired = peer->repaired;
    out->packets_lost = peer->lost;
    out->naks_sent = peer->naks_sent;
    out->naks_rcvd = peer->naks_rcvd;
    out->repairs_sent = peer->repairs_sent;
    out->dup_packets = peer->dup_packets;
    out->rtt_us = (uint32_t)(peer->rtt_ns / RRCP_US);
    out->missing_now = peer->window.missing_count;
    out->their_lost = peer->their_lost;
    out->their_next_seq = peer->their_next;
    out->heard_ns = peer->heard_ns;
    out->key_id = r->config.key_count > 0 ? peer->key_id : -1;
    return true;
}
