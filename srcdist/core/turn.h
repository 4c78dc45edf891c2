/* turn.h - what comes from the backbone, what time brings, and providers that come and go. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_TURN_H
#define SRCDIST_TURN_H

#include "private.h"

/* An event of the source engine. */
void srcdist_turn_event(struct srcdist_core *core, const struct rrmp_source_event *event);
void srcdist_items_tick(struct srcdist_core *core);
/* A provider that is no connection: it needs no place among those, and no login. */
int srcdist_provider_add_own(struct srcdist_core *core, const char *name,
                             const struct srcdist_link *link, void *self, uint32_t *provider);
void srcdist_providers_tick(struct srcdist_core *core);

#endif
