/* loop_timers.c - see loop_timers.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_timers.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"

void md_timers_init(struct md_timers *timers)
{
    *timers = (struct md_timers){ .next_ns = MD_NEVER };
}

static void timer_unlink(struct md_loop_timer *timer)
{
    if (!timer->link)
        return;
    *timer->link = timer->next;
    if (timer->next)
        timer->next->link = timer->link;
    timer->link = NULL;
}

static void timer_link(struct md_loop_timer *timer, uint64_t due_ns)
{
    struct md_timers *timers = timer->timers;

    timer->due_ns = due_ns;
    if (due_ns < timers->next_ns)
        timers->next_ns = due_ns;
    if (timer->link)
        return;
    timer->next = timers->running;
    timer->link = &timers->running;
    if (timer->next)
        timer->next->link = &timer->next;
    timers->running = timer;
}

uint64_t md_timers_first_ns(const struct md_timers *timers)
{
    uint64_t first_ns = MD_NEVER;

    for (const struct md_loop_timer *timer = timers->running; timer; timer = timer->next)
        if (timer->due_ns < first_ns)
            first_ns = timer->due_ns;
    return first_ns;
}

/* Sets next_ns if none is due. */
static struct md_loop_timer *first_due(struct md_timers *timers, uint64_t now, uint64_t turn)
{
    struct md_loop_timer *first = NULL;
    uint64_t next_ns = MD_NEVER;

    if (now < timers->next_ns)
        return NULL;
    for (struct md_loop_timer *timer = timers->running; timer; timer = timer->next) {
        if (timer->due_ns <= now && timer->ran_turn != turn &&
            (!first || timer->due_ns < first->due_ns))
            first = timer;
        if (timer->due_ns < next_ns)
            next_ns = timer->due_ns;
    }
    if (!first)
        timers->next_ns = next_ns;
    return first;
}

struct md_loop_timer *md_timers_take(struct md_timers *timers, uint64_t now_ns, uint64_t turn)
{
    struct md_loop_timer *timer = first_due(timers, now_ns, turn);

    if (!timer)
        return NULL;
    timer->ran_turn = turn;
    if (timer->period_ns) {
        timer->due_ns += timer->period_ns;
        if (timer->due_ns <= now_ns)
            timer->due_ns = now_ns + timer->period_ns;
    } else {
        timer_unlink(timer);
    }
    return timer;
}

int md_timers_add(struct md_timers *timers, md_loop_fn fn, void *owner, struct md_loop_timer **out)
{
    *out = NULL;
    struct md_loop_timer *timer = calloc(1, sizeof(*timer));
    if (!timer)
        return MD_ERR_NOMEM;
    *timer = (struct md_loop_timer){ .timers = timers, .fn = fn, .owner = owner };
    *out = timer;
    return MD_OK;
}

int md_loop_timer_after(struct md_loop_timer *timer, uint64_t delay_ns)
{
    uint64_t now = md_clock_mono_ns();

    return md_loop_timer_at(timer, delay_ns < MD_NEVER - now ? now + delay_ns : MD_NEVER);
}

int md_loop_timer_at(struct md_loop_timer *timer, uint64_t deadline_ns)
{
    timer->period_ns = 0;
    if (deadline_ns == MD_NEVER)
        timer_unlink(timer);
    else
        timer_link(timer, deadline_ns);
    return MD_OK;
}

int md_loop_timer_every(struct md_loop_timer *timer, uint64_t period_ns)
{
    timer->period_ns = period_ns ? period_ns : 1;
    timer_link(timer, md_clock_mono_ns() + timer->period_ns);
    return MD_OK;
}

void md_loop_timer_stop(struct md_loop_timer *timer)
{
    timer_unlink(timer);
}

bool md_loop_timer_is_running(const struct md_loop_timer *timer)
{
    return timer->link != NULL;
}

void md_loop_timer_destroy(struct md_loop_timer *timer)
{
    if (!timer)
        return;
    timer_unlink(timer);
    free(timer);
}
