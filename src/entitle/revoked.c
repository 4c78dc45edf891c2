/* revoked.c - tokens and certificates of an access file that are good no more. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "rules.h"

/* ---- lines ---- */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static char small(char c)
{
    return c >= 'A' && c <= 'F' ? (char)(c + ('a' - 'A')) : c;
}

/* Small digits without what stands between them, in place: the text is the rules' own. False:
 * there is something else in it. */
static bool squeeze(struct entitle_view *word, char between)
{
    char *at = (char *)(uintptr_t)word->data;
    size_t length = 0;

    for (size_t i = 0; i < word->length; i++) {
        if (word->data[i] == between && between)
            continue;
        if (!is_hex(word->data[i]))
            return false;
        at[length++] = small(word->data[i]);
    }
    word->length = length;
    return length > 0;
}

bool entitle_sum_read(struct entitle_view word)
{
    return word.length == ENTITLE_SUM_MAX - 1 && squeeze(&word, 0);
}

/* As OpenSSL prints one: 1A:2B, or 1A2B. */
static bool read_serial(struct entitle_view *word)
{
    if (!squeeze(word, ':'))
        return false;
    while (word->length > 1 && word->data[0] == '0') {
        word->data++;
        word->length--;
    }
    return word->length < ENTITLE_SERIAL_MAX;
}

static bool read_id(struct entitle_view word, struct entitle_revoked *out)
{
    struct entitle_view jti = entitle_value(word, "jti"), sum = entitle_value(word, "sha256");
    struct entitle_view serial = entitle_value(word, "cert");

    if (jti.data) {
        out->by = ENTITLE_REVOKED_JTI;
        out->id = jti;
        return jti.length > 0 && jti.length < ENTITLE_JTI_MAX;
    }
    out->by = sum.data ? ENTITLE_REVOKED_SUM : ENTITLE_REVOKED_SERIAL;
    out->id = sum.data ? sum : serial;
    if (sum.data)
        return entitle_sum_read(sum);
    return serial.data && read_serial(&out->id);
}

static void parse_recall(struct entitle_parse *parse, struct entitle_view user,
                         struct entitle_view before)
{
    struct entitle_recall *recall = entitle_parse_add(parse, &parse->rules->recalls,
                                                      sizeof(*recall), &user, 1, ENTITLE_MAY_LOGIN);

    if (recall && !entitle_time_read(before, &recall->before_s))
        entitle_complain(parse,
                         "revoked: before=\"%.*s\" is not a time like 2027-01-31 or "
                         "2027-01-31T18:00:00Z",
                         ENTITLE_SHOWN(before));
}

void entitle_parse_revoked(struct entitle_parse *parse, const struct entitle_view words[],
                           int count)
{
    struct entitle_view user = entitle_value(count > 1 ? words[1] : words[0], "user");
    struct entitle_view before = entitle_value(count == 3 ? words[2] : words[0], "before");
    struct entitle_revoked revoked = { .line = (uint32_t)parse->line };

    if (user.length && before.data) {
        parse_recall(parse, user, before);
        return;
    }
    if (count != 2 || !read_id(words[1], &revoked)) {
        entitle_complain(parse,
                         "revoked: user=PATTERN before=TIME, jti=ID (127 bytes at most), sha256= "
                         "with 64 hexadecimal digits, or cert= with the number of a certificate "
                         "in at most 40 of them is expected");
        return;
    }
    struct entitle_revoked *place = entitle_grow(&parse->rules->revoked, sizeof(revoked));
    if (place)
        *place = revoked;
    else
        entitle_complain(parse, "out of memory");
}

int entitle_index_revoked(struct entitle_rules *rules)
{
    struct entitle_revoked *list = rules->revoked.at;
    int err = entitle_index_create(&rules->by_recall, rules->recalls.at, rules->recalls.count,
                                   sizeof(struct entitle_recall), 1);

    for (size_t i = 0; i < rules->revoked.count && err == MD_OK; i++) {
        struct md_table **table = &rules->by_revoked[list[i].by];

        if (!*table)
            err = md_table_create(64, table);
        if (err == MD_OK)
            err = md_table_put(*table, list[i].id.data, list[i].id.length, &list[i]);
        if (err == MD_ERR_EXISTS)
            err = MD_OK;
    }
    return err;
}

void entitle_revoked_fini(struct entitle_rules *rules)
{
    entitle_index_fini(&rules->by_recall);
    for (unsigned i = 0; i < ENTITLE_REVOKED_BYS; i++)
        md_table_destroy(rules->by_revoked[i]);
}

/* ---- questions ---- */

static bool has_line(const struct entitle_rules *rules, enum entitle_revoked_by by,
                     struct entitle_view id, struct entitle_answer *out)
{
    const struct entitle_revoked *found =
        rules->by_revoked[by] && id.length ? md_table_get(rules->by_revoked[by], id.data, id.length)
                                           : NULL;

    if (found)
        out->line = found->line;
    return found != NULL;
}

/* A signed token that cannot be read may be the one of any line. */
static bool has_id(const struct entitle_rules *rules, const struct entitle_shown *shown,
                   struct entitle_answer *out)
{
    if (shown->is_unread && rules->by_revoked[ENTITLE_REVOKED_JTI])
        return true;
    return has_line(rules, ENTITLE_REVOKED_SUM, entitle_text(shown->sum), out) ||
           has_line(rules, ENTITLE_REVOKED_JTI, entitle_text(shown->jti), out);
}

/* A signed token that does not say when it was issued may be an old one. */
static bool is_recalled(const struct entitle_rules *rules, const struct entitle_query *query,
                        struct entitle_answer *out)
{
    uint64_t issued_s = query->shown ? query->shown->issued_s : 0;
    struct entitle_asked asked = { .text = &query->user, .count = 1, .rights = ENTITLE_MAY_LOGIN };

    bool is_signed = query->by == ENTITLE_BY_JWT || (query->shown && query->shown->is_signed);

    if (!is_signed || rules->recalls.count == 0)
        return false;
    for (;;) {
        uint32_t at = entitle_index_find(&rules->by_recall, &asked, &out->rules_seen);
        if (at == ENTITLE_INDEX_NONE)
            return false;
        const struct entitle_recall *recall = (struct entitle_recall *)rules->recalls.at + at;
        if (issued_s < recall->before_s) {
            out->line = recall->line.line;
            return true;
        }
        asked.from = at + 1;
    }
}

const char *entitle_refuse_revoked(const struct entitle_rules *rules,
                                   const struct entitle_query *query, struct entitle_answer *out)
{
    const struct entitle_shown *shown = query->shown;
    const char *why = NULL;

    if (has_line(rules, ENTITLE_REVOKED_SERIAL, query->serial, out))
        why = "the certificate is revoked";
    else if (shown && has_id(rules, shown, out))
        why = "token refused: revoked";
    else if (is_recalled(rules, query, out))
        why = "token refused: revoked";
    if (why && query->kind == ENTITLE_LOGIN && shown)
        out->token_error = ENTITLE_TOKEN_REVOKED;
    if (why)
        entitle_say(query, "revoked", out->line, "%s", why);
    return why;
}
