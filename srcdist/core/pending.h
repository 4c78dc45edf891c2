/* pending.h - items that wait for a provider's window: new ones, recovery, standby. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_PENDING_H
#define SRCDIST_PENDING_H

#include "private.h"

int srcdist_pending_put(struct srcdist_provider *p, enum srcdist_pending_class class,
                        uint32_t item);

/* Whose turn it is; false: nothing waits. */
bool srcdist_pending_next(const struct srcdist_provider *p, enum srcdist_pending_class *class,
                          uint32_t *item);
void srcdist_pending_drop(struct srcdist_provider *p, enum srcdist_pending_class class,
                          bool was_asked);
void srcdist_pending_fini(struct srcdist_core *core, struct srcdist_provider *p);

#endif
