/* login.h - the login stream of a client: in, out, again, paused. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_LOGIN_H
#define P2PS_LOGIN_H

#include "private.h"

void p2ps_login_answer(struct p2ps_core *core, uint32_t client,
                       const struct entitle_answer *answer);
/* Takes some more streams up again: while `is_resuming`. */
void p2ps_login_resume(struct p2ps_core *core, uint32_t client);

#endif
