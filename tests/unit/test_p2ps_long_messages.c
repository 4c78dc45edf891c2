/* test_p2ps_long_messages.c - clients with long messages hold up no others: a turn flushes few. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"
#include "p2ps/core/work.h"

#define CLIENTS 30

/* A client that writes down when it was flushed. */
struct party {
    uint32_t id;
    struct line *line;
};

struct line {
    struct party parties[CLIENTS];
    uint32_t count;
    uint32_t flushed[CLIENTS];
    uint32_t flushes;
    bool is_full;
};

static int login_refresh(void *self, const struct omm_login_refresh *refresh)
{
    (void)self;
    (void)refresh;
    return MD_OK;
}

static int message(void *self, struct rwf_bytes bytes)
{
    (void)self;
    (void)bytes;
    return MD_OK;
}

static void flush(void *self)
{
    struct party *party = self;

    assert_true(party->line->flushes < CLIENTS);
    party->line->flushed[party->line->flushes++] = party->id;
}

static bool is_full(const void *self)
{
    const struct party *party = self;

    return party->line->is_full;
}

static unsigned fill(const void *self)
{
    (void)self;
    return 0;
}

static void close_it(void *self, const char *reason)
{
    (void)self;
    (void)reason;
}

#define FRONT                                                                                      \
    .make = p2ps_rwf_make, .login_refresh = login_refresh, .message = message, .flush = flush,     \
    .is_full = is_full, .fill = fill, .close = close_it

static const struct p2ps_front short_front = { .name = "short", FRONT };
static const struct p2ps_front long_front = { .name = "long", .is_long = true, FRONT };

/* A client that logs in: its answer waits to be flushed. */
static uint32_t come(struct pair *pair, struct line *line, const struct p2ps_front *front)
{
    struct party *party = &line->parties[line->count++];
    struct omm_login_request login = pair_login_request();

    assert_true(line->count <= CLIENTS);
    party->line = line;
    assert_int_equal(p2ps_client_add(pair->sink, pair->now_ns, front, party, "10.1.1.1:5",
                                     0x0a010101, &party->id),
                     MD_OK);
    p2ps_client_login(pair->sink, pair->now_ns, party->id, &login);
    return party->id;
}

static void flush_all(struct pair *pair, struct line *line)
{
    line->flushes = 0;
    p2ps_core_flush(pair->sink);
    assert_null(p2ps_core_check(pair->sink));
}

static int setup(void **state)
{
    return pair_setup(state, (struct p2ps_core_config){ .client_limit = CLIENTS });
}

static void clients_with_long_messages_are_flushed_after_the_others(void **state)
{
    struct pair *pair = *state;
    struct line line = { 0 };
    uint32_t first = come(pair, &line, &long_front);
    uint32_t second = come(pair, &line, &short_front);
    uint32_t third = come(pair, &line, &long_front);
    uint32_t fourth = come(pair, &line, &short_front);

    flush_all(pair, &line);
    assert_int_equal(line.flushes, 4);
    assert_int_equal(line.flushed[0], second);
    assert_int_equal(line.flushed[1], fourth);
    assert_int_equal(line.flushed[2], first);
    assert_int_equal(line.flushed[3], third);
    assert_false(p2ps_core_has_output(pair->sink));
}

static void a_turn_flushes_a_counted_number_of_clients_with_long_messages(void **state)
{
    struct pair *pair = *state;
    struct line line = { 0 };
    uint32_t ids[2 * P2PS_TURN_LONG + 1];

    for (unsigned i = 0; i < 2 * P2PS_TURN_LONG + 1; i++)
        ids[i] = come(pair, &line, &long_front);
    flush_all(pair, &line);
    assert_int_equal(line.flushes, P2PS_TURN_LONG);
    assert_memory_equal(line.flushed, ids, P2PS_TURN_LONG * sizeof(ids[0]));
    assert_true(p2ps_core_has_output(pair->sink));

    /* Those that wait come before those that are new, and behind others of short messages. */
    uint32_t newer = come(pair, &line, &long_front);
    uint32_t others = come(pair, &line, &short_front);
    flush_all(pair, &line);
    assert_int_equal(line.flushes, P2PS_TURN_LONG + 1);
    assert_int_equal(line.flushed[0], others);
    assert_memory_equal(line.flushed + 1, ids + P2PS_TURN_LONG, P2PS_TURN_LONG * sizeof(ids[0]));
    flush_all(pair, &line);
    assert_int_equal(line.flushes, 2);
    assert_int_equal(line.flushed[0], ids[2 * P2PS_TURN_LONG]);
    assert_int_equal(line.flushed[1], newer);
    assert_false(p2ps_core_has_output(pair->sink));
}

static void clients_with_much_to_send_do_not_wait_for_another_turn(void **state)
{
    struct pair *pair = *state;
    struct line line = { .is_full = true };

    for (unsigned i = 0; i < P2PS_TURN_LONG + 3; i++)
        come(pair, &line, &long_front);
    flush_all(pair, &line);
    assert_int_equal(line.flushes, P2PS_TURN_LONG + 3);
    assert_false(p2ps_core_has_output(pair->sink));
}

static void clients_left_over_do_not_wait_for_a_full_frame(void **state)
{
    struct pair *pair = *state;
    struct line line = { 0 };

    for (unsigned i = 0; i < P2PS_TURN_LONG + 2; i++)
        come(pair, &line, &long_front);
    flush_all(pair, &line);
    uint32_t newer = come(pair, &line, &long_front);
    line.flushes = 0;
    p2ps_core_flush_full(pair->sink);
    assert_null(p2ps_core_check(pair->sink));
    assert_int_equal(line.flushes, 2);
    assert_false(p2ps_core_has_output(pair->sink));

    line.is_full = true;
    line.flushes = 0;
    p2ps_core_flush_full(pair->sink);
    assert_int_equal(line.flushes, 1);
    assert_int_equal(line.flushed[0], newer);
}

static void a_client_that_has_gone_is_not_flushed(void **state)
{
    struct pair *pair = *state;
    struct line line = { 0 };
    uint32_t last = 0;

    for (unsigned i = 0; i < P2PS_TURN_LONG + 1; i++)
        last = come(pair, &line, &long_front);
    flush_all(pair, &line);
    p2ps_client_gone(pair->sink, pair->now_ns, last);
    while (p2ps_core_has_work(pair->sink))
        p2ps_core_settle(pair->sink, pair->now_ns);
    flush_all(pair, &line);
    assert_int_equal(line.flushes, 0);
    assert_false(p2ps_core_has_output(pair->sink));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(clients_with_long_messages_are_flushed_after_the_others,
                                        setup, pair_teardown),
        cmocka_unit_test_setup_teardown(
            a_turn_flushes_a_counted_number_of_clients_with_long_messages, setup, pair_teardown),
        cmocka_unit_test_setup_teardown(clients_with_much_to_send_do_not_wait_for_another_turn,
                                        setup, pair_teardown),
        cmocka_unit_test_setup_teardown(clients_left_over_do_not_wait_for_a_full_frame, setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(a_client_that_has_gone_is_not_flushed, setup,
                                        pair_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
