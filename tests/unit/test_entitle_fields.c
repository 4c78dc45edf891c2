/* test_entitle_fields.c - which fields of an item a user may see. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "entitle/entitle.h"

static char told[2048];

static void note(void *self, int line, const char *text)
{
    size_t used = strlen(told);

    (void)self;
    snprintf(told + used, sizeof(told) - used, "%d: %s\n", line, text);
}

static struct entitle_rules *rules_of(const char *text)
{
    struct entitle_rules *rules = NULL;

    told[0] = 0;
    if (entitle_rules_create(text, strlen(text), note, NULL, &rules) != MD_OK)
        fail_msg("%s", told);
    return rules;
}

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

static void on_step(void *self, const char *step, uint32_t line, const char *text)
{
    (void)text;
    if (strcmp(step, "fields") == 0)
        *(uint32_t *)self = line;
}

/* "keep 22 25", "drop 22", "all" or "denied", as the user sees the item. */
static const char *seen(const struct entitle_rules *rules, const char *user, const char *item)
{
    static char text[256];
    struct entitle_answer answer;
    uint32_t explained = UINT32_MAX;
    const struct entitle_query query = {
        .kind = ENTITLE_ITEM,
        .domain = 6,
        .user = view(user),
        .service = view("RDFD"),
        .item = view(item),
        .step = on_step,
        .step_self = &explained,
    };

    if (entitle_rules_judge(rules, &query, &answer) != ENTITLE_ALLOW) {
        assert_false(answer.has_fields);
        return "denied";
    }
    if (!answer.has_fields)
        return "all";
    assert_int_not_equal(explained, UINT32_MAX); /* the tool says which line */
    snprintf(text, sizeof(text), "%s", answer.are_fields_dropped ? "drop" : "keep");
    for (uint32_t i = 0; i < answer.field_count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " %d", answer.fields[i]);
    return text;
}

static void the_first_line_about_a_user_or_his_role_decides(void **state)
{
    struct entitle_rules *rules = rules_of("role desk\n"
                                           "user alice role=desk\n"
                                           "user bob\n"
                                           "user root\n"
                                           "fields root  *    *    keep *\n"
                                           "fields alice RDFD *.N  keep 25,22\n"
                                           "fields @desk RDFD *    drop 30-32,-4\n"
                                           "fields bob   RDFD *.L  drop *\n"
                                           "deny * RDFD SECRET\n"
                                           "fields *     *    EUR= keep 22\n");

    (void)state;
    assert_string_equal(seen(rules, "alice", "IBM.N"), "keep 22 25");
    assert_string_equal(seen(rules, "alice", "BT.L"), "drop -4 30 31 32");
    assert_string_equal(seen(rules, "bob", "BT.L"), "keep");
    assert_string_equal(seen(rules, "bob", "EUR="), "keep 22");
    assert_string_equal(seen(rules, "bob", "IBM.N"), "all");
    assert_string_equal(seen(rules, "root", "EUR="), "all");
    assert_string_equal(seen(rules, "alice", "SECRET"), "denied");
    entitle_rules_destroy(rules);
}

static void lists_may_have_blanks_and_go_on_in_the_next_line(void **state)
{
    struct entitle_rules *rules = rules_of("fields * * * keep 5 -32768--32767 \\\n32767\n");

    (void)state;
    assert_string_equal(seen(rules, "alice", "IBM.N"), "keep -32768 -32767 5 32767");
    entitle_rules_destroy(rules);
}

static void refuse(const char *line, const char *expected)
{
    struct entitle_rules *rules = NULL;

    told[0] = 0;
    assert_int_equal(entitle_rules_create(line, strlen(line), note, NULL, &rules),
                     MD_ERR_MALFORMED);
    assert_null(rules);
    if (!strstr(told, expected))
        fail_msg("%s: %s", line, told);
}

static void a_line_that_cannot_be_read_is_a_mistake(void **state)
{
    (void)state;
    refuse("fields alice RDFD * 22\n", "keep or drop");
    refuse("fields alice RDFD * keep\n", "keep or drop");
    refuse("fields alice RDFD * hide 22\n", "keep or drop");
    refuse("fields alice RDFD * keep BID\n", "1: fields: \"BID\" is no field id");
    refuse("fields alice RDFD * keep 22,,25\n", "\"\" is no field id");
    refuse("fields alice RDFD * keep 25-22\n", "\"25-22\" is no field id");
    refuse("fields alice RDFD * keep 32768\n", "\"32768\" is no field id");
    refuse("fields alice RDFD * keep -32769\n", "\"-32769\" is no field id");
    refuse("fields alice RDFD * keep 1-2-3\n", "\"1-2-3\" is no field id");
    refuse("fields alice RDFD * keep 22,*\n", "\"*\" is no field id");
    refuse("fields alice RDFD * keep -32768-32767\n", "no room for more than 65535 ids");
    refuse("field alice RDFD * keep 22\n", "did you mean fields?");
}

static void ids_that_are_named_twice_and_lines_never_reached_are_said(void **state)
{
    struct entitle_rules *rules = rules_of("default items allow\n"
                                           "default posts deny\n"
                                           "role desk\n"
                                           "fields @desk RDFD *   drop 22,25,20-23\n"
                                           "fields @desk RDFD *.N keep 22\n"
                                           "fields @desk IDN  *   keep 22\n");

    (void)state;
    entitle_rules_review(rules, note, NULL);
    assert_string_equal(told, "4: fields: 22 is named twice\n"
                              "5: this line decides nothing: line 4 comes first and fits all of "
                              "it\n");
    entitle_rules_destroy(rules);
}

static void on_line(void *self, uint32_t line)
{
    *(uint32_t *)self = *(uint32_t *)self * 10 + line;
}

static void the_lines_about_a_user_have_those_about_his_fields(void **state)
{
    struct entitle_rules *rules = rules_of("role desk\n"
                                           "user alice role=desk\n"
                                           "fields @desk RDFD * drop 22\n"
                                           "fields bob   RDFD * drop 22\n"
                                           "fields *     RDFD * drop 23\n");
    uint32_t lines = 0;

    (void)state;
    assert_true(entitle_rules_about(rules, view("alice"), on_line, &lines));
    assert_int_equal(lines, 2135);
    entitle_rules_destroy(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_about_a_user_or_his_role_decides),
        cmocka_unit_test(lists_may_have_blanks_and_go_on_in_the_next_line),
        cmocka_unit_test(a_line_that_cannot_be_read_is_a_mistake),
        cmocka_unit_test(ids_that_are_named_twice_and_lines_never_reached_are_said),
        cmocka_unit_test(the_lines_about_a_user_have_those_about_his_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
