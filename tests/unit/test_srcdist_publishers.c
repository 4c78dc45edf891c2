/* test_srcdist_publishers.c - what src_dist answers to non-interactive providers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

/* A provider that has connected, and the last message it was sent. */
struct publisher {
    struct pair pair;
    uint32_t id;
    bool closed;
    unsigned count;
    int32_t stream_id;
    uint8_t msg_class;
    struct rwf_state state;
};

static int hear(void *self, struct rwf_bytes bytes)
{
    struct publisher *p = self;
    struct rwf_msg msg;

    assert_int_equal(rwf_msg_decode(bytes, &msg), RWF_OK);
    p->count++;
    p->stream_id = msg.stream_id;
    p->msg_class = msg.msg_class;
    p->state = msg.state;
    p->state.text = rwf_bytes(NULL, 0);
    return MD_OK;
}

static void closed(void *self, const char *reason)
{
    struct publisher *p = self;

    (void)reason;
    p->closed = true;
}

static const struct srcdist_link link_ops = { hear, closed };

static int setup(void **state)
{
    struct publisher *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    pair_create(&p->pair, (struct p2ps_core_config){ 0 });
    assert_int_equal(srcdist_provider_add(p->pair.source, p->pair.now_ns, SRCDIST_NON_INTERACTIVE,
                                          0, "publisher", &link_ops, p, &p->id),
                     MD_OK);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct publisher *p = *state;

    pair_destroy(&p->pair);
    free(p);
    return 0;
}

static void say(struct publisher *p, struct rwf_encoder *enc)
{
    assert_int_equal(rwf_encoder_error(enc), RWF_OK);
    assert_int_equal(
        srcdist_provider_message(p->pair.source, p->pair.now_ns, p->id, rwf_encoder_bytes(enc)),
        MD_OK);
    pair_settle(&p->pair);
}

static void log_in(struct publisher *p, uint8_t role)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct omm_login_request request = pair_login_request();

    request.role = role;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_request_encode(&enc, &request);
    say(p, &enc);
}

static void say_directory(struct publisher *p)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct omm_directory_head head = {
        .stream_id = 0, .is_first = true, .is_complete = true, .is_streaming = true, .filter = 3
    };
    struct omm_service service = {
        .id = 3,
        .action = RWF_MAP_ADD,
        .filters = OMM_FILTER_INFO | OMM_FILTER_STATE,
        .name = rwf_text("SENT"),
        .capability_count = 1,
        .capabilities = { 6 },
        .is_up = true,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_service(&enc, &service);
    omm_directory_encode_finish(&enc);
    say(p, &enc);
}

static void publish(struct publisher *p, uint8_t msg_class, int32_t stream_id, uint16_t service)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    bool is_refresh = msg_class == RWF_CLASS_REFRESH;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = 6,
        .stream_id = stream_id,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = is_refresh ? RWF_REFRESH_HAS_KEY | RWF_REFRESH_COMPLETE : 0,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .group_id = rwf_bytes((const uint8_t *)"\0", 2),
        .key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_SERVICE_ID,
                 .service_id = service,
                 .name = rwf_text("X") },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, 1, true);
    rwf_msg_finish(&enc);
    say(p, &enc);
}

static void start(struct publisher *p)
{
    log_in(p, OMM_ROLE_PROVIDER);
    assert_int_equal(p->msg_class, RWF_CLASS_REFRESH);
    say_directory(p);
    p->count = 0;
}

static void assert_refused(const struct publisher *p, int32_t stream_id, uint8_t code)
{
    assert_int_equal(p->count, 1);
    assert_int_equal(p->msg_class, RWF_CLASS_STATUS);
    assert_int_equal(p->stream_id, stream_id);
    assert_int_equal(p->state.stream_state, RWF_STREAM_CLOSED);
    assert_int_equal(p->state.data_state, RWF_DATA_SUSPECT);
    assert_int_equal(p->state.code, code);
}

static void a_consumer_is_sent_to_another_port(void **state)
{
    struct publisher *p = *state;

    log_in(p, OMM_ROLE_CONSUMER);
    assert_refused(p, 1, RWF_CODE_USAGE_ERROR);
}

static void what_is_published_is_not_answered(void **state)
{
    struct publisher *p = *state;

    start(p);
    publish(p, RWF_CLASS_REFRESH, -1, 3);
    publish(p, RWF_CLASS_UPDATE, -1, 3);
    publish(p, RWF_CLASS_REFRESH, -1, 3);
    assert_int_equal(p->count, 0);
    assert_int_equal(srcdist_core_stats(p->pair.source)->unknown_streams, 0);
}

static void a_service_that_is_not_in_the_directory_is_unknown(void **state)
{
    struct publisher *p = *state;

    start(p);
    publish(p, RWF_CLASS_REFRESH, -1, 4);
    assert_refused(p, -1, RWF_CODE_SOURCE_UNKNOWN);
}

static void an_update_before_its_image_is_refused_once(void **state)
{
    struct publisher *p = *state;

    start(p);
    publish(p, RWF_CLASS_UPDATE, -7, 3);
    publish(p, RWF_CLASS_UPDATE, -7, 3);
    assert_refused(p, -7, RWF_CODE_NOT_OPEN);
    assert_false(p->closed);
    publish(p, RWF_CLASS_REFRESH, -7, 3);
    assert_int_equal(p->count, 1);
}

static void who_is_connected_is_told_that_src_dist_stops(void **state)
{
    struct publisher *p = *state;

    start(p);
    srcdist_core_leave(p->pair.source, p->pair.now_ns);
    assert_int_equal(p->count, 1);
    assert_int_equal(p->msg_class, RWF_CLASS_STATUS);
    assert_int_equal(p->stream_id, 1);
    assert_int_equal(p->state.stream_state, RWF_STREAM_CLOSED_RECOVER);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_consumer_is_sent_to_another_port),
        TEST(what_is_published_is_not_answered),
        TEST(a_service_that_is_not_in_the_directory_is_unknown),
        TEST(an_update_before_its_image_is_refused_once),
        TEST(who_is_connected_is_told_that_src_dist_stops),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
