/* test_rrcp_window.c - the receive window alone: holes, gaps and the timer, without an engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "window.h"

#define PACKETS 128u
#define MS      1000000ull

static uint64_t moves[RRCP_TRANSITION_count];

/* Everything from `next` to `highest` is missing. */
static struct rrcp_window make(uint64_t next, uint64_t highest)
{
    struct rrcp_window w = {
        .next = next, .highest = highest, .due_ns = RRCP_NEVER, .transitions = moves
    };

    rrcp_window_attach(&w, calloc(1, rrcp_window_bytes(PACKETS)), PACKETS);
    for (uint64_t seq = next; seq <= highest; seq++)
        rrcp_window_set(&w, seq, SLOT_BACKOFF);
    return w;
}

static void have(struct rrcp_window *w, uint64_t seq)
{
    rrcp_window_set(w, seq, SLOT_HAVE);
}

static void a_packet_is_ready_only_when_all_before_it_are(void **state)
{
    struct rrcp_window w = make(10, 12);

    (void)state;
    have(&w, 11);
    assert_false(rrcp_window_ready(&w));
    have(&w, 10);
    assert_true(rrcp_window_ready(&w));
    rrcp_window_set(&w, w.next++, SLOT_EMPTY);
    assert_true(rrcp_window_ready(&w));
    rrcp_window_set(&w, w.next++, SLOT_EMPTY);
    assert_false(rrcp_window_ready(&w));
    assert_int_equal(w.next, 12);
    assert_int_equal(w.missing_count, 1);
    assert_int_equal(w.have_count, 0);
    free(rrcp_window_detach(&w));
}

static void a_lost_run_is_one_gap_that_ends_at_what_is_still_missing(void **state)
{
    struct rrcp_window w = make(10, 14);

    (void)state;
    rrcp_window_lose(&w, 11, BACKBONE_GAP_TIMEOUT);
    rrcp_window_lose(&w, 10, BACKBONE_GAP_NOT_HELD);
    rrcp_window_lose(&w, 13, BACKBONE_GAP_TIMEOUT);
    assert_false(rrcp_window_ready(&w));
    assert_int_equal(w.gap_first, 10);
    assert_int_equal(w.gap_count, 2);
    assert_int_equal(w.gap_reason, BACKBONE_GAP_NOT_HELD);
    assert_int_equal(w.next, 12);
    rrcp_window_lose(&w, 12, BACKBONE_GAP_TIMEOUT);
    have(&w, 14);
    assert_true(rrcp_window_ready(&w));
    assert_int_equal(w.gap_first, 10);
    assert_int_equal(w.gap_count, 4);
    free(rrcp_window_detach(&w));
}

/* At every place of the window, so that words of the bitmap and its end are crossed. */
static void the_missing_packets_are_found_wherever_they_lie(void **state)
{
    (void)state;
    for (uint64_t next = 1; next < 2 * PACKETS; next++) {
        struct rrcp_window w = make(next, next + PACKETS - 1);

        for (uint64_t seq = next; seq <= w.highest; seq++)
            if ((seq - next) % 50 != 7)
                have(&w, seq);
        uint64_t seq = rrcp_window_missing(&w, next);

        assert_int_equal(seq, next + 7);
        seq = rrcp_window_missing(&w, seq + 1);
        assert_int_equal(seq, next + 57);
        seq = rrcp_window_missing(&w, seq + 1);
        assert_int_equal(seq, next + 107);
        assert_int_equal(rrcp_window_missing(&w, seq + 1), w.highest + 1);
        assert_int_equal(w.missing_count, 3);
        free(rrcp_window_detach(&w));
    }
}

static void
the_window_is_due_with_its_earliest_packet_and_never_when_nothing_is_missing(void **state)
{
    struct rrcp_window w = make(1, 2);
    const uint64_t now_ns = 4294967ull * MS; /* the engine's microseconds wrap 0.3 ms from now */

    (void)state;
    rrcp_window_slot(&w, 1)->due_us = (uint32_t)(now_ns / 1000 + 2000);
    rrcp_window_slot(&w, 2)->due_us = (uint32_t)(now_ns / 1000 + 1000);
    rrcp_window_arm(&w, rrcp_window_slot(&w, 1), now_ns);
    assert_true(w.due_ns == now_ns + 2 * MS);
    rrcp_window_arm(&w, rrcp_window_slot(&w, 2), now_ns);
    assert_true(w.due_ns == now_ns + 1 * MS);
    rrcp_window_arm(&w, rrcp_window_slot(&w, 2), now_ns + 5 * MS); /* overdue: now */
    assert_true(w.due_ns == now_ns + 1 * MS);
    have(&w, 1);
    have(&w, 2);
    assert_true(w.due_ns == RRCP_NEVER);
    free(rrcp_window_detach(&w));
}

static void each_move_of_a_packet_is_counted_once(void **state)
{
    uint64_t before = moves[RRCP_TRANSITION_BACKOFF_HAVE];
    struct rrcp_window w = make(1, 3);

    (void)state;
    have(&w, 2);
    rrcp_window_lose(&w, 3, BACKBONE_GAP_TIMEOUT);
    have(&w, 3);
    assert_int_equal(moves[RRCP_TRANSITION_BACKOFF_HAVE], before + 1);
    assert_int_equal(moves[RRCP_TRANSITION_LOST_HAVE], 1);
    assert_int_equal(w.have_count, 2);
    free(rrcp_window_detach(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_is_ready_only_when_all_before_it_are),
        cmocka_unit_test(a_lost_run_is_one_gap_that_ends_at_what_is_still_missing),
        cmocka_unit_test(the_missing_packets_are_found_wherever_they_lie),
        cmocka_unit_test(
            the_window_is_due_with_its_earliest_packet_and_never_when_nothing_is_missing),
        cmocka_unit_test(each_move_of_a_packet_is_counted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
