/* test_base_values.c - clock, counters, random numbers, histogram, tables, CPU lists. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/ctr.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hist.h"
#include "base/mem.h"
#include "base/prng.h"
#include "base/table.h"
#include "base/utf8.h"

static void the_monotonic_clock_never_runs_backwards(void **state)
{
    uint64_t last = md_clock_mono_ns();

    (void)state;
    md_clock_init();
    for (int i = 0; i < 2000000; i++) {
        uint64_t now = md_clock_mono_ns();
        if (now < last)
            fail_msg("%llu after %llu", (unsigned long long)now, (unsigned long long)last);
        last = now;
    }
}

/* A thread that sleeps reads the clock long after it was due to look at the kernel's. */
struct sleeper {
    pthread_t thread;
    long pause_ns;
    int64_t worst_ns;
};

static void *sleep_and_compare(void *argument)
{
    struct sleeper *self = argument;

    for (int i = 0; i < 15; i++) {
        struct timespec before, after, pause = { .tv_nsec = self->pause_ns };

        clock_gettime(CLOCK_MONOTONIC, &before);
        int64_t ours = (int64_t)md_clock_mono_ns();
        clock_gettime(CLOCK_MONOTONIC, &after);
        int64_t early = (int64_t)before.tv_sec * 1000000000 + before.tv_nsec - ours;
        int64_t late = ours - ((int64_t)after.tv_sec * 1000000000 + after.tv_nsec);
        int64_t off = early > late ? early : late;
        self->worst_ns = off > self->worst_ns ? off : self->worst_ns;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void the_monotonic_clock_of_a_thread_that_sleeps_stays_with_that_of_the_kernel(void **state)
{
    struct sleeper sleepers[12]; /* each thread has a scale of its own */

    (void)state;
    md_clock_init();
    for (int i = 0; i < 12; i++) {
        sleepers[i] = (struct sleeper){ .pause_ns = 5000000 * (i + 1) };
        assert_int_equal(pthread_create(&sleepers[i].thread, NULL, sleep_and_compare, &sleepers[i]),
                         0);
    }
    for (int i = 0; i < 12; i++)
        pthread_join(sleepers[i].thread, NULL);
    for (int i = 0; i < 12; i++) {
        if (sleepers[i].worst_ns > 50000)
            fail_msg("off by %lld ns with pauses of %ld", (long long)sleepers[i].worst_ns,
                     sleepers[i].pause_ns);
    }
}

static void the_wall_clock_can_be_shifted_for_tests(void **state)
{
    (void)state;
    uint64_t before = md_clock_wall_ns();
    md_clock_wall_shift((int64_t)(3600 * MD_NS_PER_S));
    uint64_t shifted = md_clock_wall_ns();
    md_clock_wall_shift(0);
    assert_true(shifted - before >= 3600 * MD_NS_PER_S);
    assert_true(shifted - before < 7200 * MD_NS_PER_S);
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
    struct md_prng a = md_prng_init(42), b = md_prng_init(42), c = md_prng_init(43);
    int equal = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        uint64_t x = md_prng_u64(&a);
        assert_true(x == md_prng_u64(&b));
        equal += x == md_prng_u64(&c);
    }
    assert_int_equal(equal, 0);
    for (int i = 0; i < 1000; i++)
        assert_true(md_prng_below(&a, 7) < 7 && md_prng_unit(&a) < 1.0);
    assert_int_equal(md_prng_below(&a, 0), 0);
}

static void splitmix_gives_the_published_numbers(void **state)
{
    uint64_t seed = 1234567;

    (void)state;
    assert_true(md_splitmix64(&seed) == 6457827717110365317ull);
    assert_true(md_splitmix64(&seed) == 3203168211198807973ull);
}

static void counters_add_subtract_and_keep_a_high_mark(void **state)
{
    struct md_ctr ctr = { 0 }, high = { 0 };

    (void)state;
    md_ctr_add(&ctr, 5);
    md_ctr_inc(&ctr);
    assert_true(md_ctr_get(&ctr) == 6);
    md_ctr_raise(&high, 4);
    md_ctr_raise(&high, 3);
    assert_true(md_ctr_get(&high) == 4);
    assert_true(md_ctr_add_shared(&ctr, 10) == 16);
}

static void every_value_lies_in_its_bucket_and_buckets_are_narrow(void **state)
{
    struct md_prng prng = md_prng_init(1);

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t value = md_prng_u64(&prng) >> md_prng_below(&prng, 64);
        uint32_t bucket = md_hist_bucket(value);
        assert_true(bucket < MD_HIST_BUCKET_COUNT);
        uint64_t low = md_hist_bucket_low(bucket), high = md_hist_bucket_high(bucket);
        assert_true(low <= value && value <= high);
        assert_true(high - low <= value / 128);
    }
    assert_int_equal(md_hist_bucket(UINT64_MAX), MD_HIST_BUCKET_COUNT - 1);
    assert_int_equal(md_hist_bucket(0), 0);
}

static int compare(const void *a, const void *b)
{
    uint64_t x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x < y ? -1 : x > y;
}

static void percentiles_agree_with_sorting(void **state)
{
    static uint64_t values[50000];
    static const double percentiles[] = { 0, 1, 25, 50, 90, 99, 99.9, 99.99, 100 };
    struct md_hist *hist = calloc(1, sizeof(*hist));
    struct md_prng prng = md_prng_init(7);
    double sum = 0, squares = 0;

    (void)state;
    md_hist_init(hist);
    for (size_t i = 0; i < 50000; i++) {
        values[i] = md_prng_u64(&prng) >> (20 + md_prng_below(&prng, 30));
        md_hist_record(hist, values[i]);
        sum += (double)values[i];
    }
    qsort(values, 50000, sizeof(values[0]), compare);
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
        size_t rank = (size_t)ceil(percentiles[i] / 100 * 50000);
        uint64_t exact = values[rank ? rank - 1 : 0];
        uint64_t got = md_hist_percentile(hist, percentiles[i]);
        assert_true(got >= exact && got - exact <= exact / 128);
    }
    double mean = sum / 50000;
    for (size_t i = 0; i < 50000; i++)
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    assert_true(md_hist_min(hist) == values[0] && md_hist_max(hist) == values[49999]);
    assert_true(fabs(md_hist_mean(hist) / mean - 1) < 1e-9);
    assert_true(fabs(md_hist_stddev(hist) / sqrt(squares / 50000) - 1) < 0.01);
    free(hist);
}

static void an_empty_histogram_answers_zero_and_prints(void **state)
{
    struct md_hist *hist = calloc(1, sizeof(*hist));
    char *text = NULL;
    size_t length = 0;

    (void)state;
    md_hist_init(hist);
    assert_true(md_hist_percentile(hist, 99) == 0 && md_hist_min(hist) == 0);
    assert_true(md_hist_mean(hist) == 0 && md_hist_stddev(hist) == 0);
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(md_hist_print(hist, out, 1, 5), MD_OK);
    md_hist_record(hist, 1500);
    assert_int_equal(md_hist_print(hist, out, 1000, 5), MD_OK);
    fclose(out);
    assert_non_null(strstr(text, "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"));
    assert_non_null(strstr(text, "       1.500 1.000000000000          1            inf\n"));
    assert_non_null(strstr(text, "#[Max     =        1.500, Total count    =            1]\n"));
    free(text);
    free(hist);
}

struct thing {
    char name[24];
    int seen;
};

static void a_table_finds_what_was_put_and_not_removed(void **state)
{
    enum { COUNT = 3000 };
    static struct thing things[COUNT];
    struct md_table *table;

    (void)state;
    assert_int_equal(md_table_create(10, &table), MD_OK);
    for (int i = 0; i < COUNT; i++) {
        snprintf(things[i].name, sizeof(things[i].name), "IDN.R%07d.O", i);
        things[i].seen = 0;
        assert_int_equal(md_table_put(table, things[i].name, strlen(things[i].name), &things[i]),
                         MD_OK);
    }
    assert_int_equal(md_table_put(table, "IDN.R0000000.O", 14, table), MD_ERR_EXISTS);
    for (int i = 0; i < COUNT; i += 3)
        assert_ptr_equal(md_table_remove(table, things[i].name, strlen(things[i].name)),
                         &things[i]);
    for (int i = 0; i < COUNT; i++)
        assert_ptr_equal(md_table_get(table, things[i].name, strlen(things[i].name)),
                         i % 3 ? &things[i] : NULL);
    assert_null(md_table_remove(table, "nobody", 6));
    md_table_destroy(table);
}

struct numbered {
    uint32_t key;
    int seen;
};

static void a_walk_meets_everything_once_even_while_it_removes(void **state)
{
    enum { COUNT = 5000 };
    static struct numbered things[COUNT];
    struct md_table *table;
    struct md_prng prng = md_prng_init(3);

    (void)state;
    assert_int_equal(md_table_create(COUNT, &table), MD_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        things[i] = (struct numbered){ .key = i * 64 };
        assert_int_equal(md_table_put(table, &things[i].key, 4, &things[i]), MD_OK);
    }
    struct md_table_walk walk = { 0 };
    struct numbered *at;
    while ((at = md_table_next(table, &walk)) != NULL) {
        at->seen++;
        if (md_prng_below(&prng, 2))
            assert_ptr_equal(md_table_remove(table, &at->key, 4), at);
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(things[i].seen, 1);
    md_table_destroy(table);
}

static void tables_agree_with_an_array_under_random_use(void **state)
{
    enum { KEYS = 600 };
    static struct numbered objects[KEYS];
    bool is_in[KEYS] = { false };
    struct md_prng prng = md_prng_init(11);
    struct md_table *table;

    (void)state;
    assert_int_equal(md_table_create(1, &table), MD_OK);
    for (uint32_t i = 0; i < KEYS; i++)
        objects[i].key = i;
    for (int i = 0; i < 100000; i++) {
        uint32_t key = md_prng_below(&prng, KEYS);
        if (md_prng_below(&prng, 2)) {
            assert_int_equal(md_table_put(table, &objects[key].key, 4, &objects[key]),
                             is_in[key] ? MD_ERR_EXISTS : MD_OK);
            is_in[key] = true;
        } else {
            assert_ptr_equal(md_table_remove(table, &key, 4), is_in[key] ? &objects[key] : NULL);
            is_in[key] = false;
        }
        key = md_prng_below(&prng, KEYS);
        assert_ptr_equal(md_table_get(table, &key, 4), is_in[key] ? &objects[key] : NULL);
    }
    md_table_destroy(table);
}

static void each_character_and_nothing_else_is_utf8(void **state)
{
    static const char *const broken[] = {
        "\x80",     "\xbf",         "\xc0\x80",         "\xc1\xbf",
        "\xc3",     "\xc3\x41",     "\xe0\x9f\xbf",     "\xed\xa0\x80",
        "\xe2\x82", "\xe2\x82\x41", "\xf0\x9f",         "\xf8",
        "\xff",     "\xe2\x41\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
    };
    (void)state;

    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        uint8_t bytes[4];
        size_t length = (size_t)(md_utf8_put(bytes, c) - bytes);

        if (c >= 0xd800 && c < 0xe000)
            assert_int_equal(md_utf8_length(bytes, length), 0);
        else
            assert_int_equal(md_utf8_length(bytes, length), length);
        if (length > 1)
            assert_int_equal(md_utf8_length(bytes, length - 1), 0);
    }
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        assert_int_equal(md_utf8_length((const uint8_t *)broken[i], strlen(broken[i])), 0);
}

static void a_file_is_read_whole_or_up_to_the_limit(void **state)
{
    const char *tmp = getenv("TMPDIR");
    char path[1024];
    size_t length;
    (void)state;

    snprintf(path, sizeof(path), "%s/test_base_values.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    for (unsigned i = 0; i < 200000; i++)
        fputc((int)(i % 251), file);
    fclose(file);
    char *bytes = md_file_load(path, 200000, &length);
    assert_non_null(bytes);
    assert_int_equal(length, 200000);
    for (unsigned i = 0; i < length; i++)
        assert_int_equal((uint8_t)bytes[i], i % 251);
    free(bytes);
    assert_null(md_file_load(path, 199999, &length));
    assert_int_equal(errno, EFBIG);
    assert_int_equal(length, 0);
    unlink(path);
    assert_null(md_file_load(path, 1, &length));
    assert_null(md_file_load("/", 1, &length));
}

static void cpu_lists_are_read_and_written(void **state)
{
    static const struct {
        const char *text;
        int err;
        const char *again;
    } cases[] = {
        { "", MD_OK, "" },
        { "3", MD_OK, "3" },
        { " 0-3 , 8,10 - 11 ", MD_OK, "0-3,8,10-11" },
        { "5,4,3", MD_OK, "3-5" },
        { "1023", MD_OK, "1023" },
        { "1024", MD_ERR_RANGE, "" },
        { "99999999999999999999", MD_ERR_RANGE, "" },
        { "3-1", MD_ERR_RANGE, "" },
        { "1,", MD_ERR_MALFORMED, "" },
        { ",1", MD_ERR_MALFORMED, "" },
        { "1-", MD_ERR_MALFORMED, "" },
        { "one", MD_ERR_MALFORMED, "" },
        { "1 2", MD_ERR_MALFORMED, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct md_cpu_set set;
        char text[64];
        assert_int_equal(md_cpu_set_parse(cases[i].text, &set), cases[i].err);
        assert_int_equal(md_cpu_set_format(&set, text, sizeof(text)), MD_OK);
        assert_string_equal(text, cases[i].again);
    }
    struct md_cpu_set some;
    char small[4];
    assert_int_equal(md_cpu_set_parse("0-3,8", &some), MD_OK);
    assert_int_equal(md_cpu_set_count(&some), 5);
    assert_int_equal(md_cpu_set_format(&some, small, sizeof(small)), MD_ERR_SHORT);
}

static void a_thread_can_be_bound_to_what_it_is_allowed(void **state)
{
    struct md_cpu_set allowed, one = { 0 }, now;
    unsigned cpu = 0;

    (void)state;
    assert_int_equal(md_cpu_allowed(&allowed), MD_OK);
    while (!md_cpu_set_has(&allowed, cpu))
        cpu++;
    md_cpu_set_add(&one, cpu);
    assert_int_equal(md_cpu_bind(&one), MD_OK);
    assert_int_equal(md_cpu_allowed(&now), MD_OK);
    assert_memory_equal(&now, &one, sizeof(one));
    assert_int_equal(md_cpu_bind(&allowed), MD_OK);
    assert_true(md_cpu_node(cpu) >= 0);
    assert_int_equal(md_cpu_node(MD_CPU_MAX - 1), MD_NODE_ANY);
    assert_int_equal(md_node_use(md_cpu_node(cpu)), MD_OK);
    assert_int_equal(md_cpu_allowed(&now), MD_OK);
    assert_true(md_cpu_set_has(&now, cpu));
    assert_int_equal(md_node_use(MD_NODE_ANY), MD_ERR_RANGE);
    assert_int_equal(md_node_use(1 << 20), MD_ERR_RANGE);
    assert_int_equal(md_sched_set(MD_SCHED_FIFO, 0), MD_ERR_RANGE);
    assert_int_equal(md_sched_set(MD_SCHED_OTHER, 20), MD_ERR_RANGE);
    /* Less would need a privilege where the tests were started nicely. */
    assert_int_equal(md_sched_set(MD_SCHED_OTHER, getpriority(PRIO_PROCESS, 0)), MD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_never_runs_backwards),
        cmocka_unit_test(the_monotonic_clock_of_a_thread_that_sleeps_stays_with_that_of_the_kernel),
        cmocka_unit_test(the_wall_clock_can_be_shifted_for_tests),
        cmocka_unit_test(the_same_seed_gives_the_same_numbers),
        cmocka_unit_test(splitmix_gives_the_published_numbers),
        cmocka_unit_test(counters_add_subtract_and_keep_a_high_mark),
        cmocka_unit_test(every_value_lies_in_its_bucket_and_buckets_are_narrow),
        cmocka_unit_test(percentiles_agree_with_sorting),
        cmocka_unit_test(an_empty_histogram_answers_zero_and_prints),
        cmocka_unit_test(a_table_finds_what_was_put_and_not_removed),
        cmocka_unit_test(a_walk_meets_everything_once_even_while_it_removes),
        cmocka_unit_test(tables_agree_with_an_array_under_random_use),
        cmocka_unit_test(each_character_and_nothing_else_is_utf8),
        cmocka_unit_test(a_file_is_read_whole_or_up_to_the_limit),
        cmocka_unit_test(cpu_lists_are_read_and_written),
        cmocka_unit_test(a_thread_can_be_bound_to_what_it_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
