/* test_rrcpd_wishes.c - what the users of a node want together, and for how long. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wishes.h"

#define SEC      1000000000ull
#define BEGIN_NS (100 * SEC)

/* The number of topics that the node wants, if they have changed; -1: they have not. */
static int64_t told(struct wishes *wishes, uint32_t topics[WISHES_TOPICS_MAX])
{
    uint32_t count;

    return wishes_take(wishes, topics, &count) ? (int64_t)count : -1;
}

static void run_until(struct wishes *wishes, uint64_t end_ns)
{
    while (wishes_deadline(wishes) <= end_ns)
        wishes_tick(wishes, wishes_deadline(wishes));
    wishes_tick(wishes, end_ns);
}

static void set(struct wishes *wishes, uint64_t now_ns, struct wish *user, uint32_t topic)
{
    wishes_set(wishes, now_ns, user, &topic, 1);
}

static void everything_is_wanted_until_there_is_a_user(void **state)
{
    struct wishes wishes = { 0 };
    struct wish user = { 0 };
    uint32_t topics[WISHES_TOPICS_MAX];

    (void)state;
    assert_int_equal(told(&wishes, topics), -1);
    assert_int_equal(wishes_count(&wishes), WISHES_WANT_ALL);
    wishes_add(&wishes, BEGIN_NS, &user);
    assert_int_equal(told(&wishes, topics), 0);
    assert_int_equal(told(&wishes, topics), -1);
}

static void the_node_wants_what_any_user_wants_in_order(void **state)
{
    struct wishes wishes = { 0 };
    struct wish a = { 0 }, b = { 0 };
    uint32_t topics[WISHES_TOPICS_MAX];
    const uint32_t of_a[] = { 9, 4000000000u, 5 }, of_b[] = { 5, 7, 7 };

    (void)state;
    wishes_add(&wishes, BEGIN_NS, &a);
    wishes_add(&wishes, BEGIN_NS, &b);
    wishes_set(&wishes, BEGIN_NS, &a, of_a, 3);
    wishes_set(&wishes, BEGIN_NS, &b, of_b, 3);
    assert_int_equal(told(&wishes, topics), 4);
    assert_int_equal(topics[0], 5);
    assert_int_equal(topics[1], 7);
    assert_int_equal(topics[2], 9);
    assert_int_equal(topics[3], 4000000000u);
    wishes_set(&wishes, BEGIN_NS, &b, of_a, 3);
    assert_int_equal(told(&wishes, topics), -1);
}

static void a_topic_that_nobody_wants_is_kept_for_ten_seconds(void **state)
{
    struct wishes wishes = { 0 };
    struct wish a = { 0 };
    uint32_t topics[WISHES_TOPICS_MAX];

    (void)state;
    wishes_add(&wishes, BEGIN_NS, &a);
    set(&wishes, BEGIN_NS, &a, 1);
    run_until(&wishes, BEGIN_NS + 3600 * SEC);
    assert_int_equal(told(&wishes, topics), 1);
    assert_int_equal(wishes_deadline(&wishes), WISHES_NEVER);
    set(&wishes, BEGIN_NS + 3600 * SEC, &a, 2);
    assert_int_equal(told(&wishes, topics), 2);
    run_until(&wishes, BEGIN_NS + 3609 * SEC);
    assert_int_equal(told(&wishes, topics), -1);
    set(&wishes, BEGIN_NS + 3609 * SEC, &a, 1); /* again, in time */
    run_until(&wishes, BEGIN_NS + 3618 * SEC);
    assert_int_equal(told(&wishes, topics), -1);
    run_until(&wishes, BEGIN_NS + 3621 * SEC);
    assert_int_equal(told(&wishes, topics), 1);
    assert_int_equal(topics[0], 1);
    assert_int_equal(wishes_deadline(&wishes), WISHES_NEVER);
}

static void a_user_that_goes_takes_its_wishes_along_after_that_time(void **state)
{
    struct wishes wishes = { 0 };
    struct wish a = { 0 }, b = { 0 };
    uint32_t topics[WISHES_TOPICS_MAX];

    (void)state;
    wishes_add(&wishes, BEGIN_NS, &a);
    wishes_add(&wishes, BEGIN_NS, &b);
    set(&wishes, BEGIN_NS, &a, 1);
    set(&wishes, BEGIN_NS, &b, 1);
    assert_int_equal(told(&wishes, topics), 1);
    run_until(&wishes, BEGIN_NS + 60 * SEC);
    wishes_remove(&wishes, BEGIN_NS + 60 * SEC, &a);
    run_until(&wishes, BEGIN_NS + 120 * SEC);
    assert_int_equal(told(&wishes, topics), -1);
    wishes_remove(&wishes, BEGIN_NS + 120 * SEC, &b);
    run_until(&wishes, BEGIN_NS + 129 * SEC);
    assert_int_equal(told(&wishes, topics), -1);
    run_until(&wishes, BEGIN_NS + 132 * SEC);
    assert_int_equal(told(&wishes, topics), 0); /* without users nothing is wanted */
}

static void a_user_that_wants_everything_gets_it_for_all(void **state)
{
    struct wishes wishes = { 0 };
    struct wish a = { 0 }, old = { .count = WISHES_WANT_ALL };
    uint32_t topics[WISHES_TOPICS_MAX];

    (void)state;
    wishes_add(&wishes, BEGIN_NS, &a);
    set(&wishes, BEGIN_NS, &a, 1);
    assert_int_equal(told(&wishes, topics), 1);
    wishes_add(&wishes, BEGIN_NS, &old);
    assert_int_equal(told(&wishes, topics), WISHES_WANT_ALL);
    set(&wishes, BEGIN_NS + SEC, &a, 2);
    assert_int_equal(told(&wishes, topics), -1);
    run_until(&wishes, BEGIN_NS + 60 * SEC);
    assert_int_equal(wishes_count(&wishes), WISHES_WANT_ALL);
    assert_int_equal(wishes_deadline(&wishes), WISHES_NEVER);
    wishes_remove(&wishes, BEGIN_NS + 60 * SEC, &old);
    run_until(&wishes, BEGIN_NS + 69 * SEC);
    assert_int_equal(told(&wishes, topics), -1);
    run_until(&wishes, BEGIN_NS + 72 * SEC);
    assert_int_equal(told(&wishes, topics), 1);
    assert_int_equal(topics[0], 2);
}

/* Each user has all it may, so that together they want more than are kept apart. */
static void more_topics_than_can_be_said_are_everything_until_they_are_fewer(void **state)
{
    struct wishes wishes = { 0 };
    struct wish a = { 0 }, b = { 0 };
    uint32_t topics[WISHES_TOPICS_MAX], many[WISHES_TOPICS_MAX];

    (void)state;
    for (uint32_t i = 0; i < WISHES_TOPICS_MAX; i++)
        many[i] = 7 * i;
    wishes_add(&wishes, BEGIN_NS, &a);
    wishes_add(&wishes, BEGIN_NS, &b);
    wishes_set(&wishes, BEGIN_NS, &a, many, WISHES_TOPICS_MAX);
    assert_int_equal(told(&wishes, topics), WISHES_TOPICS_MAX);
    set(&wishes, BEGIN_NS, &b, 1);
    assert_int_equal(told(&wishes, topics), WISHES_WANT_ALL);
    run_until(&wishes, BEGIN_NS + 60 * SEC);
    assert_int_equal(told(&wishes, topics), -1);
    wishes_set(&wishes, BEGIN_NS + 60 * SEC, &a, many, 3);
    run_until(&wishes, BEGIN_NS + 90 * SEC);
    assert_int_equal(told(&wishes, topics), 4);
    assert_int_equal(topics[1], 1);
    assert_int_equal(wishes_deadline(&wishes), WISHES_NEVER);
    wishes_set(&wishes, BEGIN_NS + 90 * SEC, &a, many, WISHES_TOPICS_MAX + 1);
    assert_int_equal(told(&wishes, topics), WISHES_WANT_ALL);
}

/* It can make others send more, and only so often. */
static void a_user_that_changes_its_mind_all_the_time_changes_little(void **state)
{
    struct wishes wishes = { 0 };
    struct wish good = { 0 }, bad = { 0 };
    uint32_t topics[WISHES_TOPICS_MAX];
    uint32_t changes = 0;

    (void)state;
    wishes_add(&wishes, BEGIN_NS, &good);
    wishes_add(&wishes, BEGIN_NS, &bad);
    set(&wishes, BEGIN_NS, &good, UINT32_MAX / 2);
    for (uint32_t ms = 0; ms < 20000; ms++) {
        bool is_there = false;

        set(&wishes, BEGIN_NS + ms * 1000000ull, &bad, ms);
        if (wishes_deadline(&wishes) <= BEGIN_NS + ms * 1000000ull)
            wishes_tick(&wishes, BEGIN_NS + ms * 1000000ull);
        changes += told(&wishes, topics) >= 0;
        for (uint32_t i = 0; i < wishes.count; i++)
            is_there = is_there || wishes.topics[i].number == UINT32_MAX / 2;
        assert_true(is_there || wishes_count(&wishes) == WISHES_WANT_ALL);
    }
    assert_in_range(changes, 256, 600);
    wishes_remove(&wishes, BEGIN_NS + 20 * SEC, &bad);
    run_until(&wishes, BEGIN_NS + 60 * SEC);
    (void)told(&wishes, topics);
    assert_int_equal(wishes_count(&wishes), 1);
    assert_int_equal(topics[0], UINT32_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_wanted_until_there_is_a_user),
        cmocka_unit_test(the_node_wants_what_any_user_wants_in_order),
        cmocka_unit_test(a_topic_that_nobody_wants_is_kept_for_ten_seconds),
        cmocka_unit_test(a_user_that_goes_takes_its_wishes_along_after_that_time),
        cmocka_unit_test(a_user_that_wants_everything_gets_it_for_all),
        cmocka_unit_test(more_topics_than_can_be_said_are_everything_until_they_are_fewer),
        cmocka_unit_test(a_user_that_changes_its_mind_all_the_time_changes_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
