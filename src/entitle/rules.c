/* rules.c - the access file: who may log in, see, post, and publish. See entitle/entitle.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"

/* ---- life ---- */

/* The subjects of lines that let somebody post: a login is told whether it is one of them. */
static int index_posters(struct entitle_rules *rules)
{
    for (size_t i = 0; i < rules->items.count; i++) {
        const struct entitle_item *item = entitle_item_at(rules, i);
        uint8_t post = ENTITLE_MAY_POST | ENTITLE_MAY_POST << ENTITLE_OF_ROLES;

        if (!item->allow || !(item->line.rights & post))
            continue;
        struct entitle_user *poster = entitle_grow(&rules->posters, sizeof(*poster));
        if (!poster)
            return MD_ERR_NOMEM;
        poster->line.parts[0] = item->line.parts[0];
        poster->line.rights = item->line.rights & post;
    }
    return entitle_index_create(&rules->by_poster, rules->posters.at, rules->posters.count,
                                sizeof(struct entitle_user), 1);
}

/* The first one with it. */
static int index_token(struct md_table **table, struct entitle_view token,
                       struct entitle_user *user)
{
    int err = token.data && !*table ? md_table_create(64, table) : MD_OK;

    if (err == MD_OK && token.data)
        err = md_table_put(*table, token.data, token.length, user);
    return err == MD_ERR_EXISTS ? MD_OK : err;
}

static int index_tokens(struct entitle_rules *rules)
{
    int err = MD_OK;

    for (size_t i = 0; i < rules->users.count && err == MD_OK; i++) {
        struct entitle_user *user = entitle_user_at(&rules->users, i);

        err = index_token(&rules->by_token, user->keys.token, user);
        if (err == MD_OK)
            err = index_token(&rules->by_tokenhash, user->keys.tokenhash, user);
    }
    return err;
}

static void look_for_outside(struct entitle_rules *rules)
{
    for (size_t i = 0; i < rules->users.count; i++)
        rules->asks_outside |=
            entitle_user_at(&rules->users, i)->keys.auth >> ENTITLE_BY_AUTHORITY & 1;
}

static int index_rules(struct entitle_parse *parse)
{
    struct entitle_rules *rules = parse->rules;
    int err = entitle_resolve_roles(parse);

    if (err == MD_OK)
        err = entitle_resolve_content(parse);
    if (err == MD_OK)
        err = entitle_resolve_fields(rules);
    if (err == MD_OK && parse->mistakes)
        err = MD_ERR_MALFORMED;
    if (err == MD_OK)
        err = entitle_index_create(&rules->by_user, rules->users.at, rules->users.count,
                                   sizeof(struct entitle_user), 1);
    if (err == MD_OK)
        err = entitle_index_create(&rules->by_item, rules->items.at, rules->items.count,
                                   sizeof(struct entitle_item), 3);
    rules->by_item.domains = rules->domains.at;
    look_for_outside(rules);
    if (err == MD_OK)
        err = entitle_note_names(rules);
    if (err == MD_OK)
        err = index_tokens(rules);
    if (err == MD_OK)
        err = entitle_index_revoked(rules);
    return err == MD_OK ? index_posters(rules) : err;
}

/* All lines are read. */
static int finish(struct entitle_parse *parse, struct entitle_rules **out)
{
    int err = parse->mistakes ? MD_ERR_MALFORMED : index_rules(parse);

    if (err == MD_OK)
        *out = parse->rules;
    else
        entitle_rules_destroy(parse->rules);
    return err;
}

int entitle_rules_create(const char *text, size_t length, entitle_diag_fn diag, void *closure,
                         struct entitle_rules **out)
{
    struct entitle_rules *rules = calloc(1, sizeof(*rules));
    struct entitle_parse parse = { .rules = rules, .diag = diag, .closure = closure };

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
    entitle_parse_text(&parse, rules->text, length);
    return finish(&parse, out);
}

int entitle_rules_create_from(const char *path, const struct entitle_reader *reader,
                              entitle_told_fn told, void *closure, struct entitle_rules **out)
{
    struct entitle_rules *rules = calloc(1, sizeof(*rules));
    struct entitle_parse parse = {
        .rules = rules,
        .told = told,
        .closure = closure,
        .reader = reader,
        .lines = entitle_parse_text,
    };

    *out = NULL;
    if (!rules)
        return MD_ERR_NOMEM;
    int err = entitle_include_first(&parse, path);
    if (err != MD_OK) {
        entitle_rules_destroy(rules);
        return err;
    }
    return finish(&parse, out);
}

void entitle_rules_destroy(struct entitle_rules *rules)
{
    if (!rules)
        return;
    entitle_index_fini(&rules->by_user);
    entitle_index_fini(&rules->by_role);
    entitle_index_fini(&rules->by_item);
    entitle_index_fini(&rules->by_poster);
    md_table_destroy(rules->by_token);
    md_table_destroy(rules->by_tokenhash);
    entitle_revoked_fini(rules);
    entitle_index_fini(&rules->by_grant);
    entitle_index_fini(&rules->by_map);
    entitle_index_fini(&rules->by_content);
    entitle_fini_fields(rules);
    free(rules->sets.at);
    free(rules->pes.at);
    free(rules->pe_names.at);
    free(rules->grants.at);
    free(rules->ranges.at);
    free(rules->maps.at);
    free(rules->contents.at);
    free(rules->set_of_id);
    free(rules->users.at);
    free(rules->roles.at);
    free(rules->items.at);
    free(rules->posters.at);
    free(rules->numbers.at);
    free(rules->domains.at);
    free(rules->recalls.at);
    free(rules->revoked.at);
    free(rules->text);
    entitle_include_fini(rules);
    free(rules);
}

/* ---- logins ---- */

static enum entitle_verdict deny(struct entitle_answer *out, const char *text)
{
    if (text != out->text)
        snprintf(out->text, sizeof(out->text), "%s", text);
    return out->verdict = ENTITLE_DENY;
}

const struct entitle_user *entitle_user_of(const struct entitle_rules *rules,
                                           struct entitle_view name, uint32_t *seen)
{
    const struct entitle_view text[ENTITLE_PARTS_MAX] = { name };
    const struct entitle_asked asked = { .text = text, .count = 1, .rights = ENTITLE_MAY_LOGIN };
    uint32_t at = entitle_index_find(&rules->by_user, &asked, seen);

    return at == ENTITLE_INDEX_NONE ? NULL : entitle_user_at(&rules->users, at);
}

static bool may_post_at_all(const struct entitle_rules *rules, const struct entitle_user *user,
                            struct entitle_view session, struct entitle_view name, uint32_t *seen)
{
    struct entitle_own_roles own;
    struct entitle_view text[ENTITLE_PARTS_MAX] = { name };
    struct entitle_asked asked = { .text = text, .count = 1, .rights = ENTITLE_MAY_POST };

    if (!rules->denies_posts)
        return true;
    entitle_roles_collect(rules, user, session, &own);
    return entitle_first_line(rules, &rules->by_poster, &own, text, &asked, seen) !=
           ENTITLE_INDEX_NONE;
}

/* A role that is left out could be one that is denied something. */
static bool has_too_many_roles(const struct entitle_rules *rules, const struct entitle_user *user,
                               struct entitle_view session)
{
    struct entitle_own_roles own;

    entitle_roles_collect(rules, user, session, &own);
    return own.is_cut;
}

static void take_limits(const struct entitle_keys *keys, struct entitle_answer *out)
{
    out->mounts_max = keys->mounts;
    out->positions_max = keys->positions;
    out->user_ends_s = keys->expires_s;
    out->needs_tls = keys->needs_tls;
    out->items_max = keys->items;
    out->messages_per_s = keys->messages.per_second;
    out->messages_burst = keys->messages.burst;
    out->requests_per_s = keys->requests.per_second;
    out->requests_burst = keys->requests.burst;
    out->posts_per_s = keys->posts.per_second;
    out->posts_burst = keys->posts.burst;
    out->is_snapshot_only = keys->is_snapshot_only;
    out->qualities = keys->qualities;
}

static bool is_pattern(struct entitle_view name)
{
    return memchr(name.data, '*', name.length) || memchr(name.data, '?', name.length);
}

/* NULL: the token is nobody's. */
static const struct entitle_user *user_of_token(const struct entitle_rules *rules,
                                                const struct entitle_query *query)
{
    const struct entitle_user *user = NULL;

    if (rules->by_token)
        user = md_table_get(rules->by_token, query->token.data, query->token.length);
    if (!user && rules->by_tokenhash && query->shown)
        user = md_table_get(rules->by_tokenhash, query->shown->sum, strlen(query->shown->sum));
    return user;
}

/* The name in the login, or of whom its token is. Empty: of nobody. */
static struct entitle_view identity_of(const struct entitle_rules *rules,
                                       const struct entitle_query *query,
                                       struct entitle_answer *out)
{
    const struct entitle_user *user =
        query->user.length == 0 && query->token.length ? user_of_token(rules, query) : NULL;

    if (!user)
        return query->user;
    struct entitle_view name = user->line.parts[0];
    if (is_pattern(name) || name.length >= sizeof(out->user))
        return (struct entitle_view){ "", 0 };
    memcpy(out->user, name.data, name.length);
    return name;
}

static enum entitle_verdict ask_outside(struct entitle_answer *out)
{
    out->is_outside = true;
    return out->verdict = ENTITLE_PENDING;
}

static bool is_outside(const struct entitle_user *user)
{
    return user->keys.auth >> ENTITLE_BY_AUTHORITY & 1;
}

/* The authority is not asked about a login that the line refuses by itself. */
static bool is_asked_outside(const struct entitle_user *user, const struct entitle_query *query)
{
    struct entitle_answer unused = { .verdict = ENTITLE_ALLOW };

    return user && is_outside(user) && query->kind == ENTITLE_LOGIN &&
           query->by == ENTITLE_BY_NAME && !query->is_alone && !query->is_proof_given &&
           !entitle_lacks_certificate(&user->keys, query) &&
           !entitle_keys_refuse(&user->keys, query, &unused);
}

/* No proof is shown, nor needed. */
static bool is_by_name(const struct entitle_user *user, const struct entitle_query *query)
{
    return !query->needs_certificate && !query->is_token && query->password.length == 0 &&
           query->token.length == 0 && query->by == ENTITLE_BY_NAME &&
           (!user || (entitle_takes_name(&user->keys) && !is_outside(user)));
}

static enum entitle_verdict judge_named(const struct entitle_rules *rules,
                                        const struct entitle_query *query,
                                        struct entitle_answer *out)
{
    struct entitle_view name = query->user;
    const char *revoked = entitle_refuse_revoked(rules, query, out);

    if (revoked)
        return deny(out, revoked);
    if (name.length == 0 && query->token.length && rules->asks_outside && !query->is_alone)
        return ask_outside(out);
    if (name.length == 0)
        return deny(out, query->token.length ? "token refused" : "the login has no user name");
    const struct entitle_user *user = entitle_user_of(rules, name, &out->rules_seen);

    out->line = user ? user->line.line : 0;
    out->is_by_name = is_by_name(user, query);
    entitle_say(query, "user", user ? user->line.line : 0, user ? "" : "no user line fits");
    if (is_asked_outside(user, query))
        return ask_outside(out);
    bool has_password = query->kind == ENTITLE_LOGIN && !query->is_proof_given &&
                        query->by == ENTITLE_BY_NAME && query->password.length > 0;
    if (!user && has_password && rules->decoy.data) {
        entitle_ask_for_hash(rules->decoy, true, out);
        return out->verdict;
    }
    if (!user && query->kind == ENTITLE_AGAIN)
        return deny(out, "the user is no longer allowed");
    if (!user) {
        if (out->is_by_name) /* else it would tell which names there are to guess a password of */
            out->reason = ENTITLE_UNKNOWN;
        return deny(out, "user name or password refused");
    }
    const char *why = query->is_proof_given ? NULL : entitle_refuse_proof(&user->keys, query, out);
    out->proof = entitle_proof_of(&user->keys);
    if (!why && out->verdict == ENTITLE_PENDING)
        return out->verdict;
    if (!why)
        why = entitle_keys_refuse(&user->keys, query, out);
    if (!why && has_too_many_roles(rules, user, query->roles))
        why = "the session has more than 64 roles";
    if (why)
        return deny(out, why);
    out->is_proved = out->by != ENTITLE_BY_NAME || query->is_proof_given;
    out->is_outside = is_outside(user);
    take_limits(&user->keys, out);
    out->may_post = may_post_at_all(rules, user, query->roles, name, &out->rules_seen);
    return out->verdict;
}

static enum entitle_verdict judge_login(const struct entitle_rules *rules,
                                        const struct entitle_query *query,
                                        struct entitle_answer *out)
{
    struct entitle_query named = *query;

    named.user = identity_of(rules, query, out);
    return judge_named(rules, &named, out);
}

/* ---- items ---- */

/* The line that decides; NULL: none fits. */
static const struct entitle_item *line_of(const struct entitle_rules *rules,
                                          const struct entitle_own_roles *own,
                                          const struct entitle_query *query, unsigned parts,
                                          uint8_t right, uint32_t *seen)
{
    struct entitle_view text[ENTITLE_PARTS_MAX] = { query->user, query->service, query->item };
    struct entitle_asked asked = {
        .text = text,
        .count = parts,
        .rights = right,
        .domain = query->domain,
    };
    uint32_t at = entitle_first_line(rules, &rules->by_item, own, text, &asked, seen);

    return at == ENTITLE_INDEX_NONE ? NULL : entitle_item_at(rules, at);
}

static enum entitle_verdict judge_name(const struct entitle_rules *rules,
                                       const struct entitle_own_roles *own,
                                       const struct entitle_query *query, uint8_t right,
                                       bool is_denied, const char *why, struct entitle_answer *out)
{
    const struct entitle_item *item = line_of(rules, own, query, 3, right, &out->rules_seen);

    out->line = item ? item->line.line : 0;
    entitle_say(query, right == ENTITLE_MAY_POST ? "post" : "name", out->line, "%s%s",
                item ? "" : "no line fits, the default is to ",
                (item ? item->allow : !is_denied) ? "allow" : "deny");
    if (item ? item->allow : !is_denied)
        return out->verdict;
    deny(out, why);
    if (item && item->text.length)
        snprintf(out->text, sizeof(out->text), "%.*s", (int)item->text.length, item->text.data);
    return out->verdict;
}

static enum entitle_verdict judge_item_name(const struct entitle_rules *rules,
                                            const struct entitle_own_roles *own,
                                            const struct entitle_query *query,
                                            struct entitle_answer *out)
{
    return judge_name(rules, own, query, query->is_private ? ENTITLE_MAY_PRIVATE : ENTITLE_MAY_VIEW,
                      rules->denies_items, "not entitled to this item", out);
}

/* Judges the permission data of an item, or of a post. */
static enum entitle_verdict judge_content(const struct entitle_rules *rules,
                                          const struct entitle_own_roles *own,
                                          const struct entitle_query *query,
                                          struct entitle_answer *out)
{
    const char *why = entitle_judge_content(rules, own, query, out);

    if (!why)
        return out->verdict;
    if (why != out->text)
        deny(out, why);
    return out->verdict = ENTITLE_DENY;
}

/* Its name, then what its data say: both must allow it. */
static enum entitle_verdict judge_item(const struct entitle_rules *rules,
                                       const struct entitle_own_roles *own,
                                       const struct entitle_query *query,
                                       struct entitle_answer *out)
{
    if (judge_item_name(rules, own, query, out) != ENTITLE_ALLOW || rules->contents.count == 0)
        return out->verdict;
    return judge_content(rules, own, query, out);
}

/* A post needs what a view of the item's name needs, too. */
static enum entitle_verdict judge_post(const struct entitle_rules *rules,
                                       const struct entitle_own_roles *own,
                                       const struct entitle_user *user,
                                       const struct entitle_query *query,
                                       struct entitle_answer *out)
{
    if (judge_item_name(rules, own, query, out) != ENTITLE_ALLOW ||
        judge_name(rules, own, query, ENTITLE_MAY_POST, rules->denies_posts,
                   "not entitled to post to this item", out) != ENTITLE_ALLOW)
        return out->verdict;
    if (rules->has_post_grants && query->permission_data.length &&
        judge_content(rules, own, query, out) != ENTITLE_ALLOW)
        return out->verdict;
    entitle_judge_post_rights(rules, user, query, out);
    return out->verdict;
}

static enum entitle_verdict judge_publish(const struct entitle_rules *rules,
                                          const struct entitle_own_roles *own,
                                          const struct entitle_query *query,
                                          struct entitle_answer *out)
{
    const struct entitle_item *item =
        line_of(rules, own, query, 2, ENTITLE_MAY_PUBLISH, &out->rules_seen);

    out->line = item ? item->line.line : 0;
    if (item && item->allow)
        return out->verdict;
    return deny(out, "not entitled to publish this service");
}

static enum entitle_verdict judge(const struct entitle_rules *rules,
                                  const struct entitle_query *query, struct entitle_answer *out)
{
    memset(out, 0, sizeof(*out));
    out->verdict = ENTITLE_ALLOW;
    out->may_post = true;
    if (!rules)
        return out->verdict;
    out->file = rules->path;
    if (query->kind == ENTITLE_LOGIN || query->kind == ENTITLE_AGAIN)
        return judge_login(rules, query, out);
    const struct entitle_user *user = rules->roles.count || rules->has_post_rights
                                          ? entitle_user_of(rules, query->user, &out->rules_seen)
                                          : NULL;
    struct entitle_own_roles own;

    entitle_roles_collect(rules, user, query->roles, &own);
    if (query->kind == ENTITLE_PUBLISH)
        return judge_publish(rules, &own, query, out);
    if (query->kind == ENTITLE_POST)
        return judge_post(rules, &own, user, query, out);
    if (judge_item(rules, &own, query, out) == ENTITLE_ALLOW)
        entitle_judge_fields(rules, &own, query, out);
    return out->verdict;
}

enum entitle_verdict entitle_rules_judge(const struct entitle_rules *rules,
                                         const struct entitle_query *query,
                                         struct entitle_answer *out)
{
    enum entitle_verdict verdict = judge(rules, query, out);

    if (rules && out->line)
        out->line = entitle_rules_place(rules, out->line, &out->file);
    return verdict;
}

bool entitle_rules_open_to_any(const struct entitle_rules *rules, enum entitle_kind kind)
{
    uint8_t right = kind == ENTITLE_PUBLISH ? ENTITLE_MAY_PUBLISH : ENTITLE_MAY_VIEW;

    if (kind == ENTITLE_LOGIN)
        return rules->users.count > 0;
    right |= (uint8_t)(right << ENTITLE_OF_ROLES);
    for (size_t i = 0; i < rules->items.count; i++) {
        if (entitle_item_at(rules, i)->allow && entitle_item_at(rules, i)->line.rights & right)
            return true;
    }
    return kind == ENTITLE_ITEM && !rules->denies_items;
}

bool entitle_rules_limits(const struct entitle_rules *rules, struct entitle_view name,
                          struct entitle_answer *out)
{
    const struct entitle_user *user = entitle_user_of(rules, name, &out->rules_seen);

    if (user)
        take_limits(&user->keys, out);
    return user != NULL;
}

bool entitle_rules_has_hashes(const struct entitle_rules *rules)
{
    return rules->decoy.data != NULL;
}

/* ---- the authority ---- */

static enum entitle_verdict ask_rules(void *self, const struct entitle_query *query,
                                      uint64_t ticket, struct entitle_answer *out)
{
    entitle_rules_slot *slot = self;
    const struct entitle_rules *rules = atomic_load_explicit(slot, memory_order_acquire);
    enum entitle_verdict verdict = entitle_rules_judge(rules, query, out);

    out->ticket = ticket;
    if (verdict == ENTITLE_PENDING)
        return deny(out, "user name or password refused"); /* nobody here can look */
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
