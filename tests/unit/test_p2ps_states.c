/* test_p2ps_states.c - the state of a group or a service, told to thousands of streams in turns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#define ITEMS     40
#define STREAMS   1200 /* of one client, on those items */
#define NAMES     5000

#define FORGET_NS (30 * PAIR_SEC)

static char names[ITEMS][8];

static int setup(void **state)
{
    return pair_setup(
        state, (struct p2ps_core_config){ .keeps_images = true, .service_forget_ns = FORGET_NS });
}

/* One client has all streams, and the other one stream on each item: it writes down what it gets.
 */
struct scene {
    struct pair *pair;
    struct crowd *crowd;
    struct pair_client *witness;
    uint32_t before; /* statuses of the crowd */
};

static void open_streams(struct scene *s, struct pair *pair)
{
    *s = (struct scene){ .pair = pair, .crowd = come(pair), .witness = pair_client(pair, 0) };
    for (int i = 0; i < STREAMS; i++) {
        snprintf(names[i % ITEMS], sizeof(names[0]), "I%d", i % ITEMS);
        ask(s->crowd, &(struct kept){ .stream_id = 5 + i, .name = names[i % ITEMS] });
        if (i % 100 == 0)
            pair_settle(pair);
    }
    pair_pass(pair, 100 * PAIR_MS);
    for (int i = 0; i < ITEMS; i++)
        pair_open(s->witness, 5 + i, names[i]);
    pair_pass(pair, 100 * PAIR_MS);
    for (int i = 0; i < ITEMS; i++)
        assert_string_equal(pair_heard(s->witness, 5 + i), "I");
    turn(pair);
    s->before = s->crowd->statuses;
}

static uint32_t told(const struct scene *s)
{
    return s->crowd->statuses - s->before;
}

/* Hands p2ps all that src_dist has sent, and begins no turn. */
static void arrive(struct pair *pair)
{
    srcdist_core_settle(pair->source, pair->now_ns);
    pair_move(pair, &pair->down, 1, false);
    assert_null(p2ps_core_check(pair->sink));
}

static void source_dies(struct pair *pair)
{
    const struct backbone_event notice = { .type = BACKBONE_USER_DOWN,
                                           .session = 1,
                                           .src_port = 1 };

    p2ps_core_backbone(pair->sink, 0, pair->now_ns, &notice, 1);
}

static void a_turn_tells_a_counted_number_of_streams_that_their_service_is_down(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    turn(pair);
    batch(c, 10, 0, NAMES);
    turns_until_done(pair);
    uint32_t before = c->statuses;
    source_dies(pair);
    assert_int_equal(c->statuses - before, P2PS_TURN_STATES);
    assert_int_equal(p2ps_core_deadline(pair->sink), 0);
    turn(pair); /* of which those were */
    assert_int_equal(c->statuses - before, P2PS_TURN_STATES);
    while (p2ps_core_has_work(pair->sink)) {
        uint32_t last = c->statuses;

        turn(pair);
        assert_in_range(c->statuses - last, 1, P2PS_TURN_STATES);
    }
    assert_int_equal(c->statuses - before, NAMES);
    assert_int_equal(streams(c), NAMES);
    free(c);
}

/* A service that is being deleted takes no new stream, and is gone when its last one has ended. */
static void a_turn_closes_a_counted_number_of_streams_of_a_service_that_is_deleted(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    turn(pair);
    batch(c, 10, 0, NAMES);
    turns_until_done(pair);
    source_dies(pair);
    turns_until_done(pair);
    turn(pair);
    uint32_t before = c->statuses;
    pair->now_ns += FORGET_NS + PAIR_SEC;
    p2ps_core_tick(pair->sink, pair->now_ns, 0);
    assert_int_equal(c->statuses - before, P2PS_TURN_STATES);
    turn(pair); /* of which those were */
    assert_int_equal(c->statuses - before, P2PS_TURN_STATES);
    ask(c, &(struct kept){ .stream_id = 9000, .name = "LATE" });
    assert_int_equal(c->code, RWF_CODE_SOURCE_UNKNOWN);
    assert_int_equal(c->stream_state, RWF_STREAM_CLOSED_RECOVER); /* it may move, or come back */
    assert_false(p2ps_client_has_stream(pair->sink, c->id, 9000));
    before = c->statuses;
    while (p2ps_core_has_work(pair->sink)) {
        uint32_t last = c->statuses;

        assert_false(p2ps_core_service_is_forgotten(pair->sink, 0, 0));
        turn(pair);
        assert_true(c->statuses - last <= P2PS_TURN_STATES);
    }
    assert_int_equal(c->statuses - before, NAMES - P2PS_TURN_STATES);
    assert_int_equal(streams(c), 0);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
    assert_true(p2ps_core_service_is_forgotten(pair->sink, 0, 0));
    free(c);
}

static void a_service_that_comes_back_while_it_is_deleted_stays(void **state)
{
    struct pair *pair = *state;
    struct crowd *c = come(pair);

    turn(pair);
    batch(c, 10, 0, NAMES);
    turns_until_done(pair);
    source_dies(pair);
    turns_until_done(pair);
    pair->now_ns += FORGET_NS + PAIR_SEC;
    p2ps_core_tick(pair->sink, pair->now_ns, 0);
    srcdist_core_tick(pair->source, pair->now_ns, true); /* it is heard again */
    arrive(pair);
    assert_true(p2ps_core_has_work(pair->sink));
    pair_pass(pair, 2 * PAIR_SEC);
    assert_int_equal(streams(c), 0);
    assert_false(p2ps_core_service_is_forgotten(pair->sink, 0, 0));
    ask(c, &(struct kept){ .stream_id = 9000, .name = "AGAIN" });
    assert_true(p2ps_client_has_stream(pair->sink, c->id, 9000));
    free(c);
}

static void no_update_overtakes_the_state_that_a_stream_is_owed(void **state)
{
    struct pair *pair = *state;
    struct scene s;

    open_streams(&s, pair);
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    arrive(pair);
    assert_in_range(told(&s), 1, P2PS_TURN_STATES + STREAMS / ITEMS);
    for (int i = 0; i < ITEMS; i++)
        pair_update(pair, names[i]);
    arrive(pair);
    for (int i = 0; i < ITEMS; i++)
        assert_string_equal(pair_heard(s.witness, 5 + i), "I!U");
    assert_int_equal(told(&s), STREAMS);
    assert_false(p2ps_core_has_work(pair->sink));
    free(s.crowd);
}

static void a_stream_that_comes_meanwhile_finds_the_state(void **state)
{
    struct pair *pair = *state;
    struct pair_client *late = pair_client(pair, 1);
    struct scene s;

    open_streams(&s, pair);
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    arrive(pair);
    for (int i = 0; i < ITEMS; i++)
        pair_open(late, 5 + i, names[i]);
    for (int i = 0; i < ITEMS; i++) {
        assert_string_equal(pair_heard(s.witness, 5 + i), "I!");
        assert_int_equal(pair_stream(late, 5 + i)->data_state, RWF_DATA_SUSPECT);
    }
    free(s.crowd);
}

/* Values may have been lost before the group was fine again: each stream hears that it was not. */
static void no_suspect_is_left_out_for_a_better_state(void **state)
{
    struct pair *pair = *state;
    struct scene s;

    open_streams(&s, pair);
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    arrive(pair);
    assert_true(told(&s) < STREAMS);
    pair_say_group(pair, 1, 0, RWF_DATA_OK);
    arrive(pair);
    turns_until_done(pair);
    for (int i = 0; i < ITEMS; i++)
        assert_string_equal(pair_heard(s.witness, 5 + i), "I!S");
    assert_int_equal(told(&s), 2 * STREAMS);
    free(s.crowd);
}

static void of_two_suspects_on_their_way_the_last_one_counts(void **state)
{
    struct pair *pair = *state;
    struct scene s;

    open_streams(&s, pair);
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    arrive(pair);
    uint32_t first = told(&s);
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    arrive(pair);
    turns_until_done(pair);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(pair_stream(s.witness, 5 + i)->data_state, RWF_DATA_SUSPECT);
    assert_true(told(&s) <= STREAMS + first);
    free(s.crowd);
}

/* Its client may know the end from the directory: it is not left out. */
static void a_state_that_ends_streams_is_not_left_out_for_the_next_one(void **state)
{
    struct pair *pair = *state;
    struct scene s;

    open_streams(&s, pair);
    pair_say_group_state(pair, 1, 0, RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT);
    arrive(pair);
    assert_true(streams(s.crowd) > 0);
    pair_say_group(pair, 1, 0, RWF_DATA_OK);
    arrive(pair);
    turns_until_done(pair);
    assert_int_equal(streams(s.crowd), 0);
    for (int i = 0; i < ITEMS; i++)
        assert_string_equal(pair_heard(s.witness, 5 + i), "IR");
    free(s.crowd);
}

/* A directory stream that opens meanwhile, without a refresh, has not said it. */
static void who_asks_for_the_directory_meanwhile_is_told_on_each_stream(void **state)
{
    struct pair *pair = *state;
    const struct omm_directory_request request = {
        .stream_id = 9001,
        .is_streaming = true,
        .no_refresh = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP,
    };
    struct scene s;

    open_streams(&s, pair);
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    arrive(pair);
    assert_true(told(&s) < STREAMS);
    p2ps_client_directory(pair->sink, pair->now_ns, s.crowd->id, &request);
    turns_until_done(pair);
    assert_int_equal(told(&s), STREAMS);
    free(s.crowd);
}

/* The directory has said that all is well before a stream hears that it was not: the stream hears
 * that it is well again, too. */
static void a_suspect_that_is_told_late_is_not_the_last_word(void **state)
{
    struct pair *pair = *state;
    const struct omm_directory_request request = {
        .stream_id = 9001,
        .is_streaming = true,
        .no_refresh = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_GROUP,
    };
    struct scene s;

    open_streams(&s, pair);
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    arrive(pair);
    uint32_t first = told(&s);
    assert_true(first < STREAMS);
    p2ps_client_directory(pair->sink, pair->now_ns, s.crowd->id, &request);
    pair_say_group(pair, 1, 0, RWF_DATA_OK);
    arrive(pair);
    turns_until_done(pair);
    assert_int_equal(s.crowd->groups, 1);
    assert_int_equal(told(&s), first + 2 * (STREAMS - first));
    free(s.crowd);
}

static void who_hangs_up_or_closes_meanwhile_is_told_nothing_more(void **state)
{
    struct pair *pair = *state;
    struct scene s;

    open_streams(&s, pair);
    pair_say_group(pair, 1, 0, RWF_DATA_SUSPECT);
    arrive(pair);
    p2ps_client_gone(pair->sink, pair->now_ns, s.crowd->id);
    uint32_t last = told(&s);
    for (int i = 0; i < ITEMS; i++)
        p2ps_client_close(pair->sink, pair->now_ns, s.witness->id, 5 + i);
    turns_until_done(pair);
    assert_int_equal(told(&s), last);
    assert_int_equal(p2ps_core_stats(pair->sink)->items_now, 0);
    assert_null(p2ps_core_check(pair->sink));
    free(s.crowd);
}

/* Thousands of groups in one message: each state is of one item, but all of the service are looked
 * at. The worker reads no further when the turn is spent. */
static void a_turn_takes_a_counted_number_of_states_of_groups(void **state)
{
    enum { MOST = P2PS_TURN_STATES / (NAMES / P2PS_STATE_ITEMS) + 1 };
    struct pair *pair = *state;
    struct pair_client *witness = pair_client(pair, 0);
    struct crowd *c = come(pair);
    unsigned count = 0;

    pair_open(witness, 5, "IBM.N");
    turn(pair);
    batch(c, 10, 0, NAMES);
    turns_until_done(pair);
    turn(pair);
    while (!p2ps_core_is_spent(pair->sink)) {
        pair_say_group(pair, 1, 0, count++ % 2 ? RWF_DATA_OK : RWF_DATA_SUSPECT);
        arrive(pair);
        assert_true(count <= MOST);
    }
    assert_in_range(count, MOST - 3, MOST);
    turn(pair);
    assert_false(p2ps_core_is_spent(pair->sink));
    free(c);
}

/* As many as are on their way at a time, and more: none is lost. */
static void many_states_at_once_all_arrive(void **state)
{
    struct pair *pair = *state;
    struct scene s;

    open_streams(&s, pair);
    for (int i = 0; i < 101; i++) {
        pair_say_group(pair, 1, 0, i % 2 ? RWF_DATA_OK : RWF_DATA_SUSPECT);
        arrive(pair);
    }
    turns_until_done(pair);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(pair_stream(s.witness, 5 + i)->data_state, RWF_DATA_SUSPECT);
    free(s.crowd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_turn_tells_a_counted_number_of_streams_that_their_service_is_down),
        TEST(a_turn_closes_a_counted_number_of_streams_of_a_service_that_is_deleted),
        TEST(a_service_that_comes_back_while_it_is_deleted_stays),
        TEST(no_update_overtakes_the_state_that_a_stream_is_owed),
        TEST(a_stream_that_comes_meanwhile_finds_the_state),
        TEST(no_suspect_is_left_out_for_a_better_state),
        TEST(of_two_suspects_on_their_way_the_last_one_counts),
        TEST(a_state_that_ends_streams_is_not_left_out_for_the_next_one),
        TEST(who_asks_for_the_directory_meanwhile_is_told_on_each_stream),
        TEST(a_suspect_that_is_told_late_is_not_the_last_word),
        TEST(who_hangs_up_or_closes_meanwhile_is_told_nothing_more),
        TEST(a_turn_takes_a_counted_number_of_states_of_groups),
        TEST(many_states_at_once_all_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
