/* recovery.h - items whose provider is lost, or has ended their streams. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_RECOVERY_H
#define SRCDIST_RECOVERY_H

#include "private.h"

/* The provider no longer serves this service to us: its items are suspect until somebody does. */
void srcdist_items_orphaned(struct srcdist_core *core, uint32_t provider, uint32_t service);

/* The provider says that the streams of the whole service end. Those of items of other providers
 * are not told. */
void srcdist_items_tell_end(struct srcdist_core *core, uint32_t provider, uint32_t service,
                            const struct rwf_state *state);
/* The provider has ended the streams of the whole service, and consumers have been told: what is
 * wanted is asked for anew. */
void srcdist_items_cut(struct srcdist_core *core, uint32_t provider, uint32_t service);
/* The same for one item; srcdist_items_place() is to follow. */
void srcdist_item_cut(struct srcdist_core *core, uint32_t item);

/* A route offers now what was published: none of its items waits for a publisher. */
void srcdist_items_become_asked(struct srcdist_core *core, uint32_t service);

#endif
