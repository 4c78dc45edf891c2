/* session.c - see session.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "trail.h"

/* Both texts stand behind each other: the roles, a zero, the session, a zero. */

const char *p2ps_session_name(const struct p2ps_client *c)
{
    return c->roles ? c->roles + strlen(c->roles) + 1 : "";
}

void p2ps_session_forget(struct p2ps_client *c)
{
    free(c->roles);
    c->roles = NULL;
}

void p2ps_session_unused(struct p2ps_core *core, const char *session, const char *why)
{
    const struct entitle_authority *authority = &core->config.authority;

    if (session && session[0] && authority->ended)
        authority->ended(authority->self, entitle_text(session), why);
}

bool p2ps_session_give(struct p2ps_core *core, uint32_t client, const char *roles,
                       const char *session)
{
    struct p2ps_client *c = &core->clients[client];
    const char *had = p2ps_session_name(c);
    const char *now = session ? session : had;
    bool has_others = strcmp(c->roles ? c->roles : "", roles ? roles : "") != 0;
    size_t length = roles ? strlen(roles) : 0;
    char *copy = NULL;

    if (!has_others && strcmp(had, now) == 0)
        return false;
    if (length || now[0]) {
        copy = malloc(length + strlen(now) + 2);
        if (copy) {
            memcpy(copy, length ? roles : "", length + 1);
            memcpy(copy + length + 1, now, strlen(now) + 1);
        } else {
            p2ps_client_doom_unknown(core, client); /* the rules may deny a role something */
            p2ps_session_unused(core, now, "no memory");
        }
    }
    if (strcmp(had, now) != 0)
        p2ps_session_unused(core, had, "another session took its place");
    p2ps_session_forget(c);
    c->roles = copy;
    return has_others;
}

void p2ps_session_end(struct p2ps_core *core, uint32_t client, uint8_t code, const char *why)
{
    struct p2ps_client *c = &core->clients[client];

    p2ps_trail_login(core, client, ENTITLE_RECORD_LOGOUT, code, why);
    p2ps_session_unused(core, p2ps_session_name(c), why);
    if (c->roles)
        c->roles[strlen(c->roles) + 1] = 0; /* once */
}
