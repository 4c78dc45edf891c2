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

static void what_it_takes_in_the_time_is_a_full_output(void **state)
{
    struct p2ps_taking taking = { 0 };
    uint64_t now_ns = SEC;

    (void)state;
    p2ps_taking_note(&taking, 0, true, now_ns);
    takes(&taking, &now_ns, 10, 100000, true);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 10000000);
    assert_int_equal(p2ps_taking_queue(&taking, 250 * MS), 2500000);
    assert_int_equal(p2ps_taking_queue(&taking, 10 * MS), TAKING_LEAST);
    assert_true(p2ps_taking_queue(&taking, 0) == UINT64_MAX);
}

/* Little is sent: that says nothing of what it could take. */
static void who_is_sent_less_is_not_slower(void **state)
{
    struct p2ps_taking taking = { 0 };
    uint64_t now_ns = SEC;

    (void)state;
    p2ps_taking_note(&taking, 0, true, now_ns);
    takes(&taking, &now_ns, 10, 100000, false);
    takes(&taking, &now_ns, 1000, 100, false);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 10000000);
}

static void who_becomes_slower_while_something_waits_is_believed_within_a_second(void **state)
{
    struct p2ps_taking taking = { 0 };
    uint64_t now_ns = SEC;

    (void)state;
    p2ps_taking_note(&taking, 0, true, now_ns);
    takes(&taking, &now_ns, 10, 100000, true);
    takes(&taking, &now_ns, 100, 50000, true);
    assert_in_range(p2ps_taking_queue(&taking, SEC), 5000000, 5500000);
    takes(&taking, &now_ns, 10, 80000, true);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 8000000);
}

/* It does nothing for a while, as a collector of garbage does: it is as fast as before. */
static void who_stops_for_a_while_keeps_its_rate(void **state)
{
    struct p2ps_taking taking = { 0 };
    uint64_t now_ns = SEC;

    (void)state;
    p2ps_taking_note(&taking, 0, true, now_ns);
    takes(&taking, &now_ns, 10, 100000, true);
    takes(&taking, &now_ns, 300, 0, true);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 10000000);
    now_ns += 30 * SEC;
    p2ps_taking_note(&taking, 70000, true, now_ns);
    assert_int_equal(p2ps_taking_queue(&taking, SEC), 10000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_of_one_that_was_sent_nothing),
        cmocka_unit_test(what_it_takes_in_the_time_is_a_full_output),
        cmocka_unit_test(who_is_sent_less_is_not_slower),
        cmocka_unit_test(who_becomes_slower_while_something_waits_is_believed_within_a_second),
        cmocka_unit_test(who_stops_for_a_while_keeps_its_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
