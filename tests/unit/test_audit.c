/* test_audit.c - the audit trail: a chain of lines that shows each change, and each loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/err.h"

static char folder[256];
static char path[300];
static char why[512];

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

static struct entitle_record login_of(const char *user)
{
    return (struct entitle_record){
        .kind = ENTITLE_RECORD_LOGIN,
        .session = 7,
        .text = { [ENTITLE_TEXT_USER] = view(user),
                  [ENTITLE_TEXT_ADDRESS] = view("10.1.0.7:5122") },
    };
}

static struct audit *start(uint64_t size_max, unsigned keep, size_t ring_bytes)
{
    const struct audit_config config = {
        .path = path, .size_max = size_max, .keep = keep, .rings = 2, .ring_bytes = ring_bytes
    };
    struct audit *audit = NULL;

    if (audit_open(&config, why, sizeof(why), &audit) != MD_OK)
        fail_msg("%s", why);
    return audit;
}

static void write_logins(unsigned count)
{
    struct audit *audit = start(0, 0, 1 << 20);
    const struct entitle_record record = login_of("alice");

    for (unsigned i = 0; i < count; i++)
        assert_true(audit_put(audit, 0, &record));
    audit_close(audit);
}

static char *slurp(const char *name, size_t *length)
{
    FILE *file = fopen(name, "rb");
    char *text = calloc(1, 1 << 22);

    assert_non_null(file);
    assert_non_null(text);
    *length = fread(text, 1, (1 << 22) - 1, file);
    fclose(file);
    return text;
}

static void spill(const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static struct audit_check check_with(int want)
{
    struct audit_check check = { .wanted = 0 };
    int err = audit_check(path, NULL, NULL, &check);

    if (err != want)
        fail_msg("%s", check.wrong);
    return check;
}

static int set_up(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/audit-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/trail", folder);
    return 0;
}

static int clean_up(void **state)
{
    char name[320];

    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), i ? "%s.%u" : "%s", path, i);
        unlink(name);
    }
    return rmdir(folder);
}

/* ---- lines ---- */

static void a_line_is_json_with_what_is_known(void **state)
{
    struct audit *audit = start(0, 0, 1 << 16);
    const struct entitle_record record = {
        .kind = ENTITLE_RECORD_OPEN,
        .is_denied = true,
        .domain = 6,
        .code = 3,
        .session = 77,
        .text = { [ENTITLE_TEXT_USER] = view("al\"ice\n}"),
                  [ENTITLE_TEXT_SERVICE] = view("RDFD"),
                  [ENTITLE_TEXT_ITEM] = view("S\xc3\xbc\xff"),
                  [ENTITLE_TEXT_LOCK] = { "\x03\x01\x01\x65\x62\xc0", 6 },
                  [ENTITLE_TEXT_WHY] = view("no") },
    };
    size_t length;

    (void)state;
    assert_true(audit_put(audit, 1, &record));
    audit_close(audit);
    char *text = slurp(path, &length);
    assert_memory_equal(text, "{\"n\":1,\"prev\":\"0000", 19);
    assert_non_null(
        strstr(text, "\",\"e\":\"open\",\"v\":\"deny\",\"user\":\"al\\u0022ice\\u000a\\u007d\","
                     "\"svc\":\"RDFD\",\"item\":\"S\xc3\xbc\\u00ff\",\"dom\":6,"
                     "\"lock\":\"0301016562c0\",\"why\":\"no\",\"code\":3,"
                     "\"sid\":\"1.77\"}\n"));
    free(text);
}

static void the_chain_goes_on_in_the_next_process(void **state)
{
    (void)state;
    write_logins(3);
    write_logins(2);
    struct audit_check check = check_with(MD_OK);
    assert_int_equal(check.lines, 5);
    assert_int_equal(check.first, 1);
    assert_int_equal(check.last, 5);
}

static void the_chain_goes_on_in_the_next_file_and_the_oldest_goes(void **state)
{
    struct audit *audit = start(400, 3, 1 << 20);
    const struct entitle_record record = login_of("alice");
    char name[320];

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        struct audit_stats stats;
        assert_true(audit_put(audit, 0, &record));
        do { /* until it is written: each batch is a file */
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
            audit_stats(audit, &stats);
        } while (stats.written <= i);
    }
    audit_close(audit);
    struct audit_check check = check_with(MD_OK);
    assert_int_equal(check.files, 4);
    assert_int_equal(check.last, 40);
    assert_true(check.first > 1);
    snprintf(name, sizeof(name), "%s.4", path);
    assert_int_not_equal(access(name, F_OK), 0);
    /* One of them is missing: the others do not follow on each other. The newest would not be
     * missed where nothing is written behind it yet. */
    snprintf(name, sizeof(name), "%s.2", path);
    char other[320];
    snprintf(other, sizeof(other), "%s.3", path);
    assert_int_equal(rename(other, name), 0);
    check_with(MD_ERR_MALFORMED);
}

/* ---- what was changed shows ---- */

static void put_bytes(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The files that were put aside before stay, and the trail grows on. */
static void a_file_that_cannot_be_put_aside_costs_no_older_one(void **state)
{
    struct audit *audit = start(2000, 1, 1 << 20);
    const struct entitle_record record = login_of("alice");
    struct audit_stats stats;
    char aside[320], inside[320], old[320];
    struct stat st;

    (void)state;
    snprintf(aside, sizeof(aside), "%s.0", path); /* a folder: no file takes its name */
    snprintf(inside, sizeof(inside), "%s.0/in", path);
    snprintf(old, sizeof(old), "%s.1", path);
    assert_int_equal(mkdir(aside, 0700), 0);
    put_bytes(inside, "");
    put_bytes(old, "x");
    for (unsigned i = 0; i < 50; i++)
        assert_true(audit_put(audit, 0, &record));
    do {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        audit_stats(audit, &stats);
    } while (stats.errors == 0);
    audit_close(audit);
    assert_int_equal(stat(old, &st), 0);
    assert_int_equal(st.st_size, 1);
    assert_int_equal(unlink(old), 0);
    assert_int_equal(unlink(inside), 0);
    assert_int_equal(rmdir(aside), 0);
    assert_int_equal(check_with(MD_OK).lines, 50);
}

static void each_changed_byte_shows(void **state)
{
    size_t length;

    (void)state;
    write_logins(3);
    char *text = slurp(path, &length);
    size_t last = length - 2;
    while (text[last - 1] != '\n')
        last--;
    for (size_t i = 0; i < last; i++) {
        text[i] ^= 1;
        spill(text, length);
        struct audit_check check = { .wanted = 0 };
        if (audit_check(path, NULL, NULL, &check) == MD_OK)
            fail_msg("byte %zu was changed and nobody saw it", i);
        text[i] ^= 1;
    }
    free(text);
}

static void a_line_taken_out_or_put_in_shows(void **state)
{
    size_t length;

    (void)state;
    write_logins(4);
    char *text = slurp(path, &length);
    char *second = strchr(text, '\n') + 1;
    char *third = strchr(second, '\n') + 1;
    char *without = calloc(1, length), *twice = calloc(2, length);
    memcpy(without, text, (size_t)(second - text));
    memcpy(without + (second - text), third, length - (size_t)(third - text));
    spill(without, length - (size_t)(third - second));
    struct audit_check check = check_with(MD_ERR_MALFORMED);
    assert_non_null(strstr(check.wrong, ":2: its number does not follow"));
    memcpy(twice, text, (size_t)(third - text));
    memcpy(twice + (third - text), second, length - (size_t)(second - text));
    spill(twice, length + (size_t)(third - second));
    check_with(MD_ERR_MALFORMED);
    free(without);
    free(twice);
    free(text);
}

static void lines_cut_from_the_end_show_by_the_sum_of_the_log(void **state)
{
    size_t length;

    (void)state;
    write_logins(4);
    struct audit_check all = check_with(MD_OK);
    char *text = slurp(path, &length);
    spill(text, (size_t)(strchr(text, '\n') + 1 - text));
    check_with(MD_OK); /* by itself it looks whole */
    struct audit_check check = { .wanted = all.last };
    memcpy(check.wanted_sum, all.head, sizeof(check.wanted_sum));
    assert_int_equal(audit_check(path, NULL, NULL, &check), MD_ERR_MALFORMED);
    spill(text, length);
    assert_int_equal(audit_check(path, NULL, NULL, &check), MD_OK);
    check.wanted_sum[0] ^= 1;
    assert_int_equal(audit_check(path, NULL, NULL, &check), MD_ERR_MALFORMED);
    free(text);
}

/* ---- processes that were killed ---- */

static void a_part_of_a_line_is_tolerated_wherever_it_was_cut(void **state)
{
    size_t length;

    (void)state;
    write_logins(2);
    char *text = slurp(path, &length);
    size_t second = (size_t)(strchr(text, '\n') + 1 - text);
    for (size_t cut = 6; cut < length; cut++) {
        spill(text, cut);
        struct audit_check check = check_with(MD_OK);
        assert_int_equal(check.truncated, cut < second ? cut : cut - second);
        write_logins(1);
        check = check_with(MD_OK);
        assert_int_equal(check.truncated, 0);
        bool is_whole = cut == second - 1 || cut == second || cut == length - 1;
        assert_int_equal(check.cuts, is_whole ? 0 : 1);
    }
    free(text);
}

static void what_a_cut_line_accounts_for_cannot_be_changed(void **state)
{
    size_t length;

    (void)state;
    write_logins(2);
    char *text = slurp(path, &length);
    spill(text, length - 20);
    free(text);
    write_logins(1);
    check_with(MD_OK);
    text = slurp(path, &length);
    char *part = strchr(text, '\n') + 1;
    part[30] ^= 1;
    spill(text, length);
    check_with(MD_ERR_MALFORMED);
    free(text);
}

static void half_of_a_ring_is_kept_for_what_must_end(void **state)
{
    struct audit *audit = start(0, 0, 4096);
    const struct entitle_record record = login_of("alice");
    struct rlimit old, small = { 1000, RLIM_INFINITY };

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    unsigned put = 0;
    while (audit_has_room(audit, 0))
        put += audit_put(audit, 0, &record);
    assert_true(audit_put(audit, 0, &record)); /* the other half */
    assert_true(audit_has_room(audit, 1));
    setrlimit(RLIMIT_FSIZE, &old);
    audit_close(audit);
    struct audit_check check = check_with(MD_OK);
    assert_int_equal(check.lines, put + 1);
    assert_int_equal(check.lost, 0);
}

static void a_file_of_something_else_is_refused(void **state)
{
    const struct audit_config config = { .path = path, .rings = 1, .ring_bytes = 4096 };
    struct audit *audit, *second;

    (void)state;
    spill("hello\n", 6);
    assert_int_equal(audit_open(&config, why, sizeof(why), &audit), MD_ERR_SYS);
    assert_non_null(strstr(why, "does not end with lines of an audit trail"));
    unlink(path);
    audit = start(0, 0, 4096);
    assert_int_equal(audit_open(&config, why, sizeof(why), &second), MD_ERR_SYS);
    assert_non_null(strstr(why, "another process writes its audit trail there"));
    audit_close(audit);
}

/* ---- too much, and a disk without room ---- */

static void records_without_room_are_a_line_of_the_chain(void **state)
{
    struct audit *audit = start(0, 0, 4096);
    const struct entitle_record record = login_of("alice");
    uint64_t put = 0;

    (void)state;
    for (unsigned i = 0; i < 100000; i++)
        put += audit_put(audit, 0, &record);
    assert_true(put < 100000);
    audit_close(audit);
    struct audit_check check = check_with(MD_OK);
    assert_int_equal(check.lost, 100000 - put);
    assert_true(check.lines > put); /* the others, and lines that say how many are missing */
}

static void a_full_disk_costs_nothing_that_has_room_in_the_queue(void **state)
{
    struct audit *audit = start(0, 0, 1 << 16);
    const struct entitle_record record = login_of("alice");
    struct rlimit old, small = { 1000, RLIM_INFINITY };
    struct audit_stats stats;
    size_t length;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (unsigned i = 0; i < 20; i++)
        assert_true(audit_put(audit, i & 1, &record));
    do {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        audit_stats(audit, &stats);
    } while (stats.errors == 0);
    free(slurp(path, &length));
    assert_int_equal(length, 1000); /* it ends within a line */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    audit_close(audit);
    struct audit_check check = check_with(MD_OK);
    assert_int_equal(check.lines, 20);
    assert_int_equal(check.lost, 0);
}

/* ---- threads ---- */

struct producer {
    struct audit *audit;
    unsigned ring;
    uint64_t put;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;
    const struct entitle_record record = login_of("bob");

    for (unsigned i = 0; i < 20000; i++)
        producer->put += audit_put(producer->audit, producer->ring, &record);
    return NULL;
}

static void two_threads_write_one_chain(void **state)
{
    struct audit *audit = start(100000, 11, 1 << 14);
    struct producer producers[2] = { { .audit = audit, .ring = 0 }, { .audit = audit, .ring = 1 } };
    pthread_t threads[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    audit_reopen(audit);
    audit_close(audit);
    struct audit_check check = check_with(MD_OK);
    if (check.first == 1)
        assert_int_equal(check.lost, 40000 - producers[0].put - producers[1].put);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_is_json_with_what_is_known, set_up, clean_up),
        cmocka_unit_test_setup_teardown(the_chain_goes_on_in_the_next_process, set_up, clean_up),
        cmocka_unit_test_setup_teardown(the_chain_goes_on_in_the_next_file_and_the_oldest_goes,
                                        set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_put_aside_costs_no_older_one, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(each_changed_byte_shows, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_line_taken_out_or_put_in_shows, set_up, clean_up),
        cmocka_unit_test_setup_teardown(lines_cut_from_the_end_show_by_the_sum_of_the_log, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(a_part_of_a_line_is_tolerated_wherever_it_was_cut, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(what_a_cut_line_accounts_for_cannot_be_changed, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(a_file_of_something_else_is_refused, set_up, clean_up),
        cmocka_unit_test_setup_teardown(half_of_a_ring_is_kept_for_what_must_end, set_up, clean_up),
        cmocka_unit_test_setup_teardown(records_without_room_are_a_line_of_the_chain, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(a_full_disk_costs_nothing_that_has_room_in_the_queue,
                                        set_up, clean_up),
        cmocka_unit_test_setup_teardown(two_threads_write_one_chain, set_up, clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
