/* usage.h - the statistics lines of the tools: CSV, one line every so often. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_USAGE_H
#define TOOLS_USAGE_H

#include <stdint.h>
#include <stdio.h>

/* What has been since the line before; `items` are those of now, `errors` all there were. */
struct usage_line {
    double seconds;
    uint64_t updates, refreshes, statuses, bytes;
    uint64_t items_open, items_pending;
    double lat_mean_us;
    uint64_t lat_max_us;
    uint64_t cpu_ns;
    uint64_t errors;
};

uint64_t usage_cpu_ns(void); /* of this process since it began */
unsigned long usage_rss_kb(void);
void usage_print_header(FILE *out);
void usage_print(FILE *out, const struct usage_line *line);

#endif
