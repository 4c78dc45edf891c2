/* metrics.c - every value of a segment in the text format of Prometheus. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "samples.h"
#include "text.h"

static const char not_described[] =
    "Without a description: no row of src/status/figures.c has this statistic.";

/* All samples of a family must stand together, so they are collected and sorted first. */
static int compare(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    int by_family = strcmp(x->family, y->family);

    return by_family                ? by_family
           : x->is_old != y->is_old ? (int)x->is_old - (int)y->is_old
           : x->bound != y->bound   ? (x->bound > y->bound) - (x->bound < y->bound)
                                    : strcmp(x->value.path, y->value.path);
}

/* ---- names ---- */

static void name_unknown(struct sample *sample)
{
    static const char *const suffixes[] = { "", "_total", "", "_info", "_timestamp_seconds", "" };
    static const char *const types[] = {
        "gauge", "counter", "gauge", "gauge", "gauge", "histogram"
    };
    const char *path = sample->value.path;

    snprintf(sample->family, sizeof(sample->family), "rmds_");
    status_name_add(sample->family, sizeof(sample->family) - 24, path, strlen(path));
    size_t length = strlen(sample->family);
    snprintf(sample->family + length, sizeof(sample->family) - length, "%s",
             suffixes[sample->value.kind]);
    sample->type = types[sample->value.kind];
    sample->help = not_described;
}

/* A row of another kind than the statistic is none of its. */
static bool fits(const struct status_figure *figure, enum stats_kind kind)
{
    static const enum stats_kind kinds[] = {
        [STATUS_COUNTER] = STATS_KIND_COUNTER,     [STATUS_GAUGE] = STATS_KIND_GAUGE,
        [STATUS_HISTOGRAM] = STATS_KIND_HISTOGRAM, [STATUS_BUCKETS] = STATS_KIND_COUNTER,
        [STATUS_TIME] = STATS_KIND_TIME,           [STATUS_TEXT] = STATS_KIND_STRING,
        [STATUS_STATE] = STATS_KIND_STRING,
    };

    return kinds[figure->shape] == kind;
}

static void name_sample(const struct status_index *index, const struct status_facts *facts,
                        struct sample *sample)
{
    const struct status_figure *figure;

    status_place_find(index, facts->process, sample->value.path, &sample->place);
    figure = sample->place.figure;
    if (!figure || !fits(figure, sample->value.kind)) {
        sample->place = (struct status_place){ .leaf = sample->place.leaf };
        name_unknown(sample);
        return;
    }
    status_metric_name(figure, sample->family, sizeof(sample->family));
    sample->type = status_metric_type(figure);
    sample->help = figure->help;
    if (figure->shape == STATUS_BUCKETS) {
        const char *part = (const char *)sample->place.part.bytes;
        sample->bound = strtoull(part + strcspn(part, "0123456789"), NULL, 10);
    }
}

/* ---- labels ---- */

static void add_label(const char *name, size_t name_length, struct md_slice value,
                      struct http_answer *answer)
{
    char snake[STATS_PATH_BYTES] = "";

    if (value.length == 0)
        return;
    status_name_add(snake, sizeof(snake), name, name_length);
    http_answer_add(answer, ",%s=\"", snake);
    text_add_label(answer, (const char *)value.bytes, value.length);
    http_answer_add(answer, "\"");
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
    if (!sample)
        return;
    const struct status_place *place = &sample->place;
    add_label("network", strlen("network"), place->network, answer);
    add_label(place->group, place->group_length, place->which, answer);
    if (place->figure && place->figure->label)
        add_label(place->figure->label, strlen(place->figure->label), place->part, answer);
}

/* ---- values ---- */

static void add_line(const struct status_facts *facts, const struct sample *sample,
                     const char *suffix, const char *value, struct http_answer *answer)
{
    http_answer_add(answer, "%s%s", sample->family, suffix);
    add_labels(facts, sample, answer);
    http_answer_add(answer, "} %s\n", value);
}

static bool is_in_us(const struct sample *sample)
{
    return sample->place.figure && sample->place.figure->unit == STATUS_US;
}

/* As it stands in the segment, or microseconds as seconds. */
static void write_number(const struct sample *sample, uint64_t value, char *out, size_t size)
{
    if (is_in_us(sample))
        snprintf(out, size, "%.9g", (double)value / 1e6);
    else
        snprintf(out, size, "%llu", (unsigned long long)value);
}

static void add_bucket(const struct status_facts *facts, const struct sample *sample,
                       const char *bound, uint64_t count, struct http_answer *answer)
{
    http_answer_add(answer, "%s_bucket", sample->family);
    add_labels(facts, sample, answer);
    http_answer_add(answer, ",le=\"%s\"} %llu\n", bound, (unsigned long long)count);
}

static void add_end_of_histogram(const struct status_facts *facts, const struct sample *sample,
                                 uint64_t sum, uint64_t count, struct http_answer *answer)
{
    char text[32];

    add_bucket(facts, sample, "+Inf", count, answer);
    write_number(sample, sum, text, sizeof(text));
    add_line(facts, sample, "_sum", text, answer);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
    add_line(facts, sample, "_count", text, answer);
}

static void add_histogram(const struct status_facts *facts, const struct sample *sample,
                          struct http_answer *answer)
{
    const struct md_hist *hist = sample->value.hist;
    uint64_t count = 0;
    uint32_t bucket = 0;
    char text[32];

    for (uint64_t bound = 1; bound <= 1u << 20; bound *= 2) {
        for (; bucket < MD_HIST_BUCKET_COUNT && md_hist_bucket_high(bucket) <= bound; bucket++)
            count += atomic_load_explicit(&hist->buckets[bucket], memory_order_relaxed);
        write_number(sample, bound, text, sizeof(text));
        add_bucket(facts, sample, text, count, answer);
    }
    for (; bucket < MD_HIST_BUCKET_COUNT; bucket++)
        count += atomic_load_explicit(&hist->buckets[bucket], memory_order_relaxed);
    add_end_of_histogram(facts, sample, atomic_load_explicit(&hist->sum, memory_order_relaxed),
                         count, answer);
}

/* "sum" and "below1" to "below524288", sorted by their bounds; the last one has no upper bound. */
static void add_buckets(const struct status_facts *facts, const struct sample *samples,
                        size_t count, struct http_answer *answer)
{
    uint64_t sum = 0, all = 0;
    char text[32];

    for (size_t i = 0; i < count; i++) {
        struct sample one = samples[i];
        one.place.part.length = 0;
        if (one.bound == 0) {
            sum += one.value.value;
            continue;
        }
        all += one.value.value;
        write_number(&one, one.bound, text, sizeof(text));
        if (i + 1 < count)
            add_bucket(facts, &one, text, all, answer);
        else
            add_end_of_histogram(facts, &one, sum, all, answer);
    }
}

static void add_text(const char *name, const char *text, struct http_answer *answer)
{
    char snake[STATS_PATH_BYTES] = "";

    status_name_add(snake, sizeof(snake), name, strlen(name));
    http_answer_add(answer, ",%s=\"", snake);
    text_add_label(answer, text, strlen(text));
    http_answer_add(answer, "\"");
}

/* The texts of one object are one sample: as many as have its name in their paths. */
static size_t add_texts(const struct status_facts *facts, const struct sample *samples,
                        size_t count, struct http_answer *answer)
{
    struct md_slice which = samples->place.which;
    bool is_object = which.length > 0 && !samples->is_old;
    size_t i = 0;

    http_answer_add(answer, "%s", samples->family);
    add_labels(facts, samples, answer);
    do {
        const struct sample *one = &samples[i];
        add_text(is_object ? one->place.leaf : "value", one->value.text, answer);
        i++;
    } while (is_object && i < count && samples[i].place.which.length == which.length &&
             memcmp(samples[i].place.which.bytes, which.bytes, which.length) == 0);
    http_answer_add(answer, "} 1\n");
    return i;
}

static void add_state(const struct status_facts *facts, const struct sample *sample,
                      struct http_answer *answer)
{
    const char *text = sample->value.text;

    if (sample->is_state) {
        http_answer_add(answer, "%s", sample->family);
        add_labels(facts, sample, answer);
        http_answer_add(answer, ",state=\"");
        text_add_label(answer, text, strlen(text));
        http_answer_add(answer, "\"} 1\n");
    } else {
        bool is_up = strcmp(text, "up") == 0 || strcmp(text, "ready") == 0;
        add_line(facts, sample, "", is_up ? "1" : "0", answer);
    }
}

static void add_value(const struct status_facts *facts, const struct sample *sample,
                      struct http_answer *answer)
{
    char text[32];

    if (sample->value.kind == STATS_KIND_HISTOGRAM) {
        add_histogram(facts, sample, answer);
        return;
    }
    if (sample->value.kind == STATS_KIND_TIME)
        snprintf(text, sizeof(text), "%.3f", (double)sample->value.value / 1e9);
    else
        write_number(sample, sample->value.value, text, sizeof(text));
    add_line(facts, sample, "", text, answer);
}

/* A family from its first sample on: so many. */
static void add_family(const struct status_facts *facts, const struct sample *samples, size_t count,
                       struct http_answer *answer)
{
    const struct status_figure *figure = samples->place.figure;

    http_answer_add(answer, "# HELP %s %s\n# TYPE %s %s\n", samples->family, samples->help,
                    samples->family, samples->type);
    if (figure && figure->shape == STATUS_BUCKETS) {
        add_buckets(facts, samples, count, answer);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (figure && figure->shape == STATUS_STATE)
            add_state(facts, &samples[i], answer);
        else if (samples[i].value.kind == STATS_KIND_STRING)
            i += add_texts(facts, &samples[i], count - i, answer) - 1;
        else
            add_value(facts, &samples[i], answer);
    }
}

static void add_process(const struct stats_reader *reader, const struct status_facts *facts,
                        struct http_answer *answer)
{
    uint64_t beat_ns = stats_reader_heartbeat_ns(reader);

    http_answer_add(
        answer,
        "# HELP process_cpu_seconds_total CPU time of the process, user and system.\n"
        "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.3f\n"
        "# HELP process_resident_memory_bytes Resident memory of the process.\n"
        "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %llu\n"
        "# HELP process_start_time_seconds When the process was started.\n"
        "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %.3f\n"
        "# HELP rmds_heartbeat_age_seconds How old the last heartbeat is; above 5 a thread hangs.\n"
        "# TYPE rmds_heartbeat_age_seconds gauge\nrmds_heartbeat_age_seconds",
        facts->cpu_s, (unsigned long long)facts->resident_bytes,
        (double)stats_reader_start_ns(reader) / 1e9);
    add_labels(facts, NULL, answer);
    http_answer_add(answer, "} %.3f\n",
                    facts->mono_ns > beat_ns ? (double)(facts->mono_ns - beat_ns) / 1e9 : 0.0);
    http_answer_add(answer, "# HELP rmds_build_info The version of the program.\n"
                            "# TYPE rmds_build_info gauge\nrmds_build_info");
    add_labels(facts, NULL, answer);
    http_answer_add(answer, ",version=\"" RMDS_VERSION "\"} 1\n");
}

/* ---- all of it ---- */

static bool is_of_a_client(const struct sample *sample)
{
    const char *group = sample->place.group;

    return group && (strncmp(group, "mount.", 6) == 0 || strncmp(group, "provider.", 9) == 0);
}

/* One value becomes a sample; a state two; with the old names one more. */
static size_t collect(const struct stats_reader *reader, const struct status_index *index,
                      const struct status_facts *facts, struct sample *out)
{
    size_t at = 0, count = 0;
    struct stats_value value;

    while (stats_reader_next(reader, &at, &value)) {
        struct sample *sample = &out[count];
        *sample = (struct sample){ .value = value };
        name_sample(index, facts, sample);
        if (facts->leaves_out_clients && is_of_a_client(sample))
            continue;
        count++;
        if (sample->place.figure && sample->place.figure->shape == STATUS_STATE) {
            out[count] = *sample;
            out[count].is_state = true;
            memcpy(out[count].family + strlen(sample->family) - 2, "state", sizeof("state"));
            count++;
        }
        if (facts->has_old_names) {
            out[count] = (struct sample){ .value = value, .is_old = true };
            sample_name_old(&out[count], facts->process);
            count++;
        }
    }
    return count;
}

void status_write_metrics(const struct stats_reader *reader, const struct status_facts *facts,
                          struct http_answer *answer)
{
    struct stats_value value;
    size_t at = 0, count = 0;

    answer->type = "text/plain; version=0.0.4; charset=utf-8";
    while (stats_reader_next(reader, &at, &value))
        count++;
    struct status_index *index = status_index_create();
    struct sample *samples = calloc(3 * count + 1, sizeof(*samples));
    if (!samples || !index) {
        free(samples);
        status_index_destroy(index);
        answer->is_out_of_memory = true;
        return;
    }
    count = collect(reader, index, facts, samples);
    qsort(samples, count, sizeof(*samples), compare);
    add_process(reader, facts, answer);
    for (size_t i = 0, end; i < count; i = end) {
        size_t mine = 0; /* an old name that is a new one, too, is shown once */
        for (end = i; end < count && strcmp(samples[i].family, samples[end].family) == 0; end++)
            mine += samples[end].is_old == samples[i].is_old;
        add_family(facts, &samples[i], mine, answer);
    }
    free(samples);
    status_index_destroy(index);
}
