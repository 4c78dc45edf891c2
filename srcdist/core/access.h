/* access.h - what providerAccessFile says of those who connect: logins, services, limits. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_ACCESS_H
#define SRCDIST_ACCESS_H

#include "private.h"

/* Why not: NOT_ENTITLED and the like for good, `is_for_now` until a session of the user ends. */
struct srcdist_refusal {
    uint8_t code;
    bool is_for_now;
    char text[ENTITLE_TEXT_MAX];
};

/* This user may log in, and the provider has its limits. Without an access file everybody may. */
bool srcdist_access_login(struct srcdist_core *core, struct srcdist_provider *p,
                          const struct omm_login_request *request, struct srcdist_refusal *why);
/* The same for one that is logged in, by what it presented then. It is not cut for being over a
 * limit that is lower now. */
bool srcdist_access_again(struct srcdist_core *core, struct srcdist_provider *p,
                          struct srcdist_refusal *why);
/* Its user, or the certificate that it needs, has expired. */
bool srcdist_access_has_expired(const struct srcdist_core *core, const struct srcdist_provider *p,
                                struct srcdist_refusal *why);
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
