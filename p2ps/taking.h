/* taking.h - how fast a connection takes what is written to it: maxOutputTime. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_TAKING_H
#define P2PS_TAKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Output buffers bound memory; how long an update waits in them is another question. So the output
 * is also full when it holds what the connection takes in maxOutputTime. The rate counts in windows
 * in which something was taken: a faster one is believed at once; a slower one by and by, and only
 * when something waited all the time, for otherwise there was no more to take. One that takes
 * nothing at all has stopped, and its rate stays: slowTimeout is for that.
 */
#define TAKING_WINDOW_NS 100000000ull
#define TAKING_DECAY     4u         /* this part of the difference, for each slower window */
#define TAKING_LEAST     1048576ull /* so many bytes are never a full output */

struct p2ps_taking {
    uint64_t begun_ns; /* of the window */
    uint64_t bytes;    /* taken in it */
    uint64_t rate;     /* bytes a second; 0: not known */
    bool was_empty;    /* at some time in the window */
};

/* The connection has taken `taken` bytes; `has_more` waits. */
static inline void p2ps_taking_note(struct p2ps_taking *taking, size_t taken, bool has_more,
                                    uint64_t now_ns)
{
    uint64_t spent_ns = now_ns - taking->begun_ns;

    taking->bytes += taken;
    taking->was_empty |= !has_more;
    if (spent_ns < TAKING_WINDOW_NS)
        return;
    /* Windows of more than a second are of one that had little to take, or had stopped. */
    if (taking->bytes > 0 && spent_ns < 10 * TAKING_WINDOW_NS) {
        uint64_t rate = taking->bytes * 1000000u / (spent_ns / 1000u);

        if (rate > taking->rate)
            taking->rate = rate;
        else if (!taking->was_empty)
            taking->rate -= (taking->rate - rate) / TAKING_DECAY;
    }
    *taking =
        (struct p2ps_taking){ .begun_ns = now_ns, .rate = taking->rate, .was_empty = !has_more };
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
