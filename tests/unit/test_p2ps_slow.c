/* test_p2ps_slow.c - consumers that are slow: merged updates, all trades, and why. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#include "base/prng.h"
#include "rates/rates.h"

#define TRADE 2
#define QUOTE 1

static struct rates *exempt;

/* The last note of the core. */
static struct {
    unsigned slow, keeps_up;
    char text[256];
} noted;

static void on_note(void *owner, const struct p2ps_note *note)
{
    (void)owner;
    if (note->kind != P2PS_NOTE_SLOW && note->kind != P2PS_NOTE_KEEPS_UP)
        return;
    noted.slow += note->kind == P2PS_NOTE_SLOW;
    noted.keeps_up += note->kind == P2PS_NOTE_KEEPS_UP;
    snprintf(noted.text, sizeof(noted.text), "%s", note->text);
}

#define WALL_S (10ull * 3600 + 31 * 60 + 7)

static struct p2ps_core_config slow_config(void)
{
    memset(&noted, 0, sizeof(noted));
    return (struct p2ps_core_config){
        .keeps_images = true,
        .owed_fill_percent = 30,
        .ok_fill_percent = 10,
        .slow_timeout_ns = 120 * PAIR_SEC,
        .exempt = exempt,
        .note = on_note,
    };
}

static int setup(void **state)
{
    return pair_setup(state, slow_config());
}

static int setup_with_little_room(void **state)
{
    struct p2ps_core_config config = slow_config();

    config.trade_backlog = 300;
    return pair_setup(state, config);
}

static int setup_without_memory(void **state)
{
    struct p2ps_core_config config = slow_config();

    config.backlog_bytes_max = 1;
    return pair_setup(state, config);
}

static int setup_with_a_mebibyte(void **state)
{
    struct p2ps_core_config config = slow_config();

    config.backlog_bytes_max = 1u << 20;
    return pair_setup(state, config);
}

static int setup_with_rates(void **state)
{
    struct p2ps_core_config config = slow_config();

    config.paces[0] = (struct p2ps_pace){ .rate = RWF_RATE_TIME_CONFLATED, .interval_ms = 100 };
    config.pace_count = 1;
    return pair_setup(state, config);
}

static int make_exempt(void **state)
{
    (void)state;
    assert_int_equal(rates_create("", 0, NULL, NULL, NULL, &exempt), MD_OK);
    assert_int_equal(rates_exempt(exempt, "2", "", NULL, NULL, NULL), MD_OK);
    return 0;
}

static int free_exempt(void **state)
{
    (void)state;
    rates_destroy(exempt);
    return 0;
}

static const struct p2ps_core_stats *stats(const struct pair *pair)
{
    return p2ps_core_stats(pair->sink);
}

static void say_long(struct pair *pair, const char *name, uint8_t type, size_t more)
{
    static const uint8_t filler[2000];
    uint8_t bytes[2500];
    struct rwf_encoder enc;
    struct pair_item *it = pair_item(pair, name);
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = it->domain,
                           .stream_id = it->stream_id,
                           .update_type = type,
                           .container = RWF_TYPE_FIELD_LIST };

    it->counter++;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_uint(&enc, PAIR_FIELD, it->counter);
    if (more)
        rwf_field_add_bytes(&enc, 1000, rwf_bytes(filler, more));
    rwf_field_list_finish(&enc);
    rwf_msg_finish(&enc);
    pair_say(&pair->provider, &enc);
    pair_settle(pair);
}

static void say(struct pair *pair, const char *name, uint8_t type)
{
    say_long(pair, name, type, 0);
}

static void quotes(struct pair *pair, const char *name, int count)
{
    while (count-- > 0)
        say(pair, name, QUOTE);
}

/* So much of 100 messages is in its output. */
static void has_used(struct pair_client *c, uint32_t used)
{
    c->room_max = 100;
    c->room = 100 - used;
}

/* It has read all. */
static void reads(struct pair_client *c)
{
    has_used(c, 0);
    p2ps_client_writable(c->pair->sink, c->pair->now_ns, c->id);
    pair_settle(c->pair);
    p2ps_core_flush(c->pair->sink);
}

static struct p2ps_client_info info_of(const struct pair_client *c)
{
    struct p2ps_client_info info;

    assert_true(p2ps_client_info(c->pair->sink, c->id, &info));
    return info;
}

static void assert_holds(const struct pair *pair)
{
    const char *wrong = p2ps_core_check(pair->sink);

    if (wrong)
        fail_msg("%s", wrong);
}

/* ---- when it begins, and when it ends ---- */

static void who_keeps_up_gets_each_update(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    for (int i = 0; i < 50; i++) {
        has_used(c, 29);
        quotes(pair, "IBM.N", 1);
        p2ps_core_flush(pair->sink);
        pair_pass(pair, 20 * PAIR_MS);
    }
    assert_int_equal(pair_stream(c, 5)->count, 51);
    assert_int_equal(stats(pair)->slow_merged, 0);
    assert_int_equal(noted.slow, 0);
    assert_false(info_of(c).is_merging);
}

static void above_the_threshold_for_a_time_updates_are_merged(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct pair_client *other = pair_client(pair, 1);

    pair_open(c, 5, "IBM.N");
    pair_open(other, 5, "IBM.N");
    has_used(c, 40);
    quotes(pair, "IBM.N", 1);
    p2ps_core_flush(pair->sink);
    assert_false(info_of(c).is_merging);
    pair->now_ns += 110 * PAIR_MS;
    quotes(pair, "IBM.N", 1);
    p2ps_core_flush(pair->sink);
    assert_true(info_of(c).is_merging);
    assert_string_equal(pair_heard(c, 5), "IUU");
    quotes(pair, "IBM.N", 5);
    p2ps_core_flush(pair->sink);
    assert_string_equal(pair_heard(c, 5), "IUU");
    assert_holds(pair);
    assert_int_equal(stats(pair)->slow_merged, 4);
    assert_int_equal(stats(pair)->backlog_streams_now, 1);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IUUJUj");
    assert_int_equal(pair_stream(c, 5)->counter, 107);
    assert_string_equal(pair_heard(other, 5), "IUUUUUUU");
    assert_holds(pair);
    assert_false(info_of(c).is_merging);
    assert_int_equal(stats(pair)->backlog_bytes_now, 0);
    assert_int_equal(stats(pair)->mounts_conflated_now, 0);
    quotes(pair, "IBM.N", 2);
    assert_string_equal(pair_heard(c, 5), "IUUJUjUU");
}

static void a_short_peak_is_none(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 40);
    quotes(pair, "IBM.N", 1);
    p2ps_core_flush(pair->sink);
    pair->now_ns += 60 * PAIR_MS;
    has_used(c, 5);
    quotes(pair, "IBM.N", 1);
    p2ps_core_flush(pair->sink);
    pair->now_ns += 60 * PAIR_MS;
    has_used(c, 40);
    quotes(pair, "IBM.N", 1);
    p2ps_core_flush(pair->sink);
    assert_false(info_of(c).is_merging);
    assert_string_equal(pair_heard(c, 5), "IUUU");
}

static void with_a_tenth_left_it_begins_at_once(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 91);
    quotes(pair, "IBM.N", 1);
    p2ps_core_flush(pair->sink);
    assert_true(info_of(c).is_merging);
}

static void an_update_that_is_alone_is_late_and_not_merged(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "DELL.O");
    has_used(c, 100);
    quotes(pair, "IBM.N", 1);
    quotes(pair, "DELL.O", 3);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_string_equal(pair_heard(c, 6), "IJUj");
    assert_holds(pair);
}

/* The oldest first, as far as there is room: the streams share it. */
static void what_waits_goes_out_as_there_is_room(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    char name[16];

    for (int32_t i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_open(c, 10 + i, name);
    }
    has_used(c, 100);
    for (int32_t i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "I%d.N", i);
        quotes(pair, name, 1);
    }
    has_used(c, 26);
    p2ps_client_writable(pair->sink, pair->now_ns, c->id);
    assert_string_equal(pair_heard(c, 13), "IU");
    assert_string_equal(pair_heard(c, 14), "I");
    assert_true(info_of(c).is_merging);
    assert_holds(pair);
    reads(c);
    assert_string_equal(pair_heard(c, 17), "IU");
    assert_false(info_of(c).is_merging);
}

/* ---- trades ---- */

static void trades_come_all_and_in_order(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 100);
    quotes(pair, "IBM.N", 10);
    say(pair, "IBM.N", TRADE);
    say(pair, "IBM.N", TRADE);
    quotes(pair, "IBM.N", 10);
    say(pair, "IBM.N", TRADE);
    assert_holds(pair);
    assert_true(info_of(c).behind_bytes > 0);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IJUUUUUj");
    assert_int_equal(pair_stream(c, 5)->counter, 123);
    assert_int_equal(stats(pair)->backlog_lost, 0);
    assert_int_equal(info_of(c).merged, 18);
    assert_int_equal(info_of(c).behind_bytes, 0);
}

static void trades_without_room_are_counted_and_an_image_comes(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 100);
    for (int i = 0; i < 20; i++)
        say(pair, "IBM.N", TRADE);
    assert_int_equal(stats(pair)->backlog_lost, 20);
    assert_holds(pair);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IJij");
    assert_int_equal(pair_stream(c, 5)->counter, 120);
    assert_int_equal(info_of(c).lost, 20);
    assert_holds(pair);
}

static void without_memory_an_image_comes(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 100);
    quotes(pair, "IBM.N", 3);
    assert_holds(pair);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IJij");
    assert_int_equal(pair_stream(c, 5)->counter, 103);
}

/* ---- what else comes ---- */

static void an_image_comes_behind_what_waits(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 100);
    quotes(pair, "IBM.N", 1);
    say(pair, "IBM.N", TRADE);
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    quotes(pair, "IBM.N", 2);
    assert_holds(pair);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IUUJij");
    assert_int_equal(pair_stream(c, 5)->counter, 104);
    assert_holds(pair);
}

static void a_state_comes_behind_what_waits(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 100);
    quotes(pair, "IBM.N", 1);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN, RWF_DATA_SUSPECT,
                    RWF_CODE_NONE);
    pair_settle(pair);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IU!");
    assert_holds(pair);
}

static void merged_updates_of_before_it_was_suspect_are_told(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 100);
    quotes(pair, "IBM.N", 3);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN, RWF_DATA_SUSPECT,
                    RWF_CODE_NONE);
    pair_settle(pair);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IJU!");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_SUSPECT);
    pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IJU!ij");
    assert_holds(pair);
}

static void a_stream_that_ends_takes_what_waits_with_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_open(c, 6, "DELL.O");
    has_used(c, 100);
    quotes(pair, "IBM.N", 3);
    quotes(pair, "DELL.O", 3);
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair_settle(pair);
    assert_holds(pair);
    assert_int_equal(stats(pair)->backlog_streams_now, 1);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    pair_pass(pair, PAIR_SEC);
    assert_holds(pair);
    assert_int_equal(stats(pair)->backlog_streams_now, 0);
    assert_int_equal(stats(pair)->backlog_bytes_now, 0);
    assert_int_equal(stats(pair)->mounts_conflated_now, 0);
}

static void a_paused_stream_gets_an_image_when_it_goes_on(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    pair_open(c, 5, "IBM.N");
    has_used(c, 100);
    quotes(pair, "IBM.N", 3);
    request.pause = request.no_refresh = true;
    pair_ask_item(c, &request);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "I");
    request.pause = false;
    pair_ask_item(c, &request);
    assert_int_equal(pair_stream(c, 5)->counter, 103);
    assert_int_equal(pair_heard(c, 5)[1], 'i');
    assert_holds(pair);
}

static void a_rate_that_was_chosen_waits_when_it_has_no_room(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.has_qos = true;
    request.qos = (struct rwf_qos){ .timeliness = RWF_TIMELINESS_REALTIME,
                                    .rate = RWF_RATE_TIME_CONFLATED,
                                    .rate_info = 100 };
    pair_ask_item(c, &request);
    has_used(c, 100);
    quotes(pair, "IBM.N", 3);
    pair_pass(pair, 200 * PAIR_MS);
    assert_int_equal(stats(pair)->backlog_streams_now, 1);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_int_equal(pair_stream(c, 5)->counter, 103);
    assert_holds(pair);
    quotes(pair, "IBM.N", 3); /* with room nothing waits, slow or not */
    pair_pass(pair, 200 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUU");
}

/* A trade between them passes its rate at once, and then waits with all that comes behind it. */
static void trades_of_a_rate_that_was_chosen_come_all_and_in_order(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.has_qos = true;
    request.qos = (struct rwf_qos){ .timeliness = RWF_TIMELINESS_REALTIME,
                                    .rate = RWF_RATE_TIME_CONFLATED,
                                    .rate_info = 100 };
    pair_ask_item(c, &request);
    has_used(c, 100);
    for (int i = 0; i < 3; i++) {
        quotes(pair, "IBM.N", 2);
        say(pair, "IBM.N", TRADE);
        say(pair, "IBM.N", TRADE);
    }
    quotes(pair, "IBM.N", 2);
    pair_pass(pair, 200 * PAIR_MS);
    assert_holds(pair);
    assert_int_equal(stats(pair)->backlog_lost, 0);
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IUUUUUUUUUU");
    assert_int_equal(pair_stream(c, 5)->counter, 114);
    assert_int_equal(stats(pair)->conflated, 0);
    assert_holds(pair);
}

/* One that takes nothing leaves a part of slowBacklog to the others. */
static void one_client_leaves_room_for_the_others(void **state)
{
    struct pair *pair = *state;
    struct pair_client *greedy = pair_client(pair, 0);
    struct pair_client *other = pair_client(pair, 1);
    uint64_t most = 0;

    pair_open(greedy, 5, "IBM.N");
    pair_open(other, 5, "DELL.O");
    has_used(greedy, 100);
    has_used(other, 100);
    say(pair, "DELL.O", TRADE);
    for (int i = 0; i < 2000 && info_of(greedy).lost == 0; i++) {
        most = stats(pair)->backlog_bytes_now;
        say_long(pair, "IBM.N", TRADE, 2000);
        if (i % 30 == 29)
            say_long(pair, "DELL.O", TRADE, 100);
    }
    assert_int_not_equal(info_of(greedy).lost, 0);
    assert_int_equal(info_of(other).lost, 0);
    assert_in_range(most, 1u << 19, 3u << 18);
    assert_holds(pair);
    for (int i = 0; i < 100; i++)
        say(pair, "DELL.O", TRADE);
    assert_int_equal(info_of(other).lost, 0);
    assert_holds(pair);
}

/* ---- why ---- */

static void the_stream_and_the_log_say_why(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_wall_ns = WALL_S * PAIR_SEC;
    has_used(c, 100);
    quotes(pair, "IBM.N", 3);
    assert_int_equal(noted.slow, 1);
    assert_string_equal(noted.text,
                        "100 of 100 percent of its output for 0.0 s: conflating since 10:31:07");
    pair->now_ns += 12 * PAIR_SEC;
    has_used(c, 20);
    p2ps_client_writable(pair->sink, pair->now_ns, c->id);
    assert_string_equal(pair_heard(c, 5), "IJU");
    assert_string_equal(pair_stream(c, 5)->text,
                        "100 of 100 percent of its output for 12 s: conflating since 10:31:07");
    reads(c);
    assert_int_equal(noted.keeps_up, 1);
    assert_string_equal(noted.text, "2 updates were merged, the worst lag was 12000 ms");
    assert_int_equal(info_of(c).first_slow_s, WALL_S);
    assert_int_equal(info_of(c).worst_lag_ns / PAIR_SEC, 12);
}

static void the_number_of_lost_trades_is_told(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 100);
    for (int i = 0; i < 20; i++)
        say(pair, "IBM.N", TRADE);
    c->room = c->room_max = 1; /* of the status, and not of the image behind it */
    p2ps_client_writable(pair->sink, pair->now_ns, c->id);
    assert_string_equal(pair_heard(c, 5), "IJ");
    assert_non_null(strstr(pair_stream(c, 5)->text,
                           ". 20 updates that are never merged are lost: they had no room"));
    reads(c);
    assert_string_equal(pair_heard(c, 5), "IJij");
}

static void who_is_cut_is_told_why(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    has_used(c, 95);
    quotes(pair, "IBM.N", 1);
    p2ps_core_flush(pair->sink);
    quotes(pair, "IBM.N", 3);
    pair_pass(pair, 119 * PAIR_SEC);
    assert_false(c->closed);
    pair_pass(pair, 4 * PAIR_SEC);
    assert_true(c->closed);
    assert_string_equal(c->reason,
                        "output buffer overflow: nothing was taken within slowTimeout, 96 of 100 "
                        "percent of its output in use");
    assert_string_equal(pair_stream(c, 1)->text, c->reason);
    assert_holds(pair);
}

static void who_is_slow_again_and_again_is_noted_now_and_then(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    for (int i = 0; i < 20; i++) {
        has_used(c, 100);
        quotes(pair, "IBM.N", 1);
        pair->now_ns += PAIR_SEC;
        reads(c);
    }
    assert_int_equal(noted.slow, 2); /* in 20 s */
    assert_int_equal(noted.keeps_up, 2);
    assert_int_equal(pair_stream(c, 5)->counter, 120);
}

/* ---- any course ---- */

/* After each step the tables hold; trades come all, in order; at the end the values are equal. */
static void any_course_ends_with_the_same_values(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct md_prng random = md_prng_init(4711);

    for (int32_t i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof(name), "I%d.N", i);
        pair_open(c, 10 + i, name);
    }
    for (int step = 0; step < 300; step++) {
        char name[16];
        uint32_t what = md_prng_below(&random, 10);

        snprintf(name, sizeof(name), "I%u.N", md_prng_below(&random, 4));
        if (what < 6)
            say(pair, name, QUOTE);
        else if (what < 7)
            say(pair, name, TRADE);
        else if (what < 8)
            has_used(c, md_prng_below(&random, 101));
        else
            p2ps_client_writable(pair->sink, pair->now_ns, c->id);
        pair->now_ns += md_prng_below(&random, 50) * PAIR_MS;
        p2ps_core_flush(pair->sink);
        assert_holds(pair);
    }
    for (int i = 0; i < 8; i++)
        reads(c);
    assert_false(info_of(c).is_merging);
    for (int32_t i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof(name), "I%d.N", i);
        assert_int_equal(pair_stream(c, 10 + i)->counter, pair_item(pair, name)->counter);
    }
    assert_int_equal(stats(pair)->backlog_lost, 0);
    assert_true(stats(pair)->slow_merged > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_keeps_up_gets_each_update),
        TEST(above_the_threshold_for_a_time_updates_are_merged),
        TEST(a_short_peak_is_none),
        TEST(with_a_tenth_left_it_begins_at_once),
        TEST(an_update_that_is_alone_is_late_and_not_merged),
        TEST(what_waits_goes_out_as_there_is_room),
        TEST(trades_come_all_and_in_order),
        cmocka_unit_test_setup_teardown(trades_without_room_are_counted_and_an_image_comes,
                                        setup_with_little_room, pair_teardown),
        cmocka_unit_test_setup_teardown(without_memory_an_image_comes, setup_without_memory,
                                        pair_teardown),
        TEST(an_image_comes_behind_what_waits),
        TEST(a_state_comes_behind_what_waits),
        TEST(merged_updates_of_before_it_was_suspect_are_told),
        TEST(a_stream_that_ends_takes_what_waits_with_it),
        TEST(a_paused_stream_gets_an_image_when_it_goes_on),
        cmocka_unit_test_setup_teardown(a_rate_that_was_chosen_waits_when_it_has_no_room,
                                        setup_with_rates, pair_teardown),
        cmocka_unit_test_setup_teardown(trades_of_a_rate_that_was_chosen_come_all_and_in_order,
                                        setup_with_rates, pair_teardown),
        cmocka_unit_test_setup_teardown(one_client_leaves_room_for_the_others,
                                        setup_with_a_mebibyte, pair_teardown),
        TEST(the_stream_and_the_log_say_why),
        cmocka_unit_test_setup_teardown(the_number_of_lost_trades_is_told, setup_with_little_room,
                                        pair_teardown),
        TEST(who_is_cut_is_told_why),
        TEST(who_is_slow_again_and_again_is_noted_now_and_then),
        TEST(any_course_ends_with_the_same_values),
    };

    return cmocka_run_group_tests(tests, make_exempt, free_exempt);
}
