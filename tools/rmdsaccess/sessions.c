/* sessions.c - the consumers of a p2ps that runs, as its status says, against two access files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sessions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf/options.h"
#include "json/parse.h"

#define PREFIX "p2ps.mount." /* 0.17.user */

struct session {
    struct entitle_view number; /* "0.17" */
    char user[ENTITLE_TEXT_MAX];
    char position[256];
    char host[256]; /* "10.1.0.7:5122", and behind a blank what else is known */
    char application[64];
    char kind[32]; /* "RSSL/tls" */
};

struct list {
    struct json_parse parse;
    struct session *sessions;
    size_t count, room;
    size_t first; /* of this p2ps: others have the same numbers */
    bool has_no_memory;
};

static struct entitle_view text_of(const struct list *list, uint32_t token)
{
    const struct json_token *t = &list->parse.tokens[token];

    return (struct entitle_view){ (const char *)list->parse.text + t->at, t->end - t->at };
}

static bool is_same(struct entitle_view a, struct entitle_view b)
{
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

/* Entries of one stand side by side, as a rule. NULL: no memory. */
static struct session *session_of(struct list *list, struct entitle_view number)
{
    for (size_t i = list->count; i-- > list->first;) {
        if (is_same(list->sessions[i].number, number))
            return &list->sessions[i];
    }
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        struct session *more = realloc(list->sessions, room * sizeof(*more));
        if (!more) {
            list->has_no_memory = true;
            return NULL;
        }
        list->sessions = more;
        list->room = room;
    }
    struct session *session = &list->sessions[list->count++];
    *session = (struct session){ .number = number };
    return session;
}

/* A longer text is cut, as that of p2ps is. */
static void keep(const struct list *list, uint32_t token, char *out, size_t size)
{
    const struct json_token *t = &list->parse.tokens[token];
    uint8_t *plain = malloc(t->end - t->at + 1u);
    size_t length =
        plain ? json_unescape(rwf_bytes(list->parse.text + t->at, t->end - t->at), plain) : 0;

    length = length < size ? length : size - 1;
    if (length)
        memcpy(out, plain, length);
    out[length] = '\0';
    free(plain);
}

static void take_member(struct list *list, uint32_t name)
{
    struct entitle_view path = text_of(list, name);
    const char *dot = path.length > strlen(PREFIX) && memcmp(path.data, PREFIX, strlen(PREFIX)) == 0
                          ? memrchr(path.data, '.', path.length)
                          : NULL;

    if (!dot || list->parse.tokens[name + 1].kind != JSON_STRING)
        return;
    const char *number = path.data + strlen(PREFIX);
    struct entitle_view leaf = { dot + 1, (size_t)(path.data + path.length - dot - 1) };
    struct session *session =
        dot > number ? session_of(list, (struct entitle_view){ number, (size_t)(dot - number) })
                     : NULL;
    if (!session)
        return;
    const struct {
        const char *name;
        char *out;
        size_t size;
    } leaves[] = {
        { "user", session->user, sizeof(session->user) },
        { "position", session->position, sizeof(session->position) },
        { "host", session->host, sizeof(session->host) },
        { "applicationId", session->application, sizeof(session->application) },
        { "kind", session->kind, sizeof(session->kind) },
    };
    for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
        if (is_same(leaf, (struct entitle_view){ leaves[i].name, strlen(leaves[i].name) }))
            keep(list, name + 1, leaves[i].out, leaves[i].size);
    }
}

/* Each object has the values of one p2ps, or none of them. */
static void take_objects(struct list *list)
{
    for (uint32_t i = 0; i < list->parse.count; i++) {
        const struct json_token *object = &list->parse.tokens[i];

        if (object->kind != JSON_OBJECT)
            continue;
        list->first = list->count;
        for (uint32_t name = i + 1; name < object->next; name = list->parse.tokens[name + 1].next)
            take_member(list, name);
    }
}

/* False: the reason was printed. */
static bool read_list(const char *path, struct list *list)
{
    size_t length;
    char *text = access_file_read(path, &length);

    if (!text) {
        fprintf(stderr, "rmdsaccess: %s: %s\n", path, strerror(errno));
        return false;
    }
    list->parse = (struct json_parse){
        .text = (const uint8_t *)text,
        .length = length,
        .room = json_tokens_max(length),
        .tokens = malloc(json_tokens_max(length) * sizeof(struct json_token)),
    };
    bool is_json = list->parse.tokens && json_parse(&list->parse);
    if (is_json)
        take_objects(list);
    if (!is_json || list->has_no_memory || list->count == 0)
        fprintf(
            stderr,
            "rmdsaccess: %s: %s; the JSON of rmdsmon -once -json, or /status.json of a p2ps, is "
            "expected\n",
            path,
            !is_json              ? "it is no JSON"
            : list->has_no_memory ? "no memory"
                                  : "it has no consumer");
    return is_json && !list->has_no_memory && list->count > 0;
}

static void free_list(struct list *list)
{
    free((void *)(uintptr_t)list->parse.text);
    free(list->parse.tokens);
    free(list->sessions);
}

/* As the consumer is there, its password or token taken as right. */
static bool is_let_in(const struct access_text *file, const struct session *session,
                      struct entitle_answer *answer)
{
    const struct entitle_query query = {
        .kind = ENTITLE_LOGIN,
        .user = { session->user, strlen(session->user) },
        .host = { session->host, strcspn(session->host, " ") },
        .application = { session->application, strlen(session->application) },
        .position = { session->position, strlen(session->position) },
        .is_plain = !strstr(session->kind, "/tls"),
        .is_proof_given = true,
        .now_s = (uint64_t)time(NULL),
    };

    return entitle_rules_judge(file->rules, &query, answer) == ENTITLE_ALLOW;
}

/* True: a reload of the new file ends it, or may. */
static bool compare(const struct access_text *old, const struct access_text *new,
                    const struct session *session)
{
    struct entitle_answer was, is;
    bool was_in = is_let_in(old, session, &was), is_in = is_let_in(new, session, &is);

    if (is_in && (!was_in || was.proof == is.proof))
        return false;
    printf("%.*s %s %s: - %s%s\n", (int)session->number.length, session->number.data, session->user,
           session->host,
           is_in ? "ends if it came by password or token: these have changed" : "ends: ",
           is_in ? "" : is.text);
    return true;
}

int access_sessions(const struct access_text *old, const struct access_text *new, const char *path,
                    unsigned *count)
{
    struct list list = { .count = 0 };
    bool is_read = read_list(path, &list);

    for (size_t i = 0; is_read && i < list.count; i++)
        *count += compare(old, new, &list.sessions[i]);
    if (is_read)
        printf("%u of %zu sessions\n", *count, list.count);
    free_list(&list);
    return is_read ? MD_EXIT_OK : MD_EXIT_FILE;
}
