/* test_base_alloc.c - once set up, the data path of the base allocates nothing: counted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/ctr.h"
#include "base/err.h"
#include "base/hist.h"
#include "base/log.h"
#include "base/table.h"

#define TURNS   100000
#define OBJECTS 1024

/* ---- every call for memory of this program, by the linker's --wrap ---- */

/* volatile: a compiler may believe that malloc() changes nothing here. */
static _Thread_local volatile uint64_t calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_malloc(size_t size)
{
    calls++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    calls++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    calls++;
    return __real_realloc(old, size);
}

void *__wrap_mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset)
{
    calls++;
    return __real_mmap(where, size, protection, flags, fd, offset);
}

/* ---- the paths ---- */

static void the_counter_counts(void **state)
{
    uint64_t before = calls;
    struct md_table *table;

    (void)state;
    void *volatile ours = malloc(100); /* a pair of these may be left out, too */
    free(ours);
    assert_int_equal(calls, before + 1);
    /* Of the base library, too. */
    assert_int_equal(md_table_create(8, &table), MD_OK);
    assert_true(calls > before + 1);
    md_table_destroy(table);
}

static void tables_of_their_full_size_change_without(void **state)
{
    static uint64_t keys[OBJECTS];
    struct md_table *names;

    (void)state;
    assert_int_equal(md_table_create(OBJECTS, &names), MD_OK);
    uint64_t before = calls;
    for (int turn = 0; turn < 20; turn++) {
        for (uint64_t i = 0; i < OBJECTS; i++) {
            keys[i] = i + (uint64_t)turn * OBJECTS;
            assert_int_equal(md_table_put(names, &keys[i], sizeof(keys[i]), &keys[i]), MD_OK);
        }
        for (uint64_t i = 0; i < OBJECTS; i++) {
            assert_ptr_equal(md_table_remove(names, &keys[i], sizeof(keys[i])), &keys[i]);
        }
    }
    assert_int_equal(calls, before);
    md_table_destroy(names);
}

static void figures_clocks_and_log_lines_are_taken_without(void **state)
{
    static struct md_hist hist;
    static struct md_ctr counter;
    struct md_log_config config = {
        .identity = "h.1.test",
        .targets = MD_LOG_TO_FILE,
        .path = "/dev/null",
        .severity_max = MD_LOG_INFO,
    };

    (void)state;
    md_clock_init();
    md_hist_init(&hist);
    assert_int_equal(md_log_open(&config), MD_OK);
    md_log(MD_LOG_INFO, "the first line of a process may cost more");
    uint64_t before = calls;
    for (uint64_t i = 0; i < TURNS; i++) {
        md_hist_record(&hist, md_clock_mono_ns() & 0xffffff);
        md_ctr_inc(&counter);
        if (i % 1000 == 0)
            md_log(MD_LOG_INFO, "line %llu of %s", (unsigned long long)i, "many");
    }
    assert_int_equal(calls, before);
    md_log_close();
    assert_int_equal(md_ctr_get(&counter), TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counter_counts),
        cmocka_unit_test(tables_of_their_full_size_change_without),
        cmocka_unit_test(figures_clocks_and_log_lines_are_taken_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
