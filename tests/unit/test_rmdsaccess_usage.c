/* test_rmdsaccess_usage.c - which user had which items, by entitlement code, from a trail. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "base/err.h"
#include "tools/rmdsaccess/usage.h"

#define HEAD "user,vendor_service,code,items,opens,snapshots,first,last\n"
#define DAY  86400000000000ll

static char path[300];
static struct audit *trail;
static char report[4096];

/* Locks of these codes of vendor service 257. */
static const struct entitle_view no_lock = { "", 0 };
static const struct entitle_view code_62 = { "\x03\x01\x01\x62\xc0", 5 };
static const struct entitle_view code_62_and_5 = { "\x03\x01\x01\x5a\x62\xc0", 6 };
static const struct entitle_view bad_lock = { "\x03\x01\x01\x62", 4 };

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

static void say(enum entitle_record_kind kind, const char *user, const char *item,
                struct entitle_view lock)
{
    const struct entitle_record record = {
        .kind = kind,
        .domain = 6,
        .text = { [ENTITLE_TEXT_USER] = view(user),
                  [ENTITLE_TEXT_SERVICE] = view("RDFD"),
                  [ENTITLE_TEXT_ITEM] = view(item),
                  [ENTITLE_TEXT_LOCK] = lock },
    };

    assert_true(audit_put(trail, 0, &record));
}

/* At noon of the first of January 2027, so many days later. */
static void on_day(int day)
{
    int64_t noon_ns = 1798804800000000000ll + day * DAY;

    md_clock_wall_shift(0);
    md_clock_wall_shift(noon_ns - (int64_t)md_clock_wall_ns());
}

/* A line of the report, without its times. */
static const char *reported(const char *from, const char *to)
{
    FILE *out = fmemopen(report, sizeof(report), "w");
    char *at = report;

    audit_close(trail);
    trail = NULL;
    assert_non_null(out);
    int code = audit_usage(path, from, to, out);
    fclose(out);
    assert_int_equal(code, 0);
    assert_memory_equal(report, HEAD, strlen(HEAD));
    memmove(report, report + strlen(HEAD), strlen(report + strlen(HEAD)) + 1);
    while ((at = strstr(at, ",2027-"))) {
        char *end = strchr(at, '\n');
        memmove(at, end, strlen(end) + 1);
    }
    return report;
}

static int set_up(void **state)
{
    const char *tmp = getenv("TMPDIR");
    char why[512];

    (void)state;
    snprintf(path, sizeof(path), "%s/usage-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    const struct audit_config config = { .path = path, .rings = 1, .ring_bytes = 65536 };
    on_day(0);
    return audit_open(&config, why, sizeof(why), &trail);
}

static int clean_up(void **state)
{
    (void)state;
    audit_close(trail);
    trail = NULL;
    md_clock_wall_shift(0);
    return unlink(path);
}

static void each_code_of_a_lock_is_used(void **state)
{
    (void)state;
    say(ENTITLE_RECORD_OPEN, "alice", "IBM.N", code_62_and_5);
    say(ENTITLE_RECORD_OPEN, "bob", "IBM.N", code_62_and_5);
    say(ENTITLE_RECORD_OPEN, "alice", "DELL.O", code_62);
    assert_string_equal(reported(NULL, NULL), "\"alice\",257,5,1,1,0\n"
                                              "\"alice\",257,62,2,2,0\n"
                                              "\"bob\",257,5,1,1,0\n"
                                              "\"bob\",257,62,1,1,0\n");
}

static void an_item_opened_twice_is_one_item(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        say(ENTITLE_RECORD_OPEN, "alice", "IBM.N", code_62);
        say(ENTITLE_RECORD_CLOSE, "alice", "IBM.N", code_62);
    }
    assert_string_equal(reported(NULL, NULL), "\"alice\",257,62,1,2,0\n");
}

static void a_lock_that_comes_later_is_that_of_the_streams_that_wait(void **state)
{
    (void)state;
    say(ENTITLE_RECORD_OPEN, "alice", "IBM.N", no_lock);
    say(ENTITLE_RECORD_LOCK, "", "IBM.N", code_62);
    say(ENTITLE_RECORD_OPEN, "bob", "DELL.O", no_lock); /* has none */
    say(ENTITLE_RECORD_CLOSE, "bob", "DELL.O", no_lock);
    assert_string_equal(reported(NULL, NULL), "\"alice\",257,62,1,1,0\n\"bob\",-,-,1,1,0\n");
}

static void a_lock_that_changes_is_used_by_who_has_the_item_open(void **state)
{
    (void)state;
    say(ENTITLE_RECORD_OPEN, "alice", "IBM.N", code_62);
    say(ENTITLE_RECORD_OPEN, "bob", "IBM.N", code_62);
    say(ENTITLE_RECORD_CLOSE, "bob", "IBM.N", code_62);
    say(ENTITLE_RECORD_LOCK, "", "IBM.N", code_62_and_5);
    assert_string_equal(reported(NULL, NULL), "\"alice\",257,5,1,0,0\n"
                                              "\"alice\",257,62,1,1,0\n"
                                              "\"bob\",257,62,1,1,0\n");
}

static void an_unreadable_lock_is_said(void **state)
{
    (void)state;
    say(ENTITLE_RECORD_OPEN, "alice", "IBM.N", bad_lock);
    assert_string_equal(reported(NULL, NULL), "\"alice\",?,?,1,1,0\n");
}

static void an_item_open_since_before_is_used_in_the_time_of_the_report(void **state)
{
    (void)state;
    say(ENTITLE_RECORD_OPEN, "alice", "IBM.N", code_62);
    say(ENTITLE_RECORD_OPEN, "bob", "IBM.N", code_62);
    say(ENTITLE_RECORD_CLOSE, "bob", "IBM.N", code_62);
    on_day(2);
    say(ENTITLE_RECORD_OPEN, "carol", "IBM.N", code_62);
    on_day(4);
    say(ENTITLE_RECORD_OPEN, "dave", "IBM.N", code_62);
    assert_string_equal(reported("2027-01-02", "2027-01-04"),
                        "\"alice\",257,62,1,0,0\n\"carol\",257,62,1,1,0\n");
}

static void a_trail_that_was_changed_has_no_report(void **state)
{
    (void)state;
    say(ENTITLE_RECORD_OPEN, "alice", "IBM.N", code_62);
    say(ENTITLE_RECORD_OPEN, "bob", "IBM.N", code_62);
    audit_close(trail);
    trail = NULL;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 120, SEEK_SET);
    fputc('~', file);
    fclose(file);
    FILE *out = fmemopen(report, sizeof(report), "w");
    report[0] = '\0';
    assert_int_equal(audit_usage(path, NULL, NULL, out), 1);
    fclose(out);
    assert_string_equal(report, "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_code_of_a_lock_is_used),
        TEST(an_item_opened_twice_is_one_item),
        TEST(a_lock_that_comes_later_is_that_of_the_streams_that_wait),
        TEST(a_lock_that_changes_is_used_by_who_has_the_item_open),
        TEST(an_unreadable_lock_is_said),
        TEST(an_item_open_since_before_is_used_in_the_time_of_the_report),
        TEST(a_trail_that_was_changed_has_no_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
