/* backbone_bench_topic.c - numbered messages on a bare topic; a subscriber that checks them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/prctl.h>

#include "backbone_bench.h"
#include "base/hist.h"

#define SEC            1000000000ull
#define WARM_UP_NS     SEC /* not measured */
#define CATCH_UP       8   /* ticks: a late sender makes no longer bursts */
#define SIZE_MAX_BYTES 65536u

/* The head of each message; bytes follow up to its size. */
struct numbered {
    uint64_t number;
    uint64_t sent_ns;
};

static struct topic_bench {
    const struct bench_topic_config *config;
    struct rmds_backbone *backbone;
    uint64_t received, lost, doubts, wrong, gone, next, first_ns;
    struct md_hist latency_ns;
} bench;

static int open_backbone(const struct bench_topic_config *config)
{
    int rc;

    bench.config = config;
    rc = rmds_backbone_open(config->options, &bench.backbone);
    if (rc != 0)
        fprintf(stderr, "backbone_bench: %s %s\n", rmds_error_text(rc), config->options->why);
    return rc;
}

static void on_event(const struct rmds_topic_event *event)
{
    struct numbered head;
    uint64_t now_ns = rmds_now();

    if (event->kind == RMDS_TOPIC_LOST) {
        bench.lost += event->lost;
        bench.doubts += event->lost == 0;
        bench.next += event->lost;
        return;
    }
    if (event->kind == RMDS_TOPIC_GONE) {
        bench.gone++;
        printf("gone\n");
        return;
    }
    if (event->bytes.length != bench.config->size) {
        bench.wrong++;
        return;
    }
    memcpy(&head, event->bytes.data, sizeof(head));
    if (bench.received > 0 && head.number != bench.next)
        bench.wrong++;
    bench.next = head.number + 1;
    if (bench.first_ns == 0)
        bench.first_ns = now_ns;
    if (now_ns - bench.first_ns > WARM_UP_NS)
        md_hist_record(&bench.latency_ns, now_ns - head.sent_ns);
    if (++bench.received % 10000 == 0)
        printf("messages %llu\n", (unsigned long long)bench.received);
}

int bench_topic_subscribe(const struct bench_topic_config *config)
{
    uint64_t begin_ns = rmds_now();
    struct rmds_topic *topic;

    if (open_backbone(config) != 0 ||
        rmds_topic_subscribe(bench.backbone, config->topic, on_event, NULL, &topic) != 0)
        return 1;
    while (!bench_must_end && rmds_now() - begin_ns < config->seconds * SEC &&
           (config->messages == 0 || bench.received < config->messages)) {
        if (rmds_backbone_turn(bench.backbone, rmds_now()) == 0)
            bench_wait(bench.backbone, 100000000);
    }
    const struct md_hist *hist = &bench.latency_ns;
    printf("figures received=%llu lost=%llu doubts=%llu wrong=%llu gone=%llu mean_us=%.1f "
           "p50_us=%.1f p99_us=%.1f p999_us=%.1f max_us=%.1f\n",
           (unsigned long long)bench.received, (unsigned long long)bench.lost,
           (unsigned long long)bench.doubts, (unsigned long long)bench.wrong,
           (unsigned long long)bench.gone, md_hist_mean(hist) / 1e3,
           (double)md_hist_percentile(hist, 50) / 1e3, (double)md_hist_percentile(hist, 99) / 1e3,
           (double)md_hist_percentile(hist, 99.9) / 1e3, (double)md_hist_max(hist) / 1e3);
    rmds_topic_unsubscribe(topic);
    rmds_backbone_close(bench.backbone);
    return bench.wrong > 0;
}

/* False: the ring is full, or there is no rrcpd. */
static bool publish_one(uint8_t *message, uint64_t number)
{
    struct numbered head = { .number = number, .sent_ns = rmds_now() };

    memcpy(message, &head, sizeof(head));
    return rmds_topic_publish(bench.backbone, bench.config->topic, message, bench.config->size) ==
           0;
}

/* Waits, and takes what comes, until `until_ns`. */
static void turns_until(uint64_t until_ns)
{
    for (;;) {
        bool is_idle = rmds_backbone_turn(bench.backbone, rmds_now()) == 0;
        uint64_t now_ns = rmds_now();

        if (now_ns >= until_ns || bench_must_end)
            return;
        if (is_idle)
            bench_wait(bench.backbone, until_ns - now_ns);
    }
}

/* Bursts a tick apart, as many messages in each as are due by then. */
static uint64_t publish_paced(uint8_t *message, uint64_t end_ns)
{
    const struct bench_topic_config *config = bench.config;
    uint64_t tick_ns = config->tick_us * 1000ull;
    uint64_t begin_ns = rmds_now(), next_ns = begin_ns, sent = 0;
    uint64_t burst_max = config->rate * tick_ns / SEC * CATCH_UP + 1;

    while (!bench_must_end && next_ns < end_ns) {
        next_ns += tick_ns;
        turns_until(next_ns);
        uint64_t due = (uint64_t)((double)(rmds_now() - begin_ns) / 1e9 * (double)config->rate);
        if (due > sent + burst_max)
            due = sent + burst_max;
        while (sent < due && publish_one(message, sent))
            sent++;
        rmds_backbone_flush(bench.backbone);
    }
    return sent;
}

static uint64_t publish_all(uint8_t *message, uint64_t end_ns)
{
    uint64_t sent = 0;

    while (!bench_must_end && rmds_now() < end_ns) {
        for (int i = 0; i < 2000 && publish_one(message, sent); i++)
            sent++;
        (void)rmds_backbone_turn(bench.backbone, rmds_now());
    }
    return sent;
}

int bench_topic_publish(const struct bench_topic_config *config)
{
    static uint8_t message[SIZE_MAX_BYTES];
    uint64_t end_ns = rmds_now() + config->seconds * SEC, sent;

    if (config->size < sizeof(struct numbered) || config->size > sizeof(message) ||
        open_backbone(config) != 0)
        return 1;
    prctl(PR_SET_TIMERSLACK, 1UL);
    printf("publishing %s\n", config->topic);
    turns_until(rmds_now() + SEC / 2); /* nodes have to know each other */
    sent = config->rate ? publish_paced(message, end_ns) : publish_all(message, end_ns);
    turns_until(rmds_now() + SEC / 10);
    printf("figures sent=%llu\n", (unsigned long long)sent);
    rmds_backbone_close(bench.backbone);
    return 0;
}
