/* test_p2ps_access.c - the access file is taken whole or not at all, while workers ask. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "p2ps/access.h"

static char folder[256];
static char path[300];

static void write_rules(const char *text, int comments)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    for (int i = 0; i < comments; i++)
        fputs("! a line of a file that is longer than what is read of it at once\n", file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static struct entitle_authority rules_authority(struct p2ps_access *access)
{
    return entitle_rules_authority(p2ps_access_rules(access));
}

static enum entitle_verdict item(struct p2ps_access *access)
{
    struct entitle_authority authority = rules_authority(access);
    const struct entitle_query query = {
        .kind = ENTITLE_ITEM, .user = { "u", 1 }, .service = { "S", 1 }, .item = { "I", 1 }
    };
    struct entitle_answer answer;

    return authority.ask(authority.self, &query, 1, &answer);
}

static void what_cannot_be_read_leaves_the_old_rules(void **state)
{
    struct p2ps_access *access;

    (void)state;
    assert_int_equal(p2ps_access_create("accessFile", &access), MD_OK);
    assert_int_equal(item(access), ENTITLE_ALLOW);
    write_rules("deny * * *\n", 20000);
    assert_int_equal(p2ps_access_load(access, path), MD_OK);
    assert_int_equal(item(access), ENTITLE_DENY);
    /* A folder opens, and each read of it is an error: the same as a file server that is gone. */
    assert_int_equal(p2ps_access_load(access, folder), MD_ERR_SYS);
    assert_int_equal(p2ps_access_load(access, "/there/is/no/such/file"), MD_ERR_SYS);
    write_rules("permit * * *\n", 0);
    assert_int_equal(p2ps_access_load(access, path), MD_ERR_MALFORMED);
    assert_int_equal(item(access), ENTITLE_DENY);
    p2ps_access_destroy(access);
}

static void rules_that_may_be_read_are_kept_and_their_number_has_a_bound(void **state)
{
    struct p2ps_access *access;
    int loads = 0;

    (void)state;
    assert_int_equal(p2ps_access_create("accessFile", &access), MD_OK);
    write_rules("deny * * *\n", 0);
    while (loads < 1000 && p2ps_access_load(access, path) == MD_OK)
        loads++;
    assert_in_range(loads, 10, 999);
    assert_int_equal(item(access), ENTITLE_DENY);
    p2ps_access_forget(access);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(p2ps_access_load(access, path), MD_OK);
        p2ps_access_forget(access);
    }
    p2ps_access_destroy(access);
}

struct asker {
    struct p2ps_access *access;
    _Atomic bool asks, ends;
    bool was_allowed;
};

static void *ask(void *arg)
{
    struct asker *asker = arg;

    while (!atomic_load(&asker->ends)) {
        if (item(asker->access) != ENTITLE_DENY)
            asker->was_allowed = true;
        atomic_store(&asker->asks, true);
    }
    return NULL;
}

static void who_asks_during_loads_finds_whole_rules(void **state)
{
    struct asker asker = { 0 };
    pthread_t thread;

    (void)state;
    assert_int_equal(p2ps_access_create("accessFile", &asker.access), MD_OK);
    write_rules("allow x * *\nallow y * *\ndeny * * *\n", 0);
    assert_int_equal(p2ps_access_load(asker.access, path), MD_OK);
    assert_int_equal(pthread_create(&thread, NULL, ask, &asker), 0);
    for (int i = 0; i < 50; i++) {
        while (!atomic_exchange(&asker.asks, false))
            sched_yield();
        assert_int_equal(p2ps_access_load(asker.access, path), MD_OK);
    }
    atomic_store(&asker.ends, true);
    pthread_join(thread, NULL);
    assert_false(asker.was_allowed);
    p2ps_access_destroy(asker.access);
}

#define SECOND 1000000000ull

static void write_part(const char *text)
{
    char part[320];

    snprintf(part, sizeof(part), "%s.part", path);
    FILE *file = fopen(part, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void the_digest_is_of_all_files_and_a_refusal_names_its_own(void **state)
{
    struct p2ps_access *access;
    char whole[AUDIT_SUM_SIZE], part[320];
    struct entitle_answer answer;
    const struct entitle_query query = {
        .kind = ENTITLE_ITEM, .user = { "u", 1 }, .service = { "S", 1 }, .item = { "I", 1 }
    };

    (void)state;
    assert_int_equal(p2ps_access_create("accessFile", &access), MD_OK);
    write_rules("allow u S A\ninclude rules.part\n", 0);
    write_part("\ndeny * * *\n");
    assert_int_equal(p2ps_access_load(access, path), MD_OK);
    audit_sum("allow u S A\ninclude rules.part\n\ndeny * * *\n", 43, whole);
    assert_string_equal(p2ps_access_sum(access), whole);
    struct entitle_authority authority = rules_authority(access);
    assert_int_equal(authority.ask(authority.self, &query, 1, &answer), ENTITLE_DENY);
    snprintf(part, sizeof(part), "%s.part", path);
    assert_string_equal(answer.file, part);
    assert_int_equal(answer.line, 2);
    assert_int_equal(chmod(part, 0666), 0); /* whoever writes it decides */
    assert_int_equal(p2ps_access_load(access, path), MD_ERR_MALFORMED);
    assert_int_equal(unlink(part), 0);
    assert_int_equal(p2ps_access_load(access, path), MD_ERR_MALFORMED);
    assert_int_equal(item(access), ENTITLE_DENY);
    p2ps_access_destroy(access);
}

static void a_change_is_seen_when_it_has_stood_for_two_seconds(void **state)
{
    uint64_t now = 100 * SECOND;
    struct p2ps_access *access;
    char part[320];

    (void)state;
    assert_int_equal(p2ps_access_create("accessFile", &access), MD_OK);
    assert_false(p2ps_access_look(access, now += 2 * SECOND));
    write_rules("include rules.part\n", 0);
    write_part("deny * * *\n");
    assert_int_equal(p2ps_access_load(access, path), MD_OK);
    for (int i = 0; i < 3; i++)
        assert_false(p2ps_access_look(access, now += 2 * SECOND));
    write_part("deny u * *\n ");
    assert_false(p2ps_access_look(access, now += 2 * SECOND));
    write_part("deny u * *\n  "); /* still being written */
    assert_false(p2ps_access_look(access, now += 2 * SECOND));
    assert_false(p2ps_access_look(access, now += SECOND));
    assert_true(p2ps_access_look(access, now += SECOND));
    assert_false(p2ps_access_look(access, now += 2 * SECOND)); /* once */
    write_part("denies u * *\n");
    assert_false(p2ps_access_look(access, now += 2 * SECOND));
    assert_true(p2ps_access_look(access, now += 2 * SECOND));
    assert_int_equal(p2ps_access_load(access, path), MD_ERR_MALFORMED);
    for (int i = 0; i < 3; i++)
        assert_false(p2ps_access_look(access, now += 2 * SECOND)); /* it stays refused */
    snprintf(part, sizeof(part), "%s.part", path);
    assert_int_equal(unlink(part), 0);
    assert_false(p2ps_access_look(access, now += 2 * SECOND));
    assert_true(p2ps_access_look(access, now += 2 * SECOND));
    assert_int_equal(p2ps_access_load(access, path), MD_ERR_MALFORMED);
    write_part("deny * * *\n"); /* it is back, though it was in no reading that was taken */
    assert_false(p2ps_access_look(access, now += 2 * SECOND));
    assert_true(p2ps_access_look(access, now += 2 * SECOND));
    p2ps_access_destroy(access);
    unlink(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_read_leaves_the_old_rules),
        cmocka_unit_test(rules_that_may_be_read_are_kept_and_their_number_has_a_bound),
        cmocka_unit_test(the_digest_is_of_all_files_and_a_refusal_names_its_own),
        cmocka_unit_test(a_change_is_seen_when_it_has_stood_for_two_seconds),
        cmocka_unit_test(who_asks_during_loads_finds_whole_rules),
    };

    const char *tmp = getenv("TMPDIR");

    snprintf(folder, sizeof(folder), "%s/test_p2ps_access.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof(path), "%s/rules", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed;
}
