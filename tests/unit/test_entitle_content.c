/* test_entitle_content.c - permission data against what the access file grants. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "entitle/entitle.h"

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

static struct entitle_rules *rules_of(const char *text)
{
    struct entitle_rules *rules;

    assert_int_equal(entitle_rules_create(text, strlen(text), NULL, NULL, &rules), MD_OK);
    return rules;
}

/* The lock is one of service id 257 with one code, in so many digits; "" none, NULL not known. */
static const char *given = ""; /* by an authority outside */

static enum entitle_verdict ask(const struct entitle_rules *rules, const char *user,
                                const char *code, struct entitle_answer *answer)
{
    uint8_t lock[32] = { 3, 1, 1 };
    size_t nibble = 6;
    struct entitle_query query = {
        .kind = ENTITLE_ITEM,
        .domain = 6,
        .user = view(user),
        .service = view("RDFD"),
        .item = view("BT.L"),
        .is_lock_known = code != NULL,
        .roles = view(given),
    };

    for (; code && *code; code++, nibble++) {
        unsigned value = *code == '|' ? 11 : *code == '&' ? 10 : (unsigned)(*code - '0');
        lock[nibble / 2] |= (uint8_t)(nibble % 2 ? value : value << 4);
    }
    lock[nibble / 2] |= nibble % 2 ? 12 : 12 << 4;
    if (nibble > 6)
        query.permission_data = (struct entitle_view){ (const char *)lock, nibble / 2 + 1 };
    return entitle_rules_judge(rules, &query, answer);
}

static const char firm[] = "user *\n"
                           "user alice role=rates\n"
                           "role rates role=base\n"
                           "role base\n"
                           "peset IDN ids=257,258\n"
                           "pe IDN 5625 LSE & (EQ2000 | MONEY2000)\n"
                           "pe IDN 62,144-150 NYSE\n"
                           "grant @rates IDN EQ2000,7\n"
                           "grant bob IDN LSE,EQ2000\n"
                           "grant carol IDN 100-199\n"
                           "grant dave IDN *\n"
                           "content RDFD lock\n";

static void a_code_is_held_by_number_by_name_and_through_roles(void **state)
{
    char text[1024];
    struct entitle_answer answer;
    static const struct {
        const char *user, *lock;
        enum entitle_verdict verdict;
    } cases[] = {
        { "bob", "5625", ENTITLE_ALLOW },    { "eve", "5625", ENTITLE_DENY },
        { "carol", "150", ENTITLE_ALLOW },   { "carol", "99", ENTITLE_DENY },
        { "carol", "200", ENTITLE_DENY },    { "dave", "5625&99999", ENTITLE_ALLOW },
        { "bob", "5625|62", ENTITLE_ALLOW }, { "bob", "5625&62", ENTITLE_DENY },
        { "eve", "", ENTITLE_ALLOW },        { "eve", NULL, ENTITLE_ALLOW },
        { "alice", "7", ENTITLE_ALLOW },     { "alice", "5625", ENTITLE_DENY },
    };

    (void)state;
    /* The first user line decides who alice is: she comes before everybody. */
    snprintf(text, sizeof(text), "user alice role=rates\n%s", firm);
    struct entitle_rules *rules = rules_of(text);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ask(rules, cases[i].user, cases[i].lock, &answer), cases[i].verdict);
        assert_true(answer.needs_lock);
    }
    ask(rules, "eve", "62|144&5625", &answer);
    assert_string_equal(answer.text, "Access Denied: User req to PE(62|144)");
    entitle_rules_destroy(rules);
}

static void what_a_file_does_not_say_is_as_its_content_line_wants(void **state)
{
    static const struct {
        const char *content, *lock;
        enum entitle_verdict verdict;
    } cases[] = {
        { "", "62", ENTITLE_ALLOW }, /* no line: nothing counts */
        { "content RDFD none\n", "62", ENTITLE_ALLOW },
        { "content OTHER lock\n", "62", ENTITLE_ALLOW },
        { "content RDFD lock nolock=deny\n", "", ENTITLE_DENY },
        { "content RDFD lock nolock=deny\n", NULL, ENTITLE_ALLOW },
        { "content RDFD lock unknownpe=allow\n", "62", ENTITLE_ALLOW },
        { "content RDFD lock\n", "62", ENTITLE_DENY },
        { "content RDFD lock\n", "6||2", ENTITLE_DENY },
        { "content RDFD lock badlock=allow\n", "6||2", ENTITLE_ALLOW },
        { "content RDFD map\n", "", ENTITLE_ALLOW },
        { "content RDFD map nolock=deny\n", "", ENTITLE_DENY },
        { "content RDFD both\npeset IDN ids=257\nmap RDFD *.L IDN 5 & 6\n", "", ENTITLE_DENY },
        { "content RDFD map\npeset IDN ids=257\nmap RDFD *.L IDN 5&6\ngrant * IDN 5,6\n", "99",
          ENTITLE_ALLOW },
        { "content RDFD both\npeset IDN ids=257\nmap RDFD *.L IDN 5 & 6\ngrant * IDN 5,6\n", "99",
          ENTITLE_DENY },
        { "content RDFD both\npeset IDN ids=257\nmap RDFD *.L IDN 5 & 6\ngrant * IDN 5,6\n", "5",
          ENTITLE_ALLOW },
    };
    struct entitle_answer answer;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct entitle_rules *rules = rules_of(cases[i].content);

        assert_int_equal(ask(rules, "eve", cases[i].lock, &answer), cases[i].verdict);
        entitle_rules_destroy(rules);
    }
}

static void a_name_that_is_denied_stays_denied_whatever_is_granted(void **state)
{
    struct entitle_rules *rules = rules_of("deny eve RDFD *.L\npeset IDN ids=257\n"
                                           "grant * IDN *\ncontent * lock\n");
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(ask(rules, "eve", "62", &answer), ENTITLE_DENY);
    assert_int_equal(ask(rules, "bob", "62", &answer), ENTITLE_ALLOW);
    entitle_rules_destroy(rules);
}

struct said {
    int line;
    char text[256];
};

static void remember(void *closure, int line, const char *text)
{
    struct said *said = closure;

    said->line = line;
    snprintf(said->text, sizeof(said->text), "%s", text);
}

static void each_mistake_is_told_with_its_line(void **state)
{
    static const struct {
        const char *text;
        int line;
        const char *said;
    } cases[] = {
        { "peset IDN\n", 1, "peset: a name and ids= are expected; example: peset IDN ids=257,258" },
        { "peset IDN ids=70000\n", 1, "peset IDN: \"70000\" is not a service id (0..65535)" },
        { "peset A ids=1\npeset B ids=1\n", 2, "peset B: service id 1 belongs to another peset" },
        { "peset A ids=1\npeset A ids=2\n", 2, "peset A is defined already" },
        { "\npe IDN 62 NYSE\n", 2, "pe: no peset line has the name IDN" },
        { "peset A ids=1\npe A 150-144 NYSE\n", 2,
          "pe: \"150-144\" is no code, and no range of codes" },
        { "peset A ids=1\npe A 62 NYSE &\n", 2,
          "pe: \"NYSE &\" is no expression: names, &, |, ( and ) are expected" },
        { "peset A ids=1\npe A 62 NYSE ) X\n", 2,
          "pe: \"NYSE ) X\" is no expression: names, &, |, ( and ) are expected; it ends at ) X" },
        { "peset A ids=1\npe A 62-64 X\npe A 63 Y\n", 3, "pe A: code 63 is that of line 2, too" },
        { "peset A ids=1\nmap S I A NYSE\n", 2,
          "map: \"NYSE\" is no expression: codes, &, |, ( and ) are expected" },
        { "peset A ids=1\ngrant u A 6x\n", 2,
          "grant: \"6x\" is no name, no code and no range of codes" },
        { "grant u A X\n", 1, "grant: no peset line has the name A" },
        { "content S perhaps\n", 1,
          "content: a service and lock, map, both or none are expected; example: content RDFD lock "
          "nolock=deny" },
        { "content S lock nolock=maybe\n", 1,
          "content: \"nolock=maybe\": nolock=, badlock= or unknownpe= with allow or deny is "
          "expected" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct said said = { 0 };
        struct entitle_rules *rules;

        assert_int_equal(
            entitle_rules_create(cases[i].text, strlen(cases[i].text), remember, &said, &rules),
            MD_ERR_MALFORMED);
        assert_string_equal(said.text, cases[i].said);
        assert_int_equal(said.line, cases[i].line);
    }
}

static void a_session_holds_what_it_was_granted_beside_the_file(void **state)
{
    struct entitle_rules *rules = rules_of(firm);
    struct entitle_answer answer;
    static const struct {
        const char *given, *user, *lock;
        enum entitle_verdict verdict;
    } cases[] = {
        { "", "eve", "5625", ENTITLE_DENY },
        { "\nIDN\t5625", "eve", "5625", ENTITLE_ALLOW },
        { "\nIDN\tLSE,EQ2000", "eve", "5625", ENTITLE_ALLOW },
        { "\nIDN\tLSE", "eve", "5625", ENTITLE_DENY },
        { "base,rates\nIDN\tLSE", "eve", "5625", ENTITLE_ALLOW }, /* EQ2000 of a role */
        { "rates\nIDN\tLSE", "eve", "5625", ENTITLE_ALLOW },
        { "\nOTHER\t5625\nIDN\t100-199,7", "eve", "150", ENTITLE_ALLOW },
        { "\nOTHER\t5625\nIDN\t100-199,7", "eve", "5625", ENTITLE_DENY },
        { "\nIDN\t100-199,7", "eve", "200", ENTITLE_DENY },
        { "\nIDN\t*", "eve", "5625&99999", ENTITLE_ALLOW },
        { "\nIDNX\t5625", "eve", "5625", ENTITLE_DENY },
        { "IDN\t5625", "eve", "5625", ENTITLE_DENY }, /* it is no role, either */
        { "\nIDN\t199-100,,-5,5625x", "eve", "150", ENTITLE_DENY },
        { "\nIDN", "eve", "62", ENTITLE_DENY },
        { "\nIDN\t", "eve", "62", ENTITLE_DENY },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        given = cases[i].given;
        if (ask(rules, cases[i].user, cases[i].lock, &answer) != cases[i].verdict)
            fail_msg("case %zu: %s", i, answer.text);
    }
    given = "";
    entitle_rules_destroy(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_holds_what_it_was_granted_beside_the_file),
        cmocka_unit_test(a_code_is_held_by_number_by_name_and_through_roles),
        cmocka_unit_test(what_a_file_does_not_say_is_as_its_content_line_wants),
        cmocka_unit_test(a_name_that_is_denied_stays_denied_whatever_is_granted),
        cmocka_unit_test(each_mistake_is_told_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
