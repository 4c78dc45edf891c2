/* backbone_bench_topic.c - numbered messages on a bare topic; a subscriber that checks them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backbone_bench.h"

#define SEC            1000000000ull
#define TICK_NS        100000ull
#define SIZE_MAX_BYTES 65536u

/* The head of each message; bytes follow up to its size. */
struct numbered {
    uint64_t number;
    uint64_t sent_ns;
};

static struct topic_bench {
    const struct bench_topic_config *config;
    struct rmds_backbone *backbone;
    uint64_t received, lost, doubts, wrong, gone, next, latency_sum_ns, latency_max_ns;
} bench;

static int open_backbone(const struct bench_topic_config *config)
{
    int rc;

    bench.config = config;
    rc = rmds_backbone_open(config->options, &bench.backbone);
    if (rc != 0)
        fprintf(stderr, "backbone_bench: %s\n", rmds_error_text(rc));
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
    bench.latency_sum_ns += now_ns - head.sent_ns;
    if (now_ns - head.sent_ns > bench.latency_max_ns)
        bench.latency_max_ns = now_ns - head.sent_ns;
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
    printf("figures received=%llu lost=%llu doubts=%llu wrong=%llu gone=%llu mean_us=%.1f "
           "max_us=%.1f\n",
           (unsigned long long)bench.received, (unsigned long long)bench.lost,
           (unsigned long long)bench.doubts, (unsigned long long)bench.wrong,
           (unsigned long long)bench.gone,
           bench.received ? (double)bench.latency_sum_ns / (double)bench.received / 1e3 : 0.0,
           (double)bench.latency_max_ns / 1e3);
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

int bench_topic_publish(const struct bench_topic_config *config)
{
    static uint8_t message[SIZE_MAX_BYTES];
    uint64_t begin_ns = rmds_now(), rate_ns = 0, sent = 0;

    if (config->size < sizeof(struct numbered) || config->size > sizeof(message) ||
        open_backbone(config) != 0)
        return 1;
    printf("publishing %s\n", config->topic);
    while (!bench_must_end && rmds_now() - begin_ns < config->seconds * SEC) {
        uint64_t now_ns = rmds_now();
        uint64_t due = sent + 2000;

        if (config->rate && rate_ns == 0 && sent > 0)
            rate_ns = now_ns;
        if (config->rate)
            due = rate_ns ? (uint64_t)((double)(now_ns - rate_ns) / 1e9 * (double)config->rate) : 1;
        for (int i = 0; i < 2000 && sent < due && publish_one(message, sent); i++)
            sent++;
        if (rmds_backbone_turn(bench.backbone, rmds_now()) == 0 && config->rate)
            bench_wait(bench.backbone, TICK_NS);
    }
    printf("figures sent=%llu\n", (unsigned long long)sent);
    rmds_backbone_close(bench.backbone);
    return 0;
}
