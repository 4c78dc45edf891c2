/* test_p2ps_ceiling.c - outputRate: never more than its share, and all of it when there is enough.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "p2ps/ceiling.h"

#define MS 1000000ull
#define S  1000000000ull

/* Sends whenever it may, every `step_ns`, for so long; returns the bytes. */
static uint64_t send(struct p2ps_ceiling *ceiling, uint64_t *now_ns, uint64_t for_ns,
                     uint64_t step_ns)
{
    uint64_t sent = 0;

    for (uint64_t end_ns = *now_ns + for_ns; *now_ns < end_ns; *now_ns += step_ns) {
        size_t room = p2ps_ceiling_room(ceiling, *now_ns);
        p2ps_ceiling_spend(ceiling, room, room);
        sent += room;
    }
    return sent;
}

static void without_a_rate_everything_goes_out(void **state)
{
    struct p2ps_ceiling ceiling = { .rate = 0 };

    (void)state;
    assert_true(p2ps_ceiling_room(&ceiling, 5 * S) == SIZE_MAX);
    p2ps_ceiling_spend(&ceiling, 1000000, 1000000);
    assert_true(p2ps_ceiling_room(&ceiling, 5 * S) == SIZE_MAX);
    assert_int_equal(p2ps_output_fill(1000000, p2ps_ceiling_queue(&ceiling), 12), 12);
}

static void the_rate_is_used_and_kept_at_any_pace_of_writes(void **state)
{
    static const uint64_t rates[] = { CEILING_RATE_MIN, 123457, 2000000, 1250000000 };
    static const uint64_t steps[] = { MS / 10, MS, 10 * MS, 30 * MS };

    (void)state;
    for (unsigned r = 0; r < 4; r++) {
        for (unsigned s = 0; s < 4; s++) {
            struct p2ps_ceiling ceiling = { .rate = 0 };
            uint64_t now_ns = 7 * S;

            p2ps_ceiling_set(&ceiling, rates[r], now_ns);
            uint64_t sent = send(&ceiling, &now_ns, 10 * S, steps[s]);
            assert_true(sent <= 10 * rates[r]);
            assert_true(sent >= 10 * rates[r] * 99 / 100);
        }
    }
}

static void silence_saves_up_a_twentieth_of_a_second(void **state)
{
    struct p2ps_ceiling ceiling = { .rate = 0 };
    uint64_t now_ns = S;

    (void)state;
    p2ps_ceiling_set(&ceiling, 1000000, now_ns);
    now_ns += 100 * S;
    uint64_t sent = send(&ceiling, &now_ns, S, MS);
    assert_in_range(sent, 1000000, 1050000);
}

static void one_write_too_many_is_paid_for_later(void **state)
{
    struct p2ps_ceiling ceiling = { .rate = 0 };

    (void)state;
    p2ps_ceiling_set(&ceiling, 1000000, S);
    p2ps_ceiling_spend(&ceiling, 500000, 500000);
    assert_int_equal(p2ps_ceiling_room(&ceiling, S + 500 * MS), 0);
    assert_int_equal(p2ps_ceiling_room(&ceiling, S + 510 * MS), 10000);
}

/* OpenSSL refuses a write that is shorter than the one it could not finish. */
static void what_was_offered_is_offered_again(void **state)
{
    struct p2ps_ceiling ceiling = { .rate = 0 };

    (void)state;
    p2ps_ceiling_set(&ceiling, 1000000, S);
    assert_int_equal(p2ps_ceiling_room(&ceiling, S + 10 * MS), 10000);
    p2ps_ceiling_spend(&ceiling, 10000, 6000); /* 4000 are in a record of TLS */
    assert_int_equal(p2ps_ceiling_room(&ceiling, S + 10 * MS), 4000);
    assert_int_equal(p2ps_ceiling_room(&ceiling, S + 11 * MS), 5000);
    p2ps_ceiling_spend(&ceiling, 5000, 0);
    p2ps_ceiling_spend(&ceiling, 5000, 5000);
    assert_int_equal(p2ps_ceiling_room(&ceiling, S + 11 * MS), 0);
}

static void the_queue_is_full_at_a_share_of_a_second(void **state)
{
    struct p2ps_ceiling ceiling = { .rate = 0 };

    (void)state;
    p2ps_ceiling_set(&ceiling, 1000000, S);
    assert_int_equal(p2ps_output_fill(100000, p2ps_ceiling_queue(&ceiling), 0), 50);
    assert_int_equal(p2ps_output_fill(100000, p2ps_ceiling_queue(&ceiling), 70), 70);
    assert_int_equal(p2ps_output_fill(900000, p2ps_ceiling_queue(&ceiling), 0), 100);
    p2ps_ceiling_set(&ceiling, CEILING_RATE_MIN, S);
    assert_int_equal(p2ps_output_fill(CEILING_QUEUE_MIN / 2, p2ps_ceiling_queue(&ceiling), 0), 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_rate_everything_goes_out),
        cmocka_unit_test(the_rate_is_used_and_kept_at_any_pace_of_writes),
        cmocka_unit_test(silence_saves_up_a_twentieth_of_a_second),
        cmocka_unit_test(one_write_too_many_is_paid_for_later),
        cmocka_unit_test(what_was_offered_is_offered_again),
        cmocka_unit_test(the_queue_is_full_at_a_share_of_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
