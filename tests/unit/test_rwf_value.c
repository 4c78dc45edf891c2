/* test_rwf_value.c - primitives as text and as numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "rmds/rwf.h"

static void reals_print_with_the_decimals_of_their_hint(void **state)
{
    static const struct {
        struct rwf_real real;
        const char *text;
    } cases[] = {
        { { 39810, 12 }, "398.10" },
        { { -1, 10 }, "-0.0001" },
        { { 0, 12 }, "0.00" },
        { { 12, 16 }, "1200" },
        { { 0, 21 }, "0" },
        { { 7, 14 }, "7" },
        { { INT64_MIN, 14 }, "-9223372036854775808" },
        { { INT64_MAX, 0 }, "92233.72036854775807" },
        { { 99, 25 }, "12.375" },
        { { -1, 30 }, "-0.00390625" },
        { { 16, 26 }, "1" },
        { { 0, 33 }, "inf" },
        { { 0, 34 }, "-inf" },
        { { 0, 35 }, "nan" },
    };
    char text[RWF_TEXT_MAX];
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(rwf_real_to_text(&cases[i].real, text, sizeof(text)),
                         strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

static void reals_are_read_with_the_hint_their_decimals_ask_for(void **state)
{
    static const struct {
        const char *text;
        int rc;
        struct rwf_real real;
    } cases[] = {
        { "398.10", RWF_OK, { 39810, 12 } },
        { "+5", RWF_OK, { 5, 14 } },
        { "-.5", RWF_OK, { -5, 13 } },
        { "7.", RWF_OK, { 7, 14 } },
        { "-9223372036854775808", RWF_OK, { INT64_MIN, 14 } },
        { "9223372036854775808", RWF_ERR_RANGE, { 0, 0 } },
        { "99999999999999999999", RWF_ERR_RANGE, { 0, 0 } },
        { "0.00000000000001", RWF_OK, { 1, 0 } },
        { "0.000000000000001", RWF_ERR_RANGE, { 0, 0 } },
        { "12 3/8", RWF_OK, { 99, 25 } },
        { "-3/256", RWF_OK, { -3, 30 } },
        { "1/3", RWF_ERR_RANGE, { 0, 0 } },
        { "1/512", RWF_ERR_RANGE, { 0, 0 } },
        { "inf", RWF_OK, { 0, 33 } },
        { "-inf", RWF_OK, { 0, 34 } },
        { "nan", RWF_OK, { 0, 35 } },
        { "", RWF_BLANK, { 0, 0 } },
        { ".", RWF_ERR_MALFORMED, { 0, 0 } },
        { "-", RWF_ERR_MALFORMED, { 0, 0 } },
        { "1.2.3", RWF_ERR_MALFORMED, { 0, 0 } },
        { "1e5", RWF_ERR_MALFORMED, { 0, 0 } },
        { "12 3", RWF_ERR_MALFORMED, { 0, 0 } },
    };
    struct rwf_real real;
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(rwf_real_from_text(rwf_text(cases[i].text), &real), cases[i].rc);
        assert_true(real.value == cases[i].real.value && real.hint == cases[i].real.hint);
    }
}

static void reals_become_doubles_and_back(void **state)
{
    struct rwf_real real;
    (void)state;

    assert_int_equal(rwf_real_from_double(398.1, 12, &real), RWF_OK);
    assert_true(real.value == 39810);
    assert_true(rwf_real_to_double(&real) == 398.1);
    assert_int_equal(rwf_real_from_double(-0.005, 12, &real), RWF_OK);
    assert_true(real.value == -1); /* half away from zero */
    assert_int_equal(rwf_real_from_double(12.375, 25, &real), RWF_OK);
    assert_true(real.value == 99);
    assert_int_equal(rwf_real_from_double(1e30, 14, &real), RWF_ERR_RANGE);
    assert_int_equal(rwf_real_from_double(9223372036854775808.0, 14, &real), RWF_ERR_RANGE);
    assert_int_equal(rwf_real_from_double(-9223372036854775808.0, 14, &real), RWF_OK);
    assert_int_equal(rwf_real_from_double(__builtin_inf(), 14, &real), RWF_OK);
    assert_int_equal(real.hint, RWF_HINT_INFINITY);
}

static void reals_compare_by_value_whatever_their_hints(void **state)
{
    static const struct rwf_real ascending[] = {
        { 0, 34 },         { INT64_MIN, 21 }, { -2, 14 }, { -15, 13 }, { 0, 0 },
        { 1, 0 },          { 1, 30 },         { 4, 13 }, /* 1/256 < 0.4 */
        { 1, 23 },         { 5001, 10 },      { 6, 13 },  { 99, 25 },  { 1238, 12 },
        { INT64_MAX, 14 }, { INT64_MAX, 21 }, { 0, 33 },  { 0, 35 },
    };
    size_t count = sizeof(ascending) / sizeof(ascending[0]);
    const struct rwf_real half[] = { { 5, 13 }, { 50, 12 }, { 1, 23 }, { 128, 30 } };
    (void)state;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int expected = i < j ? -1 : i > j;

            assert_int_equal(rwf_real_compare(&ascending[i], &ascending[j]), expected);
        }
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(rwf_real_compare(&half[0], &half[i]), 0);
}

static void dates_and_times_are_read_as_they_are_printed(void **state)
{
    static const char *const times[] = { "09:30:00", "23:59:60", "00:00:00.001", "15:52:12.250001",
                                         "01:02:03.004005006" };
    static const char *const wrong[] = { "24:00",    "9",         "09:60:00",
                                         "09:30:61", "09:30:15.", "09:30:15.0000000001",
                                         "09:30:15x" };
    char text[RWF_TEXT_MAX];
    struct rwf_datetime dt;
    struct rwf_time time;
    struct rwf_date date;
    (void)state;

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        assert_int_equal(rwf_time_from_text(rwf_text(times[i]), &time), RWF_OK);
        rwf_time_to_text(&time, text, sizeof(text));
        assert_string_equal(text, times[i]);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_true(rwf_time_from_text(rwf_text(wrong[i]), &time) < 0);

    assert_int_equal(rwf_date_from_text(rwf_text("2024-02-29"), &date), RWF_OK);
    rwf_date_to_text(&date, text, sizeof(text));
    assert_string_equal(text, "2024-02-29");
    assert_true(rwf_date_from_text(rwf_text("2024-13-01"), &date) < 0);
    assert_int_equal(rwf_datetime_from_text(rwf_text("2024-02-29T09:30:15"), &dt), RWF_OK);
    rwf_datetime_to_text(&dt, text, sizeof(text));
    assert_string_equal(text, "2024-02-29T09:30:15");
    assert_int_equal(rwf_time_from_text(rwf_text(""), &time), RWF_BLANK);
    assert_true(rwf_time_is_blank(&time));
}

static void a_time_is_blank_when_every_part_it_has_is(void **state)
{
    static const struct {
        uint8_t bytes[8];
        uint8_t length;
        int rc;
    } cases[] = {
        { { 0xff, 0xff }, 2, RWF_BLANK },
        { { 0xff, 0xfe }, 2, RWF_OK },
        { { 0xff, 0xff, 0xff }, 3, RWF_BLANK },
        { { 0xff, 0xff, 0x00 }, 3, RWF_OK },
        { { 0xff, 0xff, 0xff, 0xff, 0xff }, 5, RWF_BLANK },
        { { 0xff, 0xff, 0xff, 0x00, 0xff }, 5, RWF_OK },
        { { 0xff, 0xff, 0xff, 0xff, 0xff, 0x07, 0xff }, 7, RWF_BLANK },
        { { 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x01 }, 7, RWF_OK },
        { { 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff }, 8, RWF_BLANK },
        { { 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0x01 }, 8, RWF_OK },
        { { 0xff, 0xff, 0xff, 0xff, 0xff, 0x38, 0x01, 0xff }, 8, RWF_OK },
    };
    struct rwf_time time;
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(rwf_time_decode(rwf_bytes(cases[i].bytes, cases[i].length), &time),
                         cases[i].rc);
        assert_int_equal(rwf_time_is_blank(&time), cases[i].rc == RWF_BLANK);
    }
}

static void text_that_does_not_fit_is_cut_and_terminated(void **state)
{
    struct rwf_real real = { 39810, 12 };
    char text[4] = "zzz";
    (void)state;

    assert_int_equal(rwf_real_to_text(&real, text, sizeof(text)), 6);
    assert_string_equal(text, "398");
    assert_int_equal(rwf_real_to_text(&real, NULL, 0), 6);
}

static void states_and_qualities_have_names(void **state)
{
    struct rwf_state st = { RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT, RWF_CODE_NO_RESOURCES,
                            rwf_text("later") };
    struct rwf_qos qos = { .timeliness = 3, .rate = 3, .time_info = 10, .rate_info = 500 };
    char text[RWF_TEXT_MAX];
    (void)state;

    rwf_state_to_text(&st, text, sizeof(text));
    assert_string_equal(text, "CLOSED_RECOVER/SUSPECT/NO_RESOURCES \"later\"");
    rwf_qos_to_text(&qos, text, sizeof(text));
    assert_string_equal(text, "DELAYED:10/TIME_CONFLATED:500");
    assert_string_equal(rwf_type_name(RWF_TYPE_FIELD_LIST), "FIELD_LIST");
    assert_string_equal(rwf_type_name(129), "UNKNOWN");
}

static void integers_take_as_few_bytes_as_they_need(void **state)
{
    static const struct {
        int64_t value;
        size_t length;
    } cases[] = {
        { 0, 1 },          { 127, 1 },       { 128, 2 },       { -128, 1 },
        { -129, 2 },       { 32767, 2 },     { 32768, 3 },     { INT32_MAX, 4 },
        { 2147483648, 5 }, { INT64_MAX, 8 }, { INT64_MIN, 8 }, { -1, 1 },
    };
    uint8_t bytes[8];
    size_t length;
    int64_t got;
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rwf_value value = rwf_value_int(cases[i].value);

        assert_int_equal(rwf_value_encode(&value, bytes, sizeof(bytes), &length), RWF_OK);
        assert_int_equal(length, cases[i].length);
        assert_int_equal(rwf_int_decode(rwf_bytes(bytes, length), &got), RWF_OK);
        assert_true(got == cases[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals_print_with_the_decimals_of_their_hint),
        cmocka_unit_test(reals_are_read_with_the_hint_their_decimals_ask_for),
        cmocka_unit_test(reals_become_doubles_and_back),
        cmocka_unit_test(reals_compare_by_value_whatever_their_hints),
        cmocka_unit_test(dates_and_times_are_read_as_they_are_printed),
        cmocka_unit_test(a_time_is_blank_when_every_part_it_has_is),
        cmocka_unit_test(text_that_does_not_fit_is_cut_and_terminated),
        cmocka_unit_test(states_and_qualities_have_names),
        cmocka_unit_test(integers_take_as_few_bytes_as_they_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
