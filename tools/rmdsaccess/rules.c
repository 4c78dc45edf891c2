/* rules.c - see rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "conf/options.h"
#include "entitle/entitle.h"
#include "jwt/jwt.h"

static struct entitle_view view(const char *text)
{
    return (struct entitle_view){ text, strlen(text) };
}

int access_read_whole(const char *path, struct access_text *file)
{
    int code = access_text_read(path, false, file);

    if (code != MD_EXIT_OK || file->rules)
        return code;
    access_text_tell(file);
    access_text_free(file);
    return MD_EXIT_FILE;
}

/* ---- check ---- */

int access_check(const char *const words[], size_t count)
{
    struct access_text file;

    (void)count;
    int code = access_text_read(words[0], true, &file);
    if (code != MD_EXIT_OK)
        return code;
    access_text_review(&file);
    access_text_tell(&file);
    printf("%s: %zu error%s, %zu warning%s\n", file.path, file.errors, file.errors == 1 ? "" : "s",
           file.warnings, file.warnings == 1 ? "" : "s");
    code = file.errors ? MD_EXIT_FILE : MD_EXIT_OK;
    access_text_free(&file);
    return code;
}

/* ---- questions ---- */

static bool read_do(struct access_question *question, const char *value)
{
    question->query.is_private = strcmp(value, "private") == 0;
    if (strcmp(value, "post") == 0)
        question->query.kind = ENTITLE_POST;
    return question->query.is_private || question->query.kind == ENTITLE_POST ||
           strcmp(value, "view") == 0;
}

static bool read_domain(struct access_question *question, const char *value)
{
    char *end;
    unsigned long domain = strtoul(value, &end, 10);

    question->query.domain = (uint8_t)domain;
    return *value && !*end && domain > 0 && domain < 256;
}

static bool read_lock(struct access_question *question, const char *value)
{
    question->query.permission_data =
        (struct entitle_view){ question->lock,
                               access_lock_read(value, question->lock, sizeof(question->lock)) };
    question->query.is_lock_known = true;
    return *value == '\0' || question->query.permission_data.length > 0;
}

static bool read_tls(struct access_question *question, const char *value)
{
    question->query.is_plain = strcmp(value, "no") == 0;
    return question->query.is_plain || strcmp(value, "yes") == 0;
}

static void keep_claim(void *self, struct rwf_bytes name, struct rwf_bytes value)
{
    struct access_question *question = self;
    char *at = question->claims + question->claims_length;
    size_t length = name.length + value.length + 2;

    if (value.length == 0 || question->claims_length > sizeof(question->claims))
        return;
    if (length > sizeof(question->claims) - question->claims_length) {
        question->claims_length = sizeof(question->claims) + 1; /* p2ps refuses it, too */
        return;
    }
    memcpy(at, name.data, name.length);
    at[name.length] = '\0';
    memcpy(at + name.length + 1, value.data, value.length);
    at[length - 1] = '\0';
    question->claims_length += length;
}

static bool read_claims(struct access_question *question, const char *value)
{
    return jwt_claims_tell(rwf_text(value), keep_claim, question) &&
           question->claims_length <= sizeof(question->claims);
}

static bool read_word(struct access_question *question, const char *word)
{
    struct entitle_query *query = &question->query;
    const struct {
        const char *key;
        struct entitle_view *text;
        bool (*read)(struct access_question *question, const char *value);
    } keys[] = {
        { "do=", NULL, read_do },
        { "domain=", NULL, read_domain },
        { "lock=", NULL, read_lock },
        { "tls=", NULL, read_tls },
        { "claims=", NULL, read_claims },
        { "roles=", &question->roles, NULL },
        { "from=", &query->host, NULL },
        { "application=", &query->application, NULL },
        { "position=", &query->position, NULL },
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = word + strlen(keys[i].key);

        if (strncmp(word, keys[i].key, strlen(keys[i].key)) != 0)
            continue;
        if (keys[i].read)
            return keys[i].read(question, value);
        *keys[i].text = view(value);
        return true;
    }
    return false;
}

bool access_question_read(struct access_question *question, const char *service, const char *item,
                          const char *const words[], size_t count)
{
    *question = (struct access_question){
        .query = { .kind = ENTITLE_ITEM,
                   .domain = 6,
                   .service = view(service),
                   .item = view(item),
                   .is_lock_known = true,
                   .is_proof_given = true,
                   .now_s = (uint64_t)time(NULL) },
    };
    for (size_t i = 0; i < count; i++) {
        if (read_word(question, words[i]))
            continue;
        fprintf(stderr,
                "rmdsaccess: \"%s\": do=view|post|private, domain=NUMBER, lock=HEX, from=ADDRESS, "
                "application=ID, position=TEXT, tls=yes|no, roles=ROLE,... or claims=JSON (8,192 "
                "bytes of texts) is expected\n",
                words[i]);
        return false;
    }
    return true;
}

/* ---- explain ---- */

struct steps {
    const struct access_text *file;
    char *text;
    size_t length;
    FILE *out;
};

static void on_step(void *self, const char *step, uint32_t line, const char *text)
{
    const struct steps *steps = self;
    const char *written = "";
    char place[1200] = "";
    int length = line ? access_text_line(steps->file, line, &written) : 0;

    fprintf(steps->out, "  %-8s ", step);
    if (line) {
        access_text_place(steps->file, line, place, sizeof(place));
        fprintf(steps->out, "%s  %.*s%s", place, length, written, *text ? "  -> " : "");
    }
    fprintf(steps->out, "%s\n", text);
}

/* The roles that roles= and claims= give in this file. False: there are too many. */
static bool give_roles(const struct access_text *file, struct access_question *question)
{
    const struct entitle_view claims = { question->claims, question->claims_length };
    size_t used = question->roles.length;
    struct entitle_view which;

    if (used + 2 > sizeof(question->given))
        return false;
    memcpy(question->given, question->roles.data ? question->roles.data : "", used);
    question->given[used] = '\0';
    if (used && claims.length)
        question->given[used++] = ',';
    if (claims.length && !entitle_rules_claimed_roles(file->rules, claims, question->given + used,
                                                      sizeof(question->given) - used))
        return false;
    used = strlen(question->given);
    if (used && question->given[used - 1] == ',')
        used--;
    question->query.roles = (struct entitle_view){ question->given, used };
    if (used && entitle_rules_unknown(file->rules, question->query.roles, &which))
        fprintf(stderr, "rmdsaccess: %s: there is no role %.*s\n", file->path, (int)which.length,
                which.data);
    return true;
}

enum entitle_verdict access_judge(const struct access_text *file, struct access_question *question,
                                  struct entitle_answer *answer)
{
    if (!give_roles(file, question)) {
        *answer = (struct entitle_answer){ .verdict = ENTITLE_DENY };
        snprintf(answer->text, sizeof(answer->text), "the session has too many roles");
        return answer->verdict;
    }
    struct entitle_query login = question->query;
    login.kind = ENTITLE_LOGIN;
    if (entitle_rules_judge(file->rules, &login, answer) != ENTITLE_ALLOW)
        return ENTITLE_DENY;
    return entitle_rules_judge(file->rules, &question->query, answer);
}

static int explain(const struct access_text *file, struct access_question *question,
                   const char *user)
{
    struct steps steps = { .file = file };
    struct entitle_answer answer;

    steps.out = open_memstream(&steps.text, &steps.length);
    if (!steps.out) {
        fputs("rmdsaccess: no memory\n", stderr);
        return MD_EXIT_FILE;
    }
    question->query.user = view(user);
    question->query.step = on_step;
    question->query.step_self = &steps;
    bool allows = access_judge(file, question, &answer) == ENTITLE_ALLOW;
    if (answer.needs_lock && question->query.permission_data.length == 0)
        fprintf(steps.out, "  %-8s none is given (lock=HEX): the item has no permission data\n",
                "lock");
    fclose(steps.out);
    printf("%s  %s %.*s %.*s\n%s", allows ? "allow" : "deny", user,
           (int)question->query.service.length, question->query.service.data,
           (int)question->query.item.length, question->query.item.data, steps.text);
    if (!allows)
        printf("  %-8s \"%s\"\n", "told", answer.text);
    free(steps.text);
    question->query.step = NULL;
    question->query.step_self = NULL;
    return allows ? MD_EXIT_OK : MD_EXIT_CONFIG;
}

int access_explain(const char *const words[], size_t count)
{
    static struct access_question question;
    struct access_text file;

    if (!access_question_read(&question, words[2], words[3], words + 4, count - 4))
        return MD_EXIT_CONFIG;
    int code = access_read_whole(words[0], &file);
    if (code != MD_EXIT_OK)
        return code;
    code = explain(&file, &question, words[1]);
    access_text_free(&file);
    return code;
}

/* ---- who ---- */

struct search {
    const struct access_text *file;
    struct access_question *question;
};

static void on_user(void *self, struct entitle_view name, bool is_pattern)
{
    const struct search *search = self;
    struct entitle_query query = search->question->query;
    struct entitle_answer answer;

    query.user = name;
    if (entitle_rules_judge(search->file->rules, &query, &answer) != ENTITLE_ALLOW)
        return;
    query.kind = ENTITLE_LOGIN;
    bool is_in = entitle_rules_judge(search->file->rules, &query, &answer) == ENTITLE_ALLOW;
    printf("%.*s%s%s%s%s\n", (int)name.length, name.data, is_in ? "" : "  (",
           is_in ? "" : answer.text, is_in ? "" : ")",
           is_pattern ? "  (a pattern: earlier lines may decide about some of these)" : "");
}

int access_who(const char *const words[], size_t count)
{
    static struct access_question question;
    struct access_text file;

    if (!access_question_read(&question, words[1], words[2], words + 3, count - 3))
        return MD_EXIT_CONFIG;
    int code = access_read_whole(words[0], &file);
    if (code != MD_EXIT_OK)
        return code;
    if (!give_roles(&file, &question))
        fputs("rmdsaccess: too many roles: some do not count\n", stderr);
    entitle_rules_users(file.rules, on_user,
                        &(struct search){ .file = &file, .question = &question });
    access_text_free(&file);
    return MD_EXIT_OK;
}
