/* pub.c - publish numbered, timed, checksummed messages at a rate, or as fast as it goes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/err.h"
#include "perf.h"

/* Unpaced: messages composed between two flushes. */
enum { BURST = 256, EVENTS = 64, END_REPEAT = 5, CATCH_UP = 8 };

struct publisher {
    const struct perf_options *options;
    struct attach *user;
    struct backbone_target target;
    uint64_t sent, stalls;
};

static void drain(struct publisher *p)
{
    struct backbone_event events[EVENTS];

    while (attach_poll(p->user, perf_now(), events, EVENTS) > 0) {
    }
}

/* The ring is full: let the daemon have the CPU, then sleep until half of the ring is free. */
static void stall(struct publisher *p, int attempt)
{
    p->stalls++;
    attach_flush(p->user);
    if (attempt < 4) {
        sched_yield();
        return;
    }
    drain(p);
    perf_wait(p->user, perf_now() + MD_NS_PER_MS, false);
}

static bool send_one(struct publisher *p, enum perf_kind kind, uint64_t seq)
{
    uint32_t size = p->options->size;
    uint8_t *room;

    for (int attempt = 0; !perf_must_stop; attempt++) {
        int err = attach_claim(p->user, &p->target, size, &room);

        if (err == 0) {
            perf_compose(room, size, kind, seq, perf_now());
            attach_commit(p->user, size);
            return true;
        }
        if (kind == PERF_END && attempt > 1000)
            return false; /* nobody takes it: an order to end is not held up for long */
        if (err != MD_ERR_FULL) {
            drain(p); /* the daemon is away: it comes back, or the time is up */
            if (attempt > 1000)
                return false;
        }
        stall(p, attempt);
    }
    return false;
}

static void run_unpaced(struct publisher *p, uint64_t end_ns)
{
    while (perf_now() < end_ns && !perf_must_stop) {
        for (int i = 0; i < BURST; i++)
            if (send_one(p, PERF_DATA, p->sent))
                p->sent++;
        attach_flush(p->user);
        drain(p);
    }
}

/*
 * Bursts `tick_us` apart, as many messages in each as are due by then, but no more than belong to
 * CATCH_UP ticks: one that cannot keep its rate would otherwise make ever longer bursts and not
 * end.
 */
static void run_paced(struct publisher *p, uint64_t begin_ns, uint64_t end_ns)
{
    const struct perf_options *options = p->options;
    uint64_t tick_ns = options->tick_us * 1000ull;
    uint64_t next_ns = begin_ns;

    if (options->rate * (double)tick_ns < 1e9)
        tick_ns = (uint64_t)(1e9 / options->rate);
    uint64_t burst_max = (uint64_t)(options->rate * (double)tick_ns * (double)CATCH_UP / 1e9) + 1;

    while (next_ns < end_ns && perf_now() < end_ns && !perf_must_stop) {
        next_ns += tick_ns;
        for (;;) {
            uint64_t now_ns = perf_now();

            if (now_ns >= next_ns)
                break;
            drain(p);
            perf_wait(p->user, next_ns, false);
        }
        uint64_t due = (uint64_t)((double)(perf_now() - begin_ns) * options->rate / 1e9);
        if (due > p->sent + burst_max)
            due = p->sent + burst_max;
        while (p->sent < due && send_one(p, PERF_DATA, p->sent))
            p->sent++;
        attach_flush(p->user);
        drain(p);
    }
}

/* Several times: a receiver that has lost the tail would otherwise wait for it in vain. */
static void say_end(struct publisher *p)
{
    for (int i = 0; i < END_REPEAT && !perf_must_stop; i++) {
        uint64_t until_ns = perf_now() + 20 * MD_NS_PER_MS;

        (void)send_one(p, PERF_END, p->sent);
        attach_flush(p->user);
        while (perf_now() < until_ns) {
            drain(p);
            perf_wait(p->user, until_ns, false);
        }
    }
}

int perf_publish(const struct perf_options *options)
{
    struct publisher p = { .options = options, .target = { .topic = options->topic } };

    prctl(PR_SET_TIMERSLACK, 1UL);
    p.user = perf_attach(options, "pub", true);
    if (!p.user)
        return 1;
    uint64_t settle_ns = perf_now() + 300 * MD_NS_PER_MS; /* beacons first: peers must know us */
    while (perf_now() < settle_ns) {
        drain(&p);
        perf_wait(p.user, settle_ns, false);
    }
    double cpu = perf_cpu_seconds();
    uint64_t begin_ns = perf_now();
    uint64_t end_ns = begin_ns + (uint64_t)((options->warmup + options->seconds) * 1e9);
    if (options->rate > 0)
        run_paced(&p, begin_ns, end_ns);
    else
        run_unpaced(&p, end_ns);
    double elapsed = (double)(perf_now() - begin_ns) / 1e9;
    cpu = perf_cpu_seconds() - cpu;
    perf_must_stop = false; /* who listens hears of the end of one that was told to end, too */
    say_end(&p);
    if (options->want_json)
        printf("{\"mode\": \"pub\", \"size\": %u, \"rate\": %.0f, \"sent\": %llu, \"msgs_per_s\": "
               "%.0f, \"stalls\": %llu, \"cpu_s\": %.3f}\n",
               options->size, options->rate, (unsigned long long)p.sent, (double)p.sent / elapsed,
               (unsigned long long)p.stalls, cpu);
    else
        printf("published %llu messages of %u bytes, %.0f/s, ring full %llu times, cpu %.2f s\n",
               (unsigned long long)p.sent, options->size, (double)p.sent / elapsed,
               (unsigned long long)p.stalls, cpu);
    attach_close(p.user);
    return 0;
}
