/* test_entitle_review.c - warnings about an access file, and the steps of a verdict. */
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

#define DEFAULTS "default items deny\ndefault posts deny\n"
#define OPEN     "default items allow\ndefault posts allow\n"

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

static const char *review(const char *text)
{
    struct entitle_rules *rules = rules_of(text);

    entitle_rules_review(rules, note, NULL);
    entitle_rules_destroy(rules);
    return told;
}

static void a_file_that_says_all_has_no_warning(void **state)
{
    (void)state;
    assert_string_equal(review(DEFAULTS "role r\n"
                                        "user alice role=r\n"
                                        "user *\n"
                                        "deny alice RDFD *.N\n"
                                        "allow @r RDFD *\n"
                                        "allow alice RDFD *.O domain=6\n"
                                        "allow alice RDFD *.O do=post\n"),
                        "");
}

static void a_user_that_no_line_is_about_is_told(void **state)
{
    static const char deny[] = "default items deny\ndefault posts deny\n";
    char text[500];

    (void)state;
    snprintf(text, sizeof(text),
             "%srole r claim=g:r\nuser a\nuser b auth=none\nuser c role=r\nuser d*\nuser e\n"
             "user f auth=jwt\nuser g auth=none\nallow e RDFD * do=publish\nallow g* RDFD *\n",
             deny);
    assert_string_equal(review(text), "5: user b: he has no role, and no allow line is about him: "
                                      "nothing is allowed\n");
    assert_string_equal(review("default items deny\ndefault posts allow\nuser a\n"), "");
}

static void secrets_in_clear_are_told_once(void **state)
{
    (void)state;
    assert_string_equal(review(OPEN "user a\nuser b password=x\nuser c token=y\n"),
                        "4: 2 user lines have a secret in clear; make hash= and tokenhash= with: "
                        "rmdsaccess hash, rmdsaccess tokenhash\n");
}

static void a_grant_of_what_no_pe_line_has_is_told(void **state)
{
    (void)state;
    assert_string_equal(review(OPEN
                               "peset IDN ids=1\npeset B ids=2\npe IDN 62,100-149 NYSE & "
                               "(X | Y)\nuser a\ngrant a IDN NYSE,Y,NYS,62,120-200,150,150-160\n"
                               "grant a B 7,*\ngrant * IDN *\n"),
                        "7: grant: NYS is in no pe line of IDN\n"
                        "7: grant: 150 is in no pe line of IDN\n"
                        "7: grant: 150-160 is in no pe line of IDN\n");
}

static void a_missing_default_is_said(void **state)
{
    (void)state;
    assert_non_null(strstr(review("user alice\n"), "no \"default items\" line"));
    assert_non_null(strstr(told, "no \"default posts\" line"));
}

static void an_old_denial_is_said_to_deny_posts(void **state)
{
    (void)state;
    assert_non_null(strstr(review("user *\ndeny * RDFD *.N\n"), "2: this line denies posts, too"));
    assert_null(strstr(review("user *\ndeny * RDFD *.N do=view\n"), "2: "));
    assert_null(strstr(review("default posts deny\nuser *\ndeny * RDFD *.N\n"), "3: "));
}

static void a_line_that_decides_nothing_is_said(void **state)
{
    (void)state;
    assert_string_equal(review(DEFAULTS "user *\n"
                                        "deny * RDFD *\n"
                                        "allow alice RDFD IBM*\n"),
                        "5: this line decides nothing: line 4 comes first and fits all of it\n");
    assert_string_equal(review(DEFAULTS "role r\nuser * role=r\n"
                                        "deny * RDFD A*\n"
                                        "allow @r RDFD AB*\n"),
                        "6: this line decides nothing: line 5 comes first and fits all of it\n");
}

static void a_line_of_which_a_part_counts_is_not(void **state)
{
    (void)state;
    assert_string_equal(review(DEFAULTS "user *\n"
                                        "deny ? RDFD *\n" /* not: all users */
                                        "allow * RDFD *\n"
                                        "deny * OTHER * domain=7\n"
                                        "allow * OTHER *\n"
                                        "allow * NEWS A? do=view\n"
                                        "deny * NEWS A*\n"),
                        "");
}

static void a_user_line_that_nobody_comes_to_is_said(void **state)
{
    (void)state;
    assert_string_equal(review(OPEN "user a*\nuser alice mounts=1\nuser bob\nuser bob\n"),
                        "4: user alice: nobody comes to this line: line 3 fits first\n"
                        "6: user bob: nobody comes to this line: line 5 fits first\n");
}

/* ---- steps ---- */

static void on_step(void *self, const char *step, uint32_t line, const char *text)
{
    size_t used = strlen(told);

    (void)self;
    snprintf(told + used, sizeof(told) - used, "%s %u %s\n", step, line, text);
}

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

static enum entitle_verdict ask(const struct entitle_rules *rules, enum entitle_kind kind,
                                struct entitle_view lock)
{
    struct entitle_answer answer;
    const struct entitle_query query = {
        .kind = kind,
        .domain = 6,
        .user = view("alice"),
        .service = view("RDFD"),
        .item = view("BT.L"),
        .permission_data = lock,
        .is_lock_known = true,
        .is_proof_given = true,
        .step = on_step,
    };

    told[0] = 0;
    return entitle_rules_judge(rules, &query, &answer);
}

static void each_step_of_a_verdict_names_its_line(void **state)
{
    static const struct entitle_view lock = { "\x03\x01\x02\x62\xa5\x62\x5c", 7 };
    struct entitle_rules *rules = rules_of("peset IDN ids=258\n"
                                           "pe IDN 5625 LSE\n"
                                           "content RDFD lock\n"
                                           "role rates\n"
                                           "user alice password=x role=rates\n"
                                           "grant alice IDN 62\n"
                                           "allow @rates RDFD *.L\n"
                                           "deny alice RDFD * do=post\n");

    (void)state;
    assert_int_equal(ask(rules, ENTITLE_LOGIN, lock), ENTITLE_ALLOW);
    assert_string_equal(told, "user 5 \n");
    assert_int_equal(ask(rules, ENTITLE_ITEM, lock), ENTITLE_DENY);
    assert_string_equal(told, "name 7 allow\ncontent 3 \n"
                              "code 0 62 is held: granted by its number\n"
                              "code 2 5625 is not held: LSE no\n"
                              "remedy 0 grant alice IDN LSE\n");
    assert_int_equal(ask(rules, ENTITLE_POST, lock), ENTITLE_DENY);
    assert_string_equal(told, "name 7 allow\npost 8 deny\n");
    entitle_rules_destroy(rules);
}

static void who_has_expired_is_said_once(void **state)
{
    struct entitle_rules *rules = rules_of("role r expires=2027-01-15\nuser a role=r\n"
                                           "user b expires=2027-01-15T08:00:00Z\n"
                                           "user c expires=2027-01-15T08:00:01Z\nuser d\n");

    (void)state;
    entitle_rules_review_times(rules, 1800000000, note, NULL);
    assert_string_equal(told, "3: user b expired at 2027-01-15T08:00:00Z: it lets nobody in\n"
                              "1: role r expired at 2027-01-15T00:00:00Z: it lets nobody in\n");
    entitle_rules_destroy(rules);
}

static void a_remedy_grants_no_more_than_it_takes(void **state)
{
    static const struct entitle_view lock = { "\x03\x01\x02\x56\x25\xc0", 6 };
    static const struct entitle_view other = { "\x03\x01\x02\x7c", 4 };
    struct entitle_rules *rules = rules_of("peset IDN ids=258\n"
                                           "pe IDN 5625 LSE & (EQ2000 | MONEY2000) & BASE\n"
                                           "content RDFD lock\n"
                                           "user alice\n"
                                           "grant alice IDN BASE\n");

    (void)state;
    assert_int_equal(ask(rules, ENTITLE_ITEM, lock), ENTITLE_DENY);
    assert_string_equal(told, "name 0 no line fits, the default is to allow\ncontent 3 \n"
                              "code 2 5625 is not held: LSE no, EQ2000 no, MONEY2000 no, BASE yes\n"
                              "remedy 0 grant alice IDN LSE,EQ2000\n");
    assert_int_equal(ask(rules, ENTITLE_ITEM, other), ENTITLE_DENY);
    assert_non_null(strstr(told, "code 0 7 is neither granted nor in a pe line: not held\n"
                                 "remedy 0 grant alice IDN 7\n"));
    entitle_rules_destroy(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_says_all_has_no_warning),
        cmocka_unit_test(a_user_that_no_line_is_about_is_told),
        cmocka_unit_test(secrets_in_clear_are_told_once),
        cmocka_unit_test(a_grant_of_what_no_pe_line_has_is_told),
        cmocka_unit_test(a_missing_default_is_said),
        cmocka_unit_test(an_old_denial_is_said_to_deny_posts),
        cmocka_unit_test(a_line_that_decides_nothing_is_said),
        cmocka_unit_test(a_line_of_which_a_part_counts_is_not),
        cmocka_unit_test(a_user_line_that_nobody_comes_to_is_said),
        cmocka_unit_test(who_has_expired_is_said_once),
        cmocka_unit_test(each_step_of_a_verdict_names_its_line),
        cmocka_unit_test(a_remedy_grants_no_more_than_it_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
