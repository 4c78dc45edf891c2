/* check.c - the invariants of the engine's tables, as code: see rrcp_check() in rrcp/rrcp.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/siphash.h"
#include "budget.h"
#include "common.h"
#include "interest.h"
#include "peer_table.h"
#include "unicast_queue.h"
#include "window.h"
/*
 * One function checks each table. On its way it counts references to packets, memory and open
 * windows; at the end the sums must equal those that the engine keeps. These functions allocate
 * nothing and change nothing.
 */

#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0))                                                          \
            return #cond;                                                                          \
    } while (0)
#define REQUIRE_ALL(call)                                                                          \
    do {                                                                                           \
        const char *broken = (call);                                                               \
                                                                                                   \
        if (broken)                                                                                \
            return broken;                                                                         \
    } while (0)

#define KIND(kind) (1u << BUFFER_##kind)

struct tally {
    uint64_t references;
    uint64_t memory_bytes;
    uint64_t assembly_bytes;
    uint64_t unicast_bytes;
    uint32_t windows;
    uint32_t streams_ready;
    uint32_t live;
    uint32_t dead;
};

/* Counts a reference to `buffer`. True: the buffer is one of `kinds`. */
static bool holds(const struct rrcp *r, struct tally *t, uint32_t buffer, uint32_t kinds)
{
    t->references++;
    return buffer < r->pool.count && r->pool.buffers[buffer].references > 0 &&
           (1u << r->pool.buffers[buffer].kind & kinds) != 0;
}

/* ---- packets ------------------------------------------------------------------------------ */

/* I15: the high and the low mark. A buffer is either free or counted and referenced. */
static const char *check_pool(const struct rrcp *r, const struct tally *t)
{
    const struct rrcp_pool *pool = &r->pool;
    uint32_t kind_use[BUFFER_kinds] = { 0 };
    uint64_t references = 0;
    uint64_t in_flight = 0;
    uint32_t free_count = 0;

    for (uint32_t i = 0; i < pool->count; i++) {
        const struct rrcp_buffer *buffer = &pool->buffers[i];

        REQUIRE(buffer->kind < BUFFER_kinds);
        REQUIRE((buffer->kind == BUFFER_FREE) == (buffer->references == 0));
        REQUIRE(buffer->in_flight <= buffer->references);
        REQUIRE(buffer->length <= r->config.packet_bytes_max);
        kind_use[buffer->kind]++;
        references += buffer->references;
        in_flight += buffer->in_flight;
    }
    for (uint32_t i = pool->free_head; i != RRCP_BUFFER_NONE; i = pool->buffers[i].next_free) {
        REQUIRE(i < pool->count && pool->buffers[i].kind == BUFFER_FREE);
        REQUIRE(++free_count <= pool->count);
    }
    REQUIRE(free_count == kind_use[BUFFER_FREE]);
    for (int kind = BUFFER_SEND; kind < BUFFER_kinds; kind++) {
        REQUIRE(kind_use[kind] == pool->kind_use[kind]);
        REQUIRE(kind_use[kind] <= pool->kind_max[kind]);
    }
    REQUIRE(pool->use + free_count == pool->count && pool->use == r->counters.pool_use);
    REQUIRE(pool->is_over || pool->use < pool->high);
    REQUIRE(!pool->is_over || pool->use >= pool->low);
    REQUIRE(in_flight == r->flight_count);
    REQUIRE(references == t->references + in_flight);
    return NULL;
}

static const char *check_output(const struct rrcp *r, struct tally *t)
{
    REQUIRE(r->control_count <= CONTROL_QUEUE && r->control_head < CONTROL_QUEUE);
    for (uint32_t i = 0; i < r->control_count; i++) {
        const struct control *control = &r->controls[(r->control_head + i) % CONTROL_QUEUE];

        REQUIRE(holds(r, t, control->buffer, KIND(CONTROL)));
        REQUIRE(control->is_group || control->to.length > 0);
    }
    REQUIRE(r->handed_count <= r->handed_max);
    if (r->config.completes_late)
        REQUIRE(r->flight_count <= r->config.send_queue_max);
    else
        REQUIRE(r->flight_count == r->handed_count);
    return NULL;
}

/* ---- sending ------------------------------------------------------------------------------ */

static const char *check_repairs(const struct rrcp *r)
{
    const struct rrcp_sender *s = &r->sender;
    uint32_t queued = 0;

    REQUIRE(s->repair_count <= REPAIR_QUEUE && s->repair_head < REPAIR_QUEUE);
    for (uint32_t i = 0; i < s->repair_count; i++) {
        const struct repair *repair = &s->repairs[(s->repair_head + i) % REPAIR_QUEUE];

        REQUIRE(repair->seq >= s->first_seq && repair->seq < s->send_next);
        REQUIRE(repair->peer == PEER_SELF || r->peers[repair->peer]);
        if (repair->peer == PEER_SELF && repair->seq >= s->trail) {
            REQUIRE(s->slots[repair->seq & s->slot_mask].is_queued);
            queued++;
        }
    }
    for (uint64_t seq = s->trail; seq < s->send_next; seq++)
        queued -= s->slots[seq & s->slot_mask].is_queued;
    REQUIRE(queued == 0);
    return NULL;
}

static const char *check_sender(const struct rrcp *r, struct tally *t)
{
    const struct rrcp_sender *s = &r->sender;

    REQUIRE(s->first_seq <= s->trail && s->trail <= s->send_next && s->send_next <= s->next_seq);
    REQUIRE(s->next_seq - s->trail <= r->pool.kind_max[BUFFER_SEND]);
    for (uint64_t seq = s->trail; seq < s->next_seq; seq++) {
        REQUIRE(holds(r, t, s->slots[seq & s->slot_mask].buffer, KIND(SEND)));
        REQUIRE(seq < s->send_next || !s->slots[seq & s->slot_mask].is_asked);
    }
    if (s->open.buffer != RRCP_BUFFER_NONE) {
        REQUIRE(holds(r, t, s->open.buffer, KIND(SEND)));
        REQUIRE(s->open.pos <= s->open.end && s->open.chunks > 0);
    }
    REQUIRE(s->is_stopped || s->beacon_due_ns != RRCP_NEVER);                 /* I9 */
    REQUIRE(!s->stop_reason || s->is_stopped || s->bye_due_ns != RRCP_NEVER); /* I9 */
    REQUIRE(s->flow_next == UINT64_MAX || r->config.flow_control == RRCP_FLOW_CONTROL_MIN);
    REQUIRE(!s->rate || (s->rate <= r->config.data_rate && s->rate >= r->config.data_rate / 2));
    return check_repairs(r);
}

static const char *check_users(const struct rrcp *r)
{
    uint32_t receivers = 0;
    uint32_t leaving = 0;

    for (int i = 0; i < RRCP_USER_MAX; i++) {
        const struct user_slot *user = &r->users[i];

        REQUIRE(user->port < r->next_port);
        REQUIRE(user->port != 0 || (!user->receives && !user->is_leaving));
        REQUIRE(!user->is_leaving || !user->receives);
        receivers += user->receives;
        leaving += user->is_leaving;
        for (int j = 0; j < i && user->port != 0; j++)
            REQUIRE(r->users[j].port != user->port);
    }
    REQUIRE(receivers == r->receiver_count && leaving == r->leaving_count);
    return NULL;
}

/* ---- receiving ---------------------------------------------------------------------------- */

/* I8: each missing packet has a timer, and the window's timer is no later than the earliest. */
static const char *check_timer(const struct rrcp *r, const struct rrcp_window *w,
                               const struct rrcp_slot *slot)
{
    uint64_t due_ns = r->now_ns;
    uint64_t budget_ns = r->now_ns + rrcp_budget_wait(&r->nak_out_budget, r->now_ns) + RRCP_US;
    int32_t left_us = (int32_t)(slot->due_us - rrcp_us(r->now_ns));

    if (left_us > 0)
        due_ns += (uint32_t)left_us * RRCP_US;
    REQUIRE(w->due_ns <= due_ns + RRCP_US || w->due_ns <= budget_ns);
    REQUIRE(left_us <= (int32_t)((r->config.recover_timeout_ns + RRCP_S) / RRCP_US));
    return NULL;
}

static const char *check_slots(const struct rrcp *r, struct tally *t, const struct rrcp_window *w)
{
    uint32_t mask = r->config.window_packets - 1;
    uint32_t missing = 0;
    uint32_t have = 0;
    uint32_t bits = 0;

    REQUIRE(w->highest + 1 - w->next <= r->config.window_packets);
    for (uint64_t seq = w->next; seq <= w->highest; seq++) {
        const struct rrcp_slot *slot = rrcp_window_slot(w, seq);
        bool is_missing = rrcp_slot_is_missing(slot->state);
        uint64_t bit = w->missing[(seq & mask) >> 6] >> (seq & 63) & 1u;

        REQUIRE(slot->state != SLOT_EMPTY && slot->state < SLOT_states);
        REQUIRE(bit == is_missing);
        missing += is_missing;
        if (is_missing)
            REQUIRE_ALL(check_timer(r, w, slot));
        if (slot->state == SLOT_HAVE) {
            REQUIRE(holds(r, t, slot->buffer, KIND(RECEIVE)));
            have++;
        }
        REQUIRE(slot->state != SLOT_ASKED || slot->tries > 0);
        REQUIRE(slot->state != SLOT_LOST || (slot->reason > 0 && slot->reason < 8));
    }
    /* The first packet of the window is missing: the engine delivers all others at once. */
    REQUIRE(w->next > w->highest || rrcp_slot_is_missing(rrcp_window_slot(w, w->next)->state));
    for (uint32_t i = 0; i <= mask >> 6; i++)
        bits += (uint32_t)__builtin_popcountll(w->missing[i]);
    REQUIRE(bits == missing && missing == w->missing_count && have == w->have_count);
    return NULL;
}

static const char *check_window(const struct rrcp *r, struct tally *t, const struct rrcp_window *w)
{
    REQUIRE(w->next > 0 && w->next <= w->highest + 1);
    REQUIRE(w->highest <= RRCP_SEQ_MAX);
    REQUIRE((w->missing_count > 0) == (w->due_ns != RRCP_NEVER)); /* I8 */
    /* A gap stays pending only while it may grow. */
    REQUIRE(w->gap_count == 0 || w->gap_first + w->gap_count == w->next);
    REQUIRE(w->gap_count == 0 || w->next <= w->highest);
    if (!w->slots) {
        REQUIRE(!w->missing && w->next == w->highest + 1);
        REQUIRE(w->missing_count == 0 && w->have_count == 0);
        return NULL;
    }
    t->windows++;
    t->memory_bytes += rrcp_window_bytes(r->config.window_packets);
    return check_slots(r, t, w);
}

static const char *check_assembly(struct tally *t, const struct rrcp_assembly *a)
{
    REQUIRE(!a->is_open || (a->bytes && a->have <= a->total && a->total <= a->size));
    REQUIRE(a->bytes || a->size == 0);
    t->assembly_bytes += a->size;
    t->memory_bytes += a->size;
    return NULL;
}

/* ---- unicast ------------------------------------------------------------------------------ */

/* The segments hold exactly the bytes of the lane's messages. */
static const char *check_lane(struct tally *t, const struct rrcp_unicast *u,
                              const struct unicast_lane *lane)
{
    uint64_t bytes = 0;

    for (const struct unicast_segment *s = lane->head; s; s = s->next) {
        uint32_t begin = s == lane->head ? lane->head_offset : 0;
        uint32_t end = s == lane->tail ? lane->tail_offset : (uint32_t)sizeof(s->bytes);

        REQUIRE(begin <= end && end <= sizeof(s->bytes));
        REQUIRE(s->next || s == lane->tail);
        bytes += end - begin;
        REQUIRE(end > begin);
        t->unicast_bytes += sizeof(*s);
    }
    if (u->has_record && u->record_lane == lane) {
        REQUIRE(u->piece_left <= u->record.length && lane->messages > 0);
        bytes += sizeof(u->record) + u->record.length - u->piece_left;
    }
    REQUIRE(bytes == lane->bytes);
    REQUIRE((lane->messages > 0) == (lane->bytes > 0));
    return NULL;
}

/* Each lane with messages waits for its turn once; but the wishes, which go first. */
static const char *check_turns(const struct rrcp *r, const struct rrcp_unicast *u, uint32_t waiting)
{
    const struct unicast_lane *last = NULL;
    int64_t debt = (int64_t)r->config.message_bytes_max + (int64_t)sizeof(u->record);

    for (const struct unicast_lane *lane = u->turn_first; lane; lane = lane->after) {
        REQUIRE(lane->messages > 0 && waiting > 0 && lane != &u->wishes);
        REQUIRE(lane->credit <= UNICAST_TURN && lane->credit >= -debt);
        waiting--;
        last = lane;
    }
    REQUIRE(waiting == 0 && last == u->turn_last);
    REQUIRE(!u->has_record || u->record_lane == &u->wishes || u->record_lane == u->turn_first);
    return NULL;
}

/* I15: no lane takes what others have of their own. */
static const char *check_queue_bounds(const struct rrcp *r, const struct rrcp_unicast *u)
{
    uint64_t max = r->config.unicast_queue_max;

    REQUIRE(u->plain.messages <= UNICAST_MESSAGES && u->wishes.bytes <= WISHES_BYTES);
    REQUIRE(u->queue_bytes - u->wishes.bytes <= max + (UNICAST_LANES + 1) * LANE_BYTES);
    for (uint32_t i = 0; u->lanes && i < UNICAST_LANES; i++) {
        REQUIRE(u->lanes[i].messages <= LANE_MESSAGES);
        REQUIRE(u->lanes[i].bytes <= LANE_BYTES || u->lanes[i].bytes <= max);
    }
    return NULL;
}

static const char *check_queue(const struct rrcp *r, struct tally *t, const struct rrcp_unicast *u)
{
    uint64_t bytes = u->plain.bytes + u->wishes.bytes;
    uint64_t messages = (uint64_t)u->plain.messages + u->wishes.messages;
    uint32_t waiting = u->plain.messages > 0;

    REQUIRE_ALL(check_lane(t, u, &u->plain));
    REQUIRE_ALL(check_lane(t, u, &u->wishes));
    for (uint32_t i = 0; u->lanes && i < UNICAST_LANES; i++) {
        REQUIRE_ALL(check_lane(t, u, &u->lanes[i]));
        bytes += u->lanes[i].bytes;
        messages += u->lanes[i].messages;
        waiting += u->lanes[i].messages > 0;
    }
    REQUIRE(bytes == u->queue_bytes && messages == u->queue_messages);
    REQUIRE(!u->has_record || messages > 0);
    t->memory_bytes += sizeof(*u) + (u->lanes ? UNICAST_LANES * sizeof(*u->lanes) : 0);
    REQUIRE_ALL(check_queue_bounds(r, u));
    return check_turns(r, u, waiting);
}

static const char *check_unicast_sent(const struct rrcp *r, struct tally *t,
                                      const struct rrcp_unicast *u)
{
    uint32_t again = 0;
    uint32_t used = 0;

    REQUIRE(u->base >= 1 && u->base <= u->send_next && u->send_next <= u->next);
    REQUIRE(u->next - u->base <= UNICAST_WINDOW);
    for (uint64_t useq = u->base; useq < u->next; useq++) {
        const struct unicast_sent *sent = &u->sent[useq & (UNICAST_WINDOW - 1)];

        REQUIRE(holds(r, t, sent->buffer, KIND(UNICAST)));
        REQUIRE(!sent->is_again || (useq < u->send_next && !sent->is_acked));
        again += sent->is_again;
    }
    for (int i = 0; i < UNICAST_WINDOW; i++)
        used += u->sent[i].buffer != RRCP_BUFFER_NONE;
    REQUIRE(used == u->next - u->base && again == u->again_count);
    REQUIRE(u->base == u->send_next || u->resend_due_ns != RRCP_NEVER); /* I9 */
    REQUIRE((u->queue_messages == 0 && u->again_count == 0 && u->send_next == u->next) ||
            u->is_ready || u->resend_due_ns != RRCP_NEVER); /* I9 */
    return NULL;
}

static const char *check_unicast(const struct rrcp *r, struct tally *t,
                                 const struct rrcp_unicast *u)
{
    uint32_t have = 0;

    REQUIRE_ALL(check_queue(r, t, u));
    REQUIRE_ALL(check_unicast_sent(r, t, u));
    for (int i = 0; i < UNICAST_WINDOW; i++) {
        if (u->rx_buffer[i] == RRCP_BUFFER_NONE)
            continue;
        REQUIRE(holds(r, t, u->rx_buffer[i], KIND(UNICAST)));
        have++;
    }
    REQUIRE(have == u->rx_have && (u->is_receiving || have == 0));
    REQUIRE((have > 0) == (u->rx_due_ns != RRCP_NEVER)); /* I9 */
    REQUIRE(have == 0 || u->rx_buffer[u->rx_next & (UNICAST_WINDOW - 1)] == RRCP_BUFFER_NONE);
    t->streams_ready += u->is_ready;
    return NULL;
}

static const char *check_ready(const struct rrcp *r, const struct tally *t)
{
    const struct rrcp_unicast *last = NULL;
    uint32_t count = 0;

    for (const struct rrcp_unicast *u = r->unicast_ready; u; u = u->ready_next) {
        REQUIRE(u->is_ready && r->peers[u->peer]->unicast == u);
        REQUIRE(++count <= r->live_count);
        last = u;
    }
    REQUIRE(count == t->streams_ready && last == r->unicast_ready_tail);
    return NULL;
}

/* ---- peers -------------------------------------------------------------------------------- */

static const char *check_live(const struct rrcp *r, struct tally *t, const struct rrcp_peer *peer)
{
    uint64_t due_ns = rrcp_peer_due(r, peer);

    REQUIRE(peer->order < r->live_count && r->live[peer->order] == peer->index);
    REQUIRE(peer->session != 0 && peer->session != r->session);
    REQUIRE(peer->heap_place > 0 && peer->heap_place <= r->heap_count);
    REQUIRE(r->heap[peer->heap_place - 1] == peer->index);
    REQUIRE(peer->due_ns <= due_ns || peer->due_ns <= r->now_ns + PEER_STEP_NS); /* I8, I9 */
    REQUIRE(peer->name_length <= RRCP_NODE_NAME_MAX);
    REQUIRE(peer->address[0].length > 0 || peer->address[1].length > 0);
    REQUIRE_ALL(check_window(r, t, &peer->window));
    if (peer->unicast) {
        REQUIRE(peer->unicast->peer == peer->index);
        REQUIRE_ALL(check_unicast(r, t, peer->unicast));
    }
    t->live++;
    return NULL;
}

static const char *check_peer(const struct rrcp *r, struct tally *t, const struct rrcp_peer *peer)
{
    t->memory_bytes += sizeof(*peer);
    if (peer->replay)
        t->memory_bytes += REPLAY_count * sizeof(*peer->replay);
    if (peer->state == PEER_LIVE) {
        REQUIRE_ALL(check_live(r, t, peer));
    } else {
        REQUIRE(peer->state == PEER_DEAD || peer->state == PEER_FREE);
        REQUIRE(!peer->window.slots && !peer->unicast && peer->heap_place == 0);
        REQUIRE(peer->state == PEER_DEAD || !peer->replay);
        t->dead += peer->state == PEER_DEAD;
    }
    for (int i = STREAM_MULTICAST; i <= STREAM_UNICAST; i++) {
        REQUIRE(peer->state != PEER_FREE || !peer->assembly[i].bytes);
        REQUIRE_ALL(check_assembly(t, &peer->assembly[i]));
    }
    return NULL;
}

static const char *check_tables(const struct rrcp *r)
{
    uint32_t count = 0;

    REQUIRE(r->live_count <= r->config.peers_max && r->live_count == r->counters.peers_now);
    REQUIRE(r->heap_count == r->live_count);
    for (uint32_t i = 1; i < r->heap_count; i++)
        REQUIRE(r->peers[r->heap[(i - 1) / 2]]->due_ns <= r->peers[r->heap[i]]->due_ns);
    for (uint32_t i = 0; i <= r->hash_mask; i++)
        for (uint32_t at = r->hash[i]; at != 0; at = r->peers[at - 1]->hash_next) {
            const struct rrcp_peer *peer = r->peers[at - 1];
            uint64_t hash = md_siphash(r->hash_key, &peer->session, sizeof(peer->session));

            REQUIRE(peer->state == PEER_LIVE && (hash & r->hash_mask) == i);
            REQUIRE(++count <= r->live_count);
        }
    REQUIRE(count == r->live_count);
    REQUIRE(!r->last_peer || r->last_peer->state == PEER_LIVE);
    return NULL;
}

static const char *check_peers(const struct rrcp *r, struct tally *t)
{
    bool is_end = false;

    REQUIRE_ALL(check_tables(r));
    for (uint32_t i = 0; i < r->peer_slots; i++) {
        const struct rrcp_peer *peer = r->peers[i];

        if (!peer) {
            is_end = true;
            continue;
        }
        REQUIRE(!is_end && peer->index == i);
        REQUIRE_ALL(check_peer(r, t, peer));
    }
    REQUIRE(t->live == r->live_count);
    REQUIRE(t->windows == r->window_count && t->windows <= r->config.windows_max);
    return check_ready(r, t);
}

/* ---- events ------------------------------------------------------------------------------- */

/* I14: a dead peer keeps its memory until the user takes its PEER_DOWN. */
static const char *check_items(const struct rrcp *r, struct tally *t)
{
    uint32_t dead = r->release_peer != NULL;

    REQUIRE(r->item_tail - r->item_head <= r->item_mask + 1);
    REQUIRE(r->release_count <= r->item_tail - r->item_head);
    for (uint32_t at = r->item_head; at != r->item_tail; at++) {
        const struct rrcp_item *item = &r->items[at & r->item_mask];

        if (item->buffer != RRCP_BUFFER_NONE)
            REQUIRE(holds(r, t, item->buffer, KIND(SEND) | KIND(RECEIVE) | KIND(UNICAST)));
        if (item->peer == PEER_SELF)
            continue;
        REQUIRE(item->peer < r->peer_slots && r->peers[item->peer]->session == item->session);
        REQUIRE(r->peers[item->peer]->state != PEER_FREE);
        dead += item->kind == BACKBONE_PEER_DOWN;
    }
    REQUIRE(!r->release_peer || r->release_peer->state == PEER_DEAD);
    REQUIRE(dead == t->dead);
    return NULL;
}

/* ---- sums --------------------------------------------------------------------------------- */

/* I10: the counter of memory is right to the byte. */
static const char *check_memory(const struct rrcp *r, struct tally *t)
{
    uint32_t spare = 0;
    size_t tables = sizeof(*r->live) + sizeof(*r->heap) + sizeof(*r->tombstones);

    for (const struct unicast_segment *s = r->segments; s && spare <= SEGMENTS_SPARE; s = s->next)
        spare++;
    t->memory_bytes += sizeof(*r) + t->unicast_bytes + spare * sizeof(*r->segments);
    t->memory_bytes += r->pool.memory_is_ours ? r->pool.memory_bytes : 0;
    t->memory_bytes += r->pool.count * sizeof(*r->pool.buffers) + r->opened_size;
    t->memory_bytes += r->sealed ? (size_t)r->handed_max * r->pool.stride : 0;
    t->memory_bytes += (r->sender.slot_mask + 1) * sizeof(*r->sender.slots);
    t->memory_bytes += r->peer_slots * sizeof(struct rrcp_peer *) + r->config.peers_max * tables;
    t->memory_bytes += (r->hash_mask + 1) * sizeof(*r->hash) + rrcp_interest_bytes(r);
    t->memory_bytes += (r->item_mask + 1) * sizeof(*r->items);
    t->memory_bytes += r->handed_max * (sizeof(*r->handed) + sizeof(*r->handed_to));
    REQUIRE(t->memory_bytes == r->counters.memory_bytes);
    REQUIRE(t->assembly_bytes == r->assembly_bytes);
    REQUIRE(t->assembly_bytes <= r->config.assembly_bytes_max);
    REQUIRE(t->unicast_bytes == r->unicast_bytes && spare == r->segment_count);
    REQUIRE(spare <= SEGMENTS_SPARE);
    REQUIRE(t->unicast_bytes <=
            r->config.unicast_bytes_max + r->live_count * 2 * sizeof(struct unicast_segment));
    return NULL;
}

/* Each live peer has its address in the book, under its session unless another took the place. */
static const char *check_mesh(const struct rrcp *r)
{
    const struct rrcp_mesh *m = &r->mesh;
    uint32_t with_peer = 0;

    REQUIRE(m->count <= MESH_BOOK_MAX);
    for (uint32_t i = 0; i < m->count; i++) {
        REQUIRE(m->entries[i].address.length == r->config.mesh.self.length);
        with_peer += m->entries[i].session != 0;
        for (uint32_t j = 0; j < i; j++)
            REQUIRE(memcmp(m->entries[i].address.bytes, m->entries[j].address.bytes,
                           r->config.mesh.self.length) != 0);
    }
    REQUIRE(with_peer <= r->live_count);
    return NULL;
}

/* Each live peer has a bit of its own; whoever waits for a SKIP has a timer. */
static const char *check_interest(const struct rrcp *r)
{
    const struct rrcp_interest *i = r->interest;
    uint64_t places = 0;

    if (!i)
        return NULL;
    for (uint32_t n = 0; n < r->live_count; n++) {
        const struct rrcp_peer *peer = r->peers[r->live[n]];

        REQUIRE(peer->place > 0 && !(places >> (peer->place - 1) & 1));
        REQUIRE(i->peers[peer->place - 1].session == peer->session);
        places |= 1ull << (peer->place - 1);
    }
    REQUIRE(places == i->live && !(i->filtered & ~i->live) && !(i->pending & ~i->live));
    REQUIRE(i->used < INTEREST_SLOTS);
    for (int place = 0; place < RRCP_MESH_PEERS_MAX; place++) {
        REQUIRE(i->peers[place].count == 0 || i->filtered >> place & 1);
        REQUIRE(!(i->pending >> place & 1) || i->due_ns <= i->peers[place].due_ns);
        REQUIRE((i->pending >> place & 1) ==
                (i->peers[place].run_count > 0 && i->live >> place & 1));
    }
    return NULL;
}

const char *rrcp_check(const struct rrcp *r)
{
    struct tally t = { 0 };

    REQUIRE_ALL(check_output(r, &t));
    REQUIRE_ALL(check_sender(r, &t));
    REQUIRE_ALL(check_users(r));
    REQUIRE_ALL(check_peers(r, &t));
    REQUIRE_ALL(check_mesh(r));
    REQUIRE_ALL(check_interest(r));
    if (r->self_unicast)
        REQUIRE_ALL(check_queue(r, &t, r->self_unicast));
    REQUIRE_ALL(check_items(r, &t));
    REQUIRE_ALL(check_assembly(&t, &r->self_assembly[STREAM_MULTICAST]));
    REQUIRE_ALL(check_assembly(&t, &r->self_assembly[STREAM_UNICAST]));
    REQUIRE_ALL(check_pool(r, &t));
    return check_memory(r, &t);
}
