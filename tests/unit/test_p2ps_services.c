/* test_p2ps_services.c - what a provider says of its services and groups reaches consumers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup_with(void **state, bool caches)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->source_caches = caches;
    pair_create(pair, (struct p2ps_core_config){ 0 });
    *state = pair;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, false);
}

static int setup_source_caches(void **state)
{
    return setup_with(state, true);
}

static int teardown(void **state)
{
    pair_destroy(*state);
    free(*state);
    return 0;
}

static void ask_directory(struct pair_client *c, uint32_t filter)
{
    const struct omm_directory_request request = {
        .stream_id = 2,
        .is_streaming = true,
        .filter = filter,
    };

    p2ps_client_directory(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

/* ---- a provider that ends its streams by group or service ---- */

/* The streams are over at the provider, too. */
static void close_items(struct pair *pair)
{
    for (size_t i = 0; i < PAIR_ITEMS; i++)
        pair->provider.items[i].is_open = false;
}

static void a_group_to_be_asked_for_again_is_told_as_such(void **state)
{
    struct pair *pair = *state;
    struct pair_client *with = pair_client(pair, 0);
    struct pair_client *without = pair_client(pair, 1);

    ask_directory(with, OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP);
    pair_open(with, 5, "IBM.N");
    pair_open(without, 5, "IBM.N");
    close_items(pair);
    pair_say_group_state(pair, 1, 0, RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT);
    pair_pass(pair, 20 * PAIR_MS);
    assert_string_equal(pair_heard(with, 2), "Dg");
    assert_int_equal(with->group_stream_state, RWF_STREAM_CLOSED_RECOVER);
    assert_string_equal(pair_heard(with, 5), "I"); /* the group's state has ended it */
    assert_string_equal(pair_heard(without, 5), "IR");
    /* Both ask again, as real consumers do, and are served. */
    uint32_t requests = pair->provider.requests;
    pair_open(with, 6, "IBM.N");
    pair_open(without, 6, "IBM.N");
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(with, 6), "I");
    assert_string_equal(pair_heard(without, 6), "I");
    assert_int_equal(pair_stream(with, 6)->data_state, RWF_DATA_OK);
    assert_true(requests == 2);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(with, 6), "IU");
    assert_string_equal(pair_heard(without, 6), "IU");
    assert_string_equal(pair_heard(with, 5), "I");
}

static void other_groups_do_not_hear_of_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_say_group_state(pair, 2, 0, RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT);
    pair_pass(pair, PAIR_SEC);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_int_equal(pair->provider.requests, 1);
}

static void who_never_asks_again_leaves_no_item_behind(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    close_items(pair);
    pair_say_group_state(pair, 1, 0, RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT);
    pair_pass(pair, 10 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IR");
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
    assert_int_equal(srcdist_core_stats(pair->source)->items_now, 0);
    assert_null(pair_item(pair, "IBM.N")); /* what was asked anew is closed */
}

int main(void)
{
#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_group_to_be_asked_for_again_is_told_as_such, setup),
        TEST(a_group_to_be_asked_for_again_is_told_as_such, setup_source_caches),
        TEST(other_groups_do_not_hear_of_it, setup),
        TEST(who_never_asks_again_leaves_no_item_behind, setup),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
