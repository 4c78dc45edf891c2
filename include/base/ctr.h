/* base/ctr.h - counters that one thread writes and any thread or process may read. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CTR_H
#define MD_CTR_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * All accesses are relaxed: a reader sees some recent value, never half of one, and learns nothing
 * about other memory from it. md_ctr_add() and friends are for the ONE thread that owns the
 * counter: a load, an addition and a store, no locked instruction. md_ctr_add_shared() is for a
 * counter that several threads write.
 */
struct md_ctr {
    _Atomic uint64_t value;
};

_Static_assert(sizeof(struct md_ctr) == 8, "counters live in shared memory");

static inline uint64_t md_ctr_get(const struct md_ctr *ctr)
{
    return atomic_load_explicit(&ctr->value, memory_order_relaxed);
}

static inline void md_ctr_set(struct md_ctr *ctr, uint64_t value)
{
    atomic_store_explicit(&ctr->value, value, memory_order_relaxed);
}

static inline void md_ctr_add(struct md_ctr *ctr, uint64_t amount)
{
    md_ctr_set(ctr, md_ctr_get(ctr) + amount);
}

static inline void md_ctr_inc(struct md_ctr *ctr)
{
    md_ctr_add(ctr, 1);
}

/* Raise to `value` if that is more: a high-water mark. */
static inline void md_ctr_raise(struct md_ctr *ctr, uint64_t value)
{
    if (value > md_ctr_get(ctr))
        md_ctr_set(ctr, value);
}

/* Any thread; returns the value after the addition. */
static inline uint64_t md_ctr_add_shared(struct md_ctr *ctr, uint64_t amount)
{
    return atomic_fetch_add_explicit(&ctr->value, amount, memory_order_relaxed) + amount;
}

#endif
