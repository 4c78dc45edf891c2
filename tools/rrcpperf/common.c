/* common.c - see perf.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "perf.h"

volatile bool perf_must_stop;

uint64_t perf_now(void)
{
    return md_clock_mono_ns();
}

double perf_cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Four lanes, so that the multiplications overlap: about a byte per eighth of a cycle. */
static uint64_t sum_bytes(uint64_t seed, const uint8_t *bytes, size_t length)
{
    const uint64_t factor = 0x9e3779b97f4a7c15ull;
    uint64_t lanes[4] = { seed, ~seed, seed ^ factor, seed + factor };
    uint64_t word;

    while (length >= 32) {
        for (int i = 0; i < 4; i++) {
            memcpy(&word, bytes + 8 * i, 8);
            lanes[i] = (lanes[i] ^ word) * factor;
        }
        bytes += 32;
        length -= 32;
    }
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        lanes[0] = (lanes[0] ^ word) * factor;
    }
    for (; length > 0; bytes++, length--)
        lanes[1] = (lanes[1] ^ *bytes) * factor;
    return (lanes[0] ^ lanes[1] >> 7) * factor + (lanes[2] ^ lanes[3] >> 13);
}

uint64_t perf_sum(const struct perf_message *head, const uint8_t *body, size_t length)
{
    return sum_bytes(head->seq ^ head->sent_ns << 1 ^ (uint64_t)head->kind << 32 ^ head->length,
                     body, length);
}

void perf_compose(uint8_t *bytes, uint32_t length, enum perf_kind kind, uint64_t seq,
                  uint64_t sent_ns)
{
    struct perf_message head = { .seq = seq, .sent_ns = sent_ns, .kind = kind, .length = length };
    uint8_t *body = bytes + sizeof(head);
    uint32_t left = length - (uint32_t)sizeof(head);

    memset(body, (int)(seq & 0xff), left);
    head.sum = perf_sum(&head, body, left);
    memcpy(bytes, &head, sizeof(head));
}

bool perf_check(const uint8_t *bytes, uint32_t length, struct perf_message *head)
{
    if (length < sizeof(*head))
        return false;
    memcpy(head, bytes, sizeof(*head));
    return head->length == length &&
           head->sum == perf_sum(head, bytes + sizeof(*head), length - sizeof(*head));
}

void perf_wait(const struct attach *user, uint64_t until_ns, bool spin)
{
    uint64_t deadline_ns = attach_deadline(user);
    uint64_t now_ns = perf_now();
    struct pollfd readable = { .fd = attach_fd(user), .events = POLLIN };

    if (until_ns < deadline_ns)
        deadline_ns = until_ns;
    if (deadline_ns <= now_ns)
        return;
    if (spin) {
        sched_yield();
        return;
    }
    uint64_t left = deadline_ns - now_ns;
    if (left > MD_NS_PER_S)
        left = MD_NS_PER_S;
    struct timespec wait = { .tv_sec = (time_t)(left / MD_NS_PER_S),
                             .tv_nsec = (long)(left % MD_NS_PER_S) };
    (void)ppoll(&readable, 1, &wait, NULL);
}

struct attach *perf_attach(const struct perf_options *options, const char *role, bool sends_only)
{
    struct attach_config config = options->settings->config;
    struct attach *user;
    char name[64];
    char why[256] = "";
    uint64_t until_ns = perf_now() + 10 * MD_NS_PER_S;
    uint64_t session;
    uint16_t port;

    snprintf(name, sizeof(name), "rrcpperf.%s.%d", role, (int)getpid());
    config.user_name = name;
    config.sends_only = config.wants_no_data = sends_only;
    config.why = why;
    config.why_size = sizeof(why);
    int err = attach_open(&config, &user);
    if (err) {
        fprintf(stderr, "rrcpperf: %s\n", *why ? why : md_err_name(err));
        return NULL;
    }
    while (!attach_self(user, &session, &port)) {
        struct backbone_event event;

        if (perf_now() > until_ns || perf_must_stop) {
            fprintf(stderr, "rrcpperf: no rrcpd of network %s, instance %s in %s\n", config.network,
                    config.rrcpd_instance, config.run_dir);
            attach_close(user);
            return NULL;
        }
        (void)attach_poll(user, perf_now(), &event, 1);
        perf_wait(user, perf_now() + 50 * MD_NS_PER_MS, false);
    }
    return user;
}
