/* loop.c - see base/loop.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/hist.h"
#include "loop_sources.h"
#include "loop_timers.h"

/* Busy turns between two looks at the descriptors: a look costs a system call, work often none. */
#define TURNS_A_POLL 4
/* By poll() a loop sleeps no longer: libraries in front of the kernel may miss a wake-up. */
#define POLL_SLEEP_NS (100 * MD_NS_PER_MS)

/*
 * Time. libevent would set its timer anew for every wait; here one timerfd bounds the sleep. It is
 * left as it is when it ends the sleep too early: then the loop wakes once for nothing, which is
 * rarer than a turn by orders of magnitude.
 */
struct md_loop {
    struct event_base *base;
    struct md_sources sources;
    struct md_timers timers;
    struct md_loop_wake *stopper;
    struct event alarm;
    int alarm_fd;
    unsigned busy_turns; /* since the last look at the descriptors */
    uint64_t alarm_ns;   /* when it will ring, MD_NEVER if it will not */
    uint64_t now_ns;
    uint64_t busy_poll_ns;
    uint64_t sleep_max_ns; /* MD_NEVER: no bound */
    uint64_t idle_since_ns;
    struct md_loop_stats stats;
    struct md_hist *turns; /* NULL: not recorded */
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

static _Atomic bool uses_poll;

void md_loop_use_poll(bool is_poll)
{
    atomic_store(&uses_poll, is_poll);
}

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
    loop->alarm_ns = MD_NEVER;
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

static bool avoid_all_but_poll(struct event_config *config)
{
    return event_config_avoid_method(config, "epoll") == 0 &&
           event_config_avoid_method(config, "select") == 0;
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
    loop->sleep_max_ns = atomic_load(&uses_poll) ? POLL_SLEEP_NS : MD_NEVER;
    if (loop->sleep_max_ns != MD_NEVER && !avoid_all_but_poll(config))
        goto fail;
    loop->base = event_base_new_with_config(config);
    if (!loop->base)
        goto fail;
    loop->busy_poll_ns = busy_poll_ns;
    md_timers_init(&loop->timers);
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

void md_loop_destroy(struct md_loop *loop)
{
    if (!loop)
        return;
    md_sources_fini(&loop->sources);
    event_del(&loop->alarm);
    close(loop->alarm_fd);
    md_loop_wake_destroy(loop->stopper);
    event_base_free(loop->base);
    free(loop);
}

/* ---- waiting ---- */

static void timers_run(struct md_loop *loop)
{
    struct md_loop_timer *timer;

    if (loop->timers.next_ns == MD_NEVER)
        return;
    uint64_t now = md_clock_mono_ns();
    while ((timer = md_timers_take(&loop->timers, now, loop->stats.turns)) != NULL) {
        awake(loop);
        timer->fn(timer->owner);
    }
}

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

void md_loop_alarm(struct md_loop *loop)
{
    uint64_t now = md_clock_mono_ns(), next = md_timers_first_ns(&loop->timers);

    if (next != MD_NEVER && next > now && next - now <= loop->sleep_max_ns)
        (void)alarm_by(loop, next, now);
}

/* Wait, no longer than until `deadline`, and run what comes. */
static int sleep_until(struct md_loop *loop, uint64_t deadline)
{
    uint64_t now = md_clock_mono_ns();

    if (loop->timers.next_ns < deadline)
        deadline = loop->timers.next_ns;
    if (deadline <= now)
        return poll_now(loop);
    if (deadline - now > loop->sleep_max_ns)
        deadline = now + loop->sleep_max_ns;
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

    int err;

    if (loop->now_ns - loop->idle_since_ns < loop->busy_poll_ns) {
        err = poll_now(loop);
        if (!loop->is_io_counted && md_cpu_yield())
            loop->idle_since_ns = loop->now_ns - loop->busy_poll_ns;
        return err;
    }
    if (md_sources_arm(&loop->sources) && !is_stopping(loop)) {
        uint64_t deadline = md_sources_deadline(&loop->sources);
        err = sleep_until(loop, deadline < latest ? deadline : latest);
    } else {
        err = poll_now(loop);
    }
    md_sources_disarm(&loop->sources);
    return err;
}

static int turn(struct md_loop *loop, uint64_t latest)
{
    uint64_t began = loop->now_ns = md_clock_mono_ns();
    uint64_t done = md_sources_work(&loop->sources);
    uint64_t worked = md_clock_mono_ns();
    int err;

    loop->stats.turns++;
    loop->stats.work += done;
    loop->is_io_counted = false;
    if (done || loop->sources.has_dead) {
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
    return md_timers_add(&loop->timers, fn, owner, out);
}

int md_loop_source_add(struct md_loop *loop, const struct md_loop_source_ops *ops, void *owner,
                       struct md_loop_source **out)
{
    return md_sources_add(&loop->sources, ops, owner, out);
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
