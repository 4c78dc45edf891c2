/* test_delay_dir.c - files of delayed data: written and read by a thread, found again, one owner.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "srcdist/delay_dir.h"

#define LONGEST 1000

static char folder[300];
static char why[900];

static int setup(void **state)
{
    const char *temporary = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/delay_dir.XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int teardown(void **state)
{
    char path[400];

    (void)state;
    snprintf(path, sizeof(path), "%s/x/lock", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/x", folder);
    rmdir(path);
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

static struct delay_dir *open_dir(void)
{
    struct delay_dir *dir;

    if (delay_dir_open(folder, "x", why, sizeof(why), &dir) != MD_OK)
        fail_msg("%s", why);
    return dir;
}

/* However long the thread takes. */
static int read_chunk(const struct delay_disk *disk, uint64_t chunk, uint8_t *bytes, size_t *length)
{
    int err;

    while ((err = disk->read(disk->context, chunk, bytes, LONGEST, length)) == MD_ERR_AGAIN)
        usleep(1000);
    return err;
}

static void chunks_are_read_as_they_were_written_also_by_the_next_process(void **state)
{
    struct delay_dir *dir = open_dir();
    struct delay_disk disk = delay_dir_disk(dir);
    uint8_t out[LONGEST], in[LONGEST];
    uint64_t chunk = 0;
    size_t length;

    (void)state;
    assert_int_equal(disk.next(disk.context, 0, &chunk, &length), MD_ERR_NOT_FOUND);
    for (unsigned i = 1; i <= 20; i++) {
        memset(out, (int)i, sizeof(out));
        assert_int_equal(disk.write(disk.context, i, out, i * 50), MD_OK);
    }
    for (unsigned i = 1; i <= 20; i++) {
        assert_int_equal(read_chunk(&disk, i, in, &length), MD_OK);
        assert_int_equal(length, i * 50);
        memset(out, (int)i, sizeof(out));
        assert_memory_equal(in, out, length);
    }
    for (unsigned i = 1; i <= 18; i++)
        disk.remove(disk.context, i);
    delay_dir_close(dir);
    dir = open_dir();
    disk = delay_dir_disk(dir);
    assert_int_equal(disk.next(disk.context, 0, &chunk, &length), MD_OK);
    assert_int_equal(chunk, 19);
    assert_int_equal(length, 950);
    assert_int_equal(disk.next(disk.context, chunk, &chunk, &length), MD_OK);
    assert_int_equal(chunk, 20);
    assert_int_equal(disk.next(disk.context, chunk, &chunk, &length), MD_ERR_NOT_FOUND);
    assert_int_equal(read_chunk(&disk, 20, in, &length), MD_OK);
    assert_int_equal(length, 1000);
    assert_int_equal(read_chunk(&disk, 18, in, &length), MD_ERR_NOT_FOUND);
    disk.remove(disk.context, 19);
    disk.remove(disk.context, 20);
    delay_dir_close(dir);
}

static void only_the_owner_reads_them_and_one_process_at_a_time(void **state)
{
    struct delay_dir *dir = open_dir(), *second;
    struct stat info;
    char path[400];

    (void)state;
    assert_int_equal(delay_dir_open(folder, "x", why, sizeof(why), &second), MD_ERR_STATE);
    assert_non_null(strstr(why, "another process uses it"));
    snprintf(path, sizeof(path), "%s/x", folder);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    delay_dir_close(dir);
    assert_int_equal(delay_dir_open("/proc/none", "x", why, sizeof(why), &second), MD_ERR_SYS);
    assert_non_null(strstr(why, "cannot be made"));
}

static void a_line_learns_of_a_file_that_cannot_be_written(void **state)
{
    struct delay_dir *dir = open_dir();
    struct delay_disk disk = delay_dir_disk(dir);
    uint8_t bytes[LONGEST] = { 0 };
    char path[400];
    size_t length;

    (void)state;
    /* A folder stands where the file would be. */
    snprintf(path, sizeof(path), "%s/x/0000000000000001.chunk", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(disk.write(disk.context, 1, bytes, 100), MD_OK);
    while (read_chunk(&disk, 1, bytes, &length) == MD_OK)
        usleep(1000); /* it waits to be written */
    assert_int_equal(disk.write(disk.context, 2, bytes, 100), MD_ERR_FULL);
    assert_int_equal(disk.write(disk.context, 3, bytes, 100), MD_OK);
    assert_int_equal(rmdir(path), 0);
    disk.remove(disk.context, 3);
    delay_dir_close(dir);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(chunks_are_read_as_they_were_written_also_by_the_next_process),
        TEST(only_the_owner_reads_them_and_one_process_at_a_time),
        TEST(a_line_learns_of_a_file_that_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
