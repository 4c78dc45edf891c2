/* test_p2ps_idmap.c - stream ids of a client, against a plain array. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "idmap.h"

static void an_empty_map_knows_nothing(void **state)
{
    struct p2ps_idmap map;

    (void)state;
    p2ps_idmap_init(&map, NULL);
    assert_true(p2ps_idmap_get(&map, 5) == P2PS_IDMAP_NONE);
    assert_true(p2ps_idmap_take(&map, 5) == P2PS_IDMAP_NONE);
    assert_int_equal(p2ps_idmap_put(&map, 0, 1, 0), MD_ERR_RANGE);
    p2ps_idmap_fini(&map);
}

static void ids_of_both_signs_are_kept_apart(void **state)
{
    struct p2ps_idmap map;

    (void)state;
    p2ps_idmap_init(&map, NULL);
    assert_int_equal(p2ps_idmap_put(&map, 5, 50, 1), MD_OK);
    assert_int_equal(p2ps_idmap_put(&map, -5, 60, 2), MD_OK);
    assert_int_equal(p2ps_idmap_put(&map, INT32_MIN, 70, 3), MD_OK);
    assert_int_equal(p2ps_idmap_put(&map, 5, 51, 4), MD_OK);
    assert_int_equal(map.count, 3);
    assert_int_equal(p2ps_idmap_get(&map, 5), 51);
    assert_int_equal(p2ps_idmap_get(&map, -5), 60);
    assert_int_equal(p2ps_idmap_place(&map, 5), 4);
    assert_int_equal(p2ps_idmap_place(&map, -5), 2);
    p2ps_idmap_move(&map, -5, 7);
    p2ps_idmap_move(&map, 5, 8);
    assert_int_equal(p2ps_idmap_place(&map, 5), 8);
    assert_int_equal(p2ps_idmap_place(&map, -5), 7);
    assert_int_equal(p2ps_idmap_get(&map, -5), 60);
    assert_true(p2ps_idmap_place(&map, 6) == P2PS_IDMAP_NONE);
    assert_int_equal(p2ps_idmap_take(&map, INT32_MIN), 70);
    assert_true(p2ps_idmap_get(&map, INT32_MIN) == P2PS_IDMAP_NONE);
    p2ps_idmap_fini(&map);
}

static void it_agrees_with_an_array_under_any_mix_of_calls(void **state)
{
    static uint32_t truth[4096]; /* index + 1, 0 for none */
    struct p2ps_idmap map;
    uint32_t random = 12345;
    uint32_t count = 0;

    (void)state;
    memset(truth, 0, sizeof(truth));
    p2ps_idmap_init(&map, NULL);
    for (uint32_t step = 0; step < 200000; step++) {
        random = random * 1664525u + 1013904223u;
        uint32_t slot = (random >> 8) % 4096;
        int32_t id = (int32_t)(slot - 2048) * (slot % 3 ? 1 : 10007); /* dense, and far apart */

        if (id == 0)
            continue;
        if (random >> 31) {
            assert_int_equal(p2ps_idmap_put(&map, id, step, ~step), MD_OK);
            count += truth[slot] == 0;
            truth[slot] = step + 1;
        } else {
            assert_true(p2ps_idmap_take(&map, id) == truth[slot] - 1);
            count -= truth[slot] != 0;
            truth[slot] = 0;
        }
        assert_int_equal(map.count, count);
    }
    uint32_t cursor = 0;
    uint32_t index;
    uint32_t seen = 0;
    for (int32_t id; (id = p2ps_idmap_next(&map, &cursor, &index)) != 0; seen++) {
        int32_t slot = (id % 10007 == 0 ? id / 10007 : id) + 2048;
        assert_int_equal(truth[slot], index + 1);
    }
    assert_int_equal(seen, count);
    p2ps_idmap_fini(&map);
}

static void ids_that_are_counted_up_take_nine_bytes(void **state)
{
    struct p2ps_idmap map;
    uint64_t memory = 0;

    (void)state;
    p2ps_idmap_init(&map, &memory);
    for (int32_t id = 5; id < 100005; id++)
        assert_int_equal(p2ps_idmap_put(&map, id, (uint32_t)id, 0), MD_OK);
    assert_true(memory <= 9 * 100000 + 1024);
    /* Who spreads them over all there are pays for a table, not for the spread. */
    for (int32_t id = 5; id < 1005; id++)
        assert_int_equal(p2ps_idmap_put(&map, id * 2000003, 1, 0), MD_OK);
    assert_true(memory <= 10 * 100000 + 1024);
    p2ps_idmap_fini(&map);
    assert_int_equal(memory, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_knows_nothing),
        cmocka_unit_test(ids_of_both_signs_are_kept_apart),
        cmocka_unit_test(it_agrees_with_an_array_under_any_mix_of_calls),
        cmocka_unit_test(ids_that_are_counted_up_take_nine_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
