/* check.c - see check.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "sim.h"

/* A packet can reach a node that was born this much after it was sent. */
#define UNDERWAY_NS (400 * MS)

static void *grow(void *memory, uint32_t *size, uint32_t want, size_t each)
{
    uint32_t old = *size;
    uint8_t *grown;

    if (want <= old)
        return memory;
    while (*size < want)
        *size = *size ? 2 * *size : 256;
    grown = realloc(memory, *size * each);
    MD_ASSERT(grown);
    memset(grown + old * each, 0, (*size - old) * each);
    return grown;
}

void check_init(struct sim_check *check, struct sim *sim, int nodes, uint32_t lives)
{
    *check = (struct sim_check){ .sim = sim, .nodes = nodes, .life_max = lives };
    check->lives = calloc(lives, sizeof(*check->lives));
    check->views = calloc((size_t)nodes, sizeof(struct sim_view *));
    check->node_gaps = calloc((size_t)nodes * 8, sizeof(uint64_t));
    check->node_life = calloc((size_t)nodes, sizeof(uint32_t));
    MD_ASSERT(check->node_life);
    MD_ASSERT(check->lives && check->views && check->node_gaps);
    for (int i = 0; i < nodes; i++) {
        check->views[i] = calloc(lives, sizeof(struct sim_view));
        MD_ASSERT(check->views[i]);
    }
}

void check_fini(struct sim_check *check)
{
    for (uint32_t i = 0; i < check->life_count; i++) {
        free(check->lives[i].sent);
        free(check->lives[i].seq_ns);
        free(check->lives[i].seq_naks);
        free(check->lives[i].unicast);
    }
    for (int i = 0; i < check->nodes; i++) {
        for (uint32_t j = 0; j < check->life_max; j++)
            free(check->views[i][j].gaps);
        free(check->views[i]);
    }
    free(check->lives);
    free(check->views);
    free(check->node_gaps);
    free(check->node_life);
}

uint32_t check_begin(struct sim_check *check, int node, uint64_t session, uint64_t now_ns)
{
    uint32_t index = check->life_count++;
    struct sim_life *life = &check->lives[index];

    MD_ASSERT(index < check->life_max);
    life->session = session;
    life->node = node;
    life->begin_ns = now_ns;
    check->node_life[node] = index;
    life->unicast = calloc(check->life_max, sizeof(uint32_t));
    MD_ASSERT(life->unicast);
    return index;
}

/* The low bits of a session are its number. */
struct sim_life *check_life(struct sim_check *check, uint64_t session)
{
    uint32_t index = (uint32_t)(session & 0xffff);

    return index < check->life_count && check->lives[index].session == session
               ? &check->lives[index]
               : NULL;
}

static uint32_t life_of_node(const struct sim_check *check, int node)
{
    return check->node_life[node];
}

/* ---- messages ----------------------------------------------------------------------------- */

static uint8_t body_byte(const struct message_head *head, uint32_t i)
{
    return (uint8_t)(head->number * 31 + head->session + i * 7 + head->is_unicast);
}

uint32_t check_message(struct sim_check *check, uint32_t index, uint8_t *bytes, uint32_t length,
                       uint16_t port, int to, bool is_unicast)
{
    struct sim_life *life = &check->lives[index];
    struct message_head head = { 0 };

    if (length < MESSAGE_BYTES_MIN)
        length = MESSAGE_BYTES_MIN;
    head.session = life->session;
    head.to = to < 0 ? 0 : life_of_node(check, to) + 1;
    head.length = length;
    head.is_unicast = is_unicast;
    head.port = port;
    head.sent_ns = simnet_now(sim_net(check->sim));
    head.wishes = life->wishes;
    if (is_unicast) {
        head.number = ++life->unicast[life_of_node(check, to)];
    } else {
        head.number = ++life->count;
        life->sent = grow(life->sent, &life->sent_size, life->count + 1, sizeof(*life->sent));
        life->sent[head.number] = (struct sim_sent){ .to = head.to };
    }
    memcpy(bytes, &head, sizeof(head));
    for (uint32_t i = sizeof(head); i < length; i++)
        bytes[i] = body_byte(&head, i);
    return length;
}

void check_unmessage(struct sim_check *check, uint32_t index, int to, bool is_unicast)
{
    struct sim_life *life = &check->lives[index];

    if (is_unicast)
        life->unicast[life_of_node(check, to)]--;
    else
        life->count--;
}

void check_wish(struct sim_check *check, int node, uint32_t topics)
{
    struct sim_life *life = &check->lives[life_of_node(check, node)];

    life->wishes++;
    for (int t = 0; t < SIM_TOPICS; t++) {
        if (!(topics >> t & 1))
            life->since[t] = UINT32_MAX;
        else if (life->since[t] == UINT32_MAX)
            life->since[t] = life->wishes;
    }
}

void check_wishes_known(struct sim_check *check)
{
    for (int node = 0; node < check->nodes; node++)
        for (uint32_t i = 0; i < check->life_count; i++)
            check->views[node][i].wishes = check->lives[i].wishes;
}

void check_topic(struct sim_check *check, uint32_t index, int topic)
{
    struct sim_life *life = &check->lives[index];
    uint64_t excused = 0;

    for (int node = 0; node < check->nodes && node < 64 && topic < SIM_TOPICS; node++) {
        uint32_t other = life_of_node(check, node);

        if (node != life->node &&
            check->views[life->node][other].wishes < check->lives[other].since[topic])
            excused |= 1ull << node;
    }
    life->sent[life->count].excused = excused;
}

/* ---- the wire ----------------------------------------------------------------------------- */

static void watch_data(struct sim_check *check, struct sim_life *life, const uint8_t *bytes,
                       uint32_t end)
{
    uint64_t seq = md_be64(bytes + 24);
    uint32_t pos = 40;

    if (life->seq_first == 0)
        life->seq_first = seq;
    if (seq <= life->seq_last)
        return; /* the second path's copy */
    if (life->seq_last != 0 && seq != life->seq_last + 1)
        sim_fail(check->sim, "node %d sent packet %llu after %llu", life->node,
                 (unsigned long long)seq, (unsigned long long)life->seq_last);
    life->seq_last = seq;

    uint32_t old = life->seq_size;
    uint32_t place = (uint32_t)(seq - life->seq_first);

    life->seq_ns = grow(life->seq_ns, &life->seq_size, place + 1, sizeof(uint64_t));
    life->seq_naks = grow(life->seq_naks, &old, place + 1, sizeof(uint32_t));
    life->seq_ns[place] = simnet_now(sim_net(check->sim));

    while (pos < end) {
        uint32_t length = md_be16(bytes + pos);
        uint8_t flags = bytes[pos + 2];
        bool is_same = flags & 0x20;
        uint32_t topic = is_same ? 0 : md_be32(bytes + pos + 4);
        bool is_own = !is_same && topic == RRCP_TOPIC_USER_DOWN;
        struct message_head head;

        pos += is_same ? 4 : 12;
        pos += flags & 0x10 ? 8 : 0;
        pos += (flags & 0xc0) == 0x80 ? 4 : 0;
        if (!is_own && (flags & 0x80)) {
            memcpy(&head, bytes + pos, sizeof(head));
            MD_ASSERT(head.number <= life->count);
            life->sent[head.number].first = seq;
            life->partial = head.number;
            life->seen = head.number;
        }
        if (!is_own && (flags & 0x40))
            life->sent[life->partial].last = seq;
        pos += length;
    }
}

static void watch_nak(struct sim_check *check, const struct sim_life *asker, const uint8_t *bytes)
{
    struct sim_life *life = check_life(check, md_be64(bytes + 24));
    uint64_t base = md_be64(bytes + 32);

    if (!life) {
        sim_fail(check->sim, "node %d asks an unknown session", asker->node);
        return;
    }
    for (uint32_t i = 0; i < md_be16(bytes + 40); i++) {
        uint64_t first = base + md_be32(bytes + 44 + 8 * i);
        uint64_t last = first + md_be32(bytes + 48 + 8 * i) - 1;

        for (uint64_t seq = first; seq <= last; seq++) {
            if (seq < life->seq_first || seq > life->seq_last) {
                if (!check->sim->has_hostile)
                    sim_fail(check->sim, "node %d asks node %d for packet %llu, never sent",
                             asker->node, life->node, (unsigned long long)seq);
                continue;
            }
            life->seq_naks[seq - life->seq_first]++;
            if (life->seq_ns[seq - life->seq_first] + UNDERWAY_NS < asker->begin_ns)
                sim_fail(check->sim, "I4: node %d asks for packet %llu from before it was born",
                         asker->node, (unsigned long long)seq);
        }
    }
}

/* What its own packets say it no longer holds. */
static void watch_trail(struct sim_life *life, const uint8_t *bytes, uint8_t type)
{
    uint64_t trail = 0;

    if (type == 1)
        trail = md_be64(bytes + 24) - md_be32(bytes + 32);
    if (type == 4)
        trail = md_be64(bytes + 32);
    if (type == 7) /* leaving: it holds nothing any more */
        trail = md_be64(bytes + 24);
    for (uint32_t i = 0; type == 6 && bytes[34] == 2 && i < md_be16(bytes + 32); i++)
        trail = md_be64(bytes + 24) + md_be32(bytes + 40 + 8 * i) + md_be32(bytes + 44 + 8 * i);
    if (trail > life->trail)
        life->trail = trail;
}

void check_wire(struct sim_check *check, uint32_t index, const struct rrcp_packet *packet)
{
    const uint8_t *bytes = packet->bytes;
    uint32_t end = packet->length - (bytes[4] & 2 ? 24 : 0);

    if (packet->type == 1 && !(bytes[4] & 1))
        watch_data(check, &check->lives[index], bytes, end);
    if (packet->type == 5)
        watch_nak(check, &check->lives[index], bytes);
    watch_trail(&check->lives[index], bytes, packet->type);
}

/* ---- events ------------------------------------------------------------------------------- */

static bool is_covered(const struct sim_view *view, const struct sim_sent *sent)
{
    for (uint32_t i = view->gap_count; i-- > 0;)
        if (view->gaps[i].first <= sent->last && view->gaps[i].last >= sent->first)
            return true;
    return false;
}

/* Messages after `view->last` and before `number` were not delivered: were they told? */
static void check_missing(struct sim_check *check, int node, struct sim_life *life,
                          struct sim_view *view, uint32_t number)
{
    for (uint32_t k = view->last + 1; k < number; k++) {
        const struct sim_sent *sent = &life->sent[k];

        if (sent->to != 0 && sent->to != life_of_node(check, node) + 1)
            continue;
        if (sent->last == 0)
            continue; /* never left its sender whole */
        if (node < 64 && sent->excused >> node & 1)
            continue; /* it did not want it */
        if (!is_covered(view, sent))
            sim_fail(check->sim,
                     "I2: node %d was not told that message %u of node %d (packets %llu to %llu) "
                     "is missing",
                     node, k, life->node, (unsigned long long)sent->first,
                     (unsigned long long)sent->last);
    }
}

static void check_multicast(struct sim_check *check, int node, struct sim_life *life,
                            struct sim_view *view, const struct message_head *head,
                            const struct backbone_event *event)
{
    const struct sim_sent *sent;

    if (head->number == 0 || head->number > life->count) {
        sim_fail(check->sim, "I1: node %d got a message %u that was never sent", node,
                 head->number);
        return;
    }
    sent = &life->sent[head->number];
    if (view->has_base && head->number <= view->last)
        sim_fail(check->sim, "I1: node %d got message %u of node %d after %u", node, head->number,
                 life->node, view->last);
    if (view->has_base)
        check_missing(check, node, life, view, head->number);
    if (life->node != node) {
        if (is_covered(view, sent))
            sim_fail(check->sim, "I2: node %d got message %u of node %d, which a gap covers", node,
                     head->number, life->node);
        if (sent->last != event->seq)
            sim_fail(check->sim, "node %d: message %u of node %d is said to end in packet %llu",
                     node, head->number, life->node, (unsigned long long)event->seq);
        if (sent->first >= life->seq_first &&
            life->seq_ns[sent->first - life->seq_first] + UNDERWAY_NS <
                check->lives[life_of_node(check, node)].begin_ns)
            sim_fail(check->sim, "I4: node %d got message %u of node %d from before its birth",
                     node, head->number, life->node);
    }
    view->has_base = true;
    view->last = head->number;
    view->last_seq = event->seq;
    /* Gaps before this message can cover nothing that is still to come. */
    while (view->gap_count > 0 && view->gaps[0].last < sent->first) {
        memmove(view->gaps, view->gaps + 1, (view->gap_count - 1) * sizeof(*view->gaps));
        view->gap_count--;
    }
}

static void check_message_event(struct sim_check *check, int node, struct sim_life *life,
                                struct sim_view *view, const struct backbone_event *event)
{
    struct message_head head;
    bool is_unicast = event->flags & BACKBONE_FLAG_UNICAST;

    if (event->length < MESSAGE_BYTES_MIN) {
        sim_fail(check->sim, "I1: node %d got a message of %u bytes", node, event->length);
        return;
    }
    if (check->sim->has_hostile && memcmp(event->bytes, forger_mark, sizeof(forger_mark)) == 0) {
        view->unicast_may_miss = true; /* it stands in the place of a true one */
        if (!is_unicast)
            view->has_base = false;
        return;
    }
    memcpy(&head, event->bytes, sizeof(head));
    if (head.session != life->session || head.length != event->length ||
        head.is_unicast != is_unicast || (head.to && head.to != life_of_node(check, node) + 1) ||
        head.port != event->src_port) {
        sim_fail(check->sim, "I1: node %d got a message that is not what was sent to it", node);
        return;
    }
    for (uint32_t i = sizeof(head); i < event->length; i++)
        if (event->bytes[i] != body_byte(&head, i)) {
            sim_fail(check->sim, "I1: node %d got a damaged message", node);
            return;
        }
    for (uint32_t i = 0; i < view->port_count && !is_unicast; i++) /* streams have no order */
        if (view->ports_down[i] == event->src_port)
            sim_fail(check->sim, "node %d got a message of a user that is down", node);
    check->sim->messages++;
    if (!is_unicast) {
        check_multicast(check, node, life, view, &head, event);
        if (life->node != node)
            sim_latency(check->sim, node, head.sent_ns);
        return;
    }
    if (head.number <= view->unicast_last)
        sim_fail(check->sim, "I1: node %d got unicast message %u of node %d after %u", node,
                 head.number, life->node, view->unicast_last);
    if (head.number != view->unicast_last + 1 && !view->unicast_may_miss)
        sim_fail(check->sim,
                 "I2: node %d was not told that unicast messages %u to %u of node %d "
                 "are missing",
                 node, view->unicast_last + 1, head.number - 1, life->node);
    view->unicast_last = head.number;
    view->unicast_may_miss = false;
    view->wishes = head.wishes;
}

/* What waited for that life's node here is gone. It is told so before it gets anything newer; but
 * there may be nothing newer. */
static void excuse(struct sim_check *check, const struct sim_life *life, uint32_t index)
{
    check->views[life->node][index].unicast_excused =
        check->lives[index].unicast[life_of_node(check, life->node)];
}

static void check_gap(struct sim_check *check, int node, uint32_t index, struct sim_life *life,
                      struct sim_view *view, const struct backbone_event *event)
{
    check->gap_reasons[event->reason & 7]++;
    check->node_gaps[(uint32_t)node * 8 + (event->reason & 7)]++;
    if (event->flags & BACKBONE_FLAG_UNICAST) {
        view->unicast_may_miss = true;
        excuse(check, life, index);
        return;
    }
    if (check->sim->options.no_gaps && !check->sim->nodes[node].may_gap)
        sim_fail(check->sim, "I3: node %d has a gap, %llu to %llu of node %d, reason %u", node,
                 (unsigned long long)event->seq, (unsigned long long)event->last, life->node,
                 event->reason);
    if (event->seq > event->last || event->count == 0)
        sim_fail(check->sim, "node %d: an empty gap", node);
    if (event->reason == BACKBONE_GAP_NOT_HELD && event->seq >= life->trail &&
        !check->sim->has_hostile)
        sim_fail(check->sim, "node %d gives up packet %llu of node %d, which that still holds",
                 node, (unsigned long long)event->seq, life->node);
    if (event->seq <= view->gap_last)
        sim_fail(check->sim, "I2: node %d was told twice of packet %llu of node %d", node,
                 (unsigned long long)event->seq, life->node);
    if (view->has_base && event->seq <= view->last_seq)
        sim_fail(check->sim, "I2: a gap at node %d covers delivered packet %llu of node %d", node,
                 (unsigned long long)event->seq, life->node);
    view->rejoins += event->reason == BACKBONE_GAP_REJOIN;
    view->gap_last = event->last;
    view->gaps = grow(view->gaps, &view->gap_size, view->gap_count + 1, sizeof(*view->gaps));
    view->gaps[view->gap_count++] = (struct sim_gap){ event->seq, event->last };
}

static void peer_down(struct sim_check *check, int node, uint32_t index, uint64_t session)
{
    struct sim_life *life = check_life(check, session);

    check->views[node][(uint32_t)(session & 0xffff)].downs++;
    check->views[node][(uint32_t)(session & 0xffff)].is_up = false;
    check->views[node][(uint32_t)(session & 0xffff)].unicast_may_miss = true;
    excuse(check, life, index);
}

void check_event(struct sim_check *check, int node, uint32_t index,
                 const struct backbone_event *event)
{
    struct sim_life *life = check_life(check, event->session);
    bool is_own = event->session == check->lives[index].session;
    struct sim_view *view;

    if (event->type == BACKBONE_TX_READY)
        return;
    if (!life) {
        if (!check->sim->has_hostile || check->sim->forger)
            sim_fail(check->sim, "node %d is told of a session that does not exist", node);
        return;
    }
    view = &check->views[node][event->session & 0xffff];
    if (event->type == BACKBONE_TX_DROPPED)
        return;
    if (check->sim->is_forged) {
        if (event->type == BACKBONE_PEER_UP || event->type == BACKBONE_PEER_DOWN)
            view->is_up = event->type == BACKBONE_PEER_UP;
        view->downs += event->type == BACKBONE_PEER_DOWN;
        return;
    }
    if (event->type == BACKBONE_PEER_UP) {
        if (view->is_up)
            sim_fail(check->sim, "I14: node %d is told twice that node %d is up", node, life->node);
        for (uint32_t i = (uint32_t)(event->session & 0xffff) + 1; i < check->life_count; i++)
            if (check->lives[i].node == life->node && check->views[node][i].is_up)
                sim_fail(check->sim, "I13: at node %d an old session of node %d came back", node,
                         life->node);
        view->is_up = view->was_up = true;
        return;
    }
    if (!view->is_up && !is_own)
        sim_fail(check->sim, "I14: node %d is told something (%u) of node %d, which is not up",
                 node, event->type, life->node);
    if (event->type == BACKBONE_MESSAGE)
        check_message_event(check, node, life, view, event);
    if (event->type == BACKBONE_GAP)
        check_gap(check, node, index, life, view, event);
    if (event->type == BACKBONE_PEER_DOWN)
        peer_down(check, node, index, event->session);
    if (event->type == BACKBONE_USER_DOWN) {
        view->ports_down[view->port_count % 4] = event->src_port;
        if (view->port_count < 4)
            view->port_count++;
    }
}

void check_calm(struct sim_check *check)
{
    for (int node = 0; node < check->nodes; node++)
        for (uint32_t i = 0; i < check->life_count; i++) {
            struct sim_view *view = &check->views[node][i];

            free(view->gaps);
            *view = (struct sim_view){ .is_up = view->is_up,
                                       .was_up = view->was_up,
                                       .unicast_may_miss = true };
        }
}

bool check_is_up(const struct sim_check *check, int node, uint32_t life)
{
    return check->views[node][life].is_up;
}

bool check_has_heard(const struct sim_check *check, int node, uint32_t life)
{
    return check->views[node][life].has_base;
}

bool check_has_unicast(const struct sim_check *check, int node, uint32_t life)
{
    return check->views[node][life].unicast_last > 0;
}

void check_forget(struct sim_check *check, int node)
{
    for (uint32_t i = 0; i < check->life_count; i++) {
        struct sim_view *view = &check->views[node][i];

        free(view->gaps);
        *view = (struct sim_view){ .unicast_may_miss = false };
    }
}

void check_end(struct sim_check *check, int node, uint32_t index, struct rrcp *r)
{
    struct sim_life *life = &check->lives[index];
    struct sim_view *view = &check->views[node][index];
    struct rrcp_peer_info info;
    uint32_t me = life_of_node(check, node);

    for (uint32_t i = 0; rrcp_peer_info(r, i, &info); i++) {
        if (info.session != life->session)
            continue;
        if (info.missing_now != 0)
            sim_fail(check->sim, "I5: node %d still misses %u packets of node %d", node,
                     info.missing_now, life->node);
        if (life->seq_last && info.next_seq != life->seq_last + 1)
            sim_fail(check->sim, "I5: node %d expects packet %llu of node %d, which ended at %llu",
                     node, (unsigned long long)info.next_seq, life->node,
                     (unsigned long long)life->seq_last);
        if (view->has_base)
            check_missing(check, node, life, view, life->count + 1);
        if (life->unicast[me] != view->unicast_last && !view->unicast_may_miss &&
            life->unicast[me] > view->unicast_excused)
            sim_fail(check->sim, "I5: node %d lacks unicast messages %u to %u of node %d", node,
                     view->unicast_last + 1, life->unicast[me], life->node);
        return;
    }
    sim_fail(check->sim, "I5: node %d does not see node %d", node, life->node);
}
