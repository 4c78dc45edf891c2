/* cause.c - see cause.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cause.h"

#include <stdio.h>

#include "backlog.h"

#define SECOND_NS 1000000000ull

/* 4812 as 4,812. */
static const char *thousands(uint64_t number, char out[32])
{
    char plain[32];
    int length = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)number);
    size_t at = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = plain[i];
    }
    out[at] = 0;
    return out;
}

struct cause {
    uint64_t used, max, time_ns, since_s;
    const char *unit;
};

static void write_cause(const struct cause *cause, char *out, size_t size)
{
    uint64_t tenths = cause->time_ns / (SECOND_NS / 10);
    unsigned clock = (unsigned)(cause->since_s % 86400);
    char used[32], max[32], time[32];

    if (tenths < 100)
        snprintf(time, sizeof(time), "%u.%u", (unsigned)tenths / 10, (unsigned)tenths % 10);
    else
        thousands(tenths / 10, time);
    snprintf(out, size, "%s of %s %s for %s s: conflating since %02u:%02u:%02u",
             thousands(cause->used, used), thousands(cause->max, max), cause->unit, time,
             clock / 3600, clock / 60 % 60, clock % 60);
}

void p2ps_cause_slow(const struct p2ps_core *core, uint32_t client, char *out, size_t size)
{
    const struct p2ps_slow *slow = p2ps_backlog_of(core, client);
    uint64_t begin_ns = slow->above_ns ? slow->above_ns : slow->since_ns;
    const struct cause cause = {
        .used = slow->used,
        .max = slow->max,
        .time_ns = core->now_ns - begin_ns,
        .since_s = slow->since_s,
        .unit = slow->unit,
    };

    write_cause(&cause, out, size);
}

/* Many streams are told the same in one turn. */
const char *p2ps_cause_lag(struct p2ps_core *core)
{
    struct p2ps_lag *lag = &core->lag;
    const struct cause cause = {
        .used = lag->bytes / 1024,
        .max = lag->max / 1024,
        .time_ns = core->now_ns - lag->since_ns,
        .since_s = lag->since_s,
        .unit = "KiB of the inbound ring of p2ps wait",
    };

    if (lag->text_ns != core->now_ns)
        write_cause(&cause, lag->text, sizeof(lag->text));
    lag->text_ns = core->now_ns;
    return lag->text;
}
