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

/* SHA-256 of nothing in particular. */
#define SUM   "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define WRONG "f0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

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
    static const char *const lines[] = {
        "user a auth=password\n",
        "user a auth=token\n",
        "user a auth=\n",
        "user a auth=jwt,pin\n",
        "user a claim=g:x\n",
        "role r claim=x\n",
        "role r auth=jwt\n",
        "role r cert=x\n",
        "user a tokenhash=00\n",
        "role r tokenhash=" SUM "\n",
        "user a token=t tokenhash=" SUM "\n",
        "user a expires=2027-02-29\n",
        "user a expires=2027-1-15\n",
        "user a expires=2027-01-15T08:00:00\n",
        "user a expires=2027-01-15T24:00:00Z\n",
        "user a expires=1969-12-31\n",
        "user a tls=maybe\n",
        "user a positions=-1\n",
        "revoked\n",
        "revoked user=a\n",
        "revoked user=a before=now\n",
        "revoked before=2027-01-15\n",
        "revoked jti=\n",
        "revoked jti=a jti=b\n",
        "revoked sha256=abc\n",
        "revoked cert=xyz\n",
        "revoked cert=123456789012345678901234567890123456789012\n"
    };
    struct entitle_rules *made;

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(entitle_rules_create(lines[i], strlen(lines[i]), NULL, NULL, &made),
                         MD_ERR_MALFORMED);
}

static struct entitle_query token_query(const char *user, const struct entitle_shown *shown)
{
    return (struct entitle_query){
        .kind = ENTITLE_LOGIN,
        .user = view(user),
        .token = view("opaque"),
        .is_token = true,
        .shown = shown,
    };
}

static void a_token_may_stand_in_the_file_as_its_sum(void **state)
{
    const struct entitle_shown right = { .sum = SUM }, wrong = { .sum = WRONG };
    struct entitle_query query = token_query("", &right);

    (void)state;
    use("user px tokenhash=00112233445566778899AABBCCDDEEFF"
        "00112233445566778899aabbccddeeff\n");
    assert_false(entitle_rules_has_hashes(rules)); /* whoever has its sum can look */
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    assert_string_equal(answer.user, "px");
    assert_int_equal(answer.by, ENTITLE_BY_TOKEN);
    assert_true(answer.is_proved);
    assert_int_equal(again("px", (struct shown){ .password = "" }), ENTITLE_ALLOW);
    query = token_query("px", &wrong);
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_int_equal(answer.token_error, ENTITLE_TOKEN_REFUSED);
    query = token_query("px", NULL);
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query = token_query("", &wrong);
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query = token_query("px", &right);
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    use("user px tokenhash=" SUM " auth=token,password password=p\n");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    use("user px tokenhash=f0112233445566778899aabbccddeeff"
        "00112233445566778899aabbccddeeff\n");
    assert_int_equal(again("px", (struct shown){ .password = "" }), ENTITLE_DENY);
}

static void a_token_that_is_revoked_is_refused_whoever_shows_it(void **state)
{
    const struct entitle_shown first = { .sum = SUM, .jti = "t-1" };
    const struct entitle_shown second = { .sum = WRONG, .jti = "t-2" };
    struct entitle_query query = token_query("a", &first);

    (void)state;
    use("user * token=opaque\n");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    use("user * token=opaque\nrevoked sha256=" SUM "\n");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_string_equal(answer.text, "token refused: revoked");
    assert_int_equal(answer.token_error, ENTITLE_TOKEN_REVOKED);
    assert_int_equal(answer.line, 2);
    query.kind = ENTITLE_AGAIN;
    query.by = ENTITLE_BY_TOKEN;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_int_equal(answer.token_error, 0); /* the session ends */
    query = token_query("a", &second);
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    use("user * token=opaque\nrevoked jti=t-1\nrevoked jti=t-2\nrevoked jti=t-2\n");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_int_equal(answer.line, 3);
}

static enum entitle_verdict issued(const char *user, uint64_t issued_s)
{
    const struct entitle_shown shown = { .sum = SUM, .issued_s = issued_s };
    struct entitle_query query = token_query(user, &shown);

    query.by = ENTITLE_BY_JWT;
    return entitle_rules_judge(rules, &query, &answer);
}

static void tokens_of_a_user_that_were_issued_before_a_time_are_refused(void **state)
{
    (void)state;
    /* 1800000000 is 2027-01-15T08:00:00Z. */
    use("user * auth=jwt\nrevoked user=a* before=2027-01-15\n"
        "revoked user=alice before=2027-01-15T08:00:00Z\n");
    assert_int_equal(issued("alice", 1799999999), ENTITLE_DENY);
    assert_int_equal(answer.line, 3);
    assert_int_equal(answer.token_error, ENTITLE_TOKEN_REVOKED);
    assert_int_equal(issued("alice", 1800000000), ENTITLE_ALLOW);
    assert_int_equal(issued("anna", 1799999999), ENTITLE_ALLOW);
    assert_int_equal(issued("anna", 1799971199), ENTITLE_DENY);
    assert_int_equal(issued("anna", 0), ENTITLE_DENY); /* it does not say when */
    assert_int_equal(issued("bob", 0), ENTITLE_ALLOW);
}

/* As an authority outside has let it in: p2ps has read the token, and did not check it. */
static enum entitle_verdict shown_outside(const char *user, const struct entitle_shown *shown)
{
    struct entitle_query query = token_query(user, shown);

    query.kind = ENTITLE_AGAIN;
    query.by = ENTITLE_BY_AUTHORITY;
    return entitle_rules_judge(rules, &query, &answer);
}

static void tokens_that_only_an_authority_has_checked_are_revoked_too(void **state)
{
    const struct entitle_shown token = {
        .sum = SUM, .jti = "t-1", .is_signed = true, .issued_s = 1799999999
    };
    const struct entitle_shown unread = { .sum = SUM, .is_signed = true, .is_unread = true };
    const struct entitle_shown opaque = { .sum = SUM };

    (void)state;
    use("user * auth=authority\n");
    assert_int_equal(shown_outside("alice", &token), ENTITLE_ALLOW);
    assert_int_equal(shown_outside("alice", &unread), ENTITLE_ALLOW);
    use("user * auth=authority\nrevoked jti=t-1\n");
    assert_int_equal(shown_outside("alice", &token), ENTITLE_DENY);
    assert_int_equal(shown_outside("alice", &unread), ENTITLE_DENY); /* it may be that one */
    assert_int_equal(shown_outside("alice", &opaque), ENTITLE_ALLOW);
    use("user * auth=authority\nrevoked user=a* before=2027-01-15T08:00:00Z\n");
    assert_int_equal(shown_outside("alice", &token), ENTITLE_DENY);
    assert_string_equal(answer.text, "token refused: revoked");
    assert_int_equal(shown_outside("alice", &unread), ENTITLE_DENY);
    assert_int_equal(shown_outside("alice", &opaque), ENTITLE_ALLOW);
    assert_int_equal(shown_outside("alice", NULL), ENTITLE_ALLOW); /* a password was shown */
    assert_int_equal(shown_outside("bob", &token), ENTITLE_ALLOW);
    use("user * auth=authority\nrevoked sha256=" SUM "\n");
    assert_int_equal(shown_outside("alice", &token), ENTITLE_DENY);
    assert_int_equal(shown_outside("alice", &opaque), ENTITLE_DENY);
    assert_int_equal(shown_outside("alice", NULL), ENTITLE_ALLOW);
}

/* The authority is not asked about it. */
static void a_token_for_an_authority_is_refused_before_anybody_is_asked(void **state)
{
    const struct entitle_shown token = { .sum = SUM, .jti = "t-1", .is_signed = true };
    struct entitle_query query = token_query("", &token);

    (void)state;
    use("user * auth=authority\nrevoked jti=t-2\n");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_PENDING);
    assert_true(answer.is_outside);
    use("user * auth=authority\nrevoked jti=t-1\n");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_int_equal(answer.token_error, ENTITLE_TOKEN_REVOKED);
    use("user * auth=authority\nrevoked user=* before=2027-01-15\n");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
}

static void a_certificate_is_refused_by_its_number(void **state)
{
    struct entitle_query query = query_of("a", (struct shown){ .certificate = "a" });

    (void)state;
    use("user a auth=cert,none\nrevoked cert=00:1A:2b\nrevoked cert=0\n");
    query.serial = view("1a2b");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_string_equal(answer.text, "the certificate is revoked");
    query.kind = ENTITLE_AGAIN;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query = query_of("a", (struct shown){ .certificate = "a" });
    query.serial = view("1a2c");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    query.serial = view(""); /* none was shown */
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
}

static void a_user_expires(void **state)
{
    struct entitle_query query = query_of("a", (struct shown){ .password = "" });

    (void)state;
    use("role r expires=2027-01-15T08:00:00Z\nuser a role=r\nuser b role=r expires=2028-02-29\n");
    query.now_s = 1799999999;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.user_ends_s, 1800000000);
    query.now_s = 1800000000;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_string_equal(answer.text, "the user expired at 2027-01-15T08:00:00Z");
    query.kind = ENTITLE_AGAIN;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query.now_s = 0;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query.user = view("b");
    query.now_s = 1800000000;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.user_ends_s, 1835395200);
}

static void a_user_may_have_to_use_tls(void **state)
{
    struct entitle_query query = query_of("alice", (struct shown){ .password = "" });

    (void)state;
    use("role r tls=yes positions=3\nuser alice role=r\nuser bob role=r tls=no positions=2\n");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    assert_true(answer.needs_tls);
    assert_int_equal(answer.positions_max, 3);
    query.is_plain = true;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_string_equal(answer.text, "alice must use TLS");
    query.user = view("bob");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.positions_max, 2);
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
        TEST(a_token_may_stand_in_the_file_as_its_sum),
        TEST(a_token_that_is_revoked_is_refused_whoever_shows_it),
        TEST(tokens_of_a_user_that_were_issued_before_a_time_are_refused),
        TEST(tokens_that_only_an_authority_has_checked_are_revoked_too),
        TEST(a_token_for_an_authority_is_refused_before_anybody_is_asked),
        TEST(a_certificate_is_refused_by_its_number),
        TEST(a_user_expires),
        TEST(a_user_may_have_to_use_tls),
        TEST(a_way_in_that_the_line_does_not_have_is_a_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
