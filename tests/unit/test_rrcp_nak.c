/* test_rrcp_nak.c - when a missing packet is asked for: one slot and a made-up clock. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nak.h"
#include "packet.h"

#define US  1000ull
#define MS  1000000ull
#define SEQ 7u

static uint64_t moves[RRCP_TRANSITION_count];

struct one {
    struct rrcp_config config;
    struct md_prng prng;
    struct rrcp_nak n;
    struct rrcp_window w;
};

static struct one *make(uint32_t peers)
{
    struct one *o = calloc(1, sizeof(*o));

    assert_non_null(o);
    rrcp_config_init(&o->config);
    o->prng = md_prng_init(1);
    o->n = (struct rrcp_nak){
        .config = &o->config, .prng = &o->prng, .now_ns = 1000 * MS, .peers = peers
    };
    o->w = (struct rrcp_window){
        .next = SEQ, .highest = SEQ, .due_ns = RRCP_NEVER, .transitions = moves
    };
    rrcp_window_attach(&o->w, calloc(1, rrcp_window_bytes(64)), 64);
    return o;
}

static void begin(struct one *o)
{
    rrcp_window_slot(&o->w, SEQ)->first_us = (uint32_t)(o->n.now_ns / US);
    rrcp_nak_begin(&o->n, &o->w, SEQ);
}

static void done(struct one *o)
{
    free(rrcp_window_detach(&o->w));
    free(o);
}

static int state_of(const struct one *o)
{
    return rrcp_window_slot(&o->w, SEQ)->state;
}

/* Time passes until something is to be done about it; the network is found empty all the time. */
static enum nak_act act_within(struct one *o, uint64_t for_ns, uint64_t *after_ns)
{
    const uint64_t begin_ns = o->n.now_ns;

    for (; o->n.now_ns <= begin_ns + for_ns; o->n.now_ns += 50 * US) {
        o->n.input_empty_ns = o->n.now_ns;
        enum nak_act act = rrcp_nak_look(&o->n, &o->w, SEQ);

        *after_ns = o->n.now_ns - begin_ns;
        if (act != NAK_WAIT)
            return act;
    }
    return NAK_WAIT;
}

static void the_waits_between_requests_double_until_the_packet_is_given_up(void **state)
{
    static const uint64_t waits_ms[] = { 20, 40, 80, 160 };
    struct one *o = make(1);
    uint64_t after_ns;

    (void)state;
    begin(o);
    assert_int_equal(act_within(o, MS, &after_ns), NAK_ASK);
    for (int i = 0; i < 4; i++) {
        rrcp_nak_asked(&o->n, &o->w, SEQ);
        assert_int_equal(act_within(o, 400 * MS, &after_ns), NAK_ASK);
        assert_in_range(after_ns, waits_ms[i] * MS - MS, waits_ms[i] * MS);
    }
    rrcp_nak_asked(&o->n, &o->w, SEQ); /* 320 ms, but then it has been missing for 500 */
    assert_int_equal(act_within(o, 400 * MS, &after_ns), NAK_LOSE);
    assert_in_range(after_ns, 198 * MS, 201 * MS);
    done(o);
}

static void a_packet_asked_for_often_enough_is_given_up(void **state)
{
    struct one *o = make(1);
    uint64_t after_ns;

    (void)state;
    o->config.request_tries = 2;
    begin(o);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(act_within(o, 100 * MS, &after_ns), NAK_ASK);
        rrcp_nak_asked(&o->n, &o->w, SEQ);
    }
    assert_int_equal(act_within(o, 100 * MS, &after_ns), NAK_LOSE);
    done(o);
}

static void nothing_is_given_up_before_the_network_was_found_empty(void **state)
{
    struct one *o = make(1);

    (void)state;
    begin(o);
    o->n.now_ns += 600 * MS; /* the node itself stood still */
    assert_int_equal(rrcp_nak_look(&o->n, &o->w, SEQ), NAK_WAIT);
    o->n.input_empty_ns = o->n.now_ns;
    assert_int_equal(rrcp_nak_look(&o->n, &o->w, SEQ), NAK_LOSE);
    done(o);
}

static void a_large_group_spreads_its_first_requests(void **state)
{
    uint64_t earliest_ns = RRCP_NEVER;
    uint64_t latest_ns = 0;
    struct one *o = make(100);

    (void)state;
    o->n.rtt_ns = 1 * MS; /* so T is 8 ms */
    for (int i = 0; i < 200; i++) {
        uint64_t after_ns = 0;

        begin(o);
        assert_int_equal(act_within(o, 100 * MS, &after_ns), NAK_ASK);
        earliest_ns = after_ns < earliest_ns ? after_ns : earliest_ns;
        latest_ns = after_ns > latest_ns ? after_ns : latest_ns;
        rrcp_window_set(&o->w, SEQ, SLOT_HAVE);
        rrcp_window_set(&o->w, SEQ, SLOT_EMPTY);
    }
    assert_true(latest_ns <= 8 * MS);
    assert_true(latest_ns - earliest_ns > 4 * MS);
    done(o);
}

static void a_confirmed_request_waits_and_does_so_three_times_at_most(void **state)
{
    struct one *o = make(1);
    struct rrcp_slot *slot = rrcp_window_slot(&o->w, SEQ);

    (void)state;
    begin(o);
    rrcp_nak_answered(&o->n, &o->w, SEQ, NCF_REPAIR_COMING, 0); /* another receiver asked */
    assert_int_equal(state_of(o), SLOT_HOLDOFF);
    assert_int_equal(slot->due_us, o->n.now_ns / US + 50000);
    rrcp_nak_asked(&o->n, &o->w, SEQ);
    for (int i = 0; i < 5; i++) {
        uint32_t due_us = slot->due_us;

        rrcp_nak_answered(&o->n, &o->w, SEQ, NCF_REPAIR_COMING, 0);
        assert_int_equal(slot->due_us, due_us + (i < 3 ? 50000 : 0));
        assert_int_equal(slot->tries, 1);
    }
    done(o);
}

static void a_busy_sender_is_asked_later_and_one_that_does_not_hold_it_not_at_all(void **state)
{
    struct one *o = make(1);
    uint32_t due_us;

    (void)state;
    begin(o);
    due_us = rrcp_window_slot(&o->w, SEQ)->due_us;
    rrcp_nak_answered(&o->n, &o->w, SEQ, NCF_BUSY, 30000);
    assert_int_equal(rrcp_window_slot(&o->w, SEQ)->due_us, due_us + 30000);
    rrcp_nak_answered(&o->n, &o->w, SEQ, NCF_NOT_HELD, 0);
    assert_int_equal(state_of(o), SLOT_LOST);
    assert_int_equal(rrcp_window_slot(&o->w, SEQ)->reason, BACKBONE_GAP_NOT_HELD);
    done(o);
}

static void where_packets_overtake_each_other_a_hole_waits_for_time_or_newer_packets(void **state)
{
    struct one *o = make(1);
    uint64_t after_ns;

    (void)state;
    o->config.switch_reorder = true;
    begin(o);
    assert_int_equal(state_of(o), SLOT_REORDER);
    assert_int_equal(act_within(o, 10 * MS, &after_ns), NAK_ASK);
    assert_in_range(after_ns, 1700 * US, 2000 * US);
    rrcp_nak_asked(&o->n, &o->w, SEQ);
    rrcp_window_set(&o->w, SEQ, SLOT_HAVE);
    rrcp_window_set(&o->w, SEQ, SLOT_EMPTY);
    begin(o);
    o->w.highest = SEQ + o->config.reorder_packets;
    assert_int_equal(rrcp_nak_look(&o->n, &o->w, SEQ), NAK_WAIT);
    assert_int_equal(state_of(o), SLOT_BACKOFF);
    done(o);
}

static void a_sender_that_leaves_is_not_asked(void **state)
{
    struct one *o = make(1);
    uint64_t after_ns;

    (void)state;
    o->n.is_leaving = true;
    begin(o);
    assert_int_equal(act_within(o, 600 * MS, &after_ns), NAK_LOSE);
    assert_in_range(after_ns, 500 * MS, 501 * MS);
    done(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_waits_between_requests_double_until_the_packet_is_given_up),
        cmocka_unit_test(a_packet_asked_for_often_enough_is_given_up),
        cmocka_unit_test(nothing_is_given_up_before_the_network_was_found_empty),
        cmocka_unit_test(a_large_group_spreads_its_first_requests),
        cmocka_unit_test(a_confirmed_request_waits_and_does_so_three_times_at_most),
        cmocka_unit_test(a_busy_sender_is_asked_later_and_one_that_does_not_hold_it_not_at_all),
        cmocka_unit_test(where_packets_overtake_each_other_a_hole_waits_for_time_or_newer_packets),
        cmocka_unit_test(a_sender_that_leaves_is_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
