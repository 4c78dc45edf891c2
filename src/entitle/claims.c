/* claims.c - the roles that a signed token gives. See entitle/entitle.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "rules.h"

/* Up to the next zero, which `rest` then begins behind. */
static struct entitle_view text(struct entitle_view *rest)
{
    size_t length = strnlen(rest->data, rest->length);
    struct entitle_view one = { rest->data, length };

    rest->data += length < rest->length ? length + 1 : length;
    rest->length -= length < rest->length ? length + 1 : length;
    return one;
}

static bool has_claim(struct entitle_view claims, struct entitle_view wanted)
{
    while (claims.length > 0) {
        struct entitle_view name = text(&claims);
        struct entitle_view value = text(&claims);

        if (wanted.length == name.length + 1 + value.length && name.length > 0 &&
            memcmp(wanted.data, name.data, name.length) == 0 && wanted.data[name.length] == ':' &&
            memcmp(wanted.data + name.length + 1, value.data, value.length) == 0)
            return true;
    }
    return false;
}

bool entitle_rules_claimed_roles(const struct entitle_rules *rules, struct entitle_view claims,
                                 char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; rules && i < rules->roles.count; i++) {
        const struct entitle_user *role = entitle_user_at(&rules->roles, i);
        struct entitle_view name = role->line.parts[0];

        if (!role->keys.claim.data || !has_claim(claims, role->keys.claim))
            continue;
        if (used + name.length + 2 > size)
            return false;
        if (used > 0)
            out[used++] = ',';
        memcpy(out + used, name.data, name.length);
        used += name.length;
        out[used] = '\0';
    }
    return true;
}

bool entitle_rules_has_claims(const struct entitle_rules *rules)
{
    for (size_t i = 0; rules && i < rules->roles.count; i++) {
        if (entitle_user_at(&rules->roles, i)->keys.claim.data)
            return true;
    }
    return false;
}
