/* users.h - what each user has open, counted over all workers of the process. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_USERS_H
#define P2PS_USERS_H

#include "core.h"

/* Looked up under a lock at login and at the end of a connection; counted without one. */
struct p2ps_users;

int p2ps_users_create(struct p2ps_users **out);    /* MD_ERR_NOMEM */
void p2ps_users_destroy(struct p2ps_users *users); /* NULL is allowed */
struct p2ps_shared p2ps_users_shared(struct p2ps_users *users);

#endif
