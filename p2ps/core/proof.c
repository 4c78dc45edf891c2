/* proof.c - what a login has proved, and until when that holds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "proof.h"

/* The certificate was needed, alone or beside a password or a token: without it there would be no
 * login, so there is none for longer. */
static bool is_certified(const struct p2ps_core *core, const struct entitle_answer *answer)
{
    return answer->is_certified || answer->by == ENTITLE_BY_CERT ||
           core->config.certificate_policy != P2PS_CERTIFICATE_IGNORE;
}

void p2ps_proof_renew(struct p2ps_core *core, uint32_t client, const struct entitle_answer *answer)
{
    struct p2ps_client *c = &core->clients[client];
    uint64_t ends_s;
    bool has_certificate = p2ps_client_certificate(c, &ends_s)[0] != '\0';

    c->expires_s = answer->expires_s;
    c->reissue_s = answer->reissue_s;
    c->ends_with_certificate = has_certificate && ends_s && is_certified(core, answer) &&
                               (c->expires_s == 0 || ends_s < c->expires_s);
    if (c->ends_with_certificate)
        c->expires_s = ends_s;
}

void p2ps_proof_take(struct p2ps_core *core, uint32_t client, const struct entitle_answer *answer)
{
    core->clients[client].proved_by = (uint8_t)answer->by;
    p2ps_proof_renew(core, client, answer);
    p2ps_client_shown_set(core, client, answer->shown);
}

/* Behind the address of a client there is a blank and its version of TLS, or nothing. */
bool p2ps_proof_is_plain(const struct p2ps_client *c)
{
    return strchr(c->address, ' ') == NULL;
}

void p2ps_proof_show(const struct p2ps_core *core, const struct p2ps_client *c,
                     struct entitle_query *query)
{
    uint64_t ends_s;

    query->certificate = entitle_text(p2ps_client_certificate(c, &ends_s));
    query->serial = entitle_text(p2ps_client_serial(c));
    query->needs_certificate = core->config.certificate_policy != P2PS_CERTIFICATE_IGNORE;
    query->is_plain = p2ps_proof_is_plain(c);
    query->shown = query->kind == ENTITLE_AGAIN ? c->shown : NULL;
    query->now_s = core->config.wall_s ? core->config.wall_s() : 0;
}

static bool ends_with_user(const struct p2ps_client *c)
{
    return c->user_ends_s && (c->expires_s == 0 || c->user_ends_s < c->expires_s);
}

bool p2ps_proof_has_ended(const struct p2ps_core *core, const struct p2ps_client *c)
{
    uint64_t ends_s = ends_with_user(c) ? c->user_ends_s : c->expires_s;

    return ends_s && core->wall_s >= ends_s;
}

void p2ps_proof_expired_text(const struct p2ps_client *c, char *text, size_t size)
{
    bool is_user = ends_with_user(c);
    unsigned second = (unsigned)((is_user ? c->user_ends_s : c->expires_s) % 86400);

    snprintf(text, size, "the %s expired at %02u:%02u:%02uZ%s",
             is_user                    ? "user"
             : c->ends_with_certificate ? "certificate"
             : c->has_token             ? "token"
                                        : "login",
             second / 3600, second / 60 % 60, second % 60, is_user ? "" : "; log in again");
}
