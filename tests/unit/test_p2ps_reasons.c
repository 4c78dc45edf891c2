/* test_p2ps_reasons.c - why consumers are told states, or cut, is counted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#define RING 1048576u

static int setup(void **state)
{
    return pair_setup(state,
                      (struct p2ps_core_config){
                          .keeps_images = true,
                          .owed_fill_percent = 30,
                          .ok_fill_percent = 10,
                          .slow_timeout_ns = 10 * PAIR_SEC,
                          .item_limits = { .mount = 3 },
                          .paces = { { .rate = RWF_RATE_TIME_CONFLATED, .interval_ms = 100 } },
                          .pace_count = 1,
                      });
}

static const struct p2ps_core_stats *stats(const struct pair *pair)
{
    return p2ps_core_stats(pair->sink);
}

/* The worker has counted so many of that reason, and its clients as many together; each status is
 * of a reason, and the last one of a client that is cut has none. */
static void assert_counted(struct pair *pair, enum p2ps_reason reason, uint64_t expected)
{
    uint64_t of_clients = 0, all = 0;
    struct p2ps_client_info info;

    for (uint32_t i = 0; i < 8; i++) {
        if (p2ps_client_info(pair->sink, i, &info) && info.is_used)
            of_clients += info.reasons[reason];
    }
    for (unsigned i = 0; i < P2PS_REASONS; i++)
        all += stats(pair)->reasons[i];
    assert_int_equal(stats(pair)->reasons[reason], expected);
    assert_int_equal(all, stats(pair)->status_out + stats(pair)->reasons[P2PS_REASON_CUT_SLOW]);
    if (reason != P2PS_REASON_CUT_SLOW)
        assert_int_equal(of_clients, expected);
}

static void updates(struct pair *pair, const char *name, int count)
{
    while (count-- > 0) {
        pair_update(pair, name);
        pair_settle(pair);
    }
}

static void has_room(struct pair_client *c, uint32_t room)
{
    c->room_max = 100;
    c->room = room;
    p2ps_client_writable(c->pair->sink, c->pair->now_ns, c->id);
    pair_settle(c->pair);
}

static void a_slow_mount_and_its_end_count_for_each_stream(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct pair_client *other = pair_client(pair, 1);
    struct p2ps_client_info info;
    char text[64];

    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "DELL.O");
    pair_open(other, 5, "IBM.N");
    has_room(c, 0);
    updates(pair, "IBM.N", 4);
    updates(pair, "DELL.O", 4);
    has_room(c, 100);
    assert_counted(pair, P2PS_REASON_SLOW_MOUNT, 2);
    assert_counted(pair, P2PS_REASON_REAL_TIME, 2);
    assert_true(p2ps_client_info(pair->sink, other->id, &info));
    p2ps_reasons_text(info.reasons, text, sizeof(text));
    assert_string_equal(text, "");
    assert_true(p2ps_client_info(pair->sink, c->id, &info));
    p2ps_reasons_text(info.reasons, text, sizeof(text));
    assert_string_equal(text, "slowMount 2, realTime 2");
}

static void a_worker_that_is_behind_counts_for_each_stream(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    p2ps_core_lag(pair->sink, pair->now_ns, RING / 2, RING);
    updates(pair, "IBM.N", 4);
    p2ps_core_lag(pair->sink, pair->now_ns, RING / 8, RING);
    pair_pass(pair, 220 * PAIR_MS);
    assert_counted(pair, P2PS_REASON_WORKER_BEHIND, 1);
    p2ps_core_lag(pair->sink, pair->now_ns, 0, RING);
    pair_pass(pair, 220 * PAIR_MS);
    assert_counted(pair, P2PS_REASON_REAL_TIME, 1);
}

static void an_image_in_place_of_updates_counts(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    c->room_max = 100;
    c->room = 0;
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    has_room(c, 100);
    assert_string_equal(pair_heard(c, 5), "IJij");
    assert_counted(pair, P2PS_REASON_LEFT_OUT, 1);
}

static void a_client_that_is_cut_for_slowness_counts(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_room(c, 0);
    updates(pair, "IBM.N", 4);
    pair_pass(pair, 12 * PAIR_SEC);
    assert_true(c->closed);
    assert_int_equal(stats(pair)->mounts_cut_slow, 1);
    assert_counted(pair, P2PS_REASON_CUT_SLOW, 1);
}

static void a_gap_counts(void **state)
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
    pair_pass(pair, 5 * PAIR_SEC);
    assert_int_equal(stats(pair)->reasons[P2PS_REASON_GAP], stats(pair)->status_out);
    assert_counted(pair, P2PS_REASON_GAP, 1);
}

static void what_the_source_says_counts(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct pair_item *item;

    pair_open(c, 5, "IBM.N");
    item = pair_item(pair, "IBM.N");
    pair_say_status(&pair->provider, item, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE);
    pair_settle(pair);
    assert_counted(pair, P2PS_REASON_SOURCE_DOWN, 1);
    pair_say_status(&pair->provider, item, RWF_STREAM_OPEN, RWF_DATA_OK, RWF_CODE_NONE);
    pair_settle(pair);
    assert_counted(pair, P2PS_REASON_SOURCE_UP, 1);
    pair_say_status(&pair->provider, item, RWF_STREAM_CLOSED, RWF_DATA_OK, RWF_CODE_NONE);
    pair_settle(pair);
    assert_counted(pair, P2PS_REASON_CLOSED, 1);
    pair_open(c, 6, "VOID.N");
    assert_counted(pair, P2PS_REASON_NOT_FOUND, 1);
}

static void what_is_refused_counts(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(6, "IBM.N");
    char name[16];

    pair->authority_denies_item = "DELL.O";
    pair_open(c, 5, "DELL.O");
    assert_counted(pair, P2PS_REASON_DENIED, 1);
    request.domain = 10;
    pair_ask_item(c, &request);
    assert_counted(pair, P2PS_REASON_BAD_REQUEST, 1);
    for (int32_t i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_open(c, 10 + i, name);
    }
    assert_counted(pair, P2PS_REASON_LIMIT, 2);
}

static void an_authority_that_is_away_counts(void **state)
{
    struct pair *pair = *state;

    pair->authority_is_outside = true;
    pair_client(pair, 0);
    pair->authority_news = ENTITLE_NEWS_DOWN;
    pair_pass(pair, PAIR_SEC);
    assert_counted(pair, P2PS_REASON_AUTHORITY, 1);
    pair->authority_news = ENTITLE_NEWS_UP;
    pair_pass(pair, PAIR_SEC);
    assert_counted(pair, P2PS_REASON_OTHER, 1);
}

static void a_record_that_cannot_be_made_counts(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_unmade_class = RWF_CLASS_UPDATE;
    updates(pair, "IBM.N", 2);
    pair_unmade_class = 0;
    assert_counted(pair, P2PS_REASON_UNREADABLE, 1);
}

static void the_text_has_what_there_is_room_for(void **state)
{
    uint32_t of[P2PS_REASONS] = {
        [P2PS_REASON_GAP] = 3, [P2PS_REASON_SLOW_MOUNT] = 1234567890, [P2PS_REASON_DENIED] = 7
    };
    char text[40];

    (void)state;
    p2ps_reasons_text(of, text, sizeof(text));
    assert_string_equal(text, "slowMount 1234567890, denied 7, gap 3");
    p2ps_reasons_text(of, text, 34);
    assert_string_equal(text, "slowMount 1234567890, denied 7");
    p2ps_reasons_text(of, text, 1);
    assert_string_equal(text, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_slow_mount_and_its_end_count_for_each_stream),
        TEST(a_worker_that_is_behind_counts_for_each_stream),
        TEST(an_image_in_place_of_updates_counts),
        TEST(a_client_that_is_cut_for_slowness_counts),
        TEST(a_gap_counts),
        TEST(what_the_source_says_counts),
        TEST(what_is_refused_counts),
        TEST(an_authority_that_is_away_counts),
        TEST(a_record_that_cannot_be_made_counts),
        cmocka_unit_test(the_text_has_what_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
