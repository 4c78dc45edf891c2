/* relaysim.c - networks with relays between them, in virtual time, under a seed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "relaysim.h"
#include "seal/seal.h"

/*
 * Instances tick, requesters ask them, some network away. Checked all the time: the ticks of each
 * session come in order and once, and what is missing was told before the next; nothing comes of a
 * session that is not up; tables are whole. In the end, when all faults have stopped, each
 * requester has ticks and answers of each instance that is at most four relays away.
 */
enum scenario {
    TWO_RELAYS,
    RING,
    KILLED,
    LOSS,
    RESTARTS,
    SLOW,
    CUT,
    CHAIN,
    SQUARE,
    STORM,      /* losses, and all of killed, restarts and cut */
    SLOW_STORM, /* the same onto a slow network, in place of losses */
    SCENARIOS
};

static const char *const kinds[NETS_KINDS] = { "groups", "meshes", "mixed", "sealed" };

static const char *const names[SCENARIOS] = { "two-relays", "ring",  "killed",    "loss",
                                              "restarts",   "slow",  "cut",       "chain",
                                              "square",     "storm", "slow-storm" };

static int add_place(struct world *w, int net)
{
    return w->places[net]++;
}

static void add_node(struct world *w, int net, bool is_source)
{
    struct node *node = &w->nodes[w->node_count++];

    node->place.net = net;
    node->place.index = add_place(w, net);
    node->is_source = is_source;
}

static void add_relay(struct world *w, int from, int to)
{
    struct relay *relay = &w->relays[w->relay_count++];

    relay->places[0].net = from;
    relay->places[0].index = add_place(w, from);
    relay->places[1].net = to;
    relay->places[1].index = add_place(w, to);
}

static void build(struct world *w, enum scenario scenario)
{
    bool is_drawn = scenario == KILLED || scenario == LOSS || scenario == CUT ||
                    scenario == STORM || scenario == SLOW_STORM;
    bool is_slow = scenario == SLOW || scenario == SLOW_STORM;
    uint64_t shape = is_drawn ? w->seed / SCENARIOS % 3 : 0;
    bool is_square = scenario == SQUARE || shape == 2;
    bool is_ring = scenario == RING || is_square || shape == 1;

    enum nets nets = (enum nets)(w->seed / SCENARIOS % NETS_KINDS);

    w->net_count = scenario == CHAIN ? 6 : is_square ? 4 : is_ring ? 3 : 2;
    w->tick_rate = is_slow ? 8 : 1;
    w->data_rate = is_slow ? 300000 : 0;
    for (int net = 0; net < w->net_count; net++) {
        w->is_mesh[net] = nets == NETS_MESHES || (nets >= NETS_MIXED && net % 2 == 0);
        w->is_sealed[net] = nets == NETS_SEALED && net % 3 == 0;
        w->nets[net] = simnet_create(
            &(struct simnet_config){ .seed = w->seed * 16 + (uint64_t)net,
                                     .nodes = PLACES_MAX,
                                     .personality = w->is_mesh[net] ? SIMNET_MESH : SIMNET_UDP,
                                     .socket_bytes = 4 << 20 });
        add_node(w, net, net == 0 || (net == 1 && w->seed % 3 == 0));
        add_node(w, net, false);
    }
    if (scenario == CHAIN)
        for (int i = 0; i < 5; i++)
            add_relay(w, i, i + 1);
    else if (is_ring)
        for (int i = 0; i < w->net_count; i++)
            add_relay(w, i, (i + 1) % w->net_count);
    else
        for (int i = 0; i < 2; i++)
            add_relay(w, 0, 1);
    if (!is_ring && scenario == LOSS)
        add_relay(w, 0, 1);
}

static void set_loss(struct world *w, uint32_t ppm)
{
    for (int net = 0; net < w->net_count; net++)
        for (int i = 0; i < w->places[net]; i++) {
            simnet_in(w->nets[net], i)->loss_ppm = ppm;
            simnet_in(w->nets[net], i)->reorder_ppm = ppm;
            simnet_in(w->nets[net], i)->reorder_ns = 2 * MD_NS_PER_MS;
            simnet_in(w->nets[net], i)->duplicate_ppm = ppm / 4;
        }
}

static void check_tables(struct world *w)
{
    for (int i = 0; i < w->relay_count; i++) {
        const char *broken = w->relays[i].is_up ? forward_check(w->relays[i].forward) : NULL;

        if (broken)
            fail(w, "relay %d: %s", i, broken);
    }
}

static void run_for(struct world *w, uint64_t ns)
{
    int node;

    for (uint64_t end_ns = w->now_ns + ns; w->now_ns < end_ns && !w->failed;) {
        w->now_ns += STEP_NS;
        for (int net = 0; net < w->net_count; net++)
            while (simnet_step(w->nets[net], w->now_ns, &node))
                continue;
        for (int i = 0; i < w->node_count; i++)
            if (w->nodes[i].place.is_up)
                node_run(w, &w->nodes[i]);
        for (int i = 0; i < w->relay_count; i++)
            if (w->relays[i].is_up)
                relay_run(w, &w->relays[i]);
        if (w->now_ns / STEP_NS % 64 == 0) {
            check_tables(w);
            check_holes(w);
        }
    }
}

static uint64_t draw(struct world *w, uint64_t below)
{
    return md_prng_u64(&w->prng) % below;
}

static uint64_t some_time(struct world *w)
{
    return (500 + draw(w, 6000)) * MD_NS_PER_MS;
}

static void cut(struct world *w, struct place *place, bool is_cut)
{
    for (int i = 0; i < w->places[place->net]; i++)
        if (i != place->index) {
            simnet_block(w->nets[place->net], place->index, i, is_cut);
            simnet_block(w->nets[place->net], i, place->index, is_cut);
        }
}

static void kill_one(struct world *w)
{
    struct relay *relay = &w->relays[draw(w, (uint64_t)w->relay_count)];

    relay_end(w, relay);
    run_for(w, some_time(w));
    relay_begin(w, relay);
    run_for(w, some_time(w));
}

static void restart_one(struct world *w)
{
    struct node *node = &w->nodes[draw(w, (uint64_t)w->node_count)];

    node_stop(w, node);
    run_for(w, draw(w, 2) ? 10 * MD_NS_PER_MS : some_time(w));
    node_start(w, node);
    run_for(w, some_time(w));
}

static void cut_one(struct world *w)
{
    struct place *place = &w->relays[draw(w, (uint64_t)w->relay_count)].places[draw(w, 2)];

    cut(w, place, true);
    run_for(w, some_time(w));
    cut(w, place, false);
    run_for(w, some_time(w));
}

static void trouble(struct world *w, enum scenario scenario)
{
    static const enum scenario storm[] = { KILLED, RESTARTS, CUT };
    bool is_storm = scenario == STORM || scenario == SLOW_STORM;

    if (scenario == LOSS || scenario == STORM)
        set_loss(w, 1000 + (uint32_t)draw(w, 40000));
    for (int i = 0; i < (is_storm ? 6 : 3) && !w->failed; i++)
        switch (is_storm ? storm[draw(w, 3)] : scenario) {
        case KILLED:
            kill_one(w);
            break;
        case LOSS:
            if (draw(w, 2))
                kill_one(w);
            else
                restart_one(w);
            break;
        case RESTARTS:
            restart_one(w);
            break;
        case CUT:
            cut_one(w);
            break;
        default:
            run_for(w, some_time(w));
        }
    set_loss(w, 0);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Networks are in a line of six, or in a ring. */
static int distance(const struct world *w, int a, int b)
{
    int between = a < b ? b - a : a - b;

    return w->net_count == 6 || between <= w->net_count / 2 ? between : w->net_count - between;
}

static void check_pair(struct world *w, const struct node *node, const struct node *source)
{
    const struct view *view = &node->views[source->session];
    bool is_near = distance(w, node->place.net, source->place.net) <= RELAY_HOPS_MAX;

    if (!is_near && view->is_up)
        fail(w, "node %d hears session %d over more than four relays", node->session,
             source->session);
    if (!is_near)
        return;
    if (!view->is_up || w->now_ns - view->tick_ns > 2 * MD_NS_PER_S)
        fail(w, "session %d does not hear %d: %s, last tick %" PRIu64 " ms ago", node->session,
             source->session, view->is_up ? "up" : "down",
             (uint64_t)((w->now_ns - view->tick_ns) / MD_NS_PER_MS));
    else if (!node->is_source && w->now_ns - view->answer_ns > 2 * MD_NS_PER_S)
        fail(w, "session %d has no answer of %d since %" PRIu64 " ms", node->session,
             source->session, (uint64_t)((w->now_ns - view->answer_ns) / MD_NS_PER_MS));
    else if (view->images + 2 < view->answers / 8)
        fail(w, "session %d has %" PRIu64 " images of %d with %" PRIu64 " answers", node->session,
             view->images, source->session, view->answers);
}

/* Onto each network each node of the others is carried by one relay. */
static void check_carried(struct world *w)
{
    uint64_t carried[NETS_MAX] = { 0 }, others[NETS_MAX] = { 0 };

    for (int i = 0; i < w->relay_count; i++)
        for (int side = 0; side < FORWARD_SIDES; side++)
            carried[w->relays[i].places[1 - side].net] +=
                forward_counters(w->relays[i].forward, side)->carried;
    for (int i = 0; i < w->node_count; i++)
        for (int net = 0; net < w->net_count; net++)
            others[net] += w->nodes[i].place.net != net;
    for (int net = 0; net < w->net_count && !w->failed; net++)
        if (carried[net] > others[net])
            fail(w, "%" PRIu64 " nodes are carried onto network %d, of %" PRIu64, carried[net], net,
                 others[net]);
}

static void check_end(struct world *w)
{
    check_carried(w);
    for (int i = 0; i < w->node_count && !w->failed; i++)
        for (int k = 0; k < w->node_count && !w->failed; k++)
            if (k != i && w->nodes[k].is_source)
                check_pair(w, &w->nodes[i], &w->nodes[k]);
    for (int i = 0; i < w->relay_count; i++)
        for (int side = 0; side < FORWARD_SIDES; side++)
            w->forwarded += forward_counters(w->relays[i].forward, side)->messages;
}

static bool run_seed(uint64_t seed, int only, bool is_loud)
{
    struct world *w = calloc(1, sizeof(*w));
    enum scenario scenario = only >= 0 ? (enum scenario)only : (enum scenario)(seed % SCENARIOS);

    if (!w)
        abort();
    w->seed = seed;
    w->prng = md_prng_init(seed);
    w->now_ns = MD_NS_PER_S;
    if (seal_open(&w->seal) != 0)
        abort();
    build(w, scenario);
    for (int i = 0; i < w->node_count; i++)
        node_start(w, &w->nodes[i]);
    for (int i = 0; i < w->relay_count; i++) {
        run_for(w, draw(w, 2) * draw(w, 3000) * MD_NS_PER_MS);
        relay_begin(w, &w->relays[i]);
    }
    run_for(w, 5 * MD_NS_PER_S);
    trouble(w, scenario);
    run_for(w, 14 * MD_NS_PER_S);
    check_end(w);
    bool is_good = !w->failed;
    if (!is_good || is_loud)
        printf("seed %" PRIu64 " %s over %s: %s; ticks sent %" PRIu64 " got %" PRIu64
               ", answers %" PRIu64 ", images %" PRIu64 ", forwarded %" PRIu64 ", gaps %" PRIu64
               ", downs %" PRIu64 "\n",
               seed, names[scenario], kinds[seed / SCENARIOS % NETS_KINDS],
               is_good ? "good" : w->failed, w->ticks_sent, w->ticks_got, w->answers_got,
               w->images_got, w->forwarded, w->gaps_told, w->downs_told);
    for (int i = 0; i < w->node_count; i++)
        if (w->nodes[i].place.is_up)
            node_stop(w, &w->nodes[i]);
    for (int i = 0; i < w->relay_count; i++)
        if (w->relays[i].is_up)
            relay_end(w, &w->relays[i]);
    for (int i = 0; i < w->net_count; i++)
        simnet_destroy(w->nets[i]);
    seal_close(&w->seal);
    free(w);
    return is_good;
}

int main(int argc, char **argv)
{
    uint64_t first = 0, last = SCENARIOS - 1;
    int only = -1, bad = 0;
    bool is_loud = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc &&
            sscanf(argv[++i], "%" SCNu64 "..%" SCNu64, &first, &last) == 2)
            continue;
        if (strcmp(argv[i], "--scenario") == 0 && i + 1 < argc) {
            for (int k = 0; k < SCENARIOS; k++)
                only = strcmp(argv[i + 1], names[k]) == 0 ? k : only;
            i++;
            continue;
        }
        if (strcmp(argv[i], "--loud") != 0) {
            fprintf(stderr, "relaysim [--seeds A..B] [--scenario NAME] [--loud]\n");
            return 2;
        }
        is_loud = true;
    }
    for (uint64_t seed = first; seed <= last; seed++)
        bad += !run_seed(seed, only, is_loud);
    printf("%" PRIu64 " seeds, %d bad\n", last - first + 1, bad);
    return bad > 0;
}
