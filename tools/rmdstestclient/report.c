/* report.c - what was measured: statistics lines, the latency file, the summary. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "seconds.h"
#include "tc.h"
#include "usage.h"

#define COMPLAINTS_MAX 50
#define QUIET_NS       MD_NS_PER_S
#define DRAIN_LOOK_NS  (50 * MD_NS_PER_MS)
#define SAMPLE_NS      (MD_NS_PER_S / 10)

void report_complain(struct tc *tc, const struct conn *conn, const struct tc_item *item,
                     const char *format, ...)
{
    va_list args;

    if (tc->complaints++ >= COMPLAINTS_MAX) {
        if (tc->complaints == COMPLAINTS_MAX + 1)
            fprintf(stderr, "rmdstestclient: further complaints are only counted\n");
        return;
    }
    fprintf(stderr, "rmdstestclient: connection %u: %s: ", conn->number, item->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* ---- one time stamp ---- */

static void write_head(struct tc *tc, const struct tc_item *item)
{
    char text[32], host[128] = "localhost";
    time_t wall = (time_t)(tc->lmstart_ns / MD_NS_PER_S);
    struct tm tm;

    if (tc->has_lmhead)
        return;
    tc->has_lmhead = true;
    (void)gethostname(host, sizeof(host) - 1);
    gmtime_r(&wall, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    fprintf(tc->lmfile,
            "# rmds-latency 1 host=%s service=%s item=%s clock=monotonic start=%s\n"
            "# seconds_since_start latency_us\n",
            host, tc->services[item ? item->service : 0], item ? item->name : "-", text);
}

static void write_sample(struct tc *tc, uint64_t now_ns, int64_t us)
{
    fprintf(tc->lmfile, "%.6f %lld\n", (double)(now_ns - tc->started_ns) / 1e9, (long long)us);
}

void report_latency(struct tc *tc, const struct tc_item *item, uint64_t now_ns, uint64_t stamp_us)
{
    int64_t us = (int64_t)(now_ns / MD_NS_PER_US) - (int64_t)stamp_us;

    tc->stats.timed++;
    latency_record(tc->interval, us);
    if (!tc->is_measuring) {
        tc->discarded += !tc->is_draining;
        return;
    }
    latency_record(tc->latency, us);
    seconds_record(tc->seconds, now_ns, us);
    if (now_ns >= tc->sample_due_ns) {
        latency_record(tc->sampled, us);
        tc->sample_due_ns += SAMPLE_NS;
        if (tc->sample_due_ns <= now_ns)
            tc->sample_due_ns = now_ns + SAMPLE_NS;
    }
    if (!tc->lmfile)
        return;
    write_head(tc, item);
    write_sample(tc, now_ns, us);
}

/* ---- the phases of a run ---- */

static bool is_logged_in(const struct tc *tc)
{
    for (unsigned i = 0; i < tc->options.conns; i++) {
        if (tc->conns[i].state <= CONN_LOGIN)
            return false;
    }
    return true;
}

static void finish(struct tc *tc)
{
    tc->is_over = true;
    md_loop_stop(tc->loop);
}

/* After the measurement: until nothing has come for a second. Sequence is judged all the while. */
static void on_drain(void *owner)
{
    struct tc *tc = owner;
    uint64_t now_ns = md_clock_mono_ns();

    if (tc->stats.updates != tc->quiet_updates) {
        tc->quiet_updates = tc->stats.updates;
        tc->quiet_since_ns = now_ns;
    }
    bool is_quiet = now_ns - tc->quiet_since_ns >= QUIET_NS;
    if ((is_quiet && counts_are_there(tc)) ||
        now_ns - tc->ended_ns >= (uint64_t)(tc->options.drain_s * 1e9))
        finish(tc);
}

static void on_end(void *owner)
{
    struct tc *tc = owner;

    if (!tc->is_measuring || tc->options.drain_s <= 0) {
        finish(tc);
        return;
    }
    tc->is_measuring = false;
    tc->is_draining = true;
    tc->at_end = tc->stats;
    tc->ended_logged_out = !is_logged_in(tc);
    tc->ended_ns = tc->quiet_since_ns = md_clock_mono_ns();
    tc->quiet_updates = tc->stats.updates;
    printf("rmdstestclient: measured\n"); /* for whoever stops the publisher now */
    fflush(stdout);
    (void)md_loop_timer_every(tc->drain_timer, DRAIN_LOOK_NS);
}

static void on_measure(void *owner)
{
    struct tc *tc = owner;

    tc->is_measuring = true;
    tc->measure_ns = tc->sample_due_ns = md_clock_mono_ns();
    tc->at_measure = tc->stats;
    if (tc->options.secs > 0) {
        (void)md_loop_timer_at(tc->end_timer, tc->measure_ns + (uint64_t)(tc->options.secs * 1e9));
    }
}

void report_settled(struct tc *tc)
{
    if (++tc->settled != tc->wanted)
        return;
    tc->open_ns = md_clock_mono_ns();
    refusals_tell(tc);
    printf("rmdstestclient: %llu of %llu items open on %u connection%s in %.3f s\n",
           (unsigned long long)(tc->wanted - tc->failed), (unsigned long long)tc->wanted,
           tc->options.conns, tc->options.conns == 1 ? "" : "s",
           (double)(tc->open_ns - tc->started_ns) / 1e9);
    fflush(stdout);
    if (tc->options.exit_when_open)
        on_end(tc);
    else if (tc->options.discard_s > 0)
        (void)md_loop_timer_after(tc->measure_timer, (uint64_t)(tc->options.discard_s * 1e9));
    else
        on_measure(tc);
}

static void on_flush(void *owner)
{
    struct tc *tc = owner;

    refusals_tell(tc);
    if (tc->lmfile)
        fflush(tc->lmfile);
}

/* ---- statistics lines ---- */

static void sum_open(const struct tc *tc, unsigned long long *open, unsigned long long *pending)
{
    *open = *pending = 0;
    for (unsigned i = 0; i < tc->options.conns; i++) {
        *open += tc->conns[i].open;
        *pending += tc->conns[i].pending;
    }
}

void report_line(struct tc *tc)
{
    uint64_t now_ns = md_clock_mono_ns(), cpu = usage_cpu_ns();
    struct latency_summary lat;
    unsigned long long open, pending;

    sum_open(tc, &open, &pending);
    latency_summary(tc->interval, &lat);
    usage_print(tc->stats_file ? tc->stats_file : stdout,
                &(struct usage_line){ .seconds = (double)(now_ns - tc->printed_ns) / 1e9,
                                      .updates = tc->stats.updates - tc->printed.updates,
                                      .refreshes = tc->stats.refreshes - tc->printed.refreshes,
                                      .statuses = tc->stats.statuses - tc->printed.statuses,
                                      .bytes = tc->stats.bytes - tc->printed.bytes,
                                      .items_open = open,
                                      .items_pending = pending,
                                      .lat_mean_us = lat.mean_us,
                                      .lat_max_us = lat.max_us,
                                      .cpu_ns = cpu - tc->printed_cpu_ns,
                                      .errors = tc->stats.errors });
    tc->printed = tc->stats;
    tc->printed_ns = now_ns;
    tc->printed_cpu_ns = cpu;
    latency_clear(tc->interval);
}

static void on_interval(void *owner)
{
    report_line(owner);
}

/* ---- files ---- */

static FILE *create_file(const char *path)
{
    FILE *file = fopen(path, "we");

    if (!file)
        fprintf(stderr, "rmdstestclient: cannot write %s: %s\n", path, strerror(errno));
    return file;
}

static int create_timers(struct tc *tc)
{
    if (md_loop_timer_create(tc->loop, on_interval, tc, &tc->interval_timer) != MD_OK ||
        md_loop_timer_create(tc->loop, on_end, tc, &tc->end_timer) != MD_OK ||
        md_loop_timer_create(tc->loop, on_measure, tc, &tc->measure_timer) != MD_OK ||
        md_loop_timer_create(tc->loop, on_drain, tc, &tc->drain_timer) != MD_OK ||
        md_loop_timer_create(tc->loop, on_flush, tc, &tc->flush_timer) != MD_OK)
        return TC_FILE;
    if (tc->options.interval_s > 0)
        (void)md_loop_timer_every(tc->interval_timer, (uint64_t)(tc->options.interval_s * 1e9));
    (void)md_loop_timer_every(tc->flush_timer, MD_NS_PER_S);
    /* Until everything is open; then the run time proper takes its place. */
    if (tc->options.timeout_s > 0)
        (void)md_loop_timer_after(tc->end_timer, (uint64_t)(tc->options.timeout_s * 1e9));
    return TC_OK;
}

int report_open(struct tc *tc)
{
    struct latency **all[] = { &tc->latency, &tc->sampled, &tc->interval, &tc->posts };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (latency_create(all[i]) != MD_OK)
            return TC_FILE;
    }
    if (seconds_create(&tc->seconds) != MD_OK)
        return TC_FILE;
    if (tc->options.stats && !(tc->stats_file = create_file(tc->options.stats)))
        return TC_FILE;
    if (tc->options.interval_s > 0)
        usage_print_header(tc->stats_file ? tc->stats_file : stdout);
    if (tc->options.lmfile) {
        tc->lmfile = create_file(tc->options.lmfile);
        if (!tc->lmfile)
            return TC_FILE;
        (void)setvbuf(tc->lmfile, NULL, _IOFBF, 1u << 20);
        tc->lmstart_ns = md_clock_wall_ns();
    }
    tc->started_ns = tc->printed_ns = md_clock_mono_ns();
    tc->printed_cpu_ns = usage_cpu_ns();
    int rc = create_timers(tc);
    return rc == TC_OK && waits_start(tc) != MD_OK ? TC_FILE : rc;
}

static void print_latency(FILE *out, const char *what, const struct latency_summary *s)
{
    if (s->count == 0) {
        fprintf(out, "rmdstestclient: latency %s: nothing was measured\n", what);
        return;
    }
    fprintf(out,
            "rmdstestclient: latency %s: %llu, mean %.1f us, stddev %.1f, min %llu, p50 %llu, p90 "
            "%llu, p99 %llu, p99.9 %llu, p99.99 %llu, max %llu, negative %llu\n",
            what, (unsigned long long)s->count, s->mean_us, s->stddev_us,
            (unsigned long long)s->min_us, (unsigned long long)s->p50_us,
            (unsigned long long)s->p90_us, (unsigned long long)s->p99_us,
            (unsigned long long)s->p999_us, (unsigned long long)s->p9999_us,
            (unsigned long long)s->max_us, (unsigned long long)s->negative);
}

/* The five figures that the published reports print of each rate, from samples as theirs. */
static void print_published(FILE *out, const struct latency_summary *s, double rate)
{
    if (s->count == 0)
        return;
    fprintf(out,
            "rmdstestclient: as the published reports print it, at %.0f updates/s, in us:\n"
            "    Mean                %10.1f\n"
            "    Standard Deviation  %10.1f\n"
            "    Maximum             %10llu\n"
            "    Minimum             %10llu\n"
            "    Number of Points    %10llu\n",
            rate, s->mean_us, s->stddev_us, (unsigned long long)s->max_us,
            (unsigned long long)s->min_us, (unsigned long long)s->count);
}

static void close_lmfile(struct tc *tc, const struct latency_summary *s)
{
    if (!tc->lmfile)
        return;
    write_head(tc, NULL);
    if (s->count == 0)
        fprintf(tc->lmfile, "# summary count=0 discarded=%llu: nothing was measured\n",
                (unsigned long long)tc->discarded);
    else
        fprintf(tc->lmfile,
                "# summary count=%llu discarded=%llu mean_us=%.1f stddev_us=%.1f min_us=%llu "
                "max_us=%llu p50=%llu p90=%llu p99=%llu p99.9=%llu negative=%llu\n",
                (unsigned long long)s->count, (unsigned long long)tc->discarded, s->mean_us,
                s->stddev_us, (unsigned long long)s->min_us, (unsigned long long)s->max_us,
                (unsigned long long)s->p50_us, (unsigned long long)s->p90_us,
                (unsigned long long)s->p99_us, (unsigned long long)s->p999_us,
                (unsigned long long)s->negative);
    if (ferror(tc->lmfile) || fclose(tc->lmfile) != 0)
        fprintf(stderr, "rmdstestclient: %s is not complete: %s\n", tc->options.lmfile,
                strerror(errno));
    tc->lmfile = NULL;
}

static void json_latency(FILE *out, const char *name, const struct latency *latency)
{
    struct latency_summary s;

    latency_summary(latency, &s);
    fprintf(out,
            ",\n \"%s\": {\"samples\": %llu, \"mean_us\": %.2f, \"stddev_us\": %.2f, \"min_us\": "
            "%llu, \"p50_us\": %llu, \"p90_us\": %llu, \"p99_us\": %llu, \"p999_us\": %llu, "
            "\"p9999_us\": %llu, \"max_us\": %llu, \"negative\": %llu",
            name, (unsigned long long)s.count, s.mean_us, s.stddev_us, (unsigned long long)s.min_us,
            (unsigned long long)s.p50_us, (unsigned long long)s.p90_us,
            (unsigned long long)s.p99_us, (unsigned long long)s.p999_us,
            (unsigned long long)s.p9999_us, (unsigned long long)s.max_us,
            (unsigned long long)s.negative);
    fprintf(out, ", \"histogram_10us\": ");
    latency_print_json(latency, 10, out);
    fprintf(out, "}");
}

/* Updates between the beginning and the end of the measurement. */
static uint64_t measured(const struct tc *tc)
{
    const struct tc_stats *end = tc->is_draining ? &tc->at_end : &tc->stats;

    return end->updates - tc->at_measure.updates;
}

static void write_json(struct tc *tc, double seconds, double rate)
{
    FILE *out = strcmp(tc->options.json, "-") == 0 ? stdout : create_file(tc->options.json);
    const struct tc_stats *s = &tc->stats;
    uint64_t quiet_ns = md_clock_mono_ns() - tc->quiet_since_ns;
    unsigned long long open, pending;

    if (!out)
        return;
    sum_open(tc, &open, &pending);
    fprintf(out,
            "{\"connections\": %u, \"items\": %llu, \"open\": %llu, \"failed\": %llu, "
            "\"logins\": %llu, \"lost_connections\": %llu, \"open_s\": %.6f,\n"
            " \"seconds\": %.6f, \"updates\": %llu, \"updates_per_s\": %.1f, \"wanted_per_s\": "
            "%.1f, \"reached\": %s,\n"
            " \"updates_total\": %llu, \"refreshes\": %llu, \"statuses\": %llu, \"bytes\": %llu, "
            "\"errors\": %llu, \"suspects\": %llu,\n",
            tc->options.conns, (unsigned long long)tc->wanted, open, (unsigned long long)tc->failed,
            (unsigned long long)s->logins, (unsigned long long)s->lost_connections,
            tc->open_ns ? (double)(tc->open_ns - tc->started_ns) / 1e9 : 0, seconds,
            (unsigned long long)measured(tc), rate, tc->options.want_rate,
            tc->options.want_rate > 0 && rate < 0.99 * tc->options.want_rate ? "false" : "true",
            (unsigned long long)s->updates, (unsigned long long)s->refreshes,
            (unsigned long long)s->statuses, (unsigned long long)s->bytes,
            (unsigned long long)s->errors, (unsigned long long)s->suspects);
    fprintf(out,
            " \"checked\": %llu, \"gaps\": %llu, \"lost\": %llu, \"duplicates\": %llu, "
            "\"reorders\": %llu, \"wrong\": %llu, \"early\": %llu, \"resyncs\": %llu, "
            "\"told_lost\": %llu, \"ended_behind\": %llu, \"counts_compared\": %s,\n"
            " \"posts\": %llu, \"acks\": %llu, \"naks\": %llu, \"rtt\": %llu, \"cpu_s\": %.3f, "
            "\"rss_kb\": %lu, \"discarded\": %llu",
            (unsigned long long)s->checked, (unsigned long long)s->gaps,
            (unsigned long long)s->missing, (unsigned long long)s->duplicates,
            (unsigned long long)s->reorders, (unsigned long long)s->wrong,
            (unsigned long long)s->early, (unsigned long long)s->resyncs,
            (unsigned long long)s->told_missing, (unsigned long long)s->ended_behind,
            tc->options.counts && !tc->has_no_counts ? "true" : "false",
            (unsigned long long)tc->posts_sent, (unsigned long long)s->acks,
            (unsigned long long)s->naks, (unsigned long long)s->rtt, (double)usage_cpu_ns() / 1e9,
            usage_rss_kb(), (unsigned long long)tc->discarded);
    if (tc->is_draining)
        fprintf(out, ",\n \"drain_s\": %.3f, \"drained\": %s",
                (double)(tc->quiet_since_ns - tc->ended_ns) / 1e9,
                quiet_ns >= QUIET_NS ? "true" : "false");
    json_latency(out, "latency", tc->latency);
    json_latency(out, "sampled", tc->sampled);
    json_latency(out, "post", tc->posts);
    fprintf(out, ",\n \"p99_by_second_us\": ");
    seconds_print_json(tc->seconds, out);
    fprintf(out, "}\n");
    if (out != stdout)
        fclose(out);
}

/* After the measurement the publisher may be stopped, and the connection with it. */
static bool ended_logged_out(const struct tc *tc)
{
    return tc->is_draining ? tc->ended_logged_out : !is_logged_in(tc);
}

static void print_summary(struct tc *tc, double seconds, double rate)
{
    const struct tc_stats *s = &tc->stats;
    struct latency_summary lat;
    bool is_short = tc->options.want_rate > 0 && rate < 0.99 * tc->options.want_rate;

    printf(
        "rmdstestclient: %llu updates in %.3f s, %.0f updates/s%s, %llu refreshes, %llu statuses, "
        "%llu errors, %llu connection%s lost\n",
        (unsigned long long)measured(tc), seconds, rate, is_short ? " NOT REACHED" : "",
        (unsigned long long)s->refreshes, (unsigned long long)s->statuses,
        (unsigned long long)s->errors, (unsigned long long)s->lost_connections,
        s->lost_connections == 1 ? "" : "s");
    if (ended_logged_out(tc))
        printf("rmdstestclient: not logged in at the end\n");
    latency_summary(tc->latency, &lat);
    if (tc->options.times) {
        print_latency(stdout, "(all)", &lat);
        latency_summary(tc->sampled, &lat);
        print_latency(stdout, "(10 samples a second)", &lat);
        print_published(stdout, &lat, rate);
    }
    if (tc->options.seqcheck)
        printf(
            "rmdstestclient: sequence: %llu checked, %llu gaps, %llu lost, %llu duplicates, %llu "
            "out of order, %llu wrong, %llu before their image; %llu resyncs that told of %llu",
            (unsigned long long)s->checked, (unsigned long long)s->gaps,
            (unsigned long long)s->missing, (unsigned long long)s->duplicates,
            (unsigned long long)s->reorders, (unsigned long long)s->wrong,
            (unsigned long long)s->early, (unsigned long long)s->resyncs,
            (unsigned long long)s->told_missing);
    if (tc->options.counts)
        printf("; %llu items behind the publisher at the end", (unsigned long long)s->ended_behind);
    if (tc->options.seqcheck)
        printf("\n");
    if (tc->posts_sent) {
        printf("rmdstestclient: %llu posts, %llu acknowledged, %llu refused\n",
               (unsigned long long)tc->posts_sent, (unsigned long long)s->acks,
               (unsigned long long)s->naks);
        latency_summary(tc->posts, &lat);
        print_latency(stdout, "(post to ack)", &lat);
    }
    fflush(stdout);
}

void report_end(struct tc *tc)
{
    struct latency_summary lat;
    uint64_t now_ns = tc->is_draining ? tc->ended_ns : md_clock_mono_ns();
    /* A run that never came to measure is reported from its start. */
    bool has_measured = tc->is_measuring || tc->is_draining;
    uint64_t from_ns = has_measured ? tc->measure_ns : tc->started_ns;
    double seconds = (double)(now_ns - from_ns) / 1e9;
    double rate = seconds > 0 ? (double)measured(tc) / seconds : 0;

    counts_compare(tc);
    waits_end(tc);
    latency_summary(tc->latency, &lat);
    close_lmfile(tc, &lat);
    chain_end(tc);
    print_summary(tc, seconds, rate);
    if (tc->options.json)
        write_json(tc, seconds, rate);
    if (tc->stats_file)
        fclose(tc->stats_file);
}

int report_exit_code(const struct tc *tc)
{
    const struct tc_stats *s = &tc->stats;

    if (ended_logged_out(tc))
        return TC_NO_LOGIN;
    if (tc->settled != tc->wanted || tc->failed > 0 || !chain_is_whole(tc))
        return TC_NOT_OPEN;
    if (tc->options.seqcheck &&
        (s->gaps || s->duplicates || s->reorders || s->wrong || s->early || s->ended_behind))
        return TC_SEQUENCE;
    if (tc->has_no_counts)
        return TC_FILE;
    return TC_OK;
}
