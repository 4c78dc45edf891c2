/* test_p2ps_tokens.c - logins by token: their end, and the next token before it, in virtual time.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"

static int setup(void **state)
{
    int failed = pair_setup(state, (struct p2ps_core_config){ .login_timeout_ns = 0 });
    struct pair *pair = *state;

    pair->authority_by = ENTITLE_BY_JWT;
    return failed;
}

static uint64_t wall_s(void)
{
    return pair_wall_ns / PAIR_SEC;
}

static void show(struct pair_client *c, const char *token)
{
    struct omm_login_request request = pair_login_request();

    request.user = rwf_bytes((const uint8_t *)"", 1);
    request.name_type = RWF_NAME_LOGIN_AUTHN_TOKEN;
    request.token = rwf_text(token);
    p2ps_client_login(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

/* A client with a token that is good for so long. */
static struct pair_client *come(struct pair *pair, unsigned n, uint64_t life_s)
{
    struct pair_client *c = pair_client_comes(pair, n);

    pair->authority_expires_s = wall_s() + life_s;
    show(c, "first");
    return c;
}

static uint64_t expired(const struct pair *pair)
{
    return p2ps_core_stats(pair->sink)->logins_expired;
}

static void the_answer_to_a_token_says_when_the_next_one_is_due(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 60);
    const struct pair_stream *login = pair_stream(c, 1);

    assert_string_equal(pair_heard(c, 1), "L");
    assert_true(pair->authority_saw_token);
    assert_true(login->has_authentication);
    assert_int_equal(login->reissue_s, pair->authority_expires_s - 10);
    assert_int_equal(login->token_error, 0);
    assert_string_equal(login->text, "Success");
}

static void so_does_the_answer_to_one_that_an_authority_knows(void **state)
{
    struct pair *pair = *state;

    pair->authority_is_outside = true;
    const struct pair_stream *login = pair_stream(come(pair, 0, 60), 1);
    assert_true(login->has_authentication);
    assert_int_equal(login->reissue_s, pair->authority_expires_s - 10);
    assert_int_equal(login->token_error, 0);
    pair->authority_expires_s = 0; /* it sees no end */
    struct pair_client *endless = pair_client_comes(pair, 1);
    show(endless, "first");
    assert_true(pair_stream(endless, 1)->has_authentication);
    assert_int_equal(pair_stream(endless, 1)->reissue_s, 0);
}

static void an_authority_may_end_a_login_and_say_anew_when(void **state)
{
    struct pair *pair = *state;

    pair->authority_is_outside = true;
    struct pair_client *c = come(pair, 0, 60);
    pair->authority_renews_until_s = wall_s() + 120;
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_pass(pair, 100 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L");
    pair_pass(pair, 22 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LX");
    assert_int_equal(strncmp(pair_stream(c, 1)->text, "the token expired at ", 21), 0);
    pair->authority_expires_s = wall_s() + 60;
    struct pair_client *named = pair_client(pair, 1); /* by name and password */
    assert_false(pair_stream(named, 1)->has_authentication);
    pair_pass(pair, 62 * PAIR_SEC);
    assert_int_equal(strncmp(pair_stream(named, 1)->text, "the login expired at ", 21), 0);
    assert_int_equal(expired(pair), 2);
}

static void the_answer_to_a_name_says_nothing_of_tokens(void **state)
{
    struct pair *pair = *state;

    pair->authority_by = ENTITLE_BY_NAME;
    struct pair_client *c = pair_client(pair, 0);
    assert_false(pair_stream(c, 1)->has_authentication);
    assert_false(pair->authority_saw_token);
}

static void a_login_ends_with_its_token_and_no_second_before(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 60);
    struct pair_client *other = come(pair, 1, 3600);

    pair_open(c, 5, "IBM.N");
    pair_open(other, 5, "IBM.N");
    pair_pass(pair, 58 * PAIR_SEC);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 1), "L");
    assert_string_equal(pair_heard(c, 5), "IU");
    pair_pass(pair, 4 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LX");
    assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_NOT_ENTITLED);
    assert_int_equal(strncmp(pair_stream(c, 1)->text, "the token expired at ", 21), 0);
    pair_update(pair, "IBM.N");
    pair_pass(pair, 5 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_true(c->closed);
    assert_string_equal(pair_heard(other, 1), "L");
    assert_string_equal(pair_heard(other, 5), "IUU");
    assert_int_equal(expired(pair), 1);
}

/* A client with a token that is good for an hour, and a certificate for a minute. */
static struct pair_client *come_with_certificate(struct pair *pair)
{
    struct pair_client *c = pair_client_comes(pair, 0);

    c->certificate_ends_s = wall_s() + 60;
    pair->authority_expires_s = wall_s() + 3600;
    show(c, "first");
    return c;
}

static void a_login_that_needed_a_certificate_ends_with_it(void **state)
{
    struct pair *pair = *state;

    pair->authority_needs_certificate = true;
    struct pair_client *c = come_with_certificate(pair);
    pair_pass(pair, 30 * PAIR_SEC);
    show(c, "next");
    pair_pass(pair, 28 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LL");
    pair_pass(pair, 4 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LLX");
    assert_int_equal(strncmp(pair_stream(c, 1)->text, "the certificate expired at ", 27), 0);
}

static void one_that_needed_none_does_not(void **state)
{
    struct pair_client *c = come_with_certificate(*state);

    pair_pass(*state, 70 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L");
}

static void the_earlier_end_of_token_and_certificate_counts(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);

    pair->authority_needs_certificate = true;
    c->certificate_ends_s = wall_s() + 3600;
    pair->authority_expires_s = wall_s() + 60;
    show(c, "first");
    pair_pass(pair, 62 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LX");
    assert_int_equal(strncmp(pair_stream(c, 1)->text, "the token expired at ", 21), 0);
}

static void a_clock_that_is_set_forward_ends_it_one_set_back_does_not(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 60);

    pair_wall_ns -= 3600 * PAIR_SEC;
    pair_pass(pair, 120 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L");
    pair_wall_ns += 3600 * PAIR_SEC;
    pair_pass(pair, 2 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LX");
}

static void a_new_token_lets_it_live_on(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 60);

    pair_open(c, 5, "IBM.N");
    for (int i = 0; i < 5; i++) {
        pair_pass(pair, 50 * PAIR_SEC);
        pair->authority_expires_s = wall_s() + 60;
        show(c, "next");
        pair_update(pair, "IBM.N");
        pair_settle(pair);
        assert_int_equal(pair_stream(c, 1)->reissue_s, wall_s() + 50);
    }
    assert_string_equal(pair_heard(c, 1), "LLLLLL");
    assert_int_equal(p2ps_core_stats(pair->sink)->reissues_good, 5);
    assert_string_equal(pair_heard(c, 5), "IUUUUU");
    pair_pass(pair, 62 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LLLLLLX");
}

static void a_wrong_one_is_told_and_the_old_one_counts(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 60);

    pair_open(c, 5, "IBM.N");
    pair->authority_denies = true;
    pair->authority_token_error = 3;
    show(c, "stale");
    assert_string_equal(pair_heard(c, 1), "LL");
    assert_int_equal(pair_stream(c, 1)->stream_state, RWF_STREAM_OPEN);
    assert_int_equal(pair_stream(c, 1)->token_error, 3);
    assert_string_equal(pair_stream(c, 1)->text, "no");
    pair_update(pair, "IBM.N");
    pair_pass(pair, 55 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 5), "IU");
    show(c, "");
    assert_int_equal(pair_stream(c, 1)->token_error, ENTITLE_TOKEN_MISSING);
    pair_pass(pair, 6 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LLLX");
    assert_int_equal(p2ps_core_stats(pair->sink)->reissues_bad, 2);
    assert_int_equal(p2ps_core_stats(pair->sink)->reissues_good, 0);
}

/* A token of a user whom the rules refuse now. */
static void a_good_token_of_a_user_that_is_refused_ends_it(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 60);

    pair->authority_denies = true;
    show(c, "next");
    assert_string_equal(pair_heard(c, 1), "LX");
}

static void while_the_next_token_is_looked_at_data_flow(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 60);

    pair_open(c, 5, "IBM.N");
    pair->authority_is_late = true;
    pair->authority_expires_s = wall_s() + 600;
    show(c, "next");
    pair_update(pair, "IBM.N");
    pair_pass(pair, 30 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L");
    assert_string_equal(pair_heard(c, 5), "IU");
    pair->answers_now = true;
    pair_pass(pair, 60 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LL");
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 5), "IUU");
}

/* Each is work for others: a signature, or a question to a process. */
static void one_token_at_a_time_is_looked_at(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 60);

    pair->authority_is_late = true;
    pair->authority_expires_s = wall_s() + 600;
    show(c, "next");
    uint32_t asked = pair->authority_asked;
    for (int i = 0; i < 3; i++)
        show(c, "more");
    assert_int_equal(pair->authority_asked, asked);
    assert_int_equal(pair_stream(c, 1)->token_error, ENTITLE_TOKEN_NOBODY_LOOKED);
    assert_string_equal(pair_heard(c, 1), "LLLL");
    pair->answers_now = true;
    pair_pass(pair, PAIR_SEC);
    show(c, "another");
    assert_int_equal(pair->authority_asked, asked + 1);
}

/* The verdict about a token is not lost because a reload asks about the login meanwhile. */
static void a_reload_meanwhile_asks_another_question(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 60);

    pair->authority_is_late = true;
    pair->authority_expires_s = wall_s() + 600;
    show(c, "next");
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair->answers_now = true;
    pair_pass(pair, 120 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LL");
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_pass(pair, 482 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LLX");
}

/* Pausing and resuming prove nothing, and nobody is asked. */
static void a_login_again_without_a_token_is_not_asked_about(void **state)
{
    struct pair *pair = *state;
    struct omm_login_request request = pair_login_request();

    pair->authority_by = ENTITLE_BY_PASSWORD;
    struct pair_client *c = pair_client(pair, 0);
    pair_open(c, 5, "IBM.N");
    uint32_t asked = pair->authority_asked;
    pair->authority_denies = true;
    request.password = rwf_text("another one");
    p2ps_client_login(pair->sink, pair->now_ns, c->id, &request);
    pair_update(pair, "IBM.N");
    pair_settle(pair);
    assert_string_equal(pair_heard(c, 1), "LL");
    assert_string_equal(pair_heard(c, 5), "IU");
    assert_int_equal(pair->authority_asked, asked);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, pair_teardown)

static void a_login_ends_with_its_user_whatever_its_token_says(void **state)
{
    struct pair *pair = *state;

    pair->authority_user_ends_s = wall_s() + 60;
    struct pair_client *c = come(pair, 0, 3600);
    pair->authority_user_ends_s = wall_s() + 3600;
    struct pair_client *other = come(pair, 1, 60);
    pair_pass(pair, 58 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L");
    pair_pass(pair, 4 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "LX");
    assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_NOT_ENTITLED);
    assert_int_equal(strncmp(pair_stream(c, 1)->text, "the user expired at ", 20), 0);
    assert_int_equal(strncmp(pair_stream(other, 1)->text, "the token expired at ", 21), 0);
    assert_int_equal(expired(pair), 2);
}

static void a_reload_may_end_a_user_and_leaves_the_end_of_his_token(void **state)
{
    struct pair *pair = *state;
    struct pair_client *c = come(pair, 0, 120);

    pair->authority_user_ends_s = wall_s() + 30;
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_pass(pair, 10 * PAIR_SEC);
    pair->authority_user_ends_s = 0; /* and another one takes it back */
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_pass(pair, 100 * PAIR_SEC);
    assert_string_equal(pair_heard(c, 1), "L");
    pair_pass(pair, 12 * PAIR_SEC);
    assert_int_equal(strncmp(pair_stream(c, 1)->text, "the token expired at ", 21), 0);
}

static void a_check_shows_the_token_and_the_certificate_of_the_login(void **state)
{
    static const struct entitle_shown first = { .sum = "aa", .jti = "t-1" };
    static const struct entitle_shown second = { .sum = "bb", .issued_s = 7 };
    struct pair *pair = *state;
    struct pair_client *c = pair_client_comes(pair, 0);

    c->serial = "1a2b";
    pair->authority_shown = &first;
    show(c, "first");
    assert_null(pair->authority_saw.shown);
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_pass(pair, PAIR_SEC);
    assert_int_equal(pair->authority_saw.kind, ENTITLE_AGAIN);
    assert_string_equal(pair->authority_saw.shown->sum, "aa");
    assert_string_equal(pair->authority_saw.shown->jti, "t-1");
    assert_int_equal(pair->authority_saw.serial.length, 4);
    assert_memory_equal(pair->authority_saw.serial.data, "1a2b", 4);
    assert_true(pair->authority_saw.is_plain);
    pair->authority_shown = &second;
    show(c, "next");
    p2ps_core_entitle_again(pair->sink, pair->now_ns);
    pair_pass(pair, PAIR_SEC);
    assert_string_equal(pair->authority_saw.shown->sum, "bb");
    assert_int_equal(pair->authority_saw.shown->issued_s, 7);
}

static void a_user_of_an_authority_may_have_to_use_tls(void **state)
{
    struct pair *pair = *state;

    pair->authority_needs_tls = true;
    struct pair_client *c = come(pair, 0, 60);
    assert_string_equal(pair_heard(c, 1), "X");
    assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_NOT_ENTITLED);
    assert_string_equal(pair_stream(c, 1)->text, "the user must use TLS");
}

static void a_reason_may_be_kept_from_whoever_is_refused(void **state)
{
    const struct p2ps_rules rules = { .hides_reasons = true };
    struct pair *pair = *state;

    pair->authority_mounts = 1;
    p2ps_core_rules_set(pair->sink, &rules);
    struct pair_client *first = come(pair, 0, 60);
    assert_string_equal(pair_heard(first, 1), "L");
    struct pair_client *c = come(pair, 1, 3600);
    assert_string_equal(pair_heard(c, 1), "X");
    assert_int_equal(pair_stream(c, 1)->code, RWF_CODE_NOT_ENTITLED);
    assert_string_equal(pair_stream(c, 1)->text, "user name or password refused");
    pair_pass(pair, 62 * PAIR_SEC); /* a session hears why it ends */
    assert_int_equal(strncmp(pair_stream(first, 1)->text, "the token expired at ", 21), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(so_does_the_answer_to_one_that_an_authority_knows),
        TEST(an_authority_may_end_a_login_and_say_anew_when),
        TEST(the_answer_to_a_token_says_when_the_next_one_is_due),
        TEST(the_answer_to_a_name_says_nothing_of_tokens),
        TEST(a_login_ends_with_its_token_and_no_second_before),
        TEST(a_login_that_needed_a_certificate_ends_with_it),
        TEST(one_that_needed_none_does_not),
        TEST(a_login_ends_with_its_user_whatever_its_token_says),
        TEST(a_reload_may_end_a_user_and_leaves_the_end_of_his_token),
        TEST(a_check_shows_the_token_and_the_certificate_of_the_login),
        TEST(a_user_of_an_authority_may_have_to_use_tls),
        TEST(a_reason_may_be_kept_from_whoever_is_refused),
        TEST(the_earlier_end_of_token_and_certificate_counts),
        TEST(a_clock_that_is_set_forward_ends_it_one_set_back_does_not),
        TEST(a_new_token_lets_it_live_on),
        TEST(a_wrong_one_is_told_and_the_old_one_counts),
        TEST(a_good_token_of_a_user_that_is_refused_ends_it),
        TEST(while_the_next_token_is_looked_at_data_flow),
        TEST(one_token_at_a_time_is_looked_at),
        TEST(a_reload_meanwhile_asks_another_question),
        TEST(a_login_again_without_a_token_is_not_asked_about),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
