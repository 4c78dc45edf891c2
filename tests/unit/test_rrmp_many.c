/* test_rrmp_many.c - a sink among more instances than it remembers refusals of, one by one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backbone/event.h"
#include "base/err.h"
#include "base/writer.h"
#include "rrmp/key.h"
#include "rrmp/sink.h"
#include "state.h"

#define MS        1000000ull
#define SEC       1000000000ull

#define INSTANCES 40u /* sessions 1 and up, port 1 */

/* The instances are these lines of a script: each has the one service, and answers at once. */
struct many {
    uint64_t now_ns;
    struct rrmp_sink *sink;
    uint32_t item;
    uint32_t has_it; /* the instance that does not refuse it; 0: none */
    uint8_t code;    /* of the refusals */
    uint32_t asked[INSTANCES + 1];
    uint32_t requests;
    uint32_t tells;
    bool is_closed;
    struct backbone_target target;
    uint8_t room[4096];
    uint8_t answer[256]; /* to the request that is not answered yet, of `from` */
    size_t answer_length;
    uint64_t from;
};

static uint8_t *reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct many *many = context;

    many->target = *target;
    return length <= sizeof(many->room) ? many->room : NULL;
}

static void commit(void *context, size_t length)
{
    struct many *many = context;
    struct rrmp_record record;
    const uint32_t to = (uint32_t)many->target.session;

    if (length == 0 || many->target.path != BACKBONE_PATH_UNICAST ||
        rrmp_record_decode(many->room, length, &record) != MD_OK ||
        record.header.type != RRMP_REQUEST)
        return;
    many->requests++;
    many->asked[to]++;
    if (to == many->has_it)
        return;
    const struct rrmp_record refuse = {
        .header = { .type = RRMP_REFUSE },
        .u.refuse = { .request_id = record.u.request.id,
                      .state = RRMP_STATE_CLOSED,
                      .code = many->code,
                      .scope = RRMP_REFUSE_NOT_HERE,
                      .key_hash = record.u.request.key_hash },
    };
    struct md_wr wr = md_wr_init(many->answer, sizeof(many->answer));
    rrmp_record_encode(&wr, &refuse);
    assert_true(md_wr_ok(&wr));
    many->answer_length = md_wr_length(&wr);
    many->from = to;
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
        many->is_closed = many->is_closed || event.kind == RRMP_SINK_CLOSED;
        many->tells += event.kind == RRMP_SINK_STATE;
    }
    assert_null(rrmp_sink_check(many->sink));
}

static void hear(struct many *many, uint64_t session, uint16_t port, const uint8_t *bytes,
                 size_t length)
{
    const struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                            .flags = port ? BACKBONE_FLAG_UNICAST : 0,
                                            .session = session,
                                            .src_port = 1,
                                            .dst_port = port,
                                            .topic = port ? 0 : RRMP_TOPIC_CONTROL,
                                            .bytes = bytes,
                                            .length = (uint32_t)length };

    assert_int_equal(rrmp_sink_input(many->sink, many->now_ns, &message, 1), 1);
    take(many);
}

static void say(struct many *many, uint32_t session, const struct rrmp_record *record)
{
    uint8_t bytes[256];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    rrmp_record_encode(&wr, record);
    assert_true(md_wr_ok(&wr));
    hear(many, session, 0, bytes, md_wr_length(&wr));
}

static void come(struct many *many, uint32_t session)
{
    const uint32_t topic = rrmp_topic("RDFD", 4);
    uint8_t row[16];
    struct md_wr wr = md_wr_init(row, sizeof(row));
    char name[] = "aa";

    name[0] = (char)('a' + session / 26);
    name[1] = (char)('a' + session % 26);
    md_wr_u16(&wr, 0);
    md_wr_u16(&wr, RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING);
    md_wr_u32(&wr, topic);
    md_wr_u32(&wr, 1);
    md_wr_u32(&wr, 0);
    const struct rrmp_record instance = {
        .header = { .type = RRMP_INSTANCE, .svc = RRMP_SVC_NONE },
        .u.instance = { .interval_ms = 1000,
                        .service_count = 1,
                        .name = { (const uint8_t *)name, 2 },
                        .services = row },
    };
    const struct rrmp_record service = {
        .header = { .type = RRMP_SERVICE },
        .u.service = { .version = 1,
                       .topic = topic,
                       .state = RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING,
                       .features = 7,
                       .name = { (const uint8_t *)"RDFD", 4 } },
    };
    say(many, session, &instance);
    say(many, session, &service);
}

/* Time passes in steps of 10 ms, requests are answered, and all instances go on to be there. */
static void pass(struct many *many, uint64_t time_ns)
{
    const uint64_t until_ns = many->now_ns + time_ns;

    while (many->now_ns < until_ns) {
        many->now_ns += 10 * MS;
        for (uint32_t i = 1; i <= INSTANCES && many->now_ns % SEC == 0; i++)
            come(many, i);
        rrmp_sink_tick(many->sink, many->now_ns, true);
        take(many);
        while (many->answer_length > 0) {
            const size_t length = many->answer_length;
            many->answer_length = 0;
            hear(many, many->from, 1, many->answer, length);
        }
    }
}

static void open_item(struct many *many)
{
    static const struct rrmp_key key = {
        .domain = 6, .members = RRMP_KEY_NAME, .name_type = 1, .name = { (const uint8_t *)"IBM", 3 }
    };
    uint8_t bytes[64];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    rrmp_key_encode(&wr, &key);
    const struct rrmp_sink_open open = { .key = { bytes, md_wr_length(&wr) },
                                         .priority_class = 1,
                                         .priority_count = 1 };
    assert_int_equal(rrmp_sink_item_open(many->sink, many->now_ns, &open, &many->item), MD_OK);
}

static int setup(void **state)
{
    struct many *many = calloc(1, sizeof(*many));

    assert_non_null(many);
    const struct rrmp_sink_config config = {
        .send = { .context = many, .reserve = reserve, .commit = commit, .fill = fill },
        .item_limit = 10,
    };
    const struct backbone_event attached = { .type = BACKBONE_ATTACHED,
                                             .session = 1000,
                                             .dst_port = 1 };
    many->now_ns = SEC;
    many->code = RRMP_CODE_NOT_FOUND;
    assert_int_equal(rrmp_sink_create(&config, &many->sink), MD_OK);
    rrmp_sink_input(many->sink, many->now_ns, &attached, 1);
    for (uint32_t i = 1; i <= INSTANCES; i++)
        come(many, i);
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

static void an_item_that_none_of_many_has_is_closed_when_each_was_asked_once(void **state)
{
    struct many *many = *state;

    open_item(many);
    pass(many, SEC);
    assert_true(many->is_closed);
    for (uint32_t i = 1; i <= INSTANCES; i++)
        assert_int_equal(many->asked[i], 1);
}

static void an_item_that_one_of_many_has_is_found(void **state)
{
    for (uint32_t i = 1; i <= INSTANCES; i++) {
        struct many *many = *state;
        many->has_it = i;
        open_item(many);
        pass(many, SEC);
        assert_false(many->is_closed);
        assert_int_equal(many->asked[i], 1);
        teardown(state);
        setup(state);
    }
}

static void a_service_in_trouble_at_many_is_asked_for_once_a_second_and_told_once(void **state)
{
    struct many *many = *state;

    many->code = RRMP_CODE_NONE;
    open_item(many);
    pass(many, 2 * SEC);
    const uint32_t before = many->requests;
    pass(many, 10 * SEC);
    assert_false(many->is_closed);
    assert_in_range(many->requests - before, 9, 11);
    assert_int_equal(many->tells, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_item_that_none_of_many_has_is_closed_when_each_was_asked_once),
        TEST(an_item_that_one_of_many_has_is_found),
        TEST(a_service_in_trouble_at_many_is_asked_for_once_a_second_and_told_once),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
