/* peers.c - who is there: the table of peers, their timers, life, death and what is left of them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/siphash.h"

/*
 * A peer is LIVE from its PEER_UP on. When it is declared down it is DEAD: out of every table, but
 * its memory stays until its PEER_DOWN event has been taken, because the events before it refer to
 * it. Its tombstone remembers where its streams ended.
 */

#define CREATION_RATE    50
#define CREATION_BURST   1024
#define SETTLE_NS        (2 * RRCP_S) /* old packets of a session that is over are ignored so long */
#define WINDOW_KEEP_NS   (10 * RRCP_S) /* a receive window without holes goes after */
#define GROUP_SILENCE_NS (5 * RRCP_S)

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
    rrcp_window_close(r, peer);
    rrcp_unicast_close(r, peer);
    rrcp_assembly_give(r, &peer->assembly[STREAM_MULTICAST]);
    rrcp_assembly_give(r, &peer->assembly[STREAM_UNICAST]);
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

static uint32_t *hash_bucket(struct rrcp *r, uint64_t session)
{
    return &r->hash[md_siphash(r->hash_key, &session, sizeof(session)) & r->hash_mask];
}

struct rrcp_peer *rrcp_peer_find(struct rrcp *r, uint64_t session)
{
    if (r->last_peer && r->last_peer->session == session)
        return r->last_peer;
    for (uint32_t i = *hash_bucket(r, session); i != 0; i = r->peers[i - 1]->hash_next)
        if (r->peers[i - 1]->session == session)
            return r->last_peer = r->peers[i - 1];
    return NULL;
}

static void hash_remove(struct rrcp *r, const struct rrcp_peer *peer)
{
    uint32_t *link = hash_bucket(r, peer->session);

    while (*link != peer->index + 1)
        link = &r->peers[*link - 1]->hash_next;
    *link = peer->hash_next;
}

struct rrcp_tombstone *rrcp_tombstone_find(struct rrcp *r, uint64_t session)
{
    for (uint32_t i = 0; i < r->config.peers_max; i++) {
        struct rrcp_tombstone *t = &r->tombstones[i];

        if (t->session == session && r->now_ns - t->died_ns < r->config.tombstone_ns)
            return t;
    }
    return NULL;
}

static void bury(struct rrcp *r, const struct rrcp_peer *peer, enum rrcp_down_reason reason)
{
    struct rrcp_tombstone *t = rrcp_tombstone_find(r, peer->session);
    const struct rrcp_unicast *u = peer->unicast;

    if (!t)
        t = &r->tombstones[r->tombstone_next++ % r->config.peers_max];
    *t = (struct rrcp_tombstone){
        .session = peer->session,
        .next = peer->window.next,
        .died_ns = r->now_ns,
        .is_over = reason != RRCP_DOWN_TIMEOUT,
        .is_replaced = reason == RRCP_DOWN_REPLACED,
        .incarnation = u ? u->incarnation + 1 : peer->unicast_incarnation,
        .rx_next = u && u->is_receiving ? u->rx_next : peer->unicast_rx_next,
        .rx_incarnation = u && u->is_receiving ? u->rx_incarnation : peer->unicast_rx_incarnation,
    };
}

/* ---- timers: a heap of peers, the earliest on top ----------------------------------------- */

static void heap_put(struct rrcp *r, uint32_t place, uint32_t index)
{
    r->heap[place] = index;
    r->peers[index]->heap_place = place + 1;
}

static void heap_up(struct rrcp *r, uint32_t place)
{
    uint32_t index = r->heap[place];
    uint64_t due_ns = r->peers[index]->due_ns;

    while (place > 0 && r->peers[r->heap[(place - 1) / 2]]->due_ns > due_ns) {
        heap_put(r, place, r->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    heap_put(r, place, index);
}

static void heap_down(struct rrcp *r, uint32_t place)
{
    uint32_t index = r->heap[place];
    uint64_t due_ns = r->peers[index]->due_ns;

    for (;;) {
        uint32_t child = 2 * place + 1;

        if (child >= r->heap_count)
            break;
        if (child + 1 < r->heap_count &&
            r->peers[r->heap[child + 1]]->due_ns < r->peers[r->heap[child]]->due_ns)
            child++;
        if (r->peers[r->heap[child]]->due_ns >= due_ns)
            break;
        heap_put(r, place, r->heap[child]);
        place = child;
    }
    heap_put(r, place, index);
}

static void heap_remove(struct rrcp *r, struct rrcp_peer *peer)
{
    uint32_t place = peer->heap_place - 1;
    uint32_t moved = r->heap[--r->heap_count];

    peer->heap_place = 0;
    if (moved == peer->index)
        return;
    heap_put(r, place, moved);
    heap_up(r, place);
    heap_down(r, r->peers[moved]->heap_place - 1);
}

uint64_t rrcp_peer_due(const struct rrcp *r, const struct rrcp_peer *peer)
{
    uint64_t due_ns = peer->heard_ns + r->config.peer_timeout_ns;

    due_ns = rrcp_min(due_ns, peer->window.due_ns);
    due_ns = rrcp_min(due_ns, peer->solicit_due_ns);
    due_ns = rrcp_min(due_ns, peer->flow_due_ns);
    if (peer->has_data || peer->has_status)
        due_ns = rrcp_min(due_ns, peer->status_due_ns);
    if (peer->window.slots && peer->window.missing_count == 0)
        due_ns = rrcp_min(due_ns, peer->window.used_ns + WINDOW_KEEP_NS);
    if (peer->unicast)
        due_ns = rrcp_min(due_ns, rrcp_unicast_deadline(peer));
    return due_ns;
}

void rrcp_peer_arm(struct rrcp *r, struct rrcp_peer *peer)
{
    uint64_t due_ns = rrcp_peer_due(r, peer);

    if (due_ns == peer->due_ns)
        return;
    bool is_earlier = due_ns < peer->due_ns;

    peer->due_ns = due_ns;
    if (is_earlier)
        heap_up(r, peer->heap_place - 1);
    else
        heap_down(r, peer->heap_place - 1);
}

void rrcp_peer_arm_earlier(struct rrcp *r, struct rrcp_peer *peer)
{
    uint64_t due_ns = rrcp_peer_due(r, peer);

    if (due_ns < peer->due_ns) {
        peer->due_ns = due_ns;
        heap_up(r, peer->heap_place - 1);
    }
}

uint64_t rrcp_peers_deadline(const struct rrcp *r)
{
    return r->heap_count ? r->peers[r->heap[0]]->due_ns : RRCP_NEVER;
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
    uint32_t index = peer->index;
    uint32_t *bucket = hash_bucket(r, session);

    *peer = (struct rrcp_peer){
        .session = session,
        .index = index,
        .order = r->live_count,
        .state = PEER_LIVE,
        .hash_next = *bucket,
        .heard_ns = r->now_ns,
        .group_ns = r->now_ns,
        .solicit_due_ns = RRCP_NEVER,
        .flow_due_ns = RRCP_NEVER,
        .status_due_ns = RRCP_NEVER,
        .their_progress_ns = r->now_ns,
        .window = { .next = next, .highest = next - 1, .believed = next, .due_ns = RRCP_NEVER },
    };
    *bucket = index + 1;
    r->live[r->live_count++] = index;
    peer->due_ns = rrcp_peer_due(r, peer);
    r->heap[r->heap_count] = index;
    heap_up(r, r->heap_count++);
    r->counters.peers_up++;
    r->counters.peers_now = r->live_count;
}

/* It was here before: what was sent in between is a gap. */
static void resume(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_tombstone *t)
{
    uint64_t next = peer->window.next;

    peer->unicast_incarnation = t->incarnation;
    peer->unicast_rx_next = t->rx_next;
    peer->unicast_rx_incarnation = t->rx_incarnation;
    if (next > t->next) {
        peer->window.gap_first = t->next;
        peer->window.gap_count = next - t->next;
        peer->window.gap_reason = RRCP_GAP_REJOIN;
        rrcp_window_gap(r, peer);
    }
    t->session = 0;
}

struct rrcp_peer *rrcp_peer_meet(struct rrcp *r, uint64_t session, uint64_t next, bool is_beacon,
                                 const struct rrcp_arrival *arrival)
{
    struct rrcp_tombstone *t = rrcp_tombstone_find(r, session);
    bool is_conflict = false;

    if (next == 0 || next > RRCP_SEQ_MAX) {
        rrcp_drop(r, RRCP_DROP_JUMP);
        return NULL;
    }
    if (t && (next < t->next || (t->is_over && r->now_ns - t->died_ns < SETTLE_NS))) {
        rrcp_drop(r, RRCP_DROP_TOMBSTONE);
        return NULL;
    }
    if (t && t->is_replaced)
        is_conflict = true;
    if (!rrcp_budget_take(&r->creation_budget, r->now_ns, 1, CREATION_RATE, CREATION_BURST)) {
        rrcp_drop(r, RRCP_DROP_PEERS);
        return NULL;
    }
    struct rrcp_peer *peer = find_room(r);

    if (!peer) {
        rrcp_drop(r, RRCP_DROP_PEERS);
        rrcp_note(r, RRCP_NOTE_PEERS_FULL, session, r->live_count);
        return NULL;
    }
    begin(r, peer, session, next);
    peer->address[arrival->path & 1] = *arrival->from;
    peer->name_conflict = is_conflict;
    if (!is_beacon)
        peer->solicit_due_ns = r->now_ns + rrcp_random(r, 20 * RRCP_MS);
    if (r->config.key_count > 0)
        peer->replay = rrcp_take(r, REPLAY_count * sizeof(*peer->replay));
    rrcp_deliver_add(r, RRCP_EVENT_PEER_UP, peer->index, session);
    if (t)
        resume(r, peer, t);
    rrcp_peer_arm(r, peer);
    return peer;
}

/* ---- death -------------------------------------------------------------------------------- */

void rrcp_peer_lose(struct rrcp *r, struct rrcp_peer *peer, enum rrcp_down_reason reason)
{
    struct rrcp_item *item;
    uint32_t moved;

    MD_ASSERT(peer->state == PEER_LIVE);
    rrcp_window_gap(r, peer);
    bury(r, peer, reason);
    item = rrcp_deliver_add(r, RRCP_EVENT_PEER_DOWN, peer->index, peer->session);
    item->reason = reason;

    hash_remove(r, peer);
    heap_remove(r, peer);
    moved = r->live[--r->live_count];
    r->live[peer->order] = moved;
    r->peers[moved]->order = peer->order;
    if (r->last_peer == peer)
        r->last_peer = NULL;
    peer->state = PEER_DEAD;
    rrcp_window_close(r, peer);
    rrcp_unicast_close(r, peer);
    r->counters.peers_down++;
    r->counters.peers_now = r->live_count;
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

/* ---- time --------------------------------------------------------------------------------- */

/* Silent too long; but only when we ourselves have listened since. */
static bool is_dead(const struct rrcp *r, const struct rrcp_peer *peer)
{
    uint64_t due_ns = peer->heard_ns + r->config.peer_timeout_ns;

    if (r->now_ns < due_ns)
        return false;
    return r->input_empty_ns >= due_ns || r->now_ns - due_ns > r->config.peer_timeout_ns;
}

static void check_group(struct rrcp *r, struct rrcp_peer *peer)
{
    bool is_silent = peer->heard_ns > peer->group_ns + GROUP_SILENCE_NS;

    if (is_silent && !peer->is_group_silent)
        rrcp_note(r, RRCP_NOTE_GROUP_SILENT, peer->session, 0);
    peer->is_group_silent = is_silent;
}

static void peer_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    if (is_dead(r, peer)) {
        rrcp_peer_lose(r, peer, RRCP_DOWN_TIMEOUT);
        return;
    }
    if (peer->solicit_due_ns <= r->now_ns)
        rrcp_solicit_send(r, peer);
    if (peer->window.due_ns <= r->now_ns)
        rrcp_nak_tick(r, peer);
    rrcp_status_tick(r, peer);
    if (peer->unicast)
        rrcp_unicast_tick(r, peer);
    if (peer->window.slots && peer->window.missing_count == 0 && peer->window.have_count == 0 &&
        r->now_ns >= peer->window.used_ns + WINDOW_KEEP_NS)
        rrcp_window_close(r, peer);
    check_group(r, peer);
    rrcp_peer_arm(r, peer);
    if (peer->due_ns <= r->now_ns) { /* cannot act yet: look again soon, not in this loop */
        peer->due_ns = r->now_ns + PEER_STEP_NS;
        heap_down(r, peer->heap_place - 1);
    }
}

void rrcp_peers_tick(struct rrcp *r)
{
    while (r->heap_count > 0 && r->peers[r->heap[0]]->due_ns <= r->now_ns)
        peer_tick(r, r->peers[r->heap[0]]);
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
    return true;
}
