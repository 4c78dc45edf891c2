/* test_p2ps_authority.c - the dialogue with an authority: questions, answers, notices, silence. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "authority.h"
#include "base/err.h"

#define SECOND 1000000000ull
#define HELLO  "{\"hello\":\"openrmds-access\",\"version\":1}\n"

static struct p2ps_authority *authority;
static struct p2ps_authority_answer answer;
static uint64_t now_ns;
static char sent[70000];

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

/* Returns what the engine has sent since the last call. */
static const char *said(void)
{
    size_t length;
    const char *bytes = p2ps_authority_output(authority, &length);

    assert_true(length < sizeof(sent));
    memcpy(sent, bytes, length);
    sent[length] = 0;
    p2ps_authority_sent(authority, length);
    return sent;
}

static const char *hears(const char *text)
{
    return p2ps_authority_input(authority, now_ns, text, strlen(text));
}

static enum p2ps_authority_verdict ask(const char *user, const char *password, uint64_t ticket)
{
    const struct p2ps_authority_question question = {
        .user = view(user),
        .password = view(password),
        .host = view("10.1.0.7:5122"),
    };

    return p2ps_authority_ask(authority, now_ns, &question, 1, ticket, &answer);
}

static enum p2ps_authority_verdict renew(const char *user, uint64_t ticket)
{
    const struct p2ps_authority_question question = { .is_renewal = true, .user = view(user) };

    return p2ps_authority_ask(authority, now_ns, &question, 1, ticket, &answer);
}

/* The number of the last question that went out. */
static unsigned long long number(void)
{
    unsigned long long id = 0;
    const char *at = strstr(said(), "{\"id\":");

    assert_non_null(at);
    for (const char *next; (next = strstr(at + 1, "{\"id\":"));)
        at = next;
    assert_int_equal(sscanf(at, "{\"id\":%llu", &id), 1);
    return id;
}

static const char *answers(unsigned long long id, const char *rest)
{
    char line[1400];

    snprintf(line, sizeof(line), "{\"id\":%llu,%s}\n", id, rest);
    return hears(line);
}

static bool takes(void)
{
    return p2ps_authority_answer(authority, 1, &answer);
}

static struct p2ps_authority_stats stats(void)
{
    struct p2ps_authority_stats stats;

    p2ps_authority_stats(authority, &stats);
    return stats;
}

/* Takes the news: is each session to be looked at? */
static bool recalls(void)
{
    return p2ps_authority_news(authority, now_ns) & ENTITLE_NEWS_LOGINS;
}

static void greet(void)
{
    p2ps_authority_open(authority, now_ns);
    said();
    assert_null(hears(HELLO));
    assert_true(recalls());
}

static int set_up(void **state)
{
    const struct p2ps_authority_config config = {
        .instance = "p2ps.1",
        .timeout_ns = 2 * SECOND,
        .window = 4,
    };

    (void)state;
    now_ns = 1000 * SECOND;
    assert_int_equal(p2ps_authority_create(&config, &authority), MD_OK);
    return 0;
}

static void with_sessions(enum p2ps_authority_sessions sessions, uint64_t grace_ns)
{
    const struct p2ps_authority_config config = {
        .instance = "p2ps.1",
        .timeout_ns = 2 * SECOND,
        .window = 4,
        .sessions = sessions,
        .grace_ns = grace_ns,
        .now_ns = now_ns,
    };

    p2ps_authority_destroy(authority);
    assert_int_equal(p2ps_authority_create(&config, &authority), MD_OK);
}

/* Logins that come while it is away wait for it. */
static int set_up_to_hold(void **state)
{
    const struct p2ps_authority_config config = {
        .instance = "p2ps.1",
        .timeout_ns = 2 * SECOND,
        .window = 4,
        .holds = true,
    };

    (void)state;
    now_ns = 1000 * SECOND;
    assert_int_equal(p2ps_authority_create(&config, &authority), MD_OK);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    p2ps_authority_destroy(authority);
    return 0;
}

static void it_is_up_from_its_hello_on(void **state)
{
    (void)state;
    assert_int_equal(ask("alice", "x", 1), P2PS_AUTHORITY_DOWN);
    p2ps_authority_open(authority, now_ns);
    assert_string_equal(said(),
                        "{\"hello\":\"openrmds-access\",\"version\":1,\"instance\":\"p2ps.1\"}\n");
    assert_int_equal(ask("alice", "x", 1), P2PS_AUTHORITY_DOWN);
    assert_null(hears(HELLO));
    assert_true(p2ps_authority_is_up(authority));
    assert_int_equal(ask("alice", "x", 1), P2PS_AUTHORITY_ASKED);
    p2ps_authority_close(authority, now_ns);
    assert_false(p2ps_authority_is_up(authority));
    assert_true(takes());
    assert_int_equal(answer.verdict, P2PS_AUTHORITY_DOWN);
    p2ps_authority_open(authority, now_ns);
    assert_null(p2ps_authority_tick(authority, now_ns + 4 * SECOND));
    assert_non_null(p2ps_authority_tick(authority, now_ns + 5 * SECOND));
}

static void a_question_says_all_and_its_answer_finds_who_asked(void **state)
{
    const struct p2ps_authority_question question = {
        .user = view("al\"ice\n"),
        .password = view("p\\w"),
        .token = view("t"),
        .host = view("[::1]:9"),
        .application = view("256"),
        .application_name = view("ema"),
        .position = view("net"),
        .certificate = view("alice@firm.example"),
        .name_type = 5,
        .is_reissue = true,
    };

    (void)state;
    greet();
    assert_int_equal(p2ps_authority_ask(authority, now_ns, &question, 1, 77, &answer),
                     P2PS_AUTHORITY_ASKED);
    assert_string_equal(said(), "{\"id\":65536,\"ask\":\"login\",\"user\":\"al\\\"ice\\u000a\","
                                "\"nameType\":5,\"password\":\"p\\\\w\",\"token\":\"t\","
                                "\"application\":\"256\",\"applicationName\":\"ema\","
                                "\"position\":\"net\",\"address\":\"[::1]:9\",\"tls\":true,"
                                "\"certificate\":\"alice@firm.example\",\"reissue\":true}\n");
    assert_int_equal(p2ps_authority_answered(authority), 0);
    assert_null(
        answers(65536, "\"verdict\":\"allow\",\"roles\":[ \"a\",\"\\u0062\" ],\"mounts\":3"));
    assert_int_equal(p2ps_authority_answered(authority), 2);
    assert_false(p2ps_authority_answer(authority, 0, &answer));
    assert_true(takes());
    assert_int_equal(answer.verdict, P2PS_AUTHORITY_ALLOW);
    assert_int_equal(answer.ticket, 77);
    assert_string_equal(answer.roles, "a,b");
    assert_true(answer.has_mounts && answer.mounts == 3);
    assert_false(takes());
}

static void answers_come_in_any_order(void **state)
{
    unsigned long long id[3];

    (void)state;
    greet();
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ask("alice", "x", i), P2PS_AUTHORITY_ASKED);
        id[i] = number();
    }
    assert_null(answers(id[2], "\"verdict\":\"allow\""));
    assert_null(answers(id[0], "\"verdict\":\"deny\",\"code\":\"MAX_LOGINS\",\"text\":\"no\""));
    assert_true(takes() && answer.ticket == 2);
    assert_true(takes() && answer.ticket == 0);
    assert_int_equal(answer.reason, ENTITLE_MOUNTS);
    assert_string_equal(answer.text, "no");
    assert_false(takes());
    assert_int_equal(stats().waiting, 1);
}

static void a_token_is_whom_the_authority_names(void **state)
{
    const struct entitle_shown shown = { .sum = "5f", .jti = "t-1", .issued_s = 7 };
    const struct p2ps_authority_question question = {
        .token = view("eyJ"), .certificate = view("bob"), .shown = &shown, .needs_certificate = true
    };

    (void)state;
    greet();
    p2ps_authority_ask(authority, now_ns, &question, 1, 1, &answer);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"user\":\"bob\""));
    assert_true(takes());
    assert_string_equal(answer.user, "bob");
    assert_string_equal(answer.certificate, "bob"); /* to be judged now that the name is known */
    assert_true(answer.needs_certificate && answer.has_shown);
    assert_string_equal(answer.shown.jti, "t-1");
    assert_int_equal(answer.shown.issued_s, 7);
    p2ps_authority_ask(authority, now_ns, &question, 1, 2, &answer);
    assert_null(answers(number(), "\"verdict\":\"allow\""));
    assert_true(takes() && answer.verdict == P2PS_AUTHORITY_DENY);
}

/* One user's trouble is no other's: the connection stays, and so do the questions of others. */
static void is_refused_alone(const char *rest)
{
    char user[ENTITLE_TEXT_MAX];

    assert_int_equal(ask("bob", "x", 1), P2PS_AUTHORITY_ASKED);
    unsigned long long bob = number();
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_ASKED);
    uint64_t before = stats().unusable;
    assert_null(answers(number(), rest));
    assert_true(takes());
    assert_int_equal(answer.verdict, P2PS_AUTHORITY_DENY);
    assert_int_equal(answer.ticket, 2);
    assert_string_equal(answer.roles, "");
    assert_int_equal(stats().unusable, before + 1);
    assert_non_null(p2ps_authority_unusable(authority, user));
    assert_string_equal(user, "alice");
    assert_null(p2ps_authority_unusable(authority, user));
    assert_null(answers(bob, "\"verdict\":\"allow\""));
    assert_true(takes() && answer.verdict == P2PS_AUTHORITY_ALLOW);
    assert_true(p2ps_authority_is_up(authority));
}

static void who_allows_somebody_else_lets_nobody_in(void **state)
{
    (void)state;
    greet();
    is_refused_alone("\"verdict\":\"allow\",\"user\":\"root\",\"ttl\":60");
    is_refused_alone("\"verdict\":\"allow\",\"user\":\"Alice\"");
}

static void roles_beyond_the_limits_refuse_one_login(void **state)
{
    char rest[400];

    (void)state;
    greet();
    snprintf(rest, sizeof(rest), "\"verdict\":\"allow\",\"roles\":[\"%0256d\"]", 1);
    is_refused_alone(rest);
    is_refused_alone("\"verdict\":\"allow\",\"roles\":[\"a\\n\"]");
}

static void an_answer_grants_codes_beside_its_roles(void **state)
{
    char rest[1200];

    (void)state;
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"roles\":[\"a\",\"b\"],\"ttl\":60,"
                                  "\"grants\":{ \"IDN\" : \"LSE,62\", \"T\\u0053E\":\"*\" }"));
    assert_true(takes());
    assert_string_equal(answer.roles, "a,b\nIDN\tLSE,62\nTSE\t*");
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_ALLOW);
    assert_string_equal(answer.roles, "a,b\nIDN\tLSE,62\nTSE\t*");
    renew("alice", 3);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"grants\":{\"IDN\":\"7\"}"));
    assert_true(takes());
    assert_string_equal(answer.roles, "\nIDN\t7");
    renew("alice", 4);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"grants\":{}"));
    assert_true(takes());
    assert_string_equal(answer.roles, "");
    snprintf(rest, sizeof(rest), "\"verdict\":\"allow\",\"grants\":{\"IDN\":\"%01019d\"}", 1);
    ask("alice", "y", 5);
    assert_null(answers(number(), rest));
    assert_true(takes() && answer.verdict == P2PS_AUTHORITY_ALLOW);
    assert_int_equal(strlen(answer.roles), 1024);
}

static void grants_beyond_the_limits_refuse_one_login(void **state)
{
    char rest[1200];

    (void)state;
    greet();
    snprintf(rest, sizeof(rest), "\"verdict\":\"allow\",\"grants\":{\"IDN\":\"%01020d\"}", 1);
    is_refused_alone(rest);
    is_refused_alone("\"verdict\":\"allow\",\"grants\":{\"I\\nDN\":\"1\"}");
    is_refused_alone("\"verdict\":\"allow\",\"grants\":{\"IDN\":\"1\\t2\"}");
}

/* An authority that means a limit and writes it wrong must not find that there is none. */
static void a_member_of_another_kind_refuses_one_login(void **state)
{
    (void)state;
    greet();
    is_refused_alone("\"verdict\":\"allow\",\"grants\":[\"IDN\"]");
    is_refused_alone("\"verdict\":\"allow\",\"roles\":\"rates\"");
    is_refused_alone("\"verdict\":\"allow\",\"mounts\":\"2\"");
    is_refused_alone("\"verdict\":\"allow\",\"user\":1");
    is_refused_alone("\"verdict\":\"allow\",\"ttl\":false");
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"mounts\":null,\"roles\":null"));
    assert_true(takes() && answer.verdict == P2PS_AUTHORITY_ALLOW);
    assert_false(answer.has_mounts);
}

static void each_login_may_have_roles_of_its_own(void **state)
{
    char rest[400], roles[16];

    (void)state;
    greet();
    for (int i = 0; i < 5000; i++) {
        ask("carol", "x", 3);
        snprintf(roles, sizeof(roles), "r%d", i);
        snprintf(rest, sizeof(rest), "\"verdict\":\"allow\",\"roles\":[\"%s\"]", roles);
        assert_null(answers(number(), rest));
        assert_true(takes() && answer.verdict == P2PS_AUTHORITY_ALLOW);
        assert_string_equal(answer.roles, roles);
    }
}

static void an_answer_lives_for_its_ttl_also_without_the_authority(void **state)
{
    (void)state;
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"roles\":[\"r\"],\"ttl\":60"));
    assert_true(takes());
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_ALLOW);
    assert_string_equal(answer.roles, "r");
    assert_int_equal(ask("alice", "y", 3), P2PS_AUTHORITY_ASKED);
    assert_int_equal(ask("bob", "x", 3), P2PS_AUTHORITY_ASKED);
    p2ps_authority_close(authority, now_ns);
    assert_int_equal(ask("alice", "x", 4), P2PS_AUTHORITY_ALLOW);
    assert_int_equal(ask("alice", "y", 4), P2PS_AUTHORITY_DOWN);
    now_ns += 61 * SECOND;
    assert_int_equal(ask("alice", "x", 5), P2PS_AUTHORITY_DOWN);
    assert_int_equal(stats().cached, 2);
}

static enum p2ps_authority_verdict ask_at(uint64_t now_s, uint64_t ticket)
{
    const struct p2ps_authority_question question = { .user = view("alice"),
                                                      .password = view("x"),
                                                      .now_s = now_s };

    return p2ps_authority_ask(authority, now_ns, &question, 1, ticket, &answer);
}

static void an_answer_says_when_its_session_ends(void **state)
{
    (void)state;
    greet();
    assert_int_equal(ask_at(5000000000, 1), P2PS_AUTHORITY_ASKED);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"ttl\":600,\"expires\":5000000060"));
    assert_true(takes());
    assert_true(answer.expires_s == 5000000060);
    assert_int_equal(ask_at(5000000059, 2), P2PS_AUTHORITY_ALLOW);
    assert_true(answer.expires_s == 5000000060);
    /* It is known for longer than that; who comes then is asked about. */
    assert_int_equal(ask_at(5000000060, 3), P2PS_AUTHORITY_ASKED);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"expires\":null"));
    assert_true(takes());
    assert_true(answer.verdict == P2PS_AUTHORITY_ALLOW && answer.expires_s == 0);
    is_refused_alone("\"verdict\":\"allow\",\"expires\":\"2027\"");
    is_refused_alone("\"verdict\":\"allow\",\"expires\":0");
    assert_int_equal(ask_at(5000000060, 4), P2PS_AUTHORITY_ASKED);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"expires\":5000000060"));
    assert_true(takes());
    assert_int_equal(answer.verdict, P2PS_AUTHORITY_DENY);
}

/* A login that shows another certificate, or is plain, does not get a remembered answer. */
static void a_login_that_comes_in_another_way_is_another_one(void **state)
{
    struct p2ps_authority_question question = { .user = view("alice"), .password = view("x") };

    (void)state;
    greet();
    p2ps_authority_ask(authority, now_ns, &question, 1, 1, &answer);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"ttl\":600"));
    assert_true(takes());
    assert_int_equal(p2ps_authority_ask(authority, now_ns, &question, 1, 2, &answer),
                     P2PS_AUTHORITY_ALLOW);
    question.is_plain = true;
    assert_int_equal(p2ps_authority_ask(authority, now_ns, &question, 1, 3, &answer),
                     P2PS_AUTHORITY_ASKED);
    question.is_plain = false;
    question.certificate = view("alice");
    assert_int_equal(p2ps_authority_ask(authority, now_ns, &question, 1, 4, &answer),
                     P2PS_AUTHORITY_ASKED);
}

static void an_authority_may_be_unable_to_say(void **state)
{
    (void)state;
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"deny\",\"code\":\"DOWN\",\"text\":\"later\""));
    assert_true(takes());
    assert_int_equal(answer.verdict, P2PS_AUTHORITY_DENY);
    assert_int_equal(answer.reason, ENTITLE_DOWN); /* neither right nor wrong: see p2ps/core */
}

static void a_denial_is_not_remembered(void **state)
{
    (void)state;
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"deny\",\"ttl\":60"));
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_ASKED);
}

static void what_changes_is_forgotten_and_asked_again(void **state)
{
    char text[ENTITLE_TEXT_MAX];

    (void)state;
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"ttl\":600"));
    assert_true(takes());
    uint64_t serial = answer.serial;
    assert_int_equal(p2ps_authority_look(authority, view("alice"), serial, text),
                     P2PS_AUTHORITY_FINE);
    assert_null(hears("{\"event\":\"again\",\"user\":\"alice\"}\n"));
    assert_true(recalls());
    assert_false(recalls());
    assert_int_equal(p2ps_authority_look(authority, view("alice"), serial, text),
                     P2PS_AUTHORITY_AGAIN);
    assert_int_equal(p2ps_authority_look(authority, view("bob"), serial, text),
                     P2PS_AUTHORITY_FINE);
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_ASKED);
    assert_int_equal(renew("alice", 3), P2PS_AUTHORITY_ASKED);
    assert_null(answers(number(), "\"verdict\":\"allow\""));
    assert_true(takes());
    assert_int_equal(p2ps_authority_look(authority, view("alice"), answer.serial, text),
                     P2PS_AUTHORITY_FINE);
}

static void notices_about(const char *user, int count)
{
    char line[100];

    snprintf(line, sizeof(line), "{\"event\":\"again\",\"user\":\"%s\"}\n", user);
    for (int i = 0; i < count; i++)
        assert_null(hears(line));
}

static void what_is_known_of_others_is_kept(void **state)
{
    (void)state;
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"ttl\":600"));
    assert_true(takes());
    for (int i = 0; i < 3; i++) {
        notices_about("carol", 1024);
        assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_ALLOW);
    }
    notices_about("carol", 1025); /* too much has happened to know */
    assert_int_equal(ask("alice", "x", 3), P2PS_AUTHORITY_ASKED);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"ttl\":600"));
    assert_true(takes());
    assert_int_equal(ask("alice", "x", 4), P2PS_AUTHORITY_ALLOW);
    notices_about("*", 1);
    assert_int_equal(ask("alice", "x", 5), P2PS_AUTHORITY_ASKED);
}

static void a_logout_is_for_sessions_that_are_there(void **state)
{
    char text[ENTITLE_TEXT_MAX];

    (void)state;
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"allow\""));
    assert_true(takes());
    uint64_t serial = answer.serial;
    assert_null(hears("{\"event\":\"logout\",\"user\":\"alice\",\"text\":\"bye\"}\n"));
    assert_int_equal(p2ps_authority_look(authority, view("alice"), serial, text),
                     P2PS_AUTHORITY_OUT);
    assert_string_equal(text, "bye");
    ask("alice", "x", 2);
    assert_null(answers(number(), "\"verdict\":\"allow\""));
    assert_true(takes());
    assert_int_equal(p2ps_authority_look(authority, view("alice"), answer.serial, text),
                     P2PS_AUTHORITY_FINE);
    for (int i = 0; i < 2000; i++)
        assert_null(hears("{\"event\":\"logout\",\"user\":\"carol\"}\n"));
    assert_int_equal(p2ps_authority_look(authority, view("bob"), serial, text),
                     P2PS_AUTHORITY_AGAIN); /* too much has happened to know */
}

static enum p2ps_authority_verdict renew_session(const char *session)
{
    const struct p2ps_authority_question question = { .is_renewal = true,
                                                      .user = view("alice"),
                                                      .session = view(session) };

    return p2ps_authority_ask(authority, now_ns, &question, 1, 9, &answer);
}

static void a_session_has_the_name_that_its_answer_gave(void **state)
{
    (void)state;
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"session\":\"s-77\""));
    assert_true(takes());
    assert_string_equal(answer.session, "s-77");
    renew_session("s-77");
    assert_non_null(strstr(said(), ",\"session\":\"s-77\"}\n"));
    renew_session("s-77");
    assert_null(answers(number(), "\"verdict\":\"allow\",\"session\":\"s-77\""));
    assert_true(takes());
    assert_string_equal(answer.session, ""); /* it goes on as it was */
    renew_session("s-77");
    assert_null(answers(number(), "\"verdict\":\"allow\",\"session\":\"s-78\""));
    assert_true(takes());
    assert_string_equal(answer.session, "s-78");
    p2ps_authority_end(authority, view("s-78"), view("the connection has ended"));
    assert_string_equal(said(), "{\"event\":\"end\",\"session\":\"s-78\","
                                "\"reason\":\"the connection has ended\"}\n");
    p2ps_authority_end(authority, view(""), view("it had none"));
    p2ps_authority_end(authority, view("s-79"), view("cut within a \xc3"));
    assert_string_equal(said(), "{\"event\":\"end\",\"session\":\"s-79\",\"reason\":\"closed\"}\n");
    assert_int_equal(stats().ends, 2);
}

static void a_login_that_is_known_has_no_session_of_its_own(void **state)
{
    (void)state;
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"ttl\":60,\"session\":\"s-77\""));
    assert_true(takes());
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_ALLOW);
    assert_string_equal(answer.session, "");
}

static void sessions_that_nobody_has_end_at_once(void **state)
{
    (void)state;
    greet();
    now_ns += SECOND;
    ask("alice", "x", 1);
    unsigned long long id = number();
    renew_session("s-1");
    unsigned long long renewal = number();
    now_ns += 2 * SECOND;
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_null(answers(renewal, "\"verdict\":\"allow\",\"session\":\"s-1\""));
    assert_string_equal(said(), ""); /* it goes on, and is asked for again */
    assert_null(answers(id, "\"verdict\":\"deny\",\"session\":\"s-2\""));
    assert_string_equal(said(), "");
    assert_null(answers(id, "\"verdict\":\"allow\",\"session\":\"s-2\""));
    assert_string_equal(said(), "{\"event\":\"end\",\"session\":\"s-2\","
                                "\"reason\":\"the answer came late\"}\n");
    assert_true(takes() && takes());
    ask("alice", "x", 2);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"user\":\"bob\",\"session\":\"s-3\""));
    assert_string_equal(said(), "{\"event\":\"end\",\"session\":\"s-3\","
                                "\"reason\":\"the answer could not be used\"}\n");
    assert_true(takes());
    is_refused_alone("\"verdict\":\"allow\",\"session\":\"a\\nb\"");
    is_refused_alone("\"verdict\":\"allow\",\"session\":7");
}

static void ends_do_not_fill_memory_and_what_is_lost_is_counted(void **state)
{
    (void)state;
    p2ps_authority_end(authority, view("s-0"), view("closed"));
    assert_int_equal(stats().ends_lost, 1);
    greet();
    for (int i = 0; i < 50000; i++)
        p2ps_authority_end(authority, view("s-1"), view("closed"));
    size_t length;
    p2ps_authority_output(authority, &length);
    assert_in_range(length, 1u << 20, (1u << 20) + 200);
    assert_int_equal(stats().ends + stats().ends_lost, 50001);
    uint64_t lost = stats().ends_lost - 1;
    assert_int_equal(ask("alice", "x", 1), P2PS_AUTHORITY_ASKED); /* logins still have room */
    p2ps_authority_output(authority, &length);
    p2ps_authority_sent(authority, length);
    char wanted[200];
    snprintf(wanted, sizeof(wanted),
             "{\"event\":\"lost\",\"ends\":%llu}\n"
             "{\"event\":\"end\",\"session\":\"s-2\",\"reason\":\"closed\"}\n",
             (unsigned long long)lost);
    p2ps_authority_end(authority, view("s-2"), view("closed"));
    assert_string_equal(said(), wanted);
    p2ps_authority_end(authority, view("s-3"), view("closed"));
    lost = stats().ends_lost;
    p2ps_authority_close(authority, now_ns); /* s-3 may not have been heard */
    assert_int_equal(stats().ends_lost, lost + 1);
}

static void a_hello_says_that_renewals_follow(void **state)
{
    (void)state;
    greet();
    p2ps_authority_close(authority, now_ns);
    p2ps_authority_end(authority, view("s-1"), view("closed"));
    p2ps_authority_open(authority, now_ns);
    assert_string_equal(said(), "{\"hello\":\"openrmds-access\",\"version\":1,"
                                "\"instance\":\"p2ps.1\",\"renews\":true}\n");
    assert_null(hears(HELLO));
    p2ps_authority_end(authority, view("s-2"), view("closed"));
    assert_null(strstr(said(), "lost")); /* the renewals say it all */
}

/* A session is let in, with a ttl, then the authority is gone. */
static uint64_t goes_away(enum p2ps_authority_sessions sessions, uint64_t grace_ns)
{
    with_sessions(sessions, grace_ns);
    greet();
    ask("alice", "x", 1);
    assert_null(answers(number(), "\"verdict\":\"allow\",\"ttl\":86400"));
    assert_true(takes());
    p2ps_authority_news(authority, now_ns);
    p2ps_authority_close(authority, now_ns);
    return answer.serial;
}

static void sessions_that_stay_hear_nothing_until_the_grace_is_over(void **state)
{
    (void)state;
    uint64_t serial = goes_away(P2PS_AUTHORITY_STAY, 100 * SECOND);
    assert_int_equal(p2ps_authority_news(authority, now_ns), 0);
    assert_int_equal(p2ps_authority_deadline(authority), now_ns + 100 * SECOND);
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_ALLOW);
    assert_int_equal(ask("bob", "x", 2), P2PS_AUTHORITY_DOWN);
    now_ns += 100 * SECOND - 1;
    assert_false(p2ps_authority_closes(authority, now_ns, serial));
    now_ns++;
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_LOGINS);
    assert_int_equal(p2ps_authority_news(authority, now_ns), 0); /* once */
    assert_int_equal(p2ps_authority_deadline(authority), UINT64_MAX);
    assert_true(p2ps_authority_closes(authority, now_ns, serial));
    assert_false(p2ps_authority_closes(authority, now_ns, 0)); /* the file alone let it in */
    assert_int_equal(stats().closed, 1);
    assert_int_equal(ask("alice", "x", 3), P2PS_AUTHORITY_DOWN);
    p2ps_authority_open(authority, now_ns);
    assert_null(hears(HELLO));
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_LOGINS);
    assert_false(p2ps_authority_closes(authority, now_ns, serial));
}

static void sessions_that_are_suspect_hear_that_it_is_away_and_back(void **state)
{
    (void)state;
    uint64_t serial = goes_away(P2PS_AUTHORITY_SUSPECT, 100 * SECOND);
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_DOWN);
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_ALLOW);
    assert_int_equal(ask("bob", "x", 2), P2PS_AUTHORITY_DOWN);
    assert_false(p2ps_authority_closes(authority, now_ns, serial));
    now_ns += 50 * SECOND;
    p2ps_authority_open(authority, now_ns);
    assert_null(hears(HELLO));
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_UP | ENTITLE_NEWS_LOGINS);
    p2ps_authority_close(authority, now_ns);
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_DOWN);
    now_ns += 99 * SECOND; /* from its last end on */
    assert_int_equal(p2ps_authority_news(authority, now_ns), 0);
    now_ns += SECOND;
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_LOGINS);
    assert_true(p2ps_authority_closes(authority, now_ns, serial));
}

static void sessions_are_closed_at_once_where_they_may_not_be_without_it(void **state)
{
    (void)state;
    uint64_t serial = goes_away(P2PS_AUTHORITY_CLOSE, 0);
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_DOWN); /* its answer lives */
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_LOGINS);
    assert_int_equal(p2ps_authority_news(authority, now_ns), 0);
    assert_true(p2ps_authority_closes(authority, now_ns, serial));
    p2ps_authority_open(authority, now_ns);
    assert_null(hears(HELLO));
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_LOGINS);
    assert_false(p2ps_authority_closes(authority, now_ns, serial));
    ask("bob", "x", 3);
    now_ns += 2 * SECOND; /* it is silent */
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_LOGINS);
    assert_true(p2ps_authority_closes(authority, now_ns, serial));
}

static void without_a_grace_sessions_go_on_for_ever(void **state)
{
    (void)state;
    uint64_t serial = goes_away(P2PS_AUTHORITY_SUSPECT, 0);
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_DOWN);
    assert_int_equal(p2ps_authority_deadline(authority), UINT64_MAX);
    now_ns += 1000000 * SECOND;
    assert_int_equal(p2ps_authority_news(authority, now_ns), 0);
    assert_false(p2ps_authority_closes(authority, now_ns, serial));
}

/* Heard and silent again before anybody takes the news: a session that was let in meanwhile is not
 * forgotten. */
static void who_came_in_while_it_was_silent_is_asked_about_when_it_is_back(void **state)
{
    char text[ENTITLE_TEXT_MAX];

    (void)state;
    greet();
    now_ns += SECOND;
    ask("alice", "x", 1);
    unsigned long long id = number();
    now_ns += 2 * SECOND;
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_false(p2ps_authority_is_up(authority));
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_DOWN);
    p2ps_authority_owe(authority); /* authorityDown allow has let bob in, with the serial 0 */
    assert_null(answers(id, "\"verdict\":\"deny\"")); /* back */
    assert_int_equal(ask("carol", "x", 2), P2PS_AUTHORITY_ASKED);
    now_ns += 2 * SECOND;
    assert_null(p2ps_authority_tick(authority, now_ns)); /* and silent */
    assert_int_equal(p2ps_authority_news(authority, now_ns), 0);
    assert_null(hears("{\"pong\":1}\n"));
    assert_int_equal(p2ps_authority_news(authority, now_ns), ENTITLE_NEWS_UP | ENTITLE_NEWS_LOGINS);
    assert_int_equal(p2ps_authority_look(authority, view("bob"), 0, text), P2PS_AUTHORITY_AGAIN);
}

static void a_login_waits_for_it_no_longer_than_for_an_answer(void **state)
{
    (void)state;
    assert_int_equal(ask("alice", "x", 1), P2PS_AUTHORITY_ASKED);
    assert_int_equal(renew("bob", 2), P2PS_AUTHORITY_DOWN); /* a session goes on meanwhile */
    assert_int_equal(stats().held, 1);
    assert_int_equal(p2ps_authority_deadline(authority), now_ns + 2 * SECOND);
    now_ns += SECOND;
    assert_int_equal(ask("carol", "x", 3), P2PS_AUTHORITY_ASKED);
    now_ns += SECOND - 1;
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_false(takes());
    now_ns++;
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_int_equal(p2ps_authority_answered(authority), 2);
    assert_true(takes() && answer.ticket == 1);
    assert_int_equal(answer.verdict, P2PS_AUTHORITY_DOWN);
    assert_false(takes());
    assert_int_equal(p2ps_authority_deadline(authority), now_ns + SECOND);
    now_ns += SECOND;
    p2ps_authority_close(authority, now_ns); /* another attempt to connect has failed */
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_true(takes() && answer.ticket == 3);
    assert_int_equal(stats().waiting, 0);
    assert_int_equal(stats().timeouts, 0); /* it was not asked */
    assert_int_equal(p2ps_authority_deadline(authority), UINT64_MAX);
}

static void who_waits_is_asked_about_as_soon_as_it_is_back(void **state)
{
    const struct p2ps_authority_question token = {
        .token = view("eyJ"),
        .host = view("10.1.0.7:9"),
        .certificate = view("desk1"),
        .application_name = view("al\xe9"), /* no UTF-8: it is left out */
        .name_type = 5,
        .is_plain = true,
    };

    (void)state;
    ask("alice", "p\\w", 1);
    now_ns += SECOND;
    p2ps_authority_ask(authority, now_ns, &token, 1, 2, &answer);
    ask("al\xe9", "x", 3); /* no UTF-8 */
    now_ns += SECOND - 1;
    p2ps_authority_open(authority, now_ns);
    said();
    assert_null(hears(HELLO));
    assert_string_equal(said(), "{\"id\":65536,\"ask\":\"login\",\"user\":\"alice\","
                                "\"password\":\"p\\\\w\",\"address\":\"10.1.0.7:5122\","
                                "\"tls\":true}\n"
                                "{\"id\":196609,\"ask\":\"login\",\"nameType\":5,"
                                "\"token\":\"eyJ\",\"address\":\"10.1.0.7:9\",\"tls\":false,"
                                "\"certificate\":\"desk1\"}\n");
    assert_true(takes() && answer.ticket == 3 && answer.verdict == P2PS_AUTHORITY_DENY);
    now_ns += 2 * SECOND - 1; /* since it was asked */
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_false(takes());
    assert_null(answers(65536, "\"verdict\":\"allow\",\"session\":\"s-1\""));
    assert_true(takes() && answer.verdict == P2PS_AUTHORITY_ALLOW);
    assert_string_equal(answer.user, "alice");
    assert_string_equal(answer.session, "s-1");
    p2ps_authority_close(authority, now_ns);
    assert_true(takes() && answer.ticket == 2 && answer.verdict == P2PS_AUTHORITY_DOWN);
    assert_int_equal(stats().waiting, 0);
}

static void who_waits_is_asked_about_when_a_silent_one_speaks(void **state)
{
    (void)state;
    greet();
    now_ns += SECOND;
    ask("alice", "x", 1);
    now_ns += 2 * SECOND;
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_true(takes() && answer.verdict == P2PS_AUTHORITY_DOWN);
    said();
    assert_int_equal(ask("bob", "x", 2), P2PS_AUTHORITY_ASKED);
    assert_string_equal(said(), "");
    assert_null(hears("{\"pong\":1}\n"));
    assert_null(answers(number(), "\"verdict\":\"allow\""));
    assert_true(takes() && answer.ticket == 2 && answer.verdict == P2PS_AUTHORITY_ALLOW);
}

/* An answer to a question that did not go out yet is nobody's. */
static void nobody_waits_beyond_the_window(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(ask("alice", "x", i), P2PS_AUTHORITY_ASKED);
        assert_int_equal(ask("alice", "x", 5), P2PS_AUTHORITY_DOWN);
        assert_int_equal(stats().waiting, 4);
        if (round % 2) { /* by turns nobody comes, and it comes back */
            p2ps_authority_open(authority, now_ns);
            assert_null(hears(HELLO));
            assert_int_equal(ask("alice", "x", 5), P2PS_AUTHORITY_BUSY);
            p2ps_authority_close(authority, now_ns);
        } else {
            now_ns += 2 * SECOND;
            assert_null(p2ps_authority_tick(authority, now_ns));
        }
        for (unsigned i = 0; i < 4; i++)
            assert_true(takes() && answer.verdict == P2PS_AUTHORITY_DOWN && answer.ticket == i);
        assert_false(takes());
    }
    assert_int_equal(stats().held, 400);
}

static void secrets_that_wait_have_a_megabyte(void **state)
{
    static char token[P2PS_AUTHORITY_TOKEN];
    struct p2ps_authority_config config = {
        .instance = "p2ps.1", .timeout_ns = 2 * SECOND, .window = 1000, .holds = true
    };
    struct p2ps_authority_question question = { .token = { token, sizeof(token) - 7 },
                                                .host = view("10.1.0.7:9") };

    (void)state;
    p2ps_authority_destroy(authority);
    assert_int_equal(p2ps_authority_create(&config, &authority), MD_OK);
    for (unsigned round = 0; round < 20; round++) {
        unsigned count = 0;

        memset(token, 'a' + (int)round, sizeof(token));
        question.token.length -= 511; /* their places change from round to round */
        while (p2ps_authority_ask(authority, now_ns, &question, 1, count, &answer) ==
               P2PS_AUTHORITY_ASKED)
            count++;
        assert_int_equal(answer.verdict, P2PS_AUTHORITY_DOWN);
        assert_in_range(count, (1u << 20) / question.token.length - 1,
                        (1u << 20) / question.token.length);
        p2ps_authority_open(authority, now_ns);
        said();
        assert_null(hears(HELLO));
        for (unsigned i = 0; i < count; i++) {
            size_t length;
            const char *out = p2ps_authority_output(authority, &length);
            const char *end = memchr(out, '\n', length);
            const char *at = memmem(out, length, "\"token\":\"", 9);
            assert_true(end && at && at < end);
            at += 9;
            assert_memory_equal(at, token, question.token.length);
            p2ps_authority_sent(authority, (size_t)(end - out) + 1);
        }
        p2ps_authority_close(authority, now_ns);
        while (takes())
            ;
    }
}

static void silence_is_noticed_and_ends(void **state)
{
    (void)state;
    greet();
    now_ns += SECOND;
    ask("alice", "x", 1);
    unsigned long long id = number();
    assert_int_equal(p2ps_authority_deadline(authority), now_ns + 2 * SECOND);
    now_ns += 2 * SECOND;
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_true(takes());
    assert_int_equal(answer.verdict, P2PS_AUTHORITY_DOWN);
    assert_false(p2ps_authority_is_up(authority));
    assert_int_equal(ask("alice", "x", 2), P2PS_AUTHORITY_DOWN);
    assert_int_equal(renew("alice", 3), P2PS_AUTHORITY_DOWN);
    assert_false(recalls());
    assert_null(answers(id, "\"verdict\":\"allow\""));
    assert_int_equal(stats().late, 1);
    assert_true(p2ps_authority_is_up(authority));
    assert_true(recalls()); /* a session was not answered */
    assert_false(takes());
}

static void one_slow_answer_is_no_silence(void **state)
{
    (void)state;
    greet();
    now_ns += SECOND;
    ask("alice", "x", 1);
    now_ns += SECOND;
    ask("bob", "x", 2);
    assert_null(answers(number(), "\"verdict\":\"allow\""));
    now_ns += SECOND;
    assert_null(p2ps_authority_tick(authority, now_ns));
    assert_true(p2ps_authority_is_up(authority));
    assert_int_equal(stats().timeouts, 1);
}

/* Some login is under way all the time where many come and go. */
static void owed_renewals_wait_for_half_the_window_only(void **state)
{
    unsigned long long id[4];

    (void)state;
    greet();
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(renew("alice", i), P2PS_AUTHORITY_ASKED);
        id[i] = number();
    }
    assert_int_equal(renew("bob", 4), P2PS_AUTHORITY_BUSY);
    for (unsigned i = 0; i < 3; i++) {
        assert_false(recalls());
        assert_null(answers(id[i], "\"verdict\":\"allow\""));
        assert_true(takes());
    }
    assert_int_equal(stats().waiting, 1);
    assert_true(recalls());
    assert_false(recalls());
}

static void a_renewal_knows_no_notice_that_came_after_it(void **state)
{
    char text[ENTITLE_TEXT_MAX];

    (void)state;
    greet();
    renew("alice", 1);
    unsigned long long id = number();
    notices_about("alice", 1);
    assert_null(answers(id, "\"verdict\":\"allow\""));
    assert_true(takes());
    assert_int_equal(p2ps_authority_look(authority, view("alice"), answer.serial, text),
                     P2PS_AUTHORITY_AGAIN);
}

static void it_is_pinged_and_given_up_after_three(void **state)
{
    (void)state;
    greet();
    assert_null(p2ps_authority_tick(authority, now_ns + 5 * SECOND));
    assert_string_equal(said(), "{\"ping\":1}\n");
    now_ns += 6 * SECOND;
    assert_null(hears("{\"pong\":1}\n"));
    assert_null(p2ps_authority_tick(authority, now_ns + 14 * SECOND));
    assert_non_null(p2ps_authority_tick(authority, now_ns + 15 * SECOND));
}

static void the_window_bounds_questions(void **state)
{
    (void)state;
    greet();
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(ask("alice", "x", i), P2PS_AUTHORITY_ASKED);
    assert_int_equal(ask("alice", "x", 5), P2PS_AUTHORITY_BUSY);
    assert_int_equal(stats().busy, 1);
    assert_null(answers(number(), "\"verdict\":\"allow\""));
    assert_int_equal(ask("alice", "x", 6), P2PS_AUTHORITY_BUSY); /* its place is not taken yet */
    assert_true(takes());
    assert_int_equal(ask("alice", "x", 7), P2PS_AUTHORITY_ASKED);
}

static void broken_lines_end_the_connection(void **state)
{
    static const char *const lines[] = {
        "{\n",
        "[]\n",
        "{}\n",
        "{\"id\":}\n",
        "{\"id\":1,\"id\":1}\n",
        "{\"id\":-1}\n",
        "{\"id\":1.5}\n",
        "{\"id\":99999999999999999999}\n",
        "{\"id\":65536,\"verdict\":\"maybe\"}\n",
        "{\"id\":131072,\"verdict\":\"allow\"}\n",
        "{\"id\":1,\"verdict\":\"allow\"}\n",
        "{\"event\":\"logout\"}\n",
        "{\"event\":\"logout\",\"user\":\"\\ud800\"}\n",
        "{\"pong\":1} x\n",
        "{\"roles\":{}}\n",
        "{\"id\":65536,\"verdict\":\"allow\",\"grants\":{\"IDN\":1}}\n",
        "{\"id\":65536,\"verdict\":\"allow\",\"grants\":{\"IDN\":[\"1\"]}}\n",
        "{\"id\":65536,\"verdict\":\"allow\",\"grants\":{\"IDN\":{}}}\n",
        "{\"id\":65536,\"verdict\":\"allow\",\"grants\":{\"IDN\":\"1\",\"IDN\":\"2\"}}\n",
        "{\"id\":65536,\"verdict\":\"allow\",\"grants\":{\"IDN\":\"1\",}}\n",
        "{\"id\":65536,\"verdict\":\"allow\",\"grants\":{\"IDN\"}}\n",
        "{\"id\":65536,\"verdict\":\"allow\",\"grants\":{\"IDN\":\"1\"}\n",
        "{\"roles\":[1]}\n",
        "{\"a\nb\":1}\n",
        "{\"pong\":1,\"a\":\"\xff\"}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        greet();
        ask("alice", "x", 1);
        if (!hears(lines[i]))
            fail_msg("taken: %s", lines[i]);
        p2ps_authority_close(authority, now_ns);
        assert_true(takes());
        assert_int_equal(answer.verdict, P2PS_AUTHORITY_DOWN);
        p2ps_authority_destroy(authority);
        set_up(NULL);
    }
    p2ps_authority_open(authority, now_ns);
    assert_non_null(hears("{\"hello\":\"openrmds-access\",\"version\":2}\n"));
}

static void a_line_may_come_in_pieces_but_not_without_end(void **state)
{
    static char much[65537];

    (void)state;
    p2ps_authority_open(authority, now_ns);
    for (const char *at = HELLO; *at; at++)
        assert_null(p2ps_authority_input(authority, now_ns, at, 1));
    assert_true(p2ps_authority_is_up(authority));
    memset(much, ' ', sizeof(much));
    assert_non_null(p2ps_authority_input(authority, now_ns, much, sizeof(much)));
}

static void bytes_that_are_no_utf8_are_not_sent(void **state)
{
    (void)state;
    greet();
    assert_int_equal(ask("al\xe9", "x", 1), P2PS_AUTHORITY_DENY);
    assert_int_equal(ask("al\xc3\xa9", "x", 1), P2PS_AUTHORITY_ASKED);
    assert_non_null(strstr(said(), "\"user\":\"al\xc3\xa9\""));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, clean_up)
#define HOLD(function) cmocka_unit_test_setup_teardown(function, set_up_to_hold, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_up_from_its_hello_on),
        TEST(a_question_says_all_and_its_answer_finds_who_asked),
        TEST(answers_come_in_any_order),
        TEST(a_token_is_whom_the_authority_names),
        TEST(who_allows_somebody_else_lets_nobody_in),
        TEST(roles_beyond_the_limits_refuse_one_login),
        TEST(an_answer_grants_codes_beside_its_roles),
        TEST(grants_beyond_the_limits_refuse_one_login),
        TEST(a_member_of_another_kind_refuses_one_login),
        TEST(each_login_may_have_roles_of_its_own),
        TEST(an_answer_lives_for_its_ttl_also_without_the_authority),
        TEST(an_answer_says_when_its_session_ends),
        TEST(a_login_that_comes_in_another_way_is_another_one),
        TEST(an_authority_may_be_unable_to_say),
        TEST(a_denial_is_not_remembered),
        TEST(what_changes_is_forgotten_and_asked_again),
        TEST(what_is_known_of_others_is_kept),
        TEST(a_logout_is_for_sessions_that_are_there),
        TEST(a_session_has_the_name_that_its_answer_gave),
        TEST(a_login_that_is_known_has_no_session_of_its_own),
        TEST(sessions_that_nobody_has_end_at_once),
        TEST(ends_do_not_fill_memory_and_what_is_lost_is_counted),
        TEST(a_hello_says_that_renewals_follow),
        TEST(sessions_that_stay_hear_nothing_until_the_grace_is_over),
        TEST(sessions_that_are_suspect_hear_that_it_is_away_and_back),
        TEST(sessions_are_closed_at_once_where_they_may_not_be_without_it),
        TEST(without_a_grace_sessions_go_on_for_ever),
        TEST(who_came_in_while_it_was_silent_is_asked_about_when_it_is_back),
        HOLD(a_login_waits_for_it_no_longer_than_for_an_answer),
        HOLD(who_waits_is_asked_about_as_soon_as_it_is_back),
        HOLD(who_waits_is_asked_about_when_a_silent_one_speaks),
        HOLD(nobody_waits_beyond_the_window),
        HOLD(secrets_that_wait_have_a_megabyte),
        TEST(silence_is_noticed_and_ends),
        TEST(one_slow_answer_is_no_silence),
        TEST(owed_renewals_wait_for_half_the_window_only),
        TEST(a_renewal_knows_no_notice_that_came_after_it),
        TEST(it_is_pinged_and_given_up_after_three),
        TEST(the_window_bounds_questions),
        TEST(broken_lines_end_the_connection),
        TEST(a_line_may_come_in_pieces_but_not_without_end),
        TEST(bytes_that_are_no_utf8_are_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
