/* test_entitle_rules.c - the access file: what it says is what is allowed. */
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

static enum entitle_verdict login(const struct entitle_rules *rules, const char *user,
                                  const char *password, struct entitle_answer *answer)
{
    struct entitle_query query = {
        .kind = ENTITLE_LOGIN,
        .user = view(user),
        .password = view(password),
    };
    return entitle_rules_judge(rules, &query, answer);
}

static enum entitle_verdict item(const struct entitle_rules *rules, const char *user,
                                 const char *service, const char *name)
{
    struct entitle_answer answer;
    struct entitle_query query = {
        .kind = ENTITLE_ITEM,
        .domain = 6,
        .user = view(user),
        .service = view(service),
        .item = view(name),
    };
    return entitle_rules_judge(rules, &query, &answer);
}

static void without_rules_everything_is_allowed(void **state)
{
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(login(NULL, "anyone", "", &answer), ENTITLE_ALLOW);
    assert_int_equal(item(NULL, "anyone", "RDFD", "IBM.N"), ENTITLE_ALLOW);
}

static void a_login_needs_a_line_that_fits_and_its_password(void **state)
{
    struct entitle_rules *rules = rules_of("! staff\n"
                                           "user alice password=secret mounts=2\n"
                                           "user guest*\n");
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(login(rules, "alice", "secret", &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.mounts_max, 2);
    assert_int_equal(login(rules, "alice", "secreT", &answer), ENTITLE_DENY);
    assert_string_equal(answer.text, "user name or password refused");
    assert_int_equal(login(rules, "alice", "", &answer), ENTITLE_DENY);
    assert_int_equal(login(rules, "guest7", "", &answer), ENTITLE_ALLOW);
    assert_int_equal(login(rules, "mallory", "secret", &answer), ENTITLE_DENY);
    entitle_rules_destroy(rules);
}

static void a_token_is_compared_with_the_token(void **state)
{
    struct entitle_rules *rules = rules_of("user svc token=T1\n");
    struct entitle_answer answer;
    struct entitle_query query = {
        .kind = ENTITLE_LOGIN,
        .user = view("svc"),
        .token = view("T1"),
    };

    (void)state;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    query.token = view("T2");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_string_equal(answer.text, "token refused");
    entitle_rules_destroy(rules);
}

static void the_first_rule_that_fits_decides_an_item(void **state)
{
    struct entitle_rules *rules = rules_of("user *\n"
                                           "allow bob RDFD IBM.N\n"
                                           "deny  bob RDFD *.N\n"
                                           "deny  *   HIDDEN *\n");

    (void)state;
    assert_int_equal(item(rules, "bob", "RDFD", "IBM.N"), ENTITLE_ALLOW);
    assert_int_equal(item(rules, "bob", "RDFD", "MSFT.N"), ENTITLE_DENY);
    assert_int_equal(item(rules, "bob", "RDFD", "MSFT.O"), ENTITLE_ALLOW);
    assert_int_equal(item(rules, "ann", "RDFD", "MSFT.N"), ENTITLE_ALLOW);
    assert_int_equal(item(rules, "ann", "HIDDEN", "MSFT.N"), ENTITLE_DENY);
    entitle_rules_destroy(rules);
}

static void patterns_match_as_people_expect(void **state)
{
    struct entitle_rules *rules = rules_of("deny * * A*B?C\n");

    (void)state;
    assert_int_equal(item(rules, "u", "S", "AB1C"), ENTITLE_DENY);
    assert_int_equal(item(rules, "u", "S", "AxxBBxC"), ENTITLE_DENY);
    assert_int_equal(item(rules, "u", "S", "AxxB1CC"), ENTITLE_ALLOW);
    assert_int_equal(item(rules, "u", "S", "ABC"), ENTITLE_ALLOW);
    assert_int_equal(item(rules, "u", "S", ""), ENTITLE_ALLOW);
    entitle_rules_destroy(rules);
}

struct said {
    int count;
    int line;
    char text[256];
};

static void remember(void *closure, int line, const char *text)
{
    struct said *said = closure;

    said->count++;
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
        { "user a\nuser\n", 2, "user: a name is expected; example: user alice password=secret" },
        { "user a mounts=many\n", 1,
          "user: password=WORD, token=WORD, mounts=NUMBER, items=NUMBER or "
          "messages=NUMBER[/BURST] is expected here" },
        { "user a password=\n", 1,
          "user: a word is expected behind password= and token=; leave the key out if the user "
          "needs none" },
        { "allow a S * do=write\n", 1,
          "do=view, do=publish or do=view,publish is expected behind the item" },
        { "allow a S * do=view,\n", 1,
          "do=view, do=publish or do=view,publish is expected behind the item" },
        { "allow a S X.* do=publish\n", 1,
          "do=publish is about a whole service: * is expected as the item" },
        { "\n\ndeny bob RDFD\n", 3,
          "three patterns are expected: USER SERVICE ITEM; example: deny * RDFD *.N" },
        { "permit bob RDFD *\n", 1, "user, allow or deny is expected at the start of a line" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct said said = { 0 };
        struct entitle_rules *rules;

        assert_int_equal(
            entitle_rules_create(cases[i].text, strlen(cases[i].text), remember, &said, &rules),
            MD_ERR_MALFORMED);
        assert_null(rules);
        assert_int_equal(said.count, 1);
        assert_int_equal(said.line, cases[i].line);
        assert_string_equal(said.text, cases[i].said);
    }
}

static enum entitle_verdict may_publish(const struct entitle_rules *rules, const char *user,
                                        const char *service)
{
    struct entitle_answer answer;
    struct entitle_query query = {
        .kind = ENTITLE_PUBLISH,
        .user = view(user),
        .service = view(service),
    };
    return entitle_rules_judge(rules, &query, &answer);
}

static void only_lines_about_publishing_let_a_user_publish(void **state)
{
    struct entitle_rules *rules = rules_of("user *\n"
                                           "allow bob  *     *\n"
                                           "deny  bob  NEWS  * do=publish\n"
                                           "allow bob  N*    * do=publish\n"
                                           "allow ann  RDFD  * do=view,publish\n"
                                           "deny  *    RDFD  *\n");

    (void)state;
    assert_int_equal(may_publish(rules, "bob", "RDFD"), ENTITLE_DENY);
    assert_int_equal(may_publish(rules, "bob", "NEWS"), ENTITLE_DENY);
    assert_int_equal(may_publish(rules, "bob", "NYSE"), ENTITLE_ALLOW);
    assert_int_equal(may_publish(rules, "ann", "RDFD"), ENTITLE_ALLOW);
    assert_int_equal(may_publish(rules, "eve", "RDFD"), ENTITLE_DENY);
    assert_int_equal(item(rules, "ann", "RDFD", "X"), ENTITLE_ALLOW);
    assert_int_equal(item(rules, "eve", "RDFD", "X"), ENTITLE_DENY);
    assert_int_equal(item(rules, "bob", "NEWS", "X"), ENTITLE_ALLOW);
    entitle_rules_destroy(rules);
}

static void a_user_has_the_limits_of_its_line(void **state)
{
    struct entitle_rules *rules = rules_of("user feed items=500 messages=1000/5000\n"
                                           "user slow messages=10\n");
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(login(rules, "feed", "", &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.items_max, 500);
    assert_int_equal(answer.messages_per_s, 1000);
    assert_int_equal(answer.messages_burst, 5000);
    assert_int_equal(login(rules, "slow", "", &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.items_max, 0);
    assert_int_equal(answer.messages_burst, 10);
    entitle_rules_destroy(rules);
}

static void a_file_that_lets_nobody_publish_is_known(void **state)
{
    static const struct {
        const char *text;
        bool logs_in, publishes;
    } cases[] = {
        { "", false, false },
        { "user a\n", true, false },
        { "allow a S *\n", false, false },
        { "user a\ndeny a S * do=publish\n", true, false },
        { "user a\nallow a S * do=publish\n", true, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct entitle_rules *rules = rules_of(cases[i].text);

        assert_true(entitle_rules_open_to_any(rules, ENTITLE_LOGIN) == cases[i].logs_in);
        assert_true(entitle_rules_open_to_any(rules, ENTITLE_PUBLISH) == cases[i].publishes);
        entitle_rules_destroy(rules);
    }
}

static void the_authority_follows_a_reload(void **state)
{
    entitle_rules_slot rules = NULL;
    struct entitle_authority authority = entitle_rules_authority(&rules);
    struct entitle_query query = { .kind = ENTITLE_LOGIN, .user = view("eve") };
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(authority.ask(authority.self, &query, 7, &answer), ENTITLE_ALLOW);
    assert_true(answer.ticket == 7);
    struct entitle_rules *strict = rules_of("user alice\n");
    rules = strict;
    assert_int_equal(authority.ask(authority.self, &query, 8, &answer), ENTITLE_DENY);
    assert_int_equal(authority.answers(authority.self, &answer, 1), 0);
    entitle_rules_destroy(strict);
}

/* ---- many lines ---- */

#define MANY_LINES 50000

/* Lines as large files have them: one user and one item, heads, tails, whole services. */
static size_t one_of_many(char *out, unsigned i)
{
    switch (i % 4) {
    case 0:
        return (size_t)sprintf(out, "allow user%u RDFD I%u.N\n", i / 8, i);
    case 1:
        return (size_t)sprintf(out, "deny user%u RDFD *.X%u\n", i / 8, i);
    case 2:
        return (size_t)sprintf(out, "allow user%u * EUR%u*\n", i / 8, i);
    default:
        return (size_t)sprintf(out, "deny desk%u* NEWS N*\n", i / 8);
    }
}

static char *many_lines(void)
{
    char *text = malloc(MANY_LINES * 64);
    size_t used = 0;

    assert_non_null(text);
    for (unsigned i = 0; i < MANY_LINES; i++)
        used += one_of_many(text + used, i);
    return text;
}

static void a_check_looks_at_a_few_of_many_lines(void **state)
{
    char *text = many_lines();
    struct entitle_rules *rules = rules_of(text);
    uint32_t most = 0;

    (void)state;
    for (unsigned i = 0; i < 8000; i++) {
        char user[32], name[32];
        struct entitle_answer answer;

        snprintf(user, sizeof(user), "user%u", i);
        snprintf(name, sizeof(name), "I%u.N", i * 8);
        const struct entitle_query query = {
            .kind = ENTITLE_ITEM,
            .user = view(user),
            .service = view("RDFD"),
            .item = view(name),
        };
        assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
        most = answer.rules_seen > most ? answer.rules_seen : most;
    }
    assert_true(most > 0 && most < 10);
    entitle_rules_destroy(rules);
    free(text);
}

static void a_login_looks_at_a_few_of_many_users(void **state)
{
    char *text = malloc(MANY_LINES * 64);
    size_t used = 0;
    struct entitle_answer answer;

    (void)state;
    assert_non_null(text);
    for (unsigned i = 0; i < MANY_LINES; i++)
        used +=
            (size_t)sprintf(text + used, i % 100 ? "user u%u password=p%u\n" : "user g%u*\n", i, i);
    struct entitle_rules *rules = rules_of(text);

    assert_int_equal(login(rules, "u49999", "p49999", &answer), ENTITLE_ALLOW);
    assert_true(answer.rules_seen < 10);
    assert_int_equal(login(rules, "g400x", "", &answer), ENTITLE_ALLOW);
    assert_true(answer.rules_seen < 10);
    assert_int_equal(login(rules, "mallory", "", &answer), ENTITLE_DENY);
    assert_true(answer.rules_seen < 10);
    entitle_rules_destroy(rules);
    free(text);
}

/* Short words of two letters and wildcards: many lines fit many questions. */
static void random_word(uint32_t *seed, bool is_pattern, char out[8])
{
    static const char letters[] = "abab*?";
    unsigned length = (*seed = *seed * 1664525u + 1013904223u) >> 16 & 3;

    for (unsigned i = 0; i <= length; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        out[i] = letters[(*seed >> 16) % (is_pattern ? 6 : 4)];
    }
    out[length + 1] = 0;
}

static bool fits_slowly(const char *pattern, const char *text)
{
    if (*pattern == '*')
        return fits_slowly(pattern + 1, text) || (*text && fits_slowly(pattern, text + 1));
    if (!*text)
        return !*pattern;
    return (*pattern == '?' || *pattern == *text) && fits_slowly(pattern + 1, text + 1);
}

struct random_line {
    char words[3][8];
    bool allow;
};

static bool is_allowed_slowly(const struct random_line *lines, unsigned count, char words[3][8])
{
    for (unsigned i = 0; i < count; i++) {
        if (fits_slowly(lines[i].words[0], words[0]) && fits_slowly(lines[i].words[1], words[1]) &&
            fits_slowly(lines[i].words[2], words[2]))
            return lines[i].allow;
    }
    return true;
}

static void random_questions_have_the_answer_of_the_first_line(void **state)
{
    enum { FILES = 60, LINES = 40, QUESTIONS = 100 };
    uint32_t seed = 7;

    (void)state;
    for (unsigned f = 0; f < FILES; f++) {
        struct random_line lines[LINES];
        char text[LINES * 40], words[3][8];
        size_t used = 0;

        for (unsigned i = 0; i < LINES; i++) {
            for (unsigned k = 0; k < 3; k++)
                random_word(&seed, true, lines[i].words[k]);
            lines[i].allow = seed >> 20 & 1;
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s %s %s\n",
                                     lines[i].allow ? "allow" : "deny", lines[i].words[0],
                                     lines[i].words[1], lines[i].words[2]);
        }
        struct entitle_rules *rules = rules_of(text);
        for (unsigned i = 0; i < QUESTIONS; i++) {
            for (unsigned k = 0; k < 3; k++)
                random_word(&seed, false, words[k]);
            assert_int_equal(item(rules, words[0], words[1], words[2]) == ENTITLE_ALLOW,
                             is_allowed_slowly(lines, LINES, words));
        }
        entitle_rules_destroy(rules);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_rules_everything_is_allowed),
        cmocka_unit_test(a_login_needs_a_line_that_fits_and_its_password),
        cmocka_unit_test(a_token_is_compared_with_the_token),
        cmocka_unit_test(the_first_rule_that_fits_decides_an_item),
        cmocka_unit_test(patterns_match_as_people_expect),
        cmocka_unit_test(each_mistake_is_told_with_its_line),
        cmocka_unit_test(only_lines_about_publishing_let_a_user_publish),
        cmocka_unit_test(a_user_has_the_limits_of_its_line),
        cmocka_unit_test(a_file_that_lets_nobody_publish_is_known),
        cmocka_unit_test(the_authority_follows_a_reload),
        cmocka_unit_test(a_check_looks_at_a_few_of_many_lines),
        cmocka_unit_test(a_login_looks_at_a_few_of_many_users),
        cmocka_unit_test(random_questions_have_the_answer_of_the_first_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
