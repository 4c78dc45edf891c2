/* perf.h - what the parts of rrcpperf share: options, the test message, waiting. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPPERF_PERF_H
#define RRCPPERF_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "attach/settings.h"

struct perf_options {
    const char *mode;
    struct attach_settings *settings;
    uint32_t topic;
    uint32_t size;       /* bytes of a message */
    double rate;         /* messages/s of a publisher; 0 = as fast as it goes */
    double seconds;      /* measured */
    double warmup;       /* before that, seconds */
    uint32_t tick_us;    /* with a rate: messages go in bursts this far apart */
    uint32_t publishers; /* sub: how many to wait for the end of */
    double timeout;      /* seconds without a message after which sub gives up */
    bool is_reply;       /* ping: answer instead of asking */
    bool want_json;
    bool spin; /* do not sleep while waiting */
    const char *hist_path, *counts_path;
};

/* ---- the test message ------------------------------------------------------------------------ */

enum perf_kind { PERF_DATA = 1, PERF_END = 2, PERF_PING = 3, PERF_PONG = 4 };

/* In front of every message, native byte order: it stays on this host or between equal ones. */
struct perf_message {
    uint64_t seq;     /* 0, 1, 2 ... per publisher; END: how many there were */
    uint64_t sent_ns; /* monotonic clock, when it was composed */
    uint32_t kind;
    uint32_t length;
    uint64_t sum; /* perf_sum() of everything else */
};

enum { PERF_SIZE_MIN = sizeof(struct perf_message) };

/* A checksum of the bytes behind the header and of the header without `sum`. */
uint64_t perf_sum(const struct perf_message *head, const uint8_t *body, size_t length);

/* Fill `bytes` of the options' size with the message `seq`. */
void perf_compose(uint8_t *bytes, uint32_t length, enum perf_kind kind, uint64_t seq,
                  uint64_t sent_ns);

/* Is this a whole and unchanged test message? Then *head is its header. */
bool perf_check(const uint8_t *bytes, uint32_t length, struct perf_message *head);

/* ---- waiting --------------------------------------------------------------------------------- */

uint64_t perf_now(void);

/* Until the user's descriptor is readable, its deadline, or `until_ns`. */
void perf_wait(const struct attach *user, uint64_t until_ns, bool spin);

/* Attach, or say why not and return NULL; waits for the daemon, at most 10 s. */
struct attach *perf_attach(const struct perf_options *options, const char *role, bool sends_only);

extern volatile bool perf_must_stop; /* set by SIGINT and SIGTERM */

double perf_cpu_seconds(void);

int perf_publish(const struct perf_options *options);
int perf_subscribe(const struct perf_options *options);
int perf_ping(const struct perf_options *options);

#endif
