/* proof.h - what a login has proved, and until when that holds. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PROOF_H
#define P2PS_PROOF_H

#include "private.h"

/* Of a login, or of a new token in one. A check after a reload proves nothing anew. */
void p2ps_proof_take(struct p2ps_core *core, uint32_t client, const struct entitle_answer *answer);
/* An authority outside has said anew until when a login goes on. */
void p2ps_proof_renew(struct p2ps_core *core, uint32_t client, const struct entitle_answer *answer);
/* Puts what the client shows into a question about its login. */
void p2ps_proof_show(const struct p2ps_core *core, const struct p2ps_client *c,
                     struct entitle_query *query);
/* Whoever is on the way can read its connection. */
bool p2ps_proof_is_plain(const struct p2ps_client *c);
/* Its token, its certificate or its user has come to an end. */
bool p2ps_proof_has_ended(const struct p2ps_core *core, const struct p2ps_client *c);

/* Writes what has ended, and when, for a client whose end has come. */
void p2ps_proof_expired_text(const struct p2ps_client *c, char *text, size_t size);

#endif
