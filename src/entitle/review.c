/* review.c - lines of an access file that may not do what their writer thinks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "entitle/lock.h"
#include "rules.h"

struct review {
    const struct entitle_rules *rules;
    entitle_diag_fn diag;
    void *closure;
};

static bool has_wildcard(struct entitle_view pattern, char wildcard)
{
    return memchr(pattern.data, wildcard, pattern.length) != NULL;
}

/* All that `inner` fits `outer` fits, too. A `?` of it could stand for a `*` of the other here, but
 * not in a name: such pairs are left out. */
static bool covers(struct entitle_view outer, struct entitle_view inner)
{
    return entitle_fits(outer, inner) && !(has_wildcard(outer, '?') && has_wildcard(inner, '*'));
}

static bool covers_line(const struct entitle_line *outer, const struct entitle_line *inner,
                        unsigned from)
{
    for (unsigned i = from; i < ENTITLE_PARTS_MAX; i++) {
        if (!covers(outer->parts[i], inner->parts[i]))
            return false;
    }
    return outer->domains == 0 || outer->domains == inner->domains;
}

/* The line that decides all that this one could, for one right of it; NULL: it is needed. */
static const struct entitle_line *decider(const struct entitle_index *index,
                                          const struct entitle_line *line, uint8_t right)
{
    static const struct entitle_view everybody = { "*", 1 };
    uint8_t plain = right > ENTITLE_MAY_PRIVATE ? (uint8_t)(right >> ENTITLE_OF_ROLES) : right;
    struct entitle_view text[ENTITLE_PARTS_MAX];
    struct entitle_asked asked = { .text = text, .count = ENTITLE_PARTS_MAX, .rights = right };
    uint32_t seen = 0;

    memcpy(text, line->parts, sizeof(text));
    const struct entitle_line *found =
        entitle_index_line(index, entitle_index_find(index, &asked, &seen));
    if (found && found < line && covers_line(found, line, 0))
        return found;
    text[0] = everybody; /* of a role: a line about everybody stands before it */
    asked.rights = plain;
    found = entitle_index_line(index, entitle_index_find(index, &asked, &seen));
    if (!found || found >= line || !entitle_is(found->parts[0], "*"))
        return NULL;
    return covers_line(found, line, 1) ? found : NULL;
}

static void look_at_line(const struct review *review, const struct entitle_index *index,
                         const struct entitle_line *line)
{
    const struct entitle_line *before = NULL;
    char text[320], name[200];

    for (unsigned bit = 0; bit < 8; bit++) {
        if (!(line->rights >> bit & 1))
            continue;
        before = decider(index, line, (uint8_t)(1u << bit));
        if (!before)
            return;
    }
    if (!before)
        return;
    entitle_line_name(review->rules, line->line, before->line, name, sizeof(name));
    snprintf(text, sizeof(text), "this line decides nothing: %s comes first and fits all of it",
             name);
    review->diag(review->closure, (int)line->line, text);
}

static void look_at_fields(const struct review *review, const struct entitle_fields *fields)
{
    char text[80];

    look_at_line(review, &review->rules->by_fields, &fields->line);
    if (!fields->has_twice)
        return;
    snprintf(text, sizeof(text), "fields: %d is named twice", fields->twice);
    review->diag(review->closure, (int)fields->line.line, text);
}

static void look_at_user(const struct review *review, const struct entitle_user *user)
{
    const struct entitle_asked asked = { .text = user->line.parts,
                                         .count = 1,
                                         .rights = ENTITLE_MAY_LOGIN };
    uint32_t seen = 0;
    uint32_t at = entitle_index_find(&review->rules->by_user, &asked, &seen);
    const struct entitle_user *first =
        at == ENTITLE_INDEX_NONE ? user : entitle_user_at(&review->rules->users, at);
    char text[400], line[200];

    if (first >= user || !covers(first->line.parts[0], user->line.parts[0]))
        return;
    entitle_line_name(review->rules, user->line.line, first->line.line, line, sizeof(line));
    snprintf(text, sizeof(text), "user %.*s: nobody comes to this line: %s fits first",
             ENTITLE_SHOWN(user->line.parts[0]), line);
    review->diag(review->closure, (int)user->line.line, text);
}

/* Before posts were asked about, such a line let them pass. */
static void look_at_denial(const struct review *review, const struct entitle_item *item)
{
    uint8_t rights = item->line.rights | item->line.rights >> ENTITLE_OF_ROLES;

    if (!review->rules->has_posts_default && !item->allow && rights & ENTITLE_MAY_POST &&
        rights & ENTITLE_MAY_VIEW)
        review->diag(review->closure, (int)item->line.line,
                     "this line denies posts, too; do=view,private denies only to see");
}

/* Roles of his may come with his login: from a signed token, or from an authority outside. */
static bool may_get_roles(const struct entitle_rules *rules, const struct entitle_user *user)
{
    const struct entitle_keys *keys = &user->keys;

    if (keys->auth)
        return keys->auth >> ENTITLE_BY_AUTHORITY & 1 || keys->auth >> ENTITLE_BY_JWT & 1;
    return entitle_rules_has_claims(rules) && !keys->password.data && !keys->hash.data &&
           !keys->token.data && !keys->tokenhash.data && !keys->cert.data;
}

/* Those who can see and post nothing, as no line is about them. */
static void look_at_lonely(const struct review *review, const struct entitle_index *subjects)
{
    const struct entitle_rules *rules = review->rules;
    char text[200];

    for (size_t i = 0; i < rules->users.count; i++) {
        const struct entitle_user *user = entitle_user_at(&rules->users, i);
        const struct entitle_asked asked = { .text = user->line.parts,
                                             .count = 1,
                                             .rights = ENTITLE_MAY_LOGIN };
        struct entitle_view name = user->line.parts[0];
        uint32_t seen = 0;

        if (user->role_count || has_wildcard(name, '*') || has_wildcard(name, '?') ||
            may_get_roles(rules, user) ||
            entitle_index_find(subjects, &asked, &seen) != ENTITLE_INDEX_NONE)
            continue;
        snprintf(text, sizeof(text),
                 "user %.*s: he has no role, and no allow line is about him: nothing is allowed",
                 ENTITLE_SHOWN(name));
        review->diag(review->closure, (int)user->line.line, text);
    }
}

static void look_for_lonely(const struct review *review)
{
    const struct entitle_rules *rules = review->rules;
    struct entitle_array subjects = { .count = 0 };
    struct entitle_index index = { 0 };
    bool is_whole = true;

    for (size_t i = 0; i < rules->items.count && is_whole; i++) {
        const struct entitle_item *item = entitle_item_at(rules, i);
        if (!item->allow || !(item->line.rights & ((1u << ENTITLE_OF_ROLES) - 1u)))
            continue;
        struct entitle_user *subject = entitle_grow(&subjects, sizeof(*subject));
        is_whole = subject != NULL;
        if (subject) {
            subject->line.parts[0] = item->line.parts[0];
            subject->line.rights = ENTITLE_MAY_LOGIN;
        }
    }
    if (is_whole && entitle_index_create(&index, subjects.at, subjects.count,
                                         sizeof(struct entitle_user), 1) == MD_OK)
        look_at_lonely(review, &index);
    entitle_index_fini(&index);
    free(subjects.at);
}

/* Once for all of them: a file has many, or none. */
static void look_for_secrets(const struct review *review)
{
    const struct entitle_user *first = NULL;
    unsigned count = 0;
    char text[200];

    for (size_t i = 0; i < review->rules->users.count; i++) {
        const struct entitle_user *user = entitle_user_at(&review->rules->users, i);
        if (!user->keys.password.data && !user->keys.token.data)
            continue;
        first = first ? first : user;
        count++;
    }
    if (!first)
        return;
    snprintf(text, sizeof(text),
             "%u user line%s a secret in clear; make hash= and tokenhash= with: rmdsaccess hash, "
             "rmdsaccess tokenhash",
             count, count == 1 ? " has" : "s have");
    review->diag(review->closure, (int)first->line.line, text);
}

static bool is_in_pe_line(const struct entitle_rules *rules, uint16_t set,
                          const struct entitle_range *range)
{
    const struct entitle_pe *pes = rules->pes.at;
    size_t low = 0, high = rules->pes.count;

    while (low < high) { /* the first that ends at the range's beginning or behind it */
        size_t middle = low + (high - low) / 2;

        if (pes[middle].set < set ||
            (pes[middle].set == set && pes[middle].range.high < range->low))
            low = middle + 1;
        else
            high = middle;
    }
    return low < rules->pes.count && pes[low].set == set && pes[low].range.low <= range->high;
}

/* The names in the pe lines of one set. */
struct known {
    struct md_table *table;
    bool is_whole;
};

static bool know(void *self, struct entitle_view name)
{
    struct known *known = self;
    int err = md_table_put(known->table, name.data, name.length, known);

    known->is_whole &= err == MD_OK || err == MD_ERR_EXISTS;
    return true;
}

static void know_all(struct known *known, const struct entitle_rules *rules, uint16_t set)
{
    const struct entitle_pe *pes = rules->pes.at;
    size_t wrong;
    bool value;

    known->is_whole = md_table_create(1024, &known->table) == MD_OK;
    for (size_t i = 0; i < rules->pes.count && known->is_whole; i++) {
        if (pes[i].set == set)
            (void)entitle_expression(pes[i].text, know, known, &value, &wrong);
    }
}

static void look_at_names(const struct review *review, const struct entitle_grant *grant,
                          const struct known *known)
{
    struct entitle_view list = grant->names, one;
    char text[300];

    while (entitle_next(&list, &one)) {
        if (!entitle_is_name(one) || md_table_get(known->table, one.data, one.length))
            continue;
        snprintf(text, sizeof(text), "grant: %.*s is in no pe line of %.*s", ENTITLE_SHOWN(one),
                 ENTITLE_SHOWN(grant->line.parts[1]));
        review->diag(review->closure, (int)grant->line.line, text);
    }
}

static void look_at_codes(const struct review *review, const struct entitle_grant *grant,
                          uint16_t set)
{
    const struct entitle_range *ranges = review->rules->ranges.at;
    char text[200], code[32];

    for (uint32_t i = 0; i < grant->range_count; i++) {
        const struct entitle_range *range = &ranges[grant->ranges_at + i];

        if (is_in_pe_line(review->rules, set, range))
            continue;
        snprintf(code, sizeof(code), range->low == range->high ? "%u" : "%u-%u", range->low,
                 range->high);
        snprintf(text, sizeof(text), "grant: %s is in no pe line of %.*s", code,
                 ENTITLE_SHOWN(grant->line.parts[1]));
        review->diag(review->closure, (int)grant->line.line, text);
    }
}

/* A set without a pe line has codes that are granted by number. */
static void look_at_grants(const struct review *review)
{
    const struct entitle_rules *rules = review->rules;
    const struct entitle_set *sets = rules->sets.at;

    for (size_t i = 0; i < rules->sets.count; i++) {
        struct known known = { .table = NULL };
        uint16_t set = (uint16_t)(i + 1);
        bool has_line = is_in_pe_line(rules, set, &(struct entitle_range){ 0, UINT32_MAX });

        know_all(&known, rules, set);
        for (size_t k = 0; k < rules->grants.count; k++) {
            const struct entitle_grant *grant = (const struct entitle_grant *)rules->grants.at + k;

            if (!entitle_same(grant->line.parts[1], sets[i].name))
                continue;
            if (known.is_whole)
                look_at_names(review, grant, &known);
            if (has_line)
                look_at_codes(review, grant, set);
        }
        md_table_destroy(known.table);
    }
}

void entitle_rules_review(const struct entitle_rules *rules, entitle_diag_fn diag, void *closure)
{
    const struct review review = { .rules = rules, .diag = diag, .closure = closure };

    if (!rules->has_items_default)
        diag(closure, 0,
             "there is no \"default items\" line: an item that no line fits is allowed to all");
    if (!rules->has_posts_default)
        diag(closure, 0,
             "there is no \"default posts\" line: a post that no line fits is allowed to all");
    for (size_t i = 0; i < rules->users.count; i++)
        look_at_user(&review, entitle_user_at(&rules->users, i));
    for (size_t i = 0; i < rules->items.count; i++) {
        look_at_line(&review, &rules->by_item, &entitle_item_at(rules, i)->line);
        look_at_denial(&review, entitle_item_at(rules, i));
    }
    for (size_t i = 0; i < rules->fields.count; i++)
        look_at_fields(&review, entitle_fields_at(rules, i));
    look_at_grants(&review);
    if (rules->denies_items && rules->denies_posts)
        look_for_lonely(&review);
    look_for_secrets(&review);
}

/* The role has a line of its own in the report. */
static bool is_of_role(const struct entitle_rules *rules, const struct entitle_user *user)
{
    const uint32_t *numbers = rules->numbers.at;

    for (uint32_t i = 0; i < user->role_count; i++) {
        const struct entitle_user *role =
            entitle_user_at(&rules->roles, numbers[user->roles_at + i]);
        if (role->keys.expires_s == user->keys.expires_s)
            return true;
    }
    return false;
}

void entitle_rules_review_times(const struct entitle_rules *rules, uint64_t now_s,
                                entitle_diag_fn diag, void *closure)
{
    const struct entitle_array *const lists[] = { &rules->users, &rules->roles };
    char time[ENTITLE_TIME_MAX], text[200];

    for (int role = 0; role < 2; role++) {
        for (size_t i = 0; i < lists[role]->count; i++) {
            const struct entitle_user *one = entitle_user_at(lists[role], i);
            uint64_t expires_s = one->keys.expires_s;

            if (expires_s == 0 || expires_s > now_s || is_of_role(rules, one))
                continue;
            entitle_time_write(expires_s, time);
            snprintf(text, sizeof(text), "%s %.*s expired at %s: it lets nobody in",
                     role ? "role" : "user", ENTITLE_SHOWN(one->line.parts[0]), time);
            diag(closure, (int)one->line.line, text);
        }
    }
}

void entitle_rules_users(const struct entitle_rules *rules,
                         void (*user)(void *self, struct entitle_view name, bool is_pattern),
                         void *self)
{
    for (size_t i = 0; i < rules->users.count; i++) {
        struct entitle_view name = entitle_user_at(&rules->users, i)->line.parts[0];

        user(self, name, has_wildcard(name, '*') || has_wildcard(name, '?'));
    }
}
