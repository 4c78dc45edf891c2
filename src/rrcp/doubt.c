/* doubt.c - see doubt.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "doubt.h"

#include "base/cursor.h"
#include "challenge.h"
#include "common.h"
#include "peers.h"
#include "receive.h"

#define CHALLENGES   3
#define CHALLENGE_NS (100 * RRCP_MS)
#define PATIENCE_NS  (2 * RRCP_S) /* a refused namesake is not looked at again before */

static void end_round(struct rrcp_doubt *d)
{
    d->why = 0;
    d->sent = 0;
    d->due_ns = RRCP_NEVER;
}

static void send_challenge(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_doubt *d = &peer->doubt;

    for (uint8_t path = 0; path < 2; path++)
        if (peer->address[path].length > 0)
            rrcp_challenge_send(r, peer->session, path, &peer->address[path], d->round);
    d->sent++;
    d->due_ns = r->now_ns + CHALLENGE_NS;
}

/* The session that has the name now may come in at once. */
static void leave_place(struct rrcp *r, struct rrcp_peer *peer, enum backbone_down_reason reason)
{
    struct rrcp_doubt d = peer->doubt;

    rrcp_peer_lose(r, peer, reason);
    if (d.rival != 0)
        rrcp_challenge_send(r, d.rival, d.rival_path, &d.rival_address, STRANGER_ROUND);
}

static void has_left(struct rrcp *r, struct rrcp_peer *peer)
{
    rrcp_receive_finish(r, peer, BACKBONE_GAP_NOT_HELD);
    leave_place(r, peer, BACKBONE_DOWN_BYE);
}

void rrcp_doubt_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_doubt *d = &peer->doubt;
    uint8_t why = d->why;

    if (d->due_ns > r->now_ns)
        return;
    if (d->sent < CHALLENGES) {
        send_challenge(r, peer);
        return;
    }
    if (r->input_empty_ns < d->due_ns && r->now_ns - d->due_ns < r->config.peer_timeout_ns)
        return; /* its answer may wait in our socket */
    if (why & DOUBT_BYE) {
        has_left(r, peer);
    } else if (why & DOUBT_RIVAL) {
        leave_place(r, peer, BACKBONE_DOWN_REPLACED);
    } else {
        end_round(d);
    }
}

void rrcp_doubt_answered(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    struct rrcp_doubt *d = &peer->doubt;
    uint64_t next = md_be64(view->beacon->next_seq);
    uint8_t why = d->why;

    end_round(d);
    r->counters.echoes_rcvd++;
    rrcp_receive_sure(r, peer, next);
    /* DATA of after the echo may have passed it on the way: then not all lay below since the
     * doubt, even if a late copy does again. */
    bool all_below = d->below_ns != 0 && r->now_ns >= d->below_ns + DOUBT_BELOW_NS;
    if ((why & DOUBT_BELOW) && all_below && next < peer->window.next)
        rrcp_receive_rejoin(r, peer, next);
    if (why & DOUBT_BELOW)
        d->below_ns = 0;
    if (md_be16(view->beacon->state) & BEACON_STATE_LEAVING) {
        has_left(r, peer);
        return;
    }
    if (why & DOUBT_BYE)
        r->counters.byes_false++;
    if (why & DOUBT_RIVAL) {
        d->patient_ns = r->now_ns + PATIENCE_NS;
        r->counters.peer_name_conflicts++;
        rrcp_note(r, RRCP_NOTE_NAME_DUPLICATE, d->rival, peer->session);
        d->rival = 0;
    }
}

void rrcp_doubt_rival(struct rrcp *r, struct rrcp_peer *peer, uint64_t session,
                      const struct rrcp_arrival *arrival)
{
    struct rrcp_doubt *d = &peer->doubt;

    if (r->now_ns < d->patient_ns)
        return;
    d->rival = session;
    d->rival_path = arrival->path & 1;
    d->rival_address = *arrival->from;
    rrcp_doubt_raise(r, peer, DOUBT_RIVAL);
}
