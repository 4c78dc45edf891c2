/* status/status.h - what a daemon tells over HTTP: a page, its figures as JSON, metrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_STATUS_H
#define STATUS_STATUS_H

#include "base/log.h"
#include "base/loop.h"
#include "conf/conf.h"
#include "httpd/server.h"
#include "stats/history.h"
#include "stats/reader.h"
#include "stats/segment.h"

/*
 *     /             the status page, one self-contained HTML file
 *     /status.json  every value of the statistics segment, the process, the last warnings
 *     /host.json    the daemons of this host, for the pages of other hosts: statusPeers
 *     /history.json the last hour, a sample each five seconds
 *     /metrics      the same values for Prometheus, text format 0.0.4
 *     /healthz      200 while no thread of the daemon hangs, else 503
 *     /ready        200 while it can do its work, else 503; the one line says why not
 *
 * The last two answer any Host, as probes of an orchestrator and of a load balancer send one.
 * All of it is read out of the daemon's own segment, by its control loop, at most ten times a
 * second however often it is asked for: the loops that carry data do not notice. Nothing can be
 * changed through it.
 */
struct status;
struct status_sampler;

/* Of somebody who may not do something: a login, an item, a post. */
struct status_refusal {
    uint64_t wall_ns;
    unsigned code;
    char event[12], user[128], address[88], service[64], item[128], why[128], rule[192];
};
#define STATUS_REFUSALS_MAX 256u

struct status_config {
    struct md_loop *loop; /* the control loop */
    const struct md_conf_object
        *daemon; /* that of the present configuration, also after a reload */
    const struct stats_segment *segment;
    const char *run_dir;            /* where the others of this host have theirs */
    const char *process;            /* "p2ps", "rrcpd.net1" */
    const char *instance;           /* "1" */
    const char *identity;           /* "host.1.p2ps" */
    struct status_sampler *sampler; /* NULL: no history. It outlives the status */
    /* The last refusals, the youngest first; how many. NULL: the daemon refuses nobody. */
    unsigned (*refusals)(void *owner, struct status_refusal *out, unsigned max);
    void *owner;
};

/*
 * Listen where statusPort and statusAddress say. MD_OK: *out is NULL when there is no statusPort.
 * MD_ERR_SYS: the port cannot be had, net_error() says why; MD_ERR_NOMEM.
 */
int status_open(const struct status_config *config, struct status **out);
void status_close(struct status *status); /* NULL is allowed */
uint16_t status_port(const struct status *status);

/*
 * Put what the configuration sets into the segment, for every monitor: <process>.config.<path>,
 * "5000  rmds.cnf:12". Again after a reload. Values that are defaults are left out.
 */
void status_show_config(struct stats_segment *segment, const char *process,
                        const struct md_conf *conf);

/* ---- who else is on this host ---- */

#define STATUS_DAEMONS_MAX 64
#define STATUS_FIGURES_MAX 16
#define STATUS_NODES_MAX   16

/* A node of the backbone that an rrcpd hears, or a process that is attached to it. */
struct status_node {
    char name[STATS_STRING_BYTES];
    uint64_t rtt_us, missing_now;
};

struct status_daemon {
    char name[STATS_NAME_BYTES]; /* "src_dist.1" */
    enum stats_liveness liveness;
    bool has_trouble;                 /* it lives, and something keeps it from its work */
    char trouble[STATS_STRING_BYTES]; /* what: daemon/trouble.h */
    uint16_t port;                    /* of its page, 0: none */
    uint64_t read_ns;                 /* when the figures below were read */
    /* The sums that a picture of the chain needs, by status_figure_name(); bit n of `known`. */
    uint64_t figures[STATUS_FIGURES_MAX];
    uint32_t known;
    struct status_node users[STATUS_NODES_MAX], nodes[STATUS_NODES_MAX]; /* of an rrcpd */
    unsigned user_count, node_count;
};

/* "updatesIn" and so on; NULL past the last. */
const char *status_figure_name(unsigned figure);

/* All with statistics in that folder, the asking one too, by name; at most STATUS_DAEMONS_MAX.
 * Segments are read, nobody is asked: a daemon that hangs holds nothing up. */
unsigned status_look_around(const char *run_dir, uint64_t now_ns, struct status_daemon *out);

/* ---- the texts, from a reader that was refreshed ---- */

#define STATUS_LOG_LINES  MD_LOG_RECENT_MAX
#define STATUS_PEER_BYTES 72

struct status_facts {
    const char *process, *instance, *identity;
    uint64_t mono_ns, wall_ns;
    double cpu_s;
    uint64_t resident_bytes;
    double load1; /* of the host, over a minute */
    unsigned cpus;
    const struct md_log_line *lines; /* oldest first */
    unsigned line_count;
    const struct status_refusal *refusals; /* NULL: the daemon refuses nobody */
    unsigned refusal_count;
    const struct status_daemon *daemons; /* of this host */
    unsigned daemon_count;
    const struct stats_sample *samples; /* of the last hour, oldest first */
    unsigned sample_count;
    const char (*peers)[STATUS_PEER_BYTES]; /* status ports of other hosts */
    unsigned peer_count;
    bool has_old_names;      /* metricNames both: metrics by their former names, too */
    bool leaves_out_clients; /* metricClients False: none of each consumer and provider */
};

void status_write_metrics(const struct stats_reader *reader, const struct status_facts *facts,
                          struct http_answer *answer);
void status_write_json(const struct stats_reader *reader, const struct status_facts *facts,
                       struct http_answer *answer);

void status_write_host(const struct stats_reader *reader, const struct status_facts *facts,
                       struct http_answer *answer);
void status_write_history(const struct stats_reader *reader, const struct status_facts *facts,
                          struct http_answer *answer);

/* A line each, with status 200 or 503. A daemon is not ready while it hangs, while `ready` is 0
 * (it waits for its rrcpd), and while it has a trouble: the same states as in daemon/trouble.h. */
void status_write_health(const struct stats_reader *reader, const struct status_facts *facts,
                         struct http_answer *answer);
void status_write_ready(const struct stats_reader *reader, const struct status_facts *facts,
                        struct http_answer *answer);

#endif
