/* test_p2ps_core.c - logins, round trips, items: one behaviour after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .item_limits.mount = 40 });
}

/* ---- login ---- */

static void a_login_is_answered(void **state)
{
    struct pair_client *c = pair_client(*state, 0);

    assert_int_equal(pair_stream(c, 1)->data_state, RWF_DATA_OK);
    assert_int_equal(p2ps_core_stats(c->pair->sink)->login_accepted, 1);
}

static void a_login_that_is_refused_is_told_why_and_the_connection_ends(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);

    pair->authority_denies = true;
    pair_login(c);
    assert_string_equal(pair_heard(c, 1), "X");
    assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_NOT_ENTITLED);
    pair_pass(pair, 4 * PAIR_SEC);
    assert_true(c->closed);
}

static void a_login_waits_for_a_slow_authority_and_others_do_not(void **state)
{
    struct pair *pair = *state;
    struct pair_client *other = pair_client(pair, 1);
    struct pair_client *c = pair_client_comes(pair, 0);

    pair->authority_is_late = true;
    pair_login(c);
    assert_string_equal(pair_heard(c, 1), "");
    pair->authority_is_late = false;
    pair_open(other, 5, "IBM.N");
    assert_string_equal(pair_heard(other, 5), "I");
    pair->answers_now = true;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L");
}

static void an_item_before_the_login_is_refused(void **state)
{
    struct pair_client *c = pair_client_comes(*state, 0);

    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "R");
}

static void a_client_that_never_logs_in_is_let_go(void **state)
{
    struct pair_client *c = pair_client_comes(*state, 0);

    pair_pass(*state, 63 * PAIR_SEC);
    assert_true(c->closed);
}

static void logout_ends_all_streams_and_the_connection(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 1);
    pair_pass(pair, 10 * PAIR_SEC);
    assert_true(c->closed);
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 0);
    assert_null(pair_item(pair, "IBM.N"));
}

static void a_login_may_begin_paused(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);
    struct omm_login_request request = pair_login_request();

    request.pause = true;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_open(c, 5, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I");
}

/* ---- round trips ---- */

static int setup_rtt(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .rtt_interval_ns = 2 * PAIR_SEC });
}

static void answer_rtt(struct pair_client *c)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct rwf_msg msg;

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    assert_int_equal(omm_rtt_encode(&enc, 1, &c->rtt), RWF_OK);
    assert_int_equal(rwf_msg_decode(rwf_encoder_bytes(&enc), &msg), RWF_OK);
    p2ps_client_generic(c->pair->sink, c->pair->now_ns, c->id, &msg, rwf_encoder_bytes(&enc));
}

/* What a monitor is told. */
static uint64_t shown_rtt(const struct pair_client *c)
{
    struct p2ps_client_info info;

    assert_true(p2ps_client_info(c->pair->sink, c->id, &info));
    return info.rtt_us;
}

static void round_trips_are_measured_for_who_asked(void **state)
{
    struct pair *pair = *state;
    struct pair_client *asks = pair_client_comes(pair, 2);
    struct pair_client *other = pair_client(pair, 0);
    struct omm_login_request request = {
        .stream_id = 1,
        .is_streaming = true,
        .user = rwf_text("user"),
        .name_type = RWF_NAME_LOGIN_USER,
        .single_open = true,
        .allow_suspect_data = true,
        .wants_rtt = true,
    };

    p2ps_client_login(pair->sink, pair->now_ns, asks->id, &request);
    pair_pass(pair, 5 * PAIR_SEC);
    assert_non_null(strchr(pair_heard(asks, 1), 'T'));
    assert_null(strchr(pair_heard(other, 1), 'T'));
    assert_false(asks->rtt.has_latency);
    assert_int_equal(shown_rtt(asks), 0);
    uint64_t latency_ns = pair->now_ns - asks->rtt.ticks;
    answer_rtt(asks);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_true(asks->rtt.has_latency);
    assert_int_equal(asks->rtt.latency_us, latency_ns / 1000);
    assert_int_equal(shown_rtt(asks), latency_ns / 1000);
    assert_int_equal(shown_rtt(other), 0);
}

/* ---- items ---- */

static void an_item_gets_its_image_and_then_its_updates(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(pair_stream(c, 5)->counter, 100);
    assert_true(pair_stream(c, 5)->has_key);
    pair_update(pair, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IUU");
    assert_int_equal(pair_stream(c, 5)->counter, 102);
    assert_false(pair_stream(c, 5)->has_key);
}

static void a_second_consumer_shares_the_stream_to_the_provider(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair_open(b, 9, "IBM.N");
    assert_int_equal(pair->provider.requests, 1);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_string_equal(pair_heard(b, 9), "I");
    assert_int_equal(pair_stream(b, 9)->counter, 101);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IUU");
    assert_string_equal(pair_heard(b, 9), "IU");
}

static void one_consumer_may_open_an_item_twice(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_string_equal(pair_heard(c, 6), "IU");
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_string_equal(pair_heard(c, 6), "IUU");
}

static void an_image_of_several_parts_arrives_whole(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.parts = 3;
    pair_open(c, 5, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IIIU");
}

static void a_snapshot_ends_with_its_image(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.is_streaming = false;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(pair_stream(c, 5)->stream_state, RWF_STREAM_NON_STREAMING);
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

static void a_snapshot_of_an_open_item_ends_alone(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    struct omm_item_request request = pair_request(7, "IBM.N");

    pair_open(a, 5, "IBM.N");
    request.is_streaming = false;
    pair_ask_item(b, &request);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_string_equal(pair_heard(b, 7), "I");
    assert_int_equal(pair_stream(b, 7)->stream_state, RWF_STREAM_NON_STREAMING);
    assert_int_equal(p2ps_core_stats(pair->sink)->watches_now, 1);
}

static void an_unknown_service_is_said_to_be_so(void **state)
{
    struct pair_client *c = pair_client(*state, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.key.service_id = 1234;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_SOURCE_UNKNOWN);
}

static void an_unknown_item_is_told_as_the_provider_says(void **state)
{
    struct pair_client *c = pair_client(*state, 0);

    pair_open(c, 5, "VOID.N");
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_FOUND);
    assert_string_equal(pair_stream(c, 5)->text, "the provider says so");
    assert_int_equal(p2ps_core_stats(c->pair->sink)->items_now, 0);
}

static void a_domain_the_service_does_not_have_is_refused(void **state)
{
    struct pair_client *c = pair_client(*state, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.domain = 10;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_USAGE_ERROR);
}

static void a_quality_nobody_has_is_refused(void **state)
{
    struct pair_client *c = pair_client(*state, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.has_qos = true;
    request.qos = (struct rwf_qos){ .timeliness = RWF_TIMELINESS_DELAYED_UNKNOWN,
                                    .rate = RWF_RATE_TICK_BY_TICK };
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_USAGE_ERROR);
}

static void more_items_than_a_mount_may_have_are_refused(void **state)
{
    struct pair_client *c = pair_client(*state, 0);
    char name[16];

    for (int32_t i = 0; i < 41; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_open(c, 5 + i, name);
    }
    assert_string_equal(pair_heard(c, 44), "I");
    assert_string_equal(pair_heard(c, 45), "X");
    assert_int_equal(pair_stream(c, 45)->code, RWF_CODE_TOO_MANY_ITEMS);
}

static uint64_t two_items(void *self, const char *user)
{
    *(const char **)self = user;
    return 2;
}

static void limits_of_a_user_may_change_while_he_is_here(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    const char *asked = NULL;
    struct p2ps_item_limits limits = { .of_user = two_items, .self = &asked };

    pair_open(c, 5, "A.N");
    pair_open(c, 6, "B.N");
    pair_open(c, 7, "C.N");
    p2ps_core_item_limits_set(pair->sink, &limits);
    assert_non_null(asked);
    pair_open(c, 8, "D.N");
    assert_string_equal(pair_heard(c, 7), "I"); /* what is open stays open */
    assert_string_equal(pair_heard(c, 8), "X");
    assert_int_equal(pair_stream(c, 8)->code, RWF_CODE_TOO_MANY_ITEMS);
    limits = (struct p2ps_item_limits){ .user = 4 };
    p2ps_core_item_limits_set(pair->sink, &limits);
    pair_open(c, 9, "E.N");
    pair_open(c, 10, "F.N");
    assert_string_equal(pair_heard(c, 9), "I");
    assert_string_equal(pair_heard(c, 10), "X");
}

static void closing_the_last_stream_closes_at_the_provider(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair_pass(pair, 10 * PAIR_SEC);
    assert_int_equal(pair->provider.closes, 1);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
    assert_int_equal(srcdist_core_stats(pair->source)->items_now, 0);
}

static void a_paused_item_is_quiet_and_resumes_with_an_image(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair_ask_item(c, &request);
    request.pause = true;
    request.no_refresh = true;
    pair_ask_item(c, &request);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I");
    request.pause = false;
    request.no_refresh = false;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "II");
    assert_int_equal(pair_stream(c, 5)->counter, 101);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IIU");
}

static void resuming_without_a_refresh_tells_what_was_missed(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair_ask_item(c, &request);
    request.pause = true;
    request.no_refresh = true;
    pair_ask_item(c, &request);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    request.pause = false;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "Ii");
    assert_int_equal(pair_stream(c, 5)->counter, 101);
}

static void pausing_everything_holds_for_all_streams(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_login_request login = pair_login_request();

    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "DELL.O");
    login.pause = true;
    login.no_refresh = true;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &login);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "I");
    login.pause = false;
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &login);
    pair_settle(pair);
    pair_pass(pair, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "Ii");
    assert_string_equal(pair_heard(c, 6), "I");
    assert_int_equal(pair_stream(c, 5)->counter, 101);
}

static void a_reissue_is_answered_to_the_one_who_asked(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair_ask_item(a, &request);
    pair_open(b, 5, "IBM.N");
    pair_ask_item(a, &request);
    assert_string_equal(pair_heard(a, 5), "II");
    assert_string_equal(pair_heard(b, 5), "I");
}

static void a_reissue_may_not_change_the_item(void **state)
{
    struct pair_client *c = pair_client(*state, 0);

    pair_open(c, 5, "IBM.N");
    pair_open(c, 5, "DELL.O");
    assert_string_equal(pair_heard(c, 5), "IX");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_USAGE_ERROR);
}

/* Neither p2ps nor src_dist keeps images: rrmp.md 6.1. */
static void a_consumer_that_joins_gets_an_image_and_those_in_step_nothing(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair_open(b, 5, "IBM.N");
    assert_int_equal(pair->provider.requests, 1);
    assert_int_equal(pair->provider.reissues, 1);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_string_equal(pair_heard(b, 5), "I");
    assert_int_equal(pair_stream(b, 5)->counter, 101);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IUU");
    assert_string_equal(pair_heard(b, 5), "IU");
    assert_int_equal(pair_stream(b, 5)->counter, pair_stream(a, 5)->counter);
}

static void keys_in_updates_come_to_who_asked_for_them(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair_ask_item(a, &request);
    request.key_in_updates = true;
    pair_ask_item(b, &request);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_false(pair_stream(a, 5)->has_key);
    assert_true(pair_stream(b, 5)->has_key);
    assert_int_equal(pair_stream(b, 5)->counter, 101);
}

static void permission_data_go_to_who_did_not_decline_them(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client_comes(pair, 1);
    struct omm_login_request login = pair_login_request();

    login.permission_expressions = false;
    p2ps_client_login(pair->sink, pair->now_ns, b->id, &login);
    pair->provider.perm_data = "7";
    pair_open(a, 5, "IBM.N");
    pair_open(b, 5, "IBM.N");
    assert_true(pair_stream(a, 5)->flags & RWF_REFRESH_HAS_PERM_DATA);
    assert_false(pair_stream(b, 5)->flags & RWF_REFRESH_HAS_PERM_DATA);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_true(pair_stream(a, 5)->flags & RWF_UPDATE_HAS_PERM_DATA);
    assert_false(pair_stream(b, 5)->flags & RWF_UPDATE_HAS_PERM_DATA);
    assert_int_equal(pair_stream(b, 5)->counter, pair_stream(a, 5)->counter);
    assert_string_equal(pair_heard(b, 5), "IU");
}

/* ETA's watch list refuses to send such a request: of an open login only token and pause change. */
static void a_login_again_does_not_change_what_was_said_of_permission_data(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client_comes(pair, 1);
    struct omm_login_request login = pair_login_request();

    login.permission_expressions = false;
    p2ps_client_login(pair->sink, pair->now_ns, a->id, &login);
    p2ps_client_login(pair->sink, pair->now_ns, b->id, &login);
    login.permission_expressions = true;
    p2ps_client_login(pair->sink, pair->now_ns, b->id, &login);
    assert_true(pair_stream(a, 1)->has_permission_expressions);
    assert_false(pair_stream(b, 1)->has_permission_expressions);
    pair->provider.perm_data = "7";
    pair_open(a, 5, "IBM.N");
    pair_open(b, 5, "IBM.N");
    assert_true(pair_stream(a, 5)->flags & RWF_REFRESH_HAS_PERM_DATA);
    assert_false(pair_stream(b, 5)->flags & RWF_REFRESH_HAS_PERM_DATA);
}

static void conflation_is_told_to_who_asked_for_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair_ask_item(a, &request);
    request.conf_info_in_updates = true;
    pair_ask_item(b, &request);
    pair->provider.conflated = 3;
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(pair_stream(a, 5)->flags & RWF_UPDATE_HAS_CONF_INFO, 0);
    assert_int_not_equal(pair_stream(b, 5)->flags & RWF_UPDATE_HAS_CONF_INFO, 0);
    assert_int_equal(pair_stream(a, 5)->counter, 101);
    assert_int_equal(pair_stream(b, 5)->counter, 101);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_login_is_answered),
        TEST(a_login_that_is_refused_is_told_why_and_the_connection_ends),
        TEST(a_login_waits_for_a_slow_authority_and_others_do_not),
        TEST(an_item_before_the_login_is_refused),
        TEST(a_client_that_never_logs_in_is_let_go),
        TEST(logout_ends_all_streams_and_the_connection),
        TEST(a_login_may_begin_paused),
        cmocka_unit_test_setup_teardown(round_trips_are_measured_for_who_asked, setup_rtt,
                                        pair_teardown),
        TEST(an_item_gets_its_image_and_then_its_updates),
        TEST(a_second_consumer_shares_the_stream_to_the_provider),
        TEST(one_consumer_may_open_an_item_twice),
        TEST(an_image_of_several_parts_arrives_whole),
        TEST(a_snapshot_ends_with_its_image),
        TEST(a_snapshot_of_an_open_item_ends_alone),
        TEST(an_unknown_service_is_said_to_be_so),
        TEST(an_unknown_item_is_told_as_the_provider_says),
        TEST(a_domain_the_service_does_not_have_is_refused),
        TEST(a_quality_nobody_has_is_refused),
        TEST(more_items_than_a_mount_may_have_are_refused),
        TEST(limits_of_a_user_may_change_while_he_is_here),
        TEST(closing_the_last_stream_closes_at_the_provider),
        TEST(a_paused_item_is_quiet_and_resumes_with_an_image),
        TEST(resuming_without_a_refresh_tells_what_was_missed),
        TEST(pausing_everything_holds_for_all_streams),
        TEST(a_reissue_is_answered_to_the_one_who_asked),
        TEST(a_reissue_may_not_change_the_item),
        TEST(keys_in_updates_come_to_who_asked_for_them),
        TEST(permission_data_go_to_who_did_not_decline_them),
        TEST(a_login_again_does_not_change_what_was_said_of_permission_data),
        TEST(a_consumer_that_joins_gets_an_image_and_those_in_step_nothing),
        TEST(conflation_is_told_to_who_asked_for_it),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
