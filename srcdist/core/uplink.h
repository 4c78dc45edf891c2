/* uplink.h - routes to other sites: what is taken of their services, and that nothing comes back.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_UPLINK_H
#define SRCDIST_UPLINK_H

#include "base/writer.h"
#include "private.h"

/*
 * Each src_dist with a siteName adds it to the path of what it offers: the sites that the data came
 * through. A service whose path holds one's own site has come back, and is not taken: the site
 * would feed itself. Several sources of a service may have several paths.
 */

/* All that the configuration says of the provider's route. */
struct srcdist_uplink srcdist_uplink_of(const struct srcdist_core *core, uint32_t provider);

/* INFO of a service has come. False: it is not taken, which the operator is told. Else its
 * qualities are those that the route takes. */
bool srcdist_uplink_admits(struct srcdist_core *core, uint32_t provider,
                           struct omm_service *service);

/* The paths of a service with our own site behind them; returns how many. */
unsigned srcdist_uplink_put_paths(const struct srcdist_core *core, struct md_wr *wr,
                                  const struct omm_service *info);

/* The request asks for the fields of the route, if the provider can do that. */
void srcdist_uplink_view(const struct srcdist_core *core, uint32_t provider,
                         struct omm_item_request *request);

/* Our login there was answered: what it can do, and until when our token is good. */
void srcdist_uplink_granted(const struct srcdist_core *core, struct srcdist_provider *p,
                            const struct omm_login_refresh *refresh);

/* True: a new token is due, and is there to log in with again. */
bool srcdist_uplink_renews(struct srcdist_core *core, struct srcdist_provider *p);

/* GENERIC on the login stream: the provider measures how long our answer takes. */
void srcdist_uplink_round_trip(struct srcdist_core *core, uint32_t provider,
                               const struct rwf_msg *msg);

#endif
