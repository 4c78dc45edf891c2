/* uplinks.h - routes to a p2ps of another site: how they log in, and what they take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_UPLINKS_H
#define SRCDIST_UPLINKS_H

#include "core.h"
#include "src_dist.h"

struct uplink; /* of one route */

/* *out is NULL for a route to a provider. The reason of a failure is logged. */
int uplink_create(const struct src_dist *sd, const struct md_conf_object *route, unsigned number,
                  struct uplink **out);
void uplink_destroy(struct uplink *uplink); /* NULL is allowed */

/* Before each dial: the password or the token is read from its file again. False: it cannot be read
 * or is not for us alone; the reason is logged now and then. */
bool uplink_prepare(struct uplink *uplink, bool is_logged);
/* "password" or "token", whichever it sends; NULL: none. */
const char *uplink_secret(const struct uplink *uplink);
const struct srcdist_uplink *uplink_says(const struct uplink *uplink);

#endif
