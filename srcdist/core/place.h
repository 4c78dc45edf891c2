/* place.h - which provider an item is asked of, and when again. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_PLACE_H
#define SRCDIST_PLACE_H

#include "private.h"

/* Queues it at the best provider of its service; ends it when all are at their OpenLimit. */
void srcdist_item_place(struct srcdist_core *core, uint32_t item);

/* False: it only lingers. */
bool srcdist_item_is_wanted(const struct srcdist_core *core, uint32_t item);

/* Wanted items of the service that have no provider: queue them at the best one. */
void srcdist_items_place(struct srcdist_core *core, uint32_t service);

#endif
