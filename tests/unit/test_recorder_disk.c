/* test_recorder_disk.c - the files of a recorder: names that are taken, room that is left. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "disk.h"
#include "say.h"

/* ---- a file system that has as much room as the test says ---- */

static bool is_room_known = true;
static uint64_t blocks_left = 1000;

int statvfs(const char *restrict path, struct statvfs *restrict out)
{
    (void)path;
    if (!is_room_known) {
        errno = EIO;
        return -1;
    }
    *out = (struct statvfs){ .f_frsize = 4096, .f_bavail = blocks_left };
    return 0;
}

/* ---- the bed ---- */

static char folder[256];

static const char *in_folder(const char *name)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void take_name(const char *name)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static bool begin(bool is_patient, struct disk **out)
{
    char path[512];
    snprintf(path, sizeof(path), "%s", in_folder("day.rrec"));
    const struct disk_config config = {
        .path = path, .source = "here", .chunks = 2, .level = 1, .is_patient = is_patient
    };
    bool is_begun = disk_start(&config, out);

    disk_stop(*out); /* which has looked for room by then, and for a file */
    return is_begun;
}

static int make_folder(void **state)
{
    const char *parent = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/recorder-XXXXXX", parent ? parent : "/tmp");
    rec_is_daemon = true;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = { "day.rrec", "day.1.rrec", "day.2.rrec" };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unlink(in_folder(names[i]));
    return rmdir(folder);
}

/* ---- tests ---- */

static void names_that_are_taken_are_passed_by(void **state)
{
    char path[4096];
    struct disk_stats stats;
    struct disk *disk;

    (void)state;
    take_name("day.rrec");
    take_name("day.1.rrec");
    assert_true(begin(true, &disk));
    disk_path(disk, path, sizeof(path));
    assert_string_equal(path, in_folder("day.2.rrec"));
    disk_tried(disk, path, sizeof(path));
    assert_string_equal(path, in_folder("day.2.rrec"));
    disk_stats(disk, &stats);
    assert_int_equal(stats.error, 0);
    assert_int_equal(stats.files, 1);
    disk_destroy(disk);
}

static void a_file_that_cannot_be_begun_is_named(void **state)
{
    const struct disk_config config = {
        .path = "/proc/none/day.rrec", .source = "here", .chunks = 2, .is_patient = true
    };
    char path[4096];
    struct disk *disk;

    (void)state;
    assert_true(disk_start(&config, &disk));
    disk_stop(disk);
    disk_path(disk, path, sizeof(path));
    assert_string_equal(path, "");
    disk_tried(disk, path, sizeof(path));
    assert_string_equal(path, "/proc/none/day.rrec");
    disk_destroy(disk);
}

static void a_verb_refuses_a_name_that_is_taken(void **state)
{
    struct disk *disk;

    (void)state;
    take_name("day.rrec");
    assert_false(begin(false, &disk));
    assert_int_not_equal(access(in_folder("day.1.rrec"), F_OK), 0);
    disk_destroy(disk);
}

static void a_full_disk_is_not_an_unknown_one(void **state)
{
    struct disk_stats stats;
    struct disk *disk;

    (void)state;
    blocks_left = 0;
    assert_true(begin(true, &disk));
    disk_stats(disk, &stats);
    assert_true(stats.free == 0);
    disk_destroy(disk);
    is_room_known = false;
    assert_true(begin(true, &disk));
    disk_stats(disk, &stats);
    assert_true(stats.free == UINT64_MAX);
    disk_destroy(disk);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_that_are_taken_are_passed_by),
        TEST(a_file_that_cannot_be_begun_is_named),
        TEST(a_verb_refuses_a_name_that_is_taken),
        TEST(a_full_disk_is_not_an_unknown_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
