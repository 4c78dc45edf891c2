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
        { "user a mounts=many\n", 1, "user a: mounts=\"many\" is not a number (0..4294967295)" },
        { "user a mount=2\n", 1, "user a: key \"mount\" is unknown; did you mean mounts?" },
        { "user a password=\n", 1,
          "user a: password=\"\" is not a word; leave the key out if the user needs none" },
        { "user a from=10.0.0.0/33\n", 1,
          "user a: from=\"10.0.0.0/33\" is not an address, or a network like 10.1.0.0/16" },
        { "role r password=x\n", 1, "role r: password= belongs to a user, not to a role" },
        { "role r*\n", 1, "role r*: a name is expected, not a pattern" },
        { "role rates\nuser a role=rats\n", 2,
          "user a: role \"rats\" is not defined; did you mean rates?" },
        { "role a role=b\nrole b\nrole a\n", 3, "role a was defined at line 1" },
        { "default items perhaps\n", 1,
          "default: items or posts is expected, then allow or deny; example: default items deny" },
        { "allow a S * do=write\n", 1,
          "do=view,post,private,publish (one or more of them), domain=NUMBER,... or text=\"...\" "
          "is "
          "expected behind the item" },
        { "allow a S * do=view,\n", 1,
          "do=view,post,private,publish (one or more of them), domain=NUMBER,... or text=\"...\" "
          "is "
          "expected behind the item" },
        { "allow a S * domain=6,news\n", 1,
          "domain=\"news\" is not a number (1..255); 6 is MarketPrice" },
        { "deny a S * text=\"no end\n", 1, "a \" is expected where the quoted text ends" },
        { "user a \\\n  mounts=2 \\\n  items=x\nuser b\n", 1,
          "user a: items=\"x\" is not a number (0..4294967295)" },
        { "allow a S X.* do=publish\n", 1,
          "do=publish is about a whole service: * is expected as the item, and no domain=" },
        { "\n\ndeny bob RDFD\n", 3,
          "three patterns are expected: USER SERVICE ITEM; example: deny * RDFD *.N" },
        { "permit bob RDFD *\n", 1,
          "\"permit\" is not a statement; user, role, allow, deny, default, peset, pe, grant, "
          "content, map, fields, revoked or include is expected at the start of a line" },
        { "alow a S *\n", 1,
          "\"alow\" is not a statement; user, role, allow, deny, default, peset, pe, grant, "
          "content, map, fields, revoked or include is expected at the start of a line; did you "
          "mean allow?" },
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

/* ---- roles, defaults, posts ---- */

static enum entitle_verdict ask(const struct entitle_rules *rules, enum entitle_kind kind,
                                const char *user, const char *name, uint8_t domain)
{
    struct entitle_answer answer;
    struct entitle_query query = {
        .kind = kind,
        .domain = domain,
        .user = view(user),
        .service = view("RDFD"),
        .item = view(name),
    };
    return entitle_rules_judge(rules, &query, &answer);
}

static void a_role_is_its_users_and_the_first_line_of_all_decides(void **state)
{
    struct entitle_rules *rules = rules_of("default items deny\n"
                                           "user alice role=rates\n"
                                           "user bob role=chief\n"
                                           "user @rates\n"
                                           "role chief role=rates\n"
                                           "role rates\n"
                                           "deny bob RDFD X.N\n"
                                           "allow @rates RDFD *.N\n"
                                           "deny alice RDFD *\n"
                                           "allow @chief RDFD Z\n");

    (void)state;
    assert_int_equal(item(rules, "alice", "RDFD", "X.N"), ENTITLE_ALLOW);
    assert_int_equal(item(rules, "alice", "RDFD", "X.O"), ENTITLE_DENY);
    assert_int_equal(item(rules, "bob", "RDFD", "X.N"), ENTITLE_DENY);
    assert_int_equal(item(rules, "bob", "RDFD", "Y.N"), ENTITLE_ALLOW);
    assert_int_equal(item(rules, "bob", "RDFD", "Z"), ENTITLE_ALLOW);
    assert_int_equal(item(rules, "alice", "RDFD", "Z"), ENTITLE_DENY);
    /* A user who has the name of a role does not have the role. */
    assert_int_equal(item(rules, "@rates", "RDFD", "Y.N"), ENTITLE_DENY);
    assert_int_equal(item(rules, "rates", "RDFD", "Y.N"), ENTITLE_DENY);
    entitle_rules_destroy(rules);
}

static void an_at_sign_without_such_a_role_is_a_user_as_it_ever_was(void **state)
{
    struct entitle_rules *rules = rules_of("user *\ndeny @home RDFD *\n");

    (void)state;
    assert_int_equal(item(rules, "@home", "RDFD", "X"), ENTITLE_DENY);
    assert_int_equal(item(rules, "home", "RDFD", "X"), ENTITLE_ALLOW);
    entitle_rules_destroy(rules);
}

static void a_key_of_the_user_beats_those_of_its_roles_and_the_first_role_the_others(void **state)
{
    struct entitle_rules *rules = rules_of("role a items=5 requests=7/8\n"
                                           "role b items=6 mounts=9 posts=3 stream=no role=c\n"
                                           "role c mounts=1 messages=4\n"
                                           "user u role=a,b requests=70\n");
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(login(rules, "u", "", &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.items_max, 5);
    assert_int_equal(answer.mounts_max, 9);
    assert_int_equal(answer.messages_per_s, 4);
    assert_int_equal(answer.requests_per_s, 70);
    assert_int_equal(answer.requests_burst, 70);
    assert_int_equal(answer.posts_per_s, 3);
    assert_true(answer.is_snapshot_only);
    entitle_rules_destroy(rules);
}

static void a_user_may_be_kept_from_each_update_and_from_real_time(void **state)
{
    struct entitle_rules *rules = rules_of("role c qos=conflated\n"
                                           "user u role=c\n"
                                           "user v role=c qos=conflated,delayed\n"
                                           "user w\n");
    struct said said = { 0 };
    struct entitle_rules *none;
    struct entitle_answer answer;
    static const char wrong[] = "user u qos=fast\n";

    (void)state;
    assert_int_equal(login(rules, "u", "", &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.qualities, ENTITLE_QUALITY_CONFLATED);
    assert_int_equal(login(rules, "v", "", &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.qualities, ENTITLE_QUALITY_CONFLATED | ENTITLE_QUALITY_DELAYED);
    assert_int_equal(login(rules, "w", "", &answer), ENTITLE_ALLOW);
    assert_int_equal(answer.qualities, 0);
    entitle_rules_destroy(rules);
    assert_int_equal(entitle_rules_create(wrong, strlen(wrong), remember, &said, &none),
                     MD_ERR_MALFORMED);
}

static void roles_that_contain_each_other_are_a_mistake(void **state)
{
    static const char text[] = "role a role=b\nrole b role=c\nrole c role=a\nuser u role=a\n";
    struct said said = { 0 };
    struct entitle_rules *rules;

    (void)state;
    assert_int_equal(entitle_rules_create(text, strlen(text), remember, &said, &rules),
                     MD_ERR_MALFORMED);
    assert_string_equal(said.text, "roles contain each other: c -> a -> b -> c");
}

static void a_post_needs_what_a_view_needs_and_its_own_lines(void **state)
{
    struct entitle_rules *rules = rules_of("default posts deny\n"
                                           "user *\n"
                                           "deny  *     RDFD HIDDEN\n"
                                           "allow alice RDFD PX.* do=view,post\n"
                                           "allow *     RDFD HIDDEN do=post\n");
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(ask(rules, ENTITLE_POST, "alice", "PX.1", 6), ENTITLE_ALLOW);
    assert_int_equal(ask(rules, ENTITLE_POST, "alice", "QX.1", 6), ENTITLE_DENY);
    assert_int_equal(ask(rules, ENTITLE_POST, "bob", "PX.1", 6), ENTITLE_DENY);
    assert_int_equal(ask(rules, ENTITLE_POST, "bob", "HIDDEN", 6), ENTITLE_DENY);
    assert_int_equal(login(rules, "bob", "", &answer), ENTITLE_ALLOW);
    assert_true(answer.may_post);
    entitle_rules_destroy(rules);
    rules = rules_of("default posts deny\nrole q\nuser alice\nuser bob role=q\n"
                     "allow @q RDFD * do=post\n");
    assert_int_equal(login(rules, "alice", "", &answer), ENTITLE_ALLOW);
    assert_false(answer.may_post);
    assert_int_equal(login(rules, "bob", "", &answer), ENTITLE_ALLOW);
    assert_true(answer.may_post);
    entitle_rules_destroy(rules);
}

static void in_a_file_without_a_word_about_posts_a_deny_is_about_them_too(void **state)
{
    struct entitle_rules *rules = rules_of("user *\ndeny bob RDFD *.N\n");

    (void)state;
    assert_int_equal(ask(rules, ENTITLE_POST, "bob", "X.N", 6), ENTITLE_DENY);
    assert_int_equal(ask(rules, ENTITLE_POST, "bob", "X.O", 6), ENTITLE_ALLOW);
    assert_int_equal(ask(rules, ENTITLE_POST, "ann", "X.N", 6), ENTITLE_ALLOW);
    entitle_rules_destroy(rules);
}

static void a_line_may_be_about_some_domains_and_about_private_streams(void **state)
{
    struct entitle_rules *rules = rules_of("default items deny\n"
                                           "user *\n"
                                           "deny  *   RDFD * domain=7,255 do=view\n"
                                           "allow bob RDFD * do=view\n"
                                           "allow ann RDFD * do=private domain=6\n");
    struct entitle_answer answer;
    struct entitle_query query = {
        .kind = ENTITLE_ITEM,
        .is_private = true,
        .domain = 6,
        .user = view("ann"),
        .service = view("RDFD"),
        .item = view("X"),
    };

    (void)state;
    assert_int_equal(ask(rules, ENTITLE_ITEM, "bob", "X", 6), ENTITLE_ALLOW);
    assert_int_equal(ask(rules, ENTITLE_ITEM, "bob", "X", 7), ENTITLE_DENY);
    assert_int_equal(ask(rules, ENTITLE_ITEM, "bob", "X", 255), ENTITLE_DENY);
    assert_int_equal(ask(rules, ENTITLE_ITEM, "ann", "X", 6), ENTITLE_DENY);
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    query.user = view("bob");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    entitle_rules_destroy(rules);
}

static void a_denial_has_the_words_and_the_line_of_its_rule(void **state)
{
    struct entitle_rules *rules = rules_of("user *\n\ndeny * RDFD X \\\n text=\"ask the desk\"\n");
    struct entitle_answer answer;
    struct entitle_query query = {
        .kind = ENTITLE_ITEM, .user = view("a"), .service = view("RDFD"), .item = view("X")
    };

    (void)state;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_string_equal(answer.text, "ask the desk");
    assert_int_equal(answer.line, 3);
    entitle_rules_destroy(rules);
}

static void a_secret_may_have_quotes_as_it_ever_could(void **state)
{
    struct entitle_rules *rules = rules_of("user a password=\"x\"\n");
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(login(rules, "a", "\"x\"", &answer), ENTITLE_ALLOW);
    assert_int_equal(login(rules, "a", "x", &answer), ENTITLE_DENY);
    entitle_rules_destroy(rules);
}

/* ---- where from, with what, and for how long ---- */

static enum entitle_verdict login_from(const struct entitle_rules *rules, const char *host,
                                       const char *application, const char *position,
                                       struct entitle_answer *answer)
{
    struct entitle_query query = {
        .kind = ENTITLE_LOGIN,
        .user = view("a"),
        .host = view(host),
        .application = view(application),
        .position = view(position),
    };
    return entitle_rules_judge(rules, &query, answer);
}

static void a_user_comes_from_where_and_with_what_it_may(void **state)
{
    static const struct {
        const char *file, *host, *application, *position;
        enum entitle_verdict verdict;
    } cases[] = {
        { "user a from=10.1.0.0/16\n", "10.1.9.9:5122", "", "", ENTITLE_ALLOW },
        { "user a from=10.1.0.0/16\n", "10.2.0.0:5122", "", "", ENTITLE_DENY },
        { "user a from=10.1.0.0/17\n", "10.1.128.0:5122", "", "", ENTITLE_DENY },
        { "user a from=10.9.9.9,::1\n", "[::1]:7", "", "", ENTITLE_ALLOW },
        { "user a from=10.9.9.9\n", "[::ffff:10.9.9.9]:7", "", "", ENTITLE_ALLOW },
        { "user a from=10.9.9.9\n", "somewhere", "", "", ENTITLE_DENY },
        { "user a from=0.0.0.0/0\n", "[2001:db8::1]:7", "", "", ENTITLE_DENY },
        { "user a application=256,300\n", "", "300", "", ENTITLE_ALLOW },
        { "user a application=256,300\n", "", "30", "", ENTITLE_DENY },
        { "user a application=256\n", "", "", "", ENTITLE_DENY },
        { "user a position=10.1.*/net\n", "", "", "10.1.0.7/net", ENTITLE_ALLOW },
        { "user a position=10.1.*/net\n", "", "", "10.2.0.7/net", ENTITLE_DENY },
        { "user a disabled\n", "", "", "", ENTITLE_DENY },
        { "role r disabled\nuser a role=r\n", "", "", "", ENTITLE_DENY },
    };
    struct entitle_answer answer;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct entitle_rules *rules = rules_of(cases[i].file);

        assert_int_equal(
            login_from(rules, cases[i].host, cases[i].application, cases[i].position, &answer),
            cases[i].verdict);
        entitle_rules_destroy(rules);
    }
}

static void who_may_not_come_as_he_comes_is_told_what_is_wrong(void **state)
{
    static const struct {
        const char *file, *host, *application, *position, *text;
        enum entitle_reason reason;
    } cases[] = {
        { "user a from=10.1.0.0/16\n", "10.2.0.0:5122 TLSv1.3 (desk7)", "", "",
          "a may not come from 10.2.0.0", ENTITLE_OTHER },
        { "user a from=10.1.0.0/16\n", "[2001:db8::1]:7", "", "",
          "a may not come from [2001:db8::1]", ENTITLE_OTHER },
        { "user a application=256\n", "", "300", "", "the application 300 is not allowed to a",
          ENTITLE_APPLICATION },
        { "user a application=256\n", "", "", "", "the application (none) is not allowed to a",
          ENTITLE_APPLICATION },
        { "user a position=10.1.*/net\n", "", "", "10.2.0.7/net",
          "the position 10.2.0.7/net is not allowed to a", ENTITLE_POSITION },
    };
    struct entitle_answer answer;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct entitle_rules *rules = rules_of(cases[i].file);

        login_from(rules, cases[i].host, cases[i].application, cases[i].position, &answer);
        assert_string_equal(answer.text, cases[i].text);
        assert_int_equal(answer.reason, cases[i].reason);
        entitle_rules_destroy(rules);
    }
}

static void a_name_that_is_not_known_is_told_so_only_without_a_secret(void **state)
{
    struct entitle_rules *rules = rules_of("user a\nuser b password=x\n");
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(login(rules, "c", "", &answer), ENTITLE_DENY);
    assert_int_equal(answer.reason, ENTITLE_UNKNOWN);
    assert_int_equal(login(rules, "c", "guess", &answer), ENTITLE_DENY);
    assert_int_equal(answer.reason, ENTITLE_OTHER);
    assert_int_equal(login(rules, "b", "guess", &answer), ENTITLE_DENY);
    assert_int_equal(answer.reason, ENTITLE_OTHER);
    assert_int_equal(login(rules, "b", "", &answer), ENTITLE_DENY);
    assert_int_equal(answer.reason, ENTITLE_OTHER);
    entitle_rules_destroy(rules);
}

static enum entitle_verdict again(const char *file, const char *user, uint64_t proof)
{
    struct entitle_rules *rules = rules_of(file);
    struct entitle_answer answer;
    struct entitle_query query = { .kind = ENTITLE_AGAIN, .user = view(user), .proof = proof };
    enum entitle_verdict verdict = entitle_rules_judge(rules, &query, &answer);

    entitle_rules_destroy(rules);
    return verdict;
}

static void a_login_goes_on_while_the_rules_ask_for_the_same_proof(void **state)
{
    struct entitle_rules *rules = rules_of("user a password=x\n");
    struct entitle_answer answer;

    (void)state;
    assert_int_equal(login(rules, "a", "x", &answer), ENTITLE_ALLOW);
    entitle_rules_destroy(rules);
    assert_int_equal(again("user a* password=x mounts=1\n", "a", answer.proof), ENTITLE_ALLOW);
    assert_int_equal(again("user a password=y\n", "a", answer.proof), ENTITLE_DENY);
    assert_int_equal(again("user a password=x token=y\n", "a", answer.proof), ENTITLE_DENY);
    assert_int_equal(again("user b password=x\n", "a", answer.proof), ENTITLE_DENY);
    assert_int_equal(again("user a password=x disabled\n", "a", answer.proof), ENTITLE_DENY);
    assert_int_equal(again("user a password=x from=10.0.0.0/8\n", "a", answer.proof), ENTITLE_DENY);
    assert_int_equal(again("user a\n", "a", 0), ENTITLE_ALLOW);
    assert_int_equal(again("user a password=x\n", "a", 0), ENTITLE_DENY);
}

static void a_token_alone_names_its_user_if_that_has_a_name(void **state)
{
    struct entitle_rules *rules = rules_of("user svc token=T1 mounts=3\nuser web* token=T2\n");
    struct entitle_answer answer;
    struct entitle_query query = { .kind = ENTITLE_LOGIN, .token = view("T1") };

    (void)state;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    assert_string_equal(answer.user, "svc");
    assert_int_equal(answer.mounts_max, 3);
    query.token = view("T2");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query.token = view("T3");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_string_equal(answer.text, "token refused");
    query.token = view("");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
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

static void a_hash_is_for_somebody_else_to_look_at(void **state)
{
    const char hash[] = "$5$rounds=1000$abcdefgh$0123456789";
    struct entitle_rules *rules = rules_of("user alice hash=$5$rounds=1000$abcdefgh$0123456789\n"
                                           "user bob password=x\n");
    struct entitle_answer answer;
    struct entitle_query again = { .kind = ENTITLE_AGAIN, .user = view("alice") };
    entitle_rules_slot slot = rules;
    struct entitle_authority authority = entitle_rules_authority(&slot);
    const struct entitle_query query = { .kind = ENTITLE_LOGIN,
                                         .user = view("alice"),
                                         .password = view("x") };

    (void)state;
    assert_int_equal(login(rules, "alice", "x", &answer), ENTITLE_PENDING);
    assert_int_equal(answer.hash.length, strlen(hash));
    assert_memory_equal(answer.hash.data, hash, strlen(hash));
    assert_false(answer.is_decoy);
    again.proof = answer.proof;
    assert_int_equal(entitle_rules_judge(rules, &again, &answer), ENTITLE_ALLOW);
    again.proof++;
    assert_int_equal(entitle_rules_judge(rules, &again, &answer), ENTITLE_DENY);
    assert_int_equal(login(rules, "alice", "", &answer), ENTITLE_DENY);
    assert_int_equal(login(rules, "bob", "x", &answer), ENTITLE_ALLOW);
    assert_int_equal(login(rules, "nobody", "x", &answer), ENTITLE_PENDING);
    assert_true(answer.is_decoy);
    assert_int_equal(authority.ask(authority.self, &query, 1, &answer), ENTITLE_DENY);
    entitle_rules_destroy(rules);
}

static void a_weak_hash_is_a_mistake(void **state)
{
    static const char *const wrong[] = {
        "user a hash=$1$abcdefgh$0123456789abcdef\n",
        "user a hash=secret\n",
        "user a hash=$y$\n",
        "user a hash=$5$abcdefgh$0123456789 password=x\n",
        "role r hash=$5$abcdefgh$0123456789\n",
    };
    struct entitle_rules *rules;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(entitle_rules_create(wrong[i], strlen(wrong[i]), NULL, NULL, &rules),
                         MD_ERR_MALFORMED);
}

/* An authority says who a user is, and the file says what he may do. */
static void an_authority_outside_is_asked_where_the_file_says_so(void **state)
{
    struct entitle_rules *rules = rules_of("default items deny\n"
                                           "role all role=rates\n"
                                           "role rates\n"
                                           "user op password=secret role=rates\n"
                                           "user out* auth=authority from=10.0.0.0/8\n"
                                           "allow @rates RDFD *\n");
    struct entitle_answer answer;
    struct entitle_query query = {
        .kind = ENTITLE_LOGIN,
        .user = view("out1"),
        .password = view("x"),
        .host = view("10.1.0.7:5122"),
    };

    (void)state;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_PENDING);
    assert_true(answer.is_outside);
    query.host = view("192.0.2.1:1");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query.user = view("");
    query.token = view("eyJ");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_PENDING);
    assert_int_equal(login(rules, "op", "secret", &answer), ENTITLE_ALLOW);
    assert_false(answer.is_outside);
    query = (struct entitle_query){ .kind = ENTITLE_AGAIN,
                                    .user = view("out1"),
                                    .host = view("10.1.0.7:5122"),
                                    .by = ENTITLE_BY_AUTHORITY };
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    assert_true(answer.is_outside);
    query.user = view("op"); /* an authority names nobody of the file */
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query.by = ENTITLE_BY_NAME;
    query.user = view("out1");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    entitle_rules_destroy(rules);
}

static void roles_of_a_session_count_like_those_of_its_line(void **state)
{
    struct entitle_rules *rules = rules_of("default items deny\n"
                                           "default posts deny\n"
                                           "role all role=rates,quotes\n"
                                           "role rates\n"
                                           "role quotes\n"
                                           "user out* auth=authority\n"
                                           "allow @rates RDFD *\n"
                                           "allow @quotes QUOTES * do=post,view\n");
    struct entitle_answer answer;
    struct entitle_query query = {
        .kind = ENTITLE_ITEM,
        .user = view("out1"),
        .service = view("RDFD"),
        .item = view("IBM.N"),
    };

    (void)state;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query.roles = view("quotes");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    query.roles = view("nothing,rates");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    query.roles = view("all");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    query.kind = ENTITLE_AGAIN;
    query.by = ENTITLE_BY_AUTHORITY;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    assert_true(answer.may_post);
    query.roles = view("rates");
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    assert_false(answer.may_post);
    entitle_rules_destroy(rules);
}

static void is_unknown(const struct entitle_rules *rules, const char *given, const char *kind,
                       const char *word)
{
    struct entitle_view which;
    const char *found = entitle_rules_unknown(rules, view(given), &which);

    if (!kind) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, kind);
    assert_int_equal(which.length, strlen(word));
    assert_memory_equal(which.data, word, which.length);
}

static void what_a_session_was_given_and_the_file_does_not_know_has_a_name(void **state)
{
    struct entitle_rules *rules = rules_of("role rates\n"
                                           "user out* auth=authority\n"
                                           "peset IDN ids=257\n"
                                           "peset OTHER ids=300\n"
                                           "pe IDN 62 NYSE & (LSE | NYSE)\n"
                                           "pe OTHER 62 TSE\n");

    (void)state;
    is_unknown(rules, "", NULL, NULL);
    is_unknown(rules, "rates\nIDN\tLSE,NYSE,7,100-199\nOTHER\tTSE,*", NULL, NULL);
    is_unknown(rules, "rates,nothing", "role", "nothing");
    is_unknown(rules, "\nNYS\tLSE", "peset", "NYS");
    is_unknown(rules, "\nOTHER\tTSE\nIDN\tLSE,TSE", "name", "TSE");
    is_unknown(rules, "\nIDN\t9-8", "code", "9-8");
    is_unknown(rules, "\nIDN\t62,", "code", "");
    entitle_rules_destroy(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_session_was_given_and_the_file_does_not_know_has_a_name),
        cmocka_unit_test(an_authority_outside_is_asked_where_the_file_says_so),
        cmocka_unit_test(roles_of_a_session_count_like_those_of_its_line),
        cmocka_unit_test(a_hash_is_for_somebody_else_to_look_at),
        cmocka_unit_test(a_weak_hash_is_a_mistake),
        cmocka_unit_test(without_rules_everything_is_allowed),
        cmocka_unit_test(a_login_needs_a_line_that_fits_and_its_password),
        cmocka_unit_test(a_token_is_compared_with_the_token),
        cmocka_unit_test(the_first_rule_that_fits_decides_an_item),
        cmocka_unit_test(patterns_match_as_people_expect),
        cmocka_unit_test(each_mistake_is_told_with_its_line),
        cmocka_unit_test(only_lines_about_publishing_let_a_user_publish),
        cmocka_unit_test(a_user_has_the_limits_of_its_line),
        cmocka_unit_test(a_role_is_its_users_and_the_first_line_of_all_decides),
        cmocka_unit_test(an_at_sign_without_such_a_role_is_a_user_as_it_ever_was),
        cmocka_unit_test(a_key_of_the_user_beats_those_of_its_roles_and_the_first_role_the_others),
        cmocka_unit_test(a_user_may_be_kept_from_each_update_and_from_real_time),
        cmocka_unit_test(roles_that_contain_each_other_are_a_mistake),
        cmocka_unit_test(a_post_needs_what_a_view_needs_and_its_own_lines),
        cmocka_unit_test(in_a_file_without_a_word_about_posts_a_deny_is_about_them_too),
        cmocka_unit_test(a_line_may_be_about_some_domains_and_about_private_streams),
        cmocka_unit_test(a_denial_has_the_words_and_the_line_of_its_rule),
        cmocka_unit_test(a_secret_may_have_quotes_as_it_ever_could),
        cmocka_unit_test(a_user_comes_from_where_and_with_what_it_may),
        cmocka_unit_test(who_may_not_come_as_he_comes_is_told_what_is_wrong),
        cmocka_unit_test(a_name_that_is_not_known_is_told_so_only_without_a_secret),
        cmocka_unit_test(a_login_goes_on_while_the_rules_ask_for_the_same_proof),
        cmocka_unit_test(a_token_alone_names_its_user_if_that_has_a_name),
        cmocka_unit_test(a_file_that_lets_nobody_publish_is_known),
        cmocka_unit_test(the_authority_follows_a_reload),
        cmocka_unit_test(a_check_looks_at_a_few_of_many_lines),
        cmocka_unit_test(a_login_looks_at_a_few_of_many_users),
        cmocka_unit_test(random_questions_have_the_answer_of_the_first_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
