/* test_entitle_proof.c - which proof is enough for a user: passwords, tokens, certificates. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "entitle/entitle.h"

static struct entitle_answer answer;
static struct entitle_rules *rules;

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

static void use(const char *text)
{
    entitle_rules_destroy(rules);
    assert_int_equal(entitle_rules_create(text, strlen(text), NULL, NULL, &rules), MD_OK);
}

static int clean_up(void **state)
{
    (void)state;
    entitle_rules_destroy(rules);
    rules = NULL;
    return 0;
}

/* A login that shows these. */
struct shown {
    const char *password, *token, *certificate;
    enum entitle_by by; /* proved already */
    bool needs_certificate;
};

static struct entitle_query query_of(const char *user, struct shown shown)
{
    return (struct entitle_query){
        .kind = ENTITLE_LOGIN,
        .user = view(user),
        .password = view(shown.password ? shown.password : ""),
        .token = view(shown.token ? shown.token : ""),
        .certificate = view(shown.certificate ? shown.certificate : ""),
        .by = shown.by,
        .needs_certificate = shown.needs_certificate,
    };
}

static enum entitle_verdict login(const char *user, struct shown shown)
{
    const struct entitle_query query = query_of(user, shown);

    return entitle_rules_judge(rules, &query, &answer);
}

/* The same session, after a reload. */
static enum entitle_verdict again(const char *user, struct shown shown)
{
    struct entitle_query query = query_of(user, shown);
    struct entitle_answer now;

    query.kind = ENTITLE_AGAIN;
    query.by = answer.by;
    query.proof = answer.proof;
    query.password = query.token = view("");
    return entitle_rules_judge(rules, &query, &now);
}

static void without_auth_each_secret_of_the_line_is_needed(void **state)
{
    (void)state;
    use("user a password=p cert=desk*\nuser b\nuser c cert=c\n");
    assert_int_equal(login("a", (struct shown){ .password = "p" }), ENTITLE_DENY);
    assert_string_equal(answer.text, "a client certificate is needed");
    assert_int_equal(login("a", (struct shown){ .certificate = "desk1" }), ENTITLE_DENY);
    assert_int_equal(login("a", (struct shown){ .password = "p", .certificate = "x" }),
                     ENTITLE_DENY);
    assert_string_equal(answer.text, "the certificate is of another user");
    assert_false(answer.is_certified);
    assert_int_equal(login("a", (struct shown){ .password = "p", .certificate = "desk1" }),
                     ENTITLE_ALLOW);
    assert_int_equal(answer.by, ENTITLE_BY_PASSWORD);
    assert_int_equal(login("a", (struct shown){ .by = ENTITLE_BY_JWT }), ENTITLE_DENY);
    assert_int_equal(login("b", (struct shown){ .certificate = "x" }), ENTITLE_ALLOW);
    assert_int_equal(answer.by, ENTITLE_BY_NAME);
    assert_false(answer.is_proved);
    assert_int_equal(login("c", (struct shown){ .certificate = "c" }), ENTITLE_ALLOW);
    assert_int_equal(answer.by, ENTITLE_BY_CERT);
    assert_true(answer.is_proved);
}

static void each_proof_that_auth_names_is_enough_and_no_other(void **state)
{
    (void)state;
    use("user a password=p token=t auth=password,cert\nuser n password=p auth=password,none\n"
        "user j auth=jwt\nuser t token=t auth=token,jwt\n");
    assert_int_equal(login("a", (struct shown){ .password = "p" }), ENTITLE_ALLOW);
    assert_int_equal(answer.by, ENTITLE_BY_PASSWORD);
    assert_int_equal(login("a", (struct shown){ .certificate = "a" }), ENTITLE_ALLOW);
    assert_int_equal(answer.by, ENTITLE_BY_CERT);
    assert_int_equal(login("a", (struct shown){ .certificate = "b" }), ENTITLE_DENY);
    assert_int_equal(login("a", (struct shown){ .token = "t" }), ENTITLE_DENY);
    assert_int_equal(login("a", (struct shown){ .by = ENTITLE_BY_JWT }), ENTITLE_DENY);
    assert_int_equal(login("a", (struct shown){ .password = "" }), ENTITLE_DENY);
    assert_int_equal(login("n", (struct shown){ .password = "wrong" }), ENTITLE_ALLOW);
    assert_int_equal(answer.by, ENTITLE_BY_NAME);
    assert_int_equal(login("n", (struct shown){ .password = "p" }), ENTITLE_ALLOW);
    assert_int_equal(answer.by, ENTITLE_BY_PASSWORD);
    assert_int_equal(login("j", (struct shown){ .by = ENTITLE_BY_JWT }), ENTITLE_ALLOW);
    assert_int_equal(login("j", (struct shown){ .password = "x" }), ENTITLE_DENY);
    assert_int_equal(login("t", (struct shown){ .token = "t" }), ENTITLE_ALLOW);
    assert_int_equal(login("t", (struct shown){ .by = ENTITLE_BY_JWT }), ENTITLE_ALLOW);
}

static void a_certificate_of_its_own_may_be_asked_of_everybody(void **state)
{
    struct shown own = { .certificate = "a", .needs_certificate = true };
    struct shown other = { .certificate = "b", .needs_certificate = true };
    struct shown none = { .needs_certificate = true };

    (void)state;
    use("user a\nuser svc cert=px.*\nuser t auth=jwt\n");
    assert_int_equal(login("a", own), ENTITLE_ALLOW);
    assert_int_equal(login("a", other), ENTITLE_DENY);
    assert_string_equal(answer.text, "the certificate is of another user");
    assert_int_equal(login("a", none), ENTITLE_DENY);
    assert_string_equal(answer.text, "a client certificate is needed");
    other.certificate = "px.7";
    assert_int_equal(login("svc", other), ENTITLE_ALLOW);
    none.by = ENTITLE_BY_JWT;
    assert_int_equal(login("t", none), ENTITLE_DENY);
}

static void the_authority_is_not_asked_without_the_certificate(void **state)
{
    struct shown own = { .certificate = "a", .needs_certificate = true };
    struct shown other = { .certificate = "mallory", .needs_certificate = true };

    (void)state;
    use("user a auth=authority\n");
    assert_int_equal(login("a", other), ENTITLE_DENY);
    assert_false(answer.is_outside);
    assert_string_equal(answer.text, "the certificate is of another user");
    assert_int_equal(login("a", (struct shown){ .needs_certificate = true }), ENTITLE_DENY);
    assert_int_equal(login("a", own), ENTITLE_PENDING);
    assert_true(answer.is_outside);
    answer.by = ENTITLE_BY_AUTHORITY; /* as its answer is judged */
    assert_int_equal(again("a", own), ENTITLE_ALLOW);
    assert_int_equal(again("a", other), ENTITLE_DENY);
}

static void a_certificate_is_compared_with_the_user_of_the_token(void **state)
{
    struct shown own = { .token = "t", .certificate = "a", .needs_certificate = true };
    struct shown other = { .token = "t", .certificate = "b", .needs_certificate = true };

    (void)state;
    use("user a token=t\n");
    assert_int_equal(login("", own), ENTITLE_ALLOW);
    assert_string_equal(answer.user, "a");
    assert_int_equal(login("", other), ENTITLE_DENY);
}

static void a_session_goes_on_while_its_proof_is_enough(void **state)
{
    (void)state;
    use("user a password=p auth=password,cert\nuser j auth=jwt\n");
    assert_int_equal(login("a", (struct shown){ .certificate = "a" }), ENTITLE_ALLOW);
    use("user a password=q auth=password,cert\nuser j auth=jwt\n");
    assert_int_equal(again("a", (struct shown){ .certificate = "a" }), ENTITLE_ALLOW);
    use("user a password=q auth=password\nuser j auth=jwt\n");
    assert_int_equal(again("a", (struct shown){ .certificate = "a" }), ENTITLE_DENY);
    use("user a auth=cert cert=desk*\nuser j auth=jwt\n");
    assert_int_equal(again("a", (struct shown){ .certificate = "a" }), ENTITLE_DENY);
    assert_int_equal(login("j", (struct shown){ .by = ENTITLE_BY_JWT }), ENTITLE_ALLOW);
    use("user j auth=jwt,none\n");
    assert_int_equal(again("j", (struct shown){ .password = "" }), ENTITLE_ALLOW);
    use("user j password=p\n");
    assert_int_equal(again("j", (struct shown){ .password = "" }), ENTITLE_DENY);
    use("user a password=p\n");
    assert_int_equal(login("a", (struct shown){ .password = "p" }), ENTITLE_ALLOW);
    assert_int_equal(again("a", (struct shown){ .password = "" }), ENTITLE_ALLOW);
    use("user a password=p cert=a\n");
    assert_int_equal(again("a", (struct shown){ .password = "" }), ENTITLE_DENY);
}

static void a_way_in_that_the_line_does_not_have_is_a_mistake(void **state)
{
    static const char *const lines[] = { "user a auth=password\n", "user a auth=token\n",
                                         "user a auth=\n",         "user a auth=jwt,pin\n",
                                         "user a claim=g:x\n",     "role r claim=x\n",
                                         "role r auth=jwt\n",      "role r cert=x\n" };
    struct entitle_rules *made;

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(entitle_rules_create(lines[i], strlen(lines[i]), NULL, NULL, &made),
                         MD_ERR_MALFORMED);
}

#define TEST(function) cmocka_unit_test_teardown(function, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_auth_each_secret_of_the_line_is_needed),
        TEST(each_proof_that_auth_names_is_enough_and_no_other),
        TEST(a_certificate_of_its_own_may_be_asked_of_everybody),
        TEST(the_authority_is_not_asked_without_the_certificate),
        TEST(a_certificate_is_compared_with_the_user_of_the_token),
        TEST(a_session_goes_on_while_its_proof_is_enough),
        TEST(a_way_in_that_the_line_does_not_have_is_a_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
