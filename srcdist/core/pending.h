/* pending.h - items that wait for a provider's window: new ones, recovery, standby. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_PENDING_H
#define SRCDIST_PENDING_H

#include "private.h"

/* A place behind the others of its class. MD_ERR_NOMEM. */
int srcdist_pending_put(struct srcdist_core *core, uint32_t provider,
                        enum srcdist_pending_class class, uint32_t item);

/* The item to ask for next; it keeps its place until it is taken. False: none waits. */
bool srcdist_pending_next(struct srcdist_core *core, uint32_t provider,
                          enum srcdist_pending_class *class, uint32_t *item);
void srcdist_pending_take(struct srcdist_provider *p, enum srcdist_pending_class class);
size_t srcdist_pending_bytes(const struct srcdist_provider *p);
void srcdist_pending_fini(struct srcdist_provider *p);

#endif
