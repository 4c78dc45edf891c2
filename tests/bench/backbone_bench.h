/* backbone_bench.h - the two sides of backbone_bench. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKBONE_BENCH_H
#define BACKBONE_BENCH_H

#include <signal.h>

#include "rmds/backbone.h"

struct bench_source_config {
    const struct rmds_backbone_options *options;
    const char *service;
    uint64_t rate; /* updates/s; 0: as many as go */
    uint64_t seconds;
    uint32_t item_count; /* broadcast; 0: interactive */
};

/* Publishes until it is ended; the exit code. */
int bench_source(const struct bench_source_config *config);

struct bench_topic_config {
    const struct rmds_backbone_options *options;
    const char *topic;
    uint64_t rate; /* messages/s; 0: as many as go */
    uint64_t seconds;
    uint64_t messages; /* a subscriber ends after so many */
    uint32_t size;
    uint32_t tick_us; /* between two bursts of the sender */
};

/* Publishes numbered messages on a topic, or hears them and checks the numbers. */
int bench_topic_publish(const struct bench_topic_config *config);
int bench_topic_subscribe(const struct bench_topic_config *config);

/* Until the backbone has something to do, at most so long. */
void bench_wait(const struct rmds_backbone *backbone, uint64_t most_ns);

extern volatile sig_atomic_t bench_must_end;

#endif
