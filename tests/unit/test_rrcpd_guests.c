/* test_rrcpd_guests.c - what one uid may have of an rrcpd, and that it takes nothing from others.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/clock.h"
#include "guests.h"

enum { ONE = 70001, OTHER = 70002, PORTS = 65534 };

static void a_uid_attaches_a_burst_and_then_once_a_second(void **state)
{
    struct guests guests = { 0 };
    uint64_t now_ns = MD_NS_PER_S;

    (void)state;
    for (int i = 0; i < GUESTS_BURST; i++)
        assert_true(guests_attach(&guests, ONE, NULL, now_ns));
    assert_false(guests_attach(&guests, ONE, NULL, now_ns));
    assert_true(guests_attach(&guests, OTHER, NULL, now_ns));
    now_ns += MD_NS_PER_S;
    assert_true(guests_attach(&guests, ONE, NULL, now_ns));
    assert_false(guests_attach(&guests, ONE, NULL, now_ns));
}

static void one_uid_needs_hours_for_all_ports(void **state)
{
    struct guests guests = { 0 };
    const uint64_t hours_ns = 12 * 3600 * MD_NS_PER_S;
    int got = 0;

    (void)state;
    for (uint64_t now_ns = MD_NS_PER_S; now_ns < hours_ns; now_ns += MD_NS_PER_S / 2)
        got += guests_attach(&guests, ONE, NULL, now_ns);
    assert_true(got < PORTS);
}

static void a_uid_has_a_part_of_the_places_and_rrcpd_all(void **state)
{
    struct guests guests = { 0 };

    (void)state;
    for (int i = 0; i < GUESTS_PLACES; i++)
        assert_true(guests_enter(&guests, ONE, 1));
    assert_false(guests_enter(&guests, ONE, 1));
    assert_true(guests_enter(&guests, OTHER, 1));
    guests_leave(&guests, ONE);
    assert_true(guests_enter(&guests, ONE, 1));
    for (int i = 0; i < 64; i++)
        assert_true(guests_enter(&guests, geteuid(), 1));
}

static void use_up(struct guests *guests, uid_t uid, uint64_t now_ns)
{
    for (int i = 0; i < GUESTS_BURST; i++)
        assert_true(guests_attach(guests, uid, NULL, now_ns));
    assert_false(guests_attach(guests, uid, NULL, now_ns));
}

/* A program of rrcpd's uid that crashes again and again keeps no daemon out, nor one the other. */
static void a_daemon_attaches_when_its_uid_may_not(void **state)
{
    struct guests guests = { 0 };
    uint64_t now_ns = MD_NS_PER_S;

    (void)state;
    use_up(&guests, geteuid(), now_ns);
    for (int i = 0; i < GUESTS_RESERVE; i++)
        assert_true(guests_attach(&guests, geteuid(), "src_dist.1", now_ns));
    assert_false(guests_attach(&guests, geteuid(), "src_dist.1", now_ns));
    assert_true(guests_attach(&guests, geteuid(), "p2ps.1.worker0", now_ns));
    assert_false(guests_attach(&guests, geteuid(), NULL, now_ns));
}

static void a_stranger_with_the_name_of_a_daemon_has_no_reserve(void **state)
{
    struct guests guests = { 0 };

    (void)state;
    use_up(&guests, ONE, 1);
    assert_false(guests_attach(&guests, ONE, "p2ps.1.worker0", 1));
}

static void names_that_change_need_hours_for_all_ports(void **state)
{
    struct guests guests = { 0 };
    const uint64_t hours_ns = 8 * 3600 * MD_NS_PER_S;
    char name[32];
    int got = 0, asked = 0;

    (void)state;
    for (uint64_t now_ns = MD_NS_PER_S; now_ns < hours_ns; now_ns += MD_NS_PER_S / 4) {
        snprintf(name, sizeof(name), "p2ps.%d.worker0", asked++);
        got += guests_attach(&guests, geteuid(), name, now_ns);
    }
    assert_true(got < PORTS);
}

static int connections_of(uid_t uid, int of_all, int most)
{
    int of_uid = 0;

    while (!guests_connect(uid, of_uid, of_all + of_uid, most))
        of_uid++;
    return of_uid;
}

static void a_uid_has_a_part_of_the_connections_and_rrcpd_all(void **state)
{
    enum { MOST = 96 };
    int one = connections_of(ONE, 0, MOST);
    int two = one + connections_of(OTHER, one, MOST);

    (void)state;
    assert_int_equal(one, GUESTS_CONNECTIONS);
    assert_int_equal(two, MOST - GUESTS_KEPT);
    assert_int_equal(connections_of(geteuid(), two, MOST), GUESTS_KEPT);
    assert_int_equal(connections_of(0, 0, MOST), MOST);
}

static void a_uid_has_three_quarters_of_the_rings_and_rrcpd_all(void **state)
{
    const uint64_t most = 1024 << 20;

    (void)state;
    assert_true(guests_may_have_rings(ONE, most / 4 * 3, most));
    assert_false(guests_may_have_rings(ONE, most / 4 * 3 + 1, most));
    assert_true(guests_may_have_rings(geteuid(), most, most));
    assert_true(guests_may_have_rings(0, most, most));
}

/* Many uids: none that holds a place is forgotten, so nobody gets its places twice. */
static void a_table_full_of_uids_keeps_those_with_places(void **state)
{
    struct guests guests = { 0 };

    (void)state;
    for (int i = 0; i < GUESTS_PLACES; i++)
        assert_true(guests_enter(&guests, ONE, 1));
    for (uid_t uid = 1000; uid < 2000; uid++)
        assert_true(guests_attach(&guests, uid, NULL, 1));
    assert_false(guests_enter(&guests, ONE, 1));
    for (uid_t uid = 1000; uid < 1000 + GUESTS_MAX - 1; uid++)
        assert_true(guests_enter(&guests, uid, 1));
    assert_false(guests_enter(&guests, OTHER, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uid_attaches_a_burst_and_then_once_a_second),
        cmocka_unit_test(one_uid_needs_hours_for_all_ports),
        cmocka_unit_test(a_daemon_attaches_when_its_uid_may_not),
        cmocka_unit_test(a_stranger_with_the_name_of_a_daemon_has_no_reserve),
        cmocka_unit_test(names_that_change_need_hours_for_all_ports),
        cmocka_unit_test(a_uid_has_a_part_of_the_places_and_rrcpd_all),
        cmocka_unit_test(a_uid_has_a_part_of_the_connections_and_rrcpd_all),
        cmocka_unit_test(a_uid_has_three_quarters_of_the_rings_and_rrcpd_all),
        cmocka_unit_test(a_table_full_of_uids_keeps_those_with_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
