/* test_rrmp_topics.c - a sink says which services it wants, and what their numbers mean. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rrmp/key.h"
#include "rrmp/sink.h"

#define MS       1000000ull
#define SEC      1000000000ull
#define SESSION  77u
#define SOURCE   5u
#define SERVICES 300u
#define NOTHING  UINT32_MAX /* in place of a count: nothing was said */

struct bench {
    struct rrmp_sink *sink;
    uint64_t now_ns;
    bool is_full;
    uint8_t room[65536];
    char said[16]; /* W: what is wanted, R: a REQUEST */
    uint32_t topics[BACKBONE_TOPICS_MAX];
    uint32_t topic_count;
    bool wants_all;
    uint32_t beat;
    uint32_t last_seq[SERVICES]; /* of each service */
    uint16_t service_count;
};

static void note(struct bench *b, char what)
{
    size_t length = strlen(b->said);

    if (length + 1 < sizeof(b->said))
        b->said[length] = what;
}

static uint8_t *reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct bench *b = context;

    (void)target;
    return b->is_full || length > sizeof(b->room) ? NULL : b->room;
}

static void commit(void *context, size_t length)
{
    struct bench *b = context;

    if (length > 0 && b->room[0] == RRMP_REQUEST)
        note(b, 'R');
}

static unsigned fill(void *context)
{
    (void)context;
    return 0;
}

static bool want(void *context, const uint32_t topics[], uint32_t count)
{
    struct bench *b = context;

    if (b->is_full)
        return false;
    b->wants_all = !topics;
    b->topic_count = count;
    if (count)
        memcpy(b->topics, topics, count * sizeof(*topics));
    note(b, 'W');
    return true;
}

static struct rrmp_view service_name(uint16_t svc, char text[8])
{
    int length = snprintf(text, 8, "SVC%u", svc);

    return (struct rrmp_view){ .bytes = (const uint8_t *)text, .length = (size_t)length };
}

static uint32_t topic_of(uint16_t svc)
{
    char text[8];
    struct rrmp_view name = service_name(svc, text);

    return rrmp_topic(name.bytes, name.length);
}

static void take_events(struct bench *b)
{
    struct rrmp_sink_event events[64];

    while (rrmp_sink_event(b->sink, events, 64) > 0) {
    }
}

static void give(struct bench *b, const struct rrmp_record *record, uint32_t topic)
{
    uint8_t bytes[8192];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    rrmp_record_encode(&wr, record);
    assert_true(md_wr_ok(&wr));
    struct backbone_event event = { .type = BACKBONE_MESSAGE,
                                    .session = SESSION,
                                    .src_port = SOURCE,
                                    .topic = topic,
                                    .bytes = bytes,
                                    .length = (uint32_t)md_wr_length(&wr) };
    take_events(b);
    assert_int_equal(rrmp_sink_input(b->sink, b->now_ns, &event, 1), 1);
    take_events(b);
    assert_null(rrmp_sink_check(b->sink));
}

/* The instance speaks, as it does each second. */
static void beat(struct bench *b)
{
    uint8_t rows[16 * SERVICES];
    struct rrmp_record record = {
        .header = { .type = RRMP_INSTANCE, .svc = RRMP_SVC_NONE },
        .u.instance = { .beat = ++b->beat,
                        .interval_ms = 1000,
                        .service_count = b->service_count,
                        .name = { .bytes = (const uint8_t *)"a.1.src_dist", .length = 12 },
                        .services = rows },
    };

    for (uint16_t svc = 0; svc < b->service_count; svc++) {
        struct rrmp_instance_row row = { .svc = svc,
                                         .state = 7,
                                         .topic = topic_of(svc),
                                         .version = 1,
                                         .last_seq = b->last_seq[svc] };
        rrmp_instance_row_put(rows + 16 * svc, &row);
    }
    give(b, &record, RRMP_TOPIC_CONTROL);
}

static void run_for(struct bench *b, uint64_t ns)
{
    for (uint64_t end = b->now_ns + ns; b->now_ns < end;) {
        b->now_ns += 100 * MS;
        if (b->now_ns % SEC == 0)
            beat(b);
        rrmp_sink_tick(b->sink, b->now_ns, true);
        assert_null(rrmp_sink_check(b->sink));
    }
}

static void attach(struct bench *b, uint8_t flags)
{
    const struct backbone_event event = {
        .type = BACKBONE_ATTACHED, .flags = flags, .session = 9, .dst_port = 1
    };

    take_events(b);
    assert_int_equal(rrmp_sink_input(b->sink, b->now_ns, &event, 1), 1);
    beat(b);
    for (uint16_t svc = 0; svc < b->service_count; svc++) {
        char text[8];
        struct rrmp_record record = { .header = { .type = RRMP_SERVICE, .svc = svc },
                                      .u.service = { .version = 1,
                                                     .topic = topic_of(svc),
                                                     .state = 3,
                                                     .name = service_name(svc, text) } };
        give(b, &record, RRMP_TOPIC_CONTROL);
    }
    memset(b->said, 0, sizeof(b->said));
}

static void setup(struct bench *b, uint16_t services, uint8_t flags)
{
    struct rrmp_sink_config config = {
        .send = { .context = b, .reserve = reserve, .commit = commit, .fill = fill, .want = want },
        .random = 3,
        .item_limit = 1000,
    };

    memset(b, 0, sizeof(*b));
    b->now_ns = 100 * SEC;
    b->service_count = services;
    b->topic_count = NOTHING;
    for (uint16_t svc = 0; svc < services; svc++)
        b->last_seq[svc] = 1000;
    assert_int_equal(rrmp_sink_create(&config, &b->sink), MD_OK);
    attach(b, flags);
}

static uint32_t open_item(struct bench *b, uint16_t svc)
{
    char text[8];
    uint8_t bytes[64];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));
    const struct rrmp_key key = { .domain = 6,
                                  .members = RRMP_KEY_NAME,
                                  .name_type = 1,
                                  .qos = { .timeliness = 1, .rate = 1 },
                                  .name = { .bytes = (const uint8_t *)"IBM", .length = 3 } };
    struct rrmp_sink_open open = {
        .service = rrmp_sink_service_find(b->sink, service_name(svc, text)),
        .priority_class = 1,
        .priority_count = 1,
    };
    uint32_t item;

    rrmp_key_encode(&wr, &key);
    open.key = (struct rrmp_view){ .bytes = bytes, .length = md_wr_length(&wr) };
    assert_int_equal(rrmp_sink_item_open(b->sink, b->now_ns, &open, &item), MD_OK);
    rrmp_sink_tick(b->sink, b->now_ns, true);
    return item;
}

/* A record of the service that concerns nobody here. */
static void record_of(struct bench *b, uint16_t svc, uint32_t seq)
{
    const struct rrmp_record record = {
        .header = { .type = RRMP_UNBIND, .svc = svc, .svc_seq = seq },
        .u.unbind = { .handle = 12345, .reason = 1 }
    };

    b->last_seq[svc] = seq;
    give(b, &record, topic_of(svc));
}

static uint64_t jumps(const struct bench *b)
{
    return rrmp_sink_stats(b->sink)->svc_seq_jumps;
}

static void a_service_is_wanted_ahead_of_its_first_request(void **state)
{
    struct bench b;

    (void)state;
    setup(&b, 3, BACKBONE_FLAG_FILTERS);
    assert_int_equal(b.topic_count, 0);
    open_item(&b, 1);
    assert_string_equal(b.said, "WR");
    assert_int_equal(b.topic_count, 1);
    assert_int_equal(b.topics[0], topic_of(1));
    rrmp_sink_destroy(b.sink);
}

static void while_there_is_no_room_for_the_wish_nothing_is_asked_for(void **state)
{
    struct bench b;

    (void)state;
    setup(&b, 2, BACKBONE_FLAG_FILTERS);
    b.is_full = true;
    open_item(&b, 0);
    run_for(&b, SEC);
    assert_string_equal(b.said, "");
    b.is_full = false;
    run_for(&b, SEC);
    assert_memory_equal(b.said, "WR", 2);
    rrmp_sink_destroy(b.sink);
}

static void a_new_attachment_is_told_everything_anew(void **state)
{
    struct bench b;

    (void)state;
    setup(&b, 2, BACKBONE_FLAG_FILTERS);
    open_item(&b, 1);
    b.topic_count = NOTHING;
    attach(&b, BACKBONE_FLAG_FILTERS);
    assert_int_equal(b.topic_count, 1);
    assert_int_equal(b.topics[0], topic_of(1));
    b.topic_count = NOTHING;
    attach(&b, 0);
    open_item(&b, 0);
    assert_int_equal(b.topic_count, NOTHING);
    rrmp_sink_destroy(b.sink);
}

static void a_service_without_items_is_wanted_no_more(void **state)
{
    struct bench b;

    (void)state;
    setup(&b, 3, BACKBONE_FLAG_FILTERS);
    uint32_t item = open_item(&b, 1);
    open_item(&b, 2);
    rrmp_sink_follow(b.sink, b.now_ns, 0);
    run_for(&b, 5 * SEC);
    assert_int_equal(b.topic_count, 3);
    rrmp_sink_item_close(b.sink, b.now_ns, item);
    run_for(&b, 3 * SEC);
    assert_int_equal(b.topic_count, 2);
    assert_int_equal(b.topics[0], topic_of(0));
    assert_int_equal(b.topics[1], topic_of(2));
    rrmp_sink_destroy(b.sink);
}

static void the_numbers_of_what_is_not_wanted_mean_nothing(void **state)
{
    struct bench b;

    (void)state;
    setup(&b, 2, BACKBONE_FLAG_FILTERS);
    b.last_seq[0] += 100;
    run_for(&b, 2 * SEC);
    record_of(&b, 0, 1500); /* another user of the node may want it */
    b.last_seq[0] = 1600;
    run_for(&b, 2 * SEC);
    assert_int_equal(jumps(&b), 0);
    open_item(&b, 0);
    record_of(&b, 0, 1700); /* the first one behind the wish */
    assert_int_equal(jumps(&b), 0);
    record_of(&b, 0, 1701);
    assert_int_equal(jumps(&b), 0);
    record_of(&b, 0, 1703);
    assert_int_equal(jumps(&b), 1);
    b.last_seq[0] = 1704;
    run_for(&b, 2 * SEC);
    assert_int_equal(jumps(&b), 2);
    rrmp_sink_destroy(b.sink);
}

/* Nothing of it comes, and the instance says that there was something. */
static void where_nothing_comes_the_heartbeat_tells(void **state)
{
    struct bench b;

    (void)state;
    setup(&b, 1, BACKBONE_FLAG_FILTERS);
    run_for(&b, SEC);
    open_item(&b, 0);
    run_for(&b, 3 * SEC);
    assert_int_equal(jumps(&b), 0);
    b.last_seq[0]++;
    run_for(&b, 2 * SEC);
    assert_int_equal(jumps(&b), 1);
    rrmp_sink_destroy(b.sink);

    setup(&b, 1, BACKBONE_FLAG_FILTERS);
    run_for(&b, SEC);
    open_item(&b, 0);
    b.last_seq[0]++; /* in the second in which the wish may be under way */
    run_for(&b, 3 * SEC);
    assert_int_equal(jumps(&b), 1);
    rrmp_sink_destroy(b.sink);
}

/* The item's image, directed: it has no number, so records count from none yet. */
static void image_of(struct bench *b, uint16_t svc)
{
    uint8_t bytes[64];
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));
    const struct rrmp_key key = { .domain = 6,
                                  .members = RRMP_KEY_NAME,
                                  .name_type = 1,
                                  .qos = { .timeliness = 1, .rate = 1 },
                                  .name = { .bytes = (const uint8_t *)"IBM", .length = 3 } };

    rrmp_key_encode(&wr, &key);
    const struct rrmp_view view = { .bytes = bytes, .length = md_wr_length(&wr) };
    const struct rrmp_record record = {
        .header = { .type = RRMP_IMAGE, .svc = svc },
        .u.image = { .handle = 257,
                     .item_seq = 10,
                     .key_hash = rrmp_key_hash(bytes, view.length),
                     .state = 1 << 3 | 1,
                     .flags = RRMP_IMAGE_FIRST | RRMP_IMAGE_LAST | RRMP_IMAGE_SOLICITED,
                     .tag = 3,
                     .key = view,
                     .message = { .bytes = (const uint8_t *)"data", .length = 4 } }
    };
    give(b, &record, topic_of(svc));
}

/* An update behind the wish is lost, and the next record is another item's. */
static void a_loss_that_is_told_before_the_first_number_is_looked_into(void **state)
{
    const struct backbone_event gap = { .type = BACKBONE_GAP, .session = SESSION, .count = 1 };
    struct bench b;

    (void)state;
    setup(&b, 1, BACKBONE_FLAG_FILTERS);
    run_for(&b, 2 * SEC);
    open_item(&b, 0);
    image_of(&b, 0);
    take_events(&b);
    assert_int_equal(rrmp_sink_input(b.sink, b.now_ns, &gap, 1), 1);
    record_of(&b, 0, b.last_seq[0] + 2);
    run_for(&b, 2 * SEC);
    assert_int_equal(jumps(&b), 1);
    assert_int_equal(rrmp_sink_stats(b.sink)->gap_queries, 1);
    rrmp_sink_destroy(b.sink);
}

static void where_nothing_is_left_out_every_hole_counts(void **state)
{
    struct bench b;

    (void)state;
    setup(&b, 2, 0);
    b.last_seq[0] += 10;
    run_for(&b, 2 * SEC);
    assert_int_equal(jumps(&b), 1);
    open_item(&b, 1);
    record_of(&b, 1, b.last_seq[1] + 2);
    assert_int_equal(jumps(&b), 2);
    assert_int_equal(b.topic_count, NOTHING);
    rrmp_sink_destroy(b.sink);
}

static void more_services_than_can_be_named_are_everything(void **state)
{
    struct bench b;

    (void)state;
    setup(&b, SERVICES, BACKBONE_FLAG_FILTERS);
    for (uint16_t svc = 0; svc < BACKBONE_TOPICS_MAX; svc++)
        open_item(&b, svc);
    assert_int_equal(b.topic_count, BACKBONE_TOPICS_MAX);
    uint32_t item = open_item(&b, BACKBONE_TOPICS_MAX);
    assert_true(b.wants_all);
    rrmp_sink_item_close(b.sink, b.now_ns, item);
    run_for(&b, 3 * SEC);
    assert_false(b.wants_all);
    assert_int_equal(b.topic_count, BACKBONE_TOPICS_MAX);
    rrmp_sink_destroy(b.sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_is_wanted_ahead_of_its_first_request),
        cmocka_unit_test(while_there_is_no_room_for_the_wish_nothing_is_asked_for),
        cmocka_unit_test(a_new_attachment_is_told_everything_anew),
        cmocka_unit_test(a_service_without_items_is_wanted_no_more),
        cmocka_unit_test(the_numbers_of_what_is_not_wanted_mean_nothing),
        cmocka_unit_test(where_nothing_comes_the_heartbeat_tells),
        cmocka_unit_test(a_loss_that_is_told_before_the_first_number_is_looked_into),
        cmocka_unit_test(where_nothing_is_left_out_every_hole_counts),
        cmocka_unit_test(more_services_than_can_be_named_are_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
