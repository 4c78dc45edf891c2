/* access.h - what providerAccessFile says of those who connect: logins, services, limits. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_ACCESS_H
#define SRCDIST_ACCESS_H

#include "private.h"

/* NULL: this user may log in, and the provider has its limits; else why not, and in `code` as what:
 * NOT_ENTITLED for good, EXCEEDED_MAX_MOUNTS_PER_USER until a session of the user ends. Without an
 * access file everybody may. */
const char *srcdist_access_login(struct srcdist_core *core, struct srcdist_provider *p,
                                 const struct omm_login_request *request, uint8_t *code);
/* The same for one that is logged in, by what it presented then. */
const char *srcdist_access_again(struct srcdist_core *core, struct srcdist_provider *p,
                                 uint8_t *code);
bool srcdist_access_may_publish(const struct srcdist_core *core, const struct srcdist_provider *p,
                                struct rwf_bytes service);

/* True: `newer` is a later session of the publisher that `older` is of, and may have its items. */
bool srcdist_access_replaces(const struct srcdist_core *core, const struct srcdist_provider *newer,
                             const struct srcdist_provider *older);

/* False: the provider sends more than its user may; the same message is to come again. */
bool srcdist_pace_allows(struct srcdist_core *core, struct srcdist_provider *p);
void srcdist_pace_charge(const struct srcdist_core *core, struct srcdist_provider *p);

/* The same for changes of services and groups, each of which walks over all items here: a publisher
 * pays for the time they take. */
bool srcdist_walk_allows(struct srcdist_core *core, struct srcdist_provider *p);
void srcdist_walk_charge(const struct srcdist_core *core, struct srcdist_provider *p);

/* False: the provider, or its user, publishes as many items as it may. */
bool srcdist_access_item_fits(const struct srcdist_core *core, const struct srcdist_provider *p);
/* The same for an item that another session of its user has until now: the user gets no more. */
bool srcdist_access_item_moves(const struct srcdist_core *core, const struct srcdist_provider *p);

#endif
