/* standby.h - consumers that are connected to two p2ps and follow one of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_STANDBY_H
#define P2PS_STANDBY_H

#include "private.h"

/* Does the client follow another p2ps for this service now? */
bool p2ps_standby_is(const struct p2ps_client *c, uint16_t service);
/* Tells some more streams their role: while `is_standing`. */
void p2ps_standby_go_on(struct p2ps_core *core, uint32_t client);
/* Generic messages of the login and the directory stream that tell the client's roles. */
void p2ps_standby_login(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg);
void p2ps_standby_directory(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg);

#endif
