/* peer_table.c - live peers, by session and by their earliest timer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_table.h"

#include "base/assert.h"
#include "base/siphash.h"
#include "common.h"

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
    const struct rrcp_unicast *u = peer->unicast;
    uint64_t due_ns = peer->heard_ns + r->config.peer_timeout_ns;

    due_ns = rrcp_min(due_ns, peer->window.due_ns);
    due_ns = rrcp_min(due_ns, peer->doubt.due_ns);
    if (peer->doubt.below_ns != 0 && peer->doubt.why == 0)
        due_ns = rrcp_min(due_ns, peer->doubt.below_ns + DOUBT_BELOW_NS);
    due_ns = rrcp_min(due_ns, peer->flow_due_ns);
    if (peer->has_data || peer->has_status)
        due_ns = rrcp_min(due_ns, peer->status_due_ns);
    if (peer->window.slots && peer->window.missing_count == 0)
        due_ns = rrcp_min(due_ns, peer->window.used_ns + WINDOW_KEEP_NS);
    if (u)
        due_ns =
            rrcp_min(due_ns, rrcp_min(rrcp_min(u->ack_due_ns, u->resend_due_ns), u->rx_due_ns));
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

void rrcp_peer_postpone(struct rrcp *r, struct rrcp_peer *peer)
{
    if (peer->due_ns > r->now_ns)
        return;
    peer->due_ns = r->now_ns + PEER_STEP_NS;
    heap_down(r, peer->heap_place - 1);
}

uint64_t rrcp_peers_deadline(const struct rrcp *r)
{
    return r->heap_count ? r->peers[r->heap[0]]->due_ns : RRCP_NEVER;
}

/* ---- in and out --------------------------------------------------------------------------- */

void rrcp_peer_add(struct rrcp *r, struct rrcp_peer *peer)
{
    uint32_t *bucket = hash_bucket(r, peer->session);

    MD_ASSERT(peer->state == PEER_FREE);
    peer->state = PEER_LIVE;
    peer->hash_next = *bucket;
    *bucket = peer->index + 1;
    peer->order = r->live_count;
    r->live[r->live_count++] = peer->index;
    peer->due_ns = rrcp_peer_due(r, peer);
    r->heap[r->heap_count] = peer->index;
    heap_up(r, r->heap_count++);
    r->counters.peers_now = r->live_count;
}

void rrcp_peer_remove(struct rrcp *r, struct rrcp_peer *peer)
{
    uint32_t moved = r->live[r->live_count - 1];

    MD_ASSERT(peer->state == PEER_LIVE);
    peer->state = PEER_DEAD;
    hash_remove(r, peer);
    heap_remove(r, peer);
    r->live_count--;
    r->live[peer->order] = moved;
    r->peers[moved]->order = peer->order;
    if (r->last_peer == peer)
        r->last_peer = NULL;
    r->counters.peers_now = r->live_count;
}
