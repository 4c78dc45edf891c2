/* service_state.h - whether a service is up, and complete. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_SERVICE_STATE_H
#define SRCDIST_SERVICE_STATE_H

#include "private.h"

/* Recomputes the state from the providers and tells the backbone. */
void srcdist_service_refresh_state(struct srcdist_core *core, uint32_t service);
void srcdist_services_tick(struct srcdist_core *core);

#endif
