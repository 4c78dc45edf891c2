/* skip.c - see skip.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "skip.h"

#include "base/cursor.h"
#include "base/writer.h"
#include "common.h"
#include "control.h"
#include "interest.h"
#include "ranges.h"
#include "receive.h"
#include "status.h"

/*
 * Packets that follow each other and are not for a peer are its run. It is told of the run before
 * the next packet that is for it, so that it waits for nothing; else 10 ms after the run's first,
 * when the run is long, and before each beacon, which would make holes of it.
 */

#define SKIP_NS (10 * RRCP_MS)

void rrcp_skip_answer(struct rrcp *r, const struct rrcp_peer *peer, struct range_builder *ranges)
{
    struct packet_skip *p;
    uint32_t buffer;

    if (ranges->count == 0)
        return;
    p = rrcp_control_make(r, PACKET_SKIP, &buffer);
    if (p) {
        md_put_be64(p->target, peer->session);
        md_put_be64(p->base, ranges->base);
        md_put_be32(p->version, r->interest->peers[peer->place - 1].version);
        md_put_be16(p->ranges, (uint16_t)ranges->count);
        md_put_be16(p->zeros, 0);
        rrcp_control_send(r, buffer, PACKET_SKIP_BYTES + rrcp_ranges_write(ranges, p->list), peer);
        r->counters.skips_sent++;
    }
    *ranges = (struct range_builder){ 0 };
}

static const struct rrcp_peer *peer_of(const struct rrcp *r, int place)
{
    for (uint32_t i = 0; i < r->live_count; i++)
        if (r->peers[r->live[i]]->place == place + 1)
            return r->peers[r->live[i]];
    return NULL;
}

/* A SKIP that is lost, here too, is a hole that the peer asks about. */
static void tell(struct rrcp *r, int place)
{
    struct interest_peer *p = &r->interest->peers[place];
    const struct rrcp_peer *peer = peer_of(r, place);
    struct range_builder ranges = { .base = p->run_first };

    rrcp_ranges_add(&ranges, p->run_first, p->run_count);
    if (peer)
        rrcp_skip_answer(r, peer, &ranges);
    p->run_count = 0;
    p->due_ns = RRCP_NEVER;
    r->interest->pending &= ~(1ull << place);
}

static void tell_each(struct rrcp *r, uint64_t places)
{
    for (; places; places &= places - 1)
        tell(r, __builtin_ctzll(places));
}

static void add(struct rrcp *r, int place, uint64_t seq)
{
    struct interest_peer *p = &r->interest->peers[place];

    if (p->run_count == 0) {
        p->run_first = seq;
        p->due_ns = r->now_ns + SKIP_NS;
        r->interest->pending |= 1ull << place;
        r->interest->due_ns = rrcp_min(r->interest->due_ns, p->due_ns);
    }
    r->counters.packets_skipped++;
    if (++p->run_count == SKIP_RUN_MAX)
        tell(r, place);
}

bool rrcp_skip_before(struct rrcp *r, uint64_t seq)
{
    /* One that was lost since the packet was closed is told nothing. */
    uint64_t skipped = rrcp_interest_skipped(r, seq) & r->interest->live;
    uint64_t first = r->interest->pending & ~skipped;

    if (first) {
        uint32_t queued = r->control_count;

        tell_each(r, first);
        if (r->control_count > queued)
            return false;
    }
    for (; skipped; skipped &= skipped - 1)
        add(r, __builtin_ctzll(skipped), seq);
    return true;
}

void rrcp_skip_flush(struct rrcp *r)
{
    if (r->interest)
        tell_each(r, r->interest->pending);
}

void rrcp_skip_tick(struct rrcp *r)
{
    struct rrcp_interest *i = r->interest;

    if (!i || i->due_ns > r->now_ns)
        return;
    i->due_ns = RRCP_NEVER;
    for (uint64_t left = i->pending; left; left &= left - 1) {
        int place = __builtin_ctzll(left);

        if (i->peers[place].due_ns <= r->now_ns)
            tell(r, place);
        else
            i->due_ns = rrcp_min(i->due_ns, i->peers[place].due_ns);
    }
}

uint64_t rrcp_skip_deadline(const struct rrcp *r)
{
    return r->interest ? r->interest->due_ns : RRCP_NEVER;
}

/* Also of packets that are no longer held, for as long as the numbers go back. */
bool rrcp_skip_was(const struct rrcp *r, const struct rrcp_peer *peer, uint64_t seq)
{
    if (!r->interest || seq + r->sender.slot_mask < r->sender.next_seq)
        return false;
    return rrcp_interest_skipped(r, seq) >> (peer->place - 1) & 1 &&
           seq >= r->interest->peers[peer->place - 1].since;
}

void rrcp_skip_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    uint64_t base = md_be64(view->skip->base);
    uint32_t count = md_be16(view->skip->ranges);

    if (md_be64(view->skip->target) != r->session) {
        rrcp_drop(r, RRCP_DROP_TARGET);
        return;
    }
    if (!rrcp_interest_holds(r, md_be32(view->skip->version))) {
        r->counters.skips_refused++;
        peer->had_interest = true; /* it believes something else: it is told once more */
        peer->is_interest_lost = true;
        return;
    }
    r->counters.skips_rcvd++;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t first = base + md_be32(view->skip->list[i].offset);
        uint64_t end = first + md_be32(view->skip->list[i].count);

        if (first < base || end < first || end > RRCP_SEQ_MAX)
            break;
        rrcp_receive_skip(r, peer, first, end);
    }
    if (r->is_fresh_arrival)
        rrcp_status_data(r, peer);
}
