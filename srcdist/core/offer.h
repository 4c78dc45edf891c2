/* offer.h - what a provider offers: may it, and what follows when it ends. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_OFFER_H
#define SRCDIST_OFFER_H

#include "private.h"

/* A new offer of the provider, or NULL: it may not offer this service. Refusals are counted and
 * told with both parties. */
struct srcdist_offer *srcdist_offer_add(struct srcdist_core *core, uint32_t provider,
                                        const struct omm_service *service);
void srcdist_offer_remove(struct srcdist_core *core, uint32_t provider,
                          struct srcdist_offer *offer);

#endif
