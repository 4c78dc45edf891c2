/* test_stats_history.c - an hour of samples is kept, in order, in a file of bounded size. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "stats/history.h"

#define DAEMON "p2ps.1"

static char folder[PATH_MAX / 4];
static char path[PATH_MAX / 2];
static struct stats_sample found[STATS_HISTORY_CAPACITY];

static int set_up(void **state)
{
    const char *tmp = getenv("TMPDIR");
    struct stats_history *history;

    snprintf(folder, sizeof(folder), "%s/history.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder) || stats_history_open(folder, DAEMON, &history) != MD_OK)
        return -1;
    snprintf(path, sizeof(path), "%s/" DAEMON "/" STATS_HISTORY_FILE, folder);
    *state = history;
    return 0;
}

static int tear_down(void **state)
{
    char inner[PATH_MAX / 2];

    stats_history_close(*state);
    unlink(path);
    snprintf(inner, sizeof(inner), "%s/" DAEMON, folder);
    return rmdir(inner) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void add(struct stats_history *history, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        struct stats_sample sample = { .wall_ns = i };

        sample.values[STATS_HISTORY_IN] = (float)i;
        sample.values[STATS_HISTORY_ITEMS] = (float)(2 * i);
        stats_history_add(history, &sample);
    }
}

static void expect(int count, int wanted, unsigned first)
{
    assert_int_equal(count, wanted);
    for (int i = 0; i < count; i++) {
        assert_int_equal(found[i].wall_ns, first + (unsigned)i);
        assert_true(found[i].values[STATS_HISTORY_ITEMS] == (float)(2 * (first + (unsigned)i)));
    }
}

static void samples_are_read_in_their_order(void **state)
{
    expect(stats_history_read(folder, DAEMON, getpid(), found), 0, 0);
    add(*state, 0, 3);
    expect(stats_history_read(folder, DAEMON, getpid(), found), 3, 0);
    expect((int)stats_history_copy(*state, found), 3, 0);
}

static void the_oldest_ones_are_written_over(void **state)
{
    const unsigned all = STATS_HISTORY_CAPACITY;

    add(*state, 0, all);
    expect((int)stats_history_copy(*state, found), (int)all, 0);
    /* Of another process: without the one that may be half written over just now. */
    expect(stats_history_read(folder, DAEMON, getpid(), found), (int)all - 1, 1);
    add(*state, all, 2 * all + 7);
    expect((int)stats_history_copy(*state, found), (int)all, all + 7);
    expect(stats_history_read(folder, DAEMON, getpid(), found), (int)all - 1, all + 8);
}

static void a_file_of_another_process_is_not_its_history(void **state)
{
    add(*state, 0, 3);
    assert_int_equal(stats_history_read(folder, DAEMON, getpid() + 1, found), MD_ERR_MALFORMED);
    assert_true(stats_history_read(folder, "p2ps.2", getpid(), found) < 0);
}

static void put(off_t at, uint64_t value)
{
    int fd = open(path, O_WRONLY);

    assert_true(fd >= 0 && pwrite(fd, &value, sizeof(value), at) == sizeof(value));
    close(fd);
}

static void a_file_that_lies_does_no_harm(void **state)
{
    struct stats_sample *ring = found;

    add(*state, 0, 3);
    put(32, UINT64_MAX); /* the count */
    assert_true(stats_history_read(folder, DAEMON, getpid(), ring) <
                (int)STATS_HISTORY_CAPACITY + 1);
    put(32, STATS_HISTORY_CAPACITY * 5ull);
    assert_int_equal(stats_history_read(folder, DAEMON, getpid(), ring),
                     STATS_HISTORY_CAPACITY - 1);
    put(16, 1u << 30); /* the capacity */
    assert_int_equal(stats_history_read(folder, DAEMON, getpid(), ring), MD_ERR_MALFORMED);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(stats_history_read(folder, DAEMON, getpid(), ring), MD_ERR_MALFORMED);
}

static void a_link_is_not_followed(void **state)
{
    (void)state;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_true(stats_history_read(folder, DAEMON, getpid(), found) < 0);
}

static void what_a_killed_one_left_is_replaced(void **state)
{
    struct stats_history *second;
    struct stat st;

    add(*state, 0, 3);
    assert_int_equal(stats_history_open(folder, DAEMON, &second), MD_OK);
    expect(stats_history_read(folder, DAEMON, getpid(), found), 0, 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(st.st_size, 64 + STATS_HISTORY_CAPACITY * sizeof(struct stats_sample));
    stats_history_close(second);
    assert_int_equal(access(path, F_OK), -1);
}

static void without_a_folder_it_is_kept_in_memory(void **state)
{
    struct stats_history *history;

    (void)state;
    assert_int_equal(stats_history_open(NULL, "", &history), MD_OK);
    add(history, 0, 3);
    expect((int)stats_history_copy(history, found), 3, 0);
    stats_history_close(history);
    stats_history_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(samples_are_read_in_their_order),
        TEST(the_oldest_ones_are_written_over),
        TEST(a_file_of_another_process_is_not_its_history),
        TEST(a_file_that_lies_does_no_harm),
        TEST(a_link_is_not_followed),
        TEST(what_a_killed_one_left_is_replaced),
        TEST(without_a_folder_it_is_kept_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
