/* test_seconds.c - the p99 of each second of a run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "seconds.h"

static void assert_printed(const struct seconds *seconds, const char *wanted)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    seconds_print_json(seconds, out);
    fclose(out);
    assert_string_equal(text, wanted);
    free(text);
}

static void each_second_that_is_over_has_its_own(void **state)
{
    const uint64_t start = 7 * MD_NS_PER_S + 5;
    struct seconds *seconds;

    (void)state;
    assert_int_equal(seconds_create(&seconds), MD_OK);
    assert_printed(seconds, "[]");
    for (uint64_t i = 0; i < 1000; i++) /* one of a thousand is late */
        seconds_record(seconds, start + i, i == 500 ? 90000 : 20);
    assert_printed(seconds, "[]");
    for (uint64_t i = 0; i < 1000; i++) /* and here of fifty */
        seconds_record(seconds, start + MD_NS_PER_S + i, i % 50 == 0 ? 200 : -3);
    assert_printed(seconds, "[20]");
    seconds_record(seconds, start + 5 * MD_NS_PER_S, 30);
    seconds_record(seconds, start + 6 * MD_NS_PER_S - 1, 30);
    seconds_record(seconds, start + 6 * MD_NS_PER_S, 1);
    assert_printed(seconds, "[20, 200, 30]");
    seconds_destroy(seconds);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_second_that_is_over_has_its_own) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
