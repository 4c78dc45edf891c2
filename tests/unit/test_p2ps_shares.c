/* test_p2ps_shares.c - who asks for much is served by long shares, and newcomers do not wait. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#define GREEDY    20
#define NAMES     1000
#define NEWCOMERS 30
#define RING      (1024 * 1024)

static int setup(void **state)
{
    return pair_setup(
        state, (struct p2ps_core_config){ .keeps_images = true, .client_limit = 2 * NEWCOMERS });
}

/* Clients with batches that are under way by long shares. */
static void begin(struct pair *pair, struct crowd *greedy[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        greedy[i] = come(pair);
    turn(pair);
    for (unsigned i = 0; i < count; i++)
        batch(greedy[i], 10, 0, NAMES);
    for (unsigned i = 0; i < count; i++)
        turn(pair);
}

static void end(struct crowd *many[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(many[i]);
}

static void who_asks_for_much_is_served_by_long_shares(void **state)
{
    struct pair *pair = *state;
    struct crowd *greedy[GREEDY];
    struct crowd *last = NULL;
    unsigned changes = 0, turns = 4 * GREEDY;

    begin(pair, greedy, GREEDY);
    for (unsigned i = 0; i < turns; i++) {
        uint32_t before[GREEDY];

        for (unsigned k = 0; k < GREEDY; k++)
            before[k] = streams(greedy[k]);
        turn(pair);
        for (unsigned k = 0; k < GREEDY; k++) {
            if (streams(greedy[k]) == before[k])
                continue;
            changes += greedy[k] != last;
            last = greedy[k];
        }
    }
    assert_in_range(changes, turns * P2PS_TURN_ASKS / P2PS_LONG_ASKS,
                    turns * P2PS_TURN_ASKS / P2PS_LONG_ASKS + 1);
    turns_until_done(pair);
    assert_int_equal(watches(pair), GREEDY * NAMES);
    end(greedy, GREEDY);
}

static void a_single_request_waits_for_no_long_share(void **state)
{
    struct pair *pair = *state;
    struct crowd *greedy[GREEDY];
    struct crowd *modest = come(pair);

    begin(pair, greedy, GREEDY);
    for (int i = 0; i < 5; i++) {
        say(modest, (struct kept){ .stream_id = 5 + i, .name = "MODEST" });
        assert_int_equal(streams(modest), i);
        turn(pair);
        assert_int_equal(streams(modest), i + 1);
    }
    end(greedy, GREEDY);
    free(modest);
}

static void bring(struct pair *pair, struct crowd *many[NEWCOMERS])
{
    for (int i = 0; i < NEWCOMERS; i++) {
        many[i] = come(pair);
        for (int k = 0; k < KEPT_MAX; k++)
            say(many[i], (struct kept){ .stream_id = 5 + k, .name = "NEW" });
    }
}

static void newcomers_leave_half_of_a_turn_to_long_shares(void **state)
{
    struct pair *pair = *state;
    struct crowd *greedy[2];
    struct crowd *many[NEWCOMERS];

    begin(pair, greedy, 2);
    bring(pair, many);
    for (int i = 0; i < 5; i++) { /* less than the greedy ones' shares */
        uint32_t had = streams(greedy[0]) + streams(greedy[1]), all = watches(pair);

        turn(pair);
        assert_int_equal(streams(greedy[0]) + streams(greedy[1]) - had, P2PS_TURN_ASKS / 2);
        assert_int_equal(watches(pair) - all, P2PS_TURN_ASKS);
    }
    turns_until_done(pair);
    assert_int_equal(watches(pair), 2 * NAMES + NEWCOMERS * KEPT_MAX);
    end(greedy, 2);
    end(many, NEWCOMERS);
}

/* The ring is full: a turn has a single ask. */
static void newcomers_and_long_shares_have_a_single_ask_in_turn(void **state)
{
    struct pair *pair = *state;
    struct crowd *greedy[1];
    struct crowd *many[NEWCOMERS];

    begin(pair, greedy, 1);
    bring(pair, many);
    uint32_t had = streams(greedy[0]), all = watches(pair);
    for (int i = 0; i < 20; i++) {
        p2ps_core_lag(pair->sink, pair->now_ns, RING, RING);
        turn(pair);
    }
    assert_int_equal(watches(pair) - all, 20);
    assert_int_equal(streams(greedy[0]) - had, 10);
    end(greedy, 1);
    end(many, NEWCOMERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_asks_for_much_is_served_by_long_shares, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_single_request_waits_for_no_long_share, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(newcomers_leave_half_of_a_turn_to_long_shares, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(newcomers_and_long_shares_have_a_single_ask_in_turn, setup,
                                        pair_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
