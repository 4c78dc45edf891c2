/* test_rrcpd_quota.c - how much programs of a rule may send. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "quota.h"

#define BEGIN_NS (100 * MD_NS_PER_S)

/* So many messages go in this time, when a program sends all it can. */
static uint64_t sends(struct quota *quota, uint64_t amount, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t count = 0;

    for (uint64_t now_ns = from_ns; now_ns < to_ns; now_ns += MD_NS_PER_MS)
        while (quota_due_ns(quota) <= now_ns) {
            quota_charge(quota, amount, now_ns);
            count++;
        }
    return count;
}

static struct quota_limit limit(uint64_t amount, int rule)
{
    return (struct quota_limit){ .amount = amount, .rule = rule };
}

static void the_rate_holds_and_silence_buys_a_tenth_of_a_second(void **state)
{
    struct quotas quotas = { 0 };
    struct quota *quota = quota_of(quotas.messages, limit(1000, 7));

    (void)state;
    assert_in_range(sends(quota, 1, BEGIN_NS, BEGIN_NS + 10 * MD_NS_PER_S), 10000, 10102);
    assert_in_range(sends(quota, 1, BEGIN_NS + 10 * MD_NS_PER_S, BEGIN_NS + 11 * MD_NS_PER_S), 998,
                    1002);
    uint64_t later_ns = BEGIN_NS + 100 * MD_NS_PER_S;
    assert_in_range(sends(quota, 1, later_ns, later_ns + 1), 100, 102);
}

static void bytes_are_limited_too(void **state)
{
    struct quotas quotas = { 0 };
    struct quota *quota = quota_of(quotas.bytes, limit(100000, 7));

    (void)state;
    assert_in_range(sends(quota, 1000, BEGIN_NS, BEGIN_NS + 10 * MD_NS_PER_S), 1000, 1012);
}

static void programs_of_a_rule_share_it_and_leaving_buys_nothing(void **state)
{
    struct quotas quotas = { 0 };
    struct quota *first = quota_of(quotas.messages, limit(1000, 7));

    (void)state;
    sends(first, 1, BEGIN_NS, BEGIN_NS + MD_NS_PER_S);
    struct quota *again = quota_of(quotas.messages, limit(1000, 7));
    assert_ptr_equal(first, again);
    assert_in_range(sends(again, 1, BEGIN_NS + MD_NS_PER_S, BEGIN_NS + 2 * MD_NS_PER_S), 998, 1002);
    assert_ptr_not_equal(first, quota_of(quotas.messages, limit(1000, 8)));
}

static void without_a_limit_all_goes(void **state)
{
    struct quotas quotas = { 0 };
    struct quota *quota = quota_of(quotas.messages, limit(0, 0));

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
        cmocka_unit_test(bytes_are_limited_too),
        cmocka_unit_test(programs_of_a_rule_share_it_and_leaving_buys_nothing),
        cmocka_unit_test(without_a_limit_all_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
