/* test_srcdist_rates.c - filters and merged updates of src_dist, as consumers of p2ps see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

#include "rates/rates.h"

static struct rates *rates_of(const char *text)
{
    struct rates *rates;

    assert_int_equal(rates_create(text, strlen(text), NULL, NULL, NULL, &rates), MD_OK);
    assert_int_equal(rates_exempt(rates, "2 6 7 9 11", "", NULL, NULL, NULL), MD_OK);
    return rates;
}

static void use(struct pair *pair, const char *text)
{
    assert_int_equal(srcdist_core_rates_set(pair->source, pair->now_ns, rates_of(text)), MD_OK);
    pair_settle(pair);
}

static struct pair *make(bool source_caches)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->source_caches = source_caches;
    pair_create(pair, (struct p2ps_core_config){ 0 });
    return pair;
}

static int setup(void **state)
{
    *state = make(false);
    return 0;
}

static int setup_source_caches(void **state)
{
    *state = make(true);
    return 0;
}

static const struct srcdist_core_stats *stats(const struct pair *pair)
{
    return srcdist_core_stats(pair->source);
}

/* The counter goes up by one, in an update of that type. */
static int say(struct pair *pair, const char *name, uint8_t type)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct pair_item *it = pair_item(pair, name);
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = it->domain,
                           .stream_id = it->stream_id,
                           .update_type = type,
                           .container = RWF_TYPE_FIELD_LIST };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, it->counter + 1, true);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    int err = srcdist_provider_message(pair->source, pair->now_ns, pair->provider.id,
                                       rwf_encoder_bytes(&enc));
    it->counter += err == MD_OK;
    return err;
}

static void updates_of_an_interval_go_out_as_one_with_the_newest_values(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    use(pair, "interval * * * 100\n");
    pair_open(a, 5, "IBM.N");
    for (int i = 0; i < 10; i++)
        pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "I");
    pair_pass(pair, 120 * PAIR_MS);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_int_equal(pair_stream(a, 5)->counter, 110);
    assert_int_equal(stats(pair)->updates_merged, 9);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(a, 5), "IU");
}

static void an_item_that_ticks_all_the_time_sends_one_update_an_interval(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    use(pair, "interval * * * 100\n");
    pair_open(a, 5, "IBM.N");
    for (int i = 0; i < 100; i++) {
        pair_update(pair, "IBM.N");
        pair_pass(pair, 20 * PAIR_MS);
    }
    pair_pass(pair, 120 * PAIR_MS);
    assert_in_range(stats(pair)->updates_out, 19, 22); /* two seconds */
    assert_int_equal(stats(pair)->updates_out + stats(pair)->updates_merged, 100);
    assert_int_equal(pair_stream(a, 5)->counter, 200);
    assert_int_equal(rrmp_sink_stats(p2ps_core_sink(pair->sink, 0))->item_seq_jumps, 0);
}

static void items_have_their_turns_at_different_times_of_the_interval(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    uint64_t most = 0;
    char name[16];

    use(pair, "interval * * * 1s\n");
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "R%d", i);
        pair_open(a, 5 + i, name);
    }
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "R%d", i);
        assert_int_equal(say(pair, name, 0), MD_OK);
    }
    for (int i = 0; i < 60; i++) {
        uint64_t before = stats(pair)->updates_out;
        pair_pass(pair, 20 * PAIR_MS);
        uint64_t now = stats(pair)->updates_out - before;
        most = now > most ? now : most;
    }
    assert_int_equal(stats(pair)->updates_out, 40);
    assert_in_range(most, 1, 6);
}

static void trades_pass_at_once_and_all_of_them_behind_what_is_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    use(pair, "interval * * * 1s\n");
    pair_open(a, 5, "IBM.N");
    say(pair, "IBM.N", RWF_UPDATE_QUOTE);
    say(pair, "IBM.N", RWF_UPDATE_QUOTE);
    for (int i = 0; i < 5; i++)
        say(pair, "IBM.N", RWF_UPDATE_TRADE);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IUUUUUU");
    assert_int_equal(pair_stream(a, 5)->counter, 107);
}

static void a_status_and_an_end_come_behind_what_is_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    use(pair, "interval * * * 1s\n");
    pair_open(a, 5, "IBM.N");
    say(pair, "IBM.N", 0);
    say(pair, "IBM.N", 0);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN, RWF_DATA_SUSPECT,
                    RWF_CODE_NONE);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU!");
    assert_int_equal(pair_stream(a, 5)->counter, 102);
    say(pair, "IBM.N", 0);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_CLOSED, RWF_DATA_SUSPECT,
                    RWF_CODE_NOT_FOUND);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU!UX");
    assert_int_equal(pair_stream(a, 5)->counter, 103);
}

static void who_joins_gets_the_image_of_now_and_the_others_what_was_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    use(pair, "interval * * * 1s\n");
    pair_open(a, 5, "IBM.N");
    for (int i = 0; i < 4; i++)
        say(pair, "IBM.N", 0);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "I");
    pair_open(b, 5, "IBM.N");
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_int_equal(pair_stream(a, 5)->counter, 104);
    assert_string_equal(pair_heard(b, 5), "I");
    assert_int_equal(pair_stream(b, 5)->counter, 104);
    say(pair, "IBM.N", 0);
    pair_pass(pair, PAIR_SEC + 20 * PAIR_MS);
    assert_int_equal(pair_stream(a, 5)->counter, 105);
    assert_int_equal(pair_stream(b, 5)->counter, 105);
}

static void an_update_that_is_pending_waits_for_room_and_is_not_lost(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    use(pair, "interval * * * 100\n");
    pair_open(a, 5, "IBM.N");
    say(pair, "IBM.N", 0);
    pair->down.is_full = true;
    pair->now_ns += 200 * PAIR_MS;
    srcdist_core_tick(pair->source, pair->now_ns, true);
    assert_int_equal(stats(pair)->pending_updates_now, 1);
    assert_int_equal(say(pair, "IBM.N", RWF_UPDATE_TRADE), MD_ERR_FULL);
    pair->down.is_full = false;
    pair_pass(pair, 40 * PAIR_MS);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_int_equal(say(pair, "IBM.N", RWF_UPDATE_TRADE), MD_OK);
    pair_settle(pair);
    assert_int_equal(pair_stream(a, 5)->counter, 102);
}

/* ---- filters ---- */

static void fields_are_left_out_of_images_and_updates(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    use(pair, "drop * IBM.* 6 22\n");
    pair_open(a, 5, "IBM.N");
    pair_open(a, 6, "MSFT.O");
    assert_int_equal(pair_stream(a, 5)->fields, 1);
    assert_int_equal(pair_stream(a, 6)->fields, 2);
    say(pair, "IBM.N", 0);
    say(pair, "MSFT.O", 0);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_int_equal(pair_stream(a, 5)->fields, 1);
    assert_int_equal(pair_stream(a, 5)->counter, 101);
    assert_int_equal(pair_stream(a, 6)->fields, 2);
    pair_open(b, 5, "IBM.N");
    assert_int_equal(pair_stream(b, 5)->fields, 1);
}

static void an_update_without_fields_is_not_sent_and_leaves_no_hole(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    const struct rrmp_sink_stats *sink = rrmp_sink_stats(p2ps_core_sink(pair->sink, 0));

    use(pair, "keep * * * 99\n");
    pair_open(a, 5, "IBM.N");
    say(pair, "IBM.N", 0);
    say(pair, "IBM.N", 0);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair_heard(a, 5), "I");
    assert_int_equal(stats(pair)->updates_filtered, 2);
    pair->provider.has_seqs = true; /* a sequence number is something */
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_int_equal(sink->item_seq_jumps + sink->svc_seq_jumps + sink->gap_queries, 0);
}

static void update_types_that_are_left_out_reach_neither_consumers_nor_images(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    use(pair, "types * * * TRADE\n");
    pair_open(a, 5, "IBM.N");
    say(pair, "IBM.N", RWF_UPDATE_TRADE);
    say(pair, "IBM.N", RWF_UPDATE_QUOTE);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_int_equal(pair_stream(a, 5)->counter, 101);
    pair_open(b, 5, "IBM.N");
    assert_int_equal(pair_stream(b, 5)->counter, 101);
    assert_int_equal(stats(pair)->updates_filtered, 1);
}

static void new_rules_give_open_items_a_new_image(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    pair_open(a, 5, "IBM.N");
    pair_open(a, 6, "MSFT.O");
    assert_int_equal(pair_stream(a, 5)->fields, 2);
    use(pair, "drop * IBM.N * 22\n");
    assert_string_equal(pair_heard(a, 5), "Ii");
    assert_int_equal(pair_stream(a, 5)->fields, 1);
    assert_string_equal(pair_heard(a, 6), "I");
    use(pair, "drop * IBM.N * 22\ninterval * * * 100\n"); /* the same fields */
    assert_string_equal(pair_heard(a, 5), "Ii");
    say(pair, "IBM.N", 0);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "Ii");
    assert_int_equal(srcdist_core_rates_set(pair->source, pair->now_ns, NULL), MD_OK);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IiUi");
    assert_int_equal(pair_stream(a, 5)->fields, 2);
    assert_int_equal(pair_stream(a, 5)->counter, 101);
    say(pair, "IBM.N", 0);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IiUiU");
    assert_int_equal(stats(pair)->pending_bytes_now, 0);
}

static void new_rules_of_an_item_without_an_image_are_asked_of_its_provider(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    pair_open(a, 5, "IBM.N");
    use(pair, "keep * * * 22\n");
    assert_int_equal(stats(pair)->reissues_out, 1);
    assert_string_equal(pair_heard(a, 5), "Ii");
    assert_int_equal(pair_stream(a, 5)->fields, 1);
}

static void a_snapshot_has_the_fields_that_are_kept(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    use(pair, "drop * * * 22\n");
    request.is_streaming = false;
    pair_ask_item(a, &request);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "I");
    assert_int_equal(pair_stream(a, 5)->fields, 1);
}

static void a_snapshot_under_way_is_closed_to_be_asked_for_again(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    use(pair, "drop * * * 22\n");
    pair->provider.answers = false;
    request.is_streaming = false;
    pair_ask_item(a, &request);
    use(pair, "drop * * * 22\n");
    use(pair, "keep * * * 32 22\n");
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "R");
    pair->provider.answers = true;
    request.stream_id = 6;
    pair_ask_item(a, &request);
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 6), "I");
    assert_int_equal(pair_stream(a, 6)->fields, 2);
}

/* 32 ripples to 22, and 32 is left out: its old values stand in 22 all the same. */
static int setup_ripples(void **state)
{
    static const char text[] = "COUNT \"\" 32 BEFORE INTEGER 15 UINT64 8\n"
                               "BEFORE \"\" 22 NULL INTEGER 15 UINT64 8\n";
    static struct rwf_dictionary *fields;
    struct rwf_dictionary_error error;
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    if (!fields) {
        assert_int_equal(rwf_dictionary_create(&fields), MD_OK);
        assert_int_equal(rwf_dictionary_load_fields(fields, "f", text, sizeof(text) - 1, &error),
                         MD_OK);
    }
    pair->fields = fields;
    pair->source_caches = true;
    pair_create(pair, (struct p2ps_core_config){ 0 });
    *state = pair;
    return 0;
}

static void say_counter_alone(struct pair *pair, const char *name)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct pair_item *it = pair_item(pair, name);
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = it->domain,
                           .stream_id = it->stream_id,
                           .container = RWF_TYPE_FIELD_LIST };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    pair_fields(&enc, ++it->counter, false);
    assert_int_equal(rwf_msg_finish(&enc), RWF_OK);
    assert_int_equal(srcdist_provider_message(pair->source, pair->now_ns, pair->provider.id,
                                              rwf_encoder_bytes(&enc)),
                     MD_OK);
}

/* Field 22 of the last message that the client got, 0: it has none. */
static uint64_t before_of(struct pair_client *c, int32_t id)
{
    const struct pair_stream *s = pair_stream(c, id);
    struct rwf_field_list list;
    struct rwf_field field;
    uint64_t value = 0;

    assert_true(rwf_field_list_decode(rwf_bytes(s->payload, s->payload_length), NULL, &list) >= 0);
    while (rwf_field_list_next(&list, &field) > 0) {
        if (field.id == 22)
            assert_int_equal(rwf_uint_decode(field.content, &value), RWF_OK);
    }
    return value;
}

static void a_field_that_takes_over_old_values_does_so_without_the_other(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    use(pair, "drop * IBM.N * 32\ninterval * MSFT.O * 100\ndrop * MSFT.O * 32\n");
    pair_open(a, 5, "IBM.N");
    pair_open(a, 6, "MSFT.O");
    say_counter_alone(pair, "IBM.N"); /* 101 in place of 100 */
    pair_settle(pair);
    assert_string_equal(pair_heard(a, 5), "IU");
    assert_int_equal(before_of(a, 5), 100);
    say_counter_alone(pair, "IBM.N");
    pair_settle(pair);
    assert_int_equal(before_of(a, 5), 101);
    for (int i = 0; i < 5; i++)
        say_counter_alone(pair, "MSFT.O");
    pair_pass(pair, 120 * PAIR_MS);
    assert_string_equal(pair_heard(a, 6), "IU");
    assert_int_equal(before_of(a, 6), 104);
    pair_open(b, 5, "IBM.N");
    assert_int_equal(before_of(b, 5), 101);
}

static void each_change_of_the_rules_gives_a_new_image(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);

    pair_open(a, 5, "IBM.N");
    use(pair, "drop * * * 22\n");
    use(pair, "drop * * * 32\n");
    use(pair, "interval * * * 100\n");
    pair_pass(pair, 40 * PAIR_MS);
    assert_string_equal(pair_heard(a, 5), "Iiii");
    assert_int_equal(pair_stream(a, 5)->fields, 2);
}

/* Any order of updates, trades, statuses, joins and time: at quiet all see the newest value. */
static void all_see_the_newest_value_whatever_happens(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);
    uint64_t random = 4711;

    use(pair, "interval * * * 60\ndrop * * * 22\n");
    pair_open(a, 5, "IBM.N");
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 12; i++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            unsigned what = (unsigned)(random >> 33) % 8;
            if (what < 5)
                assert_int_equal(say(pair, "IBM.N", what == 4 ? RWF_UPDATE_TRADE : 0), MD_OK);
            else if (what == 5)
                pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN,
                                RWF_DATA_OK, RWF_CODE_NONE);
            else if (what == 6)
                pair_say_image(&pair->provider, pair_item(pair, "IBM.N"), false);
            else
                pair_pass(pair, 20 * PAIR_MS);
            pair_settle(pair);
        }
        if (round % 5 == 2)
            pair_open(b, 6 + round, "IBM.N");
        pair_pass(pair, 100 * PAIR_MS);
        assert_int_equal(pair_stream(a, 5)->counter, pair_item(pair, "IBM.N")->counter);
        assert_int_equal(pair_stream(a, 5)->fields, 1);
        if (round % 5 == 2)
            assert_int_equal(pair_stream(b, 6 + round)->counter, pair_item(pair, "IBM.N")->counter);
    }
    assert_int_equal(rrmp_sink_stats(p2ps_core_sink(pair->sink, 0))->item_seq_jumps, 0);
}

int main(void)
{
#define TEST(name)        cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
#define TEST_CACHED(name) cmocka_unit_test_setup_teardown(name, setup_source_caches, pair_teardown)
    const struct CMUnitTest tests[] = {
        TEST(updates_of_an_interval_go_out_as_one_with_the_newest_values),
        TEST(an_item_that_ticks_all_the_time_sends_one_update_an_interval),
        TEST_CACHED(items_have_their_turns_at_different_times_of_the_interval),
        TEST(trades_pass_at_once_and_all_of_them_behind_what_is_pending),
        TEST(a_status_and_an_end_come_behind_what_is_pending),
        TEST_CACHED(who_joins_gets_the_image_of_now_and_the_others_what_was_pending),
        TEST(an_update_that_is_pending_waits_for_room_and_is_not_lost),
        TEST_CACHED(fields_are_left_out_of_images_and_updates),
        TEST(an_update_without_fields_is_not_sent_and_leaves_no_hole),
        TEST_CACHED(update_types_that_are_left_out_reach_neither_consumers_nor_images),
        TEST_CACHED(new_rules_give_open_items_a_new_image),
        TEST(new_rules_of_an_item_without_an_image_are_asked_of_its_provider),
        TEST(a_snapshot_has_the_fields_that_are_kept),
        TEST(a_snapshot_under_way_is_closed_to_be_asked_for_again),
        TEST_CACHED(each_change_of_the_rules_gives_a_new_image),
        cmocka_unit_test_setup_teardown(
            a_field_that_takes_over_old_values_does_so_without_the_other, setup_ripples,
            pair_teardown),
        TEST_CACHED(all_see_the_newest_value_whatever_happens),
        TEST(all_see_the_newest_value_whatever_happens),
    };
#undef TEST
#undef TEST_CACHED

    return cmocka_run_group_tests(tests, NULL, NULL);
}
