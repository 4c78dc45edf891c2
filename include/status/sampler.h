/* status/sampler.h - every five seconds a sample of what a daemon does: the hour behind it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_SAMPLER_H
#define STATUS_SAMPLER_H

#include "base/loop.h"
#include "stats/history.h"
#include "stats/reader.h"
#include "stats/segment.h"

/*
 * The control loop of a daemon copies its own segment, as for /status.json, and puts one sample
 * into the file that rmdsmon and /history.json show. Memory and file have a fixed size; nothing is
 * allocated and no loop that carries data is asked.
 */
struct status_sampler;

struct status_sampler_config {
    struct md_loop *loop;
    const struct stats_segment *segment;
    const char *run_dir; /* NULL: no file */
    const char *process; /* "p2ps", "rrcpd.net1" */
    const char *instance;
};

/* MD_ERR_SYS: the file cannot be made; MD_ERR_NOMEM. *out is NULL unless MD_OK. */
int status_sampler_open(const struct status_sampler_config *config, struct status_sampler **out);
void status_sampler_close(struct status_sampler *sampler); /* NULL is allowed */

/* The copy of the segment that it looks at; for whoever looks in the same loop. */
struct stats_reader *status_sampler_reader(struct status_sampler *sampler);
const struct stats_history *status_sampler_history(const struct status_sampler *sampler);

/* ---- one sample ---- */

/* State that a look leaves for the next one. */
struct status_look {
    uint64_t mono_ns; /* 0: there was none */
    uint64_t counters[STATS_HISTORY_VALUES];
    double cpu_s;
    uint64_t turns[MD_HIST_BUCKET_COUNT], turns_before[MD_HIST_BUCKET_COUNT];
    struct md_hist trips;
};

struct status_self {
    double cpu_s;
    uint64_t resident_bytes;
};

struct status_self status_self_look(void); /* of this process; allocates nothing */

/* The work of `process` since the look before, out of a copy that was just made. The first look has
 * no rates. */
void status_sample_take(struct status_look *look, const struct stats_reader *reader,
                        const char *process, uint64_t mono_ns, const struct status_self *self,
                        struct stats_sample *out);

#endif
