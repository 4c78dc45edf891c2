/* ping.c - round trips: one side asks by multicast, the other answers by unicast. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hist.h"
#include "perf.h"

enum { EVENTS = 64 };

struct ping {
    const struct perf_options *options;
    struct attach *user;
    uint64_t asked, answered, corrupt;
    bool is_waiting;
    uint8_t *bytes;
    struct md_hist hist;
};

static void send_message(struct ping *p, const struct backbone_target *target, enum perf_kind kind,
                         uint64_t seq, uint64_t sent_ns)
{
    struct attach_piece piece = { p->bytes, p->options->size };

    perf_compose(p->bytes, p->options->size, kind, seq, sent_ns);
    (void)attach_send(p->user, target, &piece, 1);
    attach_flush(p->user);
}

static void on_message(struct ping *p, const struct backbone_event *event)
{
    struct perf_message head;

    if (event->topic != p->options->topic)
        return;
    if (!perf_check(event->bytes, event->length, &head)) {
        p->corrupt++;
        return;
    }
    if (head.kind == PERF_PING && p->options->is_reply) {
        struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                          .session = event->session,
                                          .port = event->src_port,
                                          .topic = p->options->topic };

        p->answered++;
        send_message(p, &target, PERF_PONG, head.seq, head.sent_ns);
    } else if (head.kind == PERF_PONG && !p->options->is_reply && head.seq + 1 == p->asked) {
        p->answered++;
        p->is_waiting = false;
        md_hist_record(&p->hist, perf_now() - head.sent_ns);
    }
}

static void take_all(struct ping *p)
{
    struct backbone_event events[EVENTS];
    int count;

    while ((count = attach_poll(p->user, perf_now(), events, EVENTS)) > 0)
        for (int i = 0; i < count; i++)
            if (events[i].type == BACKBONE_MESSAGE)
                on_message(p, &events[i]);
    attach_flush(p->user);
}

static void report(const struct ping *p)
{
    const struct md_hist *h = &p->hist;

    if (p->options->want_json)
        printf("{\"mode\": \"ping\", \"size\": %u, \"asked\": %llu, \"answered\": %llu, "
               "\"corrupt\": %llu, \"min_us\": %.2f, \"mean_us\": %.2f, \"p50_us\": %.2f, "
               "\"p99_us\": %.2f, \"p999_us\": %.2f, \"max_us\": %.2f}\n",
               p->options->size, (unsigned long long)p->asked, (unsigned long long)p->answered,
               (unsigned long long)p->corrupt, (double)md_hist_min(h) / 1e3, md_hist_mean(h) / 1e3,
               (double)md_hist_percentile(h, 50) / 1e3, (double)md_hist_percentile(h, 99) / 1e3,
               (double)md_hist_percentile(h, 99.9) / 1e3, (double)md_hist_max(h) / 1e3);
    else
        printf("%llu of %llu answered; round trip us: min %.1f mean %.1f p50 %.1f p99 %.1f p99.9 "
               "%.1f max %.1f\n",
               (unsigned long long)p->answered, (unsigned long long)p->asked,
               (double)md_hist_min(h) / 1e3, md_hist_mean(h) / 1e3,
               (double)md_hist_percentile(h, 50) / 1e3, (double)md_hist_percentile(h, 99) / 1e3,
               (double)md_hist_percentile(h, 99.9) / 1e3, (double)md_hist_max(h) / 1e3);
}

/* Ask `rate` times a second (10 when not said); one question is open at a time. */
static void ask_all(struct ping *p)
{
    struct backbone_target everyone = { .topic = p->options->topic };
    double rate = p->options->rate > 0 ? p->options->rate : 10;
    uint64_t period_ns = (uint64_t)(1e9 / rate);
    uint64_t next_ns = perf_now() + 300 * MD_NS_PER_MS;
    uint64_t end_ns = next_ns + (uint64_t)(p->options->seconds * 1e9);

    while (!perf_must_stop && perf_now() < end_ns) {
        uint64_t now_ns = perf_now();

        if (now_ns >= next_ns && (!p->is_waiting || now_ns >= next_ns + MD_NS_PER_S)) {
            next_ns = now_ns + period_ns;
            p->is_waiting = true;
            send_message(p, &everyone, PERF_PING, p->asked++, perf_now());
        }
        take_all(p);
        perf_wait(p->user, p->is_waiting ? now_ns + 10 * MD_NS_PER_MS : next_ns, p->options->spin);
    }
}

static void answer_all(struct ping *p)
{
    uint64_t end_ns = perf_now() + (uint64_t)((p->options->seconds + 2) * 1e9);

    while (!perf_must_stop && perf_now() < end_ns) {
        take_all(p);
        perf_wait(p->user, end_ns, p->options->spin);
    }
}

int perf_ping(const struct perf_options *options)
{
    struct ping *p = calloc(1, sizeof(*p));
    int code = 1;

    prctl(PR_SET_TIMERSLACK, 1UL);
    if (!p)
        return 1;
    p->options = options;
    p->bytes = malloc(options->size);
    md_hist_init(&p->hist);
    p->user = p->bytes ? perf_attach(options, "ping", false) : NULL;
    if (p->user) {
        if (options->is_reply) {
            answer_all(p);
        } else {
            ask_all(p);
            report(p);
        }
        code = p->corrupt || (!options->is_reply && p->answered == 0);
    }
    attach_close(p->user);
    free(p->bytes);
    free(p);
    return code;
}
