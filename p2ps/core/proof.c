/* proof.c - what a login has proved, and until when that holds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "client.h"
#include "proof.h"

/* The certificate was needed, alone or beside a password or a token: without it there would be no
 * login, so there is none for longer. */
static bool is_certified(const struct p2ps_core *core, const struct entitle_answer *answer)
{
    return answer->is_certified || answer->by == ENTITLE_BY_CERT ||
           core->config.certificate_policy != P2PS_CERTIFICATE_IGNORE;
}

void p2ps_proof_take(const struct p2ps_core *core, struct p2ps_client *c,
                     const struct entitle_answer *answer)
{
    uint64_t ends_s;
    bool has_certificate = p2ps_client_certificate(c, &ends_s)[0] != '\0';

    c->proved_by = (uint8_t)answer->by;
    c->expires_s = answer->expires_s;
    c->reissue_s = answer->reissue_s;
    c->ends_with_certificate = has_certificate && ends_s && is_certified(core, answer) &&
                               (c->expires_s == 0 || ends_s < c->expires_s);
    if (c->ends_with_certificate)
        c->expires_s = ends_s;
}

void p2ps_proof_expired_text(const struct p2ps_client *c, char *text, size_t size)
{
    unsigned second = (unsigned)(c->expires_s % 86400);

    snprintf(text, size, "the %s expired at %02u:%02u:%02uZ; log in again",
             c->ends_with_certificate ? "certificate" : "token", second / 3600, second / 60 % 60,
             second % 60);
}
