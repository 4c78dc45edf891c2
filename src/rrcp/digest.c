/* digest.c - the state of the engine as a number, for simulators. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/siphash.h"
#include "private.h"

/*
 * All that a packet may change but counters, what limits strangers, and the queue of packets that
 * leave. Fields one by one: structs have padding.
 */
struct digest {
    uint64_t sum;
};

static void add(struct digest *d, uint64_t value)
{
    const uint64_t key[2] = { d->sum, 0x5eed };

    d->sum = md_siphash(key, &value, sizeof(value));
}

static void add_bytes(struct digest *d, const void *bytes, size_t length)
{
    const uint64_t key[2] = { d->sum, length };

    d->sum = md_siphash(key, bytes, length);
}

static uint64_t flags(bool a, bool b, bool c)
{
    return (a ? 1u : 0) | (b ? 2u : 0) | (c ? 4u : 0);
}

static void add_window(struct digest *d, const struct rrcp_window *w)
{
    add(d, w->next);
    add(d, w->highest);
    add(d, w->missing_count);
    add(d, w->have_count);
    add(d, w->due_ns);
    add(d, w->used_ns);
    add(d, w->gap_first);
    add(d, w->gap_count);
    for (uint64_t seq = w->next; w->slots && seq <= w->highest; seq++) {
        const struct rrcp_slot *slot = rrcp_window_slot(w, seq);

        add(d, (uint64_t)slot->state << 32 | slot->due_us);
        add(d, (uint64_t)slot->tries << 8 | slot->confirms);
    }
}

static void add_unicast(struct digest *d, const struct rrcp_unicast *u)
{
    add(d, u->incarnation);
    add(d, u->base);
    add(d, u->next);
    add(d, u->send_next);
    add(d, u->resend_due_ns);
    add(d, u->their_window);
    add(d, u->again_count);
    add(d, u->behind_ns);
    add(d, u->rx_incarnation);
    add(d, u->rx_next);
    add(d, u->rx_have);
    add(d, u->rx_unacked);
    add(d, u->ack_due_ns);
    add(d, u->rx_due_ns);
    add(d, u->echo_tx_time);
    add(d, u->echo_ns);
    add(d, flags(u->is_receiving, u->reset_wanted, u->is_ready));
}

static void add_doubt(struct digest *d, const struct rrcp_doubt *doubt)
{
    add(d, (uint64_t)doubt->why << 8 | doubt->sent);
    add(d, doubt->round);
    add(d, doubt->due_ns);
    add(d, doubt->below_ns);
    add(d, doubt->patient_ns);
    add(d, doubt->rival);
}

static void add_reports(struct digest *d, const struct rrcp_peer *peer)
{
    add(d, flags(peer->has_data, peer->has_status, peer->is_flow_receiver));
    add(d, peer->echo_tx_time);
    add(d, peer->echo_ns);
    add(d, peer->status_due_ns);
    add(d, peer->flow_due_ns);
    add(d, peer->flow_packets);
    add(d, peer->rtt_ns);
    add(d, peer->rtt_var_ns);
    add(d, peer->their_next);
    add(d, peer->their_lost);
    add(d, peer->their_progress_ns);
}

static void add_peer(struct digest *d, const struct rrcp_peer *peer)
{
    add(d, peer->session);
    add(d, peer->heard_ns);
    add(d, peer->group_ns);
    add(d, peer->path);
    for (int i = 0; i < 2; i++)
        add_bytes(d, peer->address[i].bytes, peer->address[i].length);
    add_bytes(d, peer->name, peer->name_length);
    add(d, (uint64_t)peer->beacon_state << 8 | peer->key_id);
    add_doubt(d, &peer->doubt);
    if (peer->replay)
        for (int i = 0; i < REPLAY_count; i++) {
            add(d, peer->replay[i].highest);
            add_bytes(d, peer->replay[i].seen, sizeof(peer->replay[i].seen));
        }
    add(d, peer->data_counter[0]);
    add(d, peer->data_counter[1]);
    add(d, flags(peer->is_interest_told, peer->had_interest, peer->is_interest_lost));
    add_window(d, &peer->window);
    if (peer->unicast)
        add_unicast(d, peer->unicast);
    add_reports(d, peer);
}

static void add_sender(struct digest *d, const struct rrcp_sender *s)
{
    add(d, s->next_seq);
    add(d, s->send_next);
    add(d, s->trail);
    add(d, s->repair_count);
    add(d, s->rate);
    add(d, s->flow_next);
    add(d, s->flow_due_ns);
    add(d, s->beacon_due_ns);
    add(d, s->bye_due_ns);
    add(d, (uint64_t)s->stop_reason);
    add(d, s->rtt_ns);
}

uint64_t rrcp_digest(const struct rrcp *r)
{
    struct digest d = { 1 };

    add_sender(&d, &r->sender);
    add(&d, r->live_count);
    for (uint32_t i = 0; i < r->live_count; i++)
        add_peer(&d, r->peers[r->live[i]]);
    for (uint32_t i = 0; i < r->config.peers_max; i++) {
        add(&d, r->tombstones[i].session);
        add(&d, r->tombstones[i].next);
        add(&d, r->tombstones[i].died_ns);
    }
    for (int i = 0; i < 2; i++) {
        add(&d, r->path_ns[i]);
        add(&d, r->path_is_silent[i]);
    }
    for (int i = BUFFER_SEND; i < BUFFER_CONTROL; i++)
        add(&d, r->pool.kind_use[i]);
    add(&d, r->item_head);
    add(&d, r->item_tail);
    add(&d, r->way_tail);
    add(&d, r->window_count);
    for (uint32_t i = 0; i < r->mesh.count; i++) {
        add_bytes(&d, r->mesh.entries[i].address.bytes, r->mesh.entries[i].address.length);
        add(&d, r->mesh.entries[i].session);
    }
    if (r->interest) {
        add(&d, r->interest->filtered);
        add(&d, r->interest->pending);
        add(&d, r->interest->used);
        add(&d, r->interest->version);
    }
    add(&d, r->assembly_bytes);
    add(&d, r->unicast_bytes);
    return d.sum;
}
