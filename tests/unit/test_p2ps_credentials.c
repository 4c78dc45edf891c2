/* test_p2ps_credentials.c - passwords against hashes: in threads, remembered, held back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <crypt.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "jwt_sign.h"
#include "p2ps/credentials.h"

#define SECOND 1000000000ull

static struct p2ps_credentials *credentials;
static struct entitle_rules *rules;
static entitle_rules_slot slot;
static struct entitle_authority authority;
static _Atomic uint64_t now_ns;
static sem_t rung;
static struct entitle_answer answer;
static struct p2ps_tokens *tokens;
static _Atomic uint64_t wall;
static char folder[256], keys_path[300];

static uint64_t now(void)
{
    return atomic_load(&now_ns);
}

static void wake(void *owner)
{
    (void)owner;
    sem_post(&rung);
}

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

static void use_rules(const char *more, const char *password)
{
    char text[1024], salt[CRYPT_GENSALT_OUTPUT_SIZE];
    struct crypt_data data = { .initialized = 0 };

    assert_non_null(crypt_gensalt_rn("$5$", 1000, NULL, 0, salt, sizeof(salt)));
    const char *hash = crypt_r(password, salt, &data);
    assert_non_null(hash);
    snprintf(text, sizeof(text), "user alice hash=%s%s", hash, more);
    struct entitle_rules *old = rules;
    assert_int_equal(entitle_rules_create(text, strlen(text), NULL, NULL, &rules), MD_OK);
    atomic_store(&slot, rules);
    entitle_rules_destroy(old);
}

static uint64_t wall_s(void)
{
    return atomic_load(&wall);
}

/* The rules of accessShadowFile. */
static struct entitle_rules *shadow_rules;
static entitle_rules_slot shadow;
static char recorded[600];

static void put_record(void *self, const struct entitle_record *record)
{
    size_t used = strlen(recorded);

    (void)self;
    assert_int_equal(record->kind, ENTITLE_RECORD_SHADOW);
    snprintf(recorded + used, sizeof(recorded) - used, "%.*s: %.*s\n",
             (int)record->text[ENTITLE_TEXT_USER].length, record->text[ENTITLE_TEXT_USER].data,
             (int)record->text[ENTITLE_TEXT_WHY].length, record->text[ENTITLE_TEXT_WHY].data);
}

static void use_shadow(const char *text)
{
    struct entitle_rules *old = shadow_rules;

    assert_int_equal(entitle_rules_create(text, strlen(text), NULL, NULL, &shadow_rules), MD_OK);
    atomic_store(&shadow, shadow_rules);
    entitle_rules_destroy(old);
    recorded[0] = '\0';
}

static void start(unsigned queue_max, unsigned threads)
{
    const struct p2ps_credentials_config config = { .rules = &slot,
                                                    .workers = 1,
                                                    .threads = threads,
                                                    .queue_max = queue_max,
                                                    .cache_ns = 600 * SECOND,
                                                    .now = now,
                                                    .tokens = tokens,
                                                    .wall_s = wall_s,
                                                    .shadow = &shadow };
    const struct entitle_recorder recorder = { .put = put_record };

    assert_int_equal(p2ps_credentials_create(&config, &credentials), MD_OK);
    p2ps_credentials_wake_set(credentials, 0, wake, NULL);
    p2ps_credentials_record(credentials, 0, &recorder);
    authority = p2ps_credentials_authority(credentials, 0);
}

static enum entitle_verdict ask(const char *user, struct entitle_view password, uint64_t ticket)
{
    const struct entitle_query query = { .kind = ENTITLE_LOGIN,
                                         .user = view(user),
                                         .password = password,
                                         .host = view("10.1.0.7:5122") };

    return authority.ask(authority.self, &query, ticket, &answer);
}

/* The verdict, at once or when the thread has looked. */
static enum entitle_verdict login(const char *user, const char *password)
{
    if (ask(user, view(password), 77) != ENTITLE_PENDING)
        return answer.verdict;
    while (authority.answers(authority.self, &answer, 1) == 0)
        sem_wait(&rung);
    assert_int_equal(answer.ticket, 77);
    return answer.verdict;
}

static struct p2ps_credentials_stats stats(void)
{
    struct p2ps_credentials_stats stats;

    p2ps_credentials_stats(credentials, &stats);
    return stats;
}

static int set_up(void **state)
{
    (void)state;
    atomic_store(&now_ns, 1000 * SECOND);
    sem_init(&rung, 0, 0);
    use_rules(" mounts=3\nuser bob password=plain\n", "open-sesame");
    start(16, 1);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    p2ps_credentials_destroy(credentials);
    credentials = NULL;
    atomic_store(&slot, NULL);
    entitle_rules_destroy(rules);
    rules = NULL;
    atomic_store(&shadow, NULL);
    entitle_rules_destroy(shadow_rules);
    shadow_rules = NULL;
    sem_destroy(&rung);
    return 0;
}

static void a_password_that_fits_its_hash_is_let_in(void **state)
{
    (void)state;
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_ALLOW);
    assert_int_equal(answer.mounts_max, 3);
    assert_true(answer.is_proved);
    assert_int_equal(login("bob", "plain"), ENTITLE_ALLOW);
    assert_int_equal(stats().checked, 1);
}

static void a_wrong_one_an_empty_one_and_a_cut_one_are_refused(void **state)
{
    static const struct entitle_view with_zero = { "open-sesame\0x", 13 };
    char text[200];

    (void)state;
    assert_int_equal(login("alice", "open-sesam"), ENTITLE_DENY);
    snprintf(text, sizeof(text), "%s", answer.text);
    assert_int_equal(login("alice", ""), ENTITLE_DENY);
    assert_string_equal(answer.text, text);
    assert_int_equal(ask("alice", with_zero, 1), ENTITLE_DENY);
    assert_string_equal(answer.text, text);
    assert_int_equal(stats().checked, 1);
}

static void a_refusal_names_a_line_of_the_rules_in_force(void **state)
{
    struct entitle_rules *old = rules;

    (void)state;
    assert_int_equal(ask("alice", view("wrong"), 1), ENTITLE_PENDING);
    assert_int_equal(entitle_rules_create("user bob\n", 9, NULL, NULL, &rules), MD_OK);
    atomic_store(&slot, rules);
    entitle_rules_destroy(old);
    while (authority.answers(authority.self, &answer, 1) == 0)
        sem_wait(&rung);
    assert_int_equal(answer.verdict, ENTITLE_DENY);
    assert_int_equal(answer.line, 0);
    assert_null(answer.file);
}

static void nobody_takes_as_long_as_a_wrong_password(void **state)
{
    (void)state;
    assert_int_equal(login("nobody", "open-sesame"), ENTITLE_DENY);
    assert_string_equal(answer.text, "user name or password refused");
    assert_int_equal(stats().checked, 1);
}

static void a_password_that_fitted_is_known_for_a_time(void **state)
{
    (void)state;
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_ALLOW);
    for (int i = 0; i < 100; i++)
        assert_int_equal(ask("alice", view("open-sesame"), 1), ENTITLE_ALLOW);
    assert_int_equal(stats().cached, 100);
    assert_int_equal(stats().checked, 1);
    assert_int_equal(answer.mounts_max, 3);
    assert_int_equal(login("alice", "open-sesam"), ENTITLE_DENY);
    atomic_fetch_add(&now_ns, 601 * SECOND);
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_ALLOW);
    assert_int_equal(stats().checked, 3);
}

static void another_hash_makes_what_was_known_worthless(void **state)
{
    (void)state;
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_ALLOW);
    use_rules("\n", "close-sesame");
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_DENY);
    assert_int_equal(login("alice", "close-sesame"), ENTITLE_ALLOW);
}

static void the_rules_of_the_answer_are_those_in_force(void **state)
{
    (void)state;
    assert_int_equal(ask("alice", view("open-sesame"), 5), ENTITLE_PENDING);
    use_rules("\n", "open-sesame"); /* another salt: another proof */
    while (authority.answers(authority.self, &answer, 1) == 0)
        sem_wait(&rung);
    assert_int_equal(answer.verdict, ENTITLE_DENY);
    assert_int_equal(answer.ticket, 5);
}

static void wrong_passwords_of_one_address_are_held_back_longer_and_longer(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(login("alice", "guess"), ENTITLE_DENY);
    assert_int_equal(ask("alice", view("open-sesame"), 1), ENTITLE_DENY);
    assert_int_equal(answer.reason, ENTITLE_BUSY);
    assert_int_equal(stats().checked, 3);
    assert_int_equal(login("bob", "plain"), ENTITLE_ALLOW);
    atomic_fetch_add(&now_ns, SECOND + 1);
    assert_int_equal(login("alice", "guess"), ENTITLE_DENY);
    assert_int_equal(answer.reason, ENTITLE_OTHER);
    atomic_fetch_add(&now_ns, SECOND + 1);
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_DENY); /* two seconds now */
    atomic_fetch_add(&now_ns, SECOND);
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_ALLOW);
    assert_int_equal(stats().held_back, 2);
}

static void guesses_at_many_names_hold_the_address_back(void **state)
{
    char name[16];

    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "user%d", i);
        assert_int_equal(login(name, "guess"), ENTITLE_DENY);
        assert_int_equal(answer.reason, ENTITLE_OTHER);
    }
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_DENY);
    assert_int_equal(answer.reason, ENTITLE_BUSY);
}

/* Names that share its places in a table, by chance or not, do not let an address go. */
static void thousands_of_names_do_not_let_an_address_go(void **state)
{
    char name[16];

    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "name%d", i);
        assert_int_equal(login(name, "guess"), ENTITLE_DENY);
    }
    uint64_t checked = stats().checked;
    for (int i = 0; i < 50000; i++) {
        snprintf(name, sizeof(name), "spray%d", i);
        assert_int_equal(ask(name, view("guess"), 1), ENTITLE_DENY);
        assert_int_equal(answer.reason, ENTITLE_BUSY);
    }
    assert_int_equal(stats().checked, checked);
}

static void a_full_queue_says_try_again(void **state)
{
    (void)state;
    p2ps_credentials_destroy(credentials);
    start(1, 0); /* without a thread, what waits stays */
    assert_int_equal(ask("alice", view("open-sesame"), 0), ENTITLE_PENDING);
    for (unsigned i = 1; i < 10; i++) {
        assert_int_equal(ask("alice", view("open-sesame"), i), ENTITLE_DENY);
        assert_int_equal(answer.reason, ENTITLE_BUSY);
    }
    assert_int_equal(stats().overflow, 9);
}

static void a_storm_of_one_password_is_checked_once(void **state)
{
    unsigned pending = 0;

    (void)state;
    p2ps_credentials_destroy(credentials);
    start(100, 1);
    for (unsigned i = 0; i < 100; i++) {
        enum entitle_verdict verdict = ask("alice", view("open-sesame"), i);
        assert_int_not_equal(verdict, ENTITLE_DENY);
        pending += verdict == ENTITLE_PENDING;
    }
    for (unsigned got = 0; got < pending;) {
        if (authority.answers(authority.self, &answer, 1) == 0) {
            sem_wait(&rung);
            continue;
        }
        assert_int_equal(answer.verdict, ENTITLE_ALLOW);
        got++;
    }
    assert_int_equal(stats().checked, 1);
}

static void questions_that_wait_end_with_the_threads(void **state)
{
    (void)state;
    p2ps_credentials_destroy(credentials);
    start(4096, 4);
    for (unsigned i = 0; i < 500; i++)
        ask("alice", view("open-sesame"), i);
}

/* ---- signed tokens ---- */

static struct md_conf *conf;
static bool must_match; /* tlsUserPolicy */

static void write_keys(const char *text)
{
    FILE *file = fopen(keys_path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int take_keys(char *why, size_t size)
{
    struct md_conf_object object = md_conf_object(conf, MD_CONF_DAEMON, NULL);
    struct p2ps_tokens_fresh *fresh;
    int err = p2ps_tokens_read(tokens, &object, why, size, &fresh);

    if (err == MD_OK)
        p2ps_tokens_commit(fresh);
    return err;
}

static int set_up_tokens(void **state)
{
    char text[600], why[400];

    set_up(state);
    p2ps_credentials_destroy(credentials);
    atomic_store(&wall, 1800000000);
    snprintf(text, sizeof(text),
             "*p2ps*jwksFile : %s\n*p2ps*jwtAudience : rmds\n*p2ps*jwtSkew : 60\n", keys_path);
    write_keys("{\"keys\":[" JWT_SIGN_JWK "]}");
    const struct md_conf_options options = { .program = "p2ps" };
    if (md_conf_load_text(&options, "test", text, strlen(text), &conf) != MD_OK ||
        p2ps_tokens_create(&tokens) != MD_OK || take_keys(why, sizeof(why)) != MD_OK)
        return 1;
    start(16, 2);
    return 0;
}

static int clean_up_tokens(void **state)
{
    clean_up(state);
    p2ps_tokens_destroy(tokens);
    tokens = NULL;
    md_conf_destroy(conf);
    return 0;
}

static enum entitle_verdict wait_for(const struct entitle_query *query)
{
    enum entitle_verdict verdict = authority.ask(authority.self, query, 78, &answer);

    if (verdict != ENTITLE_PENDING)
        return verdict;
    while (authority.answers(authority.self, &answer, 1) == 0)
        sem_wait(&rung);
    assert_int_equal(answer.ticket, 78);
    return answer.verdict;
}

/* A token with these claims, besides its audience; `user` is that of a login that is open. */
static enum entitle_verdict show(const char *body, const char *user)
{
    char claims[12000], token[17000];
    EVP_PKEY *key = jwt_sign_ed25519();
    const struct entitle_query query = { .kind = ENTITLE_LOGIN,
                                         .user = view(user),
                                         .is_token = true,
                                         .token = { token, 0 },
                                         .needs_certificate = must_match,
                                         .host = view("10.1.0.7:5122") };
    struct entitle_query with_token = query;

    snprintf(claims, sizeof(claims), "{\"aud\":\"rmds\",%s}", body);
    with_token.token.length = jwt_sign(key, "{\"alg\":\"EdDSA\"}", claims, token);
    EVP_PKEY_free(key);
    return wait_for(&with_token);
}

static void a_signed_token_says_who_it_is(void **state)
{
    (void)state;
    use_rules("\nuser joe auth=jwt mounts=5\n", "open-sesame");
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", ""), ENTITLE_ALLOW);
    assert_string_equal(answer.user, "joe");
    assert_int_equal(answer.by, ENTITLE_BY_JWT);
    assert_int_equal(answer.mounts_max, 5);
    assert_true(answer.is_proved);
    assert_int_equal(answer.expires_s, 1800001060);
    assert_int_equal(answer.reissue_s, 1800000848); /* 80 % of what is left */
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", "joe"), ENTITLE_ALLOW);
    assert_int_equal(stats().tokens, 2);
    assert_int_equal(stats().tokens_refused, 0);
}

static void the_user_line_has_the_last_word(void **state)
{
    (void)state;
    use_rules("\nuser joe auth=jwt from=10.2.0.0/16\nuser eve disabled\nuser pam password=x\n"
              "user open\n",
              "open-sesame");
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", ""), ENTITLE_DENY);
    assert_string_equal(answer.text, "joe may not come from 10.1.0.7");
    assert_int_equal(answer.token_error, 0);
    assert_int_equal(show("\"sub\":\"eve\",\"exp\":1800001000", ""), ENTITLE_DENY);
    assert_int_equal(show("\"sub\":\"pam\",\"exp\":1800001000", ""), ENTITLE_DENY);
    assert_string_equal(answer.text, "the user may not log in with a signed token");
    assert_int_equal(show("\"sub\":\"nobody\",\"exp\":1800001000", ""), ENTITLE_DENY);
    assert_int_equal(show("\"sub\":\"open\",\"exp\":1800001000", ""), ENTITLE_ALLOW);
}

static void a_wrong_token_says_why(void **state)
{
    (void)state;
    use_rules("\nuser * auth=jwt\n", "open-sesame");
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1799999928", ""), ENTITLE_DENY);
    assert_string_equal(answer.text, "token refused: expired 72 s ago (skew 60 s)");
    assert_int_equal(answer.token_error, JWT_EXPIRED);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", "alice"), ENTITLE_DENY);
    assert_int_equal(answer.token_error, ENTITLE_TOKEN_OTHER_USER);
    assert_int_equal(stats().tokens_refused, 1);
}

static unsigned lines_that_say(const char *text)
{
    struct md_log_line lines[MD_LOG_RECENT_MAX];

    md_log_flush();
    unsigned count = md_log_recent(lines, MD_LOG_RECENT_MAX), found = 0;

    for (unsigned i = 0; i < count; i++)
        found += strstr(lines[i].text, text) != NULL;
    return found;
}

/* It is the first of this file: a place in the code logs five lines a second at most. */
static void bad_tokens_without_end_do_not_fill_the_log(void **state)
{
    (void)state;
    use_rules("\nuser * auth=jwt\n", "open-sesame");
    for (int i = 0; i < 10; i++)
        assert_int_equal(show("\"sub\":\"joe\",\"exp\":1799999928", ""), ENTITLE_DENY);
    assert_int_equal(lines_that_say("token refused: expired"), 1);
    atomic_fetch_add(&now_ns, SECOND);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1799999928", ""), ENTITLE_DENY);
    assert_int_equal(lines_that_say("token refused: expired"), 2);
    assert_int_equal(lines_that_say("; 9 more since the last such line"), 1);
    atomic_fetch_add(&now_ns, SECOND);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1799999928", ""), ENTITLE_DENY);
    assert_int_equal(lines_that_say("token refused: expired"), 2);
    atomic_fetch_add(&now_ns, 3600 * SECOND);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1799999928", ""), ENTITLE_DENY);
    assert_int_equal(lines_that_say("token refused: expired"), 3);
    assert_int_equal(stats().tokens_refused, 13);
}

static enum entitle_verdict see(const char *service, const char *lock, size_t length)
{
    const struct entitle_query query = { .kind = ENTITLE_ITEM,
                                         .user = view("bob"),
                                         .service = view(service),
                                         .item = view("IBM.N"),
                                         .permission_data = { lock, length },
                                         .is_lock_known = true };

    return authority.ask(authority.self, &query, 1, &answer);
}

static void permission_data_that_make_no_sense_are_told_once_a_minute_and_service(void **state)
{
    (void)state;
    use_rules("\nuser bob\npeset P ids=257\ngrant bob P 62\ncontent RDFD lock\n"
              "content OPEN lock badlock=allow unknownpe=allow\n",
              "open-sesame");
    assert_int_equal(see("RDFD", "\x03\x01\x01\x62\xc0", 5), ENTITLE_ALLOW);
    assert_int_equal(see("RDFD", "\x03\x01\x01\x63\xc0", 5), ENTITLE_DENY);
    assert_true(stats().locks_bad == 0 && stats().locks_strange == 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(see("RDFD", "\x03\x01\x01\x65\x62", 5), ENTITLE_DENY);
    assert_int_equal(lines_that_say("RDFD IBM.N: permission data 0301016562 have no end; denied"),
                     1);
    assert_int_equal(see("RDFD", "\x03\x11\xa7\x62\xc0", 5), ENTITLE_DENY);
    assert_int_equal(lines_that_say("RDFD IBM.N: its permission"), 0); /* it had one this minute */
    /* Behind it: another service may have the same place in the table. */
    assert_int_equal(see("OPEN", "\x03\x11\xa7\x62\xc0", 5), ENTITLE_ALLOW);
    assert_int_equal(lines_that_say("OPEN IBM.N: its permission data are of service id 4519, which "
                                    "no peset has; allowed"),
                     1);
    assert_true(stats().locks_bad == 10 && stats().locks_strange == 2);
    atomic_fetch_add(&now_ns, 60 * SECOND);
    assert_int_equal(see("RDFD", "\x03\x11\xa7\x62\xc0", 5), ENTITLE_DENY);
    assert_int_equal(lines_that_say("RDFD IBM.N: its permission"), 1);
}

/* Wrong ones are no guesses at a password. */
static void groups_in_a_token_are_roles(void **state)
{
    struct entitle_query item = { .kind = ENTITLE_ITEM,
                                  .user = view("joe"),
                                  .host = view("10.1.0.7:5122"),
                                  .service = view("S"),
                                  .item = view("EUR=") };

    (void)state;
    use_rules(
        "\nuser * auth=jwt\nrole rates claim=groups:rates\nrole fx claim=groups:fx role=rates\n"
        "role desk claim=scope:desk\ndefault items deny\nallow @rates S *\n",
        "open-sesame");
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000,\"groups\":[\"x\",\"fx\"],"
                          "\"scope\":\"a desk\"",
                          ""),
                     ENTITLE_ALLOW);
    assert_string_equal(answer.roles, "fx,desk");
    const char *roles = answer.roles;
    assert_int_equal(authority.ask(authority.self, &item, 1, &answer), ENTITLE_DENY);
    item.roles = view(roles);
    assert_int_equal(authority.ask(authority.self, &item, 1, &answer), ENTITLE_ALLOW);
    const struct entitle_query again = { .kind = ENTITLE_AGAIN,
                                         .by = ENTITLE_BY_JWT,
                                         .user = view("joe"),
                                         .roles = view(roles),
                                         .host = view("10.1.0.7:5122") };
    assert_int_equal(authority.ask(authority.self, &again, 1, &answer), ENTITLE_ALLOW);
    assert_ptr_equal(answer.roles, roles);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000,\"scope\":\"desk\","
                          "\"groups\":[\"fx\"]",
                          "joe"),
                     ENTITLE_ALLOW);
    assert_ptr_equal(answer.roles, roles);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000,\"groups\":\"rate\"", "joe"),
                     ENTITLE_ALLOW);
    assert_null(answer.roles);
}

/* Else the group that is denied something could be the one that had no room. */
static void a_token_with_more_groups_than_fit_is_refused(void **state)
{
    char body[11000], word[700];

    (void)state;
    use_rules("\nuser * auth=jwt\nrole bad claim=groups:bad\ndeny @bad S *\n", "open-sesame");
    memset(word, 'x', 600);
    word[600] = '\0'; /* longer than most, and no matter */
    snprintf(body, sizeof(body), "\"sub\":\"joe\",\"exp\":1800001000,\"groups\":[\"%s\",\"bad\"]",
             word);
    assert_int_equal(show(body, "joe"), ENTITLE_ALLOW);
    assert_string_equal(answer.roles, "bad");
    size_t used =
        (size_t)snprintf(body, sizeof(body), "\"sub\":\"joe\",\"exp\":1800001000,\"groups\":[");
    for (int i = 0; i < 14; i++)
        used += (size_t)snprintf(body + used, sizeof(body) - used, "\"%s\",", word);
    snprintf(body + used, sizeof(body) - used, "\"bad\"]");
    assert_int_equal(show(body, "joe"), ENTITLE_DENY);
    assert_int_equal(answer.token_error, ENTITLE_TOKEN_REFUSED);
    use_rules("\nuser * auth=jwt\n", "open-sesame"); /* no role depends on it */
    assert_int_equal(show(body, "joe"), ENTITLE_ALLOW);
}

/* A certificate counts beside what a thread looks at, too. */
static void a_certificate_is_minded_beside_a_hash_and_a_token(void **state)
{
    struct entitle_query query = { .kind = ENTITLE_LOGIN,
                                   .user = view("alice"),
                                   .password = view("open-sesame"),
                                   .host = view("10.1.0.7:5122") };

    (void)state;
    use_rules(" cert=desk*\n", "open-sesame");
    assert_int_equal(wait_for(&query), ENTITLE_DENY);
    query.certificate = view("desk1");
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
    assert_int_equal(answer.by, ENTITLE_BY_PASSWORD);
    assert_true(answer.is_certified);
    use_rules("\nuser * auth=jwt\n", "open-sesame");
    must_match = true;
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", ""), ENTITLE_DENY);
    assert_string_equal(answer.text, "a client certificate is needed");
    must_match = false;
}

static void wrong_tokens_hold_nobody_back(void **state)
{
    (void)state;
    use_rules("\nuser * auth=jwt\n", "open-sesame");
    for (int i = 0; i < 100; i++)
        assert_int_equal(show("\"sub\":\"joe\",\"exp\":7", ""), ENTITLE_DENY);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", ""), ENTITLE_ALLOW);
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_ALLOW);
}

static void an_opaque_token_is_judged_by_the_file(void **state)
{
    struct entitle_query query = { .kind = ENTITLE_LOGIN,
                                   .is_token = true,
                                   .token = view("5f1e7c"),
                                   .host = view("10.1.0.7:5122") };

    (void)state;
    use_rules("\nuser px token=5f1e7c\n", "open-sesame");
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
    assert_string_equal(answer.user, "px");
    assert_int_equal(answer.by, ENTITLE_BY_TOKEN);
    query.token = view("5f1e7d");
    assert_int_equal(wait_for(&query), ENTITLE_DENY);
}

/* As sha256sum of coreutils has it. */
#define SUM_OF_TOKEN "2196e426bb369e27954d8d03bf9ed58c339fe34329f953224ef6d071b0ceb0f1"

static struct entitle_query opaque(const char *token)
{
    return (struct entitle_query){
        .kind = ENTITLE_LOGIN, .is_token = true, .token = view(token), .host = view("10.1.0.7:5122")
    };
}

static void an_opaque_token_is_known_by_its_sum(void **state)
{
    struct entitle_query query = opaque("5f1e7c");

    (void)state;
    use_rules("\nuser px tokenhash=" SUM_OF_TOKEN "\n", "open-sesame");
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
    assert_string_equal(answer.user, "px");
    assert_string_equal(answer.shown->sum, SUM_OF_TOKEN);
    query.token = view("5f1e7d");
    assert_int_equal(wait_for(&query), ENTITLE_DENY);
    query = opaque("5f1e7c");
    use_rules("\nuser px token=5f1e7c\nrevoked sha256=" SUM_OF_TOKEN "\n", "open-sesame");
    assert_int_equal(wait_for(&query), ENTITLE_DENY);
    assert_int_equal(answer.token_error, ENTITLE_TOKEN_REVOKED);
}

static enum entitle_verdict again_as(const char *user)
{
    const struct entitle_shown kept = *answer.shown; /* as the session does */
    const struct entitle_query query = { .kind = ENTITLE_AGAIN,
                                         .by = answer.by,
                                         .user = view(user),
                                         .shown = &kept,
                                         .host = view("10.1.0.7:5122") };
    struct entitle_answer now;

    return authority.ask(authority.self, &query, 1, &now);
}

static void a_signed_token_may_be_revoked_before_it_ends(void **state)
{
    static const char token[] = "\"sub\":\"joe\",\"jti\":\"t-1\",\"iat\":1799999990,"
                                "\"exp\":1800001000";
    char line[200];

    (void)state;
    use_rules("\nuser * auth=jwt\nrevoked jti=t-2\n", "open-sesame");
    assert_int_equal(show(token, ""), ENTITLE_ALLOW);
    assert_int_equal(again_as("joe"), ENTITLE_ALLOW);
    snprintf(line, sizeof(line), "\nuser * auth=jwt\nrevoked sha256=%s\n", answer.shown->sum);
    use_rules("\nuser * auth=jwt\nrevoked jti=t-1\n", "open-sesame");
    assert_int_equal(again_as("joe"), ENTITLE_DENY);
    use_rules("\nuser * auth=jwt\nrevoked user=j* before=2027-01-15T08:00:00Z\n", "open-sesame");
    assert_int_equal(again_as("joe"), ENTITLE_DENY);
    use_rules(line, "open-sesame");
    assert_int_equal(again_as("joe"), ENTITLE_DENY);
    assert_int_equal(show(token, "joe"), ENTITLE_DENY);
    assert_string_equal(answer.text, "token refused: revoked");
    assert_int_equal(answer.token_error, ENTITLE_TOKEN_REVOKED);
    use_rules("\nuser * auth=jwt\nrevoked user=j* before=2027-01-15T07:59:50Z\n", "open-sesame");
    assert_int_equal(show(token, ""), ENTITLE_ALLOW);
}

/* Nobody here checks it, but what it says is kept: a reload may revoke it. */
static void a_token_for_an_authority_is_read_before_it_is_passed_on(void **state)
{
    static const char claims[] = "{\"iat\":1799999990,\"jti\":\"t-1\"}";
    char token[200] = "eyJhbGciOiJSUzI1NiJ9.";
    size_t used = strlen(token);

    (void)state;
    used += jwt_sign_base64url(claims, strlen(claims), token + used);
    snprintf(token + used, sizeof(token) - used, ".AAAA");
    struct entitle_query query = opaque(token);
    use_rules("\nuser * auth=authority\n", "open-sesame");
    assert_int_equal(authority.ask(authority.self, &query, 1, &answer), ENTITLE_PENDING);
    assert_true(answer.is_outside && answer.shown->is_signed && !answer.shown->is_unread);
    assert_string_equal(answer.shown->jti, "t-1");
    assert_int_equal(answer.shown->issued_s, 1799999990);
    use_rules("\nuser * auth=authority\nrevoked jti=t-1\n", "open-sesame");
    assert_int_equal(authority.ask(authority.self, &query, 1, &answer), ENTITLE_DENY);
    assert_int_equal(answer.token_error, ENTITLE_TOKEN_REVOKED);
    query = opaque("eyJ.e30.a.b.c"); /* encrypted: it may be any */
    assert_int_equal(authority.ask(authority.self, &query, 1, &answer), ENTITLE_DENY);
    query = opaque("5f1e7c");
    assert_int_equal(authority.ask(authority.self, &query, 1, &answer), ENTITLE_PENDING);
    assert_string_equal(answer.shown->sum, SUM_OF_TOKEN);
    assert_false(answer.shown->is_signed);
}

static void a_user_who_expires_needs_the_clock_of_the_threads(void **state)
{
    (void)state;
    use_rules(" expires=2027-01-15T08:00:01Z\nuser joe auth=jwt expires=2027-01-15T08:00:01Z\n",
              "open-sesame");
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_ALLOW);
    assert_int_equal(answer.user_ends_s, 1800000001);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", ""), ENTITLE_ALLOW);
    assert_int_equal(answer.expires_s, 1800001060);
    assert_int_equal(answer.user_ends_s, 1800000001);
    atomic_fetch_add(&wall, 1);
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_DENY); /* it is known to fit */
    assert_string_equal(answer.text, "the user expired at 2027-01-15T08:00:01Z");
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", ""), ENTITLE_DENY);
    atomic_fetch_sub(&wall, 1);
}

static void a_password_in_clear_is_allowed_told_or_refused(void **state)
{
    struct entitle_query query = { .kind = ENTITLE_LOGIN,
                                   .user = view("bob"),
                                   .password = view("plain"),
                                   .host = view("10.1.0.7:5122"),
                                   .is_plain = true };

    (void)state;
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
    assert_int_equal(lines_that_say("user bob sends a password"), 0);
    p2ps_credentials_plain_set(credentials, P2PS_PLAIN_WARN);
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
    assert_int_equal(lines_that_say("user bob sends a password"), 1);
    p2ps_credentials_plain_set(credentials, P2PS_PLAIN_REFUSE);
    assert_int_equal(wait_for(&query), ENTITLE_DENY);
    assert_string_equal(answer.text, "passwords are accepted over TLS only");
    query.is_plain = false;
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
    query.is_plain = true;
    query.host = view("127.0.0.1:5122");
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
    query.host = view("[::1]:5122");
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
}

/* The line is judged again with all that the login showed. */
static void a_user_with_a_hash_may_have_to_use_tls(void **state)
{
    struct entitle_query query = { .kind = ENTITLE_LOGIN,
                                   .user = view("alice"),
                                   .password = view("open-sesame"),
                                   .host = view("10.1.0.7:5122"),
                                   .is_plain = true };

    (void)state;
    use_rules(" tls=yes\n", "open-sesame");
    assert_int_equal(wait_for(&query), ENTITLE_DENY);
    assert_string_equal(answer.text, "alice must use TLS");
    query.is_plain = false;
    assert_int_equal(wait_for(&query), ENTITLE_ALLOW);
    use_rules("\nrevoked cert=1a\n", "open-sesame");
    query.serial = view("1a");
    assert_int_equal(wait_for(&query), ENTITLE_DENY);
}

static void a_shadow_says_what_it_would_and_nothing_comes_of_it(void **state)
{
    struct entitle_query item = { .kind = ENTITLE_ITEM,
                                  .user = view("alice"),
                                  .host = view("10.1.0.7:5122"),
                                  .service = view("S"),
                                  .item = view("EUR=") };
    struct entitle_query px = opaque("5f1e7c");

    (void)state;
    use_rules("\nuser bob password=plain\nuser joe auth=jwt\nuser px token=5f1e7c\n",
              "open-sesame");
    use_shadow("default items deny\nuser alice hash=$6$another$hash.of.a.password\nuser eve\n"
               "user px token=5f1e7c disabled\nuser joe auth=password password=x\n");
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_ALLOW); /* a thread has looked */
    assert_int_equal(login("alice", "open-sesame"), ENTITLE_ALLOW); /* it is known */
    assert_int_equal(login("alice", "wrong"), ENTITLE_DENY);
    assert_string_equal(recorded, "");
    assert_int_equal(login("bob", "plain"), ENTITLE_ALLOW);
    assert_int_equal(login("eve", "x"), ENTITLE_DENY);
    assert_int_equal(wait_for(&px), ENTITLE_ALLOW);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", ""), ENTITLE_ALLOW);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":7", ""), ENTITLE_DENY);
    assert_int_equal(authority.ask(authority.self, &item, 1, &answer), ENTITLE_ALLOW);
    assert_string_equal(
        recorded, "bob: accessShadowFile denies it: user name or password refused\n"
                  "px: accessShadowFile denies it: the user is disabled\n"
                  "joe: accessShadowFile denies it: the user may not log in with a signed token\n"
                  "alice: accessShadowFile denies it: not entitled to this item\n");
    assert_int_equal(stats().shadow_differs, 4);
    use_shadow("peset P ids=7\ncontent S lock\n");
    assert_int_equal(authority.ask(authority.self, &item, 1, &answer), ENTITLE_ALLOW);
    assert_true(answer.wants_lock);
    assert_false(answer.needs_lock);
}

static void a_file_that_is_of_no_use_leaves_the_old_keys(void **state)
{
    char why[400];

    (void)state;
    use_rules("\nuser * auth=jwt\n", "open-sesame");
    write_keys("{\"keys\":[]}");
    assert_int_equal(take_keys(why, sizeof(why)), MD_ERR_MALFORMED);
    assert_non_null(strstr(why, "it has no key of RS256, ES256 or EdDSA"));
    p2ps_tokens_look(tokens, 11 * SECOND); /* by itself, since it has changed */
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", ""), ENTITLE_ALLOW);
    write_keys("{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\","
               "\"x\":\"22qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}");
    p2ps_tokens_look(tokens, 22 * SECOND);
    assert_int_equal(show("\"sub\":\"joe\",\"exp\":1800001000", ""), ENTITLE_DENY);
    assert_int_equal(answer.token_error, JWT_SIGNATURE);
}

static void tokens_that_wait_end_with_the_threads(void **state)
{
    const struct entitle_query query = { .kind = ENTITLE_LOGIN,
                                         .is_token = true,
                                         .token = view("eyJ.eyJ.x"),
                                         .host = view("10.1.0.7:5122") };

    (void)state;
    p2ps_credentials_destroy(credentials);
    start(4, 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(authority.ask(authority.self, &query, i, &answer), ENTITLE_PENDING);
    assert_int_equal(authority.ask(authority.self, &query, 5, &answer), ENTITLE_DENY);
    assert_int_equal(answer.reason, ENTITLE_BUSY);
}

#define TEST_TOKENS(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, set_up_tokens, clean_up_tokens)
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_TOKENS(bad_tokens_without_end_do_not_fill_the_log),
        TEST(permission_data_that_make_no_sense_are_told_once_a_minute_and_service),
        TEST(a_password_that_fits_its_hash_is_let_in),
        TEST(a_wrong_one_an_empty_one_and_a_cut_one_are_refused),
        TEST(a_refusal_names_a_line_of_the_rules_in_force),
        TEST(nobody_takes_as_long_as_a_wrong_password),
        TEST(a_password_that_fitted_is_known_for_a_time),
        TEST(another_hash_makes_what_was_known_worthless),
        TEST(the_rules_of_the_answer_are_those_in_force),
        TEST(wrong_passwords_of_one_address_are_held_back_longer_and_longer),
        TEST(guesses_at_many_names_hold_the_address_back),
        TEST(thousands_of_names_do_not_let_an_address_go),
        TEST(a_full_queue_says_try_again),
        TEST(a_storm_of_one_password_is_checked_once),
        TEST(questions_that_wait_end_with_the_threads),
        TEST_TOKENS(a_signed_token_says_who_it_is),
        TEST_TOKENS(the_user_line_has_the_last_word),
        TEST_TOKENS(a_wrong_token_says_why),
        TEST_TOKENS(groups_in_a_token_are_roles),
        TEST_TOKENS(a_token_with_more_groups_than_fit_is_refused),
        TEST_TOKENS(a_certificate_is_minded_beside_a_hash_and_a_token),
        TEST_TOKENS(wrong_tokens_hold_nobody_back),
        TEST_TOKENS(an_opaque_token_is_judged_by_the_file),
        TEST(a_token_for_an_authority_is_read_before_it_is_passed_on),
        TEST_TOKENS(an_opaque_token_is_known_by_its_sum),
        TEST_TOKENS(a_signed_token_may_be_revoked_before_it_ends),
        TEST_TOKENS(a_user_who_expires_needs_the_clock_of_the_threads),
        TEST_TOKENS(a_password_in_clear_is_allowed_told_or_refused),
        TEST_TOKENS(a_user_with_a_hash_may_have_to_use_tls),
        TEST_TOKENS(a_shadow_says_what_it_would_and_nothing_comes_of_it),
        TEST_TOKENS(a_file_that_is_of_no_use_leaves_the_old_keys),
        TEST_TOKENS(tokens_that_wait_end_with_the_threads),
    };
    const char *tmp = getenv("TMPDIR");

    snprintf(folder, sizeof(folder), "%s/test_p2ps_credentials.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    snprintf(keys_path, sizeof(keys_path), "%s/keys", folder);
    if (md_log_open(&(struct md_log_config){
            .identity = "test", .severity_max = MD_LOG_INFO, .targets = MD_LOG_TO_STDERR }) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    md_log_close();
    unlink(keys_path);
    rmdir(folder);
    return failed;
}
