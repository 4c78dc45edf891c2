/* metrics.c - see metrics.h. No metric is written by name here: an expression names scope and leaf
 * of a row of src/status/figures.c, and one that is not there ends the program. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status/figures.h"

static const struct status_figure *find(const char *scope, size_t scope_length, const char *leaf,
                                        size_t leaf_length)
{
    for (size_t i = 0; i < status_figure_count; i++) {
        const struct status_figure *figure = &status_figures[i];
        if (strlen(figure->scope) == scope_length && strlen(figure->leaf) == leaf_length &&
            memcmp(figure->scope, scope, scope_length) == 0 &&
            memcmp(figure->leaf, leaf, leaf_length) == 0)
            return figure;
    }
    fprintf(stderr, "rmdscnf: no metric {%.*s %.*s}\n", (int)scope_length, scope, (int)leaf_length,
            leaf);
    exit(1);
}

/* "rate({p2ps.worker updatesIn}[1m])" with the names of the metrics. */
static void print_expression(const char *text, bool is_json)
{
    char name[STATUS_METRIC_BYTES];

    for (; *text; text++) {
        const char *blank = *text == '{' ? strchr(text, ' ') : NULL;
        const char *end = blank ? strchr(text, '}') : NULL;
        if (blank && end && blank < end) {
            status_metric_name(
                find(text + 1, (size_t)(blank - text - 1), blank + 1, (size_t)(end - blank - 1)),
                name, sizeof(name));
            fputs(name, stdout);
            text = end;
        } else {
            if (is_json && *text == '"')
                putchar('\\');
            putchar(*text);
        }
    }
}

/* ---- alert rules ---- */

static const struct {
    const char *name, *expression, *lasts, *severity, *summary;
} alerts[] = {
    { "OpenrmdsDown", "up{job=\"rmds\"} == 0", "1m", "critical",
      "{{ $labels.instance }} does not answer: the daemon is gone, or its host is" },
    { "OpenrmdsHung", "rmds_heartbeat_age_seconds > 5", "10s", "critical",
      "a thread of {{ $labels.process }}.{{ $labels.number }} hangs" },
    { "OpenrmdsNotReady", "{ ready} == 0", "30s", "critical",
      "{{ $labels.process }}.{{ $labels.number }} waits for what it needs; rmdsctl status says for "
      "what" },
    { "OpenrmdsTrouble", "{ troubles} > 0", "1m", "warning",
      "{{ $labels.process }}.{{ $labels.number }} is kept from its work; rmds_trouble_info says by "
      "what" },
    { "OpenrmdsDataLost", "increase({p2ps.worker gapsSeen}[5m]) > 0", "0s", "critical",
      "p2ps.{{ $labels.number }} lost data of the backbone; consumers were told" },
    { "OpenrmdsPacketsLost", "increase({rrcpd pktsLost.*}[5m]) > 0", "0s", "critical",
      "{{ $labels.process }} lost packets for good ({{ $labels.reason }})" },
    { "OpenrmdsRetransmissions",
      "rate({rrcpd retransReqSent}[5m]) > 0.01 * (rate({rrcpd mcastRcvd}[5m]) + 100)", "5m",
      "warning",
      "{{ $labels.process }} asks for more than one packet in a hundred again: look at the "
      "network" },
    { "OpenrmdsReceiveBufferFull", "increase({rrcpd rcvSockDrops}[5m]) > 0", "0s", "warning",
      "the kernel dropped datagrams of {{ $labels.process }}: udpRecvBufSize, net.core.rmem_max" },
    { "OpenrmdsServiceDown", "{p2ps.service state} == 0", "30s", "critical",
      "service {{ $labels.service }} is down at p2ps.{{ $labels.number }}" },
    { "OpenrmdsRouteDown", "{src_dist.route state} == 0", "1m", "warning",
      "route {{ $labels.route }} of src_dist.{{ $labels.number }} has no provider" },
    { "OpenrmdsSlowConsumer", "{p2ps.worker mountsSlowNow} > 0", "1m", "warning",
      "{{ $value }} consumers of p2ps.{{ $labels.number }} do not keep up; rmdsmon -print MOUNTS" },
    { "OpenrmdsConsumersCut", "increase({p2ps.worker mountsCutSlow}[5m]) > 0", "0s", "warning",
      "p2ps.{{ $labels.number }} disconnected consumers that did not read" },
    { "OpenrmdsMountsRefused", "increase({p2ps mountsRejected}[5m]) > 0", "0s", "warning",
      "p2ps.{{ $labels.number }} refused consumers: maxMounts, or it is draining" },
    { "OpenrmdsOutOfMemory", "increase({p2ps.worker refusedNoMemory}[5m]) > 0", "0s", "critical",
      "p2ps.{{ $labels.number }} refuses items: its part of memoryLimit is used up" },
    { "OpenrmdsMemoryHigh", "{ memory.resident} > 0.95 * { memory.limit}", "5m", "warning",
      "{{ $labels.process }}.{{ $labels.number }} uses more than 95 % of memoryLimit" },
    { "OpenrmdsOutboundFull", "{src_dist outboundUse} > 0.8 * {src_dist outboundSize}", "1m",
      "warning", "src_dist.{{ $labels.number }} sends more than the backbone takes" },
    { "OpenrmdsSlowTurns", "histogram_quantile(0.99, rate({p2ps.worker turnUs}_bucket[5m])) > 0.05",
      "5m", "warning",
      "turns of p2ps.{{ $labels.number }} take more than 50 ms: the host has no time for it" },
};

static void print_alerts(void)
{
    puts("# Alert rules of openrmds for Prometheus. Made by `rmdscnf metrics alerts`.\n"
         "# The job of the scrape configuration is called rmds; see docs/operating.md.\n"
         "groups:\n  - name: openrmds\n    rules:");
    for (size_t i = 0; i < sizeof(alerts) / sizeof(alerts[0]); i++) {
        printf("      - alert: %s\n        expr: '", alerts[i].name);
        print_expression(alerts[i].expression, false);
        printf("'\n        for: %s\n        labels: { severity: %s }\n"
               "        annotations: { summary: '%s' }\n",
               alerts[i].lasts, alerts[i].severity, alerts[i].summary);
    }
}

/* ---- dashboard ---- */

static const struct {
    const char *title, *unit, *expression, *legend;
} panels[] = {
    { "Ready (1) or waiting (0)", "none", "{ ready}", "{{process}}.{{number}} {{instance}}" },
    { "Updates to consumers", "ops",
      "sum by (instance, number) (rate({p2ps.worker updatesOut}[1m]))",
      "p2ps.{{number}} {{instance}}" },
    { "Updates from providers", "ops", "sum by (instance, number) (rate({src_dist updatesIn}[1m]))",
      "src_dist.{{number}} {{instance}}" },
    { "Turn of the loops, 99th percentile", "s",
      "histogram_quantile(0.99, sum by (le, instance, process, worker) "
      "(rate({p2ps.worker turnUs}_bucket[1m]) or rate({src_dist turnUs}_bucket[1m]) or "
      "rate({rrcpd turnUs}_bucket[1m])))",
      "{{process}} {{worker}} {{instance}}" },
    { "Consumers", "none", "sum by (instance, number) ({p2ps.worker mounts})",
      "p2ps.{{number}} {{instance}}" },
    { "Slow consumers", "none", "sum by (instance, number) ({p2ps.worker mountsSlowNow})",
      "p2ps.{{number}} {{instance}}" },
    { "Items open", "none", "sum by (instance, number) ({p2ps.worker itemsOpen})",
      "p2ps.{{number}} {{instance}}" },
    { "Services up", "none", "min by (service, instance) ({p2ps.service state})",
      "{{service}} {{instance}}" },
    { "Losses told to consumers", "none", "increase({p2ps.worker gapsSeen}[1m])",
      "p2ps.{{number}} {{instance}}" },
    { "Packets lost for good", "none",
      "sum by (instance, reason) (increase({rrcpd pktsLost.*}[1m]))", "{{reason}} {{instance}}" },
    { "Requests for retransmission", "ops", "rate({rrcpd retransReqSent}[1m])",
      "{{process}} {{instance}}" },
    { "Time to repair, 99th percentile", "s",
      "histogram_quantile(0.99, rate({rrcpd recoverUs.*}_bucket[5m]))",
      "{{process}} {{instance}}" },
    { "Multicast sent", "Bps", "rate({rrcpd bytesSent}[1m])", "{{process}} {{instance}}" },
    { "Round trip to other nodes", "s",
      "{rrcpd.peer rttUs} * on (instance, peer) group_left (name) {rrcpd.peer name}",
      "{{name}} from {{instance}}" },
    { "Conflated updates", "ops", "sum by (instance) (rate({p2ps.worker conflated}[1m]))",
      "{{instance}}" },
    { "Fullest consumers, part of their buffers", "percentunit",
      "topk(10, {p2ps.mount buffers} / {p2ps.mount buffersMax} * on (instance, number, mount) "
      "group_left (user) {p2ps.mount user})",
      "{{user}} {{instance}}" },
    { "CPU", "percentunit", "rate(process_cpu_seconds_total{job=\"rmds\"}[1m])", "{{instance}}" },
    { "Resident memory", "bytes", "{ memory.resident}", "{{process}}.{{number}} {{instance}}" },
};

static void print_dashboard(void)
{
    const size_t count = sizeof(panels) / sizeof(panels[0]);

    puts("{\"title\": \"openrmds\", \"uid\": \"openrmds\", \"schemaVersion\": 36, \"refresh\": "
         "\"10s\",\n"
         " \"tags\": [\"openrmds\"], \"time\": {\"from\": \"now-1h\", \"to\": \"now\"},\n"
         " \"templating\": {\"list\": [{\"name\": \"datasource\", \"type\": \"datasource\", "
         "\"query\": \"prometheus\"}]},\n \"panels\": [");
    for (size_t i = 0; i < count; i++) {
        printf(
            "  {\"id\": %zu, \"type\": \"timeseries\", \"title\": \"%s\",\n   \"gridPos\": {\"x\": "
            "%zu, \"y\": %zu, \"w\": 12, \"h\": 8},\n   \"datasource\": {\"type\": "
            "\"prometheus\", \"uid\": \"${datasource}\"},\n   \"fieldConfig\": {\"defaults\": "
            "{\"unit\": \"%s\", \"min\": 0}, \"overrides\": []},\n   \"targets\": [{\"refId\": "
            "\"A\", \"legendFormat\": \"%s\",\n    \"expr\": \"",
            i + 1, panels[i].title, i % 2 * 12, i / 2 * 8, panels[i].unit, panels[i].legend);
        print_expression(panels[i].expression, true);
        printf("\"}]}%s\n", i + 1 < count ? "," : "");
    }
    puts(" ]}");
}

/* ---- the page ---- */

static void print_markdown(void)
{
    char name[STATUS_METRIC_BYTES];

    puts("# Metrics\n\nMade by `rmdscnf metrics markdown`: what `/metrics` of the status port "
         "shows. "
         "Every metric has the labels\n`process` and `number`; the group of its path is a label, "
         "too: `worker`, `mount`, `service`, `route`,\n`provider`, `peer`, `user`. Besides: "
         "`process_cpu_seconds_total`, `process_resident_memory_bytes`,\n"
         "`process_start_time_seconds`, `rmds_heartbeat_age_seconds`, `rmds_build_info`.\n\n"
         "| metric | type | what it is |\n| --- | --- | --- |");
    for (size_t i = 0; i < status_figure_count; i++) {
        const struct status_figure *figure = &status_figures[i];
        status_metric_name(figure, name, sizeof(name));
        printf("| `%s`%s%s%s | %s | %s |\n", name, figure->label ? " by `" : "",
               figure->label ? figure->label : "", figure->label ? "`" : "",
               status_metric_type(figure), figure->help);
    }
}

bool metrics_print(const char *form)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } forms[] = { { "markdown", print_markdown },
                  { "alerts", print_alerts },
                  { "dashboard", print_dashboard } };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(forms[i].name, form) == 0) {
            forms[i].print();
            return true;
        }
    }
    return false;
}
