/* base/loop.h - one event loop per thread: descriptors, timers, signals, wake-ups, work. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_LOOP_H
#define MD_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A turn of the loop: read the clock once, run what the kernel reported and the timers that are
 * due, then ask every source to work; while the sources are busy, only each fourth turn asks the
 * kernel. If no source did anything and nothing is due, spin for `busy_poll_ns`, then sleep until
 * a descriptor, a timer, a wake-up or a source's deadline.
 *
 * A loop and all that hangs on it belong to the thread that runs it; only md_loop_wake_ring() and
 * md_loop_stop() may be called from elsewhere. Callbacks may add and remove anything, themselves
 * included. Adding allocates, running does not.
 */
struct md_loop;
struct md_loop_fd;
struct md_loop_timer;
struct md_loop_signal;
struct md_loop_wake;
struct md_loop_source;

#define MD_LOOP_READ  1u
#define MD_LOOP_WRITE 2u

typedef void (*md_loop_fd_fn)(void *owner, int fd, unsigned events);
typedef void (*md_loop_fn)(void *owner);
typedef void (*md_loop_signal_fn)(void *owner, int signal);

/* Counters of one loop, written by it alone; copy them out on its own thread. */
struct md_loop_stats {
    uint64_t turns;
    uint64_t sleeps;      /* turns which ended in a wait in the kernel */
    uint64_t work;        /* sum of the results of work() */
    uint64_t turn_max_ns; /* longest turn without its sleep, since md_loop_turn_max_take() */
};

/* MD_OK, MD_ERR_NOMEM or MD_ERR_SYS; *out is NULL unless MD_OK. busy_poll_ns may be 0. */
int md_loop_create(uint64_t busy_poll_ns, struct md_loop **out);
/* Loops made from now on wait by poll() and not by epoll, for libraries in front of the kernel that
 * know no more. They sleep for a tenth of a second at most: such a library may miss a wake-up. */
void md_loop_use_poll(bool is_poll);
void md_loop_destroy(struct md_loop *loop); /* after everything on it was removed; NULL is fine */

int md_loop_run(struct md_loop *loop);   /* until md_loop_stop(); MD_OK or MD_ERR_SYS */
void md_loop_stop(struct md_loop *loop); /* from any thread; the turn under way is finished */

/* One turn that sleeps no longer than `wait_ns` (0: not at all). For tests and tools. */
int md_loop_turn(struct md_loop *loop, uint64_t wait_ns);

uint64_t md_loop_now(const struct md_loop *loop); /* monotonic ns of this turn */
const struct md_loop_stats *md_loop_stats(const struct md_loop *loop);
uint64_t md_loop_turn_max_take(struct md_loop *loop); /* reads and resets turn_max_ns */
/* Record the microseconds of every turn that did something, without its sleep: what came waited no
 * longer than that in this thread. NULL: no more. */
struct md_hist;
void md_loop_watch_turns(struct md_loop *loop, struct md_hist *hist);

/*
 * Descriptors. `events` says what to wait for; md_loop_fd_set() changes that (0 pauses) and does
 * nothing if it is so already. Level triggered; an error or hang-up is reported as all events
 * waited for. Remove before closing the descriptor.
 */
int md_loop_fd_add(struct md_loop *loop, int fd, unsigned events, md_loop_fd_fn fn, void *owner,
                   struct md_loop_fd **out);
int md_loop_fd_set(struct md_loop_fd *watch, unsigned events);
void md_loop_fd_remove(struct md_loop_fd *watch); /* NULL is allowed */

/* Timers, created idle. Starting one that runs moves it. Resolution 1 us, rounded up. */
int md_loop_timer_create(struct md_loop *loop, md_loop_fn fn, void *owner,
                         struct md_loop_timer **out);
int md_loop_timer_after(struct md_loop_timer *timer, uint64_t delay_ns); /* once */
int md_loop_timer_at(struct md_loop_timer *timer, uint64_t deadline_ns); /* once; MD_NEVER: stop */
/* The alarm for the next timer is set when the loop goes to sleep, which takes 10 us in a virtual
 * machine. Whoever is about to wake others on the same CPU may set it before. */
void md_loop_alarm(struct md_loop *loop);
int md_loop_timer_every(struct md_loop_timer *timer, uint64_t period_ns);
void md_loop_timer_stop(struct md_loop_timer *timer);
bool md_loop_timer_is_running(const struct md_loop_timer *timer);
void md_loop_timer_destroy(struct md_loop_timer *timer); /* NULL is allowed */

/* Signals; only one loop of a process may take them. `fn` runs in the loop, not in a handler. */
int md_loop_signal_add(struct md_loop *loop, int signal, md_loop_signal_fn fn, void *owner,
                       struct md_loop_signal **out);
void md_loop_signal_remove(struct md_loop_signal *watch);

/*
 * Wake-ups. md_loop_wake_ring() may be called from any thread, any number of times; `fn` runs at
 * least once after the last call. Rings are cheap while one is already pending. The descriptor is
 * an eventfd that other processes may be given: writing 8 bytes of it rings too.
 */
int md_loop_wake_create(struct md_loop *loop, md_loop_fn fn, void *owner,
                        struct md_loop_wake **out);
void md_loop_wake_ring(struct md_loop_wake *wake);
int md_loop_wake_fd(const struct md_loop_wake *wake);
void md_loop_wake_destroy(struct md_loop_wake *wake); /* NULL is allowed */

/*
 * Sources: what is polled rather than reported, such as rings and engines.
 *
 *   work      required: do a bounded amount, return how much (0: nothing to do)
 *   arm       the loop is about to sleep: tell your peer to ring (set the sleep flag), then look
 *             again; false if something came meanwhile, and the loop does not sleep
 *   disarm    the loop is awake: peers need not ring. Called for each arm, whatever it returned
 *   deadline  monotonic ns at which work wants to run, or MD_NEVER
 *
 * The last three may be NULL. Sources work in the order in which they were added.
 */
struct md_loop_source_ops {
    int (*work)(void *owner);
    bool (*arm)(void *owner);
    void (*disarm)(void *owner);
    uint64_t (*deadline)(void *owner);
};

int md_loop_source_add(struct md_loop *loop, const struct md_loop_source_ops *ops, void *owner,
                       struct md_loop_source **out);
void md_loop_source_remove(struct md_loop_source *source); /* NULL is allowed */

#endif
