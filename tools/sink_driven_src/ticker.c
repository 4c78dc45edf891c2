/* ticker.c - the bursts: as many updates as the rate says, at even distances. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "schedule.h"
#include "sds.h"

#define RETRY_NS     100000u     /* a client's queue is full: look again */
#define LATE_NS      500000u     /* for a burst */
#define BEHIND_NS    MD_NS_PER_S /* later than this, bursts are given up and counted */
#define TURN_MAX     32768u      /* updates before the loop gets to read requests */
#define FETCH_AHEAD  4u          /* items, which no cache holds all */
#define PARTS        6u          /* of a burst: the next one is made while one is on its way */
#define PART_CLIENTS 4u          /* with more, a part costs more writes than it saves time */
#define PART_MIN     16u         /* updates: a write costs as much as making so many */

/*
 * A publisher that is late sends what it owes at once and says so (late_max_ns): a burst is never
 * dropped silently. Only what is more than a second overdue is given up, and counted.
 */
struct ticker {
    struct sds *sds;
    struct md_loop_timer *timer;
    struct schedule schedule;
    uint64_t left;   /* updates of the burst under way */
    uint64_t stamps; /* of these, with the time */
    uint64_t size;   /* of the burst */
    uint64_t part;   /* updates of a part of it */
    uint64_t due_ns; /* of the burst */
    bool is_in_burst;
    struct ticker_stats stats;
};

void sds_judge_from(struct sds *sds, uint64_t now_ns)
{
    sds->st_judged = sds->line_judged = (struct sds_judged){ now_ns, sds->stats.updates };
}

/* From now on at this rate; what was before says nothing of it. */
static void restart(struct ticker *ticker, uint64_t rate, uint32_t ticks_per_second)
{
    uint64_t now_ns = md_clock_mono_ns();

    schedule_start(&ticker->schedule, rate, ticks_per_second, now_ns);
    sds_judge_from(ticker->sds, now_ns);
}

/* A publisher that is late, or writes to many, writes as much at once as it can. */
static uint64_t part_of(const struct ticker *ticker, uint64_t now_ns)
{
    uint64_t parts = ticker->size / PART_MIN < PARTS ? ticker->size / PART_MIN : PARTS;

    if (parts < 2 || ticker->sds->client_count > PART_CLIENTS || now_ns > ticker->due_ns + LATE_NS)
        return UINT64_MAX;
    return (ticker->size + parts - 1) / parts;
}

static void next_burst(struct ticker *ticker, uint64_t now_ns)
{
    struct sds *sds = ticker->sds;
    const struct sds_options *options = &sds->options;

    ticker->due_ns = schedule_due_ns(&ticker->schedule);
    ticker->stats.late_sum_ns += now_ns - ticker->due_ns;
    ticker->stats.bursts++;
    if (now_ns - ticker->due_ns > ticker->stats.late_max_ns)
        ticker->stats.late_max_ns = now_ns - ticker->due_ns;
    ticker->left = schedule_share(&ticker->schedule, ticker->schedule.rate);
    ticker->stamps = 0;
    if (options->stamps_all)
        ticker->stamps = ticker->left;
    else if (options->stamps)
        ticker->stamps = schedule_share(&ticker->schedule, options->stamp_rate);
    /* Time stamps go out also when nothing else does. */
    if (ticker->left < ticker->stamps)
        ticker->left = ticker->stamps;
    ticker->size = ticker->left;
    ticker->part = part_of(ticker, now_ns);
    ticker->stats.wanted += ticker->left;
    ticker->is_in_burst = true;
    schedule_advance(&ticker->schedule);
    (void)md_loop_timer_at(ticker->timer, schedule_due_ns(&ticker->schedule));
    md_loop_alarm(sds->loop); /* else who gets the burst would wait for it */
}

/* Whether the next update of the burst is one of those with the time. */
static bool is_stamp(struct ticker *ticker)
{
    if (ticker->stamps == 0)
        return false;
    switch (ticker->sds->options.place) {
    case PLACE_FIRST:
        break;
    case PLACE_LAST:
        if (ticker->left > ticker->stamps)
            return false;
        break;
    case PLACE_UNIFORM: /* each selection of places is as likely */
        if (ticker->stamps < ticker->left &&
            md_prng_below(&ticker->sds->prng, (uint32_t)ticker->left) >= ticker->stamps)
            return false;
        break;
    }
    return true;
}

static struct item *next_item(struct sds *sds)
{
    if (sds->cursor >= sds->open_count)
        sds->cursor = 0;
    if (sds->cursor + FETCH_AHEAD < sds->open_count)
        __builtin_prefetch(sds->open[sds->cursor + FETCH_AHEAD], 1);
    return sds->open[sds->cursor++];
}

/* The item that carries the time: the one named, if it is open. */
static struct item *stamped_item(struct sds *sds)
{
    const char *name = sds->options.stamp_item;

    if (name && name[0] == '*' && !name[1])
        return next_item(sds);
    if (!name)
        return sds->open[0];
    return sds->stamp_item && sds->stamp_item->at != SIZE_MAX ? sds->stamp_item : NULL;
}

/* True when the burst is complete. */
static bool go_on(struct ticker *ticker, uint64_t *budget)
{
    struct sds *sds = ticker->sds;

    while (ticker->left > 0 && *budget > 0 && sds->open_count > 0) {
        struct item *item = NULL;
        bool stamped = is_stamp(ticker);
        if (stamped) {
            ticker->stamps--;
            item = sds->options.stamps_all ? next_item(sds) : stamped_item(sds);
            stamped = item != NULL;
        }
        if (!item)
            item = next_item(sds);
        ticker->left--;
        --*budget;
        if (!emitter_update(sds->emitter, item, stamped, ticker->due_ns)) {
            ticker->stats.blocked++;
            return false;
        }
        if (ticker->left > 0 && (ticker->size - ticker->left) % ticker->part == 0) {
            sds_clients_flush(sds);
            (void)sched_yield(); /* whoever shares this CPU can begin with it */
        }
    }
    return ticker->left == 0;
}

static void on_tick(void *owner)
{
    struct ticker *ticker = owner;
    struct sds *sds = ticker->sds;
    uint64_t budget = TURN_MAX, now_ns = md_clock_mono_ns();

    if (sds->counts_path && !ticker->is_in_burst && emitter_resume(sds->emitter))
        sds_counts_write(sds);
    if (sds->open_count == 0) { /* nothing is wanted of us: not late either */
        ticker->is_in_burst = false;
        restart(ticker, ticker->schedule.rate, ticker->schedule.ticks_per_second);
        (void)md_loop_timer_after(ticker->timer, 10 * MD_NS_PER_MS);
        return;
    }
    if (!emitter_resume(sds->emitter)) {
        (void)md_loop_timer_after(ticker->timer, RETRY_NS);
        return;
    }
    ticker->stats.skipped += schedule_skip(&ticker->schedule, now_ns, BEHIND_NS);
    while (budget > 0 && (ticker->is_in_burst || schedule_due_ns(&ticker->schedule) <= now_ns)) {
        if (!ticker->is_in_burst)
            next_burst(ticker, now_ns);
        if (!go_on(ticker, &budget))
            break;
        ticker->is_in_burst = false;
        sds_clients_flush(sds);
    }
    sds_clients_flush(sds);
    if (ticker->is_in_burst)
        (void)md_loop_timer_after(ticker->timer, budget > 0 ? RETRY_NS : 0);
    else
        (void)md_loop_timer_at(ticker->timer, schedule_due_ns(&ticker->schedule));
}

int ticker_create(struct sds *sds, struct ticker **out)
{
    struct ticker *ticker = calloc(1, sizeof(*ticker));

    *out = ticker;
    if (!ticker)
        return MD_ERR_NOMEM;
    ticker->sds = sds;
    restart(ticker, sds->options.rate, sds->options.ticks_per_second);
    int rc = md_loop_timer_create(sds->loop, on_tick, ticker, &ticker->timer);
    if (rc == MD_OK)
        rc = md_loop_timer_after(ticker->timer, 0);
    return rc;
}

void ticker_destroy(struct ticker *ticker)
{
    if (!ticker)
        return;
    md_loop_timer_destroy(ticker->timer);
    free(ticker);
}

void ticker_set_rate(struct ticker *ticker, uint64_t rate)
{
    restart(ticker, rate, ticker->schedule.ticks_per_second);
    (void)md_loop_timer_after(ticker->timer, 0);
}

void ticker_set_ticks(struct ticker *ticker, uint32_t ticks_per_second)
{
    restart(ticker, ticker->schedule.rate, ticks_per_second);
    (void)md_loop_timer_after(ticker->timer, 0);
}

void ticker_stats(struct ticker *ticker, struct ticker_stats *out)
{
    ticker->stats.rate = ticker->schedule.rate;
    ticker->stats.ticks_per_second = ticker->schedule.ticks_per_second;
    *out = ticker->stats;
    ticker->stats.late_max_ns = ticker->stats.late_sum_ns = ticker->stats.bursts = 0;
}
