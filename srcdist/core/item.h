/* item.h - the table of items, and their places in the counts of their service. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_ITEM_H
#define SRCDIST_ITEM_H

#include "private.h"

struct srcdist_item *srcdist_item_at(struct srcdist_core *core, uint32_t item);
struct srcdist_item *srcdist_item_make(struct srcdist_core *core, uint32_t item);
void srcdist_item_set_active(struct srcdist_core *core, struct srcdist_item *it, bool is_active);

#endif
