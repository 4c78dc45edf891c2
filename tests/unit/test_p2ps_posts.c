/* test_p2ps_posts.c - posts and private streams; a backbone without room. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"
#include "p2ps/core/status.h"

static int setup(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ 0 });
}

/* ---- posts, generic messages, private streams ---- */

static void post_named(struct pair_client *c, int32_t stream_id, uint32_t id, const char *name)
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
        .key = pair_request(0, name).key,
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

static void post(struct pair_client *c, int32_t stream_id, uint32_t id)
{
    post_named(c, stream_id, id, "IBM.N");
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

static int keep_length(void *self, struct rwf_bytes bytes)
{
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(bytes, &msg), RWF_OK);
    *(size_t *)self = msg.state.text.length;
    return MD_OK;
}

/* A provider's words are as long as it likes: they cut nobody. */
static void a_state_may_have_a_long_text(void **state)
{
    static const struct p2ps_front front = { .message = keep_length };
    static char text[30000];
    size_t length = 0;
    const struct p2ps_client c = { .front = &front, .self = &length };
    struct pair *pair = *state;

    memset(text, 'x', sizeof(text) - 1);
    const struct omm_status status = {
        .stream_id = 5,
        .domain = 6,
        .state = omm_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE, text),
    };
    assert_int_equal(p2ps_tell_status(pair->sink, &c, &status), MD_OK);
    assert_int_equal(length, sizeof(text) - 1);
}

static void a_post_that_the_rules_deny_reaches_no_source(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair->authority_denies_posts = true;
    post(c, 5, 71); /* on the item's stream, and on the login's */
    post(c, 1, 72);
    assert_string_equal(pair_heard(c, 5), "IN");
    assert_int_equal(pair_stream(c, 5)->code, RWF_NAK_ACCESS_DENIED);
    assert_string_equal(pair_heard(c, 1), "LN");
    assert_int_equal(pair->provider.posts, 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->posts_denied, 2);
}

/* The provider is sent the key of the message, whatever stream it came on. */
static void a_post_that_names_another_item_is_judged_by_that_name_too(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair->authority_denies_item = "DELL.O";
    post_named(c, 5, 71, "IBM.N");
    assert_int_equal(pair->provider.posts, 1);
    post_named(c, 5, 72, "DELL.O");
    assert_int_equal(pair_stream(c, 5)->code, RWF_NAK_ACCESS_DENIED);
    assert_int_equal(pair->provider.posts, 1);
}

static void a_post_on_a_stream_without_a_verdict_reaches_no_source(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(pair_client(pair, 1), 5, "IBM.N");
    pair->authority_is_late = true;
    pair_open(c, 5, "IBM.N");
    pair->authority_is_late = false;
    post(c, 5, 71);
    assert_string_equal(pair_heard(c, 5), "N");
    assert_int_equal(pair->provider.posts, 0);
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

static void say_dropped(struct pair *pair)
{
    const struct backbone_event notice = { .type = BACKBONE_TX_DROPPED, .session = 2, .count = 1 };

    srcdist_core_backbone(pair->source, pair->now_ns, &notice, 1);
}

/* The engine of its own host had no room for it, twice. */
static void the_end_of_a_private_stream_is_said_until_it_is_heard(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.is_private = true;
    pair_ask_item(c, &request);
    assert_string_equal(pair_heard(c, 5), "I");
    pair->lose_down = true;
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                    RWF_CODE_NOT_FOUND);
    pair_settle(pair);
    say_dropped(pair);
    pair_pass(pair, PAIR_SEC);
    say_dropped(pair);
    assert_string_equal(pair_heard(c, 5), "I");
    pair->lose_down = false;
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(strlen(pair_heard(c, 5)), 2);
    assert_non_null(strpbrk(pair_heard(c, 5), "XR"));
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
}

static const char wish[] = "only round lots";

static struct omm_item_request wishful(int32_t stream_id)
{
    struct omm_item_request request = pair_request(stream_id, "IBM.N");

    request.is_private = true;
    request.container = RWF_TYPE_OPAQUE;
    request.payload = rwf_text(wish);
    return request;
}

static void assert_wished(const struct pair *pair)
{
    assert_int_equal(pair->provider.asked_container, RWF_TYPE_OPAQUE);
    assert_int_equal(pair->provider.asked_length, strlen(wish));
    assert_memory_equal(pair->provider.asked, wish, strlen(wish));
}

static void data_in_the_request_of_a_private_stream_reach_its_provider(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct omm_item_request request = wishful(5);

    pair_ask_item(a, &request);
    assert_string_equal(pair_heard(a, 5), "I");
    assert_wished(pair);
    request = wishful(6);
    request.is_streaming = false; /* a snapshot */
    memset(pair->provider.asked, 0, sizeof(pair->provider.asked));
    pair_ask_item(a, &request);
    assert_string_equal(pair_heard(a, 6), "I");
    assert_wished(pair);
    pair_open(a, 7, "IBM.N"); /* what all may have says nothing of itself */
    assert_int_equal(pair->provider.asked_container, RWF_TYPE_NO_DATA);
    request = wishful(8);
    request.is_private = false;
    request.key.name = rwf_text("OTHER.N");
    pair_ask_item(a, &request);
    assert_int_equal(pair->provider.asked_container, RWF_TYPE_NO_DATA);
    assert_null(srcdist_core_check(pair->source));
}

/* p2ps asks for more than the provider takes at a time. */
static int setup_small_window(void **state)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->open_window = 2;
    pair_create(pair, (struct p2ps_core_config){ .sink.open_window_minimum = 1000 });
    *state = pair;
    return 0;
}

/* The window of the provider is full: what waits for it keeps its data, up to a bound. */
static void data_in_requests_wait_with_them_up_to_a_bound(void **state)
{
    enum { BOUND = 256 };
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    const struct srcdist_core_stats *stats = srcdist_core_stats(pair->source);
    uint32_t asked = pair->provider.requests;

    pair->provider.answers = false;
    for (int32_t i = 0; i < BOUND + 5; i++) { /* two are asked for, three too many */
        const struct omm_item_request request = wishful(1000 + i);
        p2ps_client_item(pair->sink, pair->now_ns, a->id, &request);
    }
    pair_pass(pair, 40 * PAIR_MS);
    assert_int_equal(stats->request_data_refused, 3);
    asked = pair->provider.requests - asked;
    assert_int_equal(asked, 2);
    assert_int_equal(stats->pending_now, BOUND);
    memset(pair->provider.asked, 0, sizeof(pair->provider.asked));
    p2ps_client_close(pair->sink, pair->now_ns, a->id, 1000); /* makes room for another one */
    pair_pass(pair, 100 * PAIR_MS);
    assert_int_equal(pair->provider.requests, asked + 1);
    assert_wished(pair);
    p2ps_client_gone(pair->sink, pair->now_ns, a->id);
    pair_pass(pair, PAIR_SEC);
    assert_null(srcdist_core_check(pair->source));
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

/* The verdict of srcdist_provider_message() on a vector with one row, put in front of the others.
 */
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

static int setup_few_posts(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .posts_max = 10 });
}

static void a_flood_of_posts_leaves_room_for_those_of_others(void **state)
{
    struct pair *pair = *state;
    struct pair_client *greedy = pair_client(pair, 0);
    struct pair_client *other = pair_client(pair, 1);

    pair->lose_down = true; /* no answer comes */
    for (uint32_t i = 0; i < 12; i++)
        post(greedy, 1, 100 + i);
    assert_string_equal(pair_heard(greedy, 1), "LNN");
    assert_int_equal(pair_stream(greedy, 1)->code, RWF_NAK_NO_RESOURCES);
    post(other, 1, 200);
    assert_string_equal(pair_heard(other, 1), "L"); /* under way */
    p2ps_client_gone(pair->sink, pair->now_ns, greedy->id);
    pair_pass(pair, 60 * PAIR_SEC); /* all are given up */
    assert_string_equal(pair_heard(other, 1), "LN");
    pair->lose_down = false;
    pair_pass(pair, 10 * PAIR_SEC);
    greedy = pair_client(pair, 0);
    for (uint32_t i = 0; i < 12; i++)
        post(greedy, 1, 300 + i);
    assert_string_equal(pair_heard(greedy, 1), "LAAAAAAAAAAAA");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_flood_of_posts_leaves_room_for_those_of_others,
                                        setup_few_posts, pair_teardown),
        TEST(posts_are_acknowledged_by_the_provider),
        TEST(a_state_may_have_a_long_text),
        TEST(a_post_that_the_rules_deny_reaches_no_source),
        TEST(a_post_that_names_another_item_is_judged_by_that_name_too),
        TEST(a_post_on_a_stream_without_a_verdict_reaches_no_source),
        TEST(a_post_to_a_source_that_is_gone_is_refused),
        TEST(a_private_stream_is_never_shared_nor_recovered),
        TEST(the_end_of_a_private_stream_is_said_until_it_is_heard),
        TEST(data_in_the_request_of_a_private_stream_reach_its_provider),
        cmocka_unit_test_setup_teardown(data_in_requests_wait_with_them_up_to_a_bound,
                                        setup_small_window, pair_teardown),
        TEST(a_tunnel_is_refused),
        cmocka_unit_test_setup_teardown(
            an_update_the_backbone_had_no_room_for_is_applied_to_the_image_once,
            setup_source_caches, pair_teardown),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
