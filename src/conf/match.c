/* match.c - how well the name of an entry covers a path. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "db.h"

/*
 * Xrm precedence as one number. Each component of the path gets four bits, the leftmost the
 * highest, so that comparing two numbers compares the entries component by component from the
 * left, as the rules say:
 *
 *      0 skipped by '*'   2 '?'   4 other case, or an alias   6 class name   8 instance name
 *
 * plus one when the entry binds tightly there. Xrm has no "other case": there such an entry does
 * not match at all; here it ranks just under the exact class name.
 */
enum level {
    LEVEL_NONE = 0,
    LEVEL_ANY = 2,
    LEVEL_LIKE = 4,
    LEVEL_CLASS = 6,
    LEVEL_NAME = 8,
};

bool text_same(const char *a, size_t a_length, const char *b, size_t b_length)
{
    if (a_length != b_length)
        return false;
    for (size_t i = 0; i < a_length; i++)
        if (ascii_lower(a[i]) != ascii_lower(b[i]))
            return false;
    return true;
}

const char *path_alias(const char *text, size_t length)
{
    if (text_same(text, length, "ads", 3))
        return "p2ps";
    if (text_same(text, length, "adh", 3) || text_same(text, length, "mdh", 3))
        return "src_dist";
    return NULL;
}

bool path_split(struct path *path, const char *text)
{
    path->count = 0;
    for (;;) {
        bool loose = false;

        while (*text == '.' || *text == '*')
            loose |= *text++ == '*';
        if (!*text)
            return true;
        if (path->count == DB_COMPONENTS_MAX)
            return false;
        size_t length = strcspn(text, ".*");
        path->at[path->count].text = text;
        path->at[path->count].length = (uint16_t)length;
        path->at[path->count].loose = loose;
        path->count++;
        text += length;
    }
}

static enum level level_of(const struct path *name, int j, const struct path *instance,
                           const struct path *class_path, int i)
{
    const char *text = name->at[j].text;
    size_t length = name->at[j].length;
    const char *own = instance->at[i].text, *general = class_path->at[i].text;
    size_t own_length = instance->at[i].length, general_length = class_path->at[i].length;

    if (length == own_length && memcmp(text, own, length) == 0)
        return LEVEL_NAME;
    if (length == general_length && memcmp(text, general, length) == 0)
        return LEVEL_CLASS;
    if (length == 1 && *text == '?') /* any component but the parameter itself */
        return j + 1 < name->count ? LEVEL_ANY : LEVEL_NONE;
    if (text_same(text, length, own, own_length) ||
        text_same(text, length, general, general_length))
        return LEVEL_LIKE;
    const char *alias = path_alias(text, length);
    return alias && text_same(alias, strlen(alias), own, own_length) ? LEVEL_LIKE : LEVEL_NONE;
}

/*
 * reach[i] bit j: the entry from component j on can cover the path from component i on. From the
 * back, so the walk from the front in path_score() never enters a dead end: at each component it
 * takes the match if the rest can follow, because a match always ranks above a skip.
 */
static void find_reach(const struct path *name, const struct path *instance,
                       const struct path *class_path, uint32_t reach[DB_COMPONENTS_MAX + 1])
{
    reach[instance->count] = 1u << name->count;
    for (int i = instance->count - 1; i >= 0; i--) {
        reach[i] = 0;
        for (int j = 0; j < name->count; j++) {
            bool skip = name->at[j].loose && (reach[i + 1] >> j & 1);
            if (skip || ((reach[i + 1] >> (j + 1) & 1) &&
                         level_of(name, j, instance, class_path, i) != LEVEL_NONE))
                reach[i] |= 1u << j;
        }
    }
}

uint64_t path_score(const struct path *name, const struct path *instance,
                    const struct path *class_path)
{
    uint32_t reach[DB_COMPONENTS_MAX + 1];
    uint64_t score = 0;
    int j = 0;

    if (name->count == 0 || name->count > instance->count)
        return 0;
    /* Most entries of a chain are about another object: see that before the table is made. */
    if (!name->at[0].loose && level_of(name, 0, instance, class_path, 0) == LEVEL_NONE)
        return 0;
    find_reach(name, instance, class_path, reach);
    if (!(reach[0] & 1))
        return 0;
    for (int i = 0; i < instance->count; i++) {
        unsigned nibble = 0;

        if (reach[i + 1] >> (j + 1) & 1) {
            enum level level = level_of(name, j, instance, class_path, i);
            if (level != LEVEL_NONE) {
                nibble = (unsigned)level + !name->at[j].loose;
                j++;
            }
        }
        score = score << 4 | nibble;
    }
    return score << 4 * (DB_COMPONENTS_MAX - instance->count);
}
