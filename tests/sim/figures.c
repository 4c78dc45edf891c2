/* figures.c - tables of repairs, delays and retries, and the scaling curve. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "rrcpsim.h"

/*
 * One sender, N receivers; after a start without faults the losses begin. A message fills a
 * packet. What is counted is counted from there on.
 */
struct figure {
    int receivers;
    uint32_t packets_per_s;
    uint64_t one_way_ns;
    uint64_t jitter_ns;
    struct simnet_faults in;
    uint32_t sender_loss_ppm;
    uint32_t bad_receiver_ppm; /* the first one's loss */
    enum rrcp_retry retry;
    uint64_t warm_ns; /* until round trips are known; 0: 1.5 s */
    uint64_t run_ns;
    uint64_t repair_rate;
    uint64_t repair_burst;
};

struct result {
    struct sim_naks naks;
    double repairs_per_loss, dups_per_loss, naks_per_loss;
    double recover_p50_ms, recover_p99_ms;
    double latency_p50_ms, latency_p99_ms;
    uint64_t losses, gaps, gaps_at_good, memory_kib;
    uint64_t multicast, unicast, busy;
    bool failed;
};

/* The quantile of a histogram of powers of two, linear within a bucket; milliseconds. */
static double quantile(const uint64_t now[], const uint64_t before[], double q)
{
    double total = 0;
    double sum = 0;

    for (int i = 0; i < RRCP_RECOVER_BUCKETS; i++)
        total += (double)(now[i] - before[i]);
    for (int i = 0; i < RRCP_RECOVER_BUCKETS && total > 0; i++) {
        double here = (double)(now[i] - before[i]);
        double low = i ? (double)(1u << (i - 1)) : 0;
        double high = (double)(1u << i);

        if (sum + here >= q * total && here > 0)
            return (low + (high - low) * (q * total - sum) / here) / 1000.0;
        sum += here;
    }
    return 0;
}

static struct sim_options options_of(const struct figure *f, uint64_t seed)
{
    struct sim_options o = { .seed = seed, .nodes = f->receivers + 1 };

    rrcp_config_init(&o.config);
    o.config.arrivals_max = 64;
    o.config.peers_max = (uint32_t)o.nodes + 2;
    o.config.pool_packets = f->packets_per_s > 10000 ? 65536 : 8192;
    o.config.window_packets = f->packets_per_s > 10000 ? 32768 : 4096;
    o.config.missing_max = 4096;
    o.config.retry = f->retry;
    o.config.repair_rate = f->repair_rate;
    o.config.repair_burst_bytes = f->repair_burst;
    o.config.unsent_max = 4096;
    return o;
}

static void set_faults(struct sim *sim, const struct figure *f)
{
    struct simnet *net = sim_net(sim);

    simnet_out(net, 0)->sender_loss_ppm = f->sender_loss_ppm;
    for (int i = 1; i <= f->receivers; i++) {
        struct simnet_faults *in = simnet_in(net, i);
        struct simnet_faults set = f->in;

        set.delay_min_ns = in->delay_min_ns;
        set.delay_max_ns = in->delay_max_ns;
        *in = set;
    }
    if (f->bad_receiver_ppm)
        simnet_in(net, 1)->loss_ppm = f->bad_receiver_ppm;
}

static struct result measure(const struct figure *f, uint64_t seed)
{
    struct sim_coverage coverage = { 0 };
    struct sim_options options = options_of(f, seed);
    struct sim *sim = sim_create(&options, &coverage);
    struct sim_load load = { .per_s = f->packets_per_s, .bytes_max = 48 };
    struct rrcp_counters before, after;
    struct result r = { 0 };

    for (int i = 0; i <= f->receivers; i++) {
        simnet_in(sim_net(sim), i)->delay_min_ns = f->one_way_ns - 10 * US;
        simnet_in(sim_net(sim), i)->delay_max_ns = f->one_way_ns - 10 * US + f->jitter_ns;
    }
    sim_load(sim, 0, &load);
    sim_run(sim, f->warm_ns ? f->warm_ns : 1500 * MS);
    sim_totals(sim, &before);
    sim_latency_forget(sim);
    set_faults(sim, f);
    sim_run(sim, f->run_ns);
    sim_totals(sim, &after);
    r.naks = sim_naks(sim, 0, 1);
    r.losses = after.packets_missing - before.packets_missing;
    double losses = r.losses ? (double)r.losses : 1;

    r.repairs_per_loss = (double)(after.retrans_pkts_sent - before.retrans_pkts_sent) / losses;
    r.dups_per_loss = (double)(after.dup_packets - before.dup_packets) / losses;
    r.naks_per_loss = (double)(after.retrans_req_sent - before.retrans_req_sent) / losses;
    r.recover_p50_ms = quantile(after.recover_us, before.recover_us, 0.5);
    r.recover_p99_ms = quantile(after.recover_us, before.recover_us, 0.99);
    r.latency_p50_ms = (double)sim_latency_ns(sim, 0.5) / 1e6;
    r.latency_p99_ms = (double)sim_latency_ns(sim, 0.99) / 1e6;
    r.multicast = after.repairs_multicast - before.repairs_multicast;
    r.unicast = after.repairs_unicast - before.repairs_unicast;
    r.busy = after.repairs_busy - before.repairs_busy;
    for (int i = 1; i <= f->receivers; i++)
        for (int reason = 1; reason < 8; reason++) {
            uint64_t gaps = sim_gap_count(sim, i, (enum backbone_gap_reason)reason);

            r.gaps += gaps;
            r.gaps_at_good += i == 1 && f->bad_receiver_ppm ? 0 : gaps;
        }
    r.failed = sim_has_failed(sim);
    if (r.failed)
        printf("FAILED: %s\n", sim_failure(sim));
    sim_destroy(sim);
    r.memory_kib = coverage.memory_high / 1024;
    return r;
}

static struct figure basic(int receivers)
{
    return (struct figure){ .receivers = receivers,
                            .packets_per_s = 4000,
                            .one_way_ns = 100 * US,
                            .jitter_ns = 50 * US,
                            .retry = RRCP_RETRY_FIXED,
                            .run_ns = 2 * SEC,
                            .repair_rate = 12500000, /* the description's 100 Mbit/s */
                            .repair_burst = 1000000 };
}

static int only; /* tables show groups of so many receivers; 0: of all sizes */

static bool is_shown(int receivers)
{
    return only == 0 || receivers == only;
}

static int print_case(const char *name, struct figure f)
{
    struct result r;
    int failed = 0;

    if (!is_shown(f.receivers))
        return 0;
    for (int mode = 0; mode < 2; mode++) {
        f.retry = mode ? RRCP_RETRY_FAST : RRCP_RETRY_FIXED;
        r = measure(&f, 1);
        printf("%-38s %4d %-5s %8llu %7.3f %7.2f %7.3f %8.2f %8.2f %6llu %6llu\n", name,
               f.receivers, mode ? "fast" : "fixed", (unsigned long long)r.losses,
               r.repairs_per_loss, r.dups_per_loss, r.naks_per_loss, r.recover_p50_ms,
               r.recover_p99_ms, (unsigned long long)r.gaps, (unsigned long long)r.gaps_at_good);
        failed |= r.failed;
    }
    return failed;
}

static int figure_repair(void)
{
    struct figure f;
    int failed = 0;

    printf("%-38s %4s %-5s %8s %7s %7s %7s %8s %8s %6s %6s\n", "case", "N", "retry", "lost",
           "repairs", "useless", "naks", "p50 ms", "p99 ms", "gaps", "others");
    f = basic(50);
    f.in.loss_ppm = 10000;
    failed |= print_case("1 % independent", f);
    f = basic(200);
    f.in.loss_ppm = 1000;
    failed |= print_case("0.1 % independent", f);
    f = basic(200);
    f.sender_loss_ppm = 10000;
    failed |= print_case("1 % before the first switch", f);
    f = basic(50);
    f.in.burst_begin_ppm = 250;
    f.in.burst_end_ppm = 50000;
    failed |= print_case("bursts of 20, 0.5 %", f);
    f = basic(20);
    f.in.loss_ppm = 1000;
    f.bad_receiver_ppm = 300000;
    failed |= print_case("one loses 30 %, others 0.1 %", f);
    f = basic(20);
    f.in.loss_ppm = 50000;
    failed |= print_case("5 % independent", f);
    printf(
        "\nNAK packets for one packet lost before the first switch (fixed): mean, p99, largest\n");
    for (int i = 0; i < 3; i++) {
        static const int sizes[] = { 50, 200, 500 };

        for (uint64_t seed = 1; seed <= 3 && is_shown(sizes[i]); seed++) {
            f = basic(sizes[i]);
            f.sender_loss_ppm = 10000;
            f.run_ns = 1 * SEC;
            struct result r = measure(&f, seed);

            printf("N = %-4d seed %llu: %5.2f %4u %4u\n", sizes[i], (unsigned long long)seed,
                   r.naks.mean, r.naks.p99, r.naks.max);
            failed |= r.failed;
        }
    }
    return failed;
}

/* All receivers miss the same packet; only the first delay decides how many ask. */
static int figure_delay(void)
{
    static const int sizes[] = { 2, 10, 50, 200, 500 };
    static const uint64_t one_ways[] = { 50 * US, 1 * MS };
    int failed = 0;

    printf("NAK packets per packet missed by all receivers\n");
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 5; i++) {
            struct figure f = basic(sizes[i]);

            if (!is_shown(sizes[i]))
                continue;
            f.retry = j & 1 ? RRCP_RETRY_FAST : RRCP_RETRY_FIXED;
            f.packets_per_s = 100;
            f.one_way_ns = one_ways[j / 2];
            f.jitter_ns = 0;
            f.sender_loss_ppm = 50000;
            f.warm_ns = 2 * SEC + (uint64_t)sizes[i] * 25 * MS; /* 50 STATUS a second */
            f.run_ns = (sizes[i] > 100 ? 8 : 20) * SEC;
            struct result r = measure(&f, 1);

            printf("one-way %.2f ms  %-5s  N = %-4d mean %5.2f  p99 %3u  useless %5.2f  "
                   "recovery p50 %.2f ms\n",
                   (double)f.one_way_ns / 1e6, j & 1 ? "fast" : "fixed", sizes[i], r.naks.mean,
                   r.naks.p99, r.dups_per_loss, r.recover_p50_ms);
            failed |= r.failed;
        }
    return failed;
}

/* One receiver, 1 % of everything lost: what a message waits. */
static int figure_retry(void)
{
    static const uint32_t rates[] = { 7700, 139000 };
    int failed = 0;

    printf("latency of in-order delivery, one receiver, one-way 0.1 ms, 1 %% loss both ways\n");
    for (int i = 0; i < 2; i++)
        for (int mode = 0; mode < 2; mode++) {
            struct figure f = basic(1);

            f.packets_per_s = rates[i];
            f.jitter_ns = 0;
            f.in.loss_ppm = 10000;
            f.retry = mode ? RRCP_RETRY_FAST : RRCP_RETRY_FIXED;
            f.run_ns = i ? 3 * SEC : 10 * SEC;
            struct result r = measure(&f, 1);

            printf("%6u packets/s  %-5s  p50 %7.3f ms  p99 %7.3f ms  gaps %llu\n", rates[i],
                   mode ? "fast" : "fixed", r.latency_p50_ms, r.latency_p99_ms,
                   (unsigned long long)r.gaps);
            failed |= r.failed;
        }
    return failed;
}

static int figure_scale(void)
{
    static const int sizes[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500 };
    int failed = 0;

    printf("receivers,retry,loss,lost_copies,naks_per_loss,repairs_per_loss,useless_per_loss,"
           "recover_p50_ms,recover_p99_ms,repairs_multicast,repairs_unicast,gaps,"
           "engine_memory_kib\n");
    for (int i = 0; i < 9; i++)
        for (int kind = 0; kind < 4 && is_shown(sizes[i]); kind++) {
            struct figure f = basic(sizes[i]);

            f.retry = kind & 1 ? RRCP_RETRY_FAST : RRCP_RETRY_FIXED;
            f.repair_rate = f.repair_burst = 0;
            f.run_ns = sizes[i] > 100 ? SEC / 2 : 2 * SEC;
            if (kind & 2)
                f.sender_loss_ppm = 10000;
            else
                f.in.loss_ppm = 1000;
            struct result r = measure(&f, 1);

            printf("%d,%s,%s,%llu,%.3f,%.3f,%.3f,%.3f,%.3f,%llu,%llu,%llu,%llu\n", sizes[i],
                   kind & 1 ? "fast" : "fixed", kind & 2 ? "1% common" : "0.1% independent",
                   (unsigned long long)r.losses, r.naks_per_loss, r.repairs_per_loss,
                   r.dups_per_loss, r.recover_p50_ms, r.recover_p99_ms,
                   (unsigned long long)r.multicast, (unsigned long long)r.unicast,
                   (unsigned long long)r.gaps, (unsigned long long)r.memory_kib);
            failed |= r.failed;
        }
    return failed;
}

int sim_figures(const char *which, int receivers)
{
    only = receivers;
    if (strcmp(which, "repair") == 0)
        return figure_repair();
    if (strcmp(which, "delay") == 0)
        return figure_delay();
    if (strcmp(which, "retry") == 0)
        return figure_retry();
    if (strcmp(which, "scale") == 0)
        return figure_scale();
    if (strcmp(which, "mesh") == 0)
        return sim_figure_mesh(receivers);
    fprintf(stderr, "figures: repair, delay, retry, scale or mesh\n");
    return 2;
}
