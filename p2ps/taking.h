/* taking.h - how fast a connection takes what is written to it: maxOutputTime. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_TAKING_H
#define P2PS_TAKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Output buffers bound memory; how long an update waits in them is another question. With
 * maxOutputTime the output is also full when it holds what the connection takes in that time. The
 * rate is known only while something waits: with an empty output there was no more to take. It
 * counts in windows that end with bytes taken: a faster one is believed at once, a slower one by
 * and by, for who stops for a moment is not slower.
 */
#define TAKING_WINDOW_NS 100000000ull
#define TAKING_LONG_NS   1000000000ull /* such a window is believed, slower or not, */
#define TAKING_DECAY     4u            /* of a shorter one this part of the difference */
#define TAKING_LEAST     65536u        /* so many bytes are never a full output */

struct p2ps_taking {
    uint64_t begun_ns; /* of the window */
    uint64_t bytes;    /* taken in it */
    uint64_t rate;     /* bytes a second; 0: not known */
    bool was_empty;    /* at some time in the window */
};

static inline uint64_t p2ps_taking_rate(const struct p2ps_taking *taking, uint64_t spent_ns)
{
    uint64_t rate = taking->bytes * 1000000u / (spent_ns / 1000u);

    if (rate >= taking->rate || spent_ns >= TAKING_LONG_NS)
        return rate;
    return taking->rate - (taking->rate - rate) / TAKING_DECAY;
}

static inline void p2ps_taking_close(struct p2ps_taking *taking, uint64_t spent_ns, bool has_more)
{
    *taking = (struct p2ps_taking){
        .begun_ns = taking->begun_ns + spent_ns,
        .rate = taking->was_empty ? 0 : p2ps_taking_rate(taking, spent_ns),
        .was_empty = !has_more,
    };
}

/* The connection has taken `taken` bytes; `has_more` waits. */
static inline void p2ps_taking_note(struct p2ps_taking *taking, size_t taken, bool has_more,
                                    uint64_t now_ns)
{
    uint64_t spent_ns = now_ns - taking->begun_ns;

    taking->bytes += taken;
    taking->was_empty |= !has_more;
    if (taking->begun_ns == 0)
        taking->begun_ns = now_ns;
    else if (spent_ns >= TAKING_WINDOW_NS && (taking->bytes > 0 || !has_more))
        p2ps_taking_close(taking, spent_ns, has_more);
}

/* So many queued bytes are a full output; UINT64_MAX: no number of them. */
static inline uint64_t p2ps_taking_queue(const struct p2ps_taking *taking, uint64_t time_ns)
{
    uint64_t bytes = taking->rate / 1000u * (time_ns / 1000000u);

    if (taking->rate == 0 || time_ns == 0)
        return UINT64_MAX;
    return bytes < TAKING_LEAST ? TAKING_LEAST : bytes;
}

#endif
