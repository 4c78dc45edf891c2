/* samples.h - a value on its way to /metrics. Private to status. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_SAMPLES_H
#define STATUS_SAMPLES_H

#include "names.h"
#include "stats/reader.h"

struct sample {
    char family[STATUS_METRIC_BYTES];
    const char *type, *help;
    struct status_place place;
    struct stats_value value;
    uint64_t bound; /* of a bucket, in microseconds; else 0 */
    bool is_state;  /* NAME_state; else NAME_up */
    bool is_old;
};

/* The name that metricNames "both" adds: made from the path by rule, with no unit changed. */
void sample_name_old(struct sample *sample, const char *process);

#endif
