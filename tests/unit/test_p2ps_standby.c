/* test_p2ps_standby.c - consumers that are connected to two p2ps and follow one of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

enum role { FOLLOWS = OMM_STANDBY_ACTIVE, STANDS_BY = OMM_STANDBY_STANDBY };

static int setup_with(void **state, bool keeps_images)
{
    return pair_setup(state, (struct p2ps_core_config){ .keeps_images = keeps_images });
}

static int setup(void **state)
{
    return setup_with(state, true);
}

static int setup_without_cache(void **state)
{
    return setup_with(state, false);
}

static void say(struct pair_client *c, struct rwf_msg *msg, const struct rwf_map_info *info,
                struct rwf_map_entry *entry, enum role role)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, msg);
    rwf_map_start(&enc, info);
    rwf_map_entry_start(&enc, entry);
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_uint(&enc, "WarmStandbyMode", (uint64_t)role);
    rwf_element_list_finish(&enc);
    rwf_map_entry_finish(&enc);
    rwf_map_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    struct rwf_bytes whole = rwf_encoder_bytes(&enc);
    assert_int_equal(rwf_msg_decode(whole, msg), RWF_OK);
    p2ps_client_generic(c->pair->sink, c->pair->now_ns, c->id, msg, whole);
    pair_settle(c->pair);
    pair_pass(c->pair, 20 * PAIR_MS);
}

/* As EMA says it for the whole connection, on the login stream. */
static void by_login(struct pair_client *c, enum role role)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .domain = RWF_DOMAIN_LOGIN,
        .stream_id = 1,
        .container = RWF_TYPE_MAP,
        .flags = RWF_GENERIC_HAS_KEY,
        .key = { .flags = RWF_KEY_HAS_NAME, .name = rwf_text("ConsumerConnectionStatus") },
    };
    struct rwf_map_info info = { .key_type = RWF_TYPE_ASCII, .container = RWF_TYPE_ELEMENT_LIST };
    struct rwf_map_entry entry = { .action = RWF_MAP_ADD, .key = rwf_text("WarmStandbyInfo") };

    say(c, &msg, &info, &entry, role);
}

/* As EMA says it for one service, on the directory stream. */
static void by_service(struct pair_client *c, uint8_t service_id, enum role role)
{
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .domain = RWF_DOMAIN_SOURCE,
        .stream_id = 2,
        .container = RWF_TYPE_MAP,
        .flags = RWF_GENERIC_HAS_KEY,
        .key = { .flags = RWF_KEY_HAS_NAME, .name = rwf_text("ConsumerStatus") },
    };
    struct rwf_map_info info = { .key_type = RWF_TYPE_UINT, .container = RWF_TYPE_ELEMENT_LIST };
    struct rwf_map_entry entry = { .action = RWF_MAP_ADD, .key = rwf_bytes(&service_id, 1) };

    say(c, &msg, &info, &entry, role);
}

static void directory(struct pair_client *c)
{
    struct omm_directory_request request = { .stream_id = 2, .is_streaming = true, .filter = 3 };

    p2ps_client_directory(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

static void tick(struct pair *pair, const char *name)
{
    pair_update(pair, name);
    pair_settle(pair);
}

static void who_stands_by_has_images_and_no_updates(void **state)
{
    struct pair *pair = *state;
    struct pair_client *active = pair_client(pair, 0);
    struct pair_client *standby = pair_client(pair, 1);

    by_login(active, FOLLOWS);
    by_login(standby, STANDS_BY);
    pair_open(active, 5, "IBM.N");
    pair_open(standby, 5, "IBM.N");
    tick(pair, "IBM.N");
    assert_string_equal(pair_heard(active, 5), "IU");
    assert_string_equal(pair_heard(standby, 5), "I");
    assert_int_equal(pair->provider.requests, 1);
}

static void who_comes_to_follow_us_is_given_every_item_anew(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    by_login(c, STANDS_BY);
    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "DELL.O");
    tick(pair, "IBM.N");
    by_login(c, FOLLOWS);
    assert_string_equal(pair_heard(c, 5), "Ii");
    assert_string_equal(pair_heard(c, 6), "Ii"); /* lost with the other p2ps though it is quiet */
    assert_int_equal(pair_stream(c, 5)->counter, 101);
    tick(pair, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "IiU");
    by_login(c, FOLLOWS);
    assert_string_equal(pair_heard(c, 5), "IiU"); /* said again: nothing new */
}

static void roles_are_told_for_one_service_too(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    directory(c);
    by_service(c, PAIR_SERVICE_ID + 1, STANDS_BY); /* there is none with this id */
    pair_open(c, 5, "IBM.N");
    tick(pair, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "IU");
    by_service(c, PAIR_SERVICE_ID, STANDS_BY);
    tick(pair, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "IU");
    by_service(c, PAIR_SERVICE_ID, FOLLOWS);
    assert_string_equal(pair_heard(c, 5), "IUi");
    assert_int_equal(pair_stream(c, 5)->counter, 102);
}

static void a_standby_is_told_what_becomes_of_its_items(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    by_login(c, STANDS_BY);
    pair_open(c, 5, "IBM.N");
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I!");
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I!i");
}

static void a_role_that_changes_before_the_image_is_there_costs_no_second_one(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    by_login(c, STANDS_BY);
    pair->provider.answers = false;
    pair_open(c, 5, "IBM.N");
    by_login(c, FOLLOWS);
    pair->provider.answers = true;
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), true);
    pair_settle(pair);
    tick(pair, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "IU");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
#define WITHOUT_CACHE(name)                                                                        \
    cmocka_unit_test_setup_teardown(name, setup_without_cache, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(who_stands_by_has_images_and_no_updates),
        TEST(who_comes_to_follow_us_is_given_every_item_anew),
        WITHOUT_CACHE(who_comes_to_follow_us_is_given_every_item_anew),
        TEST(roles_are_told_for_one_service_too),
        TEST(a_standby_is_told_what_becomes_of_its_items),
        TEST(a_role_that_changes_before_the_image_is_there_costs_no_second_one),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
