/* item.h - the table of items: their states, and what is counted of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_ITEM_H
#define SRCDIST_ITEM_H

#include "private.h"

struct srcdist_item *srcdist_item_at(struct srcdist_core *core, uint32_t item);
struct srcdist_item *srcdist_item_make(struct srcdist_core *core, uint32_t item);
/* The only way to another state: asserts that it may follow, and counts. */
void srcdist_item_set_state(struct srcdist_core *core, struct srcdist_item *it,
                            enum srcdist_item_state state);
void srcdist_item_set_active(struct srcdist_core *core, struct srcdist_item *it, bool is_active);

#endif
