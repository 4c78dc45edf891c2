/* seconds.c - see seconds.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "seconds.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hist.h"

#define KEPT_MAX 86400u

struct seconds {
    uint64_t due_ns; /* when this one is over; 0: none has begun */
    size_t count;
    uint64_t p99_us[KEPT_MAX];
    struct md_hist hist; /* of this one */
};

int seconds_create(struct seconds **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return MD_ERR_NOMEM;
    md_hist_init(&(*out)->hist);
    return MD_OK;
}

void seconds_destroy(struct seconds *seconds)
{
    free(seconds);
}

static void next(struct seconds *seconds, uint64_t now_ns)
{
    if (seconds->due_ns && seconds->count < KEPT_MAX)
        seconds->p99_us[seconds->count++] = md_hist_percentile(&seconds->hist, 99);
    md_hist_init(&seconds->hist);
    if (!seconds->due_ns)
        seconds->due_ns = now_ns;
    while (seconds->due_ns <= now_ns)
        seconds->due_ns += MD_NS_PER_S;
}

void seconds_record(struct seconds *seconds, uint64_t now_ns, int64_t us)
{
    if (now_ns >= seconds->due_ns)
        next(seconds, now_ns);
    md_hist_record(&seconds->hist, us < 0 ? 0 : (uint64_t)us);
}

void seconds_print_json(const struct seconds *seconds, FILE *out)
{
    fputc('[', out);
    for (size_t i = 0; i < seconds->count; i++)
        fprintf(out, "%s%llu", i ? ", " : "", (unsigned long long)seconds->p99_us[i]);
    fputc(']', out);
}
