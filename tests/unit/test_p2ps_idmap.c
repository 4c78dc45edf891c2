/* test_p2ps_idmap.c - stream ids of a client, against a plain array. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "idmap.h"

static const uint64_t key[2] = { 0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull };

static void an_empty_map_knows_nothing(void **state)
{
    struct p2ps_idmap map;

    (void)state;
    p2ps_idmap_init(&map, NULL, key);
    assert_true(p2ps_idmap_get(&map, 5) == P2PS_IDMAP_NONE);
    assert_true(p2ps_idmap_take(&map, 5) == P2PS_IDMAP_NONE);
    assert_int_equal(p2ps_idmap_put(&map, 0, 1, 0), MD_ERR_RANGE);
    p2ps_idmap_fini(&map);
}

static void ids_of_both_signs_are_kept_apart(void **state)
{
    struct p2ps_idmap map;

    (void)state;
    p2ps_idmap_init(&map, NULL, key);
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
    p2ps_idmap_init(&map, NULL, key);
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

/* Ids far apart, so that they stand in the table, and some that are dense. */
static int32_t walked_id(uint32_t n)
{
    return n % 4 ? (int32_t)(n * 2000003u & 0x7fffffffu) : (int32_t)n + 1;
}

static void a_walk_in_parts_misses_no_id_that_stays(void **state)
{
    enum { IDS = 3000, ROUNDS = 40 };
    static bool is_there[IDS], was_seen[IDS];
    uint32_t random = 11;

    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint64_t other_key[2] = { round, 99 };
        struct p2ps_idmap_walk walk = { 0 };
        struct p2ps_idmap map;
        uint32_t index = 0, visits = 0;
        bool goes_on = true;

        p2ps_idmap_init(&map, NULL, other_key);
        for (uint32_t n = 0; n < IDS; n++) {
            assert_int_equal(p2ps_idmap_put(&map, walked_id(n), n, 0), MD_OK);
            is_there[n] = true;
            was_seen[n] = false;
        }
        while (goes_on) {
            uint32_t places = 64;

            for (int32_t id; (id = p2ps_idmap_walk(&map, &walk, &places, &index)) != 0; visits++) {
                assert_true(index < IDS && walked_id(index) == id);
                was_seen[index] = true;
            }
            goes_on = places == 0;
            for (unsigned i = 0; i < 20; i++) { /* they go while the walk rests */
                random = random * 1664525u + 1013904223u;
                uint32_t n = (random >> 8) % IDS;
                p2ps_idmap_take(&map, walked_id(n));
                is_there[n] = false;
            }
        }
        for (uint32_t n = 0; n < IDS; n++)
            assert_true(was_seen[n] || !is_there[n]);
        assert_true(visits < 2 * IDS);
        p2ps_idmap_fini(&map);
    }
}

static void ids_that_are_counted_up_take_nine_bytes(void **state)
{
    struct p2ps_idmap map;
    uint64_t memory = 0;

    (void)state;
    p2ps_idmap_init(&map, &memory, key);
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

static uint32_t longest_run(const struct p2ps_idmap *map)
{
    uint32_t longest = 0;
    uint32_t run = 0;

    for (uint32_t i = 0; i <= map->mask; i++) {
        run = map->slots[i].id ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* A table that hashed by this multiplier, as this one did once, had them in one run. */
static void ids_that_collide_in_a_table_without_a_key_do_not_here(void **state)
{
    struct p2ps_idmap map;
    uint32_t put = 0;

    (void)state;
    p2ps_idmap_init(&map, NULL, key);
    for (int32_t id = 1 << 30; put < 20000 && id <= INT32_MAX - (1 << 4); id += 1 << 4) {
        uint64_t product = (uint64_t)(uint32_t)id * 0x9e3779b97f4a7c15ull;

        if ((product >> 32 & 0xfff) != 0)
            continue; /* 4,096 homes would become one */
        assert_int_equal(p2ps_idmap_put(&map, id, 1, 0), MD_OK);
        put++;
    }
    assert_true(put > 10000);
    assert_true(longest_run(&map) < 200);
    p2ps_idmap_fini(&map);
}

static void all_ids_are_taken_out_a_few_places_at_a_time(void **state)
{
    struct p2ps_idmap map;
    struct p2ps_idmap_entry entry;
    uint32_t cursor = 0;
    uint32_t taken = 0;
    uint64_t sum = 0;

    (void)state;
    p2ps_idmap_init(&map, NULL, key);
    for (int32_t id = 1; id <= 1000; id++)
        assert_int_equal(p2ps_idmap_put(&map, id % 2 ? id : id * 1000003, (uint32_t)id, 0), MD_OK);
    for (unsigned turns = 0; map.count > 0; turns++) {
        uint32_t places = 7;

        assert_true(turns < 2000);
        while (p2ps_idmap_pop(&map, &cursor, &places, &entry) != 0) {
            taken++;
            sum += entry.index;
        }
        assert_true(places == 0 || map.count == 0);
        if (map.count == 500) /* others come and go meanwhile */
            assert_int_equal(p2ps_idmap_put(&map, -7, 0, 0), MD_OK);
    }
    assert_true(taken >= 1000);
    assert_int_equal(sum, 500500);
    p2ps_idmap_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_knows_nothing),
        cmocka_unit_test(ids_of_both_signs_are_kept_apart),
        cmocka_unit_test(it_agrees_with_an_array_under_any_mix_of_calls),
        cmocka_unit_test(a_walk_in_parts_misses_no_id_that_stays),
        cmocka_unit_test(ids_that_are_counted_up_take_nine_bytes),
        cmocka_unit_test(ids_that_collide_in_a_table_without_a_key_do_not_here),
        cmocka_unit_test(all_ids_are_taken_out_a_few_places_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
