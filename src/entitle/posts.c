/* posts.c - what a post may do besides: its rights, and codes to post by. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "rules.h"

static const struct {
    const char *name;
    uint8_t right;
} rights[] = {
    { "none", 0 },
    { "create", ENTITLE_POST_CREATE },
    { "delete", ENTITLE_POST_DELETE },
    { "perm", ENTITLE_POST_PERM },
};
#define RIGHTS (sizeof(rights) / sizeof(rights[0]))

bool entitle_read_post_rights(struct entitle_view list, uint8_t *out)
{
    struct entitle_view one;

    *out = 0;
    while (entitle_next(&list, &one)) {
        size_t i = 0;

        while (i < RIGHTS && !entitle_is(one, rights[i].name))
            i++;
        if (i == RIGHTS)
            return false;
        *out |= rights[i].right;
    }
    return true;
}

void entitle_parse_grant_do(struct entitle_parse *parse, struct entitle_grant *grant,
                            struct entitle_view word)
{
    struct entitle_view list = entitle_value(word, "do"), one;

    grant->line.rights = 0;
    while (list.data && entitle_next(&list, &one)) {
        if (!entitle_is(one, "view") && !entitle_is(one, "post")) {
            grant->line.rights = 0;
            break;
        }
        grant->line.rights |= entitle_is(one, "view") ? ENTITLE_MAY_VIEW : ENTITLE_MAY_POST;
    }
    if (grant->line.rights == 0)
        entitle_complain(parse, "grant: do=view, do=post or do=view,post is expected behind the "
                                "names");
    parse->rules->has_post_grants |= (grant->line.rights & ENTITLE_MAY_POST) != 0;
}

void entitle_judge_post_rights(const struct entitle_rules *rules, const struct entitle_user *user,
                               const struct entitle_query *query, struct entitle_answer *out)
{
    uint8_t held = user ? user->keys.post_rights : 0;
    char text[32] = "";
    int used = 0;

    if (!rules->has_post_rights)
        return; /* an old file: all of them, as it ever was */
    out->post_denied = (uint8_t)(ENTITLE_POST_ALL & ~held);
    for (size_t i = 1; i < RIGHTS; i++) {
        if (held & rights[i].right)
            used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s", used ? "," : "",
                             rights[i].name);
    }
    entitle_say(query, "rights", user ? user->line.line : 0, "%s", used ? text : "none");
}
