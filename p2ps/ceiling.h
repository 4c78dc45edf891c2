/* ceiling.h - so many bytes a second and no more: outputRate of a connection. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_CEILING_H
#define P2PS_CEILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Each byte costs its share of a second. A connection that was silent may be ahead by CEILING_AHEAD
 * and no more, so that over any second at most 5 % more goes out than the rate, and less over more.
 *
 * The queue of the core is bounded by time, too: CEILING_QUEUE of the rate stands for a full
 * output. Merging begins and ends at shares of that, as for every slow client, so an update waits
 * in the queue for a fraction of it, and otherwise where it can be merged.
 */
#define CEILING_AHEAD_NS  50000000ull
#define CEILING_TURN_NS   10000000ull /* from one write to the next */
#define CEILING_QUEUE_NS  200000000ull
#define CEILING_QUEUE_MIN 65536u
#define CEILING_RATE_MIN  10000u /* bytes a second: less could not carry the pings */
#define CEILING_NS_PER_S  1000000000ull

struct p2ps_ceiling {
    uint64_t rate;    /* bytes a second, 0: no limit */
    uint64_t paid_ns; /* all bytes so far are paid for then */
    size_t promised;  /* bytes that were offered to the stream, which did not take them */
};

static inline void p2ps_ceiling_set(struct p2ps_ceiling *ceiling, uint64_t rate, uint64_t now_ns)
{
    ceiling->rate = rate;
    ceiling->paid_ns = now_ns;
}

/* How many bytes may go out now: not fewer than were offered before, for a TLS that has made a
 * record of them wants to be offered all of it again. */
static inline size_t p2ps_ceiling_room(struct p2ps_ceiling *ceiling, uint64_t now_ns)
{
    if (ceiling->rate == 0)
        return SIZE_MAX;
    if (ceiling->paid_ns + CEILING_AHEAD_NS < now_ns)
        ceiling->paid_ns = now_ns - CEILING_AHEAD_NS;
    size_t room = 0;
    if (ceiling->paid_ns < now_ns)
        room = (size_t)((now_ns - ceiling->paid_ns) * ceiling->rate / CEILING_NS_PER_S);
    return room > ceiling->promised ? room : ceiling->promised;
}

/* The stream has taken so many bytes of those that it was offered. */
static inline void p2ps_ceiling_spend(struct p2ps_ceiling *ceiling, size_t offered, size_t taken)
{
    ceiling->promised = offered - taken;
    if (ceiling->rate == 0)
        return;
    ceiling->paid_ns += ((uint64_t)taken * CEILING_NS_PER_S + ceiling->rate - 1) / ceiling->rate;
}

/* So many queued bytes are a full output; UINT64_MAX: it has no ceiling. */
static inline uint64_t p2ps_ceiling_queue(const struct p2ps_ceiling *ceiling)
{
    uint64_t bytes = ceiling->rate / (CEILING_NS_PER_S / CEILING_QUEUE_NS);

    if (ceiling->rate == 0)
        return UINT64_MAX;
    return bytes < CEILING_QUEUE_MIN ? CEILING_QUEUE_MIN : bytes;
}

/* How full an output with `queued` bytes is, in percent, if it is `percent` by itself and `full` of
 * them are a full one, too. */
static inline unsigned p2ps_output_fill(uint64_t queued, uint64_t full, unsigned percent)
{
    if (full == UINT64_MAX)
        return percent;
    uint64_t of_full = queued * 100 / full;
    return of_full > percent ? (of_full > 100 ? 100 : (unsigned)of_full) : percent;
}

#endif
