/* json.c - every value of a segment as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status/status.h"

#include "base/clock.h"
#include "text.h"

/* Steps of an octave are enough to draw a percentile: 6 % of the value. */
#define STEPS_SHIFT (MD_HIST_MANTISSA_BITS - 4)

static void add_string(struct http_answer *answer, const char *name, const char *text)
{
    http_answer_add(answer, ",\n\"%s\":\"", name);
    text_add_json(answer, text);
    http_answer_add(answer, "\"");
}

static void add_path(struct http_answer *answer, const char **comma, const char *path)
{
    http_answer_add(answer, "%s\"", *comma);
    text_add_json(answer, path);
    http_answer_add(answer, "\":");
    *comma = ",\n ";
}

static void add_histogram(struct http_answer *answer, const struct md_hist *hist)
{
    const char *comma = "";

    http_answer_add(
        answer,
        "{\"count\":%llu,\"mean\":%.2f,\"p50\":%llu,\"p99\":%llu,\"max\":%llu,\"buckets\":[",
        (unsigned long long)md_hist_count(hist), md_hist_mean(hist),
        (unsigned long long)md_hist_percentile(hist, 50),
        (unsigned long long)md_hist_percentile(hist, 99), (unsigned long long)md_hist_max(hist));
    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i += 1u << STEPS_SHIFT) {
        uint64_t sum = 0;
        for (uint32_t j = i; j < i + (1u << STEPS_SHIFT); j++)
            sum += atomic_load_explicit(&hist->buckets[j], memory_order_relaxed);
        if (sum == 0)
            continue;
        http_answer_add(answer, "%s[%llu,%llu]", comma, (unsigned long long)md_hist_bucket_low(i),
                        (unsigned long long)sum);
        comma = ",";
    }
    http_answer_add(answer, "]}");
}

static void add_value(struct http_answer *answer, const struct stats_value *value)
{
    if (value->kind == STATS_KIND_STRING) {
        http_answer_add(answer, "\"");
        text_add_json(answer, value->text);
        http_answer_add(answer, "\"");
    } else if (value->kind == STATS_KIND_HISTOGRAM) {
        add_histogram(answer, value->hist);
    } else {
        http_answer_add(answer, "%llu", (unsigned long long)value->value);
    }
}

/* The high-water marks of the gauges. */
static void add_most(const struct stats_reader *reader, struct http_answer *answer)
{
    struct stats_value value;
    const char *comma = "\n ";
    size_t at = 0;

    http_answer_add(answer, ",\n\"most\":{");
    while (stats_reader_next(reader, &at, &value)) {
        if (value.kind != STATS_KIND_GAUGE)
            continue;
        add_path(answer, &comma, value.path);
        http_answer_add(answer, "%llu", (unsigned long long)value.aux);
    }
    http_answer_add(answer, "}");
}

static void add_lines(const struct status_facts *facts, struct http_answer *answer)
{
    http_answer_add(answer, ",\n\"log\":[");
    for (unsigned i = 0; i < facts->line_count; i++) {
        const struct md_log_line *line = &facts->lines[i];
        http_answer_add(answer, "%s{\"time_ns\":%llu,\"severity\":\"%s\",\"text\":\"",
                        i ? ",\n " : "\n ", (unsigned long long)line->wall_ns,
                        md_log_severity_name(line->severity));
        text_add_json(answer, line->text);
        http_answer_add(answer, "\"}");
    }
    http_answer_add(answer, "]");
}

static void add_member(struct http_answer *answer, const char *name, const char *text)
{
    if (!text[0])
        return;
    http_answer_add(answer, ",\"%s\":\"", name);
    text_add_json(answer, text);
    http_answer_add(answer, "\"");
}

static void add_refusals(const struct status_facts *facts, struct http_answer *answer)
{
    http_answer_add(answer, ",\n\"refusals\":[");
    for (unsigned i = 0; i < facts->refusal_count; i++) {
        const struct status_refusal *refusal = &facts->refusals[i];

        http_answer_add(answer, "%s{\"time_ns\":%llu,\"event\":\"%s\",\"code\":%u",
                        i ? ",\n " : "\n ", (unsigned long long)refusal->wall_ns, refusal->event,
                        refusal->code);
        add_member(answer, "user", refusal->user);
        add_member(answer, "address", refusal->address);
        add_member(answer, "service", refusal->service);
        add_member(answer, "item", refusal->item);
        add_member(answer, "why", refusal->why);
        add_member(answer, "rule", refusal->rule);
        http_answer_add(answer, "}");
    }
    http_answer_add(answer, "]");
}

static void add_nodes(struct http_answer *answer, const char *what, const struct status_node *nodes,
                      unsigned count)
{
    http_answer_add(answer, ",\"%s\":[", what);
    for (unsigned i = 0; i < count; i++) {
        http_answer_add(answer, "%s{\"name\":\"", i ? "," : "");
        text_add_json(answer, nodes[i].name);
        http_answer_add(answer, "\",\"rttUs\":%llu,\"missingNow\":%llu}",
                        (unsigned long long)nodes[i].rtt_us,
                        (unsigned long long)nodes[i].missing_now);
    }
    http_answer_add(answer, "]");
}

static void add_daemon(struct http_answer *answer, const struct status_daemon *daemon)
{
    const char *comma = "", *name;

    http_answer_add(answer, "{\"name\":\"");
    text_add_json(answer, daemon->name);
    http_answer_add(answer, "\",\"state\":\"%s\",\"port\":%u,\"note\":\"",
                    daemon->liveness != STATS_ALIVE ? stats_liveness_name(daemon->liveness)
                    : daemon->has_trouble           ? "warn"
                                                    : "ok",
                    daemon->port);
    text_add_json(answer, daemon->trouble);
    http_answer_add(answer, "\",\"mono_ns\":%llu,\"figures\":{",
                    (unsigned long long)daemon->read_ns);
    for (unsigned i = 0; (name = status_figure_name(i)); i++) {
        if (!(daemon->known >> i & 1))
            continue;
        http_answer_add(answer, "%s\"%s\":%llu", comma, name,
                        (unsigned long long)daemon->figures[i]);
        comma = ",";
    }
    http_answer_add(answer, "}");
    add_nodes(answer, "users", daemon->users, daemon->user_count);
    add_nodes(answer, "nodes", daemon->nodes, daemon->node_count);
    http_answer_add(answer, "}");
}

static void add_daemons(const struct status_facts *facts, struct http_answer *answer)
{
    http_answer_add(answer, ",\n\"host\":[");
    for (unsigned i = 0; i < facts->daemon_count; i++) {
        http_answer_add(answer, i ? ",\n " : "\n ");
        add_daemon(answer, &facts->daemons[i]);
    }
    http_answer_add(answer, "]");
}

static void add_peers(const struct status_facts *facts, struct http_answer *answer)
{
    http_answer_add(answer, ",\n\"peers\":[");
    for (unsigned i = 0; i < facts->peer_count; i++) {
        http_answer_add(answer, i ? ",\"" : "\"");
        text_add_json(answer, facts->peers[i]);
        http_answer_add(answer, "\"");
    }
    http_answer_add(answer, "]");
}

void status_write_host(const struct stats_reader *reader, const struct status_facts *facts,
                       struct http_answer *answer)
{
    (void)reader;
    answer->type = "application/json";
    http_answer_add(answer, "{\"version\":\"" RMDS_VERSION "\"");
    add_string(answer, "identity", facts->identity);
    http_answer_add(answer, ",\n\"mono_ns\":%llu", (unsigned long long)facts->mono_ns);
    add_daemons(facts, answer);
    http_answer_add(answer, "}\n");
}

void status_write_json(const struct stats_reader *reader, const struct status_facts *facts,
                       struct http_answer *answer)
{
    uint64_t beat_ns = stats_reader_heartbeat_ns(reader), start_ns = stats_reader_start_ns(reader);
    uint64_t age_ns = facts->mono_ns > beat_ns ? facts->mono_ns - beat_ns : 0;
    struct stats_value value, trouble = { .text = "" };
    const char *comma = "\n ";
    size_t at = 0;
    bool has_trouble = stats_reader_find(reader, "trouble", &trouble);

    answer->type = "application/json";
    http_answer_add(answer, "{\"version\":\"" RMDS_VERSION "\"");
    add_string(answer, "identity", facts->identity);
    add_string(answer, "process", facts->process);
    add_string(answer, "instance", facts->instance);
    add_string(answer, "note", has_trouble ? trouble.text : "");
    http_answer_add(answer,
                    ",\n\"state\":\"%s\",\n\"pid\":%ld,\n\"time_ns\":%llu,\n\"mono_ns\":%llu,"
                    "\n\"uptime_s\":%.1f,\n\"heartbeat_age_s\":%.1f,\n\"cpu_s\":%.3f,"
                    "\n\"resident_bytes\":%llu,\n\"load1\":%.2f,\n\"cpus\":%u,\n\"values\":{",
                    age_ns > STATS_HUNG_NS ? "hung"
                    : has_trouble          ? "warn"
                                           : "ok",
                    (long)stats_reader_pid(reader), (unsigned long long)facts->wall_ns,
                    (unsigned long long)facts->mono_ns,
                    facts->wall_ns > start_ns ? (double)(facts->wall_ns - start_ns) / 1e9 : 0,
                    (double)age_ns / 1e9, facts->cpu_s, (unsigned long long)facts->resident_bytes,
                    facts->load1, facts->cpus);
    while (stats_reader_next(reader, &at, &value)) {
        add_path(answer, &comma, value.path);
        add_value(answer, &value);
    }
    http_answer_add(answer, "}");
    add_most(reader, answer);
    add_daemons(facts, answer);
    add_peers(facts, answer);
    if (facts->refusals)
        add_refusals(facts, answer);
    add_lines(facts, answer);
    http_answer_add(answer, "}\n");
}
