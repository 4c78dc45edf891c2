/* monitor.h - the instances on this host, as their statistics segments show them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MONITOR_H
#define MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stats/history.h"
#include "stats/reader.h"

#define MONITOR_MAX 256

/* rrcpd counts repairs by their time: recoverUs.below1, below2 ...; the last: any longer one. */
#define MONITOR_REPAIR_BUCKETS 20

/* The figures of the overview; rates need two looks. A negative one is not known. */
struct monitor_figures {
    double in_per_s, out_per_s;
    double clients, items;
    double queue_percent;
    double gaps, naks;
    double peers;                        /* other nodes that rrcpd hears */
    double ready;                        /* 1: it can do its work, 0: it cannot */
    double turn_p50_us, turn_p99_us;     /* what a turn of its loops took since the last look */
    double rtt_max_us;                   /* of the farthest consumer or node */
    double repair_p50_us, repair_p99_us; /* less than this: a power of two */
};

/* A minute's history, one value for each look, which are a second apart or more. */
#define MONITOR_TREND_LOOKS 60

enum monitor_trend_of {
    MONITOR_TREND_IN,
    MONITOR_TREND_OUT,
    MONITOR_TREND_TURN, /* the 99th percentile */
    MONITOR_TREND_QUEUE,
    MONITOR_TRENDS,
};

struct monitor_trend {
    double values[MONITOR_TRENDS][MONITOR_TREND_LOOKS]; /* negative: not known */
    uint64_t at_ns[MONITOR_TREND_LOOKS];
    uint64_t count; /* ever */
};

struct monitor_instance {
    char name[STATS_NAME_BYTES]; /* "p2ps.1", "rrcpd.net1.1" */
    char process[STATS_NAME_BYTES];
    char number[STATS_NAME_BYTES];
    struct stats_reader *reader;
    enum stats_liveness liveness;
    bool is_readable;
    bool is_denied; /* for want of permission */
    bool is_warning;
    bool has_trouble; /* it cannot do its work: `note` is its own word for what is missing */
    uint64_t uptime_s;
    uint64_t heartbeat_age_ns;
    uint64_t read_ns;
    uint64_t last_in, last_out, last_read_ns; /* of the look before */
    bool has_last, has_rate;
    uint64_t *turns; /* all turns of its loops so far, by bucket; NULL: it tells of none */
    uint64_t repairs[MONITOR_REPAIR_BUCKETS]; /* the same, of packets that were missing */
    struct monitor_figures figures;
    struct monitor_trend trend;
    char note[160];
};

/* The order of the overview: what is most of it stands first. */
enum monitor_order {
    MONITOR_BY_TROUBLE,
    MONITOR_BY_NAME,
    MONITOR_BY_IN,
    MONITOR_BY_OUT,
    MONITOR_BY_TURN,
    MONITOR_BY_RTT,
    MONITOR_BY_QUEUES,
    MONITOR_BY_CLIENTS,
    MONITOR_BY_ITEMS,
    MONITOR_ORDERS,
};

struct monitor {
    const char *run_dir;
    const char *process; /* only these; NULL: all */
    const char *number;
    struct monitor_instance instances[MONITOR_MAX];
    size_t count;
    enum monitor_order order;
    const char *sort; /* of the tables: the title of a column; NULL: by id */
};

const char *monitor_order_name(enum monitor_order order); /* "trouble", "in", ... */
bool monitor_order_find(const char *name, enum monitor_order *out);

void monitor_init(struct monitor *monitor, const char *run_dir, const char *process,
                  const char *number);
void monitor_fini(struct monitor *monitor);

/* Look at all of them: those that are new are opened, those that went are forgotten. Sorted by
 * `order`, then by name. MD_OK, or MD_ERR_SYS when the folder cannot be read. */
int monitor_look(struct monitor *monitor, uint64_t now_ns);

/* "ok", "WARN", "HUNG", "DEAD", "?" */
const char *monitor_state(const struct monitor_instance *instance);

/* The same, by trouble: 0 for ok. */
int monitor_rank(const struct monitor_instance *instance);

/* The sum of all counters of this name over the workers: "p2ps.worker.0.mounts". */
bool monitor_sum(const struct monitor_instance *instance, const char *name, uint64_t *sum);

/* True when the value belongs into the section; "ALL" takes all. */
bool monitor_in_section(const char *section, const struct stats_value *value);
bool monitor_is_section(const char *section);

/* find.c: the folder of the system that was started with `conf` (NULL: with any). MD_ERR_EXISTS:
 * there are several, which it has listed; when there is none, it is where daemons
 * stand by default. */
int find_system(const char *conf, char *out, size_t size);

/* print.c */
void print_overview(const struct monitor *monitor, FILE *out, bool colour, int width);
void print_instance(const struct monitor_instance *instance, FILE *out, const char *section,
                    const char *sort);
void print_section(const struct monitor *monitor, FILE *out, const char *section);
void print_json(const struct monitor *monitor, FILE *out);
void print_csv(const struct monitor *monitor, FILE *out);
/* "1,234", "201,334", "10.0 M" */
void print_count(char *out, size_t size, double value);
void print_value(char *out, size_t size, const struct stats_value *value);
void print_text(FILE *out, const char *text, bool is_json);

void print_uptime(char *out, size_t size, uint64_t seconds);

/* objects.c: as public collectors read them */
void print_objects(const struct monitor *monitor, FILE *out, const char *section);

/* trend.c: what is kept of a look; the level of a value among `levels` between 0 and the most */
void trend_add(struct monitor_instance *instance, uint64_t now_ns);
struct trend_span {
    double least, most, now; /* negative: not known */
    double seconds;
    uint32_t looks;
};
void trend_span(const struct monitor_trend *trend, enum monitor_trend_of of, uint32_t looks,
                struct trend_span *out);
/* The samples that a daemon keeps, oldest first, as such a trend: of each column the mean of the
 * rates, and the worst turn and queue. */
void trend_take_samples(struct monitor_trend *trend, const struct stats_sample *samples,
                        unsigned count);
/* `ago` 0 is the newest. -1: nothing is known of it. */
int trend_level(const struct monitor_trend *trend, enum monitor_trend_of of, uint32_t ago,
                double most, int levels);

/* rows.c: the tables of a section, and whether a value stands in one of them. `sort` is the title
 * of the column by which they are sorted, NULL for the id. */
void rows_print(const struct monitor_instance *instance, FILE *out, const char *section,
                const char *sort);
/* The title behind `title` in the tables of the section, NULL past the last; NULL: the first. */
const char *rows_next_title(const char *section, const char *title);
bool rows_has_title(const char *title);
bool rows_take(const struct monitor_instance *instance, const char *section,
               const struct stats_value *value);

/* screen.c: until q; an exit code */
int screen_run(struct monitor *monitor, double interval_s);

#endif
