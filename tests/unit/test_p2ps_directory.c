/* test_p2ps_directory.c - services and groups as consumers see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ 0 });
}

/* ---- directory ---- */

static void ask_directory(struct pair_client *c)
{
    const struct omm_directory_request request = {
        .stream_id = 2,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP,
    };

    p2ps_client_directory(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

static void the_directory_shows_the_service_and_its_changes(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c);
    assert_string_equal(pair_heard(c, 2), "D");
    assert_int_equal(pair_stream(c, 2)->fields, 1);
    assert_int_equal(pair_stream(c, 2)->data_state, 1);
    pair_provider_goes(pair);
    pair_pass(pair, 1 * PAIR_SEC);
    assert_int_equal(pair_stream(c, 2)->data_state, 2);
    pair_provider_comes(pair);
    pair_pass(pair, 1 * PAIR_SEC);
    assert_int_equal(pair_stream(c, 2)->data_state, 1);
}

static int setup_of_site(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .site = "HQ" });
}

/* So another site that takes it and gives it back is noticed. */
static void a_service_that_says_no_site_begins_at_that_of_p2ps(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c);
    assert_string_equal(c->path, "HQ");
}

/* A provider that names no domains; with the data type of its service, and what then comes of an
 * item of domain 6 and of one of domain 7. */
static void open_untyped(uint8_t data_type, const char *price, const char *order)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    struct pair_client *c;

    assert_non_null(pair);
    pair->provider.names_no_domains = true;
    pair->data_type = data_type;
    pair_create(pair, (struct p2ps_core_config){ .item_limits.mount = 40 });
    c = pair_client(pair, 0);
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), price);
    struct omm_item_request request = pair_request(6, "DELL.O");
    request.domain = 7;
    pair_ask_item(c, &request);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 6), order);
    pair_destroy(pair);
    free(pair);
}

static void a_provider_that_names_no_domains_is_taken_at_its_data_type(void **state)
{
    (void)state;
    open_untyped(0, "X", "X");
    open_untyped(6, "I", "X");
    open_untyped(7, "X", "I");
}

static int setup_forgets(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .service_forget_ns = 30 * PAIR_SEC });
}

/* Its process ends: the backbone says so at once. */
static void source_dies(struct pair *pair)
{
    const struct backbone_event notice = { .type = BACKBONE_USER_DOWN,
                                           .session = 1,
                                           .src_port = 1 };

    pair->is_dead = true;
    p2ps_core_backbone(pair->sink, 0, pair->now_ns, &notice, 1);
    pair_settle(pair);
}

static void a_service_without_source_is_down_then_deleted_and_comes_back(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct pair_client *late;

    ask_directory(c);
    pair_open(c, 5, "IBM.N");
    source_dies(pair);
    pair_pass(pair, 29 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 2), "Dd");
    assert_string_equal(pair_heard(c, 5), "I!");
    assert_false(p2ps_core_service_is_forgotten(pair->sink, 0, 0));
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 2), "Dd-");
    assert_string_equal(pair_heard(c, 5), "I!R");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_SOURCE_UNKNOWN);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 0);
    assert_int_equal(rrmp_sink_stats(p2ps_core_sink(pair->sink, 0))->items_now, 0);
    assert_true(p2ps_core_service_is_forgotten(pair->sink, 0, 0));
    /* It is as if it had never been. */
    late = pair_client(pair, 1);
    ask_directory(late);
    assert_int_equal(pair_stream(late, 2)->fields, 0);
    pair_open(late, 5, "IBM.N");
    assert_string_equal(pair_heard(late, 5), "X");
    assert_int_equal(pair_stream(late, 5)->code, RWF_CODE_SOURCE_UNKNOWN);
    pair_pass(pair, 60 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 2), "Dd-");
    pair->is_dead = false;
    pair_pass(pair, 3 * PAIR_SEC);
    assert_int_equal(strncmp(pair_heard(c, 2), "Dd-+", 4), 0);
    assert_int_equal(pair_stream(c, 2)->data_state, 1);
    assert_false(p2ps_core_service_is_forgotten(pair->sink, 0, 0));
    pair_open(c, 6, "IBM.N");
    assert_string_equal(pair_heard(c, 6), "I");
}

static void a_service_that_comes_back_in_time_is_not_deleted(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c);
    pair_open(c, 5, "IBM.N");
    source_dies(pair);
    pair_pass(pair, 20 * PAIR_SEC);
    pair->is_dead = false;
    pair_pass(pair, 3 * PAIR_SEC);
    source_dies(pair);
    pair_pass(pair, 20 * PAIR_SEC);
    assert_null(strchr(pair_heard(c, 2), '-'));
    pair_pass(pair, 11 * PAIR_SEC);
    assert_non_null(strchr(pair_heard(c, 2), '-'));
}

static void without_serviceForget_a_service_is_never_deleted(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c);
    pair_open(c, 5, "IBM.N");
    source_dies(pair);
    pair_pass(pair, 600 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 2), "Dd");
    assert_string_equal(pair_heard(c, 5), "I!");
}

/* ---- groups ---- */

static void a_group_suspect_is_told_once_to_who_follows_groups(void **state)
{
    struct pair *pair = *state;
    struct pair_client *with = pair_client(pair, 0);
    struct pair_client *without = pair_client(pair, 1);

    ask_directory(with);
    pair_open(with, 5, "IBM.N");
    pair_open(without, 5, "IBM.N");
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    pair_settle(pair);
    assert_string_equal(pair_heard(with, 2), "Dg");
    assert_int_equal(with->group[0], pair_stream(with, 5)->group);
    assert_string_equal(pair_heard(with, 5), "I");
    assert_string_equal(pair_heard(without, 5), "I!");
}

static void a_group_that_is_fine_again_says_so_only_of_those_that_are(void **state)
{
    struct pair *pair = *state;
    struct pair_client *with = pair_client(pair, 0);
    struct pair_client *without = pair_client(pair, 1);

    ask_directory(with);
    pair_open(with, 5, "IBM.N");
    pair_open(with, 6, "DELL.O");
    pair_open(without, 5, "IBM.N");
    pair_open(without, 6, "DELL.O");
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    pair_settle(pair);
    assert_string_equal(pair_heard(with, 2), "Dg");
    pair->provider.answers = false;
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED_RECOVER,
                    RWF_DATA_SUSPECT, RWF_CODE_NONE);
    pair_settle(pair);
    pair_say_group(pair, 1, 0, RWF_DATA_OK);
    pair_settle(pair);
    assert_string_equal(pair_heard(with, 2), "Dg");
    assert_int_equal(pair_stream(with, 5)->data_state, RWF_DATA_SUSPECT);
    assert_int_equal(pair_stream(with, 6)->data_state, RWF_DATA_OK);
    assert_int_equal(pair_stream(without, 5)->data_state, RWF_DATA_SUSPECT);
    assert_int_equal(pair_stream(without, 6)->data_state, RWF_DATA_OK);
}

static void a_merged_group_is_told_so_and_its_status_reaches_the_items(void **state)
{
    struct pair *pair = *state;
    struct pair_client *with = pair_client(pair, 0);
    struct pair_client *without = pair_client(pair, 1);

    ask_directory(with);
    pair_open(with, 5, "IBM.N");
    pair_open(without, 5, "IBM.N");
    pair_say_group(pair, 1, 2, 0);
    pair_settle(pair);
    assert_string_equal(pair_heard(with, 2), "Dm");
    assert_int_equal(with->group[0], pair_stream(with, 5)->group);
    uint32_t merged = with->group[1];
    assert_int_not_equal(merged, with->group[0]);
    pair_say_group(pair, 2, 0, RWF_DATA_SUSPECT);
    pair_settle(pair);
    assert_string_equal(pair_heard(with, 2), "Dmg");
    assert_int_equal(with->group[0], merged);
    assert_string_equal(pair_heard(without, 5), "I!");
    /* Nothing more happens to the group the items were in. */
    pair_say_group(pair, 1, 0, RWF_DATA_OK);
    pair_settle(pair);
    assert_string_equal(pair_heard(without, 5), "I!");
}

static void a_service_that_goes_down_unheard_is_told_item_by_item(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    ask_directory(c);
    pair_open(c, 5, "IBM.N");
    c->room = 0;
    pair_provider_goes(pair);
    pair_pass(pair, 500 * PAIR_MS);
    assert_string_equal(pair_heard(c, 2), "D");
    c->room = PAIR_UNLIMITED;
    p2ps_client_writable(pair->sink, pair->now_ns, c->id);
    pair_pass(pair, 1500 * PAIR_MS);
    assert_string_equal(pair_heard(c, 2), "DD");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_SUSPECT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_directory_shows_the_service_and_its_changes),
        cmocka_unit_test_setup_teardown(a_service_that_says_no_site_begins_at_that_of_p2ps,
                                        setup_of_site, pair_teardown),
        cmocka_unit_test_setup_teardown(
            a_service_without_source_is_down_then_deleted_and_comes_back, setup_forgets,
            pair_teardown),
        cmocka_unit_test_setup_teardown(a_service_that_comes_back_in_time_is_not_deleted,
                                        setup_forgets, pair_teardown),
        TEST(without_serviceForget_a_service_is_never_deleted),
        cmocka_unit_test(a_provider_that_names_no_domains_is_taken_at_its_data_type),
        TEST(a_group_suspect_is_told_once_to_who_follows_groups),
        TEST(a_group_that_is_fine_again_says_so_only_of_those_that_are),
        TEST(a_merged_group_is_told_so_and_its_status_reaches_the_items),
        TEST(a_service_that_goes_down_unheard_is_told_item_by_item),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
