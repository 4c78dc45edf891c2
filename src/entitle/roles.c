/* roles.c - roles contain roles, users have them, lines are about them. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "rules.h"

static uint32_t find(const struct entitle_rules *rules, struct entitle_view name)
{
    const struct entitle_view text[ENTITLE_PARTS_MAX] = { name };
    uint32_t seen = 0;

    return entitle_index_find(
        &rules->by_role,
        &(struct entitle_asked){ .text = text, .count = 1, .rights = ENTITLE_MAY_LOGIN }, &seen);
}

static void unknown_role(struct entitle_parse *parse, const char *kind,
                         const struct entitle_user *user, struct entitle_view name)
{
    const struct entitle_array *roles = &parse->rules->roles;
    char near[32] = "";

    for (size_t i = 0; i < roles->count && !near[0]; i++) {
        char known[32];
        const char *names[] = { known };

        snprintf(known, sizeof(known), "%.*s",
                 ENTITLE_SHOWN(entitle_user_at(roles, i)->line.parts[0]));
        if (entitle_near(name, names, 1))
            memcpy(near, known, sizeof(near));
    }
    entitle_complain(parse, "%s %.*s: role \"%.*s\" is not defined%s%s%s", kind,
                     ENTITLE_SHOWN(user->line.parts[0]), ENTITLE_SHOWN(name),
                     near[0] ? "; did you mean " : "", near, near[0] ? "?" : "");
}

/* Roles in the order in which they count: the first named, what it contains, the next. */
struct flat {
    uint32_t roles[ENTITLE_ROLES_MAX];
    uint32_t count;
    uint32_t path[ENTITLE_ROLES_MAX + 1]; /* those that are being looked into */
    uint32_t depth;
};

static bool has(const uint32_t *numbers, uint32_t count, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == number)
            return true;
    }
    return false;
}

static void tell_circle(struct entitle_parse *parse, const struct flat *flat, uint32_t again)
{
    char way[200] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < flat->depth && used < sizeof(way) - 60; i++) {
        const struct entitle_user *role = entitle_user_at(&parse->rules->roles, flat->path[i]);
        used +=
            (size_t)snprintf(way + used, sizeof(way) - used, "%.*s -> ",
                             role->line.parts[0].length < 40 ? (int)role->line.parts[0].length : 40,
                             role->line.parts[0].data);
    }
    entitle_complain(parse, "roles contain each other: %s%.*s", way,
                     ENTITLE_SHOWN(entitle_user_at(&parse->rules->roles, again)->line.parts[0]));
}

/* False: a mistake was told. */
static bool flatten(struct entitle_parse *parse, struct flat *flat, const char *kind,
                    const struct entitle_user *user)
{
    struct entitle_view list = user->keys.roles, name;

    while (entitle_next(&list, &name)) {
        uint32_t role = find(parse->rules, name);

        if (role == ENTITLE_INDEX_NONE) {
            unknown_role(parse, kind, user, name);
            return false;
        }
        if (has(flat->path, flat->depth, role)) {
            tell_circle(parse, flat, role);
            return false;
        }
        if (has(flat->roles, flat->count, role))
            continue;
        if (flat->count == ENTITLE_ROLES_MAX) {
            entitle_complain(parse, "%s %.*s: more than %d roles, with those that they contain",
                             kind, ENTITLE_SHOWN(user->line.parts[0]), ENTITLE_ROLES_MAX);
            return false;
        }
        flat->roles[flat->count++] = role;
        flat->path[flat->depth++] = role;
        if (!flatten(parse, flat, "role", entitle_user_at(&parse->rules->roles, role)))
            return false;
        flat->depth--;
    }
    return true;
}

/* A user has the keys of its roles, too. */
static int keep(struct entitle_rules *rules, const struct flat *flat, struct entitle_user *user,
                bool is_user)
{
    user->roles_at = (uint32_t)rules->numbers.count;
    user->role_count = flat->count;
    for (uint32_t i = 0; i < flat->count; i++) {
        uint32_t *number = entitle_grow(&rules->numbers, sizeof(*number));

        if (!number)
            return MD_ERR_NOMEM;
        *number = flat->roles[i];
        if (is_user)
            entitle_inherit_keys(&user->keys, &entitle_user_at(&rules->roles, *number)->keys);
    }
    return MD_OK;
}

static int resolve_all(struct entitle_parse *parse, struct entitle_array *array, const char *kind)
{
    for (size_t i = 0; i < array->count; i++) {
        struct entitle_user *user = entitle_user_at(array, i);
        struct flat flat = { .count = 0 };

        if (!user->keys.roles.data)
            continue;
        parse->line = (int)user->line.line;
        if (array == &parse->rules->roles)
            flat.path[flat.depth++] = (uint32_t)i;
        if (flatten(parse, &flat, kind, user) &&
            keep(parse->rules, &flat, user, array == &parse->rules->users) != MD_OK)
            return MD_ERR_NOMEM;
    }
    return MD_OK;
}

/* "@rates" is about a role if there is one of this name, else about users, as it ever was. */
static void mark_line(const struct entitle_rules *rules, struct entitle_line *line)
{
    struct entitle_view name = line->parts[0];

    if (name.length < 2 || name.data[0] != '@')
        return;
    name.data++;
    name.length--;
    if (find(rules, name) == ENTITLE_INDEX_NONE)
        return;
    line->parts[0] = name;
    line->rights = (uint8_t)(line->rights << ENTITLE_OF_ROLES);
}

static void mark_lines(struct entitle_rules *rules)
{
    for (size_t i = 0; i < rules->items.count; i++)
        mark_line(rules, &entitle_item_at(rules, i)->line);
    for (size_t i = 0; i < rules->grants.count; i++)
        mark_line(rules, &((struct entitle_grant *)rules->grants.at + i)->line);
    for (size_t i = 0; i < rules->fields.count; i++)
        mark_line(rules, &entitle_fields_at(rules, i)->line);
}

static void look_for_twins(struct entitle_parse *parse)
{
    const struct entitle_rules *rules = parse->rules;
    char line[200];

    for (size_t i = 0; i < rules->roles.count; i++) {
        const struct entitle_user *role = entitle_user_at(&rules->roles, i);
        uint32_t first = find(rules, role->line.parts[0]);

        parse->line = (int)role->line.line;
        if (first >= i)
            continue;
        entitle_line_name(rules, role->line.line, entitle_user_at(&rules->roles, first)->line.line,
                          line, sizeof(line));
        entitle_complain(parse, "role %.*s was defined at %s", ENTITLE_SHOWN(role->line.parts[0]),
                         line);
    }
}

static void add_role(struct entitle_own_roles *own, uint32_t role)
{
    if (has(own->room, own->count, role))
        return;
    if (own->count == ENTITLE_ROLES_MAX)
        own->is_cut = true;
    else
        own->room[own->count++] = role;
}

static void add_roles(const struct entitle_rules *rules, const struct entitle_user *user,
                      struct entitle_own_roles *own)
{
    for (uint32_t i = 0; i < user->role_count; i++)
        add_role(own, ((const uint32_t *)rules->numbers.at)[user->roles_at + i]);
}

void entitle_roles_collect(const struct entitle_rules *rules, const struct entitle_user *user,
                           struct entitle_view session, struct entitle_own_roles *own)
{
    struct entitle_view name;

    own->is_cut = false;
    own->count = user ? user->role_count : 0;
    own->at = own->count ? (const uint32_t *)rules->numbers.at + user->roles_at : own->room;
    session = entitle_given_roles(session);
    if (session.length == 0 || rules->roles.count == 0)
        return;
    own->at = own->room;
    own->count = 0;
    if (user)
        add_roles(rules, user, own);
    while (entitle_next(&session, &name)) {
        uint32_t role = find(rules, name);

        if (role == ENTITLE_INDEX_NONE)
            continue;
        add_role(own, role);
        add_roles(rules, entitle_user_at(&rules->roles, role), own);
    }
}

uint32_t entitle_first_line(const struct entitle_rules *rules, const struct entitle_index *index,
                            const struct entitle_own_roles *own, struct entitle_view text[],
                            struct entitle_asked *asked, uint32_t *seen)
{
    struct entitle_view names[ENTITLE_ROLES_MAX];

    for (uint32_t i = 0; i < own->count; i++)
        names[i] = entitle_user_at(&rules->roles, own->at[i])->line.parts[0];
    return entitle_index_find_any(index, asked, text, names, own->count,
                                  (uint8_t)(asked->rights << ENTITLE_OF_ROLES), seen);
}

bool entitle_has_role(const struct entitle_rules *rules, struct entitle_view name)
{
    return rules->roles.count && find(rules, name) != ENTITLE_INDEX_NONE;
}

int entitle_resolve_roles(struct entitle_parse *parse)
{
    struct entitle_rules *rules = parse->rules;
    int err = entitle_index_create(&rules->by_role, rules->roles.at, rules->roles.count,
                                   sizeof(struct entitle_user), 1);

    if (err != MD_OK)
        return err;
    look_for_twins(parse);
    err = resolve_all(parse, &rules->roles, "role");
    if (err == MD_OK && parse->mistakes == 0)
        err = resolve_all(parse, &rules->users, "user");
    mark_lines(rules);
    return err;
}
