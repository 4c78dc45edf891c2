/* sub.c - receive what publishers send; verify every message; latency of every one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hist.h"
#include "perf.h"

enum { STREAMS_MAX = 256, EVENTS = 512 };

/* One publisher: (session, port). */
struct stream {
    uint64_t session;
    uint16_t port;
    bool has_ended;
    bool was_told;  /* that something may be missing before its next message */
    uint64_t next;  /* expected */
    uint64_t first; /* where we joined */
    uint64_t received;
};

struct subscriber {
    const struct perf_options *options;
    struct attach *user;
    struct stream streams[STREAMS_MAX];
    uint32_t stream_count, ended;
    uint64_t first_ns, last_ns, begin_ns, end_ns, seen_ns;
    uint64_t received, lost, untold, duplicates, corrupt;
    uint64_t gaps, gap_packets, overruns, peers_down, users_down, daemon_downs;
    uint64_t measured;
    double cpu_begin, cpu;
    struct md_hist hist;
};

static bool is_ours(void *argument, const struct backbone_event *event)
{
    const struct subscriber *s = argument;

    return event->topic == s->options->topic;
}

static struct stream *stream_of(struct subscriber *s, const struct backbone_event *event,
                                uint64_t seq)
{
    for (uint32_t i = 0; i < s->stream_count; i++)
        if (s->streams[i].session == event->session && s->streams[i].port == event->src_port)
            return &s->streams[i];
    if (s->stream_count == STREAMS_MAX)
        return NULL;
    struct stream *stream = &s->streams[s->stream_count++];
    *stream = (struct stream){
        .session = event->session, .port = event->src_port, .next = seq, .first = seq
    };
    return stream;
}

/* Everything before `seq` was sent: what has not come is lost, and must have been told. */
static void expect_all_before(struct subscriber *s, struct stream *stream, uint64_t seq)
{
    uint64_t missing = seq > stream->next ? seq - stream->next : 0;

    s->lost += missing;
    if (!stream->was_told)
        s->untold += missing;
    stream->was_told = false;
}

/* session 0: all of them. */
static void told(struct subscriber *s, uint64_t session)
{
    for (uint32_t i = 0; i < s->stream_count; i++)
        if (session == 0 || s->streams[i].session == session)
            s->streams[i].was_told = true;
}

static void end_of_stream(struct subscriber *s, struct stream *stream, uint64_t total)
{
    if (stream->has_ended)
        return;
    stream->has_ended = true;
    s->ended++;
    expect_all_before(s, stream, total);
}

static void begin_measuring(struct subscriber *s, uint64_t now_ns)
{
    s->first_ns = now_ns;
    s->begin_ns = now_ns + (uint64_t)(s->options->warmup * 1e9);
    s->end_ns = s->begin_ns + (uint64_t)(s->options->seconds * 1e9);
}

static void measure(struct subscriber *s, const struct perf_message *head, uint64_t now_ns)
{
    if (now_ns < s->begin_ns || now_ns >= s->end_ns)
        return;
    if (s->measured++ == 0)
        s->cpu_begin = perf_cpu_seconds();
    s->last_ns = now_ns;
    md_hist_record(&s->hist, now_ns > head->sent_ns ? now_ns - head->sent_ns : 0);
}

static void on_message(struct subscriber *s, const struct backbone_event *event, uint64_t now_ns)
{
    struct perf_message head;

    if (!perf_check(event->bytes, event->length, &head)) {
        s->corrupt++;
        return;
    }
    if (head.kind != PERF_DATA && head.kind != PERF_END)
        return;
    /*
     * We join at the first we hear, be it the END: a publisher whose rrcpd was started anew has a
     * new (session, port), and may have nothing left to send there but its end.
     */
    struct stream *stream = stream_of(s, event, head.seq);
    if (!stream)
        return;
    if (head.kind == PERF_END) {
        end_of_stream(s, stream, head.seq);
        return;
    }
    if (s->first_ns == 0)
        begin_measuring(s, now_ns);
    if (head.seq < stream->next) {
        s->duplicates++;
        return;
    }
    expect_all_before(s, stream, head.seq);
    stream->next = head.seq + 1;
    stream->received++;
    s->received++;
    measure(s, &head, now_ns);
}

static void on_event(struct subscriber *s, const struct backbone_event *event, uint64_t now_ns)
{
    switch ((enum backbone_event_type)event->type) {
    case BACKBONE_MESSAGE:
        on_message(s, event, now_ns);
        break;
    case BACKBONE_GAP:
        s->gaps++;
        s->gap_packets += event->count;
        told(s, event->session);
        break;
    case BACKBONE_OVERRUN:
        s->overruns++;
        break;
    case BACKBONE_PEER_DOWN:
        s->peers_down++;
        told(s, event->session);
        break;
    case BACKBONE_DETACHED:
        s->daemon_downs++;
        told(s, 0);
        break;
    case BACKBONE_USER_DOWN:
        s->users_down++;
        break;
    case BACKBONE_PEER_UP:
    case BACKBONE_TX_DROPPED:
    case BACKBONE_PEER_INFO:
    case BACKBONE_DENIED:
    case BACKBONE_TX_READY:
    case BACKBONE_ATTACHED:
        break;
    }
}

/* The clock is read for every message while they come singly, every few in long batches. */
static int take(struct subscriber *s, struct backbone_event events[])
{
    int count = attach_poll(s->user, perf_now(), events, EVENTS);
    int stride = count >= 64 ? 8 : 1;
    uint64_t now_ns = 0;

    for (int i = 0; i < count; i++) {
        if (i % stride == 0)
            now_ns = perf_now();
        on_event(s, &events[i], now_ns);
    }
    if (count > 0)
        s->seen_ns = now_ns;
    return count;
}

static bool is_over(const struct subscriber *s, uint64_t now_ns)
{
    const struct perf_options *options = s->options;

    if (perf_must_stop || (options->publishers && s->ended >= options->publishers))
        return true;
    return (double)(now_ns - s->seen_ns) / 1e9 > options->timeout;
}

static void report(const struct subscriber *s)
{
    const struct perf_options *o = s->options;
    double elapsed = s->measured ? (double)(s->last_ns - s->begin_ns) / 1e9 : 0;
    double rate = elapsed > 0 ? (double)s->measured / elapsed : 0;
    const struct md_hist *h = &s->hist;
    struct attach_counters totals;

    attach_counters(s->user, &totals);
    if (o->want_json) {
        printf("{\"mode\": \"sub\", \"size\": %u, \"publishers\": %u, \"received\": %llu, "
               "\"measured\": %llu, \"seconds\": %.3f, \"msgs_per_s\": %.0f, \"lost\": %llu, "
               "\"untold\": %llu, \"duplicates\": %llu, \"corrupt\": %llu, \"gaps\": %llu, "
               "\"overruns\": %llu, "
               "\"repaired\": %llu, \"peers_down\": %llu, \"users_down\": %llu, \"daemon_downs\": "
               "%llu, \"mean_us\": "
               "%.2f, \"stddev_us\": %.2f, \"p50_us\": %.2f, "
               "\"p99_us\": %.2f, \"p999_us\": %.2f, \"min_us\": %.2f, \"max_us\": %.2f, "
               "\"cpu_s\": %.3f}\n",
               o->size, s->stream_count, (unsigned long long)s->received,
               (unsigned long long)s->measured, elapsed, rate, (unsigned long long)s->lost,
               (unsigned long long)s->untold, (unsigned long long)s->duplicates,
               (unsigned long long)s->corrupt, (unsigned long long)s->gaps,
               (unsigned long long)s->overruns, (unsigned long long)totals.packets_repaired,
               (unsigned long long)s->peers_down, (unsigned long long)s->users_down,
               (unsigned long long)s->daemon_downs, md_hist_mean(h) / 1e3, md_hist_stddev(h) / 1e3,
               (double)md_hist_percentile(h, 50) / 1e3, (double)md_hist_percentile(h, 99) / 1e3,
               (double)md_hist_percentile(h, 99.9) / 1e3, (double)md_hist_min(h) / 1e3,
               (double)md_hist_max(h) / 1e3, s->cpu);
        return;
    }
    printf("received %llu messages from %u publishers, %.0f/s over %.2f s\n"
           "lost %llu, of which untold %llu, duplicates %llu, corrupt %llu, gap events %llu, "
           "overruns %llu\n"
           "latency us: min %.1f mean %.1f stddev %.1f p50 %.1f p99 %.1f p99.9 %.1f max %.1f\n",
           (unsigned long long)s->received, s->stream_count, rate, elapsed,
           (unsigned long long)s->lost, (unsigned long long)s->untold,
           (unsigned long long)s->duplicates, (unsigned long long)s->corrupt,
           (unsigned long long)s->gaps, (unsigned long long)s->overruns,
           (double)md_hist_min(h) / 1e3, md_hist_mean(h) / 1e3, md_hist_stddev(h) / 1e3,
           (double)md_hist_percentile(h, 50) / 1e3, (double)md_hist_percentile(h, 99) / 1e3,
           (double)md_hist_percentile(h, 99.9) / 1e3, (double)md_hist_max(h) / 1e3);
}

static int write_hist(const struct subscriber *s)
{
    FILE *file = fopen(s->options->hist_path, "we");

    if (!file || md_hist_print(&s->hist, file, 1000, 5) != 0) {
        fprintf(stderr, "rrcpperf: %s cannot be written\n", s->options->hist_path);
        if (file)
            fclose(file);
        return 1;
    }
    fclose(file);
    return 0;
}

/* Exact, so that runs can be added up: the sum and the ends of all, then every bucket in use. */
static int write_counts(const struct subscriber *s)
{
    const struct md_hist *h = &s->hist;
    FILE *file = fopen(s->options->counts_path, "we");

    if (!file) {
        fprintf(stderr, "rrcpperf: %s cannot be written\n", s->options->counts_path);
        return 1;
    }
    fprintf(file, "# ns: sum %llu min %llu max %llu\n", (unsigned long long)h->sum,
            (unsigned long long)md_hist_min(h), (unsigned long long)md_hist_max(h));
    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i++)
        if (h->buckets[i])
            fprintf(file, "%llu %llu %llu\n", (unsigned long long)md_hist_bucket_low(i),
                    (unsigned long long)md_hist_bucket_high(i), (unsigned long long)h->buckets[i]);
    return fclose(file) ? 1 : 0;
}

int perf_subscribe(const struct perf_options *options)
{
    struct subscriber *s = calloc(1, sizeof(*s));
    struct backbone_event *events = calloc(EVENTS, sizeof(*events));
    int code = 1;

    if (!s || !events)
        goto out;
    s->options = options;
    md_hist_init(&s->hist);
    options->settings->config.want = is_ours;
    options->settings->config.want_argument = s;
    s->user = perf_attach(options, "sub", false);
    if (!s->user)
        goto out;
    fprintf(stderr, "rrcpperf: subscribed\n");
    s->seen_ns = perf_now();
    while (!is_over(s, perf_now()))
        if (take(s, events) == 0)
            perf_wait(s->user, perf_now() + 200 * MD_NS_PER_MS, options->spin);
    s->cpu = perf_cpu_seconds() - s->cpu_begin;
    report(s);
    code = options->hist_path ? write_hist(s) : 0;
    if (options->counts_path && write_counts(s) != 0)
        code = 1;
    if (s->corrupt || s->duplicates || s->untold || s->received == 0)
        code = 1;
out:
    if (s)
        attach_close(s->user);
    free(events);
    free(s);
    return code;
}
