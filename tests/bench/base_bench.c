/* base_bench.c - what the base costs: rings, pools, tables, histogram, clocks, log. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: tools/rmds bench base [--csv] [rings|tables|small]
 *
 *   --csv    a table to read by a program
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/bcast.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/ctr.h"
#include "base/hist.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/prng.h"
#include "base/ring.h"
#include "base/table.h"

#define REPEATS    5
#define RING_SIZE  (1u << 22)
#define BCAST_SIZE (1u << 24)

static bool is_csv;
static unsigned first_cpu, second_cpu;

struct pair {
    void *memory;
    uint32_t length;
    uint32_t batch;
    uint64_t count;
    struct md_ctr is_ready;
    uint8_t pad[64];
    struct md_ctr cursor; /* of the broadcast reader, so that the writer does not lap it */
    struct md_ctr lapped;
    uint64_t sum;
};

static void bind_to(unsigned cpu)
{
    struct md_cpu_set set = { 0 };

    md_cpu_set_add(&set, cpu);
    if (md_cpu_bind(&set) != 0)
        fprintf(stderr, "cannot bind to CPU %u\n", cpu);
}

static int compare(const void *a, const void *b)
{
    double x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));

    return x < y ? -1 : x > y;
}

static void print_result(const char *what, double ns[REPEATS])
{
    qsort(ns, REPEATS, sizeof(ns[0]), compare);
    if (is_csv)
        printf("\"%s\",%.2f,%.2f,%.2f\n", what, ns[REPEATS / 2], ns[0], ns[REPEATS - 1]);
    else
        printf("%-48s %8.2f ns   (%.2f to %.2f)   %8.2f M/s\n", what, ns[REPEATS / 2], ns[0],
               ns[REPEATS - 1], 1e3 / ns[REPEATS / 2]);
    fflush(stdout);
}

static void wait_ready(struct pair *pair)
{
    while (atomic_load(&pair->is_ready.value) == 0)
        sched_yield();
}

static void *spsc_reader(void *arg)
{
    struct pair *pair = arg;
    struct md_ring_consumer consumer;
    struct md_record record = { 0 };
    uint8_t copy[1100];
    uint64_t got = 0;

    bind_to(second_cpu);
    if (md_ring_consumer_init(&consumer, pair->memory, md_ring_bytes(RING_SIZE)) != 0)
        abort();
    atomic_store(&pair->is_ready.value, 1);
    while (got < pair->count) {
        int result;
        uint32_t n = 0;
        for (const uint8_t *at; n < 256 && (at = md_ring_read(&consumer, &record, &result)) != NULL;
             n++) {
            memcpy(copy, at, record.length);
            pair->sum += copy[8];
        }
        got += n;
        if (n)
            md_ring_release(&consumer);
        else
            md_cpu_relax();
    }
    return NULL;
}

static void spsc_writer(struct pair *pair)
{
    struct md_ring_producer producer;
    uint8_t body[1100] = { 1 };

    if (md_ring_producer_init(&producer, pair->memory, md_ring_bytes(RING_SIZE)) != 0)
        abort();
    for (uint64_t i = 0; i < pair->count;) {
        uint8_t *at = md_ring_claim(&producer, pair->length, 32, 0);
        if (!at) {
            (void)md_ring_commit(&producer);
            md_cpu_relax();
            continue;
        }
        memcpy(at + 8, body, pair->length - 8);
        if (++i % pair->batch == 0)
            (void)md_ring_commit(&producer);
    }
    (void)md_ring_commit(&producer);
}

static void *bcast_reader(void *arg)
{
    static uint8_t buffer[65536] __attribute__((aligned(64)));
    struct pair *pair = arg;
    struct md_bcast_reader reader;
    struct md_bcast_batch batch;
    struct md_record record;
    uint64_t got = 0;

    bind_to(second_cpu);
    if (md_bcast_reader_init(&reader, pair->memory, md_bcast_bytes(BCAST_SIZE)) != 0)
        abort();
    atomic_store(&pair->is_ready.value, 1);
    while (got < pair->count) {
        enum md_bcast_result result = md_bcast_read(&reader, buffer, sizeof(buffer), &batch);
        if (result == MD_BCAST_READ) {
            size_t at = 0;
            for (const uint8_t *bytes; (bytes = md_bcast_batch_next(&batch, &at, &record)) != NULL;
                 got++)
                pair->sum += bytes[8];
            md_ctr_set(&pair->cursor, reader.cursor);
        } else if (result == MD_BCAST_EMPTY) {
            md_cpu_relax();
        } else {
            abort(); /* the writer below never laps */
        }
    }
    return NULL;
}

static void bcast_writer(struct pair *pair)
{
    struct md_bcast_writer writer;
    struct md_sleep_flag flag = { 0 };
    uint8_t body[1100] = { 1 };
    uint64_t checked = 0;

    if (md_bcast_writer_init(&writer, pair->memory, BCAST_SIZE, 0) != 0)
        abort();
    for (uint64_t i = 0; i < pair->count;) {
        md_bcast_write(&writer, 1, 0, body, 32, body, pair->length - 40);
        if (++i % pair->batch == 0) {
            md_bcast_commit(&writer);
            (void)md_sleep_flag_take(&flag);
        }
        while (writer.next - checked > BCAST_SIZE / 2) {
            md_bcast_commit(&writer);
            checked = md_ctr_get(&pair->cursor);
        }
    }
    md_bcast_commit(&writer);
}

/* The writer's ring must be there before the reader joins, so the reader starts second. */
static double run_pair(bool is_bcast, uint32_t length, uint32_t batch, uint64_t count)
{
    struct md_mem_config config = { .node = MD_NODE_ANY };
    struct pair *pair = aligned_alloc(64, (sizeof(struct pair) + 63) & ~(size_t)63);
    struct md_bcast_writer writer;
    pthread_t thread;
    struct md_mem mem;

    if (!pair || md_mem_map(&config, md_bcast_bytes(BCAST_SIZE), &mem) != 0)
        abort();
    memset(pair, 0, sizeof(*pair));
    pair->memory = mem.start;
    pair->length = length;
    pair->batch = batch;
    pair->count = count;
    if (is_bcast ? md_bcast_writer_init(&writer, mem.start, BCAST_SIZE, 0)
                 : md_ring_format(mem.start, RING_SIZE))
        abort();
    if (pthread_create(&thread, NULL, is_bcast ? bcast_reader : spsc_reader, pair) != 0)
        abort();
    bind_to(first_cpu);
    wait_ready(pair);
    uint64_t began = md_clock_mono_ns();
    if (is_bcast)
        bcast_writer(pair);
    else
        spsc_writer(pair);
    pthread_join(thread, NULL);
    double ns = (double)(md_clock_mono_ns() - began) / (double)count;
    md_mem_unmap(&mem);
    free(pair);
    return ns;
}

static void bench_rings(void)
{
    static const uint32_t lengths[] = { 64, 96, 128, 1024 };
    static const uint32_t batches[] = { 1, 16, 256 };

    for (int is_bcast = 0; is_bcast < 2; is_bcast++) {
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            for (size_t j = 0; j < sizeof(batches) / sizeof(batches[0]); j++) {
                double ns[REPEATS];
                char what[64];
                uint64_t count = lengths[i] > 500 ? 500000 : 2000000;
                (void)run_pair(is_bcast, lengths[i], batches[j], count / 4); /* warm up */
                for (int k = 0; k < REPEATS; k++)
                    ns[k] = run_pair(is_bcast, lengths[i], batches[j], count);
                snprintf(what, sizeof(what), "%s ring, %u bytes, batch %u",
                         is_bcast ? "broadcast" : "SPSC", lengths[i], batches[j]);
                print_result(what, ns);
            }
        }
    }
}

/* Run `fn` REPEATS times and print what one of its `count` operations costs. */
static void bench(const char *what, void (*fn)(uint64_t count, void *arg), uint64_t count,
                  void *arg)
{
    double ns[REPEATS];

    fn(count / 10, arg);
    for (int i = 0; i < REPEATS; i++) {
        uint64_t began = md_clock_mono_ns();
        fn(count, arg);
        ns[i] = (double)(md_clock_mono_ns() - began) / (double)count;
    }
    print_result(what, ns);
}

static void pool_pairs(uint64_t count, void *arg)
{
    struct md_pool *pool = arg;

    for (uint64_t i = 0; i < count / 2; i++) { /* an operation is a take or a give */
        void *object = md_pool_take(pool);
        __asm__ volatile("" : : "r"(object) : "memory");
        md_pool_give(pool, object);
    }
}

static void pool_batches(uint64_t count, void *arg)
{
    struct md_pool *pool = arg;
    void *objects[64];

    for (uint64_t i = 0; i < count / 128; i++) {
        for (int k = 0; k < 64; k++)
            objects[k] = md_pool_take(pool);
        __asm__ volatile("" : : "r"(objects) : "memory");
        for (int k = 0; k < 64; k++)
            md_pool_give(pool, objects[k]);
    }
}

static void hist_records(uint64_t count, void *arg)
{
    struct md_prng prng = md_prng_init(1);

    for (uint64_t i = 0; i < count; i++)
        md_hist_record(arg, md_prng_u64(&prng) >> 40);
}

static volatile uint64_t sink;

static void mono_reads(uint64_t count, void *arg)
{
    uint64_t sum = 0;

    (void)arg;
    for (uint64_t i = 0; i < count; i++)
        sum += md_clock_mono_ns();
    sink = sum;
}

static void wall_reads(uint64_t count, void *arg)
{
    uint64_t sum = 0;

    (void)arg;
    for (uint64_t i = 0; i < count; i++)
        sum += md_clock_wall_ns();
    sink = sum;
}

#define NAMES 1000000

struct names {
    char (*text)[16];
    struct md_table *table;
    struct md_int_table *int_table;
    uint64_t insert_max_ns;
};

static void table_lookups(uint64_t count, void *arg)
{
    struct names *names = arg;
    struct md_prng prng = md_prng_init(2);

    for (uint64_t i = 0; i < count; i++) {
        const char *name = names->text[md_prng_below(&prng, NAMES)];
        if (md_table_get(names->table, name, 14) != name)
            abort();
    }
}

static void int_table_lookups(uint64_t count, void *arg)
{
    struct names *names = arg;
    struct md_prng prng = md_prng_init(2);

    for (uint64_t i = 0; i < count; i++) {
        uint32_t key = md_prng_below(&prng, NAMES);
        if (md_int_table_get(names->int_table, key) != names->text[key])
            abort();
    }
}

static void bench_tables(void)
{
    struct names names = { .text = malloc(NAMES * sizeof(*names.text)) };

    if (!names.text || md_table_create(NAMES, &names.table) ||
        md_int_table_create(NAMES, &names.int_table))
        abort();
    uint64_t began = md_clock_mono_ns(), last = began;
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(names.text[i], sizeof(names.text[i]), "IDN.R%07u.O", i);
        if (md_table_put(names.table, names.text[i], 14, names.text[i]) ||
            md_int_table_put(names.int_table, i, names.text[i]))
            abort();
        uint64_t now = md_clock_mono_ns();
        if (now - last > names.insert_max_ns)
            names.insert_max_ns = now - last;
        last = now;
    }
    bench("table, random lookup in 1M names", table_lookups, 2000000, &names);
    bench("table, random lookup in 1M integers", int_table_lookups, 2000000, &names);
    if (!is_csv)
        printf("    one M names and integers put in %.0f ms, longest single put %.0f us, %zu B per "
               "name, %zu B per integer, no growth\n",
               (double)(last - began) / 1e6, (double)names.insert_max_ns / 1e3,
               md_table_bytes(names.table) / NAMES, md_int_table_bytes(names.int_table) / NAMES);
    md_table_destroy(names.table);
    md_int_table_destroy(names.int_table);
    free(names.text);
}

static void log_lines(uint64_t count, void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < count; i++)
        md_log(MD_LOG_INFO, "held back by the rate limit: %llu", (unsigned long long)i);
}

static void log_off(uint64_t count, void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < count; i++)
        md_log(MD_LOG_DEBUG, "not logged: %llu", (unsigned long long)i);
}

static void bench_small(void)
{
    struct md_pool_config config = { .object_bytes = 256, .count = 4096, .mem.node = MD_NODE_ANY };
    struct md_hist *hist = malloc(sizeof(*hist));
    struct md_pool pool;
    struct md_log_config log = { .identity = "bench",
                                 .targets = MD_LOG_TO_FILE,
                                 .path = "/dev/null",
                                 .severity_max = MD_LOG_INFO };

    if (!hist || md_pool_init(&pool, &config) || md_log_open(&log))
        abort();
    md_hist_init(hist);
    bench("pool, take or give, hot", pool_pairs, 50000000, &pool);
    bench("pool, take or give, 64 at a time", pool_batches, 50000000, &pool);
    bench("histogram, record (with random number)", hist_records, 20000000, hist);
    bench(md_clock_is_tsc() ? "monotonic clock (counter)" : "monotonic clock (kernel)", mono_reads,
          20000000, NULL);
    bench("wall clock", wall_reads, 5000000, NULL);
    bench("log line held back by the rate limit", log_lines, 2000000, NULL);
    bench("log line of a severity that is off", log_off, 50000000, NULL);
    md_log_close();
    md_pool_fini(&pool);
    free(hist);
}

static void choose_cpus(void)
{
    struct md_cpu_set allowed;
    unsigned found = 0;

    if (md_cpu_allowed(&allowed) != 0)
        abort();
    for (unsigned cpu = 0; cpu < MD_CPU_MAX && found < 2; cpu++) {
        if (!md_cpu_set_has(&allowed, cpu))
            continue;
        *(found++ == 0 ? &first_cpu : &second_cpu) = cpu;
    }
    if (found < 2) {
        second_cpu = first_cpu;
        printf("only one CPU: the ring figures are those of a shared one\n");
    }
}

static void print_machine(void)
{
    struct utsname name;
    char line[256] = "", model[256] = "unknown CPU";
    FILE *file = fopen("/proc/cpuinfo", "re");

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "model name : %255[^\n]", model) == 1)
            break;
    }
    if (file)
        fclose(file);
    if (uname(&name) != 0)
        name.release[0] = '\0';
    printf("%s, Linux %s, compiler %s, CPUs %u and %u, median (least to most) of %d runs\n", model,
           name.release, __VERSION__, first_cpu, second_cpu, REPEATS);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[argc - 1] : "";

    is_csv = argc > 1 && strcmp(argv[1], "--csv") == 0;
    if (strcmp(what, "--help") == 0) {
        printf("usage: base_bench [--csv] [rings|tables|small]\n");
        return 0;
    }
    bool is_all =
        strcmp(what, "rings") != 0 && strcmp(what, "tables") != 0 && strcmp(what, "small") != 0;
    md_clock_init();
    choose_cpus();
    bind_to(first_cpu);
    if (is_csv)
        printf("what,median_ns,least_ns,most_ns\n");
    else
        print_machine();
    if (is_all || strcmp(what, "rings") == 0)
        bench_rings();
    if (is_all || strcmp(what, "small") == 0)
        bench_small();
    if (is_all || strcmp(what, "tables") == 0)
        bench_tables();
    return 0;
}
