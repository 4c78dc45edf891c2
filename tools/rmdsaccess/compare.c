/* compare.c - an access file against a user, against cases, and against another one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/options.h"
#include "entitle/entitle.h"
#include "rules.h"
#include "sessions.h"

#define CASE_WORDS 16

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

/* ---- lines about a user ---- */

struct lines {
    const struct access_text *file;
    uint32_t *numbers;
    size_t count, room;
    bool has_no_memory;
};

static void on_line(void *self, uint32_t line)
{
    struct lines *lines = self;

    if (lines->count == lines->room) {
        size_t room = lines->room ? 2 * lines->room : 64;
        uint32_t *more = realloc(lines->numbers, room * sizeof(*more));
        if (!more) {
            lines->has_no_memory = true;
            return;
        }
        lines->numbers = more;
        lines->room = room;
    }
    lines->numbers[lines->count++] = line;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* In the order of the file. False: no user line fits. */
static bool lines_of(const struct access_text *file, struct entitle_view user, struct lines *lines)
{
    *lines = (struct lines){ .file = file };
    bool is_known = entitle_rules_about(file->rules, user, on_line, lines);
    if (lines->count)
        qsort(lines->numbers, lines->count, sizeof(*lines->numbers), by_number);
    if (lines->has_no_memory)
        fputs("rmdsaccess: no memory: lines are missing\n", stderr);
    return is_known;
}

static struct entitle_view text_of(const struct lines *lines, size_t at)
{
    struct entitle_view text;

    text.length = (size_t)access_text_line(lines->file, lines->numbers[at], &text.data);
    return text;
}

/* ---- what ---- */

static void tell_rate(const char *name, uint32_t per_second, uint32_t burst)
{
    if (per_second)
        printf(" %s=%u/%u", name, per_second, burst);
}

/* Of his line and of his roles, as p2ps takes them. */
static void tell_limits(const struct access_text *file, struct entitle_view user)
{
    struct entitle_answer limits = { 0 };
    const struct {
        const char *name;
        uint32_t value;
    } counts[] = {
        { "mounts", entitle_rules_limits(file->rules, user, &limits) ? limits.mounts_max : 0 },
        { "positions", limits.positions_max },
        { "items", limits.items_max },
    };

    printf("limits:");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (counts[i].value)
            printf(" %s=%u", counts[i].name, counts[i].value);
    }
    tell_rate("requests", limits.requests_per_s, limits.requests_burst);
    tell_rate("posts", limits.posts_per_s, limits.posts_burst);
    tell_rate("messages", limits.messages_per_s, limits.messages_burst);
    printf("%s%s%s\n", limits.is_snapshot_only ? " stream=no" : "",
           limits.needs_tls ? " tls=yes" : "",
           limits.mounts_max || limits.positions_max || limits.items_max || limits.requests_per_s ||
                   limits.posts_per_s || limits.messages_per_s || limits.is_snapshot_only ||
                   limits.needs_tls
               ? ""
               : " none");
}

int access_what(const char *const words[], size_t count)
{
    struct access_text file;
    struct lines lines;

    (void)count;
    int code = access_read_whole(words[0], &file);
    if (code != MD_EXIT_OK)
        return code;
    bool is_known = lines_of(&file, view(words[1]), &lines);
    if (!is_known)
        printf("%s may not log in: no user line fits\n", words[1]);
    for (size_t i = 0; is_known && i < lines.count; i++) {
        struct entitle_view text = text_of(&lines, i);
        char place[1200];
        access_text_place(&file, lines.numbers[i], place, sizeof(place));
        printf("%s  %.*s\n", place, (int)text.length, text.data);
    }
    if (is_known)
        tell_limits(&file, view(words[1]));
    if (is_known)
        printf("what no line fits: items %s, posts %s\n",
               entitle_rules_denies(file.rules, ENTITLE_ITEM) ? "deny" : "allow",
               entitle_rules_denies(file.rules, ENTITLE_POST) ? "deny" : "allow");
    free(lines.numbers);
    access_text_free(&file);
    return is_known ? MD_EXIT_OK : MD_EXIT_CONFIG;
}

/* ---- cases ---- */

/* A line "USER SERVICE ITEM [KEY=VALUE]... [= allow|deny]". */
struct one_case {
    struct access_question question;
    const char *user;
    bool has_verdict, allows; /* as it says */
};

/* 1: a case; 0: an empty line or a comment; -1: it is none. */
static int read_case(char *line, struct one_case *out)
{
    const char *words[CASE_WORDS];
    size_t count = 0;
    char *rest = NULL;

    for (char *word = strtok_r(line, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        if (count == CASE_WORDS)
            return -1;
        words[count++] = word;
    }
    if (count == 0 || words[0][0] == '!' || words[0][0] == '#')
        return 0;
    out->has_verdict = count > 4 && strcmp(words[count - 2], "=") == 0;
    if (out->has_verdict) {
        out->allows = strcmp(words[count - 1], "allow") == 0;
        if (!out->allows && strcmp(words[count - 1], "deny") != 0)
            return -1;
        count -= 2;
    }
    if (count < 3 ||
        !access_question_read(&out->question, words[1], words[2], words + 3, count - 3))
        return -1;
    out->user = words[0];
    out->question.query.user = view(words[0]);
    return 1;
}

/* Each case to `judge`, with the line as it was; the exit code. */
static int read_cases(const char *path,
                      void (*judge)(void *self, unsigned line, const char *text,
                                    struct one_case *one),
                      void *self)
{
    static struct one_case one;
    FILE *in = fopen(path, "re");
    char *line = NULL, *text = NULL;
    size_t room = 0;
    unsigned number = 0;
    int code = MD_EXIT_OK;

    if (!in) {
        fprintf(stderr, "rmdsaccess: %s: %s\n", path, strerror(errno));
        return MD_EXIT_FILE;
    }
    while (code == MD_EXIT_OK && getline(&line, &room, in) > 0) {
        number++;
        free(text);
        text = strdup(line);
        if (text)
            text[strcspn(text, "\r\n")] = 0;
        int kind = read_case(line, &one);
        if (kind > 0)
            judge(self, number, text ? text : "", &one);
        if (kind >= 0)
            continue;
        fprintf(stderr,
                "rmdsaccess: %s:%u: USER SERVICE ITEM [KEY=VALUE]... = allow|deny is expected\n",
                path, number);
        code = MD_EXIT_CONFIG;
    }
    free(line);
    free(text);
    fclose(in);
    return code;
}

static bool allows(const struct access_text *file, struct one_case *one,
                   struct entitle_answer *answer)
{
    return access_judge(file, &one->question, answer) == ENTITLE_ALLOW;
}

/* ---- test ---- */

struct testing {
    const struct access_text *file;
    const char *path; /* of the cases */
    unsigned passed, failed;
};

static void test_one(void *self, unsigned line, const char *text, struct one_case *one)
{
    struct testing *testing = self;
    struct entitle_answer answer;
    bool is_allowed = allows(testing->file, one, &answer);

    if (one->has_verdict && is_allowed == one->allows) {
        testing->passed++;
        return;
    }
    testing->failed++;
    printf("%s:%u: %s  -> %s%s%s%s\n", testing->path, line, text,
           !one->has_verdict ? "no verdict is expected, it is " : "", is_allowed ? "allow" : "deny",
           is_allowed ? "" : ": ", is_allowed ? "" : answer.text);
}

int access_test(const char *const words[], size_t count)
{
    struct access_text file;

    (void)count;
    int code = access_read_whole(words[0], &file);
    if (code != MD_EXIT_OK)
        return code;
    struct testing testing = { .file = &file, .path = words[1] };
    code = read_cases(words[1], test_one, &testing);
    printf("%s: %u as expected, %u not\n", words[1], testing.passed, testing.failed);
    access_text_free(&file);
    return code == MD_EXIT_OK && testing.failed ? MD_EXIT_CONFIG : code;
}

/* ---- diff ---- */

struct difference {
    const struct access_text *old, *new;
    unsigned count;
    bool is_old; /* the users of the old file are walked */
};

static bool has_line(const struct lines *lines, struct entitle_view text)
{
    for (size_t i = 0; i < lines->count; i++) {
        struct entitle_view one = text_of(lines, i);
        if (one.length == text.length && memcmp(one.data, text.data, text.length) == 0)
            return true;
    }
    return false;
}

/* Those of `lines` that `others` has not. */
static void tell_missing(struct difference *difference, struct entitle_view user, char mark,
                         const struct lines *lines, const struct lines *others)
{
    for (size_t i = 0; i < lines->count; i++) {
        struct entitle_view text = text_of(lines, i);
        if (has_line(others, text))
            continue;
        printf("%.*s: %c %.*s\n", (int)user.length, user.data, mark, (int)text.length, text.data);
        difference->count++;
    }
}

/* The same lines, and another one may decide first. */
static void tell_order(struct difference *difference, struct entitle_view user,
                       const struct lines *old, const struct lines *new)
{
    bool is_same = old->count == new->count;

    for (size_t i = 0; is_same && i < old->count; i++) {
        struct entitle_view a = text_of(old, i), b = text_of(new, i);
        is_same = a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
    }
    if (is_same)
        return;
    printf("%.*s: its lines stand in another order\n", (int)user.length, user.data);
    difference->count++;
}

static void compare_user(void *self, struct entitle_view name, bool is_pattern)
{
    struct difference *difference = self;
    struct lines old, new;

    (void)is_pattern;
    bool was = lines_of(difference->old, name, &old);
    bool is = lines_of(difference->new, name, &new);
    if (was != is) {
        printf("%.*s: %s\n", (int)name.length, name.data,
               is ? "+ may log in" : "- may not log in any more");
        difference->count++;
    } else if (difference->is_old) {
        unsigned before = difference->count;
        tell_missing(difference, name, '-', &old, &new);
        tell_missing(difference, name, '+', &new, &old);
        if (difference->count == before)
            tell_order(difference, name, &old, &new);
    }
    free(old.numbers);
    free(new.numbers);
}

/* Users that only the new file has. */
static void compare_new_user(void *self, struct entitle_view name, bool is_pattern)
{
    struct difference *difference = self;
    struct lines old;
    bool was = lines_of(difference->old, name, &old);

    free(old.numbers);
    if (!was)
        compare_user(self, name, is_pattern);
}

static void compare_defaults(struct difference *difference)
{
    static const enum entitle_kind kinds[] = { ENTITLE_ITEM, ENTITLE_POST };

    for (int i = 0; i < 2; i++) {
        bool is = entitle_rules_denies(difference->new->rules, kinds[i]);
        if (entitle_rules_denies(difference->old->rules, kinds[i]) == is)
            continue;
        printf("everybody: %s that no line fits: %s\n", i ? "posts" : "items",
               is ? "deny" : "allow");
        difference->count++;
    }
}

/* Lines about permission data, and about what is revoked, which are everybody's. */
static bool is_common(struct entitle_view line)
{
    static const char *const statements[] = { "peset", "pe", "content", "map", "revoked" };

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        size_t length = strlen(statements[i]);
        if (line.length > length && memcmp(line.data, statements[i], length) == 0 &&
            (line.data[length] == ' ' || line.data[length] == '\t'))
            return true;
    }
    return false;
}

static int by_text(const void *a, const void *b)
{
    const struct entitle_view *x = a, *y = b;
    size_t length = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->data, y->data, length);

    return order ? order : (x->length > y->length) - (x->length < y->length);
}

struct common {
    struct entitle_view *lines;
    size_t count, room;
};

static void add_common(struct common *common, const struct access_part *part)
{
    const char *at = part->text, *stop = at + part->length;
    struct entitle_view line;

    for (; at < stop; at = line.data + line.length + 1) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        line = (struct entitle_view){ at, (size_t)((end ? end : stop) - at) };
        if (!is_common(line))
            continue;
        if (common->count == common->room) {
            size_t room = common->room ? 2 * common->room : 1024;
            struct entitle_view *more = realloc(common->lines, room * sizeof(*more));
            if (!more)
                return;
            common->lines = more;
            common->room = room;
        }
        common->lines[common->count++] = line;
    }
}

/* NULL: there is none, or no memory for them. */
static struct entitle_view *common_lines(const struct access_text *file, size_t *count)
{
    struct common common = { .count = 0 };

    for (size_t i = 0; i < file->part_count; i++)
        add_common(&common, &file->parts[i]);
    if (common.count)
        qsort(common.lines, common.count, sizeof(*common.lines), by_text);
    *count = common.count;
    return common.lines;
}

static void compare_common(struct difference *difference)
{
    size_t old_count, new_count, i = 0, k = 0;
    struct entitle_view *old = common_lines(difference->old, &old_count);
    struct entitle_view *new = common_lines(difference->new, &new_count);

    while (i < old_count || k < new_count) {
        int order = i == old_count ? 1 : k == new_count ? -1 : by_text(&old[i], &new[k]);
        const struct entitle_view *line = order > 0 ? &new[k] : &old[i];

        if (order != 0) {
            printf("everybody: %c %.*s\n", order > 0 ? '+' : '-', (int)line->length, line->data);
            difference->count++;
        }
        i += order <= 0;
        k += order >= 0;
    }
    free(old);
    free(new);
}

static void compare_case(void *self, unsigned line, const char *text, struct one_case *one)
{
    struct difference *difference = self;
    struct entitle_answer answer;
    bool was = allows(difference->old, one, &answer), is = allows(difference->new, one, &answer);

    (void)line;
    if (was == is)
        return;
    printf("%s: %s -> %s%s%s\n", text, was ? "allow" : "deny", is ? "allow" : "deny",
           is ? "" : ": ", is ? "" : answer.text);
    difference->count++;
}

int access_diff(const char *const words[], size_t count)
{
    struct access_text old, new;
    int code = access_read_whole(words[0], &old);

    if (code != MD_EXIT_OK)
        return code;
    code = access_read_whole(words[1], &new);
    if (code != MD_EXIT_OK) {
        access_text_free(&old);
        return code;
    }
    struct difference difference = { .old = &old, .new = &new, .is_old = true };
    if (count == 3 && strncmp(words[2], "sessions=", 9) == 0) {
        code = access_sessions(&old, &new, words[2] + 9, &difference.count);
    } else if (count == 3) {
        code = read_cases(words[2], compare_case, &difference);
    } else {
        compare_defaults(&difference);
        compare_common(&difference);
        entitle_rules_users(old.rules, compare_user, &difference);
        difference.is_old = false;
        entitle_rules_users(new.rules, compare_new_user, &difference);
    }
    access_text_free(&old);
    access_text_free(&new);
    return code == MD_EXIT_OK && difference.count ? MD_EXIT_CONFIG : code;
}
