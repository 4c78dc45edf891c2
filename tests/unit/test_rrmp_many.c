/* test_rrmp_many.c - a sink and more instances of a service than it remembers refusals of. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rrmp/key.h"
#include "rrmp/sink.h"
#include "state.h"

#define MS        1000000ull
#define SEC       1000000000ull
#define INSTANCES 9u

/* The instances are (1, 1), (2, 1), ...; the sink is (100, 1). */
struct many {
    uint64_t now_ns;
    struct rrmp_sink *sink;
    uint32_t item;
    uint8_t key[32];
    size_t key_length;
    uint8_t room[65536];
    uint64_t to; /* of the record that is being written */
    uint32_t asked[INSTANCES + 1];
    uint32_t requests;
    struct rrmp_request last;
    uint64_t last_at; /* 0: nothing is asked */
    uint32_t closed;
    uint32_t in_step;
    uint8_t code; /* of refusals */
};

static uint8_t *reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct many *many = context;

    assert_true(length <= sizeof(many->room));
    many->to = target->session;
    return many->room;
}

static void commit(void *context, size_t length)
{
    struct many *many = context;
    struct rrmp_record record;

    if (length == 0 || rrmp_record_decode(many->room, length, &record) != 0 ||
        record.header.type != RRMP_REQUEST)
        return;
    many->requests++;
    many->asked[many->to]++;
    many->last = record.u.request;
    many->last_at = many->to;
}

static unsigned fill(void *context)
{
    (void)context;
    return 0;
}

static void take(struct many *many)
{
    struct rrmp_sink_event event;

    while (rrmp_sink_event(many->sink, &event, 1) == 1) {
        many->closed += event.kind == RRMP_SINK_CLOSED;
        many->in_step += event.kind == RRMP_SINK_IN_STEP;
    }
    assert_null(rrmp_sink_check(many->sink));
}

static void say(struct many *many, uint64_t session, struct rrmp_record *record, bool is_unicast)
{
    static const char name[] = "RDFD";
    uint8_t bytes[512];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));
    bool is_control = record->header.type <= RRMP_SERVICE;
    uint32_t topic = rrmp_topic(name, 4);

    rrmp_record_encode(&wr, record);
    assert_true(md_wr_ok(&wr));
    const struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                            .flags = is_unicast ? BACKBONE_FLAG_UNICAST : 0,
                                            .session = session,
                                            .src_port = 1,
                                            .dst_port = is_unicast ? 1 : 0,
                                            .topic = is_control ? RRMP_TOPIC_CONTROL : topic,
                                            .bytes = bytes,
                                            .length = (uint32_t)md_wr_length(&wr) };
    rrmp_sink_input(many->sink, many->now_ns, &message, 1);
    take(many);
}

static void announce(struct many *many, uint64_t session)
{
    const uint8_t name[] = { 'S', (uint8_t)('0' + session) };
    const struct rrmp_instance_row row = {
        .state = RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING | RRMP_SERVICE_COMPLETE,
        .topic = rrmp_topic("RDFD", 4),
        .version = 1,
    };
    uint8_t rows[16];

    rrmp_instance_row_put(rows, &row);
    struct rrmp_record instance = { .header = { .type = RRMP_INSTANCE, .svc = 0xFFFF },
                                    .u.instance = { .beat = 1,
                                                    .interval_ms = 1000,
                                                    .service_count = 1,
                                                    .name = { name, 2 },
                                                    .services = rows } };
    say(many, session, &instance, false);
    struct rrmp_record service = {
        .header = { .type = RRMP_SERVICE },
        .u.service = { .version = 1,
                       .topic = row.topic,
                       .state = RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING | RRMP_SERVICE_COMPLETE,
                       .features = RRMP_FEATURE_FOLLOW,
                       .name = { (const uint8_t *)"RDFD", 4 } },
    };
    say(many, session, &service, false);
}

static void refuse(struct many *many)
{
    struct rrmp_record record = { .header = { .type = RRMP_REFUSE },
                                  .u.refuse = { .request_id = many->last.id,
                                                .state = RRMP_STATE_CLOSED,
                                                .code = many->code,
                                                .scope = RRMP_REFUSE_NOT_HERE,
                                                .key_hash = many->last.key_hash } };
    uint64_t from = many->last_at;

    many->last_at = 0;
    say(many, from, &record, true);
}

static void answer(struct many *many)
{
    struct rrmp_record record = { .header = { .type = RRMP_IMAGE },
                                  .u.image = { .handle = 1u << 24,
                                               .key_hash = many->last.key_hash,
                                               .state = RRMP_STATE_OPEN_OK,
                                               .flags = RRMP_IMAGE_FIRST | RRMP_IMAGE_LAST |
                                                        RRMP_IMAGE_SOLICITED,
                                               .tag = 1,
                                               .key = { many->key, many->key_length },
                                               .message = { (const uint8_t *)"image", 5 } } };
    uint64_t from = many->last_at;

    many->last_at = 0;
    say(many, from, &record, false);
}

/* Time passes; who is asked refuses, but for the instance `has`, which gives an image. */
static void pass(struct many *many, uint64_t time_ns, uint64_t has)
{
    uint64_t until = many->now_ns + time_ns;
    uint64_t beat_ns = many->now_ns;

    for (; many->now_ns < until; many->now_ns += 10 * MS) {
        for (uint64_t n = 1; many->now_ns >= beat_ns && n <= INSTANCES; n++)
            announce(many, n);
        beat_ns += many->now_ns >= beat_ns ? SEC : 0;
        rrmp_sink_tick(many->sink, many->now_ns, true);
        take(many);
        while (many->last_at != 0) {
            if (many->last_at == has)
                answer(many);
            else
                refuse(many);
            rrmp_sink_tick(many->sink, many->now_ns, true);
            take(many);
            assert_true(many->requests < 1000);
        }
    }
}

static void open_item(struct many *many, bool is_follower)
{
    const struct rrmp_sink_open open = { .key = { many->key, many->key_length },
                                         .priority_class = 1,
                                         .priority_count = 1,
                                         .is_follower = is_follower };

    assert_int_equal(rrmp_sink_item_open(many->sink, many->now_ns, &open, &many->item), MD_OK);
}

static void bind(struct many *many, uint64_t session)
{
    const struct rrmp_view key = { many->key, many->key_length };
    struct rrmp_record record = { .header = { .type = RRMP_BIND },
                                  .u.bind = { .handle = 1u << 24,
                                              .key_hash = rrmp_key_hash(key.bytes, key.length),
                                              .key = key } };

    say(many, session, &record, false);
}

static int setup(void **state)
{
    struct many *many = calloc(1, sizeof(*many));
    const struct rrmp_key key = {
        .domain = 6, .members = RRMP_KEY_NAME, .name_type = 1, .name = { (const uint8_t *)"IBM", 3 }
    };

    assert_non_null(many);
    struct md_wr wr = md_wr_init(many->key, sizeof(many->key));
    rrmp_key_encode(&wr, &key);
    many->key_length = md_wr_length(&wr);
    many->now_ns = SEC;
    many->code = RRMP_CODE_NOT_FOUND;
    const struct rrmp_sink_config config = {
        .send = { .context = many, .reserve = reserve, .commit = commit, .fill = fill },
        .item_limit = 100,
    };
    assert_int_equal(rrmp_sink_create(&config, &many->sink), MD_OK);
    rrmp_sink_input(
        many->sink, many->now_ns,
        &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 100, .dst_port = 1 }, 1);
    pass(many, 100 * MS, 0);
    *state = many;
    return 0;
}

static int teardown(void **state)
{
    struct many *many = *state;

    rrmp_sink_destroy(many->sink);
    free(many);
    return 0;
}

static void each_is_asked(const struct many *many)
{
    for (uint32_t n = 1; n <= INSTANCES; n++)
        assert_in_range(many->asked[n], 1, 2);
    assert_true(many->requests <= INSTANCES + 1);
}

static void an_item_that_nobody_has_ends_when_each_was_asked(void **state)
{
    struct many *many = *state;

    open_item(many, false);
    pass(many, SEC, 0);
    assert_int_equal(many->closed, 1);
    each_is_asked(many);
}

static void a_follower_that_nobody_has_ends_when_each_was_asked(void **state)
{
    struct many *many = *state;

    open_item(many, true);
    pass(many, SEC, 0);
    assert_int_equal(many->closed, 1);
    each_is_asked(many);
}

/* Whoever has it is found. */
static void an_item_is_found_where_it_is(void **state)
{
    struct many *many = *state;

    for (uint64_t n = 1; n <= INSTANCES; n++) {
        many->requests = 0;
        many->in_step = 0;
        open_item(many, n % 2);
        pass(many, SEC, n);
        assert_int_equal(many->in_step, 1);
        assert_true(many->requests <= INSTANCES + 1);
        rrmp_sink_item_close(many->sink, many->now_ns, many->item);
        pass(many, SEC, 0);
    }
    assert_int_equal(many->closed, 0);
}

/* A refusal that is not about the item does not end it: all are asked again, each second. */
static void a_service_in_trouble_is_asked_again(void **state)
{
    struct many *many = *state;

    many->code = RRMP_CODE_NONE; /* not about the item */
    open_item(many, false);
    pass(many, 3 * SEC, 0);
    assert_int_equal(many->closed, 0);
    uint32_t requests = many->requests;
    assert_in_range(requests, INSTANCES, 5 * (INSTANCES + 1));
    pass(many, 2 * SEC, 7);
    assert_int_equal(many->in_step, 1);
}

/* It was refused everywhere but at the last; a BIND says where to go, and is believed once. */
static void a_follower_goes_where_the_item_is_bound_meanwhile(void **state)
{
    struct many *many = *state;

    open_item(many, true);
    rrmp_sink_tick(many->sink, many->now_ns, true);
    for (int i = 0; i < 7; i++) {
        assert_true(many->last_at != 0);
        refuse(many);
        rrmp_sink_tick(many->sink, many->now_ns, true);
    }
    uint64_t at = many->last_at;
    uint64_t other = at == 1 ? 2 : 1;
    bind(many, other);
    refuse(many);
    rrmp_sink_tick(many->sink, many->now_ns, true);
    assert_int_equal(many->last_at, other);
    refuse(many);
    pass(many, SEC, 0);
    assert_int_equal(many->closed, 1);
    assert_true(many->requests <= INSTANCES + 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_item_that_nobody_has_ends_when_each_was_asked),
        TEST(a_follower_that_nobody_has_ends_when_each_was_asked),
        TEST(an_item_is_found_where_it_is),
        TEST(a_service_in_trouble_is_asked_again),
        TEST(a_follower_goes_where_the_item_is_bound_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
