/* test_base_store.c - numbered objects, strings, the map to them, the timer wheel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/prng.h"
#include "base/slots.h"
#include "base/strings.h"
#include "base/wheel.h"

static void a_slot_is_zeroed_stays_in_place_and_is_used_again(void **state)
{
    enum { LIMIT = 3 * MD_SLOTS_CHUNK };
    static uint64_t *objects[LIMIT];
    struct md_slots slots;
    size_t memory = 0;

    (void)state;
    assert_int_equal(md_slots_init(&slots, 16, LIMIT, &memory), MD_OK);
    for (uint32_t i = 0; i < LIMIT; i++) {
        assert_int_equal(md_slots_take(&slots), i);
        objects[i] = md_slots_at(&slots, i);
        assert_true(objects[i][0] == 0 && objects[i][1] == 0);
        memset(objects[i], 0xaa, 16);
    }
    assert_true(md_slots_take(&slots) == MD_NIL);
    assert_true(memory <= md_slots_memory_max(&slots));
    for (uint32_t i = 0; i < LIMIT; i++)
        assert_ptr_equal(md_slots_at(&slots, i), objects[i]);
    md_slots_give(&slots, 7);
    md_slots_give(&slots, 2000);
    assert_int_equal(md_slots_take(&slots), 2000);
    assert_int_equal(md_slots_take(&slots), 7);
    assert_true(objects[7][0] == 0 && objects[7][1] == 0);
    assert_int_equal(slots.count, LIMIT);
    md_slots_fini(&slots);
}

static void a_map_of_slots_grows_and_keeps_its_numbers(void **state)
{
    uint32_t *map = NULL, room = 0;

    (void)state;
    assert_true(md_slots_map_grow(&map, &room, 3));
    for (uint32_t i = 0; i < room; i++)
        assert_int_equal(map[i], MD_NIL);
    map[3] = 77;
    uint32_t before = room;
    assert_true(md_slots_map_grow(&map, &room, 3) && room == before);
    assert_true(md_slots_map_grow(&map, &room, before) && room > before);
    assert_int_equal(map[3], 77);
    assert_int_equal(map[before], MD_NIL);
    assert_true(md_slots_map_grow(&map, &room, 100000) && room > 100000);
    assert_true(map[3] == 77 && map[100000] == MD_NIL);
    free(map);
}

static void reserved_slots_can_be_had_and_no_more_than_the_limit(void **state)
{
    struct md_slots slots;
    size_t memory = 0;

    (void)state;
    assert_int_equal(md_slots_init(&slots, 8, 1500, &memory), MD_OK);
    assert_int_equal(md_slots_reserve(&slots, 1500), MD_OK);
    assert_int_equal(md_slots_reserve(&slots, 1501), MD_ERR_NOMEM);
    assert_int_equal(slots.count, 0);
    md_slots_fini(&slots);
}

static void strings_of_every_length_keep_their_bytes(void **state)
{
    enum { COUNT = 300 };
    struct md_strings strings;
    uint32_t numbers[COUNT];
    size_t memory = 0;
    size_t before;

    (void)state;
    assert_int_equal(md_strings_init(&strings, COUNT, &memory), MD_OK);
    for (int round = 0; round < 2; round++) {
        before = memory;
        for (uint32_t i = 0; i < COUNT; i++) {
            numbers[i] = md_strings_take(&strings, i);
            assert_true(numbers[i] != MD_NIL);
            memset(md_strings_at(&strings, numbers[i], i), (int)(i & 0xff), i);
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            for (uint32_t at = 0; at < i; at++)
                assert_int_equal(md_strings_at(&strings, numbers[i], i)[at], i & 0xff);
            md_strings_give(&strings, numbers[i], i);
        }
    }
    assert_true(memory == before); /* the second round found the slots of the first one */
    assert_true(memory <= md_strings_memory_max(&strings));
    md_strings_fini(&strings);
}

/* Few hashes for many values: long runs, equal hashes, wraps around the end. */
static void a_map_agrees_with_an_array_under_random_use(void **state)
{
    enum { VALUES = 900 };
    static uint64_t hash_of[VALUES];
    static bool is_in[VALUES];
    struct md_prng prng = md_prng_init(11);
    struct md_map map;
    size_t memory = 0;
    uint32_t count = 0;

    (void)state;
    assert_int_equal(md_map_init(&map, 0, &memory), MD_OK);
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t value = md_prng_below(&prng, VALUES);

        if (is_in[value]) {
            md_map_remove(&map, hash_of[value], value);
        } else {
            hash_of[value] = 0xFFFFFFFFu - md_prng_below(&prng, 40) * 0x1000000u;
            assert_int_equal(md_map_put(&map, hash_of[value], value), MD_OK);
        }
        is_in[value] = !is_in[value];
        count += is_in[value] ? 1 : UINT32_MAX;
        assert_int_equal(map.count, count);

        value = md_prng_below(&prng, VALUES);
        uint32_t cursor = 0, found = 0, there;
        while ((there = md_map_next(&map, hash_of[value], &cursor)) != MD_NIL) {
            assert_true(is_in[there] && hash_of[there] == hash_of[value]);
            found += there == value;
        }
        assert_int_equal(found, is_in[value]);
    }
    assert_true(memory == map.size * sizeof(*map.cells));
    md_map_fini(&map);
}

struct timed {
    uint64_t unused;
    struct md_wheel_timer timer;
    uint64_t wish_ns; /* 0: not set */
};

/* Due times lie up to five turns of the wheel ahead; the clock makes small and large steps. */
static void a_wheel_gives_each_timer_once_when_it_is_due(void **state)
{
    enum { COUNT = 200 };
    static struct md_wheel wheel;
    struct md_prng prng = md_prng_init(5);
    struct md_slots slots;
    size_t memory = 0;
    uint64_t now_ns = 1000000000;

    (void)state;
    assert_int_equal(md_slots_init(&slots, sizeof(struct timed), COUNT, &memory), MD_OK);
    md_wheel_init(&wheel, &slots, offsetof(struct timed, timer));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(md_slots_take(&slots), i);
    for (uint32_t round = 0; round < 20000; round++) {
        uint32_t number = md_prng_below(&prng, COUNT);
        struct timed *timed = md_slots_at(&slots, number);

        if (md_prng_below(&prng, 4) == 0) {
            md_wheel_cancel(&wheel, number);
            timed->wish_ns = 0;
        } else {
            timed->wish_ns = now_ns + md_prng_below(&prng, 2) * 5000000000ull * (round % 7) / 7 +
                             md_prng_below(&prng, 3000000);
            md_wheel_set(&wheel, number, timed->wish_ns);
        }
        now_ns += md_prng_below(&prng, 100) ? md_prng_below(&prng, 500000) : 2500000000u;
        bool was_early = md_wheel_deadline(&wheel) > now_ns;
        while ((number = md_wheel_expire(&wheel, now_ns)) != MD_NIL) {
            timed = md_slots_at(&slots, number);
            assert_false(was_early);
            assert_true(timed->wish_ns != 0 && timed->wish_ns <= now_ns);
            timed->wish_ns = 0;
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            timed = md_slots_at(&slots, i);
            assert_true(timed->timer.is_set == (timed->wish_ns != 0));
            /* Late by less than one step of the wheel. */
            assert_true(timed->wish_ns == 0 || timed->wish_ns + MD_WHEEL_STEP_NS > now_ns);
        }
    }
    md_slots_fini(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_is_zeroed_stays_in_place_and_is_used_again),
        cmocka_unit_test(a_map_of_slots_grows_and_keeps_its_numbers),
        cmocka_unit_test(reserved_slots_can_be_had_and_no_more_than_the_limit),
        cmocka_unit_test(strings_of_every_length_keep_their_bytes),
        cmocka_unit_test(a_map_agrees_with_an_array_under_random_use),
        cmocka_unit_test(a_wheel_gives_each_timer_once_when_it_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
