/* base/trace.h - time stamps of sampled ticks at the steps of docs/design/tick.md. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_TRACE_H
#define MD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A sampled tick leaves a record at each step, in a file that its process maps and a tool reads
 * (`rmds bench latency --where`). Nothing travels with the message: the last bytes of an update are
 * the same at every step of the way and in every process, so each process derives the tick's key
 * from them and decides by the key alone whether the tick is sampled. All processes of a host use
 * CLOCK_MONOTONIC; the tool merges their records by key.
 *
 * Off, a hook is one load and one branch that is never taken. On, it reads the clock; and a thread
 * that finds 200 us gone since its last hook asks the kernel how long it waited for a CPU
 * meanwhile, and leaves a record of that gap.
 */
enum md_trace_step {
    MD_TRACE_GAP = 0,
    MD_TRACE_TURN = 1, /* of src_dist; the other threads' turns stand in the records themselves */
    MD_TRACE_READ = 2,
    MD_TRACE_MESSAGE = 3,
    MD_TRACE_PUBLISH = 4,
    MD_TRACE_RESERVED = 5,
    MD_TRACE_COMMITTED = 6,
    MD_TRACE_IMAGE = 7,
    MD_TRACE_SUBMITTED = 8,
    MD_TRACE_SENT = 9,
    MD_TRACE_RECEIVED = 10,
    MD_TRACE_PUT = 11,
    MD_TRACE_POLLED = 12,
    MD_TRACE_EVENT = 13,
    MD_TRACE_DELIVERED = 15, /* and 14: they alternate for each update of a batch */
    MD_TRACE_WRITTEN = 16,
    MD_TRACE_FLUSHED = 17,   /* the end of 6: head is published, rrcpd woken */
    MD_TRACE_PUBLISHED = 18, /* the end of 11 */
    MD_TRACE_MADE = 19,      /* the publisher */
    MD_TRACE_WROTE = 20,
    MD_TRACE_TAKEN = 21, /* the consumer */
    MD_TRACE_STEPS
};

/* The layout of the file: this head, then `capacity` records; record n stands at n modulo capacity.
 */
#define MD_TRACE_MAGIC 0x31304352544d5244ull

struct md_trace_head {
    uint64_t magic;
    uint64_t capacity;
    uint64_t sample; /* one of so many ticks */
    _Atomic uint64_t next;
    char process[64];
};

struct md_trace_record {
    uint64_t key;     /* of the tick; 0: a gap */
    uint64_t ns;      /* of the step; the end of a gap */
    uint64_t turn_ns; /* the beginning of the thread's turn; of a gap */
    uint64_t rest_ns; /* the thread's last hook before that turn; time a gap waited for a CPU */
    uint8_t tail[16]; /* the last bytes of the message; of a gap: ns the thread ran, 0 */
    uint32_t thread;
    uint16_t step;           /* of a gap: the hook that found it */
    uint16_t last;           /* of a gap: the hook before it */
    _Atomic uint64_t number; /* stored last: n + 1 */
};

/* Before the threads that it concerns are started. MD_ERR_SYS: no such file can be made. */
int md_trace_open(const char *path, const char *process, uint64_t sample);
void md_trace_close(bool keeps_file);

extern bool md_trace_is_on;

void md_trace_turn_now(void);
void md_trace_mark_now(enum md_trace_step step);
void md_trace_tick_now(enum md_trace_step step, const void *bytes, size_t length);
void md_trace_reach_now(enum md_trace_step step, bool is_last, bool ends);

/* The thread begins a turn of its loop. */
static inline void md_trace_turn(void)
{
    if (__builtin_expect(md_trace_is_on, 0))
        md_trace_turn_now();
}

/* The thread is at this step, with one tick or many: the next md_trace_tick() says with which. */
static inline void md_trace_mark(enum md_trace_step step)
{
    if (__builtin_expect(md_trace_is_on, 0))
        md_trace_mark_now(step);
}

/* This tick is at this step. */
static inline void md_trace_tick(enum md_trace_step step, const void *bytes, size_t length)
{
    if (__builtin_expect(md_trace_is_on, 0))
        md_trace_tick_now(step, bytes, length);
}

/* All ticks of this thread that md_trace_end() has not ended are at this step. */
static inline void md_trace_reach(enum md_trace_step step)
{
    if (__builtin_expect(md_trace_is_on, 0))
        md_trace_reach_now(step, false, false);
}

static inline void md_trace_end(enum md_trace_step step)
{
    if (__builtin_expect(md_trace_is_on, 0))
        md_trace_reach_now(step, false, true);
}

/* The tick of the last md_trace_tick() is at this step. */
static inline void md_trace_also(enum md_trace_step step)
{
    if (__builtin_expect(md_trace_is_on, 0))
        md_trace_reach_now(step, true, false);
}

#endif
