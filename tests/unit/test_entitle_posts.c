/* test_entitle_posts.c - the rights of posts, and codes to post permission data by. */
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

static char told[1024];

static void note(void *self, int line, const char *text)
{
    (void)self;
    snprintf(told, sizeof(told), "%d: %s", line, text);
}

static struct entitle_rules *rules_of(const char *text)
{
    struct entitle_rules *rules = NULL;

    told[0] = 0;
    if (entitle_rules_create(text, strlen(text), note, NULL, &rules) != MD_OK)
        fail_msg("%s", told);
    return rules;
}

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

static struct entitle_answer answer;

static enum entitle_verdict post(const struct entitle_rules *rules, const char *user,
                                 const char *lock, size_t lock_length)
{
    const struct entitle_query query = {
        .kind = ENTITLE_POST,
        .domain = 6,
        .user = view(user),
        .service = view("RDFD"),
        .item = view("IBM.N"),
        .permission_data = { lock, lock_length },
    };

    return entitle_rules_judge(rules, &query, &answer);
}

static unsigned rights(const struct entitle_rules *rules, const char *user)
{
    assert_int_equal(post(rules, user, NULL, 0), ENTITLE_ALLOW);
    return ENTITLE_POST_ALL & ~(unsigned)answer.post_denied;
}

static void rights_are_those_of_the_user_or_of_his_role(void **state)
{
    struct entitle_rules *rules = rules_of("role desk post=create,perm\n"
                                           "user alice role=desk\n"
                                           "user carol role=desk post=delete\n"
                                           "user dave role=desk post=none\n"
                                           "user *\n");

    (void)state;
    assert_int_equal(rights(rules, "alice"), ENTITLE_POST_CREATE | ENTITLE_POST_PERM);
    assert_int_equal(rights(rules, "carol"), ENTITLE_POST_DELETE);
    assert_int_equal(rights(rules, "dave"), 0);
    assert_int_equal(rights(rules, "bob"), 0);
    entitle_rules_destroy(rules);
}

static void a_file_without_the_key_leaves_all_rights(void **state)
{
    struct entitle_rules *rules = rules_of("user *\n");

    (void)state;
    assert_int_equal(rights(rules, "bob"), ENTITLE_POST_ALL);
    assert_int_equal(rights(NULL, "bob"), ENTITLE_POST_ALL);
    entitle_rules_destroy(rules);
}

#define CONTENT "peset P ids=1\ncontent RDFD lock\nuser *\n"

static void permission_data_of_a_post_need_grants_to_post(void **state)
{
    static const char lock_1[] = "\x03\0\1\x1c", lock_2[] = "\x03\0\1\x2c", bad[] = "\x03\0\1\x1a";
    struct entitle_rules *rules = rules_of(CONTENT "role desk\n"
                                                   "user alice role=desk\n"
                                                   "grant alice P 1\n"
                                                   "grant @desk P 2 do=post\n"
                                                   "grant bob P 1,2 do=view,post\n");

    (void)state;
    assert_int_equal(post(rules, "alice", lock_1, 4), ENTITLE_DENY);
    assert_string_equal(answer.text, "Access Denied: User req to PE(1)");
    assert_int_equal(post(rules, "alice", "", 0), ENTITLE_ALLOW);
    assert_int_equal(post(rules, "bob", lock_1, 4), ENTITLE_ALLOW);
    assert_int_equal(post(rules, "bob", lock_2, 4), ENTITLE_ALLOW);
    assert_int_equal(post(rules, "bob", bad, 4), ENTITLE_DENY);
    entitle_rules_destroy(rules);
    rules = rules_of("role desk\nuser alice role=desk\npeset P ids=1\ncontent RDFD lock\n"
                     "grant @desk P 2 do=post\n");
    assert_int_equal(post(rules, "alice", lock_2, 4), ENTITLE_ALLOW);
    assert_int_equal(post(rules, "alice", lock_1, 4), ENTITLE_DENY);
    const struct entitle_query item = { .kind = ENTITLE_ITEM,
                                        .user = view("alice"),
                                        .service = view("RDFD"),
                                        .item = view("IBM.N"),
                                        .permission_data = { lock_2, 4 },
                                        .is_lock_known = true };
    assert_int_equal(entitle_rules_judge(rules, &item, &answer), ENTITLE_DENY); /* not to see */
    entitle_rules_destroy(rules);
}

static void what_an_authority_grants_a_session_is_to_view(void **state)
{
    struct entitle_rules *rules = rules_of("user alice\nuser bob\npeset P ids=1\n"
                                           "content RDFD lock\ngrant bob P 9 do=post\n");
    struct entitle_query query = { .kind = ENTITLE_ITEM,
                                   .domain = 6,
                                   .user = view("alice"),
                                   .roles = view("\nP\t1"),
                                   .service = view("RDFD"),
                                   .item = view("IBM.N"),
                                   .permission_data = { "\x03\0\1\x1c", 4 },
                                   .is_lock_known = true };

    (void)state;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_ALLOW);
    query.kind = ENTITLE_POST;
    assert_int_equal(entitle_rules_judge(rules, &query, &answer), ENTITLE_DENY);
    assert_string_equal(answer.text, "Access Denied: User req to PE(1)");
    entitle_rules_destroy(rules);
}

static void without_such_a_grant_they_are_not_looked_at(void **state)
{
    struct entitle_rules *rules = rules_of(CONTENT "grant alice P 1\n");

    (void)state;
    assert_int_equal(post(rules, "bob", "\x03\0\1\x1c", 4), ENTITLE_ALLOW);
    entitle_rules_destroy(rules);
}

static void refuse(const char *line, const char *expected)
{
    struct entitle_rules *rules = NULL;

    assert_int_equal(entitle_rules_create(line, strlen(line), note, NULL, &rules),
                     MD_ERR_MALFORMED);
    assert_string_equal(told, expected);
}

static void mistakes_are_told(void **state)
{
    (void)state;
    refuse("user a post=sell\n",
           "1: user a: post=\"sell\" is not some of create,delete,perm, or none");
    refuse("user a post=\n", "1: user a: post=\"\" is not some of create,delete,perm, or none");
    refuse("peset P ids=1\ngrant a P 1 do=publish\n",
           "2: grant: do=view, do=post or do=view,post is expected behind the names");
    refuse("peset P ids=1\ngrant a P 1 post\n",
           "2: grant: do=view, do=post or do=view,post is expected behind the names");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rights_are_those_of_the_user_or_of_his_role),
        cmocka_unit_test(a_file_without_the_key_leaves_all_rights),
        cmocka_unit_test(permission_data_of_a_post_need_grants_to_post),
        cmocka_unit_test(what_an_authority_grants_a_session_is_to_view),
        cmocka_unit_test(without_such_a_grant_they_are_not_looked_at),
        cmocka_unit_test(mistakes_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
