/* base_bench.c - what the base costs: tables, histogram, clocks, log. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: tools/rmds bench base [--csv] [tables|small]
 *
 *   --csv    a table to read by a program
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/ctr.h"
#include "base/hist.h"
#include "base/log.h"
#include "base/prng.h"
#include "base/table.h"

#define REPEATS 5

static bool is_csv;
static unsigned cpu;

static void bind_to(void)
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

static void bench_tables(void)
{
    struct names names = { .text = malloc(NAMES * sizeof(*names.text)) };

    if (!names.text || md_table_create(NAMES, &names.table))
        abort();
    uint64_t began = md_clock_mono_ns(), last = began;
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(names.text[i], sizeof(names.text[i]), "IDN.R%07u.O", i);
        if (md_table_put(names.table, names.text[i], 14, names.text[i]))
            abort();
        uint64_t now = md_clock_mono_ns();
        if (now - last > names.insert_max_ns)
            names.insert_max_ns = now - last;
        last = now;
    }
    bench("table, random lookup in 1M names", table_lookups, 2000000, &names);
    if (!is_csv)
        printf("    one M names put in %.0f ms, longest single put %.0f us, no growth\n",
               (double)(last - began) / 1e6, (double)names.insert_max_ns / 1e3);
    md_table_destroy(names.table);
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
    struct md_hist *hist = malloc(sizeof(*hist));
    struct md_log_config log = { .identity = "bench",
                                 .targets = MD_LOG_TO_FILE,
                                 .path = "/dev/null",
                                 .severity_max = MD_LOG_INFO };

    if (!hist || md_log_open(&log))
        abort();
    md_hist_init(hist);
    bench("histogram, record (with random number)", hist_records, 20000000, hist);
    bench(md_clock_is_tsc() ? "monotonic clock (counter)" : "monotonic clock (kernel)", mono_reads,
          20000000, NULL);
    bench("wall clock", wall_reads, 5000000, NULL);
    bench("log line held back by the rate limit", log_lines, 2000000, NULL);
    bench("log line of a severity that is off", log_off, 50000000, NULL);
    md_log_close();
    free(hist);
}

static void choose_cpu(void)
{
    struct md_cpu_set allowed;

    if (md_cpu_allowed(&allowed) != 0)
        abort();
    while (cpu < MD_CPU_MAX && !md_cpu_set_has(&allowed, cpu))
        cpu++;
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
    printf("%s, Linux %s, compiler %s, CPU %u, median (least to most) of %d runs\n", model,
           name.release, __VERSION__, cpu, REPEATS);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[argc - 1] : "";

    is_csv = argc > 1 && strcmp(argv[1], "--csv") == 0;
    if (strcmp(what, "--help") == 0) {
        printf("usage: base_bench [--csv] [tables|small]\n");
        return 0;
    }
    bool is_all = strcmp(what, "tables") != 0 && strcmp(what, "small") != 0;
    md_clock_init();
    choose_cpu();
    bind_to();
    if (is_csv)
        printf("what,median_ns,least_ns,most_ns\n");
    else
        print_machine();
    if (is_all || strcmp(what, "small") == 0)
        bench_small();
    if (is_all || strcmp(what, "tables") == 0)
        bench_tables();
    return 0;
}
