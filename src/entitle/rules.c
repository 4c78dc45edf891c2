/* rules.c - the access file: who may log in, see, and publish. See entitle/entitle.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "entitle/entitle.h"
#include "index.h"

#define LINES_MAX      1000000
#define LINE_MAX_BYTES 4096
#define WORDS_MAX      8

struct user_rule {
    struct entitle_line line; /* its one part is the name */
    struct entitle_view password;
    struct entitle_view token;
    bool has_password;
    bool has_token;
    uint32_t mounts_max;
    uint32_t items_max;
    uint32_t messages_per_s;
    uint32_t messages_burst;
};

/* Each right that a line can be about has a bit. */
enum { DO_VIEW = 1, DO_PUBLISH = 2, DO_LOGIN = 4 };

struct item_rule {
    struct entitle_line line; /* user, service, item */
    bool allow;
};

struct entitle_rules {
    char *text; /* the views of all rules point in here */
    struct user_rule *users;
    size_t user_count;
    size_t user_room;
    struct item_rule *items;
    size_t item_count;
    size_t item_room;
    struct entitle_index by_user;
    struct entitle_index by_item;
};

struct parse {
    struct entitle_rules *rules;
    entitle_diag_fn diag;
    void *closure;
    int line;
    int mistakes;
};

static void complain(struct parse *parse, const char *text)
{
    parse->mistakes++;
    if (parse->diag)
        parse->diag(parse->closure, parse->line, text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int split_words(const char *line, size_t length, struct entitle_view words[WORDS_MAX])
{
    int count = 0;
    size_t i = 0;

    while (i < length) {
        while (i < length && is_blank(line[i]))
            i++;
        size_t start = i;
        while (i < length && !is_blank(line[i]))
            i++;
        if (i == start)
            break;
        if (count == WORDS_MAX)
            return WORDS_MAX + 1;
        words[count++] = (struct entitle_view){ line + start, i - start };
    }
    return count;
}

static bool word_is(struct entitle_view word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.data, text, word.length) == 0;
}

/* The value of `word` if it starts with "key="; data NULL otherwise. */
static struct entitle_view value_of(struct entitle_view word, const char *key)
{
    size_t length = strlen(key);

    if (word.length < length || memcmp(word.data, key, length) != 0)
        return (struct entitle_view){ NULL, 0 };
    return (struct entitle_view){ word.data + length, word.length - length };
}

/* One more slot of `size` bytes in a growing array, or NULL. Only while a file is read. */
static void *grow(void **array, size_t *count, size_t *room, size_t size)
{
    if (*count == *room) {
        size_t wanted = *room ? *room * 2 : 64;
        void *more = realloc(*array, wanted * size);
        if (!more)
            return NULL;
        *array = more;
        *room = wanted;
    }
    void *slot = (char *)*array + *count * size;
    memset(slot, 0, size);
    (*count)++;
    return slot;
}

static bool parse_number(struct entitle_view value, uint32_t *out)
{
    uint64_t number = 0;

    if (value.length == 0 || value.length > 9)
        return false;
    for (size_t i = 0; i < value.length; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(value.data[i] - '0');
    }
    *out = (uint32_t)number;
    return true;
}

/* "N" or "N/BURST"; absent, the burst is what comes in a second. */
static bool parse_rate(struct entitle_view value, uint32_t *rate, uint32_t *burst)
{
    const char *slash = memchr(value.data, '/', value.length);
    struct entitle_view first = { value.data, slash ? (size_t)(slash - value.data) : value.length };

    if (!parse_number(first, rate))
        return false;
    *burst = *rate;
    if (!slash)
        return true;
    return parse_number((struct entitle_view){ slash + 1, value.length - first.length - 1 },
                        burst) &&
           *burst > 0;
}

static void parse_user_key(struct parse *parse, struct user_rule *user, struct entitle_view word)
{
    struct entitle_view password = value_of(word, "password=");
    struct entitle_view token = value_of(word, "token=");
    struct entitle_view mounts = value_of(word, "mounts=");
    struct entitle_view items = value_of(word, "items=");
    struct entitle_view messages = value_of(word, "messages=");

    if ((password.data && password.length == 0) || (token.data && token.length == 0)) {
        complain(parse, "user: a word is expected behind password= and token=; leave the key out "
                        "if the user needs none");
    } else if (password.data) {
        user->password = password;
        user->has_password = true;
    } else if (token.data) {
        user->token = token;
        user->has_token = true;
    } else if (!(mounts.data && parse_number(mounts, &user->mounts_max)) &&
               !(items.data && parse_number(items, &user->items_max)) &&
               !(messages.data &&
                 parse_rate(messages, &user->messages_per_s, &user->messages_burst))) {
        complain(parse, "user: password=WORD, token=WORD, mounts=NUMBER, items=NUMBER or "
                        "messages=NUMBER[/BURST] is expected here");
    }
}

static void parse_user(struct parse *parse, const struct entitle_view words[], int count)
{
    struct entitle_rules *rules = parse->rules;

    if (count < 2) {
        complain(parse, "user: a name is expected; example: user alice password=secret");
        return;
    }
    struct user_rule *user =
        grow((void **)&rules->users, &rules->user_count, &rules->user_room, sizeof(*rules->users));
    if (!user) {
        complain(parse, "out of memory");
        return;
    }
    user->line.parts[0] = words[1];
    user->line.rights = DO_LOGIN;
    for (int i = 2; i < count; i++)
        parse_user_key(parse, user, words[i]);
}

/* "do=view,publish"; 0: it is none. */
static uint8_t parse_rights(struct entitle_view word)
{
    struct entitle_view rest = value_of(word, "do=");
    uint8_t rights = 0;

    while (rest.data) {
        const char *comma = memchr(rest.data, ',', rest.length);
        struct entitle_view name = { rest.data, comma ? (size_t)(comma - rest.data) : rest.length };

        if (word_is(name, "view"))
            rights |= DO_VIEW;
        else if (word_is(name, "publish"))
            rights |= DO_PUBLISH;
        else
            return 0;
        if (!comma)
            break;
        rest = (struct entitle_view){ comma + 1, rest.length - name.length - 1 };
    }
    return rights;
}

static void parse_item(struct parse *parse, const struct entitle_view words[], int count,
                       bool allow)
{
    struct entitle_rules *rules = parse->rules;
    uint8_t rights = count == 5 ? parse_rights(words[4]) : DO_VIEW;

    if (count != 4 && count != 5) {
        complain(parse, "three patterns are expected: USER SERVICE ITEM; example: deny * RDFD *.N");
        return;
    }
    if (rights == 0) {
        complain(parse, "do=view, do=publish or do=view,publish is expected behind the item");
        return;
    }
    if (rights & DO_PUBLISH && !word_is(words[3], "*")) {
        complain(parse, "do=publish is about a whole service: * is expected as the item");
        return;
    }
    struct item_rule *item =
        grow((void **)&rules->items, &rules->item_count, &rules->item_room, sizeof(*rules->items));
    if (!item) {
        complain(parse, "out of memory");
        return;
    }
    item->line.parts[0] = words[1];
    item->line.parts[1] = words[2];
    item->line.parts[2] = words[3];
    item->line.rights = rights;
    item->allow = allow;
}

static void parse_line(struct parse *parse, const char *line, size_t length)
{
    struct entitle_view words[WORDS_MAX];
    int count = split_words(line, length, words);

    if (count == 0 || words[0].data[0] == '!' || words[0].data[0] == '#')
        return;
    if (length > LINE_MAX_BYTES || count > WORDS_MAX)
        complain(parse, "the line is too long");
    else if (word_is(words[0], "user"))
        parse_user(parse, words, count);
    else if (word_is(words[0], "allow"))
        parse_item(parse, words, count, true);
    else if (word_is(words[0], "deny"))
        parse_item(parse, words, count, false);
    else
        complain(parse, "user, allow or deny is expected at the start of a line");
}

static int index_rules(struct entitle_rules *rules)
{
    int err = entitle_index_create(&rules->by_user, rules->users, rules->user_count,
                                   sizeof(*rules->users), 1);

    if (err == MD_OK)
        err = entitle_index_create(&rules->by_item, rules->items, rules->item_count,
                                   sizeof(*rules->items), 3);
    return err;
}

int entitle_rules_create(const char *text, size_t length, entitle_diag_fn diag, void *closure,
                         struct entitle_rules **out)
{
    struct entitle_rules *rules = calloc(1, sizeof(*rules));
    struct parse parse = { .rules = rules, .diag = diag, .closure = closure };

    *out = NULL;
    if (!rules)
        return MD_ERR_NOMEM;
    rules->text = malloc(length + 1);
    if (!rules->text) {
        free(rules);
        return MD_ERR_NOMEM;
    }
    if (length)
        memcpy(rules->text, text, length);
    for (size_t start = 0; start < length;) {
        const char *line = rules->text + start;
        const char *end = memchr(line, '\n', length - start);
        size_t line_length = end ? (size_t)(end - line) : length - start;

        if (++parse.line > LINES_MAX) {
            complain(&parse, "the file has too many lines");
            break;
        }
        parse_line(&parse, line, line_length);
        start += line_length + 1;
    }
    int err = parse.mistakes ? MD_ERR_MALFORMED : index_rules(rules);
    if (err != MD_OK) {
        entitle_rules_destroy(rules);
        return err;
    }
    *out = rules;
    return MD_OK;
}

void entitle_rules_destroy(struct entitle_rules *rules)
{
    if (!rules)
        return;
    entitle_index_fini(&rules->by_user);
    entitle_index_fini(&rules->by_item);
    free(rules->users);
    free(rules->items);
    free(rules->text);
    free(rules);
}

/* Takes as long whatever the first difference is, so that a password cannot be felt out. */
static bool same_secret(struct entitle_view a, struct entitle_view b)
{
    unsigned difference = a.length != b.length;
    size_t length = a.length < b.length ? a.length : b.length;

    for (size_t i = 0; i < length; i++)
        difference |= (unsigned)(uint8_t)a.data[i] ^ (unsigned)(uint8_t)b.data[i];
    return difference == 0;
}

static enum entitle_verdict deny(struct entitle_answer *out, const char *text)
{
    snprintf(out->text, sizeof(out->text), "%s", text);
    return out->verdict = ENTITLE_DENY;
}

static enum entitle_verdict judge_login(const struct entitle_rules *rules,
                                        const struct entitle_query *query,
                                        struct entitle_answer *out)
{
    const struct entitle_view text[ENTITLE_PARTS_MAX] = { query->user };
    uint32_t at = entitle_index_find(&rules->by_user, text, 1, DO_LOGIN, &out->rules_seen);

    if (at == ENTITLE_INDEX_NONE)
        return deny(out, "user name or password refused");
    const struct user_rule *user = &rules->users[at];
    if (user->has_token && !same_secret(user->token, query->token))
        return deny(out, "token refused");
    if (user->has_password && !same_secret(user->password, query->password))
        return deny(out, "user name or password refused");
    out->is_proved = user->has_password || user->has_token;
    out->mounts_max = user->mounts_max;
    out->items_max = user->items_max;
    out->messages_per_s = user->messages_per_s;
    out->messages_burst = user->messages_burst;
    return out->verdict;
}

static enum entitle_verdict judge_item(const struct entitle_rules *rules,
                                       const struct entitle_query *query,
                                       struct entitle_answer *out)
{
    const struct entitle_view text[] = { query->user, query->service, query->item };
    uint32_t at = entitle_index_find(&rules->by_item, text, 3, DO_VIEW, &out->rules_seen);

    if (at == ENTITLE_INDEX_NONE || rules->items[at].allow)
        return out->verdict;
    return deny(out, "not entitled to this item");
}

static enum entitle_verdict judge_publish(const struct entitle_rules *rules,
                                          const struct entitle_query *query,
                                          struct entitle_answer *out)
{
    const struct entitle_view text[ENTITLE_PARTS_MAX] = { query->user, query->service };
    uint32_t at = entitle_index_find(&rules->by_item, text, 2, DO_PUBLISH, &out->rules_seen);

    if (at == ENTITLE_INDEX_NONE || !rules->items[at].allow)
        return deny(out, "not entitled to publish this service");
    return out->verdict;
}

enum entitle_verdict entitle_rules_judge(const struct entitle_rules *rules,
                                         const struct entitle_query *query,
                                         struct entitle_answer *out)
{
    memset(out, 0, sizeof(*out));
    out->verdict = ENTITLE_ALLOW;
    if (!rules)
        return out->verdict;
    if (query->kind == ENTITLE_LOGIN)
        return judge_login(rules, query, out);
    if (query->kind == ENTITLE_PUBLISH)
        return judge_publish(rules, query, out);
    return judge_item(rules, query, out);
}

bool entitle_rules_open_to_any(const struct entitle_rules *rules, enum entitle_kind kind)
{
    uint8_t right = kind == ENTITLE_PUBLISH ? DO_PUBLISH : DO_VIEW;

    if (kind == ENTITLE_LOGIN)
        return rules->user_count > 0;
    for (size_t i = 0; i < rules->item_count; i++) {
        if (rules->items[i].allow && rules->items[i].line.rights & right)
            return true;
    }
    return kind == ENTITLE_ITEM; /* what no line fits is allowed */
}

static enum entitle_verdict ask_rules(void *self, const struct entitle_query *query,
                                      uint64_t ticket, struct entitle_answer *out)
{
    entitle_rules_slot *slot = self;
    const struct entitle_rules *rules = atomic_load_explicit(slot, memory_order_acquire);
    enum entitle_verdict verdict = entitle_rules_judge(rules, query, out);

    out->ticket = ticket;
    return verdict;
}

static int no_answers(void *self, struct entitle_answer out[], int max)
{
    (void)self;
    (void)out;
    (void)max;
    return 0;
}

struct entitle_authority entitle_rules_authority(entitle_rules_slot *slot)
{
    return (struct entitle_authority){
        .ask = ask_rules,
        .answers = no_answers,
        .self = slot,
    };
}
