/* proof.h - what a login has proved, and until when that holds. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PROOF_H
#define P2PS_PROOF_H

#include "private.h"

/* Of a login, or of a new token in one. A check after a reload proves nothing anew. */
void p2ps_proof_take(const struct p2ps_core *core, struct p2ps_client *c,
                     const struct entitle_answer *answer);

/* Writes what has ended, and when, for a client whose `expires_s` has come. */
void p2ps_proof_expired_text(const struct p2ps_client *c, char *text, size_t size);

#endif
