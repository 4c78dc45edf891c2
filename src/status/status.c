/* status.c - see status/status.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "page.h"
#include "peers.h"
#include "status/sampler.h"

#define FRESH_NS  (100 * MD_NS_PER_MS) /* the segment is not copied more often */
#define AROUND_NS MD_NS_PER_S          /* nor those of the others */

struct status {
    struct status_config config;
    struct httpd *server;
    struct stats_reader *reader;
    bool has_own_reader; /* else the sampler's */
    uint64_t read_ns;
    bool is_local; /* listening on the loopback: no foreign name can be meant */
    struct md_log_line lines[STATUS_LOG_LINES];
    struct status_daemon daemons[STATUS_DAEMONS_MAX];
    unsigned daemon_count;
    uint64_t around_ns;
    struct status_peers peers;
    char sources[STATUS_SOURCES_BYTES];
    struct stats_sample samples[STATS_HISTORY_CAPACITY];
    struct status_refusal refusals[STATUS_REFUSALS_MAX];
};

static struct status_facts look(struct status *status)
{
    uint64_t now_ns = md_clock_mono_ns();
    struct status_self self = status_self_look();
    double load = 0;

    if (now_ns - status->read_ns > FRESH_NS) {
        (void)stats_reader_refresh(status->reader);
        status->read_ns = now_ns;
    }
    if (now_ns - status->around_ns > AROUND_NS) {
        status->daemon_count = status_look_around(status->config.run_dir, now_ns, status->daemons);
        status->around_ns = now_ns;
    }
    return (struct status_facts){
        .process = status->config.process,
        .instance = status->config.instance,
        .identity = status->config.identity,
        .mono_ns = status->read_ns,
        .wall_ns = md_clock_wall_ns(),
        .cpu_s = self.cpu_s,
        .resident_bytes = self.resident_bytes,
        .load1 = getloadavg(&load, 1) == 1 ? load : 0,
        .cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
        .lines = status->lines,
        .line_count = md_log_recent(status->lines, STATUS_LOG_LINES),
        .daemons = status->daemons,
        .daemon_count = status->daemon_count,
        .samples = status->samples,
        .peers = (const char(*)[STATUS_PEER_BYTES])status->peers.names,
        .peer_count = status->peers.count,
        .has_old_names = md_conf_word(status->config.daemon, "metricNames") == 1,
        .leaves_out_clients = !md_conf_bool(status->config.daemon, "metricClients"),
    };
}

typedef void (*write_fn)(const struct stats_reader *reader, const struct status_facts *facts,
                         struct http_answer *answer);

static const struct {
    const char *path;
    write_fn write;
    bool any_host; /* nothing in it is worth a guard, and probes send the Host they please */
} texts[] = {
    { "/status.json", status_write_json, false },     { "/host.json", status_write_host, false },
    { "/history.json", status_write_history, false }, { "/metrics", status_write_metrics, false },
    { "/healthz", status_write_health, true },        { "/ready", status_write_ready, true },
};

static void on_request(void *owner, const struct http_request *request, struct http_answer *answer)
{
    struct status *status = owner;
    bool is_foreign = status->is_local && !http_host_is_literal(request->host);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (!http_slice_is(request->path, texts[i].path) || (is_foreign && !texts[i].any_host))
            continue;
        (void)status_peers_read(status->config.daemon, &status->peers);
        struct status_facts facts = look(status);
        if (texts[i].write == status_write_host)
            answer->reader = status_peers_origin(&status->peers, request->origin);
        if (texts[i].write == status_write_json && status->config.refusals) {
            facts.refusals = status->refusals;
            facts.refusal_count = status->config.refusals(status->config.owner, status->refusals,
                                                          STATUS_REFUSALS_MAX);
        }
        if (texts[i].write == status_write_history && status->config.sampler)
            facts.sample_count =
                stats_history_copy(status_sampler_history(status->config.sampler), status->samples);
        texts[i].write(status->reader, &facts, answer);
        return;
    }
    if (is_foreign) {
        answer->status = 403;
        http_answer_add(answer, "ask for localhost or for an address; /healthz and /ready answer "
                                "whatever the Host is\n");
    } else if (http_slice_is(request->path, "/")) {
        answer->type = "text/html; charset=utf-8";
        answer->fixed = &status_page;
        (void)status_peers_read(status->config.daemon, &status->peers);
        status_peers_sources(&status->peers, status->sources, sizeof(status->sources));
        answer->sources = status->sources;
    } else {
        answer->status = 404;
        http_answer_add(
            answer, "there are / /status.json /host.json /history.json /metrics /healthz /ready\n");
    }
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
           strcmp(address, "localhost") == 0;
}

int status_open(const struct status_config *config, struct status **out)
{
    const char *address = md_conf_string(config->daemon, "statusAddress");
    uint16_t port = md_conf_port(config->daemon, "statusPort");
    struct httpd_config server = {
        .loop = config->loop,
        .address = address,
        .port = port,
        .connection_max = (uint32_t)md_conf_u64(config->daemon, "statusConnections"),
        .request_max = (uint32_t)md_conf_u64(config->daemon, "statusRequestMax"),
        .timeout_ns = md_conf_time_ns(config->daemon, "statusTimeout"),
        .answer = on_request,
    };

    *out = NULL;
    if (port == 0)
        return MD_OK;
    struct status *status = calloc(1, sizeof(*status));
    if (!status)
        return MD_ERR_NOMEM;
    status->config = *config;
    status->is_local = is_loopback(address);
    server.owner = status;
    int err = MD_OK;
    status->has_own_reader = !config->sampler;
    if (config->sampler)
        status->reader = status_sampler_reader(config->sampler);
    else
        err = stats_reader_attach(config->segment, &status->reader);
    if (err == MD_OK)
        err = httpd_open(&server, &status->server);
    if (err != MD_OK) {
        status_close(status);
        return err;
    }
    (void)status_peers_read(config->daemon, &status->peers);
    if (status->peers.refused > 0)
        md_log(MD_LOG_WARNING, "statusPeers: %u left out; expected at most %d of HOST:PORT",
               status->peers.refused, STATUS_PEERS_MAX);
    md_log(MD_LOG_NOTICE, "status page: http://%s%s%s:%u/", strchr(address, ':') ? "[" : "",
           address, strchr(address, ':') ? "]" : "", status_port(status));
    *out = status;
    return MD_OK;
}

void status_close(struct status *status)
{
    if (!status)
        return;
    httpd_close(status->server);
    if (status->has_own_reader)
        stats_reader_close(status->reader);
    free(status);
}

uint16_t status_port(const struct status *status)
{
    return httpd_port(status->server);
}
