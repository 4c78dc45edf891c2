/* limits.c - what an engine may put on the wire (I17, I7), and its pool's two marks (I15). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

/* Of the wire format, and what the protocol allows a node, in packets per second and at once. */
#define TYPE_DATA          1
#define TYPE_UACK          3
#define TYPE_BEACON        4
#define TYPE_NAK           5
#define TYPE_NCF           6
#define TYPE_SOLICIT       8
#define TYPE_STATUS        9
#define FLAG_RETRANS       1
#define NAK_BURST          100
#define NAK_CROWD          4   /* with few receivers each may ask so many times as often */
#define STATUS_RATE        50  /* and as many at once */
#define FLOW_RATE          220 /* with flow control, to each peer: one in 5 ms */
#define BEACON_ANSWER      10  /* to SOLICIT */
#define BEACON_START       4
#define PROBES             10 /* to all addresses of a mesh that have no peer; and as many at once */
#define STATE_PROBE        16
#define TLV_ECHO           5
#define CHALLENGES         16000 /* a second, to strangers */
#define CHALLENGES_AT_ONCE 2048

void limits_received(struct sim_node *node, const struct rrcp_arrival in[], int count)
{
    for (int i = 0; i < count; i++) {
        node->second.input_bytes += in[i].length;
        node->second.input_packets++;
    }
}

/* A BEACON that says so; one with an echo is an answer, whatever it says. */
static bool is_probe(const struct rrcp_packet *p)
{
    uint32_t tlv = 64 + ((p->bytes[62] + 3u) & ~3u);

    return (p->bytes[55] & STATE_PROBE) && tlv < p->length && p->bytes[tlv] != TLV_ECHO;
}

void limits_sent(struct sim_node *node, const struct rrcp_packet *p)
{
    switch (p->type) {
    case TYPE_DATA:
        if (p->bytes[4] & FLAG_RETRANS)
            node->second.repair_bytes += p->length;
        break;
    case TYPE_UACK:
    case TYPE_NCF:
        node->second.answer_bytes += p->length;
        break;
    case TYPE_SOLICIT:
        node->second.challenges++;
        break;
    case TYPE_BEACON:
        if (is_probe(p))
            node->second.probes++;
        else if (p->to)
            node->second.answer_bytes += p->length;
        else
            node->second.beacons++;
        break;
    case TYPE_NAK:
        node->second.naks++;
        break;
    case TYPE_STATUS:
        node->second.statuses++;
        break;
    default:
        break; /* messages of its users */
    }
}

static void within(struct sim *sim, const struct sim_node *node, const char *what, uint64_t sent,
                   double most)
{
    if ((double)sent > most)
        sim_fail(sim, "I17: node %d sent %llu %s in a second, its budget is %.0f", node->number,
                 (unsigned long long)sent, what, most);
}

/* The second is over: were the budgets kept, and the rest in proportion to what came in? */
static void check_second(struct sim *sim, const struct sim_node *node, double seconds)
{
    const struct rrcp_config *c = &sim->options.config;
    const struct sim_second *now = &node->second;
    double rate = (double)sim_repair_rate(sim);
    double burst = c->repair_burst_bytes ? (double)c->repair_burst_bytes
                                         : rate / 100 + 4.0 * c->packet_bytes_max;
    double statuses = STATUS_RATE * (seconds + 1);

    if (c->flow_control == RRCP_FLOW_CONTROL_MIN)
        statuses += seconds * FLOW_RATE * c->peers_max +
                    (double)(now->input_packets + node->second_before.input_packets) / 1024;
    /* What waits for its turn was paid for before: 20 ms of it, and one packet of debt. */
    within(sim, node, "bytes of repairs", now->repair_bytes,
           c->path_count * (rate * (seconds + 0.02) + burst + c->packet_bytes_max));
    within(sim, node, "challenges", now->challenges,
           c->path_count * (CHALLENGES * seconds + CHALLENGES_AT_ONCE) + 10 * c->peers_max);
    within(sim, node, "requests", now->naks, c->nak_rate * NAK_CROWD * seconds + NAK_BURST + 1);
    within(sim, node, "status reports", now->statuses, statuses);
    within(sim, node, "beacons", now->beacons,
           c->path_count *
               (seconds * (1.2e9 / (double)c->beacon_min_ns + BEACON_ANSWER) + BEACON_START));
    within(sim, node, "probes", now->probes, PROBES * (seconds + 1) + 1);
    /* What answers a packet may come a moment, and so a second, after it. */
    within(sim, node, "bytes of answers", now->answer_bytes,
           2.0 * (double)(now->input_bytes + node->second_before.input_bytes));
}

/* I15: over from the high mark on, until the use is below the low one. */
static void check_pool(struct sim *sim, struct sim_node *node)
{
    const struct rrcp_counters *c = rrcp_counters(node->r);
    uint64_t packets = sim->options.config.pool_packets;
    uint64_t high =
        sim->options.config.pool_high ? sim->options.config.pool_high : packets / 100 * 85 + 1;
    uint64_t low = sim->options.config.pool_low ? sim->options.config.pool_low : high / 85 * 70;

    node->is_over = c->over_entered != c->over_left;
    if (c->over_entered - c->over_left > 1)
        sim_fail(sim, "I15: node %d entered over twice without leaving", node->number);
    if (node->is_over ? c->pool_use < low : c->pool_use >= high)
        sim_fail(sim, "I15: node %d uses %llu packets and is %s over (high %llu, low %llu)",
                 node->number, (unsigned long long)c->pool_use, node->is_over ? "still" : "not",
                 (unsigned long long)high, (unsigned long long)low);
    if (node->entered_use && node->entered_use != high)
        sim_fail(sim, "I15: node %d entered over at %llu packets, high is %llu", node->number,
                 (unsigned long long)node->entered_use, (unsigned long long)high);
    if (node->left_use >= low)
        sim_fail(sim, "I15: node %d left over at %llu packets, low is %llu", node->number,
                 (unsigned long long)node->left_use, (unsigned long long)low);
    for (int i = 0; node->is_over; i++) {
        if (i == sim->options.nodes) {
            sim->coverage->all_over++;
            break;
        }
        if (sim->nodes[i].r && !sim->nodes[i].is_over)
            break;
    }
}

void limits_check(struct sim *sim, struct sim_node *node)
{
    uint64_t now_ns = simnet_now(sim->net);

    check_pool(sim, node);
    if (now_ns < node->second.begin_ns + SEC)
        return;
    check_second(sim, node, (double)(now_ns - node->second.begin_ns) / 1e9);
    node->second_before = node->second;
    node->second = (struct sim_second){ .begin_ns = now_ns };
}

uint64_t sim_repair_rate(const struct sim *sim)
{
    const struct rrcp_config *c = &sim->options.config;

    return c->repair_rate ? c->repair_rate : c->interface_bits_per_s / 8 / 5;
}
