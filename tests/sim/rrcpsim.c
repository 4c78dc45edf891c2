/* rrcpsim.c - run the reliable multicast engine through seeds, and say which broke a promise. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "rrcpsim.h"

struct arguments {
    uint64_t first, last;
    const char *scenario;
    const char *personality;
    int nodes;
    int check_every;
    int again_every;
    bool trace;
    bool coverage;
    bool stop;
    bool wishes;
    const char *figures;
};

static const char usage[] =
    "usage: rrcpsim [--seeds A..B] [--scenario NAME] [--nodes N] [--trace] [--coverage]\n"
    "               [--check N]                            every table, each Nth turn of a node "
    "(8)\n"
    "               [--personality udp|verbs|copies|ud|mesh]  of the transport, for all seeds\n"
    "               [--wishes]                             mesh: what nodes want changes at "
    "random\n"
    "               [--stop]                               at the first failure\n"
    "               [--twice]                              each seed, not only each 17th\n"
    "       rrcpsim --figures repair|delay|retry|scale|mesh   tables and the scaling curve (CSV)\n"
    "               [--nodes N]                            of N receivers only\n"
    "       rrcpsim --list                                 names of the scenarios\n"
    "Each seed is one course of events; without --scenario the seed chooses it. A failing seed is\n"
    "one line with how to replay it. Exit status 1 when any failed.\n";

static const struct sim_scenario *find(const char *name)
{
    for (int i = 0; i < sim_scenario_count; i++)
        if (strcmp(sim_scenarios[i].name, name) == 0)
            return &sim_scenarios[i];
    return NULL;
}

static const char *const personalities[SIMNET_personalities] = { "udp", "verbs", "copies", "ud",
                                                                 "mesh" };

/* -1: there is none of that name. */
static int personality_of(const char *name)
{
    for (int i = 0; i < SIMNET_personalities; i++)
        if (strcmp(personalities[i], name) == 0)
            return i;
    return -1;
}

static void draw_options(struct sim_options *o, uint64_t seed, int nodes, struct md_prng *prng)
{
    *o = (struct sim_options){ .seed = seed, .clocks_differ = true };
    o->nodes = nodes ? nodes : (int)(2 + md_prng_below(prng, 6));
    o->personality = (enum simnet_personality)md_prng_below(prng, SIMNET_drawn);
    rrcp_config_init(&o->config);
    o->config.arrivals_max = 64;
    o->config.peers_max = (uint32_t)o->nodes + 16;
    o->config.pool_packets = 2048;
    o->config.window_packets = 1024;
    o->config.missing_max = 512;
    o->config.message_bytes_max = 1u << 20;
    if (o->config.peers_max > RRCP_MESH_PEERS_MAX && o->nodes <= RRCP_MESH_PEERS_MAX)
        o->config.peers_max = RRCP_MESH_PEERS_MAX;
    if (md_prng_below(prng, 4) == 0)
        o->config.retry = RRCP_RETRY_FIXED;
}

static const struct sim_scenario *chosen(const struct arguments *args, uint64_t seed)
{
    return args->scenario ? find(args->scenario)
                          : &sim_scenarios[seed % (uint64_t)sim_scenarios_drawn];
}

static void print_failure(const struct arguments *args, uint64_t seed,
                          const struct sim_scenario *scenario, const char *what)
{
    printf("seed %llu failed: %s: %s (replay: rrcpsim --seeds %llu..%llu --scenario %s",
           (unsigned long long)seed, scenario->name, what, (unsigned long long)seed,
           (unsigned long long)seed, scenario->name);
    if (args->nodes)
        printf(" --nodes %d", args->nodes);
    if (args->personality)
        printf(" --personality %s", args->personality);
    if (args->wishes)
        printf(" --wishes");
    printf(" --trace)\n");
}

/* Of what the engines sent and said, and of what a user was told. */
struct hashes {
    uint64_t engines, user;
};

/* One seed; true when every promise was kept. */
static bool run_seed(const struct arguments *args, uint64_t seed, bool users_alone,
                     struct sim_coverage *coverage, struct hashes *hashes)
{
    struct md_prng prng = md_prng_init(seed * 0x9e3779b97f4a7c15ull + 1);
    const struct sim_scenario *scenario = chosen(args, seed);
    struct sim_options options;
    struct sim *sim;
    bool is_good;

    draw_options(&options, seed, args->nodes, &prng);
    if (args->personality)
        options.personality = (enum simnet_personality)personality_of(args->personality);
    options.trace = args->trace;
    options.users_alone = users_alone;
    options.check_every = (uint32_t)args->check_every;
    if (scenario->setup)
        scenario->setup(&options, &prng);
    if (args->wishes)
        options.wish_ms = 1 + (uint32_t)(seed * 2654435761u >> 8 & 255);
    sim = sim_create(&options, coverage);
    if (options.drain_per_s == 0 && options.personality == SIMNET_VERBS && options.nodes <= 4)
        options.socket_bytes = 0;
    scenario->body(sim, options.nodes, &prng);
    sim_settle(sim);
    sim_end_users(sim);
    is_good = !sim_has_failed(sim);
    *hashes = (struct hashes){ sim_hash(sim), sim_users_hash(sim) };
    if (!is_good)
        print_failure(args, seed, scenario, sim_failure(sim));
    sim_destroy(sim);
    return is_good;
}

static bool is_same(const struct arguments *args, uint64_t seed, const struct hashes *one,
                    const struct hashes *other)
{
    if (one->engines != other->engines)
        print_failure(args, seed, chosen(args, seed),
                      "I18: it does not repeat itself, or I6: without a slow and a hostile user");
    else if (one->user != other->user)
        print_failure(args, seed, chosen(args, seed),
                      "I6: without a slow and a hostile user another is told something else");
    return one->engines == other->engines && one->user == other->user;
}

/* ---- coverage ----------------------------------------------------------------------------- */

static int row(const char *group, const char *name, uint64_t count)
{
    printf("  %-12s %-22s %12llu%s\n", group, name, (unsigned long long)count,
           count == 0 ? "   NEVER" : "");
    return count == 0;
}

static int print_coverage(const struct sim_coverage *c)
{
    static const char *const events[] = { "",           "message",   "gap",
                                          "peer up",    "peer down", "user down",
                                          "tx dropped", "peer info", "tx ready" };
    static const char *const gaps[] = { "",     "not held", "timeout", "too large",
                                        "pool", "overrun",  "rejoin",  "unicast reset" };
    int zeros = 0;

    printf("coverage: %llu runs, %llu nodes, %llu packets sent, %llu messages taken, %.0f s\n",
           (unsigned long long)c->runs, (unsigned long long)c->nodes,
           (unsigned long long)c->packets, (unsigned long long)c->messages,
           (double)c->virtual_ns / 1e9);
    for (int i = 0; i < SIMNET_FAULT_count; i++)
        zeros += row("fault", simnet_fault_name((enum simnet_fault)i), c->faults[i]);
    zeros += row("fault", "crash", c->crashes) + row("fault", "restart", c->restarts) +
             row("fault", "pause", c->pauses) + row("fault", "stop", c->stops) +
             row("fault", "user dies", c->detaches) + row("fault", "hostile packet", c->hostile) +
             row("fault", "forged packet", c->forged);
    for (int i = 1; i <= 8; i++)
        zeros += row("event", events[i], c->events[i]);
    for (int i = 1; i <= 7; i++)
        zeros += row("gap", gaps[i], c->gaps[i]);
    for (int i = 0; i < RRCP_TRANSITION_count; i++)
        zeros +=
            row("transition", rrcp_transition_name((enum rrcp_transition)i), c->transitions[i]);
    for (int i = 0; i < RRCP_DROP_count; i++)
        zeros += row("drop", rrcp_drop_name((enum rrcp_drop)i), c->drops[i]);
    zeros += row("limit", "submit full", c->full) + row("limit", "unicast dropped", c->dropped) +
             row("limit", "pool over", c->over) + row("limit", "unicast reset", c->resets) +
             row("limit", "repair override", c->override) + row("limit", "rate cut", c->aimd) +
             row("limit", "flow receiver lost", c->flow_lost) +
             row("limit", "name conflict", c->conflicts) +
             row("limit", "send queue full", c->late_full) +
             row("limit", "all nodes over", c->all_over) +
             row("limit", "nonsense refused", c->nonsense);
    for (int i = 0; i < RRCP_NOTE_count; i++) /* for operators: some are rare, none is a promise */
        printf("  note %12llu  %s\n", (unsigned long long)c->notes[i],
               rrcp_note_text((enum rrcp_note)i));
    printf("coverage: %d never occurred; engine memory at most %llu KiB\n", zeros,
           (unsigned long long)(c->memory_high / 1024));
    return zeros;
}

/* ---- arguments ---------------------------------------------------------------------------- */

static bool parse_seeds(const char *text, struct arguments *args)
{
    char *end;

    args->first = args->last = strtoull(text, &end, 10);
    if (end != text && end[0] == '.' && end[1] == '.')
        args->last = strtoull(end + 2, &end, 10);
    return *end == 0 && args->last >= args->first;
}

static int parse(int argc, char **argv, struct arguments *args)
{
    *args = (struct arguments){ .first = 1, .last = 200, .check_every = 8, .again_every = 17 };
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--trace") == 0) {
            args->trace = true;
        } else if (strcmp(argv[i], "--stop") == 0) {
            args->stop = true;
        } else if (strcmp(argv[i], "--coverage") == 0) {
            args->coverage = true;
        } else if (strcmp(argv[i], "--wishes") == 0) {
            args->wishes = true;
        } else if (strcmp(argv[i], "--twice") == 0) {
            args->again_every = 1;
        } else if (strcmp(argv[i], "--list") == 0) {
            for (int j = 0; j < sim_scenario_count; j++)
                puts(sim_scenarios[j].name);
            exit(0);
        } else if (value && strcmp(argv[i], "--seeds") == 0 && parse_seeds(value, args)) {
            i++;
        } else if (value && strcmp(argv[i], "--scenario") == 0 && find(value)) {
            args->scenario = value;
            i++;
        } else if (value && strcmp(argv[i], "--personality") == 0 && personality_of(value) >= 0) {
            args->personality = value;
            i++;
        } else if (value && strcmp(argv[i], "--nodes") == 0 && atoi(value) >= 1 &&
                   atoi(value) <= 500) {
            args->nodes = atoi(value);
            i++;
        } else if (value && strcmp(argv[i], "--check") == 0 && atoi(value) >= 1) {
            args->check_every = atoi(value);
            i++;
        } else if (value && strcmp(argv[i], "--figures") == 0) {
            args->figures = value;
            i++;
        } else {
            fputs(usage, stderr);
            return -1;
        }
    }
    if (args->nodes != 1 || args->figures)
        return 0;
    fputs(usage, stderr);
    return -1;
}

int main(int argc, char **argv)
{
    struct sim_coverage coverage = { 0 };
    struct sim_coverage again = { 0 };
    struct arguments args, quiet;
    uint64_t passed = 0;
    uint64_t failed = 0;

    if (parse(argc, argv, &args) != 0)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    quiet = args;
    quiet.trace = false;
    if (args.figures)
        return sim_figures(args.figures, args.nodes);
    for (uint64_t seed = args.first; seed <= args.last; seed++) {
        struct hashes hashes, hashes_again;
        bool is_good = run_seed(&args, seed, false, &coverage, &hashes);

        /* I18, I6: the same again, one user alone. 17 is prime, so this meets every scenario. */
        if (is_good && seed % (uint64_t)args.again_every == 0)
            is_good = run_seed(&quiet, seed, true, &again, &hashes_again) &&
                      is_same(&args, seed, &hashes, &hashes_again);
        passed += is_good;
        failed += !is_good;
        if (!is_good && args.stop)
            break;
    }
    int zeros = args.coverage ? print_coverage(&coverage) : 0;

    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed || zeros ? 1 : 0;
}
