/* login.h - the login stream of a client: in, out, again, paused. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_LOGIN_H
#define P2PS_LOGIN_H

#include "private.h"

void p2ps_login_answer(struct p2ps_core *core, uint32_t client,
                       const struct entitle_answer *answer);
/* The login was one too many of its address: it is refused when a second has passed. */
void p2ps_login_throttled(struct p2ps_core *core, uint32_t client);
/* Takes some more streams up again: while `is_resuming`. */
void p2ps_login_resume(struct p2ps_core *core, uint32_t client);

#endif
