/* test_p2ps_core.c - provider, src_dist, backbone, p2ps, consumers: one behaviour after the other.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup_with(void **state, struct p2ps_core_config config)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair_create(pair, config);
    *state = pair;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, (struct p2ps_core_config){ .item_limits.mount = 40 });
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    pair_destroy(pair);
    free(pair);
    return 0;
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
    return setup_with(state, (struct p2ps_core_config){ .service_forget_ns = 30 * PAIR_SEC });
}

/* Its process ends: the backbone says so at once. */
static void source_dies(struct pair *pair)
{
    const struct rrmp_notice notice = { .kind = RRMP_NOTICE_USER_DOWN, .session = 1, .port = 1 };

    pair->is_dead = true;
    p2ps_core_notice(pair->sink, 0, pair->now_ns, &notice);
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

/* ---- round trips ---- */

static int setup_rtt(void **state)
{
    return setup_with(state, (struct p2ps_core_config){ .rtt_interval_ns = 2 * PAIR_SEC });
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

/* ---- batch and view ---- */

/* A payload with what is asked for: names, a view of one field. */
static struct rwf_bytes asks(uint8_t *bytes, size_t size, const char *const *names, size_t count,
                             int16_t field)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    rwf_element_list_start(&enc, NULL);
    if (count) {
        rwf_element_start(&enc, rwf_text(":ItemList"), RWF_TYPE_ARRAY);
        rwf_array_start(&enc, RWF_TYPE_ASCII, 0);
        for (size_t i = 0; i < count; i++)
            rwf_array_add_bytes(&enc, rwf_text(names[i]));
        rwf_array_finish(&enc);
        rwf_element_finish(&enc);
    }
    if (field) {
        uint8_t id[2] = { (uint8_t)(field >> 8), (uint8_t)field };
        rwf_element_add_uint(&enc, ":ViewType", 1);
        rwf_element_start(&enc, rwf_text(":ViewData"), RWF_TYPE_ARRAY);
        rwf_array_start(&enc, RWF_TYPE_INT, 2);
        rwf_array_add_bytes(&enc, rwf_bytes(id, 2));
        rwf_array_finish(&enc);
        rwf_element_finish(&enc);
    }
    rwf_element_list_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    return rwf_encoder_bytes(&enc);
}

static void a_batch_opens_each_item_on_a_stream_of_its_own(void **state)
{
    static const char *const names[] = { "A.N", "VOID.N", "C.N" };
    struct pair_client *c = pair_client(*state, 0);
    struct omm_item_request request = pair_request(10, "");
    uint8_t bytes[256];

    request.key.flags = RWF_KEY_HAS_SERVICE_ID;
    request.is_batch = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = asks(bytes, sizeof(bytes), names, 3, 0);
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 10), "X");
    assert_int_equal(pair_stream(c, 10)->data_state, RWF_DATA_OK);
    assert_string_equal(pair_heard(c, 11), "I");
    assert_string_equal(pair_heard(c, 12), "X");
    assert_string_equal(pair_heard(c, 13), "I");
}

static void an_item_of_a_batch_that_is_denied_leaves_the_others(void **state)
{
    static const char *const names[] = { "A.N", "B.N", "C.N" };
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(10, "");
    uint8_t bytes[256];

    pair->authority_denies_item = "B.N";
    request.key.flags = RWF_KEY_HAS_SERVICE_ID;
    request.is_batch = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = asks(bytes, sizeof(bytes), names, 3, 0);
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 12), "X");
    assert_int_equal(pair_stream(c, 12)->code, RWF_CODE_NOT_ENTITLED);
    pair_update(pair, "A.N");
    pair_update(pair, "C.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 11), "IU");
    assert_string_equal(pair_heard(c, 13), "IU");
    assert_string_equal(pair_heard(c, 12), "X");
    assert_null(pair_item(pair, "B.N")); /* the provider was not even asked */
}

static void a_batch_without_a_list_is_refused(void **state)
{
    struct pair_client *c = pair_client(*state, 0);
    struct omm_item_request request = pair_request(10, "");

    request.is_batch = true;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 10), "X");
    assert_int_equal(pair_stream(c, 10)->code, RWF_CODE_UNABLE_TO_REQUEST_AS_BATCH);
}

/* Asks on stream 5 for a view of this type, whose data are one element of `element`. */
static uint8_t code_of_view(struct pair_client *c, uint64_t type, const char *element)
{
    struct omm_item_request request = pair_request(5, "IBM.N");
    uint8_t bytes[64];
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_element_list_start(&enc, NULL);
    rwf_element_add_uint(&enc, ":ViewType", type);
    rwf_element_add_uint(&enc, element, 22);
    rwf_element_list_finish(&enc);
    assert_int_equal(rwf_encoder_error(&enc), RWF_OK);
    request.has_view = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = rwf_encoder_bytes(&enc);
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "X");
    *pair_stream(c, 5)->letters = '\0';
    pair_stream(c, 5)->count = 0;
    return pair_stream(c, 5)->code;
}

static void a_view_that_cannot_be_given_is_refused(void **state)
{
    struct pair_client *c = pair_client(*state, 0);

    assert_int_equal(code_of_view(c, 77, ":ViewData"), RWF_CODE_UNSUPPORTED_VIEW_TYPE);
    assert_int_equal(code_of_view(c, 1, ":ViewData"), RWF_CODE_INVALID_VIEW); /* no array */
    assert_int_equal(code_of_view(c, 1, ":Other"), RWF_CODE_INVALID_VIEW);
    assert_int_equal(code_of_view(c, 2, ":ViewData"), RWF_CODE_INVALID_VIEW);
    pair_open(c, 5, "IBM.N"); /* the stream and the connection are as good as before */
    assert_string_equal(pair_heard(c, 5), "I");
}

static void a_view_gives_its_fields_and_no_others(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    struct omm_item_request request = pair_request(5, "IBM.N");
    uint8_t bytes[256];

    pair_open(a, 5, "IBM.N");
    assert_int_equal(pair_stream(a, 5)->fields, 2);
    request.has_view = true;
    request.container = RWF_TYPE_ELEMENT_LIST;
    request.payload = asks(bytes, sizeof(bytes), NULL, 0, PAIR_FIELD);
    pair_ask_item(b, &request);
    assert_int_equal(pair_stream(b, 5)->fields, 1);
    assert_int_equal(pair_stream(b, 5)->counter, 100);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(pair_stream(a, 5)->fields, 2);
    assert_int_equal(pair_stream(b, 5)->fields, 1);
    request.payload = asks(bytes, sizeof(bytes), NULL, 0, 999);
    pair_ask_item(b, &request);
    assert_string_equal(pair_heard(b, 5), "IUI");
    assert_int_equal(pair_stream(b, 5)->fields, 0);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(b, 5), "IUI"); /* nothing of it is in the view */
}

static void map_rows(struct rwf_encoder *enc, bool whole)
{
    const struct rwf_map_info info = { .flags = RWF_MAP_HAS_SUMMARY,
                                       .key_type = RWF_TYPE_ASCII,
                                       .container = RWF_TYPE_FIELD_LIST };
    const struct rwf_map_entry rows[] = {
        { .action = RWF_MAP_ADD, .key = rwf_text("a") },
        { .action = RWF_MAP_DELETE, .key = rwf_text("b") },
        { .action = RWF_MAP_UPDATE, .key = rwf_text("c") },
    };

    rwf_map_start(enc, &info);
    pair_fields(enc, 5, whole);
    rwf_summary_finish(enc);
    for (uint32_t i = 0; i < 3; i++) {
        if (rows[i].action == RWF_MAP_DELETE) {
            rwf_map_add(enc, &rows[i]);
            continue;
        }
        rwf_map_entry_start(enc, &rows[i]);
        pair_fields(enc, i, whole);
        rwf_map_entry_finish(enc);
    }
    rwf_map_finish(enc);
}

static void vector_rows(struct rwf_encoder *enc, bool whole)
{
    const struct rwf_vector_info info = { .flags = RWF_VECTOR_HAS_SUMMARY,
                                          .container = RWF_TYPE_FIELD_LIST };
    const struct rwf_vector_entry rows[] = {
        { .action = RWF_VECTOR_INSERT, .index = 0 },
        { .action = RWF_VECTOR_DELETE, .index = 4 },
        { .action = RWF_VECTOR_CLEAR, .index = 2 },
        { .action = RWF_VECTOR_SET, .index = 3 },
    };

    rwf_vector_start(enc, &info);
    pair_fields(enc, 5, whole);
    rwf_summary_finish(enc);
    for (uint32_t i = 0; i < 4; i++) {
        if (rows[i].action == RWF_VECTOR_DELETE || rows[i].action == RWF_VECTOR_CLEAR) {
            rwf_vector_add(enc, &rows[i]);
            continue;
        }
        rwf_vector_entry_start(enc, &rows[i]);
        pair_fields(enc, i, whole);
        rwf_vector_entry_finish(enc);
    }
    rwf_vector_finish(enc);
}

static void series_rows(struct rwf_encoder *enc, bool whole)
{
    const struct rwf_series_info info = { .flags = RWF_SERIES_HAS_SUMMARY,
                                          .container = RWF_TYPE_FIELD_LIST };

    rwf_series_start(enc, &info);
    pair_fields(enc, 5, whole);
    rwf_summary_finish(enc);
    for (uint32_t i = 0; i < 3; i++) {
        rwf_series_entry_start(enc);
        pair_fields(enc, i, whole);
        rwf_series_entry_finish(enc);
    }
    rwf_series_finish(enc);
}

static void a_view_cuts_the_rows_of_containers(void **state)
{
    static const struct {
        uint16_t container;
        void (*rows)(struct rwf_encoder *enc, bool whole);
    } cases[] = {
        { RWF_TYPE_MAP, map_rows },
        { RWF_TYPE_VECTOR, vector_rows },
        { RWF_TYPE_SERIES, series_rows },
    };
    int16_t fields[] = { PAIR_FIELD };
    const struct p2ps_form form = { .flags = P2PS_FORM_VIEW, .field_count = 1, .fields = fields };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                                     .domain = 7,
                                     .container = cases[i].container };
        uint8_t bytes[2][512];
        uint8_t out[512];
        struct rwf_encoder enc[2];
        struct p2ps_made made;

        for (int whole = 0; whole < 2; whole++) {
            rwf_encoder_init(&enc[whole], bytes[whole], sizeof(bytes[whole]));
            rwf_msg_start(&enc[whole], &msg);
            cases[i].rows(&enc[whole], whole);
            assert_int_equal(rwf_msg_finish(&enc[whole]), RWF_OK);
        }
        struct p2ps_record record = { .message = rwf_encoder_bytes(&enc[1]) };
        assert_int_equal(rwf_peek(record.message, &record.peek), RWF_OK);
        assert_int_equal(p2ps_rwf_make(&form, &record, out, sizeof(out), &made), MD_OK);
        assert_true(
            rwf_bytes_equal(rwf_bytes(made.bytes, made.length), rwf_encoder_bytes(&enc[0])));
    }
}

/* ---- entitlement ---- */

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

/* ---- the provider's failures ---- */

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

/* No instance says any more what the service offers: it is the same service all the same. */
static void an_item_asked_while_no_instance_is_there_waits_for_one(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct rrmp_notice down = { .kind = RRMP_NOTICE_PEER_DOWN, .session = 1 };

    p2ps_core_notice(pair->sink, 0, pair->now_ns, &down);
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

static int setup_window(void **state)
{
    return setup_with(state, (struct p2ps_core_config){ .sink.open_window_minimum = 2 });
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
    const struct rrmp_notice down = { .kind = RRMP_NOTICE_PEER_DOWN, .session = 1 };
    struct omm_item_request request = pair_request(5, "A");

    for (int i = 0; i < 5; i++)
        pair_open(c, 5 + i, names[i]);
    pair->provider.answers = false;
    p2ps_core_notice(pair->sink, 0, pair->now_ns, &down); /* and it is back with its next word */
    pair_pass(pair, 3 * PAIR_SEC);
    assert_int_equal(pair->provider.reissues, 2); /* the others wait, the newest in front */
    assert_int_equal(pair_item(pair, "D")->reissues + pair_item(pair, "E")->reissues, 2);
    request.has_priority = true;
    request.priority_class = 5;
    request.priority_count = 1;
    request.no_refresh = true;
    pair_ask_item(c, &request);
    pair_answer(&pair->provider, pair_item(pair, "E"));
    pair_pass(pair, 200 * PAIR_MS);
    assert_int_equal(pair->provider.reissues, 3);
    assert_int_equal(pair_item(pair, "A")->reissues, 1);
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
    struct rrmp_notice gap = { .kind = RRMP_NOTICE_GAP, .session = 1 };

    pair_open(c, 5, "IBM.N");
    pair_update(pair, "IBM.N");
    pair->lose_down = true;
    pair_settle(pair);
    pair->lose_down = false;
    p2ps_core_notice(pair->sink, 0, pair->now_ns, &gap);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    pair_pass(pair, 5 * PAIR_SEC);
    assert_int_equal(pair_stream(c, 5)->counter, 102);
    assert_non_null(strchr(pair_heard(c, 5), '!'));
    assert_non_null(strchr(pair_heard(c, 5), 'i'));
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
}

/* ---- posts, generic messages, private streams ---- */

static void post(struct pair_client *c, int32_t stream_id, uint32_t id)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_POST,
        .domain = 6,
        .stream_id = stream_id,
        .flags = RWF_POST_HAS_POST_ID | RWF_POST_ACK | RWF_POST_COMPLETE | RWF_POST_HAS_SEQ_NUM |
                 RWF_POST_HAS_KEY,
        .post_id = id,
        .seq_num = 3,
        .key = pair_request(0, "IBM.N").key,
        .container = RWF_TYPE_FIELD_LIST,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, 1, true);
    rwf_msg_finish(&enc);
    struct rwf_bytes whole = rwf_encoder_bytes(&enc);
    assert_int_equal(rwf_msg_decode(whole, &msg), RWF_OK);
    p2ps_client_post(c->pair->sink, c->pair->now_ns, c->id, &msg, whole);
    pair_settle(c->pair);
}

static void posts_are_acknowledged_by_the_provider(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    post(c, 5, 71);
    assert_string_equal(pair_heard(c, 5), "IA");
    post(c, 1, 72);
    assert_string_equal(pair_heard(c, 1), "LA");
    pair->provider.nak = RWF_NAK_ACCESS_DENIED;
    post(c, 5, 73);
    assert_string_equal(pair_heard(c, 5), "IAN");
    assert_int_equal(pair_stream(c, 5)->code, RWF_NAK_ACCESS_DENIED);
    assert_int_equal(pair->provider.posts, 3);
}

static void a_post_to_a_source_that_is_gone_is_refused(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    post(c, 1, 72);
    pair_pass(pair, 30 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LN");
}

static void a_private_stream_is_never_shared_nor_recovered(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.is_private = true;
    pair_ask_item(a, &request);
    pair_ask_item(b, &request);
    assert_int_equal(pair->provider.requests, 2);
    assert_string_equal(pair_heard(a, 5), "I");
    assert_true(pair_stream(a, 5)->flags & RWF_REFRESH_PRIVATE_STREAM);
    assert_string_equal(pair_heard(b, 5), "I");
    pair_provider_goes(pair);
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(strlen(pair_heard(a, 5)), 2);
    assert_non_null(strpbrk(pair_heard(a, 5), "XR"));
    assert_true(pair_stream(a, 5)->flags & RWF_STATUS_PRIVATE_STREAM);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

static void a_tunnel_is_refused(void **state)
{
    struct pair_client *c = pair_client(*state, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.is_private = true;
    request.is_qualified = true;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "X");
    assert_int_equal(pair_stream(c, 5)->flags, RWF_STATUS_CLEAR_CACHE | RWF_STATUS_PRIVATE_STREAM |
                                                   RWF_STATUS_QUALIFIED_STREAM);
    assert_non_null(strstr(pair_stream(c, 5)->text, "p2ps does not carry tunnel streams"));
    assert_non_null(strstr(pair_stream(c, 5)->text, "ask for a private stream"));
}

/* ---- stages ---- */

#define HELD_MAX 16

/* Drops every third update, and holds one of the others back for a while. */
struct test_stage {
    unsigned seen;
    struct {
        uint32_t item;
        size_t length;
        uint8_t bytes[256];
    } held[HELD_MAX];
    size_t held_count;
    uint64_t due_ns;
};

static enum srcdist_stage_verdict stage_update(void *self, uint32_t item, struct rwf_bytes *message,
                                               uint64_t now_ns)
{
    struct test_stage *stage = self;

    if (++stage->seen % 3 == 0)
        return SRCDIST_STAGE_DROP;
    if (stage->held_count == HELD_MAX)
        return SRCDIST_STAGE_DROP;
    stage->held[stage->held_count].item = item;
    stage->held[stage->held_count].length = message->length;
    memcpy(stage->held[stage->held_count++].bytes, message->data, message->length);
    stage->due_ns = now_ns + 100 * PAIR_MS;
    return SRCDIST_STAGE_HOLD;
}

static void stage_drain(void *self, uint32_t item, struct srcdist_stage_chain *chain,
                        unsigned index, uint64_t now_ns)
{
    struct test_stage *stage = self;
    size_t kept = 0;

    for (size_t i = 0; i < stage->held_count; i++) {
        if (item != UINT32_MAX && stage->held[i].item != item)
            stage->held[kept++] = stage->held[i];
        else
            srcdist_stage_release(chain, index, stage->held[i].item,
                                  rwf_bytes(stage->held[i].bytes, stage->held[i].length), now_ns);
    }
    stage->held_count = kept;
}

static void stage_forget(void *self, uint32_t item)
{
    struct test_stage *stage = self;
    size_t kept = 0;

    for (size_t i = 0; i < stage->held_count; i++) {
        if (stage->held[i].item != item)
            stage->held[kept++] = stage->held[i];
    }
    stage->held_count = kept;
}

static void stage_tick(void *self, struct srcdist_stage_chain *chain, unsigned index,
                       uint64_t now_ns)
{
    struct test_stage *stage = self;

    if (stage->held_count && now_ns >= stage->due_ns)
        stage_drain(self, UINT32_MAX, chain, index, now_ns);
}

static uint64_t stage_deadline(void *self)
{
    const struct test_stage *stage = self;

    return stage->held_count ? stage->due_ns : UINT64_MAX;
}

static const struct srcdist_stage_ops stage_ops = { "test",       stage_update, stage_drain,
                                                    stage_forget, stage_tick,   stage_deadline };
static const struct srcdist_stage_ops *const stage_list[] = { &stage_ops, NULL };

/* The pair, and behind it the stage. */
struct staged {
    struct pair pair;
    struct test_stage stage;
    void *selves[1];
};

static int setup_staged(void **state)
{
    struct staged *staged = calloc(1, sizeof(*staged));

    assert_non_null(staged);
    staged->selves[0] = &staged->stage;
    staged->pair.stages = stage_list;
    staged->pair.stage_selves = staged->selves;
    staged->pair.source_caches = true;
    pair_create(&staged->pair, (struct p2ps_core_config){ 0 });
    *state = staged;
    return 0;
}

static void a_stage_that_drops_and_holds_leaves_no_hole(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    const struct rrmp_sink_stats *stats = rrmp_sink_stats(p2ps_core_sink(pair->sink, 0));

    pair_open(a, 5, "IBM.N");
    for (int i = 0; i < 10; i++)
        pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "I"); /* all held or dropped */
    /* The image a second one gets contains what was held: it has been let go before. */
    pair_open(b, 5, "IBM.N");
    assert_string_equal(pair_heard(a, 5), "IUUUUUUU");
    assert_int_equal(pair_stream(a, 5)->counter, 110);
    assert_string_equal(pair_heard(b, 5), "I");
    assert_int_equal(pair_stream(b, 5)->counter, 110);
    pair_update(pair, "IBM.N");
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(pair_stream(a, 5)->counter, 111);
    assert_int_equal(pair_stream(b, 5)->counter, 111);
    assert_string_equal(pair_heard(b, 5), "IU");
    assert_int_equal(stats->item_seq_jumps, 0);
    assert_int_equal(stats->svc_seq_jumps, 0);
    assert_int_equal(stats->gap_queries, 0);
}

/* ---- a backbone without room ---- */

static int setup_source_caches(void **state)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->source_caches = true;
    pair_create(pair, (struct p2ps_core_config){ 0 });
    *state = pair;
    return 0;
}

/* What srcdist_provider_message() says to a vector with one row, put in front of the others. */
static int say_row(struct pair *pair, const struct pair_item *it, uint8_t msg_class, uint16_t flags,
                   uint8_t action)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = it->domain,
        .stream_id = it->stream_id,
        .flags = flags,
        .container = RWF_TYPE_VECTOR,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
    };
    struct rwf_vector_info info = { .container = RWF_TYPE_OPAQUE };
    struct rwf_vector_entry row = { .action = action, .data = rwf_text("row") };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_vector_start(&enc, &info);
    rwf_vector_add(&enc, &row);
    rwf_vector_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    return srcdist_provider_message(pair->source, pair->now_ns, pair->provider.id,
                                    rwf_encoder_bytes(&enc));
}

static void an_update_the_backbone_had_no_room_for_is_applied_to_the_image_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair->provider.answers = false;
    pair_open(a, 5, "IBM.N");
    const struct pair_item *it = pair_item(pair, "IBM.N");
    assert_int_equal(say_row(pair, it, RWF_CLASS_REFRESH,
                             RWF_REFRESH_SOLICITED | RWF_REFRESH_COMPLETE, RWF_VECTOR_SET),
                     MD_OK);
    pair_settle(pair);
    pair->down.is_full = true;
    assert_int_equal(say_row(pair, it, RWF_CLASS_UPDATE, 0, RWF_VECTOR_INSERT), MD_ERR_FULL);
    pair->down.is_full = false;
    assert_int_equal(say_row(pair, it, RWF_CLASS_UPDATE, 0, RWF_VECTOR_INSERT), MD_OK);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU");
    pair_open(b, 5, "IBM.N");
    assert_string_equal(pair_heard(b, 5), "I");
    assert_int_equal(pair_stream(b, 5)->fields, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_login_is_answered),
        TEST(a_login_that_is_refused_is_told_why_and_the_connection_ends),
        TEST(a_login_waits_for_a_slow_authority_and_others_do_not),
        TEST(an_item_before_the_login_is_refused),
        TEST(a_client_that_never_logs_in_is_let_go),
        TEST(logout_ends_all_streams_and_the_connection),
        TEST(a_login_may_begin_paused),
        TEST(the_directory_shows_the_service_and_its_changes),
        cmocka_unit_test_setup_teardown(
            a_service_without_source_is_down_then_deleted_and_comes_back, setup_forgets, teardown),
        cmocka_unit_test_setup_teardown(a_service_that_comes_back_in_time_is_not_deleted,
                                        setup_forgets, teardown),
        TEST(without_serviceForget_a_service_is_never_deleted),
        cmocka_unit_test(a_provider_that_names_no_domains_is_taken_at_its_data_type),
        TEST(a_group_suspect_is_told_once_to_who_follows_groups),
        TEST(a_group_that_is_fine_again_says_so_only_of_those_that_are),
        TEST(a_merged_group_is_told_so_and_its_status_reaches_the_items),
        TEST(a_service_that_goes_down_unheard_is_told_item_by_item),
        cmocka_unit_test_setup_teardown(round_trips_are_measured_for_who_asked, setup_rtt,
                                        teardown),
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
        TEST(conflation_is_told_to_who_asked_for_it),
        TEST(a_batch_opens_each_item_on_a_stream_of_its_own),
        TEST(an_item_of_a_batch_that_is_denied_leaves_the_others),
        TEST(a_batch_without_a_list_is_refused),
        TEST(a_view_gives_its_fields_and_no_others),
        TEST(a_view_that_cannot_be_given_is_refused),
        TEST(a_view_cuts_the_rows_of_containers),
        TEST(an_item_one_may_not_see_is_closed),
        TEST(an_item_one_may_not_see_is_never_asked_for),
        TEST(nothing_is_seen_before_a_slow_authority_has_answered),
        TEST(a_late_answer_is_not_taken_for_another_question),
        TEST(permission_data_of_the_image_are_asked_about_before_it_is_seen),
        TEST(permission_data_that_change_are_asked_about_before_the_update_is_seen),
        TEST(new_rules_hold_for_what_is_open),
        TEST(new_rules_of_a_slow_authority_hold_too),
        TEST(a_provider_lost_makes_items_suspect_and_brings_them_back),
        TEST(an_item_asked_while_the_service_is_down_waits_for_it),
        TEST(an_item_asked_while_no_instance_is_there_waits_for_one),
        TEST(a_client_without_single_open_recovers_itself),
        TEST(a_client_that_takes_no_suspect_data_is_told_to_ask_again),
        cmocka_unit_test_setup_teardown(no_more_requests_are_under_way_than_the_open_window,
                                        setup_window, teardown),
        cmocka_unit_test_setup_teardown(a_changed_priority_changes_who_is_asked_for_next,
                                        setup_window, teardown),
        TEST(an_item_closed_by_the_provider_is_closed_with_its_words),
        TEST(closed_recover_is_hidden_and_mended),
        TEST(a_provider_that_always_says_recover_is_asked_ever_more_slowly),
        TEST(lost_records_are_told_and_mended),
        TEST(posts_are_acknowledged_by_the_provider),
        TEST(a_post_to_a_source_that_is_gone_is_refused),
        TEST(a_private_stream_is_never_shared_nor_recovered),
        TEST(a_tunnel_is_refused),
        cmocka_unit_test_setup_teardown(a_stage_that_drops_and_holds_leaves_no_hole, setup_staged,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            an_update_the_backbone_had_no_room_for_is_applied_to_the_image_once,
            setup_source_caches, teardown),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
