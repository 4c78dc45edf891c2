/* test_p2ps_networks.c - one p2ps core on two networks: one directory, each item on one of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

/* The first pair has the p2ps core; the second is another network with a source of its own. */
struct two {
    struct pair pair[2];
    int wanted; /* what the configuration says of every service: a network, or -1 */
    char warning[256];
};

static int say_network(void *owner, struct rrmp_view name)
{
    const struct two *two = owner;

    (void)name;
    return two->wanted;
}

static void keep_warning(void *owner, const char *text)
{
    struct two *two = owner;

    snprintf(two->warning, sizeof(two->warning), "%s", text);
}

static void settle(struct two *two)
{
    for (int i = 0; i < 3; i++) {
        pair_settle(&two->pair[0]);
        pair_settle(&two->pair[1]);
    }
}

static void pass(struct two *two, uint64_t time_ns)
{
    uint64_t until = two->pair[0].now_ns + time_ns;

    while (two->pair[0].now_ns < until) {
        two->pair[0].now_ns += 20 * PAIR_MS;
        two->pair[1].now_ns = two->pair[0].now_ns;
        srcdist_core_tick(two->pair[0].source, two->pair[0].now_ns, true);
        srcdist_core_tick(two->pair[1].source, two->pair[1].now_ns, true);
        p2ps_core_tick(two->pair[0].sink, two->pair[0].now_ns, 3);
        settle(two);
    }
}

static void start_first(struct two *two)
{
    struct pair *second = &two->pair[1];
    struct p2ps_core_config config = {
        .network_count = 2,
        .service_forget_ns = 30 * PAIR_SEC,
        .services = { .owner = two, .network = say_network, .warn = keep_warning },
    };

    config.sends[1] = (struct backbone_send){
        .context = &second->up, .reserve = pair_reserve, .commit = pair_commit, .fill = pair_fill
    };
    pair_create(&two->pair[0], config);
}

static void start_second(struct two *two, const char *service, uint16_t id)
{
    struct backbone_event notice = { .type = BACKBONE_ATTACHED, .session = 2, .dst_port = 1 };
    struct pair *second = &two->pair[1];

    second->network = 1;
    second->service = service;
    second->service_id = id;
    second->sink = two->pair[0].sink;
    pair_create_source(second);
    second->now_ns = two->pair[0].now_ns;
    p2ps_core_backbone(second->sink, 1, second->now_ns, &notice, 1);
    pair_provider_comes(second);
    pass(two, 400 * PAIR_MS);
}

static void start(struct two *two, const char *service, uint16_t id)
{
    start_first(two);
    start_second(two, service, id);
}

/* Both services have id 1 at their providers; the configuration names none. */
static void take_provider_ids(struct two *two)
{
    for (int i = 0; i < 2; i++) {
        two->pair[i].is_id_automatic = true;
        two->pair[i].provider_id = 1;
    }
}

static int setup(void **state)
{
    struct two *two = calloc(1, sizeof(*two));

    assert_non_null(two);
    two->wanted = -1;
    *state = two;
    return 0;
}

static int teardown(void **state)
{
    struct two *two = *state;

    pair_destroy(&two->pair[0]);
    srcdist_core_destroy(two->pair[1].source);
    free(two);
    return 0;
}

static void ask_directory(struct two *two, struct pair_client *c)
{
    struct omm_directory_request request = {
        .stream_id = 2,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP,
    };

    p2ps_client_directory(c->pair->sink, c->pair->now_ns, c->id, &request);
    settle(two);
}

static void open_item(struct two *two, struct pair_client *c, int32_t stream, uint16_t service)
{
    struct omm_item_request request = pair_request(stream, "IBM.N");

    request.key.service_id = service;
    pair_ask_item(c, &request);
    settle(two);
}

static void consumers_see_the_services_of_both_networks(void **state)
{
    struct two *two = *state;

    start(two, "OTHER", 9);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    ask_directory(two, c);
    assert_string_equal(pair_heard(c, 2), "D");
    assert_int_equal(pair_stream(c, 2)->fields, 2);
    open_item(two, c, 5, PAIR_SERVICE_ID);
    open_item(two, c, 6, 9);
    assert_int_equal(two->pair[0].provider.requests, 1);
    assert_int_equal(two->pair[1].provider.requests, 1);
    pair_update(&two->pair[0], "IBM.N");
    pair_update(&two->pair[1], "IBM.N");
    pair_update(&two->pair[1], "IBM.N");
    settle(two);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_string_equal(pair_heard(c, 6), "IUU");
    assert_string_equal(two->warning, "");
}

static void a_network_that_falls_silent_costs_its_own_services_only(void **state)
{
    struct two *two = *state;

    start(two, "OTHER", 9);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    open_item(two, c, 5, PAIR_SERVICE_ID);
    open_item(two, c, 6, 9);
    two->pair[1].lose_down = true;
    pass(two, 5 * PAIR_SEC);
    pair_update(&two->pair[0], "IBM.N");
    settle(two);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_string_equal(pair_heard(c, 6), "I!");
    two->pair[1].lose_down = false;
    pass(two, 3 * PAIR_SEC);
    assert_int_equal(pair_stream(c, 6)->data_state, 1);
    assert_string_equal(pair_heard(c, 5), "IU");
}

static void the_same_service_on_two_networks_is_taken_from_the_first(void **state)
{
    struct two *two = *state;

    start(two, "RDFD", PAIR_SERVICE_ID);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    ask_directory(two, c);
    assert_int_equal(pair_stream(c, 2)->fields, 1);
    assert_non_null(strstr(two->warning, "RDFD is announced on two networks"));
    assert_int_equal(p2ps_core_stats(two->pair[0].sink)->services_twice, 1);
    open_item(two, c, 5, PAIR_SERVICE_ID);
    assert_int_equal(two->pair[0].provider.requests, 1);
    assert_int_equal(two->pair[1].provider.requests, 0);
}

static void the_configuration_says_which_network_a_service_is_on(void **state)
{
    struct two *two = *state;

    two->wanted = 1;
    start(two, "RDFD", PAIR_SERVICE_ID);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    open_item(two, c, 5, PAIR_SERVICE_ID);
    assert_int_equal(two->pair[0].provider.requests, 0);
    assert_int_equal(two->pair[1].provider.requests, 1);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_string_equal(two->warning, "");
}

static void two_services_with_one_id_are_told_apart(void **state)
{
    struct two *two = *state;

    start(two, "OTHER", PAIR_SERVICE_ID);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    open_item(two, c, 5, PAIR_SERVICE_ID);
    open_item(two, c, 6, PAIR_SERVICE_ID + 1);
    assert_int_equal(two->pair[0].provider.requests, 1);
    assert_int_equal(two->pair[1].provider.requests, 1);
    assert_non_null(strstr(two->warning, "OTHER has the id of a service of another network"));
}

static void a_service_without_an_id_of_its_own_has_its_providers(void **state)
{
    struct two *two = *state;

    take_provider_ids(two);
    two->pair[1].provider_id = 300;
    start(two, "OTHER", 0);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    open_item(two, c, 5, 1);
    open_item(two, c, 6, 300);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_string_equal(pair_heard(c, 6), "I");
    assert_string_equal(two->warning, "");
}

static void of_two_with_one_id_at_their_providers_the_first_name_has_it(void **state)
{
    struct two *two = *state;
    const struct p2ps_core *core;

    take_provider_ids(two);
    start(two, "OTHER", 0);
    core = two->pair[0].sink;
    assert_int_equal(p2ps_core_service_id(core, 1, 0), 1);
    assert_int_equal(p2ps_core_service_id(core, 0, 0), 1 + rrmp_topic("RDFD", 4) % 65534);
    assert_non_null(strstr(two->warning, "RDFD has the id of a service of another network"));
}

static void the_later_name_has_another_id_whichever_comes_first(void **state)
{
    struct two *two = *state;
    const struct p2ps_core *core;

    take_provider_ids(two);
    start(two, "ZONE", 0);
    core = two->pair[0].sink;
    assert_int_equal(p2ps_core_service_id(core, 0, 0), 1);
    assert_int_equal(p2ps_core_service_id(core, 1, 0), 1 + rrmp_topic("ZONE", 4) % 65534);
}

static void an_id_that_consumers_may_know_stays(void **state)
{
    struct two *two = *state;

    take_provider_ids(two);
    start_first(two);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    pair_open(c, 4, "IBM.N"); /* of a service that it does not know: it may know any */
    start_second(two, "OTHER", 0);
    open_item(two, c, 5, 1);
    assert_int_equal(two->pair[0].provider.requests, 1);
    assert_non_null(strstr(two->warning, "OTHER has the id of"));
}

static void a_configured_id_counts_before_a_providers(void **state)
{
    struct two *two = *state;

    take_provider_ids(two);
    two->pair[1].is_id_automatic = false;
    start(two, "ZONE", 1);
    assert_int_equal(p2ps_core_service_id(two->pair[0].sink, 1, 0), 1);
    assert_int_not_equal(p2ps_core_service_id(two->pair[0].sink, 0, 0), 1);
}

static void a_service_that_another_network_offers_is_not_deleted(void **state)
{
    struct two *two = *state;

    start(two, "RDFD", PAIR_SERVICE_ID);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    ask_directory(two, c);
    open_item(two, c, 5, PAIR_SERVICE_ID);
    two->pair[0].is_dead = true;
    pass(two, 40 * PAIR_SEC);
    assert_null(strchr(pair_heard(c, 2), '-'));
    assert_non_null(strstr(two->warning, "RDFD has been offered by nobody on its network"));
    assert_int_equal(pair_stream(c, 5)->stream_state, RWF_STREAM_CLOSED_RECOVER);
    assert_int_equal(rrmp_sink_stats(p2ps_core_sink(two->pair[0].sink, 0))->items_now, 0);
    open_item(two, c, 6, PAIR_SERVICE_ID);
    pair_update(&two->pair[1], "IBM.N");
    settle(two);
    assert_string_equal(pair_heard(c, 6), "IU");
    assert_false(p2ps_core_service_is_taken(two->pair[0].sink, 0, 0));
    assert_true(p2ps_core_service_is_taken(two->pair[0].sink, 1, 0));
    /* The first one's return changes nothing, and then the way leads back. */
    two->pair[0].is_dead = false;
    pass(two, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 6), "IU");
    two->pair[1].is_dead = true;
    pass(two, 40 * PAIR_SEC);
    assert_true(p2ps_core_service_is_taken(two->pair[0].sink, 0, 0));
    open_item(two, c, 7, PAIR_SERVICE_ID);
    assert_string_equal(pair_heard(c, 7), "I");
}

static void a_deleted_service_comes_back_by_any_network(void **state)
{
    struct two *two = *state;

    start(two, "RDFD", PAIR_SERVICE_ID);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    ask_directory(two, c);
    two->pair[0].is_dead = true;
    two->pair[1].is_dead = true;
    pass(two, 40 * PAIR_SEC);
    assert_non_null(strchr(pair_heard(c, 2), '-'));
    two->pair[1].is_dead = false;
    pass(two, 3 * PAIR_SEC);
    assert_non_null(strchr(pair_heard(c, 2), '+'));
    open_item(two, c, 5, PAIR_SERVICE_ID);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(two->pair[1].provider.requests, 1);
}

static void a_service_stays_on_the_network_that_the_configuration_says(void **state)
{
    struct two *two = *state;

    two->wanted = 0;
    start(two, "RDFD", PAIR_SERVICE_ID);
    struct pair_client *c = pair_client(&two->pair[0], 0);
    ask_directory(two, c);
    two->pair[0].is_dead = true;
    pass(two, 40 * PAIR_SEC);
    assert_non_null(strchr(pair_heard(c, 2), '-'));
    assert_true(p2ps_core_service_is_forgotten(two->pair[0].sink, 0, 0));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(consumers_see_the_services_of_both_networks),
        TEST(a_network_that_falls_silent_costs_its_own_services_only),
        TEST(the_same_service_on_two_networks_is_taken_from_the_first),
        TEST(the_configuration_says_which_network_a_service_is_on),
        TEST(two_services_with_one_id_are_told_apart),
        TEST(a_service_without_an_id_of_its_own_has_its_providers),
        TEST(of_two_with_one_id_at_their_providers_the_first_name_has_it),
        TEST(the_later_name_has_another_id_whichever_comes_first),
        TEST(an_id_that_consumers_may_know_stays),
        TEST(a_configured_id_counts_before_a_providers),
        TEST(a_service_that_another_network_offers_is_not_deleted),
        TEST(a_deleted_service_comes_back_by_any_network),
        TEST(a_service_stays_on_the_network_that_the_configuration_says),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
