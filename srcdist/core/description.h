/* description.h - copies of what providers say of a service in INFO. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DESCRIPTION_H
#define SRCDIST_DESCRIPTION_H

#include "private.h"

/* Views into a provider's message become invalid, so the texts are copied, into so many bytes. The
 * copy has no name. */
size_t srcdist_description_size(const struct omm_service *info);
struct omm_service srcdist_description_copy(const struct omm_service *info, uint8_t *text);

/* For the time when the provider that describes the service now is gone. One with more text than
 * SRCDIST_SAID_MAX is not kept. */
void srcdist_description_keep(struct srcdist_offer *offer, const struct omm_service *info);
void srcdist_description_forget(struct srcdist_offer *offer);

#endif
