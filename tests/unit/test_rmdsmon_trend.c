/* test_rmdsmon_trend.c - the minute's history of rmdsmon, and the hour that a daemon keeps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "monitor.h"

#define AT(seconds) ((uint64_t)((seconds)*1e9) + MD_NS_PER_S)

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct monitor_instance));
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void look(struct monitor_instance *instance, double seconds, double in)
{
    instance->figures = (struct monitor_figures){
        .in_per_s = in, .out_per_s = 2 * in, .turn_p99_us = -1, .queue_percent = 7
    };
    trend_add(instance, AT(seconds));
}

static void the_least_the_most_and_the_newest_are_known(void **state)
{
    struct monitor_instance *instance = *state;
    struct trend_span span;

    trend_span(&instance->trend, MONITOR_TREND_IN, 60, &span);
    assert_int_equal(span.looks, 0);
    assert_true(span.now < 0 && span.least < 0 && span.most < 0);
    look(instance, 0, -1); /* no rate yet */
    look(instance, 1, 300);
    look(instance, 2, 100);
    look(instance, 3, 200);
    trend_span(&instance->trend, MONITOR_TREND_IN, 60, &span);
    assert_int_equal(span.looks, 4);
    assert_true(span.least > 99 && span.least < 101 && span.most > 299 && span.most < 301);
    assert_true(span.now > 199 && span.now < 201 && span.seconds > 2.9 && span.seconds < 3.1);
    trend_span(&instance->trend, MONITOR_TREND_OUT, 2, &span);
    assert_int_equal(span.looks, 2);
    assert_true(span.most > 399 && span.most < 401);
    trend_span(&instance->trend, MONITOR_TREND_TURN, 60, &span);
    assert_true(span.most < 0);
}

static void looks_that_follow_faster_than_a_second_are_one(void **state)
{
    struct monitor_instance *instance = *state;
    struct trend_span span;

    for (int i = 0; i < 21; i++)
        look(instance, 0.2 * i, 5);
    trend_span(&instance->trend, MONITOR_TREND_IN, 60, &span);
    assert_int_equal(span.looks, 5); /* at 0, 1, 2, 3 and 4 s */
}

static void what_is_older_than_a_minute_is_forgotten(void **state)
{
    struct monitor_instance *instance = *state;
    struct trend_span span;

    look(instance, 0, 1000000);
    for (int i = 1; i <= 100; i++)
        look(instance, i, i);
    trend_span(&instance->trend, MONITOR_TREND_IN, 1000, &span);
    assert_int_equal(span.looks, MONITOR_TREND_LOOKS);
    assert_true(span.least > 40 && span.least < 42 && span.most > 99 && span.most < 101);
}

static void levels_stand_between_nothing_and_the_most(void **state)
{
    struct monitor_instance *instance = *state;
    const struct monitor_trend *trend = &instance->trend;

    look(instance, 0, 0);
    look(instance, 1, 50);
    look(instance, 2, 100);
    look(instance, 3, -1);
    assert_int_equal(trend_level(trend, MONITOR_TREND_IN, 0, 100, 5), -1);
    assert_int_equal(trend_level(trend, MONITOR_TREND_IN, 1, 100, 5), 4);
    assert_int_equal(trend_level(trend, MONITOR_TREND_IN, 2, 100, 5), 2);
    assert_int_equal(trend_level(trend, MONITOR_TREND_IN, 3, 100, 5), 0);
    assert_int_equal(trend_level(trend, MONITOR_TREND_IN, 4, 100, 5), -1); /* before the first */
    assert_int_equal(trend_level(trend, MONITOR_TREND_IN, 1, 0, 5), 0);
}

static void take(struct monitor_trend *trend, unsigned count)
{
    static struct stats_sample samples[STATS_HISTORY_CAPACITY];

    for (unsigned i = 0; i < count; i++) {
        samples[i] = (struct stats_sample){ .wall_ns = AT(5 * i) };
        samples[i].values[STATS_HISTORY_IN] = i == 1 ? NAN : (float)(i % 2 ? 300 : 100);
        samples[i].values[STATS_HISTORY_OUT] = NAN;
        samples[i].values[STATS_HISTORY_QUEUE] = (float)(i == count - 2 ? 90 : 10);
    }
    trend_take_samples(trend, samples, count);
}

static void an_hour_of_samples_is_sixty_columns(void **state)
{
    struct monitor_trend *trend = &((struct monitor_instance *)*state)->trend;
    struct trend_span span;

    take(trend, STATS_HISTORY_CAPACITY);
    trend_span(trend, MONITOR_TREND_IN, 60, &span);
    assert_int_equal(span.looks, 60);
    assert_true(span.now > 199 && span.now < 201); /* the mean of twelve */
    assert_true(span.most < 201 && span.least > 180 && span.least < 199);
    assert_true(span.seconds > 3539 && span.seconds < 3541);
    trend_span(trend, MONITOR_TREND_QUEUE, 60, &span);
    assert_true(span.now > 89 && span.now < 91); /* the worst of twelve */
    trend_span(trend, MONITOR_TREND_OUT, 60, &span);
    assert_true(span.most < 0);
}

static void few_samples_have_a_column_each(void **state)
{
    struct monitor_trend *trend = &((struct monitor_instance *)*state)->trend;
    struct trend_span span;

    take(trend, 3);
    trend_span(trend, MONITOR_TREND_IN, 60, &span);
    assert_int_equal(span.looks, 3);
    assert_true(span.now > 99 && span.now < 101 && span.seconds > 9.9 && span.seconds < 10.1);
    assert_int_equal(trend_level(trend, MONITOR_TREND_IN, 1, 300, 5), -1); /* not known */
    take(trend, 61); /* two each; the oldest column has what is left over */
    assert_int_equal(trend->count, 31);
    take(trend, 0);
    assert_int_equal(trend->count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_least_the_most_and_the_newest_are_known, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(looks_that_follow_faster_than_a_second_are_one, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_older_than_a_minute_is_forgotten, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(levels_stand_between_nothing_and_the_most, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_hour_of_samples_is_sixty_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(few_samples_have_a_column_each, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
