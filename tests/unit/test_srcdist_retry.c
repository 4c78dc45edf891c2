/* test_srcdist_retry.c - how soon a route finds a provider that came back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "srcdist/core/retry.h"

#define SECOND_NS  1000000000ull
#define GIVE_UP_NS (5 * SECOND_NS) /* on a host that does not answer at all */

/* Of so many hosts one comes back at that moment; the others are away for good. */
struct hosts {
    unsigned count;
    unsigned back;
    uint64_t back_ns;
    bool are_silent; /* else they refuse at once */
};

/* In virtual time: how long the host that is back has to wait for us. */
static uint64_t time_to_find(const struct hosts *hosts)
{
    struct srcdist_retry retry;
    uint64_t now_ns = 0;

    srcdist_retry_init(&retry, hosts->count);
    for (;;) {
        if (now_ns < retry.due_ns)
            now_ns = retry.due_ns;
        if (retry.at == hosts->back && now_ns >= hosts->back_ns)
            return now_ns - hosts->back_ns;
        if (hosts->are_silent)
            now_ns += GIVE_UP_NS;
        srcdist_retry_failed(&retry, now_ns);
    }
}

static uint64_t longest(unsigned count, bool are_silent)
{
    uint64_t result = 0;

    for (unsigned back = 0; back < count; back++) {
        for (uint64_t ms = 0; ms < 120000; ms += 211) {
            struct hosts hosts = { count, back, ms * 1000000, are_silent };
            uint64_t took_ns = time_to_find(&hosts);
            result = took_ns > result ? took_ns : result;
        }
    }
    return result;
}

static void a_provider_that_comes_back_is_found_within_three_seconds(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= 16; count++)
        assert_true(longest(count, false) <= SRCDIST_RETRY_ROUND_NS);
}

static void a_silent_host_beside_it_costs_what_it_takes_to_give_up_on_it(void **state)
{
    (void)state;
    /* Itself, too, when it was dialed just before it came back. */
    assert_true(longest(1, true) <= SRCDIST_RETRY_ROUND_NS + GIVE_UP_NS);
    assert_true(longest(2, true) <= SRCDIST_RETRY_ROUND_NS + 2 * GIVE_UP_NS);
}

static void the_pauses_grow_and_begin_anew_after_a_connection(void **state)
{
    static const uint64_t ms[] = { 1000, 2000, 3000, 3000 };
    struct srcdist_retry retry;

    (void)state;
    srcdist_retry_init(&retry, 1);
    assert_int_equal(retry.due_ns, 0);
    for (int i = 0; i < 4; i++) {
        srcdist_retry_failed(&retry, 0);
        assert_int_equal(retry.due_ns, ms[i] * 1000000);
    }
    srcdist_retry_opened(&retry);
    srcdist_retry_failed(&retry, 0);
    assert_int_equal(retry.due_ns, SECOND_NS);
}

/* One that is away for a night: each host is named, ever more rarely, but never forgotten. */
static void failures_in_a_row_are_told_with_growing_distance(void **state)
{
    struct srcdist_retry retry;
    unsigned told[2] = { 0, 0 }, round[2] = { 0, 0 };

    (void)state;
    srcdist_retry_init(&retry, 2);
    for (unsigned i = 0; i < 2 * 256; i++) {
        if (srcdist_retry_is_logged(&retry)) {
            told[retry.at]++;
            round[retry.at] = i / 2 + 1;
        }
        srcdist_retry_failed(&retry, i * SECOND_NS);
    }
    /* 1 2 4 8 16 32 64 128 192 256 */
    for (unsigned host = 0; host < 2; host++) {
        assert_int_equal(told[host], 10);
        assert_int_equal(round[host], 256);
    }
    assert_false(srcdist_retry_is_logged(&retry));
    srcdist_retry_opened(&retry);
    assert_true(srcdist_retry_is_logged(&retry));
}

/* As many hosts as each has addresses: a count of the attempts would be even for one host always.
 */
static void each_address_of_each_host_has_its_turn(void **state)
{
    for (unsigned hosts = 1; hosts <= 4; hosts++) {
        unsigned tried[4][2] = { 0 };
        struct srcdist_retry retry;

        srcdist_retry_init(&retry, hosts);
        for (unsigned i = 0; i < 8 * hosts; i++) {
            tried[retry.at][retry.round % 2]++;
            if (i == hosts)
                srcdist_retry_opened(&retry);
            srcdist_retry_failed(&retry, i * SECOND_NS);
        }
        for (unsigned host = 0; host < hosts; host++) {
            assert_int_equal(tried[host][0], 4);
            assert_int_equal(tried[host][1], 4);
        }
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_provider_that_comes_back_is_found_within_three_seconds),
        cmocka_unit_test(a_silent_host_beside_it_costs_what_it_takes_to_give_up_on_it),
        cmocka_unit_test(each_address_of_each_host_has_its_turn),
        cmocka_unit_test(failures_in_a_row_are_told_with_growing_distance),
        cmocka_unit_test(the_pauses_grow_and_begin_anew_after_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
