/* item.h - the item table and the watches on each item. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_ITEM_H
#define P2PS_ITEM_H

#include "private.h"

/* Of the array of its watches. */
size_t p2ps_item_watch_bytes(const struct p2ps_item *it);
uint32_t p2ps_item_take(struct p2ps_core *core, uint16_t service);
/* The cached image goes, the state of the item stays. */
void p2ps_item_image_drop(struct p2ps_core *core, struct p2ps_item *it);
void p2ps_item_image_forget(struct p2ps_core *core, uint32_t item);
void p2ps_item_give(struct p2ps_core *core, uint32_t item);
/* The state of its service that it owed its streams is told, or is no more. */
void p2ps_item_owes_nothing(struct p2ps_core *core, uint32_t item);
int p2ps_item_watch_add(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *watch);
/* The watch of (client, stream id), or P2PS_NONE. */
uint32_t p2ps_item_watch_find(const struct p2ps_core *core, uint32_t item, uint32_t client,
                              int32_t stream_id);
void p2ps_core_count_work(struct p2ps_core *core);
/* New logins and items are refused while this is true; what is open goes on. */
bool p2ps_core_is_full(const struct p2ps_core *core);
/* For one that was just opened and could not be watched. */
void p2ps_item_drop_if_unwatched(struct p2ps_core *core, uint32_t item);
/* A watch of the item says this priority; `may_raise`: what it says counts beside others. */
void p2ps_item_priority(struct p2ps_core *core, uint32_t item,
                        const struct omm_item_request *request, bool may_raise);
/* A snapshot waits for a verdict: its item goes on as if it was streaming. */
void p2ps_item_keep_open(struct p2ps_core *core, uint32_t item);
/* Each change of a state goes through these; one that may not be is a bug. */
void p2ps_watch_set(struct p2ps_watch *w, enum p2ps_watch_state state);
void p2ps_item_image_set(struct p2ps_item *it, enum p2ps_watch_state state);
/* The watch has ended: its stream id is free, nothing is delivered to it. Its place and the item
 * stay until p2ps_items_sweep(). */
void p2ps_item_watch_end(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* The same when its stream id is out of the client's map already. */
void p2ps_item_watch_forget(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* At the end of a batch: takes out the watches that have ended, and the items without a watch. */
void p2ps_items_sweep(struct p2ps_core *core);
/* The key of the item with the service id consumers know. */
bool p2ps_item_key(const struct p2ps_core *core, uint32_t item, struct rwf_key *key,
                   struct rwf_qos *qos);

#endif
