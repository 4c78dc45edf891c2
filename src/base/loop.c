/* loop.c - see base/loop.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hist.h"

/* Busy turns between two looks at the descriptors: a look costs a system call, work often none. */
#define TURNS_A_POLL 4

/*
 * Time. libevent would set its timer anew for every wait; here one timerfd bounds the sleep. It is
 * left as it is when it ends the sleep too early: then the loop wakes once for nothing, which is
 * rarer than a turn by orders of magnitude.
 */
struct md_loop {
    struct event_base *base;
    struct md_loop_source *sources; /* in the order of adding */
    struct md_loop_timer *timers;   /* that run, in no order */
    struct md_loop_wake *stopper;
    struct event alarm;
    int alarm_fd;
    unsigned busy_turns; /* since the last look at the descriptors */
    uint64_t alarm_ns;   /* when it will ring, MD_NEVER if it will not */
    uint64_t timers_ns;  /* no timer is due before */
    uint64_t now_ns;
    uint64_t busy_poll_ns;
    uint64_t idle_since_ns;
    struct md_loop_stats stats;
    struct md_hist *turns; /* NULL: nobody wants to know */
    bool is_walking;       /* the list of sources is being walked */
    bool has_dead;         /* a source was removed meanwhile */
    bool is_io_counted;    /* something ran in this turn besides the sources */
    _Atomic bool is_stopping;
};

struct md_loop_fd {
    struct event event;
    struct md_loop *loop;
    md_loop_fd_fn fn;
    void *owner;
    int fd;
    unsigned events;
};

struct md_loop_timer {
    struct md_loop_timer *next; /* of those that run */
    struct md_loop_timer **link;
    struct md_loop *loop;
    uint64_t due_ns;
    uint64_t period_ns; /* 0: once */
    uint64_t ran_turn;  /* at most once in a turn */
    md_loop_fn fn;
    void *owner;
};

struct md_loop_signal {
    struct event event;
    struct md_loop *loop;
    md_loop_signal_fn fn;
    void *owner;
};

/*
 * `is_pending` saves the system call when a ring is on its way already. The loop clears it before
 * it calls `fn`; a ring that comes after the clearing writes again, so none is lost. Sequentially
 * consistent on both sides: what the ringer stored before must be seen by fn.
 */
struct md_loop_wake {
    struct event event;
    struct md_loop *loop;
    md_loop_fn fn;
    void *owner;
    int fd;
    _Atomic bool is_pending;
};

struct md_loop_source {
    struct md_loop_source *next;
    struct md_loop *loop;
    const struct md_loop_source_ops *ops;
    void *owner;
    bool is_dead;
    bool is_armed;
};

/* The kernel may have taken a while to report: read the time again before using it. */
static void awake(struct md_loop *loop)
{
    if (!loop->is_io_counted) {
        loop->is_io_counted = true;
        loop->now_ns = md_clock_mono_ns();
    }
}

static void on_alarm(evutil_socket_t fd, short what, void *arg)
{
    struct md_loop *loop = arg;
    uint64_t rings;

    (void)what;
    ssize_t got = read(fd, &rings, sizeof(rings));
    (void)got; /* EAGAIN: it was set anew meanwhile */
    loop->alarm_ns = MD_NEVER;
}

static int alarm_open(struct md_loop *loop)
{
    loop->alarm_ns = loop->timers_ns = MD_NEVER;
    loop->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->alarm_fd < 0)
        return MD_ERR_SYS;
    event_assign(&loop->alarm, loop->base, loop->alarm_fd, EV_READ | EV_PERSIST, on_alarm, loop);
    return event_add(&loop->alarm, NULL) == 0 ? MD_OK : MD_ERR_SYS;
}

/* Let the alarm ring no later than at `deadline`. */
static int alarm_by(struct md_loop *loop, uint64_t deadline, uint64_t now)
{
    uint64_t wait = deadline - now;
    const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(wait / MD_NS_PER_S),
                                                   .tv_nsec = (long)(wait % MD_NS_PER_S) } };

    if (loop->alarm_ns <= deadline)
        return MD_OK;
    if (timerfd_settime(loop->alarm_fd, 0, &when, NULL) != 0)
        return MD_ERR_SYS;
    loop->alarm_ns = deadline;
    return MD_OK;
}

static void on_stop(void *owner)
{
    (void)owner;
}

int md_loop_create(uint64_t busy_poll_ns, struct md_loop **out)
{
    int err = MD_ERR_NOMEM;

    *out = NULL;
    struct md_loop *loop = calloc(1, sizeof(*loop));
    struct event_config *config = event_config_new();
    if (loop)
        loop->alarm_fd = -1;
    if (!loop || !config)
        goto fail;
    /* No locks: nothing of libevent is called from other threads. */
    if (event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK) != 0)
        goto fail;
    err = MD_ERR_SYS;
    loop->base = event_base_new_with_config(config);
    if (!loop->base)
        goto fail;
    loop->busy_poll_ns = busy_poll_ns;
    loop->now_ns = loop->idle_since_ns = md_clock_mono_ns();
    err = alarm_open(loop);
    if (!err)
        err = md_loop_wake_create(loop, on_stop, loop, &loop->stopper);
    if (err)
        goto fail;
    event_config_free(config);
    *out = loop;
    return MD_OK;
fail:
    if (config)
        event_config_free(config);
    if (loop && loop->base)
        event_base_free(loop->base);
    if (loop && loop->alarm_fd >= 0)
        close(loop->alarm_fd);
    free(loop);
    return err;
}

static void bury_sources(struct md_loop *loop)
{
    struct md_loop_source **link = &loop->sources;

    while (*link) {
        struct md_loop_source *source = *link;
        if (source->is_dead) {
            *link = source->next;
            free(source);
        } else {
            link = &source->next;
        }
    }
    loop->has_dead = false;
}

void md_loop_destroy(struct md_loop *loop)
{
    if (!loop)
        return;
    MD_ASSERT(!loop->is_walking);
    bury_sources(loop);
    MD_ASSERT(loop->sources == NULL);
    event_del(&loop->alarm);
    close(loop->alarm_fd);
    md_loop_wake_destroy(loop->stopper);
    event_base_free(loop->base);
    free(loop);
}

static uint64_t sources_work(struct md_loop *loop)
{
    uint64_t done = 0;

    loop->is_walking = true;
    for (struct md_loop_source *source = loop->sources; source; source = source->next) {
        if (!source->is_dead)
            done += (uint64_t)(unsigned)source->ops->work(source->owner);
    }
    loop->is_walking = false;
    if (loop->has_dead)
        bury_sources(loop);
    return done;
}

static uint64_t sources_deadline(struct md_loop *loop)
{
    uint64_t deadline = MD_NEVER;

    loop->is_walking = true;
    for (struct md_loop_source *source = loop->sources; source; source = source->next) {
        if (!source->ops->deadline || source->is_dead)
            continue;
        uint64_t at = source->ops->deadline(source->owner);
        if (at < deadline)
            deadline = at;
    }
    loop->is_walking = false;
    return deadline;
}

/* Every source says that it sleeps, then looks once more; false if one of them found something. */
static bool sources_arm(struct md_loop *loop)
{
    bool may_sleep = true;

    loop->is_walking = true;
    for (struct md_loop_source *source = loop->sources; source && may_sleep;
         source = source->next) {
        if (!source->ops->arm || source->is_dead)
            continue;
        source->is_armed = true;
        may_sleep = source->ops->arm(source->owner);
    }
    loop->is_walking = false;
    return may_sleep;
}

static void sources_disarm(struct md_loop *loop)
{
    loop->is_walking = true;
    for (struct md_loop_source *source = loop->sources; source; source = source->next) {
        if (!source->is_armed)
            continue;
        source->is_armed = false;
        if (source->ops->disarm && !source->is_dead)
            source->ops->disarm(source->owner);
    }
    loop->is_walking = false;
}

/* ---- timers ---- */

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
    struct md_loop *loop = timer->loop;

    timer->due_ns = due_ns;
    if (due_ns < loop->timers_ns)
        loop->timers_ns = due_ns;
    if (timer->link)
        return;
    timer->next = loop->timers;
    timer->link = &loop->timers;
    if (timer->next)
        timer->next->link = &timer->next;
    loop->timers = timer;
}

/* The one that is due first of those that have not run in this turn; sets timers_ns if none is. */
static struct md_loop_timer *timer_due(struct md_loop *loop, uint64_t now)
{
    struct md_loop_timer *first = NULL;
    uint64_t next_ns = MD_NEVER;

    for (struct md_loop_timer *timer = loop->timers; timer; timer = timer->next) {
        if (timer->due_ns <= now && timer->ran_turn != loop->stats.turns &&
            (!first || timer->due_ns < first->due_ns))
            first = timer;
        if (timer->due_ns < next_ns)
            next_ns = timer->due_ns;
    }
    if (!first)
        loop->timers_ns = next_ns;
    return first;
}

static void timers_run(struct md_loop *loop)
{
    struct md_loop_timer *timer;
    uint64_t now;

    if (loop->timers_ns == MD_NEVER)
        return;
    now = md_clock_mono_ns();
    if (now < loop->timers_ns)
        return;
    while ((timer = timer_due(loop, now)) != NULL) {
        timer->ran_turn = loop->stats.turns;
        if (timer->period_ns) {
            timer->due_ns += timer->period_ns;
            if (timer->due_ns <= now)
                timer->due_ns = now + timer->period_ns;
        } else {
            timer_unlink(timer);
        }
        awake(loop);
        timer->fn(timer->owner);
    }
}

/* ---- waiting ---- */

/* Run what is ready without waiting. */
static int poll_now(struct md_loop *loop)
{
    loop->busy_turns = 0;
    /* ONCE too: without it libevent goes on for as long as a level-triggered descriptor stays
     * ready, and a callback that leaves the reading to a source would never come back to it. */
    int rc = event_base_loop(loop->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
    timers_run(loop);
    return rc < 0 ? MD_ERR_SYS : MD_OK;
}

/* Wait, no longer than until `deadline`, and run what comes. */
static int sleep_until(struct md_loop *loop, uint64_t deadline)
{
    uint64_t now = md_clock_mono_ns();

    if (loop->timers_ns < deadline)
        deadline = loop->timers_ns;
    if (deadline <= now)
        return poll_now(loop);
    if (deadline != MD_NEVER && alarm_by(loop, deadline, now) != MD_OK)
        return MD_ERR_SYS;
    loop->busy_turns = 0;
    loop->stats.sleeps++;
    int rc = event_base_loop(loop->base, EVLOOP_ONCE);
    timers_run(loop);
    return rc < 0 ? MD_ERR_SYS : MD_OK;
}

static bool is_stopping(struct md_loop *loop)
{
    return atomic_load_explicit(&loop->is_stopping, memory_order_acquire);
}

static int rest(struct md_loop *loop, uint64_t latest)
{
    if (latest <= loop->now_ns || is_stopping(loop))
        return poll_now(loop);
    if (loop->now_ns - loop->idle_since_ns < loop->busy_poll_ns)
        return poll_now(loop);

    int err;
    if (sources_arm(loop) && !is_stopping(loop)) {
        uint64_t deadline = sources_deadline(loop);
        err = sleep_until(loop, deadline < latest ? deadline : latest);
    } else {
        err = poll_now(loop);
    }
    sources_disarm(loop);
    return err;
}

static int turn(struct md_loop *loop, uint64_t latest)
{
    uint64_t began = loop->now_ns = md_clock_mono_ns();
    uint64_t done = sources_work(loop);
    uint64_t worked = md_clock_mono_ns();
    int err;

    loop->stats.turns++;
    loop->stats.work += done;
    loop->is_io_counted = false;
    if (done || loop->has_dead) {
        loop->idle_since_ns = worked;
        err = ++loop->busy_turns < TURNS_A_POLL ? MD_OK : poll_now(loop);
    } else {
        loop->now_ns = worked;
        err = rest(loop, latest);
    }
    if (loop->is_io_counted) {
        /* now_ns is when the first callback began, whether or not there was a sleep before it */
        uint64_t ended = md_clock_mono_ns();
        worked += ended - loop->now_ns;
        loop->idle_since_ns = ended;
    }
    if (worked - began > loop->stats.turn_max_ns)
        loop->stats.turn_max_ns = worked - began;
    if (loop->turns && (done || loop->is_io_counted))
        md_hist_record(loop->turns, (worked - began) / MD_NS_PER_US);
    return err;
}

int md_loop_turn(struct md_loop *loop, uint64_t wait_ns)
{
    uint64_t now = md_clock_mono_ns();

    return turn(loop, wait_ns > MD_NEVER - now ? MD_NEVER : now + wait_ns);
}

int md_loop_run(struct md_loop *loop)
{
    int err = MD_OK;

    while (!err && !is_stopping(loop))
        err = turn(loop, MD_NEVER);
    atomic_store_explicit(&loop->is_stopping, false, memory_order_relaxed);
    return err;
}

void md_loop_stop(struct md_loop *loop)
{
    atomic_store_explicit(&loop->is_stopping, true, memory_order_release);
    md_loop_wake_ring(loop->stopper);
}

uint64_t md_loop_now(const struct md_loop *loop)
{
    return loop->now_ns;
}

const struct md_loop_stats *md_loop_stats(const struct md_loop *loop)
{
    return &loop->stats;
}

void md_loop_watch_turns(struct md_loop *loop, struct md_hist *hist)
{
    loop->turns = hist;
}

uint64_t md_loop_turn_max_take(struct md_loop *loop)
{
    uint64_t max = loop->stats.turn_max_ns;

    loop->stats.turn_max_ns = 0;
    return max;
}

static void on_fd(evutil_socket_t fd, short what, void *arg)
{
    struct md_loop_fd *watch = arg;

    awake(watch->loop);
    watch->fn(watch->owner, fd,
              (what & EV_READ ? MD_LOOP_READ : 0) | (what & EV_WRITE ? MD_LOOP_WRITE : 0));
}

int md_loop_fd_add(struct md_loop *loop, int fd, unsigned events, md_loop_fd_fn fn, void *owner,
                   struct md_loop_fd **out)
{
    *out = NULL;
    struct md_loop_fd *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return MD_ERR_NOMEM;
    *watch = (struct md_loop_fd){ .loop = loop, .fn = fn, .owner = owner, .fd = fd };
    event_assign(&watch->event, loop->base, fd, EV_READ | EV_PERSIST, on_fd, watch);
    int err = md_loop_fd_set(watch, events);
    if (err) {
        free(watch);
        return err;
    }
    *out = watch;
    return MD_OK;
}

int md_loop_fd_set(struct md_loop_fd *watch, unsigned events)
{
    short flags = EV_PERSIST;

    if (events == watch->events)
        return MD_OK;
    if (watch->events)
        event_del(&watch->event);
    watch->events = events;
    if (!events)
        return MD_OK;
    if (events & MD_LOOP_READ)
        flags = (short)(flags | EV_READ);
    if (events & MD_LOOP_WRITE)
        flags = (short)(flags | EV_WRITE);
    event_assign(&watch->event, watch->loop->base, watch->fd, flags, on_fd, watch);
    if (event_add(&watch->event, NULL) == 0)
        return MD_OK;
    watch->events = 0;
    return MD_ERR_SYS;
}

void md_loop_fd_remove(struct md_loop_fd *watch)
{
    if (!watch)
        return;
    event_del(&watch->event);
    free(watch);
}

int md_loop_timer_create(struct md_loop *loop, md_loop_fn fn, void *owner,
                         struct md_loop_timer **out)
{
    *out = NULL;
    struct md_loop_timer *timer = calloc(1, sizeof(*timer));
    if (!timer)
        return MD_ERR_NOMEM;
    *timer = (struct md_loop_timer){ .loop = loop, .fn = fn, .owner = owner };
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

static void on_signal(evutil_socket_t signal, short what, void *arg)
{
    struct md_loop_signal *watch = arg;

    (void)what;
    awake(watch->loop);
    watch->fn(watch->owner, signal);
}

int md_loop_signal_add(struct md_loop *loop, int signal, md_loop_signal_fn fn, void *owner,
                       struct md_loop_signal **out)
{
    *out = NULL;
    struct md_loop_signal *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return MD_ERR_NOMEM;
    *watch = (struct md_loop_signal){ .loop = loop, .fn = fn, .owner = owner };
    event_assign(&watch->event, loop->base, signal, EV_SIGNAL | EV_PERSIST, on_signal, watch);
    if (event_add(&watch->event, NULL) != 0) {
        free(watch);
        return MD_ERR_SYS;
    }
    *out = watch;
    return MD_OK;
}

void md_loop_signal_remove(struct md_loop_signal *watch)
{
    if (!watch)
        return;
    event_del(&watch->event);
    free(watch);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    struct md_loop_wake *wake = arg;
    uint64_t rings;

    (void)what;
    awake(wake->loop);
    ssize_t got = read(fd, &rings, sizeof(rings));
    (void)got; /* EAGAIN: someone else's eyes were faster; calling fn once more does no harm */
    atomic_store(&wake->is_pending, false);
    wake->fn(wake->owner);
}

int md_loop_wake_create(struct md_loop *loop, md_loop_fn fn, void *owner, struct md_loop_wake **out)
{
    *out = NULL;
    struct md_loop_wake *wake = calloc(1, sizeof(*wake));
    if (!wake)
        return MD_ERR_NOMEM;
    wake->loop = loop;
    wake->fn = fn;
    wake->owner = owner;
    wake->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake->fd < 0)
        goto fail;
    event_assign(&wake->event, loop->base, wake->fd, EV_READ | EV_PERSIST, on_wake, wake);
    if (event_add(&wake->event, NULL) != 0)
        goto fail;
    *out = wake;
    return MD_OK;
fail:
    if (wake->fd >= 0)
        close(wake->fd);
    free(wake);
    return MD_ERR_SYS;
}

void md_loop_wake_ring(struct md_loop_wake *wake)
{
    const uint64_t one = 1;

    if (atomic_exchange(&wake->is_pending, true))
        return;
    ssize_t put = write(wake->fd, &one, sizeof(one));
    (void)put; /* EAGAIN: the count is at its limit, so the loop is being woken anyway */
}

int md_loop_wake_fd(const struct md_loop_wake *wake)
{
    return wake->fd;
}

void md_loop_wake_destroy(struct md_loop_wake *wake)
{
    if (!wake)
        return;
    event_del(&wake->event);
    close(wake->fd);
    free(wake);
}

int md_loop_source_add(struct md_loop *loop, const struct md_loop_source_ops *ops, void *owner,
                       struct md_loop_source **out)
{
    *out = NULL;
    MD_ASSERT(ops->work != NULL);
    struct md_loop_source *source = calloc(1, sizeof(*source));
    if (!source)
        return MD_ERR_NOMEM;
    *source = (struct md_loop_source){ .loop = loop, .ops = ops, .owner = owner };

    struct md_loop_source **link = &loop->sources;
    while (*link)
        link = &(*link)->next;
    *link = source;
    *out = source;
    return MD_OK;
}

void md_loop_source_remove(struct md_loop_source *source)
{
    if (!source)
        return;
    struct md_loop *loop = source->loop;
    source->is_dead = true;
    loop->has_dead = true;
    if (!loop->is_walking)
        bury_sources(loop);
}
