/* status/figures.h - every statistic that is shown as a metric: its name, its unit, what it means.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_FIGURES_H
#define STATUS_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * One table for /metrics, for the reference of metrics, for the alert rules and for the dashboard:
 * none of them can name a metric that does not exist. A statistic without a row is shown all the
 * same, under a name made by rule and with a help text that says so.
 *
 * A row belongs to a path of the segment:
 *
 *     p2ps.worker.0.updatesIn        scope "p2ps.worker", leaf "updatesIn"
 *     rrcpd.net1.drop.auth missing   scope "rrcpd", leaf "drop.*"
 *     memory.max.images              scope "", leaf "memory.max.*"
 *
 * The scope's last word, when there is more than one, says of what there are many; which one it is
 * becomes a label of that name. A leaf that ends in ".*" stands for many statistics, which become
 * one metric with a label.
 */
enum status_shape {
    STATUS_COUNTER,
    STATUS_GAUGE,
    STATUS_HISTOGRAM,
    STATUS_BUCKETS, /* counters "below1", "below2", ... in microseconds: one histogram */
    STATUS_TIME,    /* when something was */
    STATUS_TEXT,    /* the texts of one object together are the labels of one metric */
    STATUS_STATE,   /* a text; two metrics, NAME_state with it as a label, and NAME_up */
};

enum status_unit {
    STATUS_PLAIN,
    STATUS_BYTES,
    STATUS_US, /* microseconds, shown as seconds */
};

struct status_figure {
    const char *scope, *leaf;
    enum status_shape shape;
    enum status_unit unit;
    const char *label; /* of a leaf that ends in ".*" */
    const char *name;  /* behind "rmds_SCOPE_", without unit; NULL: the leaf */
    const char *help;
};

extern const struct status_figure status_figures[];
extern const size_t status_figure_count;

#define STATUS_METRIC_BYTES 160

/* "rmds_p2ps_worker_updates_in_total". A STATE's is that of NAME_up. */
void status_metric_name(const struct status_figure *figure, char *out, size_t size);

/* The type of this metric for Prometheus: "counter", "gauge" or "histogram". */
const char *status_metric_type(const struct status_figure *figure);

#endif
