/* test_p2ps_taking.c - how fast a connection takes what it is sent, and what is a full output by
 * it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "p2ps/taking.h"

#define MS  1000000ull
#define SEC (1000 * MS)

/* A write each ten milliseconds. */
static void takes(struct p2ps_taking *taking, uint64_t *now_ns, unsigned writes, size_t bytes,
                  bool has_more)
{
    while (writes-- > 0) {
        *now_ns += 10 * MS;
        p2ps_taking_note(taking, bytes, has_more, *now_ns);
    }
}

static void nothing_is_known_of_one_that_was_sent_nothing(void **state)
{
    struct p2ps_taking taking = { 0 };

    (void)state;
    assert_true(p2ps_taking_queue(&taking, SEC) == UINT64_MAX);
}

/* As long as the output was empty now and then, it could have taken more. */
static void little_that_is_sent_says_nothing_of_a_burst(void **state)
{
    struct p2ps_taking taking = { 0 };
    uint64_t now_ns = SEC;

    (void)state;
    p2ps_taking_note(&taking, 0, false, now_ns);
    takes(&taking, &now_ns, 1000, 200, false);
    assert_true(p2ps_taking_queue(&taking, SEC) == UINT64_MAX);
    takes(&taking, &now_ns, 9, 500000, true); /* the burst, and the window that began before it */
    assert_true(p2ps_taking_queue(&taking, SEC) == UINT64_MAX);
    takes(&taking, &now_ns, 11, 500000, true);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 50000000);
    takes(&taking, &now_ns, 20, 200, false);
    assert_true(p2ps_taking_queue(&taking, SEC) == UINT64_MAX);
}

static void what_it_takes_in_the_time_is_a_full_output(void **state)
{
    struct p2ps_taking taking = { 0 };
    uint64_t now_ns = SEC;

    (void)state;
    p2ps_taking_note(&taking, 0, true, now_ns);
    takes(&taking, &now_ns, 10, 100000, true);
    takes(&taking, &now_ns, 10, 100000, true);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 10000000);
    assert_int_equal(p2ps_taking_queue(&taking, 250 * MS), 2500000);
    assert_int_equal(p2ps_taking_queue(&taking, 1 * MS), TAKING_LEAST);
    assert_true(p2ps_taking_queue(&taking, 0) == UINT64_MAX);
}

static void who_becomes_slower_while_something_waits_is_believed_within_a_second(void **state)
{
    struct p2ps_taking taking = { 0 };
    uint64_t now_ns = SEC;

    (void)state;
    p2ps_taking_note(&taking, 0, true, now_ns);
    takes(&taking, &now_ns, 20, 100000, true);
    takes(&taking, &now_ns, 100, 50000, true);
    assert_in_range(p2ps_taking_queue(&taking, SEC), 5000000, 5500000);
    takes(&taking, &now_ns, 10, 80000, true);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 8000000);
}

/* It does nothing for a while, as a collector of garbage does. */
static void who_stops_for_a_moment_is_not_slower(void **state)
{
    struct p2ps_taking taking = { 0 };
    uint64_t now_ns = SEC;

    (void)state;
    p2ps_taking_note(&taking, 0, true, now_ns);
    takes(&taking, &now_ns, 20, 100000, true);
    takes(&taking, &now_ns, 40, 0, true);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 10000000);
    takes(&taking, &now_ns, 10, 100000, true);
    assert_in_range(p2ps_taking_queue(&taking, SEC), 7500000, 10000000);
    takes(&taking, &now_ns, 10, 100000, true);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 10000000);
}

/* Much at once, with pauses, is not fast. */
static void who_takes_in_large_steps_is_as_fast_as_all_of_them_together(void **state)
{
    struct p2ps_taking taking = { 0 };
    uint64_t now_ns = SEC;

    (void)state;
    p2ps_taking_note(&taking, 0, true, now_ns);
    takes(&taking, &now_ns, 20, 100000, true);
    for (int i = 0; i < 20; i++) {
        takes(&taking, &now_ns, 49, 0, true);
        takes(&taking, &now_ns, 1, 500000, true);
    }
    assert_in_range(p2ps_taking_queue(&taking, SEC), 1000000, 1100000);
    now_ns += 2 * SEC;
    p2ps_taking_note(&taking, 400000, true, now_ns);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_of_one_that_was_sent_nothing),
        cmocka_unit_test(little_that_is_sent_says_nothing_of_a_burst),
        cmocka_unit_test(what_it_takes_in_the_time_is_a_full_output),
        cmocka_unit_test(who_becomes_slower_while_something_waits_is_believed_within_a_second),
        cmocka_unit_test(who_stops_for_a_moment_is_not_slower),
        cmocka_unit_test(who_takes_in_large_steps_is_as_fast_as_all_of_them_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
