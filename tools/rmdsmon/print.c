/* print.c - the overview and the sections, as text, JSON and CSV. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "monitor.h"

#define WIDE 120 /* columns for all figures; with fewer the most important ones are shown */

void print_count(char *out, size_t size, double value)
{
    if (value < 0)
        snprintf(out, size, "-");
    else if (value >= 1e7)
        snprintf(out, size, "%.1f M", value / 1e6);
    else if (value >= 1e6)
        snprintf(out, size, "%.2f M", value / 1e6);
    else if (value >= 999.5)
        snprintf(out, size, "%u,%03u", (unsigned)(value + 0.5) / 1000,
                 (unsigned)(value + 0.5) % 1000);
    else
        snprintf(out, size, "%.0f", value);
}

void print_uptime(char *out, size_t size, uint64_t seconds)
{
    if (seconds >= 86400)
        snprintf(out, size, "%llud%02lluh", (unsigned long long)(seconds / 86400),
                 (unsigned long long)(seconds % 86400 / 3600));
    else if (seconds >= 3600)
        snprintf(out, size, "%lluh%02llum", (unsigned long long)(seconds / 3600),
                 (unsigned long long)(seconds % 3600 / 60));
    else
        snprintf(out, size, "%llum%02llus", (unsigned long long)(seconds / 60),
                 (unsigned long long)(seconds % 60));
}

/* The columns of the overview begin here, for names that are not too long; the last is the note. */
static const int narrow_columns[] = { 22, 32, 42, 53, 60, 68 };
static const int wide_columns[] = { 22, 30, 40, 50, 61, 69, 76, 84, 94, 107 };

/* A note that has no room behind the figures takes the place of as many of them as it needs. */
static void add_note(char *line, size_t size, const char *note, size_t name_length, int width)
{
    const int *columns = width < WIDE ? narrow_columns : wide_columns;
    int count = (int)(width < WIDE ? sizeof(narrow_columns) / sizeof(narrow_columns[0])
                                   : sizeof(wide_columns) / sizeof(wide_columns[0]));
    size_t shift = name_length > 14 ? name_length - 14 : 0, at = strlen(line);
    size_t room = (size_t)width;

    if (!note[0])
        return;
    while (count > 0 && at + strlen(note) > room)
        at = (size_t)columns[--count] + shift;
    if (at < strlen(line))
        line[at] = 0;
    snprintf(line + strlen(line), size - strlen(line), "%s", note);
}

static void print_line(const struct monitor_instance *instance, FILE *out, bool colour, int width)
{
    const struct monitor_figures *f = &instance->figures;
    char up[24] = "-", in[24], sent[24], queue[16] = "-", clients[24], items[24], loss[48] = "-";
    char turn[48] = "-", rtt[24];
    char line[640];
    int rank = monitor_rank(instance);

    if (instance->is_readable)
        print_uptime(up, sizeof(up), instance->uptime_s);
    print_count(in, sizeof(in), f->in_per_s);
    print_count(sent, sizeof(sent), f->out_per_s);
    print_count(clients, sizeof(clients), f->clients);
    print_count(items, sizeof(items), f->items);
    print_count(rtt, sizeof(rtt), f->rtt_max_us);
    if (f->queue_percent >= 0)
        snprintf(queue, sizeof(queue), "%.0f %%", f->queue_percent);
    if (f->naks >= 0)
        snprintf(loss, sizeof(loss), "%.0f nak %.0f gap", f->naks, f->gaps < 0 ? 0 : f->gaps);
    else if (f->gaps >= 0)
        snprintf(loss, sizeof(loss), "%.0f gap", f->gaps);
    if (f->turn_p99_us >= 0)
        snprintf(turn, sizeof(turn), "%.0f/%.0f", f->turn_p50_us, f->turn_p99_us);
    if (f->peers >= 0)
        snprintf(items, sizeof(items), "%.0f node%s", f->peers,
                 f->peers > 1 || f->peers < 1 ? "s" : "");
    if (width < WIDE)
        snprintf(line, sizeof(line), " %-14s %-5s %9s %9s %10s %6s %7s ", instance->name,
                 monitor_state(instance), in, sent, turn, queue, clients);
    else
        snprintf(line, sizeof(line), " %-14s %-5s %7s %9s %9s %10s %7s %6s %7s %9s %-12s ",
                 instance->name, monitor_state(instance), up, in, sent, turn, rtt, queue, clients,
                 items, loss);
    add_note(line, sizeof(line), instance->note, strlen(instance->name), width);
    if (colour)
        fprintf(out, "%s%.*s\033[0m\n",
                rank >= 2   ? "\033[31m"
                : rank == 1 ? "\033[33m"
                            : "",
                width, line);
    else
        fprintf(out, "%.*s\n", width, line);
}

/* "  in 5,000/s  out 10.0 M/s  1 publisher  50 consumers": from all providers, to all consumers. */
static void add_total(const struct monitor *monitor, char *out, size_t size, bool is_wide)
{
    static const char *const processes[] = { "src_dist", "p2ps" };
    static const char *const clients[] = { "publisher", "consumer" };
    double rates[2] = { -1, -1 }, counts[2] = { -1, -1 };
    char text[24];

    for (size_t i = 0; i < monitor->count; i++) {
        const struct monitor_instance *instance = &monitor->instances[i];
        const struct monitor_figures *f = &instance->figures;
        for (int k = 0; k < 2; k++) {
            double rate = k ? f->out_per_s : f->in_per_s;
            if (strcmp(instance->process, processes[k]) != 0)
                continue;
            if (rate >= 0)
                rates[k] = rate + (rates[k] < 0 ? 0 : rates[k]);
            if (f->clients >= 0)
                counts[k] = f->clients + (counts[k] < 0 ? 0 : counts[k]);
        }
    }
    out[0] = 0;
    for (int k = 0; k < 2; k++) {
        print_count(text, sizeof(text), rates[k]);
        if (rates[k] >= 0)
            snprintf(out + strlen(out), size - strlen(out), "  %s %s/s", k ? "out" : "in", text);
    }
    for (int k = 0; k < 2 && is_wide; k++) {
        print_count(text, sizeof(text), counts[k]);
        if (counts[k] >= 0)
            snprintf(out + strlen(out), size - strlen(out), "  %s %s%s", text, clients[k],
                     counts[k] > 1 || counts[k] < 1 ? "s" : "");
    }
}

void print_overview(const struct monitor *monitor, FILE *out, bool colour, int width)
{
    char host[64] = "localhost", total[128], head[320];
    size_t troubled = 0;

    (void)gethostname(host, sizeof(host) - 1);
    for (size_t i = 0; i < monitor->count; i++)
        troubled += monitor_rank(&monitor->instances[i]) > 0;
    add_total(monitor, total, sizeof(total), width >= WIDE);
    snprintf(head, sizeof(head), "rmdsmon  host %s  %zu instance%s  %zu in trouble%s%s%s", host,
             monitor->count, monitor->count == 1 ? "" : "s", troubled, total,
             monitor->order == MONITOR_BY_TROUBLE ? "" : "  by ",
             monitor->order == MONITOR_BY_TROUBLE ? "" : monitor_order_name(monitor->order));
    fprintf(out, "%.*s\n", width, head);
    fprintf(out, "%.*s\n", width,
            width < WIDE
                ? " INSTANCE       STATE      in/s     out/s   turn(us) queues clients note"
                : " INSTANCE       STATE      UP      in/s     out/s   turn(us) rtt(us) queues"
                  " clients     items loss         note");
    for (size_t i = 0; i < monitor->count; i++)
        print_line(&monitor->instances[i], out, colour, width);
    fflush(out);
}

/* Nothing that a terminal, JSON or a parser of lines would misread. */
void print_text(FILE *out, const char *text, bool is_json)
{
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        unsigned char c = (unsigned char)*text;
        bool is_printable = (n = md_text_printable(text, left)) > 0;

        n += !is_printable;
        if (is_json && (c == '"' || c == '\\'))
            fprintf(out, "\\%c", c);
        else if (is_printable)
            fprintf(out, "%.*s", (int)n, text);
        else
            fprintf(out, is_json ? "\\u%04x" : "\\x%02x", c);
    }
}

void print_value(char *out, size_t size, const struct stats_value *value)
{
    switch (value->kind) {
    case STATS_KIND_STRING:
        snprintf(out, size, "%s", value->text ? value->text : "");
        return;
    case STATS_KIND_HISTOGRAM:
        snprintf(out, size, "n %llu p50 %llu p99 %llu p99.9 %llu max %llu",
                 value->hist ? (unsigned long long)md_hist_count(value->hist) : 0,
                 value->hist ? (unsigned long long)md_hist_percentile(value->hist, 50) : 0,
                 value->hist ? (unsigned long long)md_hist_percentile(value->hist, 99) : 0,
                 value->hist ? (unsigned long long)md_hist_percentile(value->hist, 99.9) : 0,
                 value->hist ? (unsigned long long)md_hist_max(value->hist) : 0);
        return;
    case STATS_KIND_GAUGE:
        snprintf(out, size, "%llu (most %llu)", (unsigned long long)value->value,
                 (unsigned long long)value->aux);
        return;
    default:
        snprintf(out, size, "%llu", (unsigned long long)value->value);
        return;
    }
}

/* Bytes are for people, too: "4625877744 (4.31 GiB)". */
static void add_unit(char *text, size_t size, const struct stats_value *value)
{
    const char *leaf = strrchr(value->path, '.');
    double bytes = (double)value->value;
    bool is_bytes = strncmp(value->path, "memory.", 7) == 0 ||
                    (leaf && (strstr(leaf, "ytes") || strcmp(leaf, ".userQUse") == 0));

    if (value->kind == STATS_KIND_GAUGE && value->aux == value->value)
        snprintf(text, size, "%llu", (unsigned long long)value->value);
    if (!is_bytes || bytes < 1024 || value->text || value->hist)
        return;
    if (bytes >= 1 << 30)
        snprintf(text + strlen(text), size - strlen(text), "  %.2f GiB", bytes / (1 << 30));
    else if (bytes >= 1 << 20)
        snprintf(text + strlen(text), size - strlen(text), "  %.1f MiB", bytes / (1 << 20));
    else
        snprintf(text + strlen(text), size - strlen(text), "  %.1f KiB", bytes / 1024);
}

/* The last bucket has no upper bound. */
static void print_below(FILE *out, double us)
{
    bool is_open = us > (double)(1ul << (MONITOR_REPAIR_BUCKETS - 2));

    fprintf(out, "%s %.0f us", is_open ? "more than" : "less than", is_open ? us / 2 : us);
}

static void print_repairs(const struct monitor_instance *instance, FILE *out)
{
    if (instance->figures.repair_p50_us < 0)
        return;
    fputs("  missing packets were there after: half ", out);
    print_below(out, instance->figures.repair_p50_us);
    fputs(", 99 % ", out);
    print_below(out, instance->figures.repair_p99_us);
    fputc('\n', out);
}

void print_instance(const struct monitor_instance *instance, FILE *out, const char *section,
                    const char *sort)
{
    struct stats_value value;
    char text[256];
    size_t at = 0;

    rows_print(instance, out, section, sort);
    if (strcmp(section, "RRCP") == 0)
        print_repairs(instance, out);
    while (instance->reader && stats_reader_next(instance->reader, &at, &value)) {
        if (!monitor_in_section(section, &value) || rows_take(instance, section, &value))
            continue;
        print_value(text, sizeof(text), &value);
        add_unit(text, sizeof(text), &value);
        fputs("  ", out);
        print_text(out, value.path, false);
        fprintf(out, "%*s ", (int)(strlen(value.path) < 48 ? 48 - strlen(value.path) : 0), "");
        print_text(out, text, false);
        fputc('\n', out);
    }
}

void print_section(const struct monitor *monitor, FILE *out, const char *section)
{
    for (size_t i = 0; i < monitor->count; i++) {
        const struct monitor_instance *instance = &monitor->instances[i];
        fprintf(out, "%s %s %s\n", instance->name, monitor_state(instance), instance->note);
        print_instance(instance, out, section, monitor->sort);
    }
    fflush(out);
}

static void json_number(FILE *out, const char *name, double value)
{
    if (value < 0)
        fprintf(out, ", \"%s\": null", name);
    else
        fprintf(out, ", \"%s\": %.1f", name, value);
}

static void json_value(FILE *out, const struct stats_value *value)
{
    fprintf(out, "\"");
    print_text(out, value->path, true);
    fprintf(out, "\": ");
    if (value->kind == STATS_KIND_STRING) {
        fprintf(out, "\"");
        print_text(out, value->text ? value->text : "", true);
        fprintf(out, "\"");
    } else if (value->kind == STATS_KIND_HISTOGRAM && value->hist) {
        fprintf(out,
                "{\"count\": %llu, \"mean\": %.2f, \"p50\": %llu, \"p99\": %llu, \"p999\": %llu, "
                "\"max\": %llu}",
                (unsigned long long)md_hist_count(value->hist), md_hist_mean(value->hist),
                (unsigned long long)md_hist_percentile(value->hist, 50),
                (unsigned long long)md_hist_percentile(value->hist, 99),
                (unsigned long long)md_hist_percentile(value->hist, 99.9),
                (unsigned long long)md_hist_max(value->hist));
    } else {
        fprintf(out, "%llu", (unsigned long long)value->value);
    }
}

void print_json(const struct monitor *monitor, FILE *out)
{
    struct stats_value value;

    fprintf(out, "{\"time_ns\": %llu, \"instances\": [", (unsigned long long)md_clock_wall_ns());
    for (size_t i = 0; i < monitor->count; i++) {
        const struct monitor_instance *instance = &monitor->instances[i];
        const char *comma = "";
        size_t at = 0;
        fprintf(out, "%s\n {\"name\": \"", i ? "," : "");
        print_text(out, instance->name, true);
        fprintf(out, "\", \"state\": \"%s\", \"uptime_s\": %llu, \"note\": \"",
                monitor_state(instance), (unsigned long long)instance->uptime_s);
        print_text(out, instance->note, true);
        fprintf(out, "\"");
        json_number(out, "in_per_s", instance->figures.in_per_s);
        json_number(out, "out_per_s", instance->figures.out_per_s);
        json_number(out, "clients", instance->figures.clients);
        json_number(out, "items", instance->figures.items);
        json_number(out, "queue_percent", instance->figures.queue_percent);
        json_number(out, "turn_p50_us", instance->figures.turn_p50_us);
        json_number(out, "turn_p99_us", instance->figures.turn_p99_us);
        json_number(out, "rtt_max_us", instance->figures.rtt_max_us);
        json_number(out, "repair_p50_us", instance->figures.repair_p50_us);
        json_number(out, "repair_p99_us", instance->figures.repair_p99_us);
        json_number(out, "peers", instance->figures.peers);
        json_number(out, "ready", instance->figures.ready);
        fprintf(out, ",\n  \"values\": {");
        while (instance->reader && stats_reader_next(instance->reader, &at, &value)) {
            fprintf(out, "%s", comma);
            json_value(out, &value);
            comma = ", ";
        }
        fprintf(out, "}}");
    }
    fprintf(out, "\n]}\n");
    fflush(out);
}

void print_csv(const struct monitor *monitor, FILE *out)
{
    fprintf(
        out,
        "instance,state,uptime_s,in_per_s,out_per_s,clients,items,queue_percent,gaps,"
        "naks,turn_p50_us,turn_p99_us,rtt_max_us,repair_p50_us,repair_p99_us,note,peers,ready\n");
    for (size_t i = 0; i < monitor->count; i++) {
        const struct monitor_instance *instance = &monitor->instances[i];
        const struct monitor_figures *f = &instance->figures;
        double values[] = { f->in_per_s,      f->out_per_s,  f->clients,       f->items,
                            f->queue_percent, f->gaps,       f->naks,          f->turn_p50_us,
                            f->turn_p99_us,   f->rtt_max_us, f->repair_p50_us, f->repair_p99_us };
        fprintf(out, "%s,%s,%llu", instance->name, monitor_state(instance),
                (unsigned long long)instance->uptime_s);
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            if (values[v] < 0)
                fprintf(out, ",");
            else
                fprintf(out, ",%.1f", values[v]);
        }
        fprintf(out, ",\"%s\"", instance->note);
        fprintf(out, f->peers < 0 ? "," : ",%.0f", f->peers);
        fprintf(out, f->ready < 0 ? ",\n" : ",%.0f\n", f->ready);
    }
    fflush(out);
}
