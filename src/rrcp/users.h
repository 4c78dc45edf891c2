/* users.h - local users. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_USERS_H
#define RRCP_USERS_H

#include "private.h"

void rrcp_users_tick(struct rrcp *r); /* sends USER_DOWNs that found no room */
struct user_slot *rrcp_user_find(struct rrcp *r, int port);

#endif
