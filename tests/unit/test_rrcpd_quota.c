/* test_rrcpd_quota.c - how much programs of one uid may send. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "quota.h"

#define BEGIN_NS (100 * MD_NS_PER_S)

/* Messages of so many bytes that go in this time, when a program sends all it can. */
static uint64_t sends(struct quota *quota, uint64_t bytes, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t count = 0;

    for (uint64_t now_ns = from_ns; now_ns < to_ns; now_ns += MD_NS_PER_MS)
        while (quota_due_ns(quota) <= now_ns) {
            quota_charge(quota, bytes, now_ns);
            count++;
        }
    return count;
}

static void the_rate_holds_and_silence_buys_a_tenth_of_a_second(void **state)
{
    struct quotas quotas = { 0 };
    struct quota *quota = quotas_enter(&quotas, 7, (struct quota_limits){ .messages = 1000 });

    (void)state;
    assert_in_range(sends(quota, 50, BEGIN_NS, BEGIN_NS + 10 * MD_NS_PER_S), 10000, 10102);
    assert_in_range(sends(quota, 50, BEGIN_NS + 10 * MD_NS_PER_S, BEGIN_NS + 11 * MD_NS_PER_S), 998,
                    1002);
    uint64_t later_ns = BEGIN_NS + 100 * MD_NS_PER_S;
    assert_in_range(sends(quota, 50, later_ns, later_ns + 1), 100, 102);
}

static void bytes_are_limited_too_and_the_tighter_limit_counts(void **state)
{
    struct quotas quotas = { 0 };
    struct quota_limits limits = { .messages = 1000, .bytes = 100000 };
    struct quota *quota = quotas_enter(&quotas, 7, limits);

    (void)state;
    assert_in_range(sends(quota, 1000, BEGIN_NS, BEGIN_NS + 10 * MD_NS_PER_S), 1000, 1012);
    uint64_t later_ns = BEGIN_NS + 100 * MD_NS_PER_S;
    assert_in_range(sends(quota, 10, later_ns, later_ns + 10 * MD_NS_PER_S), 10000, 10102);
}

static void attachments_of_a_uid_share_it_and_leaving_buys_nothing(void **state)
{
    struct quotas quotas = { 0 };
    struct quota_limits limits = { .messages = 1000 };
    struct quota *first = quotas_enter(&quotas, 7, limits);
    struct quota *second = quotas_enter(&quotas, 7, limits);

    (void)state;
    assert_ptr_equal(first, second);
    sends(first, 50, BEGIN_NS, BEGIN_NS + MD_NS_PER_S);
    quota_leave(first);
    quota_leave(second);
    struct quota *again = quotas_enter(&quotas, 7, limits);
    assert_in_range(sends(again, 50, BEGIN_NS + MD_NS_PER_S, BEGIN_NS + 2 * MD_NS_PER_S), 998,
                    1002);
}

static void a_quota_in_use_is_given_to_nobody_else(void **state)
{
    struct quotas quotas = { 0 };
    struct quota_limits limits = { .messages = 1000 };

    (void)state;
    for (uid_t uid = 0; uid < QUOTAS_MAX; uid++)
        assert_non_null(quotas_enter(&quotas, uid, limits));
    assert_null(quotas_enter(&quotas, 1000, limits));
    sends(&quotas.list[3], 50, BEGIN_NS, BEGIN_NS + 1);
    quota_leave(&quotas.list[3]);
    quota_leave(&quotas.list[9]);
    assert_ptr_equal(quotas_enter(&quotas, 1000, limits), &quotas.list[9]); /* 3 is used up */
    assert_ptr_equal(quotas_enter(&quotas, 3, limits), &quotas.list[3]);
}

static void without_limits_all_goes(void **state)
{
    struct quotas quotas = { 0 };
    struct quota *quota = quotas_enter(&quotas, 7, (struct quota_limits){ 0 });

    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_true(quota_due_ns(quota) <= BEGIN_NS);
        quota_charge(quota, UINT32_MAX, BEGIN_NS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_holds_and_silence_buys_a_tenth_of_a_second),
        cmocka_unit_test(bytes_are_limited_too_and_the_tighter_limit_counts),
        cmocka_unit_test(attachments_of_a_uid_share_it_and_leaving_buys_nothing),
        cmocka_unit_test(a_quota_in_use_is_given_to_nobody_else),
        cmocka_unit_test(without_limits_all_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
