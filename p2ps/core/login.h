/* login.h - the login stream of a client: in, out, again, paused. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_LOGIN_H
#define P2PS_LOGIN_H

#include "private.h"

void p2ps_login_answer(struct p2ps_core *core, uint32_t client,
                       const struct entitle_answer *answer);
/* After a reload: may the login go on? False: there is none. */
bool p2ps_login_check(struct p2ps_core *core, uint32_t client);
/* A late answer, to a question of that number. */
void p2ps_login_late_answer(struct p2ps_core *core, const struct entitle_answer *answer);
/* The login was one too many of its address: it is refused when a second has passed. */
void p2ps_login_throttled(struct p2ps_core *core, uint32_t client);
/* Its token is too old, and no new one has come. */
void p2ps_login_expire(struct p2ps_core *core, uint32_t client);

#endif
