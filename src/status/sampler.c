/* sampler.c - see status/sampler.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status/sampler.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "parts.h"

#define SEARCHES_MAX 16 /* in one look: each goes through all entries */

struct status_sampler {
    struct stats_reader *reader;
    struct stats_history *history;
    struct md_loop_timer *timer;
    struct status_look look;
    const char *process;
};

/* ---- this process ---- */

static uint64_t resident_bytes(void)
{
    unsigned long total = 0, resident = 0;
    char text[64];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    if (sscanf(text, "%lu %lu", &total, &resident) != 2)
        return 0;
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct status_self status_self_look(void)
{
    struct status_self self = { .resident_bytes = resident_bytes() };
    struct rusage use;

    if (getrusage(RUSAGE_SELF, &use) == 0)
        self.cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    return self;
}

/* ---- which statistics a sample is made of ---- */

struct row {
    enum stats_history_of of;
    const char *leaf;
    bool is_rate;
};

static const struct row p2ps_rows[] = {
    { STATS_HISTORY_IN, "updatesIn", true },
    { STATS_HISTORY_OUT, "updatesOut", true },
    { STATS_HISTORY_LOSS, "gapsSeen", true },
    { STATS_HISTORY_LOSS_2, "conflated", true },
    { STATS_HISTORY_LOSS_3, "noBufferEvents", true },
    { STATS_HISTORY_LOSS_4, "mountsCutSlow", true },
    { STATS_HISTORY_CLIENTS, "mounts", false },
    { STATS_HISTORY_ITEMS, "itemsOpen", false },
    { STATS_HISTORY_VALUES, NULL, false },
};

static const struct row src_dist_rows[] = {
    { STATS_HISTORY_IN, "updatesIn", true },
    { STATS_HISTORY_OUT, "updatesOut", true },
    { STATS_HISTORY_LOSS, "backboneRefused", true },
    { STATS_HISTORY_LOSS_2, "decodeErrors", true },
    { STATS_HISTORY_LOSS_3, "unknownStreams", true },
    { STATS_HISTORY_LOSS_4, "closesOut", true },
    { STATS_HISTORY_CLIENTS, "providers", false },
    { STATS_HISTORY_ITEMS, "itemsOpen", false },
    { STATS_HISTORY_VALUES, NULL, false },
};

static const struct row rrcpd_rows[] = {
    { STATS_HISTORY_IN, "msgsRcvd", true },
    { STATS_HISTORY_OUT, "msgsSent", true },
    { STATS_HISTORY_LOSS, "pktsLostDetected", true },
    { STATS_HISTORY_LOSS_2, "pktsRepaired", true },
    { STATS_HISTORY_LOSS_3, "gapsDetected", true },
    { STATS_HISTORY_LOSS_4, "rcvSockDrops", true },
    { STATS_HISTORY_CLIENTS, "users", false },
    { STATS_HISTORY_ITEMS, "peersNow", false },
    { STATS_HISTORY_VALUES, NULL, false },
};

static const struct row rmdsrec_rows[] = {
    { STATS_HISTORY_IN, "msgsRcvd", true },        { STATS_HISTORY_OUT, "recordsWritten", true },
    { STATS_HISTORY_LOSS, "gapsSeen", true },      { STATS_HISTORY_LOSS_2, "messagesLost", true },
    { STATS_HISTORY_LOSS_3, "chunksLost", true },  { STATS_HISTORY_LOSS_4, "itemsRefused", true },
    { STATS_HISTORY_CLIENTS, "connected", false }, { STATS_HISTORY_ITEMS, "itemsOpen", false },
    { STATS_HISTORY_VALUES, NULL, false },
};

static const struct row *rows_of(const char *process)
{
    return strncmp(process, "rrcpd", 5) == 0      ? rrcpd_rows
           : strncmp(process, "src_dist", 8) == 0 ? src_dist_rows
           : strncmp(process, "rmdsrec", 7) == 0  ? rmdsrec_rows
                                                  : p2ps_rows;
}

/* ---- one pass over the copy ---- */

struct pass {
    struct status_look *look;
    const struct row *rows;
    uint64_t sums[STATS_HISTORY_VALUES];
    uint32_t known; /* bit n: sums[n] */
    /* Queues: how much of what. */
    uint64_t pool, pool_max, outbound, outbound_max, ring, behind;
    double fullest;             /* consumer, percent */
    struct stats_value buffers; /* of a mount whose buffersMax was not seen yet */
    unsigned searches;          /* for a buffersMax that does not stand behind its buffers */
    bool is_p2ps, is_rrcpd;
};

static void take_sum(struct pass *pass, const struct stats_value *value, const char *leaf)
{
    const struct {
        const char *leaf;
        uint64_t *sum;
    } sizes[] = {
        { pass->is_rrcpd ? "poolUse" : "poolBytes", &pass->pool },
        { pass->is_rrcpd ? "poolSize" : "poolBytesMax", &pass->pool_max },
        { "outboundUse", &pass->outbound },
        { "outboundSize", &pass->outbound_max },
        { "bufferNow", &pass->outbound }, /* of a recorder, to its disk */
        { "bufferSize", &pass->outbound_max },
        { "inboundRingBytes", &pass->ring },
    };

    if (status_is_part(value->path))
        return;
    for (const struct row *row = pass->rows; row->leaf; row++) {
        if (strcmp(leaf, row->leaf) == 0) {
            pass->sums[row->of] += value->value;
            pass->known |= 1u << row->of;
        }
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (strcmp(leaf, sizes[i].leaf) == 0)
            *sizes[i].sum += value->value;
    }
}

static void take_full(struct pass *pass, uint64_t room)
{
    double full = room ? 100.0 * (double)pass->buffers.value / (double)room : 0;

    pass->fullest = full > pass->fullest ? full : pass->fullest;
    pass->buffers = (struct stats_value){ 0 };
}

/* Entries of one mount stand side by side, but where they fill up places that others left. */
static void search_room(struct pass *pass, const struct stats_reader *reader)
{
    char path[STATS_PATH_BYTES + 8];
    struct stats_value room;

    if (!pass->buffers.path || pass->searches++ >= SEARCHES_MAX)
        return;
    snprintf(path, sizeof(path), "%sMax", pass->buffers.path);
    if (stats_reader_find(reader, path, &room))
        take_full(pass, room.value);
}

/* The figures of one mount, user or node that a sample has the worst of. */
static void take_part(struct pass *pass, const struct stats_reader *reader,
                      const struct stats_value *value, const char *leaf)
{
    size_t length = strlen(value->path);

    if (strcmp(leaf, "rttUs") == 0 && value->value > 0) {
        md_hist_record(&pass->look->trips, value->value);
    } else if (strcmp(leaf, "userQUse") == 0 && value->value > pass->behind) {
        pass->behind = value->value;
    } else if (strcmp(leaf, "buffers") == 0 && value->value > 0) {
        search_room(pass, reader);
        pass->buffers = *value;
    } else if (strcmp(leaf, "buffersMax") == 0 && pass->buffers.path &&
               strncmp(pass->buffers.path, value->path, length - strlen("Max")) == 0) {
        take_full(pass, value->value);
    }
}

static void take_turns(struct pass *pass, const struct md_hist *hist)
{
    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i++)
        pass->look->turns[i] += atomic_load_explicit(&hist->buckets[i], memory_order_relaxed);
}

static void look_through(struct pass *pass, const struct stats_reader *reader)
{
    struct stats_value value;
    size_t at = 0;

    while (stats_reader_next(reader, &at, &value)) {
        const char *leaf = strrchr(value.path, '.');

        if (!leaf++)
            continue;
        if (value.kind == STATS_KIND_HISTOGRAM && strcmp(leaf, "turnUs") == 0)
            take_turns(pass, value.hist);
        if (value.kind != STATS_KIND_COUNTER && value.kind != STATS_KIND_GAUGE)
            continue;
        take_sum(pass, &value, leaf);
        take_part(pass, reader, &value, leaf);
    }
    search_room(pass, reader);
}

/* ---- values ---- */

static float percent(uint64_t used, uint64_t room)
{
    return room ? (float)(100.0 * (double)used / (double)room) : NAN;
}

static void put_queues(const struct pass *pass, float *values)
{
    if (pass->is_p2ps) {
        values[STATS_HISTORY_QUEUE] = (float)pass->fullest;
        values[STATS_HISTORY_POOL] = percent(pass->pool, pass->pool_max);
    } else if (pass->is_rrcpd) {
        values[STATS_HISTORY_QUEUE] = percent(pass->pool, pass->pool_max);
        values[STATS_HISTORY_POOL] = percent(pass->behind, pass->ring);
    } else {
        values[STATS_HISTORY_QUEUE] = percent(pass->outbound, pass->outbound_max);
    }
}

/* Percentiles of the turns since the look before; of loops that began meanwhile, all turns. */
static void put_turns(struct status_look *look, float *values)
{
    static const struct {
        enum stats_history_of of;
        double part;
    } wanted[] = { { STATS_HISTORY_TURN_P50_US, 0.5 },
                   { STATS_HISTORY_TURN_P99_US, 0.99 },
                   { STATS_HISTORY_TURN_MAX_US, 1 } };
    uint64_t all = 0, seen = 0;
    size_t next = 0;

    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i++) {
        uint64_t before = look->turns_before[i];
        look->turns_before[i] = look->turns[i] > before ? look->turns[i] - before : 0;
        all += look->turns_before[i];
    }
    for (uint32_t i = 0; all > 0 && i < MD_HIST_BUCKET_COUNT; i++) {
        seen += look->turns_before[i];
        while (next < 3 && (double)seen >= (double)all * wanted[next].part)
            values[wanted[next++].of] = (float)md_hist_bucket_low(i);
    }
}

static void put_rates(const struct pass *pass, double seconds, float *values)
{
    for (const struct row *row = pass->rows; row->leaf; row++) {
        uint64_t now = pass->sums[row->of], before = pass->look->counters[row->of];

        if (!(pass->known >> row->of & 1))
            continue;
        if (!row->is_rate)
            values[row->of] = (float)now;
        else if (seconds > 0 && now >= before)
            values[row->of] = (float)((double)(now - before) / seconds);
    }
}

void status_sample_take(struct status_look *look, const struct stats_reader *reader,
                        const char *process, uint64_t mono_ns, const struct status_self *self,
                        struct stats_sample *out)
{
    struct pass pass = { .look = look,
                         .rows = rows_of(process),
                         .is_p2ps = strncmp(process, "p2ps", 4) == 0,
                         .is_rrcpd = strncmp(process, "rrcpd", 5) == 0 };
    bool is_first = look->mono_ns == 0 || mono_ns <= look->mono_ns;
    double seconds = is_first ? 0 : (double)(mono_ns - look->mono_ns) / 1e9;

    for (size_t i = 0; i < STATS_HISTORY_VALUES; i++)
        out->values[i] = NAN;
    memset(look->turns, 0, sizeof(look->turns));
    md_hist_init(&look->trips);
    look_through(&pass, reader);
    put_rates(&pass, seconds, out->values);
    put_queues(&pass, out->values);
    if (!is_first) {
        put_turns(look, out->values);
        out->values[STATS_HISTORY_CPU] = (float)(100 * (self->cpu_s - look->cpu_s) / seconds);
    }
    if (md_hist_count(&look->trips) > 0)
        out->values[STATS_HISTORY_TRIP_US] = (float)md_hist_percentile(&look->trips, 99);
    out->values[STATS_HISTORY_MEMORY] = (float)self->resident_bytes;
    memcpy(look->turns_before, look->turns, sizeof(look->turns));
    memcpy(look->counters, pass.sums, sizeof(look->counters));
    look->cpu_s = self->cpu_s;
    look->mono_ns = mono_ns;
}

/* ---- the timer ---- */

static void on_timer(void *owner)
{
    struct status_sampler *sampler = owner;
    struct status_self self = status_self_look();
    struct stats_sample sample = { .wall_ns = md_clock_wall_ns() };
    bool is_first = sampler->look.mono_ns == 0;

    (void)stats_reader_refresh(sampler->reader);
    status_sample_take(&sampler->look, sampler->reader, sampler->process, md_clock_mono_ns(), &self,
                       &sample);
    if (!is_first)
        stats_history_add(sampler->history, &sample);
}

int status_sampler_open(const struct status_sampler_config *config, struct status_sampler **out)
{
    struct status_sampler *sampler = calloc(1, sizeof(*sampler));
    char name[STATS_NAME_BYTES];

    *out = NULL;
    if (!sampler)
        return MD_ERR_NOMEM;
    snprintf(name, sizeof(name), "%s.%s", config->process, config->instance);
    sampler->process = config->process;
    int err = stats_reader_attach(config->segment, &sampler->reader);
    if (!err)
        err = stats_history_open(config->run_dir, name, &sampler->history);
    if (!err)
        err = md_loop_timer_create(config->loop, on_timer, sampler, &sampler->timer);
    if (!err)
        err = md_loop_timer_every(sampler->timer, STATS_HISTORY_EVERY_MS * MD_NS_PER_MS);
    if (err) {
        status_sampler_close(sampler);
        return err;
    }
    on_timer(sampler);
    *out = sampler;
    return MD_OK;
}

void status_sampler_close(struct status_sampler *sampler)
{
    if (!sampler)
        return;
    md_loop_timer_destroy(sampler->timer);
    stats_history_close(sampler->history);
    stats_reader_close(sampler->reader);
    free(sampler);
}

struct stats_reader *status_sampler_reader(struct status_sampler *sampler)
{
    return sampler->reader;
}

const struct stats_history *status_sampler_history(const struct status_sampler *sampler)
{
    return sampler->history;
}
