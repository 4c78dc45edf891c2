/* test_p2ps_services.c - what a provider says of its services and groups reaches consumers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup_with(void **state, bool caches, uint32_t open_limit)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->provider.open_limit = open_limit;
    pair->provider.has_links = open_limit > 0;
    pair->source_caches = caches;
    pair_create(pair, (struct p2ps_core_config){ 0 });
    *state = pair;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, false, 0);
}

static int setup_source_caches(void **state)
{
    return setup_with(state, true, 0);
}

static int setup_limited(void **state)
{
    return setup_with(state, false, 2);
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

/* ---- LOAD and LINK ---- */

static uint64_t open_limit_of(const struct pair_client *c)
{
    struct rwf_element_list list;
    struct rwf_element element;
    uint64_t limit = 0;

    assert_true(rwf_element_list_decode(rwf_bytes(c->said[0], c->said_length[0]), NULL, &list) >=
                0);
    assert_true(rwf_element_list_next(&list, &element) > 0);
    assert_true(rwf_element_is(&element, "OpenLimit"));
    assert_int_equal(rwf_uint_decode(element.content, &limit), RWF_OK);
    return limit;
}

static void load_and_links_reach_who_asks_for_them(void **state)
{
    struct pair *pair = *state;
    struct pair_client *asks = pair_client(pair, 0);
    struct pair_client *other = pair_client(pair, 1);
    const uint32_t main_filters = OMM_FILTER_INFO | OMM_FILTER_STATE;
    const uint32_t load_filters = OMM_FILTER_LOAD | OMM_FILTER_LINK;
    uint8_t links[128];

    ask_directory(asks, 0x3f);
    ask_directory(other, main_filters);
    assert_int_equal(asks->filters, main_filters | load_filters);
    assert_int_equal(other->filters, main_filters);
    assert_int_equal(open_limit_of(asks), 2);
    struct rwf_bytes said = pair_links(links, sizeof(links));
    assert_int_equal(asks->said_length[1], said.length);
    assert_memory_equal(asks->said[1], said.data, said.length);
    /* What changes is told alone, and to who asks. */
    pair_say_load(pair, 7);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(asks, 2), "Dd");
    assert_int_equal(asks->filters, OMM_FILTER_LOAD);
    assert_int_equal(open_limit_of(asks), 7);
    assert_string_equal(pair_heard(other, 2), "D");
}

/* EMA Java takes no state from a message that has the INFO, too. */
static void what_changes_is_told_and_the_state_alone(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c, 0x3f);
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 2), "Dd");
    assert_int_equal(c->filters, OMM_FILTER_STATE);
    pair_provider_comes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 2), "Ddd");
    assert_int_equal(c->filters, OMM_FILTER_STATE);
    assert_true(c->is_offered_up);
    pair_provider_goes(pair);
    pair->provider.names_no_domains = true;
    pair_provider_comes(pair);
    pair_pass(pair, PAIR_SEC); /* down, what it offers now, up */
    assert_int_equal(c->filters, OMM_FILTER_STATE);
    assert_true(c->is_offered_up);
}

static void a_service_without_load_has_none(void **state)
{
    struct pair_client *c = pair_client(*state, 0);

    ask_directory(c, 0x3f);
    assert_int_equal(c->filters, OMM_FILTER_INFO | OMM_FILTER_STATE);
}

static void no_more_items_are_open_than_the_open_limit(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request snapshot = pair_request(8, "FOUR");

    pair_open(c, 5, "ONE");
    pair_open(c, 6, "TWO");
    pair_open(c, 7, "THREE");
    snapshot.is_streaming = false;
    pair_ask_item(c, &snapshot);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_string_equal(pair_heard(c, 6), "I");
    assert_string_equal(pair_heard(c, 7), "X");
    assert_int_equal(pair_stream(c, 7)->code, RWF_CODE_TOO_MANY_ITEMS);
    assert_non_null(strstr(pair_stream(c, 7)->text, "OpenLimit"));
    assert_string_equal(pair_heard(c, 8), "X");
    assert_int_equal(pair->provider.requests, 2);
    /* One that is open may be had by others, and one that is closed makes room. */
    struct pair_client *other = pair_client(pair, 1);
    pair_open(other, 5, "ONE");
    assert_string_equal(pair_heard(other, 5), "I");
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 6);
    pair_pass(pair, 35 * PAIR_SEC);
    pair_open(c, 9, "THREE");
    assert_string_equal(pair_heard(c, 9), "I");
    pair_open(c, 10, "TWO");
    assert_string_equal(pair_heard(c, 10), "X");
}

static void a_higher_limit_makes_room(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "ONE");
    pair_open(c, 6, "TWO");
    pair_say_load(pair, 3);
    pair_settle(pair);
    pair_open(c, 7, "THREE");
    assert_string_equal(pair_heard(c, 7), "I");
}

int main(void)
{
#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_group_to_be_asked_for_again_is_told_as_such, setup),
        TEST(a_group_to_be_asked_for_again_is_told_as_such, setup_source_caches),
        TEST(other_groups_do_not_hear_of_it, setup),
        TEST(who_never_asks_again_leaves_no_item_behind, setup),
        TEST(load_and_links_reach_who_asks_for_them, setup_limited),
        TEST(what_changes_is_told_and_the_state_alone, setup),
        TEST(a_service_without_load_has_none, setup),
        TEST(no_more_items_are_open_than_the_open_limit, setup_limited),
        TEST(a_higher_limit_makes_room, setup_limited),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
