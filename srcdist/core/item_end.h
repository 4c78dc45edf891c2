/* item_end.h - the ends of items. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_ITEM_END_H
#define SRCDIST_ITEM_END_H

#include "private.h"

void srcdist_item_forget(struct srcdist_core *core, uint32_t item);
/* Ends the item for all consumers and pending requests. */
void srcdist_item_end(struct srcdist_core *core, uint32_t item, uint8_t scope, uint8_t code,
                      const char *text);
/* A private stream is not recovered: its owner gets a closed status. */
void srcdist_item_end_private(struct srcdist_core *core, uint32_t item);

#endif
