/* test_srcdist_access.c - providerAccessFile: time, TLS, positions, tokens and certificates. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

#define START_S 1800000000ull /* 2027-01-15T08:00:00Z */
#define SUM     "d6411e8ab60a65f5eae60e350aeb25f8ebd1a8603f3ae0498d547b3cd1c26dc6" /* of "zebra-7" */
#define PUBLISH "allow * SENT * do=publish\n"

/* The wall clock is this long behind START_S, and time passes till there. */
static void pass_until(struct bed *bed, uint64_t seconds)
{
    pair_wall_ns = (START_S + seconds) * PAIR_SEC - 200 * PAIR_MS;
    pair_pass(&bed->pair, 300 * PAIR_MS);
}

static int setup_at_start(void **state)
{
    pair_wall_ns = START_S * PAIR_SEC;
    return setup_access(state);
}

static struct stranger *session(struct bed *bed, unsigned n, const char *user, const char *password)
{
    struct stranger *s = come(bed, n);

    log_in(s, user, password);
    return s;
}

static bool is_let_in(const struct stranger *s)
{
    return s->msg_class == RWF_CLASS_REFRESH && !s->is_closed;
}

static void assert_ended(const struct stranger *s, uint8_t stream_state, uint8_t code,
                         const char *text)
{
    assert_int_equal(s->msg_class, RWF_CLASS_STATUS);
    assert_int_equal(s->stream_id, 1);
    assert_int_equal(s->state.stream_state, stream_state);
    assert_int_equal(s->state.data_state, RWF_DATA_SUSPECT);
    assert_int_equal(s->state.code, code);
    assert_string_equal(s->text, text);
}

static void assert_refused(const struct stranger *s, const char *text)
{
    assert_ended(s, RWF_STREAM_CLOSED, RWF_CODE_NOT_ENTITLED, text);
}

/* ---- time ---- */

static void a_user_is_let_in_until_he_expires_and_then_his_session_ends(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);

    set_rules(bed, "user feed password=secret expires=2027-01-15T08:01:00Z\nuser open\n" PUBLISH);
    struct stranger *s = session(bed, 0, "feed", "secret");
    struct stranger *other = session(bed, 1, "open", "");
    assert_true(is_let_in(s) && is_let_in(other));
    say_services(s, "SENT", 3, 1, "");
    pair_pass(&bed->pair, 200 * PAIR_MS);
    say_item(s, RWF_CLASS_REFRESH, -1, "X", 1);
    open_item(c, 5, "SENT", "X");
    pass_until(bed, 59);
    assert_true(is_let_in(s) && is_up(bed, "SENT"));
    pass_until(bed, 60);
    assert_refused(s, "the user expired at 08:01:00Z");
    assert_false(is_up(bed, "SENT")); /* at once; its connection has time to read why */
    assert_false(s->is_closed);
    assert_string_equal(pair_heard(c, 5), "I!");
    assert_int_equal(stats(bed)->logins_ended, 1);
    assert_null(srcdist_core_check(bed->pair.source));
    say_item(s, RWF_CLASS_UPDATE, -1, "X", 2); /* nobody hears it any more */
    say_services(s, "SENT", 3, 1, "");
    log_in(s, "feed", "secret");
    assert_false(is_up(bed, "SENT"));
    pair_pass(&bed->pair, 4 * PAIR_SEC);
    assert_true(s->is_closed);
    assert_true(is_let_in(other));
    assert_refused(session(bed, 2, "feed", "secret"), "the user expired at 2027-01-15T08:01:00Z");
    assert_int_equal(stats(bed)->logins_refused, 1);
    assert_null(srcdist_core_check(bed->pair.source));
}

static void a_reload_may_give_a_user_more_time_or_less(void **state)
{
    struct bed *bed = *state;

    set_rules(bed, "user feed expires=2027-01-15T08:01:00Z\n" PUBLISH);
    struct stranger *s = session(bed, 0, "feed", "");
    set_rules(bed, "user feed expires=2027-01-15T08:02:00Z\n" PUBLISH);
    pass_until(bed, 61);
    assert_true(is_let_in(s));
    set_rules(bed, "user feed\n" PUBLISH);
    pass_until(bed, 3600);
    assert_true(is_let_in(s));
    set_rules(bed, "user feed expires=2027-01-15T08:30:00Z\n" PUBLISH);
    assert_refused(s, "the user expired at 2027-01-15T08:30:00Z");
}

static void without_the_time_nobody_is_let_in_who_expires(void **state)
{
    struct bed *bed = *state;

    set_rules(bed, "user feed expires=2027-01-15T08:01:00Z\nuser open\n" PUBLISH);
    struct stranger *s = session(bed, 0, "feed", "");
    pair_wall_ns = 0;
    pair_pass(&bed->pair, 200 * PAIR_MS);
    assert_refused(s, "the user expired at 08:01:00Z"); /* or it may have: doubt is denial */
    assert_refused(session(bed, 1, "feed", ""),
                   "the user expires at 2027-01-15T08:01:00Z, and there is no clock here");
    assert_true(is_let_in(session(bed, 2, "open", "")));
}

/* ---- TLS, positions ---- */

static void who_must_use_tls_is_not_let_in_without(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = come(bed, 0);

    set_rules(bed, "user feed password=secret tls=yes\nuser open\n" PUBLISH);
    s->proof.is_encrypted = true;
    log_in(s, "feed", "secret");
    assert_true(is_let_in(s));
    assert_refused(session(bed, 1, "feed", "secret"), "feed must use TLS");
    struct stranger *open = session(bed, 2, "open", "");
    assert_true(is_let_in(open));
    set_rules(bed, "user feed password=secret tls=yes\nuser open tls=yes\n" PUBLISH);
    assert_true(is_let_in(s));
    assert_refused(open, "open must use TLS");
}

static void a_user_is_at_so_many_positions(void **state)
{
    struct bed *bed = *state;
    static const char rules[] = "user feed positions=2\nuser open\n" PUBLISH;
    struct stranger *s[6];

    set_rules(bed, rules);
    for (unsigned n = 0; n < 6; n++) {
        static const char *const positions[] = { "10.1.0.7/net", "10.1.0.7/other", "10.1.0.8/net",
                                                 "10.1.0.9/net", "10.1.0.8/x",     "10.1.0.9/net" };
        s[n] = come(bed, n);
        s[n]->position = positions[n];
        log_in(s[n], n == 5 ? "open" : "feed", "");
    }
    assert_true(is_let_in(s[0]) && is_let_in(s[1]) && is_let_in(s[2]));
    assert_ended(s[3], RWF_STREAM_CLOSED_RECOVER, RWF_CODE_DACS_MAX_LOGINS_REACHED,
                 "the user is at as many positions as it may be");
    assert_true(is_let_in(s[4]) && is_let_in(s[5]));
    go(s[2]);
    go(s[4]);
    s[3] = come(bed, 6);
    s[3]->position = "10.1.0.9/net";
    log_in(s[3], "feed", "");
    assert_true(is_let_in(s[3]));
}

static void without_a_position_the_address_is_one(void **state)
{
    struct bed *bed = *state;

    set_rules(bed, "user feed positions=1\n" PUBLISH);
    struct stranger *first = come_from(bed, 0, 7), *again = come_from(bed, 1, 7);
    struct stranger *other = come_from(bed, 2, 8);
    log_in(first, "feed", "");
    log_in(again, "feed", "");
    other->position = "/net"; /* says nothing */
    log_in(other, "feed", "");
    assert_true(is_let_in(first) && is_let_in(again));
    assert_int_equal(other->state.code, RWF_CODE_DACS_MAX_LOGINS_REACHED);
}

static void nobody_is_cut_for_a_limit_that_is_lower_now(void **state)
{
    struct bed *bed = *state;
    struct stranger *s[2];

    set_rules(bed, "user feed\n" PUBLISH);
    for (unsigned n = 0; n < 2; n++)
        s[n] = session(bed, n, "feed", "");
    set_rules(bed, "user feed mounts=1 positions=1\n" PUBLISH);
    log_in(s[1], "feed", ""); /* asks for the answer again */
    assert_true(is_let_in(s[0]) && is_let_in(s[1]));
    assert_int_equal(session(bed, 2, "feed", "")->state.code,
                     RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER);
    assert_int_equal(stats(bed)->logins_ended, 0);
}

/* ---- tokens and certificates ---- */

static void a_revoked_token_is_refused_and_its_session_ends(void **state)
{
    struct bed *bed = *state;
    struct stranger *s = come(bed, 0), *wrong = come(bed, 1), *other = come(bed, 2);

    set_rules(bed, "user feed tokenhash=" SUM "\nuser px token=zebra-8\n" PUBLISH);
    s->token = "zebra-7";
    log_in(s, "feed", "");
    assert_true(is_let_in(s));
    wrong->token = "zebra-8";
    log_in(wrong, "feed", "");
    assert_refused(wrong, "token refused");
    other->token = "zebra-8";
    log_in(other, "px", "");
    assert_true(is_let_in(other));
    set_rules(bed, "user feed tokenhash=" SUM "\nuser px token=zebra-8\nrevoked sha256=" SUM
                   "\n" PUBLISH);
    assert_refused(s, "token refused: revoked");
    assert_true(is_let_in(other));
    struct stranger *again = come(bed, 3);
    again->token = "zebra-7";
    log_in(again, "feed", "");
    assert_refused(again, "token refused: revoked");
}

static struct stranger *certified(struct bed *bed, unsigned n, const char *name, const char *serial,
                                  uint64_t ends_s, const char *user)
{
    struct stranger *s = come(bed, n);

    s->proof = (struct srcdist_proof){
        .is_encrypted = true,
        .certificate = name,
        .serial = serial,
        .certificate_ends_s = START_S + ends_s,
    };
    log_in(s, user, "");
    return s;
}

static void a_certificate_is_a_proof_until_it_ends(void **state)
{
    struct bed *bed = *state;

    set_rules(bed, "user feed auth=cert\nuser px cert=px.*.firm expires=2027-01-15T08:00:30Z\n"
                   "user open\n" PUBLISH);
    struct stranger *feed = certified(bed, 0, "feed", "1a", 60, "feed");
    struct stranger *px = certified(bed, 1, "px.3.firm", "1b", 60, "px");
    struct stranger *open = certified(bed, 2, "who", "1c", 60, "open");
    assert_true(is_let_in(feed) && is_let_in(px) && is_let_in(open));
    assert_refused(certified(bed, 3, "px.3.firm", "1d", 60, "feed"),
                   "the certificate is of another user");
    assert_refused(session(bed, 4, "feed", ""), "a client certificate is needed");
    pass_until(bed, 30);
    assert_refused(px, "the user expired at 08:00:30Z");
    pass_until(bed, 61);
    assert_refused(feed, "the certificate expired at 08:01:00Z; log in again");
    assert_true(is_let_in(open)); /* its certificate was not needed */
}

static void a_revoked_certificate_is_refused_and_its_session_ends(void **state)
{
    struct bed *bed = *state;

    set_rules(bed, "user feed\nrevoked cert=1A:2C\n" PUBLISH);
    struct stranger *s = certified(bed, 0, "who", "1a2b", 3600, "feed");
    assert_true(is_let_in(s));
    assert_refused(certified(bed, 1, "who", "1a2c", 3600, "feed"), "the certificate is revoked");
    set_rules(bed, "user feed\nrevoked cert=1A:2B\n" PUBLISH);
    assert_refused(s, "the certificate is revoked");
}

/* ---- ends ---- */

static void who_is_ended_may_come_again_with_what_the_rules_want_now(void **state)
{
    struct bed *bed = *state;
    struct pair_client *c = pair_client(&bed->pair, 0);

    set_rules(bed, "user feed password=old mounts=1\n" PUBLISH);
    struct stranger *s = session(bed, 0, "feed", "old");
    say_services(s, "SENT", 3, 1, "");
    pair_pass(&bed->pair, 200 * PAIR_MS);
    say_item(s, RWF_CLASS_REFRESH, -1, "X", 1);
    open_item(c, 5, "SENT", "X");
    set_rules(bed, "user feed password=new mounts=1\n" PUBLISH);
    assert_refused(s, "user name or password refused");
    assert_false(s->is_closed);
    struct stranger *again = session(bed, 1, "feed", "new"); /* the old one is no mount of his */
    assert_true(is_let_in(again));
    say_services(again, "SENT", 3, 1, "");
    say_item(again, RWF_CLASS_REFRESH, -4, "X", 7);
    assert_int_equal(pair_stream(c, 5)->counter, 7);
    pair_pass(&bed->pair, 4 * PAIR_SEC);
    assert_true(s->is_closed);
    say_item(again, RWF_CLASS_UPDATE, -4, "X", 8);
    assert_int_equal(pair_stream(c, 5)->counter, 8);
    assert_null(srcdist_core_check(bed->pair.source));
}

static void another_password_on_an_open_login_ends_it(void **state)
{
    struct bed *bed = *state;

    set_rules(bed, "user feed password=secret\n" PUBLISH);
    struct stranger *s = session(bed, 0, "feed", "secret");
    log_in(s, "feed", "guess");
    assert_refused(s, "user name or password refused");
    assert_int_equal(stats(bed)->logins_ended, 1);
}

static void a_name_that_nobody_can_have_is_refused(void **state)
{
    struct bed *bed = *state;
    static const char *const names[] = { "m\xfcller", "a\xc2\x85", "a\x1b[2J", "\xf0\x9f\x98" };

    set_rules(bed, "user *\n" PUBLISH);
    for (unsigned n = 0; n < 4; n++)
        assert_ended(session(bed, n, names[n], ""), RWF_STREAM_CLOSED, RWF_CODE_USAGE_ERROR,
                     "the user name has more than 255 bytes, has control characters, or is no "
                     "UTF-8");
    assert_true(is_let_in(session(bed, 4, "m\xc3\xbcller", "")));
}

static void who_is_ended_makes_room_for_others(void **state)
{
    struct bed *bed = *state;

    set_rules(bed, "user feed\nuser other\n" PUBLISH);
    for (unsigned n = 0; n < 64; n++)
        assert_true(is_let_in(session(bed, n, "feed", "")));
    set_rules(bed, "user other\n" PUBLISH);
    assert_false(bed->strangers[0].is_closed);
    assert_true(is_let_in(session(bed, 64, "other", "")));
    assert_true(bed->strangers[0].is_closed);
    assert_false(bed->strangers[1].is_closed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_at_start, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_name_that_nobody_can_have_is_refused),
        TEST(a_user_is_let_in_until_he_expires_and_then_his_session_ends),
        TEST(a_reload_may_give_a_user_more_time_or_less),
        TEST(without_the_time_nobody_is_let_in_who_expires),
        TEST(who_must_use_tls_is_not_let_in_without),
        TEST(a_user_is_at_so_many_positions),
        TEST(without_a_position_the_address_is_one),
        TEST(nobody_is_cut_for_a_limit_that_is_lower_now),
        TEST(a_revoked_token_is_refused_and_its_session_ends),
        TEST(a_certificate_is_a_proof_until_it_ends),
        TEST(a_revoked_certificate_is_refused_and_its_session_ends),
        TEST(who_is_ended_may_come_again_with_what_the_rules_want_now),
        TEST(another_password_on_an_open_login_ends_it),
        TEST(who_is_ended_makes_room_for_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
