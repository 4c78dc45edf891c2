/* review.c - lines of an access file that may not do what their writer thinks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

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
