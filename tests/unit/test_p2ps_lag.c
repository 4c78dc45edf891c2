/* test_p2ps_lag.c - a worker that is behind on its inbound ring: all updates are merged until it is
 * not. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#define RING 1048576u

static struct {
    unsigned behind, caught_up;
    char text[256];
} noted;

static void on_note(void *owner, const struct p2ps_note *note)
{
    (void)owner;
    if (note->kind != P2PS_NOTE_BEHIND && note->kind != P2PS_NOTE_CAUGHT_UP)
        return;
    noted.behind += note->kind == P2PS_NOTE_BEHIND;
    noted.caught_up += note->kind == P2PS_NOTE_CAUGHT_UP;
    snprintf(noted.text, sizeof(noted.text), "%s", note->text);
}

static int setup_with(void **state, unsigned pace_count)
{
    memset(&noted, 0, sizeof(noted));
    return pair_setup(state,
                      (struct p2ps_core_config){
                          .keeps_images = true,
                          .note = on_note,
                          .paces = { { .rate = RWF_RATE_TIME_CONFLATED, .interval_ms = 1000 } },
                          .pace_count = pace_count,
                      });
}

static int setup(void **state)
{
    return setup_with(state, 0);
}

static int setup_with_rates(void **state)
{
    return setup_with(state, 1);
}

static const struct p2ps_core_stats *stats(const struct pair *pair)
{
    return p2ps_core_stats(pair->sink);
}

static void waits(struct pair *pair, uint64_t bytes)
{
    p2ps_core_lag(pair->sink, pair->now_ns, bytes, RING);
}

static void updates(struct pair *pair, const char *name, int count)
{
    while (count-- > 0) {
        pair_update(pair, name);
        pair_settle(pair);
    }
}

static void assert_holds(const struct pair *pair)
{
    const char *wrong = p2ps_core_check(pair->sink);

    if (wrong)
        fail_msg("%s", wrong);
}

static void below_a_quarter_of_the_ring_nothing_is_merged(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    waits(pair, RING / 4);
    updates(pair, "IBM.N", 5);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    assert_int_equal(stats(pair)->updates_merged, 0);
    assert_int_equal(noted.behind, 0);
}

static void behind_it_all_are_merged_until_it_has_caught_up(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    pair_open(b, 5, "IBM.N");
    pair_open(b, 6, "DELL.O");
    waits(pair, RING / 4 + 1);
    updates(pair, "IBM.N", 10);
    updates(pair, "DELL.O", 1);
    assert_string_equal(pair_heard(a, 5), "I");
    assert_int_equal(stats(pair)->pending_updates_now, 2);
    assert_holds(pair);
    waits(pair, RING / 8);
    pair_pass(pair, 220 * PAIR_MS);
    assert_string_equal(pair_heard(a, 5), "IJU");
    assert_string_equal(pair_heard(b, 5), "IJU");
    assert_string_equal(pair_heard(b, 6), "IU");
    assert_int_equal(pair_stream(a, 5)->counter, 110);
    assert_int_equal(stats(pair)->updates_merged, 9);
    waits(pair, RING / 8);
    updates(pair, "IBM.N", 3);
    assert_string_equal(pair_heard(a, 5), "IJU");
    waits(pair, RING / 32);
    updates(pair, "IBM.N", 1); /* behind the pending one */
    assert_string_equal(pair_heard(b, 5), "IJUUUj");
    pair_pass(pair, 20 * PAIR_MS);
    assert_string_equal(pair_heard(a, 5), "IJUUUj");
    assert_int_equal(pair_stream(a, 5)->counter, 114);
    assert_string_equal(pair_heard(b, 6), "IU");
    updates(pair, "IBM.N", 2);
    assert_string_equal(pair_heard(a, 5), "IJUUUjUU");
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    assert_int_equal(stats(pair)->lags, 1);
    assert_holds(pair);
}

static void the_ring_is_read_before_merged_updates_go_out(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    pair_pass(pair, 220 * PAIR_MS);
    waits(pair, RING / 8 + 1);
    pair_pass(pair, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "I");
    waits(pair, RING / 8);
    pair_pass(pair, 20 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IJU");
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    pair_pass(pair, 220 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IJU");
    pair_pass(pair, 220 * PAIR_MS); /* but not for ever */
    assert_string_equal(pair_heard(c, 5), "IJUU");
    assert_int_equal(pair_stream(c, 5)->counter, 108);
    assert_holds(pair);
}

static void the_stream_and_the_log_say_why(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_wall_ns = (10ull * 3600 + 31 * 60 + 7) * PAIR_SEC;
    waits(pair, RING / 2);
    assert_string_equal(noted.text, "512 of 1,024 KiB of the inbound ring of p2ps wait for 0.0 s: "
                                    "conflating since 10:31:07");
    updates(pair, "IBM.N", 4);
    waits(pair, RING / 8);
    pair_pass(pair, 220 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IJU");
    assert_non_null(strstr(pair_stream(c, 5)->text, "512 of 1,024 KiB of the inbound ring"));
    assert_non_null(strstr(pair_stream(c, 5)->text, "conflating since 10:31:07"));
    waits(pair, 0);
    assert_int_equal(noted.caught_up, 1);
    assert_non_null(strstr(noted.text, "3 updates were merged in "));
}

static void who_joins_gets_the_image_of_now(void **state)
{
    struct pair *pair = *state;
    struct pair_client *a = pair_client(pair, 0);
    struct pair_client *b = pair_client(pair, 1);

    pair_open(a, 5, "IBM.N");
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    struct omm_item_request request = pair_request(9, "IBM.N");
    p2ps_client_item(pair->sink, pair->now_ns, b->id, &request);
    assert_string_equal(pair_heard(b, 9), "I");
    assert_int_equal(pair_stream(b, 9)->counter, 104);
    assert_holds(pair);
    waits(pair, RING / 8);
    pair_pass(pair, 220 * PAIR_MS);
    assert_string_equal(pair_heard(a, 5), "IJU");
    assert_string_equal(pair_heard(b, 9), "I"); /* its image has it */
    updates(pair, "IBM.N", 2);
    pair_pass(pair, 220 * PAIR_MS);
    assert_string_equal(pair_heard(b, 9), "IJU");
    assert_int_equal(pair_stream(b, 9)->counter, 106);
}

static void an_item_that_ends_takes_what_is_pending_with_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    p2ps_client_close(pair->sink, pair->now_ns, c->id, 5);
    pair_settle(pair);
    assert_holds(pair);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    pair_open(c, 6, "DELL.O");
    pair_pass(pair, 220 * PAIR_MS);
    assert_string_equal(pair_heard(c, 6), "I");
    waits(pair, 0);
    pair_pass(pair, 20 * PAIR_MS);
    assert_holds(pair);
}

/* No update of the item comes any more. */
static void when_it_is_over_nothing_of_a_quiet_item_stays(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    pair_pass(pair, 220 * PAIR_MS);
    assert_int_not_equal(stats(pair)->pending_bytes_now, 0);
    waits(pair, 0);
    pair_pass(pair, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IJUj");
    assert_int_equal(stats(pair)->pending_bytes_now, 0);
    assert_holds(pair);
}

static void a_status_comes_behind_what_is_pending(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN, RWF_DATA_SUSPECT,
                    RWF_CODE_NONE);
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IJU!");
    assert_holds(pair);
}

/* The item may become fine again without an image: then nothing else would tell of them. */
static void updates_merged_while_it_is_suspect_are_told(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN, RWF_DATA_SUSPECT,
                    RWF_CODE_NONE);
    pair_settle(pair);
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    waits(pair, RING / 8);
    pair_pass(pair, 220 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "I!JU");
    waits(pair, 0);
    pair_say_status(&pair->provider, pair_item(pair, "IBM.N"), RWF_STREAM_OPEN, RWF_DATA_OK,
                    RWF_CODE_FAILOVER_COMPLETED);
    pair_pass(pair, 220 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "I!JUSj");
    assert_int_equal(pair_stream(c, 5)->data_state, RWF_DATA_OK);
    assert_holds(pair);
}

/* It is not told to be over, and begun again, each time that the ring is empty for a moment. */
static void behind_again_at_once_it_merges_for_longer(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    waits(pair, RING / 8);
    pair_pass(pair, 220 * PAIR_MS);
    waits(pair, RING / 32);
    assert_int_equal(noted.caught_up, 1);
    waits(pair, RING / 8 + 1);
    assert_int_equal(noted.behind, 2);
    updates(pair, "IBM.N", 4);
    waits(pair, 0);
    assert_int_equal(noted.caught_up, 1);
    pair_pass(pair, 100 * PAIR_MS);
    waits(pair, 0);
    assert_int_equal(noted.caught_up, 1);
    waits(pair, RING / 16); /* not all of the time */
    waits(pair, 0);
    pair_pass(pair, 100 * PAIR_MS);
    waits(pair, 0);
    assert_int_equal(noted.caught_up, 1);
    pair_pass(pair, 40 * PAIR_MS);
    waits(pair, 0);
    assert_int_equal(noted.caught_up, 2);
    assert_string_equal(pair_heard(c, 5), "IJUU");
    pair_pass(pair, 100 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IJUU");
    pair_pass(pair, 60 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IJUUj");
    pair_pass(pair, 3 * PAIR_SEC);
    waits(pair, RING / 8 + 1); /* long ago */
    assert_int_equal(noted.behind, 2);
    assert_holds(pair);
}

/* However often: two seconds after the rate has returned all streams are in real time. */
static void it_is_over_two_seconds_after_its_cause(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    for (unsigned i = 0; i < 12; i++) {
        waits(pair, RING / 2);
        updates(pair, "IBM.N", 4);
        for (unsigned tries = 0; noted.caught_up <= i && tries < 20; tries++) {
            waits(pair, 0);
            pair_pass(pair, 50 * PAIR_MS);
        }
        assert_int_equal(noted.caught_up, i + 1);
    }
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    for (unsigned i = 0; i < 40; i++) {
        waits(pair, 0);
        pair_pass(pair, 50 * PAIR_MS);
    }
    assert_int_equal(pair_heard(c, 5)[pair_stream(c, 5)->count - 1], 'j');
    assert_int_equal(pair_stream(c, 5)->counter, 100 + 13 * 4);
    assert_holds(pair);
}

static void a_rate_that_was_chosen_stays(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.has_qos = true;
    request.qos = (struct rwf_qos){ .timeliness = RWF_TIMELINESS_REALTIME,
                                    .rate = RWF_RATE_TIME_CONFLATED,
                                    .rate_info = 1000 };
    pair_ask_item(c, &request);
    pair_open(c, 6, "IBM.N");
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 4);
    pair_pass(pair, 1020 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_string_equal(pair_heard(c, 6), "IJU");
    waits(pair, 0);
    updates(pair, "IBM.N", 2);
    pair_pass(pair, 1020 * PAIR_MS);
    assert_string_equal(pair_heard(c, 5), "IUU");
    assert_string_equal(pair_heard(c, 6), "IJUjUU");
    assert_holds(pair);
}

static void a_client_without_room_is_slow_besides(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);

    pair_open(c, 5, "IBM.N");
    c->room = 0;
    c->room_max = 100;
    waits(pair, RING / 2);
    for (int i = 0; i < 4; i++) {
        updates(pair, "IBM.N", 4);
        pair_pass(pair, 220 * PAIR_MS);
    }
    assert_int_equal(pair->sink->lag.told, 0); /* for want of room */
    assert_holds(pair);
    waits(pair, 0);
    pair_pass(pair, 220 * PAIR_MS);
    for (int i = 0; i < 3; i++) { /* what waits, and what is owed, by turns */
        c->room = 100;
        p2ps_client_writable(pair->sink, pair->now_ns, c->id);
    }
    assert_int_equal(pair_stream(c, 5)->counter, 116);
    assert_int_equal(pair_heard(c, 5)[pair_stream(c, 5)->count - 1], 'j');
    assert_holds(pair);
}

/* ---- the ring comes first ---- */

/* The most streams that a turn opens while so much of the ring waits; `all` are opened in the end.
 */
static uint32_t most_of_a_turn(struct pair *pair, uint64_t bytes, int32_t first_stream, int all)
{
    struct crowd *c = come(pair);
    uint32_t most = 0;

    turn(pair);
    waits(pair, bytes);
    batch(c, first_stream, 0, all);
    for (unsigned i = 0; p2ps_core_has_work(pair->sink); i++) {
        uint32_t before = streams(c);

        assert_true(i < 10000);
        waits(pair, bytes);
        turn(pair);
        if (i > 0 && streams(c) - before > most)
            most = streams(c) - before;
        assert_true(streams(c) > before || before == (uint32_t)all); /* not for ever */
    }
    assert_int_equal(streams(c), all);
    p2ps_client_gone(pair->sink, pair->now_ns, c->id);
    turns_until_done(pair);
    free(c);
    return most;
}

static void the_more_of_the_ring_waits_the_fewer_requests_a_turn_serves(void **state)
{
    struct pair *pair = *state;

    assert_int_equal(most_of_a_turn(pair, 0, 10, 500), P2PS_TURN_ASKS);
    assert_int_equal(most_of_a_turn(pair, RING / 8 - 1, 10, 500), P2PS_TURN_ASKS);
    assert_int_equal(most_of_a_turn(pair, RING / 8 + 8, 10, 500), P2PS_TURN_ASKS / 2);
    assert_int_equal(most_of_a_turn(pair, RING / 2 + 8, 10, 500), P2PS_TURN_ASKS / 16);
    assert_int_equal(most_of_a_turn(pair, RING, 10, 500), 1);
    assert_int_equal(most_of_a_turn(pair, 5 * RING, 10, 500), 1); /* it is lapped */
    assert_int_equal(most_of_a_turn(pair, 0, 10, 500), P2PS_TURN_ASKS);
    assert_holds(pair);
}

#define TOLD_CLIENTS 3
#define TOLD_ITEMS   50

static void come_and_open(struct pair *pair, struct crowd *c[TOLD_CLIENTS])
{
    for (int i = 0; i < TOLD_CLIENTS; i++)
        c[i] = come(pair);
    pair_settle(pair);
    for (int i = 0; i < TOLD_CLIENTS; i++) {
        batch(c[i], 10, 0, TOLD_ITEMS);
        pair_pass(pair, 100 * PAIR_MS);
        c[i]->statuses = 0;
    }
}

static uint32_t told_to(struct crowd *c[TOLD_CLIENTS])
{
    uint32_t told = 0;

    for (int i = 0; i < TOLD_CLIENTS; i++)
        told += c[i]->statuses;
    return told;
}

static void free_crowds(struct crowd *c[TOLD_CLIENTS])
{
    for (int i = 0; i < TOLD_CLIENTS; i++)
        free(c[i]);
}

/* That many updates of each item, and nothing else happens. */
static void updates_of_all(struct pair *pair, int count)
{
    char name[16];

    for (int i = 0; i < count * TOLD_ITEMS; i++) {
        snprintf(name, sizeof(name), "N%d", i % TOLD_ITEMS);
        updates(pair, name, 1);
    }
}

/* All streams of many items become conflated: they are told in some turns, not in one. */
static void a_turn_tells_a_counted_number_of_streams(void **state)
{
    struct pair *pair = *state;
    struct crowd *c[TOLD_CLIENTS];
    uint32_t most = 0, told = 0;

    come_and_open(pair, c);
    waits(pair, RING / 2);
    updates_of_all(pair, 2);
    assert_int_equal(stats(pair)->updates_merged, TOLD_ITEMS);
    waits(pair, RING / 16);
    pair->now_ns += 220 * PAIR_MS;
    for (int turns = 0; turns < 10; turns++) {
        uint32_t before = told;

        turn(pair);
        told = told_to(c);
        most = told - before > most ? told - before : most;
    }
    assert_int_equal(told, TOLD_CLIENTS * TOLD_ITEMS);
    assert_in_range(most, 100, 128 + TOLD_CLIENTS - 1);
    assert_holds(pair);
    free_crowds(c);
}

/* Those that are told have a share of the turn of their own. */
static void who_has_chosen_a_rate_does_not_wait_for_those_that_are_told(void **state)
{
    struct pair *pair = *state;
    struct pair_client *paced = pair_client(pair, 0);
    struct crowd *c[TOLD_CLIENTS];
    struct omm_item_request request = pair_request(5, "IBM.N");

    request.has_qos = true;
    request.qos = (struct rwf_qos){ .timeliness = RWF_TIMELINESS_REALTIME,
                                    .rate = RWF_RATE_TIME_CONFLATED,
                                    .rate_info = 1000 };
    pair_ask_item(paced, &request);
    come_and_open(pair, c);
    updates(pair, "IBM.N", 3);
    waits(pair, RING / 2);
    updates_of_all(pair, 2);
    waits(pair, RING / 16);
    pair->now_ns += PAIR_SEC; /* all of them are due */
    turn(pair);
    assert_string_equal(pair_heard(paced, 5), "IU");
    assert_in_range(told_to(c), 100, 128 + TOLD_CLIENTS - 1);
    turn(pair);
    assert_int_equal(told_to(c), TOLD_CLIENTS * TOLD_ITEMS);
    free_crowds(c);
}

/* When it ends many wait to be told. Their updates are merged until they are. */
static void those_not_told_when_it_ends_are_told_in_turns_too(void **state)
{
    struct pair *pair = *state;
    struct crowd *c[TOLD_CLIENTS];
    uint32_t told, puts;

    come_and_open(pair, c);
    waits(pair, RING / 2);
    updates_of_all(pair, 2);
    waits(pair, 0);
    assert_int_equal(noted.caught_up, 1);
    puts = c[0]->puts;
    updates_of_all(pair, 1);
    assert_int_equal(told_to(c), 0);
    assert_int_equal(c[0]->puts, puts);
    pair->now_ns += 220 * PAIR_MS;
    turn(pair);
    told = told_to(c);
    assert_in_range(told, 100, 128 + TOLD_CLIENTS - 1);
    assert_int_equal(p2ps_core_deadline(pair->sink), 0);
    turn(pair);
    assert_int_equal(c[0]->puts, puts + TOLD_ITEMS);
    pair_pass(pair, 20 * PAIR_MS);
    assert_int_equal(told_to(c), 2 * TOLD_CLIENTS * TOLD_ITEMS); /* and that it is over */
    updates_of_all(pair, 1);
    assert_int_equal(c[0]->puts, puts + 2 * TOLD_ITEMS);
    assert_int_equal(stats(pair)->pending_updates_now, 0);
    assert_holds(pair);
    free_crowds(c);
}

/* Output waits for the rest of the merged updates, but not while none are made. */
static void while_none_are_made_a_full_buffer_does_not_wait_for_more(void **state)
{
    struct pair *pair = *state;
    struct kept what = { .stream_id = 5, .name = "N0" };
    struct crowd *c[TOLD_CLIENTS];

    come_and_open(pair, c);
    p2ps_core_pace_waits(pair->sink, true);
    waits(pair, RING / 2);
    updates_of_all(pair, 2);
    p2ps_core_pace(pair->sink, pair->now_ns);
    waits(pair, RING / 8 + 1);
    p2ps_core_settle(pair->sink, pair->now_ns);
    assert_true(p2ps_core_is_pacing(pair->sink));
    p2ps_core_flush(pair->sink);
    c[0]->flushes = 0;
    c[0]->is_full = true;
    ask(c[0], &what);
    p2ps_core_flush_full(pair->sink);
    assert_int_equal(c[0]->flushes, 1);
    waits(pair, RING / 16); /* now they go out */
    assert_true(p2ps_core_is_pacing(pair->sink));
    what.stream_id = 6;
    ask(c[0], &what);
    p2ps_core_flush_full(pair->sink);
    assert_int_equal(c[0]->flushes, 1);
    p2ps_core_pace_waits(pair->sink, false);
    free_crowds(c);
}

/* A stream without an image is not told, and costs nothing. */
static void streams_that_are_not_told_take_no_time_of_a_turn(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client(pair, 0);
    uint64_t before;

    for (int32_t i = 0; i < PAIR_STREAMS / 2; i++) {
        struct omm_item_request request = pair_request(10 + i, i % 2 ? "IBM.N" : "DELL.O");

        request.no_refresh = true;
        pair_ask_item(c, &request);
    }
    waits(pair, RING / 2);
    updates(pair, "IBM.N", 2);
    updates(pair, "DELL.O", 2);
    waits(pair, RING / 16);
    pair->now_ns += 220 * PAIR_MS;
    before = stats(pair)->updates_out;
    turn(pair);
    assert_int_equal(stats(pair)->updates_out, before + PAIR_STREAMS / 2);
    assert_int_equal(pair->sink->lag.told, 2); /* the first of each item got its image */
    assert_holds(pair);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(below_a_quarter_of_the_ring_nothing_is_merged),
        TEST(behind_it_all_are_merged_until_it_has_caught_up),
        TEST(the_ring_is_read_before_merged_updates_go_out),
        TEST(the_stream_and_the_log_say_why),
        TEST(who_joins_gets_the_image_of_now),
        TEST(an_item_that_ends_takes_what_is_pending_with_it),
        TEST(when_it_is_over_nothing_of_a_quiet_item_stays),
        TEST(a_status_comes_behind_what_is_pending),
        TEST(updates_merged_while_it_is_suspect_are_told),
        cmocka_unit_test_setup_teardown(a_rate_that_was_chosen_stays, setup_with_rates,
                                        pair_teardown),
        TEST(a_client_without_room_is_slow_besides),
        TEST(behind_again_at_once_it_merges_for_longer),
        TEST(it_is_over_two_seconds_after_its_cause),
        TEST(the_more_of_the_ring_waits_the_fewer_requests_a_turn_serves),
        TEST(a_turn_tells_a_counted_number_of_streams),
        cmocka_unit_test_setup_teardown(who_has_chosen_a_rate_does_not_wait_for_those_that_are_told,
                                        setup_with_rates, pair_teardown),
        TEST(those_not_told_when_it_ends_are_told_in_turns_too),
        TEST(streams_that_are_not_told_take_no_time_of_a_turn),
        TEST(while_none_are_made_a_full_buffer_does_not_wait_for_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
