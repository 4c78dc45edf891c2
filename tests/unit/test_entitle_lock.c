/* test_entitle_lock.c - locks of captures and of the vendor's library say what they say. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "entitle/lock.h"

/* The bytes of "0301 01" and the like. */
static struct entitle_view bytes_of(const char *hex, uint8_t out[256])
{
    size_t length = 0;

    for (; *hex; hex++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = strchr(digits, *hex);

        if (*hex == ' ')
            continue;
        assert_non_null(digit);
        unsigned value = (unsigned)(digit - digits);
        if (length % 2)
            out[length / 2] |= (uint8_t)value;
        else
            out[length / 2] = (uint8_t)(value << 4);
        length++;
    }
    return (struct entitle_view){ (const char *)out, length / 2 };
}

static bool holds_nothing(void *self, uint16_t service, uint32_t code)
{
    (void)self;
    (void)service;
    (void)code;
    return false;
}

static void each_lock_reads_as_it_was_written(void **state)
{
    static const struct {
        const char *hex, *text;
        bool is_null;
    } cases[] = {
        /* From public captures. */
        { "030101 6562c0", "257: 6562", false },
        { "0311a7 6761c0", "4519: 6761", false },
        { "030101 9569c0", "257: 9569", false },
        { "030101 10001c", "257: 10001", false },
        { "030101 363c", "257: 363", false },
        { "0300fd 526c", "253: 526", false },
        { "03012c 526c", "300: 526", false },
        { "030101 526c", "257: 526", false },
        { "030101 74c0", "257: 74", false },
        { "030101 213c", "257: 213", false },
        { "030842 62c0", "2114: 62", false },
        { "030102 5625c0", "258: 5625", false },
        { "030842 10001c", "2114: 10001", false },
        { "031fb2 10002c", "8114: 10002", false },
        { "030101 10153c", "257: 10153", false },
        { "030101 576c", "257: 576", false },
        { "030102 5926c0", "258: 5926", false },
        /* Of the library. */
        { "031388 62b144c0", "5000: 62|144", false },
        { "031388 62a144c0", "5000: 62&144", false },
        { "031388 62b63b144c", "5000: 62|63|144", false },
        { "030001 456a5000c0", "1: 456&5000", false },
        { "03ffff 1c", "65535: 1", false },
        { "030001 4294967295c0", "1: 4294967295", false },
        { "031388 c0", "5000: ", true },
        { "030001 0c", "1: 0", false },
        { "030001 0b5c", "1: 0|5", false },
        { "030001 1b2b3b4b5b6b7b8b9b10b11b12c0", "1: 1|2|3|4|5|6|7|8|9|10|11|12", false },
        { "030001 10b20c", "1: 10|20", false },
        { "030001 456b985a1027a5000d 0002 1a2c", "1: 456|985&1027&5000; 2: 1&2", false },
        { "030001 123b456a321b654c", "1: 123|456&321|654", false },
        { "030001 8d 0002 7d 0101 77d0 0102 777c", "1: 8; 2: 7; 257: 77; 258: 777", false },
        { "030001 123a321a456a654c", "1: 123&321&456&654", false },
        /* Odd, and accepted. */
        { "030101 6562cf", "257: 6562", false },
        { "030101 6562c0 ff", "257: 6562", false },
        { "030001 06c0", "1: 6", false },
        { "030001 d0 0002 7c", "1: ; 2: 7", false },
        { "040101 3130323726283435367c39383529 c0", "257: 1027&(456|985)", false },
        { "", "", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[256];
        char text[128] = "";
        struct entitle_lock_reader reader = {
            .holds = holds_nothing,
            .text = text,
            .text_size = sizeof(text),
        };

        assert_int_equal(entitle_lock_read(bytes_of(cases[i].hex, bytes), &reader),
                         ENTITLE_LOCK_FINE);
        assert_string_equal(text, cases[i].text);
        assert_true(reader.is_null == cases[i].is_null);
        assert_true(reader.is_open == cases[i].is_null);
    }
}

static void each_malformed_lock_is_known_for_what_it_is(void **state)
{
    static const struct {
        const char *hex;
        enum entitle_lock_kind kind;
    } cases[] = {
        { "03", ENTITLE_LOCK_SHORT },
        { "0301", ENTITLE_LOCK_SHORT },
        { "030101", ENTITLE_LOCK_NO_END },
        { "0301016562", ENTITLE_LOCK_NO_END },
        { "0301016ac0", ENTITLE_LOCK_OPERATOR },
        { "030101a6c0", ENTITLE_LOCK_OPERATOR },
        { "0301016ab7c0", ENTITLE_LOCK_OPERATOR },
        { "0301016ec0", ENTITLE_LOCK_NIBBLE },
        { "0301016fc0", ENTITLE_LOCK_NIBBLE },
        { "0300017dc0", ENTITLE_LOCK_NO_SERVICE },
        { "03000199999999999999c0", ENTITLE_LOCK_RANGE },
        { "0201016562c0", ENTITLE_LOCK_VERSION },
        { "0001016562c0", ENTITLE_LOCK_VERSION },
        { "0501016562c0", ENTITLE_LOCK_VERSION },
        { "04010131", ENTITLE_LOCK_NO_END },
        { "0401013126c0", ENTITLE_LOCK_TEXT },
        { "0401014e59c0", ENTITLE_LOCK_TEXT },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[256];
        struct entitle_lock_reader reader = { .holds = holds_nothing };

        assert_int_equal(entitle_lock_read(bytes_of(cases[i].hex, bytes), &reader), cases[i].kind);
        assert_false(reader.is_open);
        assert_false(reader.is_null);
    }
}

/* ---- random locks against a slow evaluator ---- */

enum { GROUPS = 4, CODES = 4 };

struct random_lock {
    unsigned groups, codes[GROUPS], code[GROUPS][CODES];
    uint8_t bytes[64];
    size_t length;
};

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static void put(struct random_lock *lock, size_t *nibble, unsigned value)
{
    lock->bytes[*nibble / 2] |= (uint8_t)(*nibble % 2 ? value : value << 4);
    ++*nibble;
    lock->length = (*nibble + 1) / 2;
}

static struct random_lock random_lock(uint32_t *seed)
{
    struct random_lock lock = { .groups = 1 + draw(seed) % GROUPS, .bytes = { 3, 1, 1 } };
    size_t nibble = 6;

    for (unsigned g = 0; g < lock.groups; g++) {
        lock.codes[g] = 1 + draw(seed) % CODES;
        for (unsigned k = 0; k < lock.codes[g]; k++) {
            lock.code[g][k] = draw(seed) % 32;
            if (lock.code[g][k] > 9)
                put(&lock, &nibble, lock.code[g][k] / 10);
            put(&lock, &nibble, lock.code[g][k] % 10);
            put(&lock, &nibble, k + 1 < lock.codes[g] ? 11 : g + 1 < lock.groups ? 10 : 12);
        }
    }
    return lock;
}

static bool holds_bit(void *self, uint16_t service, uint32_t code)
{
    assert_int_equal(service, 257);
    return *(const uint32_t *)self >> code & 1;
}

static void a_lock_is_open_to_who_holds_one_of_each_alternatives(void **state)
{
    uint32_t seed = 11;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        struct random_lock lock = random_lock(&seed);
        uint32_t held = draw(&seed) << 16 ^ draw(&seed);
        struct entitle_lock_reader reader = { .holds = holds_bit, .self = &held };
        bool is_open = true;

        for (unsigned g = 0; g < lock.groups; g++) {
            bool any = false;

            for (unsigned k = 0; k < lock.codes[g]; k++)
                any |= held >> lock.code[g][k] & 1;
            is_open &= any;
        }
        assert_int_equal(
            entitle_lock_read((struct entitle_view){ (const char *)lock.bytes, lock.length },
                              &reader),
            ENTITLE_LOCK_FINE);
        assert_true(reader.is_open == is_open);
    }
}

static void a_refusal_names_the_first_alternatives_that_are_missing(void **state)
{
    uint8_t bytes[256];
    uint32_t held = 1u << 5;
    struct entitle_lock_reader reader = { .holds = holds_bit, .self = &held };

    (void)state;
    entitle_lock_read(bytes_of("030101 5b6a7b8a9c", bytes), &reader);
    assert_false(reader.is_open);
    assert_string_equal(reader.needs, "7|8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lock_reads_as_it_was_written),
        cmocka_unit_test(each_malformed_lock_is_known_for_what_it_is),
        cmocka_unit_test(a_lock_is_open_to_who_holds_one_of_each_alternatives),
        cmocka_unit_test(a_refusal_names_the_first_alternatives_that_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
