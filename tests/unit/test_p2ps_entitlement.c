/* test_p2ps_entitlement.c - what the authority permits, at once and late. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ 0 });
}

static void an_item_one_may_not_see_is_closed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->authority_denies_item = "IBM.N";
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_ENTITLED);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

static void an_item_one_may_not_see_is_never_asked_for(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    const struct rrmp_sink_stats *stats = rrmp_sink_stats(p2ps_core_sink(pair->sink, 0));
    struct omm_item_request request = pair_request(5, "IBM.N");
    uint64_t before = stats->requests_sent;

    pair->authority_denies_item = "IBM.N";
    p2ps_client_item(pair->sink, pair->now_ns, c->id, &request);
    p2ps_core_tick(pair->sink, pair->now_ns, 1); /* the network has its turn before the sweep */
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(stats->requests_sent, before);
}

static void nothing_is_seen_before_a_slow_authority_has_answered(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair->authority_is_late = true;
    pair_open(b, 6, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_string_equal(pair_heard(b, 6), "");
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(b, 6), "I");
}

static void a_late_answer_is_not_taken_for_another_question(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->authority_is_late = true;
    pair_open(c, 5, "IBM.N"); /* yes, one day */
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair->authority_denies_item = "DELL.O";
    pair_open(c, 5, "DELL.O"); /* no, later */
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "X");
}

static void permission_data_of_the_image_are_asked_about_before_it_is_seen(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->authority_denies_data = "7";
    pair->provider.perm_data = "7";
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_ENTITLED);
}

static void permission_data_that_change_are_asked_about_before_the_update_is_seen(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.perm_data = "A";
    pair->authority_denies_data = "B";
    pair_open(c, 5, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU");
    pair->provider.perm_data = "B";
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IUX");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_ENTITLED);
}

static void new_rules_hold_for_what_is_open(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "DELL.O");
    pair->authority_denies_item = "IBM.N";
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IX");
    assert_string_equal(pair_heard(c, 6), "I");
}

static void new_rules_of_a_slow_authority_hold_too(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair->authority_denies_item = "IBM.N";
    pair->authority_is_late = true;
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IX");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_item_one_may_not_see_is_closed),
        TEST(an_item_one_may_not_see_is_never_asked_for),
        TEST(nothing_is_seen_before_a_slow_authority_has_answered),
        TEST(a_late_answer_is_not_taken_for_another_question),
        TEST(permission_data_of_the_image_are_asked_about_before_it_is_seen),
        TEST(permission_data_that_change_are_asked_about_before_the_update_is_seen),
        TEST(new_rules_hold_for_what_is_open),
        TEST(new_rules_of_a_slow_authority_hold_too),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
