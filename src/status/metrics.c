/* metrics.c - every value of a segment in the text format of Prometheus. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status/status.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define FAMILY_BYTES 160

/*
 * A path becomes a family and a label: "p2ps.worker.0.updatesIn" of p2ps is
 * rmds_p2ps_worker_updates_in_total{worker="0"}. All samples of a family must stand together, so
 * they are collected and sorted first.
 */
struct sample {
    char family[FAMILY_BYTES];
    const char *label; /* of what this is one: "worker"; NULL: there is one only */
    const char *which; /* in the path: "0" */
    size_t which_length;
    struct stats_value value;
};

/* What there may be many of. Behind the word stands which one, then what. */
static const char *const groups[] = { "worker", "user",     "mount", "service",
                                      "route",  "provider", "peer",  "config" };

static const char *group_of(const char *path)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        size_t length = strlen(groups[i]);
        if (strncmp(path, groups[i], length) == 0 && path[length] == '.' &&
            strrchr(path, '.') > path + length)
            return groups[i];
    }
    return NULL;
}

/* updatesIn, "auth missing": updates_in, auth_missing */
static void add_snake(char *family, const char *text)
{
    size_t at = strlen(family);

    for (; *text && at + 2 < FAMILY_BYTES; text++) {
        if (isupper((unsigned char)*text) && at > 0 && family[at - 1] != '_')
            family[at++] = '_';
        family[at++] = isalnum((unsigned char)*text) ? (char)tolower((unsigned char)*text) : '_';
    }
    family[at] = 0;
}

static void name_sample(struct sample *sample, const char *process)
{
    const char *path = sample->value.path;
    size_t length = strlen(process);

    add_snake(sample->family, "rmds_");
    if (strncmp(path, process, length) == 0 && path[length] == '.') {
        char base[64];
        snprintf(base, sizeof(base), "%.*s", (int)strcspn(process, "."), process);
        add_snake(sample->family, base);
        add_snake(sample->family, "_");
        path += length + 1;
    }
    sample->label = group_of(path);
    if (sample->label) {
        const char *name = strrchr(path, '.');
        sample->which = path + strlen(sample->label) + 1;
        sample->which_length = (size_t)(name - sample->which);
        add_snake(sample->family, sample->label);
        add_snake(sample->family, "_");
        path = name + 1;
    }
    add_snake(sample->family, path);
}

static int compare(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    int by_family = strcmp(x->family, y->family);
    int by_kind = (int)x->value.kind - (int)y->value.kind;

    return by_family ? by_family : by_kind ? by_kind : strcmp(x->value.path, y->value.path);
}

/* {process="p2ps",number="1",worker="0" and what the caller adds, and the closing brace */
static void add_labels(const struct status_facts *facts, const struct sample *sample,
                       struct http_answer *answer)
{
    http_answer_add(answer, "{process=\"");
    text_add_label(answer, facts->process, strlen(facts->process));
    http_answer_add(answer, "\",number=\"");
    text_add_label(answer, facts->instance, strlen(facts->instance));
    http_answer_add(answer, "\"");
    if (!sample || !sample->label)
        return;
    http_answer_add(answer, ",%s=\"", sample->label);
    text_add_label(answer, sample->which, sample->which_length);
    http_answer_add(answer, "\"");
}

static void add_line(const struct status_facts *facts, const struct sample *sample,
                     const char *suffix, const char *value, struct http_answer *answer)
{
    http_answer_add(answer, "%s%s", sample->family, suffix);
    add_labels(facts, sample, answer);
    http_answer_add(answer, "} %s\n", value);
}

static void add_histogram(const struct status_facts *facts, const struct sample *sample,
                          struct http_answer *answer)
{
    const struct md_hist *hist = sample->value.hist;
    uint64_t sum = 0;
    uint32_t bucket = 0;
    char text[32];

    for (uint64_t bound = 1; bound <= 1u << 20; bound *= 2) {
        for (; bucket < MD_HIST_BUCKET_COUNT && md_hist_bucket_high(bucket) <= bound; bucket++)
            sum += atomic_load_explicit(&hist->buckets[bucket], memory_order_relaxed);
        http_answer_add(answer, "%s_bucket", sample->family);
        add_labels(facts, sample, answer);
        http_answer_add(answer, ",le=\"%llu\"} %llu\n", (unsigned long long)bound,
                        (unsigned long long)sum);
    }
    for (; bucket < MD_HIST_BUCKET_COUNT; bucket++)
        sum += atomic_load_explicit(&hist->buckets[bucket], memory_order_relaxed);
    http_answer_add(answer, "%s_bucket", sample->family);
    add_labels(facts, sample, answer);
    http_answer_add(answer, ",le=\"+Inf\"} %llu\n", (unsigned long long)sum);
    snprintf(text, sizeof(text), "%llu",
             (unsigned long long)atomic_load_explicit(&hist->sum, memory_order_relaxed));
    add_line(facts, sample, "_sum", text, answer);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)sum);
    add_line(facts, sample, "_count", text, answer);
}

static void add_sample(const struct status_facts *facts, const struct sample *sample,
                       struct http_answer *answer)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)sample->value.value);
    switch (sample->value.kind) {
    case STATS_KIND_COUNTER:
        add_line(facts, sample, "_total", text, answer);
        break;
    case STATS_KIND_TIME:
        snprintf(text, sizeof(text), "%.3f", (double)sample->value.value / 1e9);
        add_line(facts, sample, "_seconds", text, answer);
        break;
    case STATS_KIND_STRING:
        http_answer_add(answer, "%s_info", sample->family);
        add_labels(facts, sample, answer);
        http_answer_add(answer, ",value=\"");
        text_add_label(answer, sample->value.text, strlen(sample->value.text));
        http_answer_add(answer, "\"} 1\n");
        break;
    case STATS_KIND_HISTOGRAM:
        add_histogram(facts, sample, answer);
        break;
    case STATS_KIND_GAUGE:
    case STATS_KIND_FREE:
        add_line(facts, sample, "", text, answer);
        break;
    }
}

/* The type line of a family, when it begins. */
static void add_type(const struct sample *sample, const struct sample *last,
                     struct http_answer *answer)
{
    static const char *const suffixes[] = { "", "_total", "", "_info", "_seconds", "" };
    static const char *const types[] = {
        "gauge", "counter", "gauge", "gauge", "gauge", "histogram"
    };
    unsigned kind = sample->value.kind;

    if (!last || strcmp(last->family, sample->family) != 0 || last->value.kind != kind)
        http_answer_add(answer, "# TYPE %s%s %s\n", sample->family, suffixes[kind], types[kind]);
}

static void add_process(const struct stats_reader *reader, const struct status_facts *facts,
                        struct http_answer *answer)
{
    uint64_t beat_ns = stats_reader_heartbeat_ns(reader);

    http_answer_add(
        answer,
        "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.3f\n"
        "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %llu\n"
        "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %.3f\n"
        "# TYPE rmds_heartbeat_age_seconds gauge\nrmds_heartbeat_age_seconds",
        facts->cpu_s, (unsigned long long)facts->resident_bytes,
        (double)stats_reader_start_ns(reader) / 1e9);
    add_labels(facts, NULL, answer);
    http_answer_add(answer, "} %.3f\n",
                    facts->mono_ns > beat_ns ? (double)(facts->mono_ns - beat_ns) / 1e9 : 0.0);
    http_answer_add(answer, "# TYPE rmds_build_info gauge\nrmds_build_info");
    add_labels(facts, NULL, answer);
    http_answer_add(answer, ",version=\"" RMDS_VERSION "\"} 1\n");
}

void status_write_metrics(const struct stats_reader *reader, const struct status_facts *facts,
                          struct http_answer *answer)
{
    struct stats_value value;
    size_t at = 0, count = 0;

    answer->type = "text/plain; version=0.0.4; charset=utf-8";
    while (stats_reader_next(reader, &at, &value))
        count++;
    struct sample *samples = calloc(count + 1, sizeof(*samples));
    if (!samples) {
        answer->is_out_of_memory = true;
        return;
    }
    at = count = 0;
    while (stats_reader_next(reader, &at, &samples[count].value))
        name_sample(&samples[count++], facts->process);
    qsort(samples, count, sizeof(*samples), compare);
    add_process(reader, facts, answer);
    for (size_t i = 0; i < count; i++) {
        add_type(&samples[i], i ? &samples[i - 1] : NULL, answer);
        add_sample(facts, &samples[i], answer);
    }
    free(samples);
}
