/* test_fault_script.c - the language of fault scenarios. */
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
#include "script.h"

static struct fault_script script;

static void must_parse(const char *text)
{
    struct fault_script_error error;

    if (fault_script_parse(&script, text, strlen(text), &error) != MD_OK)
        fail_msg("%u:%u: %s", error.line, error.column, error.text);
}

static void must_fail(const char *text, unsigned line, unsigned column, const char *word)
{
    struct fault_script_error error;

    assert_int_equal(fault_script_parse(&script, text, strlen(text), &error), MD_ERR_MALFORMED);
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    if (!strstr(error.text, word))
        fail_msg("no \"%s\" in: %s", word, error.text);
}

static void a_statement_is_a_step(void **state)
{
    (void)state;
    must_parse("# a comment\n"
               "about  The service flaps.\n"
               "correct It asks again.\n"
               "correct And it marks the items.\r\n"
               "\n"
               "service * down   # here, too\n"
               "\texpect request IBM.N times 3 within 1500ms\n"
               "item A* redirect B.N\n"
               "send * broken noise\n"
               "login refuse  not \t today \n"
               "expect exit 3 within 2m\n"
               "forbid request|close|exit X* for 1s\n"
               "frame fragment\nmerge 12\ntoken 0s\n");
    assert_string_equal(script.about, "The service flaps.");
    assert_string_equal(script.correct, "It asks again. And it marks the items.");
    assert_string_equal(script.skip, "");
    assert_int_equal(script.count, 10);
    const struct fault_step *step = script.steps;
    assert_int_equal(step[0].verb, FAULT_SERVICE);
    assert_int_equal(step[0].choice, FAULT_SERVICE_DOWN);
    assert_int_equal(step[0].line, 6);
    assert_int_equal(step[1].kinds, 1u << FAULT_SEEN_REQUEST);
    assert_string_equal(step[1].name, "IBM.N");
    assert_int_equal(step[1].number, 3);
    assert_int_equal(step[1].duration_ns, 1500000000);
    assert_int_equal(step[2].choice, FAULT_REDIRECT);
    assert_string_equal(step[2].text, "B.N");
    assert_int_equal(step[3].choice, FAULT_BROKEN);
    assert_int_equal(step[3].kind, FAULT_BROKEN_NOISE);
    assert_string_equal(step[4].text, "not \t today");
    assert_true(step[5].has_number);
    assert_int_equal(step[5].number, 3);
    assert_int_equal(step[5].duration_ns, 120000000000);
    assert_int_equal(step[6].kinds,
                     1u << FAULT_SEEN_REQUEST | 1u << FAULT_SEEN_CLOSE | 1u << FAULT_SEEN_EXIT);
    assert_string_equal(step[6].name, "X*");
    assert_int_equal(step[7].choice, FAULT_FRAME_FRAGMENT);
    assert_int_equal(step[8].number, 12);
    assert_int_equal(step[9].verb, FAULT_TOKEN);
}

static void repeat_and_end_find_each_other(void **state)
{
    (void)state;
    must_parse("repeat 2\nrepeat 3\ndisconnect\nend\nend\n");
    assert_int_equal(script.steps[0].other, 4);
    assert_int_equal(script.steps[1].other, 3);
    assert_int_equal(script.steps[3].other, 1);
    assert_int_equal(script.steps[4].other, 0);
    must_fail("repeat 2\ndisconnect\n", 1, 0, "no end");
    must_fail("end\n", 1, 1, "no repeat");
    must_fail("repeat 1\nrepeat 1\nrepeat 1\nrepeat 1\nrepeat 1\n", 5, 1, "nested");
}

static void an_error_names_line_and_column(void **state)
{
    (void)state;
    must_fail("wait 1s\nwiat 1s\n", 2, 1, "\"wiat\" is no statement");
    must_fail("wait 1\n", 1, 6, "duration");
    must_fail("wait 61m\n", 1, 6, "one hour");
    must_fail("wait\n", 1, 5, "duration");
    must_fail("service A sideways\n", 1, 11, "none of: up, down");
    must_fail("wait 1s 2s\n", 1, 9, "too much");
    must_fail("expect logn within 1s\n", 1, 8, "none of");
    must_fail("expect login|logn within 1s\n", 1, 14, "\"logn\" is none of");
    must_fail("expect login| within 1s\n", 1, 14, "\"\" is none of");
    must_fail("expect login 1s\n", 1, 16, "within");
    must_fail("forbid login within 1s\n", 1, 21, "\"for\"");
    must_fail("expect ping X within 1s\n", 1, 13, "expected");
    must_fail("expect exit 256 within 1s\n", 1, 13, "exit code");
    must_fail("expect exit times 2 within 1s\n", 1, 13, "only once");
    must_fail("item A update\n", 1, 8, "nothing that \"item\"");
    must_fail("send A ignore\n", 1, 8, "nothing that \"send\"");
    must_fail("send A broken glass\n", 1, 15, "none of");
    must_fail("parts 0\n", 1, 7, "1 to 32");
    must_fail("frame tall\n", 1, 7, "none of: short, long");
    must_fail("merge 10001\n", 1, 7, "0 to 10000");
    must_fail("updates 1000001\n", 1, 9, "no number");
    must_fail("updates 99999999999999999999999\n", 1, 9, "no number");
    must_fail("disconnect\nabout too late\n", 2, 1, "before the first");
    must_fail("about\n", 1, 6, "missing");
    must_fail("say \001\n", 1, 5, "control");
}

static void what_is_too_long_is_refused(void **state)
{
    static char text[FAULT_SCRIPT_MAX + 2];
    struct fault_script_error error;

    (void)state;
    memset(text, '\n', sizeof(text));
    assert_int_equal(fault_script_parse(&script, text, FAULT_SCRIPT_MAX, &error), MD_OK);
    assert_int_equal(fault_script_parse(&script, text, sizeof(text), &error), MD_ERR_MALFORMED);
    memset(text, 'x', sizeof(text));
    memcpy(text, "item ", 5);
    memcpy(text + 5 + FAULT_NAME_MAX, " image\n", 8);
    must_parse(text);
    memcpy(text + 6 + FAULT_NAME_MAX, " image\n", 8);
    text[5 + FAULT_NAME_MAX] = 'x';
    must_fail(text, 1, 6, "255 are the most");
    size_t used = 0;
    for (unsigned i = 0; i <= FAULT_STEPS_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "disconnect\n");
    must_fail(text, FAULT_STEPS_MAX + 1, 1, "more than 512");
}

static void a_live_statement_is_one_step(void **state)
{
    struct fault_script_error error;
    struct fault_step step;

    (void)state;
    assert_int_equal(fault_step_parse(&step, "disconnect", 10, &error), MD_OK);
    assert_int_equal(step.verb, FAULT_DISCONNECT);
    assert_int_equal(fault_step_parse(&step, "  # nothing", 11, &error), MD_ERR_NOT_FOUND);
    assert_int_equal(fault_step_parse(&step, "repeat 2", 8, &error), MD_ERR_MALFORMED);
    assert_int_equal(fault_step_parse(&step, "about x", 7, &error), MD_ERR_MALFORMED);
}

static void a_pattern_is_a_name_or_begins_one(void **state)
{
    (void)state;
    assert_true(fault_pattern_matches("*", "IBM.N"));
    assert_true(fault_pattern_matches("IBM*", "IBM.N"));
    assert_true(fault_pattern_matches("IBM.N", "IBM.N"));
    assert_false(fault_pattern_matches("IBM", "IBM.N"));
    assert_false(fault_pattern_matches("IBM.N*", "IBM"));
    assert_false(fault_pattern_matches("", "IBM"));
}

static void the_help_has_every_statement(void **state)
{
    const char *help = fault_script_help();

    (void)state;
    for (unsigned verb = 0; verb <= FAULT_WAIT; verb++)
        assert_non_null(strstr(help, fault_verb_name((enum fault_verb)verb)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_is_a_step),
        cmocka_unit_test(repeat_and_end_find_each_other),
        cmocka_unit_test(an_error_names_line_and_column),
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(a_live_statement_is_one_step),
        cmocka_unit_test(a_pattern_is_a_name_or_begins_one),
        cmocka_unit_test(the_help_has_every_statement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
