/* ask.h - snapshots: asked, answered, given up. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_ASK_H
#define SRCDIST_ASK_H

#include "private.h"

/* A requester asks for one image. */
void srcdist_snapshot(struct srcdist_core *core, const struct rrmp_source_event *event);
void srcdist_ask_gone(struct srcdist_core *core, uint32_t source_ask);
int srcdist_ask_message(struct srcdist_core *core, uint32_t ask, const struct rwf_peek *peek,
                        struct rwf_bytes bytes);
bool srcdist_item_has_asks(const struct srcdist_core *core, uint32_t item);

/* The re-issued refresh of an item goes to the snapshots that wait for it, too. */
int srcdist_ask_item_image(struct srcdist_core *core, uint32_t item, struct rwf_bytes message,
                           const struct rrmp_part *part);
/* An update came between two parts: a snapshot would mix the state before with the state after. */
void srcdist_asks_torn(struct srcdist_core *core, uint32_t item);
/* The item ends and its number is reused: refuse its snapshots, or they get another item's image.
 */
void srcdist_asks_of_gone(struct srcdist_core *core, uint32_t item);
void srcdist_asks_lost(struct srcdist_core *core, uint32_t provider);
/* Closes snapshots under way whose fields are filtered by rules that go: CLOSED_RECOVER. */
void srcdist_asks_of_old_rules(struct srcdist_core *core);
void srcdist_asks_tick(struct srcdist_core *core);

#endif
