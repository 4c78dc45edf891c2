/* list.c - the lines of an access file that are about a user. See entitle/entitle.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

struct listing {
    const struct entitle_rules *rules;
    struct entitle_view name;
    const struct entitle_user *user;
    struct entitle_own_roles own;
    void (*line)(void *self, uint32_t line);
    void *self;
};

static bool is_role_of(const struct listing *list, struct entitle_view name)
{
    for (uint32_t i = 0; i < list->own.count; i++) {
        if (entitle_same(entitle_user_at(&list->rules->roles, list->own.at[i])->line.parts[0],
                         name))
            return true;
    }
    return false;
}

static void look(const struct listing *list, const struct entitle_line *line)
{
    bool is_of_users = line->rights & ((1u << ENTITLE_OF_ROLES) - 1u);

    if (is_of_users ? entitle_fits(line->parts[0], list->name) : is_role_of(list, line->parts[0]))
        list->line(list->self, line->line);
}

bool entitle_rules_denies(const struct entitle_rules *rules, enum entitle_kind kind)
{
    return kind == ENTITLE_POST ? rules->denies_posts : rules->denies_items;
}

bool entitle_rules_about(const struct entitle_rules *rules, struct entitle_view name,
                         void (*line)(void *self, uint32_t line), void *self)
{
    struct listing list = { .rules = rules, .name = name, .line = line, .self = self };
    const struct entitle_grant *grants = rules->grants.at;
    uint32_t seen = 0;

    list.user = entitle_user_of(rules, name, &seen);
    entitle_roles_collect(rules, list.user, (struct entitle_view){ "", 0 }, &list.own);
    if (list.user)
        line(self, list.user->line.line);
    for (uint32_t i = 0; i < list.own.count; i++)
        line(self, entitle_user_at(&rules->roles, list.own.at[i])->line.line);
    for (size_t i = 0; i < rules->grants.count; i++)
        look(&list, &grants[i].line);
    for (size_t i = 0; i < rules->items.count; i++)
        look(&list, &entitle_item_at(rules, i)->line);
    for (size_t i = 0; i < rules->fields.count; i++)
        look(&list, &entitle_fields_at(rules, i)->line);
    for (size_t i = 0; i < rules->recalls.count; i++)
        look(&list, &((const struct entitle_recall *)rules->recalls.at + i)->line);
    return list.user != NULL;
}
