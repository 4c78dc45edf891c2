/* test_srcdist_strangers.c - providers that nobody invited: what they cannot take or break. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

/* ---- services ---- */

static void a_service_ends_with_its_publisher_and_is_forgotten_later(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = publisher(bed, 0, "SENT");

    assert_true(is_up(bed, "SENT"));
    go(s);
    assert_false(is_up(bed, "SENT"));
    pair_pass(&bed->pair, PATIENCE - PAIR_SEC);
    assert_true(knows(bed, "SENT"));
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    assert_false(knows(bed, "SENT"));
    assert_int_equal(stats(bed)->services_forgotten, 1);
    publisher(bed, 1, "SENT");
    assert_true(is_up(bed, "SENT"));
}

static void the_place_of_a_forgotten_service_is_another_ones(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);

    go(publisher(bed, 0, "SENT"));
    pair_pass(&bed->pair, PATIENCE + 62 * PAIR_SEC);
    publish(publisher(bed, 1, "OTHER"), "X");
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    open_item(c, 5, "OTHER", "X");
    assert_string_equal(pair_heard(c, 5), "I");
}

static void a_service_with_a_provider_is_never_forgotten(void **state)
{
    struct bed *bed = *state;

    publisher(bed, 0, "SENT");
    bed->pair.provider.service_up = false;
    pair_say_directory(&bed->pair.provider, true);
    pair_pass(&bed->pair, 100 * PAIR_MS);
    pair_provider_goes(&bed->pair);
    pair_pass(&bed->pair, 2 * PATIENCE);
    assert_true(is_up(bed, "SENT"));
    assert_true(knows(bed, "RDFD")); /* of a route, which is configured */
}

static void items_that_nobody_has_end_with_their_publisher(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = publisher(bed, 0, "SENT");
    char name[16];

    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "I%u", i);
        publish(s, name);
    }
    assert_int_equal(stats(bed)->items_now, 100);
    go(s);
    assert_int_equal(stats(bed)->items_now, 0);
}

static void three_hundred_invented_services_leave_room(void **state)
{
    struct bed *bed = *state;

    for (unsigned n = 0; n < 5; n++) {
        struct stranger *s = come(bed, n);

        log_in(s, "mallory", "");
        say_services(s, "JUNK", 100 + 60 * n, 60, "");
        pair_pass(&bed->pair, 100 * PAIR_MS);
    }
    assert_int_equal(stats(bed)->services_now, 1 + 192);
    assert_true(stats(bed)->services_refused >= 300 - 192);
    assert_int_equal(arrive(bed, 9, SRCDIST_INTERACTIVE, 2), MD_OK);
    pair_settle(&bed->pair);
    assert_true(is_up(bed, "RDFD"));
    go(&bed->strangers[0]);
    publisher(bed, 0, "SENT"); /* the oldest that is down makes room */
    assert_true(is_up(bed, "SENT"));
    assert_false(knows(bed, "JUNK100"));
    for (unsigned n = 1; n < 5; n++)
        go(&bed->strangers[n]);
    pair_pass(&bed->pair, PATIENCE + PAIR_SEC);
    assert_int_equal(stats(bed)->services_now, 2);
}

/* Names that come and go, `count` of them, faster than their places on the backbone are free. */
static void invent(struct bed *bed, unsigned count)
{
    for (unsigned first = 1000; first < 1000 + count; first += 50) {
        struct stranger *s = come(bed, 0);

        log_in(s, "mallory", "");
        say_services(s, "JUNK", first, 50, "");
        pair_pass(&bed->pair, 20 * PAIR_MS);
        go(s);
    }
}

static void thousands_of_names_that_come_and_go_keep_no_service_from_consumers(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);

    invent(bed, 3000);
    publish(publisher(bed, 1, "SENT"), "X");
    pair_pass(&bed->pair, 2 * PAIR_SEC);
    open_item(c, 5, "SENT", "X");
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(stats(bed)->services_refused, 0);
    assert_true(stats(bed)->services_now <= 1 + 192);
}

/* p2ps has no serviceForget here: only the room makes it forget a service. */
static void a_service_that_made_room_at_p2ps_comes_back(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);
    struct stranger *s = publisher(bed, 1, "SENT");

    publish(s, "X");
    open_item(c, 5, "SENT", "X");
    go(s);
    pair_pass(&bed->pair, PATIENCE + PAIR_SEC);
    invent(bed, 700);
    pair_pass(&bed->pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I!!");
    invent(bed, 900);
    pair_pass(&bed->pair, PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "I!!R");
    assert_int_equal(pair_stream(c, 5)->code, RWF_CODE_SOURCE_UNKNOWN);
    assert_int_equal(p2ps_core_stats(bed->pair.sink)->items_now, 0);
    assert_true(rrmp_sink_services_now(p2ps_core_sink(bed->pair.sink, 0)) <= 768);
    pair_pass(&bed->pair, 61 * PAIR_SEC);
    publish(publisher(bed, 1, "SENT"), "X");
    open_item(c, 6, "SENT", "X");
    assert_string_equal(pair_heard(c, 6), "I");
}

/* Where they take all indexes that they may have, a service that the configuration knows has one.
 */
static void names_without_end_leave_indexes_to_what_is_configured(void **state)
{
    struct bed *bed = *state;
    const struct rrmp_source *source = srcdist_core_source(bed->pair.source);

    invent(bed, 4000);
    assert_int_equal(rrmp_source_services_free(source, bed->pair.now_ns), 256);
    assert_int_equal(stats(bed)->services_refused, 0);
    pair_pass(&bed->pair, 61 * PAIR_SEC);
    assert_true(rrmp_source_services_free(source, bed->pair.now_ns) > 3000);
}

static void one_publisher_offers_so_many_services_and_no_more(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = come(bed, 0);

    log_in(s, "mallory", "");
    say_services(s, "JUNK", 100, 250, "");
    assert_int_equal(stats(bed)->services_now, 1 + 64);
    assert_int_equal(stats(bed)->services_refused, 250 - 64);
}

/* ---- kinds, descriptions ---- */

static void a_stranger_cannot_take_over_a_service_of_a_route(void **state)
{
    struct bed *bed = *state;
    struct srcdist_service_info info;
    struct pair_client *c = pair_client(&bed->pair, 0);
    struct stranger *s = come(bed, 0);

    log_in(s, "mallory", "");
    say_services(s, "RDFD", 3, 1, "evil");
    publish(s, "TRI.N");
    assert_int_equal(s->state.code, RWF_CODE_SOURCE_UNKNOWN);
    assert_true(is_known(bed, "RDFD", &info));
    assert_false(info.is_broadcast);
    open_item(c, 5, "RDFD", "TRI.N");
    assert_string_equal(pair_heard(c, 5), "I");
    go(s);
    open_item(c, 6, "RDFD", "IBM.N");
    assert_string_equal(pair_heard(c, 6), "I");
    /* Nor while the route is down. */
    pair_provider_goes(&bed->pair);
    s = come(bed, 0);
    log_in(s, "mallory", "");
    say_services(s, "RDFD", 3, 1, "evil");
    assert_int_equal(stats(bed)->services_refused, 2);
    assert_false(is_up(bed, "RDFD"));
}

static void a_route_takes_its_service_back(void **state)
{
    struct bed *bed = *state;
    struct srcdist_service_info info;
    struct pair_client *c = pair_client(&bed->pair, 0);

    pair_provider_goes(&bed->pair);
    bed->pair.service = "LATE";
    struct stranger *s = publisher(bed, 0, "LATE");
    publish(s, "X");
    pair_provider_comes(&bed->pair);
    pair_pass(&bed->pair, PAIR_SEC);
    assert_true(is_known(bed, "LATE", &info));
    assert_true(info.is_up && !info.is_broadcast);
    assert_int_equal(stats(bed)->services_refused, 1);
    open_item(c, 5, "LATE", "X");
    assert_string_equal(pair_heard(c, 5), "I");
    assert_int_equal(pair_stream(c, 5)->counter, 100); /* the model provider's */
}

static void a_publisher_with_rights_is_not_pushed_out_by_a_route(void **state)
{
    struct bed *bed = *state;
    struct srcdist_service_info info;

    set_rules(bed, "user feed\nallow feed LATE * do=publish\n");
    pair_provider_goes(&bed->pair);
    bed->pair.service = "LATE";
    publisher(bed, 0, "LATE");
    pair_provider_comes(&bed->pair);
    pair_pass(&bed->pair, PAIR_SEC);
    assert_true(is_known(bed, "LATE", &info));
    assert_true(info.is_up && info.is_broadcast);
    assert_int_equal(stats(bed)->services_refused, 1);
}

static void who_described_a_service_first_decides_while_it_offers_it(void **state)
{
    struct bed *bed = *state;
    struct stranger *first = publisher(bed, 0, "SENT");
    struct stranger *second = come(bed, 1);

    log_in(second, "mallory", "");
    say_services(second, "SENT", 3, 1, "evil");
    assert_int_equal(stats(bed)->descriptions_refused, 1);
    say_services(second, "SENT", 3, 1, ""); /* the same: nothing to refuse */
    assert_int_equal(stats(bed)->descriptions_refused, 1);
    go(first);
    say_services(second, "SENT", 3, 1, "evil");
    assert_int_equal(stats(bed)->descriptions_refused, 1);
}

static void the_description_of_the_next_provider_follows_when_its_describer_is_gone(void **state)
{
    struct bed *bed = *state;
    struct stranger *first = publisher(bed, 0, "SENT");
    struct stranger *second = come(bed, 1);
    struct stranger *third = come(bed, 2);

    log_in(second, "feed", "");
    say_services(second, "SENT", 3, 1, "second");
    log_in(third, "feed", "");
    say_services(third, "SENT", 3, 1, "third");
    assert_int_equal(stats(bed)->descriptions_refused, 2);
    go(first);
    say_services(third, "SENT", 3, 1, "second"); /* this one is in force */
    assert_int_equal(stats(bed)->descriptions_refused, 2);
    say_services(third, "SENT", 3, 1, "third");
    assert_int_equal(stats(bed)->descriptions_refused, 3);
    go(second);
    say_services(second = publisher(bed, 1, "OTHER"), "SENT", 3, 1, "third");
    assert_int_equal(stats(bed)->descriptions_refused, 3);
    assert_true(is_up(bed, "SENT"));
}

static int say_group(struct stranger *s, unsigned number, uint8_t data_state)
{
    uint8_t bytes[256];
    uint8_t id[2] = { (uint8_t)(number >> 8), (uint8_t)number };
    struct rwf_encoder enc;
    struct omm_directory_head head = { .stream_id = 0, .is_update = true };
    struct omm_group change = { .group = rwf_bytes(id, 2),
                                .has_status = true,
                                .status = { .stream_state = RWF_STREAM_OPEN,
                                            .data_state = data_state } };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_group(&enc, 3, &change);
    omm_directory_encode_finish(&enc);
    return offer_message(s, &enc);
}

static void changes_without_end_wait_for_their_time(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = publisher(bed, 0, "SENT");
    unsigned taken = 0;

    publish(s, "A");
    pair_pass(&bed->pair, 5 * PAIR_SEC);
    while (taken < 10000 && say_group(s, taken % 300, RWF_DATA_SUSPECT) == MD_OK)
        taken++;
    assert_in_range(taken, 300, 5000);
    assert_int_equal(say_group(s, 0, RWF_DATA_OK), MD_ERR_FULL);
    assert_int_equal(publish(s, "B"), MD_ERR_FULL);
    assert_int_equal(stats(bed)->messages_held, 1);
    pair_pass(&bed->pair, 100 * PAIR_MS);
    assert_int_equal(say_group(s, 0, RWF_DATA_OK), MD_OK);
    assert_int_equal(publish(s, "B"), MD_OK);
    assert_false(s->is_closed);
}

static void a_flood_of_groups_ends_its_publisher(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = publisher(bed, 0, "SENT");

    for (unsigned i = 0; i < 300; i++) /* one by one they may come */
        say_group(s, i, RWF_DATA_SUSPECT);
    pair_pass(&bed->pair, 200 * PAIR_MS);
    assert_false(s->is_closed);
    say_services(s, "JUNK", 100, 280, "");
    pair_pass(&bed->pair, 200 * PAIR_MS);
    assert_true(s->is_closed);
    assert_false(is_up(bed, "SENT"));
}

/* ---- connections ---- */

static void who_does_not_log_in_makes_room_and_is_cut_in_time(void **state)
{
    struct bed *bed = *state;

    for (unsigned n = 0; n < 64; n++) {
        come(bed, n);
        pair_pass(&bed->pair, 20 * PAIR_MS);
    }
    come(bed, 64);
    assert_true(bed->strangers[0].is_closed);
    assert_false(bed->strangers[1].is_closed);
    assert_int_equal(stats(bed)->places_given, 1);
    log_in(&bed->strangers[64], "feed", "");
    pair_pass(&bed->pair, 11 * PAIR_SEC);
    assert_true(bed->strangers[1].is_closed && bed->strangers[63].is_closed);
    assert_false(bed->strangers[64].is_closed);
}

static void who_is_logged_in_makes_room_for_nobody(void **state)
{
    struct bed *bed = *state;

    for (unsigned n = 0; n < 64; n++)
        log_in(come(bed, n), "feed", "");
    assert_int_equal(arrive(bed, 64, SRCDIST_NON_INTERACTIVE, 0), MD_ERR_FULL);
    assert_int_equal(arrive(bed, 65, SRCDIST_INTERACTIVE, 2), MD_OK); /* a route finds a place */
    for (unsigned n = 0; n < 64; n++)
        assert_false(bed->strangers[n].is_closed);
}

static void another_name_on_a_connection_that_is_logged_in_ends_it(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = publisher(bed, 0, "SENT");

    log_in(s, "feed", "");
    pair_pass(&bed->pair, 200 * PAIR_MS);
    assert_false(s->is_closed);
    log_in(s, "root", "");
    pair_pass(&bed->pair, 200 * PAIR_MS);
    assert_true(s->is_closed);
}

/* ---- the access file ---- */

static const char rules[] = "user feed password=secret mounts=2 items=3 messages=10/20\n"
                            "user open\n"
                            "allow feed SENT * do=publish\n"
                            "allow * OPEN* * do=publish\n";

static void without_rules_that_can_be_used_nobody_publishes(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = come(bed, 0);

    log_in(s, "feed", "secret");
    assert_int_equal(s->state.code, RWF_CODE_NOT_ENTITLED);
    assert_int_equal(s->state.stream_state, RWF_STREAM_CLOSED);
    set_rules(bed, "");
    s = come(bed, 1);
    log_in(s, "feed", "secret");
    assert_int_equal(s->state.code, RWF_CODE_NOT_ENTITLED);
    assert_int_equal(stats(bed)->logins_refused, 2);
}

static void a_refused_login_is_heard_no_more_and_cut(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = come(bed, 0);

    set_rules(bed, rules);
    log_in(s, "feed", "guess");
    assert_int_equal(s->state.code, RWF_CODE_NOT_ENTITLED);
    s->state.code = 0;
    log_in(s, "feed", "secret");
    say_services(s, "SENT", 3, 1, "");
    assert_int_equal(s->state.code, 0);
    assert_false(knows(bed, "SENT"));
    pair_pass(&bed->pair, 4 * PAIR_SEC);
    assert_true(s->is_closed);
}

static void a_user_publishes_what_its_lines_say(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = come(bed, 0);

    set_rules(bed, rules);
    log_in(s, "feed", "secret");
    assert_int_equal(s->msg_class, RWF_CLASS_REFRESH);
    say_services(s, "OTHER", 4, 1, "");
    say_services(s, "SENT", 3, 1, "");
    assert_true(is_up(bed, "SENT"));
    assert_false(knows(bed, "OTHER"));
    assert_int_equal(stats(bed)->services_refused, 1);
}

static void a_user_has_so_many_sessions_and_items(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = come(bed, 0);

    set_rules(bed, rules);
    log_in(s, "feed", "secret");
    log_in(come(bed, 1), "feed", "secret");
    log_in(come(bed, 2), "feed", "secret");
    assert_int_equal(bed->strangers[1].msg_class, RWF_CLASS_REFRESH);
    assert_int_equal(bed->strangers[2].msg_class, RWF_CLASS_STATUS);
    say_services(s, "SENT", 3, 1, "");
    publish(s, "A");
    publish(s, "B");
    publish(s, "C");
    assert_int_equal(stats(bed)->items_refused, 0);
    publish(s, "D");
    assert_int_equal(stats(bed)->items_refused, 1);
    assert_int_equal(s->state.code, RWF_CODE_TOO_MANY_ITEMS);
    publish(s, "A"); /* its own */
    assert_int_equal(stats(bed)->items_refused, 1);
}

static void a_user_that_sends_too_fast_is_held_back(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = come(bed, 0);
    unsigned taken = 0;

    set_rules(bed, rules);
    log_in(s, "feed", "secret");
    say_services(s, "SENT", 3, 1, "");
    pair_pass(&bed->pair, 5 * PAIR_SEC);
    while (taken < 100 && publish(s, "A") == MD_OK)
        taken++;
    assert_int_equal(taken, 20);
    assert_int_equal(publish(s, "A"), MD_ERR_FULL);
    assert_int_equal(stats(bed)->messages_held, 1);
    pair_pass(&bed->pair, PAIR_SEC);
    for (taken = 0; taken < 100 && publish(s, "A") == MD_OK;)
        taken++;
    assert_int_equal(taken, 10);
}

static void new_rules_hold_for_who_is_connected(void **state)
{
    struct bed *bed = *state;
    struct stranger *feed = come(bed, 0);
    struct stranger *open = come(bed, 1);

    set_rules(bed, rules);
    log_in(feed, "feed", "secret");
    log_in(open, "open", "");
    say_services(feed, "SENT", 3, 1, "");
    say_services(open, "OPEN", 4, 1, "");
    assert_true(is_up(bed, "SENT") && is_up(bed, "OPEN"));
    set_rules(bed, "user feed password=secret\nuser open\nallow feed SENT * do=publish\n");
    assert_true(is_up(bed, "SENT"));
    assert_false(is_up(bed, "OPEN"));
    assert_false(open->is_closed);
    set_rules(bed, "user feed password=changed\nallow feed SENT * do=publish\n");
    assert_false(is_up(bed, "SENT"));
    pair_pass(&bed->pair, 4 * PAIR_SEC); /* to read why */
    assert_true(feed->is_closed && open->is_closed);
}

int main(void)
{
#define TEST(name)        cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_ACCESS(name) cmocka_unit_test_setup_teardown(name, setup_access, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_service_ends_with_its_publisher_and_is_forgotten_later),
        TEST(the_place_of_a_forgotten_service_is_another_ones),
        TEST(a_service_with_a_provider_is_never_forgotten),
        TEST(items_that_nobody_has_end_with_their_publisher),
        TEST(three_hundred_invented_services_leave_room),
        TEST(thousands_of_names_that_come_and_go_keep_no_service_from_consumers),
        TEST(a_service_that_made_room_at_p2ps_comes_back),
        TEST(names_without_end_leave_indexes_to_what_is_configured),
        TEST(one_publisher_offers_so_many_services_and_no_more),
        TEST(a_stranger_cannot_take_over_a_service_of_a_route),
        TEST(a_route_takes_its_service_back),
        TEST_ACCESS(a_publisher_with_rights_is_not_pushed_out_by_a_route),
        TEST(who_described_a_service_first_decides_while_it_offers_it),
        TEST(the_description_of_the_next_provider_follows_when_its_describer_is_gone),
        TEST(changes_without_end_wait_for_their_time),
        TEST(a_flood_of_groups_ends_its_publisher),
        TEST(who_does_not_log_in_makes_room_and_is_cut_in_time),
        TEST(who_is_logged_in_makes_room_for_nobody),
        TEST(another_name_on_a_connection_that_is_logged_in_ends_it),
        TEST_ACCESS(without_rules_that_can_be_used_nobody_publishes),
        TEST_ACCESS(a_refused_login_is_heard_no_more_and_cut),
        TEST_ACCESS(a_user_publishes_what_its_lines_say),
        TEST_ACCESS(a_user_has_so_many_sessions_and_items),
        TEST_ACCESS(a_user_that_sends_too_fast_is_held_back),
        TEST_ACCESS(new_rules_hold_for_who_is_connected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
