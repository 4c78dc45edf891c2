/* test_base_trace.c - time stamps of sampled ticks. */
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

#include "base/err.h"
#include "base/trace.h"

#define RECORDS_MAX 64

static char path[256];
static struct md_trace_head head;
static struct md_trace_record records[RECORDS_MAX];
static uint8_t messages[4][90];

static int make_path(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(path, sizeof(path), "%s/trace.%ld", tmp ? tmp : "/tmp", (long)getpid());
    for (size_t i = 0; i < 4; i++) {
        for (size_t at = 0; at < sizeof(messages[i]); at++)
            messages[i][at] = (uint8_t)(at * 7 + i);
    }
    return 0;
}

/* The records of ticks, without the gaps of a slow machine. */
static size_t read_ticks(void)
{
    FILE *file = fopen(path, "rb");
    size_t count = 0;

    assert_non_null(file);
    assert_int_equal(fread(&head, sizeof(head), 1, file), 1);
    for (uint64_t n = 0; n < head.next; n++) {
        assert_true(count < RECORDS_MAX);
        assert_int_equal(fread(&records[count], sizeof(records[0]), 1, file), 1);
        assert_true(records[count].number == n + 1);
        count += records[count].key != 0;
    }
    fclose(file);
    return count;
}

static void nothing_is_written_when_it_is_off(void **state)
{
    (void)state;
    md_trace_turn();
    md_trace_mark(MD_TRACE_READ);
    md_trace_tick(MD_TRACE_COMMITTED, messages[0], sizeof(messages[0]));
    md_trace_end(MD_TRACE_FLUSHED);
    assert_false(md_trace_is_on);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_tick_leaves_a_record_at_each_step_and_the_same_key_in_each_form(void **state)
{
    uint8_t longer[120];

    (void)state;
    memset(longer, 1, sizeof(longer)); /* another head, as in another process; the same end */
    memcpy(longer + sizeof(longer) - sizeof(messages[0]), messages[0], sizeof(messages[0]));
    assert_int_equal(md_trace_open(path, "me", 1), MD_OK);
    md_trace_turn();
    md_trace_mark(MD_TRACE_READ);
    md_trace_tick(MD_TRACE_COMMITTED, messages[0], sizeof(messages[0]));
    md_trace_tick(MD_TRACE_POLLED, longer, sizeof(longer));
    md_trace_also(MD_TRACE_IMAGE);
    md_trace_end(MD_TRACE_FLUSHED);
    md_trace_end(MD_TRACE_FLUSHED); /* of none */
    md_trace_close(true);

    static const uint16_t steps[] = { MD_TRACE_TURN,    MD_TRACE_READ,   MD_TRACE_COMMITTED,
                                      MD_TRACE_READ,    MD_TRACE_POLLED, MD_TRACE_IMAGE,
                                      MD_TRACE_FLUSHED, MD_TRACE_FLUSHED };
    assert_int_equal(read_ticks(), sizeof(steps) / sizeof(steps[0]));
    assert_string_equal(head.process, "me");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        assert_int_equal(records[i].step, steps[i]);
        assert_true(records[i].key == records[0].key);
        assert_true(i < 3 || records[i].ns >= records[2].ns || steps[i] == MD_TRACE_READ);
    }
    assert_memory_equal(records[2].tail, messages[0] + sizeof(messages[0]) - 16, 16);
    unlink(path);
}

static void one_of_n_is_followed_the_same_ones_in_every_process(void **state)
{
    uint64_t first[RECORDS_MAX];
    uint8_t message[64];
    size_t counts[2];

    (void)state;
    for (size_t process = 0; process < 2; process++) {
        assert_int_equal(md_trace_open(path, "me", 10), MD_OK);
        for (uint32_t i = 0; i < 200; i++) {
            memset(message, 0, sizeof(message));
            memcpy(message + 50, &i, sizeof(i));
            md_trace_tick(MD_TRACE_TAKEN, message, sizeof(message));
            md_trace_end(MD_TRACE_WRITTEN);
        }
        md_trace_close(true);
        counts[process] = read_ticks();
        assert_true(counts[process] > 0);
        for (size_t i = 0; process == 0 && i < counts[0]; i++)
            first[i] = records[i].key;
        unlink(path);
    }
    assert_int_equal(counts[0], counts[1]);
    for (size_t i = 0; i < counts[1]; i++)
        assert_true(first[i] == records[i].key);
}

static void short_messages_and_places_that_cannot_be_written_do_no_harm(void **state)
{
    (void)state;
    assert_int_equal(md_trace_open("/nowhere/trace", "me", 1), MD_ERR_SYS);
    assert_false(md_trace_is_on);
    assert_int_equal(md_trace_open(path, "me", 1), MD_OK);
    md_trace_tick(MD_TRACE_TAKEN, messages[0], 12);
    md_trace_tick(MD_TRACE_TAKEN, NULL, 0);
    for (int i = 0; i < 1000; i++) /* more under way than a thread keeps */
        md_trace_tick(MD_TRACE_TAKEN, messages[i % 4], sizeof(messages[0]));
    md_trace_end(MD_TRACE_WRITTEN);
    md_trace_close(false);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_written_when_it_is_off),
        cmocka_unit_test(a_tick_leaves_a_record_at_each_step_and_the_same_key_in_each_form),
        cmocka_unit_test(one_of_n_is_followed_the_same_ones_in_every_process),
        cmocka_unit_test(short_messages_and_places_that_cannot_be_written_do_no_harm),
    };

    return cmocka_run_group_tests(tests, make_path, NULL);
}
