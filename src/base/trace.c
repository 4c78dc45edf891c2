/* trace.c - see base/trace.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trace.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

#define CAPACITY (1u << 17)
#define GAP_NS   200000u
#define TAIL_BYTES                                                                                 \
    40u /* of the message: the time, and enough before it to tell ticks of one microsecond apart   \
         */
#define PENDING_MAX 64 /* ticks of a thread under way; more are not followed further */

/* A thread's own part. The descriptor is the thread's own view of /proc and stays open while it
 * lives. */
struct thread_trace {
    uint64_t turn_ns;
    uint64_t rest_ns; /* the last hook of the turn before */
    uint64_t last_ns; /* the last hook of all */
    uint64_t marks[MD_TRACE_STEPS];
    uint64_t pending[PENDING_MAX];
    uint64_t waited_ns;
    uint64_t ran_ns;
    uint32_t pending_count;
    uint32_t thread;
    int schedstat_fd;
    uint16_t last_step;
    bool is_begun;
    bool is_last_sampled;
};

bool md_trace_is_on;

static struct {
    struct md_trace_head *head;
    struct md_trace_record *records;
    uint64_t sample;
    size_t bytes;
    char path[256];
} trace;

static _Thread_local struct thread_trace self;

/* ---- the file ---- */

int md_trace_open(const char *path, const char *process, uint64_t sample)
{
    size_t bytes = sizeof(struct md_trace_head) + (size_t)CAPACITY * sizeof(struct md_trace_record);

    if ((size_t)snprintf(trace.path, sizeof(trace.path), "%s", path) >= sizeof(trace.path))
        return MD_ERR_RANGE;
    unlink(path); /* of an earlier process */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0)
        return MD_ERR_SYS;
    (void)fchmod(fd, 0640); /* a umask of 077 took the right of the group */
    void *map = MAP_FAILED;
    if (ftruncate(fd, (off_t)bytes) == 0)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED) {
        unlink(path);
        return MD_ERR_SYS;
    }
    trace.head = map;
    trace.records = (struct md_trace_record *)(trace.head + 1);
    trace.sample = sample;
    trace.bytes = bytes;
    trace.head->capacity = CAPACITY;
    trace.head->sample = sample;
    snprintf(trace.head->process, sizeof(trace.head->process), "%s", process);
    trace.head->magic = MD_TRACE_MAGIC;
    md_trace_is_on = true;
    return MD_OK;
}

void md_trace_close(bool keeps_file)
{
    if (!trace.head)
        return;
    md_trace_is_on = false;
    munmap(trace.head, trace.bytes);
    trace.head = NULL;
    if (!keeps_file)
        unlink(trace.path);
}

/* ---- a thread ---- */

/* NULL: nothing is traced; never while md_trace_is_on, but a linker that sees the whole program
 * asks. */
static struct md_trace_record *claim(uint64_t *number)
{
    if (!trace.head)
        return NULL;
    *number = atomic_fetch_add_explicit(&trace.head->next, 1, memory_order_relaxed);
    return &trace.records[*number % CAPACITY];
}

static void leave(uint64_t key, enum md_trace_step step, uint64_t ns, const uint8_t tail[16])
{
    uint64_t number;
    struct md_trace_record *record = claim(&number);

    if (!record)
        return;
    record->key = key;
    record->ns = ns;
    record->turn_ns = self.turn_ns;
    record->rest_ns = self.rest_ns;
    record->thread = self.thread;
    record->step = (uint16_t)step;
    record->last = 0;
    memset(record->tail, 0, sizeof(record->tail));
    if (tail)
        memcpy(record->tail, tail, sizeof(record->tail));
    atomic_store_explicit(&record->number, number + 1, memory_order_release);
}

/* Since the last look: how long the thread ran, and how long it could have run but had no CPU. */
static void look_at_scheduler(uint64_t *ran_ns, uint64_t *waited_ns)
{
    char text[80];
    unsigned long long ran = 0, waited = 0;
    ssize_t length = pread(self.schedstat_fd, text, sizeof(text) - 1, 0);

    *ran_ns = *waited_ns = 0;
    if (length <= 0)
        return;
    text[length] = '\0';
    if (sscanf(text, "%llu %llu", &ran, &waited) != 2)
        return;
    *ran_ns = ran - self.ran_ns;
    *waited_ns = waited - self.waited_ns;
    self.ran_ns = ran;
    self.waited_ns = waited;
}

static void leave_gap(enum md_trace_step step, uint64_t now_ns)
{
    uint64_t number, ran_ns, waited_ns;

    look_at_scheduler(&ran_ns, &waited_ns);
    struct md_trace_record *record = claim(&number);
    record->key = 0;
    record->ns = now_ns;
    record->turn_ns = self.last_ns;
    record->rest_ns = waited_ns;
    record->thread = self.thread;
    record->step = (uint16_t)step;
    record->last = self.last_step;
    memset(record->tail, 0, sizeof(record->tail));
    memcpy(record->tail, &ran_ns, sizeof(ran_ns));
    atomic_store_explicit(&record->number, number + 1, memory_order_release);
}

/* That of the kernel: the one that all processes have in common, to the nanosecond. */
static uint64_t read_clock(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Every hook comes by here. */
static uint64_t now(enum md_trace_step step)
{
    if (!self.is_begun) {
        uint64_t ran_ns, waited_ns;

        self.is_begun = true;
        self.thread = (uint32_t)syscall(SYS_gettid);
        self.schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        look_at_scheduler(&ran_ns, &waited_ns);
        self.last_ns = read_clock();
    }
    uint64_t now_ns = read_clock();
    if (now_ns - self.last_ns > GAP_NS)
        leave_gap(step, now_ns);
    self.last_ns = now_ns;
    self.last_step = (uint16_t)step;
    return now_ns;
}

/* ---- hooks ---- */

void md_trace_turn_now(void)
{
    self.rest_ns = self.last_ns;
    self.turn_ns = now(MD_TRACE_TURN);
    memset(self.marks, 0, sizeof(self.marks));
}

void md_trace_mark_now(enum md_trace_step step)
{
    self.marks[step] = now(step);
}

static uint64_t key_of(const uint8_t *bytes, size_t length)
{
    uint64_t key = 0x9e3779b97f4a7c15ull;

    for (size_t at = length - TAIL_BYTES; at < length; at += 8) {
        uint64_t word;

        memcpy(&word, bytes + at, sizeof(word));
        key = (key ^ word) * 0xff51afd7ed558ccdull;
        key ^= key >> 32;
    }
    return key | 1; /* 0 is a gap */
}

void md_trace_tick_now(enum md_trace_step step, const void *bytes, size_t length)
{
    uint64_t now_ns = now(step);

    self.is_last_sampled = false;
    if (length < TAIL_BYTES)
        return;
    uint64_t key = key_of(bytes, length);
    if ((key >> 1) % trace.sample != 0)
        return;
    self.is_last_sampled = self.pending_count < PENDING_MAX;
    if (step == MD_TRACE_COMMITTED && self.turn_ns)
        leave(key, MD_TRACE_TURN, self.turn_ns, NULL);
    for (unsigned i = MD_TRACE_READ; i < (unsigned)step && i < MD_TRACE_WRITTEN; i++) {
        if (self.marks[i])
            leave(key, (enum md_trace_step)i, self.marks[i], NULL);
    }
    leave(key, step, now_ns, (const uint8_t *)bytes + length - 16);
    if (self.pending_count < PENDING_MAX)
        self.pending[self.pending_count++] = key;
}

void md_trace_reach_now(enum md_trace_step step, bool is_last, bool ends)
{
    uint64_t now_ns = now(step);
    uint32_t first = 0;

    if (is_last) {
        first = self.pending_count - (self.is_last_sampled && self.pending_count ? 1 : 0);
        self.is_last_sampled = false;
    }
    for (uint32_t i = first; i < self.pending_count; i++)
        leave(self.pending[i], step, now_ns, NULL);
    if (ends)
        self.pending_count = 0;
}
