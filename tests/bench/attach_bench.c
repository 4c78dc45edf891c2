/* attach_bench.c - what a record costs in the rings between rrcpd and its users. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: tools/rmds bench attach [--csv] [inbound|outbound]
 *
 *   --csv    a table to read by a program
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/attach.h"
#include "attach/shm.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/ctr.h"
#include "internal.h"

enum { REPEATS = 5, INBOUND = 1 << 24, OUTBOUND = 1 << 22, OWN = 1, PEER = 2, EVENTS = 256 };
enum { LENGTH_MAX = 1024 };

static bool is_csv;
static unsigned first_cpu, second_cpu;

/* One writer and one reader on two CPUs. The writer waits for the reader before it laps it. */
struct pair {
    uint32_t length, batch;
    uint64_t count;
    struct attach_inbound_writer *inbound;
    const struct attach_inbound_map *map;
    struct attach_outbound_map *outbound;
    struct md_ctr is_ready;
    uint8_t pad[64];
    struct md_ctr cursor;
    uint64_t sum;
};

static void bind_to(unsigned cpu)
{
    struct md_cpu_set set = { 0 };

    md_cpu_set_add(&set, cpu);
    if (md_cpu_bind(&set) != 0)
        fprintf(stderr, "cannot bind to CPU %u\n", cpu);
}

static void *inbound_reader(void *argument)
{
    static struct inbound_reader reader;
    static struct attach_counters counters;
    struct backbone_event events[EVENTS];
    struct pair *pair = argument;
    uint64_t got = 0;

    bind_to(second_cpu);
    memset(&reader, 0, sizeof(reader));
    reader.counters = &counters;
    if (inbound_start(&reader, pair->map, 1) != 0)
        abort();
    md_ctr_set(&pair->is_ready, 1);
    while (got < pair->count) {
        int count = inbound_read(&reader, events, EVENTS);

        for (int i = 0; i < count; i++)
            if (events[i].type == BACKBONE_MESSAGE) {
                pair->sum += events[i].bytes[8];
                got++;
            }
        md_ctr_set(&pair->cursor, reader.cursor);
        if (count == 0)
            md_cpu_relax();
    }
    inbound_fini(&reader);
    return NULL;
}

static void inbound_write(struct pair *pair)
{
    static const uint8_t body[LENGTH_MAX] = { 1 };
    struct backbone_event event = {
        .type = BACKBONE_MESSAGE, .session = PEER, .bytes = body, .length = pair->length
    };

    for (uint64_t i = 0; i < pair->count;) {
        event.seq = i;
        attach_inbound_put(pair->inbound, &event);
        if (++i % pair->batch == 0)
            attach_inbound_publish(pair->inbound);
        while (attach_inbound_position(pair->inbound) - md_ctr_get(&pair->cursor) > INBOUND / 2)
            attach_inbound_publish(pair->inbound);
    }
    attach_inbound_publish(pair->inbound);
}

static void *outbound_reader(void *argument)
{
    struct attach_outbound_reader reader;
    struct pair *pair = argument;
    uint8_t copy[LENGTH_MAX];
    uint64_t got = 0;

    bind_to(second_cpu);
    attach_outbound_reader_init(&reader, pair->outbound, OUTBOUND);
    md_ctr_set(&pair->is_ready, 1);
    while (got < pair->count) {
        struct rrcp_msg msg;
        uint32_t n = 0;

        while (n < EVENTS && attach_outbound_peek(&reader, &msg) == 1) {
            memcpy(copy, msg.bytes, msg.length);
            pair->sum += copy[8];
            attach_outbound_take(&reader);
            n++;
        }
        got += n;
        attach_outbound_release(&reader);
        if (n == 0)
            md_cpu_relax();
    }
    return NULL;
}

static void outbound_write(struct pair *pair)
{
    static const uint8_t body[LENGTH_MAX] = { 1 };
    struct backbone_target target = { .topic = 7 };
    struct outbound_writer writer;

    outbound_writer_init(&writer, pair->outbound, OUTBOUND);
    for (uint64_t i = 0; i < pair->count;) {
        uint8_t *room;

        if (outbound_claim(&writer, &target, pair->length, &room) != 0) {
            md_cpu_relax();
            continue;
        }
        memcpy(room, body, pair->length);
        outbound_commit(&writer, pair->length);
        if (++i % pair->batch == 0)
            outbound_publish(&writer);
    }
    outbound_publish(&writer);
}

static double time_pair(struct pair *pair, bool is_inbound)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, is_inbound ? inbound_reader : outbound_reader, pair) != 0)
        abort();
    bind_to(first_cpu);
    while (md_ctr_get(&pair->is_ready) == 0)
        sched_yield();
    uint64_t began = md_clock_mono_ns();
    if (is_inbound)
        inbound_write(pair);
    else
        outbound_write(pair);
    pthread_join(thread, NULL);
    return (double)(md_clock_mono_ns() - began) / (double)pair->count;
}

static double run_inbound(struct pair *pair)
{
    struct attach_inbound_config config = { .size = INBOUND, .session = OWN, .message_max = 8192 };
    size_t bytes = sizeof(*pair->map) + INBOUND;
    struct backbone_event up = { .type = BACKBONE_PEER_UP, .session = PEER };

    if (attach_inbound_create(&config, &pair->inbound) != 0)
        abort();
    attach_inbound_put(pair->inbound, &up);
    attach_inbound_publish(pair->inbound);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE,
                     attach_inbound_fd(pair->inbound), 0);
    if (map == MAP_FAILED)
        abort();
    pair->map = map;
    md_ctr_set(&pair->cursor, attach_inbound_position(pair->inbound));
    double ns = time_pair(pair, true);
    munmap(map, bytes);
    attach_inbound_destroy(pair->inbound);
    return ns;
}

static double run_outbound(struct pair *pair)
{
    int fd;

    if (attach_outbound_create(OUTBOUND, &fd, &pair->outbound) != 0)
        abort();
    double ns = time_pair(pair, false);
    munmap(pair->outbound, attach_outbound_map_bytes(OUTBOUND));
    close(fd);
    return ns;
}

static double run(bool is_inbound, uint32_t length, uint32_t batch, uint64_t count)
{
    struct pair *pair = aligned_alloc(64, (sizeof(*pair) + 63) & ~(size_t)63);

    if (!pair)
        abort();
    memset(pair, 0, sizeof(*pair));
    pair->length = length;
    pair->batch = batch;
    pair->count = count;
    double ns = is_inbound ? run_inbound(pair) : run_outbound(pair);
    free(pair);
    return ns;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void bench(bool is_inbound, uint32_t length, uint32_t batch)
{
    uint64_t count = length > 500 ? 500000 : 2000000;
    double ns[REPEATS];

    (void)run(is_inbound, length, batch, count / 4); /* warm up */
    for (int i = 0; i < REPEATS; i++)
        ns[i] = run(is_inbound, length, batch, count);
    qsort(ns, REPEATS, sizeof(ns[0]), compare);
    printf(is_csv ? "\"%s, %u bytes, batch %u\",%.2f,%.2f,%.2f\n"
                  : "%s, %4u bytes, batch %3u %8.2f ns   (%.2f to %.2f)\n",
           is_inbound ? "inbound" : "outbound", length, batch, ns[REPEATS / 2], ns[0],
           ns[REPEATS - 1]);
    fflush(stdout);
}

static void bench_ring(bool is_inbound)
{
    static const uint32_t lengths[] = { 64, 128, 1024 };
    static const uint32_t batches[] = { 1, 16, 256 };

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (size_t j = 0; j < sizeof(batches) / sizeof(batches[0]); j++)
            bench(is_inbound, lengths[i], batches[j]);
}

static void choose_cpus(void)
{
    struct md_cpu_set allowed;
    unsigned found = 0;

    if (md_cpu_allowed(&allowed) != 0)
        abort();
    for (unsigned cpu = 0; cpu < MD_CPU_MAX && found < 2; cpu++)
        if (md_cpu_set_has(&allowed, cpu))
            *(found++ == 0 ? &first_cpu : &second_cpu) = cpu;
    if (found < 2) {
        second_cpu = first_cpu;
        printf("only one CPU: both sides of a ring share it\n");
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[argc - 1] : "";

    is_csv = argc > 1 && strcmp(argv[1], "--csv") == 0;
    if (strcmp(what, "--help") == 0) {
        printf("usage: attach_bench [--csv] [inbound|outbound]\n");
        return 0;
    }
    md_clock_init();
    choose_cpus();
    printf(is_csv ? "what,median_ns,least_ns,most_ns\n"
                  : "one record from one process to another, median (least to most) of 5 runs\n");
    if (strcmp(what, "outbound") != 0)
        bench_ring(true);
    if (strcmp(what, "inbound") != 0)
        bench_ring(false);
    return 0;
}
