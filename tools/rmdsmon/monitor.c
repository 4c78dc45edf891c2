/* monitor.c - see monitor.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/rundir.h"

static const char *const sections[] = { "MOUNTS", "SERVICES", "ITEMS",  "RRCP",
                                        "ROUTES", "CONFIG",   "MEMORY", "ALL" };

void monitor_init(struct monitor *monitor, const char *run_dir, const char *process,
                  const char *number)
{
    *monitor = (struct monitor){ .run_dir = run_dir, .process = process, .number = number };
}

static void forget(struct monitor_instance *instance)
{
    stats_reader_close(instance->reader);
    free(instance->turns);
    instance->reader = NULL;
    instance->turns = NULL;
}

void monitor_fini(struct monitor *monitor)
{
    for (size_t i = 0; i < monitor->count; i++)
        forget(&monitor->instances[i]);
    monitor->count = 0;
}

/* Of a single mount, provider and the like: part of what the whole has counted; or the bytes of
 * what the memory is divided among. */
static bool is_part(const char *path)
{
    static const char *const parts[] = { ".mount.",  ".user.",    ".provider.",
                                         ".route.",  ".service.", ".config.",
                                         ".memory.", ".peer.",    ".quota." };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(path, parts[i]))
            return true;
    }
    return strncmp(path, "memory.", 7) == 0;
}

bool monitor_sum(const struct monitor_instance *instance, const char *name, uint64_t *sum)
{
    struct stats_value value;
    size_t at = 0, length = strlen(name);
    bool found = false;

    *sum = 0;
    while (instance->reader && stats_reader_next(instance->reader, &at, &value)) {
        size_t path_length = strlen(value.path);
        if (path_length <= length || strcmp(value.path + path_length - length, name) != 0 ||
            value.path[path_length - length - 1] != '.' || is_part(value.path) ||
            (value.kind != STATS_KIND_COUNTER && value.kind != STATS_KIND_GAUGE))
            continue;
        *sum += value.value;
        found = true;
    }
    return found;
}

/* The first of these names that there is, or -1. */
static double figure(const struct monitor_instance *instance, const char *const names[])
{
    uint64_t sum;

    for (; *names; names++) {
        if (monitor_sum(instance, *names, &sum))
            return (double)sum;
    }
    return -1;
}

static double rate(double now, uint64_t last, double seconds)
{
    return now < 0 || seconds <= 0 || now < (double)last ? -1 : (now - (double)last) / seconds;
}

/* Routes without their provider. */
static unsigned routes_down(const struct monitor_instance *instance)
{
    struct stats_value value;
    unsigned down = 0;
    size_t at = 0;

    while (stats_reader_next(instance->reader, &at, &value))
        down += value.kind == STATS_KIND_STRING && strstr(value.path, ".route.") &&
                strcmp(strrchr(value.path, '.'), ".state") == 0 && strcmp(value.text, "up") != 0;
    return down;
}

/* Its configuration is not that of the files. */
static bool note_reload(struct monitor_instance *instance)
{
    struct stats_value why, since;
    char clock[16] = "the start";

    if (!stats_reader_find(instance->reader, "reloadFailed", &why))
        return false;
    if (stats_reader_find(instance->reader, "configTaken", &since)) {
        time_t seconds = (time_t)(since.value / 1000000000u);
        struct tm tm;
        gmtime_r(&seconds, &tm);
        strftime(clock, sizeof(clock), "%H:%MZ", &tm);
    }
    snprintf(instance->note, sizeof(instance->note),
             "runs the configuration of %s, the last reload failed: %s", clock, why.text);
    return instance->is_warning = true;
}

/* What one line should say of trouble; the first thing found. */
static void take_notes(struct monitor_instance *instance)
{
    static const struct {
        const char *name;
        const char *one, *many;
    } troubles[] = {
        { "mountsSlowNow", "slow consumer", "slow consumers" },
        { "servicesDown", "service down", "services down" },
        { "overNow", "over the send limit", "over the send limit" },
    };
    struct stats_value trouble;
    uint64_t sum;

    instance->is_warning = instance->has_trouble = false;
    if (!instance->is_readable) {
        if (!instance->is_denied)
            snprintf(instance->note, sizeof(instance->note), "the statistics cannot be read");
        return;
    }
    instance->note[0] = 0;
    if (instance->liveness == STATS_DEAD || instance->liveness == STATS_HUNG) {
        snprintf(instance->note, sizeof(instance->note), "pid %d, last heartbeat %.0f s ago",
                 (int)stats_reader_pid(instance->reader), (double)instance->heartbeat_age_ns / 1e9);
        return;
    }
    if (stats_reader_find(instance->reader, "trouble", &trouble)) {
        snprintf(instance->note, sizeof(instance->note), "%s", trouble.text);
        instance->is_warning = instance->has_trouble = true;
        return;
    }
    if (note_reload(instance))
        return;
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
        if (!monitor_sum(instance, troubles[i].name, &sum) || sum == 0)
            continue;
        snprintf(instance->note, sizeof(instance->note), "%llu %s", (unsigned long long)sum,
                 sum == 1 ? troubles[i].one : troubles[i].many);
        instance->is_warning = true;
        return;
    }
    unsigned down = routes_down(instance);
    if (down > 0) {
        snprintf(instance->note, sizeof(instance->note), "%u %s without provider", down,
                 down == 1 ? "route" : "routes");
        instance->is_warning = true;
        return;
    }
    if (instance->figures.queue_percent > 70) {
        snprintf(instance->note, sizeof(instance->note), "queues are %.0f %% full",
                 instance->figures.queue_percent);
        instance->is_warning = true;
    }
}

/* The bucket in which that percentage of what was recorded since `last` is reached; of all there
 * ever was when nothing was since. -1: nothing was recorded. */
static int bucket_at(const uint64_t *now, const uint64_t *last, uint32_t count, unsigned percent)
{
    uint64_t all = 0, since = 0, seen = 0;

    for (uint32_t i = 0; i < count; i++) {
        all += now[i];
        since += last ? now[i] - last[i] : 0;
    }
    uint64_t wanted = since ? since : all;
    for (uint32_t i = 0; wanted && i < count; i++) {
        seen += since ? now[i] - last[i] : now[i];
        if (seen * 100 >= wanted * percent)
            return (int)i;
    }
    return -1;
}

static double turn_us(const uint64_t *now, const uint64_t *last, unsigned percent)
{
    int bucket = now ? bucket_at(now, last, MD_HIST_BUCKET_COUNT, percent) : -1;

    return bucket < 0 ? -1 : (double)md_hist_bucket_low((uint32_t)bucket);
}

/* Percentiles of what all loops of an instance recorded. */
static void take_turns(struct monitor_instance *instance)
{
    struct monitor_figures *f = &instance->figures;
    uint64_t *now = calloc(MD_HIST_BUCKET_COUNT, sizeof(*now));
    struct stats_value value;
    size_t at = 0;

    while (now && stats_reader_next(instance->reader, &at, &value)) {
        size_t length = strlen(value.path);
        if (value.kind != STATS_KIND_HISTOGRAM || length < 7 ||
            strcmp(value.path + length - 7, ".turnUs") != 0)
            continue;
        for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i++)
            now[i] += atomic_load_explicit(&value.hist->buckets[i], memory_order_relaxed);
    }
    f->turn_p50_us = turn_us(now, instance->turns, 50);
    f->turn_p99_us = turn_us(now, instance->turns, 99);
    free(instance->turns);
    instance->turns = now;
}

/* How long packets were missing until they were there. */
static void take_repairs(struct monitor_instance *instance)
{
    struct monitor_figures *f = &instance->figures;
    uint64_t now[MONITOR_REPAIR_BUCKETS] = { 0 };
    struct stats_value value;
    size_t at = 0;

    while (stats_reader_next(instance->reader, &at, &value)) {
        const char *bound = strstr(value.path, ".recoverUs.below");
        for (int i = 0; bound && i < MONITOR_REPAIR_BUCKETS; i++)
            now[i] += strtoul(bound + 16, NULL, 10) == 1ul << i ? value.value : 0;
    }
    int half = bucket_at(now, instance->repairs, MONITOR_REPAIR_BUCKETS, 50);
    int most = bucket_at(now, instance->repairs, MONITOR_REPAIR_BUCKETS, 99);
    f->repair_p50_us = half < 0 ? -1 : (double)(1ul << half);
    f->repair_p99_us = most < 0 ? -1 : (double)(1ul << most);
    memcpy(instance->repairs, now, sizeof(now));
}

/* The longest round trip to a consumer or a node; what was not measured is 0. */
static double farthest(const struct monitor_instance *instance)
{
    struct stats_value value;
    double most = -1;
    size_t at = 0;

    while (stats_reader_next(instance->reader, &at, &value)) {
        size_t length = strlen(value.path);
        if (length > 6 && strcmp(value.path + length - 6, ".rttUs") == 0 && value.value > 0 &&
            (double)value.value > most)
            most = (double)value.value;
    }
    return most;
}

/* The fullest queue, in percent: of the mounts; else of what is named. */
static double fullest(const struct monitor_instance *instance)
{
    static const char *const used[] = { "outBuffersInUse", "outboundUse", NULL };
    static const char *const room[] = { "outBuffersMax", "outboundSize", NULL };
    uint64_t behind = 0, ring = 0;
    struct stats_value value, max;
    double most = -1;
    size_t at = 0;

    while (stats_reader_next(instance->reader, &at, &value)) {
        char path[STATS_PATH_BYTES + 8];
        size_t length = strlen(value.path);
        if (length > 9 && strcmp(value.path + length - 9, ".userQUse") == 0 && value.value > behind)
            behind = value.value;
        if (length < 8 || strcmp(value.path + length - 8, ".buffers") != 0 || value.value == 0)
            continue;
        snprintf(path, sizeof(path), "%sMax", value.path);
        if (stats_reader_find(instance->reader, path, &max) && max.value > 0 &&
            100.0 * (double)value.value / (double)max.value > most)
            most = 100.0 * (double)value.value / (double)max.value;
    }
    if (most >= 0)
        return most;
    if (monitor_sum(instance, "inboundRingBytes", &ring) && ring > 0)
        return 100.0 * (double)behind / (double)ring;
    double filled = figure(instance, used), all = figure(instance, room);
    return filled >= 0 && all > 0 ? 100 * filled / all : -1;
}

/*
 * The daemons publish their counters a few times a second: over less than a second a rate would be
 * what fell into it by chance. Looks that follow faster show the rate of the last full second; the
 * first one has nothing better than the time between the first two looks.
 */
static void take_rates(struct monitor_instance *instance, double in, double out, uint64_t now_ns)
{
    struct monitor_figures *f = &instance->figures;
    double seconds = (double)(now_ns - instance->last_read_ns) / 1e9;

    if (instance->has_last && instance->has_rate && seconds < 1)
        return;
    f->in_per_s = instance->has_last ? rate(in, instance->last_in, seconds) : -1;
    f->out_per_s = instance->has_last ? rate(out, instance->last_out, seconds) : -1;
    instance->has_rate = instance->has_last;
    instance->last_in = in < 0 ? 0 : (uint64_t)in;
    instance->last_out = out < 0 ? 0 : (uint64_t)out;
    instance->last_read_ns = now_ns;
    instance->has_last = true;
}

static void take_figures(struct monitor_instance *instance, uint64_t now_ns)
{
    static const char *const in[] = { "updatesIn", "msgsRcvd", NULL };
    static const char *const out[] = { "updatesOut", "msgsSent", NULL };
    static const char *const clients[] = { "mounts", "providers", "users", NULL };
    static const char *const items[] = { "itemsOpen", NULL };
    static const char *const gaps[] = { "gapsSeen", "gapsDetected", NULL };
    static const char *const naks[] = { "retransReqSent", NULL };
    static const char *const peers[] = { "peersNow", NULL };
    struct monitor_figures *f = &instance->figures;
    struct stats_value ready;

    take_rates(instance, figure(instance, in), figure(instance, out), now_ns);
    f->clients = figure(instance, clients);
    f->items = figure(instance, items);
    f->gaps = figure(instance, gaps);
    f->naks = figure(instance, naks);
    f->peers = figure(instance, peers);
    f->ready = stats_reader_find(instance->reader, "ready", &ready) ? (double)ready.value : -1;
    f->queue_percent = fullest(instance);
    f->rtt_max_us = farthest(instance);
    take_turns(instance);
    take_repairs(instance);
    trend_add(instance, now_ns);
}

/* True: only the permission is missing; the note says who has it. */
static bool note_denied(struct monitor_instance *instance, const char *run_dir)
{
    char path[512], join[96] = "";
    struct stat status;

    snprintf(path, sizeof(path), "%s/%s/" STATS_FILE, run_dir, instance->name);
    if (access(path, R_OK) == 0 || errno != EACCES)
        return false;
    if (stat(path, &status) != 0)
        *strrchr(path, '/') = '\0';
    if (stat(path, &status) != 0) {
        snprintf(instance->note, sizeof(instance->note), "permission denied: %s", run_dir);
        return true;
    }
    const struct group *group = getgrgid(status.st_gid);
    const struct passwd *owner = getpwuid(status.st_uid);
    if (status.st_mode & S_IRGRP && group)
        snprintf(join, sizeof(join), "join group %.32s, or ", group->gr_name);
    snprintf(instance->note, sizeof(instance->note), "permission denied; %srun as %.32s", join,
             owner ? owner->pw_name : "root");
    return true;
}

static void look_at(struct monitor *monitor, struct monitor_instance *instance, uint64_t now_ns)
{
    if (instance->reader && stats_reader_is_replaced(instance->reader)) {
        forget(instance);
        memset(instance->repairs, 0, sizeof(instance->repairs));
        instance->has_last = instance->has_rate = false;
    }
    if (!instance->reader)
        (void)stats_reader_open(monitor->run_dir, instance->name, &instance->reader);
    instance->is_readable = instance->reader != NULL;
    instance->is_denied = !instance->is_readable && note_denied(instance, monitor->run_dir);
    if (instance->is_readable) {
        (void)stats_reader_refresh(instance->reader);
        uint64_t beat_ns = stats_reader_heartbeat_ns(instance->reader);
        uint64_t wall_ns = md_clock_wall_ns(), start_ns = stats_reader_start_ns(instance->reader);
        instance->liveness = stats_reader_liveness(instance->reader, now_ns);
        instance->heartbeat_age_ns = now_ns > beat_ns ? now_ns - beat_ns : 0;
        instance->uptime_s = wall_ns > start_ns ? (wall_ns - start_ns) / MD_NS_PER_S : 0;
        take_figures(instance, now_ns);
    }
    take_notes(instance);
}

/* "rrcpd.net1.1": the process is what stands before the last dot. */
static void split_name(struct monitor_instance *instance)
{
    const char *dot = strrchr(instance->name, '.');

    snprintf(instance->process, sizeof(instance->process), "%.*s",
             dot ? (int)(dot - instance->name) : (int)strlen(instance->name), instance->name);
    snprintf(instance->number, sizeof(instance->number), "%s", dot ? dot + 1 : "");
}

static bool is_wanted(const struct monitor *monitor, const struct monitor_instance *instance)
{
    size_t length = monitor->process ? strlen(monitor->process) : 0;

    if (monitor->number && strcmp(monitor->number, instance->number) != 0)
        return false;
    return length == 0 || (strncmp(instance->process, monitor->process, length) == 0 &&
                           (instance->process[length] == 0 || instance->process[length] == '.'));
}

static const char *const orders[MONITOR_ORDERS] = {
    [MONITOR_BY_TROUBLE] = "trouble", [MONITOR_BY_NAME] = "name",
    [MONITOR_BY_IN] = "in",           [MONITOR_BY_OUT] = "out",
    [MONITOR_BY_TURN] = "turn",       [MONITOR_BY_RTT] = "rtt",
    [MONITOR_BY_QUEUES] = "queues",   [MONITOR_BY_CLIENTS] = "clients",
    [MONITOR_BY_ITEMS] = "items",
};

const char *monitor_order_name(enum monitor_order order)
{
    return orders[order];
}

bool monitor_order_find(const char *name, enum monitor_order *out)
{
    for (int i = 0; i < MONITOR_ORDERS; i++) {
        if (strcasecmp(name, orders[i]) == 0) {
            *out = (enum monitor_order)i;
            return true;
        }
    }
    return false;
}

static double sort_value(const struct monitor_instance *instance, enum monitor_order order)
{
    const struct monitor_figures *f = &instance->figures;

    switch (order) {
    case MONITOR_BY_IN:
        return f->in_per_s;
    case MONITOR_BY_OUT:
        return f->out_per_s;
    case MONITOR_BY_TURN:
        return f->turn_p99_us;
    case MONITOR_BY_RTT:
        return f->rtt_max_us;
    case MONITOR_BY_QUEUES:
        return f->queue_percent;
    case MONITOR_BY_CLIENTS:
        return f->clients;
    case MONITOR_BY_ITEMS:
        return f->items;
    case MONITOR_BY_NAME:
        return 0;
    default:
        return monitor_rank(instance);
    }
}

static int compare(const void *a, const void *b, void *argument)
{
    const struct monitor_instance *x = a, *y = b;
    const enum monitor_order *order = argument;
    double left = sort_value(x, *order), right = sort_value(y, *order);

    return left > right ? -1 : left < right ? 1 : strcmp(x->name, y->name);
}

/* Forget those whose file is gone. */
static void drop_missing(struct monitor *monitor, char (*names)[STATS_NAME_BYTES], int count)
{
    size_t kept = 0;

    for (size_t i = 0; i < monitor->count; i++) {
        bool is_there = false;
        for (int j = 0; j < count && !is_there; j++)
            is_there = strcmp(names[j], monitor->instances[i].name) == 0;
        if (is_there) {
            if (kept != i)
                monitor->instances[kept] = monitor->instances[i];
            kept++;
        } else {
            forget(&monitor->instances[i]);
        }
    }
    monitor->count = kept;
}

static void add_new(struct monitor *monitor, const char *name)
{
    struct monitor_instance instance = { .reader = NULL };

    for (size_t i = 0; i < monitor->count; i++) {
        if (strcmp(monitor->instances[i].name, name) == 0)
            return;
    }
    snprintf(instance.name, sizeof(instance.name), "%s", name);
    split_name(&instance);
    if (is_wanted(monitor, &instance) && monitor->count < MONITOR_MAX)
        monitor->instances[monitor->count++] = instance;
}

int monitor_look(struct monitor *monitor, uint64_t now_ns)
{
    char(*names)[STATS_NAME_BYTES] = calloc(MONITOR_MAX, STATS_NAME_BYTES);

    if (!names)
        return MD_ERR_NOMEM;
    int count = stats_segment_list(monitor->run_dir, names, MONITOR_MAX);
    if (count < 0 && errno == ENOENT && strcmp(monitor->run_dir, md_rundir_default()) == 0)
        count = 0; /* no daemon was ever started there */
    if (count > MONITOR_MAX)
        count = MONITOR_MAX;
    if (count >= 0) {
        drop_missing(monitor, names, count);
        for (int i = 0; i < count; i++)
            add_new(monitor, names[i]);
        for (size_t i = 0; i < monitor->count; i++)
            look_at(monitor, &monitor->instances[i], now_ns);
        qsort_r(monitor->instances, monitor->count, sizeof(monitor->instances[0]), compare,
                &monitor->order);
    }
    free(names);
    return count < 0 ? MD_ERR_SYS : MD_OK;
}

int monitor_rank(const struct monitor_instance *instance)
{
    if (!instance->is_readable)
        return 4;
    switch (instance->liveness) {
    case STATS_DEAD:
        return 3;
    case STATS_HUNG:
        return 2;
    case STATS_ALIVE:
        break;
    }
    return instance->is_warning ? 1 : 0;
}

const char *monitor_state(const struct monitor_instance *instance)
{
    static const char *const names[] = { "ok", "WARN", "HUNG", "DEAD", "?" };

    return names[monitor_rank(instance)];
}

bool monitor_is_section(const char *section)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (strcmp(sections[i], section) == 0)
            return true;
    }
    return false;
}

/* By the words of the path. */
bool monitor_in_section(const char *section, const struct stats_value *value)
{
    static const struct {
        const char *section;
        const char *words[10];
    } rules[] = {
        { "MOUNTS", { ".mount.", ".mounts", "mount", "login", ".quota.", NULL } },
        { "SERVICES", { ".service", NULL } },
        { "ITEMS",
          { "item", "Item", "watches", "update", "refresh", "images", "pages", "Rippled",
            "marketfeed", NULL } },
        { "RRCP", { "rrcpd.", ".rrcp.", "attach", NULL } },
        { "ROUTES", { ".route", "providers", "requestsOut", NULL } },
        { "CONFIG", { ".config.", NULL } },
        { "MEMORY", { "Bytes", "pool", "emory", "uffers", "rss", NULL } },
    };

    if (strcmp(section, "ALL") == 0)
        return true;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (strcmp(rules[i].section, section) != 0)
            continue;
        for (size_t w = 0; rules[i].words[w]; w++) {
            if (strstr(value->path, rules[i].words[w]))
                return true;
        }
    }
    return false;
}
