/* session.h - what an authority outside gave a client, and that it hears of its end. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_SESSION_H
#define P2PS_SESSION_H

#include "private.h"

/* Keeps copies of the texts; `roles` NULL: none, `session` NULL: as it was. True: the roles are
 * others than before. */
bool p2ps_session_give(struct p2ps_core *core, uint32_t client, const char *roles,
                       const char *session);
void p2ps_session_forget(struct p2ps_client *c);
/* Its name at the authority; "": it has none. */
const char *p2ps_session_name(const struct p2ps_client *c);
/* An answer began it, and nobody has it. NULL or "": it began none. */
void p2ps_session_unused(struct p2ps_core *core, const char *session, const char *why);
/* The login is over: a record of the trail, and the authority is told. */
void p2ps_session_end(struct p2ps_core *core, uint32_t client, uint8_t code, const char *why);

#endif
