/* test_p2ps_rates.c - rates of a mount over its window. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "p2ps/rates.h"

#define SEC 1000000000ull

/* The counters grow by `msgs` and ten times as many bytes each second, for so many seconds. */
struct feed {
    struct p2ps_rates rates;
    uint64_t now_ns;
    uint64_t totals[P2PS_RATES];
    uint64_t shown[P2PS_RATES];
};

static struct feed start(uint64_t window_s)
{
    struct feed feed = { .rates.window_ns = window_s * SEC,
                         .now_ns = 77 * SEC,
                         .totals = { 5, 9 } };

    p2ps_rates_take(&feed.rates, feed.now_ns, feed.totals, feed.shown);
    return feed;
}

static void pass(struct feed *feed, unsigned seconds, uint64_t msgs)
{
    for (unsigned i = 0; i < seconds; i++) {
        uint64_t late_ns = i % 2 ? 20000000 : 0; /* timers are never exact */
        feed->now_ns += SEC;
        feed->totals[P2PS_RATE_MSGS] += msgs;
        feed->totals[P2PS_RATE_BYTES] += 10 * msgs;
        p2ps_rates_take(&feed->rates, feed->now_ns - late_ns, feed->totals, feed->shown);
    }
}

static void nothing_is_known_at_first(void **state)
{
    struct feed feed = start(10);

    (void)state;
    assert_int_equal(feed.shown[P2PS_RATE_MSGS], 0);
    assert_int_equal(feed.shown[P2PS_RATE_BYTES], 0);
}

static void a_window_of_a_second_shows_the_last_second(void **state)
{
    struct feed feed = start(1);

    (void)state;
    pass(&feed, 1, 100);
    assert_int_equal(feed.shown[P2PS_RATE_MSGS], 100);
    assert_int_equal(feed.shown[P2PS_RATE_BYTES], 1000);
    pass(&feed, 1, 500);
    assert_int_equal(feed.shown[P2PS_RATE_MSGS], 500);
    pass(&feed, 1, 0);
    assert_int_equal(feed.shown[P2PS_RATE_MSGS], 0);
}

static void a_longer_window_averages_over_it(void **state)
{
    struct feed feed = start(10);

    (void)state;
    pass(&feed, 4, 100); /* the mount is not older than that */
    assert_in_range(feed.shown[P2PS_RATE_MSGS], 98, 102);
    pass(&feed, 16, 100);
    assert_in_range(feed.shown[P2PS_RATE_MSGS], 98, 102);
    pass(&feed, 5, 300); /* half of the window */
    assert_in_range(feed.shown[P2PS_RATE_MSGS], 190, 210);
    pass(&feed, 5, 300);
    assert_in_range(feed.shown[P2PS_RATE_MSGS], 295, 305);
    pass(&feed, 11, 0);
    assert_int_equal(feed.shown[P2PS_RATE_MSGS], 0);
}

static void the_longest_window_keeps_no_more_samples(void **state)
{
    struct feed feed = start(3600);

    (void)state;
    pass(&feed, 3600, 100);
    assert_in_range(feed.shown[P2PS_RATE_MSGS], 99, 101);
    pass(&feed, 1800, 300);
    assert_in_range(feed.shown[P2PS_RATE_MSGS], 180, 220);
    pass(&feed, 3900, 0); /* a window and the step it is exact to */
    assert_int_equal(feed.shown[P2PS_RATE_MSGS], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(a_window_of_a_second_shows_the_last_second),
        cmocka_unit_test(a_longer_window_averages_over_it),
        cmocka_unit_test(the_longest_window_keeps_no_more_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
