/* test_p2ps_failures.c - providers and records that are lost, and how items come back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ 0 });
}

static void a_provider_lost_makes_items_suspect_and_brings_them_back(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I!");
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I!i");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I!iU");
}

static void service_ends_its_streams(struct pair *pair)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct omm_directory_head head = { .stream_id = OMM_DIRECTORY_STREAM, .is_update = true };
    struct omm_service service = {
        .id = 99,
        .action = RWF_MAP_UPDATE,
        .filters = OMM_FILTER_STATE,
        .is_up = true,
        .is_accepting = true,
        .has_status = true,
        .status = { .stream_state = RWF_STREAM_CLOSED_RECOVER, .data_state = RWF_DATA_SUSPECT },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    pair_say(&pair->provider, &enc);
}

/* A consumer that opens the item again waits for its image: the provider's word about the group,
 * ahead of that, says nothing of it. */
static void a_service_whose_streams_end_is_suspect_until_their_images(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair->provider.answers = false;
    service_ends_its_streams(pair);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IR");
    pair_open(c, 6, "IBM.N");
    pair_pass(pair, PAIR_SEC);
    pair_say_group(pair, 1, 0, RWF_DATA_OK);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 6), "");
    pair->provider.answers = true;
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), true);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 6), "I");
    assert_int_equal(pair_stream(c, 6)->data_state, RWF_DATA_OK);
}

static void an_item_asked_while_the_service_is_down_waits_for_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "!");
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "!I");
}

/* The source said it of the item once, and does not say it again. */
static void a_stream_that_is_asked_for_again_while_it_waits_is_told_so(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "!");
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "!!");
    pair_provider_comes(pair);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "!!I");
}

/* No instance says any more what the service offers: it is the same service all the same. */
static void an_item_asked_while_no_instance_is_there_waits_for_one(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct backbone_event down = { .type = BACKBONE_PEER_DOWN, .session = 1 };

    p2ps_core_backbone(pair->sink, 0, pair->now_ns, &down, 1);
    pair_settle(pair);
    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "!");
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "!I");
}

static void a_client_without_single_open_recovers_itself(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);
    struct omm_login_request login = pair_login_request();

    login.single_open = false;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &login);
    pair_open(c, 5, "IBM.N");
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IR");
    pair_open(c, 6, "IBM.N");
    assert_string_equal(pair_heard(c, 6), "R");
}

static void a_client_that_takes_no_suspect_data_is_told_to_ask_again(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);
    struct omm_login_request request = pair_login_request();

    request.allow_suspect_data = false;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_settle(pair);
    pair_open(c, 5, "IBM.N");
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IR");
    pair_open(c, 6, "IBM.N");
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(pair_stream(c, 6)->stream_state, RWF_STREAM_CLOSED_RECOVER);
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 0);
}

static void a_record_that_a_protocol_cannot_say_makes_the_item_suspect_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_unmade_class = RWF_CLASS_UPDATE;
    pair_update(pair, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I!");
    pair_unmade_class = 0;
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I!i");
    pair_unmade_class = RWF_CLASS_UPDATE;
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I!i!");
    pair_unmade_class = RWF_CLASS_REFRESH;
    pair_open(c, 6, "GE.N");
    pair_unmade_class = 0;
    assert_string_equal(pair_heard(c, 6), "!");
    assert_int_equal(p2ps_core_stats(pair->sink)->decode_errors, 4);
}

static void a_snapshot_that_a_protocol_cannot_say_is_closed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.is_streaming = false;
    pair_unmade_class = RWF_CLASS_REFRESH;
    pair_ask_item(c, &request);
    request.stream_id = 6;
    pair_open(c, 7, "IBM.N"); /* of an item that is open it is the same */
    pair_ask_item(c, &request);
    pair_unmade_class = 0;
    assert_string_equal(pair_heard(c, 5), "X");
    assert_string_equal(pair_heard(c, 6), "X");
    assert_string_equal(pair_heard(c, 7), "!");
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 1);
}

static void a_generic_message_that_a_protocol_cannot_say_costs_no_connection(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    uint8_t bytes[100];
    struct rwf_encoder enc;

    pair_open(c, 5, "IBM.N");
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = pair_item(pair, "IBM.N")->stream_id,
        .flags = RWF_GENERIC_COMPLETE,
        .container = RWF_TYPE_NO_DATA,
    };
    pair_unmade_class = RWF_CLASS_GENERIC;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    assert_int_equal(rwf_msg_encode(&enc, &msg), RWF_OK);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
    pair_unmade_class = 0;
    assert_string_equal(pair_heard(c, 5), "IS");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_false(c->closed);
}

static int setup_window(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .sink.open_window_minimum = 2 });
}

static void no_more_requests_are_under_way_than_the_open_window(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    static const char *const names[] = { "A", "B", "C", "D", "E" };

    pair->provider.answers = false;
    for (int i = 0; i < 5; i++)
        pair_open(c, 5 + i, names[i]);
    pair_pass(pair, 200 * PAIR_MS);
    assert_int_equal(pair->provider.requests, 2);
    pair->provider.answers = true;
    pair_answer(&pair->provider, pair_item(pair, "A"));
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I");
    pair_answer(&pair->provider, pair_item(pair, "B"));
    pair_pass(pair, 200 * PAIR_MS);
    assert_int_equal(pair->provider.requests, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(pair_heard(c, 5 + i), "I");
}

static void a_changed_priority_changes_who_is_asked_for_next(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    static const char *const names[] = { "A", "B", "C", "D", "E" };
    const struct backbone_event down = { .type = BACKBONE_PEER_DOWN, .session = 1 };

    for (int i = 0; i < 5; i++)
        pair_open(c, 5 + i, names[i]);
    pair->provider.answers = false;
    p2ps_core_backbone(pair->sink, 0, pair->now_ns, &down,
                       1); /* and it is back with its next word */
    pair_pass(pair, 3 * PAIR_SEC);
    assert_int_equal(pair->provider.reissues, 2);
    int first = pair_item(pair, "A")->reissues > 0 ? 0 : 4; /* from which end they are asked for */
    int last = 4 - first;
    assert_int_equal(pair_item(pair, names[first])->reissues, 1);
    assert_int_equal(pair_item(pair, names[last])->reissues, 0);
    struct omm_item_request request = pair_request(5 + last, names[last]);
    request.has_priority = true;
    request.priority_class = 5;
    request.priority_count = 1;
    request.no_refresh = true;
    pair_ask_item(c, &request);
    pair_answer(&pair->provider, pair_item(pair, names[first]));
    pair_pass(pair, 200 * PAIR_MS);
    assert_int_equal(pair->provider.reissues, 3);
    assert_int_equal(pair_item(pair, names[last])->reissues, 1);
}

static void an_item_closed_by_the_provider_is_closed_with_its_words(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                    RWF_CODE_NOT_FOUND);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IX");
    assert_string_equal(pair_stream(c, 5)->text, "the provider says so");
}

static void closed_recover_is_hidden_and_mended(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct pair_item *it;

    pair_open(c, 5, "IBM.N");
    it = pair_item(pair, "IBM.N");
    it->is_open = false;
    pair_say_status(&pair->provider, it, RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT,
                    RWF_CODE_NO_RESOURCES);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I!");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NO_RESOURCES);
    pair_pass(pair, 10 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I!i");
}

static void a_provider_that_always_says_recover_is_asked_ever_more_slowly(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.refusal = RWF_STREAM_CLOSED_RECOVER;
    pair_open(c, 5, "IBM.N");
    pair_pass(pair, 60 * PAIR_SEC);
    assert_true(pair->provider.requests < 40);
    assert_null(strchr(pair_heard(c, 5), 'R'));
}

static void lost_records_are_told_and_mended(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct backbone_event gap = { .type = BACKBONE_GAP, .session = 1 };

    pair_open(c, 5, "IBM.N");
    pair_update(pair, "IBM.N");
    pair->lose_down = true;
    pair_settle(pair);
    pair->lose_down = false;
    p2ps_core_backbone(pair->sink, 0, pair->now_ns, &gap, 1);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair_pass(pair, 5 * PAIR_SEC);
    assert_int_equal(pair_stream(c, 5)->counter, 102);
    assert_non_null(strchr(pair_heard(c, 5), '!'));
    assert_non_null(strchr(pair_heard(c, 5), 'i'));
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_provider_lost_makes_items_suspect_and_brings_them_back),
        TEST(a_service_whose_streams_end_is_suspect_until_their_images),
        TEST(an_item_asked_while_the_service_is_down_waits_for_it),
        TEST(a_stream_that_is_asked_for_again_while_it_waits_is_told_so),
        TEST(an_item_asked_while_no_instance_is_there_waits_for_one),
        TEST(a_client_without_single_open_recovers_itself),
        TEST(a_client_that_takes_no_suspect_data_is_told_to_ask_again),
        TEST(a_record_that_a_protocol_cannot_say_makes_the_item_suspect_once),
        TEST(a_snapshot_that_a_protocol_cannot_say_is_closed),
        TEST(a_generic_message_that_a_protocol_cannot_say_costs_no_connection),
        cmocka_unit_test_setup_teardown(no_more_requests_are_under_way_than_the_open_window,
                                        setup_window, pair_teardown),
        cmocka_unit_test_setup_teardown(a_changed_priority_changes_who_is_asked_for_next,
                                        setup_window, pair_teardown),
        TEST(an_item_closed_by_the_provider_is_closed_with_its_words),
        TEST(closed_recover_is_hidden_and_mended),
        TEST(a_provider_that_always_says_recover_is_asked_ever_more_slowly),
        TEST(lost_records_are_told_and_mended),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
