/* test_srcdist_publishers.c - what src_dist answers to non-interactive providers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

/* A provider that has connected, and the last message it was sent. */
struct publisher {
    struct pair pair;
    uint32_t id;
    bool closed;
    bool takes_nothing;
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
    if (p->takes_nothing)
        return MD_ERR_FULL;
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

static const struct srcdist_link link_ops = { .send = hear, .close = closed };

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

static void say_directory_of(struct publisher *p, const char *name)
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
        .name = rwf_text(name),
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

static void say_directory(struct publisher *p)
{
    say_directory_of(p, "SENT");
}

static bool fail_realloc; /* all of them, from now on */

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_realloc(void *old, size_t size)
{
    return fail_realloc ? NULL : __real_realloc(old, size);
}

/* Without a name: without a key. */
static void publish_item(struct publisher *p, uint8_t msg_class, int32_t stream_id,
                         uint16_t service, const char *name, uint32_t counter)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    bool is_refresh = msg_class == RWF_CLASS_REFRESH;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = 6,
        .stream_id = stream_id,
        .container = RWF_TYPE_FIELD_LIST,
        .flags = is_refresh ? RWF_REFRESH_HAS_KEY | RWF_REFRESH_COMPLETE
                 : name     ? RWF_UPDATE_HAS_KEY
                            : 0,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .group_id = rwf_bytes((const uint8_t *)"\0", 2),
        .key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_SERVICE_ID,
                 .service_id = service,
                 .name = rwf_text(name ? name : "") },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, counter, true);
    rwf_msg_finish(&enc);
    say(p, &enc);
}

static void publish(struct publisher *p, uint8_t msg_class, int32_t stream_id, uint16_t service)
{
    publish_item(p, msg_class, stream_id, service, msg_class == RWF_CLASS_REFRESH ? "X" : NULL, 1);
}

static void start(struct publisher *p)
{
    log_in(p, OMM_ROLE_PROVIDER);
    assert_int_equal(p->msg_class, RWF_CLASS_REFRESH);
    say_directory(p);
    pair_pass(&p->pair, 200 * PAIR_MS); /* p2ps asks for the service's description */
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

/* The provider that does not answer in time is not replaced by one that only claims the service. */
static void a_publisher_gets_no_part_of_a_service_that_a_route_has(void **state)
{
    struct publisher *p = *state;
    struct pair *pair = &p->pair;
    struct pair_client *c = pair_client(pair, 0);

    log_in(p, OMM_ROLE_PROVIDER);
    say_directory_of(p, "RDFD");
    assert_int_equal(srcdist_core_stats(pair->source)->services_refused, 1);
    pair->provider.service_up = false;
    pair_say_directory(&pair->provider, true);
    p->count = 0;
    pair_open(c, 5, "X");
    publish(p, RWF_CLASS_REFRESH, -1, 3);
    assert_refused(p, -1, RWF_CODE_SOURCE_UNKNOWN);
    pair->provider.service_up = true;
    pair_say_directory(&pair->provider, true);
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "!I");
    pair_open(c, 7, "Y");
    assert_string_equal(pair_heard(c, 7), "I");
}

/* A consumer of the publisher's service. */
static void open_sent(struct pair_client *c, int32_t stream_id, const char *name)
{
    struct omm_item_request request = pair_request(stream_id, name);

    request.key.service_id = PAIR_SERVICE_ID + 1; /* the model provider's service has the first */
    pair_ask_item(c, &request);
}

static void an_item_that_nobody_publishes_is_said_once(void **state)
{
    struct publisher *p = *state;

    start(p);
    struct pair_client *c = pair_client(&p->pair, 0);
    open_sent(c, 5, "MISSING");
    pair_pass(&p->pair, 9 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "!");
    pair_pass(&p->pair, 5 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "!X");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_NOT_FOUND);
    open_sent(c, 6, "MISSING");
    pair_pass(&p->pair, 5 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 6), "X");
}

static void one_that_is_published_late_ends_the_waiting(void **state)
{
    struct publisher *p = *state;

    start(p);
    struct pair_client *c = pair_client(&p->pair, 0);
    open_sent(c, 5, "X");
    pair_pass(&p->pair, 5 * PAIR_SEC);
    publish(p, RWF_CLASS_REFRESH, -1, 3);
    pair_pass(&p->pair, 10 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "!I");
}

static void items_on_one_stream_id_are_told_apart_by_their_keys(void **state)
{
    struct publisher *p = *state;
    struct srcdist_provider_info info;

    start(p);
    struct pair_client *c = pair_client(&p->pair, 0);
    publish_item(p, RWF_CLASS_REFRESH, -1, 3, "X", 10);
    publish_item(p, RWF_CLASS_REFRESH, -1, 3, "Y", 20);
    open_sent(c, 5, "X");
    open_sent(c, 6, "Y");
    assert_int_equal(pair_stream(c, 5)->counter, 10);
    assert_int_equal(pair_stream(c, 6)->counter, 20);
    publish_item(p, RWF_CLASS_UPDATE, -1, 3, "X", 11);
    publish_item(p, RWF_CLASS_UPDATE, -1, 3, "Y", 21);
    publish_item(p, RWF_CLASS_UPDATE, -1, 3, NULL, 99); /* of which? */
    publish_item(p, RWF_CLASS_REFRESH, -1, 3, "X", 12);
    publish_item(p, RWF_CLASS_UPDATE, -1, 3, "Y", 22);
    assert_int_equal(pair_stream(c, 5)->counter, 12);
    assert_string_equal(pair_heard(c, 5), "IUi");
    assert_int_equal(pair_stream(c, 6)->counter, 22);
    assert_string_equal(pair_heard(c, 6), "IUU");
    assert_true(srcdist_provider_info(p->pair.source, p->id, &info));
    assert_int_equal(info.misuse.shared_streams, 2); /* for the log */
    assert_int_equal(p->count, 0);
}

static void a_stream_of_its_own_is_not_shared(void **state)
{
    struct publisher *p = *state;
    struct srcdist_provider_info info;

    start(p);
    publish_item(p, RWF_CLASS_REFRESH, -1, 3, "X", 10);
    publish_item(p, RWF_CLASS_REFRESH, -2, 3, "Y", 20);
    publish_item(p, RWF_CLASS_REFRESH, -1, 3, "X", 11);
    publish_item(p, RWF_CLASS_UPDATE, -2, 3, NULL, 21);
    assert_true(srcdist_provider_info(p->pair.source, p->id, &info));
    assert_int_equal(info.misuse.shared_streams, 0);
}

/* The CLOSE has neither room on the connection nor memory to wait in. */
static void a_close_that_cannot_be_kept_ends_the_connection(void **state)
{
    struct publisher *p = *state;
    struct pair *pair = &p->pair;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    assert_string_equal(pair_heard(c, 5), "I");
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair->provider.takes_nothing = true;
    pair_pass(pair, PAIR_SEC);
    fail_realloc = true;
    pair_pass(pair, 10 * PAIR_SEC);
    fail_realloc = false;
    assert_true(pair->provider.closed);
}

/* src_dist alone is out of memory while it takes the request. */
static void open_without_memory(struct pair_client *c)
{
    struct omm_item_request request = pair_request(5, "IBM");

    p2ps_client_item(c->pair->sink, c->pair->now_ns, c->id, &request);
    c->pair->now_ns += 20 * PAIR_MS;
    p2ps_core_tick(c->pair->sink, c->pair->now_ns, 1);
    assert_true(c->pair->up.count > 0);
    fail_realloc = true;
    pair_settle(c->pair);
    fail_realloc = false;
    assert_int_equal(c->pair->provider.requests, 0);
}

static void a_request_without_memory_is_made_later(void **state)
{
    struct publisher *p = *state;
    struct pair *pair = &p->pair;
    struct pair_client *c = pair_client(pair, 0);

    log_in(p, OMM_ROLE_PROVIDER);
    say_directory(p);
    publish(p, RWF_CLASS_REFRESH, -5, 3); /* there are items, but the other has no stream yet */
    open_without_memory(c);
    assert_string_equal(pair_heard(c, 5), "");
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I");
}

static void an_item_without_memory_is_asked_for_again(void **state)
{
    struct publisher *p = *state;
    struct pair *pair = &p->pair;
    struct pair_client *c = pair_client(pair, 0);

    open_without_memory(c);
    pair_pass(pair, 3 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "!I");
}

/* Items that nobody wants any more before they were asked for. */
static void open_in_vain(struct pair_client *c, int count)
{
    char name[16];

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "VAIN.%d", i);
        pair_open(c, 6, name);
        p2ps_client_close(c->pair->sink, c->pair->now_ns, c->id, 6);
    }
    pair_pass(c->pair, 70 * PAIR_SEC); /* they linger for a while */
    assert_int_equal(srcdist_core_stats(c->pair->source)->pending_now, 1);
}

static void items_that_come_and_go_do_not_lengthen_the_queue(void **state)
{
    struct publisher *p = *state;
    struct pair *pair = &p->pair;
    struct pair_client *c = pair_client(pair, 0);

    pair->provider.takes_nothing = true;
    pair_open(c, 5, "IBM"); /* first in the queue: nothing passes it */
    open_in_vain(c, 700);
    uint64_t bytes = srcdist_core_stats(pair->source)->item_bytes_now;
    open_in_vain(c, 700);
    assert_int_equal(srcdist_core_stats(pair->source)->item_bytes_now, bytes);
    pair->provider.takes_nothing = false;
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_int_equal(pair->provider.requests, 1);
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
        TEST(an_item_that_nobody_publishes_is_said_once),
        TEST(a_publisher_gets_no_part_of_a_service_that_a_route_has),
        TEST(one_that_is_published_late_ends_the_waiting),
        TEST(items_on_one_stream_id_are_told_apart_by_their_keys),
        TEST(a_stream_of_its_own_is_not_shared),
        TEST(a_close_that_cannot_be_kept_ends_the_connection),
        TEST(a_request_without_memory_is_made_later),
        TEST(an_item_without_memory_is_asked_for_again),
        TEST(items_that_come_and_go_do_not_lengthen_the_queue),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
