/* login.h - our login at interactive providers; the login of non-interactive ones at us. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_LOGIN_H
#define SRCDIST_LOGIN_H

#include "access.h"
#include "private.h"

void srcdist_login_ask(struct srcdist_core *core, uint32_t provider);
void srcdist_login_leave(struct srcdist_core *core, uint32_t provider);
/* Ends the login of a publisher: what it publishes ends at once, its connection when it had time to
 * read why. */
void srcdist_login_end(struct srcdist_core *core, uint32_t provider,
                       const struct srcdist_refusal *why);
int srcdist_login_message(struct srcdist_core *core, uint32_t provider, const struct rwf_msg *msg);

#endif
