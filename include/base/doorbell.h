/* base/doorbell.h - waking a sleeping reader, and only a sleeping one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_DOORBELL_H
#define MD_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The reader's sleep flag is a word in memory both sides see. The reader sets it, looks once more
 * whether something came, and only then sleeps. The writer publishes, then takes the flag: who
 * takes it set must ring. Both sides use sequentially consistent operations on the flag AND on the
 * position that is published (ring head, written): so either the writer sees the flag or the
 * reader sees the position, and no wake-up is lost. While the reader is awake a commit costs the
 * writer one load of a line that nobody writes.
 */
struct md_sleep_flag {
    _Atomic uint32_t value;
};

static inline void md_sleep_flag_set(struct md_sleep_flag *flag)
{
    atomic_store_explicit(&flag->value, 1, memory_order_seq_cst);
}

static inline void md_sleep_flag_clear(struct md_sleep_flag *flag)
{
    atomic_store_explicit(&flag->value, 0, memory_order_relaxed);
}

/* The writer, after it published: true if it must ring. One ring per sleep. */
static inline bool md_sleep_flag_take(struct md_sleep_flag *flag)
{
    return atomic_load_explicit(&flag->value, memory_order_seq_cst) != 0 &&
           atomic_exchange_explicit(&flag->value, 0, memory_order_seq_cst) != 0;
}

/*
 * The bell itself is an eventfd: it can be watched by a loop and passed to another process. It
 * never blocks the ringer, and rings add up to one.
 */
int md_doorbell_open(int *out); /* MD_OK or MD_ERR_SYS; *out is -1 then */
void md_doorbell_ring(int fd);
void md_doorbell_clear(int fd); /* when woken: stop being readable */

/*
 * The same for a thread that sleeps on nothing else: a futex on the flag. md_sleep_flag_wait()
 * returns when the flag is no longer set or `wait_ns` have passed (MD_NEVER: no limit);
 * md_sleep_flag_wake() is the ring. They work between processes.
 */
void md_sleep_flag_wait(struct md_sleep_flag *flag, uint64_t wait_ns);
void md_sleep_flag_wake(struct md_sleep_flag *flag);

#endif
