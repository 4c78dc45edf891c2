/* parse.c - the statements of an access file. See rules.h and entitle/entitle.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "rules.h"

/* ---- user, role ---- */

static void parse_user(struct entitle_parse *parse, const struct entitle_view words[], int count)
{
    bool is_role = entitle_is(words[0], "role");
    struct entitle_array *array = is_role ? &parse->rules->roles : &parse->rules->users;

    if (count < 2) {
        entitle_complain(parse,
                         is_role ? "role: a name is expected; example: role rates mounts=2"
                                 : "user: a name is expected; example: user alice password=secret");
        return;
    }
    if (is_role && (memchr(words[1].data, '*', words[1].length) ||
                    memchr(words[1].data, '?', words[1].length))) {
        entitle_complain(parse, "role %.*s: a name is expected, not a pattern",
                         ENTITLE_SHOWN(words[1]));
        return;
    }
    struct entitle_user *user =
        entitle_parse_add(parse, array, sizeof(*user), words + 1, 1, ENTITLE_MAY_LOGIN);
    if (!user)
        return;
    entitle_parse_keys(parse, is_role ? "role" : "user", user, words + 2, count - 2);
}

/* ---- allow, deny ---- */

static const char *const right_names[] = { "view", "publish", "post", "private" };

/* "view,post"; 0: it is none. */
static uint8_t parse_rights(struct entitle_view list)
{
    struct entitle_view name;
    uint8_t rights = 0;

    while (entitle_next(&list, &name)) {
        uint8_t right = 0;

        for (unsigned i = 0; i < 4; i++)
            right = (uint8_t)(right | ((unsigned)entitle_is(name, right_names[i]) << i));
        if (right == 0)
            return 0;
        rights |= right;
    }
    return rights;
}

static void parse_domains(struct entitle_parse *parse, struct entitle_item *item,
                          struct entitle_view list)
{
    struct entitle_array *sets = &parse->rules->domains;
    struct entitle_domains set = { { 0 } };
    struct entitle_view one;
    uint32_t domain;

    while (entitle_next(&list, &one)) {
        if (!entitle_number(one, &domain) || domain == 0 || domain > 255) {
            entitle_complain(parse, "domain=\"%.*s\" is not a number (1..255); 6 is MarketPrice",
                             ENTITLE_SHOWN(one));
            return;
        }
        set.bits[domain / 64] |= 1ull << domain % 64;
    }
    for (size_t i = 0; i < sets->count && item->line.domains == 0; i++) {
        if (memcmp((struct entitle_domains *)sets->at + i, &set, sizeof(set)) == 0)
            item->line.domains = (uint16_t)(i + 1);
    }
    if (item->line.domains)
        return;
    struct entitle_domains *more =
        sets->count < ENTITLE_DOMAINS_MAX ? entitle_grow(sets, sizeof(*more)) : NULL;
    if (!more) {
        entitle_complain(parse, "domain=: more than %d different lists", ENTITLE_DOMAINS_MAX);
        return;
    }
    *more = set;
    item->line.domains = (uint16_t)sets->count;
}

static void parse_item_key(struct entitle_parse *parse, struct entitle_item *item,
                           struct entitle_view word)
{
    struct entitle_view rights = entitle_value(word, "do");
    struct entitle_view domains = entitle_value(word, "domain");
    struct entitle_view text = entitle_value(word, "text");

    if (domains.data)
        parse_domains(parse, item, domains);
    else if (text.data)
        item->text = text;
    else if (!rights.data || (item->line.rights = parse_rights(rights)) == 0)
        entitle_complain(parse, "do=view,post,private,publish (one or more of them), "
                                "domain=NUMBER,... or text=\"...\" is expected behind the item");
}

static uint8_t rights_without_do(bool allow)
{
    return ENTITLE_MAY_VIEW | ENTITLE_MAY_PRIVATE | (allow ? 0 : ENTITLE_MAY_POST);
}

static void parse_item(struct entitle_parse *parse, const struct entitle_view words[], int count)
{
    struct entitle_item item = {
        .allow = entitle_is(words[0], "allow"),
        .line = { .line = (uint32_t)parse->line },
    };
    int mistakes = parse->mistakes;

    if (count < 4) {
        entitle_complain(
            parse, "three patterns are expected: USER SERVICE ITEM; example: deny * RDFD *.N");
        return;
    }
    for (int i = 0; i < 3; i++)
        item.line.parts[i] = words[i + 1];
    item.line.rights = rights_without_do(item.allow);
    for (int i = 4; i < count; i++)
        parse_item_key(parse, &item, words[i]);
    if (mistakes == parse->mistakes && item.line.rights & ENTITLE_MAY_PUBLISH &&
        (!entitle_is(words[3], "*") || item.line.domains))
        entitle_complain(parse, "do=publish is about a whole service: * is expected as the item, "
                                "and no domain=");
    struct entitle_item *place = entitle_grow(&parse->rules->items, sizeof(item));
    if (place)
        *place = item;
    else
        entitle_complain(parse, "out of memory");
}

/* ---- default ---- */

static void parse_default(struct entitle_parse *parse, const struct entitle_view words[], int count)
{
    bool is_deny = count == 3 && entitle_is(words[2], "deny");

    if (count == 3 && (is_deny || entitle_is(words[2], "allow"))) {
        if (entitle_is(words[1], "items")) {
            parse->rules->denies_items = is_deny;
            parse->rules->has_items_default = true;
            return;
        }
        if (entitle_is(words[1], "posts")) {
            parse->rules->denies_posts = is_deny;
            parse->rules->has_posts_default = true;
            return;
        }
    }
    entitle_complain(parse, "default: items or posts is expected, then allow or deny; example: "
                            "default items deny");
}

/* ---- lines ---- */

static const struct statement {
    const char *name;
    void (*parse)(struct entitle_parse *parse, const struct entitle_view words[], int count);
} statements[] = {
    { "user", parse_user },
    { "role", parse_user },
    { "allow", parse_item },
    { "deny", parse_item },
    { "default", parse_default },
    { "peset", entitle_parse_peset },
    { "pe", entitle_parse_pe },
    { "grant", entitle_parse_grant },
    { "content", entitle_parse_content },
    { "map", entitle_parse_map },
    { "fields", entitle_parse_fields },
    { "revoked", entitle_parse_revoked },
    { "include", entitle_parse_include },
};
#define STATEMENTS (sizeof(statements) / sizeof(statements[0]))

static void unknown_statement(struct entitle_parse *parse, struct entitle_view word)
{
    const char *names[STATEMENTS];
    char list[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < STATEMENTS; i++) {
        names[i] = statements[i].name;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
                                 i == 0                ? ""
                                 : i + 1 == STATEMENTS ? " or "
                                                       : ", ",
                                 names[i]);
    }
    const char *near = entitle_near(word, names, STATEMENTS);
    entitle_complain(parse,
                     "\"%.*s\" is not a statement; %s is expected at the start of a line%s%s%s",
                     ENTITLE_SHOWN(word), list, near ? "; did you mean " : "", near ? near : "",
                     near ? "?" : "");
}

static void parse_line(struct entitle_parse *parse, const char *line, size_t length)
{
    struct entitle_view words[ENTITLE_WORDS_MAX];
    bool is_open;

    if (length > ENTITLE_LINE_BYTES_MAX) {
        entitle_complain(parse, "the line is longer than %d bytes", ENTITLE_LINE_BYTES_MAX);
        return;
    }
    int count = entitle_split(line, length, words, &is_open);
    if (count == 0 || words[0].data[0] == '!' || words[0].data[0] == '#')
        return;
    if (is_open) {
        entitle_complain(parse, "a \" is expected where the quoted text ends");
        return;
    }
    if (count > ENTITLE_WORDS_MAX) {
        entitle_complain(parse, "the line has more than %d words", ENTITLE_WORDS_MAX);
        return;
    }
    for (size_t i = 0; i < STATEMENTS; i++) {
        if (entitle_is(words[0], statements[i].name)) {
            statements[i].parse(parse, words, count);
            return;
        }
    }
    unknown_statement(parse, words[0]);
}

static bool is_comment(const char *line, size_t length)
{
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    return length > 0 && (*line == '!' || *line == '#');
}

/* The end of a line that `\` makes longer, with blanks in place of that; adds its lines. */
static size_t end_of_line(char *text, size_t start, size_t length, int *more)
{
    size_t from = start;

    for (;;) {
        char *end = memchr(text + from, '\n', length - from);
        size_t at = end ? (size_t)(end - text) : length;
        size_t last = at > start && text[at - 1] == '\r' ? at - 1 : at;

        if (!end || last == start || text[last - 1] != '\\' || is_comment(text + start, at - start))
            return at;
        memset(text + last - 1, ' ', at - last + 2);
        from = at + 1;
        ++*more;
    }
}

void entitle_parse_text(struct entitle_parse *parse, char *text, size_t length)
{
    for (size_t start = 0; start < length;) {
        int more = 0;
        size_t end = end_of_line(text, start, length, &more);

        if (++parse->line > ENTITLE_LINES_MAX) {
            entitle_complain(parse, "there are more than %d lines", ENTITLE_LINES_MAX);
            return;
        }
        parse_line(parse, text + start, end - start);
        parse->line += more;
        start = end + 1;
    }
}
