/* bucket.h - a token bucket in one word, which several threads may take from. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_BUCKET_H
#define P2PS_BUCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* So many a second, and so many at once. */
struct p2ps_rate {
    uint32_t per_second; /* 0: no limit */
    uint32_t burst;      /* 0 counts as 1 */
};

/* The time at which the bucket is full again. */
struct p2ps_bucket {
    _Atomic uint64_t full_ns;
};

/* However much is taken beyond the burst, the bucket has a token again after this time. */
#define P2PS_BUCKET_DEBT_NS 1000000000ull

static inline uint64_t p2ps_rate_distance(const struct p2ps_rate *rate)
{
    return rate->per_second < 1000000000u ? 1000000000u / rate->per_second : 1;
}

static inline uint64_t p2ps_rate_span(const struct p2ps_rate *rate)
{
    return p2ps_rate_distance(rate) * ((rate->burst ? rate->burst : 1u) - 1u);
}

/* When there is a token; `now_ns` or before: there is one. A bucket that was emptied at a slower
 * rate owes no more than at this one. */
static inline uint64_t p2ps_bucket_ready(struct p2ps_bucket *bucket, const struct p2ps_rate *rate,
                                         uint64_t now_ns)
{
    if (rate->per_second == 0)
        return 0;
    uint64_t full_ns = atomic_load_explicit(&bucket->full_ns, memory_order_relaxed);
    uint64_t span_ns = p2ps_rate_span(rate);
    uint64_t most = now_ns + span_ns + P2PS_BUCKET_DEBT_NS;

    if (full_ns > most &&
        atomic_compare_exchange_strong_explicit(&bucket->full_ns, &full_ns, most,
                                                memory_order_relaxed, memory_order_relaxed))
        full_ns = most;
    return full_ns > span_ns ? full_ns - span_ns : 0;
}

/* Takes tokens, whether they are there or not. */
static inline void p2ps_bucket_take(struct p2ps_bucket *bucket, const struct p2ps_rate *rate,
                                    uint64_t now_ns, uint32_t tokens)
{
    if (rate->per_second == 0)
        return;
    uint64_t old = atomic_load_explicit(&bucket->full_ns, memory_order_relaxed);
    uint64_t most = now_ns + p2ps_rate_span(rate) + P2PS_BUCKET_DEBT_NS;
    uint64_t fresh;

    do {
        fresh = (old > now_ns ? old : now_ns) + tokens * p2ps_rate_distance(rate);
        fresh = fresh < most ? fresh : most;
    } while (!atomic_compare_exchange_weak_explicit(&bucket->full_ns, &old, fresh,
                                                    memory_order_relaxed, memory_order_relaxed));
}

/* Takes one if it is there. */
static inline bool p2ps_bucket_try(struct p2ps_bucket *bucket, const struct p2ps_rate *rate,
                                   uint64_t now_ns)
{
    if (p2ps_bucket_ready(bucket, rate, now_ns) > now_ns)
        return false;
    p2ps_bucket_take(bucket, rate, now_ns, 1);
    return true;
}

#endif
