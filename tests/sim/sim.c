/* sim.c - simulated nodes: the shell around each engine, and what can happen to a node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"

#define LIVES_PER_NODE 12
#define LIVES_MORE     40 /* of many nodes only some can restart: views grow by the square */
#define LATENCY_STEPS  2048
#define SPINS_MAX      10000
#define SETTLE_NS      (2500 * MS) /* recoverTimeout + 2 s */
#define DEATH_NS       (5 * SEC)
#define UD_RING        512        /* receives that are posted */
#define UD_LUMP_NS     (300 * US) /* completions are seen so seldom */

void sim_fail(struct sim *sim, const char *format, ...)
{
    va_list args;

    if (sim->failure[0])
        return; /* the first says most */
    int n = snprintf(sim->failure, sizeof(sim->failure),
                     "at %.6f s: ", (double)simnet_now(sim->net) / 1e9);

    va_start(args, format);
    vsnprintf(sim->failure + n, sizeof(sim->failure) - (size_t)n, format, args);
    va_end(args);
}

bool sim_has_failed(const struct sim *sim)
{
    return sim->failure[0] != 0;
}

const char *sim_failure(const struct sim *sim)
{
    return sim->failure;
}

static void trace(struct sim *sim, int node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void trace(struct sim *sim, int node, const char *format, ...)
{
    va_list args;

    if (!sim->options.trace)
        return;
    printf("%12.6f node %-3d ", (double)simnet_now(sim->net) / 1e9, node);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void hash_bytes(struct sim *sim, const void *bytes, size_t length)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < length; i++)
        sim->hash = (sim->hash ^ p[i]) * 0x100000001b3ull;
}

static void hash_number(struct sim *sim, uint64_t number)
{
    sim->hash = (sim->hash ^ number) * 0x9e3779b97f4a7c15ull;
    sim->hash ^= sim->hash >> 29;
}

void sim_latency(struct sim *sim, int node, uint64_t sent_ns)
{
    double us = (double)(simnet_now(sim->net) - sent_ns) / 1000.0;
    int step = us < 1 ? 0 : (int)(log(us) / log(1.02));

    if (sim->nodes[node].is_apart)
        return;
    sim->latency[step < LATENCY_STEPS ? step : LATENCY_STEPS - 1]++;
}

void sim_latency_forget(struct sim *sim)
{
    memset(sim->latency, 0, LATENCY_STEPS * sizeof(*sim->latency));
}

uint64_t sim_latency_ns(const struct sim *sim, double quantile)
{
    uint64_t total = 0;
    uint64_t sum = 0;

    for (int i = 0; i < LATENCY_STEPS; i++)
        total += sim->latency[i];
    for (int i = 0; i < LATENCY_STEPS; i++) {
        sum += sim->latency[i];
        if ((double)sum >= quantile * (double)total)
            return (uint64_t)(pow(1.02, i + 1) * 1000.0);
    }
    return 0;
}

/* ---- clocks and memory of a node ---------------------------------------------------------- */

/* The node's clock; off by up to an hour, and too fast or too slow. */
static uint64_t local_ns(const struct sim_node *node, uint64_t ns)
{
    return (uint64_t)((int64_t)((double)ns * node->clock_rate) + node->clock_offset_ns);
}

static uint64_t true_ns(const struct sim_node *node, uint64_t ns)
{
    if (ns == RRCP_NEVER)
        return RRCP_NEVER;
    return (uint64_t)((double)((int64_t)ns - node->clock_offset_ns) / node->clock_rate) + 1;
}

static void *node_take(void *context, size_t bytes)
{
    struct sim_node *node = context;
    void *memory = calloc(1, bytes);

    node->memory += bytes;
    return memory;
}

static void node_give(void *context, void *memory, size_t bytes)
{
    struct sim_node *node = context;

    node->memory -= bytes;
    free(memory);
}

static struct sim_coverage *noted_coverage; /* the note callback's way out */

static void node_note(void *context, enum rrcp_note note, uint64_t session, uint64_t value)
{
    struct sim_node *node = context;

    (void)session;
    if (note == RRCP_NOTE_OVER_ENTERED)
        node->entered_use = value;
    if (note == RRCP_NOTE_OVER_LEFT)
        node->left_use = value;
    if (noted_coverage)
        noted_coverage->notes[note]++;
}

/* ---- lives -------------------------------------------------------------------------------- */

static void attach_users(struct sim_node *node)
{
    const struct rrcp_user user = { .receives = true };

    for (int i = 0; i < SIM_USERS; i++)
        node->ports[i] = rrcp_user_add(node->r, &user);
}

static bool completes_late(const struct sim *sim)
{
    return sim->options.personality == SIMNET_VERBS || sim->options.personality == SIMNET_UD;
}

static uint32_t packet_bytes(const struct sim *sim)
{
    static const uint32_t mtus[] = { 1024, 2044, 4096 };

    return sim->options.personality == SIMNET_UD ? mtus[sim->options.seed % 3] : 1024;
}

uint32_t sim_packet_bytes(const struct sim *sim)
{
    return sim->options.personality == SIMNET_UD ? packet_bytes(sim) : 1472;
}

/* When a packet that is sent now is the engine's again. */
static uint64_t done_ns(const struct sim *sim)
{
    uint64_t now_ns = simnet_now(sim->net);

    if (sim->options.personality == SIMNET_UD)
        return (now_ns / UD_LUMP_NS + 1) * UD_LUMP_NS;
    return now_ns + 20 * US;
}

bool sim_is_mesh(const struct sim *sim)
{
    return sim->options.personality == SIMNET_MESH && sim->options.config.path_count == 1;
}

/* Which addresses the node knows: a few know all, or all know all, themselves included. */
static void set_seeds(const struct sim *sim, const struct sim_node *node,
                      struct rrcp_config *config)
{
    struct rrcp_mesh_config *mesh = &config->mesh;
    int count = sim->options.seeds && node->number >= sim->options.seeds ? sim->options.seeds
                                                                         : sim->options.nodes;

    if (!sim_is_mesh(sim))
        return;
    mesh->is_on = true;
    simnet_address(sim->net, node->number, 0, &mesh->self);
    for (int i = 0; i < count; i++)
        simnet_address(sim->net, i, 0, &mesh->seeds[mesh->seed_count++]);
}

static void life_begin(struct sim *sim, struct sim_node *node)
{
    struct rrcp_config config = sim->options.config;
    struct rrcp_env env = { .context = node,
                            .take = node_take,
                            .give = node_give,
                            .note = node_note,
                            .seed = { md_prng_u64(&sim->prng), md_prng_u64(&sim->prng) },
                            .seal = &sim->seal };
    uint64_t session = (md_prng_u64(&sim->prng) | 1ull << 63) << 16 | sim->check.life_count;

    if (session >> 16 == 0)
        session |= 1ull << 40;
    snprintf(node->name_text, sizeof(node->name_text), "node%d.1.rrcpd", node->name);
    config.network = "sim";
    config.node = node->name_text;
    config.session = session;
    set_seeds(sim, node, &config);
    if (completes_late(sim)) {
        config.packet_bytes_max = packet_bytes(sim);
        config.headroom_bytes = sim->options.personality == SIMNET_VERBS ? 40 : 0;
        config.completes_late = true;
        config.send_queue_max = SIM_QUEUE;
    }
    node->life = check_begin(&sim->check, node->number, session, simnet_now(sim->net));
    node->stopping_ns = 0;
    node->is_full = false;
    node->flight_count = 0;
    node->second = (struct sim_second){ .begin_ns = simnet_now(sim->net) };
    node->second_before = node->second;
    node->is_over = false;
    node->entered_use = node->left_use = 0;
    MD_ASSERT(rrcp_create(&config, &env, &node->r) == MD_OK);
    node->memory_base = node->memory;
    attach_users(node);
    node->users = node->number == 0 ? users_begin(sim, session) : NULL;
    node->next_message_ns = simnet_now(sim->net) + 200 * MS;
    node->next_wish_ns =
        sim->options.wish_ms && sim_is_mesh(sim) ? simnet_now(sim->net) : RRCP_NEVER;
    simnet_wake(sim->net, node->number, simnet_now(sim->net));
}

static void sum_counters(struct rrcp_counters *sum, const struct rrcp_counters *add)
{
    uint64_t *a = (uint64_t *)sum;
    const uint64_t *b = (const uint64_t *)add;

    for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
        a[i] += b[i];
}

static void check_tables(struct sim *sim, struct sim_node *node)
{
    const char *broken = rrcp_check(node->r);

    if (broken)
        sim_fail(sim, "rrcp_check: node %d: %s", node->number, broken);
}

static void life_end(struct sim *sim, struct sim_node *node)
{
    check_tables(sim, node);
    sum_counters(&node->last, rrcp_counters(node->r));
    sim->check.lives[node->life].is_over = true;
    if (rrcp_counters(node->r)->memory_bytes_high > sim->coverage->memory_high)
        sim->coverage->memory_high = rrcp_counters(node->r)->memory_bytes_high;
    if (node->users)
        users_end(sim, node->users);
    node->users = NULL;
    rrcp_destroy(node->r);
    node->r = NULL;
    if (node->memory != 0)
        sim_fail(sim, "I10: node %d did not give back %llu bytes", node->number,
                 (unsigned long long)node->memory);
    node->memory = 0;
    simnet_flush(sim->net, node->number);
    check_forget(&sim->check, node->number);
}

struct sim *sim_create(const struct sim_options *options, struct sim_coverage *coverage)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    struct simnet_config net = { .seed = options->seed ^ 0x5151,
                                 .nodes = options->nodes,
                                 .personality = options->personality,
                                 .socket_bytes = options->socket_bytes,
                                 .ring_packets = options->personality == SIMNET_UD ? UD_RING : 0 };

    MD_ASSERT(sim);
    noted_coverage = coverage;
    sim->options = *options;
    sim->coverage = coverage;
    sim->prng = md_prng_init(options->seed);
    sim->wishes = md_prng_init(options->seed ^ 0x717171);
    sim->net = simnet_create(&net);
    if (options->config.key_count > 0)
        sim->cipher = sealed_begin(sim, &sim->seal);
    sim->nodes = calloc((size_t)options->nodes, sizeof(*sim->nodes));
    sim->latency = calloc(LATENCY_STEPS, sizeof(*sim->latency));
    sim->scratch = calloc(1, 1u << 20);
    MD_ASSERT(sim->nodes && sim->latency && sim->scratch);
    check_init(&sim->check, sim, options->nodes,
               options->nodes > 40 ? (uint32_t)options->nodes + LIVES_MORE
                                   : (uint32_t)options->nodes * LIVES_PER_NODE);
    sim->hash = 0xcbf29ce484222325ull;
    for (int i = 0; i < options->nodes; i++) {
        struct sim_node *node = &sim->nodes[i];

        node->number = node->name = i;
        node->clock_rate = 1.0;
        node->clock_offset_ns = 3600 * (int64_t)SEC;
        if (options->clocks_differ) {
            node->clock_offset_ns += (int64_t)(md_prng_u64(&sim->prng) % (3600 * SEC));
            node->clock_rate += ((double)md_prng_below(&sim->prng, 401) - 200.0) / 1e6;
        }
        life_begin(sim, node);
    }
    return sim;
}

static void cover(struct sim *sim)
{
    struct sim_coverage *c = sim->coverage;
    const struct simnet_counters *net = simnet_counters(sim->net);
    struct rrcp_counters sum;

    sim_totals(sim, &sum);
    c->runs++;
    c->nodes += (uint64_t)sim->options.nodes;
    c->packets += net->sent;
    c->messages += sim->messages;
    c->virtual_ns += simnet_now(sim->net);
    for (int i = 0; i < SIMNET_FAULT_count; i++)
        c->faults[i] += net->faults[i];
    for (int i = 0; i < 16; i++)
        c->events[i] += sim->events[i];
    for (int i = 0; i < 8; i++)
        c->gaps[i] += sim->check.gap_reasons[i];
    for (int i = 0; i < RRCP_DROP_count; i++)
        c->drops[i] += sum.drop[i];
    for (int i = 0; i < RRCP_TRANSITION_count; i++)
        c->transitions[i] += sum.transitions[i];
    c->full += sum.submit_full;
    c->dropped += sum.unicast_dropped;
    c->over += sum.over_entered;
    c->resets += sum.unicast_resets;
    c->override += sum.nak_override;
    c->aimd += sum.rate_cuts;
    c->flow_lost += sum.flow_receivers_lost;
    c->conflicts += sum.peer_name_conflicts;
}

void sim_destroy(struct sim *sim)
{
    cover(sim);
    for (int i = 0; i < sim->options.nodes; i++)
        if (sim->nodes[i].r)
            life_end(sim, &sim->nodes[i]);
    check_fini(&sim->check);
    forger_end(sim->forger);
    sealed_end(sim->cipher);
    simnet_destroy(sim->net);
    free(sim->nodes);
    free(sim->latency);
    free(sim->scratch);
    free(sim);
}

/* ---- one run of a node's loop ------------------------------------------------------------- */

static void take_events(struct sim *sim, struct sim_node *node)
{
    struct backbone_event events[SIM_BATCH];
    int n;

    while ((n = rrcp_event(node->r, events, SIM_BATCH)) > 0)
        for (int i = 0; i < n; i++) {
            const struct backbone_event *e = &events[i];

            sim->events[e->type & 15]++;
            hash_number(sim, e->type);
            hash_number(sim, e->seq);
            if (e->bytes)
                hash_bytes(sim, e->bytes, e->length < 16 ? e->length : 16);
            if (e->type == BACKBONE_TX_READY)
                node->is_full = false;
            if (e->type == BACKBONE_PEER_UP)
                node->met_ns = simnet_now(sim->net);
            if (e->type != BACKBONE_MESSAGE)
                trace(sim, node->number, "event %u session %llx seq %llu last %llu reason %u",
                      e->type, (unsigned long long)e->session, (unsigned long long)e->seq,
                      (unsigned long long)e->last, e->reason);
            check_event(&sim->check, node->number, node->life, e);
            if (node->users)
                users_event(sim, node->users, e);
        }
}

static int pick_node(struct sim *sim, int not_this)
{
    int other = (int)md_prng_below(&sim->prng, (uint32_t)sim->options.nodes);

    (void)not_this;
    return other;
}

static const uint32_t topics[SIM_TOPICS + 1] = { 0, 1, 0x101, UINT32_MAX };

static void set_wish(struct sim *sim, struct sim_node *node, uint32_t bits)
{
    uint32_t list[SIM_TOPICS];
    uint32_t count = 0;

    for (int t = 0; t < SIM_TOPICS; t++)
        if (bits >> t & 1)
            list[count++] = topics[t];
    check_wish(&sim->check, node->number, bits);
    rrcp_interest_set(node->r, local_ns(node, simnet_now(sim->net)),
                      bits == SIM_WISH_ALL ? NULL : list, count);
    trace(sim, node->number, "wants %x", bits);
}

void sim_wish(struct sim *sim, int node, uint32_t bits)
{
    set_wish(sim, &sim->nodes[node], bits);
    simnet_wake(sim->net, node, simnet_now(sim->net));
}

void sim_wishes_known(struct sim *sim)
{
    check_wishes_known(&sim->check);
}

/* The node wants everything, nothing, or some topics. */
static void wish(struct sim *sim, struct sim_node *node)
{
    uint64_t now_ns = simnet_now(sim->net);

    if (now_ns < node->next_wish_ns)
        return;
    if (sim->is_settling) {
        node->next_wish_ns = RRCP_NEVER;
        return;
    }
    bool is_all = md_prng_below(&sim->wishes, 8) == 0;

    set_wish(sim, node, is_all ? SIM_WISH_ALL : md_prng_below(&sim->wishes, 8));
    node->next_wish_ns = now_ns + (1 + md_prng_below(&sim->wishes, 2 * sim->options.wish_ms)) * MS;
}

/* False: the engine is full. */
static bool submit_one(struct sim *sim, struct sim_node *node)
{
    const struct sim_load *load = &node->load;
    uint32_t kind = md_prng_below(&sim->prng, 1000000);
    bool is_unicast = kind < load->unicast_ppm;
    bool is_directed = !is_unicast && kind < load->unicast_ppm + load->directed_ppm;
    int to = is_unicast || is_directed ? pick_node(sim, node->number) : -1;
    int user = (int)md_prng_below(&sim->prng, SIM_USERS);
    uint32_t length = MESSAGE_BYTES_MIN;
    int topic = (int)md_prng_below(&sim->prng, 4);
    static const uint16_t ports[] = { 0, 0, 1, 65535 };
    struct rrcp_msg msg = {
        .bytes = sim->scratch,
        .topic = topics[topic],
        .port = ports[md_prng_below(&sim->prng, 4)],
        .flags = is_unicast ? RRCP_MSG_UNICAST : 0,
    };
    uint64_t dropped = rrcp_counters(node->r)->unicast_dropped;

    if (load->bytes_max > length)
        length += md_prng_below(&sim->prng, load->bytes_max - length);
    if (load->large_ppm && md_prng_chance(&sim->prng, load->large_ppm))
        length = md_prng_below(&sim->prng, load->large_bytes_max);
    if (to >= 0) {
        if (!sim->nodes[to].r)
            return true;
        msg.session = rrcp_session(sim->nodes[to].r);
    }
    msg.length = check_message(&sim->check, node->life, sim->scratch, length,
                               (uint16_t)node->ports[user], to, is_unicast);
    if (to < 0)
        check_topic(&sim->check, node->life, topic);
    int err = rrcp_submit(node->r, local_ns(node, simnet_now(sim->net)), node->ports[user], &msg);

    if (err != MD_OK || rrcp_counters(node->r)->unicast_dropped != dropped)
        check_unmessage(&sim->check, node->life, to, is_unicast);
    return err != MD_ERR_FULL;
}

static void submit_due(struct sim *sim, struct sim_node *node)
{
    uint64_t now_ns = simnet_now(sim->net);
    uint32_t burst = node->load.burst ? node->load.burst : 1;
    int most = 2000;

    if (node->load.per_s == 0 || node->stopping_ns)
        return;
    if (node->next_message_ns + SEC < now_ns)
        node->next_message_ns = now_ns; /* it slept: what it did not publish then is not made up */
    while (node->next_message_ns <= now_ns && !node->is_full && most-- > 0) {
        for (uint32_t i = 0; i < burst && !node->is_full; i++)
            node->is_full = !submit_one(sim, node);
        node->next_message_ns += SEC * burst / node->load.per_s;
    }
}

static uint64_t sum_of(const uint8_t *bytes, uint32_t length)
{
    uint64_t sum = length;

    for (uint32_t i = 0; i < length; i++)
        sum = (sum ^ bytes[i]) * 0x100000001b3ull;
    return sum;
}

/* A stranger at an address of its own can answer, and is a peer then. */
static void answer_challenge(struct sim *sim, int node, const struct rrcp_packet *p)
{
    uint8_t bytes[86] = { 0 };

    if (p->type != 8 || sim->forger || sim->options.config.key_count > 0)
        return;
    memcpy(bytes, p->bytes, 24);
    bytes[3] = 4;
    md_put_be16(bytes + 6, sizeof(bytes));
    memcpy(bytes + 8, p->bytes + 24, 8);
    md_put_be64(bytes + 24, 1);
    md_put_be64(bytes + 32, 1);
    bytes[62] = bytes[63] = 1;
    bytes[64] = p->bytes[31];
    bytes[68] = 5;
    bytes[69] = 16;
    memcpy(bytes + 70, p->bytes + 8, 8);
    memcpy(bytes + 78, p->bytes + 32, 8);
    simnet_inject(sim->net, node, p->to, bytes, sizeof(bytes), false);
}

/* Mesh: a copy to each address that the engine names, all of them of nodes. */
static void send_to_each(struct sim *sim, struct sim_node *node, const struct rrcp_packet *p)
{
    struct rrcp_address addresses[RRCP_MESH_PEERS_MAX];
    uint64_t places[RRCP_MESH_PEERS_MAX];
    int count = rrcp_group(node->r, addresses, places, RRCP_MESH_PEERS_MAX);
    int path;

    if (p->type == 1 && (p->bytes[4] & 1))
        sim_fail(sim, "node %d sends a repair to all", node->number);
    for (int i = 0; i < count; i++) {
        int to = simnet_node_of(sim->net, &addresses[i], &path);

        if (to < 0 || to == node->number)
            sim_fail(sim, "node %d has an address in its group that is nobody's", node->number);
        else if ((places[i] & ~p->skipped) != 0)
            simnet_send(sim->net, node->number, 0, to, p->bytes, p->length);
    }
}

/* In a mesh a sender takes a node for a peer after the node has taken it: the packets between its
 * echo and then went to the others only, and are asked for. */
static bool has_just_met(const struct sim *sim, const struct sim_node *node)
{
    return sim_is_mesh(sim) && simnet_now(sim->net) < node->met_ns + 100 * MS;
}

static void send_packet(struct sim *sim, struct sim_node *node, const struct rrcp_packet *p)
{
    int path = p->path;
    int to = SIMNET_GROUP;

    hash_number(sim, p->length);
    hash_bytes(sim, p->bytes, p->length < 64 ? p->length : 64);
    struct rrcp_packet plain = *p;

    plain.bytes = sealed_plain(sim->cipher, p);
    check_wire(&sim->check, node->life, &plain);
    limits_sent(node, p);
    forger_hear(sim, node->number, p);
    if (completes_late(sim)) {
        if (sim->options.personality == SIMNET_VERBS)
            memset(p->bytes - 40, 0xee, 40); /* the transport's to use */
        if (node->flight_count >= SIM_QUEUE)
            sim_fail(sim, "node %d hands over more than the transport's send queue holds",
                     node->number);
        MD_ASSERT(node->flight_count < SIM_FLIGHTS);
        uint32_t at = (node->flight_head + node->flight_count++) % SIM_FLIGHTS;

        node->flights[at].buffer = p->buffer;
        node->flights[at].length = p->length;
        node->flights[at].bytes = p->bytes;
        node->flights[at].sum = sum_of(p->bytes, p->length);
        node->flights[at].done_ns = done_ns(sim);
        sim->coverage->late_full += node->flight_count == SIM_QUEUE;
    }
    if (p->to) {
        int of_path;

        to = simnet_node_of(sim->net, p->to, &of_path);
        if (to < 0) { /* a hostile packet's address */
            answer_challenge(sim, node->number, p);
            return;
        }
        if (of_path != path)
            sim_fail(sim, "node %d sends to path %d's address on path %d", node->number, of_path,
                     path);
        if (p->type == 1)
            sim->nodes[to].repair_bytes_to += p->length;
    }
    if (p->type != 1)
        trace(sim, node->number, "sends type %u, %u bytes, to %d", p->type, p->length, to);
    if (sim->options.no_naks && p->type == 5 && !has_just_met(sim, node))
        sim_fail(sim, "node %d sends a request", node->number);
    if (to == SIMNET_GROUP && sim_is_mesh(sim))
        send_to_each(sim, node, p);
    else
        simnet_send(sim->net, node->number, path, to, p->bytes, p->length);
}

static void complete(struct sim *sim, struct sim_node *node)
{
    while (node->flight_count > 0 &&
           node->flights[node->flight_head].done_ns <= simnet_now(sim->net)) {
        if (sum_of(node->flights[node->flight_head].bytes,
                   node->flights[node->flight_head].length) != node->flights[node->flight_head].sum)
            sim_fail(sim, "node %d changed a packet that the transport still had", node->number);
        rrcp_sent(node->r, &node->flights[node->flight_head].buffer, 1);
        node->flight_head = (node->flight_head + 1) % SIM_FLIGHTS;
        node->flight_count--;
    }
}

/* What the engine may take from its environment beyond what create took: see its README. */
static uint64_t memory_max(const struct sim *sim, const struct sim_node *node)
{
    const struct rrcp_config *c = &sim->options.config;
    uint64_t windows = c->windows_max < c->peers_max ? c->windows_max : c->peers_max;
    uint64_t peers = 2 * c->peers_max; /* the dead ones, until their last event is taken */

    return node->memory_base + peers * (1024 + 6144 + 65536) +
           windows * (16ull + 1) * c->window_packets + c->assembly_bytes_max +
           c->unicast_bytes_max + (1 << 20); /* spare segments */
}

/* Does it miss packets? In a large group one peer is looked at each time, all of them in turn. */
static bool has_hole(const struct sim *sim, struct sim_node *node, uint64_t peers)
{
    struct rrcp_peer_info info;

    if (sim->options.nodes > 10)
        return peers > 0 && rrcp_peer_info(node->r, node->looked++ % (uint32_t)peers, &info) &&
               info.missing_now > 0;
    for (uint32_t i = 0; rrcp_peer_info(node->r, i, &info); i++)
        if (info.missing_now > 0)
            return true;
    return false;
}

/* I8, I9, I10: whatever waits has a timer, and nothing is over its bound. */
static void check_bounds(struct sim *sim, struct sim_node *node)
{
    const struct rrcp_counters *c = rrcp_counters(node->r);
    uint64_t now_ns = local_ns(node, simnet_now(sim->net));
    uint64_t due_ns = rrcp_deadline(node->r);

    if (node->memory > memory_max(sim, node) || node->memory != c->memory_bytes)
        sim_fail(sim, "I10: node %d has taken %llu bytes, counts %llu and may have %llu",
                 node->number, (unsigned long long)node->memory,
                 (unsigned long long)c->memory_bytes, (unsigned long long)memory_max(sim, node));
    if (c->pool_use > sim->options.config.pool_packets)
        sim_fail(sim, "I10: node %d uses %llu packets", node->number,
                 (unsigned long long)c->pool_use);
    if (c->peers_now > sim->options.config.peers_max)
        sim_fail(sim, "I17: node %d has %llu peers", node->number,
                 (unsigned long long)c->peers_now);
    if (c->peers_now > 0 && due_ns > now_ns + sim->options.config.peer_timeout_ns &&
        !node->stopping_ns)
        sim_fail(sim, "I9: node %d has peers but no timer", node->number);
    if (due_ns > now_ns + sim->options.config.recover_timeout_ns + MS &&
        has_hole(sim, node, c->peers_now))
        sim_fail(sim, "I8: node %d misses packets and has no timer", node->number);
    if (node->spin_ns == simnet_now(sim->net) && ++node->spins > SPINS_MAX)
        sim_fail(sim, "I9: node %d wakes without end", node->number);
    if (node->spin_ns != simnet_now(sim->net))
        node->spins = 0;
    node->spin_ns = simnet_now(sim->net);
}

static void schedule(struct sim *sim, struct sim_node *node, int received)
{
    uint64_t now_ns = simnet_now(sim->net);
    uint64_t due_ns = rrcp_deadline(node->r);
    uint64_t next_ns = true_ns(node, due_ns);

    if (next_ns <= now_ns)
        next_ns = now_ns + US;
    if (node->load.per_s && !node->is_full && !node->stopping_ns && node->next_message_ns < next_ns)
        next_ns = node->next_message_ns > now_ns ? node->next_message_ns : now_ns + US;
    if (node->next_wish_ns < next_ns)
        next_ns = node->next_wish_ns > now_ns ? node->next_wish_ns : now_ns + US;
    if (node->flight_count > 0 && node->flights[node->flight_head].done_ns < next_ns)
        next_ns = node->flights[node->flight_head].done_ns;
    if (simnet_is_waiting(sim->net, node->number))
        next_ns = now_ns;
    if (sim->options.drain_per_s && received > 0)
        simnet_busy(sim->net, node->number,
                    now_ns + (uint32_t)received * SEC / sim->options.drain_per_s);
    simnet_wake(sim->net, node->number, next_ns);
}

/*
 * With a key a hostile packet changes no state: one that is forged never, one that is replayed not
 * once the node has had it, so it comes twice. Before that time passes, or it would not show that
 * the packet tells of a living sender.
 */
static void feed_hostile(struct sim *sim, struct sim_node *node, const struct rrcp_arrival *in,
                         bool is_forged)
{
    for (int i = is_forged; i < 2; i++) {
        uint64_t before = rrcp_digest(node->r);

        node->clock_offset_ns++;
        rrcp_input(node->r, local_ns(node, simnet_now(sim->net)), in, 1);
        take_events(sim, node);
        if (i == 1 && rrcp_digest(node->r) != before)
            sim_fail(sim, "a %s packet of type %u changed the state of node %d",
                     is_forged ? "forged" : "replayed", in->bytes[3], node->number);
    }
}

static void feed(struct sim *sim, struct sim_node *node, const struct rrcp_arrival in[], int count)
{
    uint64_t now_ns = local_ns(node, simnet_now(sim->net));

    if (!sim->forger || !sim->cipher || count == 0) {
        rrcp_input(node->r, now_ns, in, count);
        take_events(sim, node);
        return;
    }
    for (int i = 0; i < count; i++) {
        enum simnet_hostile kind = simnet_is_hostile(sim->net, node->number, i);

        if (kind != SIMNET_HONEST) {
            feed_hostile(sim, node, &in[i], kind == SIMNET_FORGED);
            continue;
        }
        rrcp_input(node->r, local_ns(node, simnet_now(sim->net)), &in[i], 1);
        take_events(sim, node);
    }
}

static void run_node(struct sim *sim, struct sim_node *node)
{
    struct rrcp_arrival in[SIM_BATCH];
    struct rrcp_packet out[SIM_BATCH];
    uint64_t now_ns;
    int received;
    int n;

    if (!node->r) {
        simnet_flush(sim->net, node->number);
        return;
    }
    complete(sim, node);
    received = simnet_receive(sim->net, node->number, in, SIM_BATCH);
    limits_received(node, in, received);
    feed(sim, node, in, received);
    now_ns = local_ns(node, simnet_now(sim->net));
    wish(sim, node);
    submit_due(sim, node);
    rrcp_tick(node->r, now_ns);
    while ((n = rrcp_output(node->r, now_ns, out, SIM_BATCH)) > 0)
        for (int i = 0; i < n; i++)
            send_packet(sim, node, &out[i]);
    take_events(sim, node);
    if (sim->options.check_every && ++node->turns % sim->options.check_every == 0)
        check_tables(sim, node);
    check_bounds(sim, node);
    limits_check(sim, node);
    if (node->users && !node->stopping_ns)
        users_run(sim, node->users, node->r, now_ns, node->ports[0]);
    if (node->stopping_ns && rrcp_is_stopped(node->r)) {
        life_end(sim, node);
        return;
    }
    schedule(sim, node, received);
}

void sim_run(struct sim *sim, uint64_t for_ns)
{
    uint64_t until_ns = simnet_now(sim->net) + for_ns;
    int node;

    while (!sim_has_failed(sim) && simnet_step(sim->net, until_ns, &node))
        run_node(sim, &sim->nodes[node]);
}

/* ---- what can happen ---------------------------------------------------------------------- */

void sim_load(struct sim *sim, int node, const struct sim_load *load)
{
    struct sim_node *n = &sim->nodes[node];

    n->load = *load;
    if (n->next_message_ns < simnet_now(sim->net))
        n->next_message_ns = simnet_now(sim->net);
    if (n->r)
        simnet_wake(sim->net, node, n->next_message_ns);
}

void sim_sleep_until(struct sim *sim, int node, uint64_t at_ns)
{
    simnet_busy(sim->net, node, at_ns);
}

void sim_pause(struct sim *sim, int node, uint64_t for_ns)
{
    trace(sim, node, "pauses for %llu ms", (unsigned long long)(for_ns / MS));
    sim->coverage->pauses++;
    simnet_busy(sim->net, node, simnet_now(sim->net) + for_ns);
}

void sim_crash(struct sim *sim, int node)
{
    if (!sim->nodes[node].r)
        return;
    trace(sim, node, "crashes");
    sim->coverage->crashes++;
    life_end(sim, &sim->nodes[node]);
}

void sim_rotate(struct sim *sim, int node, const struct rrcp_key keys[], uint32_t count)
{
    if (sim->nodes[node].r)
        MD_ASSERT(rrcp_keys_set(sim->nodes[node].r, keys, count) == MD_OK);
}

bool sim_seals_with(const struct sim *sim, int node, int of, int key_id)
{
    struct rrcp_peer_info info;
    uint64_t session = rrcp_session(sim->nodes[of].r);

    for (uint32_t i = 0; rrcp_peer_info(sim->nodes[node].r, i, &info); i++)
        if (info.session == session)
            return info.key_id == key_id;
    return false;
}

void sim_restart(struct sim *sim, int node)
{
    struct sim_node *n = &sim->nodes[node];

    if (n->r || sim->check.life_count == sim->check.life_max)
        return;
    trace(sim, node, "starts again");
    sim->coverage->restarts++;
    simnet_flush(sim->net, node);
    life_begin(sim, n);
}

void sim_stop(struct sim *sim, int node)
{
    struct sim_node *n = &sim->nodes[node];

    if (!n->r || n->stopping_ns)
        return;
    trace(sim, node, "stops");
    sim->coverage->stops++;
    n->stopping_ns = simnet_now(sim->net) + 1;
    rrcp_stop(n->r, local_ns(n, simnet_now(sim->net)), 1);
    simnet_wake(sim->net, node, simnet_now(sim->net));
}

bool sim_is_up(const struct sim *sim, int node)
{
    return sim->nodes[node].r != NULL;
}

void sim_detach(struct sim *sim, int node)
{
    struct sim_node *n = &sim->nodes[node];
    const struct rrcp_user user = { .receives = true };

    if (!n->r || n->stopping_ns)
        return;
    sim->coverage->detaches++;
    rrcp_user_remove(n->r, local_ns(n, simnet_now(sim->net)), n->ports[0], BACKBONE_USER_DIED);
    n->ports[0] = rrcp_user_add(n->r, &user);
    simnet_wake(sim->net, node, simnet_now(sim->net));
}

void sim_rename(struct sim *sim, int node, int as)
{
    sim->nodes[node].name = as;
}

void sim_partition(struct sim *sim, int node)
{
    for (int i = 0; i < sim->options.nodes; i++) {
        if (i == node)
            continue;
        simnet_block(sim->net, i, node, true);
        simnet_block(sim->net, node, i, true);
    }
}

void sim_heal(struct sim *sim)
{
    simnet_heal(sim->net);
}

/* A hostile packet: noise, or something well formed but false. */
static uint32_t make_hostile(struct sim *sim, uint8_t *bytes, uint64_t victim)
{
    uint32_t length = 24 + md_prng_below(&sim->prng, 400);
    struct md_prng *p = &sim->prng;

    for (uint32_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)md_prng_u32(p);
    if (md_prng_below(p, 8) == 0)
        return length;
    md_put_be16(bytes, 0x5252);
    bytes[2] = 0x11;
    bytes[3] = (uint8_t)(1 + md_prng_below(p, 10));
    bytes[4] = md_prng_below(p, 4) ? 0 : 1;
    bytes[5] = 0;
    static const uint16_t sizes[] = { 0, 60, 68, 56, 80, 60, 48, 33, 148, 68, 36 };

    if (md_prng_below(p, 4))
        length = sizes[bytes[3]];
    md_put_be16(bytes + 6, (uint16_t)length);
    if (md_prng_below(p, 3) == 0)
        md_put_be64(bytes + 8, 0); /* no session */
    else if (md_prng_below(p, 2))
        md_put_be64(bytes + 8, victim);
    md_put_be32(bytes + 16, 0x14d39853); /* of the network "sim"; checked below */
    if (md_prng_below(p, 2)) {           /* plausible counts */
        md_put_be16(bytes + 36, 1);
        md_put_be16(bytes + 38, 40);
        md_put_be16(bytes + 40, (uint16_t)(length > 52 ? length - 52 : 0));
        bytes[42] = 0xc0;
        bytes[43] = 0;
    }
    if (bytes[3] == 5 && md_prng_below(p, 2)) {
        md_put_be64(bytes + 24, victim);
        md_put_be16(bytes + 40, 2);
        md_put_be32(bytes + 44, 0);
        md_put_be32(bytes + 48, 1);
        md_put_be32(bytes + 52, md_prng_below(p, 1000));
        md_put_be32(bytes + 56, md_prng_below(p, 70000));
    }
    if (bytes[3] == 4 && md_prng_below(p, 2)) {
        bytes[62] = 4;
        bytes[63] = 0;
        length = 68;
        md_put_be16(bytes + 6, 68);
        md_put_be64(bytes + 24, md_prng_u64(p) >> md_prng_below(p, 64));
        md_put_be64(bytes + 32, 1);
    }
    return length;
}

/* Data as if from a node, from its very address, but impossibly far ahead. */
static uint32_t make_far(uint8_t *bytes, uint64_t session, uint32_t network)
{
    memset(bytes, 0, 60);
    md_put_be16(bytes, 0x5252);
    bytes[2] = 0x11;
    bytes[3] = 1;
    md_put_be16(bytes + 6, 56);
    md_put_be64(bytes + 8, session);
    md_put_be32(bytes + 16, network);
    md_put_be64(bytes + 24, 1ull << 40);
    md_put_be16(bytes + 36, 1);
    md_put_be16(bytes + 38, 40);
    md_put_be16(bytes + 40, 4);
    bytes[42] = 0xc0;
    return 56;
}

/* Addresses of strangers mostly: whoever can use a peer's address may speak for it. */
void sim_hostile(struct sim *sim, int packets)
{
    uint32_t network = 2166136261u;
    uint8_t bytes[512] = { 0 };

    for (const char *c = "sim"; *c; c++)
        network = (network ^ (uint8_t)*c) * 16777619u;
    sim->has_hostile = true;
    for (int i = 0; i < packets; i++) {
        int to = pick_node(sim, -1);
        int as = pick_node(sim, -1);
        struct rrcp_address from = { .length = 6 };
        uint64_t session = sim->nodes[as].r ? rrcp_session(sim->nodes[as].r) : 7;
        uint32_t length = make_hostile(sim, bytes, session);

        if (bytes[3] != 0 && md_prng_below(&sim->prng, 16))
            md_put_be32(bytes + 16, network);
        if (md_prng_below(&sim->prng, 16) == 0 && as != to && sim->nodes[as].r &&
            sim->options.config.first_seq == 0 && rrcp_counters(sim->nodes[as].r)->mcast_sent) {
            length = make_far(bytes, session, network);
            simnet_address(sim->net, as, 0, &from);
            simnet_inject(sim->net, to, &from, bytes, length, true);
            continue;
        }
        from.bytes[0] = 99;
        from.bytes[1] = (uint8_t)md_prng_below(&sim->prng, 4);
        simnet_inject(sim->net, to, &from, bytes, length, true);
        sim->coverage->hostile++;
    }
}

/* ---- the end ------------------------------------------------------------------------------ */

/* I5, I9: nothing is left over once all is well. */
static void check_quiet(struct sim *sim, const struct sim_node *node)
{
    const struct rrcp_counters *c = rrcp_counters(node->r);
    uint64_t peers = 0;

    for (int i = 0; i < sim->options.nodes; i++)
        peers += sim->nodes[i].r && &sim->nodes[i] != node && !sim->nodes[i].stopping_ns;
    if (c->pool_use > 8)
        sim_fail(sim, "I9: node %d still holds %llu packets", node->number,
                 (unsigned long long)c->pool_use);
    if (node->is_over || node->is_full)
        sim_fail(sim, "I15: node %d refuses its users, and nobody sends any more", node->number);
    if (sim->is_long_settle && !sim->has_hostile && c->peers_now != peers)
        sim_fail(sim, "I5: node %d believes in %llu peers, there are %llu", node->number,
                 (unsigned long long)c->peers_now, (unsigned long long)peers);
}

/* Of two nodes with one name the others see one. In a mesh the other gets nothing of them, either.
 */
static bool is_refused(struct sim *sim, int node, int other)
{
    for (int i = 0; i < sim->options.nodes; i++)
        if (i != other && i != node && sim->nodes[i].r && !sim->nodes[i].stopping_ns &&
            sim->nodes[i].name == sim->nodes[other].name)
            return !check_is_up(&sim->check, node, sim->nodes[other].life) &&
                   check_is_up(&sim->check, node, sim->nodes[i].life);
    return false;
}

void sim_settle(struct sim *sim)
{
    const struct sim_load none = { 0 };

    sim->is_settling = true;
    simnet_heal(sim->net);
    for (int i = 0; i < sim->options.nodes; i++)
        sim_load(sim, i, &none);
    sim_run(sim, SETTLE_NS);
    if (sim->is_long_settle)
        sim_run(sim, DEATH_NS);
    for (int i = 0; i < sim->options.nodes && !sim_has_failed(sim); i++) {
        if (!sim->nodes[i].r || sim->nodes[i].stopping_ns)
            continue;
        check_quiet(sim, &sim->nodes[i]);
        for (int j = 0; j < sim->options.nodes; j++)
            if (j != i && sim->nodes[j].r && !sim->nodes[j].stopping_ns && !is_refused(sim, i, j) &&
                !(sim_is_mesh(sim) && is_refused(sim, j, i)))
                check_end(&sim->check, i, sim->nodes[j].life, sim->nodes[i].r);
    }
}

void sim_end_users(struct sim *sim)
{
    if (sim->nodes[0].users)
        users_end(sim, sim->nodes[0].users);
    sim->nodes[0].users = NULL;
}

uint64_t sim_users_hash(const struct sim *sim)
{
    return sim->users_hash;
}

void sim_settle_long(struct sim *sim)
{
    sim->is_long_settle = true;
}

struct simnet *sim_net(struct sim *sim)
{
    return sim->net;
}

struct md_prng *sim_prng(struct sim *sim)
{
    return &sim->prng;
}

const struct rrcp_counters *sim_counters(const struct sim *sim, int node)
{
    return rrcp_counters(sim->nodes[node].r);
}

struct rrcp *sim_engine(struct sim *sim, int node)
{
    return sim->nodes[node].r;
}

void sim_totals(const struct sim *sim, struct rrcp_counters *out)
{
    *out = (struct rrcp_counters){ 0 };
    for (int i = 0; i < sim->options.nodes; i++) {
        sum_counters(out, &sim->nodes[i].last);
        if (sim->nodes[i].r)
            sum_counters(out, rrcp_counters(sim->nodes[i].r));
    }
}

uint64_t sim_hash(const struct sim *sim)
{
    return sim->hash;
}

uint64_t sim_gap_count(const struct sim *sim, int node, enum backbone_gap_reason reason)
{
    return sim->check.node_gaps[node * 8 + (int)reason];
}

uint32_t sim_downs(const struct sim *sim, int node, int of)
{
    return sim->check.views[node][sim->nodes[of].life].downs;
}

uint32_t sim_rejoins(const struct sim *sim, int node, int of)
{
    return sim->check.views[node][sim->nodes[of].life].rejoins;
}

uint64_t sim_repairs_to(const struct sim *sim, int node)
{
    return sim->nodes[node].repair_bytes_to;
}

void sim_latency_without(struct sim *sim, int node)
{
    sim->nodes[node].is_apart = true;
}

void sim_allow_gaps(struct sim *sim, int node)
{
    sim->nodes[node].may_gap = true;
}

static int compare(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* How often each packet of this sender that was asked for at all was. */
static uint32_t nak_counts(const struct sim *sim, int sender, uint32_t **out)
{
    const struct sim_life *life = &sim->check.lives[sim->nodes[sender].life];
    uint64_t packets = life->seq_last ? life->seq_last - life->seq_first + 1 : 0;
    uint32_t *counts = *out;
    uint32_t n = 0;

    for (uint64_t i = 0; i < packets; i++)
        if (life->seq_naks[i] > 0)
            counts[n++] = life->seq_naks[i];
    *out = counts + n;
    return n;
}

struct sim_naks sim_naks(const struct sim *sim, int first, int end)
{
    uint64_t packets = 0;
    uint64_t sum = 0;
    uint32_t n = 0;

    for (int i = first; i < end; i++) {
        const struct sim_life *life = &sim->check.lives[sim->nodes[i].life];

        packets += life->seq_last ? life->seq_last - life->seq_first + 1 : 0;
    }
    uint32_t *counts = calloc(packets + 1, sizeof(*counts));
    uint32_t *free_place = counts;

    MD_ASSERT(counts);
    for (int i = first; i < end; i++)
        n += nak_counts(sim, i, &free_place);
    for (uint32_t i = 0; i < n; i++)
        sum += counts[i];
    qsort(counts, n, sizeof(*counts), compare);
    struct sim_naks naks = {
        .packets = n,
        .mean = n ? (double)sum / n : 0,
        .p99 = n ? counts[(uint64_t)n * 99 / 100] : 0,
        .max = n ? counts[n - 1] : 0,
    };

    free(counts);
    return naks;
}
