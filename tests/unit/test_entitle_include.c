/* test_entitle_include.c - access files that include others: what they say, and where. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "entitle/entitle.h"

/* The files that there are; the last has no path. */
static const struct file {
    const char *path, *text;
} * files;
static char told[2048];
static unsigned reads;

static char *read_text(void *self, const char *path, size_t *length, char *why, size_t size)
{
    const struct file *file = files;

    (void)self;
    reads++;
    while (file->path && strcmp(file->path, path) != 0)
        file++;
    snprintf(why, size, "there is none");
    if (!file->path)
        return NULL;
    *length = strlen(file->text);
    char *text = malloc(*length + 1); /* nothing stands behind it */
    assert_non_null(text);
    memcpy(text, file->text, *length);
    char *exact = realloc(text, *length ? *length : 1);
    return exact ? exact : text;
}

static void note(void *self, const char *file, int line, const char *text)
{
    size_t used = strlen(told);

    (void)self;
    snprintf(told + used, sizeof(told) - used, "%s:%d: %s\n", file, line, text);
}

static struct entitle_rules *load(const struct file list[], int wanted)
{
    const struct entitle_reader reader = { .read = read_text };
    struct entitle_rules *rules;

    files = list;
    told[0] = 0;
    reads = 0;
    assert_int_equal(entitle_rules_create_from(list[0].path, &reader, note, NULL, &rules), wanted);
    return rules;
}

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

static const char *where(const struct entitle_rules *rules, enum entitle_kind kind,
                         const char *user, const char *item)
{
    static char place[200];
    struct entitle_answer answer;
    const struct entitle_query query = {
        .kind = kind, .user = view(user), .service = view("S"), .item = view(item)
    };

    enum entitle_verdict verdict = entitle_rules_judge(rules, &query, &answer);
    snprintf(place, sizeof(place), "%s %s:%u", verdict == ENTITLE_ALLOW ? "allow" : "deny",
             answer.file, answer.line);
    return place;
}

static void lines_stand_where_they_are_included(void **state)
{
    static const struct file list[] = {
        { "/etc/access", "! first\ninclude users/all\n\ninclude rules\ndeny * S *\n" },
        { "/etc/users/all", "user alice\ninclude more\nuser carol" },
        { "/etc/users/more", "\\\n\nuser bob \\\n  mounts=2\n" },
        { "/etc/rules", "allow bob S A*" },
        { NULL, NULL },
    };
    struct entitle_rules *rules = load(list, MD_OK);

    (void)state;
    assert_string_equal(where(rules, ENTITLE_LOGIN, "alice", ""), "allow /etc/users/all:1");
    assert_string_equal(where(rules, ENTITLE_LOGIN, "bob", ""), "allow /etc/users/more:3");
    assert_string_equal(where(rules, ENTITLE_LOGIN, "carol", ""), "allow /etc/users/all:3");
    assert_string_equal(where(rules, ENTITLE_LOGIN, "eve", ""), "deny /etc/access:0");
    assert_string_equal(where(rules, ENTITLE_ITEM, "bob", "A"), "allow /etc/rules:1");
    assert_string_equal(where(rules, ENTITLE_ITEM, "bob", "B"), "deny /etc/access:5");
    entitle_rules_destroy(rules);
}

static void a_mistake_names_its_file_and_its_line(void **state)
{
    static const struct file list[] = {
        { "access", "user alice role=r1\ninclude a\nalow\n" },
        { "a", "role r\nrole r\npermit x\nuser bob role=r\n" },
        { NULL, NULL },
    };

    (void)state;
    assert_null(load(list, MD_ERR_MALFORMED));
    assert_non_null(strstr(told, "a:3: \"permit\" is not a statement"));
    assert_non_null(strstr(told, "access:3: \"alow\" is not a statement"));
}

static void a_mistake_that_is_found_at_the_end_does_so_too(void **state)
{
    static const struct file list[] = {
        { "access", "role r\ninclude a\n" },
        { "a", "\nrole r\n" },
        { NULL, NULL },
    };
    static const struct file unknown[] = {
        { "access", "role r\ninclude a\nuser alice role=rr\n" },
        { "a", "\n" },
        { NULL, NULL },
    };

    (void)state;
    assert_null(load(list, MD_ERR_MALFORMED));
    assert_string_equal(told, "a:2: role r was defined at access:1\n");
    assert_null(load(unknown, MD_ERR_MALFORMED));
    assert_string_equal(told, "access:3: user alice: role \"rr\" is not defined\n");
}

static void what_cannot_be_included_is_a_mistake_of_the_line(void **state)
{
    static const struct file circle[] = {
        { "d/access", "user a\ninclude b\n" },
        { "d/b", "include access\n" },
        { NULL, NULL },
    };
    static const struct file missing[] = {
        { "access", "include nowhere\ninclude\ninclude a b\n" },
        { NULL, NULL },
    };
    static const struct file none[] = { { "access", NULL }, { NULL, NULL } };

    (void)state;
    assert_null(load(circle, MD_ERR_MALFORMED));
    assert_string_equal(told, "d/b:1: include access: it includes itself\n");
    assert_null(load(missing, MD_ERR_MALFORMED));
    assert_string_equal(told, "access:1: include nowhere: there is none\n"
                              "access:2: include: the path of a file is expected\n"
                              "access:3: include: the path of a file is expected\n");
    files = none + 1;
    const struct entitle_reader reader = { .read = read_text };
    struct entitle_rules *rules;
    told[0] = 0;
    assert_int_equal(entitle_rules_create_from("access", &reader, note, NULL, &rules), MD_ERR_SYS);
    assert_string_equal(told, "access:0: there is none\n");
}

static void files_are_included_eight_deep(void **state)
{
    struct file list[12] = { { NULL, NULL } };
    static char names[11][8], texts[11][32];

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        snprintf(names[i], sizeof(names[i]), "f%u", i);
        snprintf(texts[i], sizeof(texts[i]), i < 9 ? "include f%u\n" : "user a\n", i + 1);
        list[i] = (struct file){ names[i], texts[i] };
    }
    assert_null(load(list, MD_ERR_MALFORMED));
    assert_string_equal(told, "f8:1: include f9: a file is included 8 deep at most\n");
    snprintf(texts[8], sizeof(texts[8]), "user a\n");
    struct entitle_rules *rules = load(list, MD_OK);
    assert_string_equal(where(rules, ENTITLE_LOGIN, "a", ""), "allow f8:1");
    entitle_rules_destroy(rules);
}

/* A few files that include each other many times would be read without end. */
static void the_number_of_files_has_a_bound(void **state)
{
    static char many[100 * 10 + 1], more[100 * 10 + 1];
    const struct file list[] = {
        { "access", many }, { "b", more }, { "c", "user x\n" }, { NULL, NULL }
    };

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        memcpy(many + 10 * i, "include b\n", 10);
        memcpy(more + 10 * i, "include c\n", 10);
    }
    assert_null(load(list, MD_ERR_MALFORMED));
    assert_non_null(strstr(told, "more than 1024 files are included"));
    assert_int_equal(reads, 1025);
}

static void a_text_alone_includes_nothing(void **state)
{
    struct entitle_rules *rules;

    (void)state;
    assert_int_equal(entitle_rules_create("include a\n", 10, NULL, NULL, &rules), MD_ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_stand_where_they_are_included),
        cmocka_unit_test(a_mistake_names_its_file_and_its_line),
        cmocka_unit_test(a_mistake_that_is_found_at_the_end_does_so_too),
        cmocka_unit_test(what_cannot_be_included_is_a_mistake_of_the_line),
        cmocka_unit_test(files_are_included_eight_deep),
        cmocka_unit_test(the_number_of_files_has_a_bound),
        cmocka_unit_test(a_text_alone_includes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
